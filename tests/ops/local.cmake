# A provider of plain transforms, for the tests of the FFT adapter; see plain_dft.c.
add_library(plain_dft MODULE ${CMAKE_CURRENT_LIST_DIR}/plain_dft.c)
target_include_directories(plain_dft PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(plain_dft PRIVATE backplane_flags m)
set_target_properties(plain_dft PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/ops-fakes)
foreach(short fft fft_errors fft_plans allocation)
    if(TARGET test_ops_${short})
        add_dependencies(test_ops_${short} plain_dft)
    endif()
endforeach()

# The provider that records problems; see recorder_provider.c.
add_library(recorder_provider MODULE ${CMAKE_CURRENT_LIST_DIR}/recorder_provider.c)
target_include_directories(recorder_provider PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(recorder_provider PRIVATE backplane_flags)
set_target_properties(recorder_provider PROPERTIES PREFIX "" OUTPUT_NAME recorder
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/ops-recorder)
foreach(program test_ops_linalg_calls test_ops_linalg_refusals)
    if(TARGET ${program})
        add_dependencies(${program} recorder_provider)
    endif()
endforeach()
