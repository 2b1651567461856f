/* device_array.h - tensors of any layout on an OpenCL or CUDA device, with a copy on the host, for tests of operations.
 */
#ifndef BP_TESTS_OPENCL_OPS_DEVICE_ARRAY_H
#define BP_TESTS_OPENCL_OPS_DEVICE_ARRAY_H

#include "support/arrays.h"
#include "support/results.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#define I64(...) ((const int64_t[]){__VA_ARGS__})

/* The first OpenCL device, or with TESTED_ON_CUDA the first CUDA device; 0: there is none. */
extern int32_t test_device;
extern bool test_on_cuda;
const char *test_device_provider(void); /* with kernels of ours: "opencl", "nvrtc" */
extern bool test_as_gpu;      /* it is no processor, or TESTED_AS_GPU is set */
extern bool test_without_f64; /* it has no f64, or TESTED_WITHOUT_F64 is set */

/* Group setup. Finds the device. With the variable TESTED_AS_GPU, work is divided as for a device that is no processor;
 * with TESTED_WITHOUT_F64, the device is also said to have no f64. The driver keeps its compiled kernels in a folder of
 * the program's own, since its cache is not safe with several processes. */
int test_device_setup(void **state);
/* Whether TESTED_ALL is set. Without it, some cases are left out, because PoCL takes long to compile kernels with local
 * memory: on processors cases of the kernels for other devices, and else cases that differ from others in the type
 * only. `make test-opencl` sets it. */
bool test_device_takes_all(void);
/* Whether to leave out a case that differs from others in the type only. */
bool test_device_leaves_out(bool alike);
/* Whether to leave out a case of the kernels for devices other than processors. */
bool test_device_leaves_tiles(void);
/* Lets the provider see this number of units, by which it divides work. Returns the number before. */
uint32_t test_device_set_units(uint32_t units);
/* Lets the provider see these limits of a group: its work items, and the bytes of its local memory. */
void test_device_set_limits(uint32_t items, uint64_t local);
/* Skips the test if there is no device. */
void test_device_need(void);

/* The copy of a tensor on the device, with the memory between its elements. */
typedef struct device_copy {
    DLManagedTensorVersioned *memory; /* NULL: there is none */
    DLTensor tensor;                  /* its shape and strides are the host's */
} device_copy;

/* Makes a copy of the memory and the view of a tensor. Returns the tensor on the device; NULL if there is none. */
DLTensor *device_copy_make(device_copy *copy, const test_array *host);
void device_copy_free(device_copy *copy);
/* Copy all memory of the tensor that the copy was made from, also between elements. */
void device_copy_send(const device_copy *copy, const test_array *host);
void device_copy_fetch(const device_copy *copy, const test_array *host);

/* A tensor on the device with the layout of one on the host. */
typedef struct device_array {
    test_array host;
    device_copy copy;
    DLTensor tensor; /* the copy's */
} device_array;

/* Returns the tensor on the device, or that on the host for the same call to a reference. */
static inline DLTensor *device_array_side(device_array *t, bool host) {
    return host ? &t->host.view.tensor : &t->tensor;
}

/* Makes both, with undefined elements. `broadcast`: bits of dimensions whose strides become 0, for inputs. */
void device_array_make(device_array *t, bp_dtype dtype, int ndim, const int64_t *shape, test_layout layout,
                       unsigned broadcast);
void device_array_free(device_array *t);
/* Copy all memory, also between elements. */
void device_array_send(device_array *t);
void device_array_fetch(device_array *t, const char *text); /* fails if memory between elements was written */

/* Sets elements to random numbers of a type, or to all-finite ones between -1 and 1. Sends them. */
void device_array_fill(device_array *t);

/* Elements of complex types, and of any other one. */
void device_array_set(device_array *t, int64_t index, double re, double im);
double device_array_re(const device_array *t, int64_t index);
double device_array_im(const device_array *t, int64_t index);

/* Half a unit in the last place of 1, of the type and of the type in which it is computed. */
double device_eps(bp_dtype dtype);
double device_compute_eps(bp_dtype dtype);
double device_tiny(bp_dtype dtype);

/* Fails with the library's message unless the call succeeds. */
#define assert_ok(call)                                                                                                \
    do {                                                                                                               \
        const bp_status status_ = (call);                                                                              \
        if (status_ != BP_OK) {                                                                                        \
            fail_msg("%s: %s: %s", #call, bp_status_name(status_), bp_last_error());                                   \
        }                                                                                                              \
    } while (0)

/* Fails if the last plan of this thread did not run on that provider. */
void assert_on_device(const char *text);

/* Fails unless the two agree: NaN with NaN, infinities of one sign, otherwise up to `bound`. */
void assert_close(const char *text, int64_t index, double value, double wanted, double bound);

#endif
