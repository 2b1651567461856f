/* convert_windows.c - adds convolutions and pooling: operators whose windows move over one, two or three dimensions. */
#include "onnx/read.h"

#include "base/number.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { NDIM = 3, MOST = 1 << 30 /* of a size of a window, so that sums of products fit */ };
typedef enum auto_pad { NOT_SET, SAME_UPPER, SAME_LOWER, VALID } auto_pad;

typedef struct window {
    int ndim;
    auto_pad automatic;
    bool same; /* padding is equal on both sides */
    int64_t kernel[NDIM], stride[NDIM], dilation[NDIM], before[NDIM], after[NDIM];
} window;

/* ---- Attributes ---- */

/* Reads a list of numbers that are at least `least`; absent ones are the usual number. */
static bp_status read_sizes(bp__onnx *r, const char *name, int count, int64_t least, int64_t usual, int64_t *sizes) {
    int given;
    const int64_t *numbers;
    BP__TRY(bp__onnx_attribute_ints(r, name, count, &given, &numbers));
    for (int d = 0; d < count; d++) {
        sizes[d] = numbers ? numbers[d] : usual;
        if (sizes[d] < least || sizes[d] > MOST) {
            return bp__fail(BP_E_UNSUPPORTED,
                            "attribute '%s' has the element %" PRId64 "; it must be %" PRId64 " to %d", name, sizes[d],
                            least, MOST);
        }
    }
    return BP_OK;
}

/* The distance from the first to behind the last element of a window. */
static int64_t span_of(const window *w, int d) {
    return (w->kernel[d] - 1) * w->dilation[d] + 1;
}

/* Divides padding among both sides; an odd one has one more at the end, or with `lower` at the beginning. */
static void divide_padding(window *w, int d, int64_t total, bool lower) {
    total = total > 0 ? total : 0;
    w->before[d] = lower ? total - total / 2 : total / 2;
    w->after[d] = total - w->before[d];
}

/* Finds the padding, with which outputs of a convolution have the size of the input divided by the stride. */
static void pad_same(window *w, const int64_t *sizes) {
    for (int d = 0; d < w->ndim; d++) {
        const int64_t outputs = sizes[d] / w->stride[d] + (sizes[d] % w->stride[d] != 0);
        divide_padding(w, d, (outputs - 1) * w->stride[d] + span_of(w, d) - sizes[d], w->automatic == SAME_LOWER);
    }
}

/* Reads the attributes of an operator with windows over all dimensions of x but two. `weight`: it has the sizes of the
 * kernel; NULL: an attribute has them. */
static bp_status read_window(bp__onnx *r, const bp__onnx_value *weight, window *w) {
    const bp__onnx_value *x = r->inputs[0];
    int64_t pads[2 * NDIM];
    int automatic, count;
    const int64_t *kernel;
    memset(w, 0, sizeof *w);
    w->ndim = x->ndim - 2;
    if (w->ndim < 1 || w->ndim > NDIM || (weight && weight->ndim != x->ndim)) {
        return bp__fail(BP_E_UNSUPPORTED, "its input has %d dimensions; it must have 3 to 5, as the weight", x->ndim);
    }
    BP__TRY(bp__onnx_attribute_word(r, "auto_pad", "NOTSET,SAME_UPPER,SAME_LOWER,VALID", NOT_SET, &automatic));
    BP__TRY(bp__onnx_attribute_ints(r, "kernel_shape", w->ndim, &count, &kernel));
    if (!kernel && !weight) {
        return bp__fail(BP_E_FORMAT, "attribute 'kernel_shape' is absent");
    }
    BP__TRY(read_sizes(r, "kernel_shape", w->ndim, 1, 1, w->kernel));
    BP__TRY(read_sizes(r, "strides", w->ndim, 1, 1, w->stride));
    BP__TRY(read_sizes(r, "dilations", w->ndim, 1, 1, w->dilation));
    BP__TRY(read_sizes(r, "pads", 2 * w->ndim, 0, 0, pads));
    w->automatic = (auto_pad)automatic;
    for (int d = 0; d < w->ndim; d++) {
        if (weight && kernel && kernel[d] != weight->shape[d + 2]) {
            return bp__fail(BP_E_SHAPE, "attribute 'kernel_shape' is not the shape of the weight");
        }
        w->kernel[d] = weight ? weight->shape[d + 2] : w->kernel[d];
        w->before[d] = automatic == NOT_SET ? pads[d] : 0;
        w->after[d] = automatic == NOT_SET ? pads[d + w->ndim] : 0;
        if (w->kernel[d] > MOST || x->shape[d + 2] > MOST) {
            return bp__fail(BP_E_OVERFLOW, "dimension %d is longer than %d", d + 2, MOST);
        }
    }
    return BP_OK;
}

