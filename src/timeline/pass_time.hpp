// The operations of one pass (forward, backward) of one layer, priced.
#pragma once

#include "collectives/collective.hpp"
#include "kernels/kernels.hpp"
#include "timeline/effects.hpp"
#include "workload/operations.hpp"

namespace trunkline::timeline {

// The groups of ranks that a job's communication runs in, as one GPU sees them.
struct Domains {
  collectives::Domain tensor, context, expert, expert_tensor, data, expert_data, shard, replica, pipeline;
};

struct PassTime {
  double matrix_s = 0;                              // GEMMs and attention, burst rate
  double limited_s = 0;                             // the same at the power limit
  double memory_s = 0;                              // kernels bound by memory
  double attention_s = 0, limited_attention_s = 0;  // parts of matrix_s and limited_s
  double exposed_s = 0;                             // communication that nothing hides
  double hidden_s = 0;                              // communication beside computation
  double ring_s = 0;                                // keys and values on their way round, hidden as far as attention lasts
  double hidden_sm_s = 0;                           // Σ hidden time × share of the SMs it takes
  double host_s = 0;                                // launch cost

  PassTime& operator+=(const PassTime& o);
  friend PassTime operator*(PassTime t, double n);
};

// Which operations of a pass: zero-bubble schedules run the products that yield weight gradients apart from the rest.
enum class Part { all, weight_gradients, others };

class Pricer {
 public:
  // `limited`: the kernels at the power limit (power.hpp); the same as `kernels` where there is none.
  Pricer(const kernels::Kernels& kernels, const kernels::Kernels& limited, const catalog::Gpu& gpu, const Domains& domains,
         const workload::Behaviour& behaviour, const Effects& effects, const collectives::Options& options)
      : kernels_(kernels), limited_(limited), gpu_(gpu), domains_(domains), behaviour_(behaviour), effects_(effects), options_(options) {}

  PassTime price(const workload::Pass& pass, Part part = Part::all) const;

  // Share of the SMs that an exchange takes from computation beside it: that of rings, whichever algorithm is chosen, as a
  // choice that depends on bandwidths would let a faster link slow computation down.
  double sm_share(workload::Exchange exchange, const collectives::Domain& domain, double bytes) const;

  // One exchange alone.
  collectives::Cost exchange(workload::Exchange exchange, const collectives::Domain& domain, double bytes) const;
  const collectives::Domain& domain(workload::Group group) const;

 private:
  double gemm_s(const workload::Op& op, const kernels::Kernels& kernels) const;
  double attention_s(const workload::Op& op, const kernels::Kernels& kernels) const;
  void add_kernel(const workload::Op& op, PassTime& time) const;
  void add_exchange(const workload::Op& op, PassTime& time) const;
  collectives::Cost exchange_with(workload::Exchange exchange, const collectives::Domain& domain, double bytes,
                                  const collectives::Options& options) const;

  const kernels::Kernels& kernels_;
  const kernels::Kernels& limited_;
  const catalog::Gpu& gpu_;
  const Domains& domains_;
  const workload::Behaviour& behaviour_;
  const Effects& effects_;
  const collectives::Options& options_;
};

}  // namespace trunkline::timeline
