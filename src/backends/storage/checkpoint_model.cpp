#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/storage/checkpoint.hpp"
#include "backends/storage/content.hpp"

namespace trunkline::backends::storage {
namespace {

constexpr std::int64_t kShardMost = 5'000'000'000;
constexpr std::int64_t kAlign = 64;   // of a tensor in its shard
constexpr double kFeedForward = 3.5;  // width of the feed-forward block in hidden sizes
constexpr std::int64_t kElement = 2;  // bf16
constexpr std::int64_t kHiddenStep = 64;

struct Shape {
  std::int64_t layers = 0, hidden = 0, vocabulary = 0;
};

double layer_bytes(double hidden) { return double(kElement) * ((2.5 + 3 * kFeedForward) * hidden * hidden + 2 * hidden); }

// Real models are some 128 times as wide as they are deep; the width follows from the size, the depth fills what is left.
Shape shape_of(std::int64_t size) {
  Shape out;
  const double wide = std::cbrt(double(size) * 128 / (double(kElement) * (2.5 + 3 * kFeedForward)));
  out.hidden = std::max(kHiddenStep, std::int64_t(wide) / kHiddenStep * kHiddenStep);
  out.vocabulary = std::min<std::int64_t>(128 * 1024, size / 20 / (kElement * out.hidden));  // embedding and head: at most a tenth
  const double rest = double(size) - 2.0 * double(kElement * out.vocabulary * out.hidden);
  out.layers = std::max<std::int64_t>(1, std::llround(rest / layer_bytes(double(out.hidden))));
  return out;
}

}  // namespace

std::int64_t Model::bytes() const {
  std::int64_t sum = 0;
  for (const Shard& shard : shards) sum += shard.size;
  return sum;
}

Model model_of(Bytes size) {
  const Shape shape = shape_of(size.count());
  Model out;
  const auto add = [&](std::string name, std::int64_t elements) {
    const std::int64_t bytes = std::max<std::int64_t>(1, elements) * kElement;
    if (out.shards.empty() || out.shards.back().size + bytes > kShardMost) out.shards.emplace_back();
    Shard& shard = out.shards.back();
    const std::int64_t begin = (shard.size + kAlign - 1) / kAlign * kAlign;
    shard.tensors.push_back(out.tensors.size());
    shard.size = begin + bytes;
    out.tensors.push_back({std::move(name), int(out.shards.size() - 1), begin, begin + bytes});
  };
  const std::int64_t h = shape.hidden;
  const auto wide = std::int64_t(kFeedForward * double(h));
  add("embedding", shape.vocabulary * h);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const auto part = [&](const char* name, std::int64_t elements) { add(fmt::format("layers.{}.{}", layer, name), elements); };
    part("norm_1", h);
    part("query", h * h);
    part("key", h * h / 4);  // grouped queries
    part("value", h * h / 4);
    part("output", h * h);
    part("norm_2", h);
    part("gate", h * wide);
    part("up", h * wide);
    part("down", h * wide);
  }
  add("head", shape.vocabulary * h);
  for (Shard& shard : out.shards) shard.size = (shard.size + kContentPage - 1) / kContentPage * kContentPage;
  return out;
}

}  // namespace trunkline::backends::storage
