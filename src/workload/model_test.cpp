// A few counts first; the whole table is below.
#include "workload/model.hpp"

#include <gtest/gtest.h>

namespace trunkline::workload {
namespace {
TEST(M, all) {
  for (const auto& n : builtin_model_names()) {
    auto m = builtin_model(n);
    if (!m) {
      ADD_FAILURE() << m.error().text();
      continue;
    }
    printf("%-20s %.0f %.0f\n", n.c_str(), m->parameters(), m->active_parameters());
    for (auto& [a, b] : m->assumed) printf("     %s: %s\n", a.c_str(), b.c_str());
  }
}
}  // namespace
}  // namespace trunkline::workload
