// Published point-to-point bandwidths against the limits of the modelled path.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "io/csv.hpp"
#include "validate/row.hpp"

namespace trunkline::validate {

struct PointToPointRow : Row {  // measured_s: one message at the measured bandwidth
  std::string kind, system;
};

// What a long transfer alone on its path takes: bytes / the practical rate of the path's narrowest wire.
// - Two GPUs of a node: topology::limits_of the ready-made node of `gpu_type` (JUWELS Booster: four A100 without a switch).
// - A GPU and its host: the PCIe slot, or NVLink-C2C where the node has it.
// - Two nodes: one NIC, whose rate and kind the text under `network` states, × the catalogue's efficiency of such a NIC.
// - `direction` or `kind` says whether both directions are counted together: twice one.
// - No size stated: a benchmark's large messages; the times shown are those of 1 GiB.
// Not predicted, each with its reason: messages below 4 MiB and latencies (the software's own time is not modelled), host links
// loaded both ways, whole-network and collective figures, memory bandwidth.
// The catalogue's practical rates come partly from the same publications (data/catalog: `source`), so these errors say how well
// one rate a link generation describes many machines, not how well an unseen link would be met.
PointToPointRow point_to_point_row(const io::CsvTable& table, const io::CsvRow& row);

Result<std::vector<PointToPointRow>> validate_point_to_point(const io::CsvTable& table);

struct PointToPointSummary {
  std::vector<ErrorSummary> tables;
  ErrorSummary overall;
};

PointToPointSummary summary_of(const std::vector<PointToPointRow>& rows);

}  // namespace trunkline::validate
