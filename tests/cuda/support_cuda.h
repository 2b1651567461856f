/* support_cuda.h - starts the library with the double of libcuda.so.1, and calls the driver as a program does. */
#ifndef BP_TESTS_CUDA_SUPPORT_H
#define BP_TESTS_CUDA_SUPPORT_H

#include "cuda/doubles/double.h"
#include "cuda/program_api.h"

#include "device/internal.h"

#include "backplane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define DOUBLES BP_TEST_BUILD_DIR "/tests/cuda-doubles"

/* For all tests of a program: its devices are "cuda:0" and "cuda:1". The end checks that nothing is left. */
int start_cuda(void **state);
int stop_cuda(void **state);
/* For each test: resets what the double does; CUDA_FAULT names a rule that it breaks (double_fault). The end checks
 * that no rule was violated and nothing is held. */
int begin_cuda(void **state);
int end_cuda(void **state);

/* Returns the index of the name that a variable has, 0 without one: a fault that a double shall have. */
int number_of_fault(const char *variable, const char *const *names, int count);

/* Starts the library with these folders of libraries, which are separated by ':'. */
bp_status restart_with(const char *folders);
/* Returns the controls that a double in this file has under a name. */
void *controls_of(const char *path, const char *name);

double_controls *the_double(void);
const program_api *driver(void);

int32_t cuda_place(int index);
bp_queue *cuda_queue(int index);
/* Makes a tensor of bytes that all have a value. */
DLManagedTensorVersioned *cuda_bytes(int index, int64_t count, uint8_t value);
/* Makes the program's context current in this thread, and returns it. */
CUcontext program_context(int index);
CUstream program_stream(unsigned flags);
/* Copies between host and device on a queue (NULL: the thread's). */
void write_bytes(const DLTensor *to, const void *from, bp_queue *queue);
void read_bytes(void *to, const DLTensor *from, bp_queue *queue);
/* Reads bytes of a tensor on the thread's queue and compares all with a value. */
void expect_bytes(const DLManagedTensorVersioned *tensor, uint8_t value);
/* Fills memory by a command of the program. */
void program_fill(const DLTensor *tensor, uint8_t value, CUstream stream);
void free_tensor(DLManagedTensorVersioned *tensor);

#define assert_ok(...)                                                                                                 \
    do {                                                                                                               \
        const bp_status status_ = (__VA_ARGS__);                                                                       \
        if (status_ != BP_OK) {                                                                                        \
            fail_msg("%s: %s", bp_status_name(status_), bp_last_error());                                              \
        }                                                                                                              \
    } while (0)
/* The call fails with the status, and its message has the text. */
#define assert_fails(call, status, text)                                                                               \
    do {                                                                                                               \
        assert_int_equal(call, status);                                                                                \
        if (!strstr(bp_last_error(), text)) {                                                                          \
            fail_msg("'%s' is not in '%s'", text, bp_last_error());                                                    \
        }                                                                                                              \
    } while (0)

#endif
