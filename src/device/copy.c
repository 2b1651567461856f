/* copy.c - copies tensors between the host and devices (bp_copy).
 *
 * A copy within a device, or between it and the host, is one command of the runtime, or several if it has more than
 * BP_TRANSFER_MAX_NDIM dimensions. So is a copy between two devices of a runtime that can make it; another one passes
 * through memory of the host, in pieces. Elements of
 * the host that are spread in short runs are gathered first, or spread at the end, where the call waits anyway.
 */
#include "device/private.h"
#include "base/uncancelled.h"

#include "tensor/internal.h"

#include <string.h>

enum {
    PIECE = 8 << 20,  /* bytes of a copy between devices that are on the host at once */
    SHORT_RUN = 1024, /* bytes; shorter runs of host memory are gathered */
    FEW_RUNS = 8,     /* so many runs are never gathered */
};

typedef struct copy {
    DLTensor *dst;
    const DLTensor *src;
    bp__device *dst_device, *src_device; /* NULL: the host */
    size_t item;
    uint64_t bytes;
} copy;

static const char to_host[] = "a copy to the host", from_host[] = "a copy from the host", on_device[] = "a copy";

/* ---- One command ---- */

static bp_operand operand_of(const DLTensor *tensor, const bp__device *device, int64_t first) {
    if (device) {
        return (bp_operand){tensor->data, tensor->byte_offset + (uint64_t)first};
    }
    return (bp_operand){bp__tensor_data(tensor), (uint64_t)first};
}

/* Makes the runtime's description of the inner dimensions of a layout. */
static bp_transfer make_transfer(const copy *c, const bp__copy_layout *layout, int outer) {
    bp_transfer transfer = {
        .kind = !c->dst_device   ? BP_TRANSFER_READ
                : !c->src_device ? BP_TRANSFER_WRITE
                                 : BP_TRANSFER_DEVICE,
        .dst = operand_of(c->dst, c->dst_device, layout->dst_first),
        .src = operand_of(c->src, c->src_device, layout->src_first),
        .run = (uint64_t)layout->run,
        .ndim = layout->count - outer,
    };
    for (int i = 0; i < transfer.ndim; i++) {
        const bp__copy_dim *dim = &layout->dims[outer + i];
        transfer.shape[i] = dim->size;
        transfer.dst_stride[i] = dim->dst;
        transfer.src_stride[i] = dim->src;
    }
    return transfer;
}

/* Steps to the next index of the outer dimensions. Returns false after the last one. */
static bool step(const bp__copy_layout *layout, int outer, int64_t *index, bp_transfer *transfer) {
    for (int i = outer - 1; i >= 0; i--) {
        const bp__copy_dim *dim = &layout->dims[i];
        transfer->dst.offset += (uint64_t)dim->dst;
        transfer->src.offset += (uint64_t)dim->src;
        if (++index[i] < dim->size) {
            return true;
        }
        transfer->dst.offset -= (uint64_t)(dim->size * dim->dst);
        transfer->src.offset -= (uint64_t)(dim->size * dim->src);
        index[i] = 0;
    }
    return false;
}

/* Enqueues one command of a copy; the source may be on another device of the runtime. */
static bp_status enqueue_one(const copy *c, bp_queue *queue, const bp_transfer *transfer, const char *run,
                             void *staging) {
    if (c->dst_device && c->src_device && c->dst_device != c->src_device) {
        return bp__queue_transfer_peer(queue, transfer, c->src_device, run);
    }
    return bp__queue_transfer(queue, transfer, run, staging, staging ? c->bytes : 0, NULL);
}

/* Enqueues a copy between two tensors; one is on the queue's device. With `now`, waits for its end. `staging`
 * is freed after the last command. */
static bp_status enqueue(const copy *c, bp_queue *queue, bool now, void *staging) {
    bp__copy_layout layout;
    int64_t index[BP_MAX_NDIM] = {0};
    const char *run = !c->dst_device ? to_host : !c->src_device ? from_host : on_device;
    bp__copy_layout_make(&layout, c->dst, c->src, c->item);
    const int outer = layout.count > BP_TRANSFER_MAX_NDIM ? layout.count - BP_TRANSFER_MAX_NDIM : 0;
    bp_transfer transfer = make_transfer(c, &layout, outer), current;
    bp_status status = BP_OK;
    bool more;
    pthread_mutex_lock(&queue->run);
    do {
        current = transfer;
        more = step(&layout, outer, index, &transfer);
        if (more) {
            status = enqueue_one(c, queue, &current, run, NULL);
        }
    } while (more && status == BP_OK);
    if (status != BP_OK) { /* the commands before still use the memory */
        bp__held_error held;
        bp__error_hold(&held);
        (void)bp__queue_finish(queue);
        bp__error_return(&held);
        bp__free(staging);
    } else if (!now) {
        status = enqueue_one(c, queue, &current, run, staging);
    }
    pthread_mutex_unlock(&queue->run);
    if (status == BP_OK && now) {
        status = bp__queue_transfer_now(queue, &current, run);
        bp__free(staging);
    }
    return status;
}

