#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "network/collective_run.hpp"

namespace trunkline::network {

std::string name_of(Operation operation) {
  switch (operation) {
    case Operation::all_reduce: return "all_reduce";
    case Operation::reduce_scatter: return "reduce_scatter";
    case Operation::all_gather: return "all_gather";
    case Operation::all_to_all: return "all_to_all";
  }
  return {};
}

std::string name_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::ring: return "ring";
    case Algorithm::tree: return "tree";
    case Algorithm::halving: return "halving";
    case Algorithm::hierarchical: return "hierarchical";
    case Algorithm::direct: return "direct";
    case Algorithm::pxn: return "pxn";
  }
  return {};
}

namespace {

tl::unexpected<Error> cannot(const CollectiveTask& task, std::string why, std::string hint) {
  return bad_input({}, fmt::format("\"{}\": {} by {} {}", task.name, name_of(task.operation), name_of(task.algorithm), why),
                   std::move(hint));
}

// A task's ranks by island, islands in the order in which rings and trees take them.
struct Group {
  const CollectiveTask& task;
  const Machines& machines;
  std::vector<std::vector<int>> islands;

  Group(const CollectiveTask& task_in, const Machines& machines_in) : task(task_in), machines(machines_in) {
    int last = -1;
    for (const int rank : task.ranks) {
      if (machines.island_of(rank) != last) islands.emplace_back();
      last = machines.island_of(rank);
      islands.back().push_back(rank);
    }
    if (task.order == RingOrder::by_place) {
      std::stable_sort(islands.begin(), islands.end(),
                       [&](const auto& a, const auto& b) { return machines.host_of(a.front()) < machines.host_of(b.front()); });
    }
  }

  int ranks() const { return int(task.ranks.size()); }
  bool even() const {
    return std::all_of(islands.begin(), islands.end(), [&](const auto& island) { return island.size() == islands.front().size(); });
  }

  // Ranks of an island beside different NICs: the first of each.
  std::vector<int> doors(const std::vector<int>& island) const {
    std::vector<int> out;
    for (const int rank : island) {
      const auto same = [&](int other) { return machines.host_of(other) == machines.host_of(rank); };
      if (std::none_of(out.begin(), out.end(), same)) out.push_back(rank);
    }
    return out;
  }

