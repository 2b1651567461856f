/* test_copies.c - tests copies of random strided layouts against loops over bytes, and that nothing else is written. */
#include "opencl/support_opencl.h"

#include "providers/strided/strided.h"

#include <stdlib.h>

static const bp_runtime *const runtime = &bp_runtime_opencl;
enum { MEMORY = 1 << 18, DIMS = BP_TRANSFER_MAX_NDIM };

static uint64_t seed = 12345;

static int64_t between(int64_t low, int64_t high) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (int64_t)((seed >> 33) % (uint64_t)(high - low + 1));
}

/* ---- Random layouts ---- */

/* Makes strides of one side: dimensions in a random order with gaps, some reversed. Returns false if it needs too much
 * memory. */
static bool make_side(const bp_transfer *transfer, int64_t *strides, uint64_t *offset, int64_t align) {
    int order[DIMS];
    int64_t step = ((int64_t)transfer->run + align - 1) / align * align, low = 0, high = (int64_t)transfer->run;
    for (int i = 0; i < transfer->ndim; i++) {
        order[i] = i;
    }
    for (int i = transfer->ndim - 1; i > 0; i--) {
        int other = (int)between(0, i), one = order[i];
        order[i] = order[other];
        order[other] = one;
    }
    for (int i = 0; i < transfer->ndim; i++) {
        int dim = order[i];
        step += between(0, 2) == 0 ? align * between(1, 5) : 0;
        strides[dim] = between(0, 4) == 0 ? -step : step;
        int64_t far = (transfer->shape[dim] - 1) * strides[dim];
        low += far < 0 ? far : 0;
        high += far > 0 ? far : 0;
        step *= transfer->shape[dim] > 0 ? transfer->shape[dim] : 1;
    }
    *offset = (uint64_t)(-low + align * between(0, 9));
    return high - low + 10 * align < MEMORY;
}

static bool make_random(bp_transfer *transfer) {
    static const int64_t aligns[] = {1, 2, 4, 8, 16};
    int64_t align = aligns[between(0, 4)];
    *transfer = (bp_transfer){.ndim = (int32_t)between(0, 5), .run = (uint64_t)(align * between(1, 6))};
    for (int i = 0; i < transfer->ndim; i++) {
        transfer->shape[i] = between(0, 30) == 0 ? 0 : between(1, 12);
    }
    bool fits = make_side(transfer, transfer->dst_stride, &transfer->dst.offset, align) &&
                make_side(transfer, transfer->src_stride, &transfer->src.offset, align);
    for (int i = 0; i < transfer->ndim; i++) {
        if (between(0, 8) == 0) { /* a broadcast source: later dimensions still have space */
            transfer->src_stride[i] = 0;
        }
    }
    return fits;
}

static void reference(const bp_transfer *transfer, char *dst, const char *src) {
    int64_t index[DIMS] = {0}, runs = 1;
    for (int i = 0; i < transfer->ndim; i++) {
        runs *= transfer->shape[i];
    }
    for (int64_t n = 0; n < runs; n++) {
        int64_t to = (int64_t)transfer->dst.offset, from = (int64_t)transfer->src.offset;
        for (int i = 0; i < transfer->ndim; i++) {
            to += index[i] * transfer->dst_stride[i];
            from += index[i] * transfer->src_stride[i];
        }
        memcpy(dst + to, src + from, transfer->run);
        for (int i = transfer->ndim - 1; i >= 0 && ++index[i] == transfer->shape[i]; i--) {
            index[i] = 0;
        }
    }
}

/* ---- Running ---- */

static char from[MEMORY], expected[MEMORY], result[MEMORY], before[MEMORY];

/* Copies with the runtime from `from` to `result`, which begins as `before`. */
static void run_transfer(test_queue *queue, bp_transfer transfer) {
    void *src = NULL, *dst = NULL, *event;
    memcpy(result, before, MEMORY);
    if (transfer.kind != BP_TRANSFER_WRITE) {
        src = test_cl_memory(queue, from, MEMORY);
    }
    if (transfer.kind != BP_TRANSFER_READ) {
        dst = test_cl_memory(queue, before, MEMORY);
    }
    transfer.src.base = src ? src : from;
    transfer.dst.base = dst ? dst : result;
    assert_int_equal(runtime->copy(queue->queue, &transfer, &event), BP_OK);
    test_cl_done(event);
    if (dst) {
        test_cl_read(queue, dst, result, MEMORY);
        runtime->release(queue->queue->device, dst);
    }
    if (src) {
        runtime->release(queue->queue->device, src);
    }
}

