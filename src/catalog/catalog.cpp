#include "catalog/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/text.hpp"
#include "catalog/readers.hpp"
#include "io/embedded.hpp"

namespace trunkline::catalog {

class CatalogReader {
 public:
  static Result<Catalog> read() {
    Catalog out;
    TRUNKLINE_ASSIGN(gpus, entries("catalog/gpus.yaml", gpu_form()));
    for (auto& entry : gpus) {
      TRUNKLINE_ASSIGN(gpu, gpu_from(entry));
      out.gpus_.push_back(std::move(gpu));
      out.parts_.push_back(std::move(entry.part));
    }
    return out;
  }

 private:
  static Result<std::vector<PartEntry>> entries(const std::string& path, const PartForm& form) {
    const auto text = io::embedded_file(path);
    if (!text) return fail({ErrorKind::failed, "not built into the program", {path, 0}, {}});
    return read_part_file(*text, path, form);
  }
};

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

}  // namespace

const Catalog& Catalog::builtin() {
  static const Catalog catalog = [] {
    auto read = CatalogReader::read();
    if (!read) {  // our own fault: a unit test reads all of it
      std::fprintf(stderr, "the built-in catalogue is broken: %s\n", read.error().text().c_str());
      std::abort();
    }
    return std::move(*read);
  }();
  return catalog;
}

const Fact* Part::find(std::string_view field) const {
  const auto found = std::find_if(facts.begin(), facts.end(), [&](const Fact& fact) { return fact.field == field; });
  return found == facts.end() ? nullptr : &*found;
}

Result<const Part*> Catalog::part(const std::string& id) const {
  const std::string wanted = squeezed(id);
  for (const auto& part : parts_) {
    if (is_called(part, wanted)) return &part;
  }
  std::vector<std::string> ids;
  for (const auto& part : parts_) ids.push_back(part.id);
  return bad_input({}, fmt::format("the catalogue has no part \"{}\"", id), did_you_mean(id, ids));
}

Result<const Gpu*> Catalog::gpu(const std::string& id) const {
  TRUNKLINE_ASSIGN(part, this->part(id));
  for (const auto& gpu : gpus_) {
    if (gpu.id == part->id) return &gpu;
  }
  return bad_input({}, fmt::format("{} is not a GPU", id));
}

}  // namespace trunkline::catalog
