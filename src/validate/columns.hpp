// What may stand in the cells of published tables: each column once, with its use. Nothing that cannot be read is taken for empty.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/csv.hpp"

namespace trunkline::validate {

enum class TableKind { training, collectives, clip, storage, point_to_point };

std::string name_of(TableKind kind);  // as in JSON: "training", "point_to_point", …

enum class Use {
  number,    // within bounds, or empty
  whole,     // a whole number within bounds, or empty
  word,      // one of the words, or empty
  ruled,     // checked by the rule that turns the row into a question
  searched,  // free text in which words are looked for
  label,     // names the row, its system or its group
  unused,
};

struct Column {
  std::string_view name;
  Use use = Use::unused;
  double least = 0, most = 0;
  std::string_view words = {};  // "none|zero1|…"
};

std::span<const Column> columns_of(TableKind kind);

// The kind of a table, by its columns: nobody should have to say what a table is.
std::optional<TableKind> kind_of(const io::CsvTable& table);

// Which columns kind_of looks for, in words.
std::string columns_looked_for();

// Why a row cannot be used as it stands: its first cell that holds something else than its column may, with what may stand
// there; empty where there is none.
std::string unreadable_cell(TableKind kind, const io::CsvTable& table, const io::CsvRow& row);

// "layers: \"many\" is not …": one wording for every cell that cannot be used.
std::string cell_problem(std::string_view column, std::string_view found, std::string_view problem);

// Whether `word` stands in `text` with neither letters nor digits beside it.
bool has_word(std::string_view text, std::string_view word);

// Columns of a table that no prediction reads: those declared unused, and those that are not declared.
std::vector<std::string> unused_columns(TableKind kind, const io::CsvTable& table);

// The name of a row for people: its row_id, else its line. The table's name: its table_id, else the file's name.
std::string row_name(const io::CsvTable& table, const io::CsvRow& row);
std::string table_name(const io::CsvTable& table, const io::CsvRow& row);

}  // namespace trunkline::validate
