# The double of NVRTC, which compiles kernels for the host; they run on the double of CUDA's driver.
set(nvrtc_doubles ${CMAKE_CURRENT_BINARY_DIR}/nvrtc-doubles)
add_vendor_double(nvrtc good good libnvrtc.so.13 ${CMAKE_CURRENT_LIST_DIR}/doubles/nvrtc.c)
set(shim ${CMAKE_CURRENT_LIST_DIR}/doubles/shim.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${shim})
file(SHA1 ${shim} shim_hash)
string(SUBSTRING ${shim_hash} 0 15 shim_hash)
target_compile_definitions(nvrtc_double_good PRIVATE NVRTC_COMPILER="${CMAKE_CXX_COMPILER}" NVRTC_SHIM="${shim}"
    NVRTC_SHIM_HASH=0x${shim_hash}ul BP_TEST_BUILD_DIR="${CMAKE_BINARY_DIR}")

# An NVRTC that does nothing, for use with the driver that does nothing (tests/cublas).
add_vendor_double(nvrtc null null libnvrtc.so.13 ${CMAKE_CURRENT_LIST_DIR}/null/nvrtc.c)
add_project_test(nvrtc_null_costs sh -c
    "${emulated} $<TARGET_FILE:gpu_check> --part costs.kernels --folder ${nvrtc_doubles}/null | grep 'relu of 64 elements'")
set_property(TEST nvrtc_null_costs APPEND PROPERTY ENVIRONMENT
    BACKPLANE_LIBRARY_PATH=${nvrtc_doubles}/null:${CMAKE_CURRENT_BINARY_DIR}/cublas-doubles/null BACKPLANE_REGISTRY_SYSTEM=false
    BACKPLANE_REGISTRY_CACHE=off)

# The header of CUDA's toolkit or of its wheels, for the comparison with our prototypes.
file(GLOB nvrtc_wheels ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/*/include)
find_path(NVRTC_HEADERS nvrtc.h PATHS /usr/local/cuda/include ${nvrtc_wheels})
if(NVRTC_HEADERS AND TARGET test_nvrtc_prototypes)
    target_include_directories(test_nvrtc_prototypes SYSTEM PRIVATE ${NVRTC_HEADERS})
endif()

share_support(nvrtc support_cuda)
programs_of(nvrtc targets)
foreach(target ${targets})
    add_dependencies(${target} cuda_double_good)
endforeach()
