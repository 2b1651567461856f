/* test_transforms.c - tests every kind of transform in every layout on MKL, against the reference. */
#include "mkl/support_mkl.h"

#include <string.h>

static void *mkl;

static void run(const test_transform *t) {
    if (!mkl) {
        skip();
    }
    test_run(&bp_provider_mkl, mkl, t);
}

static const int64_t sizes[][3] = {{1}, {2}, {5}, {16}, {31}, {64}, {101}, {3, 4}, {8, 1}, {1, 9}, {17, 6}, {4, 3, 10}};
static const int64_t batches[][2] = {{0}, {1}, {7}, {3, 2}};
enum { SIZES = sizeof sizes / sizeof *sizes, BATCHES = sizeof batches / sizeof *batches };

static void each_size(test_transform t) {
    for (int i = 0; i < 2 * SIZES * BATCHES * FFT_ORDERS * FFT_ORDERS; i++) {
        int order = i % (FFT_ORDERS * FFT_ORDERS), rest = i / (FFT_ORDERS * FFT_ORDERS);
        t.in = (fft_order)(order % FFT_ORDERS);
        t.out = (fft_order)(order / FFT_ORDERS);
        t.scale = order % 3 == 0 ? 0.25 : 1;
        t.single = rest % 2;
        t.odd_in = order % 4;
        t.odd_out = order / 4 % 4;
        memcpy(t.n, sizes[rest / 2 % SIZES], sizeof t.n);
        memcpy(t.batch, batches[rest / 2 / SIZES], sizeof t.batch);
        run(&t);
    }
}

static void test_forward(void **state) {
    (void)state;
    each_size((test_transform){.kind = BP_FFT_C2C});
}

static void test_inverse(void **state) {
    (void)state;
    each_size((test_transform){.kind = BP_FFT_C2C, .inverse = true});
}

static void test_r2c(void **state) {
    (void)state;
    each_size((test_transform){.kind = BP_FFT_R2C});
}

static void test_c2r(void **state) {
    (void)state;
    each_size((test_transform){.kind = BP_FFT_C2R, .inverse = true});
}

static void test_in_place(void **state) {
    (void)state;
    for (int i = 0; i < SIZES * BATCHES * FFT_ORDERS * 2; i++) {
        test_transform t = {.kind = BP_FFT_C2C, .in_place = true, .odd_in = i % 4};
        t.in = t.out = (fft_order)(i % FFT_ORDERS);
        t.single = i / FFT_ORDERS % 2;
        t.scale = i % 2 ? 3 : 1;
        memcpy(t.n, sizes[i / FFT_ORDERS / 2 % SIZES], sizeof t.n);
        memcpy(t.batch, batches[i / FFT_ORDERS / 2 / SIZES], sizeof t.batch);
        run(&t);
    }
}

static void test_broadcast(void **state) {
    (void)state;
    for (int i = 0; i < 3 * FFT_ORDERS * 2; i++) {
        test_transform t = {.kind = (bp_fft_kind)(i % 3), .broadcast = true};
        t.inverse = t.kind == BP_FFT_C2R;
        t.in = (fft_order)(i / 3 % FFT_ORDERS);
        t.single = i / 3 / FFT_ORDERS;
        memcpy(t.n, (int64_t[]){6, 9}, 2 * sizeof *t.n);
        memcpy(t.batch, (int64_t[]){2, 5}, sizeof t.batch);
        run(&t);
    }
}

/* The memory between two stages is large, so that items are transformed one by one. */
static void test_large_two_stages(void **state) {
    (void)state;
    test_transform t = {.kind = BP_FFT_C2R, .inverse = true, .n = {96, 128}, .batch = {3, 5}};
    run(&t);
    t.in = FFT_BATCH_INNER;
    t.single = true;
    run(&t);
}

static void test_threads(void **state) {
    (void)state;
    for (int i = 0; i < 3 * 2; i++) {
        test_transform t = {.kind = (bp_fft_kind)(i % 3), .single = i / 3, .n = {64, 48}, .batch = {20}, .threads = 2};
        t.inverse = t.kind == BP_FFT_C2R;
        if (!mkl) {
            skip();
        }
        test_operands o;
        test_make(&o, &t);
        assert_int_equal(test_verdict(&bp_provider_mkl, mkl, &o.problem).threads, 2);
        test_release_operands(&o);
        run(&t);
    }
}

static int open_mkl(void **state) {
    (void)state;
    mkl = test_open_mkl();
    if (mkl) {
        test_make_threads_cheap(mkl);
    }
    return 0;
}

static int close_mkl(void **state) {
    (void)state;
    if (mkl) {
        bp_provider_mkl.close(mkl);
    }
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_inverse),
        cmocka_unit_test(test_r2c),
        cmocka_unit_test(test_c2r),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_broadcast),
        cmocka_unit_test(test_large_two_stages),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests_name("transforms", tests, open_mkl, close_mkl);
}
