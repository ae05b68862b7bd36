#include "catalog/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "base/text.hpp"
#include "catalog/readers.hpp"

namespace trunkline::catalog {
namespace {

// Case and separators do not matter: "RTX 4090" is "rtx4090".
std::string squeezed(std::string_view name) {
  std::string out;
  for (char c : lower(name)) {
    if (c != ' ' && c != '-' && c != '_') out += c;
  }
  return out;
}

bool is_called(const Part& part, const std::string& wanted) {
  if (squeezed(part.id) == wanted || squeezed(part.name) == wanted) return true;
  return std::any_of(part.aliases.begin(), part.aliases.end(), [&](const auto& alias) { return squeezed(alias) == wanted; });
}

const Part* find_in(const std::vector<Part>& parts, std::string_view id) {
  const auto exact = std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return part.id == id; });
  if (exact != parts.end()) return &*exact;
  const std::string wanted = squeezed(id);
  const auto named = std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return is_called(part, wanted); });
  return named == parts.end() ? nullptr : &*named;
}

// Up to four ids whose id, name or alias is near to `word`, nearest first.
std::vector<std::string> near_ids(std::string_view word, const std::vector<Part>& parts) {
  std::vector<std::string> names, owners;
  const auto add = [&](const Part& part, const std::string& name) {
    names.push_back(squeezed(name));
    owners.push_back(part.id);
  };
  for (const auto& part : parts) add(part, part.id);
  for (const auto& part : parts) {
    add(part, part.name);
    for (const auto& alias : part.aliases) add(part, alias);
  }
  std::vector<std::string> out;
  for (const auto& name : nearest(squeezed(word), names, names.size())) {
    const auto& owner = owners[std::size_t(std::find(names.begin(), names.end(), name) - names.begin())];
    if (out.size() < 4 && std::find(out.begin(), out.end(), owner) == out.end()) out.push_back(owner);
  }
  return out;
}

std::string hint_for(std::string_view word, const std::vector<Part>& parts) {
  const auto near = near_ids(word, parts);
  if (!near.empty()) {
    std::string out = "did you mean " + near.front();
    for (std::size_t i = 1; i < near.size(); ++i) out += (i + 1 == near.size() ? " or " : ", ") + near[i];
    return out + "?";
  }
  std::vector<std::string> ids;
  for (const auto& part : parts) ids.push_back(part.id);
  return did_you_mean(word, ids) + "; `trunkline catalog` lists all";
}

// Parts whose struct nobody computes with: their facts are all there is.
struct FactsOnly {
  std::string id;
};
Result<FactsOnly> facts_only(const PartEntry& entry) { return FactsOnly{entry.part.id}; }

// One file of data/catalog, parsed when first asked for.
template <class T>
struct Shelf {
  Shelf(const char* path, const PartForm& (*form)(), Result<T> (*from)(const PartEntry&)) : path_(path), form_(form), from_(from) {}

  Result<void> read(std::span<const io::EmbeddedFile> files) {
    const auto file = std::find_if(files.begin(), files.end(), [&](const auto& f) { return f.path == path_; });
    if (file == files.end()) return fail({ErrorKind::failed, "not among the catalogue's files", {path_, 0}, {}});
    TRUNKLINE_ASSIGN(entries, read_part_file(file->content, path_, form_()));
    for (auto& entry : entries) {
      TRUNKLINE_ASSIGN(item, from_(entry));
      items.push_back(std::move(item));
      parts.push_back(std::move(entry.part));
    }
    return {};
  }

  std::vector<T> items;
  std::vector<Part> parts;  // parts[i] are the facts of items[i]
  std::once_flag once;
  std::string path_;
  const PartForm& (*form_)();
  Result<T> (*from_)(const PartEntry&);
};

}  // namespace

struct Catalog::Shelves {
  explicit Shelves(std::span<const io::EmbeddedFile> f) : files(f) {}

  // The parsed shelf. Data that cannot be read is our own fault here: Catalog::read and a unit test go through all of it.
  template <class T>
  const Shelf<T>& parsed(Shelf<T>& shelf) {
    std::call_once(shelf.once, [&] {
      if (const auto done = shelf.read(files); !done) {
        std::fprintf(stderr, "the built-in catalogue is broken: %s\n", done.error().text().c_str());
        std::abort();
      }
    });
    return shelf;
  }

  template <class T>
  Result<void> read_now(Shelf<T>& shelf) {
    Result<void> done;
    std::call_once(shelf.once, [&] { done = shelf.read(files); });
    return done;
  }

  template <class T>
  Result<const T*> find(Shelf<T>& shelf, const std::string& id, PartKind kind) {
    const auto& ready = parsed(shelf);
    const Part* part = find_in(ready.parts, id);
    if (part) return &ready.items[std::size_t(part - ready.parts.data())];
    if (const Part* other = find_in(everything(), id)) {
      return bad_input({},
                       fmt::format("\"{}\" is a {} of the catalogue, a {} was expected", other->id, name_of(other->kind), name_of(kind)),
                       hint_for(id, ready.parts));
    }
    return bad_input({}, fmt::format("the catalogue has no {} \"{}\"", name_of(kind), id.substr(0, 60)), hint_for(id, ready.parts));
  }

