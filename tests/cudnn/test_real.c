/* test_real.c - the provider's graphs with NVIDIA's library: cuDNN makes execution plans on a machine without a GPU,
 * for devices that JSON describes. The engines that are taken under each combination of switches must have no note that
 * a switch refuses. Nothing runs. */
#include "cudnn/support_real.h"

#include <stdio.h>

#define BIT(note) (1u << BP__CUDNN_NOTE_##note)

/* ---- Problems ---- */

typedef struct shape {
    const char *name;
    int64_t batch, groups, in_channels, out_channels; /* channels of a group */
    int64_t in[3], kernel[3], stride, dilation, before, after;
} shape;

static const shape shapes[] = {
    {"3 x 3", 8, 1, 64, 64, {1, 28, 28}, {1, 3, 3}, 1, 1, 1, 1},
    {"1 x 1", 8, 1, 64, 128, {1, 14, 14}, {1, 1, 1}, 1, 1, 0, 0},
    {"steps", 8, 1, 64, 64, {1, 28, 28}, {1, 3, 3}, 2, 1, 1, 1},
    {"dilation", 8, 1, 64, 64, {1, 28, 28}, {1, 3, 3}, 1, 2, 2, 2},
    {"padding at one end", 8, 1, 64, 64, {1, 28, 28}, {1, 3, 3}, 1, 1, 1, 0},
    {"groups", 8, 4, 16, 16, {1, 28, 28}, {1, 3, 3}, 1, 1, 1, 1},
    {"depthwise", 8, 64, 1, 1, {1, 28, 28}, {1, 3, 3}, 1, 1, 1, 1},
    {"odd sizes", 3, 1, 5, 7, {1, 7, 9}, {1, 3, 2}, 1, 1, 1, 0},
    {"one dimension", 4, 1, 32, 48, {1, 1, 100}, {1, 1, 5}, 1, 1, 2, 2},
    {"three dimensions", 2, 1, 16, 16, {8, 8, 8}, {3, 3, 3}, 1, 1, 1, 1},
};

/* Sets strides of a compact tensor, in the order of bp_conv_problem; 0 where the size is 1. */
static void set_strides(bool last, int64_t batch, int64_t channels, const int64_t *size, int64_t *of_batch,
                        int64_t *of_channel, int64_t *of_position) {
    int64_t step = last ? channels : 1;
    for (int d = 2; d >= 0; d--) {
        of_position[d] = size[d] > 1 ? step : 0;
        step *= size[d];
    }
    *of_channel = channels == 1 ? 0 : last ? 1 : step;
    *of_batch = batch == 1 ? 0 : last ? step : step * channels;
}

static bp_problem problem_of(uint32_t op, bp_dtype dtype, const shape *s, bool last) {
    bp_problem problem = {.struct_size = sizeof problem, .op = op, .dtype = dtype};
    bp_conv_problem *p = &problem.of.conv;
    p->batch = s->batch;
    p->groups = s->groups;
    p->in_channels = s->in_channels;
    p->out_channels = s->out_channels;
    p->bias = 1;
    for (int d = 0; d < 3; d++) {
        const bool used = s->in[d] > 1;
        p->in[d] = s->in[d];
        p->kernel[d] = s->kernel[d];
        p->stride[d] = used ? s->stride : 1;
        p->dilation[d] = used ? s->dilation : 1;
        p->padding[d] = used ? s->before : 0;
        p->out[d] = used ? (s->in[d] + s->before + s->after - (s->kernel[d] - 1) * s->dilation - 1) / s->stride + 1 : 1;
    }
    set_strides(last, p->batch, p->groups * p->in_channels, p->in, &p->x_batch, &p->x_channel, p->x);
    set_strides(last, p->groups * p->out_channels, p->in_channels, p->kernel, &p->w_out, &p->w_in, p->w);
    set_strides(last, p->batch, p->groups * p->out_channels, p->out, &p->y_batch, &p->y_channel, p->y);
    return problem;
}

/* ---- Plans ---- */

/* The engine must not have a note that a switch is about. Sums, the second call, do not use TF32. */
static void check_notes(const bp_problem *problem, bool direct, int call, const bp__cudnn_engine *engine) {
    const bool exact = problem->dtype == BP_F32 && (problem->policy.precision == 0 || call > 0);
    const unsigned transforms =
        BIT(FFT) | BIT(WINOGRAD) | BIT(WINOGRAD_TILE_4x4) | BIT(WINOGRAD_TILE_6x6) | BIT(WINOGRAD_TILE_13x13);
    const unsigned wrong = BIT(DOWN_CONVERT_INPUTS) | BIT(REDUCED_PRECISION_REDUCTION) |
                           (problem->policy.convolutions ? BIT(NONDETERMINISTIC) : 0) | (exact ? BIT(TENSOR_CORE) : 0) |
                           (direct ? transforms : 0);
    if (engine->notes & wrong) {
        fail_msg("engine %d has the notes %x; %x are refused", (int)engine->number, engine->notes, wrong);
    }
}

