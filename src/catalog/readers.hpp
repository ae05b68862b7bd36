// For each kind of part: what its file may state, and a checked entry of it → the struct that the models use.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "catalog/catalog.hpp"
#include "catalog/part_file.hpp"
#include "io/spec.hpp"

namespace trunkline::catalog {

const PartForm& gpu_form();
const PartForm& link_form();
const PartForm& nic_form();
const PartForm& switch_form();
const PartForm& storage_form();
const PartForm& price_form();
const PartForm& measurement_form();

Result<Gpu> gpu_from(const PartEntry& entry);
Result<Link> link_from(const PartEntry& entry);
Result<Nic> nic_from(const PartEntry& entry);
Result<Switch> switch_from(const PartEntry& entry);
Result<Storage> storage_from(const PartEntry& entry);
Result<Price> price_from(const PartEntry& entry);

// Fields of a form.
io::FieldSpec required(std::string name, io::FieldType type, std::string doc);
io::FieldSpec optional(std::string name, io::FieldType type, std::string doc);
io::FieldSpec choice(std::string name, std::string doc, std::vector<std::string> choices);  // required

}  // namespace trunkline::catalog
