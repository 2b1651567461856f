/* test_edges.c - operations on single elements: memory that inputs and output share, empty tensors, many dimensions,
 * refused calls, plans, and equal bits for any number of threads. */
#include "cases.h"
#include "support/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fails unless the last message contains the text. */
static void message_has(const char *text) {
    if (!strstr(bp_last_error(), text)) {
        fail_msg("message '%s' lacks '%s'", bp_last_error(), text);
    }
}

#define assert_refused(call, status, text)                                                                             \
    do {                                                                                                               \
        assert_status(call, status);                                                                                   \
        message_has(text);                                                                                             \
    } while (0)

/* ---- Shared memory ---- */

static void view_of(bp_view *view, void *data, bp_dtype dtype, int ndim, const int64_t *shape, const int64_t *strides) {
    assert_status(bp_view_init(view, data, dtype, ndim, shape, strides), BP_OK);
}

static void the_output_may_be_an_input(void **state) {
    float x[24], y[24];
    bp_view a, b, turned, half;
    (void)state;
    for (int round = 0; round < 3; round++) { /* from the second one on from the cache of the thread */
        for (int i = 0; i < 24; i++) {
            x[i] = (float)i - 12;
            y[i] = 1000;
        }
        view_of(&a, x, BP_F32, 2, I64(4, 6), NULL);
        view_of(&b, y, BP_F32, 2, I64(4, 6), NULL);
        view_of(&turned, x, BP_F32, 2, I64(4, 6), I64(1, 4));
        view_of(&half, x + 1, BP_F32, 2, I64(4, 5), I64(6, 1));
        assert_status(bp_unary_run(NULL, BP_UNARY_RELU, &a.tensor, &a.tensor), BP_OK);
        assert_status(bp_binary_run(NULL, BP_BINARY_ADD, &a.tensor, &b.tensor, &a.tensor), BP_OK);
        assert_status(bp_binary_run(NULL, BP_BINARY_SUBTRACT, &b.tensor, &a.tensor, &a.tensor), BP_OK);
        assert_status(bp_binary_run(NULL, BP_BINARY_MULTIPLY, &a.tensor, &a.tensor, &a.tensor), BP_OK);
        assert_status(bp_unary_run(NULL, BP_UNARY_COPY, &a.tensor, &a.tensor), BP_OK);
        for (int i = 0; i < 24; i++) {
            const float want = i < 12 ? 0 : (float)(i - 12);
            assert_true(x[i] == want * want);
        }
        assert_refused(bp_unary_run(NULL, BP_UNARY_EXP, &turned.tensor, &a.tensor), BP_E_OVERLAP, "overlaps input");
        assert_refused(bp_binary_run(NULL, BP_BINARY_ADD, &b.tensor, &turned.tensor, &a.tensor), BP_E_OVERLAP,
                       "output, which is written, overlaps b");
        assert_refused(bp_binary_run(NULL, BP_BINARY_ADD, &a.tensor, &turned.tensor, &a.tensor), BP_E_OVERLAP,
                       "output, which is written, overlaps b");
        view_of(&b, y, BP_F32, 2, I64(4, 5), NULL);
        view_of(&a, x, BP_F32, 2, I64(4, 5), I64(6, 1));
        assert_status(bp_binary_run(NULL, BP_BINARY_ADD, &a.tensor, &b.tensor, &a.tensor), BP_OK);
        assert_refused(bp_binary_run(NULL, BP_BINARY_ADD, &a.tensor, &half.tensor, &a.tensor), BP_E_OVERLAP,
                       "output, which is written, overlaps b");
        assert_refused(bp_unary_run(NULL, BP_UNARY_EXP, &half.tensor, &a.tensor), BP_E_OVERLAP, "overlaps input");
    }
}

