/* choice.c - scores the choice of a library for matrix products.
 *
 *     choice [threads] [random shapes] [seed]      default: 1 200 1
 *
 * Every candidate runs a plan of its own, in interleaved turns, on the fixed shapes of grid.c and on random ones: sizes
 * are log-uniform in 1 .. 2048, a quarter of them with one row or column. The score of a shape is the time of the
 * candidate that is chosen divided by the time of the fastest candidate. The choice by estimates (calibration=off) and
 * the choice by measured times are scored by the same times.
 */
#include "backplane.h"
#include "timing.h"

#include <math.h>
#include <stdbool.h>

#define MOST 32
#define SHAPES 1200
#define TURNS 7

typedef struct job {
    bp_plan *plan;
    bp_operand operands[3];
} job;

static const int64_t fixed[][3] = {
    {1, 1, 1},          {2, 2, 2},      {4, 4, 4},        {8, 8, 8},        {16, 16, 16},     {32, 32, 32},
    {64, 64, 64},       {96, 96, 96},   {128, 128, 128},  {192, 192, 192},  {256, 256, 256},  {512, 512, 512},
    {1024, 1024, 1024}, {1, 64, 64},    {1, 1000, 1000},  {1000, 1000, 1},  {64, 64, 1},      {1000, 1, 1000},
    {100, 1, 100},      {1, 100000, 1}, {16, 1024, 1024}, {1024, 16, 1024}, {1024, 1024, 16}, {512, 8, 512},
    {512, 512, 8},      {3, 1000, 3},   {1797, 64, 1797}, {64, 1797, 64},
};
enum { FIXED = sizeof fixed / sizeof *fixed };

/* The scores of one way to choose, or the times of one library divided by those of the choice. */
typedef struct scores {
    char name[64];
    double values[SHAPES];
    int count;
} scores;

static scores choices[2]; /* by estimates, by measured times */
static scores libraries[MOST];
static int library_count;

static void run(void *context) {
    job *j = context;
    bp_execute(j->plan, j->operands, NULL);
}

static void run_repeated(job *j, int64_t repeats) {
    for (int64_t i = 0; i < repeats; i++) {
        run(j);
    }
}

static bp_options *options_of(const char *format, int threads, const char *library) {
    char text[320];
    bp_options *options;
    snprintf(text, sizeof text, format, threads, library);
    if (bp_options_new(&options, text) != BP_OK) {
        fprintf(stderr, "choice: %s\n", bp_last_error());
        exit(1);
    }
    return options;
}

static void views(bp_view v[3], bp_dtype dtype, const int64_t *s) {
    bp_view_matrix(&v[0], NULL, dtype, s[0], s[1]);
    bp_view_matrix(&v[1], NULL, dtype, s[1], s[2]);
    bp_view_matrix(&v[2], NULL, dtype, s[0], s[2]);
}

/* Writes the name of the library that is chosen under the settings. */
static void chosen(char *name, size_t size, const char *format, int threads, bp_view v[3]) {
    bp_options *options = options_of(format, threads, "");
    bp_plan *plan = NULL;
    bp_plan_info info = {.struct_size = sizeof info};
    name[0] = '\0';
    if (bp_matmul_plan(&plan, options, &v[0].tensor, &v[1].tensor, &v[2].tensor) == BP_OK &&
        bp_plan_describe(plan, &info) == BP_OK) {
        snprintf(name, size, "%s", info.library);
    }
    bp_plan_release(plan);
    bp_options_release(options);
}

