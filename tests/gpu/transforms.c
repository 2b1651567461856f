/* transforms.c - implements transforms.h. */
#include "transforms.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int32_t transform_place;

outcome open_transforms(void) {
    bp_library_info info = {.struct_size = sizeof info};
    void *context = NULL;
    if (bp_library_find("cufft", &info) != BP_OK) {
        return skip_rule("%s", bp_last_error());
    }
    LIBRARY(bp_device_find("cuda:0", &transform_place));
    LIBRARY(bp_device_context(transform_place, &context));
    NEEDS(open_driver());
    WORKS(cu.CtxSetCurrent(context));
    return PASSED;
}

/* ---- By the library ---- */

static outcome new_array(transformed *a, bp_dtype dtype, int ndim, const int64_t *shape, const int64_t *strides,
                         size_t past) {
    const int64_t size = TRANSFORM_BYTES + 256;
    *a = (transformed){.bytes = calloc(1, TRANSFORM_BYTES)};
    HOLDS(a->bytes != NULL);
    LIBRARY(bp_tensor_empty_on(&a->block, transform_place, BP_U8, 1, &size, NULL));
    LIBRARY(bp_view_init(&a->host, a->bytes, dtype, ndim, shape, strides));
    a->device = a->host.tensor;
    a->device.data = a->block->dl_tensor.data;
    a->device.device = a->block->dl_tensor.device;
    a->device.byte_offset = a->block->dl_tensor.byte_offset + past;
    return PASSED;
}

outcome new_transform(transform *t, const bp_fft_call *call, bp_dtype dtype, int ndim, const int64_t *shape,
                      const int64_t *strides, size_t past) {
    bp_dtype out_dtype;
    int out_ndim;
    int64_t out_shape[BP_MAX_NDIM];
    t->call = *call;
    t->expected = calloc(1, TRANSFORM_BYTES);
    HOLDS(t->expected != NULL);
    NEEDS(new_array(&t->in, dtype, ndim, shape, strides, past));
    LIBRARY(bp_fft_shape(call, &t->in.host.tensor, &out_dtype, &out_ndim, out_shape));
    NEEDS(new_array(&t->out, out_dtype, out_ndim, out_shape, NULL, past));
    return write_transform(t, NULL);
}

/* Copies a whole block, in either direction. */
static outcome copy_bytes(transformed *a, bool to_device, bp_queue *queue) {
    const int64_t size = TRANSFORM_BYTES;
    bp_view host;
    DLTensor device = a->block->dl_tensor;
    LIBRARY(bp_view_init(&host, a->bytes, BP_U8, 1, &size, NULL));
    device.shape = host.tensor.shape;
    device.strides = host.tensor.strides;
    device.byte_offset = a->device.byte_offset;
    LIBRARY(to_device ? bp_copy(&device, &host.tensor, queue) : bp_copy(&host.tensor, &device, queue));
    return PASSED;
}

outcome write_transform(transform *t, bp_queue *queue) {
    static unsigned state = 1;
    const bool wide = t->in.host.tensor.dtype.bits / (t->in.host.tensor.dtype.code == kDLComplex ? 2 : 1) == 64;
    for (int i = 0; i < TRANSFORM_BYTES / (wide ? 8 : 4); i++) {
        state = state * 1664525u + 1013904223u;
        const double value = (double)(state >> 8) / (1 << 23) - 1;
        const float single = (float)value;
        memcpy(t->in.bytes + i * (wide ? 8 : 4), wide ? (const void *)&value : &single, wide ? 8 : 4);
    }
    return send_transform(t, queue);
}

outcome send_transform(transform *t, bp_queue *queue) {
    DLTensor expected = t->out.host.tensor;
    expected.data = t->expected;
    LIBRARY(bp_fft_run(NULL, &t->call, &t->in.host.tensor, &expected));
    return copy_bytes(&t->in, true, queue);
}

