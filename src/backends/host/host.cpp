#include "backends/host/host.hpp"

#include "backends/host/memory_probes.hpp"
#include "backends/host/places.hpp"

namespace trunkline::backends::host {

measure::Backend backend() {
  measure::Backend out;
  out.name = "host";
  out.probes = memory_probes;
  const std::string version = hwloc_version();
  if (!version.empty()) out.libraries = {{"hwloc", version}};
  out.needs = [version]() -> std::vector<measure::Need> {
    if (version.empty()) return {{"hwloc", "host.*", false, "built without it", "apt-get install libhwloc-dev, then build again"}};
    return {{"hwloc", "host.*", true, version, {}}};
  };
  return out;
}

}  // namespace trunkline::backends::host
