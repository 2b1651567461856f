/* fake_parts.h - declares what the files of the fake runtimes share. */
#ifndef BP_TESTS_DEVICE_FAKE_PARTS_H
#define BP_TESTS_DEVICE_FAKE_PARTS_H

#include "fake_runtime.h"

#include "backplane/runtime.h"

#include <sys/types.h>

typedef struct fake_device {
    int index;
    void *zero;     /* the queue with the handle 0, of runtimes that have one */
    bool addresses; /* bases are addresses, else handles */
    atomic_bool lost;
} fake_device;

BP_API extern fake_controls fake_control;
extern const bp_host *fake_host;
extern pid_t fake_opener; /* the process that has opened the runtime */

/* Notes that a rule of runtime.h was violated. */
void fake_violate(const char *what);
/* Notes it if this process is a child of the one that has opened the runtime. */
void fake_check_process(const char *function);

bp_status fake_allocate(void *device, size_t size, void **base);
void fake_release(void *device, void *base);
bp_status fake_size(void *device, void *base, size_t *size);
void fake_event_release(void *event);
bp_event_state fake_event_state(void *event, int64_t *code);
bp_event_state fake_event_sync(void *event, int64_t timeout_ns, int64_t *code);
bp_status fake_event_times(void *event, int64_t *start_ns, int64_t *end_ns);
bp_status fake_queue_state(void *queue, uint32_t *state);
bp_status fake_capture_begin(void *queue);
bp_status fake_capture_end(void *queue, void **graph);
bp_status fake_graph_launch(void *graph, void *queue, void **event);
void fake_graph_release(void *graph);
bp_status fake_event_elapsed(void *from, void *to, int64_t *ns);
bp_status fake_copy_peer(void *queue, const bp_transfer *transfer, void *source, void **event);
bp_status fake_event_wrap(void *device, void *native, void **event);
bp_status fake_queue_open(void *device, uint32_t flags, void *native, void **queue);
void fake_queue_close(void *queue);
void *fake_queue_native(void *queue);
bp_status fake_copy(void *queue, const bp_transfer *transfer, void **event);
bp_status fake_wait(void *queue, int count, void *const *events, void **event);
bp_status fake_map(void *queue, const bp_operand *start, size_t size, uint32_t flags, void **address);
bp_status fake_unmap(void *queue, const bp_operand *start, void *address, void **event);

/* For fake_controls. */
void *fake_add(void *queue, void *base, uint64_t offset, size_t count, uint8_t value);
const uint8_t *fake_bytes_of(void *base);
void *fake_native_queue(void *device);
void fake_free_native_queue(void *native);
void fake_release_block(void *base);
void *fake_allocate_block(void *device, size_t size);
void *fake_device_of(void *base);
int fake_pending_of(void *base);
void fake_open_gate(bool open);

#endif
