// All ranks of one process, one a GPU, and what they do together. Internal.
#pragma once

#include <memory>
#include <vector>

#include "backends/cuda/resources.hpp"
#include "backends/nccl/kernels.hpp"
#include "backends/nccl/library.hpp"
#include "collectives/collective.hpp"

namespace trunkline::backends::nccl {

using collectives::Collective;

// One collective of one size. `size` counts as nccl-tests counts it: the largest buffer of a rank.
struct Job {
  Collective collective = Collective::all_reduce;
  std::size_t count = 0;  // elements of the largest buffer, a multiple of the ranks where it is cut up
  Type type = Type::single;
  Operation operation = Operation::sum;
  int root = 0;
  bool in_place = false;

  Bytes size() const { return Bytes(count * size_of(type)); }
};

// Elements of the largest buffer for about so many bytes; 0 where there are fewer elements than the collective cuts it into.
std::size_t count_for(Collective collective, Bytes size, Type type, int ranks);
bool cuts_up(Collective collective);  // every rank has a part of the largest buffer
bool can_be_in_place(Collective collective);
// What rank `rank` must hold afterwards, and how many elements of it.
kernels::Expected expected_of(const Job& job, int rank, int ranks);
std::size_t result_count(const Job& job, int rank, int ranks);

class Group {
 public:
  // Buffers of `most` bytes for every rank, one to send from and one to receive into.
  static Result<std::unique_ptr<Group>> make(const Library& library, const std::vector<cuda::Gpu>& gpus, Bytes most);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int ranks() const { return int(members_.size()); }
  // Fills the buffers anew, runs once, counts the wrong elements of all ranks.
  Result<std::uint64_t> check(const Job& job);
  // So many times in a row; the mean time of one, by the rank that took longest.
  Result<Seconds> time(const Job& job, int iterations);

 private:
  struct Member {
    cuda::Gpu gpu;
    Communicator communicator = nullptr;
    cuda::Stream stream;
    cuda::Event begin, end;
    cuda::DeviceBuffer send, receive;
  };
  explicit Group(const Library& library) : library_(library) {}
  Result<void> prepare(Bytes most);
  Result<void> queue(const Job& job);
  Status queue_one(const Job& job, int rank, const void* from, void* to);
  Status queue_exchange(const Job& job, int rank, const std::byte* from, std::byte* to);
  std::pair<const std::byte*, std::byte*> places(const Job& job, int rank) const;
  Result<void> wait();
  Result<void> give_up(Error why);

  const Library& library_;
  std::vector<Member> members_;
  bool broken_ = false;  // a collective never ended: communicators can only be aborted
};

}  // namespace trunkline::backends::nccl
