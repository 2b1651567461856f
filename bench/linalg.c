/* linalg.c - times linear algebra: the library that Backplane chooses, and a direct call of the same library's LAPACK.
 *
 *     linalg [types] [operations] [sizes] [threads] [rounds]    e.g. linalg f64 cholesky,svd 64,1000*16 1,2 9
 *
 * Sizes are sizes of square matrices; 1000*16 are 1000 matrices of 16x16, which the direct side computes in a loop. The
 * direct side calls the library that Backplane chose; for batches that our own kernels compute, the library that would
 * run without them. Its workspaces are allocated beforehand. It copies the input first if LAPACK would overwrite it, as
 * every caller must. Both sides use the same column-major memory. Times are from interleaved rounds: median in
 * microseconds with quartiles. The ratio is the direct time divided by ours: above 1 Backplane is faster.
 */
#include "backplane.h"
#include "timing.h"

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define MOST_CASES 64

/* One operation on one batch, with the data of both sides. Integers have 64 bits: a library with 32-bit integers reads
 * the lower half. */
typedef struct job {
    bp_dtype dtype;
    size_t element;
    int64_t n, batch;
    char *a, *spd, *b; /* inputs: general, positive definite, right sides */
    char *out[3];      /* outputs, the same memory for both sides, because its location affects the times */
    char *work;
    int64_t *pivots, *iwork;
    int64_t lwork, liwork;
    void (*routine[2])(void);
    bp_plan *plan;
    bp_linalg_call call;
    bp_operand operands[BP_LINALG_OPERANDS];
    const struct operation *operation;
} job;

typedef struct operation {
    const char *name;
    bp_op op;
    const char *stems[2];
    int outputs;
    bool spd, has_b;
    void (*direct)(job *j, int64_t item);
} operation;

static void die(const char *what) {
    fprintf(stderr, "linalg: %s: %s\n", what, bp_last_error());
    exit(1);
}

static char *item_of(const job *j, char *base, int64_t item) {
    return base + (size_t)(item * j->n * j->n) * j->element;
}

static char *copied(const job *j, int output, const char *from, int64_t item) {
    char *to = item_of(j, j->out[output], item);
    memcpy(to, item_of(j, (char *)(uintptr_t)from, item), (size_t)(j->n * j->n) * j->element);
    return to;
}

/* ---- The direct side: LAPACK's Fortran interface ---- */

typedef void getrf_function(const int64_t *, const int64_t *, void *, const int64_t *, int64_t *, int64_t *);
typedef void getri_function(const int64_t *, void *, const int64_t *, const int64_t *, void *, const int64_t *,
                            int64_t *);
typedef void potrf_function(const char *, const int64_t *, void *, const int64_t *, int64_t *, size_t);
typedef void gesv_function(const int64_t *, const int64_t *, void *, const int64_t *, int64_t *, void *,
                           const int64_t *, int64_t *);
typedef void geqrf_function(const int64_t *, const int64_t *, void *, const int64_t *, void *, void *, const int64_t *,
                            int64_t *);
typedef void orgqr_function(const int64_t *, const int64_t *, const int64_t *, void *, const int64_t *, const void *,
                            void *, const int64_t *, int64_t *);
typedef void syevd_function(const char *, const char *, const int64_t *, void *, const int64_t *, void *, void *,
                            const int64_t *, int64_t *, const int64_t *, int64_t *, size_t, size_t);
typedef void gesdd_function(const char *, const int64_t *, const int64_t *, void *, const int64_t *, void *, void *,
                            const int64_t *, void *, const int64_t *, void *, const int64_t *, int64_t *, int64_t *,
                            size_t);

static int64_t info;

static void direct_lu(job *j, int64_t item) {
    char *x = copied(j, 0, j->a, item);
    ((getrf_function *)j->routine[0])(&j->n, &j->n, x, &j->n, j->pivots, &info);
}

static void direct_inv(job *j, int64_t item) {
    char *x = copied(j, 0, j->a, item);
    ((getrf_function *)j->routine[0])(&j->n, &j->n, x, &j->n, j->pivots, &info);
    ((getri_function *)j->routine[1])(&j->n, x, &j->n, j->pivots, j->work, &j->lwork, &info);
}

static void direct_cholesky(job *j, int64_t item) {
    ((potrf_function *)j->routine[0])("L", &j->n, copied(j, 0, j->spd, item), &j->n, &info, 1);
}

