/* test_fft_plans.c - transforms planned, explained and run with options.
 *
 * Covers explanations of padding, conjugation and full spectra. The plan cache of transforms is limited, separate from
 * the cache of other operations, and thread-safe. */
#include "ops/transforms.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define I64(...) ((const int64_t[]){__VA_ARGS__})
#define DIMS(...) ((const int[]){__VA_ARGS__})

static unsigned seed = 1;

/* Input and output of a call, in separate memory. */
typedef struct pair {
    test_tensor in, out;
} pair;

static void pair_new(pair *p, const bp_fft_call *call, bp_dtype dtype, int ndim, const int64_t *shape) {
    bp_dtype out_dtype;
    int out_ndim;
    int64_t out_shape[BP_MAX_NDIM];
    test_tensor_new(&p->in, dtype, ndim, shape, ROW_MAJOR, &seed);
    assert_int_equal(bp_fft_shape(call, &p->in.view.tensor, &out_dtype, &out_ndim, out_shape), BP_OK);
    test_tensor_new(&p->out, out_dtype, out_ndim, out_shape, ROW_MAJOR, &seed);
}

static void pair_free(pair *p) {
    test_tensor_free(&p->in);
    test_tensor_free(&p->out);
}

static bp_fft_call call_of(bp_fft_transform transform, int ndim, const int *dims, const int64_t *s) {
    return (bp_fft_call){sizeof(bp_fft_call), transform, BP_FFT_BACKWARD, ndim, dims, s};
}

static bp_plan_cache_info stats(void) {
    bp_plan_cache_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_fft_plan_cache_stats(&info), BP_OK);
    return info;
}

static void plans_run_on_other_memory(void **state) {
    (void)state;
    for (int t = BP_FFT; t <= BP_IHFFT; t++) {
        bp_fft_call call = call_of((bp_fft_transform)t, 2, NULL, I64(5, 6));
        bp_dtype dtype = t == BP_IRFFT || t == BP_HFFT ? BP_C64 : BP_F32;
        pair first, second;
        pair_new(&first, &call, dtype, 3, I64(2, 4, 7));
        pair_new(&second, &call, dtype, 3, I64(2, 4, 7));
        bp_plan *plan;
        DLTensor in = first.in.view.tensor, out = first.out.view.tensor;
        in.data = out.data = NULL; /* planning needs no data */
        in.byte_offset = out.byte_offset = 0;
        assert_int_equal(bp_fft_plan(&plan, NULL, &call, &in, &out), BP_OK);
        const bp_operand operands[] = {{second.in.view.tensor.data, second.in.view.tensor.byte_offset},
                                       {second.out.view.tensor.data, second.out.view.tensor.byte_offset}};
        for (int again = 0; again < 2; again++) {
            assert_int_equal(bp_execute(plan, operands, NULL), BP_OK);
            assert_true(test_transform_error(&call, &second.in.view.tensor, &second.out.view.tensor) <= 1);
        }
        assert_int_equal(bp_execute(plan, NULL, NULL), BP_E_ARGUMENT);
        bp_plan_release(plan);
        pair_free(&first);
        pair_free(&second);
    }
}

static void a_plan_of_an_empty_batch_does_nothing(void **state) {
    (void)state;
    bp_fft_call call = call_of(BP_IHFFT, 1, NULL, I64(9));
    bp_view in, out;
    bp_plan *plan;
    bp_view_init(&in, NULL, BP_F64, 2, I64(0, 4), NULL);
    bp_view_init(&out, NULL, BP_C128, 2, I64(0, 5), NULL);
    assert_int_equal(bp_fft_plan(&plan, NULL, &call, &in.tensor, &out.tensor), BP_OK);
    assert_int_equal(bp_execute(plan, (bp_operand[]){{NULL, 0}, {NULL, 0}}, NULL), BP_OK);
    bp_plan_release(plan);
    assert_int_equal(bp_fft_run(NULL, &call, &in.tensor, &out.tensor), BP_OK);
}

static void says(bp_fft_transform transform, bp_dtype dtype, const int64_t *s, const char *problem, const char *words) {
    bp_fft_call call = call_of(transform, 1, NULL, s);
    bp_explanation *explanation;
    pair p;
    pair_new(&p, &call, dtype, 2, I64(3, 6));
    assert_int_equal(bp_fft_explain(&explanation, NULL, &call, &p.in.view.tensor, &p.out.view.tensor), BP_OK);
    const char *decision = bp_explanation_decision(explanation);
    if (strcmp(bp_explanation_problem(explanation), problem) != 0 ||
        (words[0] ? !strstr(decision, words) : strstr(decision, ";") != NULL)) {
        fail_msg("\"%s\", \"%s\" should be \"%s\" with \"%s\"", bp_explanation_problem(explanation), decision, problem,
                 words);
    }
    bp_explanation_release(explanation);
    pair_free(&p);
}

