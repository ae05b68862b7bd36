// gpu.memory_bound: kernels of training that only move data, as a compiler that fuses would write them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cuda/error.hpp"
#include "backends/cuda/kernels.hpp"
#include "backends/cuda/lanes.hpp"
#include "backends/cuda/probes.hpp"

namespace trunkline::backends::cuda {
namespace {

using measure::Metric;
using measure::Point;
namespace condition = measure::condition;

constexpr int kRows = 32768;                                                 // tokens
constexpr std::size_t kValues = std::size_t(kRows) * kernels::kNormColumns;  // bf16: 256 MiB a tensor
constexpr std::size_t kParameters = std::size_t(64) << 20;                   // fp32: 256 MiB a tensor
constexpr Bytes kTensor = mib(256);
constexpr int kRepetitions = 8;
constexpr std::uint64_t kSeed = 0x5EED0005;
constexpr std::size_t kChecked = 3 * std::size_t(kernels::kNormColumns);  // values at the start of a tensor

float from_bf16(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t(bits) << 16;
  float out = 0;
  std::memcpy(&out, &wide, sizeof out);
  return out;
}

// Tensors of one GPU: a, b, c, d hold normal random numbers, and out is written.
struct Tensors {
  Gpu gpu;
  DeviceBuffer a, b, c, d, out, weight;
  Lane lane;

  static Result<std::unique_ptr<Tensors>> make(const Gpu& gpu) {
    auto t = std::make_unique<Tensors>();
    t->gpu = gpu;
    TRUNKLINE_ASSIGN(lane, Lane::make(gpu, {}));
    t->lane = std::move(lane);
    for (DeviceBuffer* buffer : {&t->a, &t->b, &t->c, &t->d, &t->out}) {
      TRUNKLINE_ASSIGN(made, DeviceBuffer::make(kTensor));
      *buffer = std::move(made);
    }
    TRUNKLINE_ASSIGN(weight, DeviceBuffer::make(kib(64)));
    t->weight = std::move(weight);
    return t;
  }

