// Matrix products through cuBLASLt, which is opened at run time: half a gigabyte that other commands do not need. Internal.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <string>

#include "backends/cuda/kernels.hpp"
#include "backends/cuda/resources.hpp"

namespace trunkline::backends::cuda {

// The library's functions that are used, of the version that this program was built with.
struct BlasLibrary {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtGetVersion) version = nullptr;
  decltype(&cublasLtGetStatusString) status_text = nullptr;
  decltype(&cublasLtMatmulDescCreate) description_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) description_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) description_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmul) multiply = nullptr;
};

// Opened when first asked for and kept. An error of the kind `missing` where it is not found.
Result<const BlasLibrary*> blas_library();

enum class MatrixKind { bf16, fp16, tf32, fp8 };
std::string name_of(MatrixKind kind);
catalog::Precision precision_of(MatrixKind kind);

struct MatrixProduct {
  int m = 0, n = 0, k = 0;
  bool a_transposed = false, b_transposed = false;  // as they lie in memory: kernels::Product
  MatrixKind kind = MatrixKind::bf16;
  bool fast_accumulation = true;  // fp8: partial sums in less than fp32, as frameworks run the forward pass

  kernels::Product layout() const;
  double flops() const { return 2.0 * m * n * k; }
  Bytes bytes_a() const, bytes_b() const, bytes_d() const;
};

// cuBLASLt on the GPU in use, with the workspace that PyTorch gives it.
class Blas {
 public:
  static Result<std::unique_ptr<Blas>> make(const Gpu& gpu);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  // One product with the algorithm that the library's heuristic ranks first, which is what PyTorch runs.
  class Plan {
   public:
    ~Plan();
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;
    Result<void> queue(void* d, const void* a, const void* b, cudaStream_t stream) const;

   private:
    friend class Blas;
    explicit Plan(const Blas& blas) : blas_(blas) {}
    const Blas& blas_;
    cublasLtMatmulDesc_t description_ = nullptr;
    cublasLtMatrixLayout_t first_ = nullptr, second_ = nullptr, out_ = nullptr;
    cublasLtMatmulAlgo_t algorithm_{};
    std::size_t workspace_ = 0;
  };
  // `missing`: the GPU or the library has no kernel for it.
  Result<std::unique_ptr<Plan>> plan(const MatrixProduct& product) const;

 private:
  explicit Blas(const BlasLibrary& library) : library_(library) {}
  Result<void> describe(Plan& plan, const MatrixProduct& product) const;
  Result<void> choose(Plan& plan, const MatrixProduct& product) const;
  Result<void> ok(cublasStatus_t status, const std::string& what) const;

  const BlasLibrary& library_;
  cublasLtHandle_t handle_ = nullptr;
  DeviceBuffer workspace_, one_;  // one_: the scale of fp8 operands
};

}  // namespace trunkline::backends::cuda
