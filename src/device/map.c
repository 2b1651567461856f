/* map.c - maps memory of a device into the address space of the host. */
#include "device/private.h"
#include "base/uncancelled.h"

#include "tensor/internal.h"

static bp_status check(const DLTensor *tensor, bp_queue *given, bp_view *view, const char *function,
                       bp__device **device, bp_queue **queue, bp_operand *start, size_t *size) {
    int64_t low, high;
    if (!view) {
        return bp__fail(BP_E_ARGUMENT, "%s: argument 'view' is NULL", function);
    }
    BP__TRY(bp__device_tensor_check(tensor, "tensor", device, &low, &high));
    if (!*device) {
        return bp__fail(BP_E_DEVICE, "%s: the tensor is in host memory already", function);
    }
    BP__TRY(bp__queue_for((*device)->info.place, given, queue));
    if (!(*device)->runtime->map || !(*device)->runtime->unmap || !((*device)->info.can & BP_DEVICE_CAN_MAP)) {
        return bp__fail(BP_E_UNSUPPORTED, "%s: device %s cannot map its memory; use bp_copy()", function,
                        (*device)->info.id);
    }
    *start = (bp_operand){tensor->data, tensor->byte_offset + (uint64_t)low};
    *size = (size_t)(high - low);
    return BP_OK;
}

/* Returns the bytes before the first element. */
static size_t before_first(const DLTensor *tensor, const bp_operand *start) {
    return (size_t)(tensor->byte_offset - start->offset);
}

bp_status bp_map(bp_view *view, const DLTensor *tensor, uint32_t flags, bp_queue *queue) {
    BP__UNCANCELLED;
    bp__device *device;
    bp_operand start;
    size_t size;
    void *address = NULL;
    if (flags == 0 || (flags & ~(BP_MAP_READ | BP_MAP_WRITE))) {
        return bp__fail(BP_E_ARGUMENT, "bp_map: argument 'flags' is %u; it must be BP_MAP_READ, BP_MAP_WRITE or both",
                        (unsigned)flags);
    }
    BP__TRY(check(tensor, queue, view, "bp_map", &device, &queue, &start, &size));
    if (size > 0) {
        BP__TRY(bp__queue_finish(queue));
        pthread_mutex_lock(&queue->run);
        bp_status status = device->runtime->map(queue->handle, &start, size, flags, &address);
        pthread_mutex_unlock(&queue->run);
        BP__TRY(status);
        address = (char *)address + before_first(tensor, &start);
    }
    return bp_view_init(view, address, bp_dtype_from_dlpack(tensor->dtype), tensor->ndim, tensor->shape,
                        tensor->strides);
}

bp_status bp_unmap(bp_view *view, const DLTensor *tensor, bp_queue *queue) {
    BP__UNCANCELLED;
    bp__device *device;
    bp_operand start;
    size_t size;
    void *event = NULL;
    BP__TRY(check(tensor, queue, view, "bp_unmap", &device, &queue, &start, &size));
    if (size == 0) {
        return BP_OK;
    }
    if (!view->tensor.data) {
        return bp__fail(BP_E_ARGUMENT, "bp_unmap: the view is not one of bp_map(), or was unmapped before");
    }
    BP__TRY(bp__queue_refuse_capture(queue, "bp_unmap"));
    pthread_mutex_lock(&queue->run);
    bp_status status =
        device->runtime->unmap(queue->handle, &start, (char *)view->tensor.data - before_first(tensor, &start), &event);
    if (status == BP_OK) {
        view->tensor.data = NULL;
        status = bp__command_add(queue, event, "the end of a map", NULL, 0, NULL);
    }
    pthread_mutex_unlock(&queue->run);
    return status;
}