  Result<void> fill(kernels::Element element) const {
    std::uint64_t seed = kSeed;
    for (const DeviceBuffer* buffer : {&a, &b, &c, &d, &weight}) {
      const std::size_t count = std::size_t(buffer->size().count()) / kernels::size_of(element);
      TRUNKLINE_TRY(ok(kernels::fill_normal(buffer->data(), count, element, seed++, lane.stream()), "filling tensors"));
    }
    return ok(cudaStreamSynchronize(lane.stream()), "filling tensors");
  }
};

using Queue = cudaError_t (*)(const Tensors&, cudaStream_t);

cudaError_t queue_rms_norm(const Tensors& t, cudaStream_t s) {
  return kernels::rms_norm(t.out.data(), t.a.data(), t.weight.data(), kRows, s);
}
cudaError_t queue_gelu(const Tensors& t, cudaStream_t s) { return kernels::gelu(t.out.data(), t.a.data(), kValues, s); }
cudaError_t queue_swiglu(const Tensors& t, cudaStream_t s) { return kernels::swiglu(t.out.data(), t.a.data(), t.b.data(), kValues, s); }
cudaError_t queue_adamw(const Tensors& t, cudaStream_t s) {
  return kernels::adamw(t.a.as<float>(), t.b.as<float>(), t.c.as<float>(), t.d.as<float>(), kParameters, {}, s);
}

template <class T>
Result<std::vector<T>> first_of(const DeviceBuffer& buffer, std::size_t count) {
  std::vector<T> out(count);
  TRUNKLINE_TRY(ok(cudaMemcpy(out.data(), buffer.data(), count * sizeof(T), cudaMemcpyDeviceToHost), "reading a tensor"));
  return out;
}

Result<std::vector<double>> values_of(const DeviceBuffer& buffer, std::size_t count) {
  TRUNKLINE_ASSIGN(bits, first_of<std::uint16_t>(buffer, count));
  std::vector<double> out;
  for (const std::uint16_t b : bits) out.push_back(from_bf16(b));
  return out;
}

std::vector<double> exact_rms_norm(const std::vector<double>& x, const std::vector<double>& weight) {
  std::vector<double> out(x.size());
  constexpr std::size_t n = kernels::kNormColumns;
  for (std::size_t row = 0; row < x.size() / n; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += x[row * n + i] * x[row * n + i];
    const double scale = 1 / std::sqrt(sum / n + kernels::kNormEpsilon);
    for (std::size_t i = 0; i < n; ++i) out[row * n + i] = x[row * n + i] * scale * weight[i];
  }
  return out;
}

double exact_gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
double exact_swiglu(double gate, double up) { return gate / (1 + std::exp(-gate)) * up; }

Result<void> judge(const std::string& what, const std::vector<double>& got, const std::vector<double>& exact, double tolerance) {
  double off = 0, size = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    off += (got[i] - exact[i]) * (got[i] - exact[i]);
    size += exact[i] * exact[i];
  }
  if (std::sqrt(off / size) <= tolerance) return {};  // never true of NaN
  return fail({ErrorKind::failed,
               fmt::format("{}: the result is off by {:.3g} of its size, rounding explains {:.3g}", what, std::sqrt(off / size), tolerance),
               {},
               "the GPU computes wrongly: nvidia-smi -q (ECC, remapped rows) says more"});
}

constexpr double kBf16Rounding = 4e-3, kFp32Rounding = 1e-5;

Result<void> check_bf16(const Tensors& t) {
  TRUNKLINE_TRY(t.fill(kernels::Element::bf16));
  TRUNKLINE_ASSIGN(a, values_of(t.a, kChecked));
  TRUNKLINE_ASSIGN(b, values_of(t.b, kChecked));
  TRUNKLINE_ASSIGN(weight, values_of(t.weight, kernels::kNormColumns));
  std::vector<double> gelu(a.size()), swiglu(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) gelu[i] = exact_gelu(a[i]), swiglu[i] = exact_swiglu(a[i], b[i]);
  const std::tuple<const char*, Queue, std::vector<double>> kinds[] = {
      {"rms_norm", queue_rms_norm, exact_rms_norm(a, weight)}, {"gelu", queue_gelu, gelu}, {"swiglu", queue_swiglu, swiglu}};
  for (const auto& [name, queue, exact] : kinds) {
    TRUNKLINE_TRY(ok(cudaMemset(t.out.data(), 0xFF, std::size_t(kTensor.count())), "clearing memory"));  // NaN
    TRUNKLINE_TRY(ok(cudaDeviceSynchronize(), "clearing memory"));
    TRUNKLINE_TRY(ok(queue(t, t.lane.stream()), name));
    TRUNKLINE_TRY(ok(cudaStreamSynchronize(t.lane.stream()), name));
    TRUNKLINE_ASSIGN(got, values_of(t.out, kChecked));
    TRUNKLINE_TRY(judge(name, got, exact, kBf16Rounding));
  }
  return {};
}

// The second moment must not be negative: it is cleared, as at the first step of a training.
Result<void> start_training(const Tensors& t) {
  TRUNKLINE_TRY(t.fill(kernels::Element::fp32));
  TRUNKLINE_TRY(ok(cudaMemset(t.b.data(), 0, std::size_t(kTensor.count())), "clearing memory"));
  TRUNKLINE_TRY(ok(cudaMemset(t.c.data(), 0, std::size_t(kTensor.count())), "clearing memory"));
  return ok(cudaDeviceSynchronize(), "clearing memory");
}

Result<void> check_adamw(const Tensors& t) {
  TRUNKLINE_TRY(start_training(t));
  TRUNKLINE_ASSIGN(before, first_of<float>(t.a, kChecked));
  TRUNKLINE_ASSIGN(gradients, first_of<float>(t.d, kChecked));
  TRUNKLINE_TRY(ok(queue_adamw(t, t.lane.stream()), "adamw"));
  TRUNKLINE_TRY(ok(cudaStreamSynchronize(t.lane.stream()), "adamw"));
  TRUNKLINE_ASSIGN(after, first_of<float>(t.a, kChecked));
  const kernels::AdamW how;
  // The change, which is a thousandth of the parameter: both are compared by it. At the first step the moments' corrections undo
  // their factors, so that the change is rate·(decay·p + g/(|g| + ε)).
  std::vector<double> got, exact;
  for (std::size_t i = 0; i < before.size(); ++i) {
    got.push_back(double(before[i]) - double(after[i]));
    exact.push_back(how.rate * (double(how.decay) * before[i] + gradients[i] / (std::abs(double(gradients[i])) + how.epsilon)));
  }
  return judge("adamw", got, exact, 1e-3);
}

Point point_of(const char* name, Tensors& t, Start& start, Queue queue, double bytes, const char* precision) {
  Metric m = metric(std::string("traffic@") + name, "B/s", measure::Better::higher, memory_limit(t.gpu));
  measure::set(m.conditions, condition::kSize, std::int64_t(bytes));
  measure::set(m.conditions, condition::kEngine, std::string("fused kernel"));
  measure::set(m.conditions, condition::kVerified, true);
  measure::set(m.conditions, "precision", std::string(precision));
  measure::set(m.conditions, "gpu", std::int64_t(t.gpu.index));
  return {{m}, [&t, &start, queue, bytes, what = std::string(name)]() -> Result<std::vector<double>> {
            t.lane.set_lead([&](cudaStream_t stream) { return ok(queue(t, stream), what); });
            t.lane.set_work([&](cudaStream_t stream) -> Result<void> {
              for (int i = 0; i < kRepetitions; ++i) TRUNKLINE_TRY(ok(queue(t, stream), what));
              return {};
            });
            TRUNKLINE_ASSIGN(time, start.alone(t.lane));
            return std::vector{bytes * kRepetitions / time.si()};
          }};
}

}  // namespace

Result<void> memory_bound(const Settings& settings, Sampler& sampler) {
  TRUNKLINE_ASSIGN(here, gpus(settings));
  TRUNKLINE_ASSIGN(start, Start::make(here[0]));
  TRUNKLINE_ASSIGN(tensors, Tensors::make(here[0]));
  TRUNKLINE_TRY(check_adamw(*tensors));
  TRUNKLINE_TRY(check_bf16(*tensors));
  constexpr double kBf16 = 2;
  TRUNKLINE_TRY(sampler.sample({point_of("rms_norm", *tensors, start, queue_rms_norm, kValues * 2 * kBf16, "bf16"),
                                point_of("gelu", *tensors, start, queue_gelu, kValues * 2 * kBf16, "bf16"),
                                point_of("swiglu", *tensors, start, queue_swiglu, kValues * 3 * kBf16, "bf16")},
                               sampler.left() * 0.75));
  TRUNKLINE_TRY(start_training(*tensors));
  constexpr double kBytesOfUpdate = 28;  // parameter, gradient and two moments read, all but the gradient written, at 4 bytes
  return sampler.sample({point_of("adamw", *tensors, start, queue_adamw, kParameters * kBytesOfUpdate, "fp32")});
}

}  // namespace trunkline::backends::cuda
