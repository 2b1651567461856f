/* region_own.c - makes plans of regions that backends of the program run: describes a region to them as data, and runs
 * what they prepared. */
#include "graph/region.h"

#include "base/number.h"
#include "dispatch/composition.h"

#include <inttypes.h>
#include <string.h>

/* ---- Descriptions ---- */

enum { WORD = 32 /* bytes of a function's name */ };

struct bp__region_description {
    bp_region region; /* its arrays are below */
    bp_value list[BP__REGION_VALUES];
    bp_region_value value[BP__REGION_VALUES];
    bp_region_node node[BP__REGION_STEPS];
    char word[BP__REGION_STEPS][WORD];
    int64_t strides[]; /* of each operand */
};

static int place_of(const bp__region_description *d, bp_value value) {
    int i = 0;
    while (d->list[i] != value) {
        i++;
    }
    return i;
}

static void describe_value(bp__region_description *d, const bp__lowered *l, const bp__graph_value *result, int i) {
    const bp_value v = d->list[i];
    bp_region_value *value = &d->value[i];
    value->dtype = l->graph->values[v].dtype;
    if (i >= d->region.input_count + d->region.output_count) {
        return;
    }
    int64_t *strides = d->strides + (ptrdiff_t)i * result->ndim;
    bp__region_strides(l, result, v, strides);
    value->strides = strides;
    if (l->at[v].place.home == BP__AT_CONSTANT) {
        value->constant = (const char *)l->at[v].place.constant + l->at[v].place.offset;
    }
}

static void describe_node(bp__region_description *d, const bp__lowered *l, int step) {
    const int index = d->region.node_count++;
    const bp__node *node = &l->graph->nodes[l->steps[step].node];
    bp_region_node *described = &d->node[index];
    bp__node_function(node, d->word[index], WORD);
    bp__node_numbers(node, 2, described->number);
    described->call = node->call->info.name;
    described->function = d->word[index];
    described->operand_count = node->pass->info.input_count;
    for (int i = 0; i < described->operand_count; i++) {
        described->operand[i] = place_of(d, l->same[node->operand[i]]);
    }
    described->result = place_of(d, bp__step_result(l, step));
    described->node = l->steps[step].node;
}

/* Lists the operands, and then the results that only the region reads. */
static void list_values(bp__region_description *d, const bp__lowered *l, const bp__region *region) {
    int inputs = 0, count = bp__region_operands(l, region, d->list, &inputs);
    d->region.input_count = inputs;
    d->region.output_count = count - inputs;
    for (int s = region->first; s < region->end; s++) {
        const bp_value v = bp__step_result(l, s);
        int i = 0;
        while (i < count && d->list[i] != v) {
            i++;
        }
        d->list[i] = v;
        count += i == count;
    }
    d->region.value_count = count;
}

bp_status bp__region_describe(bp__region_description **made, const bp__lowered *l, const bp__region *region,
                              const bp_policy *policy) {
    const bp__graph_value *result = &l->graph->values[bp__step_result(l, region->first)];
    const size_t strides = BP__REGION_OPERANDS * (size_t)result->ndim * sizeof(int64_t);
    bp__region_description *d = bp__alloc_zero(1, sizeof *d + strides);
    *made = d;
    if (!d) {
        return bp__fail_memory(sizeof *d + strides, "the plan of a graph");
    }
    list_values(d, l, region);
    d->region.struct_size = sizeof d->region;
    d->region.ndim = result->ndim;
    d->region.shape = result->shape;
    d->region.values = d->value;
    d->region.nodes = d->node;
    d->region.threads = policy->threads;
    d->region.deterministic = policy->deterministic;
    for (int i = 0; i < d->region.value_count; i++) {
        describe_value(d, l, result, i);
    }
    for (int s = region->first; s < region->end; s++) {
        describe_node(d, l, s);
    }
    return BP_OK;
}

/* ---- Offers ---- */

static void refuse(bp__region_offer *o, const char *reason) {
    o->accepted = false;
    bp__format(o->reason, sizeof o->reason, "%s", reason);
}

