// What a command answers, before anybody decided how it is shown: text and tables for people, rows for CSV, JSON for programs.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "report/table.hpp"

namespace trunkline::report {

struct Paragraph {
  std::string text;  // wrapped to the terminal; line breaks in it are kept
  Tone tone = Tone::plain;
  int hang = 0;  // indentation of the second and later lines
};

struct Verbatim {
  std::string text;  // shown as it is
};

using Block = std::variant<Paragraph, Table, Verbatim>;

struct Document {
  std::vector<Block> blocks;
  Table data;        // one row a result, headings = the JSON's keys; for CSV
  std::string json;  // complete, with its context
  std::string yaml;  // of commands whose answer is a file for another command; empty = none

  void heading(std::string text) { blocks.push_back(Paragraph{std::move(text), Tone::strong}); }
  void paragraph(std::string text, Tone tone = Tone::plain) { blocks.push_back(Paragraph{std::move(text), tone}); }
};

std::string to_text(const Document& document, const TextStyle& style);
std::string to_markdown(const Document& document);

}  // namespace trunkline::report
