/* region.c - makes plans of regions: which functions run in a block, two of them as one where the library can, and
 * where the block of each value is.
 *
 * The functions are the ones of the plans that the nodes would have on their own, so that the bits are equal. */
#include "graph/region.h"

#include "base/number.h"
#include "dispatch/composition.h"

#include <inttypes.h>
#include <string.h>

enum {
    USUAL_CACHE = 1 << 15, /* bytes of a first cache */
    LINE = 64,
    FIRST_SLOT = BP__REGION_OPERANDS,
    SHARE_NS = 50000 /* the least work of a thread */
};

/* Nanoseconds to read or write a byte that a cache holds, and one in memory. */
#define CACHE_BYTE_NS 0.01
#define MEMORY_BYTE_NS 0.04

/* ---- Functions ---- */

typedef struct making {
    const bp__lowered *l;
    const bp__region *region;
    bp__region_call *r;
    bp_value list[BP__REGION_OPERANDS];
    bp_dtype dtype[BP__REGION_STEPS]; /* of each function's result */
    int last_use[BP__REGION_STEPS];   /* the step that reads a result last; -1: none */
    int slot[BP__REGION_STEPS];       /* of a result */
    bp_dtype slot_dtype[BP__REGION_STEPS];
    int64_t slot_item[BP__REGION_STEPS]; /* bytes */
    bool slot_free[BP__REGION_STEPS];
} making;

/* Returns where a value is: an operand, or FIRST_SLOT and the function that computes it. */
static int16_t place_of(const making *m, bp_value value) {
    for (int i = 0; i < m->r->tiles.operands; i++) {
        if (m->list[i] == value) {
            return (int16_t)i;
        }
    }
    int s = m->region->first;
    while (bp__step_result(m->l, s) != value) {
        s++;
    }
    return (int16_t)(FIRST_SLOT + s - m->region->first);
}

static void add_functions(making *m, bp_plan *const *plans) {
    bp__region_call *r = m->r;
    for (int s = m->region->first; s < m->region->end; s++) {
        const bp__node *node = &m->l->graph->nodes[m->l->steps[s].node];
        bp__region_step *step = &r->step[r->step_count];
        step->call = plans[s]->prepared;
        step->values = node->pass->info.operand_count;
        for (int i = 0; i < step->values; i++) {
            step->value[i] = place_of(m, m->l->same[node->operand[i]]);
        }
        m->dtype[r->step_count++] = m->l->graph->values[bp__step_result(m->l, s)].dtype;
        bp__plan_retain(plans[s]);
        r->plan[r->plan_count++] = plans[s];
    }
}

/* ---- Two functions as one ---- */

/* Finds the only argument that has the value. Returns false if there is none, or several. */
static bool find_reader(const bp__region_call *r, int from, int16_t value, int *reader, int *argument) {
    int found = 0;
    for (int s = from; s < r->step_count; s++) {
        for (int i = 0; i < r->step[s].values - 1; i++) {
            if (r->step[s].value[i] == value) {
                *reader = s;
                *argument = i;
                found++;
            }
        }
    }
    return found == 1;
}

/* Puts the arguments of both, and the result of the second one, into the second one. */
static void put_together(bp__region_step *first, bp__region_step *second, int argument) {
    bp__region_step both = {.values = first->values - 1};
    memcpy(both.value, first->value, sizeof both.value);
    for (int i = 0; i < second->values; i++) {
        if (i != argument) {
            both.value[both.values++] = second->value[i];
        }
    }
    memcpy(second->value, both.value, sizeof both.value);
    second->values = both.values;
    first->call = NULL;
}

static bp_status join_step(making *m, int first) {
    bp__region_call *r = m->r;
    bp__region_step *f = &r->step[first];
    int reader, argument;
    if (!f->call || !f->call->join || f->value[f->values - 1] < FIRST_SLOT ||
        !find_reader(r, first + 1, f->value[f->values - 1], &reader, &argument)) {
        return BP_OK;
    }
    bp__region_step *g = &r->step[reader];
    bp_prepared *joined = NULL;
    if (f->values + g->values - 2 > BP__REGION_ARGUMENTS) {
        return BP_OK;
    }
    BP__TRY(f->call->join(f->call, g->call, argument, &joined));
    if (joined) {
        r->joined[r->joined_count++] = joined;
        put_together(f, g, argument);
        g->call = joined;
    }
    return BP_OK;
}

/* A joined function has no join() itself. Removes the functions that are part of another one. */
static bp_status join_steps(making *m) {
    bp__region_call *r = m->r;
    int kept = 0;
    for (int s = 0; s < r->step_count; s++) {
        BP__TRY(join_step(m, s));
    }
    for (int s = 0; s < r->step_count; s++) {
        if (r->step[s].call) {
            r->step[kept++] = r->step[s];
        }
    }
    r->step_count = kept;
    return BP_OK;
}

/* ---- Blocks of memory ---- */