static void check(test_queue *queue, const bp_transfer *transfer) {
    memcpy(expected, before, MEMORY);
    reference(transfer, expected, from);
    run_transfer(queue, *transfer);
    if (memcmp(expected, result, MEMORY) != 0) {
        print_message("kind %d run %d ndim %d:", (int)transfer->kind, (int)transfer->run, transfer->ndim);
        for (int i = 0; i < transfer->ndim; i++) {
            print_message(" [%d: %d <- %d]", (int)transfer->shape[i], (int)transfer->dst_stride[i],
                          (int)transfer->src_stride[i]);
        }
        print_message("\n");
        fail_msg("the copy differs from the reference");
    }
}

static void fill(void) {
    for (int i = 0; i < MEMORY; i++) {
        from[i] = (char)between(0, 255);
        before[i] = (char)between(0, 255);
    }
}

static void test_random(void **state) {
    (void)state;
    test_cl_need(1);
    test_queue queue = test_queue_new(0, 0);
    bp_transfer transfer;
    fill();
    for (int i = 0; i < 400;) {
        if (make_random(&transfer)) {
            transfer.kind = (bp_transfer_kind)(i % 3);
            check(&queue, &transfer);
            i++;
        }
    }
    test_queue_free(&queue);
}

/* ---- A driver that refuses rectangles ---- */

static int refusals;

static cl_int refuse_copy(cl_command_queue queue, cl_mem src, cl_mem dst, const size_t *src_start,
                          const size_t *dst_start, const size_t *region, size_t src_row, size_t src_slice,
                          size_t dst_row, size_t dst_slice, cl_uint count, const cl_event *events, cl_event *event) {
    (void)queue, (void)src, (void)dst, (void)src_start, (void)dst_start, (void)region, (void)src_row, (void)src_slice;
    (void)dst_row, (void)dst_slice, (void)count, (void)events, (void)event;
    refusals++;
    return BP__CL_INVALID_VALUE;
}

static cl_int refuse_read(cl_command_queue queue, cl_mem buffer, cl_bool waits, const size_t *start,
                          const size_t *host_start, const size_t *region, size_t row, size_t slice, size_t host_row,
                          size_t host_slice, void *host, cl_uint count, const cl_event *events, cl_event *event) {
    (void)waits, (void)host;
    return refuse_copy(queue, buffer, buffer, start, host_start, region, row, slice, host_row, host_slice, count,
                       events, event);
}

static cl_int refuse_write(cl_command_queue queue, cl_mem buffer, cl_bool waits, const size_t *start,
                           const size_t *host_start, const size_t *region, size_t row, size_t slice, size_t host_row,
                           size_t host_slice, const void *host, cl_uint count, const cl_event *events,
                           cl_event *event) {
    return refuse_read(queue, buffer, waits, start, host_start, region, row, slice, host_row, host_slice,
                       (void *)(uintptr_t)host, count, events, event);
}

static void check_refused(test_queue *queue, bp_transfer_kind kind) {
    bp_transfer transfer;
    refusals = 0;
    for (int i = 0; i < 40;) {
        if (make_random(&transfer)) {
            transfer.kind = kind;
            check(queue, &transfer);
            i++;
        }
    }
    assert_true(refusals > 0);
}

/* With a compiler, a kernel copies; without one, and between the host and the block of a kernel, the runs are copied.
 */
static void test_refused_rectangles(void **state) {
    (void)state;
    test_cl_need(1);
    test_queue queue = test_queue_new(0, 0);
    const bp__cl_api api = bp__cl_loaded;
    const uint32_t can = test_cl_devices[0]->facts.can;
    fill();
    bp__cl_loaded.EnqueueCopyBufferRect = refuse_copy;
    bp__cl_loaded.EnqueueReadBufferRect = refuse_read;
    bp__cl_loaded.EnqueueWriteBufferRect = refuse_write;
    for (int i = 0; i < 6; i++) {
        test_cl_devices[0]->facts.can = i < 3 ? can : can & ~(uint32_t)BP_DEVICE_CAN_COMPILE;
        check_refused(&queue, (bp_transfer_kind)(i % 3));
    }
    test_cl_devices[0]->facts.can = can;
    bp__cl_loaded = api;
    test_queue_free(&queue);
}

/* A device without a compiler copies everything by rectangles. */
static void test_without_kernel(void **state) {
    (void)state;
    test_cl_need(1);
    test_queue queue = test_queue_new(0, 0);
    bp_transfer transfer;
    fill();
    uint32_t can = test_cl_devices[0]->facts.can;
    test_cl_devices[0]->facts.can &= ~BP_DEVICE_CAN_COMPILE;
    for (int i = 0; i < 60;) {
        if (make_random(&transfer)) {
            transfer.kind = (bp_transfer_kind)(i % 3);
            check(&queue, &transfer);
            i++;
        }
    }
    test_cl_devices[0]->facts.can = can;
    test_queue_free(&queue);
}

