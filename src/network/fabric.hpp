// What a traffic needs to know of the network that carries it, whatever its shape.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "network/clos.hpp"
#include "network/routing.hpp"

namespace trunkline::network {

// Hosts, directed links, and the way of a flow through them. A host is one port of the fabric: one NIC.
class Fabric {
 public:
  virtual ~Fabric() = default;

  virtual int hosts() const = 0;
  virtual int leaves() const = 0;           // switches that hosts are attached to
  virtual int leaf_of(int host) const = 0;  // the first switch of a host's way out
  virtual std::string host_name(int host) const = 0;
  virtual std::optional<int> host_named(std::string_view) const { return std::nullopt; }  // where hosts have names besides their numbers
  virtual Bandwidth host_rate(int host, Direction direction) const = 0;

  // Directed links; those from wires() on stand for groups of links (Clos::grouped).
  virtual std::span<const double> capacities() const = 0;  // bytes per second
  virtual std::size_t wires() const = 0;
  virtual std::string name(LinkId link) const = 0;
  virtual bool between_switches(LinkId link) const = 0;           // no host at either end
  virtual void spread_groups(std::span<double> loads) const = 0;  // adds the load of each group to its wires

  virtual int switches(int from, int to) const = 0;  // on a shortest way; 0 to itself and where there is none
  virtual Seconds latency(int from, int to) const = 0;

  // The hops of a queue pair, in `hops` (cleared first). Empty from a host to itself. False where no path is in service.
  virtual bool route(const QueuePair& pair, const RoutingOptions& options, std::vector<Hop>& hops) const = 0;

  // The NIC that really sends (PXN).
  virtual int sender(const QueuePair& pair, const RoutingOptions& options) const = 0;
};

class ClosFabric final : public Fabric {
 public:
  explicit ClosFabric(std::shared_ptr<const Clos> clos) : clos_(std::move(clos)) {}

  const Clos& clos() const { return *clos_; }

  int hosts() const override { return clos_->hosts(); }
  int leaves() const override { return clos_->leaves(); }
  int leaf_of(int host) const override { return clos_->leaf_of(host); }
  std::string host_name(int host) const override { return "host " + std::to_string(host); }
  Bandwidth host_rate(int host, Direction direction) const override {
    return byte_per_s(clos_->capacities()[clos_->host_link(host, direction)]);
  }
  std::span<const double> capacities() const override { return clos_->capacities(); }
  std::size_t wires() const override { return clos_->wires(); }
  std::string name(LinkId link) const override { return clos_->name(link); }
  bool between_switches(LinkId link) const override { return link >= 2 * LinkId(clos_->hosts()); }
  void spread_groups(std::span<double> loads) const override { clos_->spread_groups(loads); }
  int switches(int from, int to) const override { return clos_->switches(from, to); }
  Seconds latency(int from, int to) const override { return clos_->latency(from, to); }
  bool route(const QueuePair& pair, const RoutingOptions& options, std::vector<Hop>& hops) const override {
    return Router(*clos_, options).route(pair, hops);
  }
  int sender(const QueuePair& pair, const RoutingOptions& options) const override { return Router(*clos_, options).sender(pair); }

 private:
  std::shared_ptr<const Clos> clos_;
};

}  // namespace trunkline::network
