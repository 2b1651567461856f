/* costs.c - measures what the driver's calls, copies and products take. Nothing is compared: the report has the
 * numbers.
 */
#include "costs.h"
#include "own_product.h"
#include "transforms.h"

#include <stdlib.h>

enum { CALLS = 20000 };

/* Notes the time of one of many calls. */
static void note_calls(const char *name, int64_t begin) {
    note("%s: %.0f ns", name, (double)(now_ns() - begin) / CALLS);
}

static outcome starting(void) {
    CUcontext context;
    int32_t place;
    const int64_t first = now_ns();
    LIBRARY(bp_device_find("cuda:0", &place));
    note("list of devices, from another process or kept: %.1f ms", (double)(now_ns() - first) / 1e6);
    const int64_t begin = now_ns();
    NEEDS(open_driver());
    const int64_t opened = now_ns();
    NEEDS(use_device(0, &context));
    note("library and cuInit: %.1f ms", (double)(opened - begin) / 1e6);
    note("primary context: %.1f ms", (double)(now_ns() - opened) / 1e6);
    return PASSED;
}

static outcome calls(void) {
    CUcontext context, current;
    CUstream stream;
    CUevent event;
    CUstreamCaptureStatus status;
    CUstreamCaptureMode mode = BP__CU_STREAM_CAPTURE_MODE_GLOBAL;
    NEEDS(open_driver());
    NEEDS(use_device(0, &context));
    WORKS(cu.StreamCreate(&stream, BP__CU_STREAM_NON_BLOCKING));
    WORKS(cu.EventCreate(&event, BP__CU_EVENT_DISABLE_TIMING));
    int64_t begin = now_ns();
    for (int i = 0; i < CALLS; i++) {
        WORKS(cu.CtxGetCurrent(&current));
    }
    note_calls("cuCtxGetCurrent", begin);
    begin = now_ns();
    for (int i = 0; i < CALLS; i++) {
        WORKS(cu.ThreadExchangeStreamCaptureMode(&mode));
    }
    note_calls("cuThreadExchangeStreamCaptureMode", begin);
    begin = now_ns();
    for (int i = 0; i < CALLS; i++) {
        WORKS(cu.StreamIsCapturing(stream, &status));
    }
    note_calls("cuStreamIsCapturing", begin);
    begin = now_ns();
    for (int i = 0; i < CALLS; i++) {
        WORKS(cu.EventRecord(event, stream));
    }
    note_calls("cuEventRecord", begin);
    WORKS(cu.StreamSynchronize(stream));
    begin = now_ns();
    for (int i = 0; i < CALLS; i++) {
        WORKS(cu.EventQuery(event));
    }
    note_calls("cuEventQuery", begin);
    return PASSED;
}

/* ---- Copies ---- */

static outcome open_place(int32_t *place, bp_device_info *info) {
    *info = (bp_device_info){.struct_size = sizeof *info};
    LIBRARY(bp_device_find("cuda:0", place));
    LIBRARY(bp_device_describe(*place, info));
    return PASSED;
}

/* Notes the bandwidth of a copy: the best of a few. */
static outcome note_copy(const char *name, int32_t place, DLTensor *to, const DLTensor *from, uint64_t bytes) {
    bp_queue *queue;
    double best = 0;
    LIBRARY(bp_queue_new(&queue, place, 0));
    for (int i = 0; i < 5; i++) {
        const int64_t begin = now_ns();
        LIBRARY(bp_copy(to, from, queue));
        LIBRARY(bp_queue_wait(queue));
        const double rate = (double)bytes / (double)(now_ns() - begin);
        best = rate > best ? rate : best;
    }
    note("%s: %.2f GB/s", name, best);
    bp_queue_release(queue);
    return PASSED;
}

