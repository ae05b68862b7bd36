// Small text helpers that every reader needs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trunkline {
inline namespace base {

std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
std::string lower(std::string_view text);
std::string join(std::span<const std::string> parts, std::string_view separator);

// `text` fit for a message: control characters and broken UTF-8 become ?, and it is cut to about `most` bytes.
std::string excerpt(std::string_view text, std::size_t most = 60);

// Where the first byte stands that is not UTF-8 (overlong forms and surrogates are not).
std::optional<std::size_t> first_invalid_utf8(std::string_view text);

// Number of single-character insertions, deletions, replacements and swaps of neighbours between a and b.
int edit_distance(std::string_view a, std::string_view b);

// The up to `most` candidates nearest to `word`, nearest first; empty when none is close. Case counts for little.
std::vector<std::string> nearest(std::string_view word, std::span<const std::string> candidates, std::size_t most = 3);

// "did you mean a, b or c?"; without near candidates, "one of: …" (cut to a readable length).
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace base
}  // namespace trunkline
