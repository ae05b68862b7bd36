#include "kernels/efficiencies.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "io/embedded.hpp"

namespace trunkline::kernels {
namespace {

double adapted(double share, double ratio) { return share < 1 ? 1 / (1 + (1 / share - 1) * ratio) : share; }

FlashShare adapted(FlashShare flash, double ratio) {
  const double half = flash.share * std::pow(0.5, flash.head_exponent);  // at head size 64
  flash.share = adapted(flash.share, ratio);
  flash.head_exponent = std::log2(flash.share / adapted(half, ratio));
  return flash;
}

}  // namespace

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

Efficiencies Efficiencies::default_for(const catalog::Gpu& gpu) {
  const EfficiencyClass& own = efficiency_class(gpu);
  Efficiencies e = own.values;
  const double rate = gpu.bf16.si();
  if (own.sm_rate <= 0 || gpu.sms <= 0 || rate <= 0) return e;
  const double ratio = rate / gpu.sms / own.sm_rate;
  // The overhead of a tile is a fixed time too; as a length of k it is that of the precision that loses most.
  const double worst = *std::min_element(e.matrix.begin(), e.matrix.end());
  e.overhead_k *= ratio * adapted(worst, ratio) / worst;
  for (double& share : e.matrix) share = adapted(share, ratio);
  e.flash2_forward = adapted(e.flash2_forward, ratio);
  e.flash2_backward = adapted(e.flash2_backward, ratio);
  e.flash3_forward = adapted(e.flash3_forward, ratio);
  e.flash3_backward = adapted(e.flash3_backward, ratio);
  return e;
}

}  // namespace trunkline::kernels
