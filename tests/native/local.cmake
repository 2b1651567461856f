# The AVX-512 tiles compiled for AVX2, so that they run everywhere, and the tile for AVX512_BF16 with a model of the
# instruction. The file names select the flags of AVX2.
set(wide_source ${CMAKE_CURRENT_SOURCE_DIR}/native/wide/kernel_wide_avx2.c
    ${CMAKE_CURRENT_SOURCE_DIR}/native/wide/kernel_bf16_model_avx2.c
    ${CMAKE_CURRENT_SOURCE_DIR}/native/wide/kernel_integer_wide_avx2.c)
add_library(native_wide OBJECT ${wide_source})
target_include_directories(native_wide PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src
    ${CMAKE_SOURCE_DIR}/src/providers/native)
target_link_libraries(native_wide PRIVATE backplane_flags)
# Functions with 64-byte arguments are all inlined. Optimization of vectors of twice the size takes minutes and changes no result.
target_compile_options(native_wide PRIVATE -Wno-psabi -O1)
add_instruction_set_flags(${wide_source})
lighten_kernels(${wide_source})
foreach(source ${sources})
    get_filename_component(program ${source} NAME_WE)
    string(REGEX REPLACE "^test_" "" short ${program})
    target_link_libraries(test_native_${short} PRIVATE native_wide)
endforeach()
target_link_options(test_native_bf16 PRIVATE -Wl,--wrap=bp__native_bf16_set)
target_link_options(test_native_integer PRIVATE -Wl,--wrap=bp__native_integers,--wrap=bp__native_vnni)
