// gpu.gemm: rates of single products on a cool chip. gpu.gemm.sustained: what is left without pauses.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <thread>

#include "backends/cuda/error.hpp"
#include "backends/cuda/probes.hpp"
#include "backends/cuda/products.hpp"
#include "backends/nvml/gpus.hpp"

namespace trunkline::backends::cuda {
namespace {

using measure::Better;
using measure::Metric;
using measure::Point;

constexpr Seconds kBurst = milliseconds(10);     // of products in one repetition
constexpr std::chrono::milliseconds kPause{30};  // before each, so that neither heat nor the power limit shows
constexpr int kLead = 2;                         // products before the time begins
constexpr Seconds kSustained = seconds(20);
constexpr Seconds kWindow = milliseconds(200);
constexpr MatrixProduct kHeadline{8192, 8192, 8192, false, true, MatrixKind::bf16};

struct Item {
  std::string name;
  MatrixProduct product;
};

std::string shape_text(const MatrixProduct& p) { return fmt::format("{}x{}x{}", p.m, p.n, p.k); }

void add(std::vector<Item>& out, const MatrixProduct& p) {
  const std::string pass = pass_of(p) == Pass::input_gradient ? "_dx" : pass_of(p) == Pass::weight_gradient ? "_dw" : "";
  out.push_back({fmt::format("rate@{}_{}{}", name_of(p.kind), shape_text(p), pass), p});
}

// Tokens × outputs × inputs of the products that training spends its time in, and squares by which GPUs are compared.
std::vector<Item> items(bool quick) {
  std::vector<Item> out{{"rate@bf16", kHeadline}};
  for (const MatrixKind kind : {MatrixKind::fp16, MatrixKind::tf32, MatrixKind::fp8})
    out.push_back({"rate@" + name_of(kind), product_of(8192, 8192, 8192, kind)});
  for (const Pass pass : {Pass::input_gradient, Pass::weight_gradient}) add(out, product_of(8192, 8192, 8192, MatrixKind::bf16, pass));
  for (const int n : {2048, 4096}) add(out, product_of(n, n, n));
  // A layer of Llama 3 8B with 8192 tokens: queries with keys and values, output, up with gate, down.
  for (const auto& [n, k] : {std::pair(6144, 4096), std::pair(4096, 4096), std::pair(28672, 4096), std::pair(4096, 14336)})
    add(out, product_of(8192, n, k));
  if (quick) return out;
  MatrixProduct slow = product_of(8192, 8192, 8192, MatrixKind::fp8);
  slow.fast_accumulation = false;
  out.push_back({"rate@fp8_full_accumulation", slow});
  for (const Pass pass : {Pass::input_gradient, Pass::weight_gradient}) add(out, product_of(8192, 28672, 4096, MatrixKind::bf16, pass));
  for (const MatrixKind kind : {MatrixKind::fp16, MatrixKind::tf32, MatrixKind::fp8}) add(out, product_of(4096, 4096, 4096, kind));
  // Llama 3 70B, tensor parallel over 8, 4096 tokens; its loss; GPT-2 XL with 4096 tokens; small and long ones.
  for (const auto& [n, k] : {std::pair(1280, 8192), std::pair(8192, 1024), std::pair(7168, 8192), std::pair(8192, 3584)})
    add(out, product_of(4096, n, k));
  add(out, product_of(4096, 128256, 4096));
  for (const auto& [n, k] : {std::pair(4800, 1600), std::pair(6400, 1600), std::pair(1600, 6400)}) add(out, product_of(4096, n, k));
  for (const auto& [m, n, k] : {std::tuple(1024, 1024, 1024), std::tuple(2048, 768, 768), std::tuple(2048, 3072, 768),
                                std::tuple(16384, 2048, 2048), std::tuple(1024, 1024, 65536)})
    add(out, product_of(m, n, k));
  return out;
}

// A product takes memory for itself and for others of its size.
bool fits(const Gpu& gpu, const MatrixProduct& p) { return (p.bytes_a() + p.bytes_b() + p.bytes_d()) * 5 < gpu.memory; }

// Everything that products on one GPU need.
struct Bench {
  Gpu gpu;
  std::unique_ptr<Blas> blas;
  std::map<MatrixKind, std::unique_ptr<Operands>> operands;
  std::vector<std::unique_ptr<Product>> products;
  Lane lane;

  static Result<std::unique_ptr<Bench>> make(const Gpu& gpu) {
    auto out = std::make_unique<Bench>();
    out->gpu = gpu;
    TRUNKLINE_ASSIGN(blas, Blas::make(gpu));
    out->blas = std::move(blas);
    TRUNKLINE_ASSIGN(lane, Lane::make(gpu, {}));
    out->lane = std::move(lane);
    return out;
  }

