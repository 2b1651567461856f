/* native_gemm.c - times the native provider and a CBLAS library, usually OpenBLAS, in GFLOP/s.
 *
 *     native_gemm [library] [types] [sizes] [threads]     e.g. native_gemm openblas f64,c128 64,512,1000x1x1000 1,2
 *
 * `library` is an id of the library list or a path. Sizes are m x k x n, or one number for all three. All matrices are
 * row-major. Both run in interleaved rounds in one process: minimum, and median with quartiles. The ratios are the
 * library's time divided by ours: above 1 native is faster.
 */
#include "backplane.h"
#include "timing.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

typedef void real_f32(int, int, int, int, int, int, float, const void *, int, const void *, int, float, void *, int);
typedef void real_f64(int, int, int, int, int, int, double, const void *, int, const void *, int, double, void *, int);
typedef void complex_gemm(int, int, int, int, int, int, const void *, const void *, int, const void *, int,
                          const void *, void *, int);
typedef void set_threads_function(int);

static void *library;

typedef struct job {
    bp_dtype dtype;
    int m, k, n;
    void *a, *b, *c;
    void *symbol;
    bp_plan *plan;
} job;

static void die(const char *what) {
    fprintf(stderr, "native_gemm: %s: %s\n", what, bp_last_error());
    exit(1);
}

static void run_library(void *context) {
    const job *j = context;
    static const double one_f64[2] = {1, 0}, zero[2] = {0, 0};
    static const float one_f32[2] = {1, 0};
    const void *one = j->dtype == BP_C64 ? (const void *)one_f32 : (const void *)one_f64;
    switch (j->dtype) {
    case BP_F32:
        ((real_f32 *)j->symbol)(101, 111, 111, j->m, j->n, j->k, 1, j->a, j->k, j->b, j->n, 0, j->c, j->n);
        break;
    case BP_F64:
        ((real_f64 *)j->symbol)(101, 111, 111, j->m, j->n, j->k, 1, j->a, j->k, j->b, j->n, 0, j->c, j->n);
        break;
    default:
        ((complex_gemm *)j->symbol)(101, 111, 111, j->m, j->n, j->k, one, j->a, j->k, j->b, j->n, zero, j->c, j->n);
    }
}

static void run_native(void *context) {
    const job *j = context;
    bp_execute(j->plan, (bp_operand[]){{j->a, 0}, {j->b, 0}, {j->c, 0}}, NULL);
}

static void open_library(const char *name) {
    bp_library_info info = {.struct_size = sizeof info};
    const char *path = name;
    if (!strchr(name, '/')) {
        if (bp_library_find(name, &info) != BP_OK) {
            die("library");
        }
        path = info.path;
    }
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!library) {
        fprintf(stderr, "native_gemm: %s\n", dlerror());
        exit(1);
    }
    printf("library %s\n", path);
}

/* Sets the library's thread count by each setter that BLAS libraries offer. */
static void set_library_threads(int threads) {
    static const char *const names[] = {"openblas_set_num_threads", "bli_thread_set_num_threads",
                                        "MKL_Set_Num_Threads"};
    for (int i = 0; i < 3; i++) {
        set_threads_function *set = (set_threads_function *)dlsym(library, names[i]);
        if (set) {
            set(threads);
        }
    }
}

static void *numbers(bp_dtype dtype, size_t count) {
    size_t bytes = count * bp_dtype_size(dtype);
    void *x = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!x) {
        die("memory");
    }
    if (dtype == BP_F32 || dtype == BP_C64) {
        timing_fill_f32(x, bytes / 4);
    } else {
        timing_fill_f64(x, bytes / 8);
    }
    return x;
}

static void plan_native(job *j) {
    bp_view a, b, c;
    bp_view_matrix(&a, j->a, j->dtype, j->m, j->k);
    bp_view_matrix(&b, j->b, j->dtype, j->k, j->n);
    bp_view_matrix(&c, j->c, j->dtype, j->m, j->n);
    if (bp_matmul_plan(&j->plan, NULL, &a.tensor, &b.tensor, &c.tensor) != BP_OK) {
        die("plan");
    }
}

