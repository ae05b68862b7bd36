#include "validate/p2p_table.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "topology/platform.hpp"

namespace trunkline::validate {
namespace {

const std::vector<PointToPointRow>& published() {
  static const std::vector<PointToPointRow> rows = [] {
    const auto table = io::CsvTable::read(TRUNKLINE_SOURCE_DIR "/data/published/p2p_bandwidth.csv");
    if (!table) throw std::runtime_error(table.error().text());
    return *validate_point_to_point(*table);
  }();
  return rows;
}

// TRUNKLINE_SHOW=1 prints every row.
void show(const std::vector<PointToPointRow>& rows) {
  if (!std::getenv("TRUNKLINE_SHOW")) return;
  for (const auto& r : rows) {
    std::string assumed;
    for (const auto& [what, taken] : r.assumed) assumed += fmt::format(" {}: {};", what, taken);
    std::cout << fmt::format("{:18} {:34} {:9.4f} ms predicted {:9.4f} {:+6.1f} % {}{}\n", r.id, r.kind.substr(0, 34), 1e3 * r.measured_s,
                             1e3 * r.predicted_s, 100 * r.error, r.skipped_reason, assumed);
  }
  const PointToPointSummary summary = summary_of(rows);
  auto groups = summary.tables;
  groups.push_back(summary.overall);
  for (const auto& g : groups) {
    std::cout << fmt::format("{:18} rows {} eligible {} predicted {} median {:.1f} % mean {:.1f} % covered {:.0f} %\n", g.name, g.rows,
                             g.eligible, g.predicted, 100 * g.median_abs, 100 * g.mean_abs, 100 * g.covered);
  }
}

TEST(PointToPoint, LongTransfersAreMet) {
  show(published());
  const PointToPointSummary summary = summary_of(published());
  EXPECT_GE(summary.overall.predicted, 80);
  EXPECT_EQ(summary.overall.skipped, 0);
  EXPECT_LE(summary.overall.median_abs, 0.10);
  EXPECT_GE(summary.overall.covered, 0.75);
}

PointToPointRow row_of(const std::string& cells) {
  const auto table = io::CsvTable::parse(
      "row_id,table_id,kind,system,gpu_type,src,dst,size_bytes,value,unit,direction,network,notes\n" + cells + "\n", "t.csv");
  return point_to_point_row(*table, table->rows().front());
}

TEST(PointToPoint, TwoGpusHaveTheLinksOfTheirNode) {
  const auto one = row_of("1,t,GPU-GPU copy,8x A100,A100-SXM4-80GB,0,1,,270,GB/s,uni,,");
  ASSERT_TRUE(one.predicted()) << one.skipped_reason;
  EXPECT_NEAR(one.measured_s, double(1 << 30) / 270e9, 1e-9);
  const double rate = topology::limits_of(*topology::node_type("hgx-a100-80")).gpu_to_gpu.si();
  EXPECT_NEAR(one.predicted_s, double(1 << 30) / rate, 1e-9);
  const auto both = row_of("1,t,GPU-GPU copy bidir,8x A100,A100-SXM4-80GB,0,1,,540,GB/s,,,");
  EXPECT_NEAR(both.predicted_s, one.predicted_s / 2, 1e-9);
  // Four links a pair without a switch.
  const auto mesh = row_of("1,t,osu_bw,JUWELS Booster,A100-SXM4-40GB,GPU0,GPU1,67108864,90000,MB/s,unidirectional,,");
  EXPECT_GT(mesh.predicted_s, 67108864 / 100e9);
}

TEST(PointToPoint, TwoNodesHaveOneNic) {
  const auto row = row_of("1,t,osu_bw,S,A100-SXM4-40GB,node0,node1,67108864,24500,MB/s,unidirectional,HDR 200 Gb/s InfiniBand,");
  ASSERT_TRUE(row.predicted()) << row.skipped_reason;
  EXPECT_NEAR(67108864 / row.predicted_s, 0.97 * 25e9, 1e8);
  EXPECT_NEAR(row.error, 0, 0.02);
}

TEST(PointToPoint, WhatIsNotPredictedSaysWhy) {
  const auto reason = [](const std::string& cells) { return row_of(cells).skipped_reason; };
  EXPECT_EQ(reason("1,t,ib_write_lat,S,,,,,0.93,us,,,"),
            "kind: \"ib_write_lat\" is not a transfer between two GPUs, a GPU and its host, or two nodes");
  EXPECT_EQ(reason("1,t,osu_bw,JUWELS Booster,A100,GPU0,GPU1,4096,90,MB/s,unidirectional,,"),
            "size_bytes: below 4 MiB the time of the software counts, which is not modelled");
  EXPECT_EQ(reason("1,t,RDMA write bandwidth,S,H100,,,,92,Gb/s,,a fast network,"),
            "network: \"a fast network\" does not state a rate in Gb/s and one of RoCE, EFA, InfiniBand, Omni-Path");
  EXPECT_EQ(reason("1,t,GPU-GPU copy,S,Gaudi 3,0,1,,270,GB/s,uni,,"), "gpu_type: \"Gaudi 3\" has no ready-made node");
  EXPECT_EQ(reason("1,t,GPU-GPU copy,S,A100,0,9,,270,GB/s,uni,,"), "dst: \"9\" is not a GPU of a node of 8");
  EXPECT_EQ(reason("1,t,GPU-GPU copy uni,S,A100,0,1,,270,GB/s,bidir,,"), "direction: \"bidir\" contradicts the kind \"GPU-GPU copy uni\"");
  EXPECT_EQ(reason("1,t,GPU-GPU copy,S,A100,0,1,,270,parsecs,uni,,"),
            "unit: \"parsecs\" is not a bandwidth that is predicted; expected GB/s, MB/s or Gb/s");
}

}  // namespace
}  // namespace trunkline::validate
