// How long predictions take: a thousand different ones of a 70-billion-parameter job in one process, as a search asks for them, and one
// of Llama 3.1 405B on 16,384 GPUs. Prints CPU time; exit status 1 when the same question has two answers.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "predict/prediction.hpp"

using namespace trunkline;

namespace {

constexpr std::size_t kQuestions = 1000;
constexpr int kRounds = 5;

struct Question {
  workload::Job job;
  const topology::Platform* platform = nullptr;
};

workload::Job job_of(const workload::Model& model, int tp, int pp, std::int64_t micro, int gpus, workload::Sharding sharding,
                     std::int64_t batch) {
  workload::Job job;
  job.model = model;
  job.framework = workload::Framework::nemo;
  job.batch = {batch, micro, 4096};
  job.parallelism.tp = tp, job.parallelism.pp = pp, job.parallelism.dp = gpus / (tp * pp);
  job.parallelism.sharding = sharding;
  job.parallelism.sequence_parallel = tp > 1;
  job.open.recompute = true;
  return job;
}

std::vector<Question> questions(const std::vector<topology::Platform>& platforms) {
  const workload::Model model = *workload::builtin_model("llama-2-70b");
  std::vector<Question> all;
  for (const auto& platform : platforms) {
    for (int tp = 1; tp <= 8; tp *= 2) {
      for (int pp : {1, 2, 4, 5, 8, 10, 16, 20}) {
        if (platform.gpus() % (tp * pp) != 0) continue;
        for (std::int64_t micro = 1; micro <= 8; micro *= 2) {
          for (auto sharding : {workload::Sharding::none, workload::Sharding::zero1, workload::Sharding::zero3}) {
            workload::Job job = job_of(model, tp, pp, micro, platform.gpus(), sharding, 2560);
            if (job.batch.global % (job.parallelism.dp * micro) == 0) all.push_back({std::move(job), &platform});
          }
        }
      }
    }
  }
  return all;
}

std::vector<topology::Platform> platforms() {
  std::vector<topology::Platform> all;
  for (const char* type : {"hgx-h100", "hgx-a100-80", "gb200-nvl72"}) {
    for (int nodes : {4, 8, 10, 16, 20, 32, 40, 64}) {
      topology::Platform p;
      p.name = type;
      p.node = *topology::node_type(type);
      p.nodes = nodes;
      p.fabric.present = true;
      all.push_back(std::move(p));
    }
  }
  return all;
}

double cpu_seconds() { return double(std::clock()) / CLOCKS_PER_SEC; }

// The least CPU time of some rounds, and the sum of the answers.
std::pair<double, double> timed(const std::function<double()>& round) {
  double least = 1e9, answer = 0;
  for (int i = 0; i < kRounds; ++i) {
    const double start = cpu_seconds();
    answer = round();
    least = std::min(least, cpu_seconds() - start);
  }
  return {least, answer};
}

double step_s(const Result<predict::Prediction>& p) { return p ? p->step_s : 0; }

}  // namespace

int main() {
  const std::vector<topology::Platform> offers = platforms();
  std::vector<Question> asked = questions(offers);
  if (asked.size() < kQuestions) return std::fprintf(stderr, "only %zu different questions\n", asked.size()), 1;
  // Every k-th, so that all platforms take part.
  std::vector<Question> some;
  for (std::size_t i = 0; i < kQuestions; ++i) some.push_back(asked[i * asked.size() / kQuestions]);

  const auto [plain, plain_sum] = timed([&] {
    double sum = 0;
    for (const Question& q : some) sum += step_s(predict::predict(q.job, *q.platform));
    return sum;
  });
  const auto [ready, ready_sum] = timed([&] {
    std::map<const topology::Platform*, std::unique_ptr<predict::PlatformModel>> models;
    double sum = 0;
    for (const Question& q : some) {
      auto& model = models[q.platform];
      if (!model) model = std::make_unique<predict::PlatformModel>(*q.platform);
      sum += step_s(predict::predict(q.job, *model));
    }
    return sum;
  });
  std::printf("%zu different predictions of llama-2-70b, CPU seconds, best of %d\n", kQuestions, kRounds);
  std::printf("  predict(job, platform)             %.3f\n  predict(job, PlatformModel), each platform once  %.3f\n", plain, ready);

  topology::Platform large;
  large.node = *topology::node_type("hgx-h100");
  large.nodes = 2048;
  large.fabric.present = true;
  workload::Job llama = job_of(*workload::builtin_model("llama-3.1-405b"), 8, 16, 1, large.gpus(), workload::Sharding::zero1, 2048);
  llama.batch.sequence = 8192;
  llama.parallelism.vpp = 8;
  const auto [one, one_step] = timed([&] { return step_s(predict::predict(llama, large)); });
  std::printf("llama-3.1-405b on %d GPUs: %.2f ms, a step of %.2f s\n", large.gpus(), one * 1e3, one_step);
  if (plain_sum == ready_sum) return 0;
  std::fprintf(stderr, "answers differ: %.17g and %.17g\n", plain_sum, ready_sum);
  return 1;
}
