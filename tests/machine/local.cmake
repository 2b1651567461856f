# Objects with the marks of runtimes and libraries, for the list of what is loaded; see double_loaded.c.
function(add_loaded_double name)
    list(TRANSFORM ARGN REPLACE "(.+)" "X(\\1)" OUTPUT_VARIABLE exports)
    list(JOIN exports " " exports)
    add_library(loaded_double_${name} MODULE ${CMAKE_CURRENT_LIST_DIR}/double_loaded.c)
    target_link_libraries(loaded_double_${name} PRIVATE backplane_flags)
    target_compile_definitions(loaded_double_${name} PRIVATE "DOUBLE_EXPORTS=${exports}")
    set_target_properties(loaded_double_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name} C_VISIBILITY_PRESET default
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/loaded-doubles)
    add_dependencies(test_machine_known loaded_double_${name})
endfunction()

add_loaded_double(innocent-name GOMP_parallel omp_get_num_threads)
add_loaded_double(libblas-in-name-only hello)
add_loaded_double(tbb-double TBB_runtime_interface_version)
add_loaded_double(blas-double dgemm_ cblas_dgemm openblas_get_config)
