// Help pages, made from the commands' own tables: for the terminal, and as the reference page docs/cli.md.
#pragma once

#include <string>

#include "cli/command.hpp"

namespace trunkline::cli {

std::string overview_text(const CLI::App& app, const report::TextStyle& style);
std::string help_text(const Command& command, const CLI::App& parser, const report::TextStyle& style);
std::string reference_markdown();  // docs/cli.md
std::string keys_markdown();       // docs/formats.md

struct Topic {
  std::string name, summary, text;
};
const std::vector<Topic>& topics();

}  // namespace trunkline::cli
