/* integers.c - compares products of 8-bit integers with products of f32 numbers of the same shape: i8 x i8 and u8 x i8
 * on `native` and on every other provider that takes them.
 *
 *     integers [--threads N] [--rounds N] [--settings TEXT] [MxKxN ...]      e.g. --settings calibration=off 64x64x64
 *
 * Operands are random and row-major. The runs of one shape are interleaved; each line has the median in microseconds,
 * the quartiles, what ran, and the median of f32 on `native` divided by this one.
 */
#include "backplane.h"
#include "timing.h"

#define MOST_CANDIDATES 16

typedef struct settings {
    int threads, rounds;
    const char *further;
} settings;

/* Types of A, B and C. */
static const bp_dtype types[][3] = {{BP_F32, BP_F32, BP_F32}, {BP_I8, BP_I8, BP_I32}, {BP_U8, BP_I8, BP_I32}};
#define TYPES ((int)(sizeof types / sizeof types[0]))

typedef struct job {
    const char *name; /* LIBRARY:PROVIDER */
    int type;
    bp_plan *plan;
    void *memory[3];
} job;

static const int64_t shapes[][3] = {{8, 8, 8},          {16, 16, 16},    {64, 64, 64},    {256, 256, 256},
                                    {1024, 1024, 1024}, {1, 1024, 1024}, {1024, 1024, 1}, {4, 1024, 1024},
                                    {1024, 1024, 4},    {1, 64, 64},     {64, 64, 1},     {9, 9, 9},
                                    {33, 65, 31},       {1, 4096, 1},    {1000, 1, 1000}};

static void die(void) {
    fprintf(stderr, "integers: %s\n", bp_last_error());
    exit(1);
}

static bp_options *options_of(const settings *s, const char *preferred) {
    char text[512];
    bp_options *made;
    snprintf(text, sizeof text, "num_threads=%d%s%s%s%s", s->threads,
             preferred ? ",dispatch.fallback=strict,blas.preferred=" : "", preferred ? preferred : "",
             *s->further ? "," : "", s->further);
    if (bp_options_new(&made, text) != BP_OK) {
        die();
    }
    return made;
}

static void run(void *context) {
    const job *j = context;
    const bp_operand operands[] = {{j->memory[0], 0}, {j->memory[1], 0}, {j->memory[2], 0}};
    if (bp_execute(j->plan, operands, NULL) != BP_OK) {
        die();
    }
}

/* Returns a block of random bytes, or of random numbers for f32. */
static void *operand(bp_dtype dtype, int64_t count) {
    if (dtype == BP_F32) {
        return timing_filled((size_t)count, false);
    }
    uint8_t *block = timing_filled((size_t)count, false); /* four times as large as needed */
    uint64_t s = 88172645463325252u;
    for (int64_t i = 0; i < count; i++) {
        s ^= s << 13, s ^= s >> 7, s ^= s << 17;
        block[i] = (uint8_t)(s >> 32);
    }
    return block;
}

static void set_views(bp_view views[3], void *const memory[3], int type, const int64_t shape[3]) {
    bp_view_matrix(&views[0], memory[0], types[type][0], shape[0], shape[1]);
    bp_view_matrix(&views[1], memory[1], types[type][1], shape[1], shape[2]);
    bp_view_matrix(&views[2], memory[2], types[type][2], shape[0], shape[2]);
}

static void start(const settings *s, job *j, const char *name, int type, const int64_t shape[3]) {
    bp_view views[3];
    bp_options *options = options_of(s, name);
    *j = (job){.name = name, .type = type};
    j->memory[0] = operand(types[type][0], shape[0] * shape[1]);
    j->memory[1] = operand(types[type][1], shape[1] * shape[2]);
    j->memory[2] = timing_filled((size_t)(shape[0] * shape[2]), false);
    set_views(views, j->memory, type, shape);
    if (bp_matmul_plan(&j->plan, options, &views[0].tensor, &views[1].tensor, &views[2].tensor) != BP_OK) {
        die();
    }
    bp_options_release(options);
}

static void finish(job *j) {
    bp_plan_release(j->plan);
    for (int o = 0; o < 3; o++) {
        free(j->memory[o]);
    }
}

