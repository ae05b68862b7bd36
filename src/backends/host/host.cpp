#include "backends/host/host.hpp"

#include "backends/host/memory_probes.hpp"
#include "backends/host/places.hpp"

namespace trunkline::backends::host {

measure::Backend backend() {
  measure::Backend out;
  out.name = "host";
  out.probes = memory_probes;
  if (const std::string version = hwloc_version(); !version.empty()) {
    out.libraries = {{"hwloc", version}};
  } else {
    out.missing = "built without hwloc";
    out.fix = "apt-get install libhwloc-dev, then build again";
  }
  return out;
}

}  // namespace trunkline::backends::host
