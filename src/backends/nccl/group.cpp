#include "backends/nccl/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "backends/cuda/error.hpp"

namespace trunkline::backends::nccl {
namespace {

constexpr std::chrono::seconds kPatience{60};

}  // namespace

bool cuts_up(Collective collective) {
  return collective == Collective::all_gather || collective == Collective::reduce_scatter || collective == Collective::all_to_all;
}

bool can_be_in_place(Collective collective) { return collective != Collective::all_to_all && collective != Collective::send_recv; }

std::size_t count_for(Collective collective, Bytes size, Type type, int ranks) {
  const std::size_t elements = std::size_t(size.count()) / size_of(type);
  return cuts_up(collective) ? elements / std::size_t(ranks) * std::size_t(ranks) : elements;
}

std::size_t result_count(const Job& job, int rank, int ranks) {
  if (job.collective == Collective::reduce_scatter) return job.count / std::size_t(ranks);
  if (job.collective == Collective::reduce && rank != job.root) return 0;
  return job.count;
}

kernels::Expected expected_of(const Job& job, int rank, int ranks) {
  kernels::Expected out;
  out.operation = job.operation;
  out.ranks = ranks;
  out.chunk = std::max<std::size_t>(1, job.count / std::size_t(ranks));
  switch (job.collective) {
    case Collective::all_reduce:
    case Collective::reduce: out.reduces = true; break;
    case Collective::reduce_scatter:
      out.reduces = true;
      out.offset = out.chunk * std::size_t(rank);
      break;
    case Collective::all_gather: break;
    case Collective::all_to_all: out.offset = out.chunk * std::size_t(rank); break;
    case Collective::broadcast: out.source = job.root; break;
    case Collective::send_recv: out.source = (rank + ranks - 1) % ranks; break;
  }
  return out;
}

Result<std::unique_ptr<Group>> Group::make(const Library& library, const std::vector<cuda::Gpu>& gpus, Bytes most) {
  std::unique_ptr<Group> out(new Group(library));
  std::vector<int> devices;
  for (const cuda::Gpu& gpu : gpus) {
    Member member;
    member.gpu = gpu;
    out->members_.push_back(std::move(member));
    devices.push_back(gpu.index);
  }
  TRUNKLINE_TRY(out->prepare(most));
  std::vector<Communicator> communicators(gpus.size());
  TRUNKLINE_TRY(library.ok(library.init_all(communicators.data(), int(devices.size()), devices.data()), "joining the GPUs"));
  for (std::size_t i = 0; i < gpus.size(); ++i) out->members_[i].communicator = communicators[i];
  return out;
}

Result<void> Group::prepare(Bytes most) {
  for (Member& member : members_) {
    TRUNKLINE_TRY(cuda::use(member.gpu));
    TRUNKLINE_ASSIGN(stream, cuda::make_stream());
    TRUNKLINE_ASSIGN(begin, cuda::make_event());
    TRUNKLINE_ASSIGN(end, cuda::make_event());
    TRUNKLINE_ASSIGN(send, cuda::DeviceBuffer::make(most));
    TRUNKLINE_ASSIGN(receive, cuda::DeviceBuffer::make(most));
    member.stream = std::move(stream);
    member.begin = std::move(begin);
    member.end = std::move(end);
    member.send = std::move(send);
    member.receive = std::move(receive);
  }
  return {};
}

Group::~Group() {
  for (Member& member : members_) {
    if (!member.communicator) continue;
    if (broken_)
      library_.abort(member.communicator);
    else
      library_.destroy(member.communicator);
  }
}

// In place, a rank's part lies where it will be in the whole.
std::pair<const std::byte*, std::byte*> Group::places(const Job& job, int rank) const {
  const Member& member = members_[std::size_t(rank)];
  std::byte* receive = member.receive.data();
  if (!job.in_place) return {member.send.data(), receive};
  const std::size_t part = job.count / members_.size() * size_of(job.type) * std::size_t(rank);
  if (job.collective == Collective::all_gather) return {receive + part, receive};
  if (job.collective == Collective::reduce_scatter) return {receive, receive + part};
  return {receive, receive};
}

Status Group::queue_exchange(const Job& job, int rank, const std::byte* from, std::byte* to) {
  const Member& member = members_[std::size_t(rank)];
  const Communicator c = member.communicator;
  const cudaStream_t stream = member.stream.get();
  if (job.collective == Collective::send_recv) {
    const Status sent = library_.send(from, job.count, job.type, (rank + 1) % ranks(), c, stream);
    return sent != kSuccess ? sent : library_.receive(to, job.count, job.type, (rank + ranks() - 1) % ranks(), c, stream);
  }
  const std::size_t part = job.count / members_.size(), bytes = part * size_of(job.type);
  for (int peer = 0; peer < ranks(); ++peer) {
    if (const Status sent = library_.send(from + bytes * std::size_t(peer), part, job.type, peer, c, stream); sent != kSuccess) return sent;
    const Status received = library_.receive(to + bytes * std::size_t(peer), part, job.type, peer, c, stream);
    if (received != kSuccess) return received;
  }
  return kSuccess;
}

Status Group::queue_one(const Job& job, int rank, const void* from, void* to) {
  const Member& member = members_[std::size_t(rank)];
  const Communicator c = member.communicator;
  const cudaStream_t stream = member.stream.get();
  const std::size_t part = job.count / members_.size();
  switch (job.collective) {
    case Collective::all_reduce: return library_.all_reduce(from, to, job.count, job.type, job.operation, c, stream);
    case Collective::reduce: return library_.reduce(from, to, job.count, job.type, job.operation, job.root, c, stream);
    case Collective::broadcast: return library_.broadcast(from, to, job.count, job.type, job.root, c, stream);
    case Collective::all_gather: return library_.all_gather(from, to, part, job.type, c, stream);
    case Collective::reduce_scatter: return library_.reduce_scatter(from, to, part, job.type, job.operation, c, stream);
    case Collective::all_to_all:
    case Collective::send_recv: break;
  }
  return queue_exchange(job, rank, static_cast<const std::byte*>(from), static_cast<std::byte*>(to));
}

// One thread drives all ranks: they are queued as a group, or the first would wait for the others for ever.
Result<void> Group::queue(const Job& job) {
  TRUNKLINE_TRY(library_.ok(library_.group_start(), "grouping ranks"));
  Status status = kSuccess;
  for (int rank = 0; rank < ranks() && status == kSuccess; ++rank) {
    const auto [from, to] = places(job, rank);
    status = queue_one(job, rank, from, to);
  }
  const Status ended = library_.group_end();
  return library_.ok(status != kSuccess ? status : ended, collectives::name_of(job.collective), members_[0].communicator);
}

Result<void> Group::give_up(Error why) {
  broken_ = true;
  return fail(std::move(why));
}

// Until all streams are done. A rank that dies or hangs ends it with an error instead of waiting for ever.
Result<void> Group::wait() {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (const Member& member : members_) {
    for (;;) {
      const cudaError_t done = cudaStreamQuery(member.stream.get());
      if (done == cudaSuccess) break;
      if (done != cudaErrorNotReady) return give_up(cuda::ok(done, "waiting for a collective").error());
      cudaGetLastError();
      Status status = kSuccess;
      library_.async_error(member.communicator, &status);
      if (status != kSuccess && status != kInProgress)
        return give_up(library_.ok(status, fmt::format("rank {}", member.gpu.index), member.communicator).error());
      if (std::chrono::steady_clock::now() > end) {
        return give_up({ErrorKind::failed,
                        fmt::format("GPU {} did not end a collective within {} s", member.gpu.index, kPatience.count()),
                        {},
                        "run it again with NCCL_DEBUG=INFO; nvidia-smi topo -m and dmesg | grep -i xid may show why"});
      }
      std::this_thread::yield();
    }
  }
  return {};
}

Result<std::uint64_t> Group::check(const Job& job) {
  std::vector<cuda::DeviceBuffer> counts;
  for (int rank = 0; rank < ranks(); ++rank) {
    Member& member = members_[std::size_t(rank)];
    const cudaStream_t stream = member.stream.get();
    TRUNKLINE_TRY(cuda::use(member.gpu));
    TRUNKLINE_ASSIGN(count, cuda::DeviceBuffer::make(Bytes(256)));
    TRUNKLINE_TRY(cuda::ok(cudaMemsetAsync(count.data(), 0, 256, stream), "clearing memory"));
    counts.push_back(std::move(count));
    TRUNKLINE_TRY(cuda::ok(cudaMemsetAsync(member.receive.data(), 0xA5, std::size_t(job.size().count()), stream), "clearing memory"));
    // All-gather sends a part; the rest of what is filled then is not read. In place it is filled where it is sent from.
    const std::size_t sent = job.collective == Collective::all_gather ? job.count / members_.size() : job.count;
    auto* from = const_cast<std::byte*>(places(job, rank).first);
    TRUNKLINE_TRY(cuda::ok(kernels::fill(from, sent, job.type, rank, stream), "filling buffers"));
  }
  TRUNKLINE_TRY(queue(job));
  std::uint64_t wrong = 0;
  for (int rank = 0; rank < ranks(); ++rank) {
    Member& member = members_[std::size_t(rank)];
    TRUNKLINE_TRY(cuda::use(member.gpu));
    const std::size_t count = result_count(job, rank, ranks());
    if (count == 0) continue;
    TRUNKLINE_TRY(cuda::ok(kernels::count_wrong(places(job, rank).second, count, job.type, expected_of(job, rank, ranks()),
                                                counts[std::size_t(rank)].as<unsigned long long>(), member.stream.get()),
                           "comparing"));
  }
  TRUNKLINE_TRY(wait());
  for (const cuda::DeviceBuffer& count : counts) {
    unsigned long long one = 0;
    TRUNKLINE_TRY(cuda::ok(cudaMemcpy(&one, count.data(), sizeof one, cudaMemcpyDeviceToHost), "comparing"));
    wrong += one;
  }
  return wrong;
}

Result<Seconds> Group::time(const Job& job, int iterations) {
  for (const Member& member : members_) {
    TRUNKLINE_TRY(cuda::use(member.gpu));
    TRUNKLINE_TRY(cuda::ok(cudaEventRecord(member.begin.get(), member.stream.get()), "recording an event"));
  }
  for (int i = 0; i < iterations; ++i) TRUNKLINE_TRY(queue(job));
  for (const Member& member : members_) {
    TRUNKLINE_TRY(cuda::use(member.gpu));
    TRUNKLINE_TRY(cuda::ok(cudaEventRecord(member.end.get(), member.stream.get()), "recording an event"));
  }
  TRUNKLINE_TRY(wait());
  float longest = 0;
  for (const Member& member : members_) {
    float ms = 0;
    TRUNKLINE_TRY(cuda::ok(cudaEventElapsedTime(&ms, member.begin.get(), member.end.get()), "reading the time"));
    longest = std::max(longest, ms);
  }
  return milliseconds(longest) / double(iterations);
}

}  // namespace trunkline::backends::nccl
