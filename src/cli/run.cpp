#include "cli/run.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/named_files.hpp"

namespace trunkline::cli {
namespace {

std::string command_line_of(int count, const char* const* arguments) {
  std::string out = "trunkline";
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    const bool plain = !argument.empty() && argument.find_first_of(" \t\n\"'\\$`*?[]{}()<>|&;#~!") == std::string_view::npos;
    if (plain) {
      out += fmt::format(" {}", argument);
      continue;
    }
    out += " '";
    for (char c : argument) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += "'";
  }
  return out;
}

// A standard stream that was closed (`>&-`) must not become the file that is opened next.
void occupy_standard_streams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) == -1) static_cast<void>(::open("/dev/null", O_RDONLY));  // takes the lowest number; writing fails
  }
}

int report_error(const Error& error, const Output& output) {
  say(fmt::format("{} {}\n", report::paint("error:", report::Tone::bad, output.error_style()), error.text()));
  return exit_status(error.kind);
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
    for (const auto& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// What the parser could not place: an unknown option, an unknown command, or one argument too many.
Result<void> check_extras(const CLI::App& app, const Command* command) {
  const std::vector<std::string> extras = app.remaining();
  if (extras.empty()) return {};
  const std::string& word = extras.front();
  const std::string more =
      command ? fmt::format("trunkline {} --help lists what it takes", command->name) : "trunkline --help lists the commands";
  if (word.starts_with("-") && word != "-") {
    const std::string name = word.substr(0, word.find('='));
    const auto names = option_names(app);
    const bool near = !nearest(name, names).empty();
    return usage_error(fmt::format("unknown option \"{}\"", excerpt(name)), near ? did_you_mean(name, names) : more);
  }
  if (command) return usage_error(fmt::format("{} takes no further argument, found \"{}\"", command->name, excerpt(word)), more);
  std::vector<std::string> names;
  for (const Command& c : commands()) names.push_back(c.name);
  return usage_error(fmt::format("unknown command \"{}\"", excerpt(word)), did_you_mean(word, names));
}

Result<int> run_parsed(CLI::App& app, const Command* command, const CLI::App& parser, const Action& action, Session& session, bool version,
                       bool help) {
  if (command && help) {
    TRUNKLINE_TRY(session.output.print(help_text(*command, parser, session.output.style())));
    return 0;
  }
  TRUNKLINE_TRY(check_extras(parser, command));
  if (command) {
    TRUNKLINE_TRY(check_named_files(parser));
    if (command->has_yaml) session.output.accept_yaml();
    TRUNKLINE_TRY(session.output.prepare());
    return action(session);
  }
  if (version) {
    TRUNKLINE_TRY(session.output.print(fmt::format("trunkline {}\n", TRUNKLINE_VERSION)));
    return 0;
  }
  if (!help) {
    say(overview_text(app, session.output.error_style()));
    return exit_status(ErrorKind::usage);
  }
  TRUNKLINE_TRY(session.output.print(overview_text(app, session.output.style())));
  return 0;
}

Result<int> run_command(int count, const char* const* arguments, Output& output) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  app.require_subcommand(0, 1);  // `help predict` is one command with the word predict
  bool help = false, version = false;
  app.add_flag("-h,--help", help, "this page");
  app.add_flag("--version", version, "the version");
  output.add_color_option(app);
  std::vector<CLI::App*> parsers;
  std::vector<Action> actions;
  for (const Command& command : commands()) {
    CLI::App* parser = app.add_subcommand(command.name, command.answers);
    parser->set_help_flag();
    parser->allow_extras();
    actions.push_back(command.declare(*parser));
    if (command.has_output)
      output.add_options(*parser, command.has_yaml);
    else
      output.add_color_option(*parser);
    parser->add_flag("-h,--help", help, "this page");
    parsers.push_back(parser);
  }
  Session session{{TRUNKLINE_VERSION, command_line_of(count, arguments)}, output};
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    const auto parsed = std::find_if(parsers.begin(), parsers.end(), [](const CLI::App* parser) { return parser->parsed(); });
    const std::string page = parsed == parsers.end() ? "trunkline --help" : fmt::format("trunkline {} --help", (*parsed)->get_name());
    std::string message = error.what();
    if (error.get_name() == "ArgumentMismatch") {
      const bool twice = message.find("At Most") != std::string::npos;
      message = message.substr(0, message.find(':')) + (twice ? " is given more than once" : " needs a value");
    }
    return usage_error(message, fmt::format("{} says what it takes", page));
  }
  for (std::size_t i = 0; i < parsers.size(); ++i) {
    if (parsers[i]->parsed()) return run_parsed(app, &commands()[i], *parsers[i], actions[i], session, version, help);
  }
  return run_parsed(app, nullptr, app, {}, session, version, help);
}

}  // namespace

tl::unexpected<Error> usage_error(std::string message, std::string hint) {
  return fail({ErrorKind::usage, std::move(message), {}, std::move(hint)});
}

int run(int count, const char* const* arguments) {
  occupy_standard_streams();
  Output output;
  try {
    const auto status = run_command(count, arguments, output);
    return status ? *status : report_error(status.error(), output);
  } catch (const std::bad_alloc&) {
    return report_error({ErrorKind::failed, "out of memory", {}, {}}, output);
  } catch (const std::exception& problem) {
    return report_error(
        {ErrorKind::failed, fmt::format("a fault in trunkline itself: {}", problem.what()), {}, "please report it with the command line"},
        output);
  }
}

}  // namespace trunkline::cli
