/* main.c - measures what training and segmentation need besides convolutions of images: transposed ones, gradients,
 * three dimensions and pooling. Backplane's choice, native alone, im2col and a matrix product ("columns", not for
 * pooling), and oneDNN called directly.
 *
 *     passes [--batch N] [--threads N] [--onednn PATH] [--rounds N]
 *
 * f32, channels-last; weights that are read are packed beforehand. Times are medians of interleaved rounds in
 * microseconds. Ratios are a peer's time over ours: below 1 the peer is faster. The last lines have the layers
 * with a ratio to oneDNN below 0.8, or one to im2col below 1. */
#include "backplane.h"
#include "../timing.h"
#include "passes.h"

#include <math.h>

enum { CHOSEN, NATIVE, COLUMNS, DIRECT, VARIANTS, PLANS = COLUMNS };

static const char *const variants[VARIANTS] = {"chosen", "native", "columns", "direct"};
static const char *const passes[] = {"forward",         "transposed",   "input gradient", "weight gradient",
                                     "average pooling", "its gradient", "maximum pooling"};

static const layer layers[] = {
    {"unet 2x2/2", TRANSPOSED, 2, 512, 256, 14, 2, 2, 0, 1},
    {"dcgan 4x4/2", TRANSPOSED, 2, 256, 128, 16, 4, 2, 1, 1},
    {"dcgan 4x4/2 wide", TRANSPOSED, 2, 64, 32, 64, 4, 2, 1, 1},
    {"resnet 1x1", INPUT_GRADIENT, 2, 256, 64, 56, 1, 1, 0, 1},
    {"resnet 3x3", INPUT_GRADIENT, 2, 64, 64, 56, 3, 1, 1, 1},
    {"resnet 3x3/2", INPUT_GRADIENT, 2, 128, 128, 56, 3, 2, 1, 1},
    {"mobilenet 3x3", INPUT_GRADIENT, 2, 128, 128, 56, 3, 1, 1, 128},
    {"resnet 1x1", WEIGHT_GRADIENT, 2, 256, 64, 56, 1, 1, 0, 1},
    {"resnet 3x3", WEIGHT_GRADIENT, 2, 64, 64, 56, 3, 1, 1, 1},
    {"resnet 3x3/2", WEIGHT_GRADIENT, 2, 128, 128, 56, 3, 2, 1, 1},
    {"resnet 7x7/2", WEIGHT_GRADIENT, 2, 3, 64, 224, 7, 2, 3, 1},
    {"mobilenet 3x3", WEIGHT_GRADIENT, 2, 128, 128, 56, 3, 1, 1, 128},
    {"c3d 3x3x3", CONVOLUTION, 3, 64, 128, 14, 3, 1, 1, 1},
    {"resnet3d 1x1x1", CONVOLUTION, 3, 64, 64, 14, 1, 1, 0, 1},
    {"resnet3d 3x3x3/2", CONVOLUTION, 3, 64, 128, 14, 3, 2, 1, 1},
    {"unet3d 2x2x2/2", TRANSPOSED, 3, 128, 64, 7, 2, 2, 0, 1},
    {"c3d 3x3x3", INPUT_GRADIENT, 3, 32, 64, 14, 3, 1, 1, 1},
    {"c3d 3x3x3", WEIGHT_GRADIENT, 3, 32, 64, 14, 3, 1, 1, 1},
    {"inception 3x3", AVERAGE, 2, 192, 192, 35, 3, 1, 1, 1},
    {"densenet 2x2/2", AVERAGE, 2, 128, 128, 56, 2, 2, 0, 1},
    {"resnet 7x7", AVERAGE, 2, 2048, 2048, 7, 7, 1, 0, 1},
    {"c3d 2x2x2/2", AVERAGE, 3, 64, 64, 28, 2, 2, 0, 1},
    {"inception 3x3", AVERAGE_GRADIENT, 2, 192, 192, 35, 3, 1, 1, 1},
    {"densenet 2x2/2", AVERAGE_GRADIENT, 2, 128, 128, 56, 2, 2, 0, 1},
    {"resnet 3x3/2", MAXIMUM, 2, 64, 64, 112, 3, 2, 1, 1},
    {"vgg 2x2/2", MAXIMUM, 2, 128, 128, 112, 2, 2, 0, 1},
    {"c3d 2x2x2/2", MAXIMUM, 3, 64, 64, 28, 2, 2, 0, 1},
};
enum { LAYERS = sizeof layers / sizeof *layers };

