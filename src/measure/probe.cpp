#include "measure/probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"

namespace trunkline::measure {
namespace {

bool selects(const std::string& word, const std::string& name) {
  return name == word || (name.size() > word.size() && name.starts_with(word) && (name[word.size()] == '.' || word.ends_with('.')));
}

}  // namespace

Result<std::vector<Probe*>> select(const Probes& probes, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (std::any_of(probes.begin(), probes.end(), [&](const auto& p) { return selects(word, p->name()); })) continue;
    std::set<std::string> known;
    for (const auto& p : probes) {
      known.insert(p->name());
      known.insert(p->name().substr(0, p->name().find('.')));
    }
    const std::vector<std::string> names(known.begin(), known.end());
    return fail({ErrorKind::usage, fmt::format("no probe is called \"{}\"", excerpt(word)), {}, did_you_mean(word, names)});
  }
  std::vector<Probe*> out;
  for (const auto& p : probes) {
    if (words.empty() || std::any_of(words.begin(), words.end(), [&](const auto& word) { return selects(word, p->name()); }))
      out.push_back(p.get());
  }
  return out;
}

}  // namespace trunkline::measure
