# Providers whose times depend on the sizes; see timed_provider.c.
function(add_timed name)
    add_library(timed_${name} MODULE ${CMAKE_CURRENT_LIST_DIR}/timed_provider.c)
    target_include_directories(timed_${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(timed_${name} PRIVATE backplane_flags)
    target_compile_definitions(timed_${name} PRIVATE TIMED_NAME="${name}" ${ARGN})
    set_target_properties(timed_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/calibration-${name})
    if(TARGET test_calibration_choice)
        add_dependencies(test_calibration_choice timed_${name})
    endif()
endfunction()

add_timed(uneven TIMED_SLOW_FROM=64)
add_timed(crashing TIMED_ENDS_AT=256)
