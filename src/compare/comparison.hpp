// Several results side by side: first what differs in conditions, then metric by metric whether the difference is real.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/conditions.hpp"
#include "compare/verdict.hpp"
#include "measure/result.hpp"

namespace trunkline::compare {

// One metric of result number `result` (1, 2, …) against that of the first.
struct Row {
  std::string probe, metric, unit;
  measure::Better better = measure::Better::higher;
  std::size_t result = 1;
  std::vector<std::optional<double>> values;  // medians, one a result
  Evidence evidence;
  std::optional<double> p_value;   // corrected for all rows together (Holm)
  std::optional<Verdict> verdict;  // absent: not comparable
  std::string reason;              // why not comparable, or why undecided
  std::optional<std::int64_t> repetitions;

  std::string name() const { return probe + " " + metric; }
};

// A probe or metric that not all results have.
struct Unmatched {
  std::string probe, metric;        // no metric: the whole probe
  std::vector<std::string> states;  // one a result: "ok", "failed: …", "waived: …", "not measured"
  bool regression = false;          // worked in the first result and failed in a later one
};

struct Comparison {
  std::vector<std::string> names;       // of the results
  bool comparable = true;               // no decisive difference anywhere
  std::string reason;                   // the decisive ones, in words
  std::vector<Difference> differences;  // decisive ones first
  std::vector<Row> rows;
  std::vector<Unmatched> unmatched;
  Rules rules;

  bool worse() const;  // a verdict "worse", or a probe that no longer works
};

// `results`: two or more, the first is the reference. Their `file` names them. Rows stand in the order of the first result.
// Where only some metrics are not comparable, the others are judged all the same. A verdict against a side whose machine was busy
// with other work meanwhile is not given.
// Cost: about 10 ms for a metric with 1,000 repetitions.
Comparison compare(const std::vector<measure::Measurement>& results, const Rules& rules = {});

// Several runs of one thing as one result: their repetitions one after the other. Errors: runs that may not be compared with each other.
Result<measure::Measurement> joined(const std::vector<measure::Measurement>& runs);

}  // namespace trunkline::compare
