#include "report/table.hpp"

#include <algorithm>
#include <numeric>

#include "io/csv.hpp"
#include "report/text_width.hpp"

namespace trunkline::report {
namespace {

constexpr int kGap = 2;             // spaces between columns
constexpr int kNarrowest = 12;      // a wrapped column is not made narrower than this
constexpr int kWidestMinimum = 24;  // a longer word than this is cut rather than kept whole

const Cell& cell_of(const std::vector<Cell>& row, std::size_t column) {
  static const Cell empty;
  return column < row.size() ? row[column] : empty;
}

std::vector<int> natural_widths(const Table& table) {
  std::vector<int> widths;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    int width = width_of(table.columns[c].heading);
    for (const auto& row : table.rows) width = std::max(width, width_of(cell_of(row, c).text));
    widths.push_back(width);
  }
  return widths;
}

int narrowest(const Table& table, std::size_t column) {
  int width = longest_word(table.columns[column].heading);
  for (const auto& row : table.rows) width = std::max(width, longest_word(cell_of(row, column).text));
  return std::max(kNarrowest, std::min(width, kWidestMinimum));
}

int total(const std::vector<int>& widths, const std::vector<std::size_t>& columns) {
  int sum = 0;
  for (std::size_t c : columns) sum += widths[c];
  return sum + kGap * std::max(0, int(columns.size()) - 1);
}

// Takes width from the columns that may wrap, the widest first, until the table fits or none can give more.
void shrink(const Table& table, std::vector<int>& widths, int available) {
  std::vector<std::size_t> all(widths.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  while (total(widths, all) > available) {
    std::size_t widest = widths.size();
    for (std::size_t c = 0; c < widths.size(); ++c) {
      if (!table.columns[c].wraps || widths[c] <= narrowest(table, c)) continue;
      if (widest == widths.size() || widths[c] > widths[widest]) widest = c;
    }
    if (widest == widths.size()) return;
    --widths[widest];
  }
}

// Groups of columns that fit side by side; each group starts with the key columns.
std::vector<std::vector<std::size_t>> blocks_of(const Table& table, const std::vector<int>& widths, int available) {
  std::vector<std::vector<std::size_t>> blocks;
  const std::size_t keys = std::min(std::size_t(std::max(0, table.keys)), widths.size());
  std::vector<std::size_t> key_columns(keys);
  std::iota(key_columns.begin(), key_columns.end(), std::size_t{0});
  std::vector<std::size_t> block = key_columns;
  for (std::size_t c = keys; c < widths.size(); ++c) {
    block.push_back(c);
    if (block.size() > keys + 1 && total(widths, block) > available) {
      block.pop_back();
      blocks.push_back(std::exchange(block, key_columns));
      block.push_back(c);
    }
  }
  blocks.push_back(std::move(block));
  return blocks;
}

class TextWriter {
 public:
  TextWriter(const Table& table, const TextStyle& style) : table_(table), style_(style), widths_(natural_widths(table)) {
    shrink(table, widths_, style.width);
  }

  std::string write() {
    if (!table_.title.empty()) out_ += paint(table_.title, Tone::strong, style_) + "\n";
    const auto blocks = blocks_of(table_, widths_, style_.width);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (b > 0) out_ += "\n";
      block(blocks[b]);
    }
    return std::move(out_);
  }

 private:
  void block(const std::vector<std::size_t>& columns) {
    if (!table_.bullets) {
      std::vector<Cell> headings;
      for (const Column& column : table_.columns) headings.emplace_back(column.heading, Tone::strong);
      line(columns, headings);
      std::string rule;
      for (std::size_t i = 0; i < columns.size(); ++i) {
        if (i > 0) rule += std::string(kGap, ' ');
        for (int w = 0; w < widths_[columns[i]]; ++w) rule += "─";
      }
      out_ += paint(rule, Tone::dim, style_) + "\n";
    }
    for (const auto& row : table_.rows) line(columns, row);
  }

  // One row, as many lines high as its highest cell.
  void line(const std::vector<std::size_t>& columns, const std::vector<Cell>& row) {
    std::vector<std::vector<std::string>> parts;
    std::size_t height = 1;
    for (std::size_t c : columns) {
      parts.push_back(wrap(cell_of(row, c).text, widths_[c]));
      height = std::max(height, parts.back().size());
    }
    for (std::size_t l = 0; l < height; ++l) {
      std::string text;
      int wanted = 0;  // spaces owed before the next thing printed, so that no line ends in spaces
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const std::size_t c = columns[i];
        const std::string& part = l < parts[i].size() ? parts[i][l] : std::string();
        const int spare = widths_[c] - width_of(part);
        const int before = table_.columns[c].align == Align::right ? spare : 0;
        wanted += (i > 0 ? kGap : 0) + before;
        if (!part.empty()) {
          text += std::string(std::size_t(wanted), ' ') + paint(part, cell_of(row, c).tone, style_);
          wanted = 0;
        }
        wanted += spare - before;
      }
      out_ += text + "\n";
    }
  }

  const Table& table_;
  const TextStyle& style_;
  std::vector<int> widths_;
  std::string out_;
};

std::string markdown_cell(const Cell& cell) {
  std::string out;
  for (char c : cell.text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return cell.tone == Tone::strong && !out.empty() ? "**" + out + "**" : out;
}

}  // namespace

std::string paint(std::string_view text, Tone tone, const TextStyle& style) {
  const char* code = tone == Tone::strong ? "1" : tone == Tone::dim ? "2" : tone == Tone::good ? "32" : tone == Tone::bad ? "31" : nullptr;
  if (!style.color || !code || text.empty()) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

std::string to_text(const Table& table, const TextStyle& style) { return TextWriter(table, style).write(); }

std::string to_csv(const Table& table) {
  std::string out;
  const auto line = [&](auto&& text_of) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (c > 0) out += ',';
      out += io::csv_cell(text_of(c));
    }
    out += '\n';
  };
  line([&](std::size_t c) { return table.columns[c].heading; });
  for (const auto& row : table.rows) {
    if (!row.empty()) line([&](std::size_t c) { return cell_of(row, c).text; });
  }
  return out;
}

std::string to_markdown(const Table& table) {
  std::string out = table.title.empty() ? std::string() : "**" + table.title + "**\n\n";
  out += '|';
  for (const Column& column : table.columns) out += ' ' + markdown_cell(Cell(column.heading)) + " |";
  out += "\n|";
  for (const Column& column : table.columns) out += column.align == Align::right ? "---:|" : "---|";
  out += '\n';
  for (const auto& row : table.rows) {
    if (row.empty()) continue;
    out += '|';
    for (std::size_t c = 0; c < table.columns.size(); ++c) out += ' ' + markdown_cell(cell_of(row, c)) + " |";
    out += '\n';
  }
  return out;
}

}  // namespace trunkline::report
