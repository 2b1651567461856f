# These tests reach internal functions of the mkl provider, and share their transforms with the tests of the fftw provider.
link_providers(mkl blas)
share_support(mkl support_fftw)
