/* check.c - checks the results of products and vector norms, for compare and bench. Other families have files of their
 * own, check_*.c. */
#include "operations.h"
#include "reference/walk.h"

#include <math.h>
#include <string.h>

reference *check_result(cli_check *check, int result) {
    return result == 0 ? &check->values : &check->more[result - 1];
}

/* Errors of further results count in proportion to their bounds. */
static bp_status reference_error_of(const cli_check *check, const cli_job *job, double *error) {
    bp_status status = reference_error(&check->values, &job->results[0].tensor, error);
    for (int i = 1; i < job->result_count && status == BP_OK; i++) {
        const reference *values = &check->more[i - 1];
        const DLTensor *result = &job->results[i].tensor;
        double own;
        if (values->values) {
            status = reference_error(values, result, &own);
            own *= check->bound / reference_bound(values, bp_dtype_from_dlpack(result->dtype));
            *error = own > *error ? own : *error;
        }
    }
    return status;
}

static bp_status no_error(const cli_check *check, const cli_job *job, double *error) {
    (void)check, (void)job;
    *error = 0;
    return BP_OK;
}

bp_status check_nothing(cli_check *check) {
    *check = (cli_check){.error = no_error, .bound = HUGE_VAL};
    return BP_OK;
}

bp_status check_with_reference(cli_check *check, const cli_job *job, const char *text) {
    check->error = reference_error_of;
    bp__copy_text(check->text, sizeof check->text, text);
    check->bound = reference_bound(&check->values, bp_dtype_from_dlpack(job->results[0].tensor.dtype));
    return BP_OK;
}

void check_free(cli_check *check) {
    for (int i = 0; i < JOB_RESULTS; i++) {
        reference_free(check_result(check, i));
    }
}

static const char product_text[] =
    "the largest |C - reference| / (|A| |B|); the reference sums float64 products in twice float64's precision";

/* ---- matmul and gemm ---- */

static bool transposes(bp_transform transform) {
    return transform == BP_TRANSPOSE || transform == BP_CONJUGATE_TRANSPOSE;
}

static bool conjugates(bp_transform transform) {
    return transform == BP_CONJUGATE || transform == BP_CONJUGATE_TRANSPOSE;
}

/* Makes the view of op(a), without the conjugation. */
static bp_status view_operand(bp_view *view, const bp_view *a, bp_transform transform) {
    bp_status status = bp_view_copy(view, a);
    int last = view->tensor.ndim - 1;
    if (status == BP_OK && transposes(transform)) {
        int64_t size = view->shape[last], stride = view->strides[last];
        view->shape[last] = view->shape[last - 1];
        view->strides[last] = view->strides[last - 1];
        view->shape[last - 1] = size;
        view->strides[last - 1] = stride;
    }
    return status;
}

bp_status check_product(cli_check *check, const cli_job *job) {
    const product_words *words = &job->words.product;
    const DLTensor *out = &job->results[0].tensor;
    bp_view a, b;
    *check = (cli_check){.bound = 0};
    bp_status status = view_operand(&a, &job->inputs[0], words->transform_a);
    status = status == BP_OK ? view_operand(&b, &job->inputs[1], words->transform_b) : status;
    status = status == BP_OK ? reference_product(&check->values, &a.tensor, conjugates(words->transform_a), &b.tensor,
                                                 conjugates(words->transform_b), out)
                             : status;
    status = status == BP_OK ? reference_add(&check->values, words->alpha, words->beta, out) : status;
    return status == BP_OK ? check_with_reference(check, job, product_text) : status;
}

/* ---- vecdot: the product of a row and a column ---- */

/* Moves dimension `place` (from the back, 1 is the last) behind all others, and adds one of size 1 behind it, or before
 * it for the row. */
static bp_status view_vector(bp_view *view, const bp_view *from, int place, bool row) {
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM];
    int ndim = from->tensor.ndim, count = 0, moved = ndim - place;
    for (int i = 0; i < ndim; i++) {
        if (i != moved) {
            shape[count] = from->shape[i];
            strides[count++] = from->strides[i];
        }
    }
    shape[count + row] = from->shape[moved];
    strides[count + row] = from->strides[moved];
    shape[count + !row] = 1;
    strides[count + !row] = 0;
    return ndim < BP_MAX_NDIM ? bp_view_init(view, from->tensor.data, bp_dtype_from_dlpack(from->tensor.dtype),
                                             ndim + 1, shape, strides)
                              : BP_E_SHAPE;
}

