# The lanes of AVX-512 in a form that runs everywhere; its file name brings the flags of AVX2.
set(wide_source ${CMAKE_CURRENT_SOURCE_DIR}/native_linalg/wide/lanes_wide_avx2.c)
add_library(native_linalg_wide OBJECT ${wide_source})
target_include_directories(native_linalg_wide PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(native_linalg_wide PRIVATE backplane_flags)
target_compile_options(native_linalg_wide PRIVATE -Wno-psabi) # its functions with 64-byte arguments are all inlined
add_instruction_set_flags(${wide_source})
foreach(source ${sources})
    get_filename_component(program ${source} NAME_WE)
    string(REGEX REPLACE "^test_" "" short ${program})
    target_link_libraries(test_native_linalg_${short} PRIVATE native_linalg_wide)
endforeach()
