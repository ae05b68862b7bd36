#include "cli/output.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/named_files.hpp"
#include "io/files.hpp"

namespace trunkline::cli {
namespace {

constexpr int kDefaultWidth = 100, kNarrowest = 40, kWidest = 400;

const std::vector<std::string> kColors = {"auto", "always", "never"};
const std::vector<std::string> kExtensions = {".json", ".csv", ".md"};

// COLUMNS where it is set, else the terminal's own width.
int terminal_width() {
  if (const char* columns = std::getenv("COLUMNS")) {
    const auto width = parse_integer(columns);
    if (width && *width > 0) return int(std::clamp<std::int64_t>(*width, kNarrowest, kWidest));
  }
  for (int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {  // of a pipe's reader the terminal is known by standard error
    winsize size{};
    if (::isatty(descriptor) && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
      return std::clamp<int>(size.ws_col, kNarrowest, kWidest);
    }
  }
  return kDefaultWidth;
}

std::string extension_of(const std::string& path) { return lower(std::filesystem::path(path).extension().string()); }

}  // namespace

void Output::add_color_option(CLI::App& app) { app.add_option("--color", color_, "colour: auto, always or never")->type_name("WHEN"); }

void Output::add_options(CLI::App& app, bool yaml) {
  app.add_option("--json", json_, "write the answer as JSON; - is standard output")->type_name("FILE")->group(kWritten);
  app.add_option("-o,--output", file_,
                 yaml ? "write the answer by extension: .yaml, .json, .csv or .md" : "write the answer by extension: .json, .csv or .md")
      ->type_name("FILE")
      ->group(kWritten);
  add_color_option(app);
}

Result<void> Output::prepare() const {
  if (std::find(kColors.begin(), kColors.end(), color_) == kColors.end()) {
    return usage_error(fmt::format("--color takes auto, always or never, found \"{}\"", excerpt(color_)), did_you_mean(color_, kColors));
  }
  if (!json_.empty() && json_ != "-") TRUNKLINE_TRY(check_writable(json_));
  if (file_.empty()) return {};
  const std::string extension = extension_of(file_);
  if (yaml_ && (extension == ".yaml" || extension == ".yml")) return check_writable(file_);
  if (std::find(kExtensions.begin(), kExtensions.end(), extension) == kExtensions.end()) {
    return usage_error(fmt::format("-o {}: the extension says the form, and \"{}\" is none of .json, .csv and .md", file_, extension),
                       "write for example -o result.json; for standard output use --json -");
  }
  return check_writable(file_);
}

std::vector<std::string> Output::json_files() const {
  std::vector<std::string> out;
  if (!json_.empty() && json_ != "-") out.push_back(json_);
  if (!file_.empty() && extension_of(file_) == ".json") out.push_back(file_);
  return out;
}

Result<void> Output::write(const report::Document& document) const {
  Result<void> done;
  if (!file_.empty()) {
    const std::string extension = extension_of(file_);
    if (extension == ".csv" && document.data.columns.empty())
      return usage_error(fmt::format("-o {}: this answer has no rows", file_), "write it as .json or .md");
    done = write_answer(file_, extension == ".json"                   ? document.json
                               : yaml_ && extension.starts_with(".y") ? document.yaml
                               : extension == ".csv"                  ? report::to_csv(document.data)
                                                                      : report::to_markdown(document));
  }
  if (!json_.empty() && json_ != "-") {
    if (auto written = write_answer(json_, document.json); !written) done = std::move(written);
  }
  // Printed also where a file could not be written: the answer took work.
  TRUNKLINE_TRY(print(json_ == "-" ? document.json : report::to_text(document, style())));
  return done;
}

Result<void> Output::print(const std::string& text) const {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return {};
  return fail({ErrorKind::failed, fmt::format("standard output: {}", std::strerror(errno)), {}, {}});
}

void Output::progress(const std::string& line) const { say(line + "\n"); }

bool Output::color_on(int descriptor) const {
  if (color_ == "always") return true;
  if (color_ == "never") return false;
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if ((no_color && *no_color) || (terminal && std::string_view(terminal) == "dumb")) return false;
  return ::isatty(descriptor) == 1;
}

report::TextStyle Output::style() const { return {terminal_width(), color_on(STDOUT_FILENO)}; }
report::TextStyle Output::error_style() const { return {terminal_width(), color_on(STDERR_FILENO)}; }

Result<void> check_writable(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return bad_input({path, 0}, "this is a directory, a file was to be written");
    if (::access(path.c_str(), W_OK) == 0) return {};
    return bad_input({path, 0}, fmt::format("cannot be written: {}", std::strerror(errno)));
  }
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  if (::access(folder.c_str(), W_OK) == 0) return {};
  return bad_input({path, 0}, fmt::format("cannot be written: {}: {}", folder.string(), std::strerror(errno)),
                   errno == ENOENT ? fmt::format("mkdir -p {}", folder.string()) : std::string());
}

Result<void> write_answer(const std::string& path, const std::string& content) {
  TRUNKLINE_TRY(check_not_read(path));
  return io::write_file(path, content);
}

void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

}  // namespace trunkline::cli