/* Returns whether an engine makes a plan of a graph of the problem. */
static bool find_engine(const bp_problem *problem, bool direct, int call, bp__cudnn_engine *engine) {
    bp_verdict verdict = BP_VERDICT_INIT;
    bp__cudnn_offer offer = {.refused = bp__cudnn_refused_notes(problem, direct), .rank = -1};
    bp__cudnn_graph graph;
    bp__cudnn_execution execution = {0};
    bp__cudnn_sequence sequence;
    const bp_device_info facts = {.memory = UINT64_C(85000000000)};
    if (!bp__cudnn_conv_of(&real_instance, problem, &offer.conv, &verdict)) {
        fail_msg("%s", verdict.text);
    }
    bp__cudnn_conv_sequence(&offer, &facts, &sequence);
    bp__cudnn_filter filter = sequence.filter;
    filter.refused |= call > 0 ? sequence.refused_later : 0;
    bp__cudnn_graph_begin(&graph, &real_instance.api, NULL, real_device);
    bp__cudnn_conv_describe(&offer.conv, call, &graph, BP__CUDNN_ALIGNMENT);
    bp__cudnn_graph_complete(&graph);
    if (graph.status != BP__CUDNN_STATUS_SUCCESS) {
        real_fail("a graph");
    }
    const bool found = bp__cudnn_first_execution(&graph, &filter, &execution) == BP__CUDNN_STATUS_SUCCESS;
    *engine = execution.engine;
    check_notes(problem, direct, call, engine);
    bp__cudnn_execution_free(&real_instance.api, &execution);
    bp__cudnn_graph_free(&graph);
    return found;
}

static const uint32_t operations[] = {BP_OP_CONV, BP_OP_CONV_INPUT, BP_OP_CONV_WEIGHT};
static const char *const names[] = {"forward", "input", "weight"};

/* What is counted for one device. */
typedef struct counts {
    int graphs, without; /* without an engine */
    int tensor, plain;   /* of f32, with and without tensor cores */
} counts;

/* Tries a problem under switches: bit 0 of a number is TF32, bit 1 cudnn.deterministic, bit 2 "direct". */
static void try_switches(bp_problem *problem, int call, const char *text, bool always, counts *all, int first,
                         int step) {
    for (int k = first; k < 8; k += step) {
        bp__cudnn_engine engine;
        problem->policy.precision = k & 1;
        problem->policy.convolutions = k & 2 ? BP_CUDNN_DETERMINISTIC : 0;
        const bool found = find_engine(problem, k & 4, call, &engine);
        if (!found && always) {
            fail_msg("%s: no engine with precision %d, deterministic %d, direct %d", text, k & 1, k >> 1 & 1, k >> 2);
        }
        all->graphs++;
        all->without += !found;
        if (found && problem->dtype == BP_F32) {
            *(engine.notes & BIT(TENSOR_CORE) ? &all->tensor : &all->plain) += 1;
        }
    }
}

/* All switches for a convolution alone; TF32 is about f32. With a bias, engines may compile for seconds: the default of
 * the switches, and the strictest. */
static void try_problem(bp_problem *problem, const char *text, counts *all, counts *biased) {
    enum { DEFAULT = 1, TO_STRICTEST = 5 };
    const bool sums = problem->op == BP_OP_CONV_WEIGHT;
    try_switches(problem, 0, text, true, all, 0, problem->dtype == BP_F32 ? 1 : 2);
    problem->of.conv.has_bias = 1;
    try_switches(problem, sums, text, problem->op != BP_OP_CONV, biased, DEFAULT, TO_STRICTEST);
}

static void try_device(int capability) {
    static const bp_dtype types[] = {BP_F16, BP_BF16, BP_F32, BP_F64};
    counts all = {0}, biased = {0};
    char text[160];
    real_need();
    real_begin(capability);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (int k = 0; k < 3 * 4 * 2; k++) {
            bp_problem problem = problem_of(operations[k % 3], types[k / 3 % 4], &shapes[i], k / 12);
            snprintf(text, sizeof text, "sm_%d, %s, %s, %s, %s", capability / 10, names[k % 3],
                     bp_dtype_name(types[k / 3 % 4]), shapes[i].name, k / 12 ? "channels last" : "channels first");
            try_problem(&problem, text, &all, &biased);
        }
    }
    print_message("sm_%d: %d graphs, f32 on tensor cores %d, without %d; with a bias %d, without an engine %d\n",
                  capability / 10, all.graphs, all.tensor, all.plain, biased.graphs, biased.without);
    assert_true(all.tensor > 0 && all.plain >= all.graphs / 5);
    real_instance.api.DescriptorDestroy(real_device);
}

int main(void) {
    real_open(CUDNN_REAL, CUDA_STUB);
    return real_group(try_device);
}
