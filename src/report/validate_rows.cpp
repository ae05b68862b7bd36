// Rows of all kinds together: what JSON, CSV and the summaries share.
#include <algorithm>

#include "report/validate_report.hpp"

namespace trunkline::report {

using validate::Row;
using validate::TableKind;

std::vector<std::pair<TableKind, const Row*>> rows_of(const Validation& v) {
  std::vector<std::pair<TableKind, const Row*>> out;
  if (v.training) {
    for (const auto& r : v.training->results) out.emplace_back(TableKind::training, &r.row);
  }
  const auto add = [&](const auto& tables, TableKind kind) {
    for (const auto& table : tables) {
      for (const auto& row : table.rows) out.emplace_back(kind, &row);
    }
  };
  add(v.collectives, TableKind::collectives);
  add(v.clips, TableKind::clip);
  add(v.storages, TableKind::storage);
  add(v.links, TableKind::point_to_point);
  return out;
}

std::vector<KindSummary> kinds_of(const Validation& v) {
  std::vector<KindSummary> out;
  const auto rows = rows_of(v);
  for (const TableKind kind :
       {TableKind::training, TableKind::collectives, TableKind::clip, TableKind::storage, TableKind::point_to_point}) {
    if (std::none_of(v.files.begin(), v.files.end(), [&](const ReadFile& f) { return f.kind == kind; })) continue;
    std::vector<const Row*> members;
    for (const auto& [k, row] : rows) {
      if (k == kind) members.push_back(row);
    }
    const auto tables = by_table(members);
    out.push_back({kind, int(tables.size()), validate::summarise(validate::name_of(kind), members), validate::median_of_medians(tables)});
  }
  return out;
}

}  // namespace trunkline::report