/* A cached call whose addresses have become overlapping ones is refused. */
static void addresses_are_checked_in_each_call(void **state) {
    float x[64] = {0}, y[64];
    bp_view a, b, c, d;
    (void)state;
    view_of(&a, x, BP_F32, 1, I64(16), NULL);
    view_of(&b, y, BP_F32, 1, I64(16), NULL);
    view_of(&c, x + 8, BP_F32, 1, I64(16), NULL);
    view_of(&d, (char *)x + 1, BP_F32, 1, I64(16), NULL);
    for (int i = 0; i < 2; i++) {
        assert_status(bp_unary_run(NULL, BP_UNARY_EXP, &a.tensor, &b.tensor), BP_OK);
        assert_status(bp_unary_run(NULL, BP_UNARY_EXP, &a.tensor, &c.tensor), BP_E_OVERLAP);
        assert_status(bp_unary_run(NULL, BP_UNARY_EXP, &a.tensor, &d.tensor), BP_E_LAYOUT);
        assert_status(bp_binary_run(NULL, BP_BINARY_ADD, &a.tensor, &b.tensor, &b.tensor), BP_OK);
        assert_status(bp_binary_run(NULL, BP_BINARY_ADD, &c.tensor, &a.tensor, &a.tensor), BP_E_OVERLAP);
        assert_status(bp_binary_run(NULL, BP_BINARY_ADD, &b.tensor, &a.tensor, &a.tensor), BP_OK);
    }
}

static void overlaps_of_other_operations(void **state) {
    float x[64] = {0};
    int64_t numbers[8] = {0};
    bp_view a, b, twice, indices, same_memory;
    (void)state;
    view_of(&a, x, BP_F32, 2, I64(4, 4), NULL);
    view_of(&b, x + 8, BP_F32, 2, I64(4, 4), NULL);
    view_of(&twice, x + 32, BP_F32, 2, I64(4, 4), I64(0, 1));
    view_of(&indices, numbers, BP_I64, 1, I64(4), NULL);
    view_of(&same_memory, numbers, BP_F64, 1, I64(4), NULL);
    assert_refused(bp_unary_run(NULL, BP_UNARY_EXP, &a.tensor, &twice.tensor), BP_E_OVERLAP, "two indices");
    assert_refused(bp_take_run(NULL, &a.tensor, &indices.tensor, 0, &a.tensor), BP_E_OVERLAP, "overlaps input");
    assert_refused(bp_take_run(NULL, &a.tensor, &indices.tensor, 0, &b.tensor), BP_E_OVERLAP, "overlaps input");
    assert_refused(bp_unary_run(NULL, BP_UNARY_COPY, &indices.tensor, &same_memory.tensor), BP_E_OVERLAP, "input");
    const DLTensor *const parts[] = {&a.tensor};
    assert_refused(bp_concat_run(NULL, 1, parts, 0, &b.tensor), BP_E_OVERLAP, "tensors[0]");
    assert_refused(bp_concat_run(NULL, 1, parts, 0, &a.tensor), BP_E_OVERLAP, "tensors[0]");
    assert_refused(bp_concat_run(NULL, 1, parts, 0, &twice.tensor), BP_E_OVERLAP, "two indices");
}

static void choices_are_checked(void **state) {
    float x[64] = {0};
    uint8_t truths[16] = {0};
    bp_view a, b, c, d, condition, all;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    (void)state;
    view_of(&a, x, BP_F32, 1, I64(16), NULL);
    view_of(&b, x + 16, BP_F32, 1, I64(16), NULL);
    view_of(&c, x + 8, BP_F32, 1, I64(16), NULL);
    view_of(&d, x + 32, BP_F32, 1, I64(3), NULL);
    view_of(&all, x + 32, BP_I32, 1, I64(16), NULL);
    view_of(&condition, truths, BP_BOOL, 1, I64(16), NULL);
    for (int i = 0; i < 2; i++) {
        assert_status(bp_where_run(NULL, &condition.tensor, &a.tensor, &b.tensor, &b.tensor), BP_OK);
        assert_status(bp_where_run(NULL, &condition.tensor, &a.tensor, &b.tensor, &a.tensor), BP_OK);
        assert_refused(bp_where_run(NULL, &condition.tensor, &a.tensor, &b.tensor, &c.tensor), BP_E_OVERLAP,
                       "overlaps a");
    }
    assert_status(bp_where_run(NULL, &condition.tensor, &condition.tensor, &condition.tensor, &condition.tensor),
                  BP_OK);
    assert_refused(bp_where_run(NULL, &a.tensor, &a.tensor, &b.tensor, &b.tensor), BP_E_DTYPE, "condition is f32");
    assert_refused(bp_where_run(NULL, &condition.tensor, &a.tensor, &all.tensor, &a.tensor), BP_E_DTYPE, "b is i32");
    assert_refused(bp_where_run(NULL, &condition.tensor, &a.tensor, &b.tensor, &all.tensor), BP_E_DTYPE,
                   "output is i32; it must be f32, as a");
    assert_refused(bp_where_run(NULL, &condition.tensor, &a.tensor, &d.tensor, &b.tensor), BP_E_SHAPE,
                   "condition has shape (16) and b has shape (3)");
    assert_refused(bp_where_run(NULL, &condition.tensor, &a.tensor, NULL, &b.tensor), BP_E_ARGUMENT, "'b' is NULL");
    view_of(&d, x + 32, BP_F32, 2, I64(5, 1), NULL);
    assert_status(bp_where_shape(&condition.tensor, &d.tensor, &a.tensor, &ndim, shape), BP_OK);
    assert_true(ndim == 2 && shape[0] == 5 && shape[1] == 16);
}