typedef struct options {
    int batch, threads, rounds;
    const char *library;
} options;

typedef struct job {
    bp_plan *plan;
    bp_packed *packed;
    bp_operand operands[4];
} job;

static void run(void *context) {
    const job *j = context;
    const bp_packed *list[4] = {NULL, j->packed};
    const bp_exec exec = {.struct_size = sizeof exec, .packed = j->packed ? list : NULL};
    if (bp_execute(j->plan, j->operands, &exec) != BP_OK) {
        fprintf(stderr, "passes: %s\n", bp_last_error());
        exit(1);
    }
}

/* The tensors of a layer: memory has input, weight and output. */
typedef struct tensors {
    bp_view input, weight, output;
} tensors;

static size_t power(int base, int exponent) {
    size_t product = 1;
    for (int i = 0; i < exponent; i++) {
        product *= (size_t)base;
    }
    return product;
}

static void view_image(bp_view *view, float *memory, const layer *l, int batch, int channels, int size) {
    int64_t shape[5] = {batch, channels}, strides[5] = {0, 1}, step = channels;
    for (int d = l->ndim + 1; d > 1; d--) {
        shape[d] = size;
        strides[d] = step;
        step *= size;
    }
    strides[0] = step;
    bp_view_init(view, memory, BP_F32, l->ndim + 2, shape, strides);
}

static void view_tensors(tensors *t, const layer *l, int batch, float *memory[3]) {
    const bool transposed = l->pass == TRANSPOSED;
    int64_t shape[5] = {transposed ? l->in_channels : l->out_channels,
                        (transposed ? l->out_channels : l->in_channels) / l->groups, l->kernel, l->kernel, l->kernel};
    view_image(&t->input, memory[0], l, batch, l->in_channels, l->size);
    view_image(&t->output, memory[2], l, batch, l->out_channels, layer_out(l));
    bp_view_init(&t->weight, memory[1], BP_F32, l->ndim + 2, shape, NULL);
}

static bp_status plan_convolution(job *j, const options *o, const layer *l, const bp_options *settings, tensors *t) {
    const int64_t stride[] = {l->stride, l->stride, l->stride}, padding[] = {l->padding, l->padding, l->padding};
    const bool back = l->pass == INPUT_GRADIENT, gradient = l->pass == WEIGHT_GRADIENT;
    const bp_conv_call call = {.struct_size = sizeof call,
                               .pass = back       ? BP_CONV_INPUT
                                       : gradient ? BP_CONV_WEIGHT
                                                  : BP_CONV_FORWARD,
                               .ndim = l->ndim,
                               .transposed = l->pass == TRANSPOSED,
                               .groups = l->groups,
                               .stride = stride,
                               .padding = padding,
                               .input = back ? NULL : &t->input.tensor,
                               .weight = gradient ? NULL : &t->weight.tensor,
                               .output = back || gradient ? NULL : &t->output.tensor,
                               .output_gradient = back || gradient ? &t->output.tensor : NULL,
                               .input_gradient = back ? &t->input.tensor : NULL,
                               .weight_gradient = gradient ? &t->weight.tensor : NULL};
    const bp_operand input = {t->input.tensor.data, 0}, weight = {t->weight.tensor.data, 0},
                     output = {t->output.tensor.data, 0}, none = {NULL, 0};
    j->operands[0] = back ? output : input;
    j->operands[1] = gradient ? output : weight;
    j->operands[2] = gradient ? weight : none;
    j->operands[3] = gradient ? none : back ? input : output;
    (void)o;
    const bp_status status = bp_conv_plan(&j->plan, settings, &call);
    return status != BP_OK || gradient ? status : bp_plan_pack(&j->packed, j->plan, 1, &j->operands[1]);
}

