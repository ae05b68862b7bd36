#include <fmt/format.h>

#include <algorithm>

#include "backends/fake/fake.hpp"
#include "base/quantity_text.hpp"
#include "base/text.hpp"

namespace trunkline::backends::fake {
namespace {

struct Entry {
  const char* name;
  FaultKind kind;
  double left;  // where the text gives none
};

constexpr Entry kFaults[] = {{"slow-link", FaultKind::slow_link, 0.5},
                             {"dying-rank", FaultKind::dying_rank, 0},
                             {"full-disk", FaultKind::full_disk, 0},
                             {"wrong-numa", FaultKind::wrong_numa, 0},
                             {"busy-machine", FaultKind::busy_machine, 0.35}};

}  // namespace

const std::vector<std::string>& fault_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Entry& entry : kFaults) out.emplace_back(entry.name);
    return out;
  }();
  return names;
}

Result<Fault> fault_from(std::string_view text) {
  const auto equals = text.find('=');
  const std::string name(text.substr(0, equals));
  const auto entry = std::find_if(std::begin(kFaults), std::end(kFaults), [&](const Entry& e) { return e.name == name; });
  if (entry == std::end(kFaults)) {
    return fail({ErrorKind::usage, fmt::format("--fault: \"{}\" is not known", excerpt(name)), {}, did_you_mean(name, fault_names())});
  }
  Fault fault{entry->kind, entry->left};
  if (equals == std::string_view::npos) return fault;
  const auto share = parse_number(text.substr(equals + 1));
  if (!share || *share <= 0 || *share >= 1) {
    return fail({ErrorKind::usage,
                 fmt::format("--fault {}: expected a share between 0 and 1, found \"{}\"", name, excerpt(text.substr(equals + 1))),
                 {},
                 fmt::format("for example --fault {}=0.9", name)});
  }
  fault.left = *share;
  return fault;
}

}  // namespace trunkline::backends::fake
