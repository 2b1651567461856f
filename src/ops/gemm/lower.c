/* lower.c - converts tensors to the GEMM problem: batch broadcasting, merging of dimensions, canonical strides.
 *
 * Equal products become equal problems for any spelling of their tensors, because plans are cached by problem. A stack
 * of small products becomes one large product if memory allows, because libraries are faster on it. */
#include "ops/gemm/gemm.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <inttypes.h>

void bp__matrix_from(bp__matrix *matrix, const DLTensor *tensor) {
    int64_t strides[BP_MAX_NDIM];
    int rank = tensor->ndim;
    bp__tensor_strides(tensor, strides);
    matrix->rows = tensor->shape[rank - 2];
    matrix->columns = tensor->shape[rank - 1];
    matrix->row = strides[rank - 2];
    matrix->column = strides[rank - 1];
    matrix->batch_ndim = rank - 2;
    for (int i = 0; i < rank - 2; i++) {
        matrix->batch_shape[i] = tensor->shape[i];
        matrix->batch_stride[i] = strides[i];
    }
}

void bp__matrix_transpose(bp__matrix *matrix) {
    bp__matrix old = *matrix;
    matrix->rows = old.columns;
    matrix->columns = old.rows;
    matrix->row = old.column;
    matrix->column = old.row;
}

bp_factor bp__factor(const bp_scalar *scalar, double when_null, bool complex) {
    double re = scalar ? scalar->re : when_null;
    double im = scalar && complex ? scalar->im : 0.0;
    if (im != 0.0) {
        return BP_FACTOR_ANY; /* also for NaN: it never equals 0 or 1 */
    }
    return re == 0.0 && im == 0.0 ? BP_FACTOR_ZERO : (re == 1.0 && im == 0.0 ? BP_FACTOR_ONE : BP_FACTOR_ANY);
}

static bool is_byte(bp_dtype dtype) {
    return dtype == BP_I8 || dtype == BP_U8;
}

bp_dtype bp_matmul_dtype(const DLTensor *a, const DLTensor *b) {
    if (!a || !b) {
        return BP_DTYPE_NONE;
    }
    const bp_dtype of_a = bp_dtype_from_dlpack(a->dtype);
    return is_byte(of_a) && is_byte(bp_dtype_from_dlpack(b->dtype)) ? BP_I32 : of_a;
}

bp_status bp__gemm_check(const DLTensor *a, const DLTensor *b, const DLTensor *c, const char *c_name,
                         bool data_optional) {
    BP__TRY(bp__tensor_check(a, "a", data_optional));
    BP__TRY(bp__tensor_check(b, "b", data_optional));
    BP__TRY(bp__tensor_check(c, c_name, data_optional));
    const bp_dtype of_a = bp_dtype_from_dlpack(a->dtype), of_b = bp_dtype_from_dlpack(b->dtype),
                   of_c = bp_dtype_from_dlpack(c->dtype);
    const char *names[] = {bp_dtype_name(of_a), bp_dtype_name(of_b), bp_dtype_name(of_c)};
    if (!is_byte(of_a) && (of_a < BP_F16 || of_a > BP_C128)) {
        return bp__fail(BP_E_DTYPE, "a is %s; matrix products take f16, bf16, f32, f64, c64 and c128, i8 and u8",
                        names[0]);
    }
    if (is_byte(of_a) && is_byte(of_b)) {
        return of_c == BP_I32
                   ? BP_OK
                   : bp__fail(BP_E_DTYPE, "a is %s and b is %s, but %s is %s; the product of integers is i32", names[0],
                              names[1], c_name, names[2]);
    }
    if (of_b != of_a) {
        return bp__fail(BP_E_DTYPE, "a is %s and b is %s; they must have the same type, or both be i8 or u8", names[0],
                        names[1]);
    }
    if (of_c != of_a) {
        return bp__fail(BP_E_DTYPE, "a and b are %s, but %s is %s; they must have the same type", names[0], c_name,
                        names[2]);
    }
    return BP_OK;
}

/* One batch dimension of all three operands. */
typedef struct dim {
    int64_t size, a, b, c;
} dim;

static int64_t broadcast_stride(const bp__matrix *x, int from_end) {
    int i = x->batch_ndim - from_end;
    return i < 0 || x->batch_shape[i] == 1 ? 0 : x->batch_stride[i];
}

