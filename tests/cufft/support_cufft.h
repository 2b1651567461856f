/* support_cufft.h - starts the library with the doubles of cuFFT and CUDA's driver, and checks transforms on them. */
#ifndef BP_TESTS_CUFFT_SUPPORT_H
#define BP_TESTS_CUFFT_SUPPORT_H

#include "cufft/doubles/double.h"
#include "cuda/support_arrays.h"
#include "providers/cufft/api.h"
#include "support/contains.h"
#include "support/results.h"

#define CUFFT_DOUBLES BP_TEST_BUILD_DIR "/tests/cufft-doubles"
#define I64(...) ((const int64_t[]){__VA_ARGS__})

/* For all tests of a program. Devices are "cuda:0" and "cuda:1"; the library is 'cufft'. The end checks that nothing is
 * left. */
int start_cufft(void **state);
int stop_cufft(void **state);
/* For each test. CUFFT_FAULT names a rule that the double breaks (cufft_fault). */
int begin_cufft(void **state);
int end_cufft(void **state);

cufft_controls *the_cufft(void);

/* A transform: an array on the host and on the device for each side. */
typedef struct fft_case {
    bp_fft_call call;
    test_array in, out;
    on_device device_in, device_out;
} fft_case;

/* Make a case with random input. Its call may be set before. `past` moves addresses by bytes. */
void make_fft(fft_case *c, bp_fft_transform transform, bp_dtype dtype, int ndim, const int64_t *shape,
              test_layout in_layout, test_layout out_layout);
void make_strided_fft(fft_case *c, bp_fft_transform transform, bp_dtype dtype, int ndim, const int64_t *shape,
                      const int64_t *in_strides, const int64_t *out_strides, size_t past_in, size_t past_out);
void free_fft(fft_case *c);
/* Runs it and compares the result with the reference; nothing else may have been written. */
void check_fft(fft_case *c, const char *text);
/* Returns the explanation of a transform, valid until the next call. */
const char *explained_fft(const fft_case *c, const char *settings);
/* Makes a plan of it, and its operands. */
bp_plan *plan_fft(const fft_case *c, const char *settings, bp_operand operands[2]);

#endif
