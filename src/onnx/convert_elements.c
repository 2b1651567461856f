/* convert_elements.c - adds operators of single elements. */
#include "onnx/read.h"

#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Rows that are one call ---- */

/* Writes the value of an attribute of a row, which stands between braces: {name:usual}. */
static bp_status write_attribute(bp__onnx *r, const char *from, size_t length, bp__text *text) {
    char name[64], *colon, *end;
    double real;
    int64_t number;
    snprintf(name, sizeof name, "%.*s", (int)length, from);
    colon = strchr(name, ':');
    *colon = '\0';
    if (strchr(colon + 1, '.')) {
        BP__TRY(bp__onnx_attribute_real(r, name, bp__read_real(colon + 1, &end), &real));
        bp__text_addf(text, "%a", real);
    } else {
        BP__TRY(bp__parse_int(colon + 1, &number) ? bp__onnx_attribute_int(r, name, number, &number)
                                                  : bp__fail(BP_E_INTERNAL, "%s is no number", colon + 1));
        bp__text_addf(text, "%lld", (long long)number);
    }
    return BP_OK;
}

static bp_status write_fields(bp__onnx *r, const char *fields, bp__text *text) {
    for (const char *at = fields; *at;) {
        const size_t plain = strcspn(at, "{");
        bp__text_add_n(text, at, plain);
        at += plain;
        if (*at) {
            const size_t inside = strcspn(++at, "}");
            BP__TRY(write_attribute(r, at, inside, text));
            at += inside + 1;
        }
    }
    return text->failed ? bp__fail_memory(text->capacity, "an ONNX model") : BP_OK;
}

bp_status bp__onnx_convert_call(bp__onnx *r, const bp__onnx_row *row) {
    bp__text fields = {0};
    bp_status status = write_fields(r, row->fields, &fields);
    status = status == BP_OK ? bp__onnx_call_one(r, row->call, r->input_count, r->inputs, &r->results[0], "%s",
                                                 bp__text_get(&fields))
                             : status;
    bp__text_free(&fields);
    return status;
}

bp_status bp__onnx_convert_unary(bp__onnx *r, const bp__onnx_row *row) {
    return bp__onnx_unary(r, row->call, r->inputs[0], &r->results[0]);
}

/* ---- Of one element, with attributes ---- */

/* The calls round their numbers to f32, as the attributes are, which celu divides by: max(x, 0) + min(0, ...). */
bp_status bp__onnx_convert_celu(bp__onnx *r, const bp__onnx_row *row) {
    double alpha;
    (void)row;
    BP__TRY(bp__onnx_attribute_real(r, "alpha", 1, &alpha));
    return bp__onnx_call_one(r, "unary", 1, r->inputs, &r->results[0], "kind=celu, first=%a", alpha);
}

bp_status bp__onnx_convert_gelu(bp__onnx *r, const bp__onnx_row *row) {
    int kind;
    (void)row;
    BP__TRY(bp__onnx_attribute_word(r, "approximate", "none,tanh", 0, &kind));
    return bp__onnx_unary(r, kind ? "gelu_tanh" : "gelu", r->inputs[0], &r->results[0]);
}

bp_status bp__onnx_convert_hard_sigmoid(bp__onnx *r, const bp__onnx_row *row) {
    double alpha, beta;
    bp__onnx_value *scaled, *moved;
    (void)row;
    BP__TRY(bp__onnx_attribute_real(r, "alpha", (double)0.2f, &alpha));
    BP__TRY(bp__onnx_attribute_real(r, "beta", 0.5, &beta));
    BP__TRY(bp__onnx_binary_with(r, "multiply", r->inputs[0], alpha, &scaled));
    BP__TRY(bp__onnx_binary_with(r, "add", scaled, beta, &moved));
    return bp__onnx_clip_to(r, moved, 0, 1, &r->results[0]);
}

bp_status bp__onnx_convert_selu(bp__onnx *r, const bp__onnx_row *row) {
    double alpha, gamma;
    bp__onnx_value *elu;
    (void)row;
    BP__TRY(bp__onnx_attribute_real(r, "alpha", 1.67326319217681884765625, &alpha));
    BP__TRY(bp__onnx_attribute_real(r, "gamma", 1.05070102214813232421875, &gamma));
    BP__TRY(bp__onnx_call_one(r, "unary", 1, r->inputs, &elu, "kind=elu, first=%a", alpha));
    return bp__onnx_binary_with(r, "multiply", elu, gamma, &r->results[0]);
}

