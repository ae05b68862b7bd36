#include "base/text.hpp"

#include <algorithm>
#include <cctype>

namespace trunkline {
inline namespace base {

std::string_view trim(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = char(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i) out += separator;
    out += parts[i];
  }
  return out;
}

int edit_distance(std::string_view a, std::string_view b) {
  constexpr std::size_t kLongest = 256;  // names are short; this bounds the work on hostile input
  a = a.substr(0, kLongest);
  b = b.substr(0, kLongest);
  std::vector<int> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = int(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = int(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

std::vector<std::string> nearest(std::string_view word, std::span<const std::string> candidates, std::size_t most) {
  std::vector<std::pair<int, const std::string*>> scored;
  const std::string wanted = lower(word);
  for (const auto& candidate : candidates) {
    const std::string name = lower(candidate);
    int distance = edit_distance(wanted, name);
    if (wanted.size() >= 3 && name.find(wanted) != std::string::npos) distance = std::min(distance, 1);
    const int limit = std::max<int>(2, int(std::min(wanted.size(), name.size())) / 2);
    if (distance <= limit) scored.emplace_back(distance, &candidate);
  }
  std::stable_sort(scored.begin(), scored.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<std::string> out;
  for (const auto& [distance, name] : scored) {
    if (out.size() == most) break;
    out.push_back(*name);
  }
  return out;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const auto near = nearest(word, candidates);
  if (!near.empty()) {
    std::string out = "did you mean ";
    for (std::size_t i = 0; i < near.size(); ++i) {
      if (i) out += i + 1 == near.size() ? " or " : ", ";
      out += near[i];
    }
    return out + "?";
  }
  if (candidates.empty()) return {};
  std::string out = "one of: ";
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (out.size() > 160) return out + ", …";
    if (i) out += ", ";
    out += candidates[i];
  }
  return out;
}

}  // namespace base
}  // namespace trunkline
