// What the readers of a fabric file's parts share.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "io/value.hpp"
#include "network/fabric_file_topology.hpp"

namespace trunkline::network {

// The field where it is there and not null; `key:` without a value is as good as absent.
const io::Value* present(const io::Value& map, std::string_view key);

// The field, or where it is absent the block, for its place in messages.
const io::Value& field_or(const io::Value& map, std::string_view key);
tl::unexpected<Error> wrong_field(const io::Value& map, std::string_view key, std::string message, std::string hint);

// An error without a place gets that of `value`.
template <class T>
Result<T> placed(Result<T> result, const io::Value& value) {
  if (!result && result.error().where.line == 0) result.error().where = value.where();
  return result;
}

// A rate above zero; `fallback` where the key is absent.
Result<Bandwidth> rate_in(const io::Value& map, std::string_view key, std::optional<Bandwidth> fallback);

// From 0 to 1 s; `fallback` where the key is absent.
Result<Seconds> time_in(const io::Value& map, std::string_view key, Seconds fallback = {});

// `packet`, from 0 to 1 MB.
Result<Bytes> packet_in(const io::Value& file);

// The links of a fabric while it is still being described.
struct NamedLinks {
  std::size_t wires = 0;
  std::function<std::string(LinkId)> name;
  std::function<void(LinkId, double)> scale;
};

// Scales what the file's `faults` name; what was done, in words. An error where a name fits no link.
Result<std::vector<std::string>> apply_faults(const io::Value& file, const NamedLinks& links);

Result<Shape> shape_of_graph(const io::Value& file, const std::string& folder);

}  // namespace trunkline::network
