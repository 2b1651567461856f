/* main.c - measures convolutions of networks: Backplane's choice, each of its providers, and oneDNN called directly,
 * version 3 (--onednn) and version 2 with its Winograd algorithm (--onednn2).
 *
 *     conv [--batch N] [--threads N] [--network NAME] [--onednn PATH] [--onednn2 PATH] [--settings TEXT] [--rounds N]
 *
 * f32, channels-last, with packed weights, which are packed beforehand. Times are medians of interleaved rounds in
 * microseconds, with the quartiles of the chosen one. The last lines add up the layers of each network, each as often
 * as the network has it. Ratios above 1 mean that Backplane's choice is faster. */
#include "backplane.h"
#include "../timing.h"
#include "conv.h"

#include <math.h>

enum { CHOSEN, NATIVE, ONEDNN, DIRECT, OLDER, VARIANTS };

static const char *const names[VARIANTS] = {"chosen", "native", "onednn", "direct", "onednn2"};

typedef struct options {
    int batch, threads, rounds;
    const char *network, *library, *older, *settings;
} options;

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
        fprintf(stderr, "conv: %s\n", bp_last_error());
        exit(1);
    }
}

static void set_channels_last(int64_t strides[4], int channels, int size) {
    strides[0] = (int64_t)channels * size * size;
    strides[1] = 1;
    strides[2] = (int64_t)channels * size;
    strides[3] = channels;
}

/* Makes the plan of a variant. Returns false if the library is absent or refuses the layer. */
static bool make(job *j, const options *o, const layer *l, const char *preferred, float *memory[3]) {
    const int64_t in[] = {o->batch, l->in_channels, l->size, l->size};
    const int64_t out[] = {o->batch, l->out_channels, layer_out(l), layer_out(l)};
    const int64_t taps[] = {l->out_channels, l->in_channels / l->groups, l->kernel, l->kernel};
    const int64_t stride[] = {l->stride, l->stride}, padding[] = {l->kernel / 2, l->kernel / 2};
    int64_t strides[4];
    bp_view input, weight, output;
    char settings[512];
    bp_options *made;
    memset(j, 0, sizeof *j);
    set_channels_last(strides, l->in_channels, l->size);
    bp_view_init(&input, memory[0], BP_F32, 4, in, strides);
    bp_view_init(&weight, memory[1], BP_F32, 4, taps, NULL);
    set_channels_last(strides, l->out_channels, layer_out(l));
    bp_view_init(&output, memory[2], BP_F32, 4, out, strides);
    const bp_conv_call call = {.struct_size = sizeof call,
                               .ndim = 2,
                               .groups = l->groups,
                               .stride = stride,
                               .padding = padding,
                               .input = &input.tensor,
                               .weight = &weight.tensor,
                               .output = &output.tensor};
    snprintf(settings, sizeof settings, "num_threads=%d,dispatch.packed=second%s%s%s%s", o->threads,
             *preferred ? ",dispatch.fallback=strict,conv.preferred=" : "", preferred, *o->settings ? "," : "",
             o->settings);
    if (bp_options_new(&made, settings) != BP_OK) {
        fprintf(stderr, "conv: %s\n", bp_last_error());
        exit(1);
    }
    const bp_status status = bp_conv_plan(&j->plan, made, &call);
    bp_options_release(made);
    j->operands[0] = (bp_operand){memory[0], 0};
    j->operands[1] = (bp_operand){memory[1], 0};
    j->operands[3] = (bp_operand){memory[2], 0};
    return status == BP_OK && bp_plan_pack(&j->packed, j->plan, 1, &j->operands[1]) == BP_OK;
}

/* Measures a layer. Adds its times, as often as the network has it, to the sums; a variant that lacks a layer gets
 * infinity. */
