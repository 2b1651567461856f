/* test_transforms.c - tests every kind of transform in every layout on FFTW, against the reference. */
#include "fftw/support_fftw.h"

#include <string.h>

static test_fftw f;

enum { ESTIMATE = 1, MEASURE = 2 };

static void run(const test_transform *t) {
    if (f.transforms[t->single]) {
        test_run(&bp_provider_fftw, f.transforms[t->single], t);
    }
}

static void skip_without_library(void) {
    if (!f.transforms[0] && !f.transforms[1]) {
        skip();
    }
}

/* Odd sizes, a prime without an FFTW codelet, sizes of one, several dimensions. */
static const int64_t sizes[][3] = {{1}, {2}, {5}, {16}, {31}, {64}, {101}, {60}, {3, 4}, {8, 1}, {17, 6}, {4, 3, 10}};
static const int64_t batches[][2] = {{0}, {1}, {7}, {3, 2}};
enum { SIZES = sizeof sizes / sizeof *sizes, BATCHES = sizeof batches / sizeof *batches };

static void each_order(test_transform *t) {
    for (int order = 0; order < FFT_ORDERS * FFT_ORDERS; order++) {
        t->in = (fft_order)(order % FFT_ORDERS);
        t->out = (fft_order)(order / FFT_ORDERS);
        t->scale = order % 3 == 0 ? 0.25 : 1;
        run(t);
    }
}

static void each_size(test_transform t) {
    for (int single = 0; single < 2; single++) {
        for (int i = 0; i < SIZES * BATCHES; i++) {
            t.single = single;
            memcpy(t.n, sizes[i % SIZES], sizeof t.n);
            memcpy(t.batch, batches[i / SIZES], sizeof t.batch);
            each_order(&t);
        }
    }
}

static void test_forward(void **state) {
    (void)state;
    skip_without_library();
    each_size((test_transform){.kind = BP_FFT_C2C, .planner = ESTIMATE});
}

static void test_inverse(void **state) {
    (void)state;
    skip_without_library();
    each_size((test_transform){.kind = BP_FFT_C2C, .inverse = true, .planner = ESTIMATE});
}

static void test_r2c(void **state) {
    (void)state;
    skip_without_library();
    each_size((test_transform){.kind = BP_FFT_R2C, .planner = ESTIMATE});
}

static void test_c2r(void **state) {
    (void)state;
    skip_without_library();
    each_size((test_transform){.kind = BP_FFT_C2R, .inverse = true, .planner = ESTIMATE});
}

