// Where a model is found: built in, in a file, or in the job file itself.
#include <fmt/format.h>

#include <filesystem>

#include "base/text.hpp"
#include "io/embedded.hpp"
#include "workload/model_reader.hpp"

namespace trunkline::workload {
namespace {

constexpr std::string_view kFolder = "models/";
constexpr std::string_view kFile = "/config.json";

bool looks_like_config(const io::Value& value) { return value.find("model_type") || value.find("architectures"); }

// config.json is named after its folder, anything else after itself.
std::string name_from(const std::string& path) {
  const std::filesystem::path file(path);
  return file.filename() == "config.json" && file.has_parent_path() ? file.parent_path().filename().string() : file.stem().string();
}

bool is_path(const std::string& text) { return text.find('/') != std::string::npos || text.ends_with(".json") || text.ends_with(".yaml"); }

Result<Model> model_at(const io::Value& config, const std::string& base_directory) {
  const std::string& text = config.text();
  if (!is_path(text)) {
    auto model = builtin_model(text);
    if (!model) model.error().where = config.where();
    return model;
  }
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path beside = fs::path(base_directory) / text;
  for (const fs::path& candidate : {beside, fs::path(text)}) {
    if (fs::exists(candidate, ignored)) return read_model(candidate.lexically_normal().string());
  }
  return bad_input(config.where(), fmt::format("config: no file {} beside the job file or in the current directory", config.describe()),
                   fmt::format("looked for {}; a built-in name works too: {}", beside.lexically_normal().string(),
                               did_you_mean(name_from(text), builtin_model_names())));
}

}  // namespace

std::vector<std::string> builtin_model_names() {
  std::vector<std::string> names;
  for (const auto& file : io::embedded_files()) {
    if (!file.path.starts_with(kFolder) || !file.path.ends_with(kFile)) continue;
    names.emplace_back(file.path.substr(kFolder.size(), file.path.size() - kFolder.size() - kFile.size()));
  }
  return names;
}

Result<Model> builtin_model(const std::string& name) {
  const auto text = io::embedded_file(std::string(kFolder) + name + std::string(kFile));
  if (!text) {
    return bad_input({}, fmt::format("no built-in model is named \"{}\"", name.substr(0, 60)),
                     or_short_form(did_you_mean(name, builtin_model_names())));
  }
  TRUNKLINE_ASSIGN(value, io::parse_json(*text, fmt::format("built-in models/{}/config.json", name)));
  return model_from(value, name);
}

Result<Model> read_model(const std::string& path) {
  TRUNKLINE_ASSIGN(value, io::read_value(path));
  return model_from(value, name_from(path));
}

Result<Model> model_from(const io::Value& value, const std::string& name) {
  if (value.is_scalar()) {
    auto model = builtin_model(value.text());
    if (!model) model.error().where = value.where();
    return model;
  }
  if (!value.is_map()) {
    return bad_input(value.where(), fmt::format("model: found {}, expected a built-in name or a block of keys", value.describe()),
                     or_short_form());
  }
  return looks_like_config(value) ? model_from_config(value, name) : model_from_form(value, name, nullptr);
}

Result<Model> model_of_job(const io::Value& value, const std::string& base_directory) {
  if (!value.is_map() || looks_like_config(value)) return model_from(value, "model");
  TRUNKLINE_TRY(io::check(value, model_spec()));
  const io::Value* config = value.find("config");
  if (!config || !config->is_scalar()) return model_from(value, io::get_text(value, "name").value_or("model"));
  TRUNKLINE_ASSIGN(base, model_at(*config, base_directory));
  if (value.fields().size() == 1) return base;
  return model_from_form(value, io::get_text(value, "name").value_or(base.name), &base);
}

}  // namespace trunkline::workload
