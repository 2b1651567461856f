/* test_describe.c - tests the values that the mkl provider sets in DFTI descriptors, and the addresses of its calls, on
 * a fake library. A correct result alone does not show them. */
#include "mkl/support_dfti.h"

#include <string.h>

static void plan_and_run(void *instance, const test_transform *t, bp_verdict *verdict, test_operands *o) {
    test_make(o, t);
    dfti.described = dfti.freed = dfti.calls = 0;
    *verdict = test_verdict(&bp_provider_mkl, instance, &o->problem);
    bp_prepared *prepared = test_plan(&bp_provider_mkl, instance, &o->problem);
    test_execute(prepared, o);
    prepared->destroy(prepared);
    assert_int_equal(dfti.freed, dfti.described);
}

/* The descriptor handles the longest batch dimension; the provider iterates over the other one. */
static const test_transform batched = {.n = {6}, .batch = {3, 5}, .in = FFT_APART, .out = FFT_COMPACT, .scale = 0.5};

static void check_described(const test_transform *t) {
    void *instance = test_open_dfti();
    test_operands o;
    bp_verdict verdict;
    plan_and_run(instance, t, &verdict, &o);
    const bp_fft_problem *f = &o.problem.of.fft;
    const test_dfti_descriptor *d = &dfti.descriptor[0];
    const bool real = t->kind != BP_FFT_C2C;
    assert_int_equal(dfti.described, 1);
    assert_true(d->committed);
    assert_int_equal(d->precision, t->single ? BP__MKL_SINGLE : BP__MKL_DOUBLE);
    assert_int_equal(d->domain, real ? BP__MKL_REAL : BP__MKL_COMPLEX);
    assert_int_equal(d->rank, 1);
    assert_int_equal(d->n[0], 6);
    assert_int_equal(d->in[0], 0);
    assert_int_equal(d->in[1], f->in[0]);
    assert_int_equal(d->out[0], 0);
    assert_int_equal(d->out[1], f->out[0]);
    assert_int_equal(d->many, 5);
    assert_int_equal(d->in_distance, f->batch_in[1]);
    assert_int_equal(d->out_distance, f->batch_out[1]);
    assert_int_equal(d->placement, t->in_place ? BP__MKL_INPLACE : BP__MKL_NOT_INPLACE);
    assert_int_equal(d->storage, real ? BP__MKL_COMPLEX_COMPLEX : -1);
    assert_int_equal(d->destroys, real ? BP__MKL_AVOID : -1);
    assert_true((t->inverse ? d->backward_scale : d->forward_scale) == 0.5);
    assert_true((t->inverse ? d->forward_scale : d->backward_scale) == -1);
    assert_int_equal(d->threads, 1);
    assert_int_equal(dfti.calls, 3);
    for (int i = 0; i < 3; i++) {
        const test_dfti_call *call = &dfti.call[i];
        assert_int_equal(call->forward, !t->inverse);
        assert_ptr_equal(call->in, o.first[0] + i * f->batch_in[0] * (int64_t)bp_dtype_size(o.in.dtype));
        assert_ptr_equal(call->out,
                         t->in_place ? NULL : o.first[1] + i * f->batch_out[0] * (int64_t)bp_dtype_size(o.out.dtype));
    }
    test_release_operands(&o);
    bp_provider_mkl.close(instance);
}

static void test_descriptor_values(void **state) {
    (void)state;
    for (int i = 0; i < 3 * 2; i++) {
        test_transform t = batched;
        t.kind = (bp_fft_kind)(i % 3);
        t.inverse = t.kind == BP_FFT_C2R;
        t.single = i / 3;
        check_described(&t);
    }
    for (int i = 0; i < 2 * 2; i++) {
        test_transform t = batched;
        t.in_place = true;
        t.out = t.in;
        t.inverse = i % 2;
        t.single = i / 2;
        check_described(&t);
    }
}

