# These tests share their transforms with the tests of the fftw provider.
file(GLOB programs CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/native_fft/test_*.c)
foreach(source ${programs})
    get_filename_component(program ${source} NAME_WE)
    string(REGEX REPLACE "^test_" "test_native_fft_" target ${program})
    if(TARGET ${target})
        target_link_libraries(${target} PRIVATE support_fftw)
    endif()
endforeach()
