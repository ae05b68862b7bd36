#include <fmt/format.h>

#include <memory>

#include "base/text.hpp"
#include "cli/cmd.hpp"
#include "cli/help.hpp"

namespace trunkline::cli {
namespace {

Result<int> help(const std::string& word, Session& session) {
  const report::TextStyle style = session.output.style();
  std::vector<std::string> names = {"keys", "reference"};
  for (const Topic& topic : topics()) {
    if (topic.name == word) {
      TRUNKLINE_TRY(session.output.print(topic.text));
      return 0;
    }
    names.push_back(topic.name);
  }
  for (const Command& command : commands()) {
    if (command.name == word) {
      CLI::App parser;
      parser.set_help_flag();
      command.declare(parser);
      if (command.has_output) session.output.add_options(parser, command.has_yaml);
      TRUNKLINE_TRY(session.output.print(help_text(command, parser, style)));
      return 0;
    }
    names.push_back(command.name);
  }
  if (word == "reference" || word == "keys") {
    TRUNKLINE_TRY(session.output.print(word == "keys" ? keys_markdown() : reference_markdown()));
    return 0;
  }
  if (!word.empty()) return usage_error(fmt::format("no help on \"{}\"", excerpt(word)), did_you_mean(word, names));
  report::Document page;
  page.heading("trunkline help TOPIC");
  report::Table table;
  table.columns = {{""}, {""}};
  table.bullets = true;
  for (const Topic& topic : topics()) table.add({"  " + topic.name, topic.summary});
  for (const Command& command : commands()) table.add({"  " + command.name, command.answers});
  table.add({"  keys", "every key of a job and a platform file, as Markdown"});
  table.add({"  reference", "every command, as Markdown"});
  page.blocks.emplace_back(table);
  TRUNKLINE_TRY(session.output.print(report::to_text(page, style)));
  return 0;
}

}  // namespace

Command help_command() {
  Command command;
  command.name = "help";
  command.arguments = "[TOPIC]";
  command.answers = "how units are written, which files there are, what exit statuses mean";
  command.examples = {{"trunkline help units", "also: formats, exit, and every command"}};
  command.has_output = false;
  command.declare = [](CLI::App& app) -> Action {
    auto word = std::make_shared<std::string>();
    app.add_option("TOPIC", *word, "units, formats, exit, or a command");
    return [word](Session& session) { return help(*word, session); };
  };
  return command;
}

}  // namespace trunkline::cli
