/* plan.c - makes a plan of a whole graph: plans of its nodes in order, with packed constants and one workspace.
 *
 * The nodes' plans are the ones that their calls would get under the same settings, on the same layouts, so that a plan
 * gives the bits of the calls one by one. */
#include "graph/plan.h"

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
    const bp__blocks *blocks;       /* the steps that are made; NULL: whole tensors */
    int64_t block_size, block_from; /* in elements along their axis: of a block, and where the first one is */
    bp__block_operand block_operand[BP__MOST_OPERANDS];
    int block_operands;
} making;

static void locate_tensor(const void *context, bp_value value, DLTensor *tensor) {
    const bp__lowered *l = context;
    *tensor = bp__located_tensor(l, l->same[value]);
}

static bp__place place_of(const bp__lowered *l, bp_value value) {
    const bp__located *at = &l->at[l->same[value]];
    bp__place place = at->place;
    if (at->place.home == BP__AT_WORK) {
        place.offset += l->uses[at->block].offset;
    }
    return bp__value_bytes(&l->graph->values[value]) > 0 ? place : (bp__place){.home = BP__NOWHERE};
}

/* Writes the tensor of a value in a block. Operands are asked for one after another; what is made holds their shapes.
 */
static void locate_in_block(const void *context, bp_value value, DLTensor *tensor) {
    making *m = *(making *const *)context;
    const bp__lowered *l = &m->plan->lowered;
    bp__block_operand *operand = &m->block_operand[m->block_operands++];
    bp__block_operand_of(l, m->blocks, l->same[value], m->block_size, operand);
    *tensor = operand->tensor;
}

