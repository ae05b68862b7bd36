// What `trunkline catalog` answers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "catalog/catalog.hpp"
#include "report/context.hpp"
#include "report/document.hpp"

namespace trunkline::report {

struct CatalogList {
  std::vector<catalog::Gpu> gpus;    // shown with their rates
  std::vector<catalog::Part> parts;  // everything asked for, GPUs included
};

Document catalog_list(const CatalogList& list, const Context& context);
Document catalog_part(const catalog::Part& part, const Context& context);

std::string parts_json(std::span<const catalog::Part> parts, const Context& context);

}  // namespace trunkline::report