static bp_status check_broadcast(const bp__matrix *x, const bp__matrix *c, const char *name) {
    if (x->batch_ndim > c->batch_ndim) {
        return bp__fail(BP_E_SHAPE, "%s has %d batch dimensions, the output only %d", name, x->batch_ndim,
                        c->batch_ndim);
    }
    for (int i = 1; i <= x->batch_ndim; i++) {
        int64_t size = x->batch_shape[x->batch_ndim - i];
        int64_t full = c->batch_shape[c->batch_ndim - i];
        if (size != full && size != 1) {
            return bp__fail(BP_E_SHAPE,
                            "batch dimension %d of %s has size %" PRId64
                            ", which does not broadcast to the output's %" PRId64,
                            x->batch_ndim - i, name, size, full);
        }
    }
    return BP_OK;
}

/* Batch dimensions, outermost first. Drops dimensions of size 1. Merges neighbours whose strides match in all three
 * operands. */
static int merge_batch(dim *dims, const bp__matrix *a, const bp__matrix *b, const bp__matrix *c) {
    int count = 0;
    for (int from_end = c->batch_ndim; from_end >= 1; from_end--) {
        dim d = {c->batch_shape[c->batch_ndim - from_end], broadcast_stride(a, from_end), broadcast_stride(b, from_end),
                 broadcast_stride(c, from_end)};
        if (d.size == 1) {
            continue;
        }
        dim *outer = count > 0 ? &dims[count - 1] : NULL;
        if (outer && outer->a == d.a * d.size && outer->b == d.b * d.size && outer->c == d.c * d.size) {
            *outer = (dim){outer->size * d.size, d.a, d.b, d.c};
        } else {
            dims[count++] = d;
        }
    }
    return count;
}

/* Merges the batch into rows or columns. A stack of A with one B is one taller A; one A with a stack of B is one wider
 * B. */
static int fold_batch(dim *dims, int count, bp_gemm_problem *g) {
    while (count > 0) {
        dim d = dims[count - 1];
        bool into_m = d.b == 0 && (g->m == 1 || (d.a == g->m * g->a_row && d.c == g->m * g->c_row));
        bool into_n = d.a == 0 && (g->n == 1 || (d.b == g->n * g->b_column && d.c == g->n * g->c_column));
        if (into_m) {
            g->a_row = g->m == 1 ? d.a : g->a_row;
            g->c_row = g->m == 1 ? d.c : g->c_row;
            g->m *= d.size;
        } else if (into_n) {
            g->b_column = g->n == 1 ? d.b : g->b_column;
            g->c_column = g->n == 1 ? d.c : g->c_column;
            g->n *= d.size;
        } else {
            break;
        }
        count--;
    }
    return count;
}

static void canonical_strides(bp_gemm_problem *g) {
    g->a_row = g->m == 1 ? 0 : g->a_row;
    g->a_column = g->k == 1 ? 0 : g->a_column;
    g->b_row = g->k == 1 ? 0 : g->b_row;
    g->b_column = g->n == 1 ? 0 : g->b_column;
    g->c_row = g->m == 1 ? 0 : g->c_row;
    g->c_column = g->n == 1 ? 0 : g->c_column;
}

bp_status bp__gemm_lower(bp_problem *problem, const bp__matrix *a, const bp__matrix *b, const bp__matrix *c) {
    BP__TRY(check_broadcast(a, c, "a"));
    BP__TRY(check_broadcast(b, c, "b"));
    bp_gemm_problem *g = &problem->of.gemm;
    g->m = c->rows;
    g->n = c->columns;
    g->k = a->columns;
    g->a_row = a->row;
    g->a_column = a->column;
    g->b_row = b->row;
    g->b_column = b->column;
    g->c_row = c->row;
    g->c_column = c->column;
    g->batch = 1;
    dim dims[BP_MAX_NDIM];
    int count = merge_batch(dims, a, b, c);
    const int left = fold_batch(dims, count, g);
    g->folded = left < count && problem->policy.deterministic == 2;
    count = left;
    if (count > BP_MAX_BATCH_NDIM) {
        return bp__fail(BP_E_LAYOUT, "%d batch dimensions remain after merging; at most %d can be handled", count,
                        BP_MAX_BATCH_NDIM);
    }
    g->batch_ndim = count;
    for (int i = 0; i < count; i++) {
        if (__builtin_mul_overflow(g->batch, dims[i].size, &g->batch)) {
            return bp__fail(BP_E_OVERFLOW, "the number of products in the batch exceeds 64 bits");
        }
        g->batch_shape[i] = dims[i].size;
        g->batch_a[i] = dims[i].a;
        g->batch_b[i] = dims[i].b;
        g->batch_c[i] = dims[i].c;
    }
    canonical_strides(g);
    return BP_OK;
}