static void direct_solve(job *j, int64_t item) {
    char *x = copied(j, 0, j->b, item), *a = copied(j, 1, j->a, item);
    ((gesv_function *)j->routine[0])(&j->n, &j->n, a, &j->n, j->pivots, x, &j->n, &info);
}

static void direct_qr(job *j, int64_t item) {
    char *q = copied(j, 0, j->a, item), *tau = j->work, *work = j->work + (size_t)j->n * j->element;
    ((geqrf_function *)j->routine[0])(&j->n, &j->n, q, &j->n, tau, work, &j->lwork, &info);
    char *r = item_of(j, j->out[1], item);
    size_t column = (size_t)j->n * j->element;
    for (int64_t c = 0; c < j->n; c++) {
        size_t used = (size_t)(c + 1) * j->element;
        memcpy(r + (size_t)c * column, q + (size_t)c * column, used);
        memset(r + (size_t)c * column + used, 0, column - used);
    }
    ((orgqr_function *)j->routine[1])(&j->n, &j->n, &j->n, q, &j->n, tau, work, &j->lwork, &info);
}

static void direct_eigh(job *j, int64_t item) {
    char *v = copied(j, 1, j->spd, item);
    ((syevd_function *)j->routine[0])("V", "L", &j->n, v, &j->n, j->out[0], j->work, &j->lwork, j->iwork, &j->liwork,
                                      &info, 1, 1);
}

static void direct_svd(job *j, int64_t item) {
    char *a = j->work;
    memcpy(a, item_of(j, j->a, item), (size_t)(j->n * j->n) * j->element);
    ((gesdd_function *)j->routine[0])("S", &j->n, &j->n, a, &j->n, j->out[1], item_of(j, j->out[0], item), &j->n,
                                      item_of(j, j->out[2], item), &j->n, a + (size_t)(j->n * j->n) * j->element,
                                      &j->lwork, j->iwork, &info, 1);
}

static const operation operations[] = {
    {"lu_factor", BP_OP_LU_FACTOR, {"getrf", NULL}, 2, false, false, direct_lu},
    {"inv", BP_OP_INV, {"getrf", "getri"}, 1, false, false, direct_inv},
    {"cholesky", BP_OP_CHOLESKY, {"potrf", NULL}, 1, true, false, direct_cholesky},
    {"solve", BP_OP_SOLVE, {"gesv", NULL}, 1, false, true, direct_solve},
    {"qr", BP_OP_QR, {"geqrf", "orgqr"}, 2, false, false, direct_qr},
    {"eigh", BP_OP_EIGH, {"syevd", NULL}, 2, true, false, direct_eigh},
    {"svd", BP_OP_SVD, {"gesdd", NULL}, 3, false, false, direct_svd},
};

static void run_direct(void *context) {
    job *j = context;
    for (int64_t i = 0; i < j->batch; i++) {
        j->operation->direct(j, i);
    }
}

static void run_plan(void *context) {
    const job *j = context;
    if (bp_execute(j->plan, j->operands, NULL) != BP_OK) {
        die("bp_execute");
    }
}

static void run_call(void *context) {
    const job *j = context;
    if (bp_linalg_run(NULL, &j->call) != BP_OK) {
        die("bp_linalg_run");
    }
}

/* ---- Memory ---- */

static void *memory(size_t size) {
    void *block = calloc(1, size + 64);
    if (!block) {
        fprintf(stderr, "linalg: no memory\n");
        exit(1);
    }
    return block;
}

static void fill(const job *j, char *x, int64_t count) {
    if (j->dtype == BP_F32) {
        timing_fill_f32((float *)x, (size_t)count);
    } else {
        timing_fill_f64((double *)x, (size_t)count);
    }
}

/* Fills with symmetric matrices with a dominant diagonal. */
static void fill_definite(const job *j) {
    for (int64_t item = 0; item < j->batch; item++) {
        const char *a = item_of(j, j->a, item);
        char *s = item_of(j, j->spd, item);
        for (int64_t r = 0; r < j->n; r++) {
            for (int64_t c = 0; c < j->n; c++) {
                int64_t from = r < c ? r * j->n + c : c * j->n + r, to = r * j->n + c;
                double heavy = r == c ? (double)j->n : 0;
                if (j->dtype == BP_F32) {
                    ((float *)s)[to] = ((const float *)a)[from] + (float)heavy;
                } else {
                    ((double *)s)[to] = ((const double *)a)[from] + heavy;
                }
            }
        }
    }
}

/* ---- Backplane ---- */

static bp_view views[BP_LINALG_OPERANDS];