/* ---- Sizes ---- */

static void empty_tensors(void **state) {
    const int64_t big = INT64_C(1) << 40;
    int64_t numbers[2] = {0};
    float y = 3;
    bp_view none, wide, indices, scalar, five;
    bp_plan *plan;
    (void)state;
    view_of(&none, NULL, BP_F32, 2, I64(0, 5), NULL);
    view_of(&wide, NULL, BP_F32, 2, I64(0, big), NULL);
    view_of(&indices, numbers, BP_I64, 1, I64(0), NULL);
    view_of(&scalar, &y, BP_F32, 0, NULL, NULL);
    view_of(&five, numbers, BP_F32, 1, I64(1), NULL);
    for (int i = 0; i < 2; i++) {
        assert_status(bp_unary_run(NULL, BP_UNARY_GELU, &none.tensor, &none.tensor), BP_OK);
        assert_status(bp_unary_run(NULL, BP_UNARY_GELU, &wide.tensor, &wide.tensor), BP_OK);
        assert_status(bp_binary_run(NULL, BP_BINARY_ADD, &none.tensor, &five.tensor, &none.tensor), BP_OK);
        assert_status(bp_unary_run(NULL, BP_UNARY_NEGATIVE, &scalar.tensor, &scalar.tensor), BP_OK);
    }
    assert_true(y == 3);
    const DLTensor *const parts[] = {&none.tensor, &none.tensor};
    assert_status(bp_concat_run(NULL, 2, parts, 0, &none.tensor), BP_OK);
    float row[] = {1, 2, 3, 4, 5}, copy[5];
    view_of(&wide, row, BP_F32, 2, I64(1, 5), NULL);
    view_of(&five, copy, BP_F32, 2, I64(1, 5), I64(INT64_MAX, 1)); /* a stride that is not used */
    const DLTensor *const one_row[] = {&wide.tensor, &none.tensor};
    assert_status(bp_concat_run(NULL, 2, one_row, 0, &five.tensor), BP_OK);
    assert_memory_equal(copy, row, sizeof row);
    assert_status(bp_unary_plan(&plan, NULL, BP_UNARY_EXP, &none.tensor, &none.tensor), BP_OK);
    const bp_operand operands[3] = {{0}};
    assert_status(bp_execute(plan, operands, &(bp_exec){.struct_size = sizeof(bp_exec)}), BP_OK);
    bp_plan_release(plan);
    view_of(&five, NULL, BP_F32, 2, I64(0, 5), NULL); /* no row of none */
    assert_status(bp_take_run(NULL, &none.tensor, &indices.tensor, 0, &five.tensor), BP_OK);
    view_of(&indices, numbers, BP_I64, 1, I64(2), NULL);
    view_of(&five, (float[10]){0}, BP_F32, 2, I64(2, 5), NULL);
    assert_refused(bp_take_run(NULL, &none.tensor, &indices.tensor, 0, &five.tensor), BP_E_ARGUMENT,
                   "size 0, so there must be");
}

