# These tests share their transforms with the tests of the fftw provider.
share_support(native_fft support_fftw)
