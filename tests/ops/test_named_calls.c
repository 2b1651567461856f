/* test_named_calls.c - runs, plans and explains the calls whose functions take arguments by their names (calls.h), and
 * compares with these functions: results, plans, explanations, and the shapes of all results. */
#include "backplane.h"
#include "ops/linalg/linalg.h"
#include "support/named.h"
#include "named_tensors.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define MOST_OPERANDS 8

/* All results are in `out`, so that one comparison finds every difference, also in memory between the results. */
static double want[96];
static int ran[64]; /* calls of bp_call_at() that were checked */

static void clear(void) {
    memset(out, 0xee, sizeof out);
}

static int index_of(const bp_call *call) {
    int i = 0;
    while (bp_call_at(i) != call) {
        i++;
    }
    return i;
}

static void check_shapes(const named_call *named) {
    const bp_call_pass *pass = bp_call_get_pass(named->call, &named->arguments);
    for (int i = pass->input_count; i < pass->operand_count; i++) {
        const DLTensor *given;
        bp_dtype dtype = BP_DTYPE_NONE;
        int ndim = -1;
        int64_t shape[BP_MAX_NDIM];
        const bp_call_operand *operand = bp_call_operand_at(pass, i);
        memcpy(&given, named->arguments.bytes + operand->offset, sizeof given);
        if (!given) {
            continue;
        }
        const bp_status status = bp_call_shape(named->call, &named->arguments, i, &dtype, &ndim, shape);
        if (status == BP_E_UNSUPPORTED && strcmp(bp_call_get_info(named->call)->name, "fftfreq") == 0) {
            continue; /* it does not follow from other tensors */
        }
        assert_int_equal(status, BP_OK);
        assert_int_equal(dtype, bp_dtype_from_dlpack(given->dtype));
        assert_int_equal(ndim, given->ndim);
        assert_true(ndim == 0 || memcmp(shape, given->shape, (size_t)ndim * sizeof *shape) == 0);
    }
}

/* Checks a call after its function has written `out`. `operands` are as in a plan, with `count` elements. */
static void check(const named_call *named, const DLTensor *const *operands, int count) {
    bp_operand addresses[MOST_OPERANDS] = {{0}};
    bp_plan *plan = NULL;
    bp_explanation *explanation = NULL;
    memcpy(want, out, sizeof out);
    for (int times = 0; times < 2; times++) { /* the second one has its plan in the cache of the thread */
        clear();
        assert_string_equal(bp_call_run(NULL, named->call, &named->arguments) == BP_OK ? "" : bp_last_error(), "");
        assert_memory_equal(out, want, sizeof out);
    }
    check_shapes(named);
    ran[index_of(named->call)] = 1;
    if (bp_call_get_info(named->call)->unplanned) {
        assert_int_equal(bp_call_plan(&plan, NULL, named->call, &named->arguments), BP_E_UNSUPPORTED);
        if (strcmp(bp_call_get_info(named->call)->name, "matrix_power") != 0) {
            assert_int_equal(bp_call_explain(&explanation, NULL, named->call, &named->arguments), BP_E_UNSUPPORTED);
        }
        return;
    }
    assert_int_equal(bp_call_plan(&plan, NULL, named->call, &named->arguments), BP_OK);
    for (int i = 0; i < count; i++) {
        addresses[i] = operands[i] ? (bp_operand){operands[i]->data, operands[i]->byte_offset} : (bp_operand){0};
    }
    clear();
    bp_plan_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_plan_describe(plan, &info), BP_OK);
    assert_int_equal(info.operands, count);
    assert_int_equal(bp_execute(plan, addresses, NULL), BP_OK);
    assert_memory_equal(out, want, sizeof out);
    bp_plan_release(plan);
    assert_int_equal(bp_call_explain(&explanation, NULL, named->call, &named->arguments), BP_OK);
    assert_true(strlen(bp_explanation_text(explanation)) > 0);
    bp_explanation_release(explanation);
}

/* ---- Single elements ---- */

