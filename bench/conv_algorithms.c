/* conv_algorithms.c - measures the algorithms of `native` for convolutions with kernels of all sizes, and the estimates
 * by which one of them is chosen.
 *
 *     conv_algorithms [--threads N] [--rounds N] [--packed 0|1] [--only NUMBER]
 *
 * f32. Kernels are as large as the numbers of a line say; "last" is channels-last. Times are medians of interleaved
 * rounds in microseconds, each followed by the estimate. `best` is the best of the other algorithms divided by fft:
 * above 1, fft is faster. `lost` is the time of the chosen algorithm, if it was measured, divided by the time of the
 * fastest one. */
#include "backplane.h"
#include "timing.h"

#include <math.h>

enum { ALGORITHMS = 3, MOST_NDIM = 3 };

static const char *const names[ALGORITHMS] = {"implicit", "direct", "fft"};

/* Groups, channels of a group on both sides, and the sizes of image and kernel. */
typedef struct layer {
    const char *name;
    int ndim, batch, groups, in_channels, out_channels, channels_last;
    int64_t size[MOST_NDIM], kernel[MOST_NDIM];
} layer;

static const layer layers[] = {
    {"depthwise", 2, 1, 128, 1, 1, 0, {56, 56}, {31, 31}},
    {"depthwise last", 2, 1, 128, 1, 1, 1, {56, 56}, {31, 31}},
    {"depthwise", 2, 1, 512, 1, 1, 0, {14, 14}, {27, 27}},
    {"depthwise", 2, 1, 256, 1, 1, 0, {28, 28}, {29, 29}},
    {"depthwise", 2, 1, 128, 1, 1, 0, {56, 56}, {13, 13}},
    {"depthwise", 2, 1, 128, 1, 1, 0, {56, 56}, {7, 7}},
    {"depthwise last", 2, 1, 128, 1, 1, 1, {56, 56}, {7, 7}},
    {"depthwise last", 2, 1, 128, 1, 1, 1, {56, 56}, {3, 3}},
    {"dense", 2, 1, 1, 32, 32, 0, {56, 56}, {31, 31}},
    {"dense", 2, 1, 1, 64, 64, 0, {56, 56}, {11, 11}},
    {"dense last", 2, 1, 1, 64, 64, 1, {56, 56}, {11, 11}},
    {"dense", 2, 8, 1, 64, 64, 0, {56, 56}, {7, 7}},
    {"dense", 2, 1, 1, 64, 64, 0, {56, 56}, {5, 5}},
    {"dense", 2, 1, 1, 64, 64, 0, {56, 56}, {3, 3}},
    {"dense last", 2, 1, 1, 64, 64, 1, {56, 56}, {3, 3}},
    {"dense", 2, 1, 1, 256, 256, 0, {14, 14}, {5, 5}},
    {"image filter", 2, 1, 1, 1, 1, 0, {512, 512}, {31, 31}},
    {"image filter", 2, 1, 1, 3, 16, 0, {256, 256}, {11, 11}},
    {"signal", 1, 1, 1, 1, 1, 0, {100000}, {512}},
    {"signal", 1, 1, 1, 1, 1, 0, {100000}, {64}},
    {"signal", 1, 1, 1, 1, 1, 0, {4096}, {1024}},
    {"signal", 1, 1, 1, 1, 64, 0, {16000}, {400}},
    {"signal", 1, 1, 1, 64, 64, 0, {16000}, {512}},
    {"signal last", 1, 1, 1, 64, 64, 1, {16000}, {512}},
    {"signal", 1, 4, 1, 64, 64, 0, {2000}, {65}},
    {"signal", 1, 1, 1, 64, 64, 0, {2000}, {15}},
    {"signal", 1, 1, 256, 1, 1, 0, {4096}, {255}},
    {"signal", 1, 1, 256, 1, 1, 0, {4096}, {31}},
    {"volume", 3, 1, 1, 8, 8, 0, {32, 32, 32}, {9, 9, 9}},
    {"volume", 3, 1, 1, 16, 16, 0, {24, 24, 24}, {5, 5, 5}},
    {"volume", 3, 1, 32, 1, 1, 0, {24, 24, 24}, {9, 9, 9}},
    {"volume", 3, 1, 1, 16, 16, 0, {24, 24, 24}, {3, 3, 3}},
};

