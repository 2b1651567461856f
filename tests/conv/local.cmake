# The AVX-512 kernels of Winograd's convolution and of transforms compiled for AVX2, so that they run everywhere. The file
# names select the flags of AVX2.
function(add_wide_kernels name)
    list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/conv/wide/ OUTPUT_VARIABLE wide_source)
    add_library(${name} OBJECT ${wide_source})
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src
        ${CMAKE_SOURCE_DIR}/src/providers/native/conv)
    target_link_libraries(${name} PRIVATE backplane_flags)
    # Functions with 64-byte arguments are all inlined. Optimization of vectors of twice the size takes minutes and changes no result.
    target_compile_options(${name} PRIVATE -Wno-psabi -O1)
    add_instruction_set_flags(${wide_source})
endfunction()
add_wide_kernels(conv_wide winograd_wide_avx2.c)
add_wide_kernels(conv_wide_fft fourier_wide_avx2.c fft_wide_avx2.c)
target_link_libraries(test_conv_winograd_kernels PRIVATE conv_wide)
target_link_libraries(test_conv_fourier_wide PRIVATE conv_wide_fft native_wide)
# The kernels for AVX512_BF16, with a model of the instruction in place of the processor's.
target_link_libraries(test_conv_bf16 PRIVATE native_wide)
target_link_options(test_conv_bf16 PRIVATE -Wl,--wrap=bp__native_bf16_set)

# Compiling these transforms takes most of a minute, so that only `make test-all` does it. Where the processor has AVX-512, conv_fourier
# runs them, too.
leave_to_all(conv_fourier_wide test_conv_fourier_wide conv_wide_fft)

# Native's convolutions without optimization, and with more of it: their results are bitwise equal. To compile them takes minutes, so
# that only `make test-all` does it.
if(NOT BACKPLANE_SANITIZE)
    file(GLOB native_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/providers/native/*.c
        ${CMAKE_SOURCE_DIR}/src/providers/native/gemm/*.c ${CMAKE_SOURCE_DIR}/src/providers/native/conv/*.c
        ${CMAKE_SOURCE_DIR}/src/providers/native/fft/*.c)
    add_instruction_set_flags(${native_sources})
    foreach(level O0 O3)
        set(level_sources ${native_sources})
        set(level_libraries native_${level})
        add_kernel_sets(native_${level} level_sources level_libraries)
        add_library(native_${level} OBJECT ${level_sources})
        target_include_directories(native_${level} PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
        target_compile_definitions(native_${level} PRIVATE BP_BUILTIN_PROVIDER=native)
        target_link_libraries(native_${level} PRIVATE backplane_flags)
        set(level_objects "")
        foreach(library ${level_libraries})
            target_compile_options(${library} PRIVATE -${level} $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
            list(APPEND level_objects $<TARGET_OBJECTS:${library}>)
        endforeach()
        get_target_property(bits_sources test_conv_bits SOURCES)
        add_executable(test_conv_bits_${level} ${bits_sources} ${level_objects})
        target_link_libraries(test_conv_bits_${level} PRIVATE support_conv)
        use_internals(test_conv_bits_${level})
        set_target_properties(test_conv_bits_${level} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
        add_project_test(conv_bits_${level} test_conv_bits_${level})
        leave_to_all(conv_bits_${level} test_conv_bits_${level} ${level_libraries})
    endforeach()
endif()
