// What only a GPU can show; skipped where there is none.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "backends/cuda/cuda.hpp"
#include "backends/cuda/error.hpp"
#include "backends/cuda/kernels.hpp"
#include "backends/cuda/lanes.hpp"
#include "backends/cuda/probes.hpp"
#include "backends/cuda/products.hpp"
#include "backends/cuda/verify.hpp"
#include "base/rng.hpp"
#include "measure/clock.hpp"

namespace trunkline::backends::cuda {
namespace {

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    const auto here = gpus({});
    if (!here) GTEST_SKIP() << here.error().text();
    gpu_ = here->front();
    ASSERT_TRUE(use(gpu_));
    auto stream = make_stream();
    ASSERT_TRUE(stream);
    stream_ = std::move(*stream);
  }

  template <class T>
  std::vector<T> read(const DeviceBuffer& buffer, std::size_t count) {
    std::vector<T> out(count);
    EXPECT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(out.data(), buffer.data(), count * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return out;
  }

  Gpu gpu_;
  Stream stream_;
};

TEST_F(OnGpu, random_words_are_those_of_the_host) {
  auto buffer = DeviceBuffer::make(kib(64));
  ASSERT_TRUE(buffer);
  ASSERT_EQ(kernels::fill_random(buffer->data(), kib(64), 7, stream_.get()), cudaSuccess);
  Rng rng(7);
  for (const std::uint64_t word : read<std::uint64_t>(*buffer, 8192)) ASSERT_EQ(word, rng.next());
}

TEST_F(OnGpu, one_wrong_byte_is_found) {
  auto buffer = DeviceBuffer::make(mib(1));
  ASSERT_TRUE(buffer);
  ASSERT_EQ(kernels::fill_random(buffer->data(), mib(1), 7, stream_.get()), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess);
  EXPECT_EQ(*differences(gpu_, *buffer, mib(1), 7), 0u);
  std::byte last{};
  std::byte* at = buffer->data() + (1 << 20) - 1;
  ASSERT_EQ(cudaMemcpy(&last, at, 1, cudaMemcpyDeviceToHost), cudaSuccess);
  last ^= std::byte(1);
  ASSERT_EQ(cudaMemcpy(at, &last, 1, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(*differences(gpu_, *buffer, mib(1), 7), 1u);
}

TEST_F(OnGpu, a_transfer_that_moves_nothing_fails_its_check) {
  auto device = DeviceBuffer::make(mib(1));
  auto host = HostBuffer::make(mib(1), gpu_);
  ASSERT_TRUE(device && host);
  const Transfer nothing = [](cudaStream_t) -> Result<void> { return {}; };
  const auto on_device = verify_device(gpu_, *device, mib(1), 7, nothing, "a copy");
  ASSERT_FALSE(on_device);
  EXPECT_NE(on_device.error().message.find("131072 of 131072"), std::string::npos) << on_device.error().message;
  EXPECT_FALSE(verify_host(gpu_, *host, mib(1), 7, nothing, "a copy"));
}

TEST_F(OnGpu, copies_of_every_length_arrive) {
  auto from = DeviceBuffer::make(mib(1)), to = DeviceBuffer::make(mib(1));
  ASSERT_TRUE(from && to);
  ASSERT_EQ(kernels::fill_random(from->data(), mib(1), 9, stream_.get()), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess);
  for (const std::int64_t size : {16, 48, 4096 + 16, 1 << 20}) {
    for (const int blocks : {0, 1, 24}) {  // 0: as many as it takes
      const auto copy = [&](cudaStream_t stream) {
        return ok(blocks == 0 ? kernels::copy(to->data(), from->data(), Bytes(size), stream)
                              : kernels::copy_slowly(to->data(), from->data(), Bytes(size), blocks, 2, stream),
                  "copying");
      };
      EXPECT_TRUE(verify_device(gpu_, *to, Bytes(size), 9, copy, "a copy")) << size << " bytes, " << blocks << " blocks";
    }
  }
}

TEST_F(OnGpu, nothing_behind_a_held_stream_happens_before_the_gate_opens) {
  auto words = HostBuffer::make(kib(4), gpu_);
  ASSERT_TRUE(words);
  int* w = words->as<int>();
  std::atomic_ref gate(w[0]), gave_up(w[1]), done(w[2]);
  gate.store(0), gave_up.store(0), done.store(0);
  ASSERT_EQ(kernels::load_all(), cudaSuccess);
  auto one = DeviceBuffer::make(Bytes(256));
  ASSERT_TRUE(one);
  ASSERT_EQ(cudaMemset(one->data(), 1, 4), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  ASSERT_EQ(kernels::hold(w, w + 1, seconds(5), stream_.get()), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(w + 2, one->data(), 4, cudaMemcpyDeviceToHost, stream_.get()), cudaSuccess);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(done.load(), 0);
  gate.store(1);
  ASSERT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess);
  EXPECT_EQ(done.load(), 0x01010101);
  EXPECT_EQ(gave_up.load(), 0);
}

TEST_F(OnGpu, a_gate_that_nobody_opens_gives_up) {
  auto words = HostBuffer::make(kib(4), gpu_);
  ASSERT_TRUE(words);
  int* w = words->as<int>();
  w[0] = w[1] = 0;
  ASSERT_EQ(kernels::hold(w, w + 1, milliseconds(5), stream_.get()), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess);
  EXPECT_EQ(std::atomic_ref(w[1]).load(), 1);
}

TEST_F(OnGpu, an_error_while_queueing_lets_what_was_queued_drain) {
  auto start = Start::make(gpu_);
  auto good = Lane::make(gpu_, [](cudaStream_t stream) { return ok(kernels::nothing(stream), "starting a kernel"); });
  auto bad = Lane::make(gpu_, [](cudaStream_t) -> Result<void> { return fail({ErrorKind::failed, "planted", {}, {}}); });
  ASSERT_TRUE(start && good && bad);
  Lane* lanes[] = {&*good, &*bad};
  const auto times = start->together(lanes);
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().message, "planted");
  EXPECT_TRUE(start->alone(*good));
}

TEST_F(OnGpu, too_much_memory_waives_and_leaves_the_gpu_usable) {
  const auto all = DeviceBuffer::make(gpu_.memory * 2);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().kind, ErrorKind::missing);
  EXPECT_NE(all.error().message.find("are free"), std::string::npos);
  EXPECT_TRUE(DeviceBuffer::make(mib(1)));
}

TEST_F(OnGpu, products_of_every_kind_and_layout_are_right) {
  auto blas = Blas::make(gpu_);
  if (!blas) GTEST_SKIP() << blas.error().text();
  for (const MatrixKind kind : {MatrixKind::bf16, MatrixKind::fp16, MatrixKind::tf32, MatrixKind::fp8}) {
    for (const Pass pass : {Pass::forward, Pass::input_gradient, Pass::weight_gradient}) {
      if (kind == MatrixKind::fp8 && pass != Pass::forward) continue;  // the hardware has no other
      const MatrixProduct shape = product_of(512, 384, 640, kind, pass);
      auto operands = Operands::make(gpu_, kind, std::span(&shape, 1));
      ASSERT_TRUE(operands) << operands.error().text();
      auto product = Product::make(**blas, **operands, shape);
      if (!product && product.error().kind == ErrorKind::missing) continue;
      ASSERT_TRUE(product) << product.error().text();
      const auto right = (*product)->check(gpu_);
      EXPECT_TRUE(right) << name_of(kind) << " " << name_of(pass) << ": " << right.error().text();
    }
  }
}

TEST_F(OnGpu, a_wrong_product_is_off_by_its_whole_size) {
  const kernels::Product shape{64, 64, 64, false, true};
  auto a = DeviceBuffer::make(kib(64)), d = DeviceBuffer::make(kib(64)), sums = DeviceBuffer::make(Bytes(256));
  ASSERT_TRUE(a && d && sums);
  ASSERT_EQ(kernels::fill_normal(a->data(), 64 * 64, kernels::Element::bf16, 3, stream_.get()), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(d->data(), 0, std::size_t(kib(64).count()), stream_.get()), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(sums->data(), 0, 16, stream_.get()), cudaSuccess);
  ASSERT_EQ(kernels::compare_product(shape, a->data(), a->data(), d->data(), 32, 1, sums->as<double>(), stream_.get()), cudaSuccess);
  const auto out = read<double>(*sums, 2);
  EXPECT_GT(out[1], 0);
  EXPECT_DOUBLE_EQ(out[0], out[1]);  // all of it is missing; the order of adding differs
}

TEST_F(OnGpu, normal_numbers_have_mean_0_and_deviation_1) {
  auto buffer = DeviceBuffer::make(mib(4));
  ASSERT_TRUE(buffer);
  ASSERT_EQ(kernels::fill_normal(buffer->data(), 1 << 20, kernels::Element::fp32, 5, stream_.get()), cudaSuccess);
  double sum = 0, squares = 0;
  for (const float v : read<float>(*buffer, 1 << 20)) sum += v, squares += double(v) * v;
  EXPECT_NEAR(sum / (1 << 20), 0, 5e-3);  // five standard errors
  EXPECT_NEAR(squares / (1 << 20), 1, 1e-2);
}

TEST_F(OnGpu, every_probe_answers_or_says_why_not) {
  for (const auto& probe : backend().probes()) {
    measure::SteadyClock clock;
    measure::SamplerOptions options;
    options.budget = milliseconds(600);
    measure::Sampler sampler(clock, options);
    measure::Settings settings;
    settings.quick = true;
    const auto done = probe->run(settings, sampler);
    if (!done) {
      EXPECT_EQ(done.error().kind, ErrorKind::missing) << probe->name() << ": " << done.error().text();
      continue;
    }
    EXPECT_FALSE(sampler.metrics().empty()) << probe->name();
    for (const auto& m : sampler.metrics()) {
      ASSERT_TRUE(m.median()) << probe->name() << " " << m.name;
      EXPECT_GT(*m.median(), 0) << probe->name() << " " << m.name;
    }
  }
}

// A read of address 0, which no later call of the same process gets over. In a process of its own.
int probe_after_a_fault() {
  const auto here = gpus({});
  if (!here) return 10;
  auto out = DeviceBuffer::make(Bytes(256));
  if (!out || kernels::chase(nullptr, 1, out->as<std::uint32_t>(), nullptr) != cudaSuccess) return 11;
  if (cudaDeviceSynchronize() == cudaSuccess) return 12;
  for (const auto& probe : backend().probes()) {
    measure::SteadyClock clock;
    measure::Sampler sampler(clock, {});
    const auto done = probe->run({}, sampler);
    if (done) return 13;
    if (done.error().kind != ErrorKind::failed || done.error().hint.find("again") == std::string::npos) return 14;
  }
  return 0;
}

TEST_F(OnGpu, after_a_fault_every_probe_fails_with_the_next_step_and_none_crashes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(probe_after_a_fault()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace trunkline::backends::cuda
