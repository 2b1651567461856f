/* plan.c - makes a plan of a whole graph: plans of its nodes in order, with packed constants and one workspace.
 *
 * The nodes' plans are the ones that their calls would get under the same settings, on the same layouts, so that a plan
 * gives the bits of the calls one by one. */
#include "graph/plan.h"
#include "graph/region.h"

#include "backplane/elementwise.h"
#include "base/uncancelled.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <string.h>

/* ---- What belongs to a plan ---- */

static void drop_work(bp__work *work) {
    while (work) {
        bp__work *next = work->next;
        bp__free(work);
        work = next;
    }
}

static void drop_plan(void *owner) {
    bp__graph_plan *p = owner;
    bp__lower_unfold(&p->lowered);
    drop_work(p->work);
    bp__lower_free(&p->lowered);
    bp__graph_unref(p->graph);
    bp__free(p->titles);
    bp__free(p);
}

static const char *title_of(const void *owner, int part) {
    return ((const bp__graph_plan *)owner)->titles[part].text;
}

/* ---- Parts ---- */

/* The state of a plan that is made. */
typedef struct making {
    bp__graph_plan *plan;
    const DLTensor *const *inputs, *const *outputs;
    bp__part *parts;
    bp__place *places; /* of all parts */
    int count, place_count;
    bp__bound bound;
    bp__copy copy;
    bp_plan **plans; /* of each step that is a function of single elements, until a part has it */
} making;

static bp__place place_of(const bp__lowered *l, bp_value value) {
    const bp__located *at = &l->at[l->same[value]];
    bp__place place = at->place;
    if (at->place.home == BP__AT_WORK) {
        place.offset += l->uses[at->block].offset;
    }
    return bp__value_bytes(&l->graph->values[value]) > 0 ? place : (bp__place){.home = BP__NOWHERE};
}

static void add_place(making *m, bp__place place) {
    m->places[m->place_count++] = place;
}

/* Adds the places of a node's operands in the order of a plan. */
static void add_places(making *m, const bp__node *node) {
    const bp__lowered *l = &m->plan->lowered;
    for (int i = 0; i < node->pass->info.operand_count; i++) {
        const bp_value v = node->operand[i];
        if (node->pass->operand[i].shape == BP__LIST) {
            for (int k = 0; k < node->list_count; k++) {
                add_place(m, place_of(l, node->list[k]));
            }
        } else {
            add_place(m, v ? place_of(l, v) : (bp__place){.home = BP__NOWHERE});
        }
    }
}

/* Packs the operands that are constants, if the plan's library has a layout for them. */
static bp_status pack_constants(const making *m, bp__part *part) {
    const bp_plan *plan = part->plan;
    bool any = false;
    if (plan->verdict.packs == 0 || plan->composed) {
        return BP_OK;
    }
    part->packed = bp__alloc_zero((size_t)plan->operands, sizeof(bp_packed *));
    if (!part->packed) {
        return bp__fail_memory((size_t)plan->operands * sizeof(bp_packed *), "the plan of a graph");
    }
    for (int i = 0; i < part->places && i < plan->operands; i++) {
        const bp__place *place = &part->place[i];
        if (place->home == BP__AT_CONSTANT && place->constant) {
            const bp_operand source = {place->constant, (uint64_t)place->offset};
            BP__TRY(bp__part_pack(&part->packed[i], plan, i, &source));
            any |= part->packed[i] != NULL;
            m->plan->packed_bytes += part->packed[i] ? (int64_t)part->packed[i]->size : 0;
        }
    }
    if (!any) {
        bp__free((void *)(uintptr_t)part->packed);
        part->packed = NULL;
    }
    return BP_OK;
}

/* ---- Calls without plans ---- */

static void locate_operand(const void *context, bp_value value, DLTensor *tensor) {
    const bp__work *work = context;
    const bp__lowered *l = work->lowered;
    *tensor = bp__located_tensor(l, l->same[value]);
    const bp_operand *at = &work->operands[(*work->next_operand)++];
    tensor->data = at->base ? (void *)((uintptr_t)at->base + (uintptr_t)at->offset) : NULL;
}