  Result<void> take_memory(const std::vector<Item>& all) {
    std::vector<MatrixProduct> shapes;
    for (const Item& item : all) shapes.push_back(item.product);
    for (const MatrixProduct& shape : shapes) {
      if (operands.contains(shape.kind)) continue;
      TRUNKLINE_ASSIGN(made, Operands::make(gpu, shape.kind, shapes));
      operands[shape.kind] = std::move(made);
    }
    return {};
  }

  // A product that is right, or nullptr where this GPU has no kernel for it.
  Result<const Product*> product(const MatrixProduct& shape, Sampler& sampler) {
    TRUNKLINE_TRY(use(gpu));
    auto made = Product::make(*blas, *operands.at(shape.kind), shape);
    if (!made && made.error().kind == ErrorKind::missing) {
      sampler.warn(made.error().message);
      return nullptr;
    }
    if (!made) return fail(made.error());
    TRUNKLINE_TRY((*made)->check(gpu));
    products.push_back(std::move(*made));
    return products.back().get();
  }
};

Point burst_point(Metric metric, Bench& bench, const Product& product, Start& start) {
  const int times = repetitions_for(bench.gpu, product.shape(), kBurst);
  measure::set(metric.conditions, "state", std::string("burst"));
  measure::set(metric.conditions, "repetitions", std::int64_t(times));
  return {{metric}, [&bench, &product, &start, times]() -> Result<std::vector<double>> {
            std::this_thread::sleep_for(kPause);
            bench.lane.set_lead([&](cudaStream_t stream) { return product.queue(kLead, stream); });
            bench.lane.set_work([&](cudaStream_t stream) { return product.queue(times, stream); });
            TRUNKLINE_ASSIGN(time, start.alone(bench.lane));
            return std::vector{product.shape().flops() * times / time.si()};
          }};
}

struct Window {
  double rate = 0;
  measure::GpuReading state;
};

// Products without a pause: while one window of them runs the next is queued.
class Marathon {
 public:
  static Result<std::unique_ptr<Marathon>> make(const Gpu& gpu, const Product& product) {
    auto out = std::make_unique<Marathon>(gpu, product);
    TRUNKLINE_TRY(use(gpu));
    TRUNKLINE_ASSIGN(stream, make_stream());
    out->stream_ = std::move(stream);
    for (Event& event : out->ends_) {
      TRUNKLINE_ASSIGN(made, make_event());
      event = std::move(made);
    }
    out->times_ = repetitions_for(gpu, product.shape(), kWindow);
    return out;
  }
  Marathon(const Gpu& gpu, const Product& product) : gpu_(gpu), product_(product) {}

  Result<std::vector<Window>> run(Seconds time, const Sampler& sampler) {
    std::vector<Window> out;
    const Seconds end = sampler.clock().now() + time;
    TRUNKLINE_TRY(ok(cudaEventRecord(ends_[0].get(), stream_.get()), "recording an event"));
    TRUNKLINE_TRY(queue(1));
    for (std::size_t i = 1; sampler.clock().now() < end && !sampler.stopped(); ++i) {
      TRUNKLINE_TRY(queue(i + 1));
      Window window;
      window.state = nvml::read_now(gpu_.pci);
      TRUNKLINE_TRY(ok(cudaEventSynchronize(event(i)), "multiplying matrices"));
      float ms = 0;
      TRUNKLINE_TRY(ok(cudaEventElapsedTime(&ms, event(i - 1), event(i)), "reading the time"));
      window.rate = product_.shape().flops() * times_ / (double(ms) * 1e-3);
      out.push_back(std::move(window));
    }
    TRUNKLINE_TRY(ok(cudaStreamSynchronize(stream_.get()), "multiplying matrices"));
    if (sampler.stopped()) return fail({ErrorKind::interrupted, "interrupted", {}, {}});
    return out;
  }

  int products_in_window() const { return times_; }

 private:
  cudaEvent_t event(std::size_t i) const { return ends_[i % std::size(ends_)].get(); }
  Result<void> queue(std::size_t i) {
    TRUNKLINE_TRY(product_.queue(times_, stream_.get()));
    return ok(cudaEventRecord(event(i), stream_.get()), "recording an event");
  }

