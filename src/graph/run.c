/* run.c - runs a graph: by a plan of the whole, or, with graph.backend=eager, node by node, each as a call of its own
 * with memory of its own for each result. */
#include "graph/plan.h"
#include "graph/rewrite.h"

#include "backplane/elementwise.h"
#include "base/uncancelled.h"
#include "dispatch/addresses.h"
#include "dispatch/thread_cache.h"
#include "ops/shape.h"
#include "tensor/internal.h"

#include <stdio.h>
#include <string.h>

/* ---- Checks ---- */

static bp_status check_tensor(const DLTensor *tensor, const bp__graph_value *value, const char *name,
                              bool data_optional) {
    BP__TRY(bp__tensor_check(tensor, name, data_optional));
    BP__TRY(bp__tensor_check_host(tensor, name));
    const bp_dtype dtype = bp_dtype_from_dlpack(tensor->dtype);
    if (dtype != value->dtype) {
        return bp__fail(BP_E_DTYPE, "%s is %s; it must be %s", name, bp_dtype_name(dtype), bp_dtype_name(value->dtype));
    }
    const size_t size = (size_t)value->ndim * sizeof *value->shape;
    if (tensor->ndim != value->ndim || (size > 0 && memcmp(tensor->shape, value->shape, size) != 0)) {
        char got[256], want[256];
        return bp__fail(BP_E_SHAPE, "%s has shape %s; it must have shape %s", name,
                        bp__shape_text(tensor->ndim, tensor->shape, got, sizeof got),
                        bp__shape_text(value->ndim, value->shape, want, sizeof want));
    }
    return BP_OK;
}

static bp_status check_lists(const bp_graph *graph, const DLTensor *const *inputs, const DLTensor *const *outputs) {
    if ((!inputs && graph->input_count > 0) || !outputs) {
        return bp__fail(BP_E_ARGUMENT, "%s must not be NULL", outputs ? "inputs" : "outputs");
    }
    return BP_OK;
}

static bp_status check_each(const bp_graph *graph, const DLTensor *const *inputs, const DLTensor *const *outputs,
                            bool data_optional) {
    char name[128];
    for (int i = 0; i < graph->input_count; i++) {
        const bp__graph_value *value = &graph->values[graph->inputs[i]];
        snprintf(name, sizeof name, "input %d (%s)", i, value->name);
        BP__TRY(check_tensor(inputs[i], value, name, data_optional));
    }
    for (int k = 0; k < graph->output_count; k++) {
        snprintf(name, sizeof name, "output %d (%s)", k, graph->outputs[k].name);
        BP__TRY(check_tensor(outputs[k], &graph->values[graph->outputs[k].value], name, data_optional));
        if (bp__tensor_self_overlaps(outputs[k])) {
            return bp__fail_self_overlap(name, outputs[k]);
        }
    }
    return BP_OK;
}

static bp_status check_apart(const bp_graph *graph, int output, const DLTensor *written, const DLTensor *other,
                             const char *what, const char *name) {
    return written->data && other->data && bp__tensor_overlap(other, written)
               ? bp__fail(BP_E_OVERLAP, "output %d (%s) overlaps %s %s; it must have its own memory", output,
                          graph->outputs[output].name, what, name)
               : BP_OK;
}

static bp_status check_borrowed(const bp_graph *graph, int output, const DLTensor *written) {
    for (bp_value v = 1; v <= graph->value_count && graph->borrows; v++) {
        const bp__graph_value *value = &graph->values[v];
        if (value->kind == BP__VALUE_CONSTANT && !value->block) {
            const DLTensor tensor = bp__constant_tensor(value);
            BP__TRY(check_apart(graph, output, written, &tensor, "constant", value->name));
        }
    }
    return BP_OK;
}

bp_status bp__graph_check_overlap(const bp_graph *graph, const DLTensor *const *inputs,
                                  const DLTensor *const *outputs) {
    for (int k = 0; k < graph->output_count; k++) {
        for (int i = 0; i < graph->input_count; i++) {
            BP__TRY(check_apart(graph, k, outputs[k], inputs[i], "input", graph->values[graph->inputs[i]].name));
        }
        for (int i = 0; i < k; i++) {
            BP__TRY(check_apart(graph, k, outputs[k], outputs[i], "output", graph->outputs[i].name));
        }
        BP__TRY(check_borrowed(graph, k, outputs[k]));
    }
    return BP_OK;
}

bp_status bp__graph_check_tensors(const bp_graph *graph, const DLTensor *const *inputs, const DLTensor *const *outputs,
                                  bool data_optional) {
    BP__TRY(check_lists(graph, inputs, outputs));
    bp__devices_noted noted;
    bp__devices_note(&noted);
    bp_status status = check_each(graph, inputs, outputs, data_optional);
    bp__devices_noted_end(&noted);
    return status == BP_OK ? bp__graph_check_overlap(graph, inputs, outputs) : status;
}

/* ---- Steps ---- */

