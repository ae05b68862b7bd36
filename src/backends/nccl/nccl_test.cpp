// What must hold on every machine.
#include "backends/nccl/nccl.hpp"

#include <gtest/gtest.h>

#include "backends/nccl/options.hpp"
#include "measure/clock.hpp"

namespace trunkline::backends::nccl {
namespace {

std::vector<Bytes> sizes(std::vector<std::pair<std::string, std::string>> set, bool quick = false) {
  measure::Settings settings;
  settings.quick = quick;
  for (const auto& [name, text] : set) settings.put(name, text);
  const auto out = sizes_from(settings);
  EXPECT_TRUE(out) << out.error().text();
  return out ? *out : std::vector<Bytes>();
}

TEST(Options, sizes_read_as_nccl_tests_reads_them_or_with_a_unit) {
  EXPECT_EQ(*size_from("8", "minbytes"), Bytes(8));
  EXPECT_EQ(*size_from("32M", "minbytes"), mib(32));
  EXPECT_EQ(*size_from("1G", "minbytes"), gib(1));
  EXPECT_EQ(*size_from("1 MiB", "minbytes"), mib(1));
  EXPECT_EQ(*size_from("1 MB", "minbytes"), Bytes(1000000));
  for (const char* wrong : {"", "M", "-1", "0", "many", "1T5", "99999999999G"}) {
    const auto size = size_from(wrong, "minbytes");
    ASSERT_FALSE(size) << wrong;
    EXPECT_EQ(size.error().kind, ErrorKind::usage);
  }
}

TEST(Options, sizes_rise_by_factor_or_by_step) {
  EXPECT_EQ(sizes({{"minbytes", "8"}, {"maxbytes", "64"}, {"stepfactor", "2"}}), (std::vector{Bytes(8), Bytes(16), Bytes(32), Bytes(64)}));
  EXPECT_EQ(sizes({{"minbytes", "1K"}, {"maxbytes", "3K"}, {"stepbytes", "1K"}}), (std::vector{kib(1), kib(2), kib(3)}));
  EXPECT_EQ(sizes({{"minbytes", "1M"}, {"maxbytes", "1M"}}), (std::vector{mib(1)}));
  EXPECT_EQ(sizes({}).front(), kib(1));
  EXPECT_EQ(sizes({}).back(), gib(1));
  EXPECT_EQ(sizes({}, true).size(), 4u);
  EXPECT_EQ(sizes({{"maxbytes", "4K"}}, true).back(), kib(4));  // what was asked for holds also in a quick run
}

TEST(Options, contradictions_are_said) {
  measure::Settings settings;
  settings.put("minbytes", "1G");
  settings.put("maxbytes", "1M");
  EXPECT_FALSE(sizes_from(settings));
  settings.put("maxbytes", "2G");
  settings.put("stepbytes", "1M");
  EXPECT_FALSE(sizes_from(settings));  // 1025 sizes
}

TEST(Backend, without_gpus_or_nccl_every_probe_is_waived) {
  for (const auto& probe : backend().probes()) {
    EXPECT_TRUE(probe->name().starts_with("collective."));
    if (probe->estimate({}, seconds(1))) GTEST_SKIP() << "several GPUs are here";
    measure::SteadyClock clock;
    measure::Sampler sampler(clock, {});
    const auto done = probe->run({}, sampler);
    ASSERT_FALSE(done) << probe->name();
    EXPECT_EQ(done.error().kind, ErrorKind::missing) << done.error().text();
  }
}

}  // namespace
}  // namespace trunkline::backends::nccl
