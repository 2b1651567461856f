# The provider whose algorithms take known times; see rivals.c. The tests use the helpers of src/base's
# tests, and replace the library's clock by one that advances when a rival runs.
add_library(tuning_rivals MODULE ${CMAKE_CURRENT_LIST_DIR}/rivals.c)
target_include_directories(tuning_rivals PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(tuning_rivals PRIVATE backplane_flags)
set_target_properties(tuning_rivals PROPERTIES PREFIX "" OUTPUT_NAME rivals
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/tuning-rivals)
# The provider for the tests over all families; see mirror.h.
add_library(tuning_forwarding MODULE ${CMAKE_CURRENT_LIST_DIR}/forwarding.c)
target_include_directories(tuning_forwarding PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(tuning_forwarding PRIVATE backplane_flags)
set_target_properties(tuning_forwarding PROPERTIES PREFIX "" OUTPUT_NAME mirror
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/tuning-mirror)
if(TARGET test_tuning_families)
    add_dependencies(test_tuning_families tuning_forwarding)
endif()
foreach(program budget choice families layouts neighbours safety)
    if(TARGET test_tuning_${program})
        target_link_libraries(test_tuning_${program} PRIVATE support_base)
        target_link_options(test_tuning_${program} PRIVATE -Wl,--wrap=bp__now_ns)
        add_dependencies(test_tuning_${program} tuning_rivals)
    endif()
endforeach()
