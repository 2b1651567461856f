/* copy.c - copies between the host and a device, within a device, and between two devices.
 *
 * The driver copies contiguous bytes and rectangles of up to three dimensions. A layout that needs more than a few of
 * them is copied by a kernel. Between host and device, the kernel works on a temporary block, in which the runs have
 * the order of the host's memory, so that one or a few commands copy it. Offsets of a layout are addresses here. */
#include "providers/cuda/runtime.h"
#include "providers/strided/strided.h"

#include <stddef.h>

/* Numbers of commands up to which no kernel is used, and bytes of a run from which on rectangles need none. */
enum { PIECES_WITHIN_DEVICE = 4, PIECES_BETWEEN = 32, PIECES_OF_PEERS = 1024, LONG_RUN = 64 };

/* One call. The device was entered. */
typedef struct copy_job {
    const bp__cu_queue *queue;
    bp_transfer_kind kind;
    CUcontext source; /* of another device; NULL: none */
} copy_job;

/* A rectangle; a pitch is the distance of two rows, a height the rows of a slice. */
typedef struct rectangle_copy {
    uint64_t dst, src;
    size_t width, rows, slices, dst_pitch, dst_height, src_pitch, src_height;
} rectangle_copy;

static void *address_of(uint64_t address) {
    return (void *)(uintptr_t)address;
}

/* ---- One command ---- */

static CUresult copy_run(const copy_job *job, uint64_t dst, uint64_t src, size_t bytes) {
    const CUstream stream = job->queue->native;
    if (job->source) {
        return bp__cu.MemcpyPeerAsync(dst, job->queue->device->context, src, job->source, bytes, stream);
    }
    return job->kind == BP_TRANSFER_WRITE  ? bp__cu.MemcpyHtoDAsync(dst, address_of(src), bytes, stream)
           : job->kind == BP_TRANSFER_READ ? bp__cu.MemcpyDtoHAsync(address_of(dst), src, bytes, stream)
                                           : bp__cu.MemcpyDtoDAsync(dst, src, bytes, stream);
}

static CUresult copy_peer_rectangle(const copy_job *job, const rectangle_copy *r) {
    const CUDA_MEMCPY3D_PEER all = {
        .srcMemoryType = BP__CU_MEMORYTYPE_DEVICE,
        .srcDevice = r->src,
        .srcContext = job->source,
        .srcPitch = r->src_pitch,
        .srcHeight = r->src_height,
        .dstMemoryType = BP__CU_MEMORYTYPE_DEVICE,
        .dstDevice = r->dst,
        .dstContext = job->queue->device->context,
        .dstPitch = r->dst_pitch,
        .dstHeight = r->dst_height,
        .WidthInBytes = r->width,
        .Height = r->rows,
        .Depth = r->slices,
    };
    return bp__cu.Memcpy3DPeerAsync(&all, job->queue->native);
}

static CUresult copy_rectangle(const copy_job *job, const rectangle_copy *r) {
    const bool from_host = job->kind == BP_TRANSFER_WRITE, to_host = job->kind == BP_TRANSFER_READ;
    const CUDA_MEMCPY3D all = {
        .srcMemoryType = from_host ? BP__CU_MEMORYTYPE_HOST : BP__CU_MEMORYTYPE_DEVICE,
        .srcHost = from_host ? address_of(r->src) : NULL,
        .srcDevice = from_host ? 0 : r->src,
        .srcPitch = r->src_pitch,
        .srcHeight = r->src_height,
        .dstMemoryType = to_host ? BP__CU_MEMORYTYPE_HOST : BP__CU_MEMORYTYPE_DEVICE,
        .dstHost = to_host ? address_of(r->dst) : NULL,
        .dstDevice = to_host ? 0 : r->dst,
        .dstPitch = r->dst_pitch,
        .dstHeight = r->dst_height,
        .WidthInBytes = r->width,
        .Height = r->rows,
        .Depth = r->slices,
    };
    return job->source ? copy_peer_rectangle(job, r) : bp__cu.Memcpy3DAsync(&all, job->queue->native);
}

/* ---- Rectangles ---- */

