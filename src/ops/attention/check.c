/* check.c - checks the parameters and tensors of attention, and computes the sizes of its batch. */
#include "ops/attention/attention.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- Parameters ---- */

static bp_status check_softcap(const bp_attention_call *call) {
    const bool fits = call->softcap == 0 || (call->softcap >= 0x1p-100 && call->softcap <= 0x1p100);
    return fits ? BP_OK
                : bp__fail(BP_E_ARGUMENT, "attention: softcap is %g; it must be 0, or from 2^-100 to 2^100",
                           call->softcap);
}

static bp_status check_window(const bp_attention_call *call) {
    const int64_t sides[] = {call->window_left, call->window_right};
    static const char *const names[] = {"window_left", "window_right"};
    for (int i = 0; i < BP__COUNT(sides); i++) {
        if (!call->has_window && sides[i] != 0) {
            return bp__fail(BP_E_ARGUMENT, "attention: %s is %" PRId64 ", and has_window is 0; it must be 1, or %s 0",
                            names[i], sides[i], names[i]);
        }
        if (sides[i] < -1) {
            return bp__fail(BP_E_ARGUMENT, "attention: %s is %" PRId64 "; it must be 0 or more, or -1 for no limit",
                            names[i], sides[i]);
        }
    }
    if (call->lower_right && !call->is_causal && !call->has_window) {
        return bp__fail(BP_E_ARGUMENT, "attention: lower_right is for is_causal and has_window, which both are 0; it "
                                       "must be 0");
    }
    return BP_OK;
}

static bp_status check_parameters(const bp_attention_call *call) {
    if ((unsigned)call->pass > BP_ATTENTION_BACKWARD) {
        return bp__fail(BP_E_ARGUMENT, "pass is no value of its enumeration");
    }
    if (call->mask && call->is_causal) {
        return bp__fail(BP_E_ARGUMENT, "attention: there is a mask, and is_causal; only one of them may be given");
    }
    if (!call->has_scale && call->scale != 0) {
        return bp__fail(BP_E_ARGUMENT, "attention: scale is %g, and has_scale is 0; it must be 1, or scale 0",
                        call->scale);
    }
    if (call->has_scale && !isfinite(call->scale)) {
        return bp__fail(BP_E_ARGUMENT, "attention: scale is %g; it must be finite", call->scale);
    }
    if (!(call->dropout >= 0 && call->dropout <= 1)) {
        return bp__fail(BP_E_ARGUMENT, "attention: dropout is %g; it must be from 0 to 1", call->dropout);
    }
    if ((call->dropout > 0) != (call->seed != NULL)) {
        return bp__fail(BP_E_ARGUMENT, call->seed ? "attention: seed is for dropout, which is 0; it must be NULL"
                                                  : "attention: dropout needs a seed, which is NULL");
    }
    BP__TRY(check_softcap(call));
    BP__TRY(check_window(call));
    if (call->pages && !call->lengths) {
        return bp__fail(BP_E_ARGUMENT, "attention: lengths is NULL; with pages it must be given");
    }
    if (call->pages && call->pass == BP_ATTENTION_BACKWARD) {
        return bp__fail(BP_E_ARGUMENT, "attention: BACKWARD has no pages, which must be NULL");
    }
    BP__TRY(bp__call_check_surplus(&bp__attention_call, bp__attention_pass(call), call));
    if (call->mask_gradient && !call->mask) {
        return bp__fail(BP_E_ARGUMENT, "attention: mask_gradient needs a mask, which is NULL");
    }
    return BP_OK;
}

/* ---- Sizes ---- */

static bp_status check_matrix(const DLTensor *tensor, const char *name, bp_dtype dtype) {
    char shape[256];
    const bp_dtype own = bp_dtype_from_dlpack(tensor->dtype);
    if (own < BP_F16 || own > BP_F64) {
        return bp__fail(BP_E_DTYPE, "attention: %s is %s; it must be f16, bf16, f32 or f64", name, bp_dtype_name(own));
    }
    if (own != dtype) {
        return bp__fail(BP_E_DTYPE, "attention: query is %s and %s is %s; they must have one type",
                        bp_dtype_name(dtype), name, bp_dtype_name(own));
    }
    if (tensor->ndim < 2) {
        return bp__fail(BP_E_SHAPE, "attention: %s has shape %s; it must have 2 dimensions or more", name,
                        bp__shape_text(tensor->ndim, tensor->shape, shape, sizeof shape));
    }
    return BP_OK;
}

