# The provider whose algorithms take known times; see rivals.c. The tests use the helpers of src/base's tests.
add_library(tuning_rivals MODULE ${CMAKE_CURRENT_LIST_DIR}/rivals.c)
target_include_directories(tuning_rivals PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(tuning_rivals PRIVATE backplane_flags)
set_target_properties(tuning_rivals PROPERTIES PREFIX "" OUTPUT_NAME rivals
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/tuning-rivals)
foreach(program choice safety)
    if(TARGET test_tuning_${program})
        target_sources(test_tuning_${program} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/base/support_base.c)
        add_dependencies(test_tuning_${program} tuning_rivals)
    endif()
endforeach()
