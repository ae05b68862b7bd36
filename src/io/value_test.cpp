#include "io/value.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>

namespace trunkline::io {
namespace {

constexpr const char* kYaml = R"(# a job
model:
  config: x.json
  layers: 80
batch: {global: 1024,
        micro: 1}
empty:
list:
  - one
  - two: 2
    three: 3
text: "a # b"
)";

constexpr const char* kJson = R"({
  "model": {
    "config": "x.json",
    "layers": 80
  },
  "batch": {"global": 1024,
    "micro": 1},
  "empty": null,
  "list": [
    "one",
    {"two": 2,
     "three": 3.50}
  ],
  "a\"b\u0041\n": true
}
)";

std::string error_of(const Result<Value>& result) { return result ? "no error" : result.error().text(); }

void expect_contains(const std::string& text, const std::string& part) { EXPECT_NE(text.find(part), std::string::npos) << text; }

int line_at(const Value& value, std::initializer_list<const char*> path) {
  const Value* at = &value;
  for (const char* key : path) at = at ? at->find(key) : nullptr;
  return at ? at->where().line : -1;
}

TEST(Yaml, EveryNodeKnowsItsLine) {
  const auto value = parse_yaml(kYaml, "job.yaml").value();
  EXPECT_EQ(line_at(value, {"model"}), 3);  // a block begins at its first key
  EXPECT_EQ(line_at(value, {"model", "layers"}), 4);
  EXPECT_EQ(line_at(value, {"batch"}), 5);
  EXPECT_EQ(line_at(value, {"batch", "micro"}), 6);
  EXPECT_EQ(line_at(value, {"empty"}), 7);
  EXPECT_EQ(value.find("list")->items()[0].where().line, 9);
  EXPECT_EQ(line_at(value.find("list")->items()[1], {"three"}), 11);
  EXPECT_EQ(value.find("batch")->find("micro")->where().file, "job.yaml");
}

TEST(Yaml, ScalarsStayAsWritten) {
  const auto value = parse_yaml(kYaml, "job.yaml").value();
  EXPECT_EQ(value.find("text")->text(), "a # b");
  EXPECT_EQ(value.find("model")->find("layers")->text(), "80");
  EXPECT_TRUE(value.find("empty")->is_null());
  EXPECT_EQ(value.find("missing"), nullptr);
  EXPECT_EQ(value.fields()[0].first, "model");  // file order
}

TEST(Yaml, AnEmptyFileIsNothing) {
  EXPECT_TRUE(parse_yaml("", "x").value().is_null());
  EXPECT_TRUE(parse_yaml("# only a comment\n", "x").value().is_null());
}

TEST(Yaml, RefusesWithTheLine) {
  expect_contains(error_of(parse_yaml("a: 1\nb: 2\na: 3\n", "x.yaml")), "x.yaml:3: the key \"a\" stands twice");
  expect_contains(error_of(parse_yaml("a: 1\nb: [1, 2\n", "x.yaml")), "not valid YAML");
  expect_contains(error_of(parse_yaml("a: 1\n? [x]\n: 1\n", "x.yaml")), "x.yaml:2: a key that is not plain text");
  expect_contains(error_of(parse_yaml("a: 1\n---\nb: 1\n", "x.yaml")), "a second document");
  expect_contains(error_of(parse_yaml("a: &x {b: 1}\nc:\n  <<: *x\n", "x.yaml")), "x.yaml:3: the merge key");
  expect_contains(error_of(parse_yaml("a: 1\nb: *nowhere\n", "x.yaml")), "x.yaml:2: ");
  expect_contains(error_of(parse_yaml("a: &x [1, *x]\n", "x.yaml")), "lies inside what it names");
}

TEST(Yaml, RefusesWhatIsNoText) {
  expect_contains(error_of(parse_yaml(std::string("a: 1\nb: \0x\n", 11), "x.yaml")), "x.yaml:2: a NUL byte");
  expect_contains(error_of(parse_yaml("a: 1\nb: \xff\n", "x.yaml")), "x.yaml:2: the byte 0xff is not UTF-8");
  expect_contains(error_of(parse_yaml("\xff\xfe"
                                      "a",
                                      "x.yaml")),
                  "UTF-16");
}

TEST(Yaml, AliasesAreExpanded) {
  const auto value = parse_yaml("a: &x {size: 80 GB}\nb: *x\n", "x.yaml").value();
  EXPECT_EQ(value.find("b")->find("size")->text(), "80 GB");
}

// Nine levels of nine aliases ask for 9^9 nodes from 40 lines. The refusal must come before the copies, not after.
TEST(Yaml, ABillionLaughsCostNothing) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 9; ++j) text += (j ? ", *a" : "*a") + std::to_string(i - 1);
    text += "]\n";
  }
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  expect_contains(error_of(parse_yaml(text, "x.yaml")), "grow beyond measure");
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 100 << 10);  // KiB
}

TEST(Yaml, ALongTextBehindManyAliasesCostsNothing) {
  std::string text = "a: &a " + std::string(1 << 20, 'x') + "\nb: [";
  for (int i = 0; i < 10000; ++i) text += "*a, ";
  expect_contains(error_of(parse_yaml(text + "]\n", "x.yaml")), "grow beyond measure");
}