/* Makes a plan for every library that accepts. Several algorithms of a library are one candidate. */
static int candidates(job *jobs, char names[MOST][64], int threads, bp_view v[3]) {
    bp_options *options = options_of("num_threads=%d%s", threads, "");
    bp_explanation *explanation = NULL;
    bp_candidate_info offer = {.struct_size = sizeof offer};
    int count = 0;
    bp_matmul_explain(&explanation, options, &v[0].tensor, &v[1].tensor, &v[2].tensor);
    for (int i = 0; count < MOST && bp_explanation_at(explanation, i, &offer); i++) {
        bool known = false;
        for (int j = 0; j < count; j++) {
            known = known || strcmp(names[j], offer.library) == 0;
        }
        if (!offer.accepted || known) {
            continue;
        }
        snprintf(names[count], 64, "%s", offer.library);
        bp_options *own =
            options_of("num_threads=%d, blas.preferred=%s, dispatch.fallback=strict", threads, offer.library);
        if (bp_matmul_plan(&jobs[count].plan, own, &v[0].tensor, &v[1].tensor, &v[2].tensor) == BP_OK) {
            count++;
        }
        bp_options_release(own);
    }
    bp_explanation_release(explanation);
    bp_options_release(options);
    return count;
}

/* Sets the least time of each candidate from interleaved turns. Interruptions only add time. */
static void measure(job *jobs, int count, double *times, double turn_ns, int threads) {
    int64_t repeats[MOST];
    for (int i = 0; i < count; i++) {
        int64_t tried = 1, begin = timing_now();
        run(&jobs[i]);
        begin = timing_now();
        run(&jobs[i]);
        double each = (double)(timing_now() - begin);
        while (each * (double)tried < turn_ns / 4) {
            tried *= 4;
            begin = timing_now();
            run_repeated(&jobs[i], tried);
            each = (double)(timing_now() - begin) / (double)tried;
        }
        repeats[i] = each > turn_ns ? 1 : (int64_t)(turn_ns / each) + 1;
        times[i] = INFINITY;
    }
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < count; i++) {
            timing_rest(threads);
            run(&jobs[i]);
            int64_t begin = timing_now();
            run_repeated(&jobs[i], repeats[i]);
            times[i] = fmin(times[i], (double)(timing_now() - begin) / (double)repeats[i]);
        }
    }
}

static scores *of_library(const char *name) {
    for (int i = 0; i < library_count; i++) {
        if (strcmp(libraries[i].name, name) == 0) {
            return &libraries[i];
        }
    }
    snprintf(libraries[library_count].name, sizeof libraries[0].name, "%s", name);
    return &libraries[library_count++];
}

static void add(scores *to, double value) {
    if (to->count < SHAPES) {
        to->values[to->count++] = value;
    }
}

static void one_shape(bp_dtype dtype, const int64_t *s, int threads, void *const blocks[3]) {
    job jobs[MOST];
    char names[MOST][64], name[2][64];
    double times[MOST];
    bp_view v[3];
    views(v, dtype, s);
    int count = candidates(jobs, names, threads, v), best = 0;
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < 3; k++) {
            jobs[i].operands[k] = (bp_operand){blocks[k], 0};
        }
    }
    measure(jobs, count, times, 100e3, threads);
    for (int i = 0; i < count; i++) {
        best = times[i] < times[best] ? i : best;
        bp_plan_release(jobs[i].plan);
    }
    chosen(name[0], sizeof name[0], "num_threads=%d%s, calibration=off", threads, v);
    chosen(name[1], sizeof name[1], "num_threads=%d%s", threads, v);
    double own = times[best];
    printf("%-4s %5lldx%lldx%-5lld best %s %.0f |", bp_dtype_name(dtype), (long long)s[0], (long long)s[1],
           (long long)s[2], names[best], times[best]);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < 2; k++) {
            if (strcmp(names[i], name[k]) == 0) {
                add(&choices[k], times[i] / times[best]);
                printf(" %s %s %.2f", k ? "measured" : "estimated", names[i], times[i] / times[best]);
                own = k ? times[i] : own;
            }
        }
    }
    printf(" |");
    for (int i = 0; i < count; i++) {
        printf(" %s %.0f", names[i], times[i]);
        add(of_library(names[i]), times[i] / own);
    }
    printf("\n");
    fflush(stdout);
}

