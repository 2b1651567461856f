/* support_device_array.c - makes tensors on an OpenCL or a CUDA device, and compares results. */
#include "device_array.h"

#include "device/internal.h"
#include "providers/cuda/objects.h"
#include "providers/opencl/objects.h"
#include "support/kernels.h"
#include "support/modes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int32_t test_device;
bool test_on_cuda, test_as_gpu, test_without_f64;

/* The provider reads the facts at two places: in the list, and in the open device. */
static void find_facts(bp_device_info *facts[2]) {
    void *device;
    assert_int_equal(bp__device_open(test_device, &device), BP_OK);
    facts[0] = (bp_device_info *)(uintptr_t)bp__device_facts(test_device);
    facts[1] = test_on_cuda ? &((bp__cu_device *)device)->facts : &((bp__cl_device *)device)->facts;
    assert_non_null(facts[0]);
}

/* Lets the provider see a device that is no processor, so that it divides work as for one. */
static void pretend_gpu(void) {
    bp_device_info *facts[2];
    find_facts(facts);
    for (int i = 0; i < 2; i++) {
        facts[i]->can &= ~BP_DEVICE_IS_CPU;
        facts[i]->can &= getenv("TESTED_WITHOUT_F64") ? ~BP_DEVICE_CAN_F64 : ~0u;
    }
}

int test_device_setup(void **state) {
    (void)state;
    test_kernels_setup();
    test_on_cuda = getenv("TESTED_ON_CUDA") != NULL;
    if (bp_device_find(test_on_cuda ? "cuda" : "opencl", &test_device) != BP_OK) {
        printf("no device: %s\n", bp_last_error());
        test_device = 0;
    }
    if (test_device && getenv("TESTED_AS_GPU")) {
        pretend_gpu();
    }
    if (test_device) {
        const uint32_t can = bp__device_facts(test_device)->can;
        test_as_gpu = !(can & BP_DEVICE_IS_CPU);
        test_without_f64 = !(can & BP_DEVICE_CAN_F64);
    }
    return 0;
}

const char *test_device_provider(void) {
    return test_on_cuda ? "nvrtc" : "opencl";
}

bool test_device_takes_all(void) {
    return test_takes_all();
}

bool test_device_leaves_out(bool alike) {
    return alike && test_as_gpu && !test_device_takes_all();
}

bool test_device_leaves_tiles(void) {
    return !test_as_gpu && !test_device_takes_all();
}

/* The facts, for a change. No plan made with the old ones is used again. */
static void facts_for_change(bp_device_info *facts[2]) {
    find_facts(facts);
    assert_ok(bp_device_plan_cache_clear(test_device));
}

uint32_t test_device_set_units(uint32_t units) {
    bp_device_info *facts[2];
    facts_for_change(facts);
    const uint32_t before = facts[0]->units;
    facts[0]->units = facts[1]->units = units;
    return before;
}

void test_device_set_limits(uint32_t items, uint64_t local) {
    bp_device_info *facts[2];
    facts_for_change(facts);
    for (int i = 0; i < 2; i++) {
        facts[i]->group_items = items;
        facts[i]->local_memory = local;
    }
}

void test_device_need(void) {
    if (test_device == 0) {
        skip();
    }
}

/* ---- Tensors ---- */

static void copy_all(const device_copy *copy, const test_array *host, bool to_device) {
    bp_view view;
    assert_ok(bp_view_init(&view, host->memory, host->dtype, 1, &host->all, NULL));
    assert_ok(to_device ? bp_copy(&copy->memory->dl_tensor, &view.tensor, NULL)
                        : bp_copy(&view.tensor, &copy->memory->dl_tensor, NULL));
}

DLTensor *device_copy_make(device_copy *copy, const test_array *host) {
    *copy = (device_copy){0};
    if (!host->memory) {
        return NULL;
    }
    assert_ok(bp_tensor_empty_on(&copy->memory, test_device, host->dtype, 1, &host->all, NULL));
    const DLTensor *memory = &copy->memory->dl_tensor;
    copy->tensor = host->view.tensor;
    copy->tensor.data = memory->data;
    copy->tensor.device = memory->device;
    copy->tensor.byte_offset = memory->byte_offset + (uint64_t)((char *)host->view.tensor.data - host->memory);
    device_copy_send(copy, host);
    return &copy->tensor;
}

