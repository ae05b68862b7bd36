// storage.checkpoint: one repetition saves a model and restores it.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "backends/storage/bench.hpp"
#include "backends/storage/checkpoint.hpp"
#include "backends/storage/probes.hpp"
#include "base/quantity_text.hpp"

namespace trunkline::backends::storage {
namespace {

namespace condition = measure::condition;
using measure::Better;
using measure::Metric;
using measure::Sampler;
using measure::Settings;

constexpr Bytes kModel = gbytes(30), kQuickModel = gbytes(1), kLeastModel = mib(64), kPilot = mib(256);
constexpr Bytes kBlock = mib(4);
constexpr Bandwidth kGuess = gbyte_per_s(1);  // for the estimate of time only
constexpr int kMostThreads = 8;

bool have_checksums() {
#ifdef TRUNKLINE_HAS_XXHASH
  return true;
#else
  return false;
#endif
}

// Enough to keep the largest arrays busy while checksums are computed.
int threads_of() { return std::clamp(int(std::thread::hardware_concurrency()) / 2, 1, kMostThreads); }

class CheckpointProbe : public measure::Probe {
 public:
  std::string name() const override { return "storage.checkpoint"; }
  std::string answers() const override { return "how long saving a model takes until it is safe, and restoring and checking it"; }
  std::string needs() const override { return "xxhash, a folder with free space for the model (--path, --size)"; }

  Result<measure::Estimate> estimate(const Settings& settings, Seconds budget) const override {
    TRUNKLINE_ASSIGN(plan, this->plan(settings));
    measure::Estimate out;
    const std::int64_t times = std::max(1, settings.repetitions);
    out.disk = plan.size;
    out.written = out.read = plan.size * times;
    out.memory = Bytes(plan.block) * plan.depth;
    out.time = settings.quick ? budget : std::max(budget, double(2 * times) * (plan.size / kGuess));
    out.note = settings.quick ? "at most; a slow disk gets a smaller model" : "once, the time at 1 GB/s; more often as time allows";
    return out;
  }

  Result<void> run(const Settings& settings, Sampler& sampler) override {
    TRUNKLINE_ASSIGN(plan, this->plan(settings));
    if (!settings.has("size") && plan.target.usable() < wanted(settings))
      sampler.warn(
          fmt::format("a model of {} instead of {}: that is what the free space allows", to_text(plan.size), to_text(wanted(settings))));
    CheckpointOptions options = options_of(plan, settings, sampler);
    TRUNKLINE_TRY(find_way(plan, options, sampler));
    if (settings.quick && !settings.has("size")) {
      TRUNKLINE_ASSIGN(rate, pilot(plan, options));
      plan.size = fitting(plan.size, rate, sampler.left());
    }
    return measure(plan, options, sampler);
  }

 private:
  static Bytes wanted(const Settings& settings) { return settings.quick ? kQuickModel : kModel; }

  Result<Plan> plan(const Settings& settings) const {
    if (!have_checksums())
      return fail({ErrorKind::missing,
                   "this program was built without xxhash, so nothing could be verified",
                   {},
                   "apt-get install libxxhash-dev, and build again"});
    return plan_of(settings, wanted(settings), kBlock);
  }

  static CheckpointOptions options_of(const Plan& plan, const Settings& settings, Sampler& sampler) {
    CheckpointOptions out;
    out.block = plan.block;
    out.depth = plan.depth;
    out.fsync = plan.fsync;
    out.threads_engine = plan.threads;
    out.threads = threads_of();
    out.seed = settings.seed;
    out.stopped = [&sampler] { return sampler.stopped(); };
    return out;
  }

  // Past the page cache where that works here.
  static Result<void> find_way(const Plan& plan, CheckpointOptions& options, Sampler& sampler) {
    TRUNKLINE_ASSIGN(file, ScratchFile::in(plan.target.folder));
    options.direct = !plan.buffered && file.set_direct(true);
    if (!plan.buffered && !options.direct)
      sampler.warn(
          fmt::format("{} takes no O_DIRECT: saved through the page cache, and restored with an empty one", plan.target.file_system));
    if (plan.target.in_memory)
      sampler.warn(fmt::format("{} lies in memory ({}): this says nothing about a disk", plan.target.folder, plan.target.file_system));
    return {};
  }

