/* explain.c - explains the plan of a graph as text and JSON: its parts, the libraries that run them, and the choice for
 * each. */
#include "graph/plan.h"
#include "graph/region.h"

#include "base/uncancelled.h"

#include <inttypes.h>

/* What planning did with the nodes. */
typedef struct counts {
    int planned, joined, folded, unused, in_place;
    int64_t constants; /* bytes, folded ones included */
} counts;

static bool has_value(const bp__lowered *l, const bp__node *node, bool (*is)(const bp__lowered *, bp_value)) {
    bool found = false;
    for (int i = node->pass->info.input_count; i < node->pass->info.operand_count; i++) {
        found |= node->operand[i] && is(l, node->operand[i]);
    }
    return found;
}

static bool is_joined(const bp__lowered *l, bp_value value) {
    return l->same[value] != value;
}

static bool is_folded(const bp__lowered *l, bp_value value) {
    return l->folded[value] != NULL;
}

static bool is_live(const bp__lowered *l, bp_value value) {
    return l->live[value];
}

static counts count_nodes(const bp__lowered *l) {
    counts c = {0};
    for (int i = 0; i < l->graph->node_count; i++) {
        const bp__node *node = &l->graph->nodes[i];
        int *kind = has_value(l, node, is_joined)   ? &c.joined
                    : has_value(l, node, is_folded) ? &c.folded
                    : has_value(l, node, is_live)   ? &c.planned
                                                    : &c.unused;
        ++*kind;
        c.in_place += kind == &c.planned && bp__layouts_is_joined(l, node);
    }
    for (bp_value v = 1; v <= l->graph->value_count; v++) {
        const bp__graph_value *value = &l->graph->values[v];
        c.constants += value->kind == BP__VALUE_CONSTANT || l->folded[v] ? bp__value_bytes(value) : 0;
    }
    return c;
}

/* Returns the label of the node of a part; NULL if there is none. */
static const char *label_of(const bp__program *program, int index) {
    const bp__graph_plan *plan = program->owner;
    const int node = plan->titles[index].node;
    return node >= 0 ? plan->lowered.graph->nodes[node].label : NULL;
}

static const bp__region *plan_region(const bp__program *program, int index) {
    return ((const bp__graph_plan *)program->owner)->titles[index].region;
}

/* Returns the library that runs a part, "program" for a backend of the program; NULL if the part has no plan. */
static const char *library_of(const bp__program *program, int index) {
    const bp_plan *plan = program->parts[index].plan;
    return !plan                                                 ? NULL
           : plan_region(program, index) && !bp__region_of(plan) ? "program"
                                                                 : bp__candidate_id(plan->candidate);
}

/* Adds what the other backends say, if the program has some. */
static void add_offers(bp__text *text, const bp__region *region) {
    char time[32];
    for (int i = 0; region && region->offer_count > 1 && i < region->offer_count; i++) {
        const bp__region_offer *o = &region->offers[i];
        const bool costs = o->accepted;
        bp__text_addf(text, "       %s backend %s: %s%s%s%s\n", o->chosen ? "*" : " ", o->name,
                      costs ? "estimated " : "refuses",
                      costs          ? bp__duration(o->offer.cost_ns, time, sizeof time)
                      : o->reason[0] ? ": "
                                     : "",
                      costs ? "" : o->reason, costs && o->rank < BP__BACKEND_UNNAMED ? ", preferred" : "");
    }
}

/* Adds the nodes of a region: their numbers, calls and fields. */
static void add_nodes(bp__text *text, const bp__program *program, int index) {
    const bp__graph_plan *plan = program->owner;
    const bp__region *region = plan->titles[index].region;
    for (int s = region ? region->first : 0; region && s < region->end; s++) {
        const bp__node *node = &plan->lowered.graph->nodes[plan->lowered.steps[s].node];
        const char *label = node->label;
        bp__text_addf(text, "         node %d (%s", node->number, node->call->info.name);
        bp__fields_write(node, text);
        bp__text_addf(text, ")%s%s%s\n", label ? " [" : "", label ? label : "", label ? "]" : "");
    }
}

