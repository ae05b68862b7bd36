// A table as data, and its three forms: aligned text for a terminal, CSV, Markdown.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trunkline::report {

enum class Align { left, right };

// What a cell wants to say beyond its text; shown as colour where there is colour, never only by colour.
enum class Tone { plain, strong, dim, good, bad };

struct Cell {
  std::string text;
  Tone tone = Tone::plain;

  Cell() = default;
  Cell(std::string t, Tone tn = Tone::plain) : text(std::move(t)), tone(tn) {}
  Cell(const char* t) : text(t) {}
};

struct Column {
  std::string heading;
  Align align = Align::left;
  bool wraps = false;  // gives way first where the table is wider than the terminal
};

struct Table {
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  // shorter rows are filled with empty cells
  int keys = 1;                         // leading columns, repeated when the others have to stand in blocks below each other
  bool bullets = false;                 // no heading line: a list

  void add(std::vector<Cell> row) { rows.push_back(std::move(row)); }
  void gap() { rows.emplace_back(); }  // an empty line between groups of rows
};

struct TextStyle {
  int width = 100;  // terminal columns
  bool color = false;
};

std::string to_text(const Table& table, const TextStyle& style);
std::string to_csv(const Table& table);
std::string to_markdown(const Table& table);

// `text` in the colour of `tone`.
std::string paint(std::string_view text, Tone tone, const TextStyle& style);

}  // namespace trunkline::report
