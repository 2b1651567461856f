/* copy.c - copies between the host and a device, and within a device.
 *
 * OpenCL copies contiguous bytes and rectangles of up to three dimensions. A layout that needs more than a few of them
 * is copied by a kernel. Between host and device, the kernel works on a temporary block, in which the runs have the
 * order of the host's memory, so that one or a few commands copy it. */
#include "providers/strided/strided.h"
#include "providers/opencl/runtime.h"

#include <stdio.h>

BP__KERNEL_SOURCE(copy);

/* Numbers of commands up to which no kernel is used. */
enum { PIECES_WITHIN_DEVICE = 4, PIECES_WITH_HOST = 32 };

/* Work items of a group. If drivers chose it by the range, PoCL would compile the kernel again for each size. */
enum { GROUP = 64 };

/* One call. Bases are a cl_mem or, for the host, an address. */
typedef struct copy_job {
    const bp__cl_queue *queue;
    const bp__cl_api *cl;
    bp_transfer_kind kind;
    void *dst, *src;
} copy_job;

static bp_status fail(const copy_job *job, cl_int code, const char *what) {
    return bp__cl_fail(job->queue->device->host, code, what);
}

/* ---- Rectangles ---- */

static cl_int copy_run(const copy_job *job, uint64_t dst, uint64_t src, size_t run, cl_event *event) {
    cl_command_queue queue = job->queue->native;
    switch (job->kind) {
    case BP_TRANSFER_WRITE:
        return job->cl->EnqueueWriteBuffer(queue, job->dst, 0, dst, run,
                                           bp_operand_address(&(bp_operand){job->src, src}), 0, NULL, event);
    case BP_TRANSFER_READ:
        return job->cl->EnqueueReadBuffer(queue, job->src, 0, src, run,
                                          bp_operand_address(&(bp_operand){job->dst, dst}), 0, NULL, event);
    default:
        return job->cl->EnqueueCopyBuffer(queue, job->src, job->dst, src, dst, run, 0, NULL, event);
    }
}

/* Copies the rectangle that begins at two offsets. */
static cl_int copy_rectangle(const copy_job *job, const bp__strided *layout, const bp__rectangle *rectangle,
                             uint64_t dst, uint64_t src, cl_event *event) {
    const bp__cl_api *cl = job->cl;
    cl_command_queue queue = job->queue->native;
    int row = rectangle->row, slice = rectangle->slice;
    const size_t start[3] = {0, 0, 0}, dst_start[3] = {dst, 0, 0}, src_start[3] = {src, 0, 0};
    const size_t region[3] = {layout->run, row < 0 ? 1 : layout->size[row], slice < 0 ? 1 : layout->size[slice]};
    size_t dst_row = row < 0 ? 0 : (size_t)layout->dst_stride[row];
    size_t src_row = row < 0 ? 0 : (size_t)layout->src_stride[row];
    size_t dst_slice = slice < 0 ? 0 : (size_t)layout->dst_stride[slice];
    size_t src_slice = slice < 0 ? 0 : (size_t)layout->src_stride[slice];
    if (row < 0) {
        return copy_run(job, dst, src, layout->run, event);
    }
    switch (job->kind) {
    case BP_TRANSFER_WRITE:
        return cl->EnqueueWriteBufferRect(queue, job->dst, 0, dst_start, start, region, dst_row, dst_slice, src_row,
                                          src_slice, bp_operand_address(&(bp_operand){job->src, src}), 0, NULL, event);
    case BP_TRANSFER_READ:
        return cl->EnqueueReadBufferRect(queue, job->src, 0, src_start, start, region, src_row, src_slice, dst_row,
                                         dst_slice, bp_operand_address(&(bp_operand){job->dst, dst}), 0, NULL, event);
    default:
        return cl->EnqueueCopyBufferRect(queue, job->src, job->dst, src_start, dst_start, region, src_row, src_slice,
                                         dst_row, dst_slice, 0, NULL, event);
    }
}

/* Whether the driver refused a rectangle that the standard permits, as NVIDIA's does at the end of some buffers. */
static bool is_refused(cl_int code, const bp__rectangle *rectangle) {
    return code == BP__CL_INVALID_VALUE && rectangle->row >= 0;
}

