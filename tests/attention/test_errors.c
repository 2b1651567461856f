/* test_errors.c - wrong calls of attention: each has its status, a message with the sizes, and writes nothing. */
#include "attention/cases.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* A call whose tensors can be changed one by one. */
typedef struct wrong {
    bp_attention_call call;
    bp_view query, key, value, mask, seed, output, logsumexp, other;
    float numbers[7][2048];
    int64_t words[8];
} wrong;

static void view(bp_view *v, void *data, bp_dtype dtype, int ndim, const int64_t *shape) {
    assert_int_equal(bp_view_init(v, data, dtype, ndim, shape, NULL), BP_OK);
}

static void begin(wrong *w) {
    memset(w, 0, sizeof *w);
    view(&w->query, w->numbers[0], BP_F32, 3, (const int64_t[]){4, 3, 5});
    view(&w->key, w->numbers[1], BP_F32, 3, (const int64_t[]){4, 6, 5});
    view(&w->value, w->numbers[2], BP_F32, 3, (const int64_t[]){4, 6, 2});
    view(&w->output, w->numbers[3], BP_F32, 3, (const int64_t[]){4, 3, 2});
    view(&w->logsumexp, w->numbers[4], BP_F32, 2, (const int64_t[]){4, 3});
    view(&w->mask, w->numbers[5], BP_F32, 2, (const int64_t[]){3, 6});
    view(&w->seed, w->words, BP_I64, 1, (const int64_t[]){2});
    w->call = (bp_attention_call){.struct_size = sizeof w->call,
                                  .query = &w->query.tensor,
                                  .key = &w->key.tensor,
                                  .value = &w->value.tensor,
                                  .output = &w->output.tensor};
    w->numbers[3][0] = 42;
}

static void fails(wrong *w, bp_status status, const char *message) {
    assert_int_equal(bp_attention_run(NULL, &w->call), status);
    if (!strstr(bp_last_error(), message)) {
        fail_msg("'%s' is not in the message '%s'", message, bp_last_error());
    }
    assert_true(w->numbers[3][0] == 42);
}

static void parameters_are_checked(void **state) {
    (void)state;
    wrong w;
    begin(&w);
    assert_int_equal(bp_attention_run(NULL, &w.call), BP_OK);
    begin(&w);
    w.call.mask = &w.mask.tensor;
    w.call.is_causal = 1;
    fails(&w, BP_E_ARGUMENT, "there is a mask, and is_causal");
    begin(&w);
    w.call.has_scale = 1;
    w.call.scale = NAN;
    fails(&w, BP_E_ARGUMENT, "scale is");
    begin(&w);
    w.call.has_scale = 0;
    w.call.scale = 0.5;
    fails(&w, BP_E_ARGUMENT, "scale is 0.5, and has_scale is 0");
    begin(&w);
    w.call.dropout = 1.5;
    fails(&w, BP_E_ARGUMENT, "dropout is 1.5");
    begin(&w);
    w.call.dropout = NAN;
    fails(&w, BP_E_ARGUMENT, "dropout is");
    begin(&w);
    w.call.dropout = 0.5;
    fails(&w, BP_E_ARGUMENT, "dropout needs a seed");
    begin(&w);
    w.call.seed = &w.seed.tensor;
    fails(&w, BP_E_ARGUMENT, "seed is for dropout");
    static const double softcaps[] = {-1, NAN, INFINITY, 0x1p-101, 0x1p101, -0x1p-1074};
    for (size_t i = 0; i < sizeof softcaps / sizeof softcaps[0]; i++) {
        begin(&w);
        w.call.softcap = softcaps[i];
        fails(&w, BP_E_ARGUMENT, "softcap is");
    }
    begin(&w);
    w.call.window_left = 3;
    fails(&w, BP_E_ARGUMENT, "window_left is 3, and has_window is 0");
    begin(&w);
    w.call.has_window = 1;
    w.call.window_right = -2;
    fails(&w, BP_E_ARGUMENT, "window_right is -2; it must be 0 or more, or -1 for no limit");
    w.call.window_right = INT64_MIN;
    fails(&w, BP_E_ARGUMENT, "window_right is -9223372036854775808");
    begin(&w);
    w.call.lower_right = 1;
    fails(&w, BP_E_ARGUMENT, "lower_right is for is_causal and has_window");
    begin(&w);
    w.call.query_gradient = &w.query.tensor;
    fails(&w, BP_E_ARGUMENT, "FORWARD has no query_gradient");
    begin(&w);
    w.call.pass = (bp_attention_pass)7;
    fails(&w, BP_E_ARGUMENT, "pass is no value");
    begin(&w);
    w.call.struct_size = 3;
    fails(&w, BP_E_ARGUMENT, "struct_size");
}

