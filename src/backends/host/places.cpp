#include "backends/host/places.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#ifdef TRUNKLINE_HAS_HWLOC
#include <hwloc.h>
#endif

namespace trunkline::backends::host {

#ifdef TRUNKLINE_HAS_HWLOC
namespace {

struct FreeBitmap {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

tl::unexpected<Error> refused(const std::string& what) {
  return fail({ErrorKind::failed,
               fmt::format("cannot {}: {}", what, std::strerror(errno)),
               {},
               "see which CPUs and memory this process may use (taskset, cgroups)"});
}

class HwlocPlaces : public Places {
 public:
  explicit HwlocPlaces(hwloc_topology_t topology) : topology_(topology), allowed_(hwloc_bitmap_alloc_full()) {
    // taskset and launchers narrow what this process may use; of a topology that is not this machine's nothing is known about that.
    if (hwloc_topology_is_thissystem(topology_)) hwloc_get_cpubind(topology_, allowed_.get(), HWLOC_CPUBIND_PROCESS);
    const int count = hwloc_get_nbobjs_by_type(topology_, HWLOC_OBJ_NUMANODE);
    for (int i = 0; i < count; ++i) nodes_.push_back(node_of(hwloc_get_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, unsigned(i))));
    for (hwloc_obj_t cache = nullptr; (cache = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_L3CACHE, cache));)
      cache_ += Bytes(cache->attr->cache.size);
  }
  ~HwlocPlaces() override { hwloc_topology_destroy(topology_); }
  HwlocPlaces(const HwlocPlaces&) = delete;
  HwlocPlaces& operator=(const HwlocPlaces&) = delete;

  const std::vector<Node>& nodes() const override { return nodes_; }
  Bytes last_level_cache() const override { return cache_; }

  Result<void> pin_this_thread(int cpu) const override {
    const Bitmap set(hwloc_bitmap_alloc());
    hwloc_bitmap_only(set.get(), unsigned(cpu));
    if (hwloc_set_cpubind(topology_, set.get(), HWLOC_CPUBIND_THREAD) != 0) return refused(fmt::format("pin a thread to CPU {}", cpu));
    return {};
  }

  Result<void> bind_memory(void* start, std::size_t size, int node) const override {
    const Bitmap set(hwloc_bitmap_alloc());
    hwloc_bitmap_only(set.get(), unsigned(node));
    // A machine with one node has nothing to bind, and its kernel may be built without the call.
    if (nodes_.size() > 1 &&
        hwloc_set_area_membind(topology_, start, size, set.get(), HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_STRICT | HWLOC_MEMBIND_BYNODESET) != 0)
      return refused(fmt::format("bind memory to node {}", node));
    return {};
  }

  bool lies_on(const void* start, std::size_t size, int node) const override {
    if (nodes_.size() == 1) return true;
    const Bitmap set(hwloc_bitmap_alloc());
    if (hwloc_get_area_memlocation(topology_, start, size, set.get(), HWLOC_MEMBIND_BYNODESET) != 0) return false;
    return hwloc_bitmap_weight(set.get()) == 1 && hwloc_bitmap_isset(set.get(), unsigned(node));
  }

 private:
  Node node_of(hwloc_obj_t object) const {
    Node node;
    node.index = int(object->os_index);
    node.memory = Bytes(object->attr->numanode.local_memory);
    const int cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology_, object->cpuset, HWLOC_OBJ_CORE);
    for (int i = 0; i < cores; ++i) {
      const hwloc_obj_t core = hwloc_get_obj_inside_cpuset_by_type(topology_, object->cpuset, HWLOC_OBJ_CORE, unsigned(i));
      const Bitmap usable(hwloc_bitmap_alloc());
      hwloc_bitmap_and(usable.get(), core->cpuset, allowed_.get());
      if (!hwloc_bitmap_iszero(usable.get())) node.cpus.push_back(hwloc_bitmap_first(usable.get()));
    }
    return node;
  }

  hwloc_topology_t topology_;
  Bitmap allowed_;  // CPUs
  std::vector<Node> nodes_;
  Bytes cache_;
};

}  // namespace

Result<std::unique_ptr<Places>> places() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return fail({ErrorKind::missing, "hwloc does not start here", {}, {}});
  if (hwloc_topology_load(topology) != 0) {
    hwloc_topology_destroy(topology);
    return fail({ErrorKind::missing, "hwloc cannot read this machine's topology", {}, "see what lstopo says"});
  }
  auto out = std::make_unique<HwlocPlaces>(topology);
  bool cores = false;
  for (const Node& node : out->nodes()) cores |= !node.cpus.empty();
  if (!cores) return fail({ErrorKind::missing, "hwloc finds no core beside a memory node", {}, "see what lstopo says"});
  return out;
}

std::string hwloc_version() {
  const unsigned version = hwloc_get_api_version();
  return fmt::format("{}.{}.{}", version >> 16, (version >> 8) & 0xFF, version & 0xFF);
}
#else
Result<std::unique_ptr<Places>> places() {
  return fail({ErrorKind::missing,
               "this program was built without hwloc, so threads cannot be pinned",
               {},
               "apt-get install libhwloc-dev, and build again"});
}
std::string hwloc_version() { return {}; }
#endif

}  // namespace trunkline::backends::host
