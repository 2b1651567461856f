# The double of libcuda.so.1, and one that lacks functions, each in a folder of its own.
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/doubles/*.c)
list(FILTER sources EXCLUDE REGEX "/short\\.c$")
add_vendor_double(cuda good good libcuda.so.1 ${sources})
add_vendor_double(cuda short short libcuda.so.1 ${CMAKE_CURRENT_LIST_DIR}/doubles/short.c)

# Each rule of the driver that a test relies on: the test fails, or crashes, if the double breaks the rule.
function(expect_fault program fault)
    add_project_test(cuda_fault_${fault} sh -c "! CUDA_FAULT=${fault} ${emulated} $<TARGET_FILE:test_cuda_${program}>")
endfunction()

# The header of CUDA's toolkit or of its wheels, for the comparison with our prototypes.
file(GLOB cuda_wheels ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/*/include)
find_path(CUDA_HEADERS cuda.h PATHS /usr/local/cuda/include ${cuda_wheels})
if(CUDA_HEADERS AND TARGET test_cuda_prototypes)
    target_include_directories(test_cuda_prototypes SYSTEM PRIVATE ${CUDA_HEADERS})
endif()

foreach(each queues:waits queues:legacy queues:events queues:pop queues:times queues:per_thread memory:free copies:rows
        copies:peers copies:kernels graphs:graphs graphs:relaxed errors:sticky)
    string(REPLACE ":" ";" each ${each})
    expect_fault(${each})
endforeach()

# What `make gpu-check` examines on a GPU holds for the double, and fails if the double breaks a rule.
set(checked ${CMAKE_CURRENT_BINARY_DIR}/gpu-check)
file(MAKE_DIRECTORY ${checked})
set(doubles ${CMAKE_CURRENT_BINARY_DIR}/cuda-doubles/good ${CMAKE_CURRENT_BINARY_DIR}/cublas-doubles/lt
    ${CMAKE_CURRENT_BINARY_DIR}/cublas-doubles/classic ${CMAKE_CURRENT_BINARY_DIR}/cudnn-doubles/good
    ${CMAKE_CURRENT_BINARY_DIR}/cufft-doubles/good
    ${CMAKE_CURRENT_BINARY_DIR}/cusolver-doubles/good ${CMAKE_CURRENT_BINARY_DIR}/nvrtc-doubles/good)
list(JOIN doubles ":" doubles)
set(with_double BACKPLANE_LIBRARY_PATH=${doubles} BACKPLANE_REGISTRY_SYSTEM=false BACKPLANE_REGISTRY_CACHE=off)
add_project_test(cuda_gpu_check gpu_check --folder ${checked})
set_property(TEST cuda_gpu_check APPEND PROPERTY ENVIRONMENT ${with_double})
foreach(pair 1:driver.events.waits 2:driver.streams.default 4:driver.memory.free 5:library.copies 6:library.peers
        7:capture.noted 8:library.copies 8:kernels.values.f32 9:capture.relaxed 10:library.context 11:driver.errors 12:driver.events.times
        13:driver.streams.per_thread)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 fault)
    list(GET pair 1 part)
    string(APPEND faults
        "CUDA_DOUBLE=fault=${fault} ${emulated} $<TARGET_FILE:gpu_check> --part ${part} --folder ${checked} | grep -q FAILED || exit 1\n")
endforeach()
foreach(pair 1:products.values 3:products.values 5:products.values 6:products.nan 7:products.tf32 8:products.order 9:products.layers
        10:products.layers 13:products.addresses)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 fault)
    list(GET pair 1 part)
    string(APPEND faults
        "CUBLAS_DOUBLE=fault=${fault} ${emulated} $<TARGET_FILE:gpu_check> --part ${part} --folder ${checked} | grep -q FAILED || exit 1\n")
endforeach()
foreach(pair 1:convolutions.order 2:convolutions.order 4:convolutions.values 5:convolutions.values 6:convolutions.values
        7:convolutions.values 8:convolutions.layouts 9:convolutions.bits 9:convolutions.tf32 10:convolutions.values
        11:convolutions.biases 12:convolutions.biases 13:attention.values 14:attention.values 15:attention.masks
        17:attention.values 18:attention.empty 19:attention.gradients 1:attention.captured)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 fault)
    list(GET pair 1 part)
    string(APPEND faults
        "CUDNN_DOUBLE=fault=${fault} ${emulated} $<TARGET_FILE:gpu_check> --part ${part} --folder ${checked} | grep -q FAILED || exit 1\n")
endforeach()
foreach(pair 1:transforms.order 2:transforms.order 3:transforms.layouts 4:transforms.layouts 5:transforms.values
        6:transforms.values 8:transforms.values)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 fault)
    list(GET pair 1 part)
    string(APPEND faults
        "CUFFT_DOUBLE=fault=${fault} ${emulated} $<TARGET_FILE:gpu_check> --part ${part} --folder ${checked} | grep -q FAILED || exit 1\n")
endforeach()
foreach(pair 1:linalg.order 2:linalg.order 3:linalg.values 4:linalg.values 6:linalg.values 7:linalg.values 8:linalg.failing
        10:linalg.spectra 11:linalg.spectra)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 fault)
    list(GET pair 1 part)
    string(APPEND faults
        "CUSOLVER_DOUBLE=fault=${fault} $<TARGET_FILE:gpu_check> --part ${part} --folder ${checked} | grep -q FAILED || exit 1\n")
endforeach()
add_project_test(cuda_gpu_check_faults sh -c "${faults}")
set_property(TEST cuda_gpu_check_faults APPEND PROPERTY ENVIRONMENT ${with_double})
add_project_test(cuda_gpu_check_without_device sh -c "${emulated} $<TARGET_FILE:gpu_check> | grep 'no device: .*libcuda.so.1 was not found'")
set_property(TEST cuda_gpu_check_without_device APPEND PROPERTY ENVIRONMENT BACKPLANE_LIBRARY_PATH= BACKPLANE_REGISTRY_SYSTEM=false
    BACKPLANE_REGISTRY_CACHE=off)
