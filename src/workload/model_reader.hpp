// Reads the keys of a model configuration and remembers the first fault. Used by model_*.cpp.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "io/value.hpp"
#include "workload/model.hpp"

namespace trunkline::workload {

using Assumed = std::vector<std::pair<std::string, std::string>>;

constexpr double kLargestSize = 1e9;  // no width, length or vocabulary of a model comes near

// After the first fault every getter returns a harmless value; status() then tells the fault. Keys are tried in the
// order given, as some families renamed theirs.
class ConfigReader {
 public:
  using Keys = std::initializer_list<const char*>;

  // `what` names the block in errors ("llama configuration"); defaults taken are added to `assumed`.
  ConfigReader(const io::Value& map, std::string what, Assumed& assumed) : map_(map), what_(std::move(what)), assumed_(assumed) {}

  std::int64_t integer(Keys keys, const char* meaning);
  int count(Keys keys, const char* meaning) { return int(integer(keys, meaning)); }
  // With the default that the configuration class documents; `why` says whose, and the default is then listed in
  // `assumed`. Without `why` the key is one that configurations normally leave out.
  std::int64_t integer_or(Keys keys, std::int64_t fallback, const char* why = nullptr);
  int count_or(Keys keys, std::int64_t fallback, const char* why = nullptr) { return int(integer_or(keys, fallback, why)); }
  bool flag_or(Keys keys, bool fallback, const char* why = nullptr);
  double number_or(Keys keys, double fallback);  // for values that only matter when they are set
  std::string text_or(const char* key, const std::string& fallback);
  // Tower::activation of the function named under `key`; the class's default where it is absent.
  Activation activation(const char* key, const char* fallback);

  // Present and not null.
  const io::Value* find(Keys keys) const;
  const io::Value& map() const { return map_; }
  Where where(Keys keys) const;

  void fault(Where where, std::string message, std::string hint = {});
  Result<void> status() const;
  Assumed& assumed() { return assumed_; }

 private:
  std::optional<std::int64_t> parsed(Keys keys);

  const io::Value& map_;
  std::string what_;
  Assumed& assumed_;
  std::optional<Error> fault_;
};

// From a Hugging Face config.json, by `model_type`, or by `architectures`.
Result<Model> model_from_config(const io::Value& value, const std::string& name);

// From the short form; `base` is what the keys override.
Result<Model> model_from_form(const io::Value& value, const std::string& name, const Model* base);

// The faults that arithmetic cannot live with: heads that do not divide the width, no layers, absurd sizes.
Result<void> check_model(const Model& model, const io::Value& value);

// `hint`, and the short form as the way out.
std::string or_short_form(const std::string& hint = {});

}  // namespace trunkline::workload