/* Returns the place of a value in the first of the blocks. */
static bp__place place_in_block(making *m, bp_value value) {
    const bp__lowered *l = &m->plan->lowered;
    const bp_value v = l->same[value];
    const bp__blocks *b = m->blocks;
    bp__place place = place_of(l, v);
    bp__block_operand *operand = &m->block_operand[0];
    if (l->inner[v]) {
        place.apart = b->threads > 1 ? l->uses[l->at[v].block].bytes / b->threads : 0;
        return place;
    }
    bp__block_operand_of(l, b, v, m->block_size, operand);
    place.advance = operand->advance;
    place.offset += operand->advance / m->block_size * m->block_from;
    return place;
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

static bp_status ask_plan(making *m, const bp__node *node, bp_plan **plan) {
    bp_status status = bp__bind(&m->bound, node, locate_tensor, &m->plan->lowered);
    if (status == BP_OK) {
        bp__bound_leave_out(&m->bound, &m->plan->lowered, node);
        status = bp_call_plan(plan, NULL, node->call, m->bound.arguments.bytes);
    }
    bp__unbind(&m->bound);
    if (status == BP_OK) {
        bp__plan_keep_as_part();
    }
    return status;
}

/* Makes the plan of a node; NULL if it runs as a call. */
static bp_status plan_node(making *m, const bp__node *node, bp_plan **plan) {
    bp__held_error held;
    *plan = NULL;
    if (node->call->info.unplanned) {
        return BP_OK;
    }
    bp__error_hold(&held);
    const bp_status status = ask_plan(m, node, plan);
    return bp__error_finish(&held, status != BP_OK && may_run(node, status) ? BP_OK : status);
}

static int count_places(const bp__node *node) {
    return node->pass->info.operand_count + (node->list_count > 0 ? node->list_count - 1 : 0);
}

static bp_status add_node(making *m, int number) {
    const bp__node *node = &m->plan->graph->nodes[number];
    bp__part *part = &m->parts[m->count];
    *part = (bp__part){.place = &m->places[m->place_count], .runs = 1};
    bp_status status = plan_node(m, node, &part->plan);
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

/* ---- Blocks ---- */

static bp_status ask_block_plan(making *m, const bp__node *node, bp_plan **plan) {
    m->block_operands = 0;
    bp_status status = bp__bind(&m->bound, node, locate_in_block, &m);
    if (status == BP_OK) {
        status = bp_call_plan(plan, NULL, node->call, m->bound.arguments.bytes);
    }
    bp__unbind(&m->bound);
    if (status == BP_OK) {
        bp__plan_keep_as_part();
    }
    return status;
}

static bp_status add_block_node(making *m, const bp__step *step, int64_t runs) {
    const bp__node *node = &m->plan->graph->nodes[step->node];
    bp__part *part = &m->parts[m->count];
    bp__title *title = &m->plan->titles[m->count];
    *part = (bp__part){.place = &m->places[m->place_count], .runs = runs};
    const bp_status status = ask_block_plan(m, node, &part->plan);
    if (status != BP_OK) {
        return bp__graph_fail_at(m->plan->graph, step->node, status);
    }
    m->count++;
    title->node = step->node;
    bp__format(title->text, sizeof title->text, "node %d (%s), %s", step->node, node->call->info.name,
               runs > 1 ? "in blocks" : "the rest");
    part->places = node->pass->info.operand_count;
    for (int i = 0; i < part->places; i++) {
        add_place(m, place_in_block(m, node->operand[i]));
    }
    return BP_OK;
}

/* Returns whether threads can share a loop: its plans take no workspace. There is one for the program. */
static bool may_share(const bp__part *parts, int count) {
    size_t workspace = 0;
    for (int i = 0; i < count; i++) {
        workspace += parts[i].plan->prepared->workspace;
    }
    return workspace == 0;
}

/* Adds the loop over whole blocks, then the steps on what is left. */
static bp_status add_blocks(making *m, const bp__blocks *b) {
    const bp__lowered *l = &m->plan->lowered;
    m->blocks = b;
    for (int turn = 0; turn < (b->rest > 0 ? 2 : 1); turn++) {
        bp__part *first = &m->parts[m->count];
        m->block_size = turn ? b->rest : b->size;
        m->block_from = turn ? b->count * b->size : 0;
        for (int i = b->first; i < b->end; i++) {
            BP__TRY(add_block_node(m, &l->steps[i], turn ? 1 : b->count));
        }
        first->loop = turn ? 0 : b->end - b->first;
        first->threads = !turn && may_share(first, b->end - b->first) ? b->threads : 0;
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
        bp__format(title->text, sizeof title->text, "node %d (%s)", step->node,
                   graph->nodes[step->node].call->info.name);
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
    const size_t steps = 2 * (size_t)l->step_count + 1, places = 2 * count_all_places(l) + 1; /* blocks have a rest */
    const bp__blocks *blocks = l->blocks, *end = blocks ? blocks + l->blocks_count : NULL;
    m->plan->titles = bp__alloc_zero(steps, sizeof *m->plan->titles);
    m->parts = bp__alloc_zero(steps, sizeof *m->parts);
    m->places = bp__alloc_zero(places, sizeof *m->places);
    if (!m->plan->titles || !m->parts || !m->places) {
        return bp__fail_memory(places * sizeof *m->places, "the plan of a graph");
    }
    for (int i = 0; i < l->step_count;) {
        const bp__step *step = &l->steps[i];
        if (blocks < end && blocks->first == i) {
            BP__TRY(add_blocks(m, blocks));
            i = blocks++->end;
            continue;
        }
        write_title(m, step, &m->plan->titles[m->count]);
        BP__TRY(step->node >= 0 ? add_node(m, step->node) : add_copy(m, step));
        i++;
    }
    return BP_OK;
}

static bp_status lower_graph(making *m) {
    bp__lowered *l = &m->plan->lowered;
    bp__lower_mark(l);
    BP__TRY(bp__lower_join(l));
    BP__TRY(bp__lower_fold(l));
    BP__TRY(bp__layouts_choose(l, m->inputs, m->outputs));
    bp__lower(l, m->inputs, m->outputs);
    bp_policy policy;
    BP__TRY(bp__policy_resolve(&policy, &bp__family_graph));
    return bp__lower_blocks(l, policy.threads);
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

static bp_status make_program(making *m, bp__program **program) {
    bp__arena arena = {0};
    bp_status status = lower_graph(m);
    status = status == BP_OK ? assign_blocks(&m->plan->lowered, &arena) : status;
    const int64_t workspace = arena.peak;
    bp__arena_free(&arena);
    status = status == BP_OK ? add_steps(m) : status;
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