typedef struct eager {
    bp__lowered lowered;
    const DLTensor *const *inputs;
    const DLTensor *const *outputs;
    bp__bound bound;
    bp__copy copy;
} eager;

static void *address_at(const eager *e, const bp__place *place, int block) {
    const bp_graph *graph = e->lowered.graph;
    const char *base = NULL;
    switch (place->home) {
    case BP__AT_OPERAND:
        base = bp__tensor_data(place->operand < graph->input_count ? e->inputs[place->operand]
                                                                   : e->outputs[place->operand - graph->input_count]);
        break;
    case BP__AT_WORK:
        base = e->lowered.uses[block].memory;
        break;
    case BP__AT_CONSTANT:
        base = place->constant;
        break;
    default:
        break;
    }
    return (void *)((uintptr_t)base + (uintptr_t)place->offset);
}

static void locate_value(const void *context, bp_value value, DLTensor *tensor) {
    const eager *e = context;
    const bp_value v = e->lowered.same[value];
    *tensor = bp__located_tensor(&e->lowered, v);
    tensor->data = address_at(e, &e->lowered.at[v].place, e->lowered.at[v].block);
}

/* The optional outputs that nothing needs are absent. */
void bp__bound_leave_out(bp__bound *bound, const bp__lowered *lowered, const bp__node *node) {
    const DLTensor *none = NULL;
    for (int i = node->pass->info.input_count; i < node->pass->info.operand_count; i++) {
        if (node->operand[i] && lowered->at[node->operand[i]].place.home == BP__NOWHERE) {
            memcpy(bound->arguments.bytes + node->pass->operand[i].info.offset, &none, sizeof none);
        }
    }
}

static bp_status run_node(eager *e, int number) {
    const bp__node *node = &e->lowered.graph->nodes[number];
    bp_status status = bp__bind(&e->bound, node, locate_value, e);
    if (status == BP_OK) {
        bp__bound_leave_out(&e->bound, &e->lowered, node);
        status = bp_call_run(NULL, node->call, e->bound.arguments.bytes);
    }
    bp__unbind(&e->bound);
    return status == BP_OK ? BP_OK : bp__graph_fail_at(e->lowered.graph, number, status);
}

static bp_status run_copy(eager *e, const bp__step *step) {
    bp__step_copy(&e->lowered, step, e->outputs, &e->copy);
    const bp_value of = step->output >= 0 ? step->value : e->lowered.same[e->lowered.graph->values[step->value].from];
    e->copy.from.data = address_at(e, &e->copy.from_place, e->lowered.at[of].block);
    e->copy.to.data = address_at(e, &e->copy.to_place, e->lowered.at[step->value].block);
    return bp_unary_run(NULL, BP_UNARY_COPY, &e->copy.from, &e->copy.to);
}

/* Takes the blocks that begin with a step; *next is the first one that does not. */
static bp_status take_memory(eager *e, int step, int *next) {
    for (; *next < e->lowered.use_count && e->lowered.uses[*next].first == step; ++*next) {
        bp__use *use = &e->lowered.uses[*next];
        use->memory = bp__alloc_aligned((size_t)use->bytes + 1);
        if (!use->memory) {
            return bp__fail_memory((size_t)use->bytes, "a value of a graph");
        }
    }
    return BP_OK;
}

static void give_memory(eager *e, int step) {
    for (int i = e->lowered.steps[step].ends; i >= 0; i = e->lowered.uses[i].next) {
        bp__free_aligned(e->lowered.uses[i].memory);
        e->lowered.uses[i].memory = NULL;
    }
}

static bp_status run_step(eager *e, int index, int *next) {
    const bp__step *step = &e->lowered.steps[index];
    BP__TRY(take_memory(e, index, next));
    BP__TRY(step->node >= 0 ? run_node(e, step->node) : run_copy(e, step));
    give_memory(e, index);
    return BP_OK;
}

static bp_status run_steps(eager *e) {
    bp_status status = BP_OK;
    int next = 0;
    for (int i = 0; i < e->lowered.step_count && status == BP_OK; i++) {
        status = run_step(e, i, &next);
    }
    for (int i = 0; i < next && i < e->lowered.use_count && status != BP_OK; i++) {
        bp__free_aligned(e->lowered.uses[i].memory);
    }
    return status;
}

bp_status bp__graph_run_eager(const bp_graph *graph, const DLTensor *const *inputs, const DLTensor *const *outputs) {
    eager *e = bp__alloc_zero(1, sizeof *e); /* large: not on the stack */
    if (!e) {
        return bp__fail_memory(sizeof *e, "a run of a graph");
    }
    e->inputs = inputs;
    e->outputs = outputs;
    bp__layouts layouts;
    bp_status status = bp__layouts_of(&layouts, graph, inputs, outputs);
    status = status == BP_OK ? bp__lower_begin(&e->lowered, graph) : status;
    if (status == BP_OK) {
        e->lowered.layouts = layouts;
        bp__lower(&e->lowered, inputs, outputs);
        status = run_steps(e);
        bp__lower_free(&e->lowered);
    } else {
        bp__free(layouts.memory);
    }
    bp__free(e);
    return status;
}

