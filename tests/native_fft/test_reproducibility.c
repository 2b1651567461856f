/* test_reproducibility.c - tests that transforms of the native provider are bitwise the same for any number of threads,
 * position in a batch and layout. Also tests special values, empty batches, and large lengths. */
#include "fft_case.h"

#include "support/modes.h"
#include "support/pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const bp_provider bp_provider_native;

static const int capabilities[] = {BP_CAPABILITY_DEFAULT, BP_CAPABILITY_AVX2, BP_CAPABILITY_AVX512};

static void check_same_elements(const fft_run *a, const fft_run *b, int64_t from_a, int64_t from_b, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        const wide x = fft_get(&a->o.out, from_a + i), y = fft_get(&b->o.out, from_b + i);
        assert_memory_equal(&(double){(double)creall(x)}, &(double){(double)creall(y)}, sizeof(double));
        assert_memory_equal(&(double){(double)cimagl(x)}, &(double){(double)cimagl(y)}, sizeof(double));
    }
}

static test_transform kind_of(test_transform what, int which, int capability) {
    what.capability = (uint8_t)capability;
    return fft_kind(what, which);
}

static void test_threads(void **state) {
    (void)state;
    static const int64_t sizes[][4] = {{1000, 0, 0, 40}, {12, 0, 0, 4001}, {30, 0, 0, 3001},  {65536, 0, 0, 0},
                                       {59049, 0, 0, 2}, {10007, 0, 0, 3}, {200, 130, 0, 0},  {31, 33, 10, 0},
                                       {16, 18, 0, 500}, {40, 50, 60, 2},  {100003, 0, 0, 0}, {3, 70000, 0, 0}};
    int used[8] = {0};
    for (int c = 0; c < COUNT(capabilities); c++) {
        for (int i = 0; fft_runs_here(capabilities[c]) && i < COUNT(sizes); i++) {
            for (int which = 0; which < 8; which++) {
                if (test_leaves_out(which + which / 2 + i + c, 2)) {
                    continue;
                }
                const test_transform base = {.n = {sizes[i][0], sizes[i][1], sizes[i][2]}, .batch = {sizes[i][3]}};
                test_transform what = kind_of(base, which, capabilities[c]);
                fft_run one;
                fft_make(&one, &what, 1);
                fft_execute(&one);
                for (what.threads = 2; what.threads <= 3; what.threads++) {
                    fft_run more;
                    fft_make(&more, &what, 1);
                    fft_execute(&more);
                    used[more.verdict.threads]++;
                    assert_memory_equal(one.o.out.memory, more.o.out.memory,
                                        (size_t)one.o.out.all * bp_dtype_size(one.o.out.dtype));
                    fft_free(&more);
                }
                fft_free(&one);
            }
        }
    }
    assert_true(used[2] > 0 && used[3] > 0);
}

/* Tests that each item of a batch, in any layout, has bitwise the same result alone. */
static void test_batch_positions(void **state) {
    (void)state;
    static const int64_t lengths[][2] = {{2, 0},  {5, 0},   {8, 0},   {16, 0},   {31, 0},   {48, 0}, {64, 0},
                                         {91, 0}, {100, 0}, {144, 0}, {256, 0},  {500, 0},  {6, 10}, {33, 14},
                                         {64, 3}, {96, 96}, {131, 0}, {9000, 0}, {8192, 0}, {512, 4}};
    static const fft_order layouts[] = {FFT_COMPACT, FFT_FIRST_FASTEST, FFT_APART, FFT_BACKWARDS};
    for (int c = 0; c < COUNT(capabilities); c++) {
        for (int i = 0; fft_runs_here(capabilities[c]) && i < COUNT(lengths); i++) {
            for (int which = 0; which < 8; which++) {
                if (test_leaves_out(which + which / 2 + i + c, 2)) {
                    continue;
                }
                const test_transform base = {.n = {lengths[i][0], lengths[i][1]}, .scale = 0.7};
                const test_transform single = kind_of(base, which, capabilities[c]);
                test_transform what = single;
                what.batch[0] = 21;
                what.threads = 2;
                what.in = layouts[i % COUNT(layouts)];
                what.out = layouts[(i / 2 + which) % COUNT(layouts)];
                fft_run all, alone;
                fft_make(&all, &what, 3);
                fft_execute(&all);
                for (int64_t item = 0; item < 21; item += 5) {
                    fft_make(&alone, &single, 4);
                    const int64_t count = test_array_count(&alone.o.in);
                    for (int64_t e = 0; e < count; e++) {
                        fft_set(&alone, e, fft_get(&all.o.in, item * count + e));
                    }
                    fft_execute(&alone);
                    check_same_elements(&all, &alone, item * test_array_count(&alone.o.out), 0,
                                        test_array_count(&alone.o.out));
                    fft_free(&alone);
                }
                fft_free(&all);
            }
        }
    }
}