static void set_operand(job *j, int index, void *data) {
    bp_dtype dtype;
    int ndim, inputs = j->operation->has_b ? 2 : 1;
    int64_t shape[BP_MAX_NDIM] = {j->batch, j->n, j->n};
    dtype = j->dtype;
    ndim = 3;
    if (index >= inputs && bp_linalg_shape(&j->call, index - inputs, &dtype, &ndim, shape) != BP_OK) {
        die("bp_linalg_shape");
    }
    int64_t strides[3] = {j->n * j->n, 1, j->n};
    bool matrix = ndim == 3;
    if (!matrix) {
        strides[0] = ndim == 2 ? shape[1] : 1;
    }
    if (bp_view_init(&views[index], data, dtype, ndim, shape, strides) != BP_OK) {
        die("bp_view_init");
    }
    if (index < inputs) {
        j->call.input[index] = &views[index].tensor;
    } else {
        j->call.output[index - inputs] = &views[index].tensor;
    }
    j->operands[index].base = data;
}

static void describe(const bp_plan *plan, char *text, size_t size) {
    bp_plan_info about = {.struct_size = sizeof about};
    bp_plan_describe(plan, &about);
    snprintf(text, size, "%s %s (%s), %d threads", about.library, about.library_version, about.algorithm,
             about.threads);
}

static void plan_ours(job *j) {
    const operation *o = j->operation;
    j->call = (bp_linalg_call){.struct_size = sizeof j->call, .op = o->op};
    if (o->op == BP_OP_SVD) {
        j->call.mode = BP_SVD_REDUCED;
    }
    int index = 0;
    set_operand(j, index++, o->spd ? j->spd : j->a);
    if (o->has_b) {
        set_operand(j, index++, j->b);
    }
    for (int i = 0; i < o->outputs; i++) {
        set_operand(j, index++, j->out[i]);
    }
    if (bp_linalg_plan(&j->plan, NULL, &j->call) != BP_OK) {
        die("bp_linalg_plan");
    }
}

/* Finds the library of our plan; for our own kernels, the one that would run instead. */
static void find_direct(job *j, int threads) {
    bp_plan_info about = {.struct_size = sizeof about};
    bp_plan *other = NULL;
    bp_options *options = NULL;
    bp_plan_describe(j->plan, &about);
    if (strcmp(about.provider, "native") == 0 &&
        (bp_options_new(&options, "dispatch.exclude=native") != BP_OK ||
         bp_linalg_plan(&other, options, &j->call) != BP_OK || bp_plan_describe(other, &about) != BP_OK)) {
        die("another library");
    }
    bp_library_info row = {.struct_size = sizeof row};
    if (bp_library_find(about.library, &row) != BP_OK) {
        die("library");
    }
    void *handle = dlopen(row.path, RTLD_NOW | RTLD_LOCAL);
    char name[64];
    for (int i = 0; i < 2 && j->operation->stems[i]; i++) {
        snprintf(name, sizeof name, "%s%c%s%s", row.prefix, j->dtype == BP_F32 ? 's' : 'd', j->operation->stems[i],
                 row.suffix);
        *(void **)&j->routine[i] = handle ? dlsym(handle, name) : NULL;
        if (!j->routine[i]) {
            fprintf(stderr, "linalg: %s has no %s\n", row.path, name);
            exit(1);
        }
    }
    static const char *const setters[] = {"openblas_set_num_threads", "MKL_Set_Num_Threads", "omp_set_num_threads"};
    for (int i = 0; i < 3; i++) {
        void (*set)(int);
        *(void **)&set = dlsym(handle, setters[i]);
        if (set) {
            set(threads);
        }
    }
    printf("  direct: %s %s\n", row.id, row.version);
    bp_plan_release(other);
    bp_options_release(options);
}

typedef struct totals {
    double plan, call;
    int cases;
} totals;

static void show(candidate *c, double reference, const char *text) {
    double median = timing_median(c);
    printf("  %-20s %12.2f us [%10.2f, %10.2f]  %6.3f  %s\n", c->name, median / 1e3, timing_quantile(c, 0.25) / 1e3,
           timing_quantile(c, 0.75) / 1e3, reference / median, text);
}

