#include "cli/settings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "io/spec.hpp"
#include "network/fabric_file.hpp"
#include "topology/platform.hpp"
#include "workload/job.hpp"

namespace trunkline::cli {
namespace {

constexpr std::string_view kPlatform = "platform.";

// Every dotted path below `spec`, for hints.
void add_paths(const io::ObjectSpec& spec, const std::string& prefix, std::vector<std::string>& out) {
  for (const auto& field : spec.fields) {
    out.push_back(prefix + field.name);
    if (field.type == io::FieldType::object && field.object) add_paths(*field.object, prefix + field.name + ".", out);
  }
}

std::vector<std::string> all_paths(FileKind kind) {
  std::vector<std::string> out;
  if (kind == FileKind::fabric) {
    add_paths(network::fabric_spec(), "", out);
    return out;
  }
  add_paths(workload::job_spec(), "", out);
  add_paths(topology::platform_spec(), std::string(kPlatform), out);
  return out;
}

bool has_path(const io::ObjectSpec& spec, std::string_view path) {
  const auto dot = path.find('.');
  const std::string_view key = path.substr(0, dot);
  const auto field = std::find_if(spec.fields.begin(), spec.fields.end(), [&](const auto& f) { return f.name == key; });
  if (field == spec.fields.end()) return false;
  if (dot == std::string_view::npos) return true;
  if (field->type == io::FieldType::any) return true;
  return field->type == io::FieldType::object && field->object && has_path(*field->object, path.substr(dot + 1));
}

// Keys that end in the same word come before keys that merely look alike: "tp" means parallelism.tp.
std::string hint_for(std::string_view key, FileKind kind) {
  const auto paths = all_paths(kind);
  const std::string tail = "." + std::string(key.substr(key.rfind('.') + 1));
  std::vector<std::string> same;
  for (const auto& path : paths) {
    if (path.ends_with(tail)) same.push_back(path);
  }
  const std::string prefixed = std::string(kPlatform) + std::string(key);  // the whole key of the other file, but for its prefix
  if (std::find(paths.begin(), paths.end(), prefixed) != paths.end()) return fmt::format("did you mean {}?", prefixed);
  if (!same.empty() && same.size() <= 3) return did_you_mean(same.front(), same);
  if (!nearest(key, paths).empty()) return did_you_mean(key, paths);
  if (kind == FileKind::fabric) return "the keys are those of `trunkline schema fabric`";
  return "the keys are those of `trunkline schema job`, and with the prefix platform. those of `trunkline schema platform`";
}

Result<std::pair<std::string, std::string>> key_and_value(const char* option, const std::string& text, FileKind kind) {
  const auto at = text.find('=');
  if (at == std::string::npos || at == 0) {
    return usage_error(fmt::format("{} {}: expected key=value", option, excerpt(text)),
                       fmt::format("for example {} {}", option, kind == FileKind::fabric ? "routing=spray" : "parallelism.tp=8"));
  }
  std::string key(trim(text.substr(0, at)));
  if (kind == FileKind::fabric) {
    if (!has_path(network::fabric_spec(), key)) {
      return usage_error(fmt::format("{} {}: a fabric file has no key \"{}\"", option, excerpt(text), excerpt(key)), hint_for(key, kind));
    }
    return std::pair(std::move(key), std::string(trim(text.substr(at + 1))));
  }
  const bool platform = key.starts_with(kPlatform);
  if (!has_path(platform ? topology::platform_spec() : workload::job_spec(),
                platform ? std::string_view(key).substr(kPlatform.size()) : key)) {
    return usage_error(fmt::format("{} {}: neither a job nor a platform file has the key \"{}\"", option, excerpt(text), excerpt(key)),
                       hint_for(key, kind));
  }
  return std::pair(std::move(key), std::string(trim(text.substr(at + 1))));
}

// Cut at commas outside brackets.
std::vector<std::string> values_of(const std::string& text) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (char c : text) {
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == ',' && depth == 0)
      out.emplace_back();
    else
      out.back() += c;
  }
  for (auto& value : out) value = std::string(trim(value));
  return out;
}

Result<io::Value> value_of(const Setting& setting) {
  const std::string origin = fmt::format("{}={}", setting.key, setting.value);
  if (setting.value.starts_with("{") || setting.value.starts_with("[")) return io::parse_yaml(setting.value, origin);
  auto file = std::make_shared<const std::string>(origin);
  if (setting.value.empty()) return io::Value::null(file, 0);
  return io::Value::scalar(file, 0, setting.value);
}