  Gpu gpu_;
  const Product& product_;
  Stream stream_;
  Event ends_[4];
  int times_ = 1;
};

// The windows as samples: the first half is warming up.
Metric series_of(Metric metric, const std::vector<Window>& windows, std::optional<double> (*value)(const Window&)) {
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (const auto v = value(windows[i])) (i < windows.size() / 2 ? metric.warmup : metric.samples).push_back(*v);
  }
  metric.stopped = "time";
  return metric;
}

// Share of the readings in the second half in which each reason held the clocks down.
std::map<std::string, double> reasons_of(const std::vector<Window>& windows) {
  std::map<std::string, double> out;
  const std::size_t first = windows.size() / 2;
  for (std::size_t i = first; i < windows.size(); ++i) {
    for (const std::string& reason : windows[i].state.throttle) out[reason] += 1.0 / double(windows.size() - first);
  }
  return out;
}

void report(const Gpu& gpu, const std::vector<Window>& windows, Metric rate, Sampler& sampler) {
  const auto reasons = reasons_of(windows);
  for (const auto& [reason, share] : reasons) {
    measure::set(rate.conditions, "held down by " + reason, std::round(share * 1000) / 1000);
    if (reason.starts_with("thermal") || reason.starts_with("hardware") || reason.starts_with("power brake"))
      sampler.warn(fmt::format("{}: clocks were held down by {} in {:.0f} % of the readings: look at cooling and power supply", gpu.label(),
                               reason, 100 * share));
  }
  if (const auto heat = windows.empty() ? std::nullopt : windows.back().state.temperature_c)
    measure::set(rate.conditions, "temperature_c", *heat);  // at the end
  auto& out = sampler.metrics();
  out.push_back(series_of(std::move(rate), windows, [](const Window& w) -> std::optional<double> { return w.rate; }));
  const auto append = [&](const char* name, const char* unit, Better better, std::optional<double> (*value)(const Window&)) {
    Metric m = series_of(metric(std::string(name) + "@" + gpu.label(), unit, better), windows, value);
    if (!m.samples.empty()) out.push_back(std::move(m));
  };
  append("sm_clock", "Hz", Better::higher, [](const Window& w) { return w.state.sm_clock_hz; });
  append("power", "W", Better::lower, [](const Window& w) { return w.state.power_w; });
}

}  // namespace

Result<void> gemm(const Settings& settings, Sampler& sampler) {
  TRUNKLINE_ASSIGN(here, gpus(settings));
  TRUNKLINE_ASSIGN(start, Start::make(here[0]));
  std::vector<std::unique_ptr<Bench>> benches;
  std::vector<Point> points;
  for (const Gpu& gpu : here) {
    TRUNKLINE_ASSIGN(made, Bench::make(gpu));
    benches.push_back(std::move(made));
    Bench& bench = *benches.back();
    // The first GPU does all of them; the others the one by which a slow one shows.
    const bool first = benches.size() == 1;
    std::vector<Item> all = first ? items(settings.quick) : std::vector<Item>{{"rate@bf16_" + gpu.label(), kHeadline}};
    std::erase_if(all, [&](const Item& item) { return !fits(gpu, item.product); });
    TRUNKLINE_TRY(bench.take_memory(all));
    for (const Item& item : all) {
      if (sampler.stopped()) return fail({ErrorKind::interrupted, "interrupted", {}, {}});
      TRUNKLINE_ASSIGN(product, bench.product(item.product, sampler));
      if (product) points.push_back(burst_point(rate_metric(item.name, gpu, item.product), bench, *product, start));
    }
  }
  return sampler.sample(std::move(points));
}

Result<void> gemm_sustained(const Settings& settings, Sampler& sampler) {
  TRUNKLINE_ASSIGN(here, gpus(settings));
  for (std::size_t i = 0; i < here.size(); ++i) {
    const Gpu& gpu = here[i];
    TRUNKLINE_ASSIGN(bench, Bench::make(gpu));
    TRUNKLINE_TRY(bench->take_memory({{"", kHeadline}}));
    TRUNKLINE_ASSIGN(product, bench->product(kHeadline, sampler));
    if (!product) return fail({ErrorKind::missing, "this GPU has no kernel for bf16 products", {}, {}});
    TRUNKLINE_ASSIGN(marathon, Marathon::make(gpu, *product));
    const Seconds time = std::min(kSustained, sampler.left() / double(here.size() - i));
    TRUNKLINE_ASSIGN(windows, marathon->run(time, sampler));
    Metric rate = rate_metric("rate@" + gpu.label(), gpu, kHeadline);
    measure::set(rate.conditions, "state", std::string("sustained"));
    measure::set(rate.conditions, "seconds", std::round(time.si() * 10) / 10);
    measure::set(rate.conditions, "repetitions", std::int64_t(marathon->products_in_window()));
    report(gpu, windows, std::move(rate), sampler);
    if (time < kSustained * 0.5)
      sampler.warn(fmt::format("{}: {:.1f} s are too short to heat the chip: give it --time 20s", gpu.label(), time.si()));
  }
  return {};
}

}  // namespace trunkline::backends::cuda
