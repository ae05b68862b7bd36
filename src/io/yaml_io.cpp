#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "base/text.hpp"
#include "io/files.hpp"
#include "io/value.hpp"

namespace trunkline::io {
namespace {

constexpr std::size_t kMaxText = 16 << 20;
constexpr std::size_t kMaxNodes = 1'000'000;
constexpr std::size_t kMaxAliased = 100'000;  // what aliases may add, in the units of weight()
constexpr std::size_t kMaxDepth = 64;

// What a copy costs: nodes, and their text in pieces of 64 bytes.
std::size_t weight(const Value& value) {
  std::size_t sum = 1 + value.text().size() / 64;
  for (const auto& item : value.items()) sum += weight(item);
  for (const auto& [key, field] : value.fields()) sum += weight(field) + key.size() / 64;
  return sum;
}

struct Stop {
  Error error;
};

// Builds the tree from the parser's events. Aliases are expanded by copying, so their cost is checked before each copy:
// nine lines of aliases of aliases ask for a billion nodes.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(const std::string& file) : file_(std::make_shared<const std::string>(file)) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (started_) stop(mark, "a second document (---) begins here", "one file holds one document: split it");
    started_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    // Nothing behind a key is noticed only at the next token: the key's line says more.
    const bool of_key = !stack_.empty() && stack_.back().key;
    add(Value::null(file_, of_key ? stack_.back().key_line : line(mark)), mark, anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, const std::string& text) override {
    add(Value::scalar(file_, line(mark), text), mark, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(false, mark, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(true, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) stop(mark, "an alias (*name) that lies inside what it names", "write the value out");
    spend(mark, found->second.weight);
    if (stack_.size() + found->second.depth > kMaxDepth) too_deep(mark);
    add(found->second.value, mark, 0);
  }

  Value take() { return started_ ? std::move(root_) : Value::null(file_, 1); }

 private:
  struct Open {
    bool map;
    YAML::Mark mark;
    YAML::anchor_t anchor;
    std::size_t depth = 1;  // levels below and including this one
    std::vector<Value> items;
    std::vector<std::pair<std::string, Value>> fields;
    std::unordered_set<std::string> seen;
    std::optional<std::string> key;  // of a map, when its value comes next
    int key_line = 0;
  };
  struct Anchored {
    Value value;
    std::size_t weight;
    std::size_t depth;
  };

  static int line(const YAML::Mark& mark) { return mark.line + 1; }

  [[noreturn]] void stop(const YAML::Mark& mark, std::string message, std::string hint) const {
    throw Stop{{ErrorKind::bad_input, std::move(message), {*file_, line(mark)}, std::move(hint)}};
  }
  [[noreturn]] void too_deep(const YAML::Mark& mark) const {
    stop(mark, fmt::format("nested deeper than {} levels", kMaxDepth), "flatten it");
  }

  void spend(const YAML::Mark& mark, std::size_t cost) {
    aliased_ += cost;
    if (aliased_ > kMaxAliased)
      stop(mark, "the aliases (*name) of this file grow beyond measure", "write the values out instead of repeating aliases of aliases");
  }

  void open(bool map, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (stack_.size() >= kMaxDepth) too_deep(mark);
    if (!stack_.empty() && stack_.back().map && !stack_.back().key) stop(mark, "a key that is not plain text", "write it as key: value");
    stack_.push_back({map, mark, anchor, 1, {}, {}, {}, {}, 0});
  }

  void close() {
    Open done = std::move(stack_.back());
    stack_.pop_back();
    if (!stack_.empty()) stack_.back().depth = std::max(stack_.back().depth, done.depth + 1);
    depth_of_last_ = done.depth;
    if (done.map)
      add(Value::map(file_, line(done.mark), std::move(done.fields)), done.mark, done.anchor);
    else
      add(Value::list(file_, line(done.mark), std::move(done.items)), done.mark, done.anchor);
  }

  void add(Value value, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (++nodes_ > kMaxNodes) stop(mark, "more than a million entries", "split the file");
    if (anchor) {
      const std::size_t cost = weight(value);
      spend(mark, cost);
      anchors_.insert_or_assign(anchor, Anchored{value, cost, value.is_map() || value.is_list() ? depth_of_last_ : 0});
    }
    if (stack_.empty()) {
      root_ = std::move(value);
      return;
    }
    Open& parent = stack_.back();
    if (!parent.map) {
      parent.items.push_back(std::move(value));
    } else if (parent.key) {
      parent.fields.emplace_back(std::move(*parent.key), std::move(value));
      parent.key.reset();
    } else {
      take_key(parent, value, mark);
    }
  }

  void take_key(Open& parent, const Value& key, const YAML::Mark& mark) const {
    if (!key.is_scalar()) stop(mark, "a key that is not plain text", "write it as key: value");
    if (key.text() == "<<") stop(mark, "the merge key << is not understood here", "write the merged keys out");
    if (!parent.seen.insert(key.text()).second)
      stop(mark, fmt::format("the key \"{}\" stands twice in one block", excerpt(key.text())), "keep one of them");
    parent.key = key.text();
    parent.key_line = line(mark);
  }

  std::shared_ptr<const std::string> file_;
  std::vector<Open> stack_;
  std::unordered_map<YAML::anchor_t, Anchored> anchors_;
  std::size_t nodes_ = 0, aliased_ = 0, depth_of_last_ = 0;
  bool started_ = false;
  Value root_;
};

}  // namespace

Result<Value> parse_yaml(std::string_view text, const std::string& file) {
  TRUNKLINE_TRY(check_text(text, file));
  if (text.size() > kMaxText)
    return bad_input({file, 0}, "larger than 16 MiB, which is the limit for YAML", "data of this size belongs into JSON or CSV");
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    Builder builder(file);
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.take();
  } catch (const YAML::Exception& problem) {
    return bad_input({file, problem.mark.is_null() ? 0 : problem.mark.line + 1}, fmt::format("not valid YAML: {}", problem.msg),
                     "check the indentation, the colons and the quotes near this line");
  } catch (Stop& stop) {
    return fail(std::move(stop.error));
  }
}

}  // namespace trunkline::io
