#include "backends/storage/checkpoint.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "backends/storage/content.hpp"
#include "backends/storage/probes.hpp"
#include "measure/clock.hpp"

namespace trunkline::backends::storage {
namespace {

namespace fs = std::filesystem;

class Folder : public testing::Test {
 protected:
  void SetUp() override {
#ifndef TRUNKLINE_HAS_XXHASH
    GTEST_SKIP() << "built without xxhash";
#endif
    folder_ = (fs::temp_directory_path() / ("checkpoint_test." + std::to_string(::getpid()))).string();
    fs::create_directories(folder_);
    options_.direct = false;
    options_.block = 1 << 20;
    options_.depth = 4;
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  Engines engines(const Model& model) const {
    auto made = engines_for(model, options_);
    EXPECT_TRUE(made);
    return std::move(*made);
  }
  int entries() const { return int(std::distance(fs::directory_iterator(folder_), fs::directory_iterator())); }

  std::string folder_;
  CheckpointOptions options_;
};

TEST(Model, has_the_size_that_was_asked_for_and_the_tensors_of_a_transformer) {
  for (const Bytes size : {mib(64), gib(1), gbytes(30), gbytes(140)}) {
    const Model model = model_of(size);
    EXPECT_NEAR(double(model.bytes()) / double(size.count()), 1, 0.08) << size.count();
    EXPECT_EQ(model.tensors.front().name, "embedding");
    EXPECT_EQ(model.tensors.back().name, "head");
    EXPECT_EQ((model.tensors.size() - 2) % 9, 0u);
    for (const Shard& shard : model.shards) EXPECT_LE(shard.size, 5'000'000'000 + kContentPage);
    std::int64_t last_end = 0;
    int last_shard = 0;
    for (const Tensor& t : model.tensors) {
      if (t.shard != last_shard) last_end = 0;
      EXPECT_GE(t.begin, last_end);  // none overlaps another
      EXPECT_GT(t.end, t.begin);
      EXPECT_LE(t.end, model.shards[std::size_t(t.shard)].size);
      last_end = t.end, last_shard = t.shard;
    }
    for (const Shard& shard : model.shards) EXPECT_EQ(shard.size % kContentPage, 0);
  }
}

TEST_F(Folder, a_model_comes_back_as_it_was_saved_and_leaves_nothing) {
  for (const bool threads : {false, true}) {
    Model model = model_of(mib(40));
    options_.threads_engine = threads;
    {
      auto folder = CheckpointFolder::in(folder_);
      ASSERT_TRUE(folder) << folder.error().text();
      const auto saved = save(model, *folder, engines(model), options_);
      ASSERT_TRUE(saved) << saved.error().text();
      EXPECT_FALSE(folder->path().ends_with(".partial"));
      for (const Tensor& t : model.tensors) EXPECT_NE(t.checksum, 0u) << t.name;
      drop_cache(model, *folder);
      const auto restored = restore(model, *folder, engines(model), options_);
      EXPECT_TRUE(restored) << restored.error().text();
      EXPECT_EQ(entries(), 1);
    }
    EXPECT_EQ(entries(), 0);
  }
}

TEST_F(Folder, one_changed_byte_is_found_and_named) {
  Model model = model_of(mib(40));
  auto folder = CheckpointFolder::in(folder_);
  ASSERT_TRUE(folder);
  ASSERT_TRUE(save(model, *folder, engines(model), options_));
  const Tensor& victim = model.tensors[4];
  const int file = ::open(folder->shard_path(0).c_str(), O_RDWR);
  char byte = 0;
  ASSERT_EQ(::pread(file, &byte, 1, victim.begin + 12345), 1);
  byte = char(byte ^ 1);
  ASSERT_EQ(::pwrite(file, &byte, 1, victim.begin + 12345), 1);
  ::close(file);
  const auto restored = restore(model, *folder, engines(model), options_);
  ASSERT_FALSE(restored);
  EXPECT_NE(restored.error().message.find("checksum of " + victim.name), std::string::npos) << restored.error().message;
}

TEST_F(Folder, a_lost_shard_is_an_error) {
  Model model = model_of(mib(20));
  auto folder = CheckpointFolder::in(folder_);
  ASSERT_TRUE(save(model, *folder, engines(model), options_));
  fs::remove(folder->shard_path(0));
  EXPECT_FALSE(restore(model, *folder, engines(model), options_));
}

TEST_F(Folder, a_stop_in_the_middle_leaves_no_file) {
  {
    Model model = model_of(mib(40));
    auto folder = CheckpointFolder::in(folder_);
    int asked = 0;
    options_.stopped = [&] { return ++asked > 5; };
    const auto saved = save(model, *folder, engines(model), options_);
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error().kind, ErrorKind::interrupted);
    EXPECT_TRUE(folder->path().ends_with(".partial"));  // never under its final name
  }
  EXPECT_EQ(entries(), 0);
}

TEST_F(Folder, what_a_killed_run_left_behind_is_removed_and_nothing_else) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);  // gone: its number is free
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  const std::string left = folder_ + "/trunkline-checkpoint." + host + "." + std::to_string(child) + ".partial";
  const std::string other = folder_ + "/trunkline-checkpoint.another-host." + std::to_string(child);
  const std::string alive = folder_ + "/trunkline-checkpoint." + host + ".1";
  for (const auto& path : {left, other, alive}) fs::create_directories(path);
  {
    const auto folder = CheckpointFolder::in(folder_);
    ASSERT_TRUE(folder);
    EXPECT_FALSE(fs::exists(left));
    EXPECT_TRUE(fs::exists(other));
    EXPECT_TRUE(fs::exists(alive));
  }
  EXPECT_EQ(entries(), 2);
}

// All four probes on a small file: they answer, the content was checked, and the folder is empty again.
TEST_F(Folder, probes_answer_and_clean_up) {
  measure::Settings settings;
  settings.quick = true;
  settings.put("path", folder_);
  settings.put("size", "64 MiB");
  for (const auto make : {write_probe, read_probe, random_read_probe, checkpoint_probe}) {
    const auto probe = make();
    measure::SteadyClock clock;
    measure::SamplerOptions sampling;
    sampling.budget = milliseconds(200);
    measure::Sampler sampler(clock, sampling);
    const auto done = probe->run(settings, sampler);
    if (!done && done.error().kind == ErrorKind::missing) GTEST_SKIP() << done.error().text();
    ASSERT_TRUE(done) << probe->name() << ": " << done.error().text();
    ASSERT_FALSE(sampler.metrics().empty());
    for (const auto& m : sampler.metrics()) EXPECT_GT(m.median().value_or(0), 0) << probe->name() << " " << m.name;
    EXPECT_TRUE(measure::find(sampler.metrics()[0].conditions, measure::condition::kCache));
    EXPECT_EQ(entries(), 0) << probe->name();
  }
}

}  // namespace
}  // namespace trunkline::backends::storage
