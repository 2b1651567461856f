# The kernels for AVX512_BF16 with a model of the instruction, and the kernels of f32 with the same panels, compiled for AVX2.
# The file names select the flags of AVX2.
set(wide_source ${CMAKE_CURRENT_SOURCE_DIR}/attention/wide/kernel_bf16_model_avx2.c
    ${CMAKE_CURRENT_SOURCE_DIR}/attention/wide/kernel_wide_avx2.c)
add_library(attention_wide OBJECT ${wide_source})
target_include_directories(attention_wide PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src
    ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(attention_wide PRIVATE backplane_flags)
target_compile_options(attention_wide PRIVATE -Wno-psabi -O1) # its functions with 64-byte arguments are all inlined
add_instruction_set_flags(${wide_source})
lighten_kernels(${wide_source})
target_link_libraries(test_attention_bf16 PRIVATE attention_wide)
# The test chooses the kernels, and makes all others expensive.
target_link_options(test_attention_bf16 PRIVATE -Wl,--wrap=bp__attention_pairs_for,--wrap=bp__native_rate)
