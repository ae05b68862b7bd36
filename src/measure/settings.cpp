#include "measure/settings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace trunkline::measure {
namespace {

tl::unexpected<Error> usage(const Option& option, std::string message, std::string hint) {
  return fail({ErrorKind::usage, fmt::format("--{}: {}", option.name(), message), {}, std::move(hint)});
}

Result<void> at_least(const Option& option, double value, const std::string& text) {
  if (!option.min || value >= *option.min) return {};
  const std::string least = option.kind == OptionKind::bytes  ? to_text(Bytes(std::int64_t(*option.min)))
                            : option.kind == OptionKind::time ? to_text(seconds(*option.min))
                                                              : fmt::format("{}", *option.min);
  return usage(option, fmt::format("\"{}\" is too small", excerpt(text)), fmt::format("at least {}", least));
}

template <class T, class Read>
Result<void> check_form(const Option& option, const std::string& text, const Result<T>& parsed, Read read) {
  if (!parsed) return usage(option, parsed.error().message, parsed.error().hint);
  return at_least(option, read(*parsed), text);
}

Result<void> check_value(const Option& option, const std::string& text) {
  const auto plain = [](auto value) { return double(value); };
  switch (option.kind) {
    case OptionKind::flag: return {};
    case OptionKind::bytes: return check_form(option, text, parse_bytes(text), [](Bytes b) { return double(b.count()); });
    case OptionKind::time: return check_form(option, text, parse_seconds(text), [](Seconds s) { return s.si(); });
    case OptionKind::integer: return check_form(option, text, parse_integer(text), plain);
    case OptionKind::number: return check_form(option, text, parse_number(text), plain);
    case OptionKind::text: break;
  }
  if (option.choices.empty() || std::find(option.choices.begin(), option.choices.end(), text) != option.choices.end()) return {};
  return usage(option, fmt::format("\"{}\" is not known", excerpt(text)), did_you_mean(text, option.choices));
}

template <class T, class Parse>
std::optional<T> parsed(const std::optional<std::string>& text, Parse parse) {
  if (!text) return std::nullopt;
  const auto value = parse(*text);
  return value ? std::optional<T>(*value) : std::nullopt;
}

}  // namespace

std::string Option::name() const {
  const auto at = flags.find("--");
  return at == std::string::npos ? flags : flags.substr(at + 2);
}

std::optional<std::string> Settings::text(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}
std::optional<Bytes> Settings::bytes(std::string_view name) const { return parsed<Bytes>(text(name), parse_bytes); }
std::optional<std::int64_t> Settings::integer(std::string_view name) const { return parsed<std::int64_t>(text(name), parse_integer); }
std::optional<double> Settings::number(std::string_view name) const { return parsed<double>(text(name), parse_number); }
std::optional<Seconds> Settings::time(std::string_view name) const { return parsed<Seconds>(text(name), parse_seconds); }

Result<void> check(const std::vector<Option>& options, const Settings& settings) {
  for (const Option& option : options) {
    if (const auto text = settings.text(option.name())) TRUNKLINE_TRY(check_value(option, *text));
  }
  return {};
}

}  // namespace trunkline::measure