static void tensors_are_checked(void **state) {
    (void)state;
    wrong w;
    begin(&w);
    w.call.key = NULL;
    fails(&w, BP_E_ARGUMENT, "key");
    begin(&w);
    w.call.output = NULL;
    fails(&w, BP_E_ARGUMENT, "output");
    begin(&w);
    view(&w.query, w.numbers[0], BP_F32, 1, (const int64_t[]){5});
    fails(&w, BP_E_SHAPE, "query has shape (5)");
    begin(&w);
    view(&w.key, w.numbers[1], BP_F32, 3, (const int64_t[]){4, 6, 7});
    fails(&w, BP_E_SHAPE, "query has shape (4, 3, 5), key has shape (4, 6, 7)");
    begin(&w);
    view(&w.value, w.numbers[2], BP_F32, 3, (const int64_t[]){4, 8, 2});
    fails(&w, BP_E_SHAPE, "key has shape (4, 6, 5), value has shape (4, 8, 2)");
    begin(&w);
    view(&w.key, w.numbers[1], BP_F32, 3, (const int64_t[]){2, 6, 5});
    fails(&w, BP_E_SHAPE, "leading dimensions do not broadcast: query has shape (4, 3, 5), key has shape (2, 6, 5)");
    w.call.enable_gqa = 1;
    view(&w.key, w.numbers[1], BP_F32, 3, (const int64_t[]){3, 6, 5});
    fails(&w, BP_E_SHAPE, "query has 4 heads, key 3 and value 4");
    /* 4 and 6 divide 12, but their heads have no common dimensions. */
    view(&w.query, w.numbers[0], BP_F32, 3, (const int64_t[]){12, 3, 5});
    view(&w.key, w.numbers[1], BP_F32, 3, (const int64_t[]){4, 6, 5});
    view(&w.value, w.numbers[2], BP_F32, 3, (const int64_t[]){6, 6, 2});
    fails(&w, BP_E_SHAPE,
          "query has 12 heads, key 4 and value 6; the numbers of key and value must divide query's, and one of them "
          "the other");
    begin(&w);
    view(&w.output, w.numbers[3], BP_F32, 3, (const int64_t[]){4, 3, 5});
    fails(&w, BP_E_SHAPE, "output has shape (4, 3, 5); it must have shape (4, 3, 2)");
    begin(&w);
    w.call.mask = &w.mask.tensor;
    view(&w.mask, w.numbers[5], BP_F32, 2, (const int64_t[]){3, 5});
    fails(&w, BP_E_SHAPE, "mask has shape (3, 5); it must broadcast to (4, 3, 6)");
    begin(&w);
    w.call.logsumexp = &w.logsumexp.tensor;
    view(&w.logsumexp, w.numbers[4], BP_F32, 2, (const int64_t[]){3, 4});
    fails(&w, BP_E_SHAPE, "logsumexp has shape (3, 4); it must have shape (4, 3)");
    begin(&w);
    w.call.seed = &w.seed.tensor;
    w.call.dropout = 0.5;
    view(&w.seed, w.words, BP_I64, 1, (const int64_t[]){3});
    fails(&w, BP_E_SHAPE, "seed has shape (3)");
}

