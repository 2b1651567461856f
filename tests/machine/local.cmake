# Objects with the marker symbols of runtimes and libraries, for the list of loaded objects; see fake_loaded.c.
function(add_loaded_fake name)
    list(TRANSFORM ARGN REPLACE "(.+)" "X(\\1)" OUTPUT_VARIABLE exports)
    list(JOIN exports " " exports)
    add_library(loaded_fake_${name} MODULE ${CMAKE_CURRENT_LIST_DIR}/fake_loaded.c)
    target_link_libraries(loaded_fake_${name} PRIVATE backplane_flags)
    target_compile_definitions(loaded_fake_${name} PRIVATE "FAKE_EXPORTS=${exports}")
    set_target_properties(loaded_fake_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name} C_VISIBILITY_PRESET default
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/loaded-fakes)
    add_dependencies(test_machine_known loaded_fake_${name})
endfunction()

add_loaded_fake(innocent-name GOMP_parallel omp_get_num_threads)
add_loaded_fake(libblas-in-name-only hello)
add_loaded_fake(tbb-fake TBB_runtime_interface_version)
add_loaded_fake(blas-fake dgemm_ cblas_dgemm openblas_get_config)
