// A job: model + data + parallelism + schedule, as a job file states it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "catalog/gpu.hpp"
#include "io/spec.hpp"
#include "workload/model.hpp"

namespace trunkline::workload {

enum class TrainingKind { full, lora, qlora };
enum class Recompute { none, selective, full };
enum class Sharding { none, zero1, zero2, zero3, hsdp };
enum class Optimizer { adamw, sgd, adafactor, lion };

// How a pipeline orders micro-batches; interleaving follows from vpp > 1.
enum class Schedule { one_f_one_b, gpipe, zero_bubble_1p, zero_bubble_2p };

// Behaviours are described in predict/framework.hpp; here only the name.
enum class Framework {
  pytorch_eager,
  pytorch_compile,
  pytorch_ddp,
  pytorch_fsdp,
  megatron,
  megatron_deepspeed,
  megatron_bridge,
  nemo,
  mlperf_nvidia,
  torchtitan,
  composer_fsdp,
  maxtext,
  pax,
  internevo,
  ideal
};

// Whose modules a PyTorch job without a training framework of its own is built from.
enum class Library {
  transformers,  // rms norms written out; compiled, attention gets its mask as a tensor
  plain,         // torch.nn: fused rms norms, attention told that it is causal
};

struct Precisions {
  catalog::Precision compute = catalog::Precision::bf16;
  catalog::Precision parameters = catalog::Precision::bf16;
  catalog::Precision optimizer = catalog::Precision::fp32;
};

struct Parallelism {
  int tp = 1, pp = 1, vpp = 1, dp = 1, cp = 1, ep = 1;
  Sharding sharding = Sharding::none;
  int shard_group = 0;  // ranks that share one copy under hsdp; 0 = one node
  bool sequence_parallel = false;
  Schedule schedule = Schedule::one_f_one_b;
  int etp = 0;  // tensor parallelism inside an expert; 0 = as tp
  int gpus() const { return tp * pp * cp * dp; }
};

// What a job file left to us: `auto`, or absent. Of the degrees, only those are open that say `auto`, or all when there
// is no parallelism block; a degree that a block leaves out is 1, noted in Job::assumed.
struct Open {
  bool tp = false, pp = false, vpp = false, dp = false, cp = false, ep = false, sharding = false, micro = false, recompute = false;
  bool precision = false, sequence_parallel = false;
};

struct Batch {
  std::int64_t global = 0;    // samples a step, all ranks
  std::int64_t micro = 1;     // samples a rank passes at once
  std::int64_t sequence = 0;  // tokens a sample; 0 for models without a free length
};

enum class DataSource { ingest, volume, local };
enum class Staging { before, overlap, none };

struct Data {
  double samples = 0;  // of the dataset
  Bytes bytes_per_sample;
  DataSource source = DataSource::ingest;
  Staging staging = Staging::before;
  bool packed = true;  // many samples a file, read in order (WebDataset, TFRecord, MDS); else each sample is a file
};

enum class CheckpointTarget { volume, local };
enum class CheckpointMode { sync, async };

struct Checkpoint {
  std::int64_t every_steps = 0;
  CheckpointTarget to = CheckpointTarget::volume;
  CheckpointMode mode = CheckpointMode::sync;
};

struct Run {
  std::optional<double> epochs, steps, tokens;
};

struct Lora {
  int rank = 16;
  bool all_linear = true;  // else attention only
};

struct Job {
  std::string file;
  Model model;
  TrainingKind kind = TrainingKind::full;
  Lora lora;
  Precisions precision;
  Optimizer optimizer = Optimizer::adamw;
  Framework framework = Framework::megatron;
  Recompute recompute = Recompute::none;
  double recompute_share = 1;  // of the layers, where recompute is full; the others keep everything
  bool compile = false;
  Library library = Library::transformers;
  std::optional<bool> flash_attention;  // absent = the framework's habit
  Batch batch;
  Parallelism parallelism;
  Open open;
  std::optional<Data> data;
  std::optional<Checkpoint> checkpoint;
  Run run;
  std::vector<std::pair<std::string, std::string>> assumed;
};

// In which format `framework` keeps the weights when it computes in `compute`, unless told otherwise.
catalog::Precision parameter_habit(Framework framework, catalog::Precision compute);

const io::ObjectSpec& job_spec();
// `base_directory` resolves a relative model path.
Result<Job> job_from(const io::Value& value, const std::string& base_directory);
Result<Job> read_job(const std::string& path);

// Names as files write them ("pytorch-fsdp", "zero1"), both ways.
std::string name_of(Framework framework);
std::string name_of(Sharding sharding);
std::string name_of(Recompute recompute);
std::string name_of(Schedule schedule);
std::string name_of(TrainingKind kind);
std::string name_of(Optimizer optimizer);
std::string name_of(DataSource source);
std::string name_of(Staging staging);
std::string name_of(CheckpointTarget target);
std::string name_of(CheckpointMode mode);
std::optional<Framework> framework_from(std::string_view name);
std::optional<Sharding> sharding_from(std::string_view name);
std::optional<Recompute> recompute_from(std::string_view name);
std::optional<catalog::Precision> precision_from(std::string_view name);

}  // namespace trunkline::workload
