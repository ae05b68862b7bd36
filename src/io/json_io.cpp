#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>

#include "base/text.hpp"
#include "io/files.hpp"
#include "io/value.hpp"

namespace trunkline::io {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxNodes = 1'000'000;

struct Position {
  int line = 1;  // on which the character lies that the parser took last
  int next_line = 1;
  bool at_end = false;  // the parser asked for more than there is
};

// Walks the text and keeps count of lines. An event fires right behind its token, or, for a number, behind the one character
// that ends it; either way the character taken last lies on the token's line.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, Position* position) : at_(at), position_(position) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    position_->line = position_->next_line;
    if (*at_++ == '\n') ++position_->next_line;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& end) {
    a.position_->at_end |= a.at_ == end.at_;
    return a.at_ == end.at_;
  }

 private:
  const char* at_;
  Position* position_;
};

// The parser's words without its code, and what it read last cut to a short cell: the file may be anything, also a secret.
std::string parser_words(std::string words) {
  if (const auto start = words.find("] "); start != std::string::npos) words = words.substr(start + 2);
  if (const auto start = words.find("syntax error"); start != std::string::npos) words = words.substr(start);
  constexpr std::string_view kLast = "last read: '";
  const auto from = words.find(kLast), to = words.rfind('\'');
  if (from != std::string::npos && to > from + kLast.size()) {
    const std::string token = excerpt(std::string_view(words).substr(from + kLast.size(), to - from - kLast.size()), 30);
    words = words.substr(0, from + kLast.size()) + token + words.substr(to);
  }
  return excerpt(words, 160);
}

// Builds the tree from the parser's events.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(const std::string& file, const Position& position, bool repeated_keys)
      : file_(std::make_shared<const std::string>(file)), position_(position), repeated_keys_(repeated_keys) {}

  bool null() override { return add(Value::null(file_, line())); }
  bool boolean(bool v) override { return add_scalar(v ? "true" : "false"); }
  bool number_integer(number_integer_t v) override { return add_scalar(fmt::format("{}", v)); }
  bool number_unsigned(number_unsigned_t v) override { return add_scalar(fmt::format("{}", v)); }
  bool number_float(number_float_t, const string_t& text) override { return add_scalar(text); }
  bool string(string_t& v) override { return add_scalar(std::move(v)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(true); }
  bool start_array(std::size_t) override { return open(false); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Open& parent = stack_.back();
    if (!parent.seen.insert(name).second && !repeated_keys_)
      return stop(fmt::format("the key \"{}\" stands twice in one block", excerpt(name)), "keep one of them");
    parent.key = std::move(name);
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& problem) override {
    error_ = Error{ErrorKind::bad_input,
                   fmt::format("not valid JSON: {}", parser_words(problem.what())),
                   {*file_, line()},
                   position_.at_end ? "the file seems to be cut off: write or fetch it again"
                                    : "check the commas, quotes and brackets near this line"};
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
    std::string key;
    std::unordered_set<std::string> seen;
    std::vector<Value> items;
    std::vector<std::pair<std::string, Value>> fields;
  };

  int line() const { return position_.line; }

  bool stop(std::string message, std::string hint) {
    error_ = Error{ErrorKind::bad_input, std::move(message), {*file_, line()}, std::move(hint)};
    return false;
  }

  bool open(bool map) {
    if (stack_.size() >= kMaxDepth) return stop(fmt::format("nested deeper than {} levels", kMaxDepth), "flatten it");
    stack_.push_back({map, line(), {}, {}, {}, {}});
    return true;
  }

  bool close() {
    Open done = std::move(stack_.back());
    stack_.pop_back();
    if (done.map) return add(Value::map(file_, done.line, std::move(done.fields)));
    return add(Value::list(file_, done.line, std::move(done.items)));
  }

  bool add_scalar(std::string text) { return add(Value::scalar(file_, line(), std::move(text))); }

  bool add(Value value) {
    if (++nodes_ > kMaxNodes) return stop("more than a million entries", "split the file");
    if (stack_.empty())
      root_ = std::move(value);
    else if (stack_.back().map)
      stack_.back().fields.emplace_back(std::move(stack_.back().key), std::move(value));
    else
      stack_.back().items.push_back(std::move(value));
    return true;
  }

  std::shared_ptr<const std::string> file_;
  const Position& position_;
  bool repeated_keys_;
  std::vector<Open> stack_;
  std::size_t nodes_ = 0;
  Value root_;
  std::optional<Error> error_;
};

Result<Value> parse(std::string_view text, const std::string& file, bool repeated_keys) {
  TRUNKLINE_TRY(check_text(text, file));
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (trim(text).empty())
    return bad_input({file, 0}, "this file is empty, JSON was expected", "the file seems to be cut off: write or fetch it again");
  Position position;
  Builder builder(file, position, repeated_keys);
  try {
    nlohmann::json::sax_parse(CountingIterator(text.data(), &position), CountingIterator(text.data() + text.size(), &position), &builder);
  } catch (const nlohmann::json::exception& problem) {
    return bad_input({file, position.line}, fmt::format("not valid JSON: {}", parser_words(problem.what())));
  }
  return builder.take();
}

}  // namespace

std::string json_quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<Value> parse_json(std::string_view text, const std::string& file) { return parse(text, file, false); }

Result<Value> parse_foreign_json(std::string_view text, const std::string& file) { return parse(text, file, true); }

}  // namespace trunkline::io
