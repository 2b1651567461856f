/* values.c - computes the operations of the double from their definitions, one multiplication at a time, in long
 * double. Results are rounded once, to the type of their tensor; virtual tensors have the type that they are described
 * with. */
#include "parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Elements ---- */

static size_t item_of(unsigned type) {
    return type == BP__CUDNN_DATA_DOUBLE ? 8 : type == BP__CUDNN_DATA_FLOAT ? 4 : 2;
}

static long double power_of_two(int exponent) {
    return ldexpl(1, exponent);
}

/* Rounds to `bits` of fraction, to nearest even, with the smallest exponent `least`. */
static long double round_to(long double value, int bits, int least) {
    int exponent;
    if (value == 0 || !isfinite(value)) {
        return value;
    }
    frexpl(value, &exponent);
    const int unit = (exponent - 1 < least ? least : exponent - 1) - bits;
    return rintl(value / power_of_two(unit)) * power_of_two(unit);
}

long double double_round(unsigned type, long double value) {
    switch (type) {
    case BP__CUDNN_DATA_INT32:
    case BP__CUDNN_DATA_BOOLEAN:
        return value;
    case BP__CUDNN_DATA_DOUBLE:
        return (long double)(double)value;
    case BP__CUDNN_DATA_FLOAT:
        return (long double)(float)value;
    case BP__CUDNN_DATA_HALF: {
        const long double rounded = round_to(value, 10, -14);
        return fabsl(rounded) > 65504 ? copysignl(INFINITY, rounded) : rounded;
    }
    default:
        return round_to(value, 7, -126);
    }
}

static long double read_half(uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const long double size = exponent == 31 ? (fraction ? (long double)NAN : INFINITY)
                             : exponent     ? ldexpl(1024 + fraction, exponent - 25)
                                            : ldexpl(fraction, -24);
    return bits >> 15 ? -size : size;
}

static uint16_t write_half(long double value) {
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const long double size = fabsl(value);
    int exponent;
    if (isnan(size) || isinf(size)) {
        return sign | (isnan(size) ? 0x7e00 : 0x7c00);
    }
    if (size < power_of_two(-14)) {
        return sign | (uint16_t)ldexpl(size, 24);
    }
    frexpl(size, &exponent);
    return sign | (uint16_t)(((exponent + 14) << 10) + (int)ldexpl(size, 11 - exponent) - 1024);
}

static long double read_element(unsigned type, const uint8_t *from) {
    uint16_t half;
    uint32_t bits;
    float narrow;
    double wide;
    switch (type) {
    case BP__CUDNN_DATA_DOUBLE:
        memcpy(&wide, from, sizeof wide);
        return (long double)wide;
    case BP__CUDNN_DATA_FLOAT:
        memcpy(&narrow, from, sizeof narrow);
        return (long double)narrow;
    case BP__CUDNN_DATA_HALF:
        memcpy(&half, from, sizeof half);
        return read_half(half);
    default:
        memcpy(&half, from, sizeof half);
        bits = (uint32_t)half << 16;
        memcpy(&narrow, &bits, sizeof narrow);
        return (long double)narrow;
    }
}

/* The value has the type already. */
static void write_element(unsigned type, uint8_t *to, long double value) {
    const double wide = (double)value;
    const float narrow = (float)value;
    uint16_t half = 0;
    uint32_t bits;
    switch (type) {
    case BP__CUDNN_DATA_DOUBLE:
        memcpy(to, &wide, sizeof wide);
        return;
    case BP__CUDNN_DATA_FLOAT:
        memcpy(to, &narrow, sizeof narrow);
        return;
    case BP__CUDNN_DATA_HALF:
        half = write_half(value);
        break;
    default:
        memcpy(&bits, &narrow, sizeof bits);
        half = (uint16_t)(bits >> 16);
    }
    memcpy(to, &half, sizeof half);
}

/* ---- Tensors ---- */

int64_t double_count(const tensor *t) {
    int64_t count = 1;
    for (int d = 0; d < t->ndim; d++) {
        count *= t->size[d];
    }
    return count;
}

static int64_t stride_of(const tensor *t, int dim) {
    int64_t stride = t->stride[dim];
    if (double_has(CUDNN_FAULT_LAYOUT)) {
        stride = 1;
        for (int d = dim + 1; d < t->ndim; d++) {
            stride *= t->size[d];
        }
    }
    return stride;
}