/* The output of the case has the batch (4). */
static void lengths_are_checked(void **state) {
    (void)state;
    wrong w;
    begin(&w);
    w.call.lengths = &w.other.tensor;
    view(&w.other, w.words, BP_I64, 1, (const int64_t[]){3});
    fails(&w, BP_E_SHAPE, "lengths has shape (3); it must have shape (4), the first dimension of the output");
    view(&w.other, w.words, BP_I64, 2, (const int64_t[]){4, 1});
    fails(&w, BP_E_SHAPE, "lengths has shape (4, 1); it must have shape (4)");
    view(&w.other, w.words, BP_F64, 1, (const int64_t[]){4});
    fails(&w, BP_E_DTYPE, "lengths is f64; it must be i32 or i64");
    view(&w.other, w.words, BP_I64, 1, (const int64_t[]){4});
    static const int64_t lengths[] = {-1, 7, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        w.words[2] = lengths[i];
        fails(&w, BP_E_ARGUMENT, "it must be from 0 to 6, the number of keys");
        assert_non_null(strstr(bp_last_error(), "lengths[2] is"));
    }
    w.words[2] = 6;
    assert_int_equal(bp_attention_run(NULL, &w.call), BP_OK);
    w.numbers[3][0] = 42;
    view(&w.other, w.numbers[3], BP_I64, 1, (const int64_t[]){4});
    fails(&w, BP_E_OVERLAP, "output, which is written, overlaps lengths");
    w.call.pages = &w.other.tensor;
    w.call.lengths = NULL;
    fails(&w, BP_E_ARGUMENT, "lengths is NULL; with pages it must be given");
    begin(&w);
    w.call.lengths = &w.other.tensor;
    view(&w.other, w.words, BP_I64, 1, (const int64_t[]){4});
    w.query.tensor.ndim = w.key.tensor.ndim = w.value.tensor.ndim = w.output.tensor.ndim = 2;
    w.query.tensor.shape++, w.key.tensor.shape++, w.value.tensor.shape++, w.output.tensor.shape++;
    w.query.tensor.strides = w.key.tensor.strides = w.value.tensor.strides = w.output.tensor.strides = NULL;
    fails(&w, BP_E_SHAPE, "with lengths one of them must have 3 or more");
}

static void types_are_checked(void **state) {
    (void)state;
    wrong w;
    begin(&w);
    view(&w.query, w.numbers[0], BP_I32, 3, (const int64_t[]){4, 3, 5});
    fails(&w, BP_E_DTYPE, "query is i32");
    begin(&w);
    view(&w.value, w.numbers[2], BP_F64, 3, (const int64_t[]){4, 6, 2});
    fails(&w, BP_E_DTYPE, "query is f32 and value is f64");
    begin(&w);
    w.call.mask = &w.mask.tensor;
    view(&w.mask, w.numbers[5], BP_F16, 2, (const int64_t[]){3, 6});
    fails(&w, BP_E_DTYPE, "mask is f16 and query is f32");
    begin(&w);
    w.call.logsumexp = &w.logsumexp.tensor;
    view(&w.logsumexp, w.numbers[4], BP_F64, 2, (const int64_t[]){4, 3});
    fails(&w, BP_E_DTYPE, "logsumexp is f64; it must be f32");
}

static void memory_is_checked(void **state) {
    (void)state;
    wrong w;
    begin(&w);
    view(&w.query, w.numbers[3], BP_F32, 3, (const int64_t[]){4, 3, 5});
    fails(&w, BP_E_OVERLAP, "output, which is written, overlaps query");
    begin(&w);
    assert_int_equal(
        bp_view_init(&w.output, w.numbers[3], BP_F32, 3, (const int64_t[]){4, 3, 2}, (const int64_t[]){0, 2, 1}),
        BP_OK);
    fails(&w, BP_E_OVERLAP, "output");
    begin(&w);
    w.call.logsumexp = &w.logsumexp.tensor;
    view(&w.logsumexp, w.numbers[3], BP_F32, 2, (const int64_t[]){4, 3});
    fails(&w, BP_E_OVERLAP, "logsumexp, which is written, overlaps output");
    begin(&w);
    view(&w.query, (char *)w.numbers[0] + 1, BP_F32, 3, (const int64_t[]){4, 3, 5});
    fails(&w, BP_E_LAYOUT, "query");
    begin(&w);
    w.query.shape[0] = w.query.shape[1] = INT64_C(1) << 31;
    fails(&w, BP_E_OVERFLOW, "query");
}

