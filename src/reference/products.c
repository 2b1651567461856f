/* products.c - computes products of matrices and of vectors with the error that any order of the sums has. */
#include "reference/results.h"

#include <float.h>
#include <math.h>

/* Turns the sums of absolute values into errors: the errors of sums of `terms` products (reference_sum_number()), where
 * a complex one has two for each part, and of the factors. Removes elements if a part of them may overflow. Integers
 * stay as they are: they are exact. */
static void bound_products(reference *made, bp_dtype dtype) {
    const bool is_complex = dtype == BP_C64 || dtype == BP_C128, f64 = dtype == BP_F64 || dtype == BP_C128;
    const double unit = reference_unit(dtype), terms = (double)made->terms * (is_complex ? 2 : 1) + 6;
    const double largest = f64 ? DBL_MAX : (double)FLT_MAX;
    int64_t known = 0;
    if (unit == 0) {
        return;
    }
    for (int64_t i = 0; i < made->count; i++) {
        reference_value value = made->values[i];
        const bool is_finite = isfinite(value.re) && isfinite(value.im);
        const bool bounded = !is_finite || value.scale < largest / 4;
        const double rounded = (fabs(value.re) + fabs(value.im)) * (f64 ? 2 : 1);
        value.scale = rounded + terms * (reference_sum_unit(dtype) / unit) * value.scale;
        made->values[known] = value;
        known += bounded;
    }
    made->count = known;
    made->bounded = true;
}

bp_status reference_gemm(reference *made, const DLTensor *a, bool conjugate_a, const DLTensor *b, bool conjugate_b,
                         bp_scalar alpha, bp_scalar beta, const DLTensor *old, const DLTensor *out) {
    bp_status status = reference_product(made, a, conjugate_a, b, conjugate_b, out);
    status = status == BP_OK ? reference_add(made, alpha, beta, old) : status;
    if (status == BP_OK) {
        bound_products(made, bp_dtype_from_dlpack(out->dtype));
    }
    return status;
}

static void begin(reference_results *made, const char *name, const DLTensor *out) {
    *made = (reference_results){.count = 1, .of = {{.name = name, .tensor = out}}};
}

bp_status reference_of_matmul(reference_results *made, const DLTensor *a, const DLTensor *b, const DLTensor *out) {
    begin(made, "output", out);
    return reference_gemm(&made->of[0].values, a, false, b, false, (bp_scalar){1, 0}, (bp_scalar){0, 0}, out, out);
}

static bool transposes(bp_transform transform) {
    return transform == BP_TRANSPOSE || transform == BP_CONJUGATE_TRANSPOSE;
}

static bool conjugates(bp_transform transform) {
    return transform == BP_CONJUGATE || transform == BP_CONJUGATE_TRANSPOSE;
}

/* Makes the view of op(a), without the conjugation. */
static bp_status view_operand(bp_view *view, const DLTensor *a, bp_transform transform) {
    const bool swaps = transposes(transform);
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM], step = 1;
    for (int d = a->ndim - 1; d >= 0; d--) {
        const int to = swaps && d >= a->ndim - 2 ? 2 * a->ndim - 3 - d : d;
        shape[to] = a->shape[d];
        strides[to] = a->strides ? a->strides[d] : step;
        step *= a->shape[d];
    }
    return bp_view_init(view, (char *)a->data + a->byte_offset, bp_dtype_from_dlpack(a->dtype), a->ndim, shape,
                        strides);
}

bp_status reference_of_gemm(reference_results *made, int transform_a, int transform_b, const bp_scalar *alpha,
                            const DLTensor *a, const DLTensor *b, const bp_scalar *beta, const DLTensor *c) {
    const bp_transform of_a = (bp_transform)transform_a, of_b = (bp_transform)transform_b;
    bp_view view_a, view_b;
    begin(made, "c", c);
    bp_status status = view_operand(&view_a, a, of_a);
    status = status == BP_OK ? view_operand(&view_b, b, of_b) : status;
    return status == BP_OK
               ? reference_gemm(&made->of[0].values, &view_a.tensor, conjugates(of_a), &view_b.tensor, conjugates(of_b),
                                alpha ? *alpha : (bp_scalar){1, 0}, beta ? *beta : (bp_scalar){0, 0}, c, c)
               : status;
}

/* ---- vecdot: the product of a row and a column ---- */

/* Moves dimension `place` (from the back, 1 is the last) behind all others, and adds one of size 1 behind it, or before
 * it for the row. */
static bp_status view_vector(bp_view *view, const DLTensor *from, int place, bool row) {
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM];
    int64_t steps[BP_MAX_NDIM], step = 1;
    int ndim = from->ndim, count = 0, moved = ndim - place;
    for (int i = ndim - 1; i >= 0; i--) {
        steps[i] = from->strides ? from->strides[i] : step;
        step *= from->shape[i];
    }
    for (int i = 0; i < ndim; i++) {
        if (i != moved) {
            shape[count] = from->shape[i];
            strides[count++] = steps[i];
        }
    }
    shape[count + row] = from->shape[moved];
    strides[count + row] = steps[moved];
    shape[count + !row] = 1;
    strides[count + !row] = 0;
    return ndim < BP_MAX_NDIM ? bp_view_init(view, (char *)from->data + from->byte_offset,
                                             bp_dtype_from_dlpack(from->dtype), ndim + 1, shape, strides)
                              : BP_E_SHAPE;
}

bp_status reference_of_vecdot(reference_results *made, int dim, const DLTensor *a, const DLTensor *b,
                              const DLTensor *out) {
    const int most = a->ndim > b->ndim ? a->ndim : b->ndim, place = dim < 0 ? -dim : most - dim, ndim = out->ndim;
    bp_view row, column, matrix;
    int64_t shape[BP_MAX_NDIM];
    *made = (reference_results){.count = 0};
    if (ndim + 2 > BP_MAX_NDIM) {
        return BP_OK;
    }
    begin(made, "output", out);
    for (int d = 0; d < ndim; d++) {
        shape[d] = out->shape[d];
    }
    shape[ndim] = shape[ndim + 1] = 1;
    bp_status status = view_vector(&row, a, place, true);
    status = status == BP_OK ? view_vector(&column, b, place, false) : status;
    status =
        status == BP_OK ? bp_view_init(&matrix, NULL, bp_dtype_from_dlpack(out->dtype), ndim + 2, shape, NULL) : status;
    return status == BP_OK ? reference_gemm(&made->of[0].values, &row.tensor, true, &column.tensor, false,
                                            (bp_scalar){1, 0}, (bp_scalar){0, 0}, out, &matrix.tensor)
                           : status;
}
