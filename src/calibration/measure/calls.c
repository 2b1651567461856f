/* calls.c - makes the calls that are measured. */
#include "calibration/measure/measure.h"

#include <stdlib.h>
#include <string.h>

/* Random numbers for all operands. Making them for each point would take longer than the measurement. */
enum { POOL = 1 << 20 };

static uint64_t random_bits(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Returns POOL numbers in (-1, 1). Other values, such as denormal ones, would change the times. */
static const void *pool_of(bool wide) {
    static void *pools[2];
    void **pool = &pools[wide];
    uint64_t state = 88172645463325252u;
    if (!*pool) {
        *pool = malloc(POOL * (wide ? sizeof(double) : sizeof(float)));
        if (!*pool) {
            _Exit(3);
        }
        for (int i = 0; i < POOL; i++) {
            const double value = (double)(int64_t)random_bits(&state) / 9.3e18;
            if (wide) {
                ((double *)*pool)[i] = value;
            } else {
                ((float *)*pool)[i] = (float)value;
            }
        }
    }
    return *pool;
}

static size_t bytes_of(const DLTensor *tensor) {
    size_t bytes = (size_t)(tensor->dtype.bits / 8);
    for (int i = 0; i < tensor->ndim; i++) {
        bytes *= (size_t)tensor->shape[i];
    }
    return bytes;
}

/* Fills memory with numbers of the pool, as often as needed. */
static void fill(char *block, size_t bytes, bool wide) {
    const size_t most = POOL * (wide ? sizeof(double) : sizeof(float));
    for (size_t done = 0; done < bytes; done += most) {
        memcpy(block + done, pool_of(wide), bytes - done < most ? bytes - done : most);
    }
}

static bool is_wide(bp_dtype dtype) {
    return dtype == BP_F64 || dtype == BP_C128;
}

/* Adds an operand with a compact tensor of its own. Returns the tensor. */
static DLTensor *add(call *one, bp_dtype dtype, int ndim, const int64_t *shape, bool input) {
    DLManagedTensorVersioned **owned = &one->owned[one->count];
    if (bp_tensor_empty(owned, dtype, ndim, shape, NULL) != BP_OK) {
        _Exit(3);
    }
    DLTensor *tensor = &(*owned)->dl_tensor;
    one->operands[one->count++] = (bp_operand){tensor->data, 0};
    if (input) {
        fill(tensor->data, bytes_of(tensor), is_wide(dtype));
    } else {
        memset(tensor->data, 0, bytes_of(tensor)); /* maps the memory before the first run */
    }
    return tensor;
}

/* ---- Products ---- */

/* Memory of the operands of products, kept from point to point: new memory for each would take longer than the
 * measurement. */
static void *kept_operand(int operand, size_t bytes, bool wide) {
    static struct kept {
        void *block;
        size_t bytes;
        bool wide;
    } all[3];
    struct kept *k = &all[operand];
    if (k->bytes < bytes || k->wide != wide) {
        const size_t least = POOL * (wide ? sizeof(double) : sizeof(float));
        free(k->block);
        k->bytes = bytes > least ? bytes : least;
        k->wide = wide;
        k->block = aligned_alloc(64, (k->bytes + 63) / 64 * 64);
        if (!k->block) {
            _Exit(3);
        }
        fill(k->block, k->bytes, wide);
    }
    return k->block;
}

/* Describes a matrix or a batch of them in memory of an operand. `step` is the least stride between elements. */
static void view(bp_view *of, bp_dtype dtype, int64_t items, int64_t rows, int64_t columns, bool transposed,
                 int64_t step) {
    const int64_t shape[] = {items, rows, columns};
    const int64_t strides[] = {rows * columns * step, transposed ? step : columns * step,
                               transposed ? rows * step : step};
    const int skipped = items == 1 ? 1 : 0;
    bp_view_init(of, NULL, dtype, 3 - skipped, shape + skipped, strides + skipped);
}

static bool make_product(call *one, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS],
                         const bp_options *options) {
    const int64_t m = sizes[0], n = sizes[1], k = sizes[2];
    const int64_t items = class->variant == BP__VARIANT_BATCHED ? BP__BATCH_ITEMS : 1;
    const int64_t step = class->variant == BP__VARIANT_STRIDED ? 2 : 1;
    bp_view a, b, c;
    view(&a, class->dtype, items, m, k, class->variant == BP__VARIANT_TRANSPOSED_A, 1);
    view(&b, class->dtype, items, k, n, class->variant == BP__VARIANT_TRANSPOSED_B, step);
    view(&c, class->dtype, items, m, n, false, 1);
    if (bp_matmul_plan(&one->plan, options, &a.tensor, &b.tensor, &c.tensor) != BP_OK) {
        return false;
    }
    const int64_t elements[] = {items * m * k, items * k * n * step, items * m * n};
    for (; one->count < 3; one->count++) {
        const size_t bytes = (size_t)elements[one->count] * bp_dtype_size(class->dtype);
        one->operands[one->count].base = kept_operand(one->count, bytes, is_wide(class->dtype));
    }
    return true;
}

/* ---- Transforms ---- */

