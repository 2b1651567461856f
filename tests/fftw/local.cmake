# These tests reach internal functions of the fftw provider.
link_providers(fftw fftw)
