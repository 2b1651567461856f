/* check.c - checks results by references, for compare and bench: those of reference/results.h, and those of products
 * and vector norms. Others have files of their own, check_*.c. */
#include "operations.h"
#include "reference/results.h"
#include "reference/walk.h"

#include <math.h>
#include <string.h>

reference *check_result(cli_check *check, int result) {
    return result == 0 ? &check->values : &check->more[result - 1];
}

/* Errors of further results count in proportion to their bounds. */
static bp_status reference_error_of(const cli_check *check, const cli_job *job, double *error) {
    bp_status status = check->values.values ? reference_error(&check->values, &job->results[0].tensor, error) : BP_OK;
    *error = check->values.values ? *error : 0;
    for (int i = 1; i < job->result_count && status == BP_OK; i++) {
        const reference *values = &check->more[i - 1];
        const DLTensor *result = &job->results[i].tensor;
        double own;
        if (values->values) {
            status = reference_error(values, result, &own);
            own = own > 0 ? own * (check->bound / reference_bound(values, bp_dtype_from_dlpack(result->dtype))) : 0;
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

/* Moves the references to the results whose tensors the call has. */
static void take_results(cli_check *check, const cli_job *job, reference_results *made) {
    for (int i = 0; i < made->count; i++) {
        for (int r = 0; r < job->result_count; r++) {
            if (made->of[i].tensor == &job->results[r].tensor) {
                *check_result(check, r) = made->of[i].values;
                made->of[i].values = (reference){.values = NULL};
            }
        }
    }
}

/* Ends a check: takes the references of the results, which may be none. */
static bp_status end(cli_check *check, const cli_job *job, bp_status status, reference_results *made) {
    bool any = false;
    check_nothing(check);
    take_results(check, job, made);
    reference_results_free(made);
    for (int r = 0; r < job->result_count; r++) {
        any |= check_result(check, r)->values != NULL;
    }
    const bool whole = check->values.values && check->values.measure == REFERENCE_WHOLE;
    return status == BP_OK && any
               ? check_with_reference(check, job,
                                      whole ? "the number of elements that differ from the reference"
                                            : "the largest |result - reference| / roundings that it can contain; the "
                                              "reference is computed in long double")
               : status;
}

bp_status check_described(cli_check *check, const cli_job *job) {
    reference_results made;
    const described_words *words = &job->words.described;
    const bp_status status = reference_call(&made, words->call, &words->of);
    return end(check, job, status, &made);
}

/* ---- Operations without a struct ---- */

bp_status check_unary(cli_check *check, const cli_job *job) {
    reference_results made;
    const bp_status status =
        reference_of_unary(&made, job->words.elementwise.kind, job->tensors[0], &job->results[0].tensor);
    return end(check, job, status, &made);
}

bp_status check_binary(cli_check *check, const cli_job *job) {
    reference_results made;
    const bp_status status = reference_of_binary(&made, job->words.elementwise.kind, job->tensors[0], job->tensors[1],
                                                 &job->results[0].tensor);
    return end(check, job, status, &made);
}

bp_status check_take(cli_check *check, const cli_job *job) {
    reference_results made;
    const bp_status status = reference_of_take(&made, job->words.elementwise.axis, job->tensors[0], job->tensors[1],
                                               &job->results[0].tensor);
    return end(check, job, status, &made);
}

bp_status check_gather(cli_check *check, const cli_job *job) {
    reference_results made;
    const bp_status status = reference_of_gather(&made, job->words.elementwise.axis, job->tensors[0], job->tensors[1],
                                                 &job->results[0].tensor);
    return end(check, job, status, &made);
}

bp_status check_reduction(cli_check *check, const cli_job *job) {
    reference_results made;
    const rows_words *words = &job->words.rows;
    const bp_status status =
        reference_of_reduce(&made, (int)words->kind, words->axis_count, words->axis_count > 0 ? words->axes : NULL,
                            job->tensors[0], &job->results[0].tensor);
    return end(check, job, status, &made);
}

bp_status check_softmax(cli_check *check, const cli_job *job) {
    reference_results made;
    const bp_status status = reference_of_softmax(&made, job->operation->number, job->words.rows.axes[0],
                                                  job->tensors[0], &job->results[0].tensor);
    return end(check, job, status, &made);
}

bp_status check_softmax_gradient(cli_check *check, const cli_job *job) {
    reference_results made;
    const bp_status status = reference_of_softmax_backward(&made, job->operation->number % 2, job->words.rows.axes[0],
                                                           job->tensors[0], job->tensors[1], &job->results[0].tensor);
    return end(check, job, status, &made);
}

void check_free(cli_check *check) {
    for (int i = 0; i < JOB_RESULTS; i++) {
        reference_free(check_result(check, i));
    }
}

static const char product_text[] =
    "the largest |C - reference| / (|A| |B|); the reference sums float64 products in twice float64's precision";

bp_status check_product(cli_check *check, const cli_job *job) {
    reference_results made;
    const product_words *words = &job->words.product;
    const bp_status status = reference_of_gemm(&made, (int)words->transform_a, (int)words->transform_b, &words->alpha,
                                               job->tensors[0], job->tensors[1], &words->beta, &job->results[0].tensor);
    return end(check, job, status, &made);
}

bp_status check_transform(cli_check *check, const cli_job *job) {
    reference_results made;
    const bp_status status = reference_of_fft(&made, &job->words.fft.call, job->tensors[0], &job->results[0].tensor);
    return end(check, job, status, &made);
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
    for (int i = 0; i < call->ndim; i++) {
        if (call->dims[i] == dim || call->dims[i] + ndim == dim) {
            return true;
        }
    }
    return call->ndim == 0;
}

static long double magnitude(const wide_tensor *a, int64_t at) {
    return a->parts == 2 ? hypotl(a->data[2 * at], a->data[2 * at + 1]) : fabsl((long double)a->data[at]);
}

/* Returns the norm of the elements of `inner` from `start` on. Long double has a range in which no power of a float64
 * between the largest and the smallest of them overflows, once it is divided by the largest. */
static long double norm_of(const wide_tensor *a, int64_t start, const walk *inner, double order) {
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
    wide_tensor a;
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
