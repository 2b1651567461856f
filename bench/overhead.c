/* overhead.c - measures the overhead of a call through Backplane over the CBLAS function that it calls.
 *
 *     overhead [library]      default: openblas
 *
 * f64 products of 2x2, 8x8 and 64x64 on one thread: a direct call of the library's cblas_dgemm, a reused plan, and a
 * one-shot call that hits the thread cache. The plan may use another routine of the library (dgemm_) than cblas_dgemm,
 * as it does for users. bench/overhead.py also runs numpy.matmul and torch.matmul.
 */
#include "backplane.h"
#include "timing.h"

#include <dlfcn.h>
#include <string.h>

typedef void cblas_dgemm_function(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a,
                                  int lda, const double *b, int ldb, double beta, double *c, int ldc);
static cblas_dgemm_function *cblas_dgemm;
static double memory[3][64 * 64];

typedef struct job {
    int n;
    bp_view a, b, c;
    bp_plan *plan;
} job;

static void direct(void *context) {
    int n = ((job *)context)->n;
    cblas_dgemm(101, 111, 111, n, n, n, 1.0, memory[0], n, memory[1], n, 0.0, memory[2], n);
}

static void reused(void *context) {
    bp_execute(((job *)context)->plan, (bp_operand[]){{memory[0], 0}, {memory[1], 0}, {memory[2], 0}}, NULL);
}

static void one_shot(void *context) {
    job *j = context;
    bp_matmul(&j->a.tensor, &j->b.tensor, &j->c.tensor);
}

static void die(const char *what) {
    fprintf(stderr, "overhead: %s: %s\n", what, bp_last_error());
    exit(1);
}

static void open_directly(const char *name) {
    bp_library_info info = {.struct_size = sizeof info};
    if (bp_library_find(name, &info) != BP_OK) {
        die("library");
    }
    if (info.int_bits != 32 || info.prefix[0]) {
        fprintf(stderr, "overhead: '%s' has no plain 32-bit cblas_dgemm\n", name);
        exit(1);
    }
    void *handle = dlopen(info.path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    cblas_dgemm = handle ? (cblas_dgemm_function *)dlsym(handle, "cblas_dgemm") : NULL;
    if (!cblas_dgemm) {
        fprintf(stderr, "overhead: no cblas_dgemm in %s\n", info.path);
        exit(1);
    }
    printf("library %s %s, kernels %s\n", info.id, info.version, info.kernels);
}

static void prepare(job *j, int n) {
    j->n = n;
    bp_view_matrix(&j->a, memory[0], BP_F64, n, n);
    bp_view_matrix(&j->b, memory[1], BP_F64, n, n);
    bp_view_matrix(&j->c, memory[2], BP_F64, n, n);
    if (bp_matmul_plan(&j->plan, NULL, &j->a.tensor, &j->b.tensor, &j->c.tensor) != BP_OK) {
        die("plan");
    }
    one_shot(j);
}

int main(int argc, char **argv) {
    static const int sizes[] = {2, 8, 64};
    const char *name = argc > 1 ? argv[1] : "openblas";
    if (bp_set_num_threads(1) != BP_OK || bp_set_blas_preferred(name) != BP_OK ||
        bp_set_dispatch_fallback("strict") != BP_OK) {
        die("settings");
    }
    open_directly(name);
    timing_fill_f64(memory[0], 64 * 64);
    timing_fill_f64(memory[1], 64 * 64);
    printf("%-6s %12s %12s %12s %14s %14s\n", "size", "cblas ns", "plan ns", "one-shot ns", "plan - cblas",
           "one-shot - cblas");
    for (int i = 0; i < 3; i++) {
        job j;
        prepare(&j, sizes[i]);
        candidate list[] = {
            {.run = direct, .context = &j}, {.run = reused, .context = &j}, {.run = one_shot, .context = &j}};
        timing_interleave(list, 3, 301, 100e3, 1);
        /* Differences are taken for each round, because the clock drifts more between rounds than these differences. */
        candidate plan_more = {.rounds = 301};
        candidate call_more = {.rounds = 301};
        for (int t = 0; t < 301; t++) {
            plan_more.ns[t] = list[1].ns[t] - list[0].ns[t];
            call_more.ns[t] = list[2].ns[t] - list[0].ns[t];
        }
        printf("%-6d %12.1f %12.1f %12.1f %7.1f [%.1f %.1f] %7.1f [%.1f %.1f]\n", sizes[i], timing_median(&list[0]),
               timing_median(&list[1]), timing_median(&list[2]), timing_median(&plan_more),
               timing_quantile(&plan_more, 0.25), timing_quantile(&plan_more, 0.75), timing_median(&call_more),
               timing_quantile(&call_more, 0.25), timing_quantile(&call_more, 0.75));
        bp_plan_release(j.plan);
    }
    return 0;
}
