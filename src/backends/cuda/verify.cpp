#include "backends/cuda/verify.hpp"

#include <fmt/format.h>

#include <cstring>

#include "backends/cuda/error.hpp"
#include "backends/cuda/kernels.hpp"
#include "base/rng.hpp"

namespace trunkline::backends::cuda {
namespace {

constexpr int kPoison = 0xA5;

Result<void> judge(std::uint64_t wrong, Bytes size, const std::string& what) {
  if (wrong == 0) return {};
  return fail({ErrorKind::failed,
               fmt::format("{}: {} of {} words are not what was sent", what, wrong, size.count() / std::int64_t(sizeof(std::uint64_t))),
               {},
               "this hardware is broken: nvidia-smi -q (ECC, remapped rows) and dmesg | grep -i xid say more"});
}

Result<void> transfer_now(const Gpu& gpu, const Transfer& transfer) {
  TRUNKLINE_TRY(use(gpu));
  TRUNKLINE_ASSIGN(stream, make_stream());
  TRUNKLINE_TRY(transfer(stream.get()));
  return ok(cudaStreamSynchronize(stream.get()), "copying");
}

}  // namespace

Result<std::uint64_t> differences(const Gpu& gpu, const DeviceBuffer& data, Bytes size, std::uint64_t seed) {
  TRUNKLINE_TRY(use(gpu));
  TRUNKLINE_ASSIGN(stream, make_stream());
  TRUNKLINE_ASSIGN(count, DeviceBuffer::make(Bytes(256)));
  unsigned long long out = 0;
  TRUNKLINE_TRY(ok(cudaMemsetAsync(count.data(), 0, sizeof out, stream.get()), "clearing memory"));
  TRUNKLINE_TRY(ok(kernels::count_differences(data.data(), size, seed, count.as<unsigned long long>(), stream.get()), "comparing"));
  TRUNKLINE_TRY(ok(cudaMemcpyAsync(&out, count.data(), sizeof out, cudaMemcpyDeviceToHost, stream.get()), "comparing"));
  TRUNKLINE_TRY(ok(cudaStreamSynchronize(stream.get()), "comparing"));
  return out;
}

std::uint64_t differences(const HostBuffer& data, Bytes size, std::uint64_t seed) {
  const auto* words = data.as<std::uint64_t>();
  const auto count = std::size_t(size.count()) / sizeof *words;
  Rng rng(seed);
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < count; ++i) out += words[i] != rng.next();
  return out;
}

Result<void> verify_device(const Gpu& gpu, const DeviceBuffer& to, Bytes size, std::uint64_t seed, const Transfer& transfer,
                           const std::string& what) {
  TRUNKLINE_TRY(use(gpu));
  TRUNKLINE_TRY(ok(cudaMemset(to.data(), kPoison, std::size_t(size.count())), "clearing memory"));
  TRUNKLINE_TRY(ok(cudaDeviceSynchronize(), "clearing memory"));
  TRUNKLINE_TRY(transfer_now(gpu, transfer));
  TRUNKLINE_ASSIGN(wrong, differences(gpu, to, size, seed));
  return judge(wrong, size, what);
}

Result<void> verify_host(const Gpu& gpu, const HostBuffer& to, Bytes size, std::uint64_t seed, const Transfer& transfer,
                         const std::string& what) {
  std::memset(to.data(), kPoison, std::size_t(size.count()));
  TRUNKLINE_TRY(transfer_now(gpu, transfer));
  return judge(differences(to, size, seed), size, what);
}

}  // namespace trunkline::backends::cuda
