# The double of cuDNN, and one that lacks functions, each in a folder of its own. They use the double of CUDA's driver.
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/doubles/*.c)
list(FILTER sources EXCLUDE REGEX "/short\\.c$")
add_vendor_double(cudnn good good libcudnn.so.9 ${CMAKE_CURRENT_LIST_DIR}/../cuda/libraries/driver.c ${sources})
add_vendor_double(cudnn short short libcudnn.so.9 ${CMAKE_CURRENT_LIST_DIR}/doubles/short.c)

share_support(cudnn support_cuda)
programs_of(cudnn targets)
foreach(target ${targets})
    add_dependencies(${target} cuda_double_good)
endforeach()
# Two tests compare the ranks of other providers.
if(TARGET test_cudnn_settings)
    add_dependencies(test_cudnn_settings cublas_double_lt nvrtc_double_good)
endif()
if(TARGET test_cudnn_attention)
    add_dependencies(test_cudnn_attention nvrtc_double_good)
endif()

# A cuDNN that does nothing, for use with the driver that does nothing (tests/cublas).
add_vendor_double(cudnn null null libcudnn.so.9 ${CMAKE_CURRENT_LIST_DIR}/null/cudnn.c)
add_project_test(cudnn_null_costs sh -c
    "${emulated} $<TARGET_FILE:gpu_check> --part costs.convolutions --folder ${CMAKE_CURRENT_BINARY_DIR}/cudnn-doubles/null | grep 'a convolution of 2x4x7x5'")
set_property(TEST cudnn_null_costs APPEND PROPERTY ENVIRONMENT
    BACKPLANE_LIBRARY_PATH=${CMAKE_CURRENT_BINARY_DIR}/cudnn-doubles/null:${CMAKE_CURRENT_BINARY_DIR}/cublas-doubles/null
    BACKPLANE_REGISTRY_SYSTEM=false BACKPLANE_REGISTRY_CACHE=off)

# The headers of cuDNN and of CUDA's toolkit or of their wheels, for the comparison with our prototypes.
file(GLOB cudnn_wheels ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/*/include)
find_path(CUDNN_HEADERS cudnn.h PATHS /usr/local/cuda/include ${cudnn_wheels})
if(CUDNN_HEADERS AND TARGET test_cudnn_prototypes)
    target_include_directories(test_cudnn_prototypes SYSTEM PRIVATE ${CUDNN_HEADERS})
    if(CUDA_HEADERS)
        target_include_directories(test_cudnn_prototypes SYSTEM PRIVATE ${CUDA_HEADERS})
    endif()
endif()

# `make test-all` lets NVIDIA's library make plans without a GPU, where it is installed. The test reaches internal functions of
# the provider. Newer versions of the library need a libcuda.so.1, for which the toolkit's stub will do.
file(GLOB cudnn_wheels ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/*/lib)
find_file(CUDNN_REAL NAMES libcudnn.so.9 PATHS /usr/local/cuda/lib64 ${cudnn_wheels} PATH_SUFFIXES lib64 lib)
find_file(CUDA_STUB NAMES libcuda.so PATHS /usr/local/cuda/lib64/stubs NO_DEFAULT_PATH)
link_providers(cudnn cuda)
if(TARGET test_cudnn_real)
    target_compile_definitions(test_cudnn_real PRIVATE CUDNN_REAL="$<$<BOOL:${CUDNN_REAL}>:${CUDNN_REAL}>"
        CUDA_STUB="$<$<BOOL:${CUDA_STUB}>:${CUDA_STUB}>")
    set_tests_properties(cudnn_real PROPERTIES TIMEOUT 7200)
    leave_to_all(cudnn_real test_cudnn_real)
endif()

# Plans of attention need more of a driver than the stub has: cuDNN loads the kernels that it compiles.
if(TARGET test_cudnn_real_attention)
    set(driver "")
    if(CUDA_STUB)
        set(rest ${CMAKE_CURRENT_BINARY_DIR}/cudnn-driver/rest.c)
        add_custom_command(OUTPUT ${rest} DEPENDS ${CMAKE_CURRENT_LIST_DIR}/driver/rest.sh ${CMAKE_CURRENT_LIST_DIR}/driver/driver.c
            COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/cudnn-driver
            COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/driver/rest.sh ${CUDA_STUB} ${CMAKE_CURRENT_LIST_DIR}/driver/driver.c > ${rest})
        add_vendor_double(cudnn driver driver libcuda.so.1 ${CMAKE_CURRENT_LIST_DIR}/driver/driver.c ${rest})
        set(driver ${CMAKE_CURRENT_BINARY_DIR}/cudnn-doubles/driver/libcuda.so.1)
    endif()
    target_compile_definitions(test_cudnn_real_attention PRIVATE CUDNN_REAL="$<$<BOOL:${CUDNN_REAL}>:${CUDNN_REAL}>"
        CUDA_DRIVER="${driver}")
    set_tests_properties(cudnn_real_attention PROPERTIES TIMEOUT 7200)
    leave_to_all(cudnn_real_attention test_cudnn_real_attention)
endif()

# Each rule of the library that a test relies on: the test fails if the double breaks the rule.
foreach(each convolutions:padding convolutions:steps convolutions:dilation convolutions:groups convolutions:layout
        convolutions:beta gradients:bias gradients:relu settings:notes plans:order plans:stream plans:workspace
        attention:scale attention:causal attention:mask attention:heads attention:stats attention:empty
        attention_gradients:sums)
    string(REPLACE ":" ";" each ${each})
    list(GET each 0 program)
    list(GET each 1 fault)
    add_project_test(cudnn_fault_${fault} sh -c "! CUDNN_FAULT=${fault} ${emulated} $<TARGET_FILE:test_cudnn_${program}>")
endforeach()
