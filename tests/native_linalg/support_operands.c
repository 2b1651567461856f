/* support_operands.c - allocates a task's operands in its layouts and runs the task through the provider. */
#include "linalg.h"

#include "providers/native/linalg/matrix_norm.h"
#include "providers/native/linalg/small.h"
#include "support/host.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const bp_provider bp_provider_native;
extern const bp__interleaved_kernels bp__interleaved_wide[BP__INTERLEAVED_DTYPES];
extern const bp__matrix_norm_kernels bp__matrix_norm_wide[BP__MATRIX_NORM_DTYPES];

const bp_dtype dtypes[DTYPES] = {BP_F32, BP_F64, BP_C64, BP_C128};
const bp_op ops[OPS] = {BP_OP_INV,
                        BP_OP_CHOLESKY,
                        BP_OP_CHOLESKY_SOLVE,
                        BP_OP_CHOLESKY_INVERSE,
                        BP_OP_LU_FACTOR,
                        BP_OP_LU,
                        BP_OP_LU_SOLVE,
                        BP_OP_SOLVE,
                        BP_OP_SOLVE_TRIANGULAR,
                        BP_OP_DET,
                        BP_OP_SLOGDET,
                        BP_OP_EIGH,
                        BP_OP_SVD,
                        BP_OP_PINV,
                        BP_OP_MATRIX_RANK,
                        BP_OP_COND,
                        BP_OP_MATRIX_NORM};

task square_task(bp_op op, bp_dtype dtype, int64_t n, int64_t columns) {
    const bool solves =
        op == BP_OP_SOLVE || op == BP_OP_LU_SOLVE || op == BP_OP_SOLVE_TRIANGULAR || op == BP_OP_CHOLESKY_SOLVE;
    return (task){.op = op,
                  .dtype = dtype,
                  .m = n,
                  .n = n,
                  .k = solves ? columns : 0,
                  .batch = 1,
                  .mode = op == BP_OP_MATRIX_NORM ? BP_NORM_NUC
                          : op == BP_OP_COND      ? BP_NORM_P
                                                  : BP_MODE_DEFAULT,
                  .order = op == BP_OP_COND ? 2 : 0};
}

reported last;

static bp_status keep_status(bp_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last.text, sizeof last.text, format, arguments);
    va_end(arguments);
    last.status = status;
    return status;
}

static bp_status keep_numeric(const bp_problem *problem, int64_t item, int64_t info) {
    const bool definite = problem->op == BP_OP_CHOLESKY;
    last.item = item;
    last.info = info;
    last.status = info == BP_INFO_NON_FINITE ? BP_E_NON_FINITE : definite ? BP_E_NOT_POSITIVE_DEFINITE : BP_E_SINGULAR;
    return last.status;
}

const bp_host *test_host(void) {
    static bp_host host;
    if (host.struct_size == 0) {
        host = *test_plain_host();
        host.fail = keep_status;
        host.fail_numeric = keep_numeric;
    }
    return &host;
}

bool runs_here(kernels set) {
#if defined(__x86_64__)
    return set == KERNELS_DEFAULT ||
           test_host()->hardware >= (bp_capability)(set == KERNELS_AVX512 ? BP_CAPABILITY_AVX512 : BP_CAPABILITY_AVX2);
#else
    return set == KERNELS_DEFAULT || set == KERNELS_WIDE;
#endif
}

bool is_complex(bp_dtype dtype) {
    return dtype == BP_C64 || dtype == BP_C128;
}

bp_dtype real_of(bp_dtype dtype) {
    return dtype == BP_C64 ? BP_F32 : dtype == BP_C128 ? BP_F64 : dtype;
}

static bp_dtype complex_of(bp_dtype dtype) {
    return dtype == BP_F32 ? BP_C64 : dtype == BP_F64 ? BP_C128 : dtype;
}

long double unit_roundoff(bp_dtype dtype) {
    return real_of(dtype) == BP_F32 ? 0x1p-24L : 0x1p-53L;
}

size_t bytes_of(const operands *o, int operand) {
    return (size_t)o->array[operand].all * bp_dtype_size(o->array[operand].dtype);
}

static int64_t number_of(const operands *o, int operand, int64_t item, int64_t i, int64_t j) {
    const bp_linalg_operand *x = &o->problem.of.linalg.operand[operand];
    return (item * x->rows + i) * x->columns + j;
}

char *element(const operands *o, int operand, int64_t item, int64_t i, int64_t j) {
    return test_array_at(&o->array[operand], number_of(o, operand, item, i, j));
}

wide get(const operands *o, int operand, int64_t item, int64_t i, int64_t j) {
    const bp_scalar value = test_array_get_complex(&o->array[operand], number_of(o, operand, item, i, j));
    const long double parts[2] = {value.re, value.im};
    wide made;
    memcpy(&made, parts, sizeof made); /* a product with I would make both parts NaN */
    return made;
}

