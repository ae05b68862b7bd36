// The same problems solved here and by SimGrid (its CM02 model), in one run: processor time, the ratio, and how far the answers differ.
//
//   bench_network_simgrid [--quick] [FILE.flows …]
//
// Solver: all flows of a case started at once, the rates of the first instant. SimGrid's time includes its bookkeeping of flows, ours
// that of bundles. Patterns and files: run to completion on SimGrid's fat tree (1,024 hosts) with SimGrid's routes, latencies and weights
// (a flow counts 1/latency) on both sides. SimGrid stops filling at an absolute precision (maxmin/precision), which with weights of
// 1/latency leaves some single flows far from max-min fair; the rates here are those of the plain reference in tests/property. Exit status
// 1 where answers differ by more than 1e-6 (rates) or 0.5 % (completions).
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <span>
#include <string>

#include "network/flow_sim.hpp"
#include "network/traffic.hpp"
#include "simgrid_side.hpp"

namespace trunkline::bench {
namespace {

using namespace network;

bool solve_case(std::size_t hosts, std::size_t flows) {
  const SolverCase problem(hosts, flows);
  const Watch watch;
  MaxMin sharing(problem.capacities);
  std::vector<BundleId> bundles;
  for (const auto& path : problem.paths) bundles.push_back(sharing.join(path));
  sharing.solve();
  const double ours = watch.cpu();
  const auto theirs = solve_with_simgrid(problem);
  double farthest = 0;
  for (std::size_t f = 0; f < flows; ++f) farthest = std::max(farthest, std::abs(sharing.level(bundles[f]) / theirs.rates[f] - 1));
  fmt::print("{:>9} {:>8}  {:>10.4f} {:>10.4f} {:>8.0f}  {:>12.1e}\n", flows, problem.capacities.size(), ours, theirs.seconds,
             theirs.seconds / ours, farthest);
  return farthest < 1e-6;
}

std::vector<double> run_here(const std::vector<TreeFlow>& flows, const TreeRun& tree, double tolerance, double& seconds_taken) {
  const Watch watch;
  FlowSim sim(tree.capacities, FlowSim::Options{tolerance});
  std::uint32_t begin = 0;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const auto path = std::span(tree.path_links).subspan(begin, tree.path_ends[i] - begin);
    begin = tree.path_ends[i];
    FlowOptions options;
    options.weight = 1e-6 / tree.latency[i];
    // SimGrid waits for the latency first and then begins to share.
    sim.add(path, Bytes(std::int64_t(flows[i].bytes)), picoseconds(seconds(flows[i].start + tree.latency[i])), options);
  }
  sim.run();
  seconds_taken = watch.cpu();
  std::vector<double> out;
  for (std::size_t i = 0; i < flows.size(); ++i) out.push_back(to_seconds(*sim.completion(FlowId(i))).si() - flows[i].start);
  return out;
}

void print_times(const std::string& who, double seconds, const Times& t) {
  fmt::print("  {:<22} {:>9.4f} s   mean {:>9.2f}  p50 {:>9.2f}  p99 {:>9.2f}  max {:>9.2f} us\n", who, seconds, t.mean * 1e6, t.p50 * 1e6,
             t.p99 * 1e6, t.max * 1e6);
}

bool run_case(const std::string& name, const std::vector<Demand>& demands) {
  std::vector<TreeFlow> flows;
  for (const auto& demand : demands) flows.push_back({demand.source, demand.destination, double(demand.size.count()), demand.start.si()});
  const auto tree = run_tree_with_simgrid(flows);
  double exact_time = 0, near_time = 0;
  const auto exact = run_here(flows, tree, 0, exact_time), near = run_here(flows, tree, 0.001, near_time);
  int apart = 0;
  for (std::size_t i = 0; i < flows.size(); ++i) apart += std::abs(exact[i] / tree.completion[i] - 1) > 0.005;
  const Times a = summary(tree.completion), b = summary(exact), c = summary(near);
  fmt::print("\n{}: {} flows\n", name, flows.size());
  print_times("SimGrid CM02", tree.seconds, a);
  print_times("here, exact", exact_time, b);
  print_times("here, tolerance 0.1 %", near_time, c);
  fmt::print("  SimGrid takes {:.0f} times as long as exact, {:.0f} times as long as tolerance; {} single flows more than 0.5 % apart\n",
             tree.seconds / exact_time, tree.seconds / near_time, apart);
  const auto near_enough = [](double x, double y) { return std::abs(x / y - 1) < 0.005; };
  return near_enough(b.mean, a.mean) && near_enough(b.p99, a.p99) && near_enough(b.max, a.max);
}

bool run_file(const std::string& file) {
  const auto demands = read_flows(file, 1024);
  if (demands) return run_case(file.substr(file.rfind('/') + 1), *demands);
  fmt::print(stderr, "{}\n", demands.error().text());
  return false;
}

// The peers' cases that need no file.
bool run_patterns() {
  auto spec = *clos_for({1024, 3, 16, 1, 1, gbit_per_s(100)});
  const Clos clos = *Clos::build(spec);
  bool agree = run_case("permutation of 1,024 hosts, 2 MB", permutation(clos, Bytes(2'000'000), 1));
  agree = run_case("incast of 128 hosts, 2 MB", incast(128, Bytes(2'000'000))) && agree;
  agree = run_case("all-to-all among 64 hosts, 1 MiB", all_to_all(64, Bytes(1 << 20))) && agree;
  return run_case("ring of 1,024 hosts, one step of 1 MiB", ring(1024, Bytes(1 << 20))) && agree;
}

}  // namespace
}  // namespace trunkline::bench

int main(int argc, char** argv) {
  using namespace trunkline::bench;
  bool agree = true, quick = false;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quick") == 0) {
      quick = true;
    } else {
      files.emplace_back(argv[i]);
    }
  }
  fmt::print("{:>9} {:>8}  {:>10} {:>10} {:>8}  {:>12}\n", "flows", "links", "here s", "SimGrid s", "ratio", "differ by");
  agree = solve_case(1024, 10'000) && agree;
  if (!quick) {
    agree = solve_case(4096, 100'000) && agree;
    agree = solve_case(16'384, 100'000) && agree;
  }
  agree = run_patterns() && agree;
  for (const auto& file : files) agree = run_file(file) && agree;
  fmt::print("\n{}\n", agree ? "answers agree" : "ANSWERS DIFFER");
  return agree ? 0 : 1;
}