static void as_many_dimensions_as_there_can_be(void **state) {
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM], reverse[BP_MAX_NDIM], size = 1;
    float x[4096], y[4096];
    bp_view a, b;
    (void)state;
    for (int d = 0; d < BP_MAX_NDIM; d++) {
        shape[d] = d % 5 == 0 && d < 60 ? 2 : 1;
        strides[d] = size;
        size *= shape[d];
    }
    assert_int_equal(size, 4096);
    for (int d = 0, step = 1; d < BP_MAX_NDIM; d++) {
        reverse[BP_MAX_NDIM - 1 - d] = step;
        step *= (int)shape[BP_MAX_NDIM - 1 - d];
    }
    for (int i = 0; i < 4096; i++) {
        x[i] = (float)i;
    }
    view_of(&a, x, BP_F32, BP_MAX_NDIM, shape, strides);
    view_of(&b, y, BP_F32, BP_MAX_NDIM, shape, reverse);
    assert_status(bp_unary_run(NULL, BP_UNARY_NEGATIVE, &a.tensor, &b.tensor), BP_OK);
    for (int i = 0; i < 4096; i++) {
        int mirrored = 0;
        for (int bit = 0; bit < 12; bit++) {
            mirrored |= (i >> bit & 1) << (11 - bit);
        }
        assert_true(y[mirrored] == (float)-i);
    }
    assert_status(bp_unary_run(NULL, BP_UNARY_COPY, &b.tensor, &a.tensor), BP_OK);
    for (int i = 0; i < 4096; i++) {
        assert_true(x[i] == (float)-i);
    }
    int64_t index = 0;
    bp_view indices;
    view_of(&indices, &index, BP_I64, 2, I64(1, 1), NULL);
    assert_refused(bp_take_run(NULL, &a.tensor, &indices.tensor, 0, &b.tensor), BP_E_SHAPE, "more than 64");
}

/* ---- Refused calls ---- */

static void indices_out_of_range_write_nothing(void **state) {
    enum { MANY = 20000 };
    static int64_t numbers[MANY];
    static float table[3 * 4], output[MANY * 4];
    bp_view x, indices, y, small;
    bp_options *options;
    (void)state;
    view_of(&x, table, BP_F32, 2, I64(3, 4), NULL);
    view_of(&indices, numbers, BP_I64, 2, I64(MANY / 10, 10), NULL);
    view_of(&y, output, BP_F32, 3, I64(MANY / 10, 10, 4), NULL);
    for (int i = 0; i < MANY * 4; i++) {
        output[i] = 7;
    }
    for (int t = 0; t < SETTINGS; t++) {
        options = test_options(all_settings[t]);
        memset(numbers, 0, sizeof numbers);
        numbers[19997] = 3;
        numbers[12345] = -1;
        assert_refused(bp_take_run(options, &x.tensor, &indices.tensor, 0, &y.tensor), BP_E_ARGUMENT,
                       "index number 12345 (counted from 0 in row-major order) is -1; the axis has size 3");
        numbers[12345] = 2;
        assert_refused(bp_take_run(options, &x.tensor, &indices.tensor, 0, &y.tensor), BP_E_ARGUMENT,
                       "index number 19997 (counted from 0 in row-major order) is 3");
        bp_options_release(options);
    }
    for (int i = 0; i < MANY * 4; i++) {
        assert_true(output[i] == 7);
    }
    memset(numbers, 0, sizeof numbers);
    numbers[5] = INT64_MAX;
    view_of(&small, numbers, BP_I64, 2, I64(3, 4), I64(1, 3)); /* number 5 in memory is row 2, column 1 */
    view_of(&y, output, BP_F32, 2, I64(3, 4), NULL);
    assert_refused(bp_gather_run(NULL, &x.tensor, &small.tensor, 1, &y.tensor), BP_E_ARGUMENT,
                   "gather: index number 9 ");
}

