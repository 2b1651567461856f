/* bf16.c - measures what permission to round f32 operands to bf16 gains: matrix products and the convolutions of
 * ResNet-50, under fp32_precision=ieee and under fp32_precision=bf16.
 *
 *     bf16 [--threads N] [--batch N] [--rounds N] [--settings TEXT]      e.g. --settings calibration=off
 *
 * Weights of convolutions are packed beforehand, images are channels-last. Times are medians of interleaved rounds in
 * microseconds, with the quartiles. `gain` is the time under ieee divided by that under bf16. Each line names what ran,
 * and the first one says if the processor lacks the instructions.
 */
#include "backplane.h"
#include "conv/conv.h"
#include "timing.h"

enum { IEEE, BF16, VARIANTS };

static const char *const precision[VARIANTS] = {"ieee", "bf16"};

typedef struct settings {
    int threads, batch, rounds;
    const char *further;
} settings;

typedef struct job {
    bp_plan *plan;
    bp_packed *packed;
    bp_operand operands[4];
} job;

static void die(void) {
    fprintf(stderr, "bf16: %s\n", bp_last_error());
    exit(1);
}

static bp_options *options_of(const settings *s, int variant, const char *packed) {
    char text[512];
    bp_options *made;
    snprintf(text, sizeof text, "num_threads=%d,fp32_precision=%s%s%s%s", s->threads, precision[variant], packed,
             *s->further ? "," : "", s->further);
    if (bp_options_new(&made, text) != BP_OK) {
        die();
    }
    return made;
}

static void run(void *context) {
    const job *j = context;
    const bp_packed *list[4] = {NULL, j->packed};
    const bp_exec exec = {.struct_size = sizeof exec, .packed = list};
    if (bp_execute(j->plan, j->operands, j->packed ? &exec : NULL) != BP_OK) {
        die();
    }
}

/* Measures both plans and prints a line. Releases the plans. `times` gets the medians. */
static void compare(const settings *s, const char *text, job jobs[VARIANTS], double times[VARIANTS]) {
    candidate list[VARIANTS];
    for (int i = 0; i < VARIANTS; i++) {
        list[i] = (candidate){.name = precision[i], .run = run, .context = &jobs[i]};
    }
    timing_interleave(list, VARIANTS, s->rounds, 5e6, s->threads);
    printf("%-34s", text);
    for (int i = 0; i < VARIANTS; i++) {
        bp_plan_info info = {.struct_size = sizeof info};
        bp_plan_describe(jobs[i].plan, &info);
        times[i] = timing_median(&list[i]) / 1e3;
        printf(" %10.1f [%.1f %.1f] %s %s,", times[i], timing_quantile(&list[i], 0.25) / 1e3,
               timing_quantile(&list[i], 0.75) / 1e3, info.library, info.algorithm);
        bp_packed_release(jobs[i].packed);
        bp_plan_release(jobs[i].plan);
    }
    printf(" gain %.2f\n", times[IEEE] / times[BF16]);
}

static void measure_product(const settings *s, int n) {
    const size_t count = (size_t)n * (size_t)n;
    float *memory[3] = {timing_filled(count, false), timing_filled(count, false), timing_filled(count, false)};
    job jobs[VARIANTS] = {{0}};
    double times[VARIANTS];
    char text[64];
    bp_view a, b, c;
    bp_view_matrix(&a, memory[0], BP_F32, n, n);
    bp_view_matrix(&b, memory[1], BP_F32, n, n);
    bp_view_matrix(&c, memory[2], BP_F32, n, n);
    for (int i = 0; i < VARIANTS; i++) {
        bp_options *options = options_of(s, i, "");
        if (bp_matmul_plan(&jobs[i].plan, options, &a.tensor, &b.tensor, &c.tensor) != BP_OK) {
            die();
        }
        bp_options_release(options);
        for (int o = 0; o < 3; o++) {
            jobs[i].operands[o] = (bp_operand){memory[o], 0};
        }
    }
    snprintf(text, sizeof text, "matmul %dx%dx%d", n, n, n);
    compare(s, text, jobs, times);
    for (int o = 0; o < 3; o++) {
        free(memory[o]);
    }
}

static void set_image(bp_view *view, float *memory, int batch, int channels, int size) {
    const int64_t shape[] = {batch, channels, size, size};
    const int64_t strides[] = {(int64_t)channels * size * size, 1, (int64_t)channels * size, channels};
    bp_view_init(view, memory, BP_F32, 4, shape, strides);
}

