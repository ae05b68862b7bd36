#include "report/text_width.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text.hpp"

namespace trunkline::report {
namespace {

struct Range {
  std::uint32_t first, last;
};

// Unicode 15, categories Mn, Me and Cf, as far as they occur in text for people.
constexpr std::array kZeroWidth = {Range{0x0300, 0x036F}, Range{0x0483, 0x0489}, Range{0x0591, 0x05BD}, Range{0x0610, 0x061A},
                                   Range{0x064B, 0x065F}, Range{0x0E31, 0x0E31}, Range{0x0E34, 0x0E3A}, Range{0x1AB0, 0x1AFF},
                                   Range{0x1DC0, 0x1DFF}, Range{0x200B, 0x200F}, Range{0x202A, 0x202E}, Range{0x2060, 0x2064},
                                   Range{0x20D0, 0x20FF}, Range{0xFE00, 0xFE0F}, Range{0xFE20, 0xFE2F}, Range{0xFEFF, 0xFEFF}};

// Unicode 15, East Asian Width W and F.
constexpr std::array kDoubleWidth = {Range{0x1100, 0x115F},  Range{0x231A, 0x231B},   Range{0x2E80, 0x303E},   Range{0x3041, 0x33FF},
                                     Range{0x3400, 0x4DBF},  Range{0x4E00, 0x9FFF},   Range{0xA000, 0xA4CF},   Range{0xA960, 0xA97F},
                                     Range{0xAC00, 0xD7A3},  Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},
                                     Range{0xFFE0, 0xFFE6},  Range{0x1F300, 0x1F64F}, Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1F9FF},
                                     Range{0x20000, 0x3FFFD}};

template <std::size_t N>
bool within(const std::array<Range, N>& ranges, std::uint32_t code) {
  return std::any_of(ranges.begin(), ranges.end(), [code](Range r) { return code >= r.first && code <= r.last; });
}

struct Character {
  std::size_t bytes = 1;
  int columns = 1;
};

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return std::uint32_t(static_cast<unsigned char>(text[i])); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {1, lead < 0x20 || lead == 0x7F ? 0 : 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 1;
  if (bytes == 1 || bytes > text.size()) return {1, 1};
  std::uint32_t code = lead & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {1, 1};
    code = code << 6 | (byte(i) & 0x3F);
  }
  return {bytes, within(kZeroWidth, code) ? 0 : within(kDoubleWidth, code) ? 2 : 1};
}

// Bytes of the longest beginning of `text` that is at most `width` columns wide; at least one character.
std::size_t fitting(std::string_view text, int width) {
  std::size_t at = 0;
  int columns = 0;
  while (at < text.size()) {
    const Character c = first_character(text.substr(at));
    if (columns + c.columns > width && at > 0) break;
    at += c.bytes;
    columns += c.columns;
  }
  return at;
}

}  // namespace

int width_of(std::string_view text) {
  int columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character c = first_character(text.substr(at));
    at += c.bytes;
    columns += c.columns;
  }
  return columns;
}

std::vector<std::string> wrap(std::string_view text, int width) {
  width = std::max(width, 1);
  std::vector<std::string> lines(1);
  int used = 0;
  bool begun = false;  // the line holds a word, if only an empty one: indentation is kept
  for (std::string_view word : split(text, ' ')) {
    if (begun && used > 0 && used + 1 + width_of(word) > width) {
      lines.emplace_back();
      used = 0;
    } else if (begun) {
      lines.back() += ' ';
      used += 1;
    }
    while (used + width_of(word) > width) {
      const std::size_t bytes = fitting(word, width - used);
      lines.back() += word.substr(0, bytes);
      lines.emplace_back();
      used = 0;
      word.remove_prefix(bytes);
    }
    lines.back() += word;
    used += width_of(word);
    begun = true;
  }
  return lines;
}

int longest_word(std::string_view text) {
  int most = 0;
  for (std::string_view word : split(text, ' ')) most = std::max(most, width_of(word));
  return most;
}

}  // namespace trunkline::report
