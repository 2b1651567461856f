/* cufft_rules.c - what the provider of cuFFT assumes of the library, checked on a real device: values in all layouts,
 * the order of streams, graphs, workspaces and addresses. The double in tests/cufft/doubles keeps the same rules. */
#include "transforms.h"

#include <math.h>
#include <string.h>

static const bp_dtype types[] = {BP_F32, BP_F64, BP_C64, BP_C128};

static bool takes(int kind, bp_dtype dtype) {
    const bool from_real = kind == BP_RFFT || kind == BP_IHFFT;
    const bool to_real = kind == BP_IRFFT || kind == BP_HFFT;
    return dtype == BP_F32 || dtype == BP_F64 ? !to_real : !from_real;
}

/* Runs a transform once, and compares it. */
static outcome check(int kind, bp_fft_norm norm, bp_dtype dtype, int axis_count, int ndim, const int64_t *shape,
                     const int64_t *strides, size_t past) {
    transform t;
    bp_plan_info info = {.struct_size = sizeof info};
    const bp_fft_call call = {
        .struct_size = sizeof call, .transform = (bp_fft_transform)kind, .norm = norm, .axis_count = axis_count};
    NEEDS(new_transform(&t, &call, dtype, ndim, shape, strides, past));
    LIBRARY(bp_fft_run(NULL, &call, &t.in.device, &t.out.device));
    LIBRARY(bp_last_plan(&info));
    const outcome found = expect_transform(&t);
    if (found != PASSED) {
        return fail("transform %d of %s in %d of %d dimensions, the last of %d", kind, bp_dtype_name(dtype), axis_count,
                    ndim, (int)shape[ndim - 1]);
    }
    free_transform(&t);
    return PASSED;
}

/* Runs all transforms in all types. */
static outcome check_all(bp_fft_norm norm, int axis_count, int ndim, const int64_t *shape, const int64_t *strides,
                         size_t past) {
    for (int kind = BP_FFT; kind <= BP_IHFFT; kind++) {
        for (int i = 0; i < 4; i++) {
            if (takes(kind, types[i])) {
                NEEDS(check(kind, norm, types[i], axis_count, ndim, shape, strides, past));
            }
        }
    }
    return PASSED;
}

static outcome values_are_right(void) {
    static const int64_t lengths[] = {2, 3, 8, 15, 64, 101, 128};
    NEEDS(open_transforms());
    for (int i = 0; i < 7; i++) {
        NEEDS(check_all((bp_fft_norm)(i % 3), 1, 1, &lengths[i], NULL, 0));
    }
    NEEDS(check_all(BP_FFT_ORTHO, 1, 2, (const int64_t[]){7, 30}, NULL, 0));
    NEEDS(check_all(BP_FFT_BACKWARD, 2, 3, (const int64_t[]){3, 6, 10}, NULL, 0));
    NEEDS(check_all(BP_FFT_FORWARD, 3, 3, (const int64_t[]){5, 6, 8}, NULL, 0));
    NEEDS(check_all(BP_FFT_BACKWARD, 3, 4, (const int64_t[]){3, 4, 5, 7}, NULL, 0));
    return check_all(BP_FFT_BACKWARD, 4, 4, (const int64_t[]){3, 4, 5, 6}, NULL, 0);
}

/* Rows and elements with gaps, dimensions in another order, items in reverse and broadcast. */
static outcome layouts_are_right(void) {
    NEEDS(open_transforms());
    NEEDS(check_all(BP_FFT_BACKWARD, 2, 3, (const int64_t[]){3, 6, 10}, (const int64_t[]){80, 13, 1}, 0));
    NEEDS(check_all(BP_FFT_BACKWARD, 2, 3, (const int64_t[]){3, 6, 10}, (const int64_t[]){200, 30, 2}, 0));
    NEEDS(check_all(BP_FFT_BACKWARD, 2, 3, (const int64_t[]){3, 6, 10}, (const int64_t[]){60, 1, 6}, 0));
    NEEDS(check_all(BP_FFT_BACKWARD, 1, 2, (const int64_t[]){6, 9}, (const int64_t[]){1, 6}, 0));
    return check_all(BP_FFT_BACKWARD, 2, 3, (const int64_t[]){3, 6, 10}, (const int64_t[]){0, 10, 1}, 0);
}

