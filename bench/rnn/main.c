/* main.c - measures recurrent layers: Backplane's choice, each of its providers, and oneDNN called directly (--onednn).
 *
 *     rnn [--mode NAME] [--hidden N] [--batch N] [--threads N] [--steps N] [--onednn PATH] [--settings TEXT]
 *         [--rounds N]
 *
 * f32, one direction, 64 steps, as many columns as hidden units, weights packed beforehand. Without --hidden and
 * --batch: 256 and 1024 units, 1 and 32 items. Times are medians of interleaved rounds in microseconds. Ratios above 1
 * mean that Backplane's choice is faster. */
#include "../timing.h"
#include "rnn.h"

#include <math.h>

enum { CHOSEN, NATIVE, ONEDNN, DIRECT, VARIANTS, OPERANDS = 13 };

static const char *const names[VARIANTS] = {"chosen", "native", "onednn", "direct"};
static const char *const modes[] = {"rnn_tanh", "rnn_relu", "lstm", "gru"};

typedef struct options {
    int hidden, batch, threads, steps, rounds;
    const char *mode, *library, *settings;
} options;

typedef struct job {
    bp_plan *plan;
    bp_packed *packed[2];
    bp_operand operands[OPERANDS];
} job;

static void run(void *context) {
    const job *j = context;
    const bp_packed *list[OPERANDS] = {NULL, j->packed[0], j->packed[1]};
    const bp_exec exec = {.struct_size = sizeof exec, .packed = list};
    if (bp_execute(j->plan, j->operands, &exec) != BP_OK) {
        fprintf(stderr, "rnn: %s\n", bp_last_error());
        exit(1);
    }
}

/* Makes the plan of a variant. Returns false if the library is absent or refuses the layer. */
static bool make(job *j, const options *o, const layer *l, const char *excluded) {
    const int64_t image[] = {l->steps, l->batch, l->hidden}, rows = (int64_t)layer_gates(l) * l->hidden;
    bp_view input, output, ih, hh, bias;
    char settings[512];
    bp_options *made;
    memset(j, 0, sizeof *j);
    bp_view_init(&input, l->input, BP_F32, 3, image, NULL);
    bp_view_init(&output, l->output, BP_F32, 3, image, NULL);
    bp_view_matrix(&ih, l->weight_ih, BP_F32, rows, l->hidden);
    bp_view_matrix(&hh, l->weight_hh, BP_F32, rows, l->hidden);
    bp_view_init(&bias, l->bias, BP_F32, 1, &rows, NULL);
    const bp_rnn_call call = {.struct_size = sizeof call,
                              .mode = l->mode,
                              .input = &input.tensor,
                              .weight_ih = &ih.tensor,
                              .weight_hh = &hh.tensor,
                              .bias_ih = &bias.tensor,
                              .output = &output.tensor};
    snprintf(settings, sizeof settings, "num_threads=%d%s%s%s%s", o->threads, *excluded ? ",dispatch.exclude=" : "",
             excluded, *o->settings ? "," : "", o->settings);
    if (bp_options_new(&made, settings) != BP_OK) {
        fprintf(stderr, "rnn: %s\n", bp_last_error());
        exit(1);
    }
    const bp_status status = bp_rnn_plan(&j->plan, made, &call);
    bp_options_release(made);
    j->operands[0] = (bp_operand){l->input, 0};
    j->operands[1] = (bp_operand){l->weight_ih, 0};
    j->operands[2] = (bp_operand){l->weight_hh, 0};
    j->operands[4] = (bp_operand){l->bias, 0};
    j->operands[9] = (bp_operand){l->output, 0};
    return status == BP_OK && bp_plan_pack(&j->packed[0], j->plan, 1, &j->operands[1]) == BP_OK &&
           bp_plan_pack(&j->packed[1], j->plan, 2, &j->operands[2]) == BP_OK;
}

/* Returns whether a plan runs on the library that the variant is for. */
static bool is_of(const job *j, const char *library) {
    bp_plan_info info = {.struct_size = sizeof info};
    return bp_plan_describe(j->plan, &info) == BP_OK && strncmp(info.library, library, strlen(library)) == 0;
}

