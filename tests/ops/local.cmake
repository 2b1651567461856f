# A provider of transforms for the tests of what stands around one; see plain_dft.c.
add_library(plain_dft MODULE ${CMAKE_CURRENT_LIST_DIR}/plain_dft.c)
target_include_directories(plain_dft PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(plain_dft PRIVATE backplane_flags m)
set_target_properties(plain_dft PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/ops-doubles)
