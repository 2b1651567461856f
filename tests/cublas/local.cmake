# The doubles of cuBLASLt and cuBLAS, in a folder of their own, and each alone. They use the double of CUDA's driver.
set(cublas_doubles ${CMAKE_CURRENT_BINARY_DIR}/cublas-doubles)
set(shared_sources ${CMAKE_CURRENT_LIST_DIR}/../cuda/libraries/driver.c ${CMAKE_CURRENT_LIST_DIR}/doubles/driver.c ${CMAKE_CURRENT_LIST_DIR}/doubles/product.c)
add_vendor_double(cublas lt lt libcublasLt.so.13 ${shared_sources} ${CMAKE_CURRENT_LIST_DIR}/doubles/lt.c)
add_vendor_double(cublas classic classic libcublas.so.13 ${shared_sources} ${CMAKE_CURRENT_LIST_DIR}/doubles/classic.c)
add_vendor_double(cublas short short libcublasLt.so.13 ${CMAKE_CURRENT_LIST_DIR}/doubles/short.c)

share_support(cublas support_cuda)
programs_of(cublas targets)
foreach(target ${targets})
    add_dependencies(${target} cuda_double_good)
endforeach()

# A driver and a cuBLASLt that do nothing. With them gpu_check measures what starting a product costs on the host.
set(null_sources ${CMAKE_CURRENT_LIST_DIR}/null)
add_vendor_double(cublas null_lt null libcublasLt.so.13 ${null_sources}/lt.c ${null_sources}/heuristic.c)
add_vendor_double(cublas null_driver null libcuda.so.1 ${null_sources}/defaults.c ${null_sources}/driver.c)
add_project_test(cublas_null_costs sh -c
    "${emulated} $<TARGET_FILE:gpu_check> --part costs.products --folder ${cublas_doubles}/null | grep 'a product of f16'")
set_property(TEST cublas_null_costs APPEND PROPERTY ENVIRONMENT BACKPLANE_LIBRARY_PATH=${cublas_doubles}/null
    BACKPLANE_REGISTRY_SYSTEM=false BACKPLANE_REGISTRY_CACHE=off)

# The headers of CUDA's toolkit or of its wheels, for the comparison with our prototypes. Our structs are checked without them.
file(GLOB cublas_wheels ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/*/include)
find_path(CUBLAS_HEADERS cublasLt.h PATHS /usr/local/cuda/include ${cublas_wheels})
if(CUBLAS_HEADERS AND TARGET test_cublas_prototypes)
    target_include_directories(test_cublas_prototypes SYSTEM PRIVATE ${CUBLAS_HEADERS})
endif()

# The real library, which makes descriptors without a GPU. The test reaches internal functions of the provider.
file(GLOB cublas_wheels ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/*/lib)
find_file(CUBLAS_LT NAMES libcublasLt.so.13 libcublasLt.so.12 PATHS /usr/local/cuda/lib64 ${cublas_wheels} PATH_SUFFIXES lib64 lib)
link_providers(cublas cuda)
if(TARGET test_cublas_library)
    target_compile_definitions(test_cublas_library PRIVATE CUBLAS_LT="$<$<BOOL:${CUBLAS_LT}>:${CUBLAS_LT}>")
endif()

# Each rule of the libraries that a test relies on: the test fails if the doubles break the rule.
foreach(each products:transposition products:conjugate products:ld products:batch products:alpha products:beta
        settings:rounding settings:schemes plans:order plans:alignment plans:workspace layers:bias layers:function)
    string(REPLACE ":" ";" each ${each})
    list(GET each 0 program)
    list(GET each 1 fault)
    add_project_test(cublas_fault_${fault} sh -c "! CUBLAS_FAULT=${fault} ${emulated} $<TARGET_FILE:test_cublas_${program}>")
endforeach()
