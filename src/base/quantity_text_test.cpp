#include "base/quantity_text.hpp"

#include <gtest/gtest.h>

namespace trunkline {
namespace {

template <class T>
std::string error_of(const Result<T>& result) {
  return result ? std::string("no error") : result.error().text();
}

void expect_contains(const std::string& text, const std::string& part) { EXPECT_NE(text.find(part), std::string::npos) << text; }

TEST(Numbers, AcceptWhatPeopleWrite) {
  EXPECT_EQ(parse_number("100e6").value(), 1e8);
  EXPECT_EQ(parse_number(" 0.94 ").value(), 0.94);
  EXPECT_EQ(parse_number("-2").value(), -2);
  EXPECT_EQ(parse_integer("8").value(), 8);
  EXPECT_EQ(parse_integer("1e6").value(), 1000000);
}

TEST(Numbers, RefuseWhatIsNoNumber) {
  for (const char* text : {"", " ", "x", "nan", "inf", "-inf", "1e999", "1e-999", "0x10", "1 2", "1,5", "1_000", "--1"}) {
    EXPECT_FALSE(parse_number(text)) << text;
  }
  expect_contains(error_of(parse_number("1e999")), "too large or too small");
  expect_contains(error_of(parse_number("8 GB")), "expected a number without a unit");
}

TEST(Numbers, WholeNumbersAreExact) {
  EXPECT_FALSE(parse_integer("1.5"));
  EXPECT_FALSE(parse_integer("1e16"));  // a double would round it
  EXPECT_EQ(parse_integer("9000000000000000").value(), 9000000000000000);
}

TEST(Sizes, EveryUnit) {
  const std::pair<const char*, std::int64_t> cases[] = {{"7 B", 7},
                                                        {"1 kB", 1000},
                                                        {"1 KB", 1000},
                                                        {"1 MB", 1000000},
                                                        {"1 GB", 1000000000},
                                                        {"1 TB", 1000000000000},
                                                        {"1 PB", 1000000000000000},
                                                        {"1 KiB", 1024},
                                                        {"1 MiB", 1 << 20},
                                                        {"1 GiB", 1 << 30},
                                                        {"1 TiB", 1LL << 40},
                                                        {"28.5 KB", 28500},
                                                        {"80GB", 80000000000},
                                                        {" 25  MiB ", 26214400},
                                                        {"1e3 GB", 1000000000000}};
  for (const auto& [text, count] : cases) EXPECT_EQ(parse_bytes(text).value().count(), count) << text;
}

TEST(Sizes, WholeNumbersStayExactBeyondADouble) {
  EXPECT_EQ(parse_bytes("9007199254740993 B").value().count(), 9007199254740993);  // 2^53 + 1
}

TEST(Sizes, RefusedWithTheRightForm) {
  expect_contains(error_of(parse_bytes("80")), "\"80\" has no unit");
  expect_contains(error_of(parse_bytes("80 Gb")), "did you mean 80 GB? (b = bit, B = byte)");
  expect_contains(error_of(parse_bytes("80 G")), "did you mean 80 GB?");
  expect_contains(error_of(parse_bytes("80 gib")), "did you mean 80 GiB?");
  expect_contains(error_of(parse_bytes("1,500 GB")), "inside the number");
  EXPECT_FALSE(parse_bytes("-1 GB"));
  EXPECT_FALSE(parse_bytes("1e10 PB"));
  EXPECT_FALSE(parse_bytes("80 GB/s"));
}

TEST(Rates, BitsAreNotBytes) {
  EXPECT_DOUBLE_EQ(parse_bandwidth("400Gb/s").value().si(), 50e9);
  EXPECT_DOUBLE_EQ(parse_bandwidth("400GB/s").value().si(), 400e9);
  EXPECT_DOUBLE_EQ(parse_bandwidth("400 Gbit/s").value().si(), 50e9);
  EXPECT_DOUBLE_EQ(parse_bandwidth("1 GiB/s").value().si(), 1073741824.0);
  EXPECT_DOUBLE_EQ(parse_bandwidth("8 b/s").value().si(), 1);
}

TEST(Rates, RefusedWithTheRightForm) {
  expect_contains(error_of(parse_bandwidth("400Gb")), "did you mean 400 Gb/s?");
  expect_contains(error_of(parse_bandwidth("400GB")), "did you mean 400 GB/s?");
  expect_contains(error_of(parse_bandwidth("400 Gbps")), "did you mean 400 Gb/s?");
  expect_contains(error_of(parse_bandwidth("8 GBps")), "did you mean 8 GB/s?");
  expect_contains(error_of(parse_bandwidth("400 gb/s")), "did you mean 400 GB/s or 400 Gb/s? (b = bit, B = byte)");
  expect_contains(error_of(parse_bandwidth("400 Gbits/s")), "did you mean 400 Gbit/s?");
  expect_contains(error_of(parse_bandwidth("400")), "400 Gb/s (bits) or 8 GB/s (bytes)");
  expect_contains(error_of(parse_bandwidth("-1 GB/s")), "is negative");
  expect_contains(error_of(parse_bandwidth("1e308 TB/s")), "is too large");
}

TEST(Times, EveryUnit) {
  const std::pair<const char*, double> cases[] = {{"130 ns", 130e-9}, {"5 us", 5e-6},      {"5 µs", 5e-6},     {"2 ms", 2e-3},
                                                  {"3 s", 3},         {"10 min", 600},     {"4000 h", 14.4e6}, {"1 hour", 3600},
                                                  {"2 hours", 7200},  {"1 d", 86400},      {"1 day", 86400},   {"5 days", 432000},
                                                  {"1 week", 604800}, {"2 weeks", 1209600}};
  for (const auto& [text, value] : cases) EXPECT_DOUBLE_EQ(parse_seconds(text).value().si(), value) << text;
}

TEST(Times, RefusedWithTheRightForm) {
  expect_contains(error_of(parse_seconds("10 m")), "did you mean 10 ms or 10 min?");
  expect_contains(error_of(parse_seconds("10 sec")), "did you mean 10 s?");
  expect_contains(error_of(parse_seconds("10 Minutes")), "did you mean 10 min?");
  expect_contains(error_of(parse_seconds("600")), "has no unit");
}

TEST(FlopRates, UnitsAndHints) {
  EXPECT_DOUBLE_EQ(parse_flop_rate("312 TFLOP/s").value().si(), 312e12);
  EXPECT_DOUBLE_EQ(parse_flop_rate("1 PFLOP/s").value().si(), 1e15);
  expect_contains(error_of(parse_flop_rate("312 TFLOPS")), "did you mean 312 TFLOP/s?");
  expect_contains(error_of(parse_flop_rate("312 TFLOPs")), "did you mean 312 TFLOP/s?");
  expect_contains(error_of(parse_flop_rate("312 tflops")), "did you mean 312 TFLOP/s?");
}

TEST(MoneyText, NeedsACurrency) {
  EXPECT_EQ(parse_money("12 CNY").value().currency, "CNY");
  EXPECT_EQ(parse_money("2.49USD").value().amount, 2.49);
  for (const char* text : {"12", "$12", "12 $", "12 usd", "12 EURO", "-1 USD"}) EXPECT_FALSE(parse_money(text)) << text;
}

TEST(Errors, QuoteHostileTextHarmlessly) {
  const std::string text = error_of(parse_bytes("5 \x1b[31mGB\n" + std::string(1000, 'x')));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_LT(text.size(), 400u);
}

TEST(Significant, ThreeDigits) {
  const std::pair<double, const char*> cases[] = {{0, "0"},
                                                  {1, "1.00"},
                                                  {9.994, "9.99"},
                                                  {9.996, "10.0"},
                                                  {99.96, "100"},
                                                  {123.4, "123"},
                                                  {1234.5, "1230"},
                                                  {0.012345, "0.0123"},
                                                  {0.99996, "1.00"},
                                                  {-2.345, "-2.35"},
                                                  {999999, "1.00e+06"},
                                                  {1.5e7, "1.50e+07"},
                                                  {0.00009999, "0.000100"},
                                                  {1e-300, "1.00e-300"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(significant(value), text) << value;
  EXPECT_EQ(significant(3.14159, 5), "3.1416");
}

TEST(ToText, PicksTheReadableUnit) {
  EXPECT_EQ(to_text(bytes(0)), "0 B");
  EXPECT_EQ(to_text(bytes(512)), "512 B");
  EXPECT_EQ(to_text(bytes(999'600)), "1.00 MB");  // never "1000 KB"
  EXPECT_EQ(to_text(gbytes(80)), "80.0 GB");
  EXPECT_EQ(to_text(gbit_per_s(400)), "50.0 GB/s");
  EXPECT_EQ(to_text(seconds(0)), "0 s");
  EXPECT_EQ(to_text(microseconds(12)), "12.0 us");
  EXPECT_EQ(to_text(seconds(600)), "10.0 min");
  EXPECT_EQ(to_text(seconds(86400)), "24.0 h");
  EXPECT_EQ(to_text(tflop_per_s(312)), "312 TFLOP/s");
}

// What is printed reads back as the same quantity, to the three digits that were printed.
TEST(ToText, ReadsBack) {
  for (double exponent = -9; exponent < 15; exponent += 0.37) {
    const double value = std::pow(10.0, exponent);
    EXPECT_NEAR(parse_seconds(to_text(seconds(value))).value().si(), value, value * 0.006) << value;
    EXPECT_NEAR(parse_bandwidth(to_text(byte_per_s(value))).value().si(), value, value * 0.006) << value;
    if (value < 1) continue;
    const Bytes size = scaled(bytes(1), value);
    EXPECT_NEAR(double(parse_bytes(to_text(size)).value().count()), double(size.count()), value * 0.006) << value;
  }
}

}  // namespace
}  // namespace trunkline