static int64_t span_of(const tensor *t) {
    int64_t last = 0;
    for (int d = 0; d < t->ndim; d++) {
        last += (t->size[d] - 1) * stride_of(t, d);
    }
    return last + 1;
}

/* Moves all elements of a tensor from or to its memory; false: the device does not have it. */
static bool move_tensor(const tensor *t, uint64_t address, long double *all, bool store) {
    const size_t item = item_of(t->type);
    uint8_t *memory = t->is_number ? (uint8_t *)(uintptr_t)address : double_bytes(address, (size_t)span_of(t) * item);
    const int64_t count = double_count(t);
    for (int64_t i = 0; i < count && memory; i++) {
        int64_t rest = i, at = 0;
        for (int d = t->ndim - 1; d >= 0; d--) {
            at += rest % t->size[d] * stride_of(t, d);
            rest /= t->size[d];
        }
        if (store) {
            write_element(t->type, memory + (size_t)at * item, all[i]);
        } else {
            all[i] = read_element(t->type, memory + (size_t)at * item);
        }
    }
    return memory != NULL;
}

/* What an engine makes of an input, and of a result. */
static long double as_input(int64_t engine, unsigned type, long double value) {
    return engine == CUDNN_ENGINE_ROUNDING ? round_to(value, 7, -126)
           : type == BP__CUDNN_DATA_FLOAT &&
                   (engine == CUDNN_ENGINE_UNSTEADY || engine == CUDNN_ENGINE_TENSOR || engine == CUDNN_ENGINE_WINOGRAD)
               ? round_to(value, 10, -126)
               : value;
}

/* ---- Convolutions ---- */

/* X, W and Y of a convolution, and the one that is written. */
typedef struct convolution {
    const operation *o;
    const tensor *x, *w, *y;
    const long double *in_x, *in_w, *in_y; /* NULL for the result */
    int64_t engine;
    int64_t groups;
    bool reversed;
    long double *result;
} convolution;

/* Returns whether tap t of a window at position `out` is inside X, and where. */
static bool position(const convolution *c, int d, int64_t out, int64_t tap, int64_t *in) {
    const operation *o = c->o;
    const int64_t step = double_has(CUDNN_FAULT_STEPS) ? 1 : o->step[d];
    const int64_t dilation = double_has(CUDNN_FAULT_DILATION) ? 1 : o->dilation[d];
    *in = out * step + tap * dilation - (double_has(CUDNN_FAULT_PADDING) ? o->after[d] : o->before[d]);
    return *in >= 0 && *in < c->x->size[d + 2];
}

/* The order of additions shows where each sum is rounded. */
static void add(long double *sum, const convolution *c, long double product) {
    const long double value = *sum + product;
    *sum = c->engine == CUDNN_ENGINE_SHORT      ? round_to(value, 10, -14)
           : c->engine == CUDNN_ENGINE_UNSTEADY ? double_round(BP__CUDNN_DATA_FLOAT, value)
                                                : value;
}

/* Adds one product to the result: of item n, output channel k, input channel c of the group, and a pair of positions.
 */
static void add_product(const convolution *v, int64_t x, int64_t w, int64_t y) {
    const unsigned type = v->x->type;
    const long double a = v->in_x ? as_input(v->engine, type, v->in_x[x]) : 1;
    const long double b = v->in_w ? as_input(v->engine, type, v->in_w[w]) : 1;
    const long double d = v->in_y ? as_input(v->engine, type, v->in_y[y]) : 1;
    add(&v->result[!v->in_x ? x : !v->in_w ? w : y], v, a * b * d);
}

/* Goes through all pairs of an output position and a tap. */
static void add_positions(const convolution *v, int64_t x, int64_t w, int64_t y) {
    int64_t outs = 1, taps = 1;
    for (int d = 0; d < v->o->spatial; d++) {
        outs *= v->y->size[d + 2];
        taps *= v->w->size[d + 2];
    }
    for (int64_t pair = 0; pair < outs * taps; pair++) {
        const int64_t out = pair / taps, tap = v->reversed ? taps - 1 - pair % taps : pair % taps;
        int64_t rest_out = out, rest_tap = tap, at = 0, scale = 1, in;
        bool inside = true;
        for (int d = v->o->spatial - 1; d >= 0; d--) {
            inside = position(v, d, rest_out % v->y->size[d + 2], rest_tap % v->w->size[d + 2], &in) && inside;
            at += in * scale;
            scale *= v->x->size[d + 2];
            rest_out /= v->y->size[d + 2];
            rest_tap /= v->w->size[d + 2];
        }
        if (inside) {
            add_product(v, x * scale + at, w * taps + tap, y * outs + out);
        }
    }
}

