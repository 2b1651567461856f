/* test_accuracy.c - tests transforms of the native provider against the reference: every kind, length, layout and
 * instruction set.
 *
 * The bound on the error in the 2-norm is BOUND * epsilon * sqrt(log2 n + 2), and twice that for lengths that need a
 * convolution. Measured errors are at most 0.94 of it.
 */
#include "fft_case.h"

#include "backplane/machine.h"
#include "support/conditions.h"
#include "support/modes.h"

#include <math.h>
#include <stdio.h>

#define BOUND 0.75

/* Returns whether n has a prime factor above 61. Primes up to 61 have butterflies. */
static bool is_rough(int64_t n) {
    for (int64_t factor = 2; factor <= 61; factor++) {
        while (n % factor == 0) {
            n /= factor;
        }
    }
    return n > 1;
}

static int64_t elements_of(const test_transform *what) {
    int64_t count = 1;
    for (int d = 0; d < 3 && what->n[d] > 0; d++) {
        count *= what->n[d];
    }
    return count;
}

static double worst;

/* Runs a transform with an instruction set, and compares it. */
static void check_set(fft_run *run, int capability) {
    const test_transform *what = &run->what;
    run->o.problem.policy.capability = (uint8_t)capability;
    test_refill(&run->o);
    fft_execute(run);
    const double error = test_norm_error(&run->o, what) / fft_epsilon(run);
    double bound = BOUND * sqrt(log2((double)elements_of(what)) + 2);
    for (int d = 0; d < 3; d++) {
        bound *= what->n[d] > 0 && is_rough(what->n[d]) ? 2 : 1;
    }
    worst = error / bound > worst ? error / bound : worst;
    if (!(error <= bound)) {
        fail_msg("kind %d inverse %d single %d in place %d n %lld %lld %lld batch %lld %lld layouts %d %d threads %d "
                 "capability %d (%s): error %.3g epsilon, bound %.3g",
                 what->kind, what->inverse, what->single, what->in_place, (long long)what->n[0], (long long)what->n[1],
                 (long long)what->n[2], (long long)what->batch[0], (long long)what->batch[1], what->in, what->out,
                 what->threads, capability, run->verdict.algorithm, error, bound);
    }
}

/* Checks a transform with every available instruction set. */
static void check(const test_transform *what) {
    fft_run run;
    fft_make(&run, what, 7u + (unsigned)elements_of(what));
    for (int capability = 0; capability <= BP_CAPABILITY_AVX512; capability++) {
        if (fft_runs_here(capability)) {
            check_set(&run, capability);
        }
    }
    fft_free(&run);
}

/* Checks all kinds in both precisions. The reference is in long double, which 64-bit ARM has in software only, so under
 * emulation each call takes another third of the kinds. */
static void check_kinds(test_transform what) {
    static int asked;
    for (int kind = 0; kind < 8; kind++) {
        if (!test_emulated() || asked++ % 3 == 0) {
            const test_transform one = fft_kind(what, kind);
            check(&one);
        }
    }
}

/* Of long transforms half of the kinds: in each precision other ones. */
static void check_long_kinds(test_transform what, int number) {
    for (int kind = 0; kind < 8; kind++) {
        if (!test_leaves_out(kind + kind / 2 + number, 2) && (!test_emulated() || number % 2 == 0)) {
            const test_transform one = fft_kind(what, kind);
            check(&one);
        }
    }
}

static int report(void **state) {
    (void)state;
    print_message("largest error: %.2f of the bound\n", worst);
    worst = 0;
    return 0;
}

static void test_every_small_length(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 128; n++) {
        check_kinds((test_transform){.n = {n}});
    }
}

static void test_difficult_lengths(void **state) {
    (void)state;
    static const int64_t lengths[] = {131,  135,   144,   169,   200,   210,   243,   251,   256,   257,
                                      289,  299,   300,   343,   512,   625,   720,   729,   1000,  1001,
                                      1021, 1024,  1331,  2048,  2310,  4096,  4199,  6561,  8192,  10007,
                                      9973, 12288, 15625, 16384, 16807, 20014, 30030, 32768, 65536, 65537};
    for (int i = 0; i < COUNT(lengths); i++) {
        check_long_kinds((test_transform){.n = {lengths[i]}, .scale = 1 / (double)lengths[i]}, i);
    }
}