/* Sizes without memory behind them: strides of 0, or no elements. */
static void huge_sizes_are_refused(void **state) {
    static const int64_t none[] = {0, 0, 0};
    bp_options *math = NULL;
    (void)state;
    wrong w;
    begin(&w);
    assert_int_equal(bp_view_init(&w.key, w.numbers[1], BP_F32, 3, (const int64_t[]){4, INT64_C(1) << 43, 5}, none),
                     BP_OK);
    assert_int_equal(bp_view_init(&w.value, w.numbers[2], BP_F32, 3, (const int64_t[]){4, INT64_C(1) << 43, 2}, none),
                     BP_OK);
    assert_int_equal(bp_options_new(&math, "cuda.flash_sdp=false, cuda.mem_efficient_sdp=false"), BP_OK);
    assert_int_equal(bp_attention_run(math, &w.call), BP_E_NO_MEMORY);
    bp_options_release(math);
    assert_int_equal(bp_options_new(&math, "cuda.flash_sdp=false, cuda.math_sdp=false"), BP_OK);
    assert_int_equal(bp_attention_run(math, &w.call), BP_E_NO_MEMORY);
    bp_options_release(math);
    assert_true(w.numbers[3][0] == 42);
    w.key.shape[1] = w.value.shape[1] = INT64_C(1) << 50;
    fails(&w, BP_E_OVERFLOW, "keys");
    begin(&w);
    bp_plan *plan = NULL;
    w.query.shape[0] = w.output.shape[0] = w.query.shape[1] = w.output.shape[1] = INT64_C(1) << 40;
    w.query.shape[2] = w.key.shape[2] = w.output.shape[2] = w.value.shape[2] = w.value.shape[0] = w.key.shape[0] = 0;
    w.query.tensor.strides = w.output.tensor.strides = NULL;
    assert_int_not_equal(bp_attention_plan(&plan, NULL, &w.call), BP_OK);
}

static void gradients_need_their_tensors(void **state) {
    (void)state;
    wrong w;
    begin(&w);
    w.call.pass = BP_ATTENTION_BACKWARD;
    fails(&w, BP_E_ARGUMENT, "output_gradient");
    view(&w.other, w.numbers[6], BP_F32, 3, (const int64_t[]){4, 3, 2});
    w.call.output_gradient = &w.other.tensor;
    fails(&w, BP_E_ARGUMENT, "logsumexp");
    w.call.logsumexp = &w.logsumexp.tensor;
    assert_int_equal(bp_attention_run(NULL, &w.call), BP_OK); /* no gradient is wanted */
    w.call.key_gradient = &w.query.tensor;
    fails(&w, BP_E_SHAPE, "key_gradient has shape (4, 3, 5); it must have shape (4, 6, 5)");
}

static void gradients_by_masks_are_checked(void **state) {
    float slopes[24], written[4 * 3 * 6] = {42};
    bp_view gradient, by_mask;
    (void)state;
    wrong w;
    begin(&w);
    view(&gradient, slopes, BP_F32, 3, (const int64_t[]){4, 3, 2});
    memset(slopes, 0, sizeof slopes);
    w.call.mask = &w.mask.tensor;
    w.call.mask_gradient = &by_mask.tensor;
    view(&by_mask, written, BP_F32, 2, (const int64_t[]){3, 6});
    fails(&w, BP_E_ARGUMENT, "FORWARD has no mask_gradient");
    w.call.pass = BP_ATTENTION_BACKWARD;
    w.call.logsumexp = &w.logsumexp.tensor;
    w.call.output_gradient = &gradient.tensor;
    w.call.mask = NULL;
    fails(&w, BP_E_ARGUMENT, "mask_gradient needs a mask");
    w.call.mask = &w.mask.tensor;
    view(&by_mask, written, BP_F32, 2, (const int64_t[]){1, 6});
    fails(&w, BP_E_SHAPE, "mask_gradient has shape (1, 6); it must have shape (3, 6)");
    view(&by_mask, written, BP_F64, 2, (const int64_t[]){3, 6});
    fails(&w, BP_E_DTYPE, "mask_gradient is f64; it must be f32");
    view(&by_mask, w.numbers[0], BP_F32, 2, (const int64_t[]){3, 6});
    fails(&w, BP_E_OVERLAP, "mask_gradient, which is written, overlaps query");
    view(&w.mask, w.numbers[5], BP_BOOL, 2, (const int64_t[]){3, 6});
    view(&by_mask, written, BP_BOOL, 2, (const int64_t[]){3, 6});
    fails(&w, BP_E_DTYPE, "a mask of type bool has no gradient");
    assert_true(written[0] == 42);
    view(&w.mask, w.numbers[5], BP_F32, 2, (const int64_t[]){3, 6});
    view(&by_mask, written, BP_F32, 2, (const int64_t[]){3, 6});
    assert_int_equal(bp_attention_run(NULL, &w.call), BP_OK);
    assert_true(written[0] == 0); /* the slopes are 0 */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_checked),
        cmocka_unit_test(tensors_are_checked),
        cmocka_unit_test(lengths_are_checked),
        cmocka_unit_test(types_are_checked),
        cmocka_unit_test(memory_is_checked),
        cmocka_unit_test(gradients_need_their_tensors),
        cmocka_unit_test(gradients_by_masks_are_checked),
        cmocka_unit_test(huge_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
