#include "compare/offer.hpp"

namespace trunkline::compare {

Result<Offer> offer_of(const topology::Platform& platform, std::optional<measure::Measurement> result, calibrate::Store store) {
  Offer out;
  out.name = platform.name;
  out.stated = {platform, kernels::Efficiencies::default_for(platform.node.gpu)};
  if (result) {
    auto found = calibrate::calibrate({*result}, platform, store);
    if (found)
      out.calibration = std::move(*found);
    else  // nothing that predict could use: the platform stands as stated, and says so
      out.calibration.unused.push_back({result->file, found.error().message});
  }
  TRUNKLINE_ASSIGN(applied, calibrate::apply(out.calibration, platform));
  out.applied = std::move(applied);
  out.result = std::move(result);
  return out;
}

}  // namespace trunkline::compare