static outcome lengths_of_one(void) {
    NEEDS(open_transforms());
    NEEDS(check(BP_RFFT, BP_FFT_BACKWARD, BP_F32, 1, 2, (const int64_t[]){3, 1}, NULL, 0));
    NEEDS(check(BP_RFFT, BP_FFT_BACKWARD, BP_F64, 2, 2, (const int64_t[]){3, 1}, NULL, 0));
    return check(BP_FFT, BP_FFT_BACKWARD, BP_F32, 2, 2, (const int64_t[]){6, 1}, NULL, 0);
}

/* Addresses that are aligned to parts of complex elements only. */
static outcome addresses_are_right(void) {
    NEEDS(open_transforms());
    NEEDS(check(BP_RFFT, BP_FFT_BACKWARD, BP_F32, 1, 2, (const int64_t[]){3, 7}, NULL, 4));
    NEEDS(check(BP_IRFFT, BP_FFT_BACKWARD, BP_C64, 1, 2, (const int64_t[]){3, 7}, NULL, 4));
    return check(BP_FFT, BP_FFT_BACKWARD, BP_C128, 1, 2, (const int64_t[]){3, 7}, NULL, 8);
}

/* Imaginary parts of elements that are their own mirror image are not read, also if they are NaN. */
static outcome imaginary_parts_are_ignored(void) {
    transform t;
    const bp_fft_call call = {.struct_size = sizeof call, .transform = BP_IRFFT, .axis_count = 1};
    NEEDS(open_transforms());
    NEEDS(new_transform(&t, &call, BP_C64, 1, (const int64_t[]){9}, NULL, 0));
    LIBRARY(bp_fft_run(NULL, &call, &t.in.device, &t.out.device));
    NEEDS(expect_transform(&t));
    float *parts = (float *)(void *)t.in.bytes;
    parts[1] = parts[17] = NAN;
    NEEDS(send_transform(&t, NULL));
    LIBRARY(bp_fft_run(NULL, &call, &t.in.device, &t.out.device));
    NEEDS(expect_transform(&t));
    free_transform(&t);
    return PASSED;
}

/* ---- Streams ---- */

/* A plan that is held, and its queue. It has run once, because loading kernels may wait for the device. */
typedef struct held {
    transform t;
    bp_plan *plan;
    bp_operand operands[2];
    bp_queue *queue;
    bp_exec exec;
} held;

static outcome hold(held *h) {
    const bp_fft_call call = {.struct_size = sizeof call, .transform = BP_IRFFT, .axis_count = 2};
    LIBRARY(bp_queue_new(&h->queue, transform_place, 0));
    NEEDS(new_transform(&h->t, &call, BP_C64, 3, (const int64_t[]){4, 9, 10}, NULL, 0));
    LIBRARY(bp_device_wait(transform_place)); /* another queue has written the input */
    LIBRARY(bp_fft_plan(&h->plan, NULL, &call, &h->t.in.device, &h->t.out.device));
    h->operands[0] = (bp_operand){h->t.in.device.data, h->t.in.device.byte_offset};
    h->operands[1] = (bp_operand){h->t.out.device.data, h->t.out.device.byte_offset};
    h->exec = (bp_exec){.struct_size = sizeof h->exec, .queue = h->queue};
    LIBRARY(bp_execute(h->plan, h->operands, &h->exec));
    LIBRARY(bp_queue_wait(h->queue));
    return PASSED;
}

static void release(held *h) {
    bp_plan_release(h->plan);
    bp_queue_release(h->queue);
    free_transform(&h->t);
}

