// What must hold on every machine, with or without the toolkit, with or without a GPU.
#include "backends/cuda/cuda.hpp"

#include <gtest/gtest.h>

#include <set>

#include "measure/clock.hpp"

namespace trunkline::backends::cuda {
namespace {

TEST(Backend, probes_have_names_of_their_own_below_gpu) {
  std::set<std::string> names;
  for (const auto& probe : backend().probes()) {
    EXPECT_TRUE(probe->name().starts_with("gpu.")) << probe->name();
    EXPECT_TRUE(names.insert(probe->name()).second) << probe->name();
    EXPECT_FALSE(probe->answers().empty());
  }
  EXPECT_TRUE(names.contains("gpu.h2d_d2h"));
}

// Never a crash, never a failure: a machine without a GPU is no fault.
TEST(Backend, without_a_gpu_every_probe_is_waived_with_the_next_step) {
  for (const auto& probe : backend().probes()) {
    const auto estimate = probe->estimate({}, seconds(1));
    if (estimate) GTEST_SKIP() << "a GPU is here";
    measure::SteadyClock clock;
    measure::Sampler sampler(clock, {});
    const auto done = probe->run({}, sampler);
    ASSERT_FALSE(done) << probe->name();
    EXPECT_EQ(done.error().kind, ErrorKind::missing) << probe->name() << ": " << done.error().text();
    EXPECT_EQ(done.error().message, estimate.error().message);
    EXPECT_FALSE(done.error().hint.empty()) << probe->name();
  }
}

TEST(Backend, says_what_is_missing) {
  for (const auto& need : backend().needs()) {
    EXPECT_FALSE(need.found.empty()) << need.name;
    EXPECT_EQ(need.present, need.fix.empty()) << need.name;
  }
}

}  // namespace
}  // namespace trunkline::backends::cuda
