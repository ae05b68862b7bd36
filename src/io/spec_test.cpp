#include "io/spec.hpp"

#include <gtest/gtest.h>

namespace trunkline::io {
namespace {

const ObjectSpec kPart{"file.part", "one part", {{.name = "size", .type = FieldType::bytes, .doc = "its size", .required = true}}};

const ObjectSpec kFile{
    "file",
    "says \"hi\"\nand more",
    {{.name = "name", .doc = "its name", .required = true},
     {.name = "kind", .type = FieldType::choice, .doc = "its kind", .choices = {"ring", "tree"}, .also = {"auto"}},
     {.name = "on", .type = FieldType::boolean, .doc = "whether"},
     {.name = "count", .type = FieldType::integer, .doc = "how many", .also = {"auto"}, .min = 1, .max = 8},
     {.name = "share", .type = FieldType::number, .doc = "what part", .min = 0, .max = 1},
     {.name = "rate", .type = FieldType::bandwidth, .doc = "how fast", .also = {"auto"}},
     {.name = "link", .type = FieldType::bandwidth, .doc = "how fast", .low = "1 Mb/s", .high = "100 TB/s", .why = "a link"},
     {.name = "wait", .type = FieldType::time, .doc = "how long", .high = "2 days"},
     {.name = "speed", .type = FieldType::flop_rate, .doc = "how fast"},
     {.name = "price", .type = FieldType::money, .doc = "how much"},
     {.name = "part", .type = FieldType::object, .doc = "one part", .object = &kPart, .also = {"none"}},
     {.name = "parts", .type = FieldType::list, .doc = "many parts", .object = &kPart},
     {.name = "free", .type = FieldType::any, .doc = "anything"}}};

Value value_of(const std::string& text) { return parse_yaml(text, "x.yaml").value(); }

std::string error_of(const std::string& text) {
  const auto result = check(value_of(text), kFile);
  return result ? "no error" : result.error().text();
}

void expect_error(const std::string& text, const std::string& part) {
  const std::string error = error_of(text);
  EXPECT_NE(error.find(part), std::string::npos) << text << "\n" << error;
}

TEST(Spec, AcceptsEveryForm) {
  const auto value = value_of(R"(
name: x
kind: ring
on: true
count: 8
share: 0.5
rate: 400 Gb/s
wait: 10 min
speed: 312 TFLOP/s
price: 12 CNY
part: {size: 80 GB}
parts: [{size: 1 GB}, {size: 2 GB}]
free: {a: [1]}
)");
  ASSERT_TRUE(check(value, kFile));
  EXPECT_EQ(get_text(value, "name"), "x");
  EXPECT_EQ(get_bool(value, "on"), true);
  EXPECT_EQ(get_integer(value, "count"), 8);
  EXPECT_EQ(get_number(value, "share"), 0.5);
  EXPECT_DOUBLE_EQ(get_bandwidth(value, "rate")->si(), 50e9);
  EXPECT_DOUBLE_EQ(get_seconds(value, "wait")->si(), 600);
  EXPECT_DOUBLE_EQ(get_flop_rate(value, "speed")->si(), 312e12);
  EXPECT_EQ(get_money(value, "price")->currency, "CNY");
  EXPECT_EQ(get_bytes(*value.find("part"), "size"), gbytes(80));
}

TEST(Spec, WordsInPlaceOfAValue) {
  const auto value = value_of("{name: x, count: auto, rate: auto, part: none, kind: auto, wait: }");
  ASSERT_TRUE(check(value, kFile));
  EXPECT_FALSE(get_integer(value, "count"));
  EXPECT_FALSE(get_bandwidth(value, "rate"));
  EXPECT_FALSE(get_seconds(value, "wait"));
}

TEST(Spec, NamesTheLineAndTheNearestKey) {
  expect_error("name: x\nprcie: 12 CNY\n", "x.yaml:2: unknown key \"prcie\" in file\n  did you mean price?");
  expect_error("name: x\npart:\n  sise: 1 GB\n", "x.yaml:3: unknown key \"sise\" in file.part\n  did you mean size?");
  expect_error("name: x\nparts:\n  - size: 1 GB\n  - {}\n", "x.yaml:4: file.part lacks the key \"size\"");
}

TEST(Spec, NamesWhatWasFoundAndExpected) {
  expect_error("count: 1\n", "file lacks the key \"name\"");
  expect_error("name:\n", "file lacks the key \"name\"");
  expect_error("[1]", "found a list, expected a block of keys");
  expect_error("name: [x]\n", "name: found a list, expected text");
  expect_error("{name: x, on: yes}", "found \"yes\", expected true or false");
  expect_error("{name: x, kind: rnig}", "kind: \"rnig\" is not known here\n  did you mean ring?");
  expect_error("{name: x, count: 1.5}", "is not a whole number");
  expect_error("{name: x, count: 9}", "count: 9 is above 8\n  expected at most 8");
  expect_error("{name: x, share: -0.1}", "share: -0.1 is below 0");
  expect_error("{name: x, rate: 400}", "rate: \"400\" has no unit");
  expect_error("{name: x, rate: 400 Gb}", "did you mean 400 Gb/s?");
  expect_error("{name: x, part: all}", "part: found \"all\", expected a block of keys\n  or none");
  expect_error("{name: x, parts: {size: 1 GB}}", "parts: found a block of keys, expected a list");
  expect_error("{name: x, wait: {}}", "wait: found a block of keys, expected a time");
}

TEST(Schema, IsValidJsonAndComplete) {
  const auto schema = parse_json(json_schema(kFile), "schema.json");
  ASSERT_TRUE(schema) << schema.error().text();
  const Value& properties = *schema->find("properties");
  EXPECT_EQ(properties.fields().size(), kFile.fields.size());
  EXPECT_EQ(schema->find("description")->text(), "says \"hi\"\nand more");
  EXPECT_EQ(schema->find("required")->items()[0].text(), "name");
  EXPECT_EQ(schema->find("additionalProperties")->text(), "false");
  EXPECT_EQ(properties.find("kind")->find("enum")->items().size(), 3u);
  EXPECT_EQ(properties.find("count")->find("minimum")->text(), "1");
  EXPECT_EQ(properties.find("parts")->find("items")->find("required")->items()[0].text(), "size");
  EXPECT_EQ(properties.find("part")->find("anyOf")->items().size(), 2u);
}

// What is out of range is refused where it is read, with what was found, what was expected and the reason.
TEST(Spec, QuantitiesOutOfRange) {
  EXPECT_EQ(error_of("name: x\nlink: 1e-300 Gb/s"), "x.yaml:2: link: 1e-300 Gb/s is below 1 Mb/s\n  expected 1 Mb/s to 100 TB/s: a link");
  EXPECT_EQ(error_of("name: x\nlink: 1e200 Gb/s"), "x.yaml:2: link: 1e200 Gb/s is above 100 TB/s\n  expected 1 Mb/s to 100 TB/s: a link");
  EXPECT_EQ(error_of("name: x\nwait: 3 days"), "x.yaml:2: wait: 3 days is above 2 days\n  expected at most 2 days");
  EXPECT_EQ(error_of("name: x\nlink: 1 Mb/s"), "no error");
  EXPECT_EQ(error_of("name: x\nlink: 100 TB/s"), "no error");
  EXPECT_EQ(error_of("name: x\nlink: 0 GB/s"), "no error");  // whoever reads it says what zero would mean
  expect_error("name: x\nrate: 1 b/s", "rate: 1 b/s is below 1 KB/s\n  expected 1 KB/s to 1000 TB/s: nothing that carries");
  expect_error("name: x\npart: {size: 5000 PB}", "size: 5000 PB is above 1000 PB\n  expected at most 1000 PB: no memory");
  expect_error("name: x\nspeed: 1e9 PFLOP/s", "speed: 1e9 PFLOP/s is above 1000 PFLOP/s");
}

}  // namespace
}  // namespace trunkline::io
