/* convert_attention.c - adds attention, and rotary embeddings of its operands. */
#include "onnx/read.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Takes the heads of items x steps x width apart: items x heads x steps x width / heads. */
static bp_status split_heads(bp__onnx *r, bp__onnx_value *x, int64_t heads, bp__onnx_value **result) {
    *result = x;
    if (x->ndim == 4) {
        return BP_OK;
    }
    if (x->ndim != 3 || heads < 1 || x->shape[2] % heads != 0) {
        return bp__fail(BP_E_SHAPE,
                        "an input has neither four dimensions nor three, with %" PRId64 " heads in the last one",
                        heads);
    }
    const int64_t shape[4] = {x->shape[0], x->shape[1], heads, x->shape[2] / heads};
    BP__TRY(bp__onnx_reshape(r, x, 4, shape, result));
    return bp__onnx_permute(r, *result, (int[]){0, 2, 1, 3}, result);
}

/* Adds what earlier calls have computed in front of the keys or values, which become an output. */
static bp_status behind_past(bp__onnx *r, int input, int output, bp__onnx_value **x) {
    bp__onnx_value *past = bp__onnx_input(r, input);
    if (past) {
        if (past->ndim != 4) {
            return bp__fail(BP_E_SHAPE, "a past has %d dimensions; it must have four", past->ndim);
        }
        BP__TRY(bp__onnx_concat(r, 2, (bp__onnx_value *[]){past, *x}, 2, x));
    }
    if (bp__onnx_is_wanted(r, output)) {
        r->results[output] = *x;
    }
    return BP_OK;
}

/* Makes a mask that is true where a query sees a key: query i sees the keys to i + past. */
static bp_status causal_mask(bp__onnx *r, int64_t queries, int64_t keys, int64_t past, bp__onnx_value **mask) {
    bp__onnx_value *query, *key;
    BP__TRY(bp__onnx_counted(r, BP_I64, queries, past, 1, &query));
    BP__TRY(bp__onnx_counted(r, BP_I64, keys, 0, 1, &key));
    BP__TRY(bp__onnx_reshape(r, query, 2, (int64_t[]){queries, 1}, &query));
    return bp__onnx_binary(r, "greater_equal", query, key, mask);
}

/* A mask that is shorter than the keys leaves the last ones out. */
static bp_status long_enough(bp__onnx *r, int64_t keys, bp__onnx_value **mask) {
    int64_t before[BP_MAX_NDIM] = {0}, after[BP_MAX_NDIM] = {0};
    bp__onnx_value *x = *mask;
    if (x->ndim < 1 || x->shape[x->ndim - 1] == 1 || x->shape[x->ndim - 1] >= keys) {
        return BP_OK;
    }
    after[x->ndim - 1] = keys - x->shape[x->ndim - 1];
    return bp__onnx_pad(r, x, before, after, x->dtype == BP_BOOL ? 0 : -HUGE_VAL, mask);
}

/* The call takes either a mask or the flag, and the flag without a past. */
static bp_status join_masks(bp__onnx *r, const bp__onnx_value *q, const bp__onnx_value *k, int64_t past, bool causal,
                            bp__onnx_value **mask) {
    bp__onnx_value *given = *mask, *seen, *least;
    if (given) {
        BP__TRY(bp__onnx_cast(r, given, given->dtype == BP_BOOL ? BP_BOOL : q->dtype, &given));
        BP__TRY(long_enough(r, k->shape[2], &given));
        *mask = given;
    }
    if (!causal) {
        return BP_OK;
    }
    BP__TRY(causal_mask(r, q->shape[2], k->shape[2], past, &seen));
    if (!given) {
        *mask = seen;
        return BP_OK;
    }
    if (given->dtype == BP_BOOL) {
        return bp__onnx_binary(r, "logical_and", given, seen, mask);
    }
    BP__TRY(bp__onnx_scalar(r, -HUGE_VAL, given->dtype, &least));
    return bp__onnx_where(r, seen, given, least, mask);
}

