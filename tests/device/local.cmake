# The module with the runtimes of the tests, in a folder of its own, and one that breaks a rule.
set(device_fakes ${CMAKE_CURRENT_BINARY_DIR}/device-fakes)
function(add_device_fake name folder)
    add_library(device_fake_${name} MODULE ${CMAKE_CURRENT_LIST_DIR}/fake_runtime.c
        ${CMAKE_CURRENT_LIST_DIR}/fake_queues.c ${CMAKE_CURRENT_LIST_DIR}/fake_capture.c)
    target_include_directories(device_fake_${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(device_fake_${name} PRIVATE backplane_flags)
    target_compile_definitions(device_fake_${name} PRIVATE ${ARGN})
    set_target_properties(device_fake_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
        LIBRARY_OUTPUT_DIRECTORY ${device_fakes}/${folder})
    file(GLOB programs RELATIVE ${CMAKE_CURRENT_LIST_DIR} ${CMAKE_CURRENT_LIST_DIR}/test_*.c)
    foreach(program ${programs})
        string(REGEX REPLACE "^test_(.*)\\.c$" "test_device_\\1" target ${program})
        add_dependencies(${target} device_fake_${name})
    endforeach()
endfunction()
add_device_fake(fake_runtime good)
add_device_fake(small bad FAKE_SIZE=64)

# A provider on these devices, in another folder; see gauge_provider.c.
add_library(device_gauge MODULE ${CMAKE_CURRENT_LIST_DIR}/gauge_provider.c)
target_include_directories(device_gauge PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(device_gauge PRIVATE backplane_flags)
set_target_properties(device_gauge PROPERTIES PREFIX "" OUTPUT_NAME gauge LIBRARY_OUTPUT_DIRECTORY ${device_fakes}/gauge)
if(TARGET test_device_policies AND TARGET test_device_workspaces)
    add_dependencies(test_device_policies device_gauge)
    add_dependencies(test_device_workspaces device_gauge)
endif()
