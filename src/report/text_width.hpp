// How wide UTF-8 text stands in a terminal, and cutting it into lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trunkline::report {

// Terminal columns: combining marks take none, East Asian wide characters and emoji two. Bytes that are no UTF-8 count as one each.
int width_of(std::string_view text);

// Lines of at most `width` columns, cut at spaces; a longer word is cut where the line ends. At least one line.
std::vector<std::string> wrap(std::string_view text, int width);

// The widest word, which a column should not be narrower than.
int longest_word(std::string_view text);

}  // namespace trunkline::report
