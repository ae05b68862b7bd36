#include "kernels/efficiencies.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "io/embedded.hpp"

namespace trunkline::kernels {

std::span<const EfficiencyClass> efficiency_classes() {
  static const std::vector<EfficiencyClass> classes = [] {
    constexpr std::string_view path = "calibration/kernels.yaml";
    auto read = read_classes(io::embedded_file(path).value_or(""), std::string(path));
    if (!read) {  // our own fault: a unit test reads all of it
      std::fprintf(stderr, "the built-in kernel efficiencies are broken: %s\n", read.error().text().c_str());
      std::abort();
    }
    return std::move(*read);
  }();
  return classes;
}

const EfficiencyClass& efficiency_class(const catalog::Gpu& gpu) {
  const auto classes = efficiency_classes();
  const auto first = [&](auto&& fits) { return std::find_if(classes.begin(), classes.end(), fits); };
  auto found = first([&](const EfficiencyClass& c) {
    return c.generation == gpu.generation && c.compute_capability != 0 && c.compute_capability == gpu.compute_capability;
  });
  if (found == classes.end())
    found = first([&](const EfficiencyClass& c) { return c.generation == gpu.generation && c.compute_capability == 0; });
  if (found == classes.end()) found = first([](const EfficiencyClass& c) { return c.generation == catalog::Generation::other; });
  return *found;
}

Efficiencies Efficiencies::default_for(const catalog::Gpu& gpu) { return efficiency_class(gpu).values; }

}  // namespace trunkline::kernels
