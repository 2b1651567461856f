/* test_bias.c - products of panels with a bias and ReLU: bitwise equal to the product, then the bias, then ReLU. */
#include "native.h"

#include "providers/native/gemm/gemm.h"
#include "support/arrays.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern const bp__native_set bp__native_wide;
extern const bp__native_set bp__native_bf16_model;

enum { MOST = 200, K = 21 }; /* rows and columns: several panels; terms */

static double numbers[3][MOST * K];
static double panels[2][2 * MOST * K], sums[2][MOST * MOST];

static void fill(bp_dtype type) {
    test_array_random = 1;
    for (int which = 0; which < 3; which++) {
        for (int i = 0; i < MOST * K; i++) {
            const double x = test_array_uniform();
            if (type == BP_F64) {
                numbers[which][i] = x;
            } else {
                ((float *)numbers[which])[i] = (float)x;
            }
        }
    }
}

static double number_at(bp_dtype type, const void *memory, int64_t i) {
    return type == BP_F64 ? ((const double *)memory)[i] : (double)((const float *)memory)[i];
}

static double plus(bp_dtype type, double a, double b) {
    return type == BP_F64 ? a + b : (double)((float)a + (float)b);
}

/* Two blocks of terms; the last one adds the bias. The columns have gaps. */
static void check(const bp__native_kernels *of, bp_dtype type, int64_t p, int64_t q, bool relu) {
    const int64_t c_q = p + 3;
    memset(sums, 0, sizeof sums);
    for (int with_bias = 0; with_bias < 2; with_bias++) {
        bp__native_view view = {.v = panels[0],
                                .s = panels[1],
                                .c = sums[with_bias],
                                .p = p,
                                .q = q,
                                .k = K,
                                .c_p = 1,
                                .c_q = c_q,
                                .alpha = {1}};
        of->pack_v(panels[0], numbers[0], K, 1, p, K, false);
        of->pack_s(panels[1], numbers[1], K, 1, q, K, false);
        of->block(&view);
        view.beta[0] = 1;
        view.bias = with_bias ? numbers[2] : NULL;
        view.relu = with_bias && relu;
        of->block(&view);
    }
    for (int64_t j = 0; j < q; j++) {
        for (int64_t i = 0; i < c_q; i++) {
            const double plain = number_at(type, sums[0], j * c_q + i), got = number_at(type, sums[1], j * c_q + i);
            const double sum = i < p ? plus(type, plain, number_at(type, numbers[2], i)) : 0;
            const double wanted = relu && sum < 0 ? 0 : sum;
            if (got != wanted) {
                fail_msg("%s, %d x %d, row %d, column %d is %g instead of %g", bp_dtype_name(type), (int)p, (int)q,
                         (int)i, (int)j, got, wanted);
            }
        }
    }
}

static void check_set(const bp__native_set *set) {
    static const int64_t sizes[] = {1, 7, 16, 48, 49, 100, 190};
    static const bp_dtype types[] = {BP_F32, BP_F64};
    for (int t = 0; t < 2; t++) {
        const bp__native_kernels *of = &set->of[types[t] - BP_F16];
        fill(types[t]);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes && of->block; i++) {
            for (int64_t q = 1; q < 18; q += 4) {
                check(of, types[t], sizes[i], q, q % 8 == 1);
            }
        }
    }
}

static void all_sets(void **state) {
    (void)state;
    check_set(&bp__native_default);
#if defined(__x86_64__)
    const bp_capability hardware = test_plain_host()->hardware;
    if (hardware >= BP_CAPABILITY_AVX2) {
        check_set(&bp__native_avx2);
        check_set(&bp__native_wide);
        check_set(&bp__native_bf16_model);
    }
    if (hardware >= BP_CAPABILITY_AVX512) {
        check_set(&bp__native_avx512);
    }
    const char *why;
    const bp_problem problem = {.policy.capability = BP_CAPABILITY_AVX512};
    const bp__native_set *pairs = bp__native_bf16_set(test_plain_host(), &problem, &why);
    if (pairs) {
        check_set(pairs);
    }
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_sets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