bp_status bp__onnx_convert_swish(bp__onnx *r, const bp__onnx_row *row) {
    double alpha;
    bp__onnx_value *x = r->inputs[0], *scaled, *gate;
    (void)row;
    BP__TRY(bp__onnx_attribute_real(r, "alpha", 1, &alpha));
    if (alpha == 1) {
        return bp__onnx_unary(r, "silu", x, &r->results[0]);
    }
    BP__TRY(bp__onnx_binary_with(r, "multiply", x, alpha, &scaled));
    BP__TRY(bp__onnx_unary(r, "sigmoid", scaled, &gate));
    return bp__onnx_binary(r, "multiply", x, gate, &r->results[0]);
}

/* The gate and the value have one shape. */
bp_status bp__onnx_convert_swiglu(bp__onnx *r, const bp__onnx_row *row) {
    bp__onnx_value *a = r->inputs[0], *b = r->inputs[1];
    if (a->ndim != b->ndim || memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) != 0) {
        return bp__fail(BP_E_SHAPE, "inputs 'A' and 'B' have not one shape");
    }
    BP__TRY(bp__onnx_convert_swish(r, row));
    return bp__onnx_binary(r, "multiply", r->results[0], b, &r->results[0]);
}

/* x + bias below -lambd, x - bias above lambd, and 0 between. */
bp_status bp__onnx_convert_shrink(bp__onnx *r, const bp__onnx_row *row) {
    double lambd, bias;
    bp__onnx_value *x = r->inputs[0], *zero, *low, *high, *is_low, *is_high, *inner;
    (void)row;
    BP__TRY(bp__onnx_attribute_real(r, "lambd", 0.5, &lambd));
    BP__TRY(bp__onnx_attribute_real(r, "bias", 0, &bias));
    BP__TRY(bp__onnx_scalar(r, 0, x->dtype, &zero));
    BP__TRY(bp__onnx_binary_with(r, "less", x, -lambd, &is_low));
    BP__TRY(bp__onnx_binary_with(r, "greater", x, lambd, &is_high));
    BP__TRY(bp__onnx_binary_with(r, "add", x, bias, &low));
    BP__TRY(bp__onnx_binary_with(r, "subtract", x, bias, &high));
    BP__TRY(bp__onnx_where(r, is_high, high, zero, &inner));
    return bp__onnx_where(r, is_low, low, inner, &r->results[0]);
}

bp_status bp__onnx_convert_isinf(bp__onnx *r, const bp__onnx_row *row) {
    bool negative, positive;
    bp__onnx_value *x = r->inputs[0], *none;
    (void)row;
    BP__TRY(bp__onnx_attribute_flag(r, "detect_negative", true, &negative));
    BP__TRY(bp__onnx_attribute_flag(r, "detect_positive", true, &positive));
    if (negative && positive) {
        return bp__onnx_unary(r, "isinf", x, &r->results[0]);
    }
    if (negative || positive) {
        return bp__onnx_binary_with(r, "equal", x, negative ? -HUGE_VAL : HUGE_VAL, &r->results[0]);
    }
    BP__TRY(bp__onnx_scalar(r, 0, BP_BOOL, &none));
    return bp__onnx_expand(r, none, x->ndim, x->shape, &r->results[0]);
}

bp_status bp__onnx_convert_prelu(bp__onnx *r, const bp__onnx_row *row) {
    bp__onnx_value *x = r->inputs[0], *negative, *scaled;
    (void)row;
    BP__TRY(bp__onnx_binary_with(r, "less", x, 0, &negative));
    BP__TRY(bp__onnx_binary(r, "multiply", x, r->inputs[1], &scaled));
    return bp__onnx_where(r, negative, scaled, x, &r->results[0]);
}

/* Limits are attributes before opset 11, and inputs from then on. */
bp_status bp__onnx_convert_clip(bp__onnx *r, const bp__onnx_row *row) {
    bp__onnx_value *x = r->inputs[0], *low = bp__onnx_input(r, 1), *high = bp__onnx_input(r, 2);
    double first = -HUGE_VAL, second = HUGE_VAL;
    if (row->until != 0) {
        BP__TRY(bp__onnx_attribute_real(r, "min", first, &first));
        BP__TRY(bp__onnx_attribute_real(r, "max", second, &second));
    }
    const bool known =
        (!low || bp__onnx_real_known(r, low, &first)) && (!high || bp__onnx_real_known(r, high, &second));
    if (known && bp__onnx_is_float(x->dtype) && first == first && second == second) {
        return bp__onnx_clip_to(r, x, first, second, &r->results[0]);
    }
    r->results[0] = x;
    if (low) {
        BP__TRY(bp__onnx_binary(r, "maximum", x, low, &r->results[0]));
    }
    return high ? bp__onnx_binary(r, "minimum", r->results[0], high, &r->results[0]) : BP_OK;
}

/* ---- Types ---- */

/* What float8 types need, which are refused, does nothing for others. */
static bp_status skip_float8(bp__onnx *r, bool rounds) {
    int64_t saturate;
    int mode;
    BP__TRY(bp__onnx_attribute_int(r, "saturate", 1, &saturate));
    return rounds ? bp__onnx_attribute_word(r, "round_mode", "up,down,nearest", 0, &mode) : BP_OK;
}

