// What is wrong with a catalogue file is said with its line and the next step.
#include "catalog/part_file.hpp"

#include <gtest/gtest.h>

#include <string>

#include "catalog/readers.hpp"

namespace trunkline::catalog {
namespace {

constexpr const char* kHead = "sources:\n  sheet: The data sheet\n";

std::string nics(const std::string& body) { return kHead + std::string("nics:\n") + body; }

Result<std::vector<PartEntry>> read(const std::string& text) { return read_part_file(text, "nics.yaml", nic_form()); }

std::string error_of(const std::string& text) {
  const auto entries = read(text);
  if (!entries) return entries.error().text();
  for (const auto& entry : *entries) {
    if (const auto nic = nic_from(entry); !nic) return nic.error().text();
  }
  return "no error";
}

constexpr const char* kGood =
    "  a:\n    name: A\n    kind: roce\n    rate: 100 Gb/s\n    efficiency: {value: 0.9, confidence: unsourced, note: guess}\n"
    "    confidence: vendor\n    source: [sheet page 3]\n";

TEST(PartFile, AValueHasThePartsSourceUnlessItStatesItsOwn) {
  const auto entries = read(nics(kGood));
  ASSERT_TRUE(entries) << entries.error().text();
  const Part& part = entries->front().part;
  EXPECT_EQ(part.find("rate")->source, "The data sheet (page 3)");
  EXPECT_EQ(part.find("rate")->confidence, Confidence::vendor);
  EXPECT_FALSE(part.find("rate")->doubtful());
  EXPECT_EQ(part.find("efficiency")->source, "general knowledge; no source found");
  EXPECT_EQ(part.find("efficiency")->note, "guess");
  EXPECT_TRUE(part.find("efficiency")->doubtful());
  EXPECT_EQ(part.find("latency"), nullptr);
}

TEST(PartFile, AValueMayLowerOnlyItsConfidence) {
  const auto entries =
      read(nics("  a: {name: A, kind: roce, rate: {value: 100 Gb/s, confidence: secondary}, efficiency: 0.9, confidence: vendor, source: "
                "[sheet]}\n"));
  ASSERT_TRUE(entries) << entries.error().text();
  const Fact* rate = entries->front().part.find("rate");
  EXPECT_EQ(rate->confidence, Confidence::secondary);
  EXPECT_EQ(rate->source, "The data sheet");
}

TEST(PartFile, LikeTakesOverWhatIsNotStated) {
  const auto entries = read(nics(std::string(kGood) + "  b: {name: B, like: a, rate: 200 Gb/s}\n"));
  ASSERT_TRUE(entries) << entries.error().text();
  const auto b = nic_from(entries->at(1));
  ASSERT_TRUE(b);
  EXPECT_EQ(b->rate, gbit_per_s(200));
  EXPECT_EQ(b->efficiency, 0.9);
  EXPECT_EQ(entries->at(1).part.find("rate")->source, "The data sheet (page 3)");
}

TEST(PartFile, FactsStandInTheOrderOfTheForm) {
  const auto entries = read(nics("  a: {efficiency: 0.9, rate: 100 Gb/s, kind: roce, name: A, confidence: vendor, source: [sheet]}\n"));
  ASSERT_TRUE(entries) << entries.error().text();
  EXPECT_EQ(entries->front().part.facts.front().field, "kind");
  EXPECT_EQ(entries->front().part.facts.back().field, "efficiency");
}

TEST(PartFile, ErrorsNameLineAndNextStep) {
  EXPECT_EQ(error_of("[1, 2]"), "nics.yaml:1: found a list, expected the blocks sources and nics");
  EXPECT_EQ(error_of(kHead), "nics.yaml:1: no block \"nics\"\n  list the parts there, one key a part");
  EXPECT_EQ(error_of("nics:\n  a: {name: A}\n"), "nics.yaml:1: no block \"sources\"\n  list the sources there, one key a source");
  EXPECT_NE(error_of(kHead + std::string("nic: {}\n")).find("unknown key \"nic\", expected sources or nics"), std::string::npos);
  EXPECT_NE(error_of(nics("  a: 12\n")).find("nics.yaml:4: a: found"), std::string::npos);
  EXPECT_NE(error_of(nics("  a: {name: A, like: z}\n")).find("no earlier part is called \"z\""), std::string::npos);
  EXPECT_NE(error_of(nics("  a: {name: A, kind: roce, confidence: vendor, source: [shet]}\n")).find("did you mean sheet?"),
            std::string::npos);
  EXPECT_NE(error_of(nics("  a: {name: A, kind: roce}\n")).find("kind: no confidence is stated"), std::string::npos);
  EXPECT_NE(error_of(nics("  a: {name: A, kind: roce, confidence: vendor}\n")).find("kind: no source is stated"), std::string::npos);
  EXPECT_NE(error_of(nics("  a: {name: A, kind: roce, confidence: certain, source: [sheet]}\n")).find("\"certain\" is not known here"),
            std::string::npos);
  EXPECT_NE(error_of(nics("  a: {kind: roce, confidence: vendor, source: [sheet]}\n")).find("lacks the key \"name\""), std::string::npos);
}

TEST(PartFile, ErrorsInValues) {
  const auto with = [](const std::string& values) {
    return error_of(nics("  a: {name: A, confidence: vendor, source: [sheet], " + values + "}\n"));
  };
  EXPECT_NE(with("kind: roce, rate: 100, efficiency: 0.9").find("\"100\" has no unit"), std::string::npos);
  EXPECT_NE(with("kind: roce, rate: 100 Gb/s, efficiency: 1.2").find("1.2 is above 1"), std::string::npos);
  EXPECT_NE(with("kind: rocee, rate: 100 Gb/s, efficiency: 0.9").find("did you mean roce?"), std::string::npos);
  EXPECT_NE(with("kind: roce, rate: 100 Gb/s, eficiency: 0.9").find("did you mean efficiency?"), std::string::npos);
  EXPECT_NE(with("kind: roce, rate: 100 Gb/s").find("lacks the key \"efficiency\""), std::string::npos);
  EXPECT_NE(with("kind: roce, rate: {valu: 100 Gb/s}, efficiency: 0.9").find("did you mean value?"), std::string::npos);
  EXPECT_NE(with("kind: roce, rate: [100 Gb/s], efficiency: 0.9").find("expected a value"), std::string::npos);
  EXPECT_EQ(with("kind: roce, rate: 100 Gb/s, efficiency: 0.9"), "no error");
}

TEST(PartFile, AGpuWhoseLinksDoNotAddUpIsRefused) {
  const std::string text = kHead + std::string(
                                       "gpus:\n  g: {name: G, vendor: V, form: F, architecture: X, generation: other, memory: 1 GiB, "
                                       "memory_bandwidth: 1 GB/s, link_family: nvlink,"
                                       " links: 12, link_rate: 25 GB/s, link_bandwidth: 600 GB/s, confidence: vendor, source: [sheet]}\n");
  const auto entries = read_part_file(text, "gpus.yaml", gpu_form());
  ASSERT_TRUE(entries) << entries.error().text();
  const auto gpu = gpu_from(entries->front());
  ASSERT_FALSE(gpu);
  EXPECT_EQ(gpu.error().text(), "gpus.yaml:4: g: 12 links of 25.0 GB/s are 300 GB/s, not 600 GB/s");
}

TEST(PartFile, APowerNeedsItsUnit) {
  const std::string text = kHead + std::string(
                                       "gpus:\n  g: {name: G, vendor: V, form: F, architecture: X, generation: other, memory: 1 GiB, "
                                       "memory_bandwidth: 1 GB/s, link_family: none,"
                                       " tdp: 400, confidence: vendor, source: [sheet]}\n");
  const auto entries = read_part_file(text, "gpus.yaml", gpu_form());
  ASSERT_TRUE(entries) << entries.error().text();
  const auto gpu = gpu_from(entries->front());
  ASSERT_FALSE(gpu);
  EXPECT_NE(gpu.error().message.find("expected a power such as 400 W"), std::string::npos);
}

TEST(PartFile, ALinkCannotCarryMoreThanItsLine) {
  const std::string text = kHead + std::string(
                                       "links:\n  l: {name: L, family: pcie, generation: 9, unit: x1, line: 1 GB/s, practical: 2 GB/s, "
                                       "confidence: vendor, source: [sheet]}\n");
  const auto entries = read_part_file(text, "links.yaml", link_form());
  ASSERT_TRUE(entries) << entries.error().text();
  EXPECT_FALSE(link_from(entries->front()));
}

}  // namespace
}  // namespace trunkline::catalog
