#include "catalog/part_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "catalog/readers.hpp"

namespace trunkline::catalog {
namespace {

constexpr std::array<std::pair<Confidence, const char*>, 6> kConfidences{{
    {Confidence::vendor, "vendor"},
    {Confidence::quoted, "quoted"},
    {Confidence::secondary, "secondary"},
    {Confidence::measured, "measured"},
    {Confidence::derived, "derived"},
    {Confidence::unsourced, "unsourced"},
}};

constexpr const char* kGeneralKnowledge = "general knowledge; no source found";

std::vector<std::string> confidence_names() {
  std::vector<std::string> names;
  for (const auto& [value, name] : kConfidences) names.emplace_back(name);
  return names;
}

io::FieldSpec confidence_field() {
  auto field = optional("confidence", io::FieldType::choice, "how far it can be trusted");
  field.choices = confidence_names();
  return field;
}

// What a part may state besides its values.
const io::ObjectSpec& frame_spec() {
  using io::FieldType;
  static const io::ObjectSpec spec{
      "part",
      "What a part is called and who says so.",
      {required("name", FieldType::text, "the name people read"),
       optional("aliases", FieldType::list, "other names that people and drivers use"),
       optional("like", FieldType::text, "an earlier part whose values hold here too, unless stated"),
       optional("source", FieldType::list, "where the values come from; each entry starts with a key of `sources`"), confidence_field(),
       optional("notes", FieldType::text, "what a reader of the values should know")}};
  return spec;
}

const io::ObjectSpec& value_spec() {
  using io::FieldType;
  static const io::ObjectSpec spec{
      "value with its source",
      "A value that differs from its part in source or confidence, or whose source prints it otherwise.",
      {required("value", FieldType::text, "the value with its unit"), optional("source", FieldType::list, "where it comes from"),
       confidence_field(), optional("printed", FieldType::text, "the source's own wording"),
       optional("note", FieldType::text, "what a reader should know")}};
  return spec;
}

std::optional<Confidence> confidence_of(const io::Value& map) {
  const auto text = io::get_text(map, "confidence");
  if (!text) return std::nullopt;
  for (const auto& [value, name] : kConfidences) {
    if (*text == name) return value;
  }
  return std::nullopt;
}

struct Origin {
  std::string source;
  std::optional<Confidence> confidence;
};

class Reader {
 public:
  Reader(const io::Value& root, const PartForm& form) : root_(root), form_(form) {
    for (const auto& field : frame_spec().fields) frame_names_.push_back(field.name);
  }

  Result<std::vector<PartEntry>> parts() {
    TRUNKLINE_TRY(read_sources());
    const io::Value* section = root_.find(form_.section);
    if (!section || !section->is_map()) {
      return bad_input(root_.where(), fmt::format("no block \"{}\"", form_.section), "list the parts there, one key a part");
    }
    for (const auto& [id, value] : section->fields()) {
      TRUNKLINE_ASSIGN(entry, part(id, value));
      index_.emplace(id, entries_.size());
      entries_.push_back(std::move(entry));
    }
    return std::move(entries_);
  }

 private:
  Result<void> read_sources() {
    for (const auto& [key, value] : root_.fields()) {
      if (key != "sources" && key != form_.section) {
        return bad_input(value.where(), fmt::format("unknown key \"{}\", expected sources or {}", key, form_.section));
      }
    }
    const io::Value* table = root_.find("sources");
    if (!table || !table->is_map()) return bad_input(root_.where(), "no block \"sources\"", "list the sources there, one key a source");
    for (const auto& [key, value] : table->fields()) {
      sources_.emplace(key, value.text());
      source_names_.push_back(key);
    }
    return {};
  }

  // "mle-compute note 4" → "stas00/ml-engineering …/README.md, note 4".
  Result<std::string> source_text(const io::Value& list) const {
    std::vector<std::string> texts;
    for (const auto& item : list.items()) {
      const std::string_view entry = item.text();
      const auto space = entry.find(' ');
      const std::string key(entry.substr(0, space));
      const auto found = sources_.find(key);
      if (found == sources_.end()) {
        return bad_input(item.where(), fmt::format("the source \"{}\" is not listed", key), did_you_mean(key, source_names_));
      }
      std::string text = found->second;
      if (space != std::string_view::npos) text += fmt::format(" ({})", trim(entry.substr(space)));
      texts.push_back(std::move(text));
    }
    return join(texts, "; ");
  }

  Result<Origin> origin(const io::Value& map) const {
    Origin out;
    out.confidence = confidence_of(map);
    if (const io::Value* list = map.find("source"); list && list->is_list()) {
      TRUNKLINE_ASSIGN(text, source_text(*list));
      out.source = std::move(text);
    }
    return out;
  }

  bool is_frame(const std::string& key) const { return std::find(frame_names_.begin(), frame_names_.end(), key) != frame_names_.end(); }

