# The double of cuSOLVER, and one that lacks functions, each in a folder of its own. They use the double of CUDA's driver.
set(cusolver_doubles ${CMAKE_CURRENT_BINARY_DIR}/cusolver-doubles)
add_vendor_double(cusolver good good libcusolver.so.12 ${CMAKE_CURRENT_LIST_DIR}/../cuda/libraries/driver.c
    ${CMAKE_CURRENT_LIST_DIR}/doubles/cusolver.c ${CMAKE_CURRENT_LIST_DIR}/doubles/routines.c
    ${CMAKE_CURRENT_LIST_DIR}/doubles/spectra.c)
add_vendor_double(cusolver short short libcusolver.so.12 ${CMAKE_CURRENT_LIST_DIR}/doubles/short.c)

share_support(cusolver support_cuda)
programs_of(cusolver targets)
foreach(target ${targets})
    add_dependencies(${target} cuda_double_good)
endforeach()

# The headers of CUDA's toolkit or of its wheels, for the comparison with our prototypes.
file(GLOB cusolver_wheels ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/*/include)
find_path(CUSOLVER_HEADERS cusolverDn.h PATHS /usr/local/cuda/include ${cusolver_wheels})
if(CUSOLVER_HEADERS AND TARGET test_cusolver_prototypes)
    target_include_directories(test_cusolver_prototypes SYSTEM PRIVATE ${CUSOLVER_HEADERS})
endif()

# Each rule of the library that a test relies on: the test fails if the double breaks the rule.
foreach(each factors:triangle factors:op factors:conjugate factors:pivots factors:sides failing:info spectra:reflector spectra:values plans:order plans:stream
        plans:workspace)
    string(REPLACE ":" ";" each ${each})
    list(GET each 0 program)
    list(GET each 1 fault)
    add_project_test(cusolver_fault_${fault} sh -c "! CUSOLVER_FAULT=${fault} ${emulated} $<TARGET_FILE:test_cusolver_${program}>")
endforeach()