/* A single call, which has its own run function, in place and not. */
static void test_single_call(void **state) {
    (void)state;
    void *instance = test_open_dfti();
    for (int in_place = 0; in_place < 2; in_place++) {
        test_transform t = {.n = {4, 6}, .in_place = in_place};
        test_operands o;
        bp_verdict verdict;
        plan_and_run(instance, &t, &verdict, &o);
        const test_dfti_descriptor *d = &dfti.descriptor[0];
        assert_int_equal(d->rank, 2);
        assert_int_equal(d->n[0], 4);
        assert_int_equal(d->n[1], 6);
        assert_int_equal(d->in[1], 6);
        assert_int_equal(d->in[2], 1);
        assert_int_equal(d->out[1], 6);
        assert_int_equal(d->out[2], 1);
        assert_int_equal(d->many, -1);
        assert_int_equal(dfti.calls, 1);
        assert_ptr_equal(dfti.call[0].in, o.first[0]);
        assert_ptr_equal(dfti.call[0].out, in_place ? NULL : o.first[1]);
        test_release_operands(&o);
    }
    bp_provider_mkl.close(instance);
}

/* A complex-to-real transform of two dimensions: the first goes into scratch memory, the last from there, scaled once.
 */
static void test_two_stages(void **state) {
    (void)state;
    void *instance = test_open_dfti();
    const test_transform t = {
        .kind = BP_FFT_C2R, .inverse = true, .n = {7, 10}, .batch = {2}, .scale = 0.25, .threads = 1};
    test_operands o;
    bp_verdict verdict;
    plan_and_run(instance, &t, &verdict, &o);
    const test_dfti_descriptor *first = &dfti.descriptor[0], *last = &dfti.descriptor[1];
    assert_int_equal(dfti.described, 2);
    assert_int_equal(first->domain, BP__MKL_COMPLEX);
    assert_int_equal(first->n[0], 7);
    assert_int_equal(first->in[1], 6);
    assert_int_equal(first->out[1], 6);
    assert_int_equal(first->many, 6);
    assert_true(first->backward_scale == 1);
    assert_int_equal(last->domain, BP__MKL_REAL);
    assert_int_equal(last->n[0], 10);
    assert_int_equal(last->many, 7);
    assert_int_equal(last->in_distance, 6);
    assert_int_equal(last->out_distance, 10);
    assert_true(last->backward_scale == 0.25);
    assert_int_equal(dfti.calls, 4);
    for (int item = 0; item < 2; item++) {
        const test_dfti_call *from = &dfti.call[item], *to = &dfti.call[2 + item];
        assert_int_equal(from->descriptor, 0);
        assert_ptr_equal(from->in, o.first[0] + item * 42 * 16);
        assert_int_equal(to->descriptor, 1);
        assert_ptr_equal(to->in, from->out);
        assert_ptr_equal(to->out, o.first[1] + item * 70 * 8);
    }
    assert_ptr_equal(dfti.call[1].out, dfti.call[0].out + 42 * 16);
    test_release_operands(&o);
    bp_provider_mkl.close(instance);
}

/* Between the stages of a large transform there is memory for one item. */
static void test_large_two_stages(void **state) {
    (void)state;
    void *instance = test_open_dfti();
    const test_transform t = {.kind = BP_FFT_C2R, .inverse = true, .n = {96, 128}, .batch = {3, 5}};
    test_operands o;
    bp_verdict verdict;
    plan_and_run(instance, &t, &verdict, &o);
    assert_int_equal(dfti.calls, 30);
    for (int item = 0; item < 15; item++) {
        const test_dfti_call *from = &dfti.call[2 * item], *to = from + 1;
        assert_ptr_equal(from->in, o.first[0] + item * 96 * 65 * 16);
        assert_ptr_equal(from->out, dfti.call[0].out);
        assert_ptr_equal(to->in, from->out);
        assert_ptr_equal(to->out, o.first[1] + item * 96 * 128 * 8);
    }
    test_release_operands(&o);
    bp_provider_mkl.close(instance);
}

