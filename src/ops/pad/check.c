/* check.c - checks the arguments of calls that pad, reverse and rotate tensors, and finds where elements go. */
#include "ops/pad/pad.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <math.h>

/* ---- The value ---- */

/* Stores a whole number in the bytes of an integer type. Returns whether it is in the range of the type. */
static bool store_whole(uint8_t bytes[16], double value, bp_dtype dtype) {
    const int bits = 8 * (int)bp_dtype_size(dtype);
    const bool is_signed = bp_dtype_to_dlpack(dtype).code == kDLInt;
    const double most = ldexp(1, bits - is_signed), least = is_signed ? -most : 0;
    if (value != floor(value) || value < least || value >= most) {
        return false;
    }
    const uint64_t whole = value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
    for (int i = 0; i < bits / 8; i++) { /* all supported processors store the low byte first */
        bytes[i] = (uint8_t)(whole >> (8 * i));
    }
    return true;
}

bp_status bp__pad_value(uint8_t bytes[16], double value, bp_dtype dtype) {
    const float single = (float)value;
    const uint16_t half = dtype == BP_F16 ? bp__f64_to_f16(value) : bp__f64_to_bf16(value);
    memset(bytes, 0, 16);
    switch (dtype) {
    case BP_F16:
    case BP_BF16:
        memcpy(bytes, &half, sizeof half);
        return BP_OK;
    case BP_F32:
    case BP_C64:
        memcpy(bytes, &single, sizeof single);
        return BP_OK;
    case BP_F64:
    case BP_C128:
        memcpy(bytes, &value, sizeof value);
        return BP_OK;
    case BP_BOOL:
        bytes[0] = value != 0;
        return BP_OK;
    default:
        return store_whole(bytes, value, dtype)
                   ? BP_OK
                   : bp__fail(BP_E_ARGUMENT, "pad: value is %g; it must be a whole number in the range of %s", value,
                              bp_dtype_name(dtype));
    }
}

/* ---- Amounts ---- */

static bp_status fail_amount(const char *mode, int64_t amount, const char *rule, int64_t size, int d) {
    return bp__fail(BP_E_ARGUMENT, "pad: an amount is %lld in dimension %d, of size %lld; %s %s", (long long)amount, d,
                    (long long)size, mode, rule);
}

/* Checks the amounts of a dimension in modes that take the added elements from the input. */
static bp_status check_amounts(bp_pad_mode mode, int d, int64_t size, int64_t before, int64_t after) {
    const int64_t most = before > after ? before : after;
    if (mode == BP_PAD_REFLECT && most > 0 && most >= size) {
        return fail_amount("reflect", most, "takes amounts below the size", size, d);
    }
    if (mode == BP_PAD_REPLICATE && most > 0 && size == 0) {
        return fail_amount("replicate", most, "needs an element", size, d);
    }
    if (mode == BP_PAD_CIRCULAR && most > size) {
        return fail_amount("circular", most, "takes amounts up to the size", size, d);
    }
    if (mode == BP_PAD_CIRCULAR && ((before > 0 && after < 0) || (before < 0 && after > 0))) {
        return fail_amount("circular", before, "cannot add elements at one end and remove some at the other", size, d);
    }
    return BP_OK;
}

/* Returns where the first element of a dimension is in the output. Elements that are all behind the output, or before
 * it, are as far away as they need be, so that differences of indices do not overflow. */
static int64_t first_element(bp_pad_mode mode, int64_t size, int64_t before, int64_t padded) {
    if (mode == BP_PAD_REFLECT || mode == BP_PAD_CIRCULAR) {
        return before; /* the size limits the amounts */
    }
    return before < -size ? -size : before > padded ? padded : before;
}

static bp_status find_padding(bp__pad_map *map, const bp__pad_arguments *call) {
    const DLTensor *input = call->input;
    if ((unsigned)call->mode > (unsigned)BP_PAD_CIRCULAR) {
        return bp__fail(BP_E_ARGUMENT, "pad: mode is no value of its enumeration");
    }
    if (call->ndim < 0 || call->ndim > input->ndim) {
        return bp__fail(BP_E_ARGUMENT, "pad: ndim is %d; it must be from 0 to %d, the dimensions of the input",
                        call->ndim, (int)input->ndim);
    }
    if (call->mode != BP_PAD_CONSTANT && call->value != 0) {
        return bp__fail(BP_E_ARGUMENT, "pad: value is %g; only mode constant takes one, so it must be 0", call->value);
    }
    map->mode = call->mode;
    for (int i = 0; i < call->ndim; i++) {
        const int d = input->ndim - call->ndim + i;
        const int64_t before = call->before ? call->before[i] : 0, after = call->after ? call->after[i] : 0;
        int64_t size = 0;
        BP__TRY(check_amounts(call->mode, d, input->shape[d], before, after));
        if (__builtin_add_overflow(input->shape[d], before, &size) || __builtin_add_overflow(size, after, &size)) {
            return bp__fail(BP_E_OVERFLOW, "pad: the size of dimension %d overflows", d);
        }
        if (size < 0) {
            return bp__fail(BP_E_ARGUMENT, "pad: the amounts %lld and %lld remove more than dimension %d has, %lld",
                            (long long)before, (long long)after, d, (long long)input->shape[d]);
        }
        map->before[d] = first_element(call->mode, input->shape[d], before, size);
        map->shape[d] = size;
    }
    return BP_OK;
}

/* ---- Axes ---- */

static bp_status find_shifts(bp__pad_map *map, const bp__roll_arguments *call) {
    const int ndim = call->input->ndim;
    uint64_t found;
    if (!call->axes || (!call->shifts && call->axis_count > 0)) {
        return bp__fail(BP_E_ARGUMENT, "roll: %s is NULL", call->axes ? "shifts" : "axes");
    }
    BP__TRY(bp__find_axes("roll", ndim, call->axis_count, call->axes, &found));
    map->mode = BP_PAD_CIRCULAR;
    for (int i = 0; i < call->axis_count; i++) {
        const int d = call->axes[i] < 0 ? call->axes[i] + ndim : call->axes[i];
        const int64_t size = call->input->shape[d], rest = size > 0 ? call->shifts[i] % size : 0;
        map->before[d] = rest < 0 ? rest + size : rest;
    }
    return BP_OK;
}

static bp_status find_flips(bp__pad_map *map, const bp__flip_arguments *call) {
    return bp__find_axes("flip", call->input->ndim, call->axis_count, call->axes, &map->flipped);
}

bp_status bp__pad_find(bp__pad_map *map, const bp_call *described, const void *call) {
    const DLTensor *input = bp__call_tensor(call, &described->passes->operand[0]);
    memset(map, 0, sizeof *map);
    BP__TRY(bp__tensor_check(input, "input", true));
    if (input->ndim > 0) {
        memcpy(map->shape, input->shape, (size_t)input->ndim * sizeof *input->shape);
    }
    return described->op == BP_OP_PAD    ? find_padding(map, call)
           : described->op == BP_OP_FLIP ? find_flips(map, call)
                                         : find_shifts(map, call);
}
