// Comma-separated tables with a header (RFC 4180 quoting). Each row knows the line on which it starts.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"

namespace trunkline::io {

struct CsvRow {
  int line = 0;
  std::vector<std::string> cells;
};

class CsvTable {
 public:
  static Result<CsvTable> parse(std::string_view text, const std::string& file);
  static Result<CsvTable> read(const std::string& path);

  const std::string& file() const { return file_; }
  const std::vector<std::string>& columns() const { return columns_; }
  const std::vector<CsvRow>& rows() const { return rows_; }

  bool has(std::string_view column) const { return index_.contains(std::string(column)); }
  // The cell of `row` under `column`; empty text where the table has no such column.
  const std::string& cell(const CsvRow& row, std::string_view column) const;

 private:
  std::string file_;
  std::vector<std::string> columns_;
  std::unordered_map<std::string, std::size_t> index_;
  std::vector<CsvRow> rows_;
};

// A cell as CSV text, quoted where needed.
std::string csv_cell(std::string_view text);

}  // namespace trunkline::io
