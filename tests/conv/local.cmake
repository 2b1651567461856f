# The AVX-512 kernels of Winograd's convolution compiled for AVX2, so that they run everywhere. The file name selects the
# flags of AVX2.
set(wide_source ${CMAKE_CURRENT_SOURCE_DIR}/conv/wide/winograd_wide_avx2.c)
add_library(conv_wide OBJECT ${wide_source})
target_include_directories(conv_wide PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src
    ${CMAKE_SOURCE_DIR}/src/providers/native/conv)
target_link_libraries(conv_wide PRIVATE backplane_flags)
target_compile_options(conv_wide PRIVATE -Wno-psabi) # its functions with 64-byte arguments are all inlined
add_instruction_set_flags(${wide_source})
target_link_libraries(test_conv_winograd_kernels PRIVATE conv_wide)
# The kernels for AVX512_BF16, with a model of the instruction in place of the processor's.
target_link_libraries(test_conv_bf16 PRIVATE native_wide)
target_link_options(test_conv_bf16 PRIVATE -Wl,--wrap=bp__native_bf16_set)