// Blocks that may be written as one word: `model: llama-2-7b` is `model: {config: llama-2-7b}`, beside which single keys can be changed.
constexpr std::pair<std::string_view, std::string_view> kShort[] = {{"model", "config"}, {"routing", "policy"}, {"lossless", "kind"}};

Result<void> open_short(const std::string& path, io::Value& document) {
  for (const auto& [block, key] : kShort) {
    const io::Value* word = document.find(block);
    if (!path.starts_with(std::string(block) + ".") || !word || !word->is_scalar()) continue;
    const io::Value name = *word;
    return document.set(fmt::format("{}.{}", block, key), name);
  }
  return {};
}

// Whether changing `outer` changes `key` too: the key itself, or a block around it.
bool covers(const std::string& outer, const std::string& key) { return key == outer || key.starts_with(outer + "."); }

Result<void> check_distinct(const std::vector<Sweep>& sweeps, const std::vector<Setting>& settings) {
  for (std::size_t i = 0; i < settings.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (settings[i].key == settings[j].key)
        return usage_error(fmt::format("--set {}: given twice, with \"{}\" and \"{}\"", settings[i].key, excerpt(settings[j].value),
                                       excerpt(settings[i].value)),
                           "keep one of them");
    }
  }
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    for (std::size_t j = 0; j < sweeps.size(); ++j) {
      if (j != i && covers(sweeps[i].key, sweeps[j].key))
        return usage_error(sweeps[i].key == sweeps[j].key
                               ? fmt::format("--sweep {}: given twice", sweeps[i].key)
                               : fmt::format("--sweep {}: contains the swept key {}", sweeps[i].key, sweeps[j].key),
                           "one --sweep takes all values of a key: --sweep KEY=A,B,C");
    }
    for (const Setting& setting : settings) {
      if (covers(sweeps[i].key, setting.key))
        return usage_error(fmt::format("--sweep {}: --set {}={} would have no effect", sweeps[i].key, setting.key, excerpt(setting.value)),
                           "leave one of them out");
    }
  }
  return {};
}

}  // namespace

Result<Setting> setting_from(const std::string& text, FileKind kind) {
  TRUNKLINE_ASSIGN(parts, key_and_value("--set", text, kind));
  return Setting{parts.first, parts.second, kind == FileKind::job_and_platform && parts.first.starts_with(kPlatform)};
}

Result<Sweep> sweep_from(const std::string& text, FileKind kind) {
  TRUNKLINE_ASSIGN(parts, key_and_value("--sweep", text, kind));
  Sweep sweep{parts.first, values_of(parts.second)};
  if (std::any_of(sweep.values.begin(), sweep.values.end(), [](const auto& v) { return v.empty(); })) {
    return usage_error(fmt::format("--sweep {}: an empty value", excerpt(text)),
                       kind == FileKind::fabric ? "for example --sweep routing=ecmp,spray" : "for example --sweep parallelism.tp=1,2,4,8");
  }
  return sweep;
}

Result<void> apply(const std::vector<Setting>& settings, bool platform, io::Value& document) {
  for (const Setting& setting : settings) {
    if (setting.platform != platform) continue;
    const std::string path = platform ? setting.key.substr(kPlatform.size()) : setting.key;
    TRUNKLINE_ASSIGN(value, value_of(setting));
    TRUNKLINE_TRY(open_short(path, document));
    TRUNKLINE_TRY(document.set(path, std::move(value)));
  }
  return {};
}

Result<std::vector<std::vector<Setting>>> points_of(const std::vector<Sweep>& sweeps, const std::vector<Setting>& settings) {
  TRUNKLINE_TRY(check_distinct(sweeps, settings));
  std::vector<std::vector<Setting>> points(1);
  for (const Sweep& sweep : sweeps) {
    if (points.size() * sweep.values.size() > kMostPoints)
      return usage_error(fmt::format("the sweeps have more than {} combinations", kMostPoints), "sweep fewer values");
    std::vector<std::vector<Setting>> longer;
    for (const auto& point : points) {
      for (const auto& value : sweep.values) {
        longer.push_back(point);
        longer.back().push_back({sweep.key, value, sweep.key.starts_with(kPlatform)});
      }
    }
    points = std::move(longer);
  }
  return points;
}

}  // namespace trunkline::cli
