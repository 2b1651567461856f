/* fuzz_elements.c - runs functions of elements, reductions and softmax, and compares the results with the results of
 * scalar loops; and explains calls of sizes that no memory has. */
#include "arrays.h"

#include "reference/elementwise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- Functions of elements ---- */

static void run_unary(input *in, const bp_options *set) {
    static const double values[] = {1, 0.5, 2, 3, 20, -1, INFINITY, 0.25};
    array x, y;
    const int kind = below(in, BP_UNARY_KINDS), at = below(in, 4) == 0;
    const int count = bp_unary_number_count((bp_unary_kind)kind, NULL);
    double numbers[2] = {0, 0};
    for (int i = 0; i < count; i++) {
        numbers[i] = values[below(in, 8)];
    }
    const bp_dtype from = types[below(in, 6)],
                   to = kind == BP_UNARY_COPY ? types[below(in, 6)] : bp_unary_dtype((bp_unary_kind)kind, from);
    if (!next_shape(in, &x, 0)) {
        return;
    }
    copy_shape(&y, &x);
    if (!place(in, &x, 0, from, at) || !place(in, &y, 1, to, true)) {
        return;
    }
    if (at && from == to) { /* in place */
        y = x;
    }
    keep(&x);
    keep(&y);
    const bp_status status = bp_unary_with_run(set, (bp_unary_kind)kind, count, numbers, &x.tensor, &y.tensor);
    check_bytes(&y, status == BP_OK);
    int64_t index[BP_MAX_NDIM] = {0};
    const bool refused = kind == BP_UNARY_BITWISE_INVERT || (kind == BP_UNARY_SOFTSHRINK && numbers[0] < 0);
    require(status == BP_OK || !is_float(from) || refused, "unary");
    for (bool more = status == BP_OK && count_of(&y) > 0; more; more = advance(&y, index)) {
        const double value = get_old(&x, index);
        double want = kind == BP_UNARY_BITWISE_INVERT
                          ? -1 - value
                          : (double)reference_unary_with((bp_unary_kind)kind, from, numbers, value);
        if ((is_float(from) || kind == BP_UNARY_CLIP) && !is_float(to) && to != BP_BOOL) {
            const double most = to == BP_I32 ? 2147483647. : 9223372036854775807.;
            want = isnan(want) ? 0 : fmax(fmin(trunc(want), most), -most - (to == BP_I32));
        }
        expect(get(&y, index), want, is_float(to) ? (2 + 30 * (kind > 2)) * unit_of(to) * fabs(want) + 0x1p-24 : 0);
    }
    drop(&x);
    drop(&y);
}

static double most_of(bp_dtype dtype) {
    return dtype == BP_F16 ? 65504 : dtype == BP_F64 ? 0x1.fffffffffffffp1023 : 0x1.fep127;
}

/* Truths are computed of numbers, other functions of integers modulo 2^n. Integers here are exact in f64. */
static double binary_value(int kind, bp_dtype type, const double *value) {
    if (is_float(type) || bp_binary_dtype((bp_binary_kind)kind, type) == BP_BOOL) {
        return (double)reference_binary((bp_binary_kind)kind, value[0], value[1]);
    }
    const int64_t whole = reference_binary_whole((bp_binary_kind)kind, type, (int64_t)value[0], (int64_t)value[1]);
    return type == BP_I32 ? (double)(int32_t)(uint32_t)whole : (double)whole;
}

