#include "backends/nccl/collective.hpp"

#include <fmt/format.h>

#include "backends/cuda/device.hpp"
#include "backends/nccl/group.hpp"
#include "backends/nccl/library.hpp"
#include "backends/nccl/options.hpp"

namespace trunkline::backends::nccl {
namespace {

using measure::Better;
using measure::Metric;
using measure::Point;
using measure::Sampler;
using measure::Settings;
namespace condition = measure::condition;

constexpr int kIterations = 20, kQuickIterations = 5, kWarmups = 5;  // the first two as nccl-tests

struct TypeName {
  const char* name;
  Type type;
};
constexpr TypeName kTypes[] = {{"float", Type::single}, {"half", Type::half},   {"bfloat16", Type::bfloat16},
                               {"double", Type::real},  {"int32", Type::int32}, {"int8", Type::int8}};

Type type_from(const std::string& name) {
  for (const TypeName& t : kTypes) {
    if (name == t.name) return t.type;
  }
  return Type::single;
}

Operation operation_from(const std::string& name) {
  return name == "max" ? Operation::max : name == "min" ? Operation::min : Operation::sum;
}

Result<std::vector<cuda::Gpu>> gpus_of(const Settings& settings) {
  TRUNKLINE_ASSIGN(all, cuda::gpus(settings));
  const auto wanted = settings.integer("ngpus");
  if (wanted && *wanted > std::int64_t(all.size()))
    return fail({ErrorKind::missing, fmt::format("--ngpus {}: CUDA shows {} GPUs", *wanted, all.size()), {}, "nvidia-smi -L lists them"});
  if (wanted) all.resize(std::size_t(*wanted));
  if (all.size() < 2) return fail({ErrorKind::missing, "one GPU alone has nobody to communicate with", {}, {}});
  return all;
}

// How a user wants collectives measured.
struct Request {
  std::vector<Bytes> sizes;
  std::string type_name, operation_name;
  Job job;
  int iterations = kIterations, warmups = kWarmups;
  bool check = true;
};

Result<Request> request_from(Collective collective, const Settings& settings, int ranks) {
  Request out;
  TRUNKLINE_ASSIGN(sizes, sizes_from(settings));
  out.sizes = sizes;
  out.type_name = settings.text("datatype").value_or("float");
  out.operation_name = settings.text("op").value_or("sum");
  out.job.collective = collective;
  out.job.type = type_from(out.type_name);
  out.job.operation = operation_from(out.operation_name);
  out.job.root = int(settings.integer("root").value_or(0));
  out.iterations = int(settings.integer("iters").value_or(settings.quick ? kQuickIterations : kIterations));
  out.warmups = int(settings.integer("warmup_iters").value_or(kWarmups));
  out.check = settings.integer("check").value_or(1) != 0;
  if (out.job.root >= ranks)
    return fail({ErrorKind::usage, fmt::format("--root {}: there are {} ranks, counted from 0", out.job.root, ranks), {}, {}});
  if (ranks > kernels::most_ranks(out.job.type) && out.check)
    return fail({ErrorKind::usage, fmt::format("sums of {} ranks cannot be checked in {}", ranks, out.type_name), {}, "add --check 0"});
  return out;
}

bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce || collective == Collective::reduce_scatter;
}

measure::Conditions conditions_of(const Request& request, const Job& job, int ranks) {
  measure::Conditions out;
  measure::set(out, condition::kSize, job.size().count());
  measure::set(out, condition::kRanks, std::int64_t(ranks));
  measure::set(out, condition::kNodes, std::int64_t(1));
  measure::set(out, condition::kEngine, std::string("nccl"));
  measure::set(out, condition::kVerified, request.check);
  measure::set(out, condition::kStatistic, std::string("mean"));
  measure::set(out, "iterations", std::int64_t(request.iterations));
  measure::set(out, "warmup_iterations", std::int64_t(request.warmups));
  measure::set(out, "datatype", request.type_name);
  if (reduces(job.collective)) measure::set(out, "reduction", request.operation_name);
  return out;
}

Point point_of(const Request& request, const Job& job, Bytes nominal, Group& group, const std::optional<cuda::Limit>& limit) {
  const std::string at = (job.in_place ? "_in_place@" : "@") + cuda::size_text(nominal);
  const double factor = collectives::bus_factor(job.collective, group.ranks());
  Metric busbw = cuda::metric("busbw" + at, "B/s", Better::higher, limit), time = cuda::metric("time" + at, "s", Better::lower);
  busbw.conditions = time.conditions = conditions_of(request, job, group.ranks());
  const auto iterations = request.iterations;
  const int warmups = (request.warmups + iterations - 1) / iterations;
  return {{busbw, time},
          [&group, job, iterations, factor]() -> Result<std::vector<double>> {
            TRUNKLINE_ASSIGN(one, group.time(job, iterations));
            return std::vector{factor * double(job.size().count()) / one.si(), one.si()};
          },
          warmups};
}

Result<void> check(Group& group, const Job& job) {
  TRUNKLINE_ASSIGN(wrong, group.check(job));
  if (wrong == 0) return {};
  return fail(
      {ErrorKind::failed,
       fmt::format("{} of {} bytes{}: {} wrong values", collectives::name_of(job.collective), job.size().count(),
                   job.in_place ? " in place" : "", wrong),
       {},
       "a link or a GPU is broken: nvidia-smi nvlink -e and dmesg | grep -i xid say which; try NCCL_P2P_DISABLE=1 to tell them apart"});
}

}  // namespace

Result<void> expect_ranks(const Settings& settings) {
  TRUNKLINE_TRY(gpus_of(settings));
  TRUNKLINE_TRY(library());
  return {};
}

Result<void> measure_collective(Collective collective, const Settings& settings, Sampler& sampler) {
  TRUNKLINE_ASSIGN(here, gpus_of(settings));
  TRUNKLINE_ASSIGN(opened, library());
  TRUNKLINE_ASSIGN(request, request_from(collective, settings, int(here.size())));
  TRUNKLINE_ASSIGN(group, Group::make(*opened, here, request.sizes.back()));
  const auto limit = cuda::peer_limit(here[0], here[1]);
  std::vector<Point> points;
  for (const Bytes size : request.sizes) {
    Job job = request.job;
    job.count = count_for(collective, size, job.type, group->ranks());
    if (job.count == 0) continue;  // less than an element for every rank
    for (const bool in_place : {false, true}) {
      if (in_place && !can_be_in_place(collective)) continue;
      if (sampler.stopped()) return fail({ErrorKind::interrupted, "interrupted", {}, {}});
      job.in_place = in_place;
      if (request.check) TRUNKLINE_TRY(check(*group, job));
      points.push_back(point_of(request, job, size, *group, limit));
    }
  }
  if (points.empty()) return fail({ErrorKind::usage, "every size is less than one element for each rank", {}, "take a larger --maxbytes"});
  return sampler.sample(std::move(points));
}

std::vector<measure::Need> needs_here() {
  measure::Need need{"NCCL", "collective.*", false, {}, {}};
  if (const auto opened = library(); opened) {
    need.present = true;
    need.found = "version " + (*opened)->version_text();
  } else {
    need.found = opened.error().message;
    need.fix = opened.error().hint;
  }
  return {need};
}

void describe_here(measure::Context& context) {
  const auto here = cuda::gpus({});
  if (!here || here->size() < 2) return;  // it takes no part
  if (const auto opened = library(); opened) context.nccl = (*opened)->version_text();
}

}  // namespace trunkline::backends::nccl