static void find_last_uses(making *m) {
    memset(m->last_use, -1, sizeof m->last_use);
    for (int s = 0; s < m->r->step_count; s++) {
        const bp__region_step *step = &m->r->step[s];
        for (int i = 0; i < step->values - 1; i++) {
            if (step->value[i] >= FIRST_SLOT) {
                m->last_use[step->value[i] - FIRST_SLOT] = s;
            }
        }
    }
}

/* Returns the slot of an argument that nothing reads any more; -1: the argument is none. */
static int slot_that_ends(const making *m, int step, int argument) {
    const int value = m->r->step[step].value[argument] - FIRST_SLOT;
    return value >= 0 && m->last_use[value] == step ? m->slot[value] : -1;
}

/* Returns the slot for a result: of an argument of its type, a free one, or a new one. */
static int choose_slot(making *m, int step, bp_dtype dtype) {
    bp__region_call *r = m->r;
    for (int i = 0; i < r->step[step].values - 1; i++) {
        const int slot = slot_that_ends(m, step, i);
        if (slot >= 0 && m->slot_dtype[slot] == dtype) {
            return slot;
        }
    }
    for (int slot = 0; slot < r->slot_count; slot++) {
        if (m->slot_free[slot] && m->slot_item[slot] >= (int64_t)bp_dtype_size(dtype)) {
            return slot;
        }
    }
    m->slot_item[r->slot_count] = (int64_t)bp_dtype_size(dtype);
    return r->slot_count++;
}

static void assign_slot(making *m, int s) {
    bp__region_step *step = &m->r->step[s];
    const int value = step->value[step->values - 1] - FIRST_SLOT;
    const int taken = value >= 0 ? choose_slot(m, s, m->dtype[value]) : -1;
    for (int i = 0; i < step->values - 1; i++) {
        const int slot = slot_that_ends(m, s, i);
        if (slot >= 0) {
            m->slot_free[slot] = true;
        }
    }
    if (taken >= 0) {
        m->slot[value] = taken;
        m->slot_dtype[taken] = m->dtype[value];
        m->slot_free[taken] = m->last_use[value] < 0;
    }
}

static void assign_slots(making *m) {
    find_last_uses(m);
    for (int s = 0; s < m->r->step_count; s++) {
        assign_slot(m, s);
    }
    for (int s = 0; s < m->r->step_count; s++) {
        bp__region_step *step = &m->r->step[s];
        for (int i = 0; i < step->values; i++) {
            if (step->value[i] >= FIRST_SLOT) {
                step->value[i] = (int16_t)(FIRST_SLOT + m->slot[step->value[i] - FIRST_SLOT]);
            }
        }
    }
}

/* ---- Elements ---- */

void bp__region_strides(const bp__lowered *l, const bp__graph_value *result, bp_value value, int64_t *strides) {
    const bp__graph_value *v = &l->graph->values[value];
    const int added = result->ndim - v->ndim;
    for (int d = 0; d < result->ndim; d++) {
        strides[d] = d < added || v->shape[d - added] == 1 ? 0 : l->at[value].strides[d - added];
    }
}

static void describe_operand(const making *m, const bp__graph_value *result, bp_value value,
                             bp__tile_operand *operand) {
    operand->dtype = m->l->graph->values[value].dtype;
    operand->item = (int64_t)bp_dtype_size(operand->dtype);
    bp__region_strides(m->l, result, value, operand->stride);
}

/* Returns the bytes of a block's tensors. They stay in the first cache, with space for what the next block loads. */
static int64_t block_limit(void) {
    const int64_t wanted = bp__setting_int(BP_SET_graph_block_bytes), cache = bp__host()->machine->l1d_bytes;
    return wanted > 0 ? wanted : (cache > 0 ? cache : USUAL_CACHE) / 2;
}

static void cut_elements(making *m) {
    bp__tiles *t = &m->r->tiles;
    const bp__graph_value *result = &m->l->graph->values[m->list[t->operands - 1]];
    int64_t bytes = 0;
    for (int i = 0; i < t->operands; i++) {
        describe_operand(m, result, m->list[i], &t->operand[i]);
        bytes += t->operand[i].item;
    }
    for (int slot = 0; slot < m->r->slot_count; slot++) {
        bytes += m->slot_item[slot];
    }
    const int64_t elements = block_limit() / bytes;
    bp__tiles_order(t, result->ndim, result->shape);
    bp__tiles_cut(t, elements > LINE ? elements / LINE * LINE : elements);
}

static int64_t take_slot(bp__region_call *r, int slot, int64_t item) {
    const int64_t bytes = r->tiles.rows * r->tiles.columns * item;
    r->slot_at[slot] = r->thread_bytes;
    /* Slots at a distance of a power of two would be in the same sets of the cache. */
    r->thread_bytes += (bytes + LINE - 1) / LINE * LINE + LINE;
    return bytes;
}