/* Copies the runs of a rectangle one by one. */
static cl_int copy_runs(const copy_job *job, const bp__strided *layout, const bp__rectangle *rectangle, uint64_t dst,
                        uint64_t src, cl_event *event) {
    const int row = rectangle->row, slice = rectangle->slice;
    const uint64_t rows = layout->size[row], all = rows * (slice < 0 ? 1 : layout->size[slice]);
    cl_int code = BP__CL_SUCCESS;
    for (uint64_t i = 0; i < all && code == BP__CL_SUCCESS; i++) {
        uint64_t to = dst + i % rows * (uint64_t)layout->dst_stride[row];
        uint64_t from = src + i % rows * (uint64_t)layout->src_stride[row];
        if (slice >= 0) {
            to += i / rows * (uint64_t)layout->dst_stride[slice];
            from += i / rows * (uint64_t)layout->src_stride[slice];
        }
        code = copy_run(job, to, from, layout->run, i == all - 1 ? event : NULL);
    }
    return code;
}

/* With `always`, a rectangle that the driver refuses is copied by its runs. */
static cl_int enqueue_rectangles(const copy_job *job, const bp__strided *layout, const bp__rectangle *rectangle,
                                 bool always, cl_event *event) {
    cl_int code = BP__CL_SUCCESS;
    for (uint64_t i = 0; i < rectangle->pieces && code == BP__CL_SUCCESS; i++) {
        uint64_t dst, src;
        cl_event *const last = i == rectangle->pieces - 1 ? event : NULL;
        bp__rectangle_seek(layout, rectangle, i, &dst, &src);
        code = copy_rectangle(job, layout, rectangle, dst, src, last);
        if (always && is_refused(code, rectangle)) {
            code = copy_runs(job, layout, rectangle, dst, src, last);
        }
    }
    return code;
}

static bp_status copy_rectangles(const copy_job *job, const bp__strided *layout, const bp__rectangle *rectangle,
                                 cl_event *event) {
    const cl_int code = enqueue_rectangles(job, layout, rectangle, true, event);
    return code == BP__CL_SUCCESS ? BP_OK : fail(job, code, "copy");
}

/* ---- The kernel ---- */

/* As in copy.cl. */
typedef struct kernel_layout {
    cl_ulong size[BP_TRANSFER_MAX_NDIM];
    int64_t dst[BP_TRANSFER_MAX_NDIM], src[BP_TRANSFER_MAX_NDIM];
    cl_ulong dimensions, units;
} kernel_layout;

static void write_options(uint64_t unit, uint64_t units, char *text, size_t size) {
    const char *type = unit == 16  ? "ulong2"
                       : unit == 8 ? "ulong"
                       : unit == 4 ? "uint"
                       : unit == 2 ? "ushort"
                                   : "uchar";
    snprintf(text, size, "-DUNIT=%s -DINDEX=%s", type, units <= UINT32_MAX ? "uint" : "ulong");
}

/* Adds the units of a run as the last dimension. Returns false if all dimensions are taken. */
static bool to_units(const bp__strided *layout, uint64_t unit, kernel_layout *units) {
    uint64_t run = layout->run / unit;
    int ndim = layout->ndim;
    if (run > 1 && ndim == BP_TRANSFER_MAX_NDIM) {
        return false;
    }
    *units = (kernel_layout){.dimensions = (cl_ulong)ndim, .units = bp__strided_bytes(layout) / unit};
    for (int i = 0; i < ndim; i++) {
        units->size[i] = layout->size[i];
        units->dst[i] = layout->dst_stride[i] / (int64_t)unit;
        units->src[i] = layout->src_stride[i] / (int64_t)unit;
    }
    if (run > 1 || ndim == 0) {
        units->size[ndim] = run;
        units->dst[ndim] = units->src[ndim] = 1;
        units->dimensions++;
    }
    return true;
}

static bp_status run_kernel(const copy_job *job, cl_kernel kernel, const bp__strided *layout, uint64_t unit,
                            const kernel_layout *units, cl_event *event) {
    const bp__cl_api *cl = job->cl;
    cl_mem dst = job->dst, src = job->src;
    cl_ulong dst_first = layout->dst / unit, src_first = layout->src / unit;
    const size_t group = GROUP, range = (units->units + GROUP - 1) / GROUP * GROUP;
    cl_int code = cl->SetKernelArg(kernel, 0, sizeof dst, &dst);
    code = code ? code : cl->SetKernelArg(kernel, 1, sizeof dst_first, &dst_first);
    code = code ? code : cl->SetKernelArg(kernel, 2, sizeof src, &src);
    code = code ? code : cl->SetKernelArg(kernel, 3, sizeof src_first, &src_first);
    code = code ? code : cl->SetKernelArg(kernel, 4, sizeof *units, units);
    code = code ? code : cl->EnqueueNDRangeKernel(job->queue->native, kernel, 1, NULL, &range, &group, 0, NULL, event);
    return code == BP__CL_SUCCESS ? BP_OK : fail(job, code, "copy with a kernel");
}

