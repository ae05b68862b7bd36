// JSON is YAML: random trees, written as JSON, must read as the same tree through both readers, which share no code. Lines too.
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "io/csv.hpp"
#include "io/value.hpp"

namespace trunkline {
namespace {

std::string random_text(Rng& rng) {
  static const char* const kPieces[] = {"a", "B", "7", " ", "µ", "训", "-", ".", "/", "#", "'", "{", "]", ",", "_"};
  std::string text = "t";
  for (std::uint64_t i = rng.below(8); i > 0; --i) text += kPieces[rng.below(std::size(kPieces))];
  return text;
}

// A tree as JSON text, a new line behind every opening bracket and comma.
std::string random_json(Rng& rng, int depth) {
  const std::uint64_t kind = depth == 0 ? 4 + rng.below(2) : rng.below(depth > 4 ? 4 : 6);
  if (kind == 0) return std::to_string(rng.below(1000000));
  if (kind == 1) return rng.below(2) ? "true" : "false";
  if (kind <= 3) return io::json_quoted(random_text(rng));
  std::string text = kind == 4 ? "[\n" : "{\n";
  const std::uint64_t entries = 1 + rng.below(4);
  for (std::uint64_t i = 0; i < entries; ++i) {
    if (i) text += ",\n";
    if (kind == 5) text += io::json_quoted("k" + std::to_string(i) + random_text(rng)) + ": ";
    text += random_json(rng, depth + 1);
  }
  return text + (kind == 4 ? "]" : "}");
}

void expect_same(const io::Value& a, const io::Value& b) {
  ASSERT_EQ(a.kind(), b.kind());
  EXPECT_EQ(a.text(), b.text());
  if (a.is_scalar()) EXPECT_EQ(a.where().line, b.where().line);
  ASSERT_EQ(a.items().size(), b.items().size());
  ASSERT_EQ(a.fields().size(), b.fields().size());
  for (std::size_t i = 0; i < a.items().size(); ++i) expect_same(a.items()[i], b.items()[i]);
  for (std::size_t i = 0; i < a.fields().size(); ++i) {
    EXPECT_EQ(a.fields()[i].first, b.fields()[i].first);
    expect_same(a.fields()[i].second, b.fields()[i].second);
  }
}

TEST(Readers, JsonAndYamlAgree) {
  Rng rng(2024);
  for (int round = 0; round < 500; ++round) {
    const std::string text = random_json(rng, 0) + "\n";
    const auto json = io::parse_json(text, "x"), yaml = io::parse_yaml(text, "x");
    ASSERT_TRUE(json) << json.error().text() << "\n" << text;
    ASSERT_TRUE(yaml) << yaml.error().text() << "\n" << text;
    expect_same(*json, *yaml);
    if (HasFailure()) FAIL() << text;
  }
}

TEST(Readers, CsvReadsWhatWasWritten) {
  Rng rng(7);
  for (int round = 0; round < 200; ++round) {
    std::string text = "a,b,c\n";
    std::vector<std::vector<std::string>> rows;
    for (std::uint64_t r = rng.below(6); r > 0; --r) {
      std::vector<std::string> cells;
      for (int c = 0; c < 3; ++c) cells.push_back(random_text(rng) + (rng.below(4) ? "" : rng.below(2) ? "\n" : "\"\""));
      text += io::csv_cell(cells[0]) + "," + io::csv_cell(cells[1]) + "," + io::csv_cell(cells[2]) + (rng.below(2) ? "\n" : "\r\n");
      rows.push_back(std::move(cells));
    }
    const auto table = io::CsvTable::parse(text, "x");
    ASSERT_TRUE(table) << table.error().text() << text;
    ASSERT_EQ(table->rows().size(), rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r) EXPECT_EQ(table->rows()[r].cells, rows[r]);
  }
}

}  // namespace
}  // namespace trunkline
