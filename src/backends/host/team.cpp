#include "backends/host/team.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

namespace trunkline::backends::host {
namespace {

using Clock = std::chrono::steady_clock;

class PinnedTeam : public Team {
 public:
  PinnedTeam(const Places& places, std::span<const int> cpus)
      : begin_(std::ptrdiff_t(cpus.size()) + 1), end_(std::ptrdiff_t(cpus.size()) + 1), members_(cpus.size()) {
    for (std::size_t i = 0; i < cpus.size(); ++i)
      members_[i].thread = std::thread([this, &places, cpu = cpus[i], i] { live(places, cpu, i); });
    end_.arrive_and_wait();  // all are pinned, or know why not
  }
  ~PinnedTeam() override {
    work_ = nullptr;
    begin_.arrive_and_wait();
    for (Member& m : members_) m.thread.join();
  }

  int size() const override { return int(members_.size()); }

  Seconds run(const std::function<void(int)>& work) override {
    work_ = &work;
    begin_.arrive_and_wait();
    end_.arrive_and_wait();
    const auto first =
        std::min_element(members_.begin(), members_.end(), [](const Member& a, const Member& b) { return a.began < b.began; });
    const auto last =
        std::max_element(members_.begin(), members_.end(), [](const Member& a, const Member& b) { return a.ended < b.ended; });
    return seconds(std::chrono::duration<double>(last->ended - first->began).count());
  }

  std::optional<Error> problem() const {
    for (const Member& m : members_) {
      if (m.problem) return m.problem;
    }
    return std::nullopt;
  }

 private:
  struct Member {
    std::thread thread;
    Clock::time_point began, ended;
    std::optional<Error> problem;
  };

  void live(const Places& places, int cpu, std::size_t index) {
    Member& me = members_[index];
    if (auto pinned = places.pin_this_thread(cpu); !pinned) me.problem = pinned.error();
    end_.arrive_and_wait();
    while (true) {
      begin_.arrive_and_wait();
      if (!work_) return;
      me.began = Clock::now();
      (*work_)(int(index));
      me.ended = Clock::now();
      end_.arrive_and_wait();
    }
  }

  std::barrier<> begin_, end_;
  const std::function<void(int)>* work_ = nullptr;  // written before begin_, read behind it
  std::vector<Member> members_;
};

}  // namespace

Result<std::unique_ptr<Team>> Team::make(const Places& places, std::span<const int> cpus) {
  auto team = std::make_unique<PinnedTeam>(places, cpus);
  if (auto problem = team->problem()) return fail(std::move(*problem));
  return team;
}

}  // namespace trunkline::backends::host