outcome expect_transform(transform *t) {
    static uint8_t before[TRANSFORM_BYTES];
    const DLTensor *out = &t->out.host.tensor;
    const bool wide = out->dtype.bits / (out->dtype.code == kDLComplex ? 2 : 1) == 64;
    int64_t count = out->dtype.code == kDLComplex ? 2 : 1;
    for (int i = 0; i < out->ndim; i++) {
        count *= out->shape[i];
    }
    memcpy(before, t->in.bytes, TRANSFORM_BYTES);
    LIBRARY(bp_device_wait(transform_place));
    NEEDS(copy_bytes(&t->out, false, NULL));
    NEEDS(copy_bytes(&t->in, false, NULL));
    LIBRARY(bp_device_wait(transform_place));
    for (int64_t i = 0; i < count; i++) {
        const double found = wide ? ((const double *)t->out.bytes)[i] : (double)((const float *)t->out.bytes)[i];
        const double right = wide ? ((const double *)t->expected)[i] : (double)((const float *)t->expected)[i];
        if (!(fabs(found - right) <= (wide ? 1e-12 : 1e-4))) {
            return fail("part %lld is %g, not %g", (long long)i, found, right);
        }
    }
    HOLDS(memcmp(before, t->in.bytes, TRANSFORM_BYTES) == 0); /* the input has stayed */
    return PASSED;
}

void free_transform(transform *t) {
    t->in.block->deleter(t->in.block);
    t->out.block->deleter(t->out.block);
    free(t->in.bytes);
    free(t->out.bytes);
    free(t->expected);
}

/* ---- cuFFT itself ---- */

bp__cufft_api fft;

outcome open_cufft(void) {
    bp_library_info info = {.struct_size = sizeof info};
    NEEDS(open_transforms());
    LIBRARY(bp_library_find("cufft", &info));
    note("%s, version %s", info.path, info.version);
    void *handle = dlopen(info.path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        return fail("%s", dlerror());
    }
#define X(name, symbol, parameters)                                                                                    \
    *(void **)&fft.name = dlsym(handle, #symbol);                                                                      \
    HOLDS(fft.name != NULL);
    BP__CUFFT_FUNCTIONS(X)
#undef X
    return PASSED;
}

outcome new_own_transform(own_transform *t, int rank, long long *n, bool to_real, CUstream stream) {
    const int64_t bytes = TRANSFORM_BYTES;
    long long half[3] = {0}, points = 1, input = 1;
    for (int i = 0; i < rank; i++) {
        half[i] = to_real && i == rank - 1 ? n[i] / 2 + 1 : n[i];
        points *= n[i];
        input *= half[i];
    }
    LIBRARY(bp_tensor_empty_on(&t->from, transform_place, BP_U8, 1, &bytes, NULL));
    LIBRARY(bp_tensor_empty_on(&t->to, transform_place, BP_U8, 1, &bytes, NULL));
    EXPECT(fft.Create(&t->plan), 0);
    EXPECT(fft.SetAutoAllocation(t->plan, 0), 0);
    EXPECT(fft.MakePlanMany(t->plan, rank, n, half, 1, input, BP__CUDA_C_32F, n, 1, points,
                            to_real ? BP__CUDA_R_32F : BP__CUDA_C_32F, 1, &t->workspace_size, BP__CUDA_C_32F),
           0);
    LIBRARY(
        bp_tensor_empty_on(&t->workspace, transform_place, BP_U8, 1, &(int64_t){(int64_t)t->workspace_size + 1}, NULL));
    EXPECT(fft.SetStream(t->plan, stream), 0);
    EXPECT(fft.SetWorkArea(t->plan, t->workspace->dl_tensor.data), 0);
    return PASSED;
}

static void *start_of(const DLManagedTensorVersioned *tensor) {
    return (char *)tensor->dl_tensor.data + tensor->dl_tensor.byte_offset;
}

unsigned run_own_transform(const own_transform *t) {
    return fft.Exec(t->plan, start_of(t->from), start_of(t->to), BP__CUFFT_INVERSE);
}

void free_own_transform(own_transform *t) {
    fft.Destroy(t->plan);
    t->from->deleter(t->from);
    t->to->deleter(t->to);
    t->workspace->deleter(t->workspace);
}
