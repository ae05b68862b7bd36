// The words of a job file for each enumeration, once, both ways.
#include <array>
#include <utility>

#include "workload/job.hpp"
#include "workload/job_spec.hpp"

namespace trunkline::workload {
namespace {

template <class E, std::size_t N>
using Words = std::array<std::pair<E, const char*>, N>;

constexpr Words<Framework, 15> kFrameworks{{{Framework::pytorch_eager, "pytorch-eager"},
                                            {Framework::pytorch_compile, "pytorch-compile"},
                                            {Framework::pytorch_ddp, "pytorch-ddp"},
                                            {Framework::pytorch_fsdp, "pytorch-fsdp"},
                                            {Framework::megatron, "megatron"},
                                            {Framework::megatron_deepspeed, "megatron-deepspeed"},
                                            {Framework::megatron_bridge, "megatron-bridge"},
                                            {Framework::nemo, "nemo"},
                                            {Framework::mlperf_nvidia, "mlperf-nvidia"},
                                            {Framework::torchtitan, "torchtitan"},
                                            {Framework::composer_fsdp, "composer-fsdp"},
                                            {Framework::maxtext, "maxtext"},
                                            {Framework::pax, "pax"},
                                            {Framework::internevo, "internevo"},
                                            {Framework::ideal, "ideal"}}};
constexpr Words<Sharding, 5> kShardings{{{Sharding::none, "none"},
                                         {Sharding::zero1, "zero1"},
                                         {Sharding::zero2, "zero2"},
                                         {Sharding::zero3, "zero3"},
                                         {Sharding::hsdp, "hsdp"}}};
constexpr Words<Recompute, 3> kRecomputes{{{Recompute::none, "none"}, {Recompute::selective, "selective"}, {Recompute::full, "full"}}};
constexpr Words<Schedule, 4> kSchedules{{{Schedule::one_f_one_b, "1f1b"},
                                         {Schedule::gpipe, "gpipe"},
                                         {Schedule::zero_bubble_1p, "zero-bubble-1p"},
                                         {Schedule::zero_bubble_2p, "zero-bubble-2p"}}};
constexpr Words<TrainingKind, 3> kKinds{{{TrainingKind::full, "full"}, {TrainingKind::lora, "lora"}, {TrainingKind::qlora, "qlora"}}};
constexpr Words<Optimizer, 4> kOptimizers{
    {{Optimizer::adamw, "adamw"}, {Optimizer::sgd, "sgd"}, {Optimizer::adafactor, "adafactor"}, {Optimizer::lion, "lion"}}};
constexpr Words<DataSource, 3> kSources{{{DataSource::ingest, "ingest"}, {DataSource::volume, "volume"}, {DataSource::local, "local"}}};
constexpr Words<Staging, 3> kStagings{{{Staging::before, "before"}, {Staging::overlap, "overlap"}, {Staging::none, "none"}}};
constexpr Words<CheckpointTarget, 2> kTargets{{{CheckpointTarget::volume, "volume"}, {CheckpointTarget::local, "local"}}};
constexpr Words<CheckpointMode, 2> kModes{{{CheckpointMode::sync, "sync"}, {CheckpointMode::async, "async"}}};
constexpr Words<catalog::Precision, 6> kPrecisions{{{catalog::Precision::fp32, "fp32"},
                                                    {catalog::Precision::tf32, "tf32"},
                                                    {catalog::Precision::fp16, "fp16"},
                                                    {catalog::Precision::bf16, "bf16"},
                                                    {catalog::Precision::fp8, "fp8"},
                                                    {catalog::Precision::fp4, "fp4"}}};

template <class E, std::size_t N>
std::string word_of(const Words<E, N>& words, E value) {
  for (const auto& [known, word] : words) {
    if (known == value) return word;
  }
  return {};
}

template <class E, std::size_t N>
std::optional<E> find_word(const Words<E, N>& words, std::string_view name) {
  for (const auto& [known, word] : words) {
    if (name == word) return known;
  }
  return std::nullopt;
}

template <class E, std::size_t N>
std::vector<std::string> all_words(const Words<E, N>& words) {
  std::vector<std::string> out;
  for (const auto& [known, word] : words) out.emplace_back(word);
  return out;
}

}  // namespace

std::string name_of(Framework framework) { return word_of(kFrameworks, framework); }
std::string name_of(Sharding sharding) { return word_of(kShardings, sharding); }
std::string name_of(Recompute recompute) { return word_of(kRecomputes, recompute); }
std::string name_of(Schedule schedule) { return word_of(kSchedules, schedule); }
std::string name_of(TrainingKind kind) { return word_of(kKinds, kind); }
std::string name_of(Optimizer optimizer) { return word_of(kOptimizers, optimizer); }
std::string name_of(DataSource source) { return word_of(kSources, source); }
std::string name_of(Staging staging) { return word_of(kStagings, staging); }
std::string name_of(CheckpointTarget target) { return word_of(kTargets, target); }
std::string name_of(CheckpointMode mode) { return word_of(kModes, mode); }

std::optional<Framework> framework_from(std::string_view name) { return find_word(kFrameworks, name); }
// "fsdp" is PyTorch's word for what ZeRO calls stage 3.
std::optional<Sharding> sharding_from(std::string_view name) { return find_word(kShardings, name == "fsdp" ? "zero3" : name); }
std::optional<Recompute> recompute_from(std::string_view name) { return find_word(kRecomputes, name); }
std::optional<catalog::Precision> precision_from(std::string_view name) { return find_word(kPrecisions, name); }

namespace words {

std::optional<Schedule> schedule_from(std::string_view name) { return find_word(kSchedules, name); }
std::optional<TrainingKind> kind_from(std::string_view name) { return find_word(kKinds, name); }
std::optional<Optimizer> optimizer_from(std::string_view name) { return find_word(kOptimizers, name); }
std::optional<DataSource> source_from(std::string_view name) { return find_word(kSources, name); }
std::optional<Staging> staging_from(std::string_view name) { return find_word(kStagings, name); }
std::optional<CheckpointTarget> target_from(std::string_view name) { return find_word(kTargets, name); }
std::optional<CheckpointMode> mode_from(std::string_view name) { return find_word(kModes, name); }

std::vector<std::string> frameworks() { return all_words(kFrameworks); }
std::vector<std::string> shardings() {
  auto out = all_words(kShardings);
  out.emplace_back("fsdp");
  return out;
}
std::vector<std::string> recomputes() { return all_words(kRecomputes); }
std::vector<std::string> schedules() { return all_words(kSchedules); }
std::vector<std::string> kinds() { return all_words(kKinds); }
std::vector<std::string> optimizers() { return all_words(kOptimizers); }
std::vector<std::string> sources() { return all_words(kSources); }
std::vector<std::string> stagings() { return all_words(kStagings); }
std::vector<std::string> targets() { return all_words(kTargets); }
std::vector<std::string> modes() { return all_words(kModes); }
std::vector<std::string> precisions() { return all_words(kPrecisions); }

}  // namespace words
}  // namespace trunkline::workload
