#include "backends/storage/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/quantity_text.hpp"
#include "base/rng.hpp"

namespace trunkline::backends::storage {
namespace {

namespace condition = measure::condition;
using measure::Option;
using measure::OptionKind;
using measure::Sampler;
using measure::Settings;

constexpr Bytes kFile = gib(4), kQuickFile = mib(512), kLeastFile = mib(16);
constexpr int kDepth = 32, kMostDepth = 4096;
constexpr Bytes kMostBuffers = gib(1);
constexpr double kThrough = 0.95, kAround = 0.05;  // shares of the bytes from which they count as gone through the device, or not
constexpr double kOthers = 0.1;

}  // namespace

std::vector<Option> storage_options() {
  return {{"--path", OptionKind::text, "DIR", "of storage: the folder to measure in; default: the current one"},
          {"--size",
           OptionKind::bytes,
           "SIZE",
           "of storage: of the file or the checkpoint; default 4 GiB and 30 GB, or what fits",
           {},
           double(kLeastFile.count())},
          {"--block",
           OptionKind::bytes,
           "SIZE",
           "of storage: of one request, a multiple of 4 KiB; default 1 MiB, and 4 KiB for random_read",
           {},
           4096},
          {"--depth", OptionKind::integer, "N", "of storage: requests in flight; default 32", {}, 1},
          {"--buffered", OptionKind::flag, "", "of storage: through the page cache instead of past it (O_DIRECT)"},
          {"--no-fsync", OptionKind::flag, "", "of storage: do not wait until what was written is safe"},
          {"--io", OptionKind::text, "ENGINE", "of storage: io_uring (default) or threads", {"io_uring", "threads"}}};
}

Bytes default_file(const Settings& settings) { return settings.quick ? kQuickFile : kFile; }

Result<Plan> plan_of(const Settings& settings, Bytes wanted, Bytes block) {
  Plan plan;
  auto target = target_at(settings.text("path").value_or("."));
  if (!target) {
    // A folder that was asked for is an error; that the current one is not writable only means that there is nothing to measure in.
    if (!settings.has("path")) target.error().kind = ErrorKind::missing;
    return fail(target.error());
  }
  plan.target = std::move(*target);
  plan.block = settings.bytes("block").value_or(block).count();
  plan.depth = int(std::min<std::int64_t>(settings.integer("depth").value_or(kDepth), kMostDepth));
  plan.buffered = settings.flag("buffered");
  plan.fsync = !settings.flag("no-fsync");
  plan.threads = settings.text("io") == "threads";
  plan.repetition = settings.quick ? milliseconds(300) : seconds(2);
  if (plan.block % kContentPage != 0)
    return fail(
        {ErrorKind::usage, fmt::format("--block: {} is no multiple of 4 KiB", to_text(Bytes(plan.block))), {}, "for example --block 1MiB"});
  if (plan.block * plan.depth > kMostBuffers.count())
    return fail({ErrorKind::usage,
                 fmt::format("--block times --depth is {}, more than 1 GiB of buffers", to_text(Bytes(plan.block) * plan.depth)),
                 {},
                 "lower one of them"});
  const auto asked = settings.bytes("size");
  const Bytes usable = plan.target.usable();
  plan.size = asked ? *asked : std::min(wanted, usable);
  plan.size = Bytes(plan.size.count() / plan.block * plan.block);
  if (plan.size > usable || plan.size < kLeastFile) {
    return fail({ErrorKind::missing,
                 fmt::format("{} needs {}, of {} free there {} may be used", plan.target.folder, to_text(asked.value_or(kLeastFile)),
                             to_text(plan.target.free), to_text(usable)),
                 {},
                 "free some space, give another folder with --path, or less with --size"});
  }
  return plan;
}

Error in_folder(Error error, const Target& target) {
  if (error.where.file.empty() && error.kind != ErrorKind::interrupted) error.where.file = target.folder;
  return error;
}

Result<std::unique_ptr<Bench>> Bench::make(const Plan& plan, std::uint64_t seed, Sampler& sampler) {
  TRUNKLINE_ASSIGN(file, ScratchFile::in(plan.target.folder));
  TRUNKLINE_ASSIGN(chosen, make_engine({plan.depth, plan.block, plan.threads}));
  if (!chosen.why.empty()) sampler.warn(chosen.why + ": requests are kept in flight by threads instead, which costs more CPU time");
  std::unique_ptr<Bench> out(new Bench(plan, seed, std::move(file), std::move(chosen.engine)));
  TRUNKLINE_TRY(out->file_.reserve(plan.size.count()));
  out->size_ = plan.size.count();
  out->can_direct_ = !plan.buffered && out->file_.set_direct(true);
  if (!plan.buffered && !out->can_direct_)
    sampler.warn(fmt::format("{} takes no O_DIRECT: measured through the page cache, and labelled so", plan.target.file_system));
  if (plan.target.in_memory)
    sampler.warn(fmt::format("{} lies in memory ({}): this says nothing about a disk", plan.target.folder, plan.target.file_system));
  return out;
}

Transfer Bench::sequential(Direction direction, std::int64_t bytes, std::int64_t block, Seconds at_most, Sampler& sampler) const {
  Transfer t;
  t.file = file_.descriptor();
  t.direction = direction;
  t.end = size_;
  t.requests = (std::min(bytes, size_) + block - 1) / block;
  t.offset = [block](std::int64_t request) { return request * block; };
  t.at_most = at_most;
  t.stopped = [&sampler] { return sampler.stopped(); };
  return t;
}

Result<Moved> Bench::write_with(Engine& engine, std::int64_t block, Seconds at_most, Sampler& sampler) {
  const std::uint64_t mark = seed_ + ++generation_;
  Transfer t = sequential(Direction::write, size_, block, at_most, sampler);
  t.prepare = [mark](std::int64_t offset, std::span<std::byte> bytes) { stamp(bytes, offset, mark); };
  return moved_by(engine, t);
}

Result<Moved> Bench::write(Seconds at_most, Sampler& sampler) { return write_with(*engine_, plan_.block, at_most, sampler); }

Result<void> Bench::lay_out(Seconds at_most, Sampler& sampler) {
  EngineOptions large;  // small requests would take long to fill a file
  large.threads = plan_.threads;
  TRUNKLINE_ASSIGN(chosen, make_engine(large));
  TRUNKLINE_ASSIGN(moved, write_with(*chosen.engine, large.block, at_most, sampler));
  TRUNKLINE_TRY(file_.sync());
  size_ = moved.bytes;
  return {};
}

Result<Moved> Bench::read(std::int64_t bytes, Seconds at_most, Sampler& sampler) {
  Transfer t = sequential(Direction::read, bytes, plan_.block, at_most, sampler);
  t.consume = content_check();
  return moved_by(*engine_, t);
}

std::function<bool(std::int64_t, std::span<const std::byte>)> Bench::content_check() const {
  return [mark = seed_ + generation_](std::int64_t offset, std::span<const std::byte> bytes) { return stamped(bytes, offset, mark); };
}

Result<Moved> Bench::moved_by(Engine& engine, const Transfer& transfer) const {
  auto moved = engine.run(transfer);
  if (!moved) return fail(in_folder(moved.error(), plan_.target));
  return moved;
}

Result<Moved> Bench::read_randomly(Seconds time, std::uint64_t seed, std::vector<double>& latencies_s, Sampler& sampler) {
  Rng rng(seed);
  const auto blocks = std::uint64_t(size_ / plan_.block);
  Transfer t = sequential(Direction::read, size_, plan_.block, time, sampler);
  t.requests = std::numeric_limits<std::int64_t>::max();
  t.offset = [&](std::int64_t) { return std::int64_t(rng.below(blocks)) * plan_.block; };
  t.consume = content_check();
  t.latencies_s = &latencies_s;
  return moved_by(*engine_, t);
}

measure::Conditions Bench::conditions(const std::string& cache) const {
  measure::Conditions out;
  measure::set(out, condition::kCache, cache);
  measure::set(out, condition::kBlock, plan_.block);
  measure::set(out, condition::kDepth, std::int64_t(plan_.depth));
  measure::set(out, condition::kSize, size_);
  measure::set(out, condition::kEngine, engine_->name());
  measure::set(out, "file_system", plan_.target.file_system);
  if (!plan_.target.device.empty()) measure::set(out, "device", plan_.target.device);
  if (!plan_.target.model.empty()) measure::set(out, "disk_model", plan_.target.model);
  if (plan_.target.rotational) measure::set(out, "rotational", *plan_.target.rotational);
  measure::set(out, "folder", plan_.target.folder);
  return out;
}

measure::Metric bandwidth(std::string name, const Bench& bench, const std::string& cache, bool limited) {
  measure::Metric out{std::move(name), "B/s", measure::Better::higher, {}};
  if (const auto& target = bench.plan().target; limited && target.limit) {
    out.limit = target.limit->si();
    out.limit_source = target.limit_source;
  }
  out.conditions = bench.conditions(cache);
  return out;
}

void record_way(const Tally& tally, const Target& target, bool through_device, const std::string& metric, Sampler& sampler) {
  measure::Metric* m = sampler.metric(metric);
  if (!m) return;
  const auto share = tally.device_share();
  const bool verified = share && (through_device ? *share >= kThrough : *share <= kAround);
  measure::set(m->conditions, condition::kVerified, verified);
  if (share) measure::set(m->conditions, condition::kDeviceShare, *share);
  if (share && !verified) {
    sampler.warn(fmt::format("{}: {:.0f} % of the bytes {} the device: this is not what its label says", metric, 100 * *share,
                             through_device ? "went through" : "still went through"));
  }
  if (!share && !target.in_memory)
    sampler.warn(fmt::format("{}: nothing here counts bytes at the device, so the way they went is not verified", metric));
  if (const auto others = tally.others_share(); others && *others > kOthers)
    sampler.warn(fmt::format("{}: others moved {:.0f} % as many bytes on {} meanwhile: repeat on an idle disk", metric, 100 * *others,
                             target.device));
}

}  // namespace trunkline::backends::storage