static void single_elements(void **state) {
    const DLTensor *x[] = {TENSOR(in[0], BP_F64, 2, 3, 4), TENSOR(in[1], BP_F64, 2, 1, 4),
                           TENSOR(out, BP_F64, 2, 3, 4)};
    const DLTensor *unary[] = {x[0], x[2]};
    named_call n;
    (void)state;
    named_begin(&n, "unary");
    named_int(&n, "kind", BP_UNARY_TANH);
    named_operands(&n, unary);
    clear();
    assert_int_equal(bp_unary_run(NULL, BP_UNARY_TANH, x[0], written(x[2])), BP_OK);
    check(&n, unary, 2);
    named_begin(&n, "binary");
    named_int(&n, "kind", BP_BINARY_SUBTRACT);
    named_operands(&n, x);
    clear();
    assert_int_equal(bp_binary_run(NULL, BP_BINARY_SUBTRACT, x[0], x[1], written(x[2])), BP_OK);
    check(&n, x, 3);
}

static void a_copy_has_the_type_of_its_output(void **state) {
    const DLTensor *x[] = {TENSOR(in[0], BP_F64, 1, 12), TENSOR(out, BP_F32, 1, 12)}, *none[] = {x[0], NULL};
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    named_call n;
    (void)state;
    named_begin(&n, "unary");
    named_int(&n, "kind", BP_UNARY_COPY);
    named_operands(&n, x);
    clear();
    assert_int_equal(bp_unary_run(NULL, BP_UNARY_COPY, x[0], written(x[1])), BP_OK);
    check(&n, x, 2);
    named_operands(&n, none);
    assert_int_equal(bp_call_shape(n.call, &n.arguments, 1, &dtype, &ndim, shape), BP_OK);
    assert_int_equal(dtype, BP_F64);
}

static void elements_by_index_or_condition(void **state) {
    static int64_t indices[] = {2, 0, 1, 1};
    static uint8_t which[] = {1, 0, 1};
    bp_view at, condition;
    named_call n;
    (void)state;
    assert_int_equal(bp_view_init(&at, indices, BP_I64, 2, I64(2, 2), NULL), BP_OK);
    const DLTensor *taken[] = {TENSOR(in[0], BP_F64, 2, 4, 3), &at.tensor, TENSOR(out, BP_F64, 3, 4, 2, 2)};
    const DLTensor *gathered[] = {TENSOR(in[0], BP_F64, 2, 4, 3), &at.tensor, TENSOR(out, BP_F64, 2, 2, 2)};
    named_begin(&n, "take");
    named_int(&n, "axis", -1);
    named_operands(&n, taken);
    clear();
    assert_int_equal(bp_take_run(NULL, taken[0], taken[1], -1, written(taken[2])), BP_OK);
    check(&n, taken, 3);
    named_begin(&n, "gather");
    named_int(&n, "axis", 1);
    named_operands(&n, gathered);
    clear();
    assert_int_equal(bp_gather_run(NULL, gathered[0], gathered[1], 1, written(gathered[2])), BP_OK);
    check(&n, gathered, 3);
    assert_int_equal(bp_view_init(&condition, which, BP_BOOL, 1, I64(3), NULL), BP_OK);
    const DLTensor *chosen[] = {&condition.tensor, gathered[0], TENSOR(in[1], BP_F64, 1, 1),
                                TENSOR(out, BP_F64, 2, 4, 3)};
    named_begin(&n, "where");
    named_operands(&n, chosen);
    clear();
    assert_int_equal(bp_where_run(NULL, chosen[0], chosen[1], chosen[2], written(chosen[3])), BP_OK);
    check(&n, chosen, 4);
}

