// Which metrics say something about which value. Internal to this folder.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibrate/values.hpp"

namespace trunkline::calibrate {

struct Rule {
  std::string key;
  // Metrics that measure the value itself, and those from which it follows where there are none of the first.
  bool (*direct)(const std::string& key, const std::string& probe, const measure::Metric& metric);
  bool (*indirect)(const std::string& key, const std::string& probe, const measure::Metric& metric) = nullptr;
};

// In the order in which they are fitted.
std::vector<Rule> rules_for(const topology::Platform& platform, Store store);

}  // namespace trunkline::calibrate