static void add_part(bp__text *text, const bp__program *program, int index) {
    const bp__part *part = &program->parts[index];
    const char *label = label_of(program, index);
    char time[32];
    bp__text_addf(text, "  %3d  %-28s", index + 1, program->title(program->owner, index));
    if (part->plan) {
        bp__text_addf(text, " %-12s %-22s about %-10s %s%s", library_of(program, index), part->plan->verdict.algorithm,
                      bp__duration(bp__plan_expected_ns(part->plan), time, sizeof time), part->plan->text,
                      part->packed ? ", packed" : "");
        if (part->runs > 1) {
            bp__text_addf(text, ", %" PRId64 " times", part->runs);
        }
    } else {
        bp__text_add(text, " a call without a plan of its own");
    }
    bp__text_addf(text, "%s%s%s\n", label ? " [" : "", label ? label : "", label ? "]" : "");
    add_offers(text, plan_region(program, index));
    add_nodes(text, program, index);
}

static void add_layouts(bp__text *text, const bp__layouts *layouts, int in_place) {
    const double *ns = layouts->cost_ns;
    char times[2][32];
    if (in_place > 0) {
        bp__text_addf(text, "joined    %d node%s, whose operands are written into the result\n", in_place,
                      in_place == 1 ? "" : "s");
    }
    if (ns[true] > 0) {
        bp__text_addf(text, "images    %s: about %s with the channels last, %s row-major\n",
                      layouts->channels_last ? "channels last" : "row-major",
                      bp__duration(ns[true], times[0], sizeof times[0]),
                      bp__duration(ns[false], times[1], sizeof times[1]));
    } else if (layouts->channels_last) {
        bp__text_add(text, "images    channels last: graph.layout\n");
    }
}

/* Adds what graph.rewrite has changed. */
static void add_rewrites(bp__text *text, const bp_graph *graph) {
    const int norms = graph->norms_folded, attentions = graph->attentions_found;
    if (norms > 0) {
        bp__text_addf(text, "rewritten %d batch normalization%s, folded into the weights of the layer in front\n",
                      norms, norms == 1 ? "" : "s");
    }
    if (attentions > 0) {
        bp__text_addf(text, "rewritten %d softmax%s between two products, which %s attention\n", attentions,
                      attentions == 1 ? "" : "es", attentions == 1 ? "is" : "are");
    }
}

static void add_text(bp__text *text, const void *context) {
    const bp__program *program = context;
    const bp__graph_plan *plan = program->owner;
    const counts c = count_nodes(&plan->lowered);
    bp__text_addf(text,
                  "nodes     %d run, %d equal to another one, %d computed when the plan was made, %d not needed\n",
                  c.planned, c.joined, c.folded, c.unused);
    bp__text_addf(text, "constants %" PRId64 " bytes, and %" PRId64 " bytes packed\n", c.constants, plan->packed_bytes);
    bp__text_addf(text, "workspace %zu bytes\n", program->base.workspace);
    add_rewrites(text, plan->lowered.graph);
    add_layouts(text, &plan->lowered.layouts, c.in_place);
    bp__text_add(text, "parts\n");
    for (int i = 0; i < program->count; i++) {
        add_part(text, program, i);
    }
}

static void add_json_offers(bp__json *json, const bp__region *region) {
    bp__json_open(json, "backends", '[');
    for (int i = 0; i < region->offer_count; i++) {
        const bp__region_offer *o = &region->offers[i];
        bp__json_open(json, NULL, '{');
        bp__json_text(json, "name", o->name);
        bp__json_bool(json, "chosen", o->chosen);
        bp__json_bool(json, "accepted", o->accepted);
        bp__json_text(json, "reason", o->reason);
        bp__json_number(json, "cost_ns", o->offer.cost_ns);
        bp__json_close(json, '}');
    }
    bp__json_close(json, ']');
}

/* Adds the numbers of a region's nodes, and what the backends say. */
static void add_json_nodes(bp__json *json, const bp__graph_plan *plan, const bp__region *region) {
    if (region) {
        bp__json_open(json, "nodes", '[');
        for (int s = region->first; s < region->end; s++) {
            bp__json_int(json, NULL, plan->lowered.graph->nodes[plan->lowered.steps[s].node].number);
        }
        bp__json_close(json, ']');
        add_json_offers(json, region);
    }
}

static void add_json_part(bp__json *json, const bp__program *program, int index) {
    const bp__part *part = &program->parts[index];
    const bp__graph_plan *plan = program->owner;
    bp__json_open(json, NULL, '{');
    bp__json_text(json, "title", program->title(plan, index));
    if (plan->titles[index].node >= 0) {
        bp__json_int(json, "node", plan->lowered.graph->nodes[plan->titles[index].node].number);
    }
    if (label_of(program, index)) {
        bp__json_text(json, "label", label_of(program, index));
    }
    add_json_nodes(json, plan, plan->titles[index].region);
    bp__json_text(json, "library", library_of(program, index));
    bp__json_text(json, "algorithm", part->plan ? part->plan->verdict.algorithm : NULL);
    bp__json_int(json, "runs", part->runs);
    bp__json_bool(json, "packed", part->packed != NULL);
    bp__json_number(json, "cost_ns", part->plan ? bp__plan_expected_ns(part->plan) : 0);
    bp__json_close(json, '}');
}

