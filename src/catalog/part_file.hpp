// One file of data/catalog: parts whose values carry their source, turned into plain values and facts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "catalog/catalog.hpp"
#include "io/spec.hpp"
#include "io/value.hpp"

namespace trunkline::catalog {

struct PartEntry {
  Part part;
  io::Value values;  // field → plain scalar, checked against the kind's spec
};

// What one kind of part may state: `section` is the key under which its file lists the parts.
struct PartForm {
  PartKind kind = PartKind::gpu;
  std::string section;
  io::ObjectSpec values;
};

// Every part of the file, in file order. A value is a scalar, which has the part's `source` and `confidence`, or a block
// {value, source, confidence, printed, note}. `like: id` takes over what an earlier part states and this one does not.
// Errors: a source that `sources` does not list, a value without source or confidence, an unknown key, a wrong unit.
Result<std::vector<PartEntry>> read_part_file(std::string_view text, const std::string& file, const PartForm& form);

}  // namespace trunkline::catalog