void put(const operands *o, int operand, int64_t item, int64_t i, int64_t j, wide value) {
    const bool whole = o->array[operand].dtype == BP_I32 && !isfinite(creall(value));
    test_array_set_complex((test_array *)(uintptr_t)&o->array[operand], number_of(o, operand, item, i, j),
                           (bp_scalar){whole ? 0 : (double)creall(value), (double)cimagl(value)});
}

/* ---- Operands of an operation ---- */

static void add(operands *o, bp_dtype dtype, int64_t rows, int64_t columns) {
    bp_linalg_operand *x = &o->problem.of.linalg.operand[o->count++];
    x->dtype = dtype;
    x->rows = rows;
    x->columns = columns;
}

static void add_right_side(operands *o) {
    const task *t = &o->t;
    if (t->vector) {
        add(o, t->dtype, t->n, 1);
    } else {
        add(o, t->dtype, t->right ? t->k : t->n, t->right ? t->n : t->k);
    }
}

static void add_spectral(operands *o) {
    const task *t = &o->t;
    const int64_t m = t->m, n = t->n, k = m < n ? m : n;
    const bp_dtype dtype = t->dtype, real = real_of(dtype);
    switch (t->op) {
    case BP_OP_QR:
        add(o, dtype, m, t->mode == BP_QR_COMPLETE ? m : k);
        add(o, dtype, t->mode == BP_QR_COMPLETE ? m : k, n);
        break;
    case BP_OP_SVD:
        add(o, dtype, m, t->mode == BP_SVD_FULL ? m : k);
        add(o, real, k, 1);
        add(o, dtype, t->mode == BP_SVD_FULL ? n : k, n);
        break;
    case BP_OP_EIGH:
    case BP_OP_EIG:
        add(o, t->op == BP_OP_EIG ? complex_of(dtype) : real, n, 1);
        add(o, t->op == BP_OP_EIG ? complex_of(dtype) : dtype, n, n);
        break;
    case BP_OP_LSTSQ:
        add(o, dtype, m, t->k);
        o->inputs = 2;
        add(o, dtype, n, t->k);
        add(o, real, t->k, 1);
        add(o, BP_I64, 1, 1);
        add(o, real, k, 1);
        break;
    case BP_OP_PINV:
        add(o, dtype, n, m);
        break;
    case BP_OP_MATRIX_RANK:
        add(o, BP_I64, 1, 1);
        break;
    default: /* COND, MATRIX_NORM */
        add(o, real, 1, 1);
        break;
    }
}

static void add_all(operands *o) {
    const task *t = &o->t;
    const int64_t m = t->m, n = t->n, k = m < n ? m : n;
    o->inputs = 1;
    if (t->op == BP_OP_CHOLESKY_SOLVE) {
        add_right_side(o);
        o->inputs = 2;
    }
    add(o, t->dtype, m, n);
    switch (t->op) {
    case BP_OP_LU_SOLVE:
    case BP_OP_LDL_SOLVE:
        add(o, BP_I32, n, 1);
        add_right_side(o);
        o->inputs = 3;
        add_right_side(o);
        return;
    case BP_OP_SOLVE:
    case BP_OP_SOLVE_TRIANGULAR:
        add_right_side(o);
        o->inputs = 2;
        add_right_side(o);
        break;
    case BP_OP_CHOLESKY_SOLVE:
        add_right_side(o);
        return;
    case BP_OP_LU_FACTOR:
    case BP_OP_LDL_FACTOR:
        add(o, t->dtype, m, n);
        add(o, BP_I32, k, 1);
        break;
    case BP_OP_LU:
        add(o, t->dtype, m, m);
        add(o, t->dtype, m, k);
        add(o, t->dtype, k, n);
        return;
    case BP_OP_DET:
        add(o, t->dtype, 1, 1);
        return;
    case BP_OP_SLOGDET:
        add(o, t->dtype, 1, 1);
        add(o, real_of(t->dtype), 1, 1);
        return;
    case BP_OP_INV:
    case BP_OP_CHOLESKY:
    case BP_OP_CHOLESKY_INVERSE:
        add(o, t->dtype, n, n);
        break;
    default:
        add_spectral(o);
        return;
    }
    if (t->op != BP_OP_SOLVE_TRIANGULAR && !t->no_info) {
        add(o, BP_I32, 1, 1);
    }
}

/* ---- Memory ---- */

