// The clock of the step simulation: whole picoseconds, so that equal times are equal and runs are reproducible.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>

namespace trunkline {
inline namespace base {

// Sums, differences and products stop at ±forever() (106 days) instead of wrapping round: a time too long to count is the longest
// one, never a short or a negative one. Whoever shows a time to people asks `t < forever()` first.
class Picoseconds {
 public:
  constexpr Picoseconds() = default;
  template <std::integral Count>
  constexpr Picoseconds(Count count) : count_(held(count)) {}  // implicit: 300 is a time where one is asked for

  static constexpr Picoseconds forever() { return Picoseconds(Raw{}, kMost); }

  // The nearest one; what is no number counts as forever.
  static constexpr Picoseconds from_seconds(double s) {
    const double exact = s * 1e12;
    if (!(exact < double(kMost))) return forever();
    if (exact <= -double(kMost)) return Picoseconds(Raw{}, -kMost);
    return Picoseconds(Raw{}, std::int64_t(exact + (exact < 0 ? -0.5 : 0.5)));
  }

  constexpr std::int64_t count() const { return count_; }
  constexpr double seconds() const { return double(count_) * 1e-12; }
  explicit constexpr operator double() const { return double(count_); }

  friend constexpr Picoseconds operator+(Picoseconds a, Picoseconds b) {
    std::int64_t sum = 0;
    if (!__builtin_add_overflow(a.count_, b.count_, &sum)) return held(Raw{}, sum);
    return Picoseconds(Raw{}, a.count_ > 0 ? kMost : -kMost);
  }
  friend constexpr Picoseconds operator-(Picoseconds a, Picoseconds b) {
    return a.count_ == kMost ? a : a + Picoseconds(Raw{}, -b.count_);  // how much longer than forever it was is not known
  }
  friend constexpr Picoseconds operator*(Picoseconds a, std::integral auto times) {
    std::int64_t product = 0;
    if (!__builtin_mul_overflow(a.count_, times, &product)) return held(Raw{}, product);
    return Picoseconds(Raw{}, (a.count_ < 0) == (times < 0) ? kMost : -kMost);
  }
  friend constexpr Picoseconds operator*(std::integral auto times, Picoseconds a) { return a * times; }
  friend constexpr Picoseconds operator/(Picoseconds a, std::integral auto parts) { return Picoseconds(a.count_ / std::int64_t(parts)); }
  constexpr Picoseconds& operator+=(Picoseconds b) { return *this = *this + b; }
  constexpr Picoseconds& operator-=(Picoseconds b) { return *this = *this - b; }
  friend constexpr auto operator<=>(Picoseconds, Picoseconds) = default;

  template <class Stream>
  friend Stream& operator<<(Stream& out, Picoseconds t) {
    out << t.count_ << " ps";
    return out;
  }

 private:
  struct Raw {};
  static constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr Picoseconds(Raw, std::int64_t count) : count_(count) {}
  static constexpr Picoseconds held(Raw, std::int64_t count) { return Picoseconds(Raw{}, count < -kMost ? -kMost : count); }
  template <std::integral Count>
  static constexpr std::int64_t held(Count count) {
    if constexpr (std::unsigned_integral<Count>)
      return count > std::uint64_t(kMost) ? kMost : std::int64_t(count);
    else
      return count < -kMost ? -kMost : std::int64_t(count);
  }
  std::int64_t count_ = 0;
};

}  // namespace base
}  // namespace trunkline