/* Strides of dimensions of size 1 are 0 in a problem, which DFTI need not accept. */
static void test_dimensions_of_size_one(void **state) {
    (void)state;
    void *instance = test_open_dfti();
    static const test_transform of_one[] = {{.n = {1}}, {.kind = BP_FFT_R2C, .n = {1}}, {.n = {1, 5}}, {.n = {5, 1}}};
    for (size_t i = 0; i < sizeof of_one / sizeof *of_one; i++) {
        test_operands o;
        bp_verdict verdict;
        plan_and_run(instance, &of_one[i], &verdict, &o);
        const test_dfti_descriptor *d = &dfti.descriptor[0];
        assert_int_equal(d->rank, 1);
        assert_int_equal(d->n[0], i < 2 ? 1 : 5);
        assert_int_equal(d->in[1], 1);
        assert_int_equal(d->out[1], 1);
        test_release_operands(&o);
    }
    bp_provider_mkl.close(instance);
}

/* The limit in a descriptor and the count around its calls are as in the verdict, or what the library grants. A
 * descriptor for one thread needs no count around it. */
static void check_threads(int layer) {
    static const int allowed[] = {1, 2, 3, 6};
    void *instance = test_open_dfti();
    test_make_threads_cheap(instance);
    dfti.layer = layer;
    dfti.most_threads = 5;
    for (int i = 0; i < 4; i++) {
        const test_transform t = {.n = {64, 48}, .batch = {20}, .threads = allowed[i]};
        const int wanted = allowed[i] > 5 ? 5 : allowed[i];
        test_operands o;
        bp_verdict verdict;
        dfti.threads = 4; /* the program's own count */
        plan_and_run(instance, &t, &verdict, &o);
        assert_int_equal(verdict.threads, allowed[i]);
        assert_int_equal(dfti.descriptor[0].threads, wanted);
        assert_int_equal(dfti.call[0].threads, wanted == 1 ? 4 : wanted);
        assert_int_equal(dfti.threads, 4);
        test_release_operands(&o);
    }
    bp_provider_mkl.close(instance);
}

static void test_threads(void **state) {
    (void)state;
    for (int layer = -1; layer <= 0; layer++) {
        check_threads(layer);
    }
}

/* If the library rejects any value of a descriptor, there is no plan, and nothing is leaked. */
static void test_refused_values(void **state) {
    (void)state;
    static const int parameters[] = {
        BP__MKL_PLACEMENT,      BP__MKL_INPUT_STRIDES,   BP__MKL_OUTPUT_STRIDES,         BP__MKL_NUMBER_OF_TRANSFORMS,
        BP__MKL_INPUT_DISTANCE, BP__MKL_OUTPUT_DISTANCE, BP__MKL_CONJUGATE_EVEN_STORAGE, BP__MKL_DESTROY_INPUT,
        BP__MKL_FORWARD_SCALE,  BP__MKL_THREAD_LIMIT};
    void *instance = test_open_dfti();
    test_transform t = batched;
    test_operands o;
    t.kind = BP_FFT_R2C;
    test_make(&o, &t);
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        bp_prepared *prepared;
        dfti.fails_at = parameters[i];
        assert_int_equal(test_plan_first(&bp_provider_mkl, instance, &o.problem, &prepared), BP_E_UNSUPPORTED);
        assert_non_null(strstr(bp_last_error(), test_dfti_message(3)));
        assert_int_equal(dfti.freed, dfti.described);
    }
    test_release_operands(&o);
    bp_provider_mkl.close(instance);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptor_values), cmocka_unit_test(test_single_call),
        cmocka_unit_test(test_two_stages),        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_large_two_stages),  cmocka_unit_test(test_dimensions_of_size_one),
        cmocka_unit_test(test_refused_values)};
    return cmocka_run_group_tests_name("describe", tests, NULL, NULL);
}
