# NVIDIA's GPUs: backends/nvml, backends/cuda, backends/nccl. Each of them builds on every machine.
trunkline_backend(nvml USES measure LINK ${CMAKE_DL_LIBS})

# A stand-in for the driver's library, for the tests of backends/nvml.
add_library(fake_nvml MODULE ${CMAKE_SOURCE_DIR}/src/backends/nvml/testdata/fake_nvml.cc)
target_link_libraries(fake_nvml PRIVATE trunkline_flags)
target_compile_definitions(test_backends_nvml PRIVATE TRUNKLINE_FAKE_NVML="$<TARGET_FILE:fake_nvml>")
add_dependencies(test_backends_nvml fake_nvml)