static bp_status fail_sizes(const char *what, const char *name, const DLTensor *a, const char *other,
                            const DLTensor *b) {
    char one[256], two[256];
    return bp__fail(BP_E_SHAPE, "attention: %s: %s has shape %s, %s has shape %s", what, name,
                    bp__shape_text(a->ndim, a->shape, one, sizeof one), other,
                    bp__shape_text(b->ndim, b->shape, two, sizeof two));
}

/* Size of a tensor's batch in dimension d of `ndim`, counted from the first of all; missing ones have 1. `after` is
 * the number of dimensions behind the batch. */
static int64_t batch_size(const DLTensor *tensor, int after, int d, int ndim) {
    const int own = d - (ndim - (tensor->ndim - after));
    return own < 0 ? 1 : tensor->shape[own];
}

/* Takes the heads of query, key and value, if their numbers may differ. */
static bp_status resolve_heads(bp__attention *attention) {
    const bp_attention_call *call = attention->call;
    attention->key_heads = attention->value_heads = 1;
    if (!call->enable_gqa) {
        return BP_OK;
    }
    if (call->query->ndim < 3 || call->key->ndim < 3 || call->value->ndim < 3) {
        return bp__fail(BP_E_SHAPE,
                        "attention: query, key and value have %d, %d and %d dimensions; with enable_gqa "
                        "they must have 3 or more",
                        call->query->ndim, call->key->ndim, call->value->ndim);
    }
    const int64_t heads = call->query->shape[call->query->ndim - 3], key = call->key->shape[call->key->ndim - 3],
                  value = call->value->shape[call->value->ndim - 3];
    const int64_t least = key < value ? key : value, most = key < value ? value : key;
    if (least < 1 || heads % least != 0 || heads % most != 0 || most % least != 0) {
        return bp__fail(BP_E_SHAPE,
                        "attention: query has %" PRId64 " heads, key %" PRId64 " and value %" PRId64
                        "; the numbers of key and value must divide query's, and one of them the other",
                        heads, key, value);
    }
    attention->key_heads = key;
    attention->value_heads = value;
    return BP_OK;
}

/* Broadcasts the batch dimensions. Heads of enable_gqa count as the query's heads. */
static bp_status resolve_batch(bp__attention *attention) {
    const bp_attention_call *call = attention->call;
    const DLTensor *const tensors[] = {call->query, call->key, call->value};
    static const char *const names[] = {"query", "key", "value"};
    int most = 0;
    for (int i = 0; i < BP__COUNT(tensors); i++) {
        most = tensors[i]->ndim - 2 > most ? tensors[i]->ndim - 2 : most;
    }
    attention->batch_ndim = most;
    for (int d = 0; d < most; d++) {
        attention->batch[d] = batch_size(call->query, 2, d, most);
        for (int i = 1; i < BP__COUNT(tensors) && !(call->enable_gqa && d == most - 1); i++) {
            const int64_t size = batch_size(tensors[i], 2, d, most);
            if (size != attention->batch[d] && size != 1 && attention->batch[d] != 1) {
                return fail_sizes("leading dimensions do not broadcast", names[0], tensors[0], names[i], tensors[i]);
            }
            attention->batch[d] = attention->batch[d] == 1 ? size : attention->batch[d];
        }
    }
    return BP_OK;
}

