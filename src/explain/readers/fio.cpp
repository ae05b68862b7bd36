#include "explain/readers/fio.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace trunkline::explain::readers {
namespace {

using measure::Better;

namespace condition = measure::condition;

// Options of a job; what it leaves out, all jobs share.
class Options {
 public:
  Options(const io::Value* own, const io::Value* global) : own_(own), global_(global) {}

  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::string text(std::string_view name) const {
    const io::Value* v = find(name);
    return v && v->is_scalar() ? v->text() : std::string();
  }
  // An option without a value ("direct=1", or just "end_fsync") is on.
  std::optional<bool> flag(std::string_view name) const {
    if (!has(name)) return std::nullopt;
    return text(name) != "0";
  }

 private:
  const io::Value* find(std::string_view name) const {
    const io::Value* v = own_ ? own_->find(name) : nullptr;
    return v || !global_ ? v : global_->find(name);
  }
  const io::Value *own_, *global_;
};

std::optional<double> percentile(const io::Value& traffic, std::string_view which) {
  for (const char* key : {"clat_ns", "lat_ns"}) {
    const io::Value* latency = map_at(traffic, key);
    const io::Value* all = latency ? map_at(*latency, "percentile") : nullptr;
    const auto ns = all ? number_at(*all, which) : std::nullopt;
    if (ns && *ns > 0) return *ns * 1e-9;
  }
  return std::nullopt;
}

std::optional<FioTraffic> traffic_of(const io::Value& job, const char* key) {
  const io::Value* map = map_at(job, key);
  if (!map) return std::nullopt;
  FioTraffic out;
  out.bytes = number_at(*map, "io_bytes").value_or(0);
  if (out.bytes <= 0) return std::nullopt;
  // Older versions print only "bw", in KiB/s.
  out.rate = number_at(*map, "bw_bytes").value_or(number_at(*map, "bw").value_or(0) * 1024);
  out.iops = number_at(*map, "iops").value_or(0);
  out.p50_s = percentile(*map, "50.000000");
  out.p99_s = percentile(*map, "99.000000");
  return out;
}

// fsync inside the time: after writes, or by opening the file so. fsync_on_close happens after fio stopped its clock.
bool syncs(const Options& o) {
  const auto on = [&](const char* name) { return o.flag(name).value_or(false); };
  const std::string sync = o.text("sync");
  return on("end_fsync") || on("fsync") || on("fdatasync") || (!sync.empty() && sync != "0" && sync != "none");
}

FioJob job_of(const io::Value& item, const io::Value* global) {
  const Options o(map_at(item, "job options"), global);
  FioJob job;
  job.line = item.where().line;
  job.name = excerpt(text_at(item, "jobname"), 40);
  job.group = whole_at(item, "groupid").value_or(0);
  job.error = whole_at(item, "error").value_or(0);
  job.pattern = o.text("rw").empty() ? o.text("readwrite") : o.text("rw");
  job.pattern = excerpt(job.pattern.substr(0, job.pattern.find(':')), 20);
  job.engine = excerpt(o.text("ioengine"), 20);
  job.block_bytes = fio_size(o.text(o.has("bs") ? "bs" : "blocksize"));
  job.depth = whole_number_of(o.text("iodepth"));
  job.jobs = whole_number_of(o.text("numjobs"));
  job.size_bytes = fio_size(o.text("size"));
  job.direct = o.flag("direct");
  job.fsync = syncs(o);
  job.invalidate = o.flag("invalidate").value_or(true);
  job.read = traffic_of(item, "read");
  job.write = traffic_of(item, "write");
  return job;
}

bool is_random(const FioJob& job) { return job.pattern.starts_with("rand"); }

std::string probe_of(const FioJob& job, bool write) {
  if (job.read && job.write) return "storage.mixed";
  return std::string("storage.") + (is_random(job) ? "random_" : "") + (write ? "write" : "read");
}

measure::Conditions conditions_of(const Fio& output, const FioJob& job, bool write) {
  measure::Conditions c;
  const bool direct = job.direct.value_or(false);
  measure::set(c, condition::kCache, std::string(direct ? "direct" : write ? "buffered" : job.invalidate ? "cold" : "cached"));
  if (write) measure::set(c, condition::kFsync, job.fsync);
  if (job.block_bytes) measure::set(c, condition::kBlock, *job.block_bytes);
  measure::set(c, condition::kDepth, job.depth.value_or(1));
  if (job.size_bytes) measure::set(c, condition::kSize, *job.size_bytes);
  if (job.jobs) measure::set(c, condition::kThreads, *job.jobs);
  if (!job.engine.empty()) measure::set(c, condition::kEngine, job.engine);
  if (job.read && job.write) measure::set(c, "pattern", job.pattern);
  measure::set(c, condition::kStatistic, std::string("mean"));
  measure::set(c, condition::kSourceTool, output.version);
  return c;
}

struct Sums {
  const FioJob* job;
  double rate = 0, iops = 0;
  std::optional<double> p50_s, p99_s;  // of the slowest of the jobs
};

std::vector<Sums> groups_of(const Fio& output, std::optional<FioTraffic> FioJob::* direction) {
  std::vector<Sums> out;
  for (const FioJob& job : output.jobs) {
    const auto& traffic = job.*direction;
    if (!traffic) continue;
    auto same = std::find_if(out.begin(), out.end(), [&](const Sums& s) { return s.job->name == job.name && s.job->group == job.group; });
    if (same == out.end()) same = out.insert(out.end(), Sums{&job, 0, 0, {}, {}});
    same->rate += traffic->rate;
    same->iops += traffic->iops;
    if (traffic->p50_s) same->p50_s = std::max(same->p50_s.value_or(0), *traffic->p50_s);
    if (traffic->p99_s) same->p99_s = std::max(same->p99_s.value_or(0), *traffic->p99_s);
  }
  return out;
}

void add_metrics(const Fio& output, const Sums& s, bool write, measure::Measurement& out) {
  const FioJob& job = *s.job;
  auto& probe = probe_in(out, probe_of(job, write));
  const auto conditions = conditions_of(output, job, write);
  const std::string cache = measure::to_text(*measure::find(conditions, condition::kCache));
  // Our reads say in their name where they came from.
  std::string point = job.read && job.write ? (write ? "@write" : "@read") : !write && !is_random(job) ? "@" + cache : "";
  const auto add = [&](const char* name, const char* unit, Better better, std::optional<double> value) {
    if (!value || *value <= 0) return;
    auto& m = metric_in(probe, name + point, unit, better, conditions);
    if (m.conditions == conditions)
      m.samples.push_back(*value);
    else
      metric_in(probe, name + point + " " + job.name, unit, better, conditions).samples.push_back(*value);
  };
  add("bandwidth", "B/s", Better::higher, s.rate);
  add("rate", "1/s", Better::higher, s.iops);
  add("latency_p50", "s", Better::lower, s.p50_s);
  add("latency_p99", "s", Better::lower, s.p99_s);
  if (job.error != 0) {
    probe.status = measure::Status::failed;
    probe.reason = fmt::format("fio ended job {} with error {}", job.name, job.error);
  }
}

}  // namespace

