// Strong types for everything that crosses a function boundary.
//
// A quantity is made and read through a named unit: gbyte_per_s(450), as_gbyte_per_s(x). Bytes are
// exact 64-bit integers; everything else is a double in SI base units. Only physically meaningful
// operations exist: Bytes / Bandwidth = Seconds, Flops / FlopRate = Seconds, and so on.
#pragma once

#include <cmath>
#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>

namespace trunkline {
inline namespace base {

template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  static constexpr Quantity from_si(double value) { return Quantity(value); }
  constexpr double si() const { return value_; }

  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, double k) { return Quantity(a.value_ * k); }
  friend constexpr Quantity operator*(double k, Quantity a) { return Quantity(a.value_ * k); }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity(a.value_ / k); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value_ / b.value_; }
  constexpr Quantity& operator+=(Quantity b) {
    value_ += b.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity b) {
    value_ -= b.value_;
    return *this;
  }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;

 private:
  constexpr explicit Quantity(double value) : value_(value) {}
  double value_ = 0;
};

using Seconds = Quantity<struct SecondsTag>;
using Bandwidth = Quantity<struct BandwidthTag>;  // bytes per second, one direction
using Flops = Quantity<struct FlopsTag>;          // a number of floating-point operations
using FlopRate = Quantity<struct FlopRateTag>;    // operations per second

// An exact, signed number of bytes. Made from whole numbers only: a fraction goes through scaled() or gbytes(), which round. Sums,
// differences and products that 64 bits do not hold stop at the largest (or smallest) number instead of wrapping round.
class Bytes {
 public:
  constexpr Bytes() = default;
  template <std::integral Count>
  constexpr explicit Bytes(Count count) : count_(count > 0 && std::uint64_t(count) > std::uint64_t(kMost) ? kMost : std::int64_t(count)) {}
  constexpr std::int64_t count() const { return count_; }

  friend constexpr Bytes operator+(Bytes a, Bytes b) {
    std::int64_t sum = 0;
    return Bytes(__builtin_add_overflow(a.count_, b.count_, &sum) ? end_of(a.count_ > 0) : sum);
  }
  friend constexpr Bytes operator-(Bytes a, Bytes b) {
    std::int64_t difference = 0;
    return Bytes(__builtin_sub_overflow(a.count_, b.count_, &difference) ? end_of(b.count_ < 0) : difference);
  }
  friend constexpr Bytes operator*(Bytes a, std::integral auto k) {
    std::int64_t product = 0;
    return Bytes(__builtin_mul_overflow(a.count_, k, &product) ? end_of((a.count_ > 0) == (k > 0)) : product);
  }
  friend constexpr Bytes operator*(std::integral auto k, Bytes a) { return a * k; }
  friend constexpr double operator/(Bytes a, Bytes b) { return double(a.count_) / double(b.count_); }
  constexpr Bytes& operator+=(Bytes b) { return *this = *this + b; }
  constexpr Bytes& operator-=(Bytes b) { return *this = *this - b; }
  friend constexpr auto operator<=>(Bytes, Bytes) = default;

 private:
  static constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t end_of(bool high) { return high ? kMost : std::numeric_limits<std::int64_t>::min(); }
  std::int64_t count_ = 0;
};

// The nearest whole number of bytes to a fraction of `a`; saturates instead of overflowing.
constexpr Bytes scaled(Bytes a, double factor) {
  const double exact = double(a.count()) * factor;
  if (exact >= 9.2e18) return Bytes(std::numeric_limits<std::int64_t>::max());
  if (exact <= -9.2e18) return Bytes(std::numeric_limits<std::int64_t>::min());
  return Bytes(std::int64_t(exact + (exact < 0 ? -0.5 : 0.5)));
}

constexpr Seconds seconds(double v) { return Seconds::from_si(v); }
constexpr Seconds milliseconds(double v) { return Seconds::from_si(v * 1e-3); }
constexpr Seconds microseconds(double v) { return Seconds::from_si(v * 1e-6); }
constexpr double as_microseconds(Seconds t) { return t.si() * 1e6; }
constexpr double as_milliseconds(Seconds t) { return t.si() * 1e3; }

constexpr Bytes bytes(std::integral auto v) { return Bytes(v); }
constexpr Bytes kib(std::integral auto v) { return Bytes(1024) * v; }
constexpr Bytes mib(std::integral auto v) { return Bytes(1 << 20) * v; }
constexpr Bytes gib(std::integral auto v) { return Bytes(1 << 30) * v; }
constexpr Bytes gbytes(double v) { return scaled(Bytes(1'000'000'000), v); }
constexpr double as_gbytes(Bytes b) { return double(b.count()) * 1e-9; }
constexpr double as_gib(Bytes b) { return double(b.count()) / double(1LL << 30); }

constexpr Bandwidth byte_per_s(double v) { return Bandwidth::from_si(v); }
constexpr Bandwidth gbyte_per_s(double v) { return Bandwidth::from_si(v * 1e9); }
constexpr Bandwidth gbit_per_s(double v) { return Bandwidth::from_si(v * 1e9 / 8); }
constexpr double as_gbyte_per_s(Bandwidth b) { return b.si() * 1e-9; }
constexpr double as_gbit_per_s(Bandwidth b) { return b.si() * 8e-9; }

constexpr Flops flops(double v) { return Flops::from_si(v); }
constexpr FlopRate flop_per_s(double v) { return FlopRate::from_si(v); }
constexpr FlopRate tflop_per_s(double v) { return FlopRate::from_si(v * 1e12); }
constexpr double as_tflop_per_s(FlopRate r) { return r.si() * 1e-12; }

constexpr Seconds operator/(Bytes b, Bandwidth w) { return seconds(double(b.count()) / w.si()); }
constexpr Bandwidth operator/(Bytes b, Seconds t) { return byte_per_s(double(b.count()) / t.si()); }
constexpr Seconds operator/(Flops f, FlopRate r) { return seconds(f.si() / r.si()); }
constexpr FlopRate operator/(Flops f, Seconds t) { return flop_per_s(f.si() / t.si()); }
constexpr Flops operator*(FlopRate r, Seconds t) { return flops(r.si() * t.si()); }

// An amount in one currency; amounts of different currencies are never added.
struct Money {
  double amount = 0;
  std::string currency;
};

}  // namespace base
}  // namespace trunkline
