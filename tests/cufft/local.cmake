# The double of cuFFT, and one that lacks functions, each in a folder of its own. They use the double of CUDA's driver.
set(cufft_doubles ${CMAKE_CURRENT_BINARY_DIR}/cufft-doubles)
add_vendor_double(cufft good good libcufft.so.12 ${CMAKE_CURRENT_LIST_DIR}/../cuda/libraries/driver.c
    ${CMAKE_CURRENT_LIST_DIR}/doubles/cufft.c ${CMAKE_CURRENT_LIST_DIR}/doubles/transform.c)
add_vendor_double(cufft short short libcufft.so.12 ${CMAKE_CURRENT_LIST_DIR}/doubles/short.c)

share_support(cufft support_cuda)
programs_of(cufft targets)
foreach(target ${targets})
    add_dependencies(${target} cuda_double_good)
endforeach()

# A cuFFT that does nothing, for use with the driver that does nothing (tests/cublas).
add_vendor_double(cufft null null libcufft.so.12 ${CMAKE_CURRENT_LIST_DIR}/null/cufft.c ${CMAKE_CURRENT_LIST_DIR}/null/plan.c)
add_project_test(cufft_null_costs sh -c
    "${emulated} $<TARGET_FILE:gpu_check> --part costs.transforms --folder ${cufft_doubles}/null | grep 'a transform of 64'")
set_property(TEST cufft_null_costs APPEND PROPERTY ENVIRONMENT
    BACKPLANE_LIBRARY_PATH=${cufft_doubles}/null:${CMAKE_CURRENT_BINARY_DIR}/cublas-doubles/null BACKPLANE_REGISTRY_SYSTEM=false
    BACKPLANE_REGISTRY_CACHE=off)

# The headers of CUDA's toolkit or of its wheels, for the comparison with our prototypes.
file(GLOB cufft_wheels ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/*/include)
find_path(CUFFT_HEADERS cufftXt.h PATHS /usr/local/cuda/include ${cufft_wheels})
if(CUFFT_HEADERS AND TARGET test_cufft_prototypes)
    target_include_directories(test_cufft_prototypes SYSTEM PRIVATE ${CUFFT_HEADERS})
endif()

# Each rule of the library that a test relies on: the test fails if the double breaks the rule.
foreach(each transforms:embed transforms:stride transforms:batch transforms:direction transforms:scale plans:order plans:stream
        plans:workspace)
    string(REPLACE ":" ";" each ${each})
    list(GET each 0 program)
    list(GET each 1 fault)
    add_project_test(cufft_fault_${fault} sh -c "! CUFFT_FAULT=${fault} ${emulated} $<TARGET_FILE:test_cufft_${program}>")
endforeach()