static bp_status plan_pooling(job *j, const layer *l, const bp_options *settings, tensors *t) {
    const int64_t kernel[] = {l->kernel, l->kernel, l->kernel}, stride[] = {l->stride, l->stride, l->stride},
                  padding[] = {l->padding, l->padding, l->padding};
    const bool back = l->pass == AVERAGE_GRADIENT;
    const bp_pool_call call = {.struct_size = sizeof call,
                               .kind = l->pass == MAXIMUM ? BP_POOL_MAX : BP_POOL_AVERAGE,
                               .pass = back ? BP_POOL_BACKWARD : BP_POOL_FORWARD,
                               .ndim = l->ndim,
                               .kernel = kernel,
                               .stride = stride,
                               .padding = padding,
                               .input = back ? NULL : &t->input.tensor,
                               .output = back ? NULL : &t->output.tensor,
                               .output_gradient = back ? &t->output.tensor : NULL,
                               .input_gradient = back ? &t->input.tensor : NULL};
    j->operands[back] = (bp_operand){t->input.tensor.data, 0};
    j->operands[!back] = (bp_operand){t->output.tensor.data, 0};
    return bp_pool_plan(&j->plan, settings, &call);
}

/* Makes the plan of a variant. Returns false if it fails. */
static bool make(job *j, const options *o, const layer *l, int variant, tensors *t) {
    char text[128];
    bp_options *settings;
    memset(j, 0, sizeof *j);
    snprintf(text, sizeof text, "num_threads=%d%s%s", o->threads,
             is_pooling(l) || l->pass == WEIGHT_GRADIENT ? "" : ",dispatch.packed=second",
             variant == NATIVE ? ",dispatch.exclude=onednn" : "");
    if (bp_options_new(&settings, text) != BP_OK) {
        return false;
    }
    const bp_status status = is_pooling(l) ? plan_pooling(j, l, settings, t) : plan_convolution(j, o, l, settings, t);
    bp_options_release(settings);
    return status == BP_OK;
}

/* Adds the peers that have the pass. Returns the number of candidates, whose variants are in `which`. */
static int add_peers(candidate *list, int *which, columns *by_columns, direct *library) {
    int count = PLANS;
    if (by_columns) {
        which[count] = COLUMNS;
        list[count++] = (candidate){.name = variants[COLUMNS], .run = columns_run, .context = by_columns};
    }
    if (library) {
        which[count] = DIRECT;
        list[count++] = (candidate){.name = variants[DIRECT], .run = direct_run, .context = library};
    }
    return count;
}

static void print_times(const layer *l, const job *jobs, const double us[VARIANTS]) {
    bp_plan_info info = {.struct_size = sizeof info}, own = {.struct_size = sizeof own};
    bp_plan_describe(jobs[CHOSEN].plan, &info);
    bp_plan_describe(jobs[NATIVE].plan, &own);
    printf("%-16s %-17s", passes[l->pass], l->name);
    for (int i = 0; i < VARIANTS; i++) {
        printf(" %9.1f", us[i]);
    }
    printf("  %s %s, direct/chosen %.2f, direct/native %.2f, columns/chosen %.2f, native estimated/measured %.2f\n",
           info.library, info.algorithm, us[DIRECT] / us[CHOSEN], us[DIRECT] / us[NATIVE], us[COLUMNS] / us[CHOSEN],
           own.cost_ns / 1e3 / us[NATIVE]);
}