/* Tests that one NaN or infinity affects all outputs of its item and no other item. */
static void test_special_values(void **state) {
    (void)state;
    static const int64_t lengths[] = {2, 7, 16, 37, 100, 128, 243, 1000, 9216};
    static const double values[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < COUNT(lengths); i++) {
        for (int which = 0; which < 8; which++) {
            for (int v = 0; v < COUNT(values); v++) {
                const test_transform base = {.n = {lengths[i]}, .batch = {19}};
                const test_transform what = kind_of(base, which, BP_CAPABILITY_AVX2);
                fft_run run, good;
                fft_make(&run, &what, 5);
                fft_make(&good, &what, 5);
                const int64_t in = test_array_count(&run.o.in) / 19, out = test_array_count(&run.o.out) / 19;
                fft_set(&run, 4 * in + in / 3, values[v] + 0 * (wide)I);
                fft_execute(&run);
                fft_execute(&good);
                assert_true(run.verdict.properties & BP_PROPERTY_PROPAGATES_NAN);
                for (int64_t k = 0; k < out; k++) {
                    const wide x = fft_get(&run.o.out, 4 * out + k);
                    assert_false(isfinite(creall(x)) && isfinite(cimagl(x)));
                }
                check_same_elements(&run, &good, 0, 0, 4 * out);
                check_same_elements(&run, &good, 5 * out, 5 * out, 14 * out);
                fft_free(&run);
                fft_free(&good);
            }
        }
    }
}

static void test_empty_batch(void **state) {
    (void)state;
    for (int which = 0; which < 8; which++) {
        const test_transform base = {.n = {12}, .batch = {-1}};
        const test_transform what = kind_of(base, which, BP_CAPABILITY_AVX2);
        fft_run run;
        fft_make(&run, &what, 1);
        assert_int_equal(run.o.problem.of.fft.batch, 0);
        fft_execute(&run);
        assert_string_equal(run.verdict.algorithm, "nothing to do");
        test_array_check_unchanged(&run.o.out, &run.o.out_before, "empty batch");
        fft_free(&run);
    }
}

static void test_refusals(void **state) {
    (void)state;
    fft_run run;
    fft_make(&run, &(test_transform){.n = {12}}, 1);
    for (int i = 0; i < 4; i++) {
        bp_problem problem = run.o.problem;
        problem.dtype = i == 0 ? BP_F32 : problem.dtype;
        problem.of.fft.full_spectrum = i == 1;
        problem.of.fft.conjugate = i == 2;
        problem.of.fft.zero_padded = i == 3;
        bp_verdict verdict = test_verdict(&bp_provider_native, (void *)(uintptr_t)test_plain_host(), &problem);
        assert_int_equal(verdict.reason, i == 0 ? BP_REASON_DTYPE : BP_REASON_OTHER);
    }
    fft_free(&run);
}

/* Tests that the inverse transform restores the data and that the energy is kept, for lengths that are too long for
 * reference sums. */
static void test_inverse_restores_data(void **state) {
    (void)state;
    static const int64_t lengths[] = {1 << 18, 1 << 20, 531441, 1000000, 262139, 720720};
    for (int i = 0; i < COUNT(lengths); i++) {
        for (int f64 = 0; f64 < 2; f64++) {
            const int64_t n = lengths[i];
            test_transform what = {.single = !f64, .n = {n}, .capability = BP_CAPABILITY_AVX2, .threads = 2};
            fft_run forward, back;
            fft_make(&forward, &what, 9);
            fft_execute(&forward);
            what.inverse = true;
            what.scale = 1 / (double)n;
            fft_make(&back, &what, 10);
            test_array_restore(&back.o.in, &forward.o.out);
            test_array_restore(&back.o.in_before, &forward.o.out);
            fft_execute(&back);
            long double error = 0, size = 0, energy = 0;
            for (int64_t k = 0; k < n; k++) {
                const wide x = fft_get(&forward.o.in, k), off = fft_get(&back.o.out, k) - x;
                const wide y = fft_get(&forward.o.out, k);
                error += creall(off) * creall(off) + cimagl(off) * cimagl(off);
                size += creall(x) * creall(x) + cimagl(x) * cimagl(x);
                energy += creall(y) * creall(y) + cimagl(y) * cimagl(y);
            }
            const long double epsilon = f64 ? 2.3e-16L : 1.2e-7L;
            assert_true(sqrtl(error / size) < 8 * epsilon);
            assert_true(fabsl(energy / (size * (long double)n) - 1) < 8 * epsilon);
            fft_free(&forward);
            fft_free(&back);
        }
    }
}

/* Tests transforms of an impulse. They are the roots of unity, so that an error in any table shows. */
static void test_impulse(void **state) {
    (void)state;
    static const int64_t lengths[] = {64, 1000, 4096, 8192, 1 << 16, 1 << 20, 10007};
    for (int i = 0; i < COUNT(lengths); i++) {
        for (int f64 = 0; f64 < 2; f64++) {
            const int64_t n = lengths[i], at = n / 3;
            fft_run run;
            fft_make(&run, &(test_transform){.single = !f64, .n = {n}, .capability = BP_CAPABILITY_AVX2}, 1);
            memset(run.o.first[0], 0, (size_t)n * bp_dtype_size(run.o.in.dtype));
            fft_set(&run, at, 1);
            fft_execute(&run);
            const long double epsilon = f64 ? 2.3e-16L : 1.2e-7L;
            for (int64_t k = 0; k < n; k += 1 + n / 5000) {
                const long double angle = 6.283185307179586476925286766559005768L * (long double)(at * k % n) / n;
                const wide off = fft_get(&run.o.out, k) - (cosl(angle) - sinl(angle) * (wide)I);
                /* The convolution of a prime length has the errors of all elements in each output. */
                assert_true(cabsl(off) < (n == 10007 ? 16 : 4) * epsilon);
            }
            fft_free(&run);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),        cmocka_unit_test(test_batch_positions),
        cmocka_unit_test(test_special_values), cmocka_unit_test(test_empty_batch),
        cmocka_unit_test(test_refusals),       cmocka_unit_test(test_inverse_restores_data),
        cmocka_unit_test(test_impulse),
    };
    return cmocka_run_group_tests(tests, NULL, test_stop_pool);
}