/* Runs a call that has no plan of its own, on the addresses of this run. */
static bp_status run_work(const void *context, const bp_operand *operands) {
    const bp__work *given = context;
    const bp__node *node = given->node;
    struct {
        bp__bound bound;
        bp__work work;
    } *state = bp__alloc(sizeof *state);
    if (!state) {
        return bp__fail_memory(sizeof *state, "a call of a graph");
    }
    state->work = *given;
    int next = 0;
    state->work.operands = operands;
    state->work.next_operand = &next;
    bp_status status = bp__bind(&state->bound, node, locate_operand, &state->work);
    if (status == BP_OK) {
        bp__bound_leave_out(&state->bound, given->lowered, node);
        status = bp_call_run(NULL, node->call, state->bound.arguments.bytes);
    }
    bp__unbind(&state->bound);
    bp__free(state);
    return status;
}

/* bp__bind() asks for the tensors in the order of the operands, absent ones left out. */
static bp_status add_work(making *m, bp__part *part, const bp__node *node) {
    bp__work *work = bp__alloc_zero(1, sizeof *work);
    if (!work) {
        return bp__fail_memory(sizeof *work, "the plan of a graph");
    }
    *work = (bp__work){.next = m->plan->work, .node = node, .lowered = &m->plan->lowered};
    m->plan->work = work;
    part->work = run_work;
    part->context = work;
    const bp__lowered *l = &m->plan->lowered;
    for (int i = 0; i < node->pass->info.operand_count; i++) {
        for (int k = 0; k < node->list_count && node->pass->operand[i].shape == BP__LIST; k++) {
            add_place(m, place_of(l, node->list[k]));
        }
        if (node->operand[i]) {
            add_place(m, place_of(l, node->operand[i]));
        }
    }
    return BP_OK;
}

/* ---- Steps ---- */

/* Whether a run may do what a plan cannot, as a copy of an operand; or fails with the reason. */
static bool may_run(const bp__node *node, bp_status status) {
    return node->call->functions && status != BP_E_NO_MEMORY && status != BP_E_CANCELLED &&
           status != BP_E_NO_CANDIDATE && status != BP_E_NOT_FOUND && status != BP_E_FALLBACK;
}

/* Makes the plan of a node; NULL if it runs as a call. */
static bp_status plan_node(making *m, const bp__node *node, bp_plan **plan) {
    bp__held_error held;
    *plan = NULL;
    if (node->call->info.unplanned) {
        return BP_OK;
    }
    bp__error_hold(&held);
    const bp_status status = bp__lower_plan(plan, &m->plan->lowered, node, &m->bound);
    if (status == BP_OK) {
        bp__plan_keep_as_part();
    }
    return bp__error_finish(&held, status != BP_OK && may_run(node, status) ? BP_OK : status);
}

static int count_places(const bp__node *node) {
    return node->pass->info.operand_count + (node->list_count > 0 ? node->list_count - 1 : 0);
}

/* Adds the node of a step, whose plan may be made. */
static bp_status add_node(making *m, int index) {
    const int number = m->plan->lowered.steps[index].node;
    const bp__node *node = &m->plan->graph->nodes[number];
    bp__part *part = &m->parts[m->count];
    *part = (bp__part){.place = &m->places[m->place_count], .runs = 1, .plan = m->plans[index]};
    m->plans[index] = NULL;
    bp_status status = part->plan ? BP_OK : plan_node(m, node, &part->plan);
    if (status != BP_OK) {
        return bp__graph_fail_at(m->plan->graph, number, status);
    }
    m->plan->titles[m->count].node = number;
    m->count++;
    const int first = m->place_count;
    if (part->plan && part->plan->operands == count_places(node)) {
        add_places(m, node);
        part->places = m->place_count - first;
        return pack_constants(m, part);
    }
    bp__plan_release(part->plan);
    part->plan = NULL;
    status = add_work(m, part, node);
    part->places = m->place_count - first;
    return status;
}

