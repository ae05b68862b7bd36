// Faults of a fabric file, and small helpers of its readers.
#include "network/fabric_file_parts.hpp"

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "io/spec.hpp"

namespace trunkline::network {

const io::Value* present(const io::Value& map, std::string_view key) {
  const io::Value* field = map.find(key);
  return field && !field->is_null() ? field : nullptr;
}

const io::Value& field_or(const io::Value& map, std::string_view key) {
  const io::Value* field = map.find(key);
  return field ? *field : map;
}

tl::unexpected<Error> wrong_field(const io::Value& map, std::string_view key, std::string message, std::string hint) {
  return bad_input(field_or(map, key).where(), fmt::format("{}: {}", key, message), std::move(hint));
}

Result<Bandwidth> rate_in(const io::Value& map, std::string_view key, std::optional<Bandwidth> fallback) {
  const auto rate = io::get_bandwidth(map, key);
  if (!rate && !fallback)
    return bad_input(map.where(), fmt::format("the links have no {}", key), fmt::format("give {}, for example 400 Gb/s", key));
  if (rate && !(rate->si() > 0))
    return wrong_field(map, key, fmt::format("links of {} carry nothing", to_text(*rate)), "give a rate above zero");
  return rate ? *rate : *fallback;
}

Result<Seconds> time_in(const io::Value& map, std::string_view key, Seconds fallback) {
  const Seconds t = io::get_seconds(map, key).value_or(fallback);
  if (!(t.si() >= 0 && t.si() <= 1)) return wrong_field(map, key, to_text(t), "from 0 to 1 s");
  return t;
}

Result<Bytes> packet_in(const io::Value& file) {
  const Bytes packet = io::get_bytes(file, "packet").value_or(Bytes(0));
  if (packet.count() < 0 || packet.count() > 1'000'000) return wrong_field(file, "packet", to_text(packet), "from 0 to 1 MB");
  return packet;
}

namespace {

// The ends of a link by its name "leaf 3 → spine 7 (1)".
struct Ends {
  std::string from, to, parallel;
};

// Takes the " (1)" of one of several parallel links off a name.
void part_parallel(std::string& name, std::string& parallel) {
  const auto bracket = name.find(" (");
  if (bracket == std::string::npos) return;
  parallel = name.substr(bracket + 1);
  name.resize(bracket);
}

Ends ends_of(const std::string& name) {
  const std::string arrow = " → ";
  const auto at = name.find(arrow);
  if (at == std::string::npos) return {name, {}, {}};
  Ends out{name.substr(0, at), name.substr(at + arrow.size()), {}};
  part_parallel(out.to, out.parallel);
  return out;
}

struct Fault {
  std::string a, b, parallel;  // b empty: a switch
  bool one_way = false;
  double left = 0;
  std::string words;
  const io::Value* where = nullptr;
  int hit = 0;

  bool matches(const Ends& link) const {
    if (b.empty()) return link.from == a || link.to == a;
    if (!parallel.empty() && link.parallel != parallel) return false;
    return (link.from == a && link.to == b) || (!one_way && link.from == b && link.to == a);
  }
};

Result<Fault> fault_from(const io::Value& value) {
  Fault fault;
  fault.where = &value;
  fault.left = io::get_number(value, "capacity").value_or(0);
  const auto link = io::get_text(value, "link"), whole = io::get_text(value, "switch");
  if (link.has_value() == whole.has_value())
    return bad_input(value.where(), "a fault names a link or a switch", "for example {link: leaf 3 - spine 7}");
  const std::string& text = link ? *link : *whole;
  fault.words = fmt::format("{} {}", text, fault.left > 0 ? fmt::format("at {} %", significant(100 * fault.left)) : "out of service");
  if (whole) {
    fault.a = std::string(trim(text));
    return fault;
  }
  for (const std::string_view separator : {"->", "→", " - ", "–"}) {
    const auto at = text.find(separator);
    if (at == std::string::npos) continue;
    fault.one_way = separator == "->" || separator == "→";
    fault.a = std::string(trim(std::string_view(text).substr(0, at)));
    fault.b = std::string(trim(std::string_view(text).substr(at + separator.size())));
    part_parallel(fault.b, fault.parallel);
    return fault;
  }
  return bad_input(value.where(), fmt::format("found \"{}\" where a link was expected", excerpt(text)),
                   "for example leaf 3 - spine 7, or leaf 3 -> spine 7 for one direction");
}

}  // namespace

Result<std::vector<std::string>> apply_faults(const io::Value& file, const NamedLinks& links) {
  std::vector<std::string> words;
  const io::Value* list = present(file, "faults");
  if (!list || !list->is_list() || list->items().empty()) return words;
  std::vector<Fault> faults;
  for (const auto& item : list->items()) {
    TRUNKLINE_ASSIGN(fault, fault_from(item));
    faults.push_back(std::move(fault));
  }
  for (LinkId link = 0; link < links.wires; ++link) {
    const Ends ends = ends_of(links.name(link));
    for (Fault& fault : faults) {
      if (!fault.matches(ends)) continue;
      ++fault.hit;
      links.scale(link, fault.left);
    }
  }
  for (const Fault& fault : faults) {
    if (fault.hit == 0) {
      return bad_input(
          fault.where->where(), fmt::format("no such {}: {}", fault.b.empty() ? "switch" : "link", excerpt(fault.words)),
          fmt::format("links of this fabric are called like \"{}\", \"{}\"", links.name(0), links.name(LinkId(links.wires - 1))));
    }
    words.push_back(fault.words);
  }
  return words;
}

}  // namespace trunkline::network