static void add_json(bp__json *json, const void *context) {
    const bp__program *program = context;
    const bp__graph_plan *plan = program->owner;
    const counts c = count_nodes(&plan->lowered);
    bp__json_int(json, "nodes", c.planned);
    bp__json_int(json, "equal_nodes", c.joined);
    bp__json_int(json, "constant_nodes", c.folded);
    bp__json_int(json, "unused_nodes", c.unused);
    bp__json_int(json, "joined_nodes", c.in_place);
    bp__json_int(json, "folded_norms", plan->lowered.graph->norms_folded);
    bp__json_int(json, "found_attentions", plan->lowered.graph->attentions_found);
    bp__json_bool(json, "channels_last", plan->lowered.layouts.channels_last);
    bp__json_int(json, "constant_bytes", c.constants);
    bp__json_int(json, "packed_bytes", plan->packed_bytes);
    bp__json_int(json, "workspace", (int64_t)program->base.workspace);
    bp__json_open(json, "schedule", '[');
    for (int i = 0; i < program->count; i++) {
        add_json_part(json, program, i);
    }
    bp__json_close(json, ']');
}

/* The plans that have an explanation of their own, and what they are called. */
typedef struct explained {
    const bp_plan **plans;
    const char **titles;
    int count;
} explained;

static void add_plan(explained *e, const bp_plan *plan, const char *title) {
    e->plans[e->count] = plan;
    e->titles[e->count++] = title;
}

/* Parts whose plans are composed themselves, and calls without plans, have no explanation of their own. In regions each
 * function has one. */
static void add_plans(explained *e, const bp__program *program, int index) {
    const bp_plan *plan = program->parts[index].plan;
    const char *title = program->title(program->owner, index);
    const bp__region_call *region = bp__region_of(plan);
    for (int i = 0; region && i < region->plan_count; i++) {
        add_plan(e, region->plan[i], title);
    }
    if (plan && !plan->composed) {
        add_plan(e, plan, title);
    }
}

static size_t count_plans(const bp__program *program) {
    size_t count = 1;
    for (int i = 0; i < program->count; i++) {
        const bp__region_call *region = bp__region_of(program->parts[i].plan);
        count += region ? (size_t)region->plan_count : 1;
    }
    return count;
}

static bp_status explain_plan(bp_explanation **explanation, const bp_plan *plan) {
    const bp__program *program = bp__program_of(plan);
    const size_t most = count_plans(program), size = most * (sizeof(bp_plan *) + sizeof(char *));
    explained e = {.plans = bp__alloc(size)};
    if (!e.plans) {
        return bp__fail_memory(size, "an explanation");
    }
    e.titles = (const char **)(e.plans + most);
    for (int i = 0; i < program->count; i++) {
        add_plans(&e, program, i);
    }
    const bp__whole whole = {.operation = bp_op_name(BP_OP_GRAPH),
                             .problem = plan->text,
                             .decision = plan->reason,
                             .parts = e.plans,
                             .part_titles = e.titles,
                             .part_count = e.count,
                             .add_text = add_text,
                             .add_json = add_json,
                             .context = program};
    bp_status status = bp__explain_whole(explanation, &whole);
    bp__free(e.plans);
    return status;
}

bp_status bp_graph_explain(bp_explanation **explanation, const bp_options *options, const bp_graph *graph,
                           const DLTensor *const *inputs, const DLTensor *const *outputs) {
    BP__UNCANCELLED;
    bp_plan *plan;
    bool fresh;
    if (!explanation) {
        return bp__fail(BP_E_ARGUMENT, "bp_graph_explain: explanation must not be NULL");
    }
    *explanation = NULL;
    BP__TRY(bp__graph_check_finished(graph, "bp_graph_explain"));
    bp__call_scope scope;
    bp__call_enter(&scope, options);
    bp_status status = bp__graph_plans_get(&plan, graph, inputs, outputs, true, &fresh);
    if (status == BP_OK) {
        status = explain_plan(explanation, plan);
        bp__plan_release(plan);
    }
    bp__call_leave(&scope);
    return status;
}