bp_status bp__onnx_convert_cast(bp__onnx *r, const bp__onnx_row *row) {
    int64_t type;
    (void)row;
    BP__TRY(bp__onnx_attribute_int(r, "to", 0, &type));
    BP__TRY(skip_float8(r, true));
    const bp_dtype dtype = bp__onnx_dtype(type);
    return dtype == BP_DTYPE_NONE
               ? bp__fail(BP_E_UNSUPPORTED, "attribute 'to' is %lld, a type that no call has", (long long)type)
               : bp__onnx_cast(r, r->inputs[0], dtype, &r->results[0]);
}

bp_status bp__onnx_convert_cast_like(bp__onnx *r, const bp__onnx_row *row) {
    (void)row;
    BP__TRY(skip_float8(r, true));
    return bp__onnx_cast(r, r->inputs[0], r->inputs[1]->dtype, &r->results[0]);
}

/* ---- Of two elements ---- */

bp_status bp__onnx_convert_binary(bp__onnx *r, const bp__onnx_row *row) {
    return bp__onnx_binary(r, row->call, r->inputs[0], r->inputs[1], &r->results[0]);
}

bp_status bp__onnx_convert_variadic(bp__onnx *r, const bp__onnx_row *row) {
    bp__onnx_value *joined = r->inputs[0];
    for (int i = 1; i < r->input_count; i++) {
        BP__TRY(bp__onnx_binary(r, row->call, joined, r->inputs[i], &joined));
    }
    r->results[0] = joined;
    return row->fields && r->input_count > 1 ? bp__onnx_binary_with(r, "divide", joined, r->input_count, &r->results[0])
                                             : BP_OK;
}

/* Whole numbers are divided towards 0: what is left over is taken off first. */
bp_status bp__onnx_convert_divide(bp__onnx *r, const bp__onnx_row *row) {
    bp__onnx_value *a = r->inputs[0], *b = r->inputs[1], *rest, *multiple;
    (void)row;
    if (bp__onnx_is_float(a->dtype)) {
        return bp__onnx_binary(r, "divide", a, b, &r->results[0]);
    }
    BP__TRY(bp__onnx_binary(r, "fmod", a, b, &rest));
    BP__TRY(bp__onnx_binary(r, "subtract", a, rest, &multiple));
    return bp__onnx_binary(r, "floor_divide", multiple, b, &r->results[0]);
}

bp_status bp__onnx_convert_mod(bp__onnx *r, const bp__onnx_row *row) {
    bool fmod;
    (void)row;
    BP__TRY(bp__onnx_attribute_flag(r, "fmod", false, &fmod));
    return bp__onnx_binary(r, fmod ? "fmod" : "remainder", r->inputs[0], r->inputs[1], &r->results[0]);
}

/* The result has the type of the base. */
bp_status bp__onnx_convert_pow(bp__onnx *r, const bp__onnx_row *row) {
    bp__onnx_value *x = r->inputs[0], *y = r->inputs[1], *power;
    double exponent;
    (void)row;
    if (bp__onnx_is_float(x->dtype) && y->ndim == 0 && bp__onnx_real_known(r, y, &exponent) && exponent == 2) {
        return bp__onnx_binary(r, "multiply", x, x, &r->results[0]);
    }
    const bool whole = !bp__onnx_is_float(x->dtype) && bp__onnx_is_float(y->dtype);
    const bp_dtype dtype = whole ? BP_F64 : x->dtype;
    BP__TRY(bp__onnx_cast(r, x, dtype, &power));
    BP__TRY(bp__onnx_cast(r, y, dtype, &y));
    BP__TRY(bp__onnx_binary(r, "pow", power, y, &power));
    return bp__onnx_cast(r, power, x->dtype, &r->results[0]);
}

bp_status bp__onnx_convert_bit_shift(bp__onnx *r, const bp__onnx_row *row) {
    int left;
    (void)row;
    BP__TRY(bp__onnx_attribute_word(r, "direction", "RIGHT,LEFT", -1, &left));
    if (left < 0) {
        return bp__fail(BP_E_FORMAT, "attribute 'direction' is absent");
    }
    return bp__onnx_binary(r, left ? "bitwise_left_shift" : "bitwise_right_shift", r->inputs[0], r->inputs[1],
                           &r->results[0]);
}

bp_status bp__onnx_convert_where(bp__onnx *r, const bp__onnx_row *row) {
    (void)row;
    return bp__onnx_where(r, r->inputs[0], r->inputs[1], r->inputs[2], &r->results[0]);
}

/* ---- Quantization ---- */