/* ---- Regions ---- */

/* Makes the plans of functions of single elements that have such a neighbour. */
static bp_status plan_functions(making *m) {
    const bp__lowered *l = &m->plan->lowered;
    m->plans = bp__alloc_zero((size_t)l->step_count + 1, sizeof *m->plans);
    if (!m->plans) {
        return bp__fail_memory((size_t)l->step_count * sizeof *m->plans, "the plan of a graph");
    }
    for (int i = 0; i < l->step_count; i++) {
        const bool pair =
            (i > 0 && bp__step_is_pointwise(l, i - 1)) || (i + 1 < l->step_count && bp__step_is_pointwise(l, i + 1));
        if (!pair || !bp__step_is_pointwise(l, i)) {
            continue;
        }
        const bp_status status = plan_node(m, &l->graph->nodes[l->steps[i].node], &m->plans[i]);
        if (status != BP_OK) {
            return bp__graph_fail_at(l->graph, l->steps[i].node, status);
        }
    }
    return BP_OK;
}

/* Makes the plans of the regions, and drops those that no backend runs. */
static bp_status plan_regions(making *m) {
    bp__lowered *l = &m->plan->lowered;
    const int found = l->region_count;
    l->region_count = 0;
    for (int i = 0; i < found; i++) {
        bp__region region = l->regions[i];
        BP__TRY(bp__region_plan(l, &region, m->plans));
        if (region.plan) {
            l->regions[l->region_count++] = region;
        }
    }
    bp__lower_place_regions(l);
    return BP_OK;
}

/* Finds regions among the functions whose plans can compute elements in blocks. */
static bp_status find_regions(making *m) {
    bp__lowered *l = &m->plan->lowered;
    BP__TRY(plan_functions(m));
    bp_plan **joining = bp__alloc_zero((size_t)l->step_count + 1, sizeof *joining);
    if (!joining) {
        return bp__fail_memory((size_t)l->step_count * sizeof *joining, "the plan of a graph");
    }
    for (int i = 0; i < l->step_count; i++) {
        joining[i] = m->plans[i] && bp__elements_of(m->plans[i]) ? m->plans[i] : NULL;
    }
    bp_status status = bp__lower_regions(l, joining);
    bp__free(joining);
    return status == BP_OK ? plan_regions(m) : status;
}

static bp_status add_region(making *m, bp__region *region) {
    const bp__lowered *l = &m->plan->lowered;
    bp__part *part = &m->parts[m->count];
    bp__title *title = &m->plan->titles[m->count];
    bp_value list[BP__REGION_OPERANDS];
    int inputs;
    *part = (bp__part){.place = &m->places[m->place_count], .runs = 1, .plan = region->plan};
    region->plan = NULL;
    m->count++;
    *title = (bp__title){.node = -1, .region = region};
    bp__format(title->text, sizeof title->text, "%d nodes together", region->end - region->first);
    part->places = bp__region_operands(l, region, list, &inputs);
    for (int i = 0; i < part->places; i++) {
        add_place(m, place_of(l, list[i]));
    }
    return BP_OK;
}

/* ---- Copies ---- */

static bp_status add_copy(making *m, const bp__step *step) {
    const bp__lowered *l = &m->plan->lowered;
    bp__part *part = &m->parts[m->count];
    bp__step_copy(l, step, m->outputs, &m->copy);
    *part = (bp__part){.place = &m->places[m->place_count], .places = 2, .runs = 1};
    BP__TRY(bp_unary_plan(&part->plan, NULL, BP_UNARY_COPY, &m->copy.from, &m->copy.to));
    bp__plan_keep_as_part();
    m->plan->titles[m->count].node = -1;
    m->count++;
    const bp_value from = step->output >= 0 ? step->value : l->graph->values[step->value].from;
    add_place(m, place_of(l, from));
    add_place(m, step->output >= 0 ? m->copy.to_place : place_of(l, step->value));
    return BP_OK;
}