/* Measures a layer in microseconds; infinity: not measured. */
static void measure(const options *o, const layer *l, double us[VARIANTS]) {
    const size_t images = (size_t)o->batch;
    float *memory[] = {
        timing_filled(images * (size_t)l->in_channels * power(l->size, l->ndim), false),
        timing_filled((size_t)l->out_channels * (size_t)(l->in_channels / l->groups) * power(l->kernel, l->ndim),
                      false),
        timing_filled(images * (size_t)l->out_channels * power(layer_out(l), l->ndim), false)};
    tensors t;
    job jobs[PLANS];
    candidate list[VARIANTS];
    int which[VARIANTS] = {CHOSEN, NATIVE};
    char text[32];
    bp_options *settings;
    snprintf(text, sizeof text, "num_threads=%d", o->threads);
    view_tensors(&t, l, o->batch, memory);
    for (int i = 0; i < PLANS; i++) {
        if (!make(&jobs[i], o, l, i, &t)) {
            fprintf(stderr, "passes: %s: %s\n", l->name, bp_last_error());
            exit(1);
        }
        list[i] = (candidate){.name = variants[i], .run = run, .context = &jobs[i]};
    }
    if (bp_options_new(&settings, text) != BP_OK) {
        exit(1);
    }
    columns *by_columns = is_pooling(l) ? NULL : columns_new(l, o->batch, settings, memory[0], memory[2]);
    direct *library = *o->library ? direct_new(l, o->batch, memory[0], memory[2]) : NULL;
    const int count = add_peers(list, which, by_columns, library);
    timing_interleave(list, count, o->rounds, 3e6, o->threads);
    for (int i = 0; i < VARIANTS; i++) {
        us[i] = INFINITY;
    }
    for (int i = 0; i < count; i++) {
        us[which[i]] = timing_median(&list[i]) / 1e3;
    }
    print_times(l, jobs, us);
    for (int i = 0; i < PLANS; i++) {
        bp_packed_release(jobs[i].packed);
        bp_plan_release(jobs[i].plan);
    }
    if (by_columns) {
        columns_free(by_columns);
    }
    if (library) {
        direct_free(library);
    }
    bp_options_release(settings);
    for (int i = 0; i < 3; i++) {
        free(memory[i]);
    }
}

static void read_options(options *o, int argc, char **argv) {
    for (int i = 1; i < argc; i += 2) {
        const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        char *end;
        int *number = strcmp(word, "--batch") == 0     ? &o->batch
                      : strcmp(word, "--threads") == 0 ? &o->threads
                      : strcmp(word, "--rounds") == 0  ? &o->rounds
                                                       : NULL;
        const bool library = strcmp(word, "--onednn") == 0;
        if (!value || (!number && !library) || (number && (*number = timing_number(value, &end)) == 0)) {
            fprintf(stderr, "usage: passes [--batch N] [--threads N] [--onednn PATH] [--rounds N]\n");
            exit(2);
        }
        o->library = library ? value : o->library;
    }
}

int main(int argc, char **argv) {
    options o = {1, 1, 21, ""};
    double us[LAYERS][VARIANTS];
    read_options(&o, argc, argv);
    if (*o.library && !direct_open(o.library, o.threads)) {
        return 1;
    }
    printf("batch %d, %d thread%s, microseconds chosen native columns direct\n", o.batch, o.threads,
           o.threads > 1 ? "s" : "");
    for (int i = 0; i < LAYERS; i++) {
        measure(&o, &layers[i], us[i]);
    }
    for (int i = 0; i < LAYERS; i++) {
        const double onednn = us[i][DIRECT] / us[i][CHOSEN], im2col = us[i][COLUMNS] / us[i][CHOSEN];
        if (onednn < 0.8) {
            printf("below 0.8 of oneDNN: %s %s: %.2f\n", passes[layers[i].pass], layers[i].name, onednn);
        }
        if (im2col < 1) {
            printf("slower than im2col: %s %s: %.2f\n", passes[layers[i].pass], layers[i].name, im2col);
        }
    }
    return 0;
}