/* Checks lengths without pages, and makes a view of them with the dimensions of the batch. */
static bp_status resolve_lengths(bp__attention *attention, bool data_optional) {
    bp__attention_lengths *counted = &attention->counted;
    const DLTensor *lengths = attention->call->lengths;
    char shape[256];
    BP__TRY(bp__tensor_check(lengths, "lengths", data_optional));
    BP__TRY(bp__attention_check_integers(lengths, "lengths"));
    if (attention->batch_ndim < 1) {
        return bp__fail(BP_E_SHAPE, "attention: query, key and value have 2 dimensions; with lengths one of them must "
                                    "have 3 or more");
    }
    if (lengths->ndim != 1 || lengths->shape[0] != attention->batch[0]) {
        return bp__fail(BP_E_SHAPE,
                        "attention: lengths has shape %s; it must have shape (%" PRId64 ")"
                        ", the first dimension of the output",
                        bp__shape_text(lengths->ndim, lengths->shape, shape, sizeof shape), attention->batch[0]);
    }
    int64_t strides[BP_MAX_NDIM];
    bp__tensor_strides(lengths, strides);
    for (int d = 0; d < attention->batch_ndim; d++) {
        counted->shape[d] = d == 0 ? lengths->shape[0] : 1;
        counted->strides[d] = d == 0 ? strides[0] : 1;
    }
    counted->call = *attention->call;
    counted->lengths = *lengths;
    counted->lengths.ndim = attention->batch_ndim;
    counted->lengths.shape = counted->shape;
    counted->lengths.strides = counted->strides;
    counted->call.lengths = &counted->lengths;
    attention->call = &counted->call;
    return BP_OK;
}

bp_status bp__attention_resolve(bp__attention *attention, const bp_attention_call *call, bool data_optional) {
    memset(attention, 0, sizeof *attention);
    attention->given = call;
    BP__TRY(check_parameters(call));
    if (call->pages) {
        BP__TRY(bp__attention_view_pages(&attention->paged, call, data_optional));
        call = &attention->paged.call;
    }
    attention->call = call;
    attention->pass = bp__attention_pass(call);
    BP__TRY(bp__tensor_check(call->query, "query", data_optional));
    attention->dtype = bp_dtype_from_dlpack(call->query->dtype);
    BP__TRY(check_matrix(call->query, "query", attention->dtype));
    /* The view of a pool has more rows than a page, and none of them may be in memory: bp__attention_view_pages() has
     * checked the pools. */
    if (!call->pages) {
        BP__TRY(bp__tensor_check(call->key, "key", data_optional));
        BP__TRY(bp__tensor_check(call->value, "value", data_optional));
    }
    BP__TRY(check_matrix(call->key, "key", attention->dtype));
    BP__TRY(check_matrix(call->value, "value", attention->dtype));
    const int64_t *query = &call->query->shape[call->query->ndim - 2], *key = &call->key->shape[call->key->ndim - 2],
                  *value = &call->value->shape[call->value->ndim - 2];
    if (query[1] != key[1]) {
        return fail_sizes("the last dimensions must be equal", "query", call->query, "key", call->key);
    }
    if (key[0] != value[0]) {
        return fail_sizes("the numbers of keys must be equal", "key", call->key, "value", call->value);
    }
    attention->queries = query[0];
    attention->keys = key[0];
    attention->size = query[1];
    attention->value_size = value[1];
    BP__TRY(resolve_heads(attention));
    BP__TRY(resolve_batch(attention));
    return call->lengths && !call->pages ? resolve_lengths(attention, data_optional) : BP_OK;
}

int bp__attention_output_shape(const bp__attention *attention, int64_t *shape) {
    memcpy(shape, attention->batch, (size_t)attention->batch_ndim * sizeof *shape);
    shape[attention->batch_ndim] = attention->queries;
    shape[attention->batch_ndim + 1] = attention->value_size;
    return attention->batch_ndim + 2;
}

/* ---- The other tensors ---- */

static bp_status check_mask(const bp__attention *attention, const DLTensor *mask) {
    const bp_dtype dtype = bp_dtype_from_dlpack(mask->dtype);
    const int64_t last[] = {attention->queries, attention->keys};
    char shape[256];
    if (dtype != BP_BOOL && dtype != BP_F32 && dtype != attention->dtype) {
        return bp__fail(BP_E_DTYPE, "attention: mask is %s and query is %s; the mask must be bool, f32 or of that type",
                        bp_dtype_name(dtype), bp_dtype_name(attention->dtype));
    }
    const int all = attention->batch_ndim + 2;
    bool fits = mask->ndim <= all;
    for (int d = 0; d < mask->ndim && fits; d++) {
        const int at = d + all - mask->ndim;
        const int64_t size = at < attention->batch_ndim ? attention->batch[at] : last[at - attention->batch_ndim];
        fits = mask->shape[d] == size || mask->shape[d] == 1;
    }
    if (!fits) {
        int64_t want[BP_MAX_NDIM];
        char other[256];
        bp__attention_output_shape(attention, want);
        want[all - 1] = attention->keys;
        return bp__fail(BP_E_SHAPE, "attention: mask has shape %s; it must broadcast to %s",
                        bp__shape_text(mask->ndim, mask->shape, shape, sizeof shape),
                        bp__shape_text(all, want, other, sizeof other));
    }
    return BP_OK;
}