/* ---- Through memory of the host ---- */

/* Makes a compact tensor of the host with the shape of `like`, over `memory`. */
static bp_status compact(bp_view *view, const DLTensor *like, void *memory) {
    return bp_view_init(view, memory, bp_dtype_from_dlpack(like->dtype), like->ndim, like->shape, NULL);
}

/* Returns whether elements of the host are spread so that they are gathered first. */
static bool is_spread(const copy *c, const DLTensor *host) {
    bp_view view;
    bp__copy_layout layout;
    if (compact(&view, host, NULL) != BP_OK) {
        return false;
    }
    bp__copy_layout_make(&layout, &view.tensor, host, c->item);
    return layout.run < SHORT_RUN && bp__copy_layout_runs(&layout) > FEW_RUNS && c->bytes <= PIECE;
}

/* Writes to a device from a copy of the host's elements, so that the host's may be changed at once. */
static bp_status write_gathered(const copy *c, bp_queue *queue) {
    bp_view view;
    void *staging = bp__alloc((size_t)c->bytes);
    if (!staging) {
        return bp__fail_memory((size_t)c->bytes, "a copy to a device");
    }
    bp_status status = compact(&view, c->src, staging);
    status = status == BP_OK ? bp_tensor_copy(&view.tensor, c->src) : status;
    if (status != BP_OK) {
        bp__free(staging);
        return status;
    }
    copy gathered = *c;
    gathered.src = &view.tensor;
    return enqueue(&gathered, queue, false, staging);
}

static bp_status read_spread(const copy *c, bp_queue *queue) {
    bp_view view;
    void *staging = bp__alloc((size_t)c->bytes);
    if (!staging) {
        return bp__fail_memory((size_t)c->bytes, "a copy from a device");
    }
    copy whole = *c;
    whole.dst = &view.tensor;
    bp_status status = compact(&view, c->dst, staging);
    status = status == BP_OK ? enqueue(&whole, queue, true, NULL) : status;
    status = status == BP_OK ? bp_tensor_copy(c->dst, &view.tensor) : status;
    bp__free(staging);
    return status;
}

/* ---- Between two devices ---- */

/* Copies one piece: waits for the source's device, and enqueues the write. */
static bp_status relay_piece(const copy *c, bp_queue *to, bp_queue *from) {
    bp_view view;
    void *staging = bp__alloc((size_t)c->bytes);
    if (!staging) {
        return bp__fail_memory((size_t)c->bytes, "a copy between devices");
    }
    copy in = *c, out = *c;
    in.dst = &view.tensor;
    in.dst_device = NULL;
    out.src = &view.tensor;
    out.src_device = NULL;
    bp_status status = compact(&view, c->src, staging);
    status = status == BP_OK ? enqueue(&in, from, true, NULL) : status;
    if (status != BP_OK) {
        bp__free(staging);
        return status;
    }
    return enqueue(&out, to, false, staging);
}

/* Writes to `part` the indices from `first` on of dimension 0. */
static void cut(DLTensor *part, const DLTensor *whole, int64_t *shape, int64_t *strides, int64_t first, int64_t count,
                size_t item) {
    *part = *whole;
    part->shape = shape;
    part->strides = strides;
    memcpy(shape, whole->shape, (size_t)whole->ndim * sizeof *shape);
    bp__tensor_strides(whole, strides);
    shape[0] = count;
    part->byte_offset += (uint64_t)(first * strides[0] * (int64_t)item);
}

/* Drops dimension 0, which has one index. */
static void drop_dimension(DLTensor *part) {
    part->ndim--;
    part->shape++;
    part->strides++;
}

static bp_status relay(const copy *c, bp_queue *to, bp_queue *from) {
    int64_t shapes[2][BP_MAX_NDIM], strides[2][BP_MAX_NDIM];
    if (c->bytes <= PIECE || c->dst->ndim == 0) {
        return relay_piece(c, to, from);
    }
    const int64_t size = c->dst->shape[0];
    const uint64_t slice = c->bytes / (uint64_t)size;
    const int64_t at_once = slice >= PIECE ? 1 : (int64_t)(PIECE / slice);
    for (int64_t first = 0; first < size; first += at_once) {
        DLTensor dst, src;
        copy part = *c;
        const int64_t count = size - first < at_once ? size - first : at_once;
        cut(&dst, c->dst, shapes[0], strides[0], first, count, c->item);
        cut(&src, c->src, shapes[1], strides[1], first, count, c->item);
        if (count == 1) {
            drop_dimension(&dst);
            drop_dimension(&src);
        }
        part.dst = &dst;
        part.src = &src;
        part.bytes = slice * (uint64_t)count;
        BP__TRY(relay(&part, to, from));
        if (first + count < size) {
            BP__TRY(bp__queue_finish(to)); /* so that one piece is on the host at a time */
        }
    }
    return BP_OK;
}

/* Copies from device to device on the destination's queue, behind the work of the source's queue, which waits for the
 * end. */