/* ---- Planned runs ---- */

enum { NEAR_OPERANDS = 32 };

/* Runs the plan, and counts the runs of its parts. */
static bp_status run_plan(const bp_graph *graph, bp_plan *plan, bool fresh, const bp_operand *operands) {
    static const bp_exec exec = {.struct_size = sizeof exec, .scalars = bp__plain_scalars};
    bp__count_run(plan);
    const bool observed = bp__thread.observed; /* calls in interrupt checks may change it */
    const int64_t start = observed ? bp__now_ns() : 0;
    bp_status status = bp__plan_run_uncancelled(plan, operands, &exec); /* bp_graph_run() sees to it */
    if (observed) {
        bp__trace_call(plan, fresh, start, bp__now_ns(), status);
    }
    const bp_plan *due = bp__thread.due_part;
    if (BP__UNLIKELY(due && bp__thread.due_whole == plan->serial)) {
        bp__tune_parts(plan);
        if (atomic_load_explicit(&due->replaced, memory_order_acquire)) {
            bp__graph_plans_forget(graph, plan);
        }
    }
    return status;
}

/* A plan that was found by its key has these layouts, but not these addresses. */
static bp_status check_addresses(const bp_graph *graph, const bp_plan *plan, const bp_operand *operands,
                                 const DLTensor *const *inputs, const DLTensor *const *outputs) {
    const bool good = bp__addresses_good(plan->addresses, operands) && !graph->borrows;
    return BP__LIKELY(good) ? BP_OK : bp__graph_check_tensors(graph, inputs, outputs, false);
}

static bp_status run_on_plan(const bp_graph *graph, bp_plan *plan, bool fresh, const DLTensor *const *inputs,
                             const DLTensor *const *outputs) {
    bp_operand near[NEAR_OPERANDS];
    const int count = graph->input_count + graph->output_count;
    bp_operand *operands = count <= NEAR_OPERANDS ? near : bp__alloc((size_t)count * sizeof *operands);
    if (!operands) {
        return bp__fail_memory((size_t)count * sizeof *operands, "the operands of a graph");
    }
    for (int i = 0; i < count; i++) {
        const DLTensor *t = i < graph->input_count ? inputs[i] : outputs[i - graph->input_count];
        operands[i] = (bp_operand){t->data, t->byte_offset};
    }
    bp_status status = check_addresses(graph, plan, operands, inputs, outputs);
    status = status == BP_OK ? run_plan(graph, plan, fresh, operands) : status;
    bp__free(operands == near ? NULL : operands);
    return status;
}

static bp_status run_planned(const bp_graph *graph, const DLTensor *const *inputs, const DLTensor *const *outputs) {
    bp_plan *plan;
    bool fresh;
    BP__TRY(bp__graph_plans_enter(&plan, graph, inputs, outputs, false, &fresh));
    bp_status status = run_on_plan(graph, plan, fresh, inputs, outputs);
    if (fresh) {
        bp__plan_release(plan);
    } else {
        bp__graph_plans_leave(graph);
    }
    return status;
}

static bp_status run_either(const bp_graph *graph, const DLTensor *const *inputs, const DLTensor *const *outputs) {
    if (BP__LIKELY(strcmp(bp__setting_text(BP_SET_graph_backend), "eager") != 0)) {
        return run_planned(graph, inputs, outputs);
    }
    const bp_graph *runs;
    BP__TRY(bp__graph_check_tensors(graph, inputs, outputs, false));
    BP__TRY(bp__graph_rewritten(&runs, graph));
    return bp__graph_run_eager(runs, inputs, outputs);
}

bp_status bp_graph_run(const bp_options *options, const bp_graph *graph, const DLTensor *const *inputs,
                       DLTensor *const *outputs) {
    BP__UNCANCELLED;
    BP__TRY(bp__graph_check_finished(graph, "bp_graph_run"));
    bp__call_scope scope;
    bp__call_enter(&scope, options);
    bp_status status = run_either(graph, inputs, (const DLTensor *const *)outputs);
    bp__call_leave(&scope);
    return status;
}

bp_status bp_graph_plan(bp_plan **plan, const bp_options *options, const bp_graph *graph, const DLTensor *const *inputs,
                        const DLTensor *const *outputs) {
    BP__UNCANCELLED;
    if (!plan) {
        return bp__fail(BP_E_ARGUMENT, "bp_graph_plan: plan must not be NULL");
    }
    *plan = NULL;
    BP__TRY(bp__graph_check_finished(graph, "bp_graph_plan"));
    bool fresh;
    bp__call_scope scope;
    bp__call_enter(&scope, options);
    bp_status status = bp__graph_plans_get(plan, graph, inputs, outputs, true, &fresh);
    bp__call_leave(&scope);
    if (status == BP_OK) {
        bp__plan_handed_out();
    }
    return status;
}
