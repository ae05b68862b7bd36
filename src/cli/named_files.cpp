#include "cli/named_files.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <vector>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "io/files.hpp"

namespace trunkline::cli {
namespace {

namespace fs = std::filesystem;

struct Named {
  std::string option, path;
};

// Whether two names lead to one regular file, or would once it is there. Devices and pipes can be read and written as one likes.
bool same_file(const std::string& a, const std::string& b) {
  std::error_code problem;
  if (fs::exists(a, problem) && !fs::is_regular_file(a, problem)) return false;
  if (fs::equivalent(a, b, problem)) return true;
  const fs::path one = fs::weakly_canonical(fs::absolute(a, problem), problem),
                 other = fs::weakly_canonical(fs::absolute(b, problem), problem);
  return !problem && one == other;
}

tl::unexpected<Error> taken(const Named& output, const Named& other, bool input) {
  return usage_error(input ? fmt::format("{} {}: this is the file given as {}: it would be overwritten", output.option,
                                         excerpt(output.path, 200), other.option)
                           : fmt::format("{} {}: {} writes the same file", output.option, excerpt(output.path, 200), other.option),
                     "choose another name");
}

std::string name_of(const CLI::Option& option) { return option.get_positional() ? option.get_name(true) : option.get_name(); }

}  // namespace

Result<void> check_named_files(const CLI::App& parser) {
  std::vector<Named> inputs, outputs;
  for (const CLI::Option* option : parser.get_options()) {
    for (const std::string& text : option->results()) {
      if (text.empty()) return usage_error(fmt::format("{}: an empty value", name_of(*option)), "leave the option out, or give it a value");
      if (option->get_group() == kWritten) {
        if (text != "-") outputs.push_back({name_of(*option), text});
        continue;
      }
      inputs.push_back({name_of(*option), text});
      for (const auto piece : split(text, ',')) inputs.push_back({name_of(*option), std::string(piece)});  // runs joined by commas
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (const Named& input : inputs) {
      if (same_file(outputs[i].path, input.path)) return taken(outputs[i], input, true);
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (same_file(outputs[i].path, outputs[j].path)) return taken(outputs[i], outputs[j], false);
    }
  }
  return {};
}

Result<void> check_not_read(const std::string& path) {
  if (!io::was_read(path)) return {};
  return usage_error(fmt::format("{}: this command has read this file: it would be overwritten", excerpt(path, 200)),
                     "choose another name");
}

}  // namespace trunkline::cli