static void compare_sides(window *w) {
    w->same = true;
    for (int d = 0; d < w->ndim; d++) {
        w->same &= w->before[d] == w->after[d];
    }
}

/* ---- Convolutions ---- */

static bp_status add_conv(bp__onnx *r, const window *w, int64_t groups, int operand_count,
                          bp__onnx_value *const *operands, const char *more, bp__onnx_value **result) {
    bp__onnx_list stride, dilation, before, after;
    return bp__onnx_call_one(
        r, "conv", operand_count, operands, result,
        "ndim=%d, groups=%" PRId64 ", stride=%s, dilation=%s, padding=%s, padding_end=%s%s", w->ndim, groups,
        bp__onnx_list_of(w->ndim, w->stride, &stride), bp__onnx_list_of(w->ndim, w->dilation, &dilation),
        bp__onnx_list_of(w->ndim, w->before, &before), bp__onnx_list_of(w->ndim, w->after, &after), more);
}

enum { MORE = 256 };

/* Writes the field of a function of the output that the next node has. Returns the buffer. */
static const char *activation_field(bp__onnx *r, char more[MORE]) {
    bp__onnx_chain chain;
    bp__onnx_chain_begin(r, &chain);
    const char *kind = bp__onnx_chain_activation(r, &chain);
    bp__format(more, MORE, "%s%s", kind ? ", activation=" : "", kind ? kind : "");
    return more;
}

bp_status bp__onnx_convolve(bp__onnx *r, int operand_count, bp__onnx_value *const *operands, bool fuses,
                            bp__onnx_value **result) {
    window w;
    int64_t groups;
    char more[MORE] = "";
    BP__TRY(read_window(r, operands[1], &w));
    BP__TRY(bp__onnx_attribute_int(r, "group", 1, &groups));
    if (w.automatic == SAME_UPPER || w.automatic == SAME_LOWER) {
        pad_same(&w, r->inputs[0]->shape + 2);
    }
    return add_conv(r, &w, groups, operand_count, operands, fuses ? activation_field(r, more) : more, result);
}

bp_status bp__onnx_convert_conv(bp__onnx *r, const bp__onnx_row *row) {
    (void)row;
    return bp__onnx_convolve(r, r->input_count, r->inputs, true, &r->results[0]);
}

/* Finds the padding of a transposed convolution from the sizes that the output must have. */
static bp_status pad_outputs(bp__onnx *r, window *w, const int64_t *extra) {
    const bp__onnx_value *x = r->inputs[0];
    int count;
    const int64_t *wanted;
    BP__TRY(bp__onnx_attribute_ints(r, "output_shape", -1, &count, &wanted));
    if (!wanted && w->automatic != SAME_UPPER && w->automatic != SAME_LOWER) {
        return BP_OK;
    }
    if (wanted && count != w->ndim && count != x->ndim) {
        return bp__fail(BP_E_FORMAT, "attribute 'output_shape' has %d elements; it must have %d", count, w->ndim);
    }
    for (int d = 0; d < w->ndim; d++) {
        const int64_t size = x->shape[d + 2], natural = (size - 1) * w->stride[d] + extra[d] + span_of(w, d);
        const int64_t output = wanted ? wanted[count - w->ndim + d] : size * w->stride[d];
        if (output < 0 || output > natural) {
            return bp__fail(BP_E_UNSUPPORTED,
                            "dimension %d of the output has %" PRId64 " elements; at most %" PRId64
                            " follow from the input",
                            d + 2, output, natural);
        }
        divide_padding(w, d, natural - output, w->automatic != SAME_UPPER);
    }
    return BP_OK;
}

