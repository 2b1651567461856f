# Programs that use only the public header: examples, benchmarks, and the generators of reference pages.

# examples/*.c: one program each; tests/CMakeLists.txt runs them. examples/<name>/main.c: a network, which needs weights; its
# other files are linked into it, and examples/networks/*.c into all of them. tests/cli/test_networks.py runs them.
set(example_programs "")
set(network_programs "")
file(GLOB example_sources CONFIGURE_DEPENDS examples/*.c)
if(BACKPLANE_EXAMPLES)
    foreach(source ${example_sources})
        get_filename_component(name ${source} NAME_WE)
        add_executable(example_${name} ${source})
        target_link_libraries(example_${name} PRIVATE backplane backplane_flags m)
        set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name}
            RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/examples)
        list(APPEND example_programs ${name})
    endforeach()
    file(GLOB network_sources CONFIGURE_DEPENDS examples/networks/*.c)
    file(GLOB networks CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/examples examples/*/main.c)
    foreach(main ${networks})
        get_filename_component(name ${main} DIRECTORY)
        file(GLOB own_sources CONFIGURE_DEPENDS examples/${name}/*.c)
        add_executable(example_${name} ${own_sources} ${network_sources})
        target_link_libraries(example_${name} PRIVATE backplane backplane_flags m)
        set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name}
            RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/examples)
        list(APPEND network_programs ${name})
    endforeach()
endif()

# What `make run` needs in addition to `runtime`.
add_custom_target(demo)
if(TARGET example_voice_activity)
    add_dependencies(demo example_voice_activity)
endif()

# bench/*.c: one program each; bench/choice/*.c, bench/conv/*.c, bench/passes/*.c and bench/rnn/*.c: the programs
# choice, conv, passes and rnn. Built only by the target `bench`.
add_custom_target(bench)
function(add_bench_program name)
    add_executable(bench_${name} EXCLUDE_FROM_ALL ${ARGN})
    target_link_libraries(bench_${name} PRIVATE backplane backplane_flags dl pthread m)
    set_target_properties(bench_${name} PROPERTIES OUTPUT_NAME ${name}
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
    add_dependencies(bench bench_${name})
endfunction()
file(GLOB bench_sources CONFIGURE_DEPENDS bench/*.c)
foreach(source ${bench_sources})
    get_filename_component(name ${source} NAME_WE)
    add_bench_program(${name} ${source})
endforeach()
target_sources(bench_bf16 PRIVATE bench/conv/layers.c)
file(GLOB choice_sources CONFIGURE_DEPENDS bench/choice/*.c)
add_bench_program(choice ${choice_sources})
file(GLOB conv_sources CONFIGURE_DEPENDS bench/conv/*.c)
add_bench_program(conv ${conv_sources})
# oneDNN 2 is a peer of this benchmark only; its header is libdnnl-dev of Debian 12.
find_path(ONEDNN_2_INCLUDE_DIR oneapi/dnnl/dnnl_version.h)
if(ONEDNN_2_INCLUDE_DIR)
    file(STRINGS ${ONEDNN_2_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h major REGEX "define DNNL_VERSION_MAJOR +2$")
    if(major)
        target_compile_definitions(bench_conv PRIVATE HAVE_ONEDNN_2)
        target_include_directories(bench_conv SYSTEM PRIVATE ${ONEDNN_2_INCLUDE_DIR})
    endif()
endif()
file(GLOB passes_sources CONFIGURE_DEPENDS bench/passes/*.c)
add_bench_program(passes ${passes_sources})
file(GLOB rnn_sources CONFIGURE_DEPENDS bench/rnn/*.c)
add_bench_program(rnn ${rnn_sources})
foreach(name conv passes rnn)
    target_include_directories(bench_${name} PRIVATE src) # for the list of oneDNN's functions
endforeach()
if(BACKPLANE_TESTS) # tests/cli/test_choice.py runs it
    set_target_properties(bench_choice PROPERTIES EXCLUDE_FROM_ALL OFF)
endif()
if(provider_modules)
    add_dependencies(bench ${provider_modules})
endif()

# tools/<name>_page.c prints docs/reference/<name>.md from the tables in the public headers. `docs` rewrites the pages; a test
# compares them.
file(GLOB page_sources CONFIGURE_DEPENDS tools/*_page.c)
set(page_names "")
add_custom_target(docs)
foreach(source ${page_sources})
    get_filename_component(program ${source} NAME_WE)
    string(REGEX REPLACE "_page$" "" page ${program})
    add_executable(${program} ${source})
    target_link_libraries(${program} PRIVATE backplane backplane_flags)
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tools)
    add_custom_target(docs_${page} COMMAND ${program} > ${CMAKE_SOURCE_DIR}/docs/reference/${page}.md VERBATIM)
    add_dependencies(docs docs_${page})
    list(APPEND page_names ${page})
endforeach()
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
    add_custom_target(docs_c_api
        COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/tools/c_api.py > ${CMAKE_SOURCE_DIR}/docs/reference/c-api.md VERBATIM)
    add_dependencies(docs docs_c_api)
    add_custom_target(docs_command # the man page and the completions of the command
        COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/tools/command_pages.py $<TARGET_FILE:backplane_cli> VERBATIM)
    add_dependencies(docs docs_command)
endif()

# The manual pages of the functions, which `make install` installs.
if(Python3_FOUND)
    set(function_pages ${CMAKE_BINARY_DIR}/man3)
    file(GLOB public_headers CONFIGURE_DEPENDS include/backplane/*.h)
    add_custom_command(OUTPUT ${function_pages}/bp_version.3
        COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/tools/man_pages.py ${function_pages}
        COMMAND ${CMAKE_COMMAND} -E touch ${function_pages}/bp_version.3
        DEPENDS ${public_headers} tools/man_pages.py tools/c_api.py docs/reference/settings.md VERBATIM)
    add_custom_target(man_pages ALL DEPENDS ${function_pages}/bp_version.3)
    add_dependencies(programs man_pages)
endif()

# What the code assumes of NVIDIA's GPUs, for `make gpu-check`; tests/cuda/local.cmake runs it on a double.
file(GLOB gpu_sources CONFIGURE_DEPENDS tests/gpu/*.c)
add_executable(gpu_check ${gpu_sources})
target_include_directories(gpu_check PRIVATE src tests)
target_link_libraries(gpu_check PRIVATE backplane backplane_flags dl m pthread)
if(CMAKE_CROSSCOMPILING_EMULATOR)
    target_compile_definitions(gpu_check PRIVATE BP_EMULATED)
endif()
if(provider_modules)
    add_dependencies(gpu_check ${provider_modules})
endif()