/* Makes a rectangle of a layout that begins at two addresses. */
static rectangle_copy make_rectangle(const bp__strided *layout, const bp__rectangle *parts, uint64_t dst,
                                     uint64_t src) {
    const int row = parts->row, slice = parts->slice;
    rectangle_copy r = {.dst = dst,
                        .src = src,
                        .width = (size_t)layout->run,
                        .rows = (size_t)layout->size[row],
                        .slices = slice < 0 ? 1 : (size_t)layout->size[slice],
                        .dst_pitch = (size_t)layout->dst_stride[row],
                        .src_pitch = (size_t)layout->src_stride[row]};
    r.dst_height = slice < 0 ? r.rows : (size_t)layout->dst_stride[slice] / r.dst_pitch;
    r.src_height = slice < 0 ? r.rows : (size_t)layout->src_stride[slice] / r.src_pitch;
    return r;
}

/* Copies the rows of a rectangle one by one. */
static CUresult copy_rows(const copy_job *job, const rectangle_copy *r) {
    CUresult code = BP__CU_SUCCESS;
    for (size_t i = 0; i < r->rows * r->slices && code == BP__CU_SUCCESS; i++) {
        const size_t row = i % r->rows, slice = i / r->rows;
        code = copy_run(job, r->dst + (slice * r->dst_height + row) * r->dst_pitch,
                        r->src + (slice * r->src_height + row) * r->src_pitch, r->width);
    }
    return code;
}

/* Copies the layout as rectangles. Drivers may refuse pitches that are too long for the device. */
static CUresult copy_rectangles(const copy_job *job, const bp__strided *layout, const bp__rectangle *parts) {
    CUresult code = BP__CU_SUCCESS;
    for (uint64_t i = 0; i < parts->pieces && code == BP__CU_SUCCESS; i++) {
        uint64_t dst, src;
        bp__rectangle_seek(layout, parts, i, &dst, &src);
        if (parts->row < 0) {
            code = copy_run(job, dst, src, (size_t)layout->run);
            continue;
        }
        const rectangle_copy r = make_rectangle(layout, parts, dst, src);
        code = copy_rectangle(job, &r);
        code = code == BP__CU_INVALID_VALUE ? copy_rows(job, &r) : code;
    }
    return code;
}

/* ---- The kernel ---- */

/* Adds the units of a run as the innermost dimension. */
static void to_units(const bp__strided *layout, uint64_t unit, bp__cu_units *units) {
    *units = (bp__cu_units){.dst = layout->dst, .src = layout->src, .count = bp__strided_bytes(layout) / unit};
    units->size[0] = layout->run / unit;
    units->dst_stride[0] = units->src_stride[0] = (int64_t)unit;
    for (int i = 0; i < layout->ndim; i++) {
        const int at = layout->ndim - i;
        units->size[at] = layout->size[i];
        units->dst_stride[at] = layout->dst_stride[i];
        units->src_stride[at] = layout->src_stride[i];
    }
}

/* Copies within the device with a kernel; with rectangles if there is none. */
static CUresult copy_by_kernel(const copy_job *job, const bp__strided *layout) {
    enum { GROUP = 256 };
    const uint64_t unit = bp__strided_unit(layout);
    CUfunction kernel;
    bp__cu_units units;
    to_units(layout, unit, &units);
    bp__cu_copy_kernel(job->queue->device, unit, &kernel);
    const uint64_t groups = (units.count + GROUP - 1) / GROUP;
    if (!kernel || groups > INT32_MAX) {
        const bp__rectangle parts = bp__rectangle_of(layout);
        return copy_rectangles(job, layout, &parts);
    }
    void *parameters[] = {&units};
    return bp__cu.LaunchKernel(kernel, (unsigned)groups, 1, 1, GROUP, 1, 1, 0, job->queue->native, parameters, NULL);
}

/* ---- Through a temporary block ---- */

bool bp__cu_may_allocate(const bp__cu_queue *queue) {
    CUstreamCaptureStatus status = BP__CU_STREAM_CAPTURE_STATUS_NONE;
    return queue->device->has_pools && bp__cu.StreamIsCapturing(queue->native, &status) == BP__CU_SUCCESS &&
           status == BP__CU_STREAM_CAPTURE_STATUS_NONE;
}

