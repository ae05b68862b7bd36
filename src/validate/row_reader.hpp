// What reading a row has in common whatever its table's kind: cells, reasons to skip it, what was assumed.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "io/csv.hpp"
#include "validate/columns.hpp"
#include "validate/row.hpp"

namespace trunkline::validate {

template <class Out>
class RowReaderOf {
 protected:
  RowReaderOf(TableKind kind, const io::CsvTable& table, const io::CsvRow& row) : table_(table), row_(row), kind_(kind) {}

  const std::string& text(std::string_view column) const { return table_.cell(row_, column); }
  double number(std::string_view column) const { return parse_number(text(column)).value_or(0); }

  // Both answer false, for `ok() || skip(…)`.
  bool skip(std::string why) {
    out_.skipped_reason = std::move(why);
    return false;
  }
  // For rows that lack what a prediction needs, or are of another kind: not eligible.
  bool leave_out(std::string why) {
    out_.eligible = false;
    return skip(std::move(why));
  }
  void assume(const char* what, std::string taken) { out_.assumed.emplace_back(what, std::move(taken)); }

  // A cell that holds something other than its column may is said, never read as if it were empty.
  bool readable() {
    const std::string problem = unreadable_cell(kind_, table_, row_);
    return problem.empty() || skip(problem);
  }

  const io::CsvTable& table_;
  const io::CsvRow& row_;
  Out out_;

 private:
  TableKind kind_;
};

}  // namespace trunkline::validate
