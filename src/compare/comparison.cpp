#include "compare/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "measure/hash.hpp"
#include "stats/significance.hpp"

namespace trunkline::compare {
namespace {

using measure::Measurement;
using measure::Metric;
using measure::ProbeResult;
using measure::Status;

const Metric* metric_of(const Measurement& m, const std::string& probe, const std::string& metric) {
  const ProbeResult* p = m.find(probe);
  return p ? p->find(metric) : nullptr;
}

bool measured(const Metric* m) { return m && !m->samples.empty(); }

std::string state_of(const ProbeResult* p) {
  if (!p) return "not measured";
  if (p->status == Status::ok) return "ok";
  return name_of(p->status) + (p->reason.empty() ? "" : ": " + p->reason);
}

// Differences of single metrics, joined where field and values agree.
class Differences {
 public:
  explicit Differences(std::size_t results) : results_(results) {}

  // `found` = what one metric of result `other` has apart from the reference.
  void add(std::size_t other, const std::vector<Difference>& found, const std::string& where) {
    for (const Difference& d : found) {
      Difference& all = pending(d, where);
      all.values[0] = d.values[0];
      all.values[other] = d.values[1];
      if (d.decisive && !all.decisive) all.reason = d.reason;
      all.decisive = all.decisive || d.decisive;
    }
  }

  // All that was added for one metric is complete.
  void close(const std::vector<bool>& has) {
    for (Difference& d : open_) {
      for (std::size_t i = 1; i < results_; ++i) {
        if (d.values[i] == kUntouched) d.values[i] = has[i] ? d.values[0] : "";
      }
      const auto same = std::find_if(done_.begin(), done_.end(), [&](const Difference& other) {
        return other.field == d.field && other.values == d.values && other.decisive == d.decisive;
      });
      if (same == done_.end())
        done_.push_back(std::move(d));
      else
        same->where.insert(same->where.end(), d.where.begin(), d.where.end());
    }
    open_.clear();
  }

  std::vector<Difference> take() { return std::move(done_); }

 private:
  static constexpr const char* kUntouched = "\x01";

  Difference& pending(const Difference& like, const std::string& where) {
    for (Difference& d : open_) {
      if (d.field == like.field) return d;
    }
    open_.push_back({like.field, std::vector<std::string>(results_, kUntouched), false, {where}, like.reason});
    return open_.back();
  }

