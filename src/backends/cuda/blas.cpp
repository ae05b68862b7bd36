#include "backends/cuda/blas.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "backends/cuda/error.hpp"

#ifndef TRUNKLINE_CUDA_LIBRARIES
#define TRUNKLINE_CUDA_LIBRARIES "/usr/local/cuda/lib64"
#endif

namespace trunkline::backends::cuda {
namespace {

template <class Function>
bool find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(library, name));
  return out != nullptr;
}

Result<BlasLibrary> open_library() {
  const std::string file = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR);
  void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) handle = ::dlopen((TRUNKLINE_CUDA_LIBRARIES "/" + file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    return fail({ErrorKind::missing,
                 fmt::format("{} is not found", file),
                 {},
                 "install cuBLAS of NVIDIA's toolkit, or name its folder in LD_LIBRARY_PATH (PyTorch brings one: nvidia/*/lib)"});
  }
  BlasLibrary f;
  const bool complete =
      find(handle, "cublasLtCreate", f.create) && find(handle, "cublasLtDestroy", f.destroy) &&
      find(handle, "cublasLtGetVersion", f.version) && find(handle, "cublasLtGetStatusString", f.status_text) &&
      find(handle, "cublasLtMatmulDescCreate", f.description_create) && find(handle, "cublasLtMatmulDescDestroy", f.description_destroy) &&
      find(handle, "cublasLtMatmulDescSetAttribute", f.description_set) && find(handle, "cublasLtMatrixLayoutCreate", f.layout_create) &&
      find(handle, "cublasLtMatrixLayoutDestroy", f.layout_destroy) &&
      find(handle, "cublasLtMatmulPreferenceCreate", f.preference_create) &&
      find(handle, "cublasLtMatmulPreferenceDestroy", f.preference_destroy) &&
      find(handle, "cublasLtMatmulPreferenceSetAttribute", f.preference_set) &&
      find(handle, "cublasLtMatmulAlgoGetHeuristic", f.heuristic) && find(handle, "cublasLtMatmul", f.multiply);
  if (!complete) return fail({ErrorKind::missing, file + " lacks a function that is used", {}, "install another version of cuBLAS"});
  return f;
}

struct Types {
  cudaDataType_t input, output;
  cublasComputeType_t compute;
};

Types types_of(MatrixKind kind) {
  switch (kind) {
    case MatrixKind::bf16: return {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F};
    case MatrixKind::fp16: return {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F};
    case MatrixKind::tf32: return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    case MatrixKind::fp8: break;
  }
  return {CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F};
}

Bytes bytes_of(int rows, int columns, kernels::Element element) {
  return Bytes(std::int64_t(rows) * columns * std::int64_t(kernels::size_of(element)));
}

// What PyTorch gives cuBLAS: 32 MiB from Hopper on, some 8 MiB before.
Bytes workspace_for(const Gpu& gpu) { return gpu.capability >= 90 ? mib(32) : kib(8320); }

}  // namespace

Result<const BlasLibrary*> blas_library() {
  static const Result<BlasLibrary> library = open_library();
  if (!library) return fail(library.error());
  return &*library;
}

std::string name_of(MatrixKind kind) { return catalog::name_of(precision_of(kind)); }

catalog::Precision precision_of(MatrixKind kind) {
  switch (kind) {
    case MatrixKind::bf16: return catalog::Precision::bf16;
    case MatrixKind::fp16: return catalog::Precision::fp16;
    case MatrixKind::tf32: return catalog::Precision::tf32;
    case MatrixKind::fp8: break;
  }
  return catalog::Precision::fp8;
}

kernels::Product MatrixProduct::layout() const {
  using kernels::Element;
  kernels::Product out{m, n, k, a_transposed, b_transposed};
  if (kind == MatrixKind::fp16) out.input = out.output = Element::fp16;
  if (kind == MatrixKind::tf32) out.input = out.output = Element::fp32;
  if (kind == MatrixKind::fp8) out.input = Element::e4m3;
  return out;
}

Bytes MatrixProduct::bytes_a() const { return bytes_of(m, k, layout().input); }
Bytes MatrixProduct::bytes_b() const { return bytes_of(k, n, layout().input); }
Bytes MatrixProduct::bytes_d() const { return bytes_of(m, n, layout().output); }

Result<std::unique_ptr<Blas>> Blas::make(const Gpu& gpu) {
  TRUNKLINE_ASSIGN(library, blas_library());
  std::unique_ptr<Blas> out(new Blas(*library));
  TRUNKLINE_TRY(use(gpu));
  TRUNKLINE_TRY(out->ok(library->create(&out->handle_), "starting cuBLASLt"));
  TRUNKLINE_ASSIGN(workspace, DeviceBuffer::make(workspace_for(gpu)));
  TRUNKLINE_ASSIGN(one, DeviceBuffer::make(Bytes(256)));
  const float scale = 1;
  TRUNKLINE_TRY(cuda::ok(cudaMemcpy(one.data(), &scale, sizeof scale, cudaMemcpyHostToDevice), "copying a scale"));
  out->workspace_ = std::move(workspace);
  out->one_ = std::move(one);
  return out;
}

