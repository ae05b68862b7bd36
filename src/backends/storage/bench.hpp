// What the probes of this folder share: what the user set, the file that is measured, the facts that are recorded. Internal to this folder.
#pragma once

#include <memory>
#include <string>

#include "backends/storage/content.hpp"
#include "backends/storage/counters.hpp"
#include "backends/storage/engine.hpp"
#include "backends/storage/scratch.hpp"
#include "backends/storage/target.hpp"
#include "measure/probe.hpp"

namespace trunkline::backends::storage {

std::vector<measure::Option> storage_options();

struct Plan {
  Target target;
  Bytes size;  // of the file
  std::int64_t block = 0;
  int depth = 0;
  bool buffered = false, fsync = true;
  bool threads = false;  // instead of io_uring
  Seconds repetition;    // one is cut off there
};

// What a probe will do here. Errors: the folder is not usable (bad_input), `size` does not fit (missing).
// `wanted` is the size where the user sets none; it gives way to what fits.
Result<Plan> plan_of(const measure::Settings& settings, Bytes wanted, Bytes block);
Bytes default_file(const measure::Settings& settings);

// A file with known content, and the engine that moves it.
class Bench {
 public:
  static Result<std::unique_ptr<Bench>> make(const Plan& plan, std::uint64_t seed, measure::Sampler& sampler);

  const Plan& plan() const { return plan_; }
  const Engine& engine() const { return *engine_; }
  const ScratchFile& file() const { return file_; }
  std::int64_t size() const { return size_; }
  bool can_direct() const { return can_direct_; }

  // Writes the content from the start of the file, all of it or until `at_most`. A new generation marks every page anew.
  Result<Moved> write(Seconds at_most, measure::Sampler& sampler);
  // Writes the content before reads and syncs it; the file becomes as long as time allows.
  Result<void> lay_out(Seconds at_most, measure::Sampler& sampler);
  // Reads from the start, checking the content.
  Result<Moved> read(std::int64_t bytes, Seconds at_most, measure::Sampler& sampler);
  // Reads blocks at random places.
  Result<Moved> read_randomly(Seconds time, std::uint64_t seed, std::vector<double>& latencies_s, measure::Sampler& sampler);

  // Conditions of a metric; `cache` says which way the bytes went.
  measure::Conditions conditions(const std::string& cache) const;

 private:
  Bench(Plan plan, std::uint64_t seed, ScratchFile file, std::unique_ptr<Engine> engine)
      : plan_(std::move(plan)), seed_(seed), file_(std::move(file)), engine_(std::move(engine)) {}

  Transfer sequential(Direction direction, std::int64_t bytes, std::int64_t block, Seconds at_most, measure::Sampler& sampler) const;
  Result<Moved> write_with(Engine& engine, std::int64_t block, Seconds at_most, measure::Sampler& sampler);
  Result<Moved> moved_by(Engine& engine, const Transfer& transfer) const;
  std::function<bool(std::int64_t, std::span<const std::byte>)> content_check() const;

  Plan plan_;
  std::uint64_t seed_;
  std::uint64_t generation_ = 0;  // of the content: every writing marks its pages anew
  ScratchFile file_;
  std::unique_ptr<Engine> engine_;
  std::int64_t size_ = 0;
  bool can_direct_ = false;
};

// Records what the device moved, says whether the bytes went the way the label says, and warns where they did not.
// `through_device`: all of them should; else none.
void record_way(const Tally& tally, const Target& target, bool through_device, const std::string& metric, measure::Sampler& sampler);

// A bandwidth with the target's limit.
measure::Metric bandwidth(std::string name, const Bench& bench, const std::string& cache, bool limited);

// The name of the first word of a run's error, with the folder: where it happened.
Error in_folder(Error error, const Target& target);

}  // namespace trunkline::backends::storage
