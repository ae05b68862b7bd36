// What collectives must give, and one rank on a GPU where there is one.
#include "backends/nccl/group.hpp"

#include <gtest/gtest.h>

#if __has_include(<nccl.h>)
#include <nccl.h>
#endif

#include "backends/cuda/error.hpp"

namespace trunkline::backends::nccl {
namespace {

constexpr Collective kAll[] = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast,
                               Collective::reduce,     Collective::all_to_all, Collective::send_recv};

#if __has_include(<nccl.h>)
static_assert(int(Type::int8) == ncclInt8 && int(Type::uint8) == ncclUint8 && int(Type::int32) == ncclInt32);
static_assert(int(Type::uint32) == ncclUint32 && int(Type::int64) == ncclInt64 && int(Type::uint64) == ncclUint64);
static_assert(int(Type::half) == ncclFloat16 && int(Type::single) == ncclFloat32 && int(Type::real) == ncclFloat64);
static_assert(int(Type::bfloat16) == ncclBfloat16 && kSuccess == ncclSuccess && kInProgress == ncclInProgress);
static_assert(int(Operation::sum) == ncclSum && int(Operation::max) == ncclMax && int(Operation::min) == ncclMin);
#endif

// Every rank's buffers, moved as MPI's definition of each collective says.
using Buffers = std::vector<std::vector<double>>;

Buffers done_by_hand(const Job& job, int ranks) {
  Buffers send(std::size_t(ranks), std::vector<double>(job.count)), receive = send;
  const std::size_t part = job.count / std::size_t(ranks);
  for (int r = 0; r < ranks; ++r) {
    for (std::size_t i = 0; i < job.count; ++i) send[std::size_t(r)][i] = kernels::value(r, i, job.type);
  }
  const auto sum = [&](std::size_t i) {
    double out = 0;
    for (const auto& buffer : send) out += buffer[i];
    return out;
  };
  for (std::size_t r = 0; r < std::size_t(ranks); ++r) {
    for (std::size_t i = 0; i < job.count; ++i) {
      double& out = receive[r][i];
      switch (job.collective) {
        case Collective::all_reduce:
        case Collective::reduce: out = sum(i); break;
        case Collective::reduce_scatter: out = i < part ? sum(r * part + i) : 0; break;
        case Collective::all_gather: out = send[i / part][i % part]; break;
        case Collective::all_to_all: out = send[i / part][r * part + i % part]; break;
        case Collective::broadcast: out = send[std::size_t(job.root)][i]; break;
        case Collective::send_recv: out = send[(r + std::size_t(ranks) - 1) % std::size_t(ranks)][i]; break;
      }
    }
  }
  return receive;
}

TEST(Expected, is_what_moving_the_buffers_by_hand_gives) {
  for (const Collective collective : kAll) {
    for (const int ranks : {1, 2, 3, 8}) {
      Job job{collective, 240, Type::single, Operation::sum, ranks - 1, false};
      const Buffers result = done_by_hand(job, ranks);
      for (int r = 0; r < ranks; ++r) {
        const auto expected = expected_of(job, r, ranks);
        for (std::size_t i = 0; i < result_count(job, r, ranks); ++i)
          ASSERT_EQ(kernels::expected_value(expected, i, job.type), result[std::size_t(r)][i])
              << collectives::name_of(collective) << " of " << ranks << ", rank " << r << ", element " << i;
      }
    }
  }
}

TEST(Expected, largest_and_least_of_ranks) {
  kernels::Expected all{true, Operation::max, 16};
  for (std::size_t i = 0; i < 100; ++i) {
    double most = 0, least = 9;
    for (int r = 0; r < 16; ++r)
      most = std::max(most, kernels::value(r, i, Type::single)), least = std::min(least, kernels::value(r, i, Type::single));
    all.operation = Operation::max;
    EXPECT_EQ(kernels::expected_value(all, i, Type::single), most);
    all.operation = Operation::min;
    EXPECT_EQ(kernels::expected_value(all, i, Type::single), least);
  }
}

TEST(Values, differ_between_ranks_and_places_and_sum_exactly) {
  int same_rank = 0, same_place = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    same_rank += kernels::value(0, i, Type::single) == kernels::value(1, i, Type::single);
    same_place += kernels::value(0, i, Type::single) == kernels::value(0, i + 1, Type::single);
    EXPECT_LE(kernels::value(5, i, Type::int8), 1);
  }
  EXPECT_NEAR(same_rank, 250, 80);  // four values: a quarter agrees by chance
  EXPECT_NEAR(same_place, 250, 80);
  EXPECT_LE(3 * kernels::most_ranks(Type::bfloat16), 256);  // what bf16 holds exactly
}

TEST(Counts, are_cut_up_evenly) {
  EXPECT_EQ(count_for(Collective::all_gather, Bytes(100), Type::single, 8), 24u);
  EXPECT_EQ(count_for(Collective::all_reduce, Bytes(100), Type::single, 8), 25u);
  EXPECT_EQ(count_for(Collective::all_to_all, Bytes(16), Type::single, 8), 0u);
}

// NCCL with one rank moves data on one GPU only, but loads, joins, queues and ends as with many.
TEST(OneRank, does_every_collective_rightly_and_notices_when_not) {
  const auto here = cuda::gpus({});
  if (!here) GTEST_SKIP() << here.error().text();
  const auto opened = library();
  if (!opened) GTEST_SKIP() << opened.error().text();
  auto group = Group::make(**opened, {here->front()}, mib(1));
  ASSERT_TRUE(group) << group.error().text();
  for (const Collective collective : kAll) {
    for (const Type type : {Type::single, Type::bfloat16, Type::int8}) {
      Job job{collective, count_for(collective, mib(1), type, 1), type};
      for (const bool in_place : {false, true}) {
        if (in_place && !can_be_in_place(collective)) continue;
        job.in_place = in_place;
        const auto wrong = (*group)->check(job);
        ASSERT_TRUE(wrong) << wrong.error().text();
        EXPECT_EQ(*wrong, 0u) << collectives::name_of(collective);
        const auto time = (*group)->time(job, 2);
        ASSERT_TRUE(time) << time.error().text();
        EXPECT_GT(time->si(), 0);
      }
    }
  }
}

TEST(OneRank, values_of_another_rank_are_counted_as_wrong) {
  const auto here = cuda::gpus({});
  if (!here) GTEST_SKIP() << here.error().text();
  auto data = cuda::DeviceBuffer::make(mib(1)), count = cuda::DeviceBuffer::make(Bytes(256));
  ASSERT_TRUE(data && count);
  ASSERT_EQ(cudaMemset(count->data(), 0, 256), cudaSuccess);
  constexpr std::size_t kCount = 1000;
  ASSERT_EQ(kernels::fill(data->data(), kCount, Type::half, 3, nullptr), cudaSuccess);
  kernels::Expected expected;
  expected.source = 4;
  ASSERT_EQ(kernels::count_wrong(data->data(), kCount, Type::half, expected, count->as<unsigned long long>(), nullptr), cudaSuccess);
  unsigned long long wrong = 0;
  ASSERT_EQ(cudaMemcpy(&wrong, count->data(), sizeof wrong, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_NEAR(double(wrong), 750, 80);
}

}  // namespace
}  // namespace trunkline::backends::nccl