static void measure(const options *o, layer *l) {
    const size_t values = (size_t)l->steps * (size_t)l->batch * (size_t)l->hidden;
    const size_t rows = (size_t)layer_gates(l) * (size_t)l->hidden;
    job jobs[DIRECT];
    direct *peer = NULL;
    candidate list[VARIANTS];
    int of[VARIANTS], count = 0;
    double us[VARIANTS] = {NAN, NAN, NAN, NAN};
    l->input = timing_filled(values, false);
    l->output = timing_filled(values, false);
    l->weight_ih = timing_filled(rows * (size_t)l->hidden, false);
    l->weight_hh = timing_filled(rows * (size_t)l->hidden, false);
    l->bias = timing_filled(rows, false);
    for (size_t i = 0; i < rows * (size_t)l->hidden; i++) {
        l->weight_ih[i] *= 0.05F;
        l->weight_hh[i] *= 0.05F;
    }
    for (int i = 0; i < DIRECT; i++) {
        if (make(&jobs[i], o, l,
                 i == NATIVE   ? "onednn"
                 : i == ONEDNN ? "native"
                               : "") &&
            (i == CHOSEN || is_of(&jobs[i], names[i]))) {
            of[count] = i;
            list[count++] = (candidate){.name = names[i], .run = run, .context = &jobs[i]};
        } else if (i == CHOSEN) {
            fprintf(stderr, "rnn: %s\n", bp_last_error());
            exit(1);
        }
    }
    if (*o->library) {
        peer = direct_new(l);
        of[count] = DIRECT;
        list[count++] = (candidate){.name = names[DIRECT], .run = direct_run, .context = peer};
    }
    timing_interleave(list, count, o->rounds, 3e6, o->threads);
    for (int i = 0; i < count; i++) {
        us[of[i]] = timing_median(&list[i]) / 1e3;
    }
    bp_plan_info info = {.struct_size = sizeof info};
    bp_plan_describe(jobs[CHOSEN].plan, &info);
    printf("%-8s %4d units, %3d items", modes[l->mode], l->hidden, l->batch);
    for (int i = 0; i < VARIANTS; i++) {
        printf(" %9.1f", us[i]);
    }
    printf("  [%.1f %.1f] %s %s, direct/chosen %.2f\n", timing_quantile(&list[0], 0.25) / 1e3,
           timing_quantile(&list[0], 0.75) / 1e3, info.library, info.algorithm, us[DIRECT] / us[CHOSEN]);
    for (int i = 0; i < DIRECT; i++) {
        bp_packed_release(jobs[i].packed[0]);
        bp_packed_release(jobs[i].packed[1]);
        bp_plan_release(jobs[i].plan);
    }
    if (peer) {
        direct_free(peer);
    }
    float *const memory[] = {l->input, l->output, l->weight_ih, l->weight_hh, l->bias};
    for (int i = 0; i < 5; i++) {
        free(memory[i]);
    }
}

static void read_options(options *o, int argc, char **argv) {
    for (int i = 1; i < argc; i += 2) {
        const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        char *end;
        int *number = strcmp(word, "--hidden") == 0    ? &o->hidden
                      : strcmp(word, "--batch") == 0   ? &o->batch
                      : strcmp(word, "--threads") == 0 ? &o->threads
                      : strcmp(word, "--steps") == 0   ? &o->steps
                      : strcmp(word, "--rounds") == 0  ? &o->rounds
                                                       : NULL;
        const char **text = strcmp(word, "--mode") == 0       ? &o->mode
                            : strcmp(word, "--onednn") == 0   ? &o->library
                            : strcmp(word, "--settings") == 0 ? &o->settings
                                                              : NULL;
        if (!value || (!number && !text) || (number && (*number = timing_number(value, &end)) == 0)) {
            fprintf(stderr, "usage: rnn [--mode NAME] [--hidden N] [--batch N] [--threads N] [--steps N] "
                            "[--onednn PATH] [--settings TEXT] [--rounds N]\n");
            exit(2);
        }
        if (text) {
            *text = value;
        }
    }
}

int main(int argc, char **argv) {
    static const bp_rnn_mode all[] = {BP_RNN_LSTM, BP_RNN_GRU, BP_RNN_TANH};
    options o = {0, 0, 1, 64, 11, "", "", ""};
    read_options(&o, argc, argv);
    if (*o.library && !direct_open(o.library, o.threads)) {
        return 1;
    }
    printf("%d steps, %d thread%s, microseconds", o.steps, o.threads, o.threads > 1 ? "s" : "");
    for (int i = 0; i < VARIANTS; i++) {
        printf(" %s", names[i]);
    }
    printf("\n");
    for (int i = 0; i < 12; i++) {
        layer l = {.mode = all[i / 4], .steps = o.steps, .hidden = i / 2 % 2 ? 1024 : 256, .batch = i % 2 ? 32 : 1};
        l.hidden = o.hidden ? o.hidden : l.hidden;
        l.batch = o.batch ? o.batch : l.batch;
        if ((!*o.mode || strcmp(o.mode, modes[l.mode]) == 0) && (!o.hidden || i / 2 % 2 == 0) &&
            (!o.batch || i % 2 == 0)) {
            measure(&o, &l);
        }
    }
    return 0;
}
