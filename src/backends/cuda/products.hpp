// Matrix products as probes repeat them: operands of random numbers, taken from other memory each time. Internal.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/blas.hpp"
#include "backends/cuda/lanes.hpp"

namespace trunkline::backends::cuda {

// Memory for the operands of products of one kind: normal random numbers, as much as the largest of them needs.
class Operands {
 public:
  static Result<std::unique_ptr<Operands>> make(const Gpu& gpu, MatrixKind kind, std::span<const MatrixProduct> products);

  // The i-th repetition: from other places than the ones before, until the L2 cache cannot hold them any more.
  struct Places {
    void *d, *a, *b;
  };
  Places places(const MatrixProduct& product, int i) const;

 private:
  Bytes l2_;
  DeviceBuffer a_, b_, d_;
};

// A product with its algorithm and its operands.
class Product {
 public:
  static Result<std::unique_ptr<Product>> make(const Blas& blas, const Operands& operands, const MatrixProduct& product);

  const MatrixProduct& shape() const { return shape_; }
  Result<void> queue(int times, cudaStream_t stream) const;
  // Compares elements of the result with exact ones. The error names by how much they differ.
  Result<void> check(const Gpu& gpu) const;

 private:
  MatrixProduct shape_;
  const Operands* operands_ = nullptr;
  std::unique_ptr<Blas::Plan> plan_;
};

// What a product is to training: y = x·Wᵀ, dx = dy·W, dW = dyᵀ·x.
enum class Pass { forward, input_gradient, weight_gradient };
std::string name_of(Pass pass);
MatrixProduct product_of(int m, int n, int k, MatrixKind kind = MatrixKind::bf16, Pass pass = Pass::forward);
Pass pass_of(const MatrixProduct& product);

// The metric of its rate, with the conditions that identify it.
measure::Metric rate_metric(std::string name, const Gpu& gpu, const MatrixProduct& product);

// How often a product is repeated to take so long at the rate of the catalogue, or at 100 TFLOP/s where that is not known.
int repetitions_for(const Gpu& gpu, const MatrixProduct& product, Seconds time);

}  // namespace trunkline::backends::cuda
