/* copy.c - copies a tensor to another of the same shape with any strides, and converts between types (bp_tensor_copy).
 *
 * The dimensions are first simplified. Dimensions of size 1 are removed, the destination is walked forwards and in
 * memory order, and adjacent dimensions that continue each other are merged. A loop over matrices remains.
 */
#include "tensor/internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct dimension {
    int64_t size;
    int64_t dst; /* strides in elements */
    int64_t src;
} dimension;

typedef struct copy_loop {
    bp_dtype dst_type, src_type;
    char *dst;
    const char *src;
    int count;
    dimension dims[BP_MAX_NDIM]; /* the dimension with the smallest stride in dst comes last */
} copy_loop;

/* Inserts a dimension in the order of its stride. The insertion sort is stable and short, because ranks are small and
 * most tensors are sorted already. */
static void insert_by_stride(copy_loop *loop, dimension dim) {
    int at = loop->count++;
    while (at > 0 && loop->dims[at - 1].dst < dim.dst) {
        loop->dims[at] = loop->dims[at - 1];
        at--;
    }
    loop->dims[at] = dim;
}

static void collect_dims(copy_loop *loop, const DLTensor *dst, const DLTensor *src) {
    int64_t dst_strides[BP_MAX_NDIM];
    int64_t src_strides[BP_MAX_NDIM];
    bp__tensor_strides(dst, dst_strides);
    bp__tensor_strides(src, src_strides);
    for (int i = 0; i < dst->ndim; i++) {
        dimension dim = {dst->shape[i], dst_strides[i], src_strides[i]};
        if (dim.size == 1) {
            continue;
        }
        if (dim.dst < 0) {
            loop->dst += (dim.size - 1) * dim.dst * (int64_t)bp_dtype_size(loop->dst_type);
            loop->src += (dim.size - 1) * dim.src * (int64_t)bp_dtype_size(loop->src_type);
            dim.dst = -dim.dst;
            dim.src = -dim.src;
        }
        insert_by_stride(loop, dim);
    }
}

/* Merges two adjacent dimensions if one continues the other in both tensors. */
static void merge_dims(copy_loop *loop) {
    int kept = 0;
    for (int i = 0; i < loop->count; i++) {
        const dimension *inner = &loop->dims[i];
        dimension *outer = kept > 0 ? &loop->dims[kept - 1] : NULL;
        if (outer && outer->dst == inner->dst * inner->size && outer->src == inner->src * inner->size) {
            *outer = (dimension){outer->size * inner->size, inner->dst, inner->src};
        } else {
            loop->dims[kept++] = *inner;
        }
    }
    loop->count = kept;
}

/* Makes the dimension with the smallest source stride the rows of the matrices. A transposition is then one matrix that
 * can be tiled, instead of a long loop of single rows. */
static void choose_rows(copy_loop *loop) {
    int last = loop->count - 2;
    int least = last;
    for (int i = last - 1; i >= 0; i--) {
        if (llabs(loop->dims[i].src) < llabs(loop->dims[least].src)) {
            least = i;
        }
    }
    dimension rows = loop->dims[least];
    memmove(&loop->dims[least], &loop->dims[least + 1], (size_t)(last - least) * sizeof rows);
    loop->dims[last] = rows;
}

static void copy_matrix(const copy_loop *loop, const dimension *rows, const dimension *columns, char *dst,
                        const char *src) {
    if (loop->dst_type == loop->src_type) {
        bp__copy_matrix(loop->dst_type, rows->size, columns->size, dst, rows->dst, columns->dst, src, rows->src,
                        columns->src, 0);
    } else {
        bp__convert_matrix(loop->dst_type, loop->src_type, rows->size, columns->size, dst, rows->dst, columns->dst, src,
                           rows->src, columns->src);
    }
}

/* Copies a matrix, a range of the longer side at a time, so that the program can stop the copy in between. Returns
 * false if it was stopped. */
