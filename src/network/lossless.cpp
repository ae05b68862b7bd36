#include "network/lossless.hpp"

#include <algorithm>
#include <cmath>

namespace trunkline::network {

std::string name_of(Lossless kind) {
  switch (kind) {
    case Lossless::fair: return "fair";
    case Lossless::credits: return "credits";
    case Lossless::pfc: return "pfc";
    case Lossless::pfc_dcqcn: return "pfc-dcqcn";
  }
  return {};
}

namespace {

constexpr double kSame = 1e-9;  // rates nearer than this fraction are one

// Shares, then pauses hop by hop: see lossless_rates.
class Pausing {
 public:
  Pausing(std::span<const double> capacities, std::span<const LosslessFlow> flows, const LosslessOptions& options)
      : capacities_(capacities), flows_(flows), options_(options), cap_(flows.size(), kUnlimited) {
    on_link_.resize(capacities.size());
    weight_.resize(capacities.size(), 0);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      for (const Hop& hop : flows[f].path) {
        on_link_[hop.link].push_back(std::uint32_t(f));
        weight_[hop.link] += flows[f].weight * hop.share;
      }
    }
  }

  LosslessRates run() {
    share();
    LosslessRates out;
    for (const double level : level_) out.fair.push_back(level);
    const bool pauses = options_.kind == Lossless::credits || options_.kind == Lossless::pfc;
    constexpr int kMostRounds = 64;
    while (pauses && out.rounds < kMostRounds && spread()) {
      ++out.rounds;
      share();
    }
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      const bool slowed = level_[f] < out.fair[f] * (1 - kSame);
      out.victim.push_back(slowed && limit_[f] == MaxMin::kOwnCap);
      out.fair[f] *= flows_[f].weight;
      out.real.push_back(flows_[f].weight * level_[f]);
    }
    std::sort(paused_.begin(), paused_.end());
    paused_.erase(std::unique(paused_.begin(), paused_.end()), paused_.end());
    out.paused = std::move(paused_);
    return out;
  }

 private:
  // Max-min shares under the caps that pauses have set.
  void share() {
    MaxMin sharing(capacities_);
    std::vector<BundleId> bundles;
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      bundles.push_back(sharing.join(flows_[f].path, flows_[f].weight, cap_[f] * flows_[f].weight));
    }
    sharing.solve();
    level_.resize(flows_.size());
    limit_.resize(flows_.size());
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      level_[f] = sharing.level(bundles[f]);
      limit_[f] = sharing.bottleneck(bundles[f]);
    }
  }

  // The place of a link on a flow's path; npos where it is not on it.
  static constexpr std::size_t npos = std::size_t(-1);
  std::size_t place_of(std::size_t f, LinkId link) const {
    const auto& path = flows_[f].path;
    for (std::size_t i = 0; i < path.size(); ++i) {
      if (path[i].link == link) return i;
    }
    return npos;
  }

  // How fast a flow would arrive at the link at `place` of its path: an equal share of each link before.
  double arrival(std::size_t f, std::size_t place) const {
    double rate = kUnlimited;
    for (std::size_t i = 0; i < place; ++i) rate = std::min(rate, capacities_[flows_[f].path[i].link] / weight_[flows_[f].path[i].link]);
    return rate;
  }

  // A link at which flows of one lane wait: those that it limits where it is full, all of them where the next link holds it back.
  struct Jam {
    LinkId link;
    std::size_t lane;
    bool held;
  };

  // The ports that a jam holds back: those of flows that bring more than passes, once their surplus overfills the buffer.
  void hold_back(const Jam& jam, std::vector<double>& slowest, std::vector<Jam>& jams) {
    double surplus = 0;
    std::vector<std::pair<std::uint32_t, LinkId>> waiting;  // and the port they come from
    for (const std::uint32_t f : on_link_[jam.link]) {
      if (lane_of(f) != jam.lane || (!jam.held && limit_[f] != jam.link)) continue;
      const std::size_t place = place_of(f, jam.link);
      const double brought = place > 0 ? arrival(f, place) : 0;
      if (!(brought > low_[f] * (1 + kSame))) continue;
      surplus += double(flows_[f].size.count()) * (1 - low_[f] / brought);
      waiting.emplace_back(f, flows_[f].path[place - 1].link);
    }
    if (!(surplus > double(options_.buffer.count()))) return;
    for (const auto& [f, port] : waiting) {
      double& level = slowest[port * lanes() + jam.lane];
      if (!(low_[f] < level)) continue;
      level = low_[f];
      jams.push_back({port, jam.lane, true});
      paused_.push_back(port);
      for (const std::uint32_t other : on_link_[port]) {
        if (lane_of(other) == jam.lane) low_[other] = std::min(low_[other], level);
      }
    }
  }

  // From every full link upstream: who shares a lane of a port held back gets no more there than the slowest. False where nobody is slowed.
  bool spread() {
    low_ = level_;
    std::vector<double> slowest(capacities_.size() * lanes(), kUnlimited);  // by held port and lane
    std::vector<Jam> jams;
    for (LinkId link = 0; link < capacities_.size(); ++link) {
      for (std::size_t lane = 0; lane < lanes(); ++lane) {
        if (!on_link_[link].empty()) jams.push_back({link, lane, false});
      }
    }
    for (std::size_t i = 0; i < jams.size(); ++i) hold_back(Jam(jams[i]), slowest, jams);
    bool changed = false;
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      if (!(low_[f] < level_[f] * (1 - kSame))) continue;
      cap_[f] = low_[f];
      changed = true;
    }
    return changed;
  }

  std::size_t lanes() const { return std::size_t(std::max(1, options_.lanes)); }
  std::size_t lane_of(std::size_t f) const { return std::size_t(flows_[f].lane) % lanes(); }

  std::span<const double> capacities_;
  std::span<const LosslessFlow> flows_;
  const LosslessOptions& options_;
  std::vector<std::vector<std::uint32_t>> on_link_;
  std::vector<double> weight_;  // by link
  std::vector<double> cap_;     // of a flow's level, set by pauses
  std::vector<double> level_;   // of the last sharing
  std::vector<double> low_;     // the same with the pauses that it causes
  std::vector<std::uint32_t> limit_;
  std::vector<LinkId> paused_;
};

}  // namespace

LosslessRates lossless_rates(std::span<const double> capacities, std::span<const LosslessFlow> flows, const LosslessOptions& options) {
  return Pausing(capacities, flows, options).run();
}

Recovery dcqcn_recovery(Bandwidth from, Bandwidth to, Bandwidth line, const Dcqcn& dcqcn) {
  Recovery out;
  double rate = std::max(from.si(), dcqcn.least_rate.si()), goal = rate, lost = 0;
  const double additive = line.si() * dcqcn.additive;
  if (!(additive > 0) || !(dcqcn.timer.si() > 0)) return out;
  for (int i = 0; rate < to.si() * (1 - 1e-3); ++i) {
    lost += (to.si() - rate) * dcqcn.timer.si();
    out.time += dcqcn.timer;
    if (i >= dcqcn.recovery) goal = std::min(to.si(), goal + additive);
    rate = (rate + goal) / 2;
  }
  out.lost = scaled(Bytes(1), lost);
  return out;
}

Bytes pause_headroom(Bandwidth rate, Seconds wire, Bytes packet) { return scaled(Bytes(1), 2 * rate.si() * wire.si()) + 2 * packet; }

Bandwidth credit_rate(Bandwidth line, Bytes buffer, Seconds round_trip) {
  return round_trip.si() > 0 ? std::min(line, buffer / round_trip) : line;
}

}  // namespace trunkline::network
