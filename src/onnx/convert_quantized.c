/* convert_quantized.c - adds products and convolutions of numbers of 8 bits, whose sums are exact.
 *
 * A product of differences from zero points is the product of the numbers, less sums of rows and columns times the
 * other zero point: so the products run on kernels for such numbers. Convolutions run in f64, and their results are
 * rounded. */
#include "onnx/read.h"

#include <inttypes.h>

enum { GREATEST = 255 };

static bp_status check_bytes(const bp__onnx_value *x, const char *name) {
    return x && (x->dtype == BP_I8 || x->dtype == BP_U8)
               ? BP_OK
               : bp__fail(BP_E_UNSUPPORTED, "input '%s' has elements of type %s; they must be i8 or u8", name,
                          x ? bp_dtype_name(x->dtype) : "none");
}

/* ---- Products ---- */

/* An operand of a product: its numbers, and its zero point as i32; NULL: it is 0. */
typedef struct factor {
    bp__onnx_value *x, *zero;
} factor;

/* A zero point is a number, or has one for each row of A or column of B. */
static bp_status read_factor(bp__onnx *r, int input, int zero, int axis, const char *name, factor *of) {
    bp__onnx_value *point = bp__onnx_input(r, zero);
    *of = (factor){r->inputs[input], point};
    BP__TRY(check_bytes(of->x, name));
    if (of->x->ndim < 2) {
        return bp__fail(BP_E_UNSUPPORTED, "input '%s' has %d dimensions; it must have two or more", name, of->x->ndim);
    }
    if (!point) {
        return BP_OK;
    }
    if (point->dtype != of->x->dtype) {
        return bp__fail(BP_E_FORMAT, "the zero point of '%s' has another type", name);
    }
    if (point->ndim == 1 && point->shape[0] != 1 && axis == 0) {
        BP__TRY(bp__onnx_reshape(r, point, 2, (int64_t[]){point->shape[0], 1}, &of->zero));
    }
    return bp__onnx_cast(r, of->zero, BP_I32, &of->zero);
}

/* Subtracts sums of an operand's rows or columns, times the zero point of the other one. */
static bp_status subtract_sums(bp__onnx *r, bp__onnx_value *x, int axis, bp__onnx_value *zero, bp__onnx_value **sum) {
    bp__onnx_value *part;
    axis += x->ndim - 2;
    BP__TRY(bp__onnx_cast(r, x, BP_I32, &part));
    BP__TRY(bp__onnx_reduce(r, "sum", part, 1, &axis, true, &part));
    BP__TRY(bp__onnx_cast(r, part, BP_I32, &part));
    BP__TRY(bp__onnx_binary(r, "multiply", part, zero, &part));
    return bp__onnx_binary(r, "subtract", *sum, part, sum);
}

/* Adds the product of i32 of the inputs a and b, with their zero points. */
static bp_status multiply(bp__onnx *r, const factor *a, const factor *b, bp__onnx_value **product) {
    bp__onnx_value *both;
    const int64_t terms = a->x->shape[a->x->ndim - 1];
    BP__TRY(bp__onnx_call_one(r, "matmul", 2, ((bp__onnx_value *[]){a->x, b->x}), product, " "));
    if (b->zero) {
        BP__TRY(subtract_sums(r, a->x, 1, b->zero, product));
    }
    if (a->zero) {
        BP__TRY(subtract_sums(r, b->x, 0, a->zero, product));
    }
    if (!a->zero || !b->zero) {
        return BP_OK;
    }
    BP__TRY(bp__onnx_binary(r, "multiply", a->zero, b->zero, &both));
    BP__TRY(bp__onnx_binary_with(r, "multiply", both, (double)terms, &both));
    return bp__onnx_binary(r, "add", *product, both, product);
}

bp_status bp__onnx_convert_matmul_integer(bp__onnx *r, const bp__onnx_row *row) {
    factor a, b;
    (void)row;
    BP__TRY(read_factor(r, 0, 2, 0, "A", &a));
    BP__TRY(read_factor(r, 1, 3, 1, "B", &b));
    return multiply(r, &a, &b, &r->results[0]);
}

/* ---- Results of 8 bits ---- */

/* Gives scales of rows a dimension for the columns. */
static bp_status of_rows(bp__onnx *r, bp__onnx_value **x) {
    return (*x)->ndim == 1 && (*x)->shape[0] != 1 ? bp__onnx_reshape(r, *x, 2, (int64_t[]){(*x)->shape[0], 1}, x)
                                                  : BP_OK;
}

