// What `trunkline fabric` answers: one run, the spread over seeds, or a row for every point of a sweep.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "network/study.hpp"
#include "report/context.hpp"
#include "report/document.hpp"

namespace trunkline::report {

struct FabricEntry {
  std::vector<std::pair<std::string, std::string>> swept;  // key, value
  std::optional<network::Study> study;
  Error error;  // why there is none
};

// Never empty. With a sweep every entry has the same swept keys.
Document fabric_document(const std::vector<FabricEntry>& entries, const Context& context);
std::string fabric_json(const std::vector<FabricEntry>& entries, const Context& context);

// The figures that are followed over seeds and sweeps: the JSON's key, words and unit for people, how it is read and shown.
struct FabricFigure {
  std::string key, words;
  enum class Kind { rate, time, share, ratio } kind = Kind::ratio;
  double (*of)(const network::RunResult&) = nullptr;
};
const std::vector<FabricFigure>& fabric_figures();

}  // namespace trunkline::report
