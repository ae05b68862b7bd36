// Quantities of different kinds do not mix, and a bare number is no quantity. Run by run_compile_fail.
#include "base/units.hpp"

using namespace trunkline;

constexpr Bytes kSize = gib(1);
constexpr Seconds kTime = seconds(2);
constexpr Bandwidth kRate = gbit_per_s(400);
constexpr Flops kWork = flops(1e12);
constexpr FlopRate kSpeed = tflop_per_s(312);

// The control: what does make sense.
constexpr Seconds kMove = kSize / kRate;
constexpr Bandwidth kReached = kSize / kTime;
constexpr Seconds kCompute = kWork / kSpeed;
constexpr double kRatio = kTime / kMove;
constexpr Seconds kSum = kMove + kCompute * 2.0;
static_assert(kMove < kTime);

#ifdef CASE_bytes_plus_seconds  // expect: no match for 'operator+'
constexpr auto kNonsense = kSize + kTime;
#endif
#ifdef CASE_seconds_plus_number  // expect: no match for 'operator+'
constexpr auto kNonsense = kTime + 1.0;
#endif
#ifdef CASE_bandwidth_plus_flop_rate  // expect: no match for 'operator+'
constexpr auto kNonsense = kRate + kSpeed;
#endif
#ifdef CASE_bytes_minus_number  // expect: no match for 'operator-'
constexpr auto kNonsense = kSize - 1;
#endif
#ifdef CASE_bandwidth_from_double  // expect: conversion from 'double' to
constexpr Bandwidth kNonsense = 450e9;
#endif
#ifdef CASE_bandwidth_constructed_from_double  // expect: is private within this context | no matching function
constexpr Bandwidth kNonsense(450e9);
#endif
#ifdef CASE_seconds_from_integer  // expect: conversion from 'int' to
constexpr Seconds kNonsense = 3;
#endif
#ifdef CASE_bytes_from_double  // expect: conversion from 'double' to
constexpr Bytes kNonsense = 1e9;
#endif
#ifdef CASE_bytes_constructed_from_double  // expect: no matching function
constexpr Bytes kNonsense(1.5);
#endif
#ifdef CASE_bytes_helper_from_double  // expect: no matching function
constexpr Bytes kNonsense = gib(1.5);
#endif
#ifdef CASE_bytes_from_integer  // expect: conversion from 'int' to
constexpr Bytes kNonsense = 4096;
#endif
#ifdef CASE_bytes_to_double  // expect: cannot convert
constexpr double kNonsense = kSize;
#endif
#ifdef CASE_seconds_to_double  // expect: cannot convert
constexpr double kNonsense = kTime;
#endif
#ifdef CASE_seconds_less_than_bytes  // expect: no match for 'operator<'
constexpr bool kNonsense = kTime < kSize;
#endif
#ifdef CASE_bandwidth_less_than_number  // expect: no match for 'operator<'
constexpr bool kNonsense = kRate < 450e9;
#endif
#ifdef CASE_bytes_equal_seconds  // expect: no match for 'operator=='
constexpr bool kNonsense = kSize == kTime;
#endif
#ifdef CASE_bandwidth_over_bytes  // expect: no match for 'operator/'
constexpr auto kNonsense = kRate / kSize;
#endif
#ifdef CASE_flops_over_bandwidth  // expect: no match for 'operator/'
constexpr auto kNonsense = kWork / kRate;
#endif
#ifdef CASE_bytes_times_bandwidth  // expect: no match for 'operator*'
constexpr auto kNonsense = kSize * kRate;
#endif
#ifdef CASE_seconds_times_seconds  // expect: no match for 'operator*'
constexpr auto kNonsense = kTime * kTime;
#endif
#ifdef CASE_bytes_times_fraction  // expect: no match for 'operator*'
constexpr auto kNonsense = kSize * 0.5;
#endif
#ifdef CASE_move_time_as_bandwidth  // expect: conversion from
constexpr Bandwidth kNonsense = kSize / kRate;
#endif
#ifdef CASE_money_plus_money  // expect: no match for 'operator+'
const auto kNonsense = Money{1, "CNY"} + Money{1, "USD"};
#endif