static void measure_layer(const settings *s, const layer *l, double sums[VARIANTS]) {
    const int out = layer_out(l), in_channels = l->in_channels / l->groups;
    const int64_t taps[] = {l->out_channels, in_channels, l->kernel, l->kernel};
    const int64_t stride[] = {l->stride, l->stride}, padding[] = {l->kernel / 2, l->kernel / 2};
    float *memory[] = {
        timing_filled((size_t)s->batch * (size_t)l->in_channels * (size_t)(l->size * l->size), false),
        timing_filled((size_t)l->out_channels * (size_t)(in_channels * l->kernel * l->kernel), false),
        timing_filled((size_t)s->batch * (size_t)l->out_channels * (size_t)(out * out), false),
    };
    job jobs[VARIANTS] = {{0}};
    double times[VARIANTS];
    char text[64];
    bp_view input, weight, output;
    set_image(&input, memory[0], s->batch, l->in_channels, l->size);
    bp_view_init(&weight, memory[1], BP_F32, 4, taps, NULL);
    set_image(&output, memory[2], s->batch, l->out_channels, out);
    const bp_conv_call call = {.struct_size = sizeof call,
                               .ndim = 2,
                               .groups = l->groups,
                               .stride = stride,
                               .padding = padding,
                               .input = &input.tensor,
                               .weight = &weight.tensor,
                               .output = &output.tensor};
    for (int i = 0; i < VARIANTS; i++) {
        bp_options *options = options_of(s, i, ",dispatch.packed=second");
        jobs[i].operands[0] = (bp_operand){memory[0], 0};
        jobs[i].operands[1] = (bp_operand){memory[1], 0};
        jobs[i].operands[3] = (bp_operand){memory[2], 0};
        if (bp_conv_plan(&jobs[i].plan, options, &call) != BP_OK ||
            bp_plan_pack(&jobs[i].packed, jobs[i].plan, 1, &jobs[i].operands[1]) != BP_OK) {
            die();
        }
        bp_options_release(options);
    }
    snprintf(text, sizeof text, "%d of %d to %d, %d, %dx%d/%d", l->count, l->in_channels, l->out_channels, l->size,
             l->kernel, l->kernel, l->stride);
    compare(s, text, jobs, times);
    for (int i = 0; i < VARIANTS; i++) {
        sums[i] += times[i] * l->count;
    }
    for (int o = 0; o < 3; o++) {
        free(memory[o]);
    }
}

/* Prints the processor, and why native's algorithm "bf16" is refused, if it is. */
static void print_processor(const settings *s) {
    bp_machine_info machine = {.struct_size = sizeof machine};
    bp_candidate_info info = {.struct_size = sizeof info};
    bp_explanation *explanation;
    bp_options *options = options_of(s, BF16, "");
    bp_view view;
    bp_view_matrix(&view, NULL, BP_F32, 64, 64);
    if (bp_machine(&machine) != BP_OK ||
        bp_matmul_explain(&explanation, options, &view.tensor, &view.tensor, &view.tensor) != BP_OK) {
        die();
    }
    printf("%s, %d thread%s, batch %d\n", machine.cpu_model, s->threads, s->threads > 1 ? "s" : "", s->batch);
    for (int i = 0; bp_explanation_at(explanation, i, &info); i++) {
        if (strcmp(info.algorithm, "bf16") == 0 && !info.accepted) {
            printf("%s bf16 is refused: %s\n", info.library, info.text);
        }
    }
    bp_explanation_release(explanation);
    bp_options_release(options);
}

int main(int argc, char **argv) {
    settings s = {1, 1, 21, ""};
    double sums[VARIANTS] = {0};
    for (int i = 1; i < argc; i += 2) {
        char *end;
        int *number = strcmp(argv[i], "--threads") == 0  ? &s.threads
                      : strcmp(argv[i], "--batch") == 0  ? &s.batch
                      : strcmp(argv[i], "--rounds") == 0 ? &s.rounds
                                                         : NULL;
        const bool text = strcmp(argv[i], "--settings") == 0;
        if (i + 1 == argc || (!number && !text) || (number && (*number = timing_number(argv[i + 1], &end)) == 0)) {
            fprintf(stderr, "usage: bf16 [--threads N] [--batch N] [--rounds N] [--settings TEXT]\n");
            return 2;
        }
        s.further = text ? argv[i + 1] : s.further;
    }
    print_processor(&s);
    for (int n = 256; n <= 1024; n *= 2) {
        measure_product(&s, n);
    }
    for (int i = 0; i < layer_count && strcmp(layers[i].network, "resnet50") == 0; i++) {
        measure_layer(&s, &layers[i], sums);
    }
    printf("resnet50, all layers: ieee %.2f ms, bf16 %.2f ms, gain %.2f\n", sums[IEEE] / 1e3, sums[BF16] / 1e3,
           sums[IEEE] / sums[BF16]);
    return 0;
}
