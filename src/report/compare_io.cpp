#include "report/compare_report.hpp"
#include "report/json_io.hpp"

namespace trunkline::report {
namespace {

Json number(std::optional<double> v) { return v && std::isfinite(*v) ? Json(*v) : Json(nullptr); }

Json results_json(const Comparing& comparing) {
  Json out = Json::array();
  for (const auto& r : comparing.results) {
    out.push_back({{"file", r.file},
                   {"backend", or_null(r.context.backend)},
                   {"host", or_null(r.context.host)},
                   {"machine", or_null(r.context.machine)},
                   {"tool_version", or_null(r.context.tool_version)},
                   {"started", or_null(r.context.started)},
                   {"complete", r.complete}});
  }
  return out;
}

Json differences_json(const std::vector<compare::Difference>& differences) {
  Json out = Json::array();
  for (const auto& d : differences) {
    Json values = Json::array();
    for (const auto& v : d.values) values.push_back(or_null(v));
    out.push_back(
        {{"field", d.field}, {"values", std::move(values)}, {"decisive", d.decisive}, {"where", d.where}, {"reason", or_null(d.reason)}});
  }
  return out;
}

Json rows_json(const compare::Comparison& c) {
  Json out = Json::array();
  for (const auto& row : c.rows) {
    const auto& e = row.evidence;
    Json values = Json::array();
    for (const auto& v : row.values) values.push_back(number(v));
    out.push_back({{"metric", row.name()},
                   {"probe", row.probe},
                   {"name", row.metric},
                   {"unit", row.unit},
                   {"better", measure::name_of(row.better)},
                   {"reference", c.names.front()},
                   {"result", c.names[row.result]},
                   {"values", std::move(values)},
                   {"n", {e.reference_n, e.n}},
                   {"block", e.block},
                   {"ratio", number(e.ratio)},
                   {"low", number(e.low)},
                   {"high", number(e.high)},
                   {"p_value", number(row.p_value)},
                   {"p_uncorrected", number(e.p_value)},
                   {"verdict", row.verdict ? Json(name_of(*row.verdict)) : Json(nullptr)},
                   {"reason", or_null(row.reason)},
                   {"repetitions", or_null(row.repetitions)}});
  }
  return out;
}

Json unmatched_json(const std::vector<compare::Unmatched>& unmatched) {
  Json out = Json::array();
  for (const auto& u : unmatched) out.push_back({{"probe", u.probe}, {"states", u.states}, {"regression", u.regression}});
  return out;
}

void add_comparison(const compare::Comparison& c, Json& out) {
  out["comparable"] = c.comparable;
  out["reason"] = or_null(c.reason);
  out["differences"] = differences_json(c.differences);
  out["rows"] = rows_json(c);
  out["unmatched"] = unmatched_json(c.unmatched);
  out["rules"] = {{"margin", c.rules.margin},
                  {"level", c.rules.level},
                  {"error", c.rules.error},
                  {"seed", c.rules.seed},
                  {"resamples", c.rules.resamples}};
}

Json promise_json(const compare::PromiseCheck& check) {
  Json rows = Json::array(), unpromised = Json::array();
  for (const auto& row : check.rows) {
    rows.push_back({{"metric", row.metric.empty() ? row.probe : row.name()},
                    {"unit", or_null(row.unit)},
                    {"measured", number(row.measured)},
                    {"promised", row.promised > 0 ? Json(row.promised) : Json(nullptr)},
                    {"n", row.n},
                    {"share", number(row.share)},
                    {"low", number(row.low)},
                    {"high", number(row.high)},
                    {"verdict", name_of(row.kept)},
                    {"source", or_null(row.source)},
                    {"reason", or_null(row.reason)}});
  }
  for (const auto& u : check.unpromised) unpromised.push_back({{"metric", u.name}, {"reason", u.reason}});
  return {{"result", check.result},         {"platform", check.platform}, {"at_least", check.at_least},
          {"shortfall", check.shortfall()}, {"rows", std::move(rows)},    {"unpromised", std::move(unpromised)}};
}

Json figure_json(const std::optional<compare::Figure>& f) {
  if (!f) return nullptr;
  return {{"value", f->value}, {"measured", f->measured}, {"what", f->what}};
}

Json ranking_json(const std::vector<compare::Rank>& ranking) {
  Json out = Json::array();
  for (const auto& r : ranking) {
    out.push_back(
        {{"rank", r.rank},
         {"platform", r.platform},
         {"gpus", r.gpus},
         {"nodes", r.nodes},
         {"bandwidth_bytes_per_s", figure_json(r.bandwidth)},
         {"latency_s", figure_json(r.latency)},
         {"step_s", r.step_s},
         {"interval", {{"low_s", r.low_s}, {"high_s", r.high_s}}},
         {"scaling", {{"baseline_gpus", r.baseline_gpus}, {"speedup", r.speedup}, {"efficiency", r.efficiency}}},
         {"steps_per_hour", r.steps_per_hour},
         {"fits", r.fits},
         {"cost_per_1000_steps",
          r.per_1000_steps ? Json{{"amount", r.per_1000_steps->amount}, {"currency", r.per_1000_steps->currency}} : Json(nullptr)},
         {"assumed", object_of(r.assumed)}});
  }
  return out;
}

// All causes in one list, as the contract has it; each names its pair.
void add_gaps(const std::vector<compare::Gap>& gaps, Json& out) {
  out["gaps"] = Json::array();
  out["causes"] = Json::array();
  for (const auto& gap : gaps) {
    out["gaps"].push_back({{"reference", gap.reference},
                           {"platform", gap.other},
                           {"of", name_of(gap.quantity)},
                           {"reference_s", gap.reference_s},
                           {"platform_s", gap.other_s},
                           {"gap_s", gap.other_s - gap.reference_s}});
    for (const auto& c : gap.causes)
      out["causes"].push_back({{"trunk", c.trunk},
                               {"share", number(c.share)},
                               {"seconds", c.seconds},
                               {"fact", c.fact},
                               {"scatter", c.scatter},
                               {"reference", gap.reference},
                               {"platform", gap.other}});
  }
}

}  // namespace

std::string compare_json(const Comparing& comparing, const Context& context) {
  Json out;
  out["results"] = results_json(comparing);
  if (comparing.comparison) add_comparison(*comparing.comparison, out);
  out["promises"] = Json::array();
  for (const auto& check : comparing.promises) out["promises"].push_back(promise_json(check));
  out["ranking"] = ranking_json(comparing.ranking);
  add_gaps(comparing.gaps, out);
  out["context"] = context_json(context);
  return text_of(out);
}

}  // namespace trunkline::report