static void run_binary(input *in, const bp_options *set) {
    array x[3];
    const int kind = below(in, BP_BINARY_KINDS), at = below(in, 5);
    const bp_dtype type = types[below(in, 6)], to = bp_binary_dtype((bp_binary_kind)kind, type);
    if (!next_shape(in, &x[2], 0)) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        const int omitted = x[2].tensor.ndim > 0 ? below(in, 4) == 0 : 0;
        x[i].tensor.ndim = x[2].tensor.ndim - (i == 1 ? omitted : 0);
        for (int d = 0; d < x[i].tensor.ndim; d++) {
            x[i].shape[d] = i == 1 && below(in, 4) == 0 ? 1 : x[2].shape[d + x[2].tensor.ndim - x[i].tensor.ndim];
        }
    }
    if (!place(in, &x[0], 0, type, at == 0) || !place(in, &x[1], 1, type, at == 1) || !place(in, &x[2], 2, to, true)) {
        return;
    }
    if (at < 2 && to == type && x[at].tensor.ndim == x[2].tensor.ndim &&
        memcmp(x[at].shape, x[2].shape, (size_t)x[2].tensor.ndim * sizeof(int64_t)) == 0) {
        x[2] = x[at];
    }
    for (int i = 0; i < 3; i++) {
        keep(&x[i]);
    }
    const bp_status status = bp_binary_run(set, (bp_binary_kind)kind, &x[0].tensor, &x[1].tensor, &x[2].tensor);
    check_bytes(&x[2], status == BP_OK);
    require(status == BP_OK || !is_float(type) || kind >= BP_BINARY_BITWISE_AND, "binary");
    int64_t index[BP_MAX_NDIM] = {0};
    for (bool more = status == BP_OK && count_of(&x[2]) > 0; more; more = advance(&x[2], index)) {
        double value[2];
        for (int i = 0; i < 2; i++) {
            int64_t own[BP_MAX_NDIM];
            for (int d = 0; d < x[i].tensor.ndim; d++) {
                own[d] = x[i].shape[d] == 1 ? 0 : index[d + x[2].tensor.ndim - x[i].tensor.ndim];
            }
            value[i] = get_old(&x[i], own);
        }
        const double want = binary_value(kind, type, value);
        const bool overflows = kind == BP_BINARY_POW && is_float(to) && fabs(want) > 0.9 * most_of(to);
        expect(get(&x[2], index), overflows ? get(&x[2], index) : want,
               is_float(to) ? 8 * unit_of(to) * fabs(want) + 0x1p-24 : 0);
    }
    for (int i = 0; i < 3; i++) {
        drop(&x[i]);
    }
}

static void run_take(input *in, const bp_options *set) {
    array x, indices, y;
    const bool gather = below(in, 2);
    const bp_dtype type = types[below(in, 6)], index_type = below(in, 2) ? BP_I32 : BP_I64;
    if (!next_shape(in, &x, 1)) {
        return;
    }
    const int axis = below(in, x.tensor.ndim);
    if (gather) {
        copy_shape(&indices, &x);
        for (int d = 0; d < x.tensor.ndim; d++) {
            indices.shape[d] = d == axis ? below(in, 20) : x.shape[d] - (x.shape[d] > 1 && below(in, 3) == 0);
        }
    } else if (!next_shape(in, &indices, 0)) {
        return;
    }
    const bp_status shaped = bp_take_shape(&x.tensor, &indices.tensor, axis, &y.tensor.ndim, y.shape);
    (void)shaped;
    if (!place(in, &x, 0, type, false) || !place(in, &indices, 1, index_type, true)) {
        return;
    }
    const bool wrong = below(in, 16) == 0;
    for (size_t i = 0; i < indices.bytes / bp_dtype_size(index_type); i++) {
        const int64_t n =
            x.shape[axis] > 0 ? (int64_t)(next_random() % (uint64_t)x.shape[axis]) + (wrong && i == 3) : 0;
        memcpy(indices.low + i * bp_dtype_size(index_type), &n, bp_dtype_size(index_type));
    }
    if (gather) {
        copy_shape(&y, &indices);
    } else if (bp_take_shape(&x.tensor, &indices.tensor, axis, &y.tensor.ndim, y.shape) != BP_OK) {
        return;
    }
    int64_t count = 1;
    for (int d = 0; d < y.tensor.ndim; d++) {
        count *= y.shape[d];
    }
    if (count > MOST_ELEMENTS || !place(in, &y, 2, type, true)) {
        return;
    }
    keep(&y);
    const bp_status status = (gather ? bp_gather_run : bp_take_run)(set, &x.tensor, &indices.tensor, axis, &y.tensor);
    check_bytes(&y, status == BP_OK);
    require(status == BP_OK || wrong || x.shape[axis] == 0, "take");
    int64_t index[BP_MAX_NDIM] = {0};
    for (bool more = status == BP_OK && count_of(&y) > 0; more; more = advance(&y, index)) {
        int64_t from[BP_MAX_NDIM];
        if (gather) {
            memcpy(from, index, sizeof from);
            from[axis] = (int64_t)get(&indices, index);
        } else {
            memcpy(from, index, (size_t)axis * sizeof *from);
            from[axis] = (int64_t)get(&indices, index + axis);
            memcpy(from + axis + 1, index + axis + indices.tensor.ndim,
                   (size_t)(x.tensor.ndim - axis - 1) * sizeof *from);
        }
        require(memcmp(address_of(&x, from), address_of(&y, index), bp_dtype_size(type)) == 0, "take: wrong element");
    }
    drop(&y);
}

