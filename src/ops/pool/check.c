/* check.c - checks the parameters and tensors of pooling, and computes the sizes of its output. */
#include "ops/pool/pool.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <string.h>

/* Writes "max_pool2d", or "adaptive_avg_pool1d". */
static const char *name_of(const bp_pool_call *call, char buffer[32]) {
    snprintf(buffer, 32, "%s%s_pool%dd", call->output_size ? "adaptive_" : "",
             call->kind == BP_POOL_AVERAGE ? "avg" : "max", call->ndim);
    return buffer;
}

/* ---- Parameters ---- */

static bp_status read_values(int64_t *to, const int64_t *from, int ndim, int64_t fallback, int64_t least,
                             const char *what) {
    for (int d = 0; d < ndim; d++) {
        to[d] = from ? from[d] : fallback;
        if (to[d] < least) {
            return bp__fail(BP_E_ARGUMENT, "%s is %" PRId64 " in dimension %d; it must be at least %" PRId64, what,
                            to[d], d, least);
        }
    }
    return BP_OK;
}

static bp_status check_kind(const bp_pool_call *call) {
    if ((unsigned)call->kind > BP_POOL_AVERAGE || (unsigned)call->pass > BP_POOL_BACKWARD) {
        return bp__fail(BP_E_ARGUMENT, "kind or pass is no value of its enumeration");
    }
    if (call->ndim < 1 || call->ndim > BP_POOL_NDIM) {
        return bp__fail(BP_E_ARGUMENT, "ndim is %d; it must be 1 to %d", call->ndim, BP_POOL_NDIM);
    }
    if (call->kind == BP_POOL_MAX && (call->exclude_padding || call->divisor != 0)) {
        return bp__fail(BP_E_ARGUMENT, "exclude_padding and divisor are for averages only");
    }
    if (call->exclude_padding && call->divisor != 0) {
        return bp__fail(BP_E_ARGUMENT,
                        "exclude_padding is set, and divisor is %" PRId64
                        ", which replaces the number of elements; one of "
                        "them must be 0",
                        call->divisor);
    }
    if (call->kind == BP_POOL_AVERAGE && (call->dilation || call->indices)) {
        return bp__fail(BP_E_ARGUMENT, "dilation and indices are for maxima only");
    }
    if (call->kind == BP_POOL_MAX && call->pass == BP_POOL_BACKWARD && !call->indices) {
        return bp__fail(BP_E_ARGUMENT, "the gradient of a maximum needs the indices, which are NULL");
    }
    return BP_OK;
}

static bp_status read_adaptive(bp__pool *pool) {
    const bp_pool_call *call = pool->call;
    const struct {
        const char *name;
        bool set;
    } other[] = {{"kernel", call->kernel != NULL},     {"stride", call->stride != NULL},
                 {"dilation", call->dilation != NULL}, {"padding", call->padding != NULL},
                 {"ceil_mode", call->ceil_mode != 0},  {"exclude_padding", call->exclude_padding != 0},
                 {"divisor", call->divisor != 0}};
    for (int i = 0; i < BP__COUNT(other); i++) {
        if (other[i].set) {
            return bp__fail(BP_E_ARGUMENT, "%s is set; adaptive pooling has no parameters but output_size",
                            other[i].name);
        }
    }
    pool->adaptive = true;
    return read_values(pool->out, call->output_size, pool->ndim, 0, 0, "output_size");
}

static bp_status read_parameters(bp__pool *pool) {
    const bp_pool_call *call = pool->call;
    BP__TRY(check_kind(call));
    pool->ndim = call->ndim;
    if (call->output_size) {
        return read_adaptive(pool);
    }
    if (!call->kernel) {
        return bp__fail(BP_E_ARGUMENT, "kernel and output_size are NULL; one of them is needed");
    }
    BP__TRY(read_values(pool->kernel, call->kernel, pool->ndim, 1, 1, "kernel"));
    BP__TRY(read_values(pool->stride, call->stride ? call->stride : call->kernel, pool->ndim, 1, 1, "stride"));
    BP__TRY(read_values(pool->dilation, call->dilation, pool->ndim, 1, 1, "dilation"));
    return read_values(pool->padding, call->padding, pool->ndim, 0, 0, "padding");
}

/* ---- Input ---- */

/* Returns the name of the tensor that has the shape of the input, or of the output. */
static const char *input_name(const bp__pool *pool) {
    return pool->call->pass == BP_POOL_BACKWARD ? "input_gradient" : "input";
}
static const char *output_name(const bp__pool *pool) {
    return pool->call->pass == BP_POOL_BACKWARD ? "output_gradient" : "output";
}

static bp_status read_input(bp__pool *pool) {
    const DLTensor *input = pool->input;
    char name[32], shape[256];
    pool->dtype = bp_dtype_from_dlpack(input->dtype);
    if (pool->dtype < BP_F16 || pool->dtype > BP_F64) {
        return bp__fail(BP_E_DTYPE, "%s: %s is %s; pooling takes f16, bf16, f32 and f64", name_of(pool->call, name),
                        input_name(pool), bp_dtype_name(pool->dtype));
    }
    if (input->ndim != pool->ndim + 2 && input->ndim != pool->ndim + 1) {
        return bp__fail(BP_E_SHAPE, "%s: %s has shape %s; it must have %d dimensions, or %d without items",
                        name_of(pool->call, name), input_name(pool),
                        bp__shape_text(input->ndim, input->shape, shape, sizeof shape), pool->ndim + 2, pool->ndim + 1);
    }
    pool->single = input->ndim == pool->ndim + 1;
    for (int d = !pool->single; d < input->ndim; d++) {
        if (input->shape[d] == 0) {
            return bp__fail(BP_E_SHAPE, "%s: %s has shape %s; only the number of items may be 0",
                            name_of(pool->call, name), input_name(pool),
                            bp__shape_text(input->ndim, input->shape, shape, sizeof shape));
        }
    }
    pool->items = pool->single ? 1 : input->shape[0];
    pool->channels = input->shape[!pool->single];
    memcpy(pool->in, input->shape + 1 + !pool->single, (size_t)pool->ndim * sizeof *pool->in);
    return BP_OK;
}

