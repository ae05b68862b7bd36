#include "io/files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "io/value.hpp"

namespace trunkline::io {
namespace {

class Files : public testing::Test {
 protected:
  Files() {
    std::string pattern = (std::filesystem::temp_directory_path() / "files_test_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Files() override { std::filesystem::remove_all(folder_); }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  static std::string error_of(const Result<std::string>& r) { return r ? "no error" : r.error().text(); }

  std::string folder_;
};

void expect_contains(const std::string& text, const std::string& part) { EXPECT_NE(text.find(part), std::string::npos) << text; }

TEST_F(Files, WrittenTextReadsBack) {
  const std::string text("a\0b\n", 4);
  ASSERT_TRUE(write_file(at("x"), text));
  EXPECT_EQ(read_file(at("x")).value(), text);
  ASSERT_TRUE(write_file(at("x"), "shorter"));
  EXPECT_EQ(read_file(at("x")).value(), "shorter");
}

TEST_F(Files, WritingLeavesNoTemporaryBehind) {
  ASSERT_TRUE(write_file(at("x"), "1"));
  ASSERT_TRUE(write_file(at("x"), "2"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

// The old file stays whole until the new one is: a reader that opened it before sees the old text.
TEST_F(Files, WritingReplacesInsteadOfOverwriting) {
  ASSERT_TRUE(write_file(at("x"), "old"));
  const int fd = ::open(at("x").c_str(), O_RDONLY);
  ASSERT_TRUE(write_file(at("x"), "new"));
  char text[4] = {};
  EXPECT_EQ(::read(fd, text, 3), 3);
  ::close(fd);
  EXPECT_STREQ(text, "old");
}

TEST_F(Files, WritingKeepsTheMode) {
  ASSERT_TRUE(write_file(at("x"), "1"));
  ASSERT_EQ(::chmod(at("x").c_str(), 0600), 0);
  ASSERT_TRUE(write_file(at("x"), "2"));
  struct stat info{};
  ASSERT_EQ(::stat(at("x").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(Files, FailedWritingIsAnErrorAndLeavesNothing) {
  const auto missing = write_file(at("no/such/x"), "1");
  ASSERT_FALSE(missing);
  expect_contains(missing.error().text(), "does not exist");
  EXPECT_FALSE(write_file(folder_, "1"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(Files, DevicesAreWrittenInto) {
  EXPECT_TRUE(write_file("/dev/null", "x"));
  const auto full = write_file("/dev/full", "x");
  ASSERT_FALSE(full);
  expect_contains(full.error().text(), "No space left");
}

TEST_F(Files, MissingFileNamesItsNeighbour) {
  ASSERT_TRUE(write_file(at("job.yaml"), "a: 1"));
  expect_contains(error_of(read_file(at("jbo.yaml"))), "did you mean " + at("job.yaml"));
  expect_contains(error_of(read_file(at("no/job.yaml"))), "the folder " + at("no") + " does not exist");
}

TEST_F(Files, ADirectoryIsNoFile) { expect_contains(error_of(read_file(folder_)), "directory"); }

// A sparse file of a gigabyte is refused by its size alone; an endless device by what was read.
TEST_F(Files, TooLargeIsRefusedBeforeReading) {
  ASSERT_TRUE(write_file(at("x"), ""));
  ASSERT_EQ(::truncate(at("x").c_str(), 1LL << 30), 0);
  expect_contains(error_of(read_file(at("x"))), "larger than 64 MiB");
  expect_contains(error_of(read_file("/dev/zero", 1 << 20)), "larger than 1 MiB");
}

TEST_F(Files, ValuesAreReadByExtension) {
  ASSERT_TRUE(write_file(at("x.yaml"), "a: 1\n"));
  ASSERT_TRUE(write_file(at("x.json"), "{\"a\": 1}"));
  EXPECT_EQ(read_value(at("x.yaml")).value().find("a")->text(), "1");
  EXPECT_EQ(read_value(at("x.json")).value().find("a")->text(), "1");
  EXPECT_EQ(read_value(at("x.yaml")).value().where().file, at("x.yaml"));
}

}  // namespace
}  // namespace trunkline::io
