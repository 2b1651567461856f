# These tests reach the onednn provider, and share the host and the products of the blas provider's tests.
link_providers(onednn blas)
target_sources(test_onednn_products PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/blas/support_host.c
    ${CMAKE_CURRENT_SOURCE_DIR}/blas/support_libraries.c ${CMAKE_CURRENT_SOURCE_DIR}/blas/support_product.c)
target_sources(test_onednn_layers PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/rnn/support_cases.c
    ${CMAKE_CURRENT_SOURCE_DIR}/rnn/support_reference.c)
