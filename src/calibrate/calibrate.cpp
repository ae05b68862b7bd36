#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.hpp"
#include "calibrate/rules.hpp"
#include "stats/summary.hpp"
#include "topology/node_reader.hpp"

namespace trunkline::calibrate {
namespace {

using measure::Measurement;
using measure::Metric;

// One metric of one result.
struct Point {
  const Measurement* result;
  std::string probe;
  const Metric* metric;
  std::string name() const { return probe + " " + metric->name; }
};

std::vector<Point> points_of(const std::vector<Measurement>& results) {
  std::vector<Point> out;
  for (const Measurement& r : results) {
    for (const auto& p : r.probes) {
      if (p.status != measure::Status::ok) continue;
      for (const Metric& m : p.metrics) {
        if (const auto median = m.median(); median && *median > 0) out.push_back({&r, p.name, &m});
      }
    }
  }
  return out;
}

constexpr double kMet = 0.05;  // as near as a measured figure comes to what something else lets through

class Fit {
 public:
  Fit(const Applied& start, const ValueKind& kind, Store store, const Point& point)
      : start_(start), kind_(kind), store_(store), point_(point) {}

  // The value with which the model meets `target`. Errors (kind `missing`) say why the metric tells nothing.
  Result<double> value_for(double target) const {
    const double now = kind_.get(start_) > 0 ? kind_.get(start_) : 1;
    TRUNKLINE_ASSIGN(here, log_expected(now));
    TRUNKLINE_ASSIGN(stated, dependence(std::log(now)));
    const bool met = std::abs(std::log(target) - here) < std::log1p(kMet);
    if (stated < kDecides && met) return too_little(stated);
    TRUNKLINE_ASSIGN(solution, solve(std::log(target), std::log(now), here));
    TRUNKLINE_ASSIGN(depends, dependence(solution));
    if (depends < kDecides) return too_little(depends);
    return std::exp(solution);
  }

 private:
  static tl::unexpected<Error> too_little(double depends) {
    return no_promise(fmt::format("only {:.0f} % of its time depends on it", 100 * depends));
  }

  Result<double> log_expected(double value) const {
    Applied changed = start_;
    kind_.put(changed, value);
    TRUNKLINE_ASSIGN(e, expected(Machine(changed.platform, changed.efficiencies, store_), point_.probe, *point_.metric));
    if (!(e.value > 0) || !std::isfinite(e.value)) return no_promise("the model gives no figure for it");
    return std::log(e.value);
  }

  // Secants on the logarithms, as rates are nearly proportional to shares; the bracket [low, high] is halved where a secant leaves it.
  Result<double> solve(double target, double start, double at_start) const {
    constexpr double kFarthest = 4.6;  // a factor of 100 either way: no share, and no typing error, is farther off
    constexpr double kSame = 1e-10;
    const double rises = point_.metric->better == measure::Better::higher ? 1 : -1;
    double low = start - kFarthest, high = start + kFarthest, x = start, y = at_start;
    for (int i = 0; i < 100; ++i) {
      if (std::abs(y - target) < kSame) return x;
      (rises * (y - target) < 0 ? low : high) = x;
      double next = x + rises * (target - y);
      if (!(next > low && next < high)) next = (low + high) / 2;
      if (next == x || high - low < kSame) break;
      x = next;
      TRUNKLINE_ASSIGN(found, log_expected(std::exp(x)));
      y = found;
    }
    if (std::abs(y - target) < 1e-3) return x;  // a step in the model (a tile more) lies there
    return no_promise("no value of it makes the model meet what was measured: something else is the limit");
  }

  // The share of the metric's time that depends on the value, at a value given by its logarithm. Below it and above it may differ (a
  // card whose slot is the next limit): the larger counts.
  Result<double> dependence(double at) const {
    constexpr double kStep = 0.02;
    TRUNKLINE_ASSIGN(below, log_expected(std::exp(at - kStep)));
    TRUNKLINE_ASSIGN(here, log_expected(std::exp(at)));
    TRUNKLINE_ASSIGN(above, log_expected(std::exp(at + kStep)));
    return std::max(std::abs(here - below), std::abs(above - here)) / kStep;
  }

