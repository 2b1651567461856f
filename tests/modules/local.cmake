# The modules that the tests of this area copy about and load; see double_module.c.
set(module_doubles ${CMAKE_CURRENT_BINARY_DIR}/module-doubles)
function(add_module_double name)
    add_library(module_double_${name} MODULE ${CMAKE_CURRENT_LIST_DIR}/double_module.c)
    target_include_directories(module_double_${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(module_double_${name} PRIVATE backplane_flags)
    target_compile_definitions(module_double_${name} PRIVATE ${ARGN})
    set_target_properties(module_double_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
        LIBRARY_OUTPUT_DIRECTORY ${module_doubles})
    add_dependencies(test_modules_load module_double_${name})
endfunction()

add_module_double(good DOUBLE_NAME="good")
add_module_double(other-major DOUBLE_GARBAGE "DOUBLE_ABI=((BP_PROVIDER_ABI_MAJOR+1u)<<16)")
add_module_double(newer-minor DOUBLE_GARBAGE "DOUBLE_ABI=(BP_PROVIDER_ABI+1u)")
add_module_double(small DOUBLE_SIZE=16)
add_module_double(no-entry DOUBLE_NO_ENTRY)
add_module_double(several DOUBLE_NAME="first" DOUBLE_SEVERAL)
add_module_double(empty DOUBLE_EMPTY)
add_module_double(no-plan DOUBLE_NO_PLAN)
add_module_double(odd-name "DOUBLE_NAME=\"odd name\"")

# The worked example, built as its reader builds it: from its own folder, against headers in an installed place.
set(example_place ${CMAKE_CURRENT_BINARY_DIR}/modules-example)
file(MAKE_DIRECTORY ${example_place}/prefix)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/include ${example_place}/prefix/include SYMBOLIC)
add_house_test(modules_example_build ${CMAKE_CTEST_COMMAND} --build-and-test
    ${CMAKE_SOURCE_DIR}/examples/provider ${example_place}/build --build-generator ${CMAKE_GENERATOR} --build-noclean
    --build-options -DCMAKE_PREFIX_PATH=${example_place}/prefix -DCMAKE_BUILD_TYPE=Release
    $<IF:$<BOOL:${CMAKE_TOOLCHAIN_FILE}>,-DCMAKE_TOOLCHAIN_FILE=${CMAKE_TOOLCHAIN_FILE},-DCMAKE_C_COMPILER=${CMAKE_C_COMPILER}>)
set_tests_properties(modules_example_build PROPERTIES FIXTURES_SETUP modules_example)
set_tests_properties(modules_example PROPERTIES FIXTURES_REQUIRED modules_example)
