// Errors gathered by table, framework and GPU generation; shared by the model's validation and the trivial predictor.
#pragma once

#include <utility>
#include <vector>

#include "validate/training.hpp"

namespace trunkline::validate {

// Every row of the tables as a result without a prediction; `judged` is set: eligible and readable, and every k-th row of a
// table of n > 100 such rows, k = n / 100 rounded down, at least 2.
std::vector<TrainingResult> training_results(const std::vector<io::CsvTable>& tables);

// Sets `judged` anew, after rows were skipped.
void judge(std::vector<TrainingResult>& results);

// Fills tables, frameworks, generations, overall and median_of_tables from results.
void summarise_all(TrainingValidation& validation);

// The q-quantile (type 7); 0 for none.
double quantile(std::vector<double> values, double q);

// The value at which a share `q` of the weight, or half of it, is reached; 0 for none.
double weighted_quantile(std::vector<std::pair<double, double>> values_and_weights, double q);
double weighted_median(std::vector<std::pair<double, double>> values_and_weights);

}  // namespace trunkline::validate