static outcome copies(void) {
    int32_t place;
    bp_device_info info;
    NEEDS(open_place(&place, &info));
    const int64_t side = info.memory >= UINT64_C(4) << 30 ? 8192 : 64;
    const int64_t shape[] = {side, side}, turned[] = {1, side};
    const uint64_t bytes = (uint64_t)(side * side) * 4;
    DLManagedTensorVersioned *one, *two, *three, *pinned, *host;
    LIBRARY(bp_tensor_empty_on(&one, place, BP_F32, 2, shape, NULL));
    LIBRARY(bp_tensor_empty_on(&two, place, BP_F32, 2, shape, NULL));
    LIBRARY(bp_tensor_empty_on(&three, place, BP_F32, 2, shape, turned));
    LIBRARY(bp_tensor_pinned(&pinned, place, BP_F32, 2, shape));
    LIBRARY(bp_tensor_empty(&host, BP_F32, 2, shape, NULL));
    NEEDS(note_copy("from pinned memory", place, &one->dl_tensor, &pinned->dl_tensor, bytes));
    NEEDS(note_copy("to pinned memory", place, &pinned->dl_tensor, &one->dl_tensor, bytes));
    NEEDS(note_copy("from other memory", place, &one->dl_tensor, &host->dl_tensor, bytes));
    NEEDS(note_copy("to other memory", place, &host->dl_tensor, &one->dl_tensor, bytes));
    NEEDS(note_copy("within the device, read and written", place, &two->dl_tensor, &one->dl_tensor, 2 * bytes));
    NEEDS(
        note_copy("transposed by the kernel, read and written", place, &three->dl_tensor, &one->dl_tensor, 2 * bytes));
    one->deleter(one);
    two->deleter(two);
    three->deleter(three);
    pinned->deleter(pinned);
    host->deleter(host);
    return PASSED;
}

static outcome commands(void) {
    int32_t place;
    bp_device_info info;
    bp_queue *queue;
    DLManagedTensorVersioned *one, *two;
    NEEDS(open_place(&place, &info));
    LIBRARY(bp_queue_new(&queue, place, 0));
    LIBRARY(bp_tensor_empty_on(&one, place, BP_F32, 1, &(int64_t){64}, NULL));
    LIBRARY(bp_tensor_empty_on(&two, place, BP_F32, 1, &(int64_t){64}, NULL));
    for (int round = 0; round < 2; round++) { /* the first makes the events */
        const int64_t begin = now_ns();
        for (int i = 0; i < CALLS / 10; i++) {
            LIBRARY(bp_copy(&two->dl_tensor, &one->dl_tensor, queue));
        }
        const double ns = (double)(now_ns() - begin) / (CALLS / 10);
        LIBRARY(bp_queue_wait(queue));
        if (round == 1) {
            note("bp_copy of 256 bytes, enqueued: %.0f ns", ns);
        }
    }
    one->deleter(one);
    two->deleter(two);
    bp_queue_release(queue);
    return PASSED;
}

/* ---- Products ---- */

enum { PRODUCTS = 50, ROUNDS = 12 };

outcome least_time(outcome (*enqueue)(void *), void *user, bp_queue *queue, double *least) {
    *least = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        const int64_t begin = now_ns();
        for (int i = 0; i < PRODUCTS; i++) {
            NEEDS(enqueue(user));
        }
        const double each = (double)(now_ns() - begin) / PRODUCTS;
        LIBRARY(bp_queue_wait(queue));
        *least = each < *least ? each : *least;
    }
    return PASSED;
}

typedef struct squares {
    matrix a, c;
    bp_queue *queue;
    bp_plan *plan;
    bp_operand operands[3];
    own_product own;
    DLManagedTensorVersioned *workspace;
} squares;

static outcome run_plan(void *user) {
    const squares *s = user;
    const bp_exec exec = {.struct_size = sizeof exec, .queue = s->queue};
    LIBRARY(bp_execute(s->plan, s->operands, &exec));
    return PASSED;
}

static outcome call_once(void *user) {
    squares *s = user;
    LIBRARY(bp_matmul(&s->a.tensor, &s->a.tensor, &s->c.tensor));
    return PASSED;
}

static outcome call_library(void *user) {
    const squares *s = user;
    EXPECT(run_own(&s->own, s->workspace->dl_tensor.data, (size_t)4 << 20, bp_queue_native(s->queue)), 0);
    return PASSED;
}