static void benchmark(const operation *o, bp_dtype dtype, const char *size, int threads, int rounds, totals *sums) {
    char *end;
    job j = {.operation = o, .dtype = dtype, .element = bp_dtype_size(dtype), .batch = 1};
    j.n = timing_number(size, &end);
    if (*end == '*') {
        j.batch = j.n;
        j.n = timing_number(end + 1, &end);
    }
    if (*end || j.n < 1) {
        fprintf(stderr, "linalg: '%s' is not a size; examples are 64 and 1000*16\n", size);
        exit(2);
    }
    size_t bytes = (size_t)(j.batch * j.n * j.n) * j.element;
    j.lwork = 8 * j.n * j.n + 256 * j.n + 1024;
    j.liwork = 8 * j.n + 64;
    j.a = memory(bytes), j.spd = memory(bytes), j.b = memory(bytes);
    j.work = memory((size_t)(j.lwork + 2 * j.n * j.n + j.n) * j.element);
    j.pivots = memory((size_t)j.n * 8), j.iwork = memory((size_t)j.liwork * 8);
    for (int i = 0; i < 3; i++) {
        j.out[i] = memory(bytes + (size_t)j.batch * 64);
    }
    fill(&j, j.a, j.batch * j.n * j.n);
    fill(&j, j.b, j.batch * j.n * j.n);
    fill_definite(&j);
    printf("%s %s %s, %d thread%s\n", o->name, bp_dtype_name(dtype), size, threads, threads == 1 ? "" : "s");
    plan_ours(&j);
    find_direct(&j, threads);
    char text[160];
    describe(j.plan, text, sizeof text);
    candidate list[] = {{.name = "LAPACK, direct", .run = run_direct, .context = &j},
                        {.name = "Backplane plan", .run = run_plan, .context = &j},
                        {.name = "Backplane one-shot", .run = run_call, .context = &j}};
    timing_interleave(list, 3, rounds, 2e6, threads);
    double reference = timing_median(&list[0]);
    show(&list[0], reference, "");
    show(&list[1], reference, text);
    show(&list[2], reference, "");
    sums->plan += log(reference / timing_median(&list[1]));
    sums->call += log(reference / timing_median(&list[2]));
    sums->cases++;
    bp_plan_release(j.plan);
    void *blocks[] = {j.a, j.spd, j.b, j.work, j.pivots, j.iwork};
    for (int i = 0; i < 6; i++) {
        free(blocks[i]);
    }
    for (int i = 0; i < 3; i++) {
        free(j.out[i]);
    }
}

static bool named(const char *const words[], int count, const char *name) {
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], name) == 0 || strcmp(words[i], "all") == 0) {
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv) {
    char types[64], names[256], sizes[512], counts[64];
    snprintf(types, sizeof types, "%s", argc > 1 ? argv[1] : "f64");
    snprintf(names, sizeof names, "%s", argc > 2 ? argv[2] : "all");
    snprintf(sizes, sizeof sizes, "%s",
             argc > 3 ? argv[3] : "64,128,256,512,1024,1000*2,1000*3,1000*4,1000*8,1000*12,1000*16,1000*24,1000*32");
    snprintf(counts, sizeof counts, "%s", argc > 4 ? argv[4] : "1,2");
    char *end;
    int rounds = argc > 5 ? timing_number(argv[5], &end) : 7;
    const char *type[4], *name[16], *size[MOST_CASES], *threads[8];
    int type_count = timing_split(types, type, 4), name_count = timing_split(names, name, 16);
    int size_count = timing_split(sizes, size, MOST_CASES), thread_count = timing_split(counts, threads, 8);
    for (int t = 0; t < thread_count; t++) {
        if (bp_set("num_threads", threads[t]) != BP_OK) {
            die("num_threads");
        }
        for (int d = 0; d < type_count; d++) {
            for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
                totals single = {0}, batched = {0};
                for (int s = 0; s < size_count && named(name, name_count, operations[i].name); s++) {
                    benchmark(&operations[i], bp_dtype_from_name(type[d]), size[s], timing_number(threads[t], &end),
                              rounds, strchr(size[s], '*') ? &batched : &single);
                    fflush(stdout);
                }
                if (single.cases > 0) {
                    printf("geometric mean, %s %s, %s threads, single: plan %.3f, one-shot %.3f\n", operations[i].name,
                           type[d], threads[t], exp(single.plan / single.cases), exp(single.call / single.cases));
                }
                if (batched.cases > 0) {
                    printf("geometric mean, %s %s, %s threads, batches: plan %.3f, one-shot %.3f\n", operations[i].name,
                           type[d], threads[t], exp(batched.plan / batched.cases), exp(batched.call / batched.cases));
                }
            }
        }
    }
    return 0;
}