static void tensors_one_after_another(void **state) {
    const DLTensor *parts[] = {TENSOR(in[0], BP_F64, 2, 3, 2), TENSOR(in[1], BP_F64, 2, 3, 4)};
    const DLTensor *output = TENSOR(out, BP_F64, 2, 3, 6), *overlapping[] = {parts[0], output};
    named_call n;
    (void)state;
    named_begin(&n, "concat");
    named_int(&n, "axis", -1);
    named_int(&n, "count", 2);
    named_pointer(&n, "tensors", parts);
    named_pointer(&n, "output", output);
    clear();
    assert_int_equal(bp_concat_run(NULL, 2, parts, -1, written(output)), BP_OK);
    check(&n, parts, 2);
    named_pointer(&n, "tensors", overlapping);
    named_pointer(&n, "output", TENSOR(out, BP_F64, 2, 3, 8));
    assert_int_equal(bp_call_run(NULL, n.call, &n.arguments), BP_E_OVERLAP);
    assert_non_null(strstr(bp_last_error(), "output, which is written, overlaps tensors[1]"));
}

/* ---- Reductions ---- */

static void reductions(void **state) {
    static const int axes[] = {-1, 0};
    const DLTensor *x[] = {TENSOR(in[0], BP_F64, 3, 2, 3, 4), TENSOR(out, BP_F64, 3, 1, 3, 1)};
    const DLTensor *all[] = {x[0], TENSOR(out, BP_I64, 0, 0)};
    named_call n;
    (void)state;
    named_begin(&n, "reduce");
    named_int(&n, "kind", BP_REDUCE_MEAN);
    named_int(&n, "keep", 1);
    named_int(&n, "axis_count", 2);
    named_pointer(&n, "axes", axes);
    named_operands(&n, x);
    clear();
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_MEAN, x[0], 2, axes, 1, written(x[1])), BP_OK);
    check(&n, x, 2);
    named_begin(&n, "reduce");
    named_int(&n, "kind", BP_REDUCE_ARGMAX);
    named_operands(&n, all);
    clear();
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_ARGMAX, all[0], 0, NULL, 0, written(all[1])), BP_OK);
    check(&n, all, 2);
    named_begin(&n, "variance");
    named_real(&n, "correction", 1);
    named_int(&n, "kind", BP_STD);
    named_int(&n, "axis_count", 2);
    named_int(&n, "keep", 1);
    named_pointer(&n, "axes", axes);
    named_operands(&n, x);
    clear();
    assert_int_equal(bp_variance_run(NULL, BP_STD, x[0], 2, axes, 1, 1, written(x[1])), BP_OK);
    check(&n, x, 2);
}

static void softmax(void **state) {
    const DLTensor *x[] = {TENSOR(in[0], BP_F64, 2, 3, 4), TENSOR(in[1], BP_F64, 2, 3, 4),
                           TENSOR(out, BP_F64, 2, 3, 4)};
    const DLTensor *forward[] = {x[0], x[2]};
    named_call n;
    (void)state;
    named_begin(&n, "softmax");
    named_int(&n, "kind", BP_LOG_SOFTMAX);
    named_int(&n, "axis", -2);
    named_operands(&n, forward);
    clear();
    assert_int_equal(bp_softmax_run(NULL, BP_LOG_SOFTMAX, x[0], -2, written(x[2])), BP_OK);
    check(&n, forward, 2);
    named_begin(&n, "softmax_backward");
    named_int(&n, "axis", 1);
    named_operands(&n, x);
    clear();
    assert_int_equal(bp_softmax_backward_run(NULL, BP_SOFTMAX, x[0], x[1], 1, written(x[2])), BP_OK);
    check(&n, x, 3);
}

static void padding(void **state) {
    static const int64_t before[] = {1, -1}, after[] = {0, 2}, shifts[] = {-1, 5};
    static const int axes[] = {1, -2};
    const DLTensor *x[] = {TENSOR(in[0], BP_F64, 2, 3, 4), TENSOR(out, BP_F64, 2, 4, 5)};
    const DLTensor *moved[] = {x[0], TENSOR(out, BP_F64, 2, 3, 4)};
    named_call n;
    (void)state;
    named_begin(&n, "pad");
    named_int(&n, "mode", BP_PAD_REFLECT);
    named_int(&n, "ndim", 2);
    named_pointer(&n, "before", before);
    named_pointer(&n, "after", after);
    named_operands(&n, x);
    clear();
    assert_int_equal(bp_pad_run(NULL, BP_PAD_REFLECT, x[0], 2, before, after, 0, written(x[1])), BP_OK);
    check(&n, x, 2);
    named_begin(&n, "flip");
    named_int(&n, "axis_count", 1);
    named_pointer(&n, "axes", axes);
    named_operands(&n, moved);
    clear();
    assert_int_equal(bp_flip_run(NULL, moved[0], 1, axes, written(moved[1])), BP_OK);
    check(&n, moved, 2);
    named_begin(&n, "roll");
    named_int(&n, "axis_count", 2);
    named_pointer(&n, "axes", axes);
    named_pointer(&n, "shifts", shifts);
    named_operands(&n, moved);
    clear();
    assert_int_equal(bp_roll_run(NULL, moved[0], 2, axes, shifts, written(moved[1])), BP_OK);
    check(&n, moved, 2);
}