typedef struct settings {
    bool causal;
    int64_t query_heads, key_heads;
    double scale; /* 0: the usual one */
} settings;

static bp_status read_settings(bp__onnx *r, settings *of) {
    double softcap;
    int64_t mode, precision;
    BP__TRY(bp__onnx_attribute_flag(r, "is_causal", false, &of->causal));
    BP__TRY(bp__onnx_attribute_int(r, "q_num_heads", 0, &of->query_heads));
    BP__TRY(bp__onnx_attribute_int(r, "kv_num_heads", 0, &of->key_heads));
    BP__TRY(bp__onnx_attribute_real(r, "scale", 0, &of->scale));
    BP__TRY(bp__onnx_attribute_real(r, "softcap", 0, &softcap));
    BP__TRY(bp__onnx_attribute_int(r, "qk_matmul_output_mode", 0, &mode));
    BP__TRY(bp__onnx_attribute_int(r, "softmax_precision", 1, &precision)); /* the call computes in f32 or f64 */
    return softcap == 0 ? BP_OK : bp__fail(BP_E_UNSUPPORTED, "attribute 'softcap' is %g; it must be 0", softcap);
}

bp_status bp__onnx_convert_attention(bp__onnx *r, const bp__onnx_row *row) {
    settings of;
    bp__onnx_value *q, *k, *v, *mask = bp__onnx_input(r, 3), *y;
    (void)row;
    BP__TRY(read_settings(r, &of));
    BP__TRY(split_heads(r, r->inputs[0], of.query_heads, &q));
    BP__TRY(split_heads(r, r->inputs[1], of.key_heads, &k));
    BP__TRY(split_heads(r, r->inputs[2], of.key_heads, &v));
    const int64_t steps = k->shape[2];
    BP__TRY(behind_past(r, 4, 1, &k));
    BP__TRY(behind_past(r, 5, 2, &v));
    const bool plain = of.causal && !mask && k->shape[2] == steps;
    BP__TRY(join_masks(r, q, k, k->shape[2] - steps, of.causal && !plain, &mask));
    BP__TRY(bp__onnx_call_one(r, "attention", 4, ((bp__onnx_value *[]){q, k, v, mask}), &y,
                              "is_causal=%s, enable_gqa=%s, has_scale=%s, scale=%a", plain ? "true" : "false",
                              q->shape[1] != k->shape[1] ? "true" : "false", of.scale != 0 ? "true" : "false",
                              of.scale));
    r->results[0] = y;
    if (r->inputs[0]->ndim == 4) {
        return BP_OK;
    }
    BP__TRY(bp__onnx_permute(r, y, (int[]){0, 2, 1, 3}, &y));
    return bp__onnx_reshape(r, y, 3, (int64_t[]){y->shape[0], y->shape[1], y->shape[2] * y->shape[3]}, &r->results[0]);
}

/* ---- Rotary embedding ---- */

/* Returns a table of cosines or sines as items x steps x 1 x half, or items x 1 x steps x half if heads come before
 * steps. */
static bp_status read_angles(bp__onnx *r, int input, int64_t half, bool heads_first, bp__onnx_value **angles) {
    bp__onnx_value *x = r->inputs[input], *places = bp__onnx_input(r, 3);
    if (places) {
        BP__TRY(bp__onnx_call_one(r, "take", 2, ((bp__onnx_value *[]){x, places}), &x, "axis=0"));
    }
    if (x->ndim != 3 || x->shape[2] != half) {
        return bp__fail(BP_E_SHAPE, "a table has not items, steps and %" PRId64 " columns", half);
    }
    const int64_t shape[4] = {x->shape[0], heads_first ? 1 : x->shape[1], heads_first ? x->shape[1] : 1, half};
    return bp__onnx_reshape(r, x, 4, shape, angles);
}