static void place_slots(making *m) {
    bp__region_call *r = m->r;
    for (int slot = 0; slot < r->slot_count; slot++) {
        take_slot(r, slot, m->slot_item[slot]);
    }
    for (int i = 0; i < r->tiles.operands; i++) {
        r->slot_of[i] = -1;
        if (!r->tiles.operand[i].direct) {
            r->slot_of[i] = (int16_t)r->slot_count;
            take_slot(r, r->slot_count++, r->tiles.operand[i].item);
        }
    }
}

/* ---- Plans ---- */

static void destroy(bp_prepared *self) {
    bp__region_call *r = (bp__region_call *)self;
    for (int i = 0; i < r->joined_count; i++) {
        r->joined[i]->destroy(r->joined[i]);
    }
    for (int i = 0; i < r->plan_count; i++) {
        bp__plan_release(r->plan[i]);
    }
    bp__free(r);
}

/* Sets the threads, and returns the estimated time. */
static double estimate(bp__region_call *r, int most) {
    const bp__tiles *t = &r->tiles;
    double each = 0, bytes = 0, elements = 1;
    for (int s = 0; s < r->step_count; s++) {
        each += r->step[s].call->element_ns;
    }
    for (int i = 0; i < t->operands; i++) {
        bytes += t->operand[i].constant ? 0 : (double)t->operand[i].item * (t->operand[i].direct ? 1 : 4);
    }
    for (int d = 0; d < t->ndim; d++) {
        elements *= (double)t->size[d];
    }
    const bool cached = elements * bytes < (double)bp__host()->machine->l3_bytes;
    const double alone = 100 + elements * (each + bytes * (cached ? CACHE_BYTE_NS : MEMORY_BYTE_NS)),
                 shares = alone / SHARE_NS;
    const int64_t worth = shares < (double)t->count ? (int64_t)shares : t->count;
    r->threads = (int)(worth < 1 ? 1 : worth < most ? worth : most);
    return r->threads > 1 ? alone / r->threads + 4000 : alone;
}

static bp_status fill(making *m, bp_plan *const *plans) {
    add_functions(m, plans);
    BP__TRY(join_steps(m));
    assign_slots(m);
    cut_elements(m);
    place_slots(m);
    return BP_OK;
}

static bp_status make(making *m, bp_plan *const *plans) {
    bp__region_call *r = m->r;
    r->base = (bp_prepared){.struct_size = sizeof r->base, .enqueue = bp__region_run, .destroy = destroy};
    r->tiles.operands = bp__region_operands(m->l, m->region, m->list, &r->inputs);
    BP__TRY(fill(m, plans));
    r->cost_ns = estimate(r, r->plan[0]->problem.policy.threads);
    r->base.workspace = (size_t)(r->thread_bytes * r->threads);
    return BP_OK;
}

bp_status bp__region_blocks(bp__region_call **made, const bp__lowered *l, const bp__region *region,
                            bp_plan *const *plans, double *cost_ns) {
    making *m = bp__alloc_zero(1, sizeof *m); /* large: not on the stack */
    bp__region_call *r = bp__alloc_zero(1, sizeof *r);
    bp_status status = BP_E_NO_MEMORY;
    if (m && r) {
        *m = (making){.l = l, .region = region, .r = r};
        status = make(m, plans);
        *cost_ns = r->cost_ns;
    } else {
        bp__fail_memory(sizeof *m + sizeof *r, "the plan of a graph");
    }
    if (status != BP_OK) {
        bp__region_blocks_free(r);
        r = NULL;
    }
    bp__free(m);
    *made = r;
    return status;
}

void bp__region_blocks_free(bp__region_call *r) {
    if (r) {
        destroy(&r->base);
    }
}

bp_status bp__region_blocks_plan(bp_plan **plan, bp__region_call *r) {
    static const bp__address_source none = {0}; /* the whole plan's were checked */
    const bp_plan *first = r->plan[0];
    bp__composition c = {.op = BP_OP_GRAPH,
                         .dtype = r->tiles.operand[r->tiles.operands - 1].dtype,
                         .policy = &first->problem.policy,
                         .candidate = first->candidate,
                         .operands = r->tiles.operands,
                         .addresses = &none,
                         .properties = first->verdict.properties,
                         .threads = r->threads,
                         .cost_ns = r->cost_ns,
                         .algorithm = "blocks",
                         .reason = first->reason};
    for (int i = 1; i < r->plan_count; i++) {
        c.properties &= r->plan[i]->verdict.properties;
    }
    bp__text words = {0};
    bp__text_addf(&words, "%d functions in %" PRId64 " blocks of %" PRId64 " elements", r->plan_count, r->tiles.count,
                  r->tiles.rows * r->tiles.columns);
    c.text = bp__text_get(&words);
    bp_status status = bp__plan_compose(plan, &r->base, &c);
    bp__text_free(&words);
    if (status != BP_OK) {
        destroy(&r->base);
    }
    return status;
}

const bp__region_call *bp__region_of(const bp_plan *plan) {
    const bp_prepared *inner = plan && plan->composed ? bp__plan_inner(plan) : NULL;
    return inner && inner->enqueue == bp__region_run ? (const bp__region_call *)inner : NULL;
}
