// Limits, names and shapes: what needs the toolkit but no GPU.
#include <gtest/gtest.h>

#include "backends/cuda/error.hpp"
#include "backends/cuda/products.hpp"
#include "catalog/catalog.hpp"

namespace trunkline::backends::cuda {
namespace {

Gpu h200() {
  Gpu gpu;
  gpu.name = "NVIDIA H200";  // as the driver names it
  const auto part = catalog::Catalog::builtin().gpu(gpu.name);
  EXPECT_TRUE(part);
  gpu.part = *part;
  gpu.l2 = mib(60);
  return gpu;
}

TEST(Limits, come_from_the_catalogue_by_the_name_that_the_driver_gives) {
  const Gpu gpu = h200();
  EXPECT_EQ(memory_limit(gpu)->value, 4.8e12);
  EXPECT_EQ(matrix_limit(gpu, catalog::Precision::bf16)->value, 989e12);
  EXPECT_NEAR(host_limit(gpu)->value, 63.0e9, 0.1e9);  // 32 GT/s · 16 lanes · 128/130
}

TEST(Limits, are_absent_where_the_catalogue_does_not_know_the_gpu) {
  Gpu gpu = h200();
  gpu.part = nullptr;
  EXPECT_FALSE(memory_limit(gpu));
  EXPECT_FALSE(matrix_limit(gpu, catalog::Precision::fp8));
  EXPECT_FALSE(host_limit(gpu));
  EXPECT_FALSE(metric("x", "B/s", measure::Better::higher, memory_limit(gpu)).limit);
}

TEST(CpuList, reads_what_the_kernel_writes) {
  EXPECT_EQ(cpus_in("0-3,8"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(cpus_in("5\n"), (std::vector<int>{5}));
  EXPECT_TRUE(cpus_in("").empty());
  EXPECT_EQ(cpus_in("1,x,3-"), (std::vector<int>{1}));
}

TEST(SizeText, is_exact_in_binary_units) {
  EXPECT_EQ(size_text(mib(256)), "256MiB");
  EXPECT_EQ(size_text(gib(1)), "1GiB");
  EXPECT_EQ(size_text(kib(1024)), "1MiB");
  EXPECT_EQ(size_text(Bytes(8)), "8B");
}

TEST(Errors, of_the_machine_waive_and_faults_of_the_gpu_fail_with_the_next_step) {
  const auto no_memory = ok(cudaErrorMemoryAllocation, "taking memory");
  EXPECT_EQ(no_memory.error().kind, ErrorKind::missing);
  EXPECT_NE(no_memory.error().hint.find("nvidia-smi"), std::string::npos);
  const auto fault = ok(cudaErrorIllegalAddress, "copying");
  EXPECT_EQ(fault.error().kind, ErrorKind::failed);
  EXPECT_NE(fault.error().hint.find("again"), std::string::npos);
  EXPECT_TRUE(loses_context(cudaErrorIllegalAddress));
  EXPECT_FALSE(loses_context(cudaErrorMemoryAllocation));
  EXPECT_EQ(ok(cudaErrorNoKernelImageForDevice, "loading").error().kind, ErrorKind::missing);
  EXPECT_TRUE(ok(cudaSuccess, "nothing"));
}

TEST(Products, of_training_lie_in_memory_as_frameworks_keep_them) {
  // y[m,n] = x[m,k]·Wᵀ with W[n,k]; dx = dy·W; dW = dyᵀ·x.
  for (const Pass pass : {Pass::forward, Pass::input_gradient, Pass::weight_gradient})
    EXPECT_EQ(pass_of(product_of(2, 3, 5, MatrixKind::bf16, pass)), pass);
  const MatrixProduct p = product_of(4096, 1600, 6400, MatrixKind::fp8);
  EXPECT_EQ(p.bytes_a().count(), 4096 * 6400);
  EXPECT_EQ(p.bytes_b().count(), 1600 * 6400);
  EXPECT_EQ(p.bytes_d().count(), 4096 * 1600 * 2);  // fp8 products are written as bf16
  EXPECT_EQ(p.flops(), 2.0 * 4096 * 1600 * 6400);
}

TEST(Products, are_repeated_until_they_can_be_timed) {
  const Gpu gpu = h200();
  EXPECT_EQ(repetitions_for(gpu, product_of(8192, 8192, 8192), milliseconds(10)), 8);  // 1.1 ms each at 989 TFLOP/s
  EXPECT_EQ(repetitions_for(gpu, product_of(64, 64, 64), milliseconds(10)), 200);      // no more than a queue takes
  EXPECT_EQ(repetitions_for(gpu, product_of(32768, 32768, 32768), milliseconds(10)), 3);
}

}  // namespace
}  // namespace trunkline::backends::cuda
