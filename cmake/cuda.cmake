# NVIDIA's GPUs: backends/nvml, backends/cuda, backends/nccl. Each of them builds on every machine.
trunkline_backend(nvml USES measure LINK ${CMAKE_DL_LIBS})

# A stand-in for the driver's library, for the tests of backends/nvml.
add_library(fake_nvml MODULE ${CMAKE_SOURCE_DIR}/src/backends/nvml/testdata/fake_nvml.cc)
target_link_libraries(fake_nvml PRIVATE trunkline_flags)
target_compile_definitions(test_backends_nvml PRIVATE TRUNKLINE_FAKE_NVML="$<TARGET_FILE:fake_nvml>")
add_dependencies(test_backends_nvml fake_nvml)

# NVIDIA's toolkit is optional: TRUNKLINE_CUDA=AUTO takes it where nvcc is found, ON insists on it. Only the runtime is linked, as a static
# library that opens the driver when first used; cuBLASLt and NCCL are opened at run time.
set(TRUNKLINE_CUDA AUTO CACHE STRING "Build the CUDA probes: AUTO, ON or OFF")
set_property(CACHE TRUNKLINE_CUDA PROPERTY STRINGS AUTO ON OFF)
if(TRUNKLINE_CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    find_program(nvcc nvcc HINTS $ENV{CUDAToolkit_ROOT}/bin $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
    if(nvcc)
      set(CMAKE_CUDA_COMPILER ${nvcc})
    endif()
  endif()
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES all-major CACHE STRING "GPUs to build for")
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
    enable_language(CUDA)
    if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc 12 and later take it
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    find_package(CUDAToolkit REQUIRED)
  elseif(NOT TRUNKLINE_CUDA STREQUAL AUTO)
    message(FATAL_ERROR "TRUNKLINE_CUDA=${TRUNKLINE_CUDA}, and no nvcc that works was found on the PATH, in CUDA_HOME or in /usr/local/cuda")
  endif()
endif()

trunkline_backend(cuda USES backends_nvml LINK ${CMAKE_DL_LIBS})
file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/backends/cuda/*.cu)
if(CMAKE_CUDA_COMPILER_LOADED)
  # A library of its own, as nvcc does not understand the host compiler's flags.
  add_library(trunkline_cuda_kernels STATIC ${kernels})
  target_include_directories(trunkline_cuda_kernels PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(trunkline_cuda_kernels PUBLIC CUDA::cudart_static)
  target_link_libraries(trunkline_backends_cuda PUBLIC trunkline_cuda_kernels)
  target_compile_definitions(trunkline_backends_cuda PUBLIC TRUNKLINE_HAS_CUDA
                             PRIVATE TRUNKLINE_CUDA_LIBRARIES="${CUDAToolkit_LIBRARY_DIR}")
else()
  message(STATUS "backends/cuda: built without CUDA (no nvcc that works)")
  # Only what says so is compiled.
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/backends/cuda/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/cuda(_test)?\\.cpp$")
  set_source_files_properties(${sources} PROPERTIES HEADER_FILE_ONLY TRUE)
endif()
