// What is different on a system whose collectives are predicted badly, read from its own rows.
#pragma once

#include <string>
#include <vector>

#include "validate/nccl_table.hpp"

namespace trunkline::validate {

// A median error above this asks for an explanation.
inline constexpr double kLargeMiss = 0.30;

// Facts about the rows of `system` that set it apart, in sentences; empty where its rows show nothing:
// - how far repeats of one size differ, against other systems;
// - the bus bandwidth at the largest size, as a share of the node's NICs, and what the model says;
// - an algorithm that would meet the rows where the chosen one does not;
// - a system of the same GPUs that took another time;
// - what the rows themselves say of network and circumstances.
std::vector<std::string> evidence_of(const std::vector<CollectiveRow>& rows, const std::string& system);

}  // namespace trunkline::validate