  std::size_t channels() const {
    if (islands.size() < 2) return 1;
    std::size_t most = 1;
    for (const auto& island : islands) most = std::max(most, doors(island).size());
    return most;
  }
};

// Part `index` of `parts` of a size; all parts add up to it.
Bytes part_of(Bytes size, std::size_t index, std::size_t parts) {
  const auto upto = [&](std::size_t i) {
    __extension__ using Wide = __int128;
    return std::int64_t(Wide(size.count()) * Wide(i) / Wide(parts));
  };
  return Bytes(upto(index + 1) - upto(index));
}

// Passes over each link of a ring of n ranks: chunks of size/n, n − 1 times round for each half of an all-reduce.
Stage ring_stage(const Group& group, const std::string& name, double passes) {
  Stage stage;
  stage.name = name;
  const int n = group.ranks();
  stage.steps = int(passes) * (n - 1);
  const double each = passes * (n - 1) / n;
  const std::size_t channels = group.channels();
  for (std::size_t c = 0; c < channels; ++c) {
    const Bytes bytes = scaled(part_of(group.task.size, c, channels), each);
    for (std::size_t i = 0; i < group.islands.size(); ++i) {
      const auto& here = group.islands[i];
      const auto doors = group.doors(here);
      // The chain begins beside the channel's NIC and takes the island's ranks in turn.
      const auto first = std::size_t(std::find(here.begin(), here.end(), doors[c % doors.size()]) - here.begin());
      for (std::size_t k = 0; k + 1 < here.size(); ++k)
        stage.transfers.push_back({here[(first + k) % here.size()], here[(first + k + 1) % here.size()], bytes});
      if (group.islands.size() < 2) {
        if (here.size() > 1) stage.transfers.push_back({here[(first + here.size() - 1) % here.size()], here[first], bytes});
        continue;
      }
      const auto there = group.doors(group.islands[(i + 1) % group.islands.size()]);
      stage.transfers.push_back({doors[c % doors.size()], there[c % there.size()], bytes});
    }
  }
  return stage;
}

// Parents in a binary tree whose in-order positions are 0 … n − 1; −1 for the root. The even positions are leaves.
void plant(int begin, int end, int parent, std::vector<int>& parents) {
  if (begin >= end) return;
  const int root = begin + int(std::bit_floor(unsigned(end - begin))) - 1;
  parents[std::size_t(root)] = parent;
  plant(begin, root, root, parents);
  plant(root + 1, end, root, parents);
}

Stage tree_stage(const Group& group) {
  Stage stage;
  stage.name = "two trees";
  const int n = int(group.islands.size());
  std::vector<int> parents(static_cast<std::size_t>(n), -1);
  plant(0, n, -1, parents);
  const std::size_t channels = group.channels();
  std::size_t most = 1;
  for (const auto& island : group.islands) most = std::max(most, island.size());
  stage.steps = 2 * (n > 1 ? std::bit_width(unsigned(n - 1)) : 0) + 2 * int(most - 1);
  for (std::size_t c = 0; c < 2 * channels; ++c) {
    const Bytes bytes = part_of(group.task.size, c, 2 * channels);
    const int shift = c < channels ? 0 : 1;  // the second tree stands one island further: inner nodes of one are leaves of the other
    for (int i = 0; i < n; ++i) {
      const auto& island = group.islands[std::size_t((i + shift) % n)];
      const auto doors = group.doors(island);
      const int door = doors[c % channels % doors.size()];
      const auto first = std::size_t(std::find(island.begin(), island.end(), door) - island.begin());
      for (std::size_t k = 0; k + 1 < island.size(); ++k) {
        const int near = island[(first + k) % island.size()], far = island[(first + k + 1) % island.size()];
        stage.transfers.push_back({near, far, bytes});
        stage.transfers.push_back({far, near, bytes});
      }
      if (parents[std::size_t(i)] < 0) continue;
      const auto above = group.doors(group.islands[std::size_t((parents[std::size_t(i)] + shift) % n)]);
      const int up = above[c % channels % above.size()];
      stage.transfers.push_back({door, up, bytes});
      stage.transfers.push_back({up, door, bytes});
    }
  }
  return stage;
}

// Near partners first, so that the large exchanges stay inside islands (Rabenseifner: halve the vector, double the distance).
std::vector<Stage> halving_stages(const Group& group) {
  std::vector<Stage> halving;
  const int n = group.ranks();
  for (int distance = 1, level = 1; distance < n; distance *= 2, ++level) {
    Stage stage;
    stage.name = fmt::format("exchange at distance {}", distance);
    for (int i = 0; i < n; ++i)
      stage.transfers.push_back({group.task.ranks[std::size_t(i)], group.task.ranks[std::size_t(i ^ distance)],
                                 scaled(group.task.size, 1.0 / double(1 << level))});
    halving.push_back(std::move(stage));
  }
  std::vector<Stage> out;
  if (group.task.operation != Operation::all_gather) out = halving;
  if (group.task.operation != Operation::reduce_scatter) out.insert(out.end(), halving.rbegin(), halving.rend());
  return out;
}

std::vector<Stage> hierarchical_stages(const Group& group) {
  const std::size_t here = group.islands.front().size(), islands = group.islands.size();
  const auto inside = [&](const char* name) {
    Stage stage;
    stage.name = name;
    stage.steps = int(here) - 1;
    for (const auto& island : group.islands) {
      for (std::size_t i = 0; i < here && here > 1; ++i)
        stage.transfers.push_back({island[i], island[(i + 1) % here], scaled(group.task.size, double(here - 1) / double(here))});
    }
    return stage;
  };
  const int passes = group.task.operation == Operation::all_reduce ? 2 : 1;
  Stage across;
  across.name = "across islands";
  across.steps = passes * (int(islands) - 1);
  for (std::size_t i = 0; i < islands && islands > 1; ++i) {
    for (std::size_t j = 0; j < here; ++j) {
      across.transfers.push_back({group.islands[i][j], group.islands[(i + 1) % islands][j],
                                  scaled(group.task.size, passes * double(islands - 1) / double(islands) / double(here))});
    }
  }
  std::vector<Stage> out;
  if (group.task.operation != Operation::all_gather) out.push_back(inside("reduce-scatter inside"));
  out.push_back(std::move(across));
  if (group.task.operation != Operation::reduce_scatter) out.push_back(inside("all-gather inside"));
  return out;
}

Stage exchange_stage(const Group& group) {
  const Machines& machines = group.machines;
  Stage stage;
  stage.name = "everybody to everybody";
  const auto n = group.task.ranks.size();
  for (const auto& island : group.islands) {
    const auto doors = group.doors(island);
    for (const int from : island) {
      for (std::size_t j = 0; j < n; ++j) {
        const int to = group.task.ranks[j];
        if (to == from) continue;
        Transfer transfer{from, to, part_of(group.task.size, j, n)};
        if (group.task.algorithm == Algorithm::pxn && machines.island_of(to) != machines.island_of(from)) {
          const int rail = machines.host_of(to) % machines.nics;
          for (const int door : doors) {
            if (machines.host_of(door) % machines.nics == rail) transfer.via = door;
          }
        }
        stage.transfers.push_back(transfer);
      }
    }
  }
  return stage;
}

Result<void> check(const CollectiveTask& task, const Machines& machines) {
  if (task.ranks.empty() || task.size.count() <= 0) return cannot(task, "of nothing", "give ranks and a size");
  std::vector<int> sorted = task.ranks;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.front() < 0 || sorted.back() >= machines.ranks() || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return cannot(task, "with ranks that are not there, or twice", fmt::format("ranks are 0 to {}, each once", machines.ranks() - 1));
  }
  const bool exchange = task.operation == Operation::all_to_all,
             direct = task.algorithm == Algorithm::direct || task.algorithm == Algorithm::pxn;
  if (exchange != direct) return cannot(task, "is no way to do it", "direct and pxn are for all_to_all, and it for them");
  if (task.algorithm == Algorithm::tree && task.operation != Operation::all_reduce)
    return cannot(task, "is no way to do it", "trees are for all_reduce");
  if (task.algorithm == Algorithm::halving && !std::has_single_bit(task.ranks.size()))
    return cannot(task, fmt::format("of {} ranks", task.ranks.size()), "halving needs a power of two");
  return {};
}

}  // namespace

Result<std::vector<Stage>> stages_of(const CollectiveTask& task, const Machines& machines) {
  TRUNKLINE_TRY(check(task, machines));
  const Group group(task, machines);
  switch (task.algorithm) {
    case Algorithm::ring: return std::vector<Stage>{ring_stage(group, "rings", task.operation == Operation::all_reduce ? 2 : 1)};
    case Algorithm::tree: return std::vector<Stage>{tree_stage(group)};
    case Algorithm::halving: return halving_stages(group);
    case Algorithm::hierarchical:
      if (!group.even()) return cannot(task, "over islands of different sizes", "use a ring");
      return hierarchical_stages(group);
    case Algorithm::direct:
    case Algorithm::pxn: return std::vector<Stage>{exchange_stage(group)};
  }
  return std::vector<Stage>{};
}

}  // namespace trunkline::network
