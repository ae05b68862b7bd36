// Why one platform is slower than another: the gap, shared out over the trunks in which they differ.
#pragma once

#include <string>
#include <vector>

#include "compare/offer.hpp"
#include "predict/prediction.hpp"

namespace trunkline::compare {

// Which time the gap is of.
enum class Quantity { step, epoch, job };

std::string name_of(Quantity quantity);
// The time in a prediction, or an error that names what the job must state for it.
Result<double> time_of(const predict::Prediction& prediction, Quantity quantity);

struct Cause {
  std::string trunk;
  double seconds = 0;           // that it adds to the reference's time; negative: it saves
  std::optional<double> share;  // of the gap; absent where there is none
  std::string fact;             // what the reference has, and what the other has
  bool scatter = false;         // only measured values differ, and by less than measuring them scatters
};

struct Gap {
  std::string reference, other;
  Quantity quantity = Quantity::step;
  double reference_s = 0, other_s = 0;
  std::vector<Cause> causes;  // the largest first; their seconds add up to other_s − reference_s
};

// Shapley values: each trunk's mean effect over all orders in which the reference's trunks could be exchanged for the other's,
//   φ_i = Σ_S |S|!·(n − |S| − 1)!/n! · (T(S ∪ i) − T(S)),  T(S) = predicted time with the trunks in S exchanged.
// They add up to the gap and depend on no order. One at a time, from either end, they would not: of two bottlenecks in series each alone
// hides the other. Ignores: that nobody sells the platforms in between. Cost: 2^n predictions for n differing trunks, at most 128.
// Errors: a platform, or one in between, that cannot run the job.
Result<Gap> causes_of(const workload::Job& job, const Offer& reference, const Offer& other, Quantity quantity);

}  // namespace trunkline::compare
