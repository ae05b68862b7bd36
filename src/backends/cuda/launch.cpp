// gpu.launch: what starting kernels that do nothing costs the host and the GPU.
#include <chrono>

#include "backends/cuda/error.hpp"
#include "backends/cuda/kernels.hpp"
#include "backends/cuda/lanes.hpp"
#include "backends/cuda/probes.hpp"

namespace trunkline::backends::cuda {
namespace {

using measure::Metric;
using measure::Point;

constexpr int kKernels = 500;  // fewer than the driver queues before it makes the host wait
constexpr int kRoundTrips = 500;

Result<void> queue(int count, cudaStream_t stream) {
  for (int i = 0; i < count; ++i) TRUNKLINE_TRY(ok(kernels::nothing(stream), "starting a kernel"));
  return {};
}

Result<void> wait(cudaStream_t stream) { return ok(cudaStreamSynchronize(stream), "waiting for a kernel"); }

// So many kernels as one graph.
Result<GraphExec> graph_of(int count, cudaStream_t stream) {
  TRUNKLINE_TRY(ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "recording a graph"));
  const auto queued = queue(count, stream);
  cudaGraph_t recorded{};
  TRUNKLINE_TRY(ok(cudaStreamEndCapture(stream, &recorded), "recording a graph"));
  const Graph graph(recorded);
  TRUNKLINE_TRY(Result<void>(queued));
  cudaGraphExec_t out{};
  TRUNKLINE_TRY(ok(cudaGraphInstantiate(&out, graph.get(), 0), "making a graph"));
  return GraphExec(out);
}

Metric metric_of(const char* name, const char* meaning, int count) {
  Metric m = metric(name, "s", measure::Better::lower);
  measure::set(m.conditions, "time_of", std::string(meaning));
  measure::set(m.conditions, "kernels", std::int64_t(count));
  return m;
}

std::vector<double> each(Seconds time, int count) { return {time.si() / count}; }

}  // namespace

Result<void> launch(const Settings& settings, Sampler& sampler) {
  TRUNKLINE_ASSIGN(here, gpus(settings));
  const Gpu& gpu = here[0];
  TRUNKLINE_ASSIGN(start, Start::make(gpu));
  TRUNKLINE_ASSIGN(lane, Lane::make(gpu, [](cudaStream_t stream) { return queue(kKernels, stream); }));
  TRUNKLINE_ASSIGN(graph, graph_of(kKernels, lane.stream()));
  TRUNKLINE_ASSIGN(in_graph,
                   Lane::make(gpu, [&graph](cudaStream_t stream) { return ok(cudaGraphLaunch(graph.get(), stream), "starting a graph"); }));
  in_graph.set_lead([&graph](cudaStream_t stream) { return ok(cudaGraphLaunch(graph.get(), stream), "starting a graph"); });
  const measure::Clock& clock = sampler.clock();
  const cudaStream_t stream = lane.stream();
  return sampler.sample({
      {{metric_of("time@launch", "the host's call, kernels queued one behind the other", kKernels)},
       [&, stream]() -> Result<std::vector<double>> {
         TRUNKLINE_TRY(use(gpu));
         TRUNKLINE_TRY(queue(1, stream));  // the GPU is awake
         const Seconds before = clock.now();
         TRUNKLINE_TRY(queue(kKernels, stream));
         const Seconds after = clock.now();
         TRUNKLINE_TRY(wait(stream));
         return each(after - before, kKernels);
       },
       2},
      {{metric_of("time@round_trip", "the host's call, the kernel, and the host's noticing of its end", kRoundTrips)},
       [&, stream]() -> Result<std::vector<double>> {
         TRUNKLINE_TRY(use(gpu));
         const Seconds before = clock.now();
         for (int i = 0; i < kRoundTrips; ++i) {
           TRUNKLINE_TRY(queue(1, stream));
           TRUNKLINE_TRY(wait(stream));
         }
         return each(clock.now() - before, kRoundTrips);
       },
       2},
      {{metric_of("time@in_queue", "a kernel on the GPU, behind others in a queue", kKernels)},
       [&]() -> Result<std::vector<double>> {
         TRUNKLINE_ASSIGN(time, start.alone(lane));
         return each(time, kKernels);
       },
       2},
      {{metric_of("time@in_graph", "a kernel on the GPU, behind others in a graph", kKernels)},
       [&]() -> Result<std::vector<double>> {
         TRUNKLINE_ASSIGN(time, start.alone(in_graph));
         return each(time, kKernels);
       },
       2},
  });
}

}  // namespace trunkline::backends::cuda