bp_status bp__onnx_convert_conv_transpose(bp__onnx *r, const bp__onnx_row *row) {
    window w;
    int64_t groups, extra[NDIM];
    char more[MORE], function[MORE];
    bp__onnx_list list;
    (void)row;
    BP__TRY(read_window(r, r->inputs[1], &w));
    BP__TRY(bp__onnx_attribute_int(r, "group", 1, &groups));
    BP__TRY(read_sizes(r, "output_padding", w.ndim, 0, 0, extra));
    BP__TRY(pad_outputs(r, &w, extra));
    bp__format(more, sizeof more, ", transposed=true, output_padding=%s%s", bp__onnx_list_of(w.ndim, extra, &list),
               activation_field(r, function));
    return add_conv(r, &w, groups, r->input_count, r->inputs, more, &r->results[0]);
}

/* ---- Pooling ---- */

/* Whether the call has this padding: the same on both sides, of at most half of a window. */
static bool pool_pads(const window *w) {
    bool fits = w->same;
    for (int d = 0; d < w->ndim; d++) {
        fits &= w->before[d] <= span_of(w, d) / 2;
    }
    return fits;
}

static bp_status read_pool(bp__onnx *r, window *w, bool *ceil_mode) {
    BP__TRY(read_window(r, NULL, w));
    BP__TRY(bp__onnx_attribute_flag(r, "ceil_mode", false, ceil_mode));
    if (w->automatic == SAME_UPPER || w->automatic == SAME_LOWER) {
        pad_same(w, r->inputs[0]->shape + 2);
    }
    *ceil_mode &= w->automatic == NOT_SET;
    compare_sides(w);
    return BP_OK;
}

/* Returns the number of windows. Those that begin behind the input and its first padding are left out. */
static int64_t count_windows(const window *w, int d, int64_t size, bool ceil_mode) {
    const int64_t left = size + w->before[d] + w->after[d] - span_of(w, d);
    int64_t count = left < 0 ? 0 : left / w->stride[d] + 1;
    if (ceil_mode && left >= 0 && left % w->stride[d] != 0 && count * w->stride[d] < size + w->before[d]) {
        count++;
    }
    return count;
}

/* Changes the padding at the end so that windows end with it, for calls without ceil_mode. */
static void end_padding(window *w, const int64_t *sizes, bool ceil_mode) {
    for (int d = 0; d < w->ndim; d++) {
        const int64_t windows = count_windows(w, d, sizes[d], ceil_mode);
        const int64_t end = (windows - 1) * w->stride[d] + span_of(w, d) - sizes[d] - w->before[d];
        w->after[d] = windows > 0 && end > w->after[d] ? end : w->after[d];
    }
}

/* Surrounds the input by elements that are no maximum. */
static bp_status pad_with_least(bp__onnx *r, bp__onnx_value *x, const window *w, bp__onnx_value **padded) {
    int64_t before[NDIM + 2] = {0}, after[NDIM + 2] = {0};
    memcpy(before + 2, w->before, sizeof w->before);
    memcpy(after + 2, w->after, sizeof w->after);
    return bp__onnx_pad(r, x, before, after, -HUGE_VAL, padded);
}

/* Places of maxima count in the whole tensor; the call counts in the channel. */
static bp_status move_places(bp__onnx *r, bp__onnx_value *places, const bp__onnx_value *x, bp__onnx_value **result) {
    int64_t shape[NDIM + 2] = {x->shape[0], x->shape[1], 1, 1, 1}, channel = 1;
    bp__onnx_value *from;
    for (int d = 2; d < x->ndim; d++) {
        channel *= x->shape[d];
    }
    BP__TRY(bp__onnx_counted(r, BP_I64, x->shape[0] * x->shape[1], 0, channel, &from));
    BP__TRY(bp__onnx_reshape(r, from, x->ndim, shape, &from));
    return bp__onnx_binary(r, "add", places, from, result);
}

static bp_status add_max_pool(bp__onnx *r, bp__onnx_value *x, const window *w, bool ceil_mode,
                              bp__onnx_value **result) {
    const bool indexed = bp__onnx_is_wanted(r, 1);
    bp__onnx_list kernel, stride, dilation, padding;
    bp__onnx_value *places;
    BP__TRY(bp__onnx_call(r, "pool", 1, &x, 2, (bp__onnx_value * *const[]){result, indexed ? &places : NULL},
                          "kind=max, ndim=%d, kernel=%s, stride=%s, dilation=%s, padding=%s, ceil_mode=%s", w->ndim,
                          bp__onnx_list_of(w->ndim, w->kernel, &kernel), bp__onnx_list_of(w->ndim, w->stride, &stride),
                          bp__onnx_list_of(w->ndim, w->dilation, &dilation),
                          bp__onnx_list_of(w->ndim, w->before, &padding), ceil_mode ? "true" : "false"));
    return indexed ? move_places(r, places, r->inputs[0], &r->results[1]) : BP_OK;
}