typedef struct settings {
    int threads, rounds, packed, only;
} settings;

typedef struct job {
    bp_plan *plan;
    bp_packed *packed;
    bp_operand operands[4];
} job;

static void run(void *context) {
    const job *j = context;
    const bp_packed *list[4] = {NULL, j->packed};
    const bp_exec exec = {.struct_size = sizeof exec, .packed = list};
    if (bp_execute(j->plan, j->operands, &exec) != BP_OK) {
        fprintf(stderr, "conv_algorithms: %s\n", bp_last_error());
        exit(1);
    }
}

/* Sets shape and strides of an image, and returns its elements. */
static int64_t set_image(const layer *l, int channels, int64_t *shape, int64_t *strides) {
    int64_t elements = 1;
    shape[0] = l->batch;
    shape[1] = (int64_t)l->groups * channels;
    memcpy(shape + 2, l->size, sizeof l->size);
    strides[1] = 1;
    elements = l->channels_last ? shape[1] : 1;
    for (int d = l->ndim + 1; d >= (l->channels_last ? 2 : 1); d--) {
        strides[d] = elements;
        elements *= shape[d];
    }
    strides[0] = elements;
    return elements * shape[0];
}

/* Makes the plan of an algorithm; "": the chosen one. Returns false if it is refused. */
static bool make(job *j, const settings *s, const layer *l, const char *algorithm, float *memory[3]) {
    int64_t in[5], in_strides[5], out[5], out_strides[5], taps[5];
    char text[256];
    bp_view input, weight, output;
    bp_options *options;
    memset(j, 0, sizeof *j);
    set_image(l, l->in_channels, in, in_strides);
    set_image(l, l->out_channels, out, out_strides);
    taps[0] = (int64_t)l->groups * l->out_channels;
    taps[1] = l->in_channels;
    memcpy(taps + 2, l->kernel, sizeof l->kernel);
    bp_view_init(&input, memory[0], BP_F32, l->ndim + 2, in, in_strides);
    bp_view_init(&weight, memory[1], BP_F32, l->ndim + 2, taps, NULL);
    bp_view_init(&output, memory[2], BP_F32, l->ndim + 2, out, out_strides);
    const bp_conv_call call = {.struct_size = sizeof call,
                               .ndim = l->ndim,
                               .groups = l->groups,
                               .mode = BP_CONV_SAME,
                               .input = &input.tensor,
                               .weight = &weight.tensor,
                               .output = &output.tensor};
    snprintf(text, sizeof text, "num_threads=%d%s,conv.preferred=native%s%s,dispatch.fallback=strict", s->threads,
             s->packed ? ",dispatch.packed=second" : "", *algorithm ? ":" : "", algorithm);
    if (bp_options_new(&options, text) != BP_OK) {
        fprintf(stderr, "conv_algorithms: %s\n", bp_last_error());
        exit(1);
    }
    const bp_status status = bp_conv_plan(&j->plan, options, &call);
    bp_options_release(options);
    for (int i = 0; i < 3; i++) {
        j->operands[i < 2 ? i : 3] = (bp_operand){memory[i], 0};
    }
    return status == BP_OK && (!s->packed || bp_plan_pack(&j->packed, j->plan, 1, &j->operands[1]) == BP_OK ||
                               strcmp(algorithm, "direct") == 0);
}

static void print_layer(int number, const layer *l) {
    printf("%2d %-14s %dx%d of %3d->%-3d ", number, l->name, l->batch, l->groups, l->in_channels, l->out_channels);
    for (int d = 0; d < l->ndim; d++) {
        printf("%s%lld", d ? "x" : " ", (long long)l->size[d]);
    }
    for (int d = 0; d < l->ndim; d++) {
        printf("%s%lld", d ? "x" : " *", (long long)l->kernel[d]);
    }
    printf(":");
}

