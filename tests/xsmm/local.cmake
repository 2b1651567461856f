# These tests reach internal functions of the xsmm provider, and share the host and the products of the blas provider's tests.
link_providers(xsmm blas)
share_support(xsmm support_blas)
