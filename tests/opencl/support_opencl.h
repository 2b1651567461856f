/* support_opencl.h - shared by the tests of the OpenCL runtime: the devices of this machine, and a host that keeps the
 * events of runs. */
#ifndef BP_TESTS_OPENCL_SUPPORT_H
#define BP_TESTS_OPENCL_SUPPORT_H

#include "base/support_base.h"

#include "providers/opencl/opencl.h"
#include "providers/opencl/runtime.h"

extern const bp_runtime bp_runtime_opencl;
extern const bp_provider bp_provider_opencl;

/* Group setup and teardown. The setup asks PoCL for two devices, opens the runtime and its first device, and keeps the
 * driver's compiled kernels in the build folder. */
int test_cl_setup(void **state);
int test_cl_teardown(void **state);

/* The opened runtime; NULL if there is no device, and its devices; NULL if there is no second one. */
extern void *test_cl_state;
extern bp__cl_device *test_cl_devices[2];

/* Skips the test, with a message, if there are fewer devices. */
void test_cl_need(int devices);

extern bp_host test_cl_host;      /* may be changed by a test */
extern char test_cl_error[2048];  /* message of the last failure of the calling thread */
extern atomic_int test_cl_builds; /* number of programs that were built from source */

/* A queue of the first or second device. Runs of a plan on `test_queue` leave their event in it. */
typedef struct test_queue {
    bp__cl_queue *queue; /* must be first */
    void *event;         /* of the last run; NULL: none */
} test_queue;
test_queue test_queue_new(int device, uint32_t flags);
void test_queue_free(test_queue *queue);
bp_queue *test_queue_handle(test_queue *queue); /* for bp_exec */
void test_queue_finish(test_queue *queue);

/* Waits for an event and releases it. Fails the test if it failed. */
void test_cl_done(void *event);
/* Waits for an event without releasing it. Returns the error, 0 if there is none. */
int64_t test_cl_wait(void *event);

/* Device memory with the bytes of `from` (NULL: undefined), and back. */
void *test_cl_memory(test_queue *queue, const void *from, size_t size);
void test_cl_read(test_queue *queue, void *base, void *to, size_t size);

#endif