/* ---- Transforms ---- */

static void transforms(void **state) {
    static const int dims[] = {0, -1};
    const int64_t s[] = {4, 6};
    const bp_fft_call call = {sizeof call, BP_RFFT, BP_FFT_ORTHO, 2, dims, s};
    const bp_fft_call all = {.struct_size = sizeof all, .transform = BP_IFFT, .axis_count = BP_FFT_ALL};
    const DLTensor *x[] = {TENSOR(in[0], BP_F64, 2, 4, 5), TENSOR(out, BP_C128, 2, 4, 4)};
    const DLTensor *whole[] = {TENSOR(in[0], BP_C128, 2, 3, 5), TENSOR(out, BP_C128, 2, 3, 5)};
    named_call n;
    (void)state;
    named_begin(&n, "fft");
    named_int(&n, "transform", BP_RFFT);
    named_int(&n, "norm", BP_FFT_ORTHO);
    named_int(&n, "axis_count", 2);
    named_pointer(&n, "axes", dims);
    named_pointer(&n, "s", s);
    named_operands(&n, x);
    clear();
    assert_int_equal(bp_fft_run(NULL, &call, x[0], written(x[1])), BP_OK);
    check(&n, x, 2);
    named_begin(&n, "fft");
    named_int(&n, "transform", BP_IFFT);
    named_int(&n, "axis_count", BP_FFT_ALL);
    named_operands(&n, whole);
    clear();
    assert_int_equal(bp_fft_run(NULL, &all, whole[0], written(whole[1])), BP_OK);
    check(&n, whole, 2);
}

static void frequencies_and_shifts(void **state) {
    static const int dims[] = {1};
    bp_view *frequencies = view(out, BP_F64, 1, I64(5)), *shifted = view(out, BP_F64, 2, I64(3, 5));
    const DLTensor *one[] = {&frequencies->tensor}, *x[] = {TENSOR(in[0], BP_F64, 2, 3, 5), &shifted->tensor};
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    named_call n;
    (void)state;
    named_begin(&n, "rfftfreq");
    named_real(&n, "d", 0.25);
    named_number(&n, "n", 9);
    named_operands(&n, one);
    clear();
    assert_int_equal(bp_rfftfreq(9, 0.25, &frequencies->tensor), BP_OK);
    check(&n, one, 1);
    named_begin(&n, "fftfreq");
    named_real(&n, "d", 0.25);
    named_operands(&n, one);
    assert_int_equal(bp_call_shape(n.call, &n.arguments, 0, &dtype, &ndim, shape), BP_E_UNSUPPORTED);
    clear();
    assert_int_equal(bp_fftfreq(0.25, &frequencies->tensor), BP_OK);
    check(&n, one, 1);
    for (int back = 0; back < 2; back++) {
        named_begin(&n, back ? "ifftshift" : "fftshift");
        named_int(&n, "axis_count", 1);
        named_pointer(&n, "axes", dims);
        named_operands(&n, x);
        clear();
        assert_int_equal((back ? bp_ifftshift : bp_fftshift)(x[0], 1, dims, &shifted->tensor), BP_OK);
        check(&n, x, 2);
    }
}

/* ---- Linear algebra ---- */

/* A positive definite matrix, which is also a Cholesky factor and an LU decomposition whose pivots exchange nothing. */
static const double positive[] = {5, 1, 2, 1, 6, 1, 2, 1, 7};

