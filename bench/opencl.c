/* opencl.c - measures f32 products of the opencl provider, and of CLBlast called directly on the same queue, and what a
 * plan adds to a call of CLBlast.
 *
 *     build/bench/opencl [--device ID] [--rounds N] [SIZE...]
 *
 * Each round runs both once for each size, and waits for the queue after each. The time is that from the call to the
 * end of the wait; the table has medians. CLBlast is opened by name and skipped if it is absent. */
#include "backplane.h"
#include "timing.h"

#include <dlfcn.h>

enum { MOST_SIZES = 16 };

typedef int (*clblast_sgemm)(int layout, int transpose_a, int transpose_b, size_t m, size_t n, size_t k, float alpha,
                             void *a, size_t a_first, size_t a_stride, void *b, size_t b_first, size_t b_stride,
                             float beta, void *c, size_t c_first, size_t c_stride, void **queue, void **event);
enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111 };

static void check(bp_status status, const char *what) {
    if (status != BP_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, bp_status_name(status), bp_last_error());
        exit(1);
    }
}

static DLManagedTensorVersioned *matrix(int32_t place, int64_t size) {
    DLManagedTensorVersioned *tensor;
    bp_view host;
    const int64_t shape[] = {size, size};
    float *data = timing_filled((size_t)(size * size), false);
    check(bp_view_matrix(&host, data, BP_F32, size, size), "view");
    check(bp_tensor_empty_on(&tensor, place, BP_F32, 2, shape, NULL), "tensor");
    check(bp_copy(&tensor->dl_tensor, &host.tensor, NULL), "copy");
    free(data);
    return tensor;
}

typedef struct product {
    bp_queue *queue;
    clblast_sgemm sgemm;
    size_t size;
    DLManagedTensorVersioned *a, *b, *own, *other;
    bp_plan *plan;
} product;

static void enqueue_own(const product *c) {
    const DLManagedTensorVersioned *const tensors[] = {c->a, c->b, c->own};
    bp_operand operands[3];
    const bp_exec exec = {.struct_size = sizeof exec, .queue = c->queue};
    for (int i = 0; i < 3; i++) {
        operands[i] = (bp_operand){tensors[i]->dl_tensor.data, tensors[i]->dl_tensor.byte_offset};
    }
    check(bp_execute(c->plan, operands, &exec), "bp_execute");
}

static void enqueue_clblast(const product *c) {
    void *queue = bp_queue_native(c->queue);
    const DLTensor *a = &c->a->dl_tensor, *b = &c->b->dl_tensor, *out = &c->other->dl_tensor;
    const size_t n = c->size;
    const int status = c->sgemm(ROW_MAJOR, NOT_TRANSPOSED, NOT_TRANSPOSED, n, n, n, 1, a->data, a->byte_offset / 4, n,
                                b->data, b->byte_offset / 4, n, 0, out->data, out->byte_offset / 4, n, &queue, NULL);
    if (status != 0) {
        fprintf(stderr, "CLBlast: status %d\n", status);
        exit(1);
    }
}

/* Waits for the end of CLBlast's work, which the library does not know. */
static void wait_for_all(const product *c) {
    bp_event *end;
    check(bp_event_record(&end, c->queue), "bp_event_record");
    check(bp_event_sync(end, -1), "bp_event_sync");
    bp_event_release(end);
}

static void run_own(void *context) {
    enqueue_own(context);
    check(bp_queue_wait(((const product *)context)->queue), "bp_queue_wait");
}

static void run_clblast(void *context) {
    enqueue_clblast(context);
    wait_for_all(context);
}

static void drop(product *c) {
    DLManagedTensorVersioned *const all[] = {c->a, c->b, c->own, c->other};
    for (int i = 0; i < 4; i++) {
        all[i]->deleter(all[i]);
    }
}

