#include "report/document.hpp"

#include "base/text.hpp"
#include "report/text_width.hpp"

namespace trunkline::report {
namespace {

std::string paragraph_text(const Paragraph& paragraph, const TextStyle& style) {
  std::string out;
  for (std::string_view text : split(paragraph.text, '\n')) {
    int indent = 0;
    for (const auto& line : wrap(text, style.width - paragraph.hang)) {
      out += std::string(std::size_t(indent), ' ') + paint(line, paragraph.tone, style) + "\n";
      indent = paragraph.hang;
    }
  }
  return out;
}

}  // namespace

std::string to_text(const Document& document, const TextStyle& style) {
  std::string out;
  for (const Block& block : document.blocks) {
    if (!out.empty()) out += "\n";
    if (const auto* p = std::get_if<Paragraph>(&block)) out += paragraph_text(*p, style);
    if (const auto* t = std::get_if<Table>(&block)) out += to_text(*t, style);
    if (const auto* v = std::get_if<Verbatim>(&block)) out += v->text;
  }
  return out;
}

std::string to_markdown(const Document& document) {
  std::string out;
  for (const Block& block : document.blocks) {
    if (!out.empty()) out += "\n";
    if (const auto* p = std::get_if<Paragraph>(&block)) out += (p->tone == Tone::strong ? "## " : "") + p->text + "\n";
    if (const auto* t = std::get_if<Table>(&block)) out += to_markdown(*t);
    if (const auto* v = std::get_if<Verbatim>(&block)) out += "```\n" + v->text + "```\n";
  }
  return out;
}

}  // namespace trunkline::report
