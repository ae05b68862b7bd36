#include "report/table.hpp"

#include <gtest/gtest.h>

#include "report/document.hpp"
#include "report/text_width.hpp"

namespace trunkline::report {
namespace {

Table sample() {
  Table t;
  t.columns = {{"part"}, {"rate GB/s", Align::right}, {"remark", Align::left, true}};
  t.add({"NVLink 3", "300", "one direction, all links together"});
  t.add({"PCIe 4", "31.5", "x16"});
  return t;
}

// Longest line of `text` in terminal columns.
int widest(const std::string& text) {
  int most = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    most = std::max(most, width_of(std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  return most;
}

TEST(Width, CountsTerminalColumnsNotBytes) {
  EXPECT_EQ(width_of("abc"), 3);
  EXPECT_EQ(width_of("–×µ"), 3);       // one column each, two or three bytes
  EXPECT_EQ(width_of("训练"), 4);      // East Asian wide
  EXPECT_EQ(width_of("e\u0301"), 1);   // combining accent
  EXPECT_EQ(width_of("\xff\xfe"), 2);  // no UTF-8: never past the end, one column a byte
  EXPECT_EQ(width_of(""), 0);
}

TEST(Wrap, CutsAtSpacesAndKeepsIndentation) {
  EXPECT_EQ(wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap("  part", 20), (std::vector<std::string>{"  part"}));
  EXPECT_EQ(wrap("abcdefgh", 3), (std::vector<std::string>{"abc", "def", "gh"}));
  EXPECT_EQ(wrap("训练训练", 5), (std::vector<std::string>{"训练", "训练"}));  // a wide character is never halved
  EXPECT_EQ(wrap("", 5), (std::vector<std::string>{""}));
}

TEST(TableText, AlignsAndLeavesNoSpacesAtLineEnds) {
  EXPECT_EQ(to_text(sample(), {100, false}),
            "part      rate GB/s  remark\n"
            "────────  ─────────  ─────────────────────────────────\n"
            "NVLink 3        300  one direction, all links together\n"
            "PCIe 4         31.5  x16\n");
}

TEST(TableText, WrapsTheColumnThatMayWrap) {
  EXPECT_EQ(to_text(sample(), {40, false}),
            "part      rate GB/s  remark\n"
            "────────  ─────────  ───────────────────\n"
            "NVLink 3        300  one direction, all\n"
            "                     links together\n"
            "PCIe 4         31.5  x16\n");
}

TEST(TableText, StandsInBlocksWithItsKeysWhereTooWide) {
  Table t;
  t.columns = {{"what"}, {"provider A", Align::right}, {"provider B", Align::right}, {"provider C", Align::right}};
  t.add({"step", "1", "2", "3"});
  EXPECT_EQ(to_text(t, {30, false}),
            "what  provider A  provider B\n"
            "────  ──────────  ──────────\n"
            "step           1           2\n"
            "\n"
            "what  provider C\n"
            "────  ──────────\n"
            "step           3\n");
}

TEST(TableText, NeverWiderThanTheTerminalWhereItCanGiveWay) {
  for (int width = 38; width < 70; ++width) EXPECT_LE(widest(to_text(sample(), {width, false})), width) << width;
}

TEST(TableText, ColourOnlyAddsToWhatIsSaid) {
  Table t = sample();
  t.rows[0][1].tone = Tone::bad;
  const std::string plain = to_text(t, {100, false});
  std::string painted = to_text(t, {100, true});
  EXPECT_NE(painted.find("\x1b[31m300\x1b[0m"), std::string::npos);
  for (std::size_t at; (at = painted.find('\x1b')) != std::string::npos;) painted.erase(at, painted.find('m', at) - at + 1);
  EXPECT_EQ(painted, plain);
}

TEST(TableCsv, QuotesWhatNeedsIt) {
  Table t;
  t.columns = {{"a"}, {"b"}};
  t.add({"1,5", "say \"x\""});
  t.gap();
  t.add({"2"});
  EXPECT_EQ(to_csv(t), "a,b\n\"1,5\",\"say \"\"x\"\"\"\n2,\n");
}

TEST(TableMarkdown, EscapesBars) {
  Table t;
  t.columns = {{"a"}, {"b", Align::right}};
  t.add({"x|y", "2"});
  EXPECT_EQ(to_markdown(t), "| a | b |\n|---|---:|\n| x\\|y | 2 |\n");
}

TEST(DocumentText, WrapsParagraphsWithHangingIndent) {
  Document d;
  d.blocks.push_back(Paragraph{"note: one two three four", Tone::plain, 6});
  EXPECT_EQ(to_text(d, {20, false}), "note: one two\n      three four\n");
}

}  // namespace
}  // namespace trunkline::report