/* Computes one of two coordinates after the rotation: a first + b second, or the difference. */
static bp_status rotate(bp__onnx *r, bp__onnx_value *a, bp__onnx_value *first, const char *kind, bp__onnx_value *b,
                        bp__onnx_value *second, bp__onnx_value **result) {
    bp__onnx_value *one, *two;
    BP__TRY(bp__onnx_binary(r, "multiply", a, first, &one));
    BP__TRY(bp__onnx_binary(r, "multiply", b, second, &two));
    return bp__onnx_binary(r, kind, one, two, result);
}

/* Rotates pairs of columns: neighbours if `interleaved`, otherwise columns of both halves. */
static bp_status rotate_columns(bp__onnx *r, bp__onnx_value *x, bool heads_first, bool interleaved,
                                bp__onnx_value **result) {
    const int64_t columns = x->shape[3], half = columns / 2, step = interleaved ? 2 : 1;
    const int64_t apart[5] = {x->shape[0], x->shape[1], x->shape[2], half, 1};
    bp__onnx_value *cosine, *sine, *first, *second, *made[2];
    BP__TRY(read_angles(r, 1, half, heads_first, &cosine));
    BP__TRY(read_angles(r, 2, half, heads_first, &sine));
    BP__TRY(bp__onnx_slice(r, x, 3, 0, interleaved ? columns : half, step, &first));
    BP__TRY(bp__onnx_slice(r, x, 3, interleaved ? 1 : half, columns, step, &second));
    BP__TRY(rotate(r, cosine, first, "subtract", sine, second, &made[0]));
    BP__TRY(rotate(r, sine, first, "add", cosine, second, &made[1]));
    for (int i = 0; i < 2 && interleaved; i++) {
        BP__TRY(bp__onnx_reshape(r, made[i], 5, apart, &made[i]));
    }
    BP__TRY(bp__onnx_concat(r, 2, made, interleaved ? 4 : 3, result));
    return bp__onnx_reshape(r, *result, 4, x->shape, result);
}

bp_status bp__onnx_convert_rotary_embedding(bp__onnx *r, const bp__onnx_row *row) {
    int64_t heads, columns;
    bool interleaved;
    bp__onnx_value *x = r->inputs[0], *turned, *rest;
    (void)row;
    BP__TRY(bp__onnx_attribute_int(r, "num_heads", 0, &heads));
    BP__TRY(bp__onnx_attribute_int(r, "rotary_embedding_dim", 0, &columns));
    BP__TRY(bp__onnx_attribute_flag(r, "interleaved", false, &interleaved));
    const bool heads_first = x->ndim == 4;
    if (x->ndim == 3 && heads > 0 && x->shape[2] % heads == 0) {
        BP__TRY(bp__onnx_reshape(r, x, 4, (int64_t[]){x->shape[0], x->shape[1], heads, x->shape[2] / heads}, &x));
    }
    columns = columns == 0 && x->ndim == 4 ? x->shape[3] : columns;
    if (x->ndim != 4 || columns < 2 || columns % 2 != 0 || columns > x->shape[3]) {
        return bp__fail(BP_E_SHAPE,
                        "its input has neither four dimensions nor three with 'num_heads' heads in the last one, or "
                        "'rotary_embedding_dim' is odd or larger than a head");
    }
    BP__TRY(bp__onnx_slice(r, x, 3, 0, columns, 1, &turned));
    BP__TRY(rotate_columns(r, turned, heads_first, interleaved, &turned));
    if (columns < x->shape[3]) {
        BP__TRY(bp__onnx_slice(r, x, 3, columns, x->shape[3], 1, &rest));
        BP__TRY(bp__onnx_concat(r, 2, (bp__onnx_value *[]){turned, rest}, 3, &turned));
    }
    return bp__onnx_reshape(r, turned, r->inputs[0]->ndim, r->inputs[0]->shape, &r->results[0]);
}
