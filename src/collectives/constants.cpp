#include "collectives/constants.hpp"

namespace trunkline::collectives {

namespace {

constexpr LinkClass kVolta = {{2.0e-6, 3.5e-6, 7.4e-6}, 5.4e9, 0.33, {26.5e9, 18.5e9, 10.0e9}, 0, 0, 0};
constexpr LinkClass kAmpere = {{2.0e-6, 3.5e-6, 7.4e-6}, 12e9, 0.33, {24.0e9, 23.6e9, 17.8e9}, 0, 0, 0};
constexpr LinkClass kHopper = {{1.6e-6, 2.5e-6, 6.4e-6}, 19e9, 0.13, {38.7e9, 41.4e9, 36.0e9}, 0.826, 40e-6, 8.0e6};
constexpr LinkClass kBlackwell = {{1.6e-6, 2.5e-6, 6.4e-6}, 38e9, 0.75, {70.0e9, 42.8e9, 24.0e9}, 0.71, 62e-6, 15e6};
constexpr LinkClass kXgmi = {{2.0e-6, 3.5e-6, 7.4e-6}, 12e9, 0.13, {0, 0, 0}, 0, 0, 0};
constexpr LinkClass kPcie = {{2.6e-6, 4.6e-6, 9.5e-6}, 6e9, 0.33, {0, 0, 0}, 0, 0, 0};

}  // namespace

const LinkClass& link_class(const Domain& domain) {
  if (!domain.links) return kPcie;
  switch (domain.generation) {
    case catalog::Generation::kepler_to_pascal:
    case catalog::Generation::volta:
    case catalog::Generation::turing: return kVolta;
    case catalog::Generation::hopper: return kHopper;
    case catalog::Generation::blackwell: return kBlackwell;
    case catalog::Generation::cdna3: return kXgmi;
    default: return kAmpere;
  }
}

}  // namespace trunkline::collectives