/* ---- Rows ---- */

static void run_reduce(input *in, const bp_options *set) {
    array x, y;
    const bp_reduce_kind kind = (bp_reduce_kind)below(in, 9);
    const bool truth = kind == BP_REDUCE_ANY || kind == BP_REDUCE_ALL;
    const bp_dtype type = types[below(in, 6)], to = truth ? BP_BOOL : kind >= BP_REDUCE_ARGMAX ? BP_I64 : type;
    int axes[BP_MAX_NDIM], count = 0;
    bool reduced[BP_MAX_NDIM];
    const int keep_axes = below(in, 2);
    if (!next_shape(in, &x, 0)) {
        return;
    }
    for (int d = 0; d < x.tensor.ndim; d++) {
        reduced[d] = below(in, 2);
        if (reduced[d]) {
            axes[count++] = below(in, 2) ? d : d - x.tensor.ndim;
        }
    }
    if (!place(in, &x, 0, type, false)) {
        return;
    }
    int ndim;
    require(bp_reduce_shape(&x.tensor, count, axes, keep_axes, &ndim, y.shape) == BP_OK, "reduce_shape");
    y.tensor.ndim = ndim;
    if (!place(in, &y, 1, to, true)) {
        return;
    }
    keep(&y);
    const bp_status status = bp_reduce_run(set, kind, &x.tensor, count, axes, keep_axes, &y.tensor);
    check_bytes(&y, status == BP_OK);
    require(status == BP_OK || count_of(&x) == 0 || !is_float(type), "reduce");
    int64_t index[BP_MAX_NDIM] = {0};
    for (bool more = status == BP_OK && count_of(&y) > 0; more; more = advance(&y, index)) {
        array part = x; /* the elements that are joined: dimensions that are kept have size 1 */
        int64_t from[BP_MAX_NDIM] = {0}, at[BP_MAX_NDIM] = {0}, n = 0, best = -1, true_ones = 0;
        double sum = 0, size = 0, product = 1, extreme = 0, largest = 1;
        for (int d = 0, out = 0; d < x.tensor.ndim; d++) {
            part.shape[d] = reduced[d] ? x.shape[d] : 1;
            at[d] = reduced[d] ? 0 : index[out];
            out += !reduced[d] || keep_axes;
        }
        for (bool inner = count_of(&part) > 0; inner; inner = advance(&part, from), n++) {
            int64_t place_of[BP_MAX_NDIM];
            for (int d = 0; d < x.tensor.ndim; d++) {
                place_of[d] = at[d] + from[d];
            }
            const double v = get(&x, place_of);
            true_ones += v != 0;
            sum += v;
            size += fabs(v);
            product *= v;
            largest = fmax(largest, fabs(product));
            const bool least = kind == BP_REDUCE_MIN || kind == BP_REDUCE_ARGMIN;
            if (best < 0 || (!isnan(extreme) && (isnan(v) || (least ? v < extreme : v > extreme)))) {
                extreme = v;
                best = n;
            }
        }
        const double got = get(&y, index);
        const double unit = is_float(type) ? 2 * unit_of(type) : 0;
        switch (kind) {
        case BP_REDUCE_SUM:
            expect(got, sum, is_float(type) ? unit * fabs(sum) + (double)n * 0x1p-52 * size + 0x1p-24 : 0);
            break;
        case BP_REDUCE_MEAN:
            expect(got, sum / (double)n, unit * fabs(sum) + 0x1p-50 * size + 0x1p-24);
            break;
        case BP_REDUCE_PROD:
            if (is_float(type) && n < 100 && isfinite(product) && largest < 1e4) {
                expect(got, product, (unit + (double)n * 0x1p-51) * fabs(product) + 0x1p-24);
            }
            break;
        case BP_REDUCE_MAX:
        case BP_REDUCE_MIN:
            expect(got, extreme, 0);
            break;
        case BP_REDUCE_ANY:
            expect(got, true_ones > 0, 0);
            break;
        case BP_REDUCE_ALL:
            expect(got, true_ones == n, 0);
            break;
        default:
            expect(got, (double)best, 0);
        }
    }
    drop(&y);
}

