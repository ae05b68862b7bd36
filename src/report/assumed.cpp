#include "report/assumed.hpp"

namespace trunkline::report {

Table assumed_list(const Assumptions& assumed, const std::string& title) {
  Table table;
  table.title = title;
  table.columns = {{""}, {"", Align::left, true}};
  table.bullets = true;
  for (const auto& [key, taken] : assumed) table.add({{"  " + key, Tone::dim}, {taken, Tone::dim}});
  return table;
}

}  // namespace trunkline::report