static outcome transforms_keep_the_order(void) {
    held h;
    NEEDS(open_transforms());
    NEEDS(hold(&h));
    gate *own = close_gate(bp_queue_native(h.queue));
    HOLDS(own != NULL);
    NEEDS(write_transform(&h.t, h.queue));
    LIBRARY(bp_execute(h.plan, h.operands, &h.exec));
    WORKS(cu.StreamSynchronize(NULL)); /* a call that is in the default stream by mistake has run then */
    open_gate(own);
    LIBRARY(bp_queue_wait(h.queue));
    NEEDS(expect_transform(&h.t));
    release(&h);
    return PASSED;
}

static outcome bits_are_the_same(void) {
    static uint8_t first[TRANSFORM_BYTES];
    held h;
    NEEDS(open_transforms());
    NEEDS(hold(&h));
    for (int round = 0; round < 20; round++) {
        LIBRARY(bp_execute(h.plan, h.operands, &h.exec));
        LIBRARY(bp_queue_wait(h.queue));
        NEEDS(expect_transform(&h.t));
        if (round == 0) {
            memcpy(first, h.t.out.bytes, TRANSFORM_BYTES);
        }
        HOLDS(memcmp(first, h.t.out.bytes, TRANSFORM_BYTES) == 0);
    }
    release(&h);
    return PASSED;
}

/* Also after the plan was released. */
static outcome transforms_are_captured(void) {
    held h;
    bp_queue_graph *graph;
    NEEDS(open_transforms());
    NEEDS(hold(&h));
    LIBRARY(bp_queue_capture_begin(h.queue));
    LIBRARY(bp_execute(h.plan, h.operands, &h.exec));
    LIBRARY(bp_queue_capture_end(&graph, h.queue));
    for (int round = 0; round < 3; round++) {
        NEEDS(write_transform(&h.t, h.queue));
        LIBRARY(bp_queue_graph_launch(graph, h.queue));
        LIBRARY(bp_queue_wait(h.queue));
        NEEDS(expect_transform(&h.t));
        bp_plan_release(h.plan);
        h.plan = NULL;
    }
    bp_queue_graph_release(graph);
    release(&h);
    return PASSED;
}

/* ---- The library itself ---- */

static outcome workspaces_are_given(void) {
    own_transform t;
    CUstream stream;
    long long sizes[] = {31, 33};
    NEEDS(open_cufft());
    WORKS(cu.StreamCreate(&stream, BP__CU_STREAM_NON_BLOCKING));
    NEEDS(new_own_transform(&t, 2, sizes, false, stream));
    note("workspace of 31x33 complex numbers: %zu bytes", t.workspace_size);
    EXPECT(run_own_transform(&t), 0);
    WORKS(cu.StreamSynchronize(stream));
    free_own_transform(&t);
    WORKS(cu.StreamDestroy(stream));
    return PASSED;
}

static outcome plans_are_in_contexts(void) {
    cufftHandle plan;
    NEEDS(open_cufft());
    EXPECT(fft.Create(&plan), 0);
    EXPECT(fft.SetAutoAllocation(plan, 0), 0);
    EXPECT(fft.Destroy(plan), 0);
    EXPECT(fft.Destroy(plan), BP__CUFFT_INVALID_PLAN);
    return PASSED;
}

const rule cufft_rules[] = {
    {"transforms.values", "Transforms have the values of the host's.", values_are_right},
    {"transforms.layouts", "Strides, distances and embedded sizes mean what the provider tells.", layouts_are_right},
    {"transforms.lengths", "A dimension may have one element.", lengths_of_one},
    {"transforms.addresses", "Operands that are aligned to parts of complex elements are copied.", addresses_are_right},
    {"transforms.imaginary", "Imaginary parts that symmetry makes 0 are ignored.", imaginary_parts_are_ignored},
    {"transforms.bits", "Runs of a plan are bitwise reproducible.", bits_are_the_same},
    {"transforms.order", "Transforms run in the order of their stream.", transforms_keep_the_order},
    {"transforms.graphs", "Transforms are captured into graphs, which run after the plan was released.",
     transforms_are_captured},
    {"transforms.workspace", "A plan takes a workspace of the size that it tells.", workspaces_are_given},
    {"transforms.plans", "Plans are made in the primary context, and are invalid once they are destroyed.",
     plans_are_in_contexts},
    {NULL, NULL, NULL},
};