static void run_softmax(input *in, const bp_options *set) {
    array x, d, y;
    const bp_dtype type = types[below(in, 4)];
    const bp_softmax_kind kind = (bp_softmax_kind)below(in, 2);
    const int what = below(in, 4); /* 0: in place, 1: backward */
    if (!next_shape(in, &x, 1)) {
        return;
    }
    const int axis = below(in, x.tensor.ndim);
    copy_shape(&y, &x);
    copy_shape(&d, &x);
    if (!place(in, &x, 0, type, what == 0) || !place(in, &y, 1, type, true) || !place(in, &d, 2, type, false)) {
        return;
    }
    if (what == 0) {
        y = x;
    }
    keep(&x);
    keep(&y);
    require((what == 1 ? bp_softmax_backward_run(set, kind, &x.tensor, &d.tensor, axis, &y.tensor)
                       : bp_softmax_run(set, kind, &x.tensor, axis, &y.tensor)) == BP_OK,
            "softmax");
    check_bytes(&y, true);
    int64_t index[BP_MAX_NDIM] = {0};
    for (bool more = count_of(&y) > 0; more; more = advance(&y, index)) {
        int64_t at[BP_MAX_NDIM];
        double greatest = -INFINITY, sum = 0, size = 0;
        memcpy(at, index, sizeof at);
        for (at[axis] = 0; at[axis] < x.shape[axis]; at[axis]++) {
            const double v = get_old(&x, at);
            greatest = isnan(greatest) || !(v <= greatest) ? (isnan(greatest) ? greatest : v) : greatest;
        }
        for (at[axis] = 0; at[axis] < x.shape[axis]; at[axis]++) {
            const double v = get_old(&x, at);
            const double term = what != 1 ? exp(v - greatest) : kind == BP_SOFTMAX ? v * get(&d, at) : get(&d, at);
            sum += term;
            size += fabs(term);
        }
        const double v = get_old(&x, index), unit = unit_of(type) + 0x1p-45;
        double want = kind == BP_SOFTMAX ? exp(v - greatest) / sum : v - greatest - log(sum), scale = fabs(want) + 1;
        if (what == 1) {
            const double g = get(&d, index);
            want = kind == BP_SOFTMAX ? v * (g - sum) : g - exp(v) * sum;
            scale = kind == BP_SOFTMAX ? fabs(v) * (fabs(g) + size) : fabs(g) + exp(v) * size;
        }
        expect(get(&y, index), want, isfinite(want) ? 64 * unit * (scale + 1) : 0);
    }
    drop(&x);
    drop(&y);
}

/* ---- Sizes that no memory has ---- */