static void measure(const options *o, const layer *l, double sums[VARIANTS]) {
    float *memory[3];
    job jobs[DIRECT];
    direct *peer = NULL;
    older *second = NULL;
    candidate list[VARIANTS];
    int of[VARIANTS], count = 0;
    memory[0] = timing_filled((size_t)o->batch * (size_t)l->in_channels * (size_t)(l->size * l->size), false);
    memory[1] =
        timing_filled((size_t)l->out_channels * (size_t)(l->in_channels / l->groups * l->kernel * l->kernel), false);
    memory[2] =
        timing_filled((size_t)o->batch * (size_t)l->out_channels * (size_t)(layer_out(l) * layer_out(l)), false);
    for (int i = 0; i < DIRECT; i++) {
        if (make(&jobs[i], o, l, i == CHOSEN ? "" : names[i], memory)) {
            of[count] = i;
            list[count++] = (candidate){.name = names[i], .run = run, .context = &jobs[i]};
        } else if (i == CHOSEN) {
            fprintf(stderr, "conv: %s\n", bp_last_error());
            exit(1);
        }
    }
    if (*o->library) {
        peer = direct_new(l, o->batch, memory[0], memory[1], memory[2]);
        of[count] = DIRECT;
        list[count++] = (candidate){.name = names[DIRECT], .run = direct_run, .context = peer};
    }
    if (*o->older && (second = older_new(l, o->batch)) != NULL) {
        of[count] = OLDER;
        list[count++] = (candidate){.name = names[OLDER], .run = older_run, .context = second};
    }
    timing_interleave(list, count, o->rounds, 3e6, o->threads);
    double us[VARIANTS];
    for (int i = 0; i < VARIANTS; i++) {
        us[i] = INFINITY;
    }
    for (int i = 0; i < count; i++) {
        us[of[i]] = timing_median(&list[i]) / 1e3;
    }
    bp_plan_info info = {.struct_size = sizeof info};
    bp_plan_describe(jobs[CHOSEN].plan, &info);
    printf("%-9s %d of %4d to %4d, %3d, %dx%d/%d, %4d groups", l->network, l->count, l->in_channels, l->out_channels,
           l->size, l->kernel, l->kernel, l->stride, l->groups);
    for (int i = 0; i < VARIANTS; i++) {
        printf(" %9.1f", us[i]);
        sums[i] += us[i] * l->count;
    }
    printf("  [%.1f %.1f] %s %s, direct/chosen %.2f%s\n", timing_quantile(&list[0], 0.25) / 1e3,
           timing_quantile(&list[0], 0.75) / 1e3, info.library, info.algorithm, us[DIRECT] / us[CHOSEN],
           second && older_is_winograd(second) ? ", onednn2 by winograd" : "");
    for (int i = 0; i < DIRECT; i++) {
        bp_packed_release(jobs[i].packed);
        bp_plan_release(jobs[i].plan);
    }
    if (peer) {
        direct_free(peer);
    }
    if (second) {
        older_free(second);
    }
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
        const char **text = strcmp(word, "--network") == 0    ? &o->network
                            : strcmp(word, "--onednn") == 0   ? &o->library
                            : strcmp(word, "--onednn2") == 0  ? &o->older
                            : strcmp(word, "--settings") == 0 ? &o->settings
                                                              : NULL;
        if (!value || (!number && !text) || (number && (*number = timing_number(value, &end)) == 0)) {
            fprintf(stderr, "usage: conv [--batch N] [--threads N] [--network NAME] [--onednn PATH] [--onednn2 PATH] "
                            "[--settings TEXT] [--rounds N]\n");
            exit(2);
        }
        if (text) {
            *text = value;
        }
    }
}

int main(int argc, char **argv) {
    options o = {1, 1, 21, "", "", "", ""};
    read_options(&o, argc, argv);
    if ((*o.library && !direct_open(o.library, o.threads)) || (*o.older && !older_open(o.older, o.threads))) {
        return 1;
    }
    printf("batch %d, %d thread%s, microseconds", o.batch, o.threads, o.threads > 1 ? "s" : "");
    for (int i = 0; i < VARIANTS; i++) {
        printf(" %s", names[i]);
    }
    printf("\n");
    for (int i = 0; i < layer_count;) {
        const char *network = layers[i].network;
        double sums[VARIANTS] = {0};
        bool measured = false;
        for (; i < layer_count && strcmp(layers[i].network, network) == 0; i++) {
            if (!*o.network || strcmp(o.network, network) == 0) {
                measure(&o, &layers[i], sums);
                measured = true;
            }
        }
        for (int v = 0; v < VARIANTS && measured; v++) {
            printf("%s, all layers: %s %.2f ms, %.2f of chosen\n", network, names[v], sums[v] / 1e3,
                   sums[v] / sums[CHOSEN]);
        }
    }
    return 0;
}
