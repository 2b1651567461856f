/* packed.c - measures the gain of packing a constant operand: skinny f32 and f64 products with packed weights B,
 * compared with `native` without packing, OpenBLAS (or the named library), and dispatch's choice.
 *
 *     packed [library [threads]]      default: openblas 1
 *
 * Times are medians of interleaved rounds in microseconds, with quartiles of the packed one. `gain` is the best of the
 * others divided by it. Weights are row-major (k x n) or, marked ^T, column-major.
 */
#include "backplane.h"
#include "timing.h"

enum { ROUNDS = 31, VARIANTS = 4 };

typedef struct job {
    bp_dtype dtype;
    int64_t m, n, k;
    int transposed;
    void *memory[3];
    bp_view view[3];
    bp_plan *plan[VARIANTS];
    bp_packed *packed;
} job;

typedef struct variant {
    job *of;
    int number;
} variant;

static void die(const char *what) {
    fprintf(stderr, "packed: %s: %s\n", what, bp_last_error());
    exit(1);
}

static void run(void *context) {
    const variant *w = context;
    const job *j = w->of;
    const bp_operand operands[] = {{j->memory[0], 0}, {j->memory[1], 0}, {j->memory[2], 0}};
    const bp_packed *list[3] = {NULL, j->packed, NULL};
    const bp_exec exec = {.struct_size = sizeof exec, .packed = list};
    if (bp_execute(j->plan[w->number], operands, w->number == 0 ? &exec : NULL) != BP_OK) {
        die("run");
    }
}

static void fill(void *memory, bp_dtype dtype, int64_t count) {
    uint64_t state = 88172645463325252u;
    for (int64_t i = 0; i < count; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        double value = (double)(state >> 11) * 0x1p-53 - 0.5;
        if (dtype == BP_F32) {
            ((float *)memory)[i] = (float)value;
        } else {
            ((double *)memory)[i] = value;
        }
    }
}

static void make_operand(job *j, int which, int64_t rows, int64_t columns, int transposed) {
    const int64_t shape[] = {rows, columns}, strides[] = {transposed ? 1 : columns, transposed ? rows : 1};
    j->memory[which] = aligned_alloc(64, ((size_t)(rows * columns) * bp_dtype_size(j->dtype) + 63) / 64 * 64);
    if (!j->memory[which] || bp_view_init(&j->view[which], j->memory[which], j->dtype, 2, shape, strides) != BP_OK) {
        die("memory");
    }
    fill(j->memory[which], j->dtype, rows * columns);
}

static bp_plan *plan_of(job *j, const char *settings) {
    bp_options *options;
    bp_plan *plan = NULL;
    if (bp_options_new(&options, settings) != BP_OK ||
        bp_matmul_plan(&plan, options, &j->view[0].tensor, &j->view[1].tensor, &j->view[2].tensor) != BP_OK) {
        die(settings);
    }
    bp_options_release(options);
    return plan;
}

static void measure(job *j, const char *library, int threads) {
    char settings[VARIANTS][160];
    variant variants[VARIANTS];
    candidate list[VARIANTS];
    snprintf(settings[0], sizeof settings[0], "num_threads=%d, blas.preferred=native:packed, dispatch.packed=second",
             threads);
    snprintf(settings[1], sizeof settings[1], "num_threads=%d, blas.preferred=native", threads);
    snprintf(settings[2], sizeof settings[2], "num_threads=%d, blas.preferred=%s, dispatch.fallback=strict", threads,
             library);
    snprintf(settings[3], sizeof settings[3], "num_threads=%d", threads);
    make_operand(j, 0, j->m, j->k, 0);
    make_operand(j, 1, j->k, j->n, j->transposed);
    make_operand(j, 2, j->m, j->n, 0);
    for (int i = 0; i < VARIANTS; i++) {
        j->plan[i] = plan_of(j, settings[i]);
        variants[i] = (variant){j, i};
        list[i] = (candidate){.run = run, .context = &variants[i]};
    }
    if (bp_plan_pack(&j->packed, j->plan[0], 1, &(bp_operand){j->memory[1], 0}) != BP_OK) {
        die("pack");
    }
    timing_interleave(list, VARIANTS, ROUNDS, 2e6, threads);
    double us[VARIANTS], best = 1e300;
    for (int i = 0; i < VARIANTS; i++) {
        us[i] = timing_median(&list[i]) / 1e3;
        best = i > 0 && us[i] < best ? us[i] : best;
    }
    printf("%-4s %4lld x %-5lld x %-5lld%-2s %10.1f [%.1f %.1f] %10.1f %10.1f %10.1f %6.2f\n", bp_dtype_name(j->dtype),
           (long long)j->m, (long long)j->k, (long long)j->n, j->transposed ? "^T" : "", us[0],
           timing_quantile(&list[0], 0.25) / 1e3, timing_quantile(&list[0], 0.75) / 1e3, us[1], us[2], us[3],
           best / us[0]);
    bp_packed_release(j->packed);
    for (int i = 0; i < VARIANTS; i++) {
        bp_plan_release(j->plan[i]);
    }
    for (int i = 0; i < 3; i++) {
        free(j->memory[i]);
    }
}

int main(int argc, char **argv) {
    static const int64_t rows[] = {1, 4, 16, 64}, weights[][2] = {{384, 1536}, {1024, 1024}, {768, 3072}, {4096, 1024}};
    const char *library = argc > 1 ? argv[1] : "openblas";
    int threads = argc > 2 ? atoi(argv[2]) : 1;
    printf("type    m x k     x n          packed us [quartiles]     native    library     chosen   gain\n");
    for (int t = 0; t < 2; t++) {
        for (size_t w = 0; w < sizeof weights / sizeof *weights; w++) {
            for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
                for (int transposed = 0; transposed < 2; transposed++) {
                    job j = {.dtype = t ? BP_F64 : BP_F32,
                             .m = rows[r],
                             .k = weights[w][0],
                             .n = weights[w][1],
                             .transposed = transposed};
                    measure(&j, library, threads > 0 ? threads : 1);
                }
            }
        }
    }
    return 0;
}
