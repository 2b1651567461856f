/* skeleton.c - answers for the host, as long as the parts of this module are written one after the other. */
#include "device/internal.h"

#include <string.h>

static bp_status none(int32_t place) {
    return bp__fail(BP_E_DEVICE, "there is no device with place %d", (int)place);
}

const char *bp_device_state_name(bp_device_state state) {
    static const char *const names[] = {"ready",  "no-library", "no-device", "broken",
                                        "forked", "lost",       "recorded",  "disabled"};
    return (unsigned)state < BP__COUNT(names) ? names[state] : "";
}

static const bp_device_info host = {.struct_size = sizeof host,
                                    .type = kDLCPU,
                                    .id = "host",
                                    .runtime = "host",
                                    .name = "",
                                    .vendor = "",
                                    .driver = "",
                                    .version = "",
                                    .platform = "",
                                    .uuid = "",
                                    .extensions = "",
                                    .reason = ""};

int bp_device_at(int index, bp_device_info *info) {
    if (index != 0 || !bp__struct_usable(info)) {
        return 0;
    }
    bp__struct_write(info, &host, sizeof host);
    return 1;
}
bp_status bp_device_find(const char *id, int32_t *place) {
    if (id && place && bp__text_equal(id, "host")) {
        *place = 0;
        return BP_OK;
    }
    return bp__fail(BP_E_NOT_FOUND, "there is no such device");
}
bp_status bp_device_describe(int32_t place, bp_device_info *info) {
    BP__TRY(bp__struct_check(info, sizeof *info, "info"));
    return place == 0 && bp_device_at(0, info) ? BP_OK : bp__fail(BP_E_NOT_FOUND, "there is no such device");
}
int32_t bp_device_place(DLDevice device) {
    if (device.device_type == kDLCPU || device.device_type == kDLCUDAHost || device.device_type == kDLROCMHost) {
        return 0;
    }
    return device.device_id < 0 || device.device_id > 0xffff || device.device_type > 0x7ffe
               ? -1
               : (int32_t)device.device_type << 16 | device.device_id;
}
bp_status bp_device_record(int32_t place, char *buffer, size_t size, size_t *length) {
    (void)buffer;
    (void)size;
    (void)length;
    return none(place);
}
bp_status bp_device_load(const char *json, int32_t *place) {
    (void)json;
    (void)place;
    return none(-1);
}
bp_status bp_device_use_context(int32_t place, void *context) {
    (void)context;
    return none(place);
}
bp_status bp_device_context(int32_t place, void **context) {
    (void)context;
    return none(place);
}
bp_status bp_queue_new(int32_t place, uint32_t flags, bp_queue **queue) {
    (void)flags;
    (void)queue;
    return none(place);
}
bp_status bp_queue_wrap(int32_t place, void *native, bp_queue **queue) {
    (void)native;
    (void)queue;
    return none(place);
}
bp_status bp_queue_use(int32_t place, bp_queue *queue) {
    (void)queue;
    return none(place);
}
bp_status bp_queue_current(int32_t place, bp_queue **queue) {
    (void)queue;
    return none(place);
}
bp_status bp_queue_wait(bp_queue *queue) {
    (void)queue;
    return none(-1);
}
bp_status bp_device_wait(int32_t place) {
    return place == 0 ? BP_OK : none(place);
}
bp_status bp_queue_error(bp_queue *queue) {
    (void)queue;
    return none(-1);
}
void *bp_queue_native(bp_queue *queue) {
    (void)queue;
    return NULL;
}
int32_t bp_queue_place(const bp_queue *queue) {
    (void)queue;
    return -1;
}
void bp_queue_release(bp_queue *queue) {
    (void)queue;
}
bp_status bp_event_record(bp_queue *queue, bp_event **event) {
    (void)queue;
    (void)event;
    return none(-1);
}
bp_status bp_event_wrap(int32_t place, void *native, bp_event **event) {
    (void)native;
    (void)event;
    return none(place);
}
bp_status bp_event_wait(bp_queue *queue, bp_event *event) {
    (void)queue;
    (void)event;
    return none(-1);
}
bp_status bp_event_sync(bp_event *event, int64_t timeout_ns) {
    (void)event;
    (void)timeout_ns;
    return none(-1);
}
bp_status bp_event_elapsed(bp_event *from, bp_event *to, int64_t *ns) {
    (void)from;
    (void)to;
    (void)ns;
    return none(-1);
}
void bp_event_release(bp_event *event) {
    (void)event;
}
bp_status bp_tensor_empty_on(DLManagedTensorVersioned **tensor, int32_t place, bp_dtype dtype, int ndim,
                             const int64_t *shape, const int64_t *strides) {
    return place == 0 ? bp_tensor_empty(tensor, dtype, ndim, shape, strides) : none(place);
}
bp_status bp_copy(DLTensor *dst, const DLTensor *src, bp_queue *queue) {
    (void)queue;
    return bp_tensor_copy(dst, src);
}
bp_status bp_map(const DLTensor *tensor, uint32_t flags, bp_queue *queue, bp_view *view) {
    (void)tensor;
    (void)flags;
    (void)queue;
    (void)view;
    return none(-1);
}
bp_status bp_unmap(const DLTensor *tensor, bp_queue *queue, bp_view *view) {
    (void)tensor;
    (void)queue;
    (void)view;
    return none(-1);
}
bp_status bp_device_memory(int32_t place, bp_device_memory_info *info) {
    (void)info;
    return none(place);
}
bp_status bp_device_trim(int32_t place, uint64_t keep) {
    (void)keep;
    return none(place);
}
bp_status bp_device_set_memory_limit(int32_t place, uint64_t bytes) {
    (void)bytes;
    return none(place);
}

