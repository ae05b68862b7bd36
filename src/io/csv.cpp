#include "io/csv.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "io/files.hpp"

namespace trunkline::io {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kMaxColumns = 10'000;
constexpr std::size_t kMaxCells = 10'000'000;

class Scanner {
 public:
  Scanner(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  bool done() const { return at_ >= text_.size(); }

  Result<CsvRow> row() {
    CsvRow row;
    row.line = line_;
    while (true) {
      TRUNKLINE_ASSIGN(cell, at_ < text_.size() && text_[at_] == '"' ? quoted() : Result<std::string>(plain()));
      row.cells.push_back(std::move(cell));
      if (row.cells.size() > kMaxColumns)
        return bad_input({file_, row.line}, fmt::format("more than {} cells in one row", kMaxColumns), "is this a comma-separated table?");
      if (at_ >= text_.size()) return row;
      const char c = text_[at_++];
      if (c == ',') continue;
      if (c == '\r' && at_ < text_.size() && text_[at_] == '\n') ++at_;
      ++line_;
      return row;
    }
  }

 private:
  std::string plain() {
    const auto end = text_.find_first_of(",\r\n", at_);
    const auto from = at_;
    at_ = end == std::string_view::npos ? text_.size() : end;
    return std::string(text_.substr(from, at_ - from));
  }

  Result<std::string> quoted() {
    const int opened = line_;
    std::string out;
    ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '\n') ++line_;
      if (c != '"') {
        out += c;
      } else if (at_ < text_.size() && text_[at_] == '"') {
        out += '"';
        ++at_;
      } else if (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\r' && text_[at_] != '\n') {
        return bad_input({file_, line_}, "text after a closing quote", "double every quote inside a quoted cell");
      } else {
        return out;
      }
    }
    return bad_input({file_, opened}, "a quoted cell that never ends", "close the quote or fetch the file again");
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

Result<CsvTable> CsvTable::parse(std::string_view text, const std::string& file) {
  TRUNKLINE_TRY(check_text(text, file));
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  CsvTable table;
  table.file_ = file;
  Scanner scanner(text, file);
  if (scanner.done()) return bad_input({file, 1}, "an empty file, a header line was expected");
  TRUNKLINE_ASSIGN(header, scanner.row());
  table.columns_ = std::move(header.cells);
  for (std::size_t i = 0; i < table.columns_.size(); ++i) {
    if (!table.index_.emplace(table.columns_[i], i).second) {
      return bad_input({file, 1}, fmt::format("the column \"{}\" stands twice in the header", excerpt(table.columns_[i])));
    }
  }
  while (!scanner.done()) {
    TRUNKLINE_ASSIGN(row, scanner.row());
    if (row.cells.size() == 1 && row.cells[0].empty()) continue;
    if (row.cells.size() != table.columns_.size()) {
      return bad_input({file, row.line}, fmt::format("{} cells where the header has {} columns", row.cells.size(), table.columns_.size()),
                       "check for a missing quote or comma");
    }
    if ((table.rows_.size() + 1) * table.columns_.size() > kMaxCells) {
      return bad_input({file, row.line}, fmt::format("more than {} cells", kMaxCells), "split the table");
    }
    table.rows_.push_back(std::move(row));
  }
  return table;
}

Result<CsvTable> CsvTable::read(const std::string& path) {
  TRUNKLINE_ASSIGN(text, read_file(path));
  return parse(text, path);
}

const std::string& CsvTable::cell(const CsvRow& row, std::string_view column) const {
  static const std::string kNone;
  const auto found = index_.find(std::string(column));
  return found == index_.end() ? kNone : row.cells[found->second];
}

std::string csv_cell(std::string_view text) {
  const bool plain = text.find_first_of(",\"\r\n") == std::string_view::npos && !text.starts_with(kByteOrderMark);
  if (plain) return std::string(text);
  std::string out = "\"";
  for (char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace trunkline::io