static void lay_out(operands *o, int operand, layout how) {
    bp_linalg_problem *l = &o->problem.of.linalg;
    bp_linalg_operand *x = &l->operand[operand];
    int64_t row = how == COLUMNS ? 1 : how == STRIDED ? 3 * x->columns + 1 : x->columns;
    int64_t column = how == COLUMNS ? x->rows : how == STRIDED ? 3 : 1;
    int64_t each = how == STRIDED ? x->rows * row + 5 : x->rows * x->columns;
    if (how == BACKWARD) {
        row = -row, column = -column, each = -each;
    }
    x->row = x->rows == 1 ? 0 : row;
    x->column = x->columns == 1 ? 0 : column;
    if (how != SHARED) {
        for (int d = l->batch_ndim - 1; d >= 0; d--) {
            x->batch[d] = l->batch_shape[d] == 1 ? 0 : each;
            each *= l->batch_shape[d];
        }
    }
    int64_t shape[4], strides[4];
    for (int d = 0; d < l->batch_ndim; d++) {
        shape[d] = l->batch_shape[d];
        strides[d] = x->batch[d];
    }
    shape[l->batch_ndim] = x->rows;
    strides[l->batch_ndim] = x->row;
    shape[l->batch_ndim + 1] = x->columns;
    strides[l->batch_ndim + 1] = x->column;
    test_array_make_strided(&o->array[operand], (bp_dtype)x->dtype, l->batch_ndim + 2, shape, strides,
                            o->t.seed % 4 * 16);
    o->first[operand] = o->array[operand].view.tensor.data;
}

void make_operands(operands *o, const task *t) {
    memset(o, 0, sizeof *o);
    o->t = *t;
    bp_problem *p = &o->problem;
    bp_linalg_problem *l = &p->of.linalg;
    p->struct_size = sizeof *p;
    p->op = t->op;
    p->dtype = t->dtype;
    p->policy.threads = t->threads > 0 ? t->threads : 1;
    p->policy.capability = (uint8_t)(t->set == KERNELS_AVX512    ? BP_CAPABILITY_AVX512
                                     : t->set == KERNELS_DEFAULT ? BP_CAPABILITY_DEFAULT
                                                                 : BP_CAPABILITY_AVX2);
    l->m = t->m, l->n = t->n, l->k = t->k;
    l->mode = (uint8_t)t->mode;
    l->order = t->order;
    l->upper = t->upper;
    l->a_on_left = t->op == BP_OP_SOLVE || t->op == BP_OP_LU_SOLVE || t->op == BP_OP_SOLVE_TRIANGULAR ? !t->right : 0;
    l->adjoint = t->adjoint, l->unit_diagonal = t->unit, l->fail_on_item_error = t->check;
    l->batch = t->batch;
    l->batch_ndim = t->nested ? 2 : t->batch == 1 ? 0 : 1;
    l->batch_shape[0] = t->nested ? 2 : t->batch;
    l->batch_shape[1] = t->nested ? t->batch / 2 : 0;
    add_all(o);
    for (int i = 0; i < o->count; i++) {
        const bp_linalg_operand *x = &l->operand[i];
        l->empty |= x->rows == 0 || x->columns == 0;
        lay_out(o, i, i < o->inputs ? t->in : t->out);
        if (i < o->inputs) {
            test_array_random = o->t.seed * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)i + 1;
            test_array_fill(&o->array[i], 1);
        }
    }
    l->empty |= t->m == 0 || t->n == 0 || t->batch == 0;
}

void free_operands(operands *o) {
    for (int i = 0; i < o->count; i++) {
        test_array_free(&o->array[i]);
        test_array_free(&o->before[i]);
    }
}

bp_status run_task(operands *o) {
    const bp_host *host = test_host();
    void *instance;
    bp_prepared *prepared;
    assert_int_equal(bp_provider_native.open(host, NULL, &instance), BP_OK);
    o->verdict = test_verdict(&bp_provider_native, instance, &o->problem);
    if (o->verdict.reason != BP_REASON_ACCEPTED) {
        return BP_E_UNSUPPORTED;
    }
    assert_true(o->verdict.cost_ns > 0 && isfinite(o->verdict.cost_ns));
    assert_in_range(o->verdict.threads, 1, o->problem.policy.threads);
    const bool lowered = o->t.set == KERNELS_WIDE && !o->problem.of.linalg.empty;
    if (lowered && bp__matrix_norm_is_sum(&o->problem)) {
        assert_int_equal(bp__matrix_norm_prepare(host, &o->problem, &bp__matrix_norm_wide[o->t.dtype - BP_F32],
                                                 o->verdict.threads, &prepared),
                         BP_OK);
    } else if (lowered && bp__small_step_of(o->t.op)) {
        assert_int_equal(bp__small_prepare(host, &o->problem, &bp__interleaved_wide[o->t.dtype - BP_F32],
                                           o->verdict.threads, &prepared),
                         BP_OK);
    } else {
        assert_int_equal(test_plan_first(&bp_provider_native, instance, &o->problem, &prepared), BP_OK);
    }
    last = (reported){0};
    for (int i = 0; i < o->count; i++) {
        test_array_free(&o->before[i]);
        test_array_copy(&o->before[i], &o->array[i]);
    }
    const bp_status status = test_enqueue(prepared, o->first, BP_LINALG_OPERANDS, NULL);
    prepared->destroy(prepared);
    return status;
}

void check_surroundings(const operands *o) {
    for (int i = 0; i < o->count; i++) {
        if (i < o->inputs) {
            test_array_check_unchanged(&o->array[i], &o->before[i], bp_op_name(o->t.op));
        } else {
            test_array_check_gaps(&o->array[i], bp_op_name(o->t.op));
        }
    }
}
