#include "kernels/efficiencies.hpp"

#include <gtest/gtest.h>

#include "catalog/catalog.hpp"
#include "kernels/kernels.hpp"

using namespace trunkline;
using namespace trunkline::kernels;

TEST(Efficiencies, EveryGpuOfTheCatalogueHasAClass) {
  for (const auto& gpu : catalog::Catalog::builtin().gpus()) {
    const EfficiencyClass& own = efficiency_class(gpu);
    const bool stands_for_all = own.generation == catalog::Generation::other;
    EXPECT_TRUE(own.generation == gpu.generation || stands_for_all) << gpu.id;
    EXPECT_GT(Efficiencies::default_for(gpu).matrix[0], 0) << gpu.id;
  }
}

TEST(Efficiencies, ComputeCapabilitySplitsAGeneration) {
  const auto& catalog = catalog::Catalog::builtin();
  EXPECT_EQ(efficiency_class(**catalog.gpu("a100-sxm-80")).name, "ampere");
  EXPECT_EQ(efficiency_class(**catalog.gpu("rtx3090")).name, "ga10x");
  EXPECT_EQ(efficiency_class(**catalog.gpu("h20")).name, "hopper");
}

TEST(Efficiencies, GenerationWithoutAClassIsOther) {
  catalog::Gpu gpu;
  gpu.generation = catalog::Generation::kepler_to_pascal;
  EXPECT_EQ(efficiency_class(gpu).name, "other");
  EXPECT_EQ(efficiency_class(gpu).basis, "assumed");
}

TEST(Efficiencies, ALossThatIsAFixedTimeWeighsLessOnASlowerSm) {
  // H20: the same SM with a quarter of the matrix rate loses a quarter of what an H100 loses for each unit of work.
  const auto& catalog = catalog::Catalog::builtin();
  const auto at = [&](const char* id) {
    return Efficiencies::default_for(**catalog.gpu(id)).matrix[std::size_t(catalog::Precision::bf16)];
  };
  const double full = at("h100-sxm"), cut = at("h20");
  const double ratio = (148.0 / 78) / (989.0 / 132);
  EXPECT_NEAR((1 / cut - 1) / (1 / full - 1), ratio, 1e-3);
}

TEST(Efficiencies, MeasuredValuesReplaceOnlyWhatTheyName) {
  const Efficiencies defaults = Efficiencies::default_for(**catalog::Catalog::builtin().gpu("a100-sxm-80"));
  const auto block =
      io::parse_yaml("matrix: {bf16: 0.8}\ngemm: {latency: 4 us}\nmemory: {copy: 0.7}\nflash2_forward: {share: 0.5}\n", "m.yaml");
  ASSERT_TRUE(block);
  const auto read = with_measured(defaults, *block);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->matrix[std::size_t(catalog::Precision::bf16)], 0.8);
  EXPECT_EQ(read->matrix[std::size_t(catalog::Precision::fp16)], defaults.matrix[std::size_t(catalog::Precision::fp16)]);
  EXPECT_DOUBLE_EQ(read->gemm_latency_s, 4e-6);
  EXPECT_EQ(read->overhead_k, defaults.overhead_k);
  EXPECT_EQ(read->memory[std::size_t(MemoryKind::copy)], 0.7);
  EXPECT_EQ(read->memory[std::size_t(MemoryKind::elementwise)], defaults.memory[std::size_t(MemoryKind::elementwise)]);
  EXPECT_EQ(read->flash2_forward.share, 0.5);
  EXPECT_EQ(read->flash2_forward.tail, defaults.flash2_forward.tail);
}

TEST(Efficiencies, MeasuredSlowerCardIsSlower) {
  const catalog::Gpu& gpu = **catalog::Catalog::builtin().gpu("h100-sxm");
  Efficiencies e = Efficiencies::default_for(gpu);
  for (double& share : e.matrix) share *= 0.9;
  EXPECT_GT(Kernels(gpu, e).gemm({8192, 8192, 8192}), Kernels(gpu).gemm({8192, 8192, 8192}));
}

TEST(Efficiencies, UnknownKeyNamesFileLineAndNearestKey) {
  const auto block = io::parse_yaml("matrix:\n  bf61: 0.8\n", "m.yaml");
  ASSERT_TRUE(block);
  const auto read = with_measured({}, *block);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().where.file, "m.yaml");
  EXPECT_EQ(read.error().where.line, 2);
  EXPECT_NE(read.error().text().find("bf16"), std::string::npos) << read.error().text();
}

TEST(Efficiencies, ImpossibleShareIsRefused) {
  const auto block = io::parse_yaml("memory: {copy: 7}\n", "m.yaml");
  ASSERT_TRUE(block);
  EXPECT_FALSE(with_measured({}, *block));
}

TEST(Efficiencies, ClassThatStatesTooLittleIsRefused) {
  const auto read = read_classes("classes:\n  - {name: x, generation: hopper, basis: assumed, source: none}\n", "k.yaml");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("matrix share"), std::string::npos) << read.error().text();
  EXPECT_EQ(read.error().where.line, 2);
}