  const std::vector<Part>& of(PartKind kind) {
    static const std::vector<Part> none;
    switch (kind) {
      case PartKind::gpu: return parsed(gpus).parts;
      case PartKind::link: return parsed(links).parts;
      case PartKind::nic: return parsed(nics).parts;
      case PartKind::switch_: return parsed(switches).parts;
      case PartKind::storage: return parsed(storage).parts;
      case PartKind::price: return parsed(prices).parts;
      case PartKind::measurement: return parsed(measurements).parts;
      case PartKind::node: return none;
    }
    return none;
  }

  const std::vector<Part>& everything() {
    std::call_once(all_once, [&] {
      for (const auto kind :
           {PartKind::gpu, PartKind::link, PartKind::nic, PartKind::switch_, PartKind::storage, PartKind::price, PartKind::measurement}) {
        all.insert(all.end(), of(kind).begin(), of(kind).end());
      }
    });
    return all;
  }

  std::span<const io::EmbeddedFile> files;
  Shelf<Gpu> gpus{"catalog/gpus.yaml", gpu_form, gpu_from};
  Shelf<Link> links{"catalog/links.yaml", link_form, link_from};
  Shelf<Nic> nics{"catalog/nics.yaml", nic_form, nic_from};
  Shelf<Switch> switches{"catalog/switches.yaml", switch_form, switch_from};
  Shelf<Storage> storage{"catalog/storage.yaml", storage_form, storage_from};
  Shelf<Price> prices{"catalog/prices.yaml", price_form, price_from};
  Shelf<FactsOnly> measurements{"catalog/measurements.yaml", measurement_form, facts_only};
  std::once_flag all_once;
  std::vector<Part> all;
};

Catalog::Catalog(std::unique_ptr<Shelves> shelves) : shelves_(std::move(shelves)) {}
Catalog::Catalog(Catalog&&) noexcept = default;
Catalog::~Catalog() = default;

const Catalog& Catalog::builtin() {
  static const Catalog catalog(std::make_unique<Shelves>(io::embedded_files()));
  return catalog;
}

Result<Catalog> Catalog::read(std::span<const io::EmbeddedFile> files) {
  Catalog out(std::make_unique<Shelves>(files));
  auto& shelves = *out.shelves_;
  TRUNKLINE_TRY(shelves.read_now(shelves.gpus));
  TRUNKLINE_TRY(shelves.read_now(shelves.links));
  TRUNKLINE_TRY(shelves.read_now(shelves.nics));
  TRUNKLINE_TRY(shelves.read_now(shelves.switches));
  TRUNKLINE_TRY(shelves.read_now(shelves.storage));
  TRUNKLINE_TRY(shelves.read_now(shelves.prices));
  TRUNKLINE_TRY(shelves.read_now(shelves.measurements));
  return out;
}

Result<const Gpu*> Catalog::gpu(const std::string& id) const { return shelves_->find(shelves_->gpus, id, PartKind::gpu); }
Result<const Nic*> Catalog::nic(const std::string& id) const { return shelves_->find(shelves_->nics, id, PartKind::nic); }
Result<const Switch*> Catalog::find_switch(const std::string& id) const {
  return shelves_->find(shelves_->switches, id, PartKind::switch_);
}
Result<const Link*> Catalog::link(const std::string& id) const { return shelves_->find(shelves_->links, id, PartKind::link); }
Result<const Storage*> Catalog::storage(const std::string& id) const { return shelves_->find(shelves_->storage, id, PartKind::storage); }

Result<const Part*> Catalog::part(const std::string& id) const {
  if (const Part* found = find_in(parts(), id)) return found;
  return bad_input({}, fmt::format("the catalogue has no part \"{}\"", id.substr(0, 60)), hint_for(id, parts()));
}

const std::vector<Gpu>& Catalog::gpus() const { return shelves_->parsed(shelves_->gpus).items; }
const std::vector<Price>& Catalog::prices() const { return shelves_->parsed(shelves_->prices).items; }
const std::vector<Part>& Catalog::parts() const { return shelves_->everything(); }
const std::vector<Part>& Catalog::parts(PartKind kind) const { return shelves_->of(kind); }

const Fact* Part::find(std::string_view field) const {
  const auto found = std::find_if(facts.begin(), facts.end(), [&](const Fact& fact) { return fact.field == field; });
  return found == facts.end() ? nullptr : &*found;
}

std::string name_of(PartKind kind) {
  switch (kind) {
    case PartKind::gpu: return "GPU";
    case PartKind::link: return "link";
    case PartKind::nic: return "NIC";
    case PartKind::switch_: return "switch";
    case PartKind::storage: return "storage";
    case PartKind::price: return "price";
    case PartKind::node: return "node";
    case PartKind::measurement: return "measurement";
  }
  return {};
}

}  // namespace trunkline::catalog