  const Applied& start_;
  const ValueKind& kind_;
  Store store_;
  const Point& point_;
};

struct Found {
  const Point* point;
  double value;
};

std::string names_of(const std::vector<Found>& found) {
  std::vector<std::string> names, hosts;
  for (const Found& f : found) {
    if (names.empty() || std::find(names.begin(), names.end(), f.point->name()) == names.end()) names.push_back(f.point->name());
    const std::string& host = f.point->result->context.host;
    if (!host.empty() && std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  }
  std::string out = names.front();
  if (names.size() > 1) out += fmt::format(" and {} more", names.size() - 1);
  return hosts.empty() ? out : out + " on " + join(hosts, ", ");
}

// The median of what the metrics give. A single one has the interval of its median instead of a range.
Measured measured_of(const std::string& key, const std::vector<Found>& found, const Applied& start, Store store) {
  std::vector<double> values;
  Measured out;
  out.key = key;
  for (const Found& f : found) {
    values.push_back(f.value);
    out.n += f.point->metric->samples.size();
  }
  out.value = stats::median(values);
  out.from = names_of(found);
  if (values.size() > 1) {
    out.low = *std::min_element(values.begin(), values.end());
    out.high = *std::max_element(values.begin(), values.end());
  } else if (const auto interval = found.front().point->metric->interval(); interval && interval->low > 0) {
    const Fit fit(start, *kind_of(key), store, *found.front().point);
    const auto a = fit.value_for(interval->low), b = fit.value_for(interval->high);
    if (a && b) out.low = std::min(*a, *b), out.high = std::max(*a, *b);
  }
  return out;
}

// What the points that `uses` accepts say about the value; why not goes to `unused`.
std::vector<Found> found_by(const Rule& rule, decltype(Rule::direct) uses, const std::vector<Point>& points, const Applied& start,
                            Store store, std::vector<Unused>& unused) {
  std::vector<Found> out;
  for (const Point& p : points) {
    if (!uses || !uses(rule.key, p.probe, *p.metric)) continue;
    const auto value = Fit(start, *kind_of(rule.key), store, p).value_for(*p.metric->median());
    if (value)
      out.push_back({&p, *value});
    else
      unused.push_back({p.name(), rule.key + ": " + value.error().message});
  }
  return out;
}

void set_kernels(Calibration& c) {
  io::Value block = io::Value::map(std::make_shared<const std::string>(c.file), 0, {});
  bool any = false;
  constexpr std::string_view kPrefix = "kernels.";
  for (const Measured& m : c.values) {
    if (!m.key.starts_with(kPrefix)) continue;
    any = block
              .set(m.key.substr(kPrefix.size()),
                   io::Value::scalar(std::make_shared<const std::string>(c.file), 0, file_text(*kind_of(m.key), m.value)))
              .has_value() ||
          any;
  }
  if (any) c.kernels = std::move(block);
}

}  // namespace

const Measured* Calibration::find(std::string_view key) const {
  const auto found = std::find_if(values.begin(), values.end(), [&](const Measured& m) { return m.key == key; });
  return found == values.end() ? nullptr : &*found;
}

Result<Calibration> calibrate(const std::vector<Measurement>& results, const topology::Platform& platform, Store store) {
  Calibration out;
  out.gpu = platform.node.gpu.id;
  if (platform.node.nics.count > 0) out.nic = topology::name_of(platform.node.nics.kind);
  for (const Measurement& r : results) {
    out.results.push_back(r.file);
    if (out.host.empty()) out.host = r.context.host;
    if (out.date.empty()) out.date = r.context.started;
    if (out.tool_version.empty()) out.tool_version = r.context.tool_version;
  }
  const auto points = points_of(results);
  Applied now{platform, kernels::Efficiencies::default_for(platform.node.gpu)};
  for (const Rule& rule : rules_for(platform, store)) {
    auto found = found_by(rule, rule.direct, points, now, store, out.unused);
    if (found.empty()) found = found_by(rule, rule.indirect, points, now, store, out.unused);
    if (found.empty()) continue;
    out.values.push_back(measured_of(rule.key, found, now, store));
    kind_of(rule.key)->put(now, out.values.back().value);
  }
  if (out.values.empty()) {
    std::vector<std::string> why;
    for (const Unused& u : out.unused) why.push_back(u.metric + ": " + u.reason);
    if (why.size() > 3) why.resize(3);
    return bad_input({results.empty() ? "" : results.front().file, 0}, "nothing in the results says anything about what predict uses",
                     why.empty() ? "it reads gpu.*, collective.* over NCCL, network.bandwidth, storage.*, ingest.download and nvbandwidth"
                                 : join(why, "; "));
  }
  const auto order = [](const Measured& m) { return kind_of(m.key) - value_kinds().data(); };
  std::sort(out.values.begin(), out.values.end(), [&](const Measured& a, const Measured& b) { return order(a) < order(b); });
  set_kernels(out);
  return out;
}

}  // namespace trunkline::calibrate
