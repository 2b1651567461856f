# These tests reach the onednn provider, and share the host and the products of the blas provider's tests.
link_providers(onednn blas)
target_link_libraries(test_onednn_products PRIVATE support_blas)
target_link_libraries(test_onednn_layers PRIVATE support_rnn)