static double mean(const scores *s) {
    double sum = 0;
    for (int i = 0; i < s->count; i++) {
        sum += log(s->values[i]);
    }
    return s->count ? exp(sum / s->count) : 0;
}

static double within(const scores *s, double limit) {
    int count = 0;
    for (int i = 0; i < s->count; i++) {
        count += s->values[i] <= limit;
    }
    return s->count ? 100.0 * count / s->count : 0;
}

static double worst(const scores *s) {
    double most = 0;
    for (int i = 0; i < s->count; i++) {
        most = fmax(most, s->values[i]);
    }
    return most;
}

/* Prints the scores so far and begins new ones. */
static void summary(const char *title, int threads) {
    static const char *const ways[] = {"estimated", "measured"};
    printf("\n%s, %d thread(s), %d products\n", title, threads, choices[0].count);
    for (int k = 0; k < 2; k++) {
        printf(
            "  choice by %-9s times: geometric mean %.3f, worst %.2f, within 1.05: %.0f %%, 1.3: %.0f %%, 2: %.0f %%\n",
            ways[k], mean(&choices[k]), worst(&choices[k]), within(&choices[k], 1.05), within(&choices[k], 1.3),
            within(&choices[k], 2));
        choices[k].count = 0;
    }
    for (int i = 0; i < library_count; i++) {
        printf("  %-20s times ours %.3f (geometric mean of %d)\n", libraries[i].name, mean(&libraries[i]),
               libraries[i].count);
        libraries[i].count = 0;
    }
    printf("\n");
}

static int64_t random_size(uint64_t *state, double most) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (int64_t)floor(pow(2, (double)(*state >> 11) / 9007199254740992.0 * log2(most + 1)));
}

/* Fills a shape whose work is at most 6e7 multiplications. */
static void random_shape(int64_t *s, uint64_t *state) {
    do {
        for (int i = 0; i < 3; i++) {
            s[i] = random_size(state, 2048);
        }
        int64_t thin = random_size(state, 255); /* log-uniform: a quarter of the shapes are thin */
        s[0] = thin == 1 ? 1 : s[0];
        s[2] = thin == 2 || thin == 3 ? 1 : s[2];
    } while ((double)s[0] * (double)s[1] * (double)s[2] > 6e7);
}

static void *filled(bp_dtype dtype, size_t n) {
    void *block = aligned_alloc(64, n * bp_dtype_size(dtype));
    if (!block) {
        exit(1);
    }
    if (dtype == BP_F64) {
        timing_fill_f64(block, n);
    } else {
        timing_fill_f32(block, n);
    }
    return block;
}

int main(int argc, char **argv) {
    static const bp_dtype dtypes[] = {BP_F32, BP_F64};
    const int threads = argc > 1 ? atoi(argv[1]) : 1, wanted = argc > 2 ? atoi(argv[2]) : 200;
    uint64_t seed = 88172645463325252u + (uint64_t)(argc > 3 ? atoi(argv[3]) : 1) * 7919;
    const size_t most = (size_t)2048 * 2048;
    bp_machine_info machine = {.struct_size = sizeof machine};
    if (bp_machine(&machine) == BP_OK) {
        printf("%s, %s kernels, %d cores available\n", machine.cpu_model, bp_cpu_capability(), machine.usable_cpus);
    }
    setenv("KMP_BLOCKTIME", "20", 0);
    void *blocks[2][3];
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < 3; i++) {
            blocks[t][i] = filled(dtypes[t], most);
        }
    }
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < FIXED; i++) {
            one_shape(dtypes[t], fixed[i], threads, blocks[t]);
        }
    }
    summary("fixed shapes", threads);
    for (int i = 0; i < wanted; i++) {
        int64_t s[3];
        random_shape(s, &seed);
        one_shape(dtypes[i % 2], s, threads, blocks[i % 2]);
    }
    summary("random shapes", threads);
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < 3; i++) {
            free(blocks[t][i]);
        }
    }
    return 0;
}
