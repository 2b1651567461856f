/* linear.c - implements linear.h. */
#include "linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const bp_dtype linear_types[] = {BP_F32, BP_F64, BP_C64, BP_C128};
int32_t linear_place;

outcome open_linear(bp_library_info *info) {
    void *context = NULL;
    *info = (bp_library_info){.struct_size = sizeof *info};
    if (bp_library_find("cusolver", info) != BP_OK) {
        return skip_rule("%s", bp_last_error());
    }
    LIBRARY(bp_device_find("cuda:0", &linear_place));
    LIBRARY(bp_device_context(linear_place, &context));
    NEEDS(open_driver());
    WORKS(cu.CtxSetCurrent(context));
    return PASSED;
}

/* ---- A call on the device, and the same on the host ---- */

static outcome new_operand(linear_operand *x, bp_dtype dtype, int ndim, const int64_t *shape) {
    const int64_t size = LINEAR_BYTES;
    *x = (linear_operand){.bytes = calloc(1, LINEAR_BYTES), .expected = calloc(1, LINEAR_BYTES)};
    HOLDS(x->bytes && x->expected);
    LIBRARY(bp_tensor_empty_on(&x->block, linear_place, BP_U8, 1, &size, NULL));
    LIBRARY(bp_view_init(&x->host, x->bytes, dtype, ndim, shape, NULL));
    x->device = x->host.tensor;
    x->device.data = x->block->dl_tensor.data;
    x->device.device = x->block->dl_tensor.device;
    x->device.byte_offset = x->block->dl_tensor.byte_offset;
    return PASSED;
}

outcome copy_linear(linear_operand *x, bool to_device, bp_queue *queue) {
    const int64_t size = LINEAR_BYTES;
    bp_view host;
    DLTensor device = x->block->dl_tensor;
    LIBRARY(bp_view_init(&host, x->bytes, BP_U8, 1, &size, NULL));
    device.shape = host.tensor.shape;
    device.strides = host.tensor.strides;
    LIBRARY(to_device ? bp_copy(&device, &host.tensor, queue) : bp_copy(&host.tensor, &device, queue));
    return PASSED;
}

bool linear_is_wide(bp_dtype dtype) {
    return dtype == BP_F64 || dtype == BP_C128;
}

int linear_parts(bp_dtype dtype) {
    return dtype == BP_C64 || dtype == BP_C128 ? 2 : 1;
}

double linear_part(const uint8_t *bytes, bp_dtype dtype, int64_t index) {
    double wide;
    float narrow;
    memcpy(linear_is_wide(dtype) ? (void *)&wide : &narrow, bytes + index * (linear_is_wide(dtype) ? 8 : 4),
           linear_is_wide(dtype) ? 8 : 4);
    return linear_is_wide(dtype) ? wide : (double)narrow;
}

void set_linear_part(uint8_t *bytes, bp_dtype dtype, int64_t index, double value) {
    const float narrow = (float)value;
    memcpy(bytes + index * (linear_is_wide(dtype) ? 8 : 4), linear_is_wide(dtype) ? (const void *)&value : &narrow,
           linear_is_wide(dtype) ? 8 : 4);
}

/* Random numbers; square matrices become definite, or with `exchanged` have their large elements on the other
 * diagonal, so that pivots exchange rows. */
static void fill(linear_operand *x, bp_dtype dtype, bool square, bool exchanged) {
    static unsigned state = 1;
    const int parts = linear_parts(dtype);
    for (int64_t i = 0; i < LINEAR_ITEMS * LINEAR_N * LINEAR_N * parts; i++) {
        const int64_t element = i / parts;
        state = state * 1664525u + 1013904223u;
        const double value = (double)(state >> 8) / (1 << 23) - 1;
        const int64_t row = element / LINEAR_N % LINEAR_N, large = exchanged ? LINEAR_N - 1 - row : row;
        const bool diagonal = square && i % parts == 0 && element % LINEAR_N == large;
        set_linear_part(x->bytes, dtype, i, diagonal ? value + 2 * LINEAR_N : value);
    }
}

static bool exchanges(bp_op op) {
    return op == BP_OP_LU_FACTOR || op == BP_OP_LU || op == BP_OP_INV || op == BP_OP_SOLVE || op == BP_OP_DET ||
           op == BP_OP_SLOGDET;
}

