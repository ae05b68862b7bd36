// A model on disk: shards of tensors, an index with their checksums, and the way they get there and back. Internal to this folder.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/storage/engine.hpp"
#include "base/result.hpp"
#include "base/units.hpp"

namespace trunkline::backends::storage {

struct Tensor {
  std::string name;
  int shard = 0;
  std::int64_t begin = 0, end = 0;  // in its shard
  std::uint64_t checksum = 0;       // xxh3, 64 bit; 0 = not yet written
};

struct Shard {
  std::int64_t size = 0;             // a multiple of the page size: the end is padding
  std::vector<std::size_t> tensors;  // indices, in the order of their places
};

struct Model {
  std::vector<Tensor> tensors;
  std::vector<Shard> shards;
  std::int64_t bytes() const;
};

// Tensors as a transformer of `size` bytes has them: per layer four attention matrices, three of the feed-forward block and two norms, with
// embedding and head; packed into shards of at most 5 GB. The sum is within some per cent of `size`.
Model model_of(Bytes size);

// Where the checkpoint lies while it is written, and under which name it appears once it is whole.
class CheckpointFolder {
 public:
  // Removes first what a killed run of this host left behind in the same place.
  static Result<CheckpointFolder> in(const std::string& parent);
  CheckpointFolder(CheckpointFolder&& other) noexcept;
  CheckpointFolder& operator=(CheckpointFolder&&) = delete;
  ~CheckpointFolder();  // removes all of it

  std::string path() const { return renamed_ ? final_ : partial_; }
  std::string shard_path(std::size_t shard) const;
  std::string index_path() const { return path() + "/index"; }

  // Makes the names safe, gives the folder its final name in one step, makes that safe.
  Result<void> commit();

 private:
  CheckpointFolder(std::string parent, std::string partial, std::string final)
      : parent_(std::move(parent)), partial_(std::move(partial)), final_(std::move(final)) {}
  std::string parent_, partial_, final_;
  bool renamed_ = false;
};

struct CheckpointOptions {
  std::int64_t block = 4 << 20;
  int depth = 32;
  bool direct = true, fsync = true, threads_engine = false;
  int threads = 1;  // shards at once
  std::uint64_t seed = 1;
  std::function<bool()> stopped = {};
};

// What moves the shards: an engine for each thread. Made once, so that its buffers are not part of the time.
using Engines = std::vector<std::unique_ptr<Engine>>;
Result<Engines> engines_for(const Model& model, const CheckpointOptions& options);

// Writes all shards with their checksums and the index, everything synced and renamed. The checksums in `model` are set.
Result<void> save(Model& model, CheckpointFolder& folder, const Engines& engines, const CheckpointOptions& options);

// Reads the index and all shards back and compares every checksum. The page cache is passed by, or emptied before.
Result<void> restore(const Model& model, const CheckpointFolder& folder, const Engines& engines, const CheckpointOptions& options);

// Throws the checkpoint's pages out of the page cache; before a restore that goes through it.
void drop_cache(const Model& model, const CheckpointFolder& folder);

}  // namespace trunkline::backends::storage
