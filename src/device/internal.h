/* internal.h - declares devices, their queues and their memory for dispatch.
 *
 * A place is the number of a device: 0 is the host, otherwise DLPack's type << 16 | index. Devices that were loaded
 * from a description have indices from BP__RECORDED_FIRST on. */
#ifndef BP_DEVICE_INTERNAL_H
#define BP_DEVICE_INTERNAL_H

#include "backplane/device.h"
#include "backplane/provider.h"
#include "backplane/runtime.h"
#include "base/base.h"

#define BP__RECORDED_FIRST 32768
#define BP__RECORDED_MOST 256

/* Sets the function that returns the table of host functions, which runtimes get. The module above has the table,
 * because it contains functions of modules that this one does not know. Called once, before any other function. */
void bp__device_use_host(const bp_host *(*host)(void));

/* ---- Devices ---- */

/* Returns the facts of a device that is ready or recorded, and of the host; NULL if there is none with this place. The
 * first call may look for devices in a child process. Valid until bp_reset(). */
const bp_device_info *bp__device_facts(int32_t place);
/* Returns BP_OK if a plan can be made and run there. Opens nothing. Errors: BP_E_DEVICE (the sentence names the device
 * and the reason), BP_E_FORKED. */
bp_status bp__device_check(int32_t place);
/* Opens the device if necessary, and sets *device to what its runtime made in device_open(). Errors: as
 * bp__device_check(). */
bp_status bp__device_open(int32_t place, void **device);
/* Returns a number that changes when a device is lost: plans made before may be for it. */
uint64_t bp__device_epoch(void);

/* ---- Runs on a queue ----
 *
 * dispatch takes a queue, calls bp__queue_begin(), then what it needs of the other functions and the plan's enqueue(),
 * and bp__queue_end() also after a failure. */

/* Sets *queue to `given` if it is a queue of the device, or for NULL to the thread's. It is borrowed from the program
 * or the thread. Errors: BP_E_ARGUMENT (a queue of another device), BP_E_DEVICE, BP_E_FORKED, BP_E_NO_MEMORY. */
bp_status bp__queue_for(int32_t place, bp_queue *given, bp_queue **queue);
/* Fails if the calling thread's queue for the device is being captured: making a plan would disturb the capture. Opens
 * nothing. */
bp_status bp__queue_may_prepare(int32_t place);
/* Returns what the runtime made in queue_open(). */
void *bp__queue_runtime(bp_queue *queue);
/* Locks the queue for the calling thread, so that runs of two threads do not interleave, and notes what runs, for
 * messages. Calls of one thread may be nested. `text` may be NULL; its first bytes are copied. */
void bp__queue_begin(bp_queue *queue, bp_op op, const char *text);
void bp__queue_end(bp_queue *queue);
/* Notes that a run was enqueued. Takes the event of its last command, also if it fails; the failure of the command is
 * reported at the next wait. Errors: BP_E_NO_MEMORY (the command has ended then). */
bp_status bp__queue_enqueued(bp_queue *queue, void *event);
/* As above, with a check of the result: see bp_host.enqueued_checked. */
bp_status bp__queue_enqueued_checked(bp_queue *queue, void *event, bp_status (*check)(void *user, int ended),
                                     void *user);
/* Makes later commands of the queue wait for events. Errors: as for bp_event_wait(). */
bp_status bp__queue_after(bp_queue *queue, bp_event *const *events, size_t count);

/* Takes a block of at least `size` bytes (not 0) from the device's pool, for commands of this queue only, and gives it
 * back: it is used again when the commands that the queue has by then have ended. Errors: BP_E_NO_MEMORY, BP_E_DEVICE,
 * BP_E_CANCELLED. */
bp_status bp__queue_take(bp_queue *queue, size_t size, bp_operand *block);
void bp__queue_give(bp_queue *queue, const bp_operand *block);

/* Copies bytes after the queue's commands so far. bp__queue_read() returns when they are there, and with the failure of
 * an earlier command; bp__queue_write() when `from` may be reused. Errors: BP_E_DEVICE, BP_E_NO_MEMORY,
 * BP_E_CANCELLED. */
bp_status bp__queue_read(bp_queue *queue, void *to, const bp_operand *from, size_t size);
bp_status bp__queue_write(bp_queue *queue, const bp_operand *to, const void *from, size_t size);

/* Waits for all commands so far and takes the failure. */
bp_status bp__queue_finish(bp_queue *queue);

/* Sets *size to the bytes of the block of memory that `base` is, ours or the program's. Errors: BP_E_DEVICE. */
bp_status bp__device_block_size(int32_t place, void *base, size_t *size);

/* ---- bp_reset and fork ---- */

/* Returns the number of queues, events and device tensors that the program holds. */
int64_t bp__devices_held(void);
/* Waits for the work of all queues, and ends the queues of threads. Called before the providers' instances are freed,
 * whose memory and kernels this work uses. */
void bp__device_finish(void);
/* Closes all devices and runtimes. Called when nothing is held, after the plans and the providers' instances were
 * freed. */
void bp__device_reset(void);
/* Hold this module's mutexes while the process forks; call bp__device_fork_lock() before bp__registry_fork_lock() and
 * the other after bp__registry_fork_unlock(). bp__device_forked() is for the child, after the unlock. */
void bp__device_fork_lock(void);
void bp__device_fork_unlock(void);
void bp__device_forked(void);

#endif