static void explanations(void **state) {
    (void)state;
    says(BP_FFT, BP_C64, NULL, "c64 3 x 6 forward", "");
    says(BP_IFFT, BP_C128, I64(4), "c128 3 x 4 inverse", "");
    says(BP_FFT, BP_C64, I64(9), "c64 3 x 9 forward, padded", "; the input is padded with zeros first");
    says(BP_RFFT, BP_F32, NULL, "c64 3 x 6 forward real to complex", "");
    says(BP_FFT, BP_F64, NULL, "c128 3 x 6 forward real to complex, whole spectrum",
         "; the rest of the spectrum is filled in by symmetry");
    says(BP_IFFT, BP_F64, NULL, "c128 3 x 6 inverse real to complex, whole spectrum",
         "; the rest of the spectrum is filled in by symmetry, and the result is conjugated");
    says(BP_IFFT, BP_F32, I64(7), "c64 3 x 7 inverse real to complex, whole spectrum, padded",
         "; the input is padded with zeros first, the rest of the spectrum is filled in by symmetry, and the result is "
         "conjugated");
    says(BP_FFT, BP_F64, I64(2), "c128 3 x 2 forward real to complex", "");
    says(BP_IHFFT, BP_F64, NULL, "c128 3 x 6 inverse real to complex", "; the result is conjugated");
    says(BP_IRFFT, BP_C64, NULL, "c64 3 x 10 inverse complex to real", "");
    says(BP_HFFT, BP_C64, NULL, "c64 3 x 10 forward complex to real", "; the input is conjugated first");
    says(BP_HFFT, BP_C64, I64(12), "c64 3 x 12 forward complex to real, padded",
         "; the input is conjugated and padded with zeros first");
}

static void options_of_one_call(void **state) {
    (void)state;
    bp_fft_call call = call_of(BP_FFT, 1, NULL, NULL);
    bp_options *options;
    pair p;
    pair_new(&p, &call, BP_C64, 1, I64(6));
    assert_int_equal(bp_options_new(&options, "dispatch.exclude=\"plain-dft,native\""), BP_OK);
    assert_int_equal(bp_fft_run(options, &call, &p.in.view.tensor, &p.out.view.tensor), BP_E_FALLBACK);
    assert_int_equal(bp_fft_run(NULL, &call, &p.in.view.tensor, &p.out.view.tensor), BP_OK);
    bp_plan *plan;
    assert_int_equal(bp_fft_plan(&plan, options, &call, &p.in.view.tensor, &p.out.view.tensor), BP_E_FALLBACK);
    bp_options_release(options);
    assert_int_equal(bp_set("fft.preferred", "no-such-library"), BP_OK);
    assert_int_equal(bp_fft_run(NULL, &call, &p.in.view.tensor, &p.out.view.tensor), BP_E_NOT_FOUND);
    pair_free(&p);
}

/* ---- The cache ---- */

static void run_of_size(int64_t n) {
    bp_fft_call call = call_of(BP_FFT, 1, NULL, NULL);
    pair p;
    pair_new(&p, &call, BP_C128, 1, &n);
    assert_int_equal(bp_fft_run(NULL, &call, &p.in.view.tensor, &p.out.view.tensor), BP_OK);
    pair_free(&p);
}

static void equal_transforms_share_a_plan(void **state) {
    (void)state;
    const int *const orders[] = {DIMS(0, 1, 2), DIMS(2, 1, 0), DIMS(-3, -1, -2), NULL};
    for (int i = 0; i < 4; i++) {
        bp_fft_call call = call_of(BP_FFT, 3, orders[i], i == 1 ? I64(5, 4, 3) : i == 3 ? I64(3, 4, 5) : NULL);
        pair p;
        pair_new(&p, &call, BP_C64, 3, I64(3, 4, 5));
        assert_int_equal(bp_fft_run(NULL, &call, &p.in.view.tensor, &p.out.view.tensor), BP_OK);
        pair_free(&p);
    }
    assert_int_equal(stats().size, 1);
    bp_fft_call scaled = call_of(BP_FFT, 3, NULL, NULL);
    scaled.norm = BP_FFT_ORTHO;
    pair p;
    pair_new(&p, &scaled, BP_C64, 3, I64(3, 4, 5));
    assert_int_equal(bp_fft_run(NULL, &scaled, &p.in.view.tensor, &p.out.view.tensor), BP_OK);
    assert_int_equal(stats().size, 2); /* another scale is another problem */
    pair_free(&p);
}

/* A batch whose dimensions are not in order of their strides is still one batch. */
static void batches_merge(void **state) {
    (void)state;
    bp_fft_call call = call_of(BP_FFT, 1, DIMS(1), NULL);
    bp_plan *plan;
    bp_view in, out;
    bp_plan_info info = {.struct_size = sizeof info};
    bp_view_init(&in, NULL, BP_C64, 4, I64(2, 5, 3, 4), I64(5, 1, 40, 10));
    bp_view_init(&out, NULL, BP_C64, 4, I64(2, 5, 3, 4), I64(10, 2, 80, 20));
    assert_int_equal(bp_fft_plan(&plan, NULL, &call, &in.tensor, &out.tensor), BP_OK);
    assert_int_equal(bp_plan_describe(plan, &info), BP_OK);
    assert_string_equal(info.problem, "c64 24 x 5 forward");
    bp_view_init(&in, NULL, BP_C64, 2, I64(24, 5), NULL);
    bp_view_init(&out, NULL, BP_C64, 2, I64(24, 5), I64(10, 2));
    bp_plan *same;
    assert_int_equal(bp_fft_plan(&same, NULL, &call, &in.tensor, &out.tensor), BP_OK);
    assert_ptr_equal(plan, same);
    bp_plan_release(plan);
    bp_plan_release(same);
}