static void arguments_are_checked(void **state) {
    float x[64] = {0}, y[64] = {0};
    double z[64] = {0};
    int32_t n[64] = {0};
    bp_view a, b, wrong, wide, integers, bytes;
    (void)state;
    view_of(&a, x, BP_F32, 2, I64(3, 4), NULL);
    view_of(&b, y, BP_F32, 2, I64(3, 4), NULL);
    view_of(&wrong, y, BP_F32, 2, I64(4, 3), NULL);
    view_of(&wide, z, BP_F64, 2, I64(3, 4), NULL);
    view_of(&integers, n, BP_I32, 2, I64(3, 4), NULL);
    view_of(&bytes, n, BP_U16, 2, I64(3, 4), NULL);
    assert_refused(bp_unary_run(NULL, (bp_unary_kind)99, &a.tensor, &b.tensor), BP_E_ARGUMENT, "kind 99");
    assert_refused(bp_binary_run(NULL, (bp_binary_kind)-1, &a.tensor, &a.tensor, &b.tensor), BP_E_ARGUMENT, "kind");
    assert_refused(bp_unary_run(NULL, BP_UNARY_EXP, NULL, &b.tensor), BP_E_ARGUMENT, "input");
    assert_refused(bp_unary_run(NULL, BP_UNARY_EXP, &a.tensor, NULL), BP_E_ARGUMENT, "output");
    assert_refused(bp_unary_run(NULL, BP_UNARY_EXP, &a.tensor, &wrong.tensor), BP_E_SHAPE,
                   "output has shape (4, 3); the result has shape (3, 4)");
    assert_refused(bp_unary_run(NULL, BP_UNARY_EXP, &a.tensor, &wide.tensor), BP_E_DTYPE, "output is f64");
    assert_refused(bp_unary_run(NULL, BP_UNARY_EXP, &integers.tensor, &integers.tensor), BP_E_DTYPE, "input is i32");
    assert_refused(bp_unary_run(NULL, BP_UNARY_COPY, &bytes.tensor, &b.tensor), BP_E_DTYPE, "input is u16");
    assert_refused(bp_binary_run(NULL, BP_BINARY_ADD, &a.tensor, &wide.tensor, &b.tensor), BP_E_DTYPE, "b is f64");
    assert_refused(bp_binary_run(NULL, BP_BINARY_ADD, &a.tensor, &wrong.tensor, &b.tensor), BP_E_SHAPE,
                   "a has shape (3, 4) and b has shape (4, 3)");
    assert_refused(bp_binary_run(NULL, BP_BINARY_DIVIDE, &integers.tensor, &integers.tensor, &integers.tensor),
                   BP_E_DTYPE, "divide");
    assert_refused(bp_take_run(NULL, &a.tensor, &b.tensor, 0, &b.tensor), BP_E_DTYPE, "indices is f32");
    assert_refused(bp_take_run(NULL, &a.tensor, &integers.tensor, 2, &b.tensor), BP_E_ARGUMENT, "axis is 2");
    assert_refused(bp_take_run(NULL, &a.tensor, &integers.tensor, -3, &b.tensor), BP_E_ARGUMENT, "axis is -3");
    view_of(&wrong, y, BP_F32, 0, NULL, NULL);
    assert_refused(bp_take_run(NULL, &wrong.tensor, &integers.tensor, 0, &b.tensor), BP_E_ARGUMENT, "axis is 0");
    view_of(&integers, n, BP_I32, 2, I64(4, 4), NULL);
    assert_refused(bp_gather_run(NULL, &a.tensor, &integers.tensor, 1, &b.tensor), BP_E_SHAPE,
                   "indices has shape (4, 4)");
    view_of(&integers, n, BP_I32, 1, I64(3), NULL);
    assert_refused(bp_gather_run(NULL, &a.tensor, &integers.tensor, 1, &b.tensor), BP_E_SHAPE, "indices has shape (3)");
    const DLTensor *const parts[] = {&a.tensor, &wide.tensor}, *const same[] = {&a.tensor, &a.tensor};
    view_of(&bytes, z, BP_F32, 2, I64(6, 4), NULL);
    assert_refused(bp_concat_run(NULL, 2, parts, 0, &bytes.tensor), BP_E_DTYPE, "tensors[1] is f64");
    assert_refused(bp_concat_run(NULL, 2, same, 2, &bytes.tensor), BP_E_ARGUMENT, "axis is 2");
    assert_refused(bp_concat_run(NULL, 0, same, 0, &bytes.tensor), BP_E_ARGUMENT, "no tensors");
    assert_refused(bp_concat_run(NULL, 1, same, 0, &bytes.tensor), BP_E_SHAPE,
                   "output has shape (6, 4); the result has shape (3, 4)");
    assert_refused(bp_concat_run(NULL, 2, same, 1, &bytes.tensor), BP_E_SHAPE,
                   "output has shape (6, 4); the result has shape (3, 8)");
    const DLTensor *const different[] = {&bytes.tensor, &a.tensor};
    assert_refused(bp_concat_run(NULL, 2, different, 1, &bytes.tensor), BP_E_SHAPE, "tensors[1] has shape (3, 4)");
    assert_refused(bp_concat_run(NULL, 2, parts, 0, NULL), BP_E_ARGUMENT, "output");
}