static bool copy_one(const copy_loop *loop, char *dst, const char *src, bp__pace *pace) {
    enum { AT_ONCE = 1 << 20 };
    dimension side[2] = {{1, 0, 0}, {1, 0, 0}}; /* rows, columns */
    for (int i = 0; i < 2 && i < loop->count; i++) {
        side[1 - i] = loop->dims[loop->count - 1 - i];
    }
    dimension *cut = &side[side[1].size > side[0].size], *other = cut == side ? cut + 1 : side;
    const int64_t all = cut->size, most = other->size < AT_ONCE ? AT_ONCE / other->size : 1;
    for (int64_t done = 0; done < all; done += cut->size) {
        cut->size = all - done < most ? all - done : most;
        copy_matrix(loop, &side[0], &side[1], dst + done * cut->dst * (int64_t)bp_dtype_size(loop->dst_type),
                    src + done * cut->src * (int64_t)bp_dtype_size(loop->src_type));
        if (bp__pace_due(pace, cut->size * other->size) && bp__interrupted()) {
            return false;
        }
    }
    return true;
}

/* Steps through the outer dimensions in index order. */
static bp_status run_copy_loop(const copy_loop *loop) {
    bp__pace pace = {0};
    int outer = loop->count > 2 ? loop->count - 2 : 0;
    int64_t dst_size = (int64_t)bp_dtype_size(loop->dst_type);
    int64_t src_size = (int64_t)bp_dtype_size(loop->src_type);
    int64_t index[BP_MAX_NDIM] = {0};
    char *dst = loop->dst;
    const char *src = loop->src;
    for (;;) {
        if (!copy_one(loop, dst, src, &pace)) {
            return bp__fail_cancelled("the copy of a tensor");
        }
        int at = outer - 1;
        while (at >= 0 && ++index[at] == loop->dims[at].size) {
            dst -= (index[at] - 1) * loop->dims[at].dst * dst_size;
            src -= (index[at] - 1) * loop->dims[at].src * src_size;
            index[at--] = 0;
        }
        if (at < 0) {
            return BP_OK;
        }
        dst += loop->dims[at].dst * dst_size;
        src += loop->dims[at].src * src_size;
    }
}

static bool same_shape(const DLTensor *a, const DLTensor *b) {
    return a->ndim == b->ndim && (a->ndim == 0 || memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0);
}

static bp_status check_pair(const DLTensor *dst, const DLTensor *src) {
    BP__TRY(bp__tensor_check(dst, "dst", false));
    BP__TRY(bp__tensor_check(src, "src", false));
    BP__TRY(bp__tensor_check_host(dst, "dst"));
    BP__TRY(bp__tensor_check_host(src, "src"));
    char dst_text[256];
    char src_text[256];
    if (!same_shape(dst, src)) {
        return bp__fail(BP_E_SHAPE, "tensor 'dst' (%s) must have the shape of 'src' (%s)",
                        bp__tensor_text(dst, dst_text, sizeof dst_text),
                        bp__tensor_text(src, src_text, sizeof src_text));
    }
    bp_dtype to = bp_dtype_from_dlpack(dst->dtype);
    bp_dtype from = bp_dtype_from_dlpack(src->dtype);
    if (to != from && !bp__converts(to, from)) {
        return bp__fail(
            BP_E_DTYPE,
            "tensor 'src' has type %s, which cannot be converted to %s of 'dst'; floating types convert to each "
            "other and to complex, complex types to each other",
            bp_dtype_name(from), bp_dtype_name(to));
    }
    if (bp__tensor_self_overlaps(dst)) {
        return bp__fail(BP_E_OVERLAP, "tensor 'dst' (%s) overlaps itself; each element must have its own memory",
                        bp__tensor_text(dst, dst_text, sizeof dst_text));
    }
    if (bp__tensor_overlap(dst, src)) {
        return bp__fail(BP_E_OVERLAP, "tensor 'dst' overlaps 'src'; copy through a temporary tensor");
    }
    return BP_OK;
}

bp_status bp_tensor_copy(DLTensor *dst, const DLTensor *src) {
    BP__TRY(check_pair(dst, src));
    if (bp__tensor_elements(dst) == 0) {
        return BP_OK;
    }
    copy_loop loop = {
        .dst_type = bp_dtype_from_dlpack(dst->dtype),
        .src_type = bp_dtype_from_dlpack(src->dtype),
        .dst = bp__tensor_data(dst),
        .src = bp__tensor_data(src),
    };
    collect_dims(&loop, dst, src);
    merge_dims(&loop);
    if (loop.count > 2) {
        choose_rows(&loop);
    }
    return run_copy_loop(&loop);
}