/* The call has no i8 and u8, whose numbers f32 holds. */
bp_status bp__onnx_convert_max_pool(bp__onnx *r, const bp__onnx_row *row) {
    window w;
    bool ceil_mode;
    int64_t order;
    bp__onnx_value *x = r->inputs[0], *wide, *pooled;
    (void)row;
    BP__TRY(read_pool(r, &w, &ceil_mode));
    BP__TRY(bp__onnx_attribute_int(r, "storage_order", 0, &order));
    const bool fits = pool_pads(&w), indexed = bp__onnx_is_wanted(r, 1);
    if (indexed && (order != 0 || !fits)) {
        return bp__fail(BP_E_UNSUPPORTED, "output 'Indices' is not supported with storage_order, and with padding that "
                                          "differs on both sides or is more than half of a window");
    }
    BP__TRY(bp__onnx_cast(r, x, x->dtype == BP_I8 || x->dtype == BP_U8 ? BP_F32 : x->dtype, &wide));
    if (!fits) {
        end_padding(&w, x->shape + 2, ceil_mode);
        BP__TRY(pad_with_least(r, wide, &w, &wide));
        memset(w.before, 0, sizeof w.before);
        ceil_mode = false;
    }
    BP__TRY(add_max_pool(r, wide, &w, ceil_mode, &pooled));
    return bp__onnx_cast(r, pooled, x->dtype, &r->results[0]);
}

/* Makes the number of elements of each window of a dimension: those that lie in it, with padding or without. */
static bp_status count_elements(bp__onnx *r, const window *w, int d, int64_t size, bool padding, int64_t windows,
                                bp__onnx_value **counts) {
    const int64_t low = padding ? 0 : w->before[d], high = w->before[d] + size + (padding ? w->after[d] : 0);
    int64_t shape[NDIM + 2] = {1, 1, 1, 1, 1};
    bp__onnx_value *made;
    BP__TRY(bp__onnx_counted(r, BP_I64, windows, 0, 0, &made));
    int64_t *list = (int64_t *)(uintptr_t)made->data;
    for (int64_t o = 0; o < windows; o++) {
        const int64_t first = o * w->stride[d], step = w->dilation[d];
        const int64_t from = first >= low ? 0 : (low - first + step - 1) / step;
        const int64_t left = high - first, to = left <= 0 ? 0 : (left - 1) / step + 1;
        const int64_t end = to < w->kernel[d] ? to : w->kernel[d];
        list[o] = end > from ? end - from : 0;
    }
    shape[d + 2] = windows;
    BP__TRY(bp__onnx_reshape(r, made, w->ndim + 2, shape, &made));
    return bp__onnx_cast(r, made, r->inputs[0]->dtype, counts);
}

/* Averages that the call has not: sums, which are convolutions of each channel with ones, divided by the numbers of
 * elements. */
static bp_status average_by_conv(bp__onnx *r, const window *given, bool ceil_mode, bool padding) {
    bp__onnx_value *x = r->inputs[0], *ones, *sums, *counts;
    window w = *given;
    int64_t shape[NDIM + 2] = {1, 1, 1, 1, 1};
    int64_t channels[NDIM + 2] = {-1, 1};
    memcpy(channels + 2, x->shape + 2, (size_t)w.ndim * sizeof *channels);
    memcpy(shape + 2, w.kernel, (size_t)w.ndim * sizeof *shape);
    channels[0] = x->shape[0] * x->shape[1];
    end_padding(&w, x->shape + 2, ceil_mode);
    BP__TRY(bp__onnx_scalar(r, 1, x->dtype, &ones));
    BP__TRY(bp__onnx_expand(r, ones, x->ndim, shape, &ones));
    BP__TRY(bp__onnx_reshape(r, x, x->ndim, channels, &sums));
    BP__TRY(add_conv(r, &w, 1, 2, ((bp__onnx_value *[]){sums, ones}), "", &sums));
    memcpy(channels + 2, sums->shape + 2, (size_t)w.ndim * sizeof *channels);
    memcpy(channels, x->shape, 2 * sizeof *channels);
    BP__TRY(bp__onnx_reshape(r, sums, x->ndim, channels, &sums));
    for (int d = 0; d < w.ndim; d++) {
        BP__TRY(count_elements(r, given, d, x->shape[d + 2], padding, sums->shape[d + 2], &counts));
        BP__TRY(bp__onnx_binary(r, "divide", sums, counts, &sums));
    }
    r->results[0] = sums;
    return BP_OK;
}