/* Writes the shape that a tensor must have. Returns its rank. */
static int wanted_shape(const bp__attention *attention, bp_attention_tensor which, int64_t *shape) {
    const bp_attention_call *call = attention->call;
    const DLTensor *like = which == BP_ATTENTION_QUERY_GRADIENT   ? call->query
                           : which == BP_ATTENTION_KEY_GRADIENT   ? call->key
                           : which == BP_ATTENTION_VALUE_GRADIENT ? call->value
                           : which == BP_ATTENTION_MASK_GRADIENT  ? call->mask
                                                                  : NULL;
    if (which == BP_ATTENTION_SEED) {
        shape[0] = 2;
        return 1;
    }
    if (like) {
        memcpy(shape, like->shape, (size_t)like->ndim * sizeof *shape);
        return like->ndim;
    }
    return bp__attention_output_shape(attention, shape) - (which == BP_ATTENTION_LOGSUMEXP);
}

static bp_status check_tensor(const bp__attention *attention, const bp__call_operand *operand) {
    const DLTensor *tensor = bp__call_tensor(attention->call, operand);
    const bp_attention_tensor which = (bp_attention_tensor)operand->shape;
    const bp_dtype dtype = bp_dtype_from_dlpack(tensor->dtype);
    const bp_dtype mask =
        which == BP_ATTENTION_MASK_GRADIENT ? bp_dtype_from_dlpack(attention->call->mask->dtype) : BP_DTYPE_NONE;
    const bp_dtype want = which == BP_ATTENTION_SEED                                      ? BP_I64
                          : mask                                                          ? mask
                          : which == BP_ATTENTION_LOGSUMEXP && attention->dtype != BP_F64 ? BP_F32
                                                                                          : attention->dtype;
    int64_t shape[BP_MAX_NDIM];
    char one[256], two[256];
    if (which == BP_ATTENTION_MASK) {
        return check_mask(attention, tensor);
    }
    if (which <= BP_ATTENTION_VALUE || which == BP_ATTENTION_PAGES ||
        which == BP_ATTENTION_LENGTHS) { /* bp__attention_resolve() has checked them */
        return BP_OK;
    }
    if (mask == BP_BOOL) {
        return bp__fail(BP_E_DTYPE, "attention: a mask of type bool has no gradient; mask_gradient must be NULL");
    }
    if (dtype != want) {
        return bp__fail(BP_E_DTYPE, "attention: %s is %s; it must be %s, for a query of %s", operand->info.name,
                        bp_dtype_name(dtype), bp_dtype_name(want), bp_dtype_name(attention->dtype));
    }
    const int ndim = wanted_shape(attention, which, shape);
    if (tensor->ndim != ndim || memcmp(tensor->shape, shape, (size_t)ndim * sizeof *shape) != 0) {
        return bp__fail(BP_E_SHAPE, "attention: %s has shape %s; it must have shape %s", operand->info.name,
                        bp__shape_text(tensor->ndim, tensor->shape, one, sizeof one),
                        bp__shape_text(ndim, shape, two, sizeof two));
    }
    return BP_OK;
}

bp_status bp__attention_check(const bp__attention *attention, bool data_optional) {
    for (int i = 0; i < attention->pass->info.operand_count; i++) {
        const bp__call_operand *operand = &attention->pass->operand[i];
        const DLTensor *given = bp__call_tensor(attention->given, operand);
        if (given || operand->info.required) {
            BP__TRY(bp__tensor_check(given, operand->info.name, data_optional));
            BP__TRY(check_tensor(attention, operand));
        }
    }
    return bp__call_check_overlap(&bp__attention_call, attention->pass, attention->given);
}
