// Many small lists in one array. A list that outgrows its slab moves to one twice as large; the old slab is used again.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace trunkline::network {

// Slabs of power-of-two sizes. After the first growth nothing is allocated: a freed slab serves the next list of its size.
template <class Item>
class SlabArray {
 public:
  using Index = std::uint32_t;

  Item& operator[](Index i) { return items_[i]; }
  const Item& operator[](Index i) const { return items_[i]; }
  Item* at(Index i) { return items_.data() + i; }
  const Item* at(Index i) const { return items_.data() + i; }

  static Index rounded(Index size) { return std::bit_ceil(size); }

  // A slab for `size` > 0 items; its real size is rounded(size).
  Index take(Index size) {
    const auto order = std::size_t(std::countr_zero(rounded(size)));
    if (order < free_.size() && !free_[order].empty()) {
      const Index begin = free_[order].back();
      free_[order].pop_back();
      return begin;
    }
    const auto begin = Index(items_.size());
    items_.resize(items_.size() + rounded(size));
    return begin;
  }

  void give_back(Index begin, Index size) {
    const auto order = std::size_t(std::countr_zero(rounded(size)));
    if (order >= free_.size()) free_.resize(order + 1);
    free_[order].push_back(begin);
  }

  void reserve(std::size_t items) { items_.reserve(items); }

 private:
  std::vector<Item> items_;
  std::vector<std::vector<Index>> free_;  // by the logarithm of the size
};

}  // namespace trunkline::network
