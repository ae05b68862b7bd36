// What every kind of table has in common: a row that was measured, what is predicted for it, and errors summed up.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "validate/columns.hpp"

namespace trunkline::validate {

using Assumptions = std::vector<std::pair<std::string, std::string>>;

struct Row {
  std::string id, file, table;
  int line = 0;
  double measured_s = 0, predicted_s = 0;
  double low_s = 0, high_s = 0;  // 80 % interval
  double error = 0;              // (predicted − measured) / measured
  bool eligible = true;          // states what a prediction needs, and nothing speaks against it
  bool judged = false;           // eligible, predicted, and among the rows that count of a long table
  std::string skipped_reason;    // why it cannot be predicted; empty otherwise
  Assumptions assumed;
  std::string chosen;  // collectives: "ring simple"

  bool predicted() const { return skipped_reason.empty(); }
  bool covered() const { return measured_s >= low_s && measured_s <= high_s; }
  // Sets predicted_s, its interval and error. What is not a time is a reason to skip the row.
  void set_prediction(double seconds, double low_factor, double high_factor);
};

// rows = eligible + beside + left_out; eligible = predicted + skipped; judged ≤ predicted.
struct ErrorSummary {
  std::string name, file;
  int rows = 0;
  int eligible = 0, predicted = 0, skipped = 0;
  int beside = 0;    // not eligible, predicted nevertheless
  int left_out = 0;  // not eligible, and not predicted
  int judged = 0;    // what the errors below are of; in a group of rows beside: all that are predicted
  double median_abs = 0, mean_abs = 0, p90_abs = 0, mean_signed = 0;
  double covered = 0;  // share of measured times within the interval
};

// Over the judged rows, or, with `beside`, over those that were predicted although they are not eligible.
ErrorSummary summarise(std::string name, const std::vector<const Row*>& rows, bool beside = false);

// One summary for each file and table in it, in the order in which they come.
std::vector<ErrorSummary> by_table(const std::vector<const Row*>& rows);

// The median over tables with judged rows of their median error; 0 for none.
double median_of_medians(const std::vector<ErrorSummary>& tables);

template <class Derived>
std::vector<const Row*> pointers(const std::vector<Derived>& rows) {
  std::vector<const Row*> out;
  for (const auto& row : rows) out.push_back(&row);
  return out;
}

}  // namespace trunkline::validate