static void benchmark(bp_dtype dtype, int m, int k, int n, int threads) {
    static const char *const symbols[] = {
        [BP_F32] = "cblas_sgemm", [BP_F64] = "cblas_dgemm", [BP_C64] = "cblas_cgemm", [BP_C128] = "cblas_zgemm"};
    job j = {.dtype = dtype, .m = m, .k = k, .n = n, .symbol = dlsym(library, symbols[dtype])};
    if (!j.symbol) {
        fprintf(stderr, "native_gemm: the library has no %s\n", symbols[dtype]);
        exit(1);
    }
    j.a = numbers(dtype, (size_t)m * (size_t)k);
    j.b = numbers(dtype, (size_t)k * (size_t)n);
    j.c = numbers(dtype, (size_t)m * (size_t)n);
    plan_native(&j);
    bp_plan_info info = {.struct_size = sizeof info};
    bp_plan_describe(j.plan, &info);
    candidate list[] = {{.run = run_library, .context = &j}, {.run = run_native, .context = &j}};
    const double work = 2.0 * m * k * n * (dtype == BP_C64 || dtype == BP_C128 ? 4 : 1);
    timing_interleave(list, 2, work > 1e9 ? 15 : work > 1e8 ? 31 : 101, 200e3, threads);
    const double theirs = timing_median(&list[0]), ours = timing_median(&list[1]);
    const double their_best = list[0].ns[0], our_best = list[1].ns[0];
    char shape[64];
    snprintf(shape, sizeof shape, "%dx%dx%d", m, k, n);
    printf("%-5s %-15s %d/%d %11.0f %7.2f %11.0f %7.2f [%.0f %.0f] %7.2f %7.2f  %s, est. %.0f\n", bp_dtype_name(dtype),
           shape, threads, info.threads, theirs, work / their_best, ours, work / our_best,
           timing_quantile(&list[1], 0.25), timing_quantile(&list[1], 0.75), theirs / ours, their_best / our_best,
           info.algorithm, info.cost_ns);
    fflush(stdout);
    bp_plan_release(j.plan);
    free(j.a);
    free(j.b);
    free(j.c);
}

static void read_shape(const char *text, int *m, int *k, int *n) {
    char *end;
    *m = *k = *n = timing_number(text, &end);
    if (*end) {
        *k = *end == 'x' ? timing_number(end + 1, &end) : 0;
        *n = *end == 'x' ? timing_number(end + 1, &end) : 0;
    }
    if (*m == 0 || *k == 0 || *n == 0 || *end) {
        fprintf(stderr, "native_gemm: '%s' is neither a number nor MxKxN\n", text);
        exit(2);
    }
}

/* Calls `each` with every item of a comma-separated list. */
static void for_each(const char *list, void (*each)(const char *item, void *context), void *context) {
    char item[64];
    while (*list) {
        size_t length = strcspn(list, ",");
        snprintf(item, sizeof item, "%.*s", (int)length, list);
        each(item, context);
        list += length + (list[length] == ',');
    }
}

typedef struct table {
    const char *sizes, *threads;
    bp_dtype dtype;
    int thread_count;
} table;

static void row(const char *item, void *context) {
    const table *t = context;
    int m, k, n;
    read_shape(item, &m, &k, &n);
    benchmark(t->dtype, m, k, n, t->thread_count);
}

static void for_threads(const char *item, void *context) {
    table *t = context;
    char *end;
    t->thread_count = timing_number(item, &end);
    if (t->thread_count == 0 || *end) {
        fprintf(stderr, "native_gemm: '%s' is not a number of threads\n", item);
        exit(2);
    }
    if (bp_set_num_threads(t->thread_count) != BP_OK) {
        die("threads");
    }
    set_library_threads(t->thread_count);
    for_each(t->sizes, row, t);
}

static void for_dtype(const char *item, void *context) {
    table *t = context;
    t->dtype = bp_dtype_from_name(item);
    if (t->dtype < BP_F32 || t->dtype > BP_C128) {
        fprintf(stderr, "native_gemm: '%s' is not a type of CBLAS; use f32, f64, c64 or c128\n", item);
        exit(2);
    }
    for_each(t->threads, for_threads, t);
}

int main(int argc, char **argv) {
    table t = {.sizes = "2,4,8,16,32,64,128,256,512,1024,1000x1x1000,1000x1000x1,1x1000x1000", .threads = "1,2"};
    if (bp_set_blas_preferred("native") != BP_OK || bp_set_dispatch_fallback("strict") != BP_OK) {
        die("settings");
    }
    open_library(argc > 1 ? argv[1] : "openblas");
    t.sizes = argc > 3 ? argv[3] : t.sizes;
    t.threads = argc > 4 ? argv[4] : t.threads;
    printf("%-5s %-15s %-3s %11s %7s %11s %7s %s %s %s\n", "type", "m x k x n", "thr", "library ns", "best GF",
           "native ns", "best GF", "[quartiles]", "ratio: median", "best");
    for_each(argc > 2 ? argv[2] : "f32,f64,c64,c128", for_dtype, &t);
    return 0;
}
