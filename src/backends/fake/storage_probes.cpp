#include "backends/fake/probe.hpp"

namespace trunkline::backends::fake {
namespace {

namespace condition = measure::condition;

constexpr double kShare = 0.94;                // of what the file states
constexpr double kColdShare = 0.97;            // the page cache reads ahead
constexpr double kCachedShare = 0.25;          // of the memory's bandwidth: one thread copies
constexpr double kTail99 = 1.5, kTail999 = 3;  // of the median latency
constexpr int kDepth = 32;
constexpr double kUnsyncedFactor = 1.5;  // what seems to be written while it is still in memory
constexpr Bytes kModel = gbytes(30), kFile = gib(4);

struct Store {
  Bandwidth read, write;
  double iops = 0;
  std::string source;
};

Result<Store> store_of(const Model& model) {
  if (const auto& disk = model.platform.node.local_disk)
    return Store{disk->read, disk->write, disk->iops, "local disk of the platform file"};
  if (const auto& volume = model.platform.volume) return Store{volume->read, volume->write, volume->iops, "volume of the platform file"};
  return missing("the platform file names neither a local disk nor a volume");
}

measure::Conditions conditions_of(const measure::Settings& settings, Bytes size, Bytes block, bool writes) {
  measure::Conditions out;
  measure::set(out, condition::kCache, settings.flag("buffered") ? std::string(writes ? "buffered" : "cold") : std::string("direct"));
  if (writes) measure::set(out, condition::kFsync, !settings.flag("no-fsync"));
  measure::set(out, condition::kBlock, settings.bytes("block").value_or(block).count());
  measure::set(out, condition::kDepth, settings.integer("depth").value_or(kDepth));
  measure::set(out, condition::kSize, settings.bytes("size").value_or(size).count());
  return out;
}

std::optional<Error> disk_fault(const Model& model) {
  if (!model.has(FaultKind::full_disk)) return std::nullopt;
  return Error{
      ErrorKind::failed, "cannot write: No space left on device", {"simulated", 0}, "free some space, or give another folder with --path"};
}

Result<Answer> write(const Model& model, const measure::Settings& settings) {
  TRUNKLINE_ASSIGN(store, store_of(model));
  const double factor = settings.flag("no-fsync") ? kUnsyncedFactor : kShare;
  Answer answer;
  answer.points.push_back({{bandwidth("bandwidth", store.write, store.source, conditions_of(settings, kFile, mib(1), true))},
                           {store.write.si() * factor},
                           seconds(1)});
  answer.error = disk_fault(model);
  answer.repetitions_before_error = 3;
  return answer;
}

Result<Answer> read(const Model& model, const measure::Settings& settings) {
  TRUNKLINE_ASSIGN(store, store_of(model));
  measure::Conditions cold = conditions_of(settings, kFile, mib(1), false), cached = cold;
  measure::set(cold, condition::kCache, std::string("cold"));
  measure::set(cached, condition::kCache, std::string("cached"));
  Answer answer;
  if (!settings.flag("buffered")) {
    answer.points.push_back({{bandwidth("bandwidth@direct", store.read, store.source, conditions_of(settings, kFile, mib(1), false))},
                             {store.read.si() * kShare},
                             seconds(1)});
  }
  answer.points.push_back({{bandwidth("bandwidth@cold", store.read, store.source, cold)}, {store.read.si() * kColdShare}, seconds(1)});
  // The page cache gives what a copy of host memory gives.
  const Bandwidth memory = model.platform.node.memory_bandwidth * kCachedShare;
  answer.points.push_back({{bandwidth("bandwidth@cached", {}, {}, cached)}, {memory.si()}, seconds(1)});
  return answer;
}

Result<Answer> random_read(const Model& model, const measure::Settings& settings) {
  TRUNKLINE_ASSIGN(store, store_of(model));
  if (store.iops <= 0) return missing("the platform file does not say how many operations a second the disk does");
  const auto conditions = conditions_of(settings, kFile, kib(4), false);
  const double depth = double(settings.integer("depth").value_or(kDepth)), rate = store.iops * kShare;
  Truth truth;
  truth.metrics.push_back({"rate", "1/s", measure::Better::higher, {}, {}, store.iops, store.source, conditions});
  truth.values.push_back(rate);
  for (const auto& [name, tail] :
       {std::pair("latency_p50", 1.0), std::pair("latency_p99", kTail99), std::pair("latency_p99.9", kTail999)}) {
    truth.metrics.push_back({name, "s", measure::Better::lower, {}, {}, {}, {}, conditions});
    truth.values.push_back(depth / rate * tail);  // Little's law
  }
  truth.cost = seconds(1);
  Answer answer;
  answer.points.push_back(std::move(truth));
  return answer;
}

Result<Answer> checkpoint(const Model& model, const measure::Settings& settings) {
  TRUNKLINE_ASSIGN(store, store_of(model));
  const Bytes size = settings.bytes("size").value_or(kModel);
  measure::Conditions writes = conditions_of(settings, kModel, mib(4), true), reads = conditions_of(settings, kModel, mib(4), false);
  for (auto* conditions : {&writes, &reads}) measure::set(*conditions, condition::kVerified, true);
  const Bandwidth write = store.write * kShare, read = store.read * kShare;
  const auto time = [](const char* name, const measure::Conditions& conditions) {
    return measure::Metric{name, "s", measure::Better::lower, {}, {}, {}, {}, conditions};
  };
  Answer answer;
  answer.points.push_back(
      {{bandwidth("write_bandwidth", store.write, store.source, writes), bandwidth("read_bandwidth", store.read, store.source, reads),
        time("save_time", writes), time("restore_time", reads)},
       {write.si(), read.si(), (size / write).si(), (size / read).si()},
       size / write + size / read});
  answer.error = disk_fault(model);
  return answer;
}

}  // namespace

std::vector<Description> storage_probes() {
  return {{"storage.write", "how fast a disk takes data", "a disk", write},
          {"storage.read", "how fast a disk gives data", "a disk", read},
          {"storage.random_read", "how many small reads a disk serves", "a disk", random_read},
          {"storage.checkpoint", "how long saving and restoring a model takes", "a disk", checkpoint}};
}

}  // namespace trunkline::backends::fake
