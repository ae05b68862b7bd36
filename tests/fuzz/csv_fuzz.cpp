#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "io/csv.hpp"

using namespace trunkline;

// What was read and is written again must read as the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto table = io::CsvTable::parse({reinterpret_cast<const char*>(data), size}, "input.csv");
  if (!table) {
    if (table.error().message.empty()) std::abort();
    return 0;
  }
  const auto append = [](std::string& text, const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) text += (i ? "," : "") + io::csv_cell(cells[i]);
    text += "\n";
  };
  std::string text;
  append(text, table->columns());
  for (const auto& row : table->rows()) append(text, row.cells);
  const auto again = io::CsvTable::parse(text, "written.csv");
  if (!again || again->columns() != table->columns() || again->rows().size() != table->rows().size()) std::abort();
  for (std::size_t i = 0; i < table->rows().size(); ++i) {
    if (again->rows()[i].cells != table->rows()[i].cells) std::abort();
  }
  return 0;
}
