/* test_choice.c - tests which lengths are split into columns and rows. The tables of an instruction set are read only,
 * so that all sets are tested on every processor. */
#include "fft_case.h"

#include "providers/native/fft/line.h"

static void expect_way(const bp__fft_set *set, int f64, int64_t n, bp__fft_way way) {
    const bp__fft_algorithm algorithm = bp__fft_algorithm_of(set->of[f64], n);
    if (algorithm.way != way) {
        fail_msg("%d lanes, length %ld: way %d and not %d", set->of[f64][0]->lanes, (long)n, (int)algorithm.way,
                 (int)way);
    }
}

static void test_long_lines_are_split(void **state) {
    (void)state;
    for (int f64 = 0; f64 < 2; f64++) {
        expect_way(&bp__fft_default, f64, 4096, BP__FFT_DIRECT);
        expect_way(&bp__fft_default, f64, 8192, BP__FFT_SPLIT);
        expect_way(&bp__fft_default, f64, 243, BP__FFT_DIRECT);
        expect_way(&bp__fft_default, f64, 729, BP__FFT_SPLIT);
        expect_way(&bp__fft_default, f64, 10007, BP__FFT_CHIRP);
    }
}

#if defined(__x86_64__)
static void test_vectors_of_32_bytes_suffice(void **state) {
    (void)state;
    /* 1000 is a multiple of 8, but not of 16: with AVX-512 one line fills half of a vector, which is all of AVX2's. */
    expect_way(&bp__fft_avx2, 0, 1000, BP__FFT_DIRECT);
    expect_way(&bp__fft_avx512, 0, 1000, BP__FFT_DIRECT);
    expect_way(&bp__fft_avx512, 1, 500, BP__FFT_DIRECT);
    expect_way(&bp__fft_avx512, 0, 1024, BP__FFT_DIRECT);
    expect_way(&bp__fft_avx512, 0, 10000, BP__FFT_SPLIT);
    /* Vectors of 16 bytes do not. */
    expect_way(&bp__fft_avx2, 0, 500, BP__FFT_SPLIT);
    expect_way(&bp__fft_avx512, 0, 500, BP__FFT_SPLIT);
    expect_way(&bp__fft_avx512, 1, 1001, BP__FFT_SPLIT);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_lines_are_split),
#if defined(__x86_64__)
        cmocka_unit_test(test_vectors_of_32_bytes_suffice),
#endif
    };
    return cmocka_run_group_tests_name("choice", tests, NULL, NULL);
}
