/* native_skinny.c - compares the native provider with every library on skinny products, those with a short dimension.
 *
 *     native_skinny [types] [shapes] [layouts]     e.g. native_skinny f32,f64 200 nn,nt   or   f32 1761x2x24,46x58x1
 *
 * Shapes are m x k x n, or a number of random ones: each dimension log-uniform in 1..2048, one or two of them at
 * most 9. A layout has a letter for A and one for B: n is row-major, t is the transpose of a row-major matrix. All run
 * on one thread in interleaved rounds; times are the smallest of all rounds. The ratio is native's time divided by the
 * time of the fastest library: below 1 native is faster.
 */
#include "backplane.h"
#include "timing.h"

#include <math.h>
#include <string.h>

#define MOST 16

typedef struct job {
    bp_plan *plan;
    void *a, *b, *c;
} job;

/* Ratios of all products so far. */
static double log_sum, worst;
static int counted, above;

static void run(void *context) {
    job *j = context;
    bp_execute(j->plan, (bp_operand[]){{j->a, 0}, {j->b, 0}, {j->c, 0}}, NULL);
}

static void *filled(bp_dtype dtype, int64_t elements) {
    const size_t bytes = ((size_t)elements * bp_dtype_size(dtype) + 63) / 64 * 64;
    uint16_t *block = aligned_alloc(64, bytes);
    if (!block) {
        exit(1);
    }
    if (dtype == BP_F64 || dtype == BP_C128) {
        timing_fill_f64((void *)block, bytes / 8);
    } else if (dtype == BP_F32 || dtype == BP_C64) {
        timing_fill_f32((void *)block, bytes / 4);
    } else {
        for (size_t i = 0; i < bytes / 2; i++) {
            block[i] = (uint16_t)(0x3800 + i % 0x300); /* normal numbers of both types */
        }
    }
    return block;
}

static bp_plan *plan_for(const char *library, bp_view *a, bp_view *b, bp_view *c) {
    char settings[256];
    bp_options *options;
    bp_plan *plan = NULL;
    snprintf(settings, sizeof settings, "num_threads=1, blas.preferred=%s, dispatch.fallback=strict", library);
    if (bp_options_new(&options, settings) == BP_OK) {
        bp_matmul_plan(&plan, options, &a->tensor, &b->tensor, &c->tensor);
        bp_options_release(options);
    }
    return plan;
}

static void matrix(bp_view *view, bp_dtype dtype, int64_t rows, int64_t columns, char layout) {
    const int64_t shape[] = {rows, columns}, strides[] = {1, rows};
    bp_view_init(view, NULL, dtype, 2, shape, layout == 't' ? strides : NULL);
}

static int candidates(candidate *list, job *jobs, char ids[][64], bp_view *a, bp_view *b, bp_view *c) {
    int count = 0;
    bp_options *options;
    bp_explanation *explanation;
    jobs[count].plan = plan_for("native", a, b, c);
    list[count] = (candidate){.name = "native", .run = run, .context = &jobs[count]};
    count++;
    if (bp_options_new(&options, "num_threads=1") != BP_OK ||
        bp_matmul_explain(&explanation, options, &a->tensor, &b->tensor, &c->tensor) != BP_OK) {
        return count;
    }
    bp_candidate_info offer = {.struct_size = sizeof offer};
    for (int i = 0; count < MOST && bp_explanation_at(explanation, i, &offer); i++) {
        if (!offer.accepted || strcmp(offer.library, "native") == 0 || strstr(offer.library, "openmp")) {
            continue; /* OpenMP builds have the same kernels */
        }
        snprintf(ids[count], sizeof ids[count], "%s", offer.library);
        jobs[count].plan = plan_for(ids[count], a, b, c);
        if (jobs[count].plan) {
            list[count] = (candidate){.name = ids[count], .run = run, .context = &jobs[count]};
            count++;
        }
    }
    bp_options_release(options);
    bp_explanation_release(explanation);
    return count;
}

static void print(bp_dtype dtype, const int64_t *shape, const char *layout, candidate *list, int count,
                  const bp_plan_info *info) {
    int best = 1;
    for (int i = 0; i < count; i++) {
        timing_median(&list[i]); /* sorts */
        best = i > 1 && list[i].ns[0] < list[best].ns[0] ? i : best;
    }
    char text[64];
    snprintf(text, sizeof text, "%lldx%lldx%lld", (long long)shape[0], (long long)shape[1], (long long)shape[2]);
    printf("%-5s %-15s %.2s %10.1f est %10.0f %-14s", bp_dtype_name(dtype), text, layout, list[0].ns[0], info->cost_ns,
           info->algorithm);
    if (count > 1) {
        const double ratio = list[0].ns[0] / list[best].ns[0];
        log_sum += log(ratio);
        worst = fmax(worst, ratio);
        above += ratio > 1.3;
        counted++;
        printf(" ratio %5.2f |", ratio);
    }
    for (int i = 1; i < count; i++) {
        printf(" %s %.1f", list[i].name, list[i].ns[0]);
    }
    printf("\n");
    fflush(stdout);
}