static void test_transpose(void **state) {
    (void)state;
    test_cl_need(1);
    test_queue queue = test_queue_new(0, 0);
    fill();
    for (int kind = 0; kind < 3; kind++) {
        bp_transfer transfer = {.kind = (bp_transfer_kind)kind,
                                .run = 4,
                                .ndim = 2,
                                .shape = {200, 300},
                                .dst_stride = {1200, 4},
                                .src_stride = {4, 800}};
        check(&queue, &transfer);
    }
    test_queue_free(&queue);
}

/* All eight dimensions, with runs of two units: no dimension is left for the units. */
static void test_most_dimensions(void **state) {
    (void)state;
    test_cl_need(1);
    test_queue queue = test_queue_new(0, 0);
    fill();
    for (int kind = 0; kind < 3; kind++) {
        bp_transfer transfer = {.kind = (bp_transfer_kind)kind, .run = 6, .ndim = DIMS};
        for (int i = 0; i < DIMS; i++) {
            transfer.shape[i] = 2;
            transfer.dst_stride[i] = 8 << i;
            transfer.src_stride[DIMS - 1 - i] = 8 << i;
        }
        check(&queue, &transfer);
    }
    test_queue_free(&queue);
}

static void test_empty(void **state) {
    (void)state;
    test_cl_need(1);
    test_queue queue = test_queue_new(0, 0);
    fill();
    bp_transfer transfer = {.kind = BP_TRANSFER_WRITE, .run = 0};
    check(&queue, &transfer);
    transfer = (bp_transfer){.kind = BP_TRANSFER_READ, .run = 4, .ndim = 2, .shape = {3, 0}};
    check(&queue, &transfer);
    test_queue_free(&queue);
}

/* ---- The choice of rectangles ---- */

static bp__rectangle rectangle_of(int ndim, uint64_t run, const int64_t (*dims)[3]) {
    bp_transfer transfer = {.run = run, .ndim = ndim};
    bp__strided layout;
    for (int i = 0; i < ndim; i++) {
        transfer.shape[i] = dims[i][0];
        transfer.dst_stride[i] = dims[i][1];
        transfer.src_stride[i] = dims[i][2];
    }
    assert_true(bp__strided_of(&transfer, true, &layout));
    return bp__rectangle_of(&layout);
}

static void test_rectangles(void **state) {
    (void)state;
    assert_int_equal(rectangle_of(3, 8, (const int64_t[][3]){{4, 600, 600}, {5, 120, 120}, {15, 8, 8}}).pieces, 1);
    assert_int_equal(rectangle_of(3, 8, (const int64_t[][3]){{4, 640, 700}, {5, 128, 140}, {15, 8, 8}}).pieces, 1);
    assert_int_equal(rectangle_of(2, 4, (const int64_t[][3]){{10, 40, 4}, {10, 4, 40}}).pieces, 10);
    assert_int_equal(rectangle_of(1, 4, (const int64_t[][3]){{10, 4, -4}}).pieces, 10);
    assert_int_equal(rectangle_of(1, 4, (const int64_t[][3]){{10, -4, -4}}).pieces, 1);
    assert_int_equal(rectangle_of(1, 4, (const int64_t[][3]){{10, 4, 0}}).pieces, 10);
    /* the pitch of slices is no multiple of the rows' pitch */
    assert_int_equal(rectangle_of(2, 4, (const int64_t[][3]){{10, 50, 50}, {3, 8, 8}}).pieces, 3);
}

static void test_out_of_range(void **state) {
    (void)state;
    test_cl_need(1);
    test_queue queue = test_queue_new(0, 0);
    void *base = test_cl_memory(&queue, NULL, 100), *event;
    bp_transfer transfer = {.kind = BP_TRANSFER_READ, .dst = {result, 0}, .src = {base, 1 << 20}, .run = 50};
    assert_int_equal(runtime->copy(queue.queue, &transfer, &event), BP_E_DEVICE);
    assert_contains(test_cl_error, "CL_INVALID_VALUE");
    runtime->release(test_cl_devices[0], base);
    test_queue_free(&queue);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),          cmocka_unit_test(test_refused_rectangles),
        cmocka_unit_test(test_without_kernel),  cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_most_dimensions), cmocka_unit_test(test_empty),
        cmocka_unit_test(test_rectangles),      cmocka_unit_test(test_out_of_range),
    };
    return cmocka_run_group_tests_name("copies", tests, test_cl_setup, test_cl_teardown);
}
