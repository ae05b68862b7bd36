// Collectives as flows: who sends how much to whom in which stage, and any number of groups at once on one fabric.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "network/fabric.hpp"
#include "network/fabric_run.hpp"

namespace trunkline::network {

// What is attached to the fabric: nodes of GPUs and NICs. GPU i of node n is rank n·gpus + i; its NIC is i·nics/gpus. Host of NIC r of node
// n in the fabric: place(n)·nics + r.
struct Machines {
  int nodes = 1, gpus = 8, nics = 8;
  int island = 1;           // nodes of one NVLink domain (NVL72: 18)
  Bandwidth gpu_links;      // of one GPU, one direction, to any other of its island; zero: traffic inside an island takes no time
  std::vector<int> places;  // by node (placement.hpp); empty = node n at place n
  Seconds step;             // what one send costs besides the way: handshake, kernel's turn, NIC

  int ranks() const { return nodes * gpus; }
  int node_of(int rank) const { return rank / gpus; }
  int island_of(int rank) const { return rank / gpus / island; }
  int host_of(int rank) const {
    const int node = node_of(rank);
    return (places.empty() ? node : places[std::size_t(node)]) * nics + rank % gpus * nics / gpus;
  }
};

enum class Operation { all_reduce, reduce_scatter, all_gather, all_to_all };
enum class Algorithm {
  ring,          // as many rings as a group has NICs on an island; chunks pass round
  tree,          // a chain inside each island, two binary trees of the islands: every island is inner node of one, leaf of the other
  halving,       // recursive halving and doubling: log2(n) exchanges; n a power of two
  hierarchical,  // reduce-scatter inside islands, rings of equal ranks across, all-gather inside
  direct,        // all-to-all: everybody to everybody
  pxn,           // all-to-all: over NVLink to the GPU beside the NIC on the destination's rail first
};
enum class RingOrder { by_rank, by_place };  // by_place: islands as they stand in the fabric, leaf by leaf
std::string name_of(Operation operation);
std::string name_of(Algorithm algorithm);

struct Straggler {
  int rank = 0;
  Seconds late;
};

struct CollectiveTask {
  std::string name;
  Operation operation = Operation::all_reduce;
  Algorithm algorithm = Algorithm::ring;
  RingOrder order = RingOrder::by_rank;
  std::vector<int> ranks;  // in rank order
  Bytes size;              // as nccl-tests counts it: the largest buffer of a rank
  int pieces = 1;          // cut into so many, whose stages overlap (chunks of a pipeline)
  Seconds start;
  std::vector<Straggler> stragglers;  // the group begins when its last rank is there
};

struct Transfer {
  int from = 0, to = 0;  // GPUs
  Bytes size;
  int via = -1;  // GPU of the same island to whose NIC the data goes over NVLink first; -1 = from's own
};

// Transfers that run together. `steps` sends follow each other inside a stage (a ring passes n − 1 chunks), each with the latency of the
// way: so much after its last byte is sent the same piece's next stage begins. The next piece follows at once.
struct Stage {
  std::string name;
  std::vector<Transfer> transfers;
  int steps = 1;
};

// The stages of a task. Bytes over a GPU's ports, n ranks, size S:
//   ring            all-reduce 2(n−1)/n·S, reduce-scatter and all-gather (n−1)/n·S; 2(n−1), n−1 steps
//   tree            all-reduce: S up and S down each link; 2·log2 steps
//   halving         2·Σ S/2^k over log2(n) exchanges = 2(n−1)/n·S; 2·log2(n) steps
//   hierarchical    inside (r−1)/r·S, across 2(N−1)/N·S/r, inside (r−1)/r·S
//   direct, pxn     S/n to each of the others
// An error where the algorithm cannot do that group (halving of 6 ranks, hierarchical over unequal islands, trees of reduce-scatter).
Result<std::vector<Stage>> stages_of(const CollectiveTask& task, const Machines& machines);

struct CollectiveOptions {
  RunOptions run;                                    // routing, queue pairs, tolerance
  std::vector<Demand> background;                    // another tenant: hosts of the fabric; size 0: without end
  std::optional<RoutingOptions> background_routing;  // where the tenant's differs
};

// Terms of one group's time; they add up to it.
struct CollectiveTime {
  std::string name;
  Seconds time;          // from the task's start to its last byte
  Seconds bandwidth;     // alone, over host and NVLink ports only, all pieces in full overlap: the physical bound
  Seconds fill;          // pieces that enter and leave the pipeline of stages
  Seconds latency;       // of one piece: steps × way, all stages, as far as other pieces do not fill the ports meanwhile
  Seconds contention;    // fabric, other groups, background, stages of its own on the same ports: what is left
  Seconds waiting;       // for the last straggler
  Bandwidth algbw;       // size / time
  double bus_share = 0;  // bandwidth / time
};

struct CollectivesResult {
  std::vector<CollectiveTime> groups;  // in the order of the tasks
  Seconds finish;                      // the last of them
  std::size_t flows = 0;               // queue pairs in all
};

// How long collectives take that run at the same time.
//
// Model: FlowSim over fabric links and one NVLink port a GPU each way. A transfer inside an island takes the NVLink ports of its ends; one
// that leaves it the NICs beside them (pxn: of the sender's side beside the destination's rail). Every transfer is cut into
// run.queue_pairs. Ignored: reduction arithmetic, NCCL's protocols (collectives/ prices those), channels that share a stage's latency,
// NVLS. Validated by: closed forms (collective_run_test.cpp): rings, halving, hierarchical against flat, all-to-all, incast. Cost: that of
// FlowSim over all flows of all stages and pieces.
Result<CollectivesResult> run_collectives(const Fabric& fabric, const Machines& machines, std::span<const CollectiveTask> tasks,
                                          const CollectiveOptions& options = {});

}  // namespace trunkline::network