static void write_title(const making *m, const bp__step *step, bp__title *title) {
    const bp_graph *graph = m->plan->graph;
    if (step->node >= 0) {
        const bp__node *node = &graph->nodes[step->node];
        bp__format(title->text, sizeof title->text, "node %d (%s)", node->number, node->call->info.name);
    } else if (step->output >= 0) {
        bp__format(title->text, sizeof title->text, "copy to output %s", graph->outputs[step->output].name);
    } else {
        bp__format(title->text, sizeof title->text, "copy for the shape of value %d", step->value);
    }
}

/* ---- The workspace ---- */

static bp_status assign_blocks(bp__lowered *l, bp__arena *arena) {
    int next = 0;
    for (int i = 0; i < l->step_count; i++) {
        for (; next < l->use_count && l->uses[next].first == i; next++) {
            BP__TRY(bp__arena_take(arena, (double)l->uses[next].bytes, &l->uses[next].offset));
        }
        for (int k = l->steps[i].ends; k >= 0; k = l->uses[k].next) {
            bp__arena_give(arena, l->uses[k].offset);
        }
    }
    return BP_OK;
}

/* ---- Making ---- */

static size_t count_all_places(const bp__lowered *l) {
    size_t count = 0;
    for (int i = 0; i < l->step_count; i++) {
        count += l->steps[i].node < 0 ? 2 : (size_t)count_places(&l->graph->nodes[l->steps[i].node]);
    }
    return count;
}

static bp_status add_steps(making *m) {
    bp__lowered *l = &m->plan->lowered;
    const size_t steps = (size_t)l->step_count + 1, places = count_all_places(l) + 1;
    bp__region *region = l->regions, *end = region ? region + l->region_count : NULL;
    m->plan->titles = bp__alloc_zero(steps, sizeof *m->plan->titles);
    m->parts = bp__alloc_zero(steps, sizeof *m->parts);
    m->places = bp__alloc_zero(places, sizeof *m->places);
    if (!m->plan->titles || !m->parts || !m->places) {
        return bp__fail_memory(places * sizeof *m->places, "the plan of a graph");
    }
    for (int i = 0; i < l->step_count;) {
        const bp__step *step = &l->steps[i];
        if (region < end && region->first == i) {
            BP__TRY(add_region(m, region));
            i = region++->end;
            continue;
        }
        write_title(m, step, &m->plan->titles[m->count]);
        BP__TRY(step->node >= 0 ? add_node(m, i) : add_copy(m, step));
        i++;
    }
    return BP_OK;
}

static bp_status lower_graph(making *m) {
    bp__lowered *l = &m->plan->lowered;
    BP__TRY(bp__backends_check());
    bp__lower_mark(l);
    BP__TRY(bp__lower_join(l));
    BP__TRY(bp__lower_fold(l));
    BP__TRY(bp__layouts_choose(l, m->inputs, m->outputs));
    bp__lower(l, m->inputs, m->outputs);
    return find_regions(m);
}

/* Describes an operand of the whole. */
static bool describe_operand(const void *context, int operand, bp__elements *elements) {
    const making *m = context;
    const int inputs = m->plan->graph->input_count;
    const DLTensor *t = operand < inputs ? m->inputs[operand] : m->outputs[operand - inputs];
    int64_t strides[BP_MAX_NDIM];
    elements->dtype = bp_dtype_from_dlpack(t->dtype);
    elements->exact = true;
    bp__tensor_strides(t, strides);
    bp__elements_add_all(elements, t->ndim, t->shape, strides);
    return true;
}

