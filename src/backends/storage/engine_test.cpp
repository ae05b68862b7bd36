#include "backends/storage/engine.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <set>

#include "backends/storage/content.hpp"
#include "backends/storage/scratch.hpp"

namespace trunkline::backends::storage {
namespace {

constexpr std::int64_t kBlock = 8192;
constexpr int kDepth = 4;

std::string here() { return std::filesystem::temp_directory_path().string(); }

// The same tests for both engines: whoever moves the data, the contract is one.
class Engines : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    auto chosen = make_engine({kDepth, kBlock, GetParam()});
    ASSERT_TRUE(chosen) << chosen.error().text();
    if (!GetParam() && !chosen->why.empty()) GTEST_SKIP() << chosen->why;
    engine_ = std::move(chosen->engine);
    auto file = ScratchFile::in(here());
    ASSERT_TRUE(file) << file.error().text();
    file_ = std::make_unique<ScratchFile>(std::move(*file));
  }

  Transfer sequential(Direction direction, std::int64_t end) const {
    Transfer t;
    t.file = file_->descriptor();
    t.direction = direction;
    t.end = end;
    t.requests = (end + kBlock - 1) / kBlock;
    t.offset = [](std::int64_t request) { return request * kBlock; };
    return t;
  }
  void write(std::int64_t end) {
    Transfer t = sequential(Direction::write, end);
    t.prepare = [](std::int64_t offset, std::span<std::byte> bytes) { stamp(bytes, offset, 7); };
    const auto moved = engine_->run(t);
    ASSERT_TRUE(moved) << moved.error().text();
    ASSERT_EQ(moved->bytes, end);
  }

  std::unique_ptr<Engine> engine_;
  std::unique_ptr<ScratchFile> file_;
};

TEST_P(Engines, every_byte_is_moved_once_and_the_last_request_is_shorter) {
  const std::int64_t end = 10 * kBlock + 4096;
  write(end);
  EXPECT_EQ(::lseek(file_->descriptor(), 0, SEEK_END), end);
  std::mutex mutex;
  std::set<std::int64_t> offsets;
  std::int64_t bytes = 0;
  Transfer t = sequential(Direction::read, end);
  t.consume = [&](std::int64_t offset, std::span<const std::byte> block) {
    const std::lock_guard lock(mutex);
    EXPECT_TRUE(offsets.insert(offset).second);
    bytes += std::int64_t(block.size());
    return stamped(block, offset, 7);
  };
  const auto moved = engine_->run(t);
  ASSERT_TRUE(moved) << moved.error().text();
  EXPECT_EQ(moved->requests, 11);
  EXPECT_EQ(bytes, end);
}

TEST_P(Engines, in_order_means_in_order) {
  const std::int64_t end = 200 * kBlock;
  write(end);
  std::int64_t expected = 0;
  Transfer t = sequential(Direction::read, end);
  t.in_order = true;
  t.consume = [&](std::int64_t offset, std::span<const std::byte>) {
    EXPECT_EQ(offset, expected);
    expected += kBlock;
    return true;
  };
  ASSERT_TRUE(engine_->run(t));
  EXPECT_EQ(expected, end);
}

TEST_P(Engines, content_that_was_not_written_is_an_error_with_its_place) {
  write(20 * kBlock);
  ASSERT_EQ(::pwrite(file_->descriptor(), "xxxxxxxx", 8, 5 * kBlock + 4096), 8);
  for (const bool in_order : {false, true}) {
    Transfer t = sequential(Direction::read, 20 * kBlock);
    t.in_order = in_order;
    t.consume = [](std::int64_t offset, std::span<const std::byte> bytes) { return stamped(bytes, offset, 7); };
    const auto moved = engine_->run(t);
    ASSERT_FALSE(moved);
    EXPECT_NE(moved.error().message.find("at 40 KiB"), std::string::npos) << moved.error().message;
  }
  write(20 * kBlock);  // and it still works
}

TEST_P(Engines, a_file_that_ends_early_is_an_error_not_a_hang) {
  write(4 * kBlock);
  for (const bool in_order : {false, true}) {
    Transfer t = sequential(Direction::read, 64 * kBlock);
    t.in_order = in_order;
    const auto moved = engine_->run(t);
    ASSERT_FALSE(moved);
    EXPECT_NE(moved.error().message.find("the file ends there"), std::string::npos) << moved.error().message;
  }
}

TEST_P(Engines, what_the_system_says_is_passed_on) {
  Transfer t = sequential(Direction::write, 4 * kBlock);
  t.file = ::open("/dev/full", O_RDWR | O_CLOEXEC);
  ASSERT_GE(t.file, 0);
  const auto moved = engine_->run(t);
  ::close(t.file);
  ASSERT_FALSE(moved);
  EXPECT_NE(moved.error().message.find("No space left on device"), std::string::npos) << moved.error().message;
  EXPECT_NE(moved.error().hint.find("--path"), std::string::npos);
}

TEST_P(Engines, a_stop_ends_it_with_nothing_left_in_flight) {
  write(100 * kBlock);
  for (const bool in_order : {false, true}) {
    std::atomic<int> asked = 0;
    Transfer t = sequential(Direction::read, 100 * kBlock);
    t.in_order = in_order;
    t.stopped = [&] { return ++asked > 20; };
    const auto moved = engine_->run(t);
    ASSERT_FALSE(moved);
    EXPECT_EQ(moved.error().kind, ErrorKind::interrupted);
  }
  write(4 * kBlock);
}

TEST_P(Engines, without_time_one_round_of_requests_is_made) {
  write(100 * kBlock);
  Transfer t = sequential(Direction::read, 100 * kBlock);
  t.at_most = seconds(0);
  std::vector<double> latencies;
  t.latencies_s = &latencies;
  const auto moved = engine_->run(t);
  ASSERT_TRUE(moved);
  EXPECT_GE(moved->requests, 1);
  EXPECT_LE(moved->requests, kDepth);
  EXPECT_EQ(std::int64_t(latencies.size()), moved->requests);
  for (const double l : latencies) EXPECT_GT(l, 0);
}

INSTANTIATE_TEST_SUITE_P(Storage, Engines, testing::Bool(), [](const auto& p) { return p.param ? "threads" : "io_uring"; });

TEST(Content, every_page_of_every_writing_is_marked_differently) {
  std::vector<std::byte> a(2 * std::size_t(kContentPage)), b = a;
  randomize(a, 1);
  b = a;
  stamp(a, 0, 5);
  stamp(b, kContentPage, 5);
  EXPECT_TRUE(stamped(a, 0, 5));
  EXPECT_FALSE(stamped(a, kContentPage, 5));  // another place
  EXPECT_FALSE(stamped(a, 0, 6));             // another writing
  EXPECT_NE(std::memcmp(a.data(), a.data() + kContentPage, std::size_t(kContentPage)), 0);
  std::vector<std::byte> zeros(std::size_t(kContentPage), std::byte{0});
  EXPECT_FALSE(stamped(zeros, 0, 5));
}

TEST(ScratchFile, leaves_no_name_behind) {
  const auto count = [] {
    int n = 0;
    for (const auto& entry : std::filesystem::directory_iterator(here()))
      n += entry.path().filename().string().starts_with(".trunkline-measure");
    return n;
  };
  const int before = count();
  const auto file = ScratchFile::in(here());
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->reserve(1 << 20));
  EXPECT_EQ(count(), before);
  const auto nowhere = ScratchFile::in(here() + "/no-such-folder");
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().message.find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace trunkline::backends::storage
