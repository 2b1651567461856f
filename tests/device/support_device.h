/* support_device.h - starts the library with the runtimes of fake_runtime.c. */
#ifndef BP_TESTS_DEVICE_SUPPORT_H
#define BP_TESTS_DEVICE_SUPPORT_H

#include "device/fake_runtime.h"
#include "device/internal.h"

#include "backplane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define FAKES BP_TEST_BUILD_DIR "/tests/device-fakes"

/* For all tests of a program: loads the module; its devices are "fake:0", "fake:1", "other:0" and "other:1". */
int start_devices(void **state);
/* Also checks that nothing is left. */
int stop_devices(void **state);
/* For each test: resets what the runtimes do; afterwards, checks that no rule was violated and that nothing is held. */
int begin(void **state);
int end(void **state);

/* The controls of the module. */
fake_controls *fake(void);
/* Resets the library. The environment may have been changed before. */
void restart_devices(void);

int32_t place_of(const char *id);
/* Returns the place of the first OpenCL device. Without one the program is skipped. */
int32_t find_opencl(void);
bp_queue *new_queue(const char *id);
/* Makes a tensor of `count` bytes. */
DLManagedTensorVersioned *new_bytes(const char *id, int64_t count);
void free_tensor(DLManagedTensorVersioned *tensor);
/* Enqueues a command of a "provider" as dispatch does. */
bp_status add_bytes(bp_queue *queue, const DLTensor *tensor, uint8_t value, const char *text);
/* Fills a tensor of bytes with a value, and reads it; both wait. */
void fill_bytes(DLManagedTensorVersioned *tensor, uint8_t value);
/* Returns whether all bytes have the value, without waiting for anything. */
bool all_bytes_are(const DLManagedTensorVersioned *tensor, uint8_t value);

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