static void test_in_place(void **state) {
    (void)state;
    skip_without_library();
    for (int i = 0; i < SIZES * BATCHES * FFT_ORDERS * 2; i++) {
        test_transform t = {.kind = BP_FFT_C2C, .in_place = true, .planner = ESTIMATE, .odd_in = i % 4};
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
    skip_without_library();
    for (int i = 0; i < 3 * FFT_ORDERS * 2; i++) {
        test_transform t = {.kind = (bp_fft_kind)(i % 3), .broadcast = true, .planner = ESTIMATE};
        t.inverse = t.kind == BP_FFT_C2R;
        t.in = (fft_order)(i / 3 % FFT_ORDERS);
        t.single = i / 3 / FFT_ORDERS;
        memcpy(t.n, (int64_t[]){6, 9}, 2 * sizeof *t.n);
        memcpy(t.batch, (int64_t[]){2, 5}, sizeof t.batch);
        run(&t);
    }
}

/* With deterministic=threads the provider makes one call per item. */
static void test_one_call_per_item(void **state) {
    (void)state;
    skip_without_library();
    for (int i = 0; i < 3 * FFT_ORDERS * 2; i++) {
        test_transform t = {.kind = (bp_fft_kind)(i % 3), .deterministic = 2, .single = i / 3 / FFT_ORDERS};
        t.inverse = t.kind == BP_FFT_C2R;
        t.in = t.out = (fft_order)(i / 3 % FFT_ORDERS);
        memcpy(t.n, (int64_t[]){6, 5}, 2 * sizeof *t.n);
        memcpy(t.batch, (int64_t[]){4, 3}, sizeof t.batch);
        run(&t);
    }
}

/* Every pair of addresses modulo 16, for one item and for batches whose items have different alignments. */
static void each_address(uint8_t planner, uint8_t deterministic) {
    for (int i = 0; i < 4 * 4 * 3 * 2; i++) {
        test_transform t = {.kind = (bp_fft_kind)(i / 16 % 3), .n = {96}, .batch = {5}, .planner = planner};
        t.inverse = t.kind == BP_FFT_C2R;
        t.odd_in = i % 4;
        t.odd_out = i / 4 % 4;
        t.in = t.out = i % 5 == 0 ? FFT_APART : FFT_COMPACT;
        t.single = i / 48 == 0;
        t.scale = 0.5;
        t.deterministic = deterministic;
        run(&t);
    }
}

static void test_addresses(void **state) {
    (void)state;
    skip_without_library();
    each_address(ESTIMATE, 0);
    each_address(0, 0);
    each_address(0, 1);
    each_address(0, 2);
}

static void test_measured(void **state) {
    (void)state;
    skip_without_library();
    for (int i = 0; i < 3 * 2 * 2 * 4; i++) {
        test_transform t = {.kind = (bp_fft_kind)(i % 3), .single = i / 3 % 2, .planner = i / 6 % 2 ? MEASURE : 0};
        t.inverse = t.kind == BP_FFT_C2R;
        t.in = t.out = (fft_order)(i / 12 % 4);
        t.in_place = t.kind == BP_FFT_C2C && i / 3 % 2;
        memcpy(t.n, i % 5 == 0 ? (int64_t[]){12, 10} : (int64_t[]){128, 0}, 2 * sizeof *t.n);
        memcpy(t.batch, (int64_t[]){4, 0}, sizeof t.batch);
        run(&t);
    }
}

/* If the copy of an input would be large, the provider iterates over the batch. */
static void test_large_copies(void **state) {
    (void)state;
    skip_without_library();
    test_transform t = {.kind = BP_FFT_C2R, .inverse = true, .n = {96, 128}, .batch = {3, 5}, .planner = ESTIMATE};
    run(&t);
    t.in = FFT_BATCH_INNER;
    t.single = true;
    run(&t);
}

static void test_threads(void **state) {
    (void)state;
    skip_without_library();
    for (int i = 0; i < 3 * 2; i++) {
        test_transform t = {.kind = (bp_fft_kind)(i % 3), .single = i / 3, .n = {64, 48}, .batch = {20}, .threads = 3};
        t.inverse = t.kind == BP_FFT_C2R;
        t.planner = ESTIMATE;
        if (!f.transforms[t.single] || !f.threads[t.single]) {
            continue;
        }
        test_operands o;
        test_make(&o, &t);
        bp_verdict verdict = test_verdict(&bp_provider_fftw, f.transforms[t.single], &o.problem);
        test_release_operands(&o);
        if (verdict.threads != 3) {
            fail_msg("%d threads for a transform that takes %.0f ns on one", verdict.threads, verdict.cost_ns);
        }
        run(&t);
        t.odd_in = t.odd_out = 1;
        run(&t);
    }
}

static int open_all(void **state) {
    (void)state;
    test_open_all(&f);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    test_close_all(&f);
    return test_blocks;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),   cmocka_unit_test(test_inverse),           cmocka_unit_test(test_r2c),
        cmocka_unit_test(test_c2r),       cmocka_unit_test(test_in_place),          cmocka_unit_test(test_broadcast),
        cmocka_unit_test(test_addresses), cmocka_unit_test(test_measured),          cmocka_unit_test(test_large_copies),
        cmocka_unit_test(test_threads),   cmocka_unit_test(test_one_call_per_item),
    };
    return cmocka_run_group_tests_name("transforms", tests, open_all, close_all);
}
