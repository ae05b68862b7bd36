// The tables of predictions; predict_document.cpp puts them on one page.
#pragma once

#include "report/predict_report.hpp"

namespace trunkline::report {

// One column a prediction, one line a figure.
Table comparison_table(const PredictionSet& set);

// One line a point of the sweep: with one platform its main figures, with several the throughput on each.
Table sweep_table(const PredictionSet& set);

// One line a prediction, headings as in the JSON; for CSV.
Table prediction_data(const PredictionSet& set);

// Three significant digits; from 10,000 on with thousands apart.
std::string grouped(double value);

// Whether the job is measured in tokens (language models) or samples.
bool counts_tokens(const workload::Job& job);

// "tp 8 · pp 4 · dp 2": only what is more than one.
std::string parallelism_words(const workload::Job& job);

}  // namespace trunkline::report
