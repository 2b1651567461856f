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

/* Converts the mask to a type that the call takes, and to as many keys as there are. */
static bp_status complete_mask(bp__onnx *r, const bp__onnx_value *q, const bp__onnx_value *k, bp__onnx_value **mask) {
    bp__onnx_value *given = *mask;
    if (!given) {
        return BP_OK;
    }
    BP__TRY(bp__onnx_cast(r, given, given->dtype == BP_BOOL ? BP_BOOL : q->dtype, mask));
    return long_enough(r, k->shape[2], mask);
}

typedef struct settings {
    bool causal;
    int64_t query_heads, key_heads;
    int64_t left, right; /* of the window; -1: no limit */
    double scale;        /* 0: the usual one */
    double softcap;
} settings;

static bp_status read_settings(bp__onnx *r, settings *of) {
    int64_t mode, precision;
    BP__TRY(bp__onnx_attribute_flag(r, "is_causal", false, &of->causal));
    BP__TRY(bp__onnx_attribute_int(r, "q_num_heads", 0, &of->query_heads));
    BP__TRY(bp__onnx_attribute_int(r, "kv_num_heads", 0, &of->key_heads));
    BP__TRY(bp__onnx_attribute_int(r, "left_window_size", -1, &of->left)); /* since opset 25 */
    BP__TRY(bp__onnx_attribute_int(r, "right_window_size", -1, &of->right));
    BP__TRY(bp__onnx_attribute_real(r, "scale", 0, &of->scale));
    BP__TRY(bp__onnx_attribute_real(r, "softcap", 0, &of->softcap));
    BP__TRY(bp__onnx_attribute_int(r, "qk_matmul_output_mode", 0, &mode));
    BP__TRY(bp__onnx_attribute_int(r, "softmax_precision", 1, &precision)); /* the call computes in f32 or f64 */
    if (of->left < -1 || of->right < -1) {
        return bp__fail(BP_E_UNSUPPORTED,
                        "attributes 'left_window_size' and 'right_window_size' are %" PRId64 " and %" PRId64
                        "; they must be -1 or more",
                        of->left, of->right);
    }
    return BP_OK;
}

/* The keys that queries see, as the call has them. */
typedef struct sight {
    bool causal, window, lower_right;
    int64_t left, right;
} sight;

/* Writes the keys that queries see. The position of query i is i + the number of keys in the past; with lengths the
 * last query has the position of the last key. A past in front of as many new keys as queries is that, too; otherwise
 * it moves the window, whose left side is no less than the past. */
static sight find_sight(const settings *of, bool moves, int64_t past, bool counted, bool masked) {
    const int64_t right = of->causal ? 0 : of->right;
    sight s = {.left = of->left, .right = right};
    s.left -= moves && of->left >= 0 ? past : 0;
    s.right = moves && right >= 0 ? (right > INT64_MAX - past ? -1 : right + past) : right;
    s.causal = right == 0 && !moves && !masked;
    s.right = s.causal ? -1 : s.right;
    s.window = s.left >= 0 || s.right >= 0;
    s.lower_right = (s.causal || s.window) && (counted || (past > 0 && !moves));
    return s;
}

/* Leaves out keys of the past that are behind the windows of all queries, so that none has a window that is shorter
 * than the past. */
static bp_status shorten_past(bp__onnx *r, int64_t unseen, bp__onnx_value **k, bp__onnx_value **v,
                              bp__onnx_value **mask) {
    const int64_t keys = (*k)->shape[2];
    const int axis = *mask ? (*mask)->ndim - 1 : -1;
    BP__TRY(bp__onnx_slice(r, *k, 2, unseen, keys, 1, k));
    BP__TRY(bp__onnx_slice(r, *v, 2, unseen, keys, 1, v));
    return axis >= 0 && (*mask)->shape[axis] == keys ? bp__onnx_slice(r, *mask, axis, unseen, keys, 1, mask) : BP_OK;
}

static const char *word(bool flag) {
    return flag ? "true" : "false";
}

bp_status bp__onnx_convert_attention(bp__onnx *r, const bp__onnx_row *row) {
    settings of;
    bp__onnx_value *q, *k, *v, *mask = bp__onnx_input(r, 3), *lengths = bp__onnx_input(r, 6), *y;
    (void)row;
    BP__TRY(read_settings(r, &of));
    BP__TRY(split_heads(r, r->inputs[0], of.query_heads, &q));
    BP__TRY(split_heads(r, r->inputs[1], of.key_heads, &k));
    BP__TRY(split_heads(r, r->inputs[2], of.key_heads, &v));
    const int64_t fresh = k->shape[2];
    BP__TRY(behind_past(r, 4, 1, &k));
    BP__TRY(behind_past(r, 5, 2, &v));
    int64_t past = k->shape[2] - fresh;
    if (lengths && bp__onnx_input(r, 4)) {
        return bp__fail(BP_E_UNSUPPORTED, "there are 'nonpad_kv_seqlen' and a past; only one of them is possible");
    }
    BP__TRY(complete_mask(r, q, k, &mask));
    const bool moves = past > 0 && q->shape[2] != fresh;
    if (moves && of.left >= 0 && of.left < past) {
        BP__TRY(shorten_past(r, past - of.left, &k, &v, &mask));
        past = of.left;
    }
    const sight seen = find_sight(&of, moves, past, lengths != NULL, mask != NULL);
    BP__TRY(bp__onnx_call_one(r, "attention", lengths ? 6 : 4, ((bp__onnx_value *[]){q, k, v, mask, NULL, lengths}), &y,
                              "is_causal=%s, enable_gqa=%s, has_scale=%s, scale=%a, softcap=%a, has_window=%s, "
                              "window_left=%" PRId64 ", window_right=%" PRId64 ", lower_right=%s",
                              word(seen.causal), word(q->shape[1] != k->shape[1]), word(of.scale != 0), of.scale,
                              of.softcap, word(seen.window), seen.window ? seen.left : 0, seen.window ? seen.right : 0,
                              word(seen.lower_right)));
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