  // A first small checkpoint says how large one fits the time; it warms up as well.
  static Result<Bandwidth> pilot(const Plan& plan, const CheckpointOptions& options) {
    measure::SteadyClock clock;
    Model model = model_of(std::min(plan.size, kPilot));
    TRUNKLINE_ASSIGN(engines, engines_for(model, options));
    const Seconds start = clock.now();
    TRUNKLINE_ASSIGN(folder, CheckpointFolder::in(plan.target.folder));
    TRUNKLINE_TRY(save(model, folder, engines, options));
    return Bytes(model.bytes()) / (clock.now() - start);
  }

  // Powers of two, so that runs on the same disk measure the same; a quarter of the time each for saving and restoring, twice.
  static Bytes fitting(Bytes most, Bandwidth rate, Seconds left) {
    Bytes size = kLeastModel;
    while (size * 2 <= most && (size * 2) / rate <= left / 4) size = size * 2;
    return size;
  }

  static Result<void> measure(const Plan& plan, const CheckpointOptions& options, Sampler& sampler) {
    Tally written(plan.target, Direction::write), read(plan.target, Direction::read);
    Model model = model_of(plan.size);
    TRUNKLINE_ASSIGN(engines, engines_for(model, options));
    measure::Point point;
    point.warmups = 0;  // nobody saves a model twice to be faster
    point.deciding = 2;
    point.metrics = metrics_of(plan, model, *engines[0], options);
    point.repeat = [&]() -> Result<std::vector<double>> {
      TRUNKLINE_ASSIGN(folder, CheckpointFolder::in(plan.target.folder));
      const Bytes size(model.bytes());
      written.begin();
      Seconds start = sampler.clock().now();
      TRUNKLINE_TRY(save(model, folder, engines, options));
      const Seconds saved = sampler.clock().now() - start;
      written.end(size.count());
      if (!options.direct) drop_cache(model, folder);
      read.begin();
      start = sampler.clock().now();
      TRUNKLINE_TRY(restore(model, folder, engines, options));
      const Seconds restored = sampler.clock().now() - start;
      read.end(size.count());
      return std::vector<double>{(size / saved).si(), (size / restored).si(), saved.si(), restored.si()};
    };
    const auto done = sampler.sample({point});
    record_way(written, plan.target, true, "write_bandwidth", sampler);
    record_way(read, plan.target, true, "read_bandwidth", sampler);
    return done;
  }

  static std::vector<Metric> metrics_of(const Plan& plan, const Model& model, const Engine& engine, const CheckpointOptions& options) {
    std::vector<Metric> out = {{"write_bandwidth", "B/s", Better::higher, {}},
                               {"read_bandwidth", "B/s", Better::higher, {}},
                               {"save_time", "s", Better::lower, {}},
                               {"restore_time", "s", Better::lower, {}}};
    for (std::size_t i = 0; i < out.size(); ++i) {
      const bool writes = i % 2 == 0;
      measure::Conditions& c = out[i].conditions;
      measure::set(c, condition::kCache, std::string(options.direct ? "direct" : writes ? "buffered" : "cold"));
      if (writes) measure::set(c, condition::kFsync, options.fsync);
      measure::set(c, condition::kBlock, options.block);
      measure::set(c, condition::kDepth, std::int64_t(options.depth));
      measure::set(c, condition::kThreads, std::int64_t(std::min<std::size_t>(std::size_t(options.threads), model.shards.size())));
      measure::set(c, condition::kSize, model.bytes());
      measure::set(c, condition::kEngine, engine.name());
      measure::set(c, "tensors", std::int64_t(model.tensors.size()));
      measure::set(c, "checksums", std::string("xxh3, all verified"));
      measure::set(c, "file_system", plan.target.file_system);
      if (!plan.target.device.empty()) measure::set(c, "device", plan.target.device);
      measure::set(c, "folder", plan.target.folder);
      if (i < 2 && plan.target.limit) {
        out[i].limit = plan.target.limit->si();
        out[i].limit_source = plan.target.limit_source;
      }
    }
    return out;
  }
};

}  // namespace

std::unique_ptr<measure::Probe> checkpoint_probe() { return std::make_unique<CheckpointProbe>(); }

}  // namespace trunkline::backends::storage