void bp__region_ask(bp__region_offer *o, const bp__region_description *d) {
    const bp_graph_backend *given = &o->backend->given;
    bp_region_offer offer = {.struct_size = sizeof offer};
    o->accepted = given->accept(given->user, &d->region, &offer) != 0;
    offer.reason[sizeof offer.reason - 1] = '\0';
    o->offer = offer;
    o->offer.threads = offer.threads > 0 ? offer.threads : 1;
    const uint32_t needed = d->region.deterministic == 0   ? 0
                            : d->region.deterministic == 1 ? BP_PROPERTY_REPRODUCIBLE
                                                           : BP_PROPERTY_THREAD_INVARIANT;
    if (!o->accepted) {
        refuse(o, offer.reason[0] ? offer.reason : "it told no reason");
    } else if (!(offer.cost_ns >= 0)) {
        refuse(o, "its estimated time is no number from 0 on");
    } else if ((offer.properties & needed) != needed) {
        refuse(o, "does not guarantee the requested determinism");
    }
}

/* ---- Plans ---- */

typedef struct own_call {
    bp_prepared base; /* must be first */
    bp__backend *backend;
    void *planned;
    int operands;
} own_call;

static bp_status run_own(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const own_call *own = (const own_call *)self;
    void *address[BP__REGION_OPERANDS];
    for (int i = 0; i < own->operands; i++) {
        address[i] = bp_operand_address(&operands[i]);
    }
    const bp_status status = own->backend->given.run(own->planned, address, bp_operand_address(&exec->workspace));
    return status == BP_OK || status == BP_E_CANCELLED
               ? status
               : bp__fail(status, "backend %s: %s", own->backend->given.name, bp_status_text(status));
}

static void destroy_own(bp_prepared *self) {
    own_call *own = (own_call *)self;
    own->backend->given.destroy(own->planned);
    bp__backend_give(own->backend);
    bp__free(own);
}

static bp_status compose(bp_plan **plan, own_call *own, const bp__region_description *d, const bp_region_offer *offer,
                         const bp_plan *first) {
    static const bp__address_source none = {0}; /* the whole plan's were checked */
    bp__composition c = {.op = BP_OP_GRAPH,
                         .dtype = d->value[own->operands - 1].dtype,
                         .policy = &first->problem.policy,
                         .candidate = first->candidate,
                         .operands = own->operands,
                         .addresses = &none,
                         .properties = offer->properties & (BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT |
                                                            BP_PROPERTY_PROPAGATES_NAN),
                         .threads = offer->threads,
                         .cost_ns = offer->cost_ns,
                         .algorithm = own->backend->given.name,
                         .reason = "a backend of the program"};
    bp__text words = {0};
    bp__text_addf(&words, "%d functions", d->region.node_count);
    c.text = bp__text_get(&words);
    bp_status status = bp__plan_compose(plan, &own->base, &c);
    bp__text_free(&words);
    return status;
}

bp_status bp__region_plan_own(bp_plan **plan, const bp__region_offer *o, const bp__region_description *d,
                              const bp_plan *first) {
    own_call *own = bp__alloc_zero(1, sizeof *own);
    if (!own) {
        return bp__fail_memory(sizeof *own, "the plan of a graph");
    }
    own->base = (bp_prepared){
        .struct_size = sizeof own->base, .enqueue = run_own, .destroy = destroy_own, .workspace = o->offer.workspace};
    own->backend = o->backend;
    own->operands = d->region.input_count + d->region.output_count;
    const bp_graph_backend *given = &o->backend->given;
    bp_status status = given->plan(given->user, &d->region, &own->planned);
    if (status != BP_OK) {
        bp__free(own);
        return bp__fail(status, "backend %s: %s", given->name, bp_status_text(status));
    }
    atomic_fetch_add(&own->backend->references, 1);
    status = compose(plan, own, d, &o->offer, first);
    if (status != BP_OK) {
        destroy_own(&own->base);
    }
    return status;
}
