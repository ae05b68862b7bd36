#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "io/value.hpp"

namespace trunkline::io {
namespace {

constexpr int kMaxDepth = 64;

int line_of(std::string_view text, std::size_t byte) {
  return 1 + int(std::count(text.begin(), text.begin() + std::ptrdiff_t(std::min(byte, text.size())), '\n'));
}

// Builds the tree while tracking the byte at which each value ends, which gives its line.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(std::string_view text, const std::string& file) : text_(text), file_(std::make_shared<const std::string>(file)) {}

  bool null() override { return add(Value::null(file_, line_)); }
  bool boolean(bool v) override { return add(Value::scalar(file_, line_, v ? "true" : "false")); }
  bool number_integer(number_integer_t v) override { return add(Value::scalar(file_, line_, fmt::format("{}", v))); }
  bool number_unsigned(number_unsigned_t v) override { return add(Value::scalar(file_, line_, fmt::format("{}", v))); }
  bool number_float(number_float_t, const string_t& text) override { return add(Value::scalar(file_, line_, text)); }
  bool string(string_t& v) override { return add(Value::scalar(file_, line_, v)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(true); }
  bool start_array(std::size_t) override { return open(false); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    // Keys come in file order, so the next occurrence of the quoted name is this one.
    const auto at = text_.find("\"" + name + "\"", cursor_);
    if (at != std::string_view::npos) {
      line_ += int(std::count(text_.begin() + std::ptrdiff_t(cursor_), text_.begin() + std::ptrdiff_t(at), '\n'));
      cursor_ = at;
    }
    stack_.back().keys.push_back(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& problem) override {
    std::string reason = problem.what();
    if (const auto colon = reason.find("syntax error"); colon != std::string::npos) reason = reason.substr(colon);
    const bool cut = position + 1 >= text_.size();
    error_ = Error{ErrorKind::bad_input, fmt::format("not valid JSON: {}", reason.substr(0, 160)), {*file_, line_of(text_, position)},
                   cut ? "the file seems to be cut off: fetch it again" : "check the commas, quotes and brackets near this line"};
    return false;
  }

  Result<Value> take() {
    if (error_) return fail(*error_);
    return std::move(root_);
  }

 private:
  struct Open {
    bool map;
    int line;
    std::vector<std::string> keys;
    std::vector<Value> values;
  };

  bool open(bool map) {
    if (int(stack_.size()) >= kMaxDepth) {
      error_ = Error{ErrorKind::bad_input, fmt::format("nested deeper than {} levels", kMaxDepth), {*file_, line_}, {}};
      return false;
    }
    stack_.push_back({map, line_, {}, {}});
    return true;
  }

  bool close() {
    Open done = std::move(stack_.back());
    stack_.pop_back();
    if (!done.map) return add(Value::list(file_, done.line, std::move(done.values)));
    std::vector<std::pair<std::string, Value>> fields;
    for (std::size_t i = 0; i < done.keys.size(); ++i) fields.emplace_back(std::move(done.keys[i]), std::move(done.values[i]));
    return add(Value::map(file_, done.line, std::move(fields)));
  }

  bool add(Value value) {
    if (stack_.empty()) root_ = std::move(value);
    else stack_.back().values.push_back(std::move(value));
    return true;
  }

  std::string_view text_;
  std::shared_ptr<const std::string> file_;
  std::vector<Open> stack_;
  std::size_t cursor_ = 0;
  int line_ = 1;
  Value root_;
  std::optional<Error> error_;
};

}  // namespace

Result<Value> parse_json(std::string_view text, const std::string& file) {
  Builder builder(text, file);
  try {
    nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  } catch (const nlohmann::json::exception& problem) {
    return bad_input({file, 0}, fmt::format("not valid JSON: {}", problem.what()));
  }
  return builder.take();
}

}  // namespace trunkline::io