void device_copy_free(device_copy *copy) {
    if (copy->memory) {
        copy->memory->deleter(copy->memory);
    }
    *copy = (device_copy){0};
}

void device_copy_send(const device_copy *copy, const test_array *host) {
    copy_all(copy, host, true);
}

void device_copy_fetch(const device_copy *copy, const test_array *host) {
    copy_all(copy, host, false);
}

void device_array_make(device_array *t, bp_dtype dtype, int ndim, const int64_t *shape, test_layout layout,
                       unsigned broadcast) {
    test_array_make(&t->host, dtype, ndim, shape, layout);
    DLTensor *host = &t->host.view.tensor;
    for (int d = 0; d < ndim; d++) {
        if (broadcast >> d & 1) {
            if (host->strides[d] < 0) {
                host->data =
                    (char *)host->data + host->strides[d] * (host->shape[d] - 1) * (int64_t)bp_dtype_size(dtype);
            }
            host->strides[d] = 0;
        }
    }
    t->tensor = *device_copy_make(&t->copy, &t->host);
}

void device_array_free(device_array *t) {
    device_copy_free(&t->copy);
    test_array_free(&t->host);
}

void device_array_send(device_array *t) {
    device_copy_send(&t->copy, &t->host);
}

void device_array_fetch(device_array *t, const char *text) {
    device_copy_fetch(&t->copy, &t->host);
    test_array_check_gaps(&t->host, text);
}

/* ---- Elements ---- */

void device_array_set(device_array *t, int64_t index, double re, double im) {
    test_array_set_complex(&t->host, index, (bp_scalar){re, im});
}

double device_array_re(const device_array *t, int64_t index) {
    return test_array_get(&t->host, index);
}

double device_array_im(const device_array *t, int64_t index) {
    return test_array_get_complex(&t->host, index).im;
}

void device_array_fill(device_array *t) {
    const bool whole = test_array_is_whole(t->host.dtype);
    for (int64_t i = 0; i < test_array_count(&t->host); i++) {
        const double number = t->host.dtype == BP_BOOL ? (double)test_array_between(0, 1)
                              : t->host.dtype == BP_U8 ? (double)test_array_between(0, 255)
                                                       : (double)test_array_between(-128, 127);
        device_array_set(t, i, whole ? number : test_array_uniform(), test_array_uniform());
    }
    device_array_send(t);
}

/* ---- Bounds ---- */

double device_eps(bp_dtype dtype) {
    return dtype == BP_C64              ? 0x1p-24
           : dtype == BP_C128           ? 0x1p-53
           : test_array_is_whole(dtype) ? 0
                                        : test_array_eps(dtype);
}

double device_compute_eps(bp_dtype dtype) {
    return dtype == BP_F64 || dtype == BP_C128 ? 0x1p-53 : test_array_is_whole(dtype) ? 0 : 0x1p-24;
}

double device_tiny(bp_dtype dtype) {
    return dtype >= BP_F16 && dtype <= BP_F64 ? test_array_tiny(dtype) : 0x1p-140;
}

void assert_on_device(const char *text) {
    bp_plan_info info = {.struct_size = sizeof info};
    assert_ok(bp_last_plan(&info));
    if (strcmp(info.provider, test_device_provider()) != 0) {
        fail_msg("%s: the provider was %s", text, info.provider);
    }
}

void assert_close(const char *text, int64_t index, double value, double wanted, double bound) {
    const bool same = isnan(wanted) ? isnan(value) : isinf(wanted) ? value == wanted : fabs(value - wanted) <= bound;
    if (!same) {
        fail_msg("%s: element %lld is %.17g, but should be %.17g up to %.3g", text, (long long)index, value, wanted,
                 bound);
    }
}
