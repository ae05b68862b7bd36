#include "io/csv.hpp"

#include <gtest/gtest.h>

#include "io/embedded.hpp"

namespace trunkline::io {
namespace {

std::string error_of(const Result<CsvTable>& result) { return result ? "no error" : result.error().text(); }

void expect_contains(const std::string& text, const std::string& part) { EXPECT_NE(text.find(part), std::string::npos) << text; }

TEST(Csv, CellsByColumn) {
  const auto table = CsvTable::parse("a,b\n1,2\n3,\n", "t.csv").value();
  ASSERT_EQ(table.rows().size(), 2u);
  EXPECT_EQ(table.cell(table.rows()[0], "b"), "2");
  EXPECT_EQ(table.cell(table.rows()[1], "b"), "");
  EXPECT_EQ(table.cell(table.rows()[0], "c"), "");
  EXPECT_TRUE(table.has("a"));
  EXPECT_FALSE(table.has("c"));
}

TEST(Csv, QuotesCommasAndDoubledQuotes) {
  const auto table = CsvTable::parse("a,b\n\"x, y\",\"say \"\"hi\"\"\"\n", "t.csv").value();
  EXPECT_EQ(table.rows()[0].cells[0], "x, y");
  EXPECT_EQ(table.rows()[0].cells[1], "say \"hi\"");
}

TEST(Csv, RowsKnowTheirLineBehindEmbeddedLineBreaks) {
  const auto table = CsvTable::parse("a,b\n\"one\ntwo\",2\n\n3,4\n", "t.csv").value();
  ASSERT_EQ(table.rows().size(), 2u);
  EXPECT_EQ(table.rows()[0].line, 2);
  EXPECT_EQ(table.rows()[1].line, 5);
}

TEST(Csv, WindowsFilesReadTheSame) {
  const auto table = CsvTable::parse(
                         "\xEF\xBB\xBF"
                         "a,b\r\n1,2\r\n\r\n3,4",
                         "t.csv")
                         .value();
  EXPECT_EQ(table.columns(), (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(table.rows().size(), 2u);
  EXPECT_EQ(table.rows()[0].cells[1], "2");
  EXPECT_EQ(table.rows()[1].line, 4);
}

TEST(Csv, RefusesWithTheLine) {
  expect_contains(error_of(CsvTable::parse("", "t.csv")), "t.csv:1: an empty file");
  expect_contains(error_of(CsvTable::parse("a,b\n1,2\n3\n", "t.csv")), "t.csv:3: 1 cells where the header has 2 columns");
  expect_contains(error_of(CsvTable::parse("a,a\n", "t.csv")), "stands twice in the header");
  expect_contains(error_of(CsvTable::parse("a\n1\n\"x\ny\n", "t.csv")), "t.csv:3: a quoted cell that never ends");
  expect_contains(error_of(CsvTable::parse("a\n\"x\"y\n", "t.csv")), "t.csv:2: text after a closing quote");
  expect_contains(error_of(CsvTable::parse("a\n\xff\n", "t.csv")), "t.csv:2: the byte 0xff");
  expect_contains(error_of(CsvTable::parse(std::string(1 << 20, ','), "t.csv")), "more than 10000 cells in one row");
}

TEST(Csv, WrittenCellsReadBack) {
  for (const std::string cell : {"plain", "a,b", "say \"hi\"", "two\nlines", "\r", "\"", " edges "}) {
    const auto table = CsvTable::parse("a,b\n" + csv_cell(cell) + ",x\n", "t.csv").value();
    EXPECT_EQ(table.rows()[0].cells[0], cell);
  }
}

TEST(Embedded, FilesAreWholeAndFound) {
  for (const auto& file : embedded_files()) {
    EXPECT_EQ(embedded_file(file.path).value().data(), file.content.data());
    EXPECT_FALSE(file.content.empty()) << file.path;
  }
  EXPECT_FALSE(embedded_file("no/such/file"));
}

}  // namespace
}  // namespace trunkline::io