bp_status check_vecdot(cli_check *check, const cli_job *job) {
    const bp_view *a = &job->inputs[0], *b = &job->inputs[1];
    int dim = job->words.vector.dims[0], most = a->tensor.ndim > b->tensor.ndim ? a->tensor.ndim : b->tensor.ndim;
    int place = dim < 0 ? -dim : most - dim;
    bp_view row, column, out;
    int64_t shape[BP_MAX_NDIM];
    int ndim = job->results[0].tensor.ndim;
    *check = (cli_check){.bound = 0};
    memcpy(shape, job->results[0].shape, sizeof shape);
    bp_status status = ndim + 2 <= BP_MAX_NDIM ? view_vector(&row, a, place, true) : BP_E_SHAPE;
    status = status == BP_OK ? view_vector(&column, b, place, false) : status;
    if (status == BP_OK) {
        shape[ndim] = shape[ndim + 1] = 1;
        status = bp_view_init(&out, NULL, bp_dtype_from_dlpack(a->tensor.dtype), ndim + 2, shape, NULL);
    }
    status = status == BP_OK ? reference_product(&check->values, &row.tensor, true, &column.tensor, false, &out.tensor)
                             : status;
    return status == BP_OK ? check_with_reference(check, job, product_text) : status;
}

/* ---- vector_norm ---- */

static bool is_reduced(const bp_linalg_call *call, int ndim, int dim) {
    for (int i = 0; i < call->axis_count; i++) {
        if (call->axes[i] == dim || call->axes[i] + ndim == dim) {
            return true;
        }
    }
    return call->axis_count == 0;
}

static long double magnitude(const wide *a, int64_t at) {
    return a->parts == 2 ? hypotl(a->data[2 * at], a->data[2 * at + 1]) : fabsl((long double)a->data[at]);
}

/* Returns the norm of the elements of `inner` from `start` on. Long double has a range in which no power of a float64
 * between the largest and the smallest of them overflows, once it is divided by the largest. */
static long double norm_of(const wide *a, int64_t start, const walk *inner, double order) {
    long double largest = 0, smallest = HUGE_VALL, sum = 0;
    int64_t count = walk_count(inner);
    for (int64_t i = 0; i < count; i++) {
        long double x = magnitude(a, start + walk_offset(inner, i));
        if (isnan(x)) {
            return x;
        }
        largest = x > largest ? x : largest;
        smallest = x < smallest ? x : smallest;
        sum += x != 0;
    }
    if (order == 0 || isinf(order)) {
        return order == 0 ? sum : order > 0 ? largest : smallest;
    }
    long double unit = order > 0 ? largest : smallest;
    if (count == 0 || unit == 0 || isinf(unit)) {
        return count == 0 && order < 0 ? HUGE_VALL : unit;
    }
    sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += powl(magnitude(a, start + walk_offset(inner, i)) / unit, order);
    }
    return unit * powl(sum, 1 / (long double)order);
}

bp_status check_norm(cli_check *check, const cli_job *job) {
    const bp_linalg_call *call = &job->words.vector.call;
    const DLTensor *in = &job->inputs[0].tensor;
    walk outer = {.ndim = 0}, inner = {.ndim = 0};
    wide a;
    *check = (cli_check){.bound = 0};
    bp_status status = wide_make(&a, in, false);
    int64_t strides[BP_MAX_NDIM];
    walk_compact_strides(in, strides);
    for (int i = 0; i < in->ndim; i++) {
        walk_add(is_reduced(call, in->ndim, i) ? &inner : &outer, in->shape[i], strides[i]);
    }
    int64_t terms = walk_count(&inner);
    status = status == BP_OK ? reference_begin(&check->values, &job->results[0].tensor, terms, 16) : status;
    for (int64_t i = 0; status == BP_OK && i < check->values.count; i++) {
        reference_value *value = &check->values.values[i];
        value->re = (double)norm_of(&a, walk_offset(&outer, value->index), &inner, call->order);
        value->scale = fabs(value->re);
    }
    if (call->order != 0 && fabs(call->order) < 1) {
        check->values.terms = (int64_t)((double)terms / fabs(call->order)); /* the root amplifies errors of the sum */
    }
    wide_free(&a);
    return status == BP_OK ? check_with_reference(check, job,
                                                  "the largest |norm - reference| / norm; the reference is computed in "
                                                  "long double")
                           : status;
}