/* Rounds sums times both scales and divided by the scale of the result, and adds the zero point of the result, which
 * has its type. */
static bp_status quantize_sums(bp__onnx *r, bp__onnx_value *sums, bp__onnx_value *const scales[3], bp__onnx_value *zero,
                               bp__onnx_value **result) {
    bp__onnx_value *scale, *wide, *floats[3], *start;
    for (int i = 0; i < 3; i++) {
        BP__TRY(bp__onnx_cast(r, scales[i], BP_F32, &floats[i]));
    }
    BP__TRY(bp__onnx_binary(r, "multiply", floats[0], floats[1], &scale));
    BP__TRY(bp__onnx_binary(r, "divide", scale, floats[2], &scale));
    BP__TRY(bp__onnx_cast(r, sums, BP_F32, &wide));
    BP__TRY(bp__onnx_binary(r, "multiply", wide, scale, &wide));
    BP__TRY(bp__onnx_unary(r, "round", wide, &wide));
    BP__TRY(bp__onnx_cast(r, zero, BP_F32, &start));
    BP__TRY(bp__onnx_binary(r, "add", wide, start, &wide));
    const bool is_signed = zero->dtype == BP_I8;
    BP__TRY(bp__onnx_clip_to(r, wide, is_signed ? -128 : 0, is_signed ? 127 : GREATEST, &wide));
    return bp__onnx_cast(r, wide, zero->dtype, result);
}

/* The inputs are a, its scale and zero point, b and the same, and scale and zero point of the result. */
bp_status bp__onnx_convert_qlinear_matmul(bp__onnx *r, const bp__onnx_row *row) {
    factor a, b;
    bp__onnx_value *sums, *scales[3] = {r->inputs[1], r->inputs[4], r->inputs[6]}, *zero = r->inputs[7];
    (void)row;
    BP__TRY(read_factor(r, 0, 2, 0, "a", &a));
    BP__TRY(read_factor(r, 3, 5, 1, "b", &b));
    BP__TRY(check_bytes(zero, "y_zero_point"));
    BP__TRY(multiply(r, &a, &b, &sums));
    BP__TRY(of_rows(r, &scales[0]));
    BP__TRY(of_rows(r, &scales[2]));
    BP__TRY(of_rows(r, &zero));
    return quantize_sums(r, sums, scales, zero, &r->results[0]);
}

/* ---- Convolutions ---- */

/* Makes floats of an input's differences from its zero point, which is a number or has one for each channel. */
static bp_status differences(bp__onnx *r, int input, int zero, const char *name, bp_dtype dtype,
                             bp__onnx_value **made) {
    bp__onnx_value *x = r->inputs[input], *point = bp__onnx_input(r, zero);
    int64_t shape[BP_MAX_NDIM];
    BP__TRY(check_bytes(x, name));
    BP__TRY(bp__onnx_cast(r, x, dtype, made));
    if (!point) {
        return BP_OK;
    }
    if (point->dtype != x->dtype || point->ndim > 1 || x->ndim < 1) {
        return bp__fail(BP_E_FORMAT, "the zero point of '%s' has another type, or more than one dimension", name);
    }
    for (int d = 0; d < x->ndim; d++) {
        shape[d] = d == 0 ? bp__onnx_count(point) : 1;
    }
    BP__TRY(bp__onnx_reshape(r, point, x->ndim, shape, &point));
    BP__TRY(bp__onnx_cast(r, point, dtype, &point));
    return bp__onnx_binary(r, "subtract", *made, point, made);
}

/* Adds a convolution whose result is i32. `x` and `w` are numbers of the inputs, followed by their zero points `apart`
 * inputs behind them. In f64, the sums are right to far less than a half, also by algorithms that transform their
 * inputs, which are not exact; in f32 they would not be. */
static bp_status convolve_bytes(bp__onnx *r, int x, int w, int apart, bp__onnx_value **sums) {
    bp__onnx_value *wide[2];
    BP__TRY(differences(r, x, x + apart, "x", BP_F64, &wide[0]));
    BP__TRY(differences(r, w, w + apart, "w", BP_F64, &wide[1]));
    BP__TRY(bp__onnx_convolve(r, 2, wide, false, sums));
    BP__TRY(bp__onnx_unary(r, "round", *sums, sums));
    return bp__onnx_cast(r, *sums, BP_I32, sums);
}

bp_status bp__onnx_convert_conv_integer(bp__onnx *r, const bp__onnx_row *row) {
    (void)row;
    return convolve_bytes(r, 0, 1, 2, &r->results[0]);
}

