#include "simgrid_side.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <simgrid/s4u.hpp>

namespace trunkline::bench {
namespace {

namespace sg = simgrid::s4u;

// Numbers through a pipe from the child, in one order on both sides.
class Channel {
 public:
  Channel(std::FILE* file, bool writing) : file_(file), writing_(writing) {}

  template <class Number>
  void value(Number& x) {
    exchange(&x, sizeof x);
  }
  template <class Number>
  void values(std::vector<Number>& list) {
    std::uint64_t size = list.size();
    value(size);
    list.resize(size);
    exchange(list.data(), size * sizeof(Number));
  }

 private:
  void exchange(void* data, std::size_t size) {
    const std::size_t moved = writing_ ? std::fwrite(data, 1, size, file_) : std::fread(data, 1, size, file_);
    if (moved == size) return;
    std::fprintf(stderr, "SimGrid's process ended early\n");
    std::exit(1);
  }

  std::FILE* file_;
  bool writing_;
};

void exchange(Channel& channel, SolvedBySimGrid& result) {
  channel.value(result.seconds);
  channel.values(result.rates);
}

void exchange(Channel& channel, TreeRun& result) {
  channel.value(result.seconds);
  channel.values(result.completion);
  channel.values(result.capacities);
  channel.values(result.path_ends);
  channel.values(result.path_links);
  channel.values(result.latency);
}

template <class Answer, class Work>
Answer in_child(Work work) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(1);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    std::FILE* out = fdopen(ends[1], "wb");
    Channel channel(out, true);
    work([&](Answer& answer) {
      exchange(channel, answer);
      std::fflush(out);
      _exit(0);  // unfinished flows and all
    });
    _exit(1);
  }
  close(ends[1]);
  std::FILE* in = fdopen(ends[0], "rb");
  Channel channel(in, false);
  Answer answer;
  exchange(channel, answer);
  std::fclose(in);
  waitpid(child, nullptr, 0);
  return answer;
}

// CM02 without corrections: plain max-min sharing, no traffic of acknowledgements, no TCP window.
struct Engine {
  std::vector<std::string> words{"bench", "--cfg=network/model:CM02", "--cfg=network/crosstraffic:0", "--cfg=network/TCP-gamma:0",
                                 "--log=root.thresh:error"};
  std::vector<char*> arguments = pointers();
  int count = int(words.size());
  sg::Engine engine{&count, arguments.data()};

  std::vector<char*> pointers() {
    std::vector<char*> out;
    for (auto& word : words) out.push_back(word.data());
    out.push_back(nullptr);
    return out;
  }
};

std::vector<sg::LinkInRoute> route_over(const std::vector<sg::Link*>& links, std::uint32_t a, std::uint32_t b) {
  return {sg::LinkInRoute(links[a]), sg::LinkInRoute(links[b])};
}

}  // namespace

SolvedBySimGrid solve_with_simgrid(const SolverCase& problem) {
  return in_child<SolvedBySimGrid>([&](auto hand_over) {
    Engine simulation;
    sg::NetZone* zone = sg::create_star_zone("star");
    std::vector<sg::Link*> links;
    for (std::size_t i = 0; i < problem.capacities.size(); ++i) {
      links.push_back(zone->create_link("link" + std::to_string(i), problem.capacities[i])->set_latency(0.0)->seal());
    }
    std::vector<sg::Host*> from, to;
    for (std::size_t f = 0; f < problem.paths.size(); ++f) {
      const auto& path = problem.paths[f];
      from.push_back(zone->create_host("from" + std::to_string(f), 1e9)->seal());
      to.push_back(zone->create_host("to" + std::to_string(f), 1e9)->seal());
      zone->add_route(from.back()->get_netpoint(), nullptr, nullptr, nullptr, route_over(links, path[0], path[1]), false);
      zone->add_route(nullptr, to.back()->get_netpoint(), nullptr, nullptr, route_over(links, path[2], path[3]), false);
    }
    zone->seal();
    constexpr std::uint64_t kSize = 1'000'000'000'000'000;  // more than a second carries
    sg::Actor::create("starter", from[0], [&] {
      SolvedBySimGrid answer;
      std::vector<sg::CommPtr> comms;
      const Watch watch;
      for (std::size_t f = 0; f < from.size(); ++f) {
        comms.push_back(sg::Comm::sendto_init(from[f], to[f])->set_payload_size(kSize));
        comms.back()->start();
      }
      sg::this_actor::sleep_for(1);
      answer.seconds = watch.cpu();
      for (const auto& comm : comms) answer.rates.push_back(double(kSize) - comm->get_remaining());
      hand_over(answer);
    });
    simulation.engine.run();
  });
}

TreeRun run_tree_with_simgrid(const std::vector<TreeFlow>& flows) {
  return in_child<TreeRun>([&](auto hand_over) {
    Engine simulation;
    std::map<unsigned long, sg::Host*> hosts;
    const auto make_host = [&](sg::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
      sg::Host* host = zone->create_host("host" + std::to_string(id), 1e9)->seal();
      hosts[id] = host;
      return std::make_pair(host->get_netpoint(), static_cast<simgrid::kernel::routing::NetPoint*>(nullptr));
    };
    sg::create_fatTree_zone("tree", nullptr, {3, {8, 8, 16}, {1, 8, 8}, {1, 1, 1}}, sg::ClusterCallbacks(make_host), 12.5e9, 1e-6,
                            sg::Link::SharingPolicy::SPLITDUPLEX)
        ->seal();
    std::vector<sg::Host*> by_number;
    for (const auto& [id, host] : hosts) by_number.push_back(host);
    sg::Actor::create("starter", by_number[0], [&] {
      TreeRun answer;
      std::map<sg::Link*, std::uint32_t> numbers;
      for (const TreeFlow& flow : flows) {
        std::vector<sg::Link*> links;
        double latency = 0;
        by_number[std::size_t(flow.source)]->route_to(by_number[std::size_t(flow.destination)], links, &latency);
        for (sg::Link* link : links) {
          const auto [at, fresh] = numbers.emplace(link, std::uint32_t(numbers.size()));
          if (fresh) answer.capacities.push_back(link->get_bandwidth());
          answer.path_links.push_back(at->second);
        }
        answer.path_ends.push_back(std::uint32_t(answer.path_links.size()));
        answer.latency.push_back(latency);
      }
      const Watch watch;
      std::vector<std::size_t> order(flows.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return flows[a].start < flows[b].start; });
      std::vector<sg::CommPtr> comms(flows.size());
      for (const std::size_t i : order) {
        const TreeFlow& flow = flows[i];
        if (flow.start > sg::Engine::get_clock()) sg::this_actor::sleep_until(flow.start);
        comms[i] = sg::Comm::sendto_init(by_number[std::size_t(flow.source)], by_number[std::size_t(flow.destination)])
                       ->set_payload_size(std::uint64_t(flow.bytes));
        comms[i]->start();
      }
      for (const auto& comm : comms) comm->wait();
      answer.seconds = watch.cpu();
      for (std::size_t i = 0; i < flows.size(); ++i) answer.completion.push_back(comms[i]->get_finish_time() - flows[i].start);
      hand_over(answer);
    });
    simulation.engine.run();
  });
}

}  // namespace trunkline::bench