static void grows_to_its_limit(void **state) {
    (void)state;
    assert_int_equal(bp_set_fft_plan_cache_max_size(3), BP_OK);
    for (int64_t n = 2; n <= 6; n++) {
        run_of_size(n);
    }
    bp_plan_cache_info info = stats();
    assert_true(info.size == 3 && info.max_size == 3 && info.misses == 5 && info.evictions == 2);
    bp_plan *plan;
    bp_plan_info described = {.struct_size = sizeof described};
    assert_int_equal(bp_fft_plan_cache_at(&plan, 2), 1);
    assert_int_equal(bp_plan_describe(plan, &described), BP_OK);
    assert_string_equal(described.problem, "c128 4 forward");
    bp_plan_release(plan);
    assert_int_equal(bp_fft_plan_cache_at(&plan, 3), 0);
    bp_plan_cache_info others = {.struct_size = sizeof others};
    assert_int_equal(bp_plan_cache_stats(&others), BP_OK);
    assert_true(others.size == 0 && others.misses == 0); /* the other operations have another cache */
    assert_int_equal(bp_plan_cache_clear(), BP_OK);
    assert_int_equal(stats().size, 3);
    assert_int_equal(bp_fft_plan_cache_clear(), BP_OK);
    assert_int_equal(stats().size, 0);
    run_of_size(6); /* the thread cache has dropped it as well */
    assert_int_equal(stats().size, 1);
}

static void size_zero_caches_nothing(void **state) {
    (void)state;
    run_of_size(5);
    assert_int_equal(bp_set_fft_plan_cache_max_size(0), BP_OK);
    assert_int_equal(stats().size, 0);
    uint64_t before = stats().misses;
    run_of_size(5); /* the thread cache is not used either */
    run_of_size(4);
    run_of_size(4);
    assert_int_equal(stats().size, 0);
    assert_int_equal(stats().misses - before, 3);
    bp_plan_info last = {.struct_size = sizeof last};
    assert_int_equal(bp_last_plan(&last), BP_OK);
    assert_string_equal(last.problem, "c128 4 forward");
    assert_int_equal(bp_set("fft.plan_cache.max_size", "-1"), BP_E_BAD_VALUE);
}

static atomic_int wrong;

/* The same few transforms in all threads, with adapters that need memory, while one thread clears the cache. */
static void *work(void *argument) {
    unsigned mine = (unsigned)(uintptr_t)argument;
    for (int i = 0; i < 60; i++) {
        bp_fft_transform t = (bp_fft_transform)(i % 6);
        bp_fft_call call = call_of(t, 2, NULL, I64(3 + i % 4, 6));
        bp_dtype dtype = t == BP_IRFFT || t == BP_HFFT ? BP_C64 : BP_F32, out_dtype;
        int out_ndim;
        int64_t out_shape[BP_MAX_NDIM];
        pair p;
        test_tensor_new(&p.in, dtype, 2, I64(4, 5), ROW_MAJOR, &mine);
        bp_fft_shape(&call, &p.in.view.tensor, &out_dtype, &out_ndim, out_shape);
        test_tensor_new(&p.out, out_dtype, out_ndim, out_shape, ROW_MAJOR, &mine);
        if (bp_fft_run(NULL, &call, &p.in.view.tensor, &p.out.view.tensor) != BP_OK ||
            !(test_transform_error(&call, &p.in.view.tensor, &p.out.view.tensor) <= 1)) {
            atomic_fetch_add(&wrong, 1);
        }
        if (argument == NULL && i % 7 == 0) {
            bp_fft_plan_cache_clear();
        }
        test_tensor_free(&p.in);
        test_tensor_free(&p.out);
    }
    return NULL;
}

static void threads_share_plans(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    atomic_store(&wrong, 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(atomic_load(&wrong), 0);
}

int main(void) {
    struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_run_on_other_memory),
        cmocka_unit_test(a_plan_of_an_empty_batch_does_nothing),
        cmocka_unit_test(explanations),
        cmocka_unit_test(options_of_one_call),
        cmocka_unit_test(equal_transforms_share_a_plan),
        cmocka_unit_test(batches_merge),
        cmocka_unit_test(grows_to_its_limit),
        cmocka_unit_test(size_zero_caches_nothing),
        cmocka_unit_test(threads_share_plans),
    };
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        tests[i].setup_func = test_transform_setup;
        tests[i].initial_state = (void *)(uintptr_t)test_transform_libraries[0];
    }
    test_transform_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
