# The references of functions of single elements come from the tests of the native provider.
foreach(name elementwise numbers)
    if(TARGET test_opencl_ops_${name})
        target_link_libraries(test_opencl_ops_${name} PRIVATE support_elementwise)
    endif()
endforeach()
# So are the cases of attention and convolutions.
if(TARGET test_opencl_ops_attention)
    target_link_libraries(test_opencl_ops_attention PRIVATE support_attention)
endif()
if(TARGET test_opencl_ops_conv)
    target_link_libraries(test_opencl_ops_conv PRIVATE support_conv)
endif()

# Each program also runs as if the device were no processor, because work is divided otherwise then.
foreach(source ${sources})
    get_filename_component(target ${source} NAME_WE)
    string(REGEX REPLACE "^test_" "" short ${target})
    if(TARGET test_opencl_ops_${short} AND NOT BACKPLANE_FUZZ)
        add_project_test(opencl_ops_${short}_as_gpu test_opencl_ops_${short})
        set_property(TEST opencl_ops_${short}_as_gpu APPEND PROPERTY ENVIRONMENT TESTED_AS_GPU=1)
        if(short MATCHES "reduce|norm|elementwise|numbers") # they compute in another way without f64
            add_project_test(opencl_ops_${short}_without_f64 test_opencl_ops_${short})
            set_property(TEST opencl_ops_${short}_without_f64 APPEND PROPERTY ENVIRONMENT TESTED_AS_GPU=1
                TESTED_WITHOUT_F64=1)
        endif()
        if(short MATCHES "^(elementwise|numbers|reduce)$") # the longest: work is divided so in the test without f64 and on CUDA, too
            set_property(TEST opencl_ops_${short}_as_gpu PROPERTY LABELS long)
        endif()
    endif()
endforeach()

# The programs also run on a CUDA device: kernels and plans are the same ones. NVRTC and the driver are doubles (tests/nvrtc, tests/cuda).
set(kept_programs ${CMAKE_CURRENT_BINARY_DIR}/nvrtc-programs)
file(MAKE_DIRECTORY ${kept_programs})
set(run_on_cuda "")
foreach(source ${sources})
    get_filename_component(target ${source} NAME_WE)
    string(REGEX REPLACE "^test_" "" short ${target})
    if(TARGET test_opencl_ops_${short} AND TARGET nvrtc_double_good)
        add_dependencies(test_opencl_ops_${short} nvrtc_double_good cuda_double_good)
        add_project_test(nvrtc_ops_${short} test_opencl_ops_${short})
        set_property(TEST nvrtc_ops_${short} APPEND PROPERTY ENVIRONMENT TESTED_ON_CUDA=1 BACKPLANE_REGISTRY_SYSTEM=false
            BACKPLANE_REGISTRY_CACHE=off NVRTC_KEEP=${kept_programs}
            BACKPLANE_LIBRARY_PATH=${CMAKE_CURRENT_BINARY_DIR}/nvrtc-doubles/good:${CMAKE_CURRENT_BINARY_DIR}/cuda-doubles/good)
        list(APPEND run_on_cuda nvrtc_ops_${short})
    endif()
endforeach()

# `make test-all` compiles their programs with the real NVRTC, where it is installed.
file(GLOB nvrtc_wheels ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/*/lib)
find_library(NVRTC_REAL NAMES libnvrtc.so.13 libnvrtc.so.12 PATHS /usr/local/cuda/lib64 ${nvrtc_wheels})
if(NVRTC_REAL AND run_on_cuda)
    add_executable(nvrtc_compile_all ${CMAKE_CURRENT_LIST_DIR}/../nvrtc/compile_all.c)
    target_include_directories(nvrtc_compile_all PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(nvrtc_compile_all PRIVATE backplane_flags dl)
    add_project_test(nvrtc_compile_all nvrtc_compile_all ${kept_programs} ${NVRTC_REAL})
    set_tests_properties(nvrtc_compile_all PROPERTIES TIMEOUT 7200 DEPENDS "${run_on_cuda}")
    leave_to_all(nvrtc_compile_all nvrtc_compile_all)
endif()