const bp_device_info *bp__device_facts(int32_t place) {
    return place == 0 ? &host : NULL;
}
bp_status bp__device_check(int32_t place) {
    return place == 0 ? BP_OK : none(place);
}
bp_status bp__device_open(int32_t place, void **device) {
    (void)device;
    return none(place);
}
uint64_t bp__device_epoch(void) {
    return 0;
}
bp_status bp__queue_for(int32_t place, bp_queue *given, bp_queue **queue) {
    (void)given;
    (void)queue;
    return none(place);
}
void *bp__queue_runtime(bp_queue *queue) {
    (void)queue;
    return NULL;
}
void bp__queue_begin(bp_queue *queue, bp_op op, const char *text) {
    (void)queue;
    (void)op;
    (void)text;
}
void bp__queue_end(bp_queue *queue) {
    (void)queue;
}
bp_status bp__queue_enqueued(bp_queue *queue, void *event) {
    (void)queue;
    (void)event;
    return none(-1);
}
bp_status bp__queue_after(bp_queue *queue, bp_event *const *events, size_t count) {
    (void)queue;
    (void)events;
    (void)count;
    return none(-1);
}
bp_status bp__queue_take(bp_queue *queue, size_t size, bp_operand *block) {
    (void)queue;
    (void)size;
    (void)block;
    return none(-1);
}
void bp__queue_give(bp_queue *queue, const bp_operand *block) {
    (void)queue;
    (void)block;
}
bp_status bp__queue_read(bp_queue *queue, void *to, const bp_operand *from, size_t size) {
    (void)queue;
    (void)to;
    (void)from;
    (void)size;
    return none(-1);
}
bp_status bp__queue_write(bp_queue *queue, const bp_operand *to, const void *from, size_t size) {
    (void)queue;
    (void)to;
    (void)from;
    (void)size;
    return none(-1);
}
int64_t bp__devices_held(void) {
    return 0;
}
void bp__device_reset(void) {
}
void bp__device_fork_lock(void) {
}
void bp__device_fork_unlock(void) {
}
void bp__device_forked(void) {
}

bp_status bp__device_block_size(int32_t place, void *base, size_t *size) {
    (void)place, (void)base, (void)size;
    return BP_E_DEVICE;
}