/* Makes the operands of an operation: the inputs, and results of the types and shapes that the call has. Sets them in
 * `direct` too. */
static int make_operands(const named_call *named, bp_linalg_call *direct, const DLTensor *tensors[BP_LINALG_OPERANDS]) {
    static double matrix[9];
    static int32_t pivots[] = {1, 2, 3};
    const bp_call_pass *pass = bp_call_pass_at(named->call, 0);
    named_call call = *named;
    memcpy(matrix, positive, sizeof matrix);
    for (int i = 0; i < pass->operand_count; i++) {
        const bp_call_operand *operand = bp_call_operand_at(pass, i);
        bp_dtype dtype = BP_F64;
        int ndim = 2;
        int64_t shape[BP_MAX_NDIM] = {3, 3};
        DLTensor *tensor = strcmp(operand->name, "pivots") == 0 ? TENSOR((double *)(void *)pivots, BP_I32, 1, 3)
                                                                : TENSOR(matrix, BP_F64, 2, 3, 3);
        if (operand->output) {
            assert_int_equal(bp_call_shape(call.call, &call.arguments, i, &dtype, &ndim, shape), BP_OK);
            tensor = &view(out + 16 * (i - pass->input_count), dtype, ndim, shape)->tensor;
        }
        tensors[i] = tensor;
        bp__linalg_set(direct, i, tensor);
        memcpy(call.arguments.bytes + operand->offset, &tensor, sizeof tensor);
    }
    return pass->operand_count;
}

static void linear_algebra(void **state) {
    const bp_call *call;
    (void)state;
    for (int i = 0; (call = bp_call_at(i)); i++) {
        const DLTensor *tensors[BP_LINALG_OPERANDS] = {NULL};
        const bp_op op = bp_call_pass_at(call, 0)->op;
        if (strcmp(bp_op_name(op), bp_call_get_info(call)->name) != 0 || op < BP_OP_INV ||
            (op > BP_OP_MATRIX_NORM && op != BP_OP_VECTOR_NORM && op != BP_OP_LDL_FACTOR && op != BP_OP_LDL_SOLVE)) {
            continue;
        }
        named_call n;
        named_begin(&n, bp_op_name(op));
        if (op == BP_OP_LSTSQ) {
            named_int(&n, "mode", BP_LSTSQ_GELSD); /* which computes all results */
        }
        bp_linalg_call direct = {.struct_size = sizeof direct, .op = op};
        direct.mode = op == BP_OP_LSTSQ ? BP_LSTSQ_GELSD : BP_MODE_DEFAULT;
        const int count = make_operands(&n, &direct, tensors);
        named_operands(&n, tensors);
        clear();
        assert_int_equal(bp_linalg_run(NULL, &direct), BP_OK);
        check(&n, tensors, count);
    }
}

static void another_operation_is_refused(void **state) {
    const bp_linalg_call call = {.struct_size = sizeof call, .op = BP_OP_DET};
    (void)state;
    assert_int_equal(bp_call_run(NULL, bp_call_named("inv"), &call), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "op is 17 ('det'); it must be 0 or 3 for inv"));
}

/* ---- Products ---- */

