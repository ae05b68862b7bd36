// GPUs as their makers and those who measured them describe them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace trunkline::catalog {

enum class Precision { fp32, tf32, fp16, bf16, fp8, fp4 };

// Families that behave alike; every per-generation constant in the program is keyed by this.
enum class Generation {
  kepler_to_pascal,
  volta,
  turing,
  ampere,
  ada,
  hopper,
  blackwell,
  blackwell_consumer,
  cdna3,
  other,
  cdna2,
  cdna4,
};

enum class LinkFamily { none, nvlink, xgmi };

struct Gpu {
  std::string id, name, vendor, form;
  Generation generation = Generation::other;
  int compute_capability = 0;  // 80, 90, 100, …; 0 where the term does not apply
  int sms = 0;                 // streaming multiprocessors (compute units on AMD); 0 = not known

  // Dense tensor-core rates with fp32 accumulation; zero = the hardware has none, or none was found.
  FlopRate fp32, tf32, fp16, bf16, fp8, fp4;

  Bytes memory;  // what the driver shows a program; where that is not catalogued, what is sold, in GiB
  Bandwidth memory_bandwidth;

  LinkFamily link_family = LinkFamily::none;
  int link_generation = 0;
  int links = 0;
  Bandwidth link_bandwidth;  // all links together, one direction

  Bandwidth c2c_bandwidth;  // to a CPU in the same module, one direction; zero = the host is reached over PCIe

  int pcie_generation = 0;
  int pcie_lanes = 16;
  double tdp_w = 0;  // 0 = not known

  // Whether the hardware has units for `precision`, as far as the catalogue knows.
  bool supports(Precision precision) const;
  // `precision`, or what its products run in where the hardware lacks it: fp4 → fp8 → bf16, bf16 → fp32 on NVIDIA before Ampere (else
  // fp16, where only the figure is missing), fp16 and tf32 → fp32.
  Precision computes_in(Precision precision) const;
  // The dense rate of that. Zero only where none of them is known.
  FlopRate rate(Precision precision) const;
};

std::string name_of(Precision precision);
std::string name_of(Generation generation);
std::string name_of(LinkFamily family);
std::optional<Generation> generation_named(std::string_view name);
std::vector<std::string> generation_names();
double bytes_per_element(Precision precision);  // 4, 4, 2, 2, 1, 0.5

}  // namespace trunkline::catalog
