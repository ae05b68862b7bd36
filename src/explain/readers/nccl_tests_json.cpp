#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "explain/readers/nccl_tests.hpp"

namespace trunkline::explain::readers {
namespace {

std::optional<NcclFigures> figures_of(const io::Value& row, const char* key, const char* times_key) {
  const io::Value* half = map_at(row, key);
  if (!half) return std::nullopt;
  auto time = number_at(*half, "time");
  if (!time) time = number_at(*half, "cpu_time");
  const auto algbw = number_at(*half, "alg_bw"), busbw = number_at(*half, "bus_bw");
  if (!time || !algbw || !busbw) return std::nullopt;
  NcclFigures out;
  out.time_s = *time * 1e-6;
  out.algbw = *algbw * 1e9;
  out.busbw = *busbw * 1e9;
  if (const auto wrong = number_at(*half, "nwrong")) out.wrong = std::int64_t(std::clamp(*wrong, 0.0, 9e18));
  const io::Value* each = map_at(row, times_key);
  for (const io::Value& item : each ? items_at(*each, "times_us") : std::span<const io::Value>{}) {
    const auto t = item.is_scalar() ? number_of(item.text()) : std::nullopt;
    if (t && *t > 0) out.iterations_s.push_back(*t * 1e-6);
  }
  return out;
}

// 22304 = 2.23.4; before 2.9 a digit less for the minor number: 2804 = 2.8.4.
std::string version_text(std::int64_t code) {
  if (code >= 10000) return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
  return fmt::format("{}.{}.{}", code / 1000, code / 100 % 10, code % 100);
}

void read_rows(const io::Value& root, NcclTests& out) {
  for (const io::Value& item : items_at(root, "results")) {
    if (out.rows.size() >= kMostRows) break;
    const auto size = whole_at(item, "size");
    if (!item.is_map() || !size || *size < 0) {
      out.skipped.push_back({item.where().line, "a row without its size"});
      continue;
    }
    NcclRow row;
    row.line = item.where().line;
    row.size = *size;
    row.count = whole_at(item, "count").value_or(0);
    row.type = excerpt(text_at(item, "type"), 20);
    row.redop = excerpt(text_at(item, "redop"), 20);
    row.root = whole_number_of(trim(text_at(item, "root")));
    row.out_of_place = figures_of(item, "out_of_place", "out_of_place_per_iter");
    row.in_place = figures_of(item, "in_place", "in_place_per_iter");
    if (row.out_of_place || row.in_place)
      out.rows.push_back(std::move(row));
    else
      out.skipped.push_back({row.line, "a figure is no number"});
  }
}

void read_config(const io::Value& config, NcclTests& out) {
  out.warmup = whole_at(config, "warmup_iters");
  out.iterations = whole_at(config, "iterations");
  out.validation = whole_at(config, "validation");
  out.graph = whole_at(config, "graph");
  std::set<std::string> hosts;
  for (const io::Value& d : items_at(config, "devices")) {
    const auto rank = whole_at(d, "rank");
    if (!d.is_map() || !rank) continue;
    out.devices.push_back(
        {int(std::clamp<std::int64_t>(*rank, 0, 1 << 24)), excerpt(text_at(d, "hostname")), excerpt(text_at(d, "device_info"))});
    out.ranks = std::max(out.ranks, out.devices.back().rank + 1);
    hosts.insert(out.devices.back().host);
  }
  if (int(out.devices.size()) == out.ranks) out.nodes = int(hosts.size());
}

void read_environment(const io::Value& root, NcclTests& out) {
  for (const io::Value& item : items_at(root, "env")) {
    if (!item.is_scalar() || !item.text().starts_with("NCCL_")) continue;
    const auto equals = item.text().find('=');
    if (equals != std::string::npos)
      out.environment.emplace_back(excerpt(item.text().substr(0, equals)), excerpt(item.text().substr(equals + 1), 200));
  }
}

}  // namespace

bool is_nccl_tests_json(std::string_view text) {
  return contains(text, "\"results\"") && contains(text, "\"bus_bw\"") && contains(text, "\"out_of_place\"");
}

Result<NcclTests> read_nccl_tests_json(std::string_view text, const std::string& file) {
  TRUNKLINE_ASSIGN(root, json_in(text, file));
  NcclTests out;
  out.file = file;
  if (const auto args = items_at(root, "args"); !args.empty() && args[0].is_scalar()) {
    // The text reader knows programs by their names; a line that holds only that name is enough for it.
    TRUNKLINE_ASSIGN(named, read_nccl_tests(args[0].text(), file));
    out.collective = named.collective;
  }
  if (const auto code = whole_at(root, "nccl_version"); code && *code > 0 && *code < 1'000'000) out.nccl = version_text(*code);
  if (const io::Value* config = map_at(root, "config")) read_config(*config, out);
  read_environment(root, out);
  read_rows(root, out);
  if (const io::Value* bounds = map_at(root, "out_of_bounds")) out.out_of_bounds = whole_at(*bounds, "count");
  if (const io::Value* average = map_at(root, "average_bus_bandwidth")) {
    if (const auto rate = number_at(*average, "bandwidth")) out.average_busbw = *rate * 1e9;
    out.concluded = true;
  }
  for (const io::Value& e : items_at(root, "errors")) {
    if (e.is_scalar() && !trim(e.text()).empty()) out.failures.push_back(excerpt(e.text(), 200));
  }
  return out;
}

}  // namespace trunkline::explain::readers