/* Gives a parameter of each slice along an axis as many dimensions as the tensor has. */
static bp_status along_axis(bp__onnx *r, bp__onnx_value *parameter, const bp__onnx_value *x, int64_t axis,
                            bp__onnx_value **view) {
    int64_t shape[BP_MAX_NDIM];
    int at;
    *view = parameter;
    if (parameter->ndim == 0) {
        return BP_OK;
    }
    if (parameter->ndim != 1) {
        return bp__fail(BP_E_UNSUPPORTED, "scales of blocks are not supported");
    }
    BP__TRY(bp__onnx_axis(axis, x->ndim, &at));
    for (int d = 0; d < x->ndim; d++) {
        shape[d] = d == at ? parameter->shape[0] : 1;
    }
    return bp__onnx_reshape(r, parameter, x->ndim, shape, view);
}

/* Reads the attributes of both directions, and scale and zero point in the type that is computed with. */
static bp_status read_scale(bp__onnx *r, bp_dtype dtype, bp__onnx_value **scale, bp__onnx_value **zero) {
    int64_t axis, block;
    const bp__onnx_value *x = r->inputs[0];
    BP__TRY(bp__onnx_attribute_int(r, "axis", 1, &axis));
    BP__TRY(bp__onnx_attribute_int(r, "block_size", 0, &block));
    BP__TRY(skip_float8(r, false));
    if (block != 0) {
        return bp__fail(BP_E_UNSUPPORTED, "scales of blocks are not supported");
    }
    *zero = bp__onnx_input(r, 2);
    BP__TRY(along_axis(r, r->inputs[1], x, axis, scale));
    BP__TRY(bp__onnx_cast(r, *scale, dtype, scale));
    if (*zero) {
        BP__TRY(along_axis(r, *zero, x, axis, zero));
        BP__TRY(bp__onnx_cast(r, *zero, dtype, zero));
    }
    return BP_OK;
}

static bp_status fail_type(bp_dtype dtype) {
    return bp__fail(BP_E_UNSUPPORTED, "elements of type %s are not supported", bp_dtype_name(dtype));
}

bp_status bp__onnx_convert_dequantize(bp__onnx *r, const bp__onnx_row *row) {
    bp__onnx_value *x = r->inputs[0], *scale, *zero, *wide;
    int64_t type;
    (void)row;
    const bp_dtype dtype = r->inputs[1]->dtype;
    BP__TRY(bp__onnx_attribute_int(r, "output_dtype", 0, &type));
    if (type != 0 && bp__onnx_dtype(type) != dtype) {
        return bp__fail(BP_E_UNSUPPORTED, "attribute 'output_dtype' is not the type of the scale");
    }
    if (x->dtype != BP_I8 && x->dtype != BP_U8 && x->dtype != BP_I32) {
        return fail_type(x->dtype);
    }
    BP__TRY(read_scale(r, BP_F64, &scale, &zero));
    BP__TRY(bp__onnx_cast(r, x, BP_F64, &wide));
    if (zero) {
        BP__TRY(bp__onnx_binary(r, "subtract", wide, zero, &wide));
    }
    BP__TRY(bp__onnx_binary(r, "multiply", wide, scale, &wide));
    return bp__onnx_cast(r, wide, dtype, &r->results[0]);
}

bp_status bp__onnx_convert_quantize(bp__onnx *r, const bp__onnx_row *row) {
    bp__onnx_value *x = r->inputs[0], *scale, *zero, *wide;
    int64_t type, precision;
    (void)row;
    BP__TRY(bp__onnx_attribute_int(r, "output_dtype", 0, &type));
    BP__TRY(bp__onnx_attribute_int(r, "precision", 0, &precision));
    const bp__onnx_value *like = bp__onnx_input(r, 2);
    const bp_dtype dtype = like ? like->dtype : type ? bp__onnx_dtype(type) : BP_U8;
    if (dtype != BP_I8 && dtype != BP_U8) {
        return fail_type(dtype);
    }
    if (precision != 0 && precision != 1) {
        return bp__fail(BP_E_UNSUPPORTED, "attribute 'precision' is %lld; it must be 0 or 1", (long long)precision);
    }
    const bp_dtype inner = x->dtype == BP_F64 ? BP_F64 : BP_F32; /* the quotient is rounded once */
    BP__TRY(read_scale(r, inner, &scale, &zero));
    BP__TRY(bp__onnx_cast(r, x, inner, &wide));
    BP__TRY(bp__onnx_binary(r, "divide", wide, scale, &wide));
    BP__TRY(bp__onnx_unary(r, "round", wide, &wide));
    if (zero) {
        BP__TRY(bp__onnx_binary(r, "add", wide, zero, &wide));
    }
    BP__TRY(bp__onnx_clip_to(r, wide, dtype == BP_I8 ? -128 : 0, dtype == BP_I8 ? 127 : 255, &wide));
    return bp__onnx_cast(r, wide, dtype, &r->results[0]);
}