static bool has_sides(bp_op op) {
    return op == BP_OP_SOLVE || op == BP_OP_SOLVE_TRIANGULAR;
}

outcome new_linear(linear_call *s, bp_op op, bp_dtype dtype, bp_linalg_mode mode, bool with_info) {
    *s = (linear_call){.call = {.struct_size = sizeof s->call, .op = op, .mode = mode}};
    for (int i = 0; i < (has_sides(op) ? 2 : 1); i++) {
        NEEDS(new_operand(&s->in[i], dtype, 3,
                          (const int64_t[]){LINEAR_ITEMS, LINEAR_N, i == 0 ? LINEAR_N : LINEAR_SIDES}));
        fill(&s->in[i], dtype, i == 0, exchanges(op));
        NEEDS(copy_linear(&s->in[i], true, NULL));
        s->call.input[i] = &s->in[i].host.tensor;
    }
    for (int i = 0; i < BP_LINALG_OUTPUTS; i++) {
        bp_dtype type;
        int ndim;
        int64_t shape[BP_MAX_NDIM];
        const bool exists = bp_linalg_shape(&s->call, i, &type, &ndim, shape) == BP_OK;
        if (exists && (with_info || ndim > 1)) {
            NEEDS(new_operand(&s->out[i], type, ndim, shape));
        }
    }
    return PASSED;
}

bp_linalg_call linear_call_on(linear_call *s, bool device) {
    bp_linalg_call call = s->call;
    for (int i = 0; i < BP_LINALG_INPUTS; i++) {
        call.input[i] = !s->in[i].block ? NULL : device ? &s->in[i].device : &s->in[i].host.tensor;
    }
    for (int i = 0; i < BP_LINALG_OUTPUTS; i++) {
        call.output[i] = !s->out[i].block ? NULL : device ? &s->out[i].device : &s->out[i].host.tensor;
    }
    return call;
}

void free_linear(linear_call *s) {
    for (int i = 0; i < BP_LINALG_INPUTS + BP_LINALG_OUTPUTS; i++) {
        linear_operand *x = i < BP_LINALG_INPUTS ? &s->in[i] : &s->out[i - BP_LINALG_INPUTS];
        if (x->block) {
            x->block->deleter(x->block);
        }
        free(x->bytes);
        free(x->expected);
    }
}

outcome solve_on_host(linear_call *s) {
    const bp_linalg_call call = linear_call_on(s, false);
    LIBRARY(bp_linalg_run(NULL, &call));
    for (int i = 0; i < BP_LINALG_OUTPUTS; i++) {
        if (s->out[i].block) {
            memcpy(s->out[i].expected, s->out[i].bytes, LINEAR_BYTES);
        }
    }
    return PASSED;
}

outcome expect_linear(linear_call *s, int output) {
    linear_operand *x = &s->out[output];
    const bp_dtype dtype = bp_dtype_from_dlpack(x->host.tensor.dtype);
    int64_t count = 1;
    NEEDS(copy_linear(x, false, NULL));
    for (int d = 0; d < x->host.tensor.ndim; d++) {
        count *= x->host.tensor.shape[d];
    }
    if (dtype == BP_I32) {
        HOLDS(memcmp(x->bytes, x->expected, (size_t)count * 4) == 0);
        return PASSED;
    }
    const int parts = linear_parts(dtype);
    for (int64_t i = 0; i < count; i++) {
        const double a = linear_part(x->bytes, dtype, i * parts), b = linear_part(x->expected, dtype, i * parts);
        const double c = parts > 1 ? linear_part(x->bytes, dtype, i * parts + 1) : 0;
        const double d = parts > 1 ? linear_part(x->expected, dtype, i * parts + 1) : 0;
        const bool same = a == b && c == d; /* infinity too */
        if (!same && !(hypot(a - b, c - d) <= (linear_is_wide(dtype) ? 1e-11 : 1e-3) * (1 + hypot(b, d)))) {
            return fail("%s of %s: element %lld of output %d is %g%+gi in place of %g%+gi", bp_op_name(s->call.op),
                        bp_dtype_name(dtype), (long long)i, output, a, c, b, d);
        }
    }
    return PASSED;
}

outcome write_linear(linear_call *s, bp_queue *queue) {
    fill(&s->in[0], bp_dtype_from_dlpack(s->in[0].host.tensor.dtype), true, false);
    return copy_linear(&s->in[0], true, queue);
}
