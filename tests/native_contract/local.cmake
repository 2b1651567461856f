# The AVX-512 kernels compiled for AVX2, so that they run everywhere. The file names select the flags of AVX2.
file(GLOB wide_sources CONFIGURE_DEPENDS native_contract/wide/*.c)
add_library(native_contract_wide OBJECT ${wide_sources})
target_include_directories(native_contract_wide PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(native_contract_wide PRIVATE backplane_flags)
target_compile_options(native_contract_wide PRIVATE -Wno-psabi -O1) # its functions with 64-byte arguments are all inlined
add_instruction_set_flags(${wide_sources})
lighten_kernels(${wide_sources})
foreach(source ${sources})
    get_filename_component(program ${source} NAME_WE)
    string(REGEX REPLACE "^test_" "" short ${program})
    target_link_libraries(test_native_contract_${short} PRIVATE native_contract_wide)
endforeach()