static void products(void **state) {
    const bp_scalar alpha = {2, 0}, beta = {-1, 0};
    const DLTensor *x[] = {TENSOR(in[0], BP_F64, 2, 3, 4), TENSOR(in[1], BP_F64, 2, 4, 2),
                           TENSOR(out, BP_F64, 2, 3, 2)};
    const DLTensor *y[] = {TENSOR(in[0], BP_F64, 2, 4, 3), TENSOR(in[1], BP_F64, 3, 2, 4, 2),
                           TENSOR(out, BP_F64, 3, 2, 3, 2)};
    named_call n;
    (void)state;
    named_begin(&n, "matmul");
    named_operands(&n, x);
    clear();
    assert_int_equal(bp_matmul(x[0], x[1], written(x[2])), BP_OK);
    check(&n, x, 3);
    named_begin(&n, "gemm");
    named_int(&n, "transform_a", BP_TRANSPOSE);
    named_operands(&n, y);
    clear();
    assert_int_equal(bp_gemm(BP_TRANSPOSE, BP_AS_IS, NULL, y[0], y[1], NULL, written(y[2])), BP_OK);
    check(&n, y, 3);
    named_pointer(&n, "alpha", &alpha);
    named_pointer(&n, "beta", &beta);
    for (int by_name = 0; by_name < 2; by_name++) { /* c is read */
        clear();
        for (int i = 0; i < 12; i++) {
            out[i] = i;
        }
        assert_int_equal(by_name ? bp_call_run(NULL, n.call, &n.arguments)
                                 : bp_gemm(BP_TRANSPOSE, BP_AS_IS, &alpha, y[0], y[1], &beta, written(y[2])),
                         BP_OK);
        if (by_name) {
            assert_memory_equal(out, want, sizeof out);
        }
        memcpy(want, out, sizeof out);
    }
}

static void products_of_several(void **state) {
    const DLTensor *x[] = {TENSOR(in[0], BP_F64, 2, 3, 4), TENSOR(in[1], BP_F64, 2, 4, 2),
                           TENSOR(out, BP_F64, 2, 3, 2)};
    const DLTensor *v[] = {TENSOR(in[0], BP_F64, 2, 3, 4), TENSOR(in[1], BP_F64, 1, 4), TENSOR(out, BP_F64, 1, 3)};
    const DLTensor *power[] = {TENSOR(in[0], BP_F64, 2, 3, 3), TENSOR(out, BP_F64, 2, 3, 3)};
    bp_explanation *explanation;
    named_call n;
    (void)state;
    named_begin(&n, "einsum");
    named_pointer(&n, "expression", "ij,jk->ik");
    named_int(&n, "count", 2);
    named_pointer(&n, "operands", x);
    named_pointer(&n, "output", x[2]);
    clear();
    assert_int_equal(bp_einsum("ij,jk->ik", 2, x, written(x[2])), BP_OK);
    check(&n, x, 3);
    named_begin(&n, "multi_dot");
    named_int(&n, "count", 2);
    named_pointer(&n, "operands", x);
    named_pointer(&n, "output", x[2]);
    clear();
    assert_int_equal(bp_multi_dot(2, x, written(x[2])), BP_OK);
    check(&n, x, 3);
    named_begin(&n, "vecdot");
    named_int(&n, "axis", -1);
    named_operands(&n, v);
    clear();
    assert_int_equal(bp_vecdot(v[0], v[1], -1, written(v[2])), BP_OK);
    check(&n, v, 3);
    named_begin(&n, "matrix_power");
    named_number(&n, "n", 3);
    named_operands(&n, power);
    clear();
    assert_int_equal(bp_matrix_power(power[0], 3, written(power[1])), BP_OK);
    check(&n, power, 2);
    assert_int_equal(bp_call_explain(&explanation, NULL, n.call, &n.arguments), BP_OK);
    bp_explanation_release(explanation);
}

/* ---- All calls ---- */

static void each_call_was_checked(void **state) {
    (void)state;
#define STRUCT(name) ran[index_of(bp_call_named(#name))] = 1; /* other tests have these */
    BP_CALL_MAP(STRUCT)
    for (int i = 0; bp_call_at(i); i++) {
        if (!ran[i]) {
            fail_msg("no test of %s", bp_call_get_info(bp_call_at(i))->name);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_elements),
        cmocka_unit_test(a_copy_has_the_type_of_its_output),
        cmocka_unit_test(elements_by_index_or_condition),
        cmocka_unit_test(tensors_one_after_another),
        cmocka_unit_test(reductions),
        cmocka_unit_test(softmax),
        cmocka_unit_test(padding),
        cmocka_unit_test(transforms),
        cmocka_unit_test(frequencies_and_shifts),
        cmocka_unit_test(linear_algebra),
        cmocka_unit_test(another_operation_is_refused),
        cmocka_unit_test(products),
        cmocka_unit_test(products_of_several),
        cmocka_unit_test(each_call_was_checked),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
