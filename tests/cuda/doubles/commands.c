/* commands.c - commands of the double of libcuda.so.1: copies, fills, calls of the host and kernels. */
#include "parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- Running ---- */

/* Returns the bytes of a place, NULL if a device has no such memory. */
static uint8_t *bytes_of(const place *where, uint64_t offset, size_t size) {
    return where->on_device ? double_bytes(where->address + offset, size)
                            : (uint8_t *)(uintptr_t)(where->address + offset);
}

static CUresult run_copy(const copy3d *copy) {
    const size_t rows = copy->rows - (size_t)(double_has(FAULT_ROWS) && copy->rows > 1);
    for (size_t i = 0; i < copy->slices; i++) {
        for (size_t j = 0; j < rows; j++) {
            uint8_t *dst = bytes_of(&copy->dst, i * copy->dst_slice + j * copy->dst_pitch, copy->width);
            const uint8_t *src = bytes_of(&copy->src, i * copy->src_slice + j * copy->src_pitch, copy->width);
            if (!dst || !src) {
                return BP__CU_ILLEGAL_ADDRESS;
            }
            memcpy(dst, src, copy->width);
        }
    }
    return BP__CU_SUCCESS;
}

static CUresult run_fill(const task *each) {
    for (size_t i = 0; i < each->copy.rows; i++) {
        uint8_t *bytes = double_bytes(each->copy.dst.address + i * each->copy.dst_pitch, each->copy.width);
        if (!bytes) {
            return BP__CU_ILLEGAL_ADDRESS;
        }
        memset(bytes, each->value, each->copy.width);
    }
    return BP__CU_SUCCESS;
}

static CUresult run_graph(const graph_exec *run) {
    CUresult code = BP__CU_SUCCESS;
    for (const task *each = run->first; each && code == BP__CU_SUCCESS; each = each->next) {
        code = double_run(each);
    }
    return code;
}

CUresult double_run(const task *each) {
    switch (each->kind) {
    case TASK_COPY:
        return run_copy(&each->copy);
    case TASK_SET:
        return run_fill(each);
    case TASK_KERNEL:
        return double_launch(each->kernel, each->shape, each->parameters);
    case TASK_GRAPH:
        return run_graph(each->graph);
    case TASK_FREE:
        double_free_block(each->copy.dst.address);
        return BP__CU_SUCCESS;
    case TASK_HOST:
        pthread_mutex_unlock(&double_mutex);
        each->call(each->user);
        pthread_mutex_lock(&double_mutex);
        return BP__CU_SUCCESS;
    default:
        return BP__CU_SUCCESS;
    }
}

/* ---- Enqueueing ---- */

static CUresult enqueue(CUstream handle, const task *filled) {
    context *current;
    CUresult code = double_enter(&current);
    if (code != BP__CU_SUCCESS) {
        return code;
    }
    pthread_mutex_lock(&double_mutex);
    stream *on = double_stream(current, handle);
    code = on ? double_enqueue(on, filled) : BP__CU_INVALID_HANDLE;
    pthread_mutex_unlock(&double_mutex);
    return code;
}

static CUresult enqueue_run(CUstream handle, place dst, place src, size_t bytes) {
    const task copy = {.kind = TASK_COPY, .copy = {.dst = dst, .src = src, .width = bytes, .rows = 1, .slices = 1}};
    cuda_double.runs++;
    return enqueue(handle, &copy);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream handle) {
    return enqueue_run(handle, (place){true, dst}, (place){false, (uint64_t)(uintptr_t)src}, bytes);
}

CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream handle) {
    return enqueue_run(handle, (place){false, (uint64_t)(uintptr_t)dst}, (place){true, src}, bytes);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream handle) {
    return enqueue_run(handle, (place){true, dst}, (place){true, src}, bytes);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t bytes,
                           CUstream handle) {
    if (!to || !from) {
        return BP__CU_INVALID_CONTEXT;
    }
    cuda_double.peer_copies++;
    return enqueue_run(handle, (place){true, dst}, (place){true, src}, double_has(FAULT_PEERS) ? 0 : bytes);
}