static void run_huge(input *in, const bp_options *set) {
    (void)set;
    array x[3];
    const bp_dtype type = types[below(in, 6)];
    for (int i = 0; i < 3; i++) {
        x[i].tensor = (DLTensor){.ndim = 1 + below(in, 4), .device = {kDLCPU, 0}, .dtype = bp_dtype_to_dlpack(type)};
        x[i].tensor.shape = x[i].shape;
        x[i].tensor.strides = below(in, 3) ? x[i].strides : NULL;
        for (int d = 0; d < x[i].tensor.ndim; d++) {
            const int bits = below(in, 64);
            x[i].shape[d] = below(in, 2) ? below(in, 3) : (INT64_C(1) << (bits < 63 ? bits : 0)) - below(in, 2);
            x[i].strides[d] = below(in, 3) ? (int64_t)((UINT64_C(1) << below(in, 64)) - (uint64_t)below(in, 2)) : 0;
        }
        if (i > 0 && below(in, 4)) {
            copy_shape(&x[i], &x[0]);
        }
    }
    DLTensor *a = &x[0].tensor, *b = &x[1].tensor, *c = &x[2].tensor;
    bp_explanation *e = NULL;
    int axis = below(in, 4);
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    bp_linear_call linear = {.struct_size = sizeof linear, .input = a, .weight = b, .output = c};
    bp_layer_norm_call layer = {.struct_size = sizeof layer, .row_ndim = 1, .input = a, .weight = b, .output = c};
    bp_rnn_call rnn = {.struct_size = sizeof rnn,
                       .mode = (bp_rnn_mode)below(in, 4),
                       .input = a,
                       .weight_ih = b,
                       .weight_hh = c,
                       .output = a};
    const DLTensor *const list[] = {a, b, c};
    switch (below(in, 9)) {
    case 0:
        bp_unary_explain(&e, NULL, (bp_unary_kind)below(in, BP_UNARY_KINDS + 1), a, b);
        break;
    case 1:
        if (bp_binary_shape(a, b, &ndim, shape) == BP_OK) {
            copy_shape(&x[2], &(array){.tensor.ndim = 0});
            x[2].tensor.ndim = ndim;
            memcpy(x[2].shape, shape, (size_t)ndim * sizeof *shape);
        }
        bp_binary_explain(&e, NULL, (bp_binary_kind)below(in, BP_BINARY_KINDS + 1), a, b, c);
        break;
    case 2:
        x[1].tensor.dtype = bp_dtype_to_dlpack(BP_I64);
        bp_gather_explain(&e, NULL, a, b, axis - 2, c);
        break;
    case 3:
        x[1].tensor.dtype = bp_dtype_to_dlpack(BP_I32);
        if (bp_take_shape(a, b, axis - 2, &ndim, shape) == BP_OK) {
            x[2].tensor.ndim = ndim;
            memcpy(x[2].shape, shape, (size_t)ndim * sizeof *shape);
            x[2].tensor.strides = NULL;
        }
        bp_take_explain(&e, NULL, a, b, axis - 2, c);
        break;
    case 4:
        if (bp_reduce_shape(a, 1, &axis, 1, &ndim, shape) == BP_OK) {
            x[1].tensor.ndim = ndim;
            memcpy(x[1].shape, shape, (size_t)ndim * sizeof *shape);
        }
        bp_reduce_explain(&e, NULL, (bp_reduce_kind)below(in, 10), a, 1, &axis, 1, b);
        bp_variance_explain(&e, NULL, (bp_variance_kind)below(in, 3), a, 1, &axis, (double)axis, 1, b);
        break;
    case 5:
        bp_softmax_backward_explain(&e, NULL, (bp_softmax_kind)below(in, 3), a, b, axis, c);
        break;
    case 6:
        bp_linear_explain(&e, NULL, &linear);
        break;
    case 7:
        bp_layer_norm_explain(&e, NULL, &layer);
        break;
    default:
        bp_concat_shape(3, list, axis - 2, &ndim, shape);
        bp_concat_run(NULL, 2, list, axis, c);
        rnn.directions = 1 + below(in, 2);
        rnn.reset_before = below(in, 2);
        bp_rnn_shape(&rnn, BP_RNN_OUTPUT, &(bp_dtype){BP_F32}, &ndim, shape);
        bp_rnn_explain(&e, NULL, &rnn);
    }
    bp_explanation_release(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static void (*const runs[])(input * in, const bp_options *set) = {run_unary,  run_binary,  run_take,
                                                                      run_reduce, run_softmax, run_huge};
    input in = {data, size};
    const bp_options *set = begin(&in);
    runs[below(&in, BP__COUNT(runs))](&in, set);
    return 0;
}
