#include "cli/help.hpp"

#include <fmt/format.h>

#include "report/text_width.hpp"

namespace trunkline::cli {
namespace {

using report::Paragraph;
using report::Table;
using report::Tone;

Table list() {
  Table table;
  table.columns = {{""}, {"", report::Align::left, true}};
  table.bullets = true;
  return table;
}

// A line of shell each, below what it shows: never too wide to be copied.
void add_example(const Example& example, const report::TextStyle& style, std::string& out) {
  out += report::paint("  # " + example.shows, Tone::dim, style) + "\n  " + example.line + "\n";
}

std::string option_form(const CLI::Option& option) {
  if (option.nonpositional()) {
    std::string names;
    for (const auto& name : option.get_snames()) names += (names.empty() ? "-" : ", -") + name;
    for (const auto& name : option.get_lnames()) names += (names.empty() ? "--" : ", --") + name;
    return option.get_type_name().empty() ? names : names + " " + option.get_type_name();
  }
  return option.get_name();
}

Table options_of(const CLI::App& parser) {
  Table table = list();
  for (const CLI::Option* option : parser.get_options()) table.add({"  " + option_form(*option), option->get_description()});
  return table;
}

std::string usage_of(const Command& command) {
  return fmt::format("trunkline {}{}{} [options]", command.name, command.arguments.empty() ? "" : " ", command.arguments);
}

}  // namespace

std::string overview_text(const CLI::App& app, const report::TextStyle& style) {
  report::Document page;
  page.heading("trunkline: how fast a machine really trains a model, and why it is not faster");
  std::string examples;
  constexpr std::size_t kShown = 4;
  for (std::size_t i = 0; i < kShown; ++i) add_example(commands()[i].examples.front(), style, examples);
  page.blocks.emplace_back(report::Verbatim{examples});
  page.heading("commands");
  Table names = list();
  for (const Command& command : commands()) names.add({"  " + command.name, command.answers});
  page.blocks.emplace_back(names);
  page.heading("options");
  page.blocks.emplace_back(options_of(app));
  page.paragraph("trunkline COMMAND --help shows its options.", Tone::dim);
  return report::to_text(page, style);
}

std::string help_text(const Command& command, const CLI::App& parser, const report::TextStyle& style) {
  report::Document page;
  page.heading(fmt::format("trunkline {}: {}", command.name, command.answers));
  std::string examples;
  for (const Example& example : command.examples) add_example(example, style, examples);
  if (!examples.empty()) page.blocks.emplace_back(report::Verbatim{examples});
  page.paragraph("usage: " + usage_of(command));
  page.blocks.emplace_back(options_of(parser));
  if (!command.notes.empty()) page.paragraph(command.notes, Tone::dim);
  return report::to_text(page, style);
}

std::string reference_markdown() {
  std::string out = "# Command reference\n\nMade by `trunkline help reference`; a test compares this page with the program.\n";
  for (const Command& command : commands()) {
    CLI::App parser;
    parser.set_help_flag();
    Output output;
    command.declare(parser);
    if (command.has_output) output.add_options(parser, command.has_yaml);
    out += fmt::format("\n## trunkline {}\n{}.\n\n```\n{}\n```\n\n", command.name, command.answers, usage_of(command));
    for (const Example& example : command.examples) out += fmt::format("- `{}`: {}\n", example.line, example.shows);
    Table options;
    options.columns = {{"option"}, {"meaning"}};
    for (const CLI::Option* option : parser.get_options()) options.add({"`" + option_form(*option) + "`", option->get_description()});
    if (!options.rows.empty()) out += "\n" + report::to_markdown(options);
    if (!command.notes.empty()) out += "\n" + command.notes + "\n";
  }
  for (const Topic& topic : topics()) out += fmt::format("\n## help {}: {}\n```\n{}```\n", topic.name, topic.summary, topic.text);
  return out;
}

}  // namespace trunkline::cli