/* Gives a scale of channels of the result the dimensions behind them. */
static bp_status of_channels(bp__onnx *r, int ndim, bp__onnx_value **x) {
    int64_t shape[BP_MAX_NDIM];
    if ((*x)->ndim == 0) {
        return BP_OK;
    }
    if ((*x)->ndim != 1) {
        return bp__fail(BP_E_FORMAT, "a scale or 'B' has %d dimensions; it must have one at most", (*x)->ndim);
    }
    for (int d = 0; d < ndim; d++) {
        shape[d] = d == 1 ? (*x)->shape[0] : 1;
    }
    return bp__onnx_reshape(r, *x, ndim, shape, x);
}

/* The inputs have the order of a quantized product's, and a bias of i32 follows. */
bp_status bp__onnx_convert_qlinear_conv(bp__onnx *r, const bp__onnx_row *row) {
    bp__onnx_value *scales[3] = {r->inputs[1], r->inputs[4], r->inputs[6]}, *zero = r->inputs[7], *sums;
    bp__onnx_value *bias = bp__onnx_input(r, 8);
    (void)row;
    BP__TRY(check_bytes(zero, "y_zero_point"));
    if (zero->ndim > 1 || bp__onnx_count(zero) != 1) {
        return bp__fail(BP_E_FORMAT, "input 'y_zero_point' has not one element");
    }
    BP__TRY(convolve_bytes(r, 0, 3, 2, &sums));
    if (bias) {
        BP__TRY(of_channels(r, sums->ndim, &bias));
        BP__TRY(bp__onnx_binary(r, "add", sums, bias, &sums));
    }
    for (int i = 0; i < 3; i++) {
        BP__TRY(of_channels(r, sums->ndim, &scales[i]));
    }
    return quantize_sums(r, sums, scales, zero, &r->results[0]);
}

/* ---- Quantization with a scale that follows from the numbers ---- */

static bp_status least_or_most(bp__onnx *r, const char *reduction, const char *with_zero, bp__onnx_value **number) {
    int axes[BP_MAX_NDIM];
    bp__onnx_value *x = r->inputs[0];
    for (int d = 0; d < x->ndim; d++) {
        axes[d] = d;
    }
    *number = x;
    if (x->ndim > 0) {
        BP__TRY(bp__onnx_reduce(r, reduction, x, x->ndim, axes, false, number));
    }
    return bp__onnx_binary_with(r, with_zero, *number, 0, number);
}

bp_status bp__onnx_convert_dynamic_quantize(bp__onnx *r, const bp__onnx_row *row) {
    bp__onnx_value *x = r->inputs[0], *most, *least, *scale, *same, *one, *zero, *y;
    (void)row;
    if (x->dtype != BP_F32 || bp__onnx_count(x) == 0) {
        return bp__fail(BP_E_UNSUPPORTED, "its input is empty, or has elements of type %s; they must be f32",
                        bp_dtype_name(x->dtype));
    }
    BP__TRY(least_or_most(r, "max", "maximum", &most));
    BP__TRY(least_or_most(r, "min", "minimum", &least));
    BP__TRY(bp__onnx_binary(r, "subtract", most, least, &scale));
    BP__TRY(bp__onnx_binary_with(r, "equal", scale, 0, &same)); /* all numbers are 0 */
    BP__TRY(bp__onnx_scalar(r, 1, BP_F32, &one));
    BP__TRY(bp__onnx_where(r, same, one, scale, &scale));
    BP__TRY(bp__onnx_binary_with(r, "divide", scale, GREATEST, &scale));
    BP__TRY(bp__onnx_binary(r, "divide", least, scale, &zero));
    BP__TRY(bp__onnx_unary(r, "negative", zero, &zero));
    BP__TRY(bp__onnx_clip_to(r, zero, 0, GREATEST, &zero));
    BP__TRY(bp__onnx_unary(r, "round", zero, &zero));
    BP__TRY(bp__onnx_binary(r, "divide", x, scale, &y));
    BP__TRY(bp__onnx_unary(r, "round", y, &y));
    BP__TRY(bp__onnx_binary(r, "add", y, zero, &y));
    BP__TRY(bp__onnx_clip_to(r, y, 0, GREATEST, &y));
    BP__TRY(bp__onnx_cast(r, y, BP_U8, &r->results[0]));
    r->results[1] = scale;
    return bp__onnx_cast(r, zero, BP_U8, &r->results[2]);
}