bp_status bp__onnx_convert_average_pool(bp__onnx *r, const bp__onnx_row *row) {
    window w;
    bool ceil_mode, padding, dilated = false;
    bp__onnx_list kernel, stride, before;
    (void)row;
    BP__TRY(read_pool(r, &w, &ceil_mode));
    BP__TRY(bp__onnx_attribute_flag(r, "count_include_pad", false, &padding));
    for (int d = 0; d < w.ndim; d++) {
        dilated |= w.dilation[d] != 1;
    }
    if (dilated || !pool_pads(&w)) {
        return average_by_conv(r, &w, ceil_mode, padding);
    }
    return bp__onnx_call_one(
        r, "pool", 1, r->inputs, &r->results[0],
        "kind=average, ndim=%d, kernel=%s, stride=%s, padding=%s, ceil_mode=%s, exclude_padding=%s", w.ndim,
        bp__onnx_list_of(w.ndim, w.kernel, &kernel), bp__onnx_list_of(w.ndim, w.stride, &stride),
        bp__onnx_list_of(w.ndim, w.before, &before), ceil_mode ? "true" : "false", padding ? "false" : "true");
}

bp_status bp__onnx_convert_global_pool(bp__onnx *r, const bp__onnx_row *row) {
    int axes[BP_MAX_NDIM], count = 0;
    for (int d = 2; d < r->inputs[0]->ndim; d++) {
        axes[count++] = d;
    }
    return count == 0 ? bp__fail(BP_E_SHAPE, "its input has fewer than three dimensions")
                      : bp__onnx_reduce(r, row->call, r->inputs[0], count, axes, true, &r->results[0]);
}

/* ---- Local response normalization: x / (bias + alpha * mean of squares of neighbouring channels) ^ beta ---- */

static bp_status mean_of_channels(bp__onnx *r, bp__onnx_value *squares, int64_t size, bp__onnx_value **result) {
    const int64_t first = (size - 1) / 2, *n = squares->shape;
    bp__onnx_value *view;
    BP__TRY(bp__onnx_reshape(r, squares, 4, (int64_t[]){n[0], 1, n[1], squares->ndim == 2 ? 1 : -1}, &view));
    BP__TRY(bp__onnx_pad(r, view, (int64_t[]){0, 0, first, 0}, (int64_t[]){0, 0, size - 1 - first, 0}, 0, &view));
    BP__TRY(bp__onnx_call_one(r, "pool", 1, &view, &view,
                              "kind=average, ndim=2, kernel=[%" PRId64 ", 1], stride=[1, 1]", size));
    return bp__onnx_reshape(r, view, squares->ndim, n, result);
}

bp_status bp__onnx_convert_lrn(bp__onnx *r, const bp__onnx_row *row) {
    int64_t size;
    double alpha, beta, bias;
    bp__onnx_value *x = r->inputs[0], *sum;
    (void)row;
    BP__TRY(bp__onnx_attribute_int(r, "size", 0, &size));
    BP__TRY(bp__onnx_attribute_real(r, "alpha", (double)0.0001f, &alpha));
    BP__TRY(bp__onnx_attribute_real(r, "beta", 0.75, &beta));
    BP__TRY(bp__onnx_attribute_real(r, "bias", 1, &bias));
    if (size < 1 || size > MOST || x->ndim < 2 || bp__onnx_count(x) == 0) {
        return bp__fail(BP_E_UNSUPPORTED, "attribute 'size' is %" PRId64 ", or its input is empty or has no channels",
                        size);
    }
    BP__TRY(bp__onnx_binary(r, "multiply", x, x, &sum));
    BP__TRY(mean_of_channels(r, sum, size, &sum));
    BP__TRY(bp__onnx_binary_with(r, "multiply", sum, alpha, &sum));
    BP__TRY(bp__onnx_binary_with(r, "add", sum, bias, &sum));
    BP__TRY(bp__onnx_binary_with(r, "pow", sum, beta, &sum));
    return bp__onnx_binary(r, "divide", x, sum, &r->results[0]);
}
