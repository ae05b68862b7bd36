// Look-up by the names people type, and the catalogue as one whole.
#include "catalog/catalog.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "io/embedded.hpp"

namespace trunkline::catalog {
namespace {

const Catalog& builtin() { return Catalog::builtin(); }

std::string gpu_id(const std::string& name) {
  const auto gpu = builtin().gpu(name);
  return gpu ? (*gpu)->id : gpu.error().text();
}

TEST(Catalog, AllBuiltInFilesCanBeRead) {
  const auto all = Catalog::read(io::embedded_files());
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ(all->parts(PartKind::gpu).size(), 41u);
  EXPECT_EQ(all->parts(PartKind::link).size(), 35u);
  EXPECT_EQ(all->parts(PartKind::nic).size(), 23u);
  EXPECT_EQ(all->parts(PartKind::switch_).size(), 11u);
  EXPECT_EQ(all->parts(PartKind::storage).size(), 21u);
  EXPECT_EQ(all->parts(PartKind::price).size(), 27u);
  EXPECT_EQ(all->parts(PartKind::measurement).size(), 23u);
  EXPECT_TRUE(all->parts(PartKind::node).empty());
}

TEST(Catalog, AMissingFileIsNamed) {
  const auto none = Catalog::read({});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().text().find("catalog/gpus.yaml"), std::string::npos);
}

TEST(Catalog, IdsAreUnique) {
  std::set<std::string> seen;
  for (const auto& part : builtin().parts()) EXPECT_TRUE(seen.insert(part.id).second) << part.id;
}

// A name of one part must not lead to another part of its kind.
TEST(Catalog, EveryNameLeadsToItsOwnPart) {
  for (const auto& part : builtin().parts()) {
    const auto same = builtin().part(part.id);
    ASSERT_TRUE(same) << part.id;
    EXPECT_EQ((*same)->id, part.id);
  }
  for (const auto& part : builtin().parts(PartKind::gpu)) {
    EXPECT_EQ(gpu_id(part.name), part.id);
    for (const auto& alias : part.aliases) EXPECT_EQ(gpu_id(alias), part.id);
  }
  for (const auto& part : builtin().parts(PartKind::nic)) {
    for (const auto& alias : part.aliases) EXPECT_EQ((*builtin().nic(alias))->id, part.id);
  }
}

TEST(Catalog, NamesOfDriversAndPeopleAreKnown) {
  EXPECT_EQ(gpu_id("A100-SXM4-80GB"), "a100-sxm-80");
  EXPECT_EQ(gpu_id("NVIDIA A100-SXM4-80GB"), "a100-sxm-80");
  EXPECT_EQ(gpu_id("NVIDIA H100 80GB HBM3"), "h100-sxm");
  EXPECT_EQ(gpu_id("Tesla V100-SXM2-32GB"), "v100-sxm2-32");
  EXPECT_EQ(gpu_id("NVIDIA B300 SXM6 AC"), "b300");
  EXPECT_EQ(gpu_id("RTX 4090"), "rtx4090");
  EXPECT_EQ(gpu_id("rtx_4090"), "rtx4090");
  EXPECT_EQ(gpu_id("H100-SXM"), "h100-sxm");
  EXPECT_EQ(gpu_id("AMD Instinct MI300X"), "mi300x");
}

TEST(Catalog, AnAmbiguousNameIsRefusedWithTheCandidates) {
  const auto gpu = builtin().gpu("a100");
  ASSERT_FALSE(gpu);
  EXPECT_EQ(gpu.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(gpu.error().hint, "did you mean a100-sxm-40, a100-sxm-80, a100-pcie-40 or a100-pcie-80?");
}

TEST(Catalog, AMistypedNameGetsTheNearest) {
  const auto hint = [](const std::string& word) { return builtin().gpu(word).error().hint; };
  EXPECT_NE(hint("h10 0").find("h100-sxm"), std::string::npos);
  EXPECT_NE(hint("A100-SXM4-80").find("a100-sxm-80"), std::string::npos);
  EXPECT_NE(hint("rtx409").find("rtx4090"), std::string::npos);
  EXPECT_NE(hint("qqqqqqqq").find("one of: v100-sxm2"), std::string::npos);
  EXPECT_NE(hint("").find("one of: "), std::string::npos);
  EXPECT_NE(builtin().link("pcie4").error().hint.find("pcie4x16"), std::string::npos);
  EXPECT_LT(builtin().gpu(std::string(5000, 'x')).error().text().size(), 500u);  // a hostile name is not echoed
}

TEST(Catalog, APartOfAnotherKindIsNamedAsSuch) {
  const auto gpu = builtin().gpu("cx7-ndr");
  ASSERT_FALSE(gpu);
  EXPECT_NE(gpu.error().message.find("is a NIC of the catalogue, a GPU was expected"), std::string::npos);
}

TEST(Catalog, TheSameNameMayMeanALinkAndAnAdapter) {
  EXPECT_EQ((*builtin().nic("ib-ndr"))->id, "cx7-ndr");
  EXPECT_EQ((*builtin().link("ib-ndr"))->id, "ib-ndr");
  EXPECT_EQ((*builtin().part("ib-ndr"))->kind, PartKind::link);
}

TEST(Catalog, EveryValueSaysWhoSaysSo) {
  for (const auto& part : builtin().parts()) {
    EXPECT_FALSE(part.name.empty()) << part.id;
    std::set<std::string> fields;
    for (const auto& fact : part.facts) {
      EXPECT_FALSE(fact.value.empty()) << part.id << " " << fact.field;
      EXPECT_FALSE(fact.source.empty()) << part.id << " " << fact.field;
      EXPECT_FALSE(name_of(fact.confidence).empty());
      EXPECT_TRUE(fields.insert(fact.field).second) << part.id << " " << fact.field;
      const bool anonymous = fact.source.find("no source found") != std::string::npos;
      EXPECT_TRUE(!anonymous || fact.confidence == Confidence::unsourced) << part.id << " " << fact.field;
    }
  }
}

TEST(Catalog, TrapsAreKept) {
  EXPECT_NE((*builtin().part("h200-sxm"))->notes.find("TRAP"), std::string::npos);
  EXPECT_NE((*builtin().part("aws-p5"))->notes.find("TRAP: 98.32"), std::string::npos);
  EXPECT_NE((*builtin().part("nvswitch4"))->notes.find("CONFLICT"), std::string::npos);
  EXPECT_TRUE((*builtin().part("azure-ultra"))->find("read")->doubtful());
}

TEST(Catalog, ThreadsMayAskAtOnce) {
  const auto files = io::embedded_files();
  for (int round = 0; round < 3; ++round) {
    const auto fresh = Catalog::read(files);
    ASSERT_TRUE(fresh);
    std::vector<std::thread> threads;
    std::vector<std::size_t> counts(8);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      threads.emplace_back([&, i] { counts[i] = fresh->parts().size() + builtin().parts().size() + (builtin().gpu("b200") ? 1 : 0); });
    }
    for (auto& thread : threads) thread.join();
    for (const auto count : counts) EXPECT_EQ(count, counts[0]);
  }
}

}  // namespace
}  // namespace trunkline::catalog
