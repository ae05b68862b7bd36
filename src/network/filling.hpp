// The filling behind MaxMin::solve(). Internal to this folder.
//
// Water rises from level 0; a link saturates where its members, each at the lower of the water and its own level, fill it; its open
// members are then limited there. From nothing that is progressive filling with a heap of links. After a change the same process is
// replayed for the links that it touches, in rising order, everybody else keeping the level of last time:
//   - a touched link that was saturated *holds* its members up to its old level. If it would saturate there again, they keep it and
//     nothing spreads; if only higher, they are released (open) there, which touches their other links; if lower, it takes all
//     members above its new level, which touches the links that they leave.
//   - an event below its level never changes what has settled, so each link settles once and each bundle opens at most once.
// The key of an event is a lower bound of the level at which the link saturates: (capacity − frozen) / open counts members limited
// elsewhere at their last level, though some may end lower here. It is made exact from the members (Newton's method on a concave,
// piecewise linear function) when the event's turn comes, and waits again where it was too early.
// A link without an event that limited nobody last time is idle. Most never saturate, so an event that opens its members gives it none
// while their own link's event comes before: that event, whenever it moves up or settles, calls the idle links that would fill first.
#pragma once

#include "network/maxmin.hpp"

namespace trunkline::network {

class Filling {
 public:
  Filling(MaxMin& system, MaxMin::Workspace& work) : s_(system), work_(work) {}

  // Changes before run(): a bundle's loads are taken from the sums of its links, and put back as its level and bottleneck say.
  void subtract(BundleId id);
  void add(BundleId id);
  void open(BundleId id);  // of a subtracted bundle: its level no longer holds
  bool touch(LinkId id);   // whether it is the first time in this round
  void queue(LinkId id);   // marks a link that needs an event

  void run(bool all_open);  // all_open: no bundle has a level yet
  void restore_heap();      // after events were put into the workspace out of order
  void finish();            // drops moves that moved nothing

 private:
  using Link = MaxMin::Link;
  using Bundle = MaxMin::Bundle;

  static void put_open(Link& link, double load);
  static void take_open(Link& link, double load);
  void push(LinkId id, double key);
  void push_cap(BundleId id);
  void schedule(LinkId id);
  void schedule_queued(double level);
  double lower_bound(const Link& link) const;
  bool fills_before(const Link& link, double level) const;
  double saturation(const Link& link, LinkId id, double from) const;
  bool reached(double level, double water) const;
  bool same(double a, double b) const;

  void look_at(LinkId id, double water);
  void reach_cap(BundleId id, double cap);
  void wait_until(LinkId id, double level);
  bool wait_for_others(LinkId id, double level);
  bool call_idle(LinkId id, double level);
  bool call_idle_of(const Bundle& bundle, std::uint32_t asking, double level);
  void settle(LinkId id, double level);
  void release(LinkId id, double level);
  void limit(BundleId id, std::uint32_t bottleneck, double level);
  bool hand_over(BundleId id, Link& from, double load);
  void note(Bundle& bundle, BundleId id);
  void note(Link& link, LinkId id);

  MaxMin& s_;
  MaxMin::Workspace& work_;
  bool some_idle_ = false, all_open_ = false;
};

}  // namespace trunkline::network