/* ---- Threads and plans ---- */

static void fill(test_array *t) {
    for (int64_t i = 0; i < test_array_count(t); i++) {
        set_number(t->dtype, test_array_at(t, i), (long double)(test_array_uniform() * 20));
    }
}

/* Large enough for several threads; also compares instruction sets, where only exact functions agree. */
static void threads_do_not_change_bits(void **state) {
    static const bp_dtype dtypes[] = {BP_BF16, BP_F32, BP_F64};
    (void)state;
    for (int kind = 0; kind < BP_UNARY_BITWISE_INVERT; kind++) {
        test_array x, y, first;
        const bp_dtype dtype = dtypes[kind % 3], result = bp_unary_dtype((bp_unary_kind)kind, dtype);
        const int64_t shape[] = {7, 301, 153};
        begin_tensor(&x, dtype, 3, shape, kind % 2 ? TEST_COMPACT : TEST_CHANNELS_LAST);
        begin_tensor(&y, result, 3, shape, TEST_COMPACT);
        begin_tensor(&first, result, 3, shape, TEST_COMPACT);
        fill(&x);
        for (int t = INSTRUCTION_SETS; t < SETTINGS; t++) {
            test_array *to = t == INSTRUCTION_SETS ? &first : &y;
            bp_options *options = test_options(all_settings[t]);
            assert_status(bp_unary_run(options, (bp_unary_kind)kind, &x.view.tensor, &to->view.tensor), BP_OK);
            bp_options_release(options);
            assert_memory_equal(first.view.tensor.data, to->view.tensor.data,
                                (size_t)test_array_count(&x) * bp_dtype_size(result));
        }
        end_tensor(&x);
        end_tensor(&y);
        end_tensor(&first);
    }
}

static void plans_run_and_are_described(void **state) {
    float x[12], y[12];
    int64_t n[2] = {2, 0};
    bp_view a, b, indices, rows;
    bp_plan *plan;
    bp_explanation *explanation;
    bp_plan_info info = {.struct_size = sizeof info};
    const bp_exec exec = {.struct_size = sizeof exec, .operand_count = 3};
    (void)state;
    for (int i = 0; i < 12; i++) {
        x[i] = (float)i;
    }
    view_of(&a, NULL, BP_F32, 2, I64(3, 4), NULL);
    view_of(&b, NULL, BP_F32, 2, I64(3, 4), NULL);
    view_of(&indices, NULL, BP_I64, 1, I64(2), NULL);
    view_of(&rows, NULL, BP_F32, 2, I64(2, 4), NULL);
    assert_status(bp_take_plan(&plan, NULL, &a.tensor, &indices.tensor, 0, &rows.tensor), BP_OK);
    assert_status(bp_execute(plan, (const bp_operand[]){{x, 0}, {n, 0}, {y, 0}}, &exec), BP_OK);
    assert_true(y[0] == 8 && y[7] == 3);
    assert_status(bp_plan_describe(plan, &info), BP_OK);
    assert_int_equal(info.operands, 3);
    bp_plan_release(plan);
    assert_status(bp_binary_plan(&plan, NULL, BP_BINARY_DIVIDE, &a.tensor, &a.tensor, &b.tensor), BP_OK);
    assert_status(bp_execute(plan, (const bp_operand[]){{x, 0}, {x, 0}, {y, 0}}, &exec), BP_OK);
    assert_true(isnan(y[0]) && y[11] == 1);
    bp_plan_release(plan);
    assert_status(bp_unary_explain(&explanation, NULL, BP_UNARY_GELU, &a.tensor, &b.tensor), BP_OK);
    assert_non_null(strstr(bp_explanation_text(explanation), "gelu f32 12"));
    bp_explanation_release(explanation);
    assert_status(bp_gather_explain(&explanation, NULL, &a.tensor, &indices.tensor, 0, &rows.tensor), BP_E_SHAPE);
}

