#include "collectives/constants.hpp"

namespace trunkline::collectives {

const Constants& builtin_constants() {
  static constexpr Constants constants;
  return constants;
}

const LinkClass& Constants::of(const Domain& domain) const {
  if (!domain.links) return pcie;
  switch (domain.generation) {
    case catalog::Generation::kepler_to_pascal:
    case catalog::Generation::volta:
    case catalog::Generation::turing: return volta;
    case catalog::Generation::hopper: return hopper;
    case catalog::Generation::blackwell: return blackwell;
    case catalog::Generation::cdna2:
    case catalog::Generation::cdna3:
    case catalog::Generation::cdna4: return xgmi;
    default: return ampere;
  }
}

}  // namespace trunkline::collectives