static bp_status copy_peer(const copy *c, bp_queue *to, bp_queue *from) {
    BP__TRY(bp__queue_follow(to, from));
    bp_status status = enqueue(c, to, false, NULL);
    return status == BP_OK ? bp__queue_follow(from, to) : status;
}

/* Copies between two devices: directly if the runtime can. */
static bp_status copy_between(const copy *c, bp_queue *to, bp_queue *from) {
    const bp_runtime *runtime = to->device->runtime;
    if (runtime == from->device->runtime && BP__RUNTIME_HAS(runtime, copy_peer)) {
        bp__held_error held;
        bp__error_hold(&held);
        const bp_status status = copy_peer(c, to, from);
        if (status != BP_E_UNSUPPORTED) {
            return bp__error_finish(&held, status);
        }
        bp__error_return(&held);
    }
    return relay(c, to, from);
}

/* ---- Checks ---- */

static bp_status check(copy *c) {
    int64_t low, high;
    char dst_text[256], src_text[256];
    BP__TRY(bp__device_tensor_check(c->dst, "dst", &c->dst_device, &low, &high));
    BP__TRY(bp__device_tensor_check(c->src, "src", &c->src_device, &low, &high));
    const DLTensor *dst = c->dst, *src = c->src;
    const size_t dims = (size_t)dst->ndim * sizeof *dst->shape;
    if (dst->ndim != src->ndim || (dims > 0 && memcmp(dst->shape, src->shape, dims) != 0)) {
        return bp__fail(BP_E_SHAPE, "tensor 'dst' (%s) must have the shape of 'src' (%s)",
                        bp__tensor_text(dst, dst_text, sizeof dst_text),
                        bp__tensor_text(src, src_text, sizeof src_text));
    }
    const bp_dtype to = bp_dtype_from_dlpack(dst->dtype), from = bp_dtype_from_dlpack(src->dtype);
    if (to != from) {
        return bp__fail(BP_E_DTYPE,
                        "tensor 'dst' has type %s, but 'src' has %s; copies to and from devices do not convert",
                        bp_dtype_name(to), bp_dtype_name(from));
    }
    if (bp__tensor_self_overlaps(dst)) {
        return bp__fail(BP_E_OVERLAP, "tensor 'dst' (%s) overlaps itself; each element must have its own memory",
                        bp__tensor_text(dst, dst_text, sizeof dst_text));
    }
    if (c->dst_device == c->src_device && bp__tensor_overlap(dst, src)) {
        return bp__fail(BP_E_OVERLAP, "tensor 'dst' overlaps 'src'; copy through a temporary tensor");
    }
    c->item = bp_dtype_size(to);
    c->bytes = (uint64_t)bp__tensor_elements(dst) * c->item;
    return BP_OK;
}

static bp_status check_queue(const copy *c, const bp_queue *queue) {
    BP__TRY(bp__queue_usable(queue));
    if (queue->device != c->dst_device && queue->device != c->src_device) {
        return bp__fail(BP_E_ARGUMENT, "bp_copy: the queue is on device %s; 'dst' is on %s, 'src' on %s",
                        queue->device->info.id, c->dst_device ? c->dst_device->info.id : "the host",
                        c->src_device ? c->src_device->info.id : "the host");
    }
    return BP_OK;
}

/* Returns the given queue if it is one of the device, else the thread's queue. */
static bp_status queue_on(bp__device *device, bp_queue *given, bp_queue **queue) {
    if (given && given->device == device) {
        *queue = given;
        return BP_OK;
    }
    return bp__thread_queue(device, queue);
}

/* Copies between the host and a device without a queue of the program: the host's memory is free at the return. */
static bp_status copy_now(const copy *c, bp_queue *queue) {
    if (!c->dst_device) {
        return is_spread(c, c->dst) ? read_spread(c, queue) : enqueue(c, queue, true, NULL);
    }
    return bp__queue_may_stage(queue, c->bytes) || is_spread(c, c->src) ? write_gathered(c, queue)
                                                                        : enqueue(c, queue, true, NULL);
}

bp_status bp_copy(DLTensor *dst, const DLTensor *src, bp_queue *queue) {
    BP__UNCANCELLED;
    copy c = {.dst = dst, .src = src};
    bp_queue *to, *from;
    BP__TRY(check(&c));
    if (queue) {
        BP__TRY(check_queue(&c, queue));
    }
    if (c.bytes == 0) {
        return BP_OK;
    }
    if (!c.dst_device && !c.src_device) {
        return bp_tensor_copy(dst, src);
    }
    if (c.dst_device && c.src_device && c.dst_device != c.src_device) {
        BP__TRY(queue_on(c.dst_device, queue, &to));
        BP__TRY(queue_on(c.src_device, queue, &from));
        return copy_between(&c, to, from);
    }
    BP__TRY(queue_on(c.dst_device ? c.dst_device : c.src_device, queue, &to));
    if (c.dst_device == c.src_device) {
        return enqueue(&c, to, false, NULL);
    }
    if (!queue) {
        return copy_now(&c, to);
    }
    return c.dst_device && is_spread(&c, c.src) ? write_gathered(&c, to) : enqueue(&c, to, false, NULL);
}