/* Writes a field of a call that has no struct of its own. */
static void set_field(const bp_call *call, void *arguments, const char *name, const void *value, size_t size) {
    const bp_call_field *field;
    for (int i = 0; (field = bp_call_field_at(call, i)) != NULL; i++) {
        if (strcmp(field->name, name) == 0) {
            memcpy((char *)arguments + field->offset, value, size);
            return;
        }
    }
    fail_msg("no field %s", name);
}

/* A copy has the type that its call gives, before there is an output, and no output of another type. */
static void copies_have_the_type_that_is_given(void **state) {
    (void)state;
    const bp_call *call = bp_call_named("unary");
    int64_t arguments[16] = {0};
    float x[3] = {1.5f, -2, 3};
    double y[3] = {0};
    bp_view in, out, wrong;
    const DLTensor *input = &in.tensor, *output = &out.tensor, *other = &wrong.tensor;
    const int f64 = BP_F64, none = BP_DTYPE_NONE, unknown = BP_BOOL + 1, exp = BP_UNARY_EXP;
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    assert_true(bp_call_get_info(call)->size <= sizeof arguments);
    view_of(&in, x, BP_F32, 1, I64(3), NULL);
    view_of(&out, y, BP_F64, 1, I64(3), NULL);
    view_of(&wrong, y, BP_I32, 1, I64(3), NULL);
    memcpy(arguments, &bp_call_get_info(call)->size, sizeof(size_t));
    set_field(call, arguments, "input", &input, sizeof input);
    assert_status(bp_call_shape(call, arguments, 1, &dtype, &ndim, shape), BP_OK);
    assert_int_equal(dtype, BP_F32);
    set_field(call, arguments, "dtype", &f64, sizeof f64);
    assert_status(bp_call_shape(call, arguments, 1, &dtype, &ndim, shape), BP_OK);
    assert_int_equal(dtype, BP_F64);
    set_field(call, arguments, "output", &output, sizeof output);
    assert_status(bp_call_run(NULL, call, arguments), BP_OK);
    assert_true(y[0] == 1.5 && y[1] == -2 && y[2] == 3);
    set_field(call, arguments, "output", &other, sizeof other);
    assert_refused(bp_call_run(NULL, call, arguments), BP_E_DTYPE, "output is i32; dtype is f64");
    set_field(call, arguments, "kind", &exp, sizeof exp);
    assert_refused(bp_call_run(NULL, call, arguments), BP_E_ARGUMENT, "only copy");
    set_field(call, arguments, "dtype", &unknown, sizeof unknown);
    assert_refused(bp_call_run(NULL, call, arguments), BP_E_ARGUMENT, "dtype 16");
    set_field(call, arguments, "dtype", &none, sizeof none);
    assert_refused(bp_call_run(NULL, call, arguments), BP_E_DTYPE, "output is i32");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_output_may_be_an_input),
        cmocka_unit_test(addresses_are_checked_in_each_call),
        cmocka_unit_test(overlaps_of_other_operations),
        cmocka_unit_test(choices_are_checked),
        cmocka_unit_test(empty_tensors),
        cmocka_unit_test(as_many_dimensions_as_there_can_be),
        cmocka_unit_test(indices_out_of_range_write_nothing),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(threads_do_not_change_bits),
        cmocka_unit_test(plans_run_and_are_described),
        cmocka_unit_test(copies_have_the_type_that_is_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