std::optional<std::int64_t> fio_size(std::string_view text) {
  text = text.substr(0, std::min(text.find(','), text.find('-')));
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  const auto value = whole_number_of(text.substr(0, digits));
  if (!value || *value <= 0) return std::nullopt;
  std::string unit = lower(text.substr(digits));
  for (const char* tail : {"ib", "b"}) {
    if (unit.size() > 1 && unit.ends_with(tail)) unit.resize(unit.size() - std::string_view(tail).size());
  }
  constexpr std::string_view kUnits = "kmgt";
  if (unit.empty() || unit == "b") return value;
  const auto power = unit.size() == 1 ? kUnits.find(unit[0]) : std::string_view::npos;
  if (power == std::string_view::npos) return std::nullopt;
  const std::int64_t factor = 1LL << (10 * (power + 1));
  if (*value > (1LL << 62) / factor) return std::nullopt;
  return *value * factor;
}

bool is_fio(std::string_view text) { return json_begins_with(text, "fio version"); }

Result<Fio> read_fio(std::string_view text, const std::string& file) {
  TRUNKLINE_ASSIGN(root, json_in(text, file));
  Fio out;
  out.file = file;
  out.version = excerpt(text_at(root, "fio version"));
  if (out.version.starts_with("fio-")) out.version[3] = ' ';
  const io::Value* global = map_at(root, "global options");
  for (const io::Value& item : items_at(root, "jobs")) {
    if (item.is_map() && out.jobs.size() < kMostRows) out.jobs.push_back(job_of(item, global));
  }
  return out;
}

measure::Measurement result_of(const Fio& output) {
  measure::Measurement out;
  out.file = output.file;
  out.context.backend = "fio";
  out.complete = !output.jobs.empty();
  for (const Sums& s : groups_of(output, &FioJob::read)) add_metrics(output, s, false, out);
  for (const Sums& s : groups_of(output, &FioJob::write)) add_metrics(output, s, true, out);
  if (out.probes.empty()) {
    auto& probe = probe_in(out, "storage.read");
    probe.status = measure::Status::failed;
    const auto failed = std::find_if(output.jobs.begin(), output.jobs.end(), [](const FioJob& j) { return j.error != 0; });
    probe.reason =
        failed == output.jobs.end() ? "no job moved any data" : fmt::format("fio ended job {} with error {}", failed->name, failed->error);
  }
  return out;
}

}  // namespace trunkline::explain::readers
