# Providers whose times depend on the sizes; see timed_provider.c.
function(add_timed name)
    add_library(timed_${name} MODULE ${CMAKE_CURRENT_LIST_DIR}/timed_provider.c)
    target_include_directories(timed_${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(timed_${name} PRIVATE backplane_flags)
    target_compile_definitions(timed_${name} PRIVATE TIMED_NAME="${name}" ${ARGN})
    set_target_properties(timed_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/calibration-${name})
    foreach(program choice ratios rounding)
        if(TARGET test_calibration_${program})
            add_dependencies(test_calibration_${program} timed_${name})
        endif()
    endforeach()
endfunction()

add_timed(uneven TIMED_SLOW_FROM=64)
add_timed(crashing TIMED_ENDS_AT=256)
add_timed(following TIMED_ODD_NS=300000 TIMED_FOLLOWS=1)
add_timed(smooth TIMED_ODD_NS=300000)
add_timed(calling TIMED_CALL_NS=8000)
add_timed(waiting TIMED_WAITS=1)
add_timed(inverting TIMED_INVERSES=1)
if(BACKPLANE_SANITIZE) # they make convolutions on `native`, which must be faster, 20 times as slow
    set(slow_loops TIMED_LOOPS_NS=100000000)
endif()
add_timed(convolving TIMED_CONVOLVES=1 ${slow_loops})
add_timed(rounding TIMED_ROUNDS=1)

# Two libraries; one takes 2 ms for products of 4096 multiplications and more.
function(add_timed_library name)
    add_library(timed_library_${name} SHARED ${CMAKE_SOURCE_DIR}/tests/registry/fakes/blas.c)
    target_compile_definitions(timed_library_${name} PRIVATE FAKE_INTEGER=int32_t FAKE_SUFFIX=_ FAKE_FORTRAN FAKE_CBLAS
        ${ARGN})
    target_compile_options(timed_library_${name} PRIVATE -O1)
    target_link_options(timed_library_${name} PRIVATE -Wl,--build-id)
    set_target_properties(timed_library_${name} PROPERTIES OUTPUT_NAME ${name}
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/calibration-libraries)
    if(TARGET test_calibration_choice)
        add_dependencies(test_calibration_choice timed_library_${name})
    endif()
endfunction()

add_timed_library(quick)
add_timed_library(sleepy "FAKE_CALL=if (m * n * k >= 4096) usleep(2000)")

# The file is a part of the helper program. The test replaces the clock and the product that it times.
if(TARGET test_calibration_speed)
    target_sources(test_calibration_speed PRIVATE ${CMAKE_SOURCE_DIR}/src/probe/speed.c)
    target_link_options(test_calibration_speed PRIVATE -Wl,--wrap=bp__now_ns -Wl,--wrap=bp_execute)
endif()
