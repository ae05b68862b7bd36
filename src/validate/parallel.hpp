// The same work on many items, by several threads; what comes out depends on the items alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace trunkline::validate {

// Calls work(i) once for each i below `count`. `work` must not throw and must write nothing but what belongs to item i.
template <class Work>
void for_each_index(std::size_t count, int jobs, const Work& work) {
  const std::size_t threads = std::min<std::size_t>(std::max(1, jobs), count);
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> others;
  for (std::size_t t = 1; t < threads; ++t) others.emplace_back(take);
  take();
}

}  // namespace trunkline::validate
