#include "predict/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "predict/formats.hpp"
#include "predict/least_time.hpp"
#include "predict/plans.hpp"
#include "predict/settled.hpp"

namespace trunkline::predict {

using workload::Job;
using workload::Recompute;

namespace {

// A plan with its recomputation; small, as there may be a hundred thousand.
struct Entry {
  Plan plan;
  Recompute recompute = Recompute::none;
  double share = 1;
  Bytes memory;
  double least_s = 0, step_s = 0;
};

class Search {
 public:
  Search(const Job& asked, const PlatformModel& platform, const Options& options, const SearchOptions& how)
      : asked_(asked), platform_(platform), options_(options), how_(how), job_(asked) {
    job_.open = {};
    options_.extras = options_.slots = false;
    options_.compute_factor = factor_of(asked, platform, options);
  }

  Result<Ranking> run() {
    const auto plans = plans_of(asked_, platform_.platform());
    if (plans.empty()) return nothing_divides();
    for (const Plan& plan : plans) try_plan(plan);
    ranking_.tried = plans.size();
    if (fitting_.empty()) {
      set(closest_);
      ranking_.closest = Candidate{job_, closest_.memory, 0};
    } else {
      rank();
    }
    return std::move(ranking_);
  }

 private:
  void set(const Entry& e) {
    job_.parallelism = e.plan.parallelism;
    job_.batch.micro = e.plan.micro;
    job_.recompute = e.recompute;
    job_.recompute_share = e.share;
  }

  Bytes capacity() const { return platform_.platform().node.gpu.memory; }

  // Adds the plan with every recomputation that may prove fastest: less of one kind never takes longer.
  void try_plan(const Plan& plan) {
    set({plan, asked_.recompute, asked_.recompute_share, Bytes(0), 0, 0});
    bool fits = false;
    if (!asked_.open.recompute) {
      fits = add(plan);
    } else {
      job_.recompute = Recompute::none, job_.recompute_share = 1;
      if (!(fits = add(plan))) {
        job_.recompute = Recompute::selective;
        fits = add(plan);
        recompute_part(job_, capacity());
        fits |= add(plan);
      }
    }
    ranking_.fitting += fits;
  }

  bool add(const Plan& plan) {
    const Entry e{plan, job_.recompute, job_.recompute_share, workload::memory_needed(job_).total(), 0, 0};
    if (e.memory <= capacity()) return fitting_.push_back(e), true;
    if (fitting_.empty() && (closest_.memory.count() == 0 || e.memory < closest_.memory)) closest_ = e;
    return false;
  }

  // From the least time up, until no plan left can be among the fastest.
  void rank() {
    LeastTime least(platform_, options_, *options_.compute_factor);
    for (Entry& e : fitting_) {
      set(e);
      e.least_s = least.of(job_);
    }
    std::stable_sort(fitting_.begin(), fitting_.end(), [](const Entry& a, const Entry& b) { return a.least_s < b.least_s; });
    const auto better = [](const Entry& a, const Entry& b) { return a.step_s != b.step_s ? a.step_s < b.step_s : a.memory < b.memory; };
    std::vector<Entry> best;
    for (Entry& e : fitting_) {
      const bool full = best.size() >= how_.keep;
      if (how_.prune && full && e.least_s > best.back().step_s) break;
      set(e);
      e.step_s = step_s_of(job_, platform_, options_);
      ++ranking_.predicted;
      if (full && !better(e, best.back())) continue;
      if (full) best.pop_back();
      best.insert(std::upper_bound(best.begin(), best.end(), e, better), e);
    }
    for (const Entry& e : best) {
      set(e);
      ranking_.fastest.push_back({job_, e.memory, e.step_s});
    }
  }

  tl::unexpected<Error> nothing_divides() const {
    const topology::Platform& p = platform_.platform();
    const auto& fixed = asked_.parallelism;
    const auto& o = asked_.open;
    const std::int64_t stated = std::int64_t(o.tp ? 1 : fixed.tp) * (o.pp ? 1 : fixed.pp) * (o.cp ? 1 : fixed.cp) * (o.dp ? 1 : fixed.dp);
    if (p.gpus() % stated != 0) {
      return bad_input({asked_.file, 0},
                       fmt::format("parallelism: the degrees that the job fixes make {} GPUs, and \"{}\" has {}", stated, p.name, p.gpus()),
                       fmt::format("lower tp, pp, cp or dp until their product divides {}, or leave them open", p.gpus()));
    }
    return bad_input({asked_.file, 0},
                     fmt::format("parallelism: no way to split {} and a batch of {} matches the {} GPUs of \"{}\" and what the job fixes",
                                 asked_.model.name, asked_.batch.global, p.gpus(), p.name),
                     fmt::format("choose a global batch that is a multiple of {}, or leave more of parallelism open", p.gpus()));
  }

  const Job& asked_;
  const PlatformModel& platform_;
  Options options_;
  SearchOptions how_;
  Job job_;  // asked_, with one plan after the other
  std::vector<Entry> fitting_;
  Entry closest_;
  Ranking ranking_;
};

}  // namespace

Result<Ranking> search(const Job& job, const PlatformModel& platform, const Options& options, const SearchOptions& search_options) {
  Job asked = job;
  TRUNKLINE_TRY(settle_format(asked, platform.platform().node.gpu));
  return Search(asked, platform, options, search_options).run();
}

}  // namespace trunkline::predict
