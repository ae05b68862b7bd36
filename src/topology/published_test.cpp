// What others measured between two parts and round a node's ring, against the graph. The tables are copied facts with
// their source; `enters_a_constant` marks rows from which a constant of the catalogue was taken, so that the error of the
// others can be told apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "io/csv.hpp"
#include "topology/graph.hpp"

namespace trunkline::topology {
namespace {

io::CsvTable table(const std::string& name) {
  auto read = io::CsvTable::read(std::string(TRUNKLINE_SOURCE_DIR) + "/src/topology/testdata/" + name);
  EXPECT_TRUE(read) << read.error().text();
  return *read;
}

NodeType node_of(const std::string& words) {
  const auto value = io::parse_yaml("node: " + words, "testdata");
  auto platform = platform_from(*value);
  EXPECT_TRUE(platform) << platform.error().text();
  return platform->node;
}

int part(const Graph& graph, const std::string& words) {
  const auto space = words.find(' ');
  const std::string kind = words.substr(0, space);
  const int index = std::stoi(words.substr(space + 1));
  if (kind == "gpu") return graph.find(VertexKind::gpu, index);
  if (kind == "memory") return graph.find(VertexKind::memory, index);
  if (kind == "nic") return graph.find(VertexKind::nic, index);
  return graph.find(VertexKind::fabric, index);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n == 0 ? 0 : (values[(n - 1) / 2] + values[n / 2]) / 2;
}

// What one direction gets; `ways` 2 = both at once.
double predicted(const io::CsvTable& rows, const io::CsvRow& row) {
  const Graph graph = build_graph(node_of(rows.cell(row, "platform")));
  const int from = part(graph, rows.cell(row, "from")), to = part(graph, rows.cell(row, "to"));
  std::vector<Path> flows{path_between(graph, from, to)};
  if (rows.cell(row, "ways") == "2") flows.push_back(path_between(graph, to, from));
  const auto rates = shared_rates(graph, flows);
  return as_gbyte_per_s(*std::min_element(rates.begin(), rates.end()));
}

TEST(Published, PointToPointBandwidth) {
  const auto rows = table("p2p_published.csv");
  std::vector<double> all, fresh;
  for (const auto& row : rows.rows()) {
    const double measured = *parse_number(rows.cell(row, "measured_gb_per_s"));
    const double error = predicted(rows, row) / measured - 1;
    all.push_back(std::abs(error));
    if (rows.cell(row, "enters_a_constant") == "0") fresh.push_back(std::abs(error));
    std::printf("%-18s %8.2f predicted %8.2f  %+6.1f %%\n", rows.cell(row, "row_id").c_str(), measured, measured * (1 + error),
                100 * error);
    EXPECT_LT(std::abs(error), 0.5) << rows.cell(row, "row_id");
  }
  std::printf("median error %.1f %% of %zu rows, %.1f %% of the %zu that no constant was taken from\n", 100 * median(all), all.size(),
              100 * median(fresh), fresh.size());
  EXPECT_LT(median(all), 0.03);
  EXPECT_LT(median(fresh), 0.10);
}

TEST(Published, RingsOfOneNode) {
  const auto rows = table("ring_published.csv");
  std::vector<double> all;
  for (const auto& row : rows.rows()) {
    const double measured = *parse_number(rows.cell(row, "measured_gb_per_s"));
    const double ring = as_gbyte_per_s(ring_of(node_of(rows.cell(row, "platform")), int(*parse_integer(rows.cell(row, "gpus")))).per_gpu);
    all.push_back(std::abs(ring / measured - 1));
    std::printf("%-24s %8.1f predicted %8.1f  %+6.1f %%\n", rows.cell(row, "id").c_str(), measured, ring, 100 * (ring / measured - 1));
  }
  std::printf("median error %.1f %% of %zu rings\n", 100 * median(all), all.size());
  EXPECT_LT(median(all), 0.10);
}

}  // namespace
}  // namespace trunkline::topology
