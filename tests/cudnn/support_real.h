/* support_real.h - lets NVIDIA's cuDNN make plans on a machine without a GPU, for devices that JSON describes. */
#ifndef BP_TESTS_CUDNN_SUPPORT_REAL_H
#define BP_TESTS_CUDNN_SUPPORT_REAL_H

#include "providers/cudnn/cudnn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

extern bp__cudnn_instance real_instance;
extern cudnnBackendDescriptor_t real_device;

/* Opens the library, if there is one, with a libcuda.so.1; "" is none. */
void real_open(const char *path, const char *driver);
/* Skips the test if the library was not opened. */
void real_need(void);
/* Makes real_device, which the test destroys: 900 is compute capability 9.0. */
void real_begin(int capability);
/* Runs a test for each of the compute capabilities 8.0, 9.0, 10.0 and 12.0. Returns the exit code. */
int real_group(void (*try_device)(int capability));
/* Fails the test with what the library says. */
void real_fail(const char *what);

#endif
