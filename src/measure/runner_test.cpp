#include "measure/runner.hpp"

#include <gtest/gtest.h>

namespace trunkline::measure {
namespace {

class Still : public Environment {
 public:
  const Clock& clock() const override { return clock_; }
  Context describe() override { return {}; }
  void complete(Context& context) override { context.finished = "later"; }
  std::optional<CpuUse> cpu_use() const override { return std::nullopt; }
  VirtualClock clock_;
};

// Takes all the time it is given, or answers with an error.
class Example : public Probe {
 public:
  Example(std::string name, VirtualClock& clock, std::optional<Error> error = {}) : name_(std::move(name)), clock_(clock), error_(error) {}
  std::string name() const override { return name_; }
  std::string answers() const override { return "nothing"; }
  std::string needs() const override { return "nothing"; }
  Result<Estimate> estimate(const Settings&, Seconds budget) const override {
    Estimate e;
    e.time = budget;
    return e;
  }
  Result<void> run(const Settings&, Sampler& sampler) override {
    Point p;
    p.metrics = {{"bandwidth", "B/s", Better::higher, {}}};
    p.repeat = [&]() -> Result<std::vector<double>> {
      clock_.advance(milliseconds(100));
      return std::vector<double>{made_++ % 2 ? 1.0 : 2.0};  // never precise
    };
    TRUNKLINE_TRY(sampler.sample({p}));
    if (error_) return fail(*error_);
    return {};
  }

 private:
  std::string name_;
  VirtualClock& clock_;
  std::optional<Error> error_;
  int made_ = 0;
};

struct Bench {
  Still machine;
  Probes probes;
  Settings settings;
  RunOptions options;
  Observer observer;
  std::vector<Measurement> saved;
  Sampler::Stopped stopped;

  Measurement go() {
    std::vector<Probe*> all;
    for (const auto& p : probes) all.push_back(p.get());
    return run(machine, all, settings, options, observer, [&](const Measurement& m) { saved.push_back(m); }, stopped);
  }
  void add(const std::string& name, std::optional<Error> error = {}) {
    probes.push_back(std::make_unique<Example>(name, machine.clock_, std::move(error)));
  }
};

TEST(Runner, saves_before_and_after_every_probe_and_only_the_last_is_complete) {
  Bench s;
  s.add("a.one");
  s.add("a.two");
  const Measurement m = s.go();
  ASSERT_EQ(s.saved.size(), 4u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(s.saved[i].probes.size(), i);
    EXPECT_FALSE(s.saved[i].complete);
  }
  EXPECT_TRUE(s.saved[3].complete);
  EXPECT_EQ(m.context.finished, "later");
}

TEST(Runner, what_is_missing_waives_and_what_breaks_fails) {
  Bench s;
  s.add("a.missing", Error{ErrorKind::missing, "no GPU here", {}, "rent one"});
  s.add("a.broken", Error{ErrorKind::failed, "No space left on device", {"/data/x", 0}, {}});
  s.add("a.fine");
  const Measurement m = s.go();
  EXPECT_EQ(m.probes[0].status, Status::waived);
  EXPECT_EQ(m.probes[0].reason, "no GPU here; rent one");
  EXPECT_EQ(m.probes[1].status, Status::failed);
  EXPECT_EQ(m.probes[1].reason, "/data/x: No space left on device");
  EXPECT_FALSE(m.probes[1].metrics[0].samples.empty());  // what was measured before stays
  EXPECT_EQ(m.probes[2].status, Status::ok);
  EXPECT_TRUE(m.complete);
}

TEST(Runner, a_stop_ends_the_run_and_says_so_of_the_rest) {
  Bench s;
  s.add("a.one");
  s.add("a.two");
  s.add("a.three");
  s.options.per_probe = seconds(5);
  s.stopped = [&] { return s.machine.clock_.now() > seconds(7); };
  const Measurement m = s.go();
  EXPECT_FALSE(m.complete);
  EXPECT_EQ(m.probes[0].status, Status::ok);
  EXPECT_EQ(m.probes[1].status, Status::failed);
  EXPECT_EQ(m.probes[1].reason, "interrupted");
  EXPECT_EQ(m.probes[1].metrics[0].stopped, "interrupted");
  EXPECT_EQ(m.probes[2].status, Status::waived);
  EXPECT_NE(m.probes[2].reason.find("interrupted"), std::string::npos);
}

TEST(Runner, a_quick_run_of_any_number_of_probes_ends_within_a_minute) {
  for (const int count : {1, 4, 12, 30, 80}) {
    Bench s;
    s.settings.quick = true;
    for (int i = 0; i < count; ++i) s.add("a.p" + std::to_string(i));
    s.go();
    EXPECT_LE(s.machine.clock_.now(), seconds(60)) << count;
  }
}

TEST(QuickBudget, what_a_probe_does_not_need_goes_to_the_others) {
  EXPECT_EQ(quick_budget(seconds(60), seconds(0), 10).si(), 5.5);
  EXPECT_GT(quick_budget(seconds(60), seconds(1), 9), quick_budget(seconds(60), seconds(6), 9));
  EXPECT_LE(quick_budget(seconds(60), seconds(0), 1), seconds(10));
}

TEST(Select, by_name_or_by_group_but_not_by_half_a_word) {
  Still machine;
  Probes probes;
  for (const char* name : {"host.memory_copy", "storage.read", "storage.random_read", "storage.write"})
    probes.push_back(std::make_unique<Example>(name, machine.clock_));
  const auto names = [&](const std::vector<std::string>& words) {
    std::string out;
    const auto chosen = select(probes, words);
    if (!chosen) return chosen.error().message + " | " + chosen.error().hint;
    for (const Probe* p : *chosen) out += p->name() + " ";
    return out;
  };
  EXPECT_EQ(names({"storage.read"}), "storage.read ");
  EXPECT_EQ(names({"storage.write", "storage.read", "storage.read"}), "storage.read storage.write ");  // own order, once
  EXPECT_EQ(names({"host"}), "host.memory_copy ");
  EXPECT_EQ(names({}), "host.memory_copy storage.read storage.random_read storage.write ");
  EXPECT_EQ(names({"storage.r"}).find("no probe is called \"storage.r\""), 0u);
  EXPECT_NE(names({"storage.raed"}).find("storage.read"), std::string::npos);
}

TEST(SettingsCheck, every_option_says_its_form) {
  const std::vector<Option> options = {{"--size", OptionKind::bytes, "SIZE", "bytes to move", {}, 4096},
                                       {"--engine", OptionKind::text, "NAME", "who moves", {"uring", "sync"}},
                                       {"-n,--iters", OptionKind::integer, "N", "iterations", {}, 1}};
  const auto error = [&](const std::string& name, const std::string& text) {
    Settings s;
    s.put(name, text);
    const auto checked = check(options, s);
    return checked ? std::string() : checked.error().text();
  };
  EXPECT_EQ(error("size", "4 KiB"), "");
  EXPECT_NE(error("size", "4"), "");
  EXPECT_NE(error("size", "1 KB").find("too small"), std::string::npos);
  EXPECT_NE(error("engine", "urng").find("uring"), std::string::npos);
  EXPECT_NE(error("iters", "0").find("too small"), std::string::npos);
  EXPECT_NE(error("iters", "many"), "");
}

}  // namespace
}  // namespace trunkline::measure