/* ---- Sizes of the output ---- */

static bp_status overflows(const bp__pool *pool, int d) {
    char name[32];
    return bp__fail(BP_E_OVERFLOW, "%s: a size in dimension %d exceeds 64 bits", name_of(pool->call, name), d);
}

/* Windows are computed from products of both sizes. */
static bp_status check_adaptive(const bp__pool *pool, int d) {
    int64_t next, product;
    const bool fits =
        !__builtin_add_overflow(pool->out[d], 1, &next) && !__builtin_mul_overflow(pool->in[d], next, &product);
    return fits ? BP_OK : overflows(pool, d);
}

static bp_status read_size(bp__pool *pool, int d) {
    const int64_t in = pool->in[d], stride = pool->stride[d], padding = pool->padding[d];
    int64_t span, padded;
    char name[32];
    if (stride > BP__MAX_SPAN || __builtin_mul_overflow(pool->dilation[d], pool->kernel[d] - 1, &span) ||
        span >= BP__MAX_SPAN) {
        return overflows(pool, d);
    }
    span++;
    if (padding > span / 2) {
        return bp__fail(BP_E_ARGUMENT,
                        "padding is %" PRId64
                        " in dimension %d; it must be at most half of the kernel's span, which is "
                        "%" PRId64,
                        padding, d, span);
    }
    padded = in + 2 * padding;
    if (padded > BP__MAX_SPAN) {
        return overflows(pool, d);
    }
    /* With ceil_mode, a kernel that is larger than the input has one window. */
    const int64_t rest = padded - span + (pool->call->ceil_mode ? stride - 1 : 0);
    if (rest < 0) {
        return bp__fail(BP_E_SHAPE,
                        "%s: the kernel spans %" PRId64
                        " elements in dimension %d, more than the padded input, which has "
                        "%" PRId64,
                        name_of(pool->call, name), span, d, padded);
    }
    pool->out[d] = rest / stride + 1;
    if (pool->call->ceil_mode && (pool->out[d] - 1) * stride >= in + padding) {
        pool->out[d]--;
    }
    return BP_OK;
}

bp_status bp__pool_resolve(bp__pool *pool, const bp_pool_call *call, bool data_optional) {
    const bool backward = call->pass == BP_POOL_BACKWARD;
    *pool = (bp__pool){.call = call,
                       .input = backward ? call->input_gradient : call->input,
                       .output = backward ? call->output_gradient : call->output};
    BP__TRY(read_parameters(pool));
    BP__TRY(bp__tensor_check(pool->input, input_name(pool), data_optional));
    BP__TRY(read_input(pool));
    for (int d = 0; d < pool->ndim; d++) {
        BP__TRY(pool->adaptive ? check_adaptive(pool, d) : read_size(pool, d));
    }
    return BP_OK;
}

int bp__pool_output_shape(const bp__pool *pool, int64_t *shape) {
    int rank = 0;
    if (!pool->single) {
        shape[rank++] = pool->items;
    }
    shape[rank++] = pool->channels;
    for (int d = 0; d < pool->ndim; d++) {
        shape[rank++] = pool->out[d];
    }
    return rank;
}

/* ---- Output and indices ---- */

static bp_status check_like(const bp__pool *pool, const DLTensor *tensor, const char *what, bp_dtype dtype,
                            bool data_optional) {
    char name[32], want[256], got[256];
    int64_t shape[BP_POOL_NDIM + 2];
    const int rank = bp__pool_output_shape(pool, shape);
    BP__TRY(bp__tensor_check(tensor, what, data_optional));
    const bp_dtype given = bp_dtype_from_dlpack(tensor->dtype);
    if (given != dtype) {
        return bp__fail(BP_E_DTYPE, "%s: %s is %s; it must be %s", name_of(pool->call, name), what,
                        bp_dtype_name(given), bp_dtype_name(dtype));
    }
    if (tensor->ndim == rank && memcmp(tensor->shape, shape, (size_t)rank * sizeof *shape) == 0) {
        return BP_OK;
    }
    return bp__fail(BP_E_SHAPE, "%s: %s has shape %s; it must have shape %s", name_of(pool->call, name), what,
                    bp__shape_text(tensor->ndim, tensor->shape, got, sizeof got),
                    bp__shape_text(rank, shape, want, sizeof want));
}

bp_status bp__pool_check(const bp__pool *pool, bool data_optional) {
    const bp_pool_call *call = pool->call;
    const bp__pass *pass = bp__pool_pass(call);
    BP__TRY(bp__call_check_surplus(&bp__pool_call, pass, call));
    BP__TRY(check_like(pool, pool->output, output_name(pool), pool->dtype, data_optional));
    if (call->indices) {
        BP__TRY(check_like(pool, call->indices, "indices", BP_I64, data_optional));
    }
    return bp__call_check_overlap(&bp__pool_call, pass, call);
}
