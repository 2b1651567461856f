# The modules that the tests of this area copy and load; see fake_module.c.
set(module_fakes ${CMAKE_CURRENT_BINARY_DIR}/module-fakes)
function(add_module_fake name)
    add_library(module_fake_${name} MODULE ${CMAKE_CURRENT_LIST_DIR}/fake_module.c)
    target_include_directories(module_fake_${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(module_fake_${name} PRIVATE backplane_flags)
    target_compile_definitions(module_fake_${name} PRIVATE ${ARGN})
    set_target_properties(module_fake_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
        LIBRARY_OUTPUT_DIRECTORY ${module_fakes})
    add_dependencies(test_modules_load module_fake_${name})
endfunction()

add_module_fake(good FAKE_NAME="good")
add_module_fake(other-major FAKE_GARBAGE "FAKE_ABI=((BP_PROVIDER_ABI_MAJOR+1u)<<16)")
add_module_fake(newer-minor FAKE_GARBAGE "FAKE_ABI=(BP_PROVIDER_ABI+1u)")
add_module_fake(older-minor FAKE_NAME="older" FAKE_ACCEPTS "FAKE_ABI=(BP_PROVIDER_ABI_MAJOR<<16)")
add_module_fake(small FAKE_SIZE=16)
add_module_fake(no-entry FAKE_NO_ENTRY)
add_module_fake(several FAKE_NAME="first" FAKE_SEVERAL)
add_module_fake(empty FAKE_EMPTY)
add_module_fake(no-plan FAKE_NO_PLAN)
add_module_fake(odd-name "FAKE_NAME=\"odd name\"")

# The example, built as a user builds it: from its own folder, against installed headers.
set(example_place ${CMAKE_CURRENT_BINARY_DIR}/modules-example)
file(MAKE_DIRECTORY ${example_place}/prefix)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/include ${example_place}/prefix/include SYMBOLIC)
add_project_test(modules_example_build ${CMAKE_CTEST_COMMAND} --build-and-test
    ${CMAKE_SOURCE_DIR}/examples/provider ${example_place}/build --build-generator ${CMAKE_GENERATOR} --build-noclean
    --build-options -DCMAKE_PREFIX_PATH=${example_place}/prefix -DCMAKE_BUILD_TYPE=Release
    $<IF:$<BOOL:${CMAKE_TOOLCHAIN_FILE}>,-DCMAKE_TOOLCHAIN_FILE=${CMAKE_TOOLCHAIN_FILE},-DCMAKE_C_COMPILER=${CMAKE_C_COMPILER}>)
set_tests_properties(modules_example_build PROPERTIES FIXTURES_SETUP modules_example)
set_tests_properties(modules_example PROPERTIES FIXTURES_REQUIRED modules_example)