static CUresult copy_staged(const copy_job *given, const bp__strided *layout) {
    const bool write = given->kind == BP_TRANSFER_WRITE;
    const CUstream stream = given->queue->native;
    copy_job inner = *given;
    bp__strided with_host, within;
    CUdeviceptr block = 0;
    bp__strided_divide(layout, write, &with_host, &within);
    inner.kind = BP_TRANSFER_DEVICE;
    CUresult code = bp__cu.MemAllocAsync(&block, (size_t)bp__strided_bytes(&with_host), stream);
    if (code != BP__CU_SUCCESS) {
        return code;
    }
    *(write ? &with_host.dst : &with_host.src) += block;
    *(write ? &within.src : &within.dst) += block;
    const bp__rectangle parts = bp__rectangle_of(&with_host);
    code = write ? copy_rectangles(given, &with_host, &parts) : copy_by_kernel(&inner, &within);
    if (code == BP__CU_SUCCESS) {
        code = write ? copy_by_kernel(&inner, &within) : copy_rectangles(given, &with_host, &parts);
    }
    const CUresult freed = bp__cu.MemFreeAsync(block, stream); /* after the commands of the stream */
    return code ? code : freed;
}

/* ---- The choice ---- */

static CUresult enqueue(const copy_job *job, const bp__strided *layout) {
    const bp__rectangle parts = bp__rectangle_of(layout);
    const bool is_run = parts.row < 0 && parts.pieces == 1;
    if (job->kind == BP_TRANSFER_DEVICE && !job->source) {
        const bool suits = parts.pieces <= PIECES_WITHIN_DEVICE && layout->run >= LONG_RUN;
        return is_run || suits ? copy_rectangles(job, layout, &parts) : copy_by_kernel(job, layout);
    }
    if (job->source && parts.pieces > PIECES_OF_PEERS) {
        return BP__CU_NOT_SUPPORTED; /* the host is faster */
    }
    return parts.pieces <= PIECES_BETWEEN || job->source || !bp__cu_may_allocate(job->queue)
               ? copy_rectangles(job, layout, &parts)
               : copy_staged(job, layout);
}

/* Copies and marks the end. */
static bp_status copy(const copy_job *job, const bp_transfer *transfer, void **event) {
    bp__cu_device *device = job->queue->device;
    bp_transfer absolute = *transfer;
    bp__strided layout;
    bp__cu_scope scope;
    absolute.dst.offset = (uint64_t)(uintptr_t)bp_operand_address(&transfer->dst);
    absolute.src.offset = (uint64_t)(uintptr_t)bp_operand_address(&transfer->src);
    CUresult code = bp__cu_enter(device, true, &scope);
    if (code == BP__CU_SUCCESS && bp__strided_of(&absolute, job->kind != BP_TRANSFER_WRITE, &layout)) {
        code = enqueue(job, &layout);
    }
    const bp_status status =
        code == BP__CU_SUCCESS ? bp__cu_mark(job->queue, event) : bp__cu_fail(device->host, code, "a copy");
    bp__cu_leave(&scope);
    return status;
}

bp_status bp__cu_copy(void *opaque, const bp_transfer *transfer, void **event) {
    const copy_job job = {.queue = opaque, .kind = transfer->kind};
    const bp_status status = bp__cu_queue_check(job.queue);
    return status == BP_OK ? copy(&job, transfer, event) : status;
}

/* ---- Between two devices ---- */

/* Lets the device reach the memory of the other one, so that copies need no memory of the host. If it cannot, the
 * driver copies through memory of its own. */
static void enable_access(bp__cu_device *device, const bp__cu_device *other) {
    const uint64_t bit = UINT64_C(1) << other->index;
    bp__cu_scope scope;
    int can = 0;
    pthread_mutex_lock(&device->mutex);
    const bool known = (device->peers & bit) != 0;
    device->peers |= bit;
    pthread_mutex_unlock(&device->mutex);
    if (known || bp__cu.DeviceCanAccessPeer(&can, device->id, other->id) != BP__CU_SUCCESS || !can) {
        return;
    }
    if (bp__cu_enter(device, true, &scope) == BP__CU_SUCCESS) {
        bp__cu.CtxEnablePeerAccess(other->context, 0); /* PEER_ACCESS_ALREADY_ENABLED: by the program */
    }
    bp__cu_leave(&scope);
}

bp_status bp__cu_copy_peer(void *opaque, const bp_transfer *transfer, void *source, void **event) {
    const bp__cu_device *other = source;
    const copy_job job = {.queue = opaque, .kind = transfer->kind, .source = other->context};
    const bp_status status = bp__cu_queue_check(job.queue);
    if (status != BP_OK) {
        return status;
    }
    enable_access(job.queue->device, other);
    return copy(&job, transfer, event);
}