/* Writes the names of the candidates other than `native` that take this type, at most `most`; returns their number. */
static int others(const settings *s, int type, const int64_t shape[3], char names[][96], int most) {
    void *const memory[3] = {NULL};
    bp_view views[3];
    bp_explanation *explanation;
    bp_candidate_info info = {.struct_size = sizeof info};
    bp_options *options = options_of(s, NULL);
    int count = 0;
    set_views(views, memory, type, shape);
    if (bp_matmul_explain(&explanation, options, &views[0].tensor, &views[1].tensor, &views[2].tensor) != BP_OK) {
        die();
    }
    for (int i = 0; bp_explanation_at(explanation, i, &info) && count < most; i++) {
        char name[96];
        bool listed = !info.accepted || strcmp(info.library, "native") == 0;
        snprintf(name, sizeof name, "%s:%s", info.library, info.provider);
        for (int n = 0; n < count && !listed; n++) {
            listed = strcmp(names[n], name) == 0;
        }
        if (!listed) {
            strcpy(names[count++], name);
        }
    }
    bp_explanation_release(explanation);
    bp_options_release(options);
    return count;
}

static void measure(const settings *s, const int64_t shape[3]) {
    char names[TYPES][MOST_CANDIDATES][96];
    job jobs[TYPES * (MOST_CANDIDATES + 1)];
    candidate list[TYPES * (MOST_CANDIDATES + 1)];
    int count = 0;
    for (int type = 0; type < TYPES; type++) {
        start(s, &jobs[count++], "native", type, shape);
    }
    for (int type = 1; type < TYPES; type++) {
        const int found = others(s, type, shape, names[type], MOST_CANDIDATES);
        for (int i = 0; i < found; i++) {
            start(s, &jobs[count++], names[type][i], type, shape);
        }
    }
    for (int i = 0; i < count; i++) {
        list[i] = (candidate){.name = jobs[i].name, .run = run, .context = &jobs[i]};
    }
    timing_interleave(list, count, s->rounds, 2e6, s->threads);
    const double f32 = timing_median(&list[0]);
    printf("matmul %lldx%lldx%lld\n", (long long)shape[0], (long long)shape[1], (long long)shape[2]);
    for (int i = 0; i < count; i++) {
        bp_plan_info info = {.struct_size = sizeof info};
        bp_plan_describe(jobs[i].plan, &info);
        const double median = timing_median(&list[i]);
        printf("  %-3s x %-3s  %11.3f [%.3f %.3f]  %s %s, ratio %.2f\n", bp_dtype_name(types[jobs[i].type][0]),
               bp_dtype_name(types[jobs[i].type][1]), median / 1e3, timing_quantile(&list[i], 0.25) / 1e3,
               timing_quantile(&list[i], 0.75) / 1e3, jobs[i].name, info.algorithm, f32 / median);
        finish(&jobs[i]);
    }
}

/* Returns whether the text is a shape such as 8x16x4. */
static bool read_shape(char *text, int64_t shape[3]) {
    char *end = text;
    for (int i = 0; i < 3; i++) {
        shape[i] = timing_number(text, &end);
        if (shape[i] == 0 || *end != (i < 2 ? 'x' : 0)) {
            return false;
        }
        text = end + 1;
    }
    return true;
}

int main(int argc, char **argv) {
    settings s = {1, 21, ""};
    int64_t shape[3];
    int at = 1;
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        char *end;
        int *number = strcmp(argv[at], "--threads") == 0  ? &s.threads
                      : strcmp(argv[at], "--rounds") == 0 ? &s.rounds
                                                          : NULL;
        const bool text = strcmp(argv[at], "--settings") == 0;
        if ((!number && !text) || (number && (*number = timing_number(argv[at + 1], &end)) == 0)) {
            break;
        }
        s.further = text ? argv[at + 1] : s.further;
    }
    for (int i = at; i < argc; i++) {
        if (!read_shape(argv[i], shape)) {
            fprintf(stderr, "usage: integers [--threads N] [--rounds N] [--settings TEXT] [MxKxN ...]\n");
            return 2;
        }
    }
    bp_machine_info machine = {.struct_size = sizeof machine};
    if (bp_machine(&machine) != BP_OK) {
        die();
    }
    printf("backplane %s, %s, %d thread%s, microseconds\n", bp_version(), machine.cpu_model, s.threads,
           s.threads > 1 ? "s" : "");
    for (int i = at; i < argc; i++) {
        read_shape(argv[i], shape);
        measure(&s, shape);
    }
    for (size_t i = 0; at == argc && i < sizeof shapes / sizeof shapes[0]; i++) {
        measure(&s, shapes[i]);
    }
    return 0;
}