/* Direct convolutions are for few channels, and products of matrices for several; they take seconds for others. */
static bool is_measured(const layer *l, int algorithm) {
    return algorithm == 0 ? l->groups < 16 : algorithm == 1 ? l->in_channels < 4 : true;
}

static void measure(const settings *s, int number, const layer *l) {
    int64_t shape[5], strides[5], taps = (int64_t)l->groups * l->in_channels * l->out_channels;
    float *memory[3];
    job jobs[ALGORITHMS] = {{.plan = NULL}}, best = {.plan = NULL};
    candidate list[ALGORITHMS];
    bp_plan_info info = {.struct_size = sizeof info}, chosen = {.struct_size = sizeof chosen};
    double us[ALGORITHMS], others = INFINITY, least = INFINITY, ours = NAN;
    int count = 0, of[ALGORITHMS];
    for (int d = 0; d < l->ndim; d++) {
        taps *= l->kernel[d];
    }
    memory[0] = timing_filled((size_t)set_image(l, l->in_channels, shape, strides), false);
    memory[1] = timing_filled((size_t)taps, false);
    memory[2] = timing_filled((size_t)set_image(l, l->out_channels, shape, strides), false);
    for (int i = 0; i < ALGORITHMS; i++) {
        if (is_measured(l, i) && make(&jobs[i], s, l, names[i], memory)) {
            of[count] = i;
            list[count++] = (candidate){.name = names[i], .run = run, .context = &jobs[i]};
        }
    }
    timing_interleave(list, count, s->rounds, 2e6, s->threads);
    print_layer(number, l);
    make(&best, s, l, "", memory);
    bp_plan_describe(best.plan, &chosen);
    for (int i = 0; i < count; i++) {
        us[i] = timing_median(&list[i]) / 1e3;
        bp_plan_describe(jobs[of[i]].plan, &info);
        printf(" %s %.0f (%.0f)", names[of[i]], us[i], info.cost_ns / 1e3);
        others = of[i] < ALGORITHMS - 1 && us[i] < others ? us[i] : others;
        least = us[i] < least ? us[i] : least;
        ours = strncmp(chosen.algorithm, names[of[i]], strlen(names[of[i]])) == 0 ? us[i] : ours;
    }
    printf(" best %.2f, ", others / us[count - 1]);
    if (isnan(ours)) {
        printf("chosen %s\n", chosen.algorithm);
    } else {
        printf("chosen %s, lost %.2f\n", chosen.algorithm, ours / least);
    }
    fflush(stdout);
    for (int i = 0; i < ALGORITHMS; i++) {
        bp_packed_release(jobs[i].packed);
        bp_plan_release(jobs[i].plan);
    }
    bp_packed_release(best.packed);
    bp_plan_release(best.plan);
    for (int i = 0; i < 3; i++) {
        free(memory[i]);
    }
}

int main(int argc, char **argv) {
    settings s = {1, 7, 0, 0};
    for (int i = 1; i < argc; i += 2) {
        int *number = strcmp(argv[i], "--threads") == 0  ? &s.threads
                      : strcmp(argv[i], "--rounds") == 0 ? &s.rounds
                      : strcmp(argv[i], "--packed") == 0 ? &s.packed
                      : strcmp(argv[i], "--only") == 0   ? &s.only
                                                         : NULL;
        if (!number || i + 1 == argc) {
            fprintf(stderr, "usage: conv_algorithms [--threads N] [--rounds N] [--packed 0|1] [--only NUMBER]\n");
            return 2;
        }
        *number = atoi(argv[i + 1]);
    }
    for (int i = 0; i < (int)(sizeof layers / sizeof *layers); i++) {
        if (s.only == 0 || s.only == i + 1) {
            measure(&s, i + 1, &layers[i]);
        }
    }
    return 0;
}