  std::size_t results_;
  std::vector<Difference> open_, done_;
};

std::string contention_text(const ProbeResult* p) {
  if (!p) return "";
  if (!p->contention.noticed) return "no";
  const auto& others = p->contention.others_share;
  return others ? fmt::format("yes, {:.0f} % of the CPUs", 100 * *others) : "yes";
}

void add_contention(const std::vector<Measurement>& results, std::vector<Difference>& out) {
  for (const ProbeResult& probe : results.front().probes) {
    Difference d{"contention", {}, false, {probe.name}, "other work ran meanwhile: no verdict against that side"};
    for (const auto& r : results) d.values.push_back(contention_text(r.find(probe.name)));
    const bool noticed = std::any_of(d.values.begin(), d.values.end(), [](const auto& v) { return v.starts_with("yes"); });
    if (!noticed) continue;
    const auto same = std::find_if(out.begin(), out.end(), [&](const Difference& o) { return o.field == d.field && o.values == d.values; });
    if (same == out.end())
      out.push_back(std::move(d));
    else
      same->where.push_back(probe.name);
  }
}

std::string points_of(const ProbeResult& p) {
  std::vector<std::string> points;
  for (const Metric& m : p.metrics) {
    const auto at = m.name.find('@');
    std::string point = at == std::string::npos ? m.name : m.name.substr(at + 1);
    if (std::find(points.begin(), points.end(), point) == points.end()) points.push_back(std::move(point));
  }
  return join(points, ", ");
}

// The points (message sizes, ways to read) of each probe; they decide where no common one is left.
void add_points(const std::vector<Measurement>& results, std::vector<Difference>& out) {
  for (const ProbeResult& probe : results.front().probes) {
    Difference d{"sizes", {}, false, {probe.name}, "only what all have is compared"};
    bool everywhere = true;
    for (const auto& r : results) {
      const ProbeResult* p = r.find(probe.name);
      everywhere = everywhere && p && p->status == Status::ok;
      d.values.push_back(p ? points_of(*p) : "");
    }
    const bool equal = std::all_of(d.values.begin(), d.values.end(), [&](const auto& v) { return v == d.values.front(); });
    if (!everywhere || equal) continue;
    for (std::size_t i = 1; i < results.size(); ++i) {
      const auto& metrics = results[i].find(probe.name)->metrics;
      const bool common = std::any_of(metrics.begin(), metrics.end(), [&](const Metric& m) { return probe.find(m.name); });
      if (!common) d.decisive = true, d.reason = "no size in common";
    }
    out.push_back(std::move(d));
  }
}

Row row_of(const std::vector<Measurement>& results, const std::string& probe, const Metric& reference, std::size_t other,
           const Rules& rules) {
  Row row;
  row.probe = probe;
  row.metric = reference.name;
  row.unit = reference.unit;
  row.better = reference.better;
  row.result = other;
  for (const auto& r : results) {
    const Metric* m = metric_of(r, probe, reference.name);
    row.values.push_back(m ? m->median() : std::nullopt);
  }
  const Metric* m = metric_of(results[other], probe, reference.name);
  row.evidence = evidence_of(reference.samples, m->samples, rules, measure::stable_hash(row.name(), rules.seed));
  return row;
}

// A refused row keeps its values: they are facts. What would compare them goes.
void refuse(Row& row, const std::vector<Difference>& found) {
  std::vector<std::string> why;
  for (const Difference& d : found) {
    if (d.decisive) why.push_back(fmt::format("{}: {} against {}", d.field, d.values[0], d.values[1]));
  }
  if (why.empty()) return;
  row.reason = "not comparable (" + join(why, "; ") + ")";
  row.evidence.ratio = row.evidence.low = row.evidence.high = row.evidence.p_value = std::nullopt;
}

void add_rows(const std::vector<Measurement>& results, bool refused, Comparison& out) {
  Differences differences(results.size());
  for (const ProbeResult& probe : results.front().probes) {
    for (const Metric& reference : probe.metrics) {
      if (!measured(&reference)) continue;
      std::vector<bool> has(results.size(), true);
      for (std::size_t i = 1; i < results.size(); ++i) {
        const Metric* m = metric_of(results[i], probe.name, reference.name);
        has[i] = measured(m);
        if (!has[i]) continue;
        const auto found = differences_between(reference, *m);
        differences.add(i, found, probe.name + " " + reference.name);
        Row row = row_of(results, probe.name, reference, i, out.rules);
        if (refused) row.reason = "not comparable", row.evidence.ratio = row.evidence.p_value = std::nullopt;
        refuse(row, found);
        out.rows.push_back(std::move(row));
      }
      differences.close(has);
    }
  }
  auto found = differences.take();
  out.differences.insert(out.differences.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
}

bool busy(const Measurement& m, const std::string& probe) {
  const ProbeResult* p = m.find(probe);
  return p && p->contention.noticed;
}

void judge_rows(const std::vector<Measurement>& results, Comparison& out) {
  std::vector<double> p_values;
  for (const Row& row : out.rows) {
    if (row.reason.empty() && row.evidence.p_value) p_values.push_back(*row.evidence.p_value);
  }
  const auto corrected = stats::holm(p_values);
  std::size_t next = 0;
  for (Row& row : out.rows) {
    if (!row.reason.empty()) continue;
    if (row.evidence.p_value) row.p_value = corrected[next++];
    Judgement j = judge(row.evidence, row.p_value.value_or(1), p_values.size(), row.better, out.rules);
    const std::size_t loser = j.verdict == Verdict::worse ? row.result : 0;
    if ((j.verdict == Verdict::worse || j.verdict == Verdict::better) && busy(results[loser], row.probe)) {
      j.verdict = Verdict::undecided;
      j.reason = "other work ran on the slower side: repeat it on an idle machine";
    }
    row.verdict = j.verdict;
    row.reason = std::move(j.reason);
    row.repetitions = j.repetitions;
  }
}

void add_unmatched(const std::vector<Measurement>& results, Comparison& out) {
  std::vector<std::string> seen;
  for (const auto& r : results) {
    for (const ProbeResult& p : r.probes) {
      if (std::find(seen.begin(), seen.end(), p.name) != seen.end()) continue;
      seen.push_back(p.name);
      Unmatched u{p.name, {}, {}, false};
      bool same = true;
      const ProbeResult* first = results.front().find(p.name);
      for (const auto& each : results) {
        const ProbeResult* here = each.find(p.name);
        u.states.push_back(state_of(here));
        same = same && here && here->status == Status::ok;
        u.regression = u.regression || (first && first->status == Status::ok && here && here->status == Status::failed);
      }
      const bool alike = std::all_of(u.states.begin(), u.states.end(), [&](const auto& s) { return s == u.states.front(); });
      if (!same && !alike) out.unmatched.push_back(std::move(u));
    }
  }
}

// "storage.write bandwidth", "storage.write latency": where these are all common metrics of the probe, its name alone.
void shorten(const std::vector<Measurement>& results, std::vector<Difference>& differences) {
  for (Difference& d : differences) {
    std::vector<std::string> out;
    for (const ProbeResult& p : results.front().probes) {
      std::vector<std::string> here;
      for (const Metric& m : p.metrics) {
        if (std::find(d.where.begin(), d.where.end(), p.name + " " + m.name) != d.where.end()) here.push_back(p.name + " " + m.name);
      }
      const auto common = std::count_if(p.metrics.begin(), p.metrics.end(), [&](const Metric& m) {
        return std::any_of(results.begin() + 1, results.end(), [&](const auto& r) { return measured(metric_of(r, p.name, m.name)); });
      });
      if (std::find(d.where.begin(), d.where.end(), p.name) != d.where.end() || (!here.empty() && std::ptrdiff_t(here.size()) == common))
        out.push_back(p.name);
      else
        out.insert(out.end(), here.begin(), here.end());
    }
    if (!d.where.empty()) d.where = std::move(out);
  }
}

std::string words_of(const Difference& d) {
  std::vector<std::string> values;
  for (const auto& v : d.values) values.push_back(v.empty() ? "not recorded" : v);
  std::string out = d.field + (d.where.empty() ? "" : " of " + join(d.where, ", ")) + ": " + join(values, " against ");
  return d.reason.empty() ? out : out + " (" + d.reason + ")";
}

std::string label_of(const Measurement& m) { return m.file.empty() ? m.context.host : m.file; }

}  // namespace

bool Comparison::worse() const {
  return std::any_of(rows.begin(), rows.end(), [](const Row& r) { return r.verdict == Verdict::worse; }) ||
         std::any_of(unmatched.begin(), unmatched.end(), [](const Unmatched& u) { return u.regression; });
}

Comparison compare(const std::vector<Measurement>& results, const Rules& rules) {
  Comparison out;
  out.rules = rules;
  for (const auto& r : results) out.names.push_back(label_of(r));
  if (results.size() < 2) return out;
  out.differences = differences_between(results);
  const bool refused = std::any_of(out.differences.begin(), out.differences.end(), [](const Difference& d) { return d.decisive; });
  add_rows(results, refused, out);
  add_points(results, out.differences);
  add_contention(results, out.differences);
  judge_rows(results, out);
  add_unmatched(results, out);
  shorten(results, out.differences);
  std::stable_partition(out.differences.begin(), out.differences.end(), [](const Difference& d) { return d.decisive; });
  std::vector<std::string> why;
  for (const Difference& d : out.differences) {
    if (d.decisive) why.push_back(words_of(d));
  }
  out.comparable = why.empty();
  out.reason = join(why, "; ");
  return out;
}

Result<Measurement> joined(const std::vector<Measurement>& runs) {
  Measurement out = runs.front();
  for (std::size_t i = 1; i < runs.size(); ++i) {
    for (const ProbeResult& p : runs[i].probes) {
      const auto mine = std::find_if(out.probes.begin(), out.probes.end(), [&](const ProbeResult& o) { return o.name == p.name; });
      if (mine == out.probes.end()) {
        out.probes.push_back(p);
        continue;
      }
      if (p.status == Status::failed) mine->status = Status::failed, mine->reason = p.reason;
      mine->contention.noticed = mine->contention.noticed || p.contention.noticed;
      for (const Metric& m : p.metrics) {
        const auto same = std::find_if(mine->metrics.begin(), mine->metrics.end(), [&](const Metric& o) { return o.name == m.name; });
        if (same == mine->metrics.end()) {
          mine->metrics.push_back(m);
          continue;
        }
        for (const Difference& d : differences_between(*same, m)) {
          if (!d.decisive) continue;
          return bad_input({runs[i].file, 0},
                           fmt::format("no run of the same thing as {}: {} of {} {} is {} there and {} here", runs.front().file, d.field,
                                       p.name, m.name, d.values[0], d.values[1]),
                           "join with commas only runs made in the same way");
        }
        same->samples.insert(same->samples.end(), m.samples.begin(), m.samples.end());
      }
    }
    out.complete = out.complete && runs[i].complete;
  }
  if (runs.size() > 1) out.file += fmt::format(" and {} more", runs.size() - 1);
  return out;
}

}  // namespace trunkline::compare
