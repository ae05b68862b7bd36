#include "backends/nvml/nvml.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "backends/nvml/gpus.hpp"
#include "backends/nvml/library.hpp"
#include "backends/nvml/link_probe.hpp"

namespace trunkline::backends::nvml {
namespace {

Result<std::unique_ptr<Library>> fake() { return Library::open(std::vector<std::string>{"libnot-there.so", TRUNKLINE_FAKE_NVML}); }

std::vector<Gpu> fake_gpus() {
  const auto opened = fake();
  EXPECT_TRUE(opened) << opened.error().text();
  auto found = gpus(**opened);
  EXPECT_TRUE(found) << found.error().text();
  return *found;
}

const measure::Metric& metric(const LinkReport& report, const std::string& name) {
  for (const auto& m : report.metrics) {
    if (m.name == name) return m;
  }
  ADD_FAILURE() << name;
  return report.metrics.front();
}

TEST(Library, a_missing_library_is_said_with_the_next_step) {
  const auto opened = Library::open(std::vector<std::string>{"libnot-there.so"});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::missing);
  EXPECT_NE(opened.error().message.find("libnot-there.so"), std::string::npos);
  EXPECT_FALSE(opened.error().hint.empty());
}

TEST(Library, another_library_is_not_taken_for_nvml) {
  const auto opened = Library::open(std::vector<std::string>{"libc.so.6"});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("lacks nvml"), std::string::npos) << opened.error().message;
}

TEST(Library, a_driver_that_is_not_loaded_is_said_so) {
  ::setenv("FAKE_NVML_INIT", "9", 1);
  const auto opened = fake();
  ::unsetenv("FAKE_NVML_INIT");
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("Driver Not Loaded"), std::string::npos);
  EXPECT_NE(opened.error().hint.find("modprobe"), std::string::npos);
}

TEST(Gpus, what_the_driver_says_in_si_units_and_what_it_lacks_as_absent) {
  const auto gpus = fake_gpus();
  ASSERT_EQ(gpus.size(), 2u);
  const measure::GpuState& gpu = gpus[1].state;
  EXPECT_EQ(gpu.pci, "0000:19:00.0");
  EXPECT_EQ(gpu.memory_bytes, 150'754'820'096);
  EXPECT_EQ(gpu.sm_clock_hz, 1.98e9);
  EXPECT_EQ(gpu.before.memory_clock_hz, 3.201e9);
  EXPECT_EQ(gpu.before.power_w, 690.5);
  EXPECT_EQ(gpu.before.pcie_generation, 4);
  EXPECT_EQ(gpu.links_up, 17);
  EXPECT_FALSE(gpu.before.temperature_c);  // "not supported"
  EXPECT_FALSE(gpu.before.pcie_width);     // the library has no such function
  EXPECT_FALSE(gpu.ecc);
  EXPECT_EQ(gpu.before.throttle, std::vector<std::string>{"power cap"});
  EXPECT_TRUE(gpus[0].state.before.throttle.empty());  // idle is no throttling
}

TEST(Links, speed_comes_from_the_field_that_answers) {
  const auto gpus = fake_gpus();
  ASSERT_EQ(gpus[0].links.size(), 18u);
  EXPECT_EQ(gpus[0].links[17].line, byte_per_s(26562e6));
  EXPECT_EQ(gpus[0].links[0].remote, Remote::nvswitch);
  EXPECT_FALSE(gpus[1].links[7].up);
  EXPECT_FALSE(gpus[1].links[7].line);
}

TEST(LinkReport, a_link_that_is_down_and_errors_are_found) {
  const auto gpus = fake_gpus();
  const auto report = report_on(gpus);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(metric(*report, "links_up@gpu0").share_of_limit(), 1);
  EXPECT_EQ(metric(*report, "links_up@gpu1").median(), 17);
  EXPECT_EQ(metric(*report, "links_up@gpu1").limit, 18);
  EXPECT_EQ(metric(*report, "line_rate@gpu1").median(), 17 * 26562e6);
  const auto& errors = metric(*report, "errors@gpu1");
  EXPECT_EQ(errors.median(), 81);  // 40 replays and 41 recoveries; the other two kinds are not counted
  EXPECT_EQ(std::get<std::int64_t>(*measure::find(errors.conditions, "replays")), 40);
  EXPECT_EQ(measure::find(errors.conditions, "crc_data_errors"), nullptr);
  ASSERT_EQ(report->warnings.size(), 2u);
  EXPECT_NE(report->warnings[0].find("link 3"), std::string::npos);
  EXPECT_NE(report->warnings[1].find("17 of 18"), std::string::npos);
}

TEST(LinkReport, one_gpu_alone_waives_but_several_without_links_are_a_finding) {
  auto gpus = fake_gpus();
  for (Gpu& gpu : gpus) {
    for (Link& link : gpu.links) link.up = false;
  }
  const auto both = report_on(gpus);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->warnings.size(), 2u);
  const auto alone = report_on(std::span(gpus).first(1));
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().kind, ErrorKind::missing);
}

TEST(Backend, starts_without_a_driver_and_says_what_is_missing) {
  const measure::Backend backend = nvml::backend();
  measure::Context context;
  backend.describe(context);
  backend.complete(context);
  const auto needs = backend.needs();
  ASSERT_EQ(needs.size(), 1u);
  if (!needs[0].present) {
    EXPECT_TRUE(context.gpus.empty());
    EXPECT_FALSE(needs[0].fix.empty());
  }
}

}  // namespace
}  // namespace trunkline::backends::nvml