/* The rules of pitches and heights. */
static bool is_right(const copy3d *copy, size_t dst_height, size_t src_height, const void *reserved) {
    return !cuda_double.refuse_rectangles && !reserved && copy->width > 0 && copy->dst_pitch >= copy->width &&
           copy->src_pitch >= copy->width && copy->dst_pitch <= INT32_MAX && copy->src_pitch <= INT32_MAX &&
           (copy->slices == 1 || (dst_height >= copy->rows && src_height >= copy->rows));
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *all, CUstream handle) {
    const bool to_device = all->dstMemoryType == BP__CU_MEMORYTYPE_DEVICE;
    const bool from_device = all->srcMemoryType == BP__CU_MEMORYTYPE_DEVICE;
    const task copy = {.kind = TASK_COPY,
                       .copy = {.dst = {to_device, to_device ? all->dstDevice : (uint64_t)(uintptr_t)all->dstHost},
                                .src = {from_device, from_device ? all->srcDevice : (uint64_t)(uintptr_t)all->srcHost},
                                .dst_pitch = all->dstPitch,
                                .dst_slice = all->dstPitch * all->dstHeight,
                                .src_pitch = all->srcPitch,
                                .src_slice = all->srcPitch * all->srcHeight,
                                .width = all->WidthInBytes,
                                .rows = all->Height,
                                .slices = all->Depth}};
    cuda_double.rectangles++;
    return is_right(&copy.copy, all->dstHeight, all->srcHeight, all->reserved0) ? enqueue(handle, &copy)
                                                                                : BP__CU_INVALID_VALUE;
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *all, CUstream handle) {
    const task copy = {.kind = TASK_COPY,
                       .copy = {.dst = {true, all->dstDevice},
                                .src = {true, all->srcDevice},
                                .dst_pitch = all->dstPitch,
                                .dst_slice = all->dstPitch * all->dstHeight,
                                .src_pitch = all->srcPitch,
                                .src_slice = all->srcPitch * all->srcHeight,
                                .width = all->WidthInBytes,
                                .rows = double_has(FAULT_PEERS) ? 0 : all->Height,
                                .slices = all->Depth}};
    cuda_double.peer_copies++;
    return is_right(&copy.copy, all->dstHeight, all->srcHeight, NULL) && all->srcContext && all->dstContext
               ? enqueue(handle, &copy)
               : BP__CU_INVALID_VALUE;
}

CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t bytes, CUstream handle) {
    const task fill = {.kind = TASK_SET, .value = value, .copy = {.dst = {true, dst}, .width = bytes, .rows = 1}};
    return enqueue(handle, &fill);
}

CUresult cuMemsetD2D8Async(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height,
                           CUstream handle) {
    const task fill = {.kind = TASK_SET,
                       .value = value,
                       .copy = {.dst = {true, dst}, .dst_pitch = pitch, .width = width, .rows = height}};
    return width == 0 || height == 0 || (height > 1 && (pitch < width || pitch > INT32_MAX)) ? BP__CU_INVALID_VALUE
                                                                                             : enqueue(handle, &fill);
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn call, void *user) {
    const task host = {.kind = TASK_HOST, .call = call, .user = user};
    return enqueue(handle, &host);
}

/* Whether a device takes these groups; PTX has one dimension here. */
static bool is_shape(const function *kernel, const unsigned shape[6]) {
    unsigned threads = 1;
    for (int i = 0; i < 3; i++) {
        if (shape[i] == 0 || shape[3 + i] == 0 || shape[i] > (i == 0 ? 0x7fffffffu : 65535u) || shape[3 + i] > 1024) {
            return false;
        }
        threads *= shape[3 + i];
    }
    return threads <= 1024 && (kernel->run || (shape[1] == 1 && shape[2] == 1 && shape[4] == 1 && shape[5] == 1));
}

CUresult cuLaunchKernel(CUfunction kernel, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned threads_y,
                        unsigned threads_z, unsigned shared, CUstream handle, void **parameters, void **extra) {
    task launch = {.kind = TASK_KERNEL, .kernel = kernel, .shape = {x, y, z, threads, threads_y, threads_z}};
    if (!kernel || shared || extra || !is_shape(kernel, launch.shape)) {
        return BP__CU_INVALID_VALUE;
    }
    uint8_t *to = launch.parameters;
    for (int i = 0; i < kernel->count; i++) {
        memcpy(to, parameters[i], kernel->sizes[i]);
        to += kernel->sizes[i];
    }
    cuda_double.kernels++;
    return enqueue(handle, &launch);
}
