// How fast rates are solved and flows are simulated here. Wall time; `cpu s`, ns/hop and change are processor time.
//
//   bench_network [--quick] [FILE.flows …]     files are run on a fat tree of 16-port switches (1,024 hosts, 100 Gb/s)
#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

#include "cases.hpp"
#include "network/fabric_run.hpp"

namespace trunkline::bench {
namespace {

using namespace network;

void solve_case(std::size_t hosts, std::size_t flows, std::size_t planes, int threads) {
  const SolverCase problem(hosts, flows, planes);
  const double before = peak_mib();
  const Watch whole;
  MaxMin sharing(problem.capacities, {0, threads});
  sharing.reserve(flows, flows * 4);
  std::vector<BundleId> bundles;
  bundles.reserve(flows);
  for (const auto& path : problem.paths) bundles.push_back(sharing.join(path));
  const double built = whole.seconds();
  sharing.solve();
  const double total = whole.seconds(), cpu = whole.cpu();
  const double memory = peak_mib() - before;
  // A flow ends, another begins: what a change costs.
  Rng rng(9);
  constexpr int kChanges = 200;
  const Watch changes;
  for (int i = 0; i < kChanges; ++i) {
    const std::size_t out = rng.below(flows), in = rng.below(flows);
    sharing.leave(bundles[out]);
    bundles[out] = sharing.join(problem.paths[in]);
    sharing.solve();
  }
  fmt::print("{:>9} {:>8} {:>6} {:>7}  {:>8.4f} {:>8.4f} {:>8.4f} {:>8.4f}  {:>8.1f} {:>9.1f} {:>8.0f}\n", flows, problem.capacities.size(),
             planes, threads, built, total - built, total, cpu, cpu / double(4 * flows) * 1e9, changes.cpu() / kChanges * 1e6, memory);
}

ClosSpec fat_tree(int ports) {
  auto spec = *clos_for({ports * ports * ports / 4, 3, ports, 1, 1, gbit_per_s(100)});
  spec.wire = microseconds(1);
  return spec;
}

void simulate_case(const std::string& name, const Clos& clos, const std::vector<Demand>& demands, topology::Routing policy,
                   double tolerance) {
  RunOptions options;
  options.routing.policy = policy;
  options.tolerance = tolerance;
  const auto result = run_traffic(clos, demands, options);
  fmt::print("{:<28} {:>8} {:>9} {:>9}  {:>9.4f} {:>9.4f}  {:>9.1f} {:>9.1f} {:>9.1f}\n", name, demands.size(), topology::name_of(policy),
             tolerance, result.solve.si(), result.simulate.si(), as_microseconds(result.completion.mean),
             as_microseconds(result.completion.p99), as_microseconds(result.completion.max));
}

void simulate_all(bool quick, const std::vector<std::string>& files) {
  fmt::print("\n{:<28} {:>8} {:>9} {:>9}  {:>9} {:>9}  {:>9} {:>9} {:>9}\n", "completion of flows", "flows", "routing", "tolerance",
             "solve s", "run s", "mean us", "p99 us", "max us");
  const Clos small = *Clos::build(fat_tree(16));
  using topology::Routing;
  for (const double tolerance : {0.0, 0.001}) {
    for (const std::string& file : files) {
      const auto demands = read_flows(file, small.hosts());
      if (!demands) {
        fmt::print(stderr, "{}\n", demands.error().text());
        continue;
      }
      for (const auto policy : {Routing::pinned, Routing::ecmp, Routing::spray})
        simulate_case(file.substr(file.rfind('/') + 1), small, *demands, policy, tolerance);
    }
    const auto pairs = random_pairs(small.hosts(), 10'000, Bytes(1'000'000), 1);
    for (const auto policy : {Routing::pinned, Routing::ecmp, Routing::spray})
      simulate_case("10k random x 1 MB", small, pairs, policy, tolerance);
    auto spread = random_pairs(small.hosts(), 10'000, Bytes(10'000'000), 1);
    Rng rng(4);
    for (auto& demand : spread) demand.start = milliseconds(10 * rng.uniform());
    for (const auto policy : {Routing::pinned, Routing::ecmp, Routing::spray})
      simulate_case("10k x 10 MB over 10 ms", small, spread, policy, tolerance);
    simulate_case("incast 128 x 2 MB", small, incast(128, Bytes(2'000'000)), Routing::ecmp, tolerance);
    simulate_case("permutation x 2 MB", small, permutation(small, Bytes(2'000'000), 1), Routing::ecmp, tolerance);
    simulate_case("all-to-all 256 x 1 MB", small, all_to_all(256, Bytes(1'000'000)), Routing::ecmp, tolerance);
    if (quick) continue;
    const Clos large = *Clos::build(fat_tree(32));
    simulate_case("100k random x 1 MB, 8192", large, random_pairs(large.hosts(), 100'000, Bytes(1'000'000), 1), Routing::ecmp, tolerance);
  }
}

void solve_all(bool quick) {
  fmt::print("{:>9} {:>8} {:>6} {:>7}  {:>8} {:>8} {:>8} {:>8}  {:>8} {:>9} {:>8}\n", "flows", "links", "planes", "threads", "build s",
             "solve s", "total s", "cpu s", "ns/hop", "change us", "MiB");
  solve_case(1024, 10'000, 1, 1);
  solve_case(4096, 100'000, 1, 1);
  solve_case(16'384, 100'000, 1, 1);
  if (quick) return;
  solve_case(16'384, 300'000, 1, 1);
  solve_case(16'384, 1'000'000, 1, 1);
  solve_case(2048, 1'000'000, 8, 1);
  solve_case(2048, 1'000'000, 8, 2);
}

}  // namespace
}  // namespace trunkline::bench

int main(int argc, char** argv) {
  bool quick = false;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quick") == 0) {
      quick = true;
    } else {
      files.emplace_back(argv[i]);
    }
  }
  trunkline::bench::solve_all(quick);
  trunkline::bench::simulate_all(quick, files);
  return 0;
}
