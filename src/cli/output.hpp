// Where an answer goes: standard output for people, files and pipes for programs.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "report/document.hpp"

namespace CLI {
class App;
}

namespace trunkline::cli {

class Output {
 public:
  void add_color_option(CLI::App& app);
  void add_options(CLI::App& app, bool yaml = false);
  void accept_yaml() { yaml_ = true; }  // of the command that runs

  // Before the work: the options make sense and every file can be written.
  Result<void> prepare() const;

  // The files that get the answer as JSON, for work that rewrites them while it goes on; without standard output.
  std::vector<std::string> json_files() const;

  // `--json -` leaves nothing but the JSON on standard output.
  Result<void> write(const report::Document& document) const;

  // Text on standard output; a reader that is gone or a full disk is an error.
  Result<void> print(const std::string& text) const;

  // One line on standard error, as for progress. Where nobody hears it, nothing happens.
  void progress(const std::string& line) const;

  report::TextStyle style() const;        // of standard output
  report::TextStyle error_style() const;  // of standard error

 private:
  bool color_on(int descriptor) const;

  std::string json_, file_, color_ = "auto";
  bool yaml_ = false;
};

// Another file that a command writes (a timeline, fitted constants): says before the work that it cannot be written.
Result<void> check_writable(const std::string& path);

// Writes it, unless the command has read it.
Result<void> write_answer(const std::string& path, const std::string& content);

// Text on standard error, wherever that leads.
void say(const std::string& text);

}  // namespace trunkline::cli