static void add_all(const convolution *v) {
    const int64_t in = v->w->size[1], out = v->w->size[0] / v->groups;
    for (int64_t n = 0; n < v->x->size[0]; n++) {
        for (int64_t k = 0; k < v->w->size[0]; k++) {
            const int64_t group = double_has(CUDNN_FAULT_GROUPS) ? 0 : k / out;
            for (int64_t i = 0; i < in; i++) {
                const int64_t c = v->reversed ? in - 1 - i : i;
                add_positions(v, n * v->x->size[1] + group * in + c, k * in + c, n * v->y->size[1] + k);
            }
        }
    }
}

static void convolve(const run_values *v, const operation *o) {
    const bool data = o->type == BP__CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
    const bool filter = o->type == BP__CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
    const int x = data ? o->out : o->in[0], w = filter ? o->out : o->in[1];
    const int y = data ? o->in[0] : filter ? o->in[1] : o->out;
    const tensor *result = &v->what->tensors[o->out];
    const int64_t count = double_count(result);
    convolution c = {.o = o,
                     .x = &v->what->tensors[x],
                     .w = &v->what->tensors[w],
                     .y = &v->what->tensors[y],
                     .in_x = data ? NULL : v->of[x],
                     .in_w = filter ? NULL : v->of[w],
                     .in_y = data || filter ? v->of[y] : NULL,
                     .engine = v->what->engine};
    c.groups = c.x->size[1] / c.w->size[1];
    c.reversed = c.engine == CUDNN_ENGINE_UNSTEADY && v->number_of_run % 2;
    c.result = calloc((size_t)count, sizeof *c.result);
    add_all(&c);
    for (int64_t i = 0; i < count; i++) {
        const long double error = c.engine == CUDNN_ENGINE_WINOGRAD ? 1 + power_of_two(-12) : 1;
        const double beta = double_has(CUDNN_FAULT_BETA) ? 1 - o->beta : o->beta;
        const long double old = beta != 0 ? beta * v->of[o->out][i] : 0;
        v->of[o->out][i] = double_round(result->type, o->alpha * c.result[i] * error + old);
    }
    free(c.result);
}

/* ---- The whole ---- */

static bool is_written(const executable *what, int i) {
    bool written = false;
    for (int k = 0; k < what->operation_count; k++) {
        written = written || what->operations[k].out == i;
    }
    return written;
}

/* The engine leaves nothing useful in its workspace. */
static bool use_workspace(const executable *what, uint64_t address) {
    const size_t size = (size_t)what->workspace + (double_has(CUDNN_FAULT_WORKSPACE) ? 4096 : 0);
    uint8_t *memory = what->workspace > 0 ? double_bytes(address, size) : NULL;
    if (memory) {
        memset(memory, 0xff, size);
    }
    return memory || what->workspace == 0;
}

static bool move_all(run_values *v, const uint64_t *pointers, bool store) {
    bool there = true;
    for (int i = 0; i < v->what->tensor_count; i++) {
        const tensor *t = &v->what->tensors[i];
        if (!t->is_virtual && (!store || is_written(v->what, i))) {
            there = move_tensor(t, pointers[i], v->of[i], store) && there;
        }
    }
    return there;
}

void double_run(const executable *what, const uint64_t *pointers, uint64_t workspace, int number_of_run) {
    run_values v = {.what = what, .number_of_run = number_of_run};
    for (int i = 0; i < what->tensor_count; i++) {
        v.of[i] = calloc((size_t)double_count(&what->tensors[i]), sizeof *v.of[i]);
    }
    if (!move_all(&v, pointers, false) || !use_workspace(what, workspace)) {
        double_violate(0, "a call reaches memory that the device does not have");
    } else {
        for (int k = 0; k < what->operation_count; k++) {
            const operation *o = &what->operations[k];
            if (o->spatial == 0) {
                double_apply(&v, o);
            } else {
                convolve(&v, o);
            }
        }
        (void)move_all(&v, pointers, true);
    }
    for (int i = 0; i < what->tensor_count; i++) {
        free(v.of[i]);
    }
}