  Result<PartEntry> part(const std::string& id, const io::Value& map) {
    if (!map.is_map()) return bad_input(map.where(), fmt::format("{}: found {}, expected a block of keys", id, map.describe()));
    std::vector<std::pair<std::string, io::Value>> frame, values;
    for (const auto& field : map.fields()) (is_frame(field.first) ? frame : values).push_back(field);
    const io::Value framed = with_fields(map, std::move(frame));
    TRUNKLINE_TRY(io::check(framed, frame_spec()));

    PartEntry entry;
    entry.part.kind = form_.kind;
    entry.part.id = id;
    entry.part.name = io::get_text(framed, "name").value_or(id);
    entry.part.notes = io::get_text(framed, "notes").value_or("");
    if (const io::Value* aliases = framed.find("aliases"); aliases) {
      for (const auto& alias : aliases->items()) entry.part.aliases.push_back(alias.text());
    }
    TRUNKLINE_ASSIGN(standard, origin(framed));
    std::vector<std::pair<std::string, io::Value>> plain;
    if (const auto base = io::get_text(framed, "like")) TRUNKLINE_TRY(take_over(*base, framed, values, entry.part, plain, standard));
    for (auto& [key, value] : values) {
      TRUNKLINE_ASSIGN(stated, fact(key, value, standard));
      entry.part.facts.push_back(std::move(stated.first));
      plain.emplace_back(key, std::move(stated.second));
    }
    standards_.emplace(id, standard);
    entry.values = with_fields(map, std::move(plain));
    TRUNKLINE_TRY(io::check(entry.values, form_.values));
    order_as_declared(entry.part.facts);
    return entry;
  }

  // Facts and values of the part named by `like` that `own` does not state, and its source where none is stated.
  Result<void> take_over(const std::string& base, const io::Value& where, const std::vector<std::pair<std::string, io::Value>>& own,
                         Part& part, std::vector<std::pair<std::string, io::Value>>& plain, Origin& standard) const {
    const auto at = index_.find(base);
    if (at == index_.end())
      return bad_input(where.where(), fmt::format("like: no earlier part is called \"{}\"", base), "put it above this one");
    const auto stated = [&](const std::string& key) {
      return std::any_of(own.begin(), own.end(), [&](const auto& field) { return field.first == key; });
    };
    const PartEntry& other = entries_[at->second];
    for (const auto& fact : other.part.facts) {
      if (!stated(fact.field)) part.facts.push_back(fact);
    }
    for (const auto& field : other.values.fields()) {
      if (!stated(field.first)) plain.push_back(field);
    }
    if (part.notes.empty()) part.notes = other.part.notes;
    if (standard.source.empty()) standard = standards_.at(base);
    return {};
  }

  Result<std::pair<Fact, io::Value>> fact(const std::string& key, const io::Value& written, const Origin& standard) const {
    Fact out;
    out.field = key;
    Origin from = standard;
    io::Value plain = written;
    if (written.is_map()) {
      TRUNKLINE_TRY(io::check(written, value_spec()));
      plain = *written.find("value");
      out.printed = io::get_text(written, "printed").value_or("");
      out.note = io::get_text(written, "note").value_or("");
      TRUNKLINE_ASSIGN(own, origin(written));
      if (own.confidence) from.confidence = own.confidence;
      if (!own.source.empty() || own.confidence == Confidence::unsourced) from.source = own.source;
    }
    if (!plain.is_scalar()) return bad_input(written.where(), fmt::format("{}: found {}, expected a value", key, plain.describe()));
    if (!from.confidence)
      return bad_input(written.where(), fmt::format("{}: no confidence is stated", key), "state it here or for the whole part");
    if (from.source.empty() && *from.confidence != Confidence::unsourced) {
      return bad_input(written.where(), fmt::format("{}: no source is stated", key), "name one, or write confidence: unsourced");
    }
    out.value = plain.text();
    out.confidence = *from.confidence;
    out.source = from.source.empty() ? kGeneralKnowledge : from.source;
    return std::pair(std::move(out), std::move(plain));
  }

  void order_as_declared(std::vector<Fact>& facts) const {
    const auto rank = [&](const Fact& fact) {
      const auto& fields = form_.values.fields;
      return std::find_if(fields.begin(), fields.end(), [&](const auto& field) { return field.name == fact.field; }) - fields.begin();
    };
    std::stable_sort(facts.begin(), facts.end(), [&](const Fact& a, const Fact& b) { return rank(a) < rank(b); });
  }

  static io::Value with_fields(const io::Value& like, std::vector<std::pair<std::string, io::Value>> fields) {
    return io::Value::map(std::make_shared<const std::string>(like.where().file), like.where().line, std::move(fields));
  }

  const io::Value& root_;
  const PartForm& form_;
  std::map<std::string, std::string, std::less<>> sources_;
  std::vector<std::string> source_names_, frame_names_;
  std::vector<PartEntry> entries_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::map<std::string, Origin, std::less<>> standards_;
};

}  // namespace

io::FieldSpec required(std::string name, io::FieldType type, std::string doc) {
  io::FieldSpec field = optional(std::move(name), type, std::move(doc));
  field.required = true;
  return field;
}

io::FieldSpec optional(std::string name, io::FieldType type, std::string doc) {
  io::FieldSpec field;
  field.name = std::move(name);
  field.type = type;
  field.doc = std::move(doc);
  return field;
}

io::FieldSpec choice(std::string name, std::string doc, std::vector<std::string> choices) {
  io::FieldSpec field = required(std::move(name), io::FieldType::choice, std::move(doc));
  field.choices = std::move(choices);
  return field;
}

std::string name_of(Confidence confidence) {
  for (const auto& [value, name] : kConfidences) {
    if (value == confidence) return name;
  }
  return {};
}

Result<std::vector<PartEntry>> read_part_file(std::string_view text, const std::string& file, const PartForm& form) {
  TRUNKLINE_ASSIGN(root, io::parse_yaml(text, file));
  if (!root.is_map())
    return bad_input(root.where(), fmt::format("found {}, expected the blocks sources and {}", root.describe(), form.section));
  return Reader(root, form).parts();
}

}  // namespace trunkline::catalog