static int compare(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Makes the matrices, and a plan of the library. Returns false if it cannot run the product. */
static bool prepare(int32_t place, product *c, const char *library) {
    char text[64];
    bp_options *options;
    snprintf(text, sizeof text, "blas.preferred=%s,dispatch.fallback=strict", library);
    c->a = matrix(place, (int64_t)c->size);
    c->b = matrix(place, (int64_t)c->size);
    c->own = matrix(place, (int64_t)c->size);
    c->other = matrix(place, (int64_t)c->size);
    check(bp_options_new(&options, text), "options");
    const bp_status status = bp_matmul_plan(&c->plan, options, &c->a->dl_tensor, &c->b->dl_tensor, &c->own->dl_tensor);
    bp_options_release(options);
    if (status != BP_OK) {
        drop(c);
    }
    return status == BP_OK;
}

static void measure(int32_t place, product *c, int rounds) {
    static candidate runs[2];
    const int64_t n = (int64_t)c->size;
    bp_plan_info info = {.struct_size = sizeof info};
    check(prepare(place, c, "opencl") ? BP_OK : bp_last_status(), "plan");
    check(bp_plan_describe(c->plan, &info), "describe");
    runs[0] = (candidate){.name = info.algorithm, .run = run_own, .context = c};
    runs[1] = (candidate){.name = "CLBlast", .run = run_clblast, .context = c};
    timing_interleave(runs, c->sgemm ? 2 : 1, rounds, 2e6, 1);
    const double own = timing_median(&runs[0]) / 1e3, flops = 2e-3 * (double)n * (double)n * (double)n;
    printf("%5d  %-8s %10.1f %8.1f", (int)n, info.algorithm, own, flops / own);
    if (c->sgemm) {
        const double other = timing_median(&runs[1]) / 1e3;
        printf(" %12.1f %8.1f %8.2f", other, flops / other, other / own);
    }
    printf("\n");
    bp_plan_release(c->plan);
    drop(c);
}

/* ---- Many small products, and what a plan adds to them ---- */

enum { SMALL = 64, BURST = 1000 };

static int64_t burst(const product *c, void (*enqueue)(const product *c), int64_t *enqueued_ns) {
    const int64_t start = timing_now();
    for (int i = 0; i < BURST; i++) {
        enqueue(c);
    }
    *enqueued_ns = timing_now() - start;
    wait_for_all(c);
    return timing_now() - start;
}

static double median_of(int64_t *values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare);
    return (double)values[count / 2] / BURST / 1e3;
}

/* Bursts of a plan and of CLBlast in turn. */
static void measure_bursts(int32_t place, product *c, const char *library, int rounds) {
    enum { MOST = 101 };
    int64_t all[2][MOST], enqueued[2][MOST];
    rounds = rounds < MOST ? rounds : MOST;
    c->size = SMALL;
    if (!prepare(place, c, library)) {
        printf("%s: %s\n", library, bp_last_error());
        return;
    }
    for (int i = -1; i < rounds; i++) { /* the first round is not counted */
        const int at = i < 0 ? 0 : i;
        all[0][at] = burst(c, enqueue_own, &enqueued[0][at]);
        all[1][at] = burst(c, enqueue_clblast, &enqueued[1][at]);
    }
    const double own = median_of(all[0], rounds), other = median_of(all[1], rounds);
    printf("%d products of %d: plan of %s %.2f us each (%.2f to enqueue), CLBlast %.2f (%.2f): %.2f times as long\n",
           BURST, SMALL, library, own, median_of(enqueued[0], rounds), other, median_of(enqueued[1], rounds),
           own / other);
    bp_plan_release(c->plan);
    drop(c);
}

int main(int count, char **arguments) {
    static const int usual[] = {128, 256, 512, 1024};
    int rounds = 21, sizes[MOST_SIZES], size_count = 0;
    int32_t place;
    char *end;
    const char *id = "opencl";
    bp_device_info device = {.struct_size = sizeof device};
    product c = {0};
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--rounds") == 0 && i + 1 < count) {
            rounds = timing_number(arguments[++i], &end);
        } else if (strcmp(arguments[i], "--device") == 0 && i + 1 < count) {
            id = arguments[++i];
        } else if (size_count < MOST_SIZES) {
            sizes[size_count++] = timing_number(arguments[i], &end);
        }
    }
    if (size_count == 0) {
        memcpy(sizes, usual, sizeof usual);
        size_count = sizeof usual / sizeof *usual;
    }
    check(bp_device_find(id, &place), "device");
    check(bp_device_describe(place, &device), "device");
    check(bp_queue_new(&c.queue, place, 0), "queue");
    void *clblast = dlopen("libclblast.so.1", RTLD_NOW | RTLD_LOCAL);
    c.sgemm = clblast ? (clblast_sgemm)dlsym(clblast, "CLBlastSgemm") : NULL;
    printf("%s, %s; f32, %d rounds, medians%s\n", device.name, device.driver, rounds,
           c.sgemm ? "" : "; CLBlast was not found");
    printf(" size  kernel           us  GFLOP/s   CLBlast us  GFLOP/s    speed\n");
    for (int i = 0; i < size_count; i++) {
        c.size = sizes[i] > 0 ? (size_t)sizes[i] : 1;
        measure(place, &c, rounds);
    }
    if (c.sgemm) {
        measure_bursts(place, &c, "opencl", rounds);
        measure_bursts(place, &c, "clblast", rounds);
    }
    bp_queue_release(c.queue);
    return 0;
}
