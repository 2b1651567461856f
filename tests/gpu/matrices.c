/* matrices.c - implements matrices.h. */
#include "matrices.h"

#include <math.h>
#include <string.h>

const char *const library_names[LIBRARIES] = {"cublaslt", "cublas"};

/* ---- Numbers ---- */

static bool is_complex(bp_dtype dtype) {
    return dtype == BP_C64 || dtype == BP_C128;
}

/* Writes a number that the type has. */
static void store(bp_dtype dtype, void *to, int64_t index, double value) {
    const float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000, exponent = (bits >> 23 & 255) - 112;
    switch (dtype) {
    case BP_F16:
        ((uint16_t *)to)[index] = (uint16_t)(isnan(value) ? 0x7E00
                                             : value == 0 ? sign
                                                          : sign | exponent << 10 | (bits >> 13 & 1023));
        break;
    case BP_BF16:
        ((uint16_t *)to)[index] = (uint16_t)(bits >> 16);
        break;
    case BP_I8:
        ((int8_t *)to)[index] = (int8_t)value;
        break;
    case BP_F32:
    case BP_C64:
        ((float *)to)[is_complex(dtype) ? 2 * index : index] = single;
        break;
    default:
        ((double *)to)[is_complex(dtype) ? 2 * index : index] = value;
    }
}

/* Reads a number; of complex ones the real part. */
static double load(bp_dtype dtype, const void *from, int64_t index) {
    const uint16_t half = ((const uint16_t *)from)[dtype == BP_F16 || dtype == BP_BF16 ? index : 0];
    const uint32_t bits = (uint32_t)half << 16;
    const int exponent = half >> 10 & 31;
    float single;
    switch (dtype) {
    case BP_F16:
        return (half & 0x8000 ? -1 : 1) * (exponent == 31  ? (half & 1023 ? (double)NAN : (double)INFINITY)
                                           : exponent == 0 ? ldexp(half & 1023, -24)
                                                           : ldexp(1024 + (half & 1023), exponent - 25));
    case BP_BF16:
        memcpy(&single, &bits, sizeof single);
        return (double)single;
    case BP_I32:
        return ((const int32_t *)from)[index];
    case BP_F32:
    case BP_C64:
        return (double)((const float *)from)[is_complex(dtype) ? 2 * index : index];
    default:
        return ((const double *)from)[is_complex(dtype) ? 2 * index : index];
    }
}

/* ---- Matrices on the device ---- */

int32_t gpu_place;

outcome open_products(void) {
    bp_backend_info info = {.struct_size = sizeof info};
    void *context = NULL;
    LIBRARY(bp_backend_status("cuda", &info));
    if (!info.available) {
        return skip_rule("%s", info.reason);
    }
    LIBRARY(bp_device_find("cuda:0", &gpu_place));
    LIBRARY(bp_device_context(gpu_place, &context));
    NEEDS(open_driver());
    WORKS(cu.CtxSetCurrent(context));
    return PASSED;
}

/* Returns the copy in host memory as a tensor. */
static outcome host_view(const matrix *m, bp_view *view, void *bytes) {
    LIBRARY(bp_view_init(view, bytes, m->dtype, 2, m->shape, m->strides));
    return PASSED;
}

outcome write_matrix(matrix *m, void *bytes, bp_queue *queue) {
    bp_view view;
    memset(bytes, 0, (size_t)ELEMENTS * ITEM_MOST);
    for (int64_t i = 0; i < m->shape[0]; i++) {
        for (int64_t j = 0; j < m->shape[1]; j++) {
            store(m->dtype, bytes, i * m->strides[0] + j * m->strides[1], m->values[i * m->shape[1] + j]);
        }
    }
    NEEDS(host_view(m, &view, bytes));
    LIBRARY(bp_copy(&m->tensor, &view.tensor, queue));
    return PASSED;
}

outcome read_matrix(matrix *m) {
    static uint8_t bytes[ELEMENTS * ITEM_MOST];
    bp_view view;
    NEEDS(host_view(m, &view, bytes));
    LIBRARY(bp_copy(&view.tensor, &m->tensor, NULL));
    LIBRARY(bp_device_wait(gpu_place));
    for (int64_t i = 0; i < m->shape[0]; i++) {
        for (int64_t j = 0; j < m->shape[1]; j++) {
            m->values[i * m->shape[1] + j] = load(m->dtype, bytes, i * m->strides[0] + j * m->strides[1]);
        }
    }
    return PASSED;
}

outcome new_matrix(matrix *m, bp_dtype dtype, int64_t rows, int64_t columns, bool by_columns, size_t past) {
    static uint8_t bytes[ELEMENTS * ITEM_MOST];
    const int64_t size = ELEMENTS * ITEM_MOST + 256;
    *m = (matrix){.dtype = dtype, .shape = {rows, columns}};
    m->strides[0] = by_columns ? 1 : SIDE;
    m->strides[1] = by_columns ? SIDE : 1;
    LIBRARY(bp_tensor_empty_on(&m->block, gpu_place, BP_U8, 1, &size, NULL));
    m->tensor = (DLTensor){.data = m->block->dl_tensor.data,
                           .device = m->block->dl_tensor.device,
                           .ndim = 2,
                           .dtype = bp_dtype_to_dlpack(dtype),
                           .shape = m->shape,
                           .strides = m->strides,
                           .byte_offset = m->block->dl_tensor.byte_offset + past};
    for (int64_t i = 0; i < rows * columns; i++) {
        m->values[i] = (double)((i * 7 + columns) % 5 - 2);
    }
    if (dtype != BP_I32) {
        NEEDS(write_matrix(m, bytes, NULL));
        LIBRARY(bp_device_wait(gpu_place));
    }
    return PASSED;
}

void free_matrix(matrix *m) {
    m->block->deleter(m->block);
}

outcome multiply(const char *settings, int transform_a, int transform_b, const bp_scalar *alpha, matrix *a, matrix *b,
                 const bp_scalar *beta, matrix *c) {
    bp_options *options;
    LIBRARY(bp_options_new(&options, settings));
    LIBRARY(bp_gemm_run(options, (bp_transform)transform_a, (bp_transform)transform_b, alpha, &a->tensor, &b->tensor,
                        beta, &c->tensor));
    bp_options_release(options);
    return PASSED;
}
