// One function for each kind of part: a checked entry of a catalogue file → the struct that the models use.
#pragma once

#include "base/result.hpp"
#include "catalog/catalog.hpp"
#include "catalog/part_file.hpp"

namespace trunkline::catalog {

const PartForm& gpu_form();
Result<Gpu> gpu_from(const PartEntry& entry);

}  // namespace trunkline::catalog