static void compare(bp_dtype dtype, const int64_t *shape, const char *layout) {
    static candidate list[MOST];
    static char ids[MOST][64];
    job jobs[MOST];
    bp_view a, b, c;
    matrix(&a, dtype, shape[0], shape[1], layout[0]);
    matrix(&b, dtype, shape[1], shape[2], layout[1]);
    matrix(&c, dtype, shape[0], shape[2], 'n');
    const int count = candidates(list, jobs, ids, &a, &b, &c);
    if (!jobs[0].plan) {
        fprintf(stderr, "native_skinny: %s\n", bp_last_error());
        exit(1);
    }
    void *memory[] = {filled(dtype, shape[0] * shape[1]), filled(dtype, shape[1] * shape[2]),
                      filled(dtype, shape[0] * shape[2])};
    for (int i = 0; i < count; i++) {
        jobs[i].a = memory[0], jobs[i].b = memory[1], jobs[i].c = memory[2];
    }
    timing_interleave(list, count, 41, 20e3, 1);
    bp_plan_info info = {.struct_size = sizeof info};
    bp_plan_describe(jobs[0].plan, &info);
    print(dtype, shape, layout, list, count, &info);
    for (int i = 0; i < count; i++) {
        bp_plan_release(jobs[i].plan);
    }
    for (int i = 0; i < 3; i++) {
        free(memory[i]);
    }
}

static uint64_t state = 88172645463325252u;

static double random_part(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

/* Draws a shape that takes at most some milliseconds. */
static void draw(int64_t shape[3]) {
    do {
        const int short_dimension = (int)(random_part() * 3), other = (int)(random_part() * 3);
        for (int i = 0; i < 3; i++) {
            shape[i] = (int64_t)exp(random_part() * log(2049.0));
        }
        shape[short_dimension] = 1 + (int64_t)(random_part() * 9);
        if (random_part() < 0.5) {
            shape[other] = 1 + (int64_t)(random_part() * 9);
        }
    } while ((double)shape[0] * (double)shape[1] * (double)shape[2] > 2e7);
}

static void read_shape(const char *text, int64_t shape[3]) {
    char *end = (char *)(uintptr_t)text;
    for (int i = 0; i < 3; i++) {
        shape[i] = timing_number(end, &end);
        end += i < 2 && *end == 'x';
    }
    if (*end || !shape[0] || !shape[1] || !shape[2]) {
        fprintf(stderr, "native_skinny: '%s' is not MxKxN\n", text);
        exit(2);
    }
}

int main(int argc, char **argv) {
    static char types[256], shapes[4096], layouts[64];
    const char *type[8], *shape[256], *layout[8];
    snprintf(types, sizeof types, "%s", argc > 1 ? argv[1] : "f32,f64");
    snprintf(shapes, sizeof shapes, "%s", argc > 2 ? argv[2] : "100");
    snprintf(layouts, sizeof layouts, "%s", argc > 3 ? argv[3] : "nn");
    const int type_count = timing_split(types, type, 8), shape_count = timing_split(shapes, shape, 256);
    const int layout_count = timing_split(layouts, layout, 8);
    const int drawn = strchr(shape[0], 'x') ? 0 : atoi(shape[0]);
    for (int t = 0; t < type_count; t++) {
        const bp_dtype dtype = bp_dtype_from_name(type[t]);
        if (dtype < BP_F16 || dtype > BP_C128) {
            fprintf(stderr, "native_skinny: '%s' is not a type of products\n", type[t]);
            return 2;
        }
        for (int i = 0; i < (drawn ? drawn : shape_count); i++) {
            int64_t size[3];
            if (drawn) {
                draw(size);
            } else {
                read_shape(shape[i], size);
            }
            for (int l = 0; l < layout_count; l++) {
                compare(dtype, size, layout[l]);
            }
        }
    }
    if (counted) {
        printf("%d products: geometric mean of native / best library %.3f, worst %.2f, %d above 1.3\n", counted,
               exp(log_sum / counted), worst, above);
    }
    return 0;
}