static bool make_transform(call *one, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS],
                           const bp_options *options) {
    const bool real = class->variant >= BP__VARIANT_REAL_POWERS;
    const bool square = class->variant == BP__VARIANT_C2C_SQUARES || class->variant == BP__VARIANT_REAL_SQUARES;
    const int ndim = square ? 2 : 1;
    const bp_dtype input = !real ? class->dtype : class->dtype == BP_C64 ? BP_F32 : BP_F64;
    const bp_fft_call transform = {.struct_size = sizeof transform, .transform = real ? BP_RFFT : BP_FFT, .ndim = ndim};
    int64_t shape[] = {sizes[1], sizes[0], sizes[0]};
    const DLTensor *in = add(one, input, 1 + ndim, shape, true);
    shape[ndim] = real ? sizes[0] / 2 + 1 : sizes[0];
    const DLTensor *out = add(one, class->dtype, 1 + ndim, shape, false);
    return bp_fft_plan(&one->plan, options, &transform, in, out) == BP_OK;
}

/* ---- Linear algebra ---- */

/* Makes the matrices well-conditioned and positive definite, so that every operation succeeds. */
static void strengthen_diagonal(const DLTensor *a) {
    const int64_t items = a->shape[0], n = a->shape[1];
    for (int64_t i = 0; i < items * n; i++) {
        const int64_t at = i / n * n * n + i % n * (n + 1);
        if (a->dtype.bits == 64) {
            ((double *)a->data)[at] += (double)(2 * n);
        } else {
            ((float *)a->data)[at] += (float)(2 * n);
        }
    }
}

static int words(const char *list) {
    int count = *list != '\0';
    for (; *list; list++) {
        count += *list == ',';
    }
    return count;
}

static bool make_linalg(call *one, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS],
                        const bp_options *options) {
    enum { RIGHT_SIDES = 4 };
    bp_linalg_call operation = {.struct_size = sizeof operation, .op = class->op};
    const int inputs = words(bp_op_inputs(class->op)), all = inputs + words(bp_op_outputs(class->op));
    const int64_t items = sizes[1], n = sizes[0];
    for (int i = 0; i < all; i++) {
        int64_t shape[BP_MAX_NDIM] = {items, n, i == 0 ? n : RIGHT_SIDES};
        bp_dtype dtype = class->dtype;
        int ndim = 3;
        if (i >= inputs && bp_linalg_shape(&operation, i, &dtype, &ndim, shape) != BP_OK) {
            one->count++; /* this mode has no such output */
            continue;
        }
        operation.operand[i] = add(one, dtype, ndim, shape, i < inputs);
    }
    strengthen_diagonal(operation.operand[0]);
    return bp_linalg_plan(&one->plan, options, &operation) == BP_OK;
}

/* ---- Convolutions ---- */

/* Networks use a weight again and again, so it is packed. Images are channels-last, as most libraries prefer. */
static bool make_convolution(call *one, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS],
                             const bp_options *options) {
    enum { WEIGHT = 1, OPERANDS = 4 };
    const bool depthwise = class->variant == BP__VARIANT_CONV_DEPTHWISE;
    const int64_t channels = sizes[0], side = sizes[1], kernel = class->variant == BP__VARIANT_CONV_POINTS ? 1 : 3;
    const int64_t image[] = {1, channels, side, side},
                  strides[] = {channels * side * side, 1, side * channels, channels},
                  taps[] = {channels, depthwise ? 1 : channels, kernel, kernel};
    bp_view in, out;
    one->count = OPERANDS; /* there is no bias, whose position stays empty */
    bp_view_init(&in, kept_operand(0, (size_t)(channels * side * side) * sizeof(float), false), BP_F32, 4, image,
                 strides);
    bp_view_init(&out, kept_operand(2, (size_t)(channels * side * side) * sizeof(float), false), BP_F32, 4, image,
                 strides);
    bp_view weight;
    bp_view_init(&weight, kept_operand(WEIGHT, (size_t)(taps[0] * taps[1] * kernel * kernel) * sizeof(float), false),
                 BP_F32, 4, taps, NULL);
    const bp_conv_call convolution = {.struct_size = sizeof convolution,
                                      .ndim = 2,
                                      .mode = BP_CONV_SAME,
                                      .groups = depthwise ? channels : 1,
                                      .input = &in.tensor,
                                      .weight = &weight.tensor,
                                      .output = &out.tensor};
    const bp_operand plain = {weight.tensor.data, 0};
    one->operands[0] = (bp_operand){in.tensor.data, 0};
    one->operands[OPERANDS - 1] = (bp_operand){out.tensor.data, 0};
    one->is_packed = bp_conv_plan(&one->plan, options, &convolution) == BP_OK &&
                     bp_plan_pack(one->plan, WEIGHT, &plain, &one->packed[WEIGHT]) == BP_OK;
    return one->is_packed;
}

bool call_make(call *one, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS],
               const bp_options *options) {
    *one = (call){0};
    return class->op == BP_OP_GEMM   ? make_product(one, class, sizes, options)
           : class->op == BP_OP_FFT  ? make_transform(one, class, sizes, options)
           : class->op == BP_OP_CONV ? make_convolution(one, class, sizes, options)
                                     : make_linalg(one, class, sizes, options);
}

void call_free(call *one) {
    bp_plan_release(one->plan);
    for (int i = 0; i < one->count; i++) {
        bp_packed_release(one->packed[i]);
        if (one->owned[i]) {
            one->owned[i]->deleter(one->owned[i]);
        }
    }
    *one = (call){0};
}