static void test_batches_and_layouts(void **state) {
    (void)state;
    static const int64_t lengths[] = {1, 2, 3, 4, 7, 8, 16, 17, 24, 35, 37, 64, 97, 100};
    static const int64_t batches[][2] = {{1, 0}, {2, 0}, {5, 3}, {9, 0}, {17, 0}, {3, 8}};
    static const fft_order layouts[][2] = {{FFT_COMPACT, FFT_COMPACT},
                                           {FFT_BACKWARDS, FFT_COMPACT},
                                           {FFT_COMPACT, FFT_BACKWARDS},
                                           {FFT_FIRST_FASTEST, FFT_FIRST_FASTEST},
                                           {FFT_FIRST_FASTEST, FFT_COMPACT},
                                           {FFT_COMPACT, FFT_FIRST_FASTEST},
                                           {FFT_APART, FFT_APART},
                                           {FFT_ONE_ITEM, FFT_COMPACT},
                                           {FFT_ONE_ITEM, FFT_FIRST_FASTEST},
                                           {FFT_ONE_ELEMENT, FFT_APART}};
    for (int i = 0; i < COUNT(lengths); i++) {
        for (int b = 0; b < COUNT(batches); b++) {
            for (int l = 0; l < COUNT(layouts); l++) {
                if (test_leaves_out(i + b + l, 3)) {
                    continue;
                }
                check_kinds((test_transform){.n = {lengths[i]},
                                             .batch = {batches[b][0], batches[b][1]},
                                             .in = layouts[l][0],
                                             .out = layouts[l][1],
                                             .scale = l % 2 ? 0.3 : 1,
                                             .threads = b % 3 + 1});
            }
        }
    }
}

static void test_long_lines_in_layouts(void **state) {
    (void)state;
    static const int64_t lengths[] = {256, 243, 320, 8192, 9000, 263};
    static const fft_order layouts[][2] = {
        {FFT_FIRST_FASTEST, FFT_FIRST_FASTEST}, {FFT_APART, FFT_COMPACT}, {FFT_COMPACT, FFT_BACKWARDS}};
    for (int i = 0; i < COUNT(lengths); i++) {
        for (int l = 0; l < COUNT(layouts); l++) {
            check_long_kinds(
                (test_transform){
                    .n = {lengths[i]}, .batch = {11}, .in = layouts[l][0], .out = layouts[l][1], .threads = 2},
                i + l);
        }
    }
}

static void test_several_dimensions(void **state) {
    (void)state;
    static const int64_t sizes[][3] = {{2, 3, 0}, {5, 7, 0},  {16, 16, 0}, {1, 12, 0},  {12, 1, 0},
                                       {9, 8, 7}, {4, 1, 10}, {17, 9, 0},  {64, 72, 0}, {20, 18, 15}};
    static const fft_order layouts[][2] = {{FFT_COMPACT, FFT_COMPACT},
                                           {FFT_FIRST_FASTEST, FFT_COMPACT},
                                           {FFT_BACKWARDS, FFT_FIRST_FASTEST},
                                           {FFT_APART, FFT_APART},
                                           {FFT_ONE_ELEMENT, FFT_COMPACT}};
    for (int i = 0; i < COUNT(sizes); i++) {
        for (int l = 0; l < COUNT(layouts); l++) {
            for (int b = 0; b < 2; b++) {
                test_transform what = {.n = {sizes[i][0], sizes[i][1], sizes[i][2]},
                                       .batch = {b ? 3 : 0},
                                       .in = layouts[l][0],
                                       .out = layouts[l][1],
                                       .scale = 0.25,
                                       .threads = 2};
                check_kinds(what);
            }
        }
    }
}

static void test_in_place(void **state) {
    (void)state;
    static const int64_t sizes[][3] = {{1, 0, 0},  {2, 0, 0},   {15, 0, 0},  {16, 0, 0}, {37, 0, 0},  {64, 0, 0},
                                       {96, 0, 0}, {128, 0, 0}, {250, 0, 0}, {7, 9, 0},  {64, 64, 0}, {6, 5, 4}};
    static const fft_order layouts[] = {FFT_COMPACT, FFT_BACKWARDS, FFT_FIRST_FASTEST, FFT_APART};
    for (int i = 0; i < COUNT(sizes); i++) {
        for (int l = 0; l < COUNT(layouts); l++) {
            for (int batch = 0; batch <= 9; batch += 9) {
                for (int kind = 0; kind < 4; kind++) {
                    check(&(test_transform){.inverse = kind & 1,
                                            .single = !(kind & 2),
                                            .in_place = true,
                                            .n = {sizes[i][0], sizes[i][1], sizes[i][2]},
                                            .batch = {batch},
                                            .in = layouts[l],
                                            .out = layouts[l]});
                }
            }
        }
    }
    static const int64_t longer[] = {1024, 4096, 8192, 10007, 59049};
    for (int i = 0; i < COUNT(longer); i++) {
        check(&(test_transform){.in_place = true, .single = true, .n = {longer[i]}, .threads = 2});
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_every_small_length, report),
        cmocka_unit_test_teardown(test_difficult_lengths, report),
        cmocka_unit_test_teardown(test_batches_and_layouts, report),
        cmocka_unit_test_teardown(test_long_lines_in_layouts, report),
        cmocka_unit_test_teardown(test_several_dimensions, report),
        cmocka_unit_test_teardown(test_in_place, report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