Blas::~Blas() {
  if (handle_) library_.destroy(handle_);
}

Result<void> Blas::ok(cublasStatus_t status, const std::string& what) const {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  const bool lacks = status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH;
  // What lies beneath, where it is CUDA's own error.
  TRUNKLINE_TRY(cuda::ok(cudaPeekAtLastError(), what));
  return fail({lacks ? ErrorKind::missing : ErrorKind::failed,
               fmt::format("{}: {}", what, library_.status_text(status)),
               {},
               lacks ? "" : "a cuBLAS of another version may be found first: see LD_LIBRARY_PATH"});
}

Blas::Plan::~Plan() {
  if (description_) blas_.library_.description_destroy(description_);
  for (cublasLtMatrixLayout_t layout : {first_, second_, out_}) {
    if (layout) blas_.library_.layout_destroy(layout);
  }
}

// The library counts by columns: its product is Dᵀ = Bᵀ·Aᵀ, with the rows of ours as its columns.
Result<void> Blas::describe(Plan& plan, const MatrixProduct& p) const {
  const Types types = types_of(p.kind);
  TRUNKLINE_TRY(ok(library_.description_create(&plan.description_, types.compute, CUDA_R_32F), "describing a product"));
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    return ok(library_.description_set(plan.description_, attribute, &value, sizeof value), "describing a product");
  };
  const cublasOperation_t first = p.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, second = p.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  TRUNKLINE_TRY(set(CUBLASLT_MATMUL_DESC_TRANSA, first));
  TRUNKLINE_TRY(set(CUBLASLT_MATMUL_DESC_TRANSB, second));
  if (p.kind == MatrixKind::fp8) {
    const void* scale = one_.data();
    const std::int8_t fast = p.fast_accumulation;
    TRUNKLINE_TRY(set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scale));
    TRUNKLINE_TRY(set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scale));
    TRUNKLINE_TRY(set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast));
  }
  const auto layout = [&](cublasLtMatrixLayout_t& out, cudaDataType_t type, int rows, int columns) {
    return ok(library_.layout_create(&out, type, std::uint64_t(rows), std::uint64_t(columns), rows), "describing a matrix");
  };
  TRUNKLINE_TRY(layout(plan.first_, types.input, p.b_transposed ? p.k : p.n, p.b_transposed ? p.n : p.k));
  TRUNKLINE_TRY(layout(plan.second_, types.input, p.a_transposed ? p.m : p.k, p.a_transposed ? p.k : p.m));
  return layout(plan.out_, types.output, p.n, p.m);
}

Result<void> Blas::choose(Plan& plan, const MatrixProduct& p) const {
  cublasLtMatmulPreference_t preference = nullptr;
  TRUNKLINE_TRY(ok(library_.preference_create(&preference), "choosing an algorithm"));
  const auto room = std::size_t(workspace_.size().count());
  cublasLtMatmulHeuristicResult_t best{};
  int found = 0;
  auto done =
      ok(library_.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, sizeof room), "choosing an algorithm");
  const std::string what = fmt::format("{} {}x{}x{}", name_of(p.kind), p.m, p.n, p.k);
  if (done)
    done = ok(library_.heuristic(handle_, plan.description_, plan.first_, plan.second_, plan.out_, plan.out_, preference, 1, &best, &found),
              what);
  library_.preference_destroy(preference);
  TRUNKLINE_TRY(std::move(done));
  if (found == 0 || best.state != CUBLAS_STATUS_SUCCESS)
    return fail({ErrorKind::missing, what + ": this GPU or this cuBLAS has no kernel for it", {}, {}});
  plan.algorithm_ = best.algo;
  plan.workspace_ = best.workspaceSize;
  return {};
}

Result<std::unique_ptr<Blas::Plan>> Blas::plan(const MatrixProduct& product) const {
  std::unique_ptr<Plan> out(new Plan(*this));
  TRUNKLINE_TRY(describe(*out, product));
  TRUNKLINE_TRY(choose(*out, product));
  return out;
}

Result<void> Blas::Plan::queue(void* d, const void* a, const void* b, cudaStream_t stream) const {
  const float one = 1, zero = 0;
  return blas_.ok(blas_.library_.multiply(blas_.handle_, description_, &one, b, first_, a, second_, &zero, d, out_, d, out_, &algorithm_,
                                          blas_.workspace_.data(), workspace_, stream),
                  "multiplying matrices");
}

}  // namespace trunkline::backends::cuda