/* Copies within the device. */
static bp_status copy_by_kernel(const copy_job *job, const bp__strided *layout, cl_event *event) {
    uint64_t unit = bp__strided_unit(layout);
    char options[64];
    kernel_layout units;
    bp__kernel_program *program;
    cl_int code;
    if (!to_units(layout, unit, &units)) {
        bp__rectangle rectangle = bp__rectangle_of(layout);
        return copy_rectangles(job, layout, &rectangle, event);
    }
    write_options(unit, units.units, options, sizeof options);
    bp_status status = bp__kernel_program_get(&job->queue->device->kernels, bp__kernel_source_copy, options, &program);
    if (status != BP_OK) {
        return status;
    }
    cl_kernel kernel = job->cl->CreateKernel(program->native, "copy", &code);
    if (!kernel) {
        return fail(job, code, "clCreateKernel");
    }
    status = run_kernel(job, kernel, layout, unit, &units, event);
    job->cl->ReleaseKernel(kernel);
    return status;
}

/* ---- Copies through a temporary block ---- */

static bp_status copy_staged(const copy_job *given, const bp__strided *layout, cl_event *event) {
    bool write = given->kind == BP_TRANSFER_WRITE;
    const bp__cl_device *device = given->queue->device;
    bp__strided with_host, within;
    cl_int code;
    bp__strided_divide(layout, write, &with_host, &within);
    size_t size = (size_t)bp__strided_bytes(&with_host);
    cl_mem block = given->cl->CreateBuffer(device->context, BP__CL_MEM_READ_WRITE, size, NULL, &code);
    if (!block) {
        return fail(given, code, "clCreateBuffer");
    }
    copy_job host = *given, inner = *given;
    *(write ? &host.dst : &host.src) = block;
    *(write ? &inner.src : &inner.dst) = block;
    inner.kind = BP_TRANSFER_DEVICE;
    bp__rectangle rectangle = bp__rectangle_of(&with_host);
    bp_status status =
        write ? copy_rectangles(&host, &with_host, &rectangle, NULL) : copy_by_kernel(&inner, &within, NULL);
    if (status == BP_OK) {
        status = write ? copy_by_kernel(&inner, &within, event) : copy_rectangles(&host, &with_host, &rectangle, event);
    }
    given->cl->ReleaseMemObject(block); /* the driver frees it when the commands have ended */
    return status;
}

/* ---- The choice ---- */

static bp_status copy(const copy_job *job, const bp_transfer *transfer, cl_event *event) {
    bool within = job->kind == BP_TRANSFER_DEVICE;
    bool compiles = job->queue->device->facts.can & BP_DEVICE_CAN_COMPILE;
    bp__strided layout;
    if (!bp__strided_of(transfer, job->kind != BP_TRANSFER_WRITE, &layout)) {
        cl_int code = job->cl->EnqueueMarkerWithWaitList(job->queue->native, 0, NULL, event);
        return code == BP__CL_SUCCESS ? BP_OK : fail(job, code, "clEnqueueMarkerWithWaitList");
    }
    bp__rectangle rectangle = bp__rectangle_of(&layout);
    if (!compiles || rectangle.pieces <= (within ? PIECES_WITHIN_DEVICE : PIECES_WITH_HOST)) {
        const cl_int code = enqueue_rectangles(job, &layout, &rectangle, !compiles, event);
        if (!compiles || !is_refused(code, &rectangle)) {
            return code == BP__CL_SUCCESS ? BP_OK : fail(job, code, "copy");
        } /* the kernel is faster than many runs, and copies what is copied already again */
    }
    return within ? copy_by_kernel(job, &layout, event) : copy_staged(job, &layout, event);
}

bp_status bp__cl_copy(void *opaque, const bp_transfer *transfer, void **event) {
    const bp__cl_queue *queue = opaque;
    copy_job job = {queue, queue->device->cl, transfer->kind, transfer->dst.base, transfer->src.base};
    cl_event last = NULL;
    bp_status status = copy(&job, transfer, &last);
    queue->device->cl->Flush(queue->native); /* also if a later command failed: the earlier ones are enqueued */
    if (status == BP_OK) {
        *event = last;
    }
    return status;
}
