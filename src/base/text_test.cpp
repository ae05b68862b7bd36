#include "base/text.hpp"

#include <gtest/gtest.h>

#include "base/result.hpp"

namespace trunkline {
namespace {

using Words = std::vector<std::string>;

TEST(Text, TrimSplitJoinLower) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim("  "), "");
  EXPECT_EQ(split("a,,b,", ',').size(), 4u);
  EXPECT_EQ(split("", ',').size(), 1u);
  EXPECT_EQ(join(Words{"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join(Words{}, ", "), "");
  EXPECT_EQ(lower("A100-SXM"), "a100-sxm");
}

TEST(EditDistance, ClosedForms) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("abc", "abc"), 0);
  EXPECT_EQ(edit_distance("abc", "axc"), 1);
  EXPECT_EQ(edit_distance("abc", "acb"), 1);  // a swap of neighbours is one slip
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(EditDistance, IsSymmetricAndBounded) {
  const Words words{"batch", "bacth", "sequence", "sharding", "", "x"};
  for (const auto& a : words) {
    for (const auto& b : words) {
      EXPECT_EQ(edit_distance(a, b), edit_distance(b, a));
      EXPECT_LE(edit_distance(a, b), int(std::max(a.size(), b.size())));
    }
  }
}

TEST(EditDistance, LongTextCostsLittle) {
  EXPECT_LE(edit_distance(std::string(1 << 20, 'a'), std::string(1 << 20, 'b')), 256);  // only the start is looked at
}

TEST(DidYouMean, NamesTheNearest) {
  const Words keys{"model", "training", "batch", "parallelism", "data", "checkpoint", "run", "tp", "pp"};
  EXPECT_EQ(did_you_mean("bacth", keys), "did you mean batch?");
  EXPECT_EQ(did_you_mean("Model", keys), "did you mean model?");
  EXPECT_EQ(did_you_mean("paralelism", keys), "did you mean parallelism?");
  EXPECT_EQ(did_you_mean("tpp", keys), "did you mean tp or pp?");
}

TEST(DidYouMean, ListsTheChoicesWhereNothingIsNear) {
  EXPECT_EQ(did_you_mean("zzzz", Words{"ring", "tree"}), "one of: ring, tree");
  EXPECT_EQ(did_you_mean("zz", Words{"tp", "pp"}), "one of: tp, pp");  // two letters away of two is no likeness
  EXPECT_EQ(did_you_mean("zzzz", Words{}), "");
  EXPECT_LT(did_you_mean("zzzz", Words(1000, "ring")).size(), 200u);
}

TEST(DidYouMean, PartOfANameIsNear) { EXPECT_EQ(did_you_mean("a100", Words{"a100-sxm-80", "h200"}), "did you mean a100-sxm-80?"); }

TEST(Excerpt, IsHarmlessAndShort) {
  EXPECT_EQ(excerpt("plain"), "plain");
  EXPECT_EQ(excerpt("a\x1b[31mb\nc\xff"), "a?[31mb c?");
  EXPECT_EQ(excerpt(std::string(100, 'x'), 5), "xxxxx…");
  EXPECT_EQ(excerpt("éééé", 5), "éé…");  // never half a character
}

TEST(Utf8, FindsTheFirstBadByte) {
  EXPECT_FALSE(first_invalid_utf8("plain, µs, 训练, 🚆"));
  EXPECT_EQ(first_invalid_utf8("ab\xff"), 2u);
  EXPECT_EQ(first_invalid_utf8("a\xc0\xaf"), 1u);         // overlong
  EXPECT_EQ(first_invalid_utf8("\xed\xa0\x80"), 0u);      // surrogate
  EXPECT_EQ(first_invalid_utf8("\xf4\x90\x80\x80"), 0u);  // beyond U+10FFFF
  EXPECT_EQ(first_invalid_utf8("ab\xe8\xae"), 2u);        // cut off
}

TEST(ErrorText, NamesFileLineAndNextStep) {
  const Error error{ErrorKind::bad_input, "found x, expected y", {"job.yaml", 7}, "write y"};
  EXPECT_EQ(error.text(), "job.yaml:7: found x, expected y\n  write y");
  EXPECT_EQ((Error{ErrorKind::failed, "broke", {"job.yaml", 0}, ""}).text(), "job.yaml: broke");
  EXPECT_EQ((Error{ErrorKind::usage, "no such command", {}, ""}).text(), "no such command");
}

TEST(ErrorText, ExitStatusOfEveryKind) {
  EXPECT_EQ(exit_status(ErrorKind::usage), 2);
  EXPECT_EQ(exit_status(ErrorKind::bad_input), 2);
  EXPECT_EQ(exit_status(ErrorKind::missing), 3);
  EXPECT_EQ(exit_status(ErrorKind::failed), 4);
  EXPECT_EQ(exit_status(ErrorKind::interrupted), 130);
}

Result<int> half(int value) {
  if (value % 2) return bad_input({"x", 1}, "odd");
  return value / 2;
}

Result<int> quarter(int value) {
  TRUNKLINE_ASSIGN(once, half(value));
  TRUNKLINE_TRY(half(once));
  return once / 2;
}

TEST(Result, MacrosPassErrorsOn) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error().message, "odd");
  EXPECT_EQ(quarter(7).error().where.line, 1);
}

}  // namespace
}  // namespace trunkline