static bp_status compose(bp_plan **plan, const making *m, bp__program *program, const bp__plan_key *key) {
    const bp_graph *graph = m->plan->graph;
    const int operands = graph->input_count + graph->output_count;
    const bp__address_source addresses = {
        .count = operands, .inputs = graph->input_count, .describe = describe_operand, .context = m};
    bp_policy policy;
    BP__TRY(bp__policy_resolve(&policy, &bp__family_graph));
    bp__composition c = {.op = BP_OP_GRAPH,
                         .dtype = graph->values[graph->outputs[0].value].dtype,
                         .policy = &policy,
                         .operands = operands,
                         .addresses = &addresses,
                         .algorithm = "several parts",
                         .key = *key};
    BP__TRY(bp__program_sum_up(program, &c));
    bp__text words = {0}, reason = {0};
    bp__text_addf(&words, "%d nodes in %d part%s, %d inputs, %d outputs", graph->node_count, program->count,
                  program->count == 1 ? "" : "s", graph->input_count, graph->output_count);
    bp__text_addf(&reason, "the slowest part: %s", c.reason);
    c.text = bp__text_get(&words);
    c.reason = bp__text_get(&reason);
    bp_status status = bp__plan_compose(plan, &program->base, &c);
    bp__text_free(&words);
    bp__text_free(&reason);
    return status;
}

/* Releases the plans that no part has. The plans of regions have references of their own. */
static void release_plans(making *m) {
    for (int i = 0; m->plans && i < m->plan->lowered.step_count; i++) {
        bp__plan_release(m->plans[i]);
    }
    for (int i = 0; i < m->plan->lowered.region_count; i++) {
        bp__plan_release(m->plan->lowered.regions[i].plan);
        m->plan->lowered.regions[i].plan = NULL;
    }
    bp__free(m->plans);
    m->plans = NULL;
}

static bp_status make_program(making *m, bp__program **program) {
    bp__arena arena = {0};
    bp_status status = lower_graph(m);
    status = status == BP_OK ? assign_blocks(&m->plan->lowered, &arena) : status;
    const int64_t workspace = arena.peak;
    bp__arena_free(&arena);
    status = status == BP_OK ? add_steps(m) : status;
    release_plans(m);
    if (status != BP_OK) {
        bp__parts_release(m->parts, m->count);
        drop_plan(m->plan);
        return status;
    }
    const bp__program_source source = {.op = BP_OP_GRAPH,
                                       .parts = m->parts,
                                       .count = m->count,
                                       .workspace = workspace,
                                       .owner = m->plan,
                                       .drop = drop_plan,
                                       .title = title_of};
    return bp__program_make(program, &source);
}

static bp_status begin_plan(making *m, bp_graph *graph) {
    m->plan = bp__alloc_zero(1, sizeof *m->plan);
    if (!m->plan) {
        return bp__fail_memory(sizeof *m->plan, "the plan of a graph");
    }
    bp_status status = bp__lower_begin(&m->plan->lowered, graph);
    if (status != BP_OK) {
        bp__free(m->plan);
        return status;
    }
    m->plan->graph = graph;
    atomic_fetch_add_explicit(&graph->references, 1, memory_order_relaxed);
    return BP_OK;
}

static bp_status make_whole(making *m, bp_plan **plan, bp_graph *graph, const bp__plan_key *key) {
    bp__program *program;
    BP__TRY(begin_plan(m, graph));
    BP__TRY(make_program(m, &program));
    bp_status status = compose(plan, m, program, key);
    if (status != BP_OK) {
        program->base.destroy(&program->base);
    }
    return status;
}

bp_status bp__graph_plan_make(bp_plan **plan, const bp_graph *graph, const DLTensor *const *inputs,
                              const DLTensor *const *outputs, const bp__plan_key *key) {
    making *m = bp__alloc_zero(1, sizeof *m); /* large: not on the stack */
    *plan = NULL;
    if (!m) {
        return bp__fail_memory(sizeof *m, "the plan of a graph");
    }
    m->inputs = inputs;
    m->outputs = outputs;
    bp_status status = make_whole(m, plan, (bp_graph *)(uintptr_t)graph, key); /* the count of references changes */
    bp__free(m->parts);
    bp__free(m->places);
    bp__free(m);
    return status;
}
