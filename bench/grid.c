/* grid.c - compares dispatch's choice with every library that accepts, over a grid of shapes.
 *
 *     grid [threads ...]      default: 1 and then all cores
 *
 * For each shape every library runs a plan of its own (blas.preferred with dispatch.fallback=strict). The plan that
 * dispatch chooses runs in the same interleaved rounds. The ratio is the time of the chosen plan divided by the time of
 * the fastest: 1.00 means that no library was faster.
 */
#include "backplane.h"
#include "products.h"
#include "timing.h"

#include <math.h>
#include <string.h>

#define MOST 32

typedef struct job {
    bp_plan *plan;
    void *a, *b, *c;
} job;

static void run(void *context) {
    job *j = context;
    bp_execute(j->plan, (bp_operand[]){{j->a, 0}, {j->b, 0}, {j->c, 0}}, NULL);
}

static bp_plan *plan_for(const char *settings, bp_view *a, bp_view *b, bp_view *c) {
    bp_options *options;
    bp_plan *plan = NULL;
    if (bp_options_new(&options, settings) == BP_OK) {
        bp_matmul_plan(&plan, options, &a->tensor, &b->tensor, &c->tensor);
        bp_options_release(options);
    }
    return plan;
}

/* Lists dispatch's choice first, then every candidate that accepts. */
static int candidates(candidate *list, job *jobs, bp_dtype dtype, const int64_t *shape, int threads) {
    char settings[256];
    bp_view a, b, c;
    bp_view_matrix(&a, NULL, dtype, shape[0], shape[1]);
    bp_view_matrix(&b, NULL, dtype, shape[1], shape[2]);
    bp_view_matrix(&c, NULL, dtype, shape[0], shape[2]);
    snprintf(settings, sizeof settings, "num_threads=%d", threads);
    int count = 0;
    jobs[count].plan = plan_for(settings, &a, &b, &c);
    bp_plan_info info = {.struct_size = sizeof info};
    bp_plan_describe(jobs[count].plan, &info);
    list[count] = (candidate){.name = info.library, .run = run, .context = &jobs[count]};
    count++;
    bp_options *options;
    bp_explanation *explanation;
    if (bp_options_new(&options, settings) != BP_OK ||
        bp_matmul_explain(&explanation, options, &a.tensor, &b.tensor, &c.tensor) != BP_OK) {
        return count;
    }
    bp_candidate_info offer = {.struct_size = sizeof offer};
    for (int i = 0; count < MOST && bp_explanation_at(explanation, i, &offer); i++) {
        if (!offer.accepted) {
            continue;
        }
        snprintf(settings, sizeof settings, "num_threads=%d, blas.preferred=%s, dispatch.fallback=strict", threads,
                 offer.library);
        jobs[count].plan = plan_for(settings, &a, &b, &c);
        if (jobs[count].plan) {
            list[count] = (candidate){.name = offer.library, .run = run, .context = &jobs[count]};
            count++;
        }
    }
    bp_options_release(options);
    bp_explanation_release(explanation);
    return count;
}

static double one_shape(bp_dtype dtype, const int64_t *shape, int threads) {
    static candidate list[MOST];
    job jobs[MOST];
    int count = candidates(list, jobs, dtype, shape, threads);
    void *a = timing_filled((size_t)(shape[0] * shape[1]), dtype == BP_F64);
    void *b = timing_filled((size_t)(shape[1] * shape[2]), dtype == BP_F64);
    void *c = timing_filled((size_t)(shape[0] * shape[2]), dtype == BP_F64);
    for (int i = 0; i < count; i++) {
        jobs[i].a = a;
        jobs[i].b = b;
        jobs[i].c = c;
    }
    double work = (double)shape[0] * (double)shape[1] * (double)shape[2];
    timing_interleave(list, count, work > 1e8 ? 7 : 21, 200e3, threads);
    int best = 1;
    for (int i = 1; i < count; i++) {
        best = timing_median(&list[i]) < timing_median(&list[best]) ? i : best;
    }
    double ratio = count > 1 ? timing_median(&list[0]) / timing_median(&list[best]) : 1.0;
    printf("%-4s %5lldx%lldx%-5lld t%d  ours=%s %.0f [%.0f %.0f]  best=%s %.0f  ratio %.2f |", bp_dtype_name(dtype),
           (long long)shape[0], (long long)shape[1], (long long)shape[2], threads, list[0].name,
           timing_median(&list[0]), timing_quantile(&list[0], 0.25), timing_quantile(&list[0], 0.75), list[best].name,
           timing_median(&list[best]), ratio);
    for (int i = 1; i < count; i++) {
        printf(" %s %.0f", list[i].name, timing_median(&list[i]));
    }
    printf("\n");
    fflush(stdout);
    for (int i = 0; i < count; i++) {
        bp_plan_release(jobs[i].plan);
    }
    free(a);
    free(b);
    free(c);
    return ratio;
}

static void grid(int threads) {
    static const bp_dtype dtypes[] = {BP_F32, BP_F64};
    double sum = 0.0, worst = 0.0;
    int count = 0;
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < FIXED_PRODUCTS; i++) {
            double ratio = one_shape(dtypes[t], fixed_products[i], threads);
            sum += log(ratio);
            worst = fmax(worst, ratio);
            count++;
        }
    }
    printf("%d thread(s): geometric mean of ours / best %.3f, worst %.2f, over %d shapes (times in ns, median; "
           "[quartiles])\n",
           threads, exp(sum / count), worst, count);
}

static int thread_count(const char *text) {
    char *end;
    int count = timing_number(text, &end);
    if (count == 0 || *end) {
        fprintf(stderr, "grid: '%s' is not a number of threads\n", text);
        exit(2);
    }
    return count;
}

int main(int argc, char **argv) {
    setenv("KMP_BLOCKTIME", "20", 0); /* otherwise MKL's idle threads spin for 200 ms: see timing_rest() */
    bp_machine_info machine = {.struct_size = sizeof machine};
    if (bp_machine(&machine) == BP_OK) {
        printf("%s, %s kernels, %d cores available\n", machine.cpu_model, bp_cpu_capability(), machine.usable_cpus);
    }
    if (argc > 1) {
        for (int i = 1; i < argc; i++) {
            grid(thread_count(argv[i]));
        }
    } else {
        grid(1);
        if (machine.usable_cpus > 1) {
            grid(machine.usable_cpus);
        }
    }
    return 0;
}
