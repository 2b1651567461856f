# These tests reach internal functions of the xsmm provider, and share the host and the products of the blas provider's tests.
link_providers(xsmm blas)
file(GLOB programs CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/xsmm/test_*.c)
foreach(source ${programs})
    get_filename_component(program ${source} NAME_WE)
    string(REGEX REPLACE "^test_" "test_xsmm_" target ${program})
    if(TARGET ${target})
        target_sources(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/blas/support_host.c
            ${CMAKE_CURRENT_SOURCE_DIR}/blas/support_libraries.c ${CMAKE_CURRENT_SOURCE_DIR}/blas/support_product.c)
    endif()
endforeach()
