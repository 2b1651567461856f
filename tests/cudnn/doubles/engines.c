/* engines.c - the engines of the double: which graphs they run, and in which lists they are. */
#include "parts.h"

#include <stdlib.h>

#define BIT(note) (1u << BP__CUDNN_NOTE_##note)

static const struct {
    int number;
    unsigned notes;
    bool is_fallback, is_attention;
} engines[] = {
    {CUDNN_ENGINE_REFUSING, 0, false, false},
    {CUDNN_ENGINE_REFUSING, 0, false, true},
    {CUDNN_ENGINE_FLASH, BIT(TENSOR_CORE), false, true},
    {CUDNN_ENGINE_UNSTEADY, BIT(TENSOR_CORE) | BIT(NONDETERMINISTIC), false, false},
    {CUDNN_ENGINE_ROUNDING, BIT(DOWN_CONVERT_INPUTS), false, false},
    {CUDNN_ENGINE_SHORT, BIT(REDUCED_PRECISION_REDUCTION), false, false},
    {CUDNN_ENGINE_WINOGRAD, BIT(TENSOR_CORE) | BIT(WINOGRAD) | BIT(WINOGRAD_TILE_4x4), false, false},
    {CUDNN_ENGINE_TENSOR, BIT(TENSOR_CORE), false, false},
    {CUDNN_ENGINE_PLAIN, 0, true, false},
    {CUDNN_ENGINE_ANY, BIT(STRICT_NAN_PROP), true, false},
};

/* ---- Lists ---- */

static void fill(descriptor *config, int i, const descriptor *graph) {
    config->engine = engines[i].number;
    config->notes = engines[i].notes;
    config->from[0] = (descriptor *)(uintptr_t)graph;
    config->finalized = true;
}

/* A convolution may be followed by a bias, and then by relu, as in the library. */
static bool is_known(const executable *e) {
    const operation *o = e->operations;
    const bool biased = o[0].type == BP__CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR &&
                        o[1].mode == BP__CUDNN_POINTWISE_ADD && !cudnn_double.plain_only;
    switch (e->operation_count) {
    case 1:
        return o[0].type != BP__CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
    case 2:
        return biased;
    case 3:
        return biased && o[2].mode == BP__CUDNN_POINTWISE_RELU_FWD;
    default:
        return false;
    }
}

int64_t double_list(const descriptor *heuristic, int64_t most, void *const *configs) {
    const descriptor *graph = double_child(heuristic, BP__CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, 0);
    const unsigned mode = double_word(heuristic, BP__CUDNN_ATTR_ENGINEHEUR_MODE);
    executable read;
    int64_t count = 0;
    if (double_read_graph(graph, &read) != BP__CUDNN_STATUS_SUCCESS) {
        return 0;
    }
    const bool attends = double_is_attention(&read);
    if (attends ? !double_has_attention(&read) : !is_known(&read)) {
        return 0;
    }
    const bool wide = read.tensors[0].type == BP__CUDNN_DATA_DOUBLE;
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++) {
        const bool in = engines[i].is_attention != attends ? false
                        : engines[i].is_fallback           ? mode == BP__CUDNN_HEUR_MODE_FALLBACK
                                                           : mode == BP__CUDNN_HEUR_MODE_INSTANT && !wide;
        if (in && count < most) {
            fill(configs[count], (int)i, graph);
        }
        count += in;
    }
    return count;
}

/* ---- Plans ---- */

static bool is_symmetric(const executable *e) {
    bool same = true;
    for (int d = 0; d < e->operations[0].spatial; d++) {
        same = same && e->operations[0].before[d] == e->operations[0].after[d];
    }
    return same;
}

static bool is_aligned(const executable *e) {
    bool aligned = true;
    for (int i = 0; i < e->tensor_count; i++) {
        aligned = aligned && e->tensors[i].alignment % 16 == 0;
    }
    return aligned;
}

static bool can(const executable *e) {
    return e->engine == CUDNN_ENGINE_REFUSING ? false
           : e->engine == CUDNN_ENGINE_TENSOR ? is_aligned(e)
           : e->engine == CUDNN_ENGINE_PLAIN  ? is_symmetric(e)
                                              : true;
}

/* The size is no round number. */
static int64_t workspace_of(const executable *e) {
    int64_t bytes = 3;
    for (int d = 0; d < e->tensors[0].ndim; d++) {
        bytes *= e->tensors[0].size[d];
    }
    return e->engine == CUDNN_ENGINE_PLAIN || e->engine == CUDNN_ENGINE_FLASH ? bytes : 0;
}

cudnnStatus_t double_make_plan(descriptor *plan) {
    descriptor *config = double_child(plan, BP__CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 0);
    const descriptor *graph = double_descriptor(config->from[0]);
    if (cudnn_double.refuse_plans || !graph) {
        return graph ? (cudnnStatus_t)cudnn_double.refuse_plans : BP__CUDNN_STATUS_BAD_PARAM;
    }
    if (double_attribute(graph, BP__CUDNN_ATTR_OPERATIONGRAPH_HANDLE) &&
        double_child(graph, BP__CUDNN_ATTR_OPERATIONGRAPH_HANDLE, 0) !=
            double_child(plan, BP__CUDNN_ATTR_EXECUTION_PLAN_HANDLE, 0)) {
        return double_violate(BP__CUDNN_STATUS_BAD_PARAM, "a plan and its graph have different handles");
    }
    executable *made = calloc(1, sizeof *made);
    if (!made) {
        return BP__CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    }
    (void)double_read_graph(graph, made);
    made->engine = config->engine;
    made->plan = plan;
    if (!can(made)) {
        free(made);
        return BP__CUDNN_STATUS_NOT_SUPPORTED;
    }
    made->workspace = plan->workspace = workspace_of(made);
    plan->made = made; /* stays, because graphs run it again */
    plan->from[0] = config;
    plan->from[1] = config->from[0];
    cudnn_double.plans++;
    return BP__CUDNN_STATUS_SUCCESS;
}