static outcome products(void) {
    static squares s;
    double held, once, library;
    NEEDS(open_lt());
    NEEDS(new_own_product(&s.own, BP__CUBLASLT_EPILOGUE_DEFAULT));
    LIBRARY(bp_tensor_empty_on(&s.workspace, gpu_place, BP_U8, 1, &(int64_t){4 << 20}, NULL));
    LIBRARY(bp_queue_new(&s.queue, gpu_place, 0));
    LIBRARY(bp_queue_use(gpu_place, s.queue));
    NEEDS(new_matrix(&s.a, BP_F16, SIDE, SIDE, false, 0));
    NEEDS(new_matrix(&s.c, BP_F16, SIDE, SIDE, false, 0));
    LIBRARY(bp_matmul_plan(&s.plan, NULL, &s.a.tensor, &s.a.tensor, &s.c.tensor));
    for (int i = 0; i < 3; i++) {
        const matrix *m = i < 2 ? &s.a : &s.c;
        s.operands[i] = (bp_operand){m->tensor.data, m->tensor.byte_offset};
    }
    NEEDS(least_time(call_library, &s, s.queue, &library));
    NEEDS(least_time(run_plan, &s, s.queue, &held));
    NEEDS(least_time(call_once, &s, s.queue, &once));
    note("a product of f16 %dx%dx%d, enqueued: cublasLtMatmul %.0f ns, bp_execute %.0f ns, bp_matmul %.0f ns", SIDE,
         SIDE, SIDE, library, held, once);
    bp_plan_release(s.plan);
    LIBRARY(bp_queue_use(gpu_place, NULL));
    bp_queue_release(s.queue);
    s.workspace->deleter(s.workspace);
    free_matrix(&s.a);
    free_matrix(&s.c);
    free_own_product(&s.own);
    return PASSED;
}

/* ---- Transforms ---- */

typedef struct lines {
    transform t;
    bp_queue *queue;
    bp_plan *plan;
    bp_operand operands[2];
    own_transform own;
} lines;

static outcome run_transform_plan(void *user) {
    const lines *l = user;
    const bp_exec exec = {.struct_size = sizeof exec, .queue = l->queue};
    LIBRARY(bp_execute(l->plan, l->operands, &exec));
    return PASSED;
}

static outcome transform_once(void *user) {
    lines *l = user;
    LIBRARY(bp_fft_run(NULL, &l->t.call, &l->t.in.device, &l->t.out.device));
    return PASSED;
}

static outcome transform_by_library(void *user) {
    const lines *l = user;
    EXPECT(run_own_transform(&l->own), 0);
    return PASSED;
}

static outcome transforms(void) {
    static lines l;
    long long n = 64;
    double held, once, library;
    const bp_fft_call call = {.struct_size = sizeof call, .transform = BP_FFT, .axis_count = 1};
    NEEDS(open_cufft());
    LIBRARY(bp_queue_new(&l.queue, transform_place, 0));
    LIBRARY(bp_queue_use(transform_place, l.queue));
    NEEDS(new_own_transform(&l.own, 1, &n, false, bp_queue_native(l.queue)));
    NEEDS(new_transform(&l.t, &call, BP_C64, 1, &(int64_t){64}, NULL, 0));
    LIBRARY(bp_fft_plan(&l.plan, NULL, &call, &l.t.in.device, &l.t.out.device));
    l.operands[0] = (bp_operand){l.t.in.device.data, l.t.in.device.byte_offset};
    l.operands[1] = (bp_operand){l.t.out.device.data, l.t.out.device.byte_offset};
    NEEDS(least_time(transform_by_library, &l, l.queue, &library));
    NEEDS(least_time(run_transform_plan, &l, l.queue, &held));
    NEEDS(least_time(transform_once, &l, l.queue, &once));
    note("a transform of 64 c64, enqueued: cufftXtExec %.0f ns, bp_execute %.0f ns, bp_fft_run %.0f ns", library, held,
         once);
    bp_plan_release(l.plan);
    LIBRARY(bp_queue_use(transform_place, NULL));
    bp_queue_release(l.queue);
    free_transform(&l.t);
    free_own_transform(&l.own);
    return PASSED;
}

const rule costs[] = {
    {"costs.start", "Times of the start.", starting},
    {"costs.calls", "Times of the driver's calls.", calls},
    {"costs.copies", "Bandwidths of copies.", copies},
    {"costs.commands", "Times of the library's commands.", commands},
    {"costs.products", "Times of starting a product.", products},
    {"costs.transforms", "Times of starting a transform.", transforms},
    {NULL, NULL, NULL},
};
