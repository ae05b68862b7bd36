#include "compare/promise.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace trunkline::compare {
namespace {

using measure::Metric;
using measure::ProbeResult;
using measure::Status;

double share_of(double measured, double promised, measure::Better better) {
  return better == measure::Better::higher ? measured / promised : promised / measured;
}

PromiseRow row_of(const std::string& probe, const Metric& metric, const calibrate::Expectation& promise, double at_least) {
  PromiseRow row;
  row.probe = probe;
  row.metric = metric.name;
  row.unit = metric.unit;
  row.better = metric.better;
  row.promised = promise.value;
  row.source = promise.source;
  row.measured = metric.median();
  row.n = metric.samples.size();
  if (!row.measured || *row.measured <= 0) {
    row.kept = Kept::shortfall;
    row.reason = "no figure";
    return row;
  }
  row.share = share_of(*row.measured, promise.value, metric.better);
  double low = *row.share, high = *row.share;
  if (const auto interval = metric.interval(); interval && interval->low > 0) {
    const double a = share_of(interval->low, promise.value, metric.better), b = share_of(interval->high, promise.value, metric.better);
    row.low = low = std::min(a, b);
    row.high = high = std::max(a, b);
  }
  row.kept = high < at_least ? Kept::shortfall : low >= at_least ? Kept::pass : Kept::undecided;
  if (row.kept == Kept::undecided) row.reason = fmt::format("between {:.0f} and {:.0f} %", 100 * low, 100 * high);
  return row;
}

// A probe that failed before it had a metric to judge.
PromiseRow failed_row(const ProbeResult& probe) {
  PromiseRow row;
  row.probe = probe.name;
  row.kept = Kept::shortfall;
  row.reason = "failed" + (probe.reason.empty() ? std::string() : ": " + probe.reason);
  return row;
}

}  // namespace

std::string name_of(Kept kept) {
  switch (kept) {
    case Kept::pass: return "pass";
    case Kept::shortfall: return "shortfall";
    case Kept::undecided: return "undecided";
  }
  return {};
}

bool PromiseCheck::shortfall() const {
  return std::any_of(rows.begin(), rows.end(), [](const PromiseRow& r) { return r.kept == Kept::shortfall; });
}

PromiseCheck check_promise(const measure::Measurement& result, const calibrate::Machine& machine, double at_least) {
  PromiseCheck out;
  out.result = result.file;
  out.platform = machine.platform.name;
  out.at_least = at_least;
  for (const ProbeResult& probe : result.probes) {
    if (probe.status == Status::waived) continue;
    if (probe.status == Status::failed) {
      out.rows.push_back(failed_row(probe));
      continue;
    }
    for (const Metric& metric : probe.metrics) {
      const auto promise = calibrate::expected(machine, probe.name, metric);
      if (promise)
        out.rows.push_back(row_of(probe.name, metric, *promise, at_least));
      else
        out.unpromised.push_back({probe.name + " " + metric.name, promise.error().message});
    }
  }
  return out;
}

}  // namespace trunkline::compare