TEST(Yaml, DeepNestingIsRefusedNotCrashed) {
  expect_contains(error_of(parse_yaml(std::string(1000, '[') + std::string(1000, ']'), "x.yaml")), "nested deeper than 64 levels");
  std::string maps;
  for (int i = 0; i < 1000; ++i) maps += std::string(std::size_t(i), ' ') + "a:\n";
  expect_contains(error_of(parse_yaml(maps, "x.yaml")), "nested deeper than 64 levels");
  const std::string chain =
      "a: &a [" + std::string(40, '[') + std::string(40, ']') + "]\nb: " + std::string(40, '[') + "*a" + std::string(40, ']') + "\n";
  expect_contains(error_of(parse_yaml(chain, "x.yaml")), "nested deeper than 64 levels");
}

TEST(Json, EveryNodeKnowsItsLine) {
  const auto value = parse_json(kJson, "r.json").value();
  EXPECT_EQ(value.where().line, 1);
  EXPECT_EQ(line_at(value, {"model"}), 2);
  EXPECT_EQ(line_at(value, {"model", "layers"}), 4);
  EXPECT_EQ(line_at(value, {"batch", "global"}), 6);
  EXPECT_EQ(line_at(value, {"batch", "micro"}), 7);
  EXPECT_EQ(line_at(value, {"empty"}), 8);
  EXPECT_EQ(value.find("list")->items()[0].where().line, 10);
  EXPECT_EQ(line_at(value.find("list")->items()[1], {"three"}), 12);
  EXPECT_EQ(line_at(value, {"a\"bA\n"}), 14);  // an escaped key is looked up by what it means
}

// A number ends only at the character behind it, which may be the next line's.
TEST(Json, NumbersBeforeALineBreakKeepTheirLine) {
  const auto value = parse_json("[1\n,2\n,\n3\n]", "x.json").value();
  EXPECT_EQ(value.items()[0].where().line, 1);
  EXPECT_EQ(value.items()[1].where().line, 2);
  EXPECT_EQ(value.items()[2].where().line, 4);
}

TEST(Json, NumbersKeepTheirDigits) {
  const auto value = parse_json(R"([3.50, 18446744073709551615, -9007199254740993, 1e-7, "1"])", "x.json").value();
  const char* expected[] = {"3.50", "18446744073709551615", "-9007199254740993", "1e-7", "1"};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(value.items()[std::size_t(i)].text(), expected[i]);
}

TEST(Json, ReadsByteOrderMarks) { EXPECT_TRUE(parse_json("\xEF\xBB\xBF{}", "x.json").value().is_map()); }

TEST(Json, RefusesWithTheLine) {
  expect_contains(error_of(parse_json("{\"a\": 1,\n \"b\": 2,\n \"a\": 3}", "x.json")), "x.json:3: the key \"a\" stands twice");
  EXPECT_EQ(parse_foreign_json("{\"a\": 1,\n \"b\": 2,\n \"a\": 3}", "x.json").value().find("a")->text(), "1");
  expect_contains(error_of(parse_json("{\n\"a\": 1\n\"b\": 2}", "x.json")), "x.json:3: not valid JSON");
  expect_contains(error_of(parse_json("{\"a\": 1]", "x.json")), "check the commas");
  expect_contains(error_of(parse_json("{} x", "x.json")), "not valid JSON");
  expect_contains(error_of(parse_json("{\"a\": NaN}", "x.json")), "not valid JSON");
  expect_contains(error_of(parse_json("[1e999]", "x.json")), "number overflow");
  expect_contains(error_of(parse_json("\"\xff\"", "x.json")), "0xff");
  expect_contains(error_of(parse_json(std::string(100000, '['), "x.json")), "nested deeper than 64 levels");
}

// Wherever a file breaks off, the hint says so, on the line where it breaks off.
TEST(Json, EveryPrefixIsCutOff) {
  const std::string text(kJson);
  const std::size_t end = text.rfind('}');
  for (std::size_t length = 0; length < end; ++length) {
    const auto error = error_of(parse_json(text.substr(0, length), "x.json"));
    EXPECT_NE(error.find("cut off"), std::string::npos) << length << ": " << error;
  }
}

TEST(Json, QuotedTextReadsBack) {
  const std::string nasty = "a\"b\\c\n\t\x01 µ 训";
  EXPECT_EQ(parse_json(json_quoted(nasty), "x").value().text(), nasty);
  EXPECT_TRUE(parse_json(json_quoted("\xff"), "x"));
}

TEST(Set, MakesAndReplacesAlongADottedPath) {
  Value value = parse_yaml("parallelism: auto\nbatch: {global: 8}\nlist: [1]\n", "x").value();
  const auto scalar = [](const char* text) { return Value::scalar(nullptr, 0, text); };
  ASSERT_TRUE(value.set("parallelism.tp", scalar("8")));
  ASSERT_TRUE(value.set("batch.global", scalar("16")));
  ASSERT_TRUE(value.set("run.epochs", scalar("1")));
  EXPECT_EQ(value.find("parallelism")->find("tp")->text(), "8");
  EXPECT_EQ(value.find("batch")->find("global")->text(), "16");
  EXPECT_EQ(value.find("run")->find("epochs")->text(), "1");
  EXPECT_FALSE(value.set("list.0", scalar("2")));
  EXPECT_FALSE(value.set("a..b", scalar("2")));
  EXPECT_FALSE(value.set("", scalar("2")));
  std::string deep = "a";
  for (int i = 0; i < 100000; ++i) deep += ".a";
  EXPECT_FALSE(value.set(deep, scalar("2")));
}

}  // namespace
}  // namespace trunkline::io
