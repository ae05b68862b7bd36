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
  namespace fs = std::filesystem;
  std::error_code ignored;
  const std::string& text = config.text();
  const fs::path beside = fs::path(base_directory) / text;
  if (!is_path(text)) {
    auto model = builtin_model(text);
    if (model) return model;
    model.error().where = config.where();
    if (fs::exists(beside, ignored) || fs::exists(text, ignored))
      model.error().hint = fmt::format("a file of your own is written with its folder: config: ./{}{}", excerpt(text),
                                       fs::is_directory(beside, ignored) || fs::is_directory(text, ignored) ? "/config.json" : "");
    return model;
  }
  for (const fs::path& candidate : {beside, fs::path(text)}) {
    if (!fs::exists(candidate, ignored)) continue;
    const std::string path = candidate.lexically_normal().string();
    if (!fs::is_directory(candidate, ignored)) return read_model(path);
    return bad_input(config.where(), fmt::format("config: {} is a directory, expected a file", excerpt(path, 200)),
                     fs::exists(candidate / "config.json", ignored)
                         ? fmt::format("did you mean {}?", (fs::path(text) / "config.json").string())
                         : "a Hugging Face config.json, or a YAML file of model keys");
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
    return bad_input({}, fmt::format("no built-in model is named \"{}\"", excerpt(name)),
                     or_short_form(did_you_mean(name, builtin_model_names())));
  }
  TRUNKLINE_ASSIGN(value, io::parse_json(*text, fmt::format("built-in models/{}/config.json", name)));
  return model_from(value, name);
}

Result<Model> read_model(const std::string& path) {
  TRUNKLINE_ASSIGN(value, io::read_value(path));
  if (!value.is_map())
    return bad_input(value.where(), fmt::format("found {}, expected the configuration of a model", value.describe()),
                     "a Hugging Face config.json, or a YAML file of model keys");
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
