/* node.c - adds nodes: finds the pass of a call, checks the call, and computes the shapes of what it writes. */
#include "graph/graph.h"

#include "base/uncancelled.h"

#include <string.h>

enum { MOST_NODES = 100000 };

void bp__node_free(const bp__node *node) {
    bp__fields_free(node);
    bp__free(node->list);
    bp__free(node->label);
}

/* ---- Arguments ---- */

bp_status bp__bind(bp__bound *bound, const bp__node *node, bp__locate locate, const void *context) {
    memcpy(bound->arguments.bytes, node->arguments, node->call->info.size);
    bound->list = NULL;
    bound->listed = NULL;
    for (int i = 0; i < node->pass->info.operand_count; i++) {
        const bp__call_operand *operand = &node->pass->operand[i];
        char *field = bound->arguments.bytes + operand->info.offset;
        if (operand->shape == BP__LIST) {
            const size_t each = sizeof *bound->list + sizeof *bound->listed;
            bound->listed = bp__alloc_zero((size_t)node->list_count + 1, each);
            if (!bound->listed) {
                return bp__fail_memory((size_t)node->list_count * each, "the operands of a node");
            }
            bound->list = (const DLTensor **)(void *)(bound->listed + node->list_count);
            for (int k = 0; k < node->list_count; k++) {
                locate(context, node->list[k], &bound->listed[k]);
                bound->list[k] = &bound->listed[k];
            }
            memcpy(field, &bound->list, sizeof bound->list);
            memcpy(bound->arguments.bytes + node->call->count_offset, &node->list_count, sizeof node->list_count);
        } else if (node->operand[i] != 0) {
            const DLTensor *tensor = &bound->tensor[i];
            locate(context, node->operand[i], &bound->tensor[i]);
            memcpy(field, &tensor, sizeof tensor);
        }
    }
    return BP_OK;
}

void bp__unbind(const bp__bound *bound) {
    bp__free(bound->listed);
}

/* The tensor of a value that has no memory yet. */
static void describe_value(const void *context, bp_value value, DLTensor *tensor) {
    const bp__graph_value *v = bp__value_at(context, value);
    *tensor =
        (DLTensor){.device = {kDLCPU, 0}, .ndim = v->ndim, .dtype = bp_dtype_to_dlpack(v->dtype), .shape = v->shape};
}

/* ---- The pass ---- */

/* Places the operands as inputs of the pass: those with a name, and then the others in their order. Returns false if
 * the pass has fewer inputs. */
static bool place_operands(bp__making *making, const bp__pass *pass, int count, const bp_value *operands) {
    bp__node *node = &making->node;
    int next = 0, named = 0, found = 0;
    memset(node->operand, 0, sizeof node->operand);
    node->pass = pass;
    node->list_count = 0;
    for (int i = 0; i < node->call->info.field_count; i++) {
        named += making->named[i] != 0;
    }
    for (int i = 0; i < pass->info.input_count; i++) {
        const bp__call_operand *operand = &pass->operand[i];
        bp_value given = 0;
        for (int f = 0; f < node->call->info.field_count; f++) {
            given = node->call->fields[f].offset == operand->info.offset ? making->named[f] : given;
        }
        found += given != 0;
        if (operand->shape == BP__LIST) {
            node->list_count = count - next;
            next = count;
        } else {
            node->operand[i] = given ? given : next < count ? operands[next++] : 0;
        }
    }
    return next >= count && found == named;
}

/* Finds the pass that the call has with these fields and operands. */
static bp_status ask_pass(bp__making *making, bp__bound *bound, const bp__pass **pass) {
    BP__TRY(bp__bind(bound, &making->node, describe_value, making->graph));
    *pass = bp__call_pass(making->node.call, bound->arguments.bytes);
    bp__unbind(bound);
    return BP_OK;
}

static void list_inputs(const bp__pass *pass, bp__text *text) {
    for (int i = 0; i < pass->info.input_count; i++) {
        bp__text_addf(text, "%s%s", i ? ", " : "", pass->operand[i].info.name);
    }
}

static bp_status fail_operands(const bp_call *call, const bp__pass *pass) {
    bp__text names = {0};
    list_inputs(pass, &names);
    bp_status status = bp__fail(BP_E_ARGUMENT, "%s of %s does not take these operands; its inputs are: %s",
                                pass->info.name, call->info.name, bp__text_get(&names));
    bp__text_free(&names);
    return status;
}

/* The list of operands is kept before a pass is tried, because the call may look at it. */
static bp_status find_pass(bp__making *making, bp__bound *bound, int count, const bp_value *operands) {
    bp__node *node = &making->node;
    const bp_call *call = node->call;
    const bp__pass *wanted = NULL;
    node->list = bp__alloc(((size_t)count + 1) * sizeof *node->list);
    if (!node->list) {
        return bp__fail_memory((size_t)count * sizeof *node->list, "a node");
    }
    for (int p = 0; p < call->info.pass_count; p++) {
        const bool fits = place_operands(making, &call->passes[p], count, operands);
        for (int i = 0; i < node->list_count; i++) {
            node->list[i] = operands[count - node->list_count + i];
        }
        if (fits) {
            BP__TRY(ask_pass(making, bound, &wanted));
        }
        if (fits && wanted == &call->passes[p]) {
            return BP_OK;
        }
    }
    place_operands(making, &call->passes[0], 0, NULL);
    BP__TRY(ask_pass(making, bound, &wanted));
    return fail_operands(call, wanted ? wanted : call->passes);
}

/* ---- Checks ---- */

static bp_status check_operands(const bp__node *node) {
    for (int i = 0; i < node->pass->info.input_count; i++) {
        const bp__call_operand *operand = &node->pass->operand[i];
        if (operand->shape != BP__LIST && operand->info.required && node->operand[i] == 0) {
            return bp__fail(BP_E_ARGUMENT, "%s needs %s", node->pass->info.name, operand->info.name);
        }
    }
    return BP_OK;
}

/* Refuses outputs that are not there, or that the call also reads. */
static bp_status check_outputs(const bp__pass *pass, int count, bp_value *const *outputs) {
    const int most = pass->info.operand_count - pass->info.input_count;
    if (count > most) {
        return bp__fail(BP_E_ARGUMENT, "output_count is %d; %s has %d output%s", count, pass->info.name, most,
                        most == 1 ? "" : "s");
    }
    for (int i = 0; i < most; i++) {
        const bp__call_operand *operand = &pass->operand[pass->info.input_count + i];
        if (operand->updated && (operand->info.required || (i < count && outputs[i]))) {
            return bp__fail(BP_E_UNSUPPORTED,
                            "%s is also read; values of a graph are written once, so the call is no node with it",
                            operand->info.name);
        }
    }
    return BP_OK;
}

static bp_status check_values(const bp_graph *graph, int count, const bp_value *operands) {
    for (int i = 0; i < count; i++) {
        if (operands[i] != 0) {
            BP__TRY(bp__graph_check_value(graph, operands[i]));
        }
    }
    return BP_OK;
}

/* Fails for a list with an absent value. */
static bp_status check_list(const bp__node *node) {
    for (int i = 0; i < node->list_count; i++) {
        if (node->list[i] == 0) {
            return bp__fail(BP_E_ARGUMENT, "operand %d is absent", i);
        }
    }
    return BP_OK;
}

/* Checks all that the call's own run would check, but for the memory. */
static bp_status check_call(const bp_call *call, const bp__bound *bound) {
    if (call->functions) {
        return BP_OK; /* they check when they run */
    }
    bp_problem *problem = bp__alloc(sizeof *problem); /* large: not on the stack */
    if (!problem) {
        return bp__fail_memory(sizeof *problem, "a node");
    }
    const bp__call_request request = {.call = bound->arguments.bytes, .data_optional = true, .described = call};
    bp_status status = bp__problem_make(problem, call->family, &request);
    bp__free(problem);
    return status;
}

/* ---- Outputs ---- */

static bp_status add_output(bp__making *making, bp__bound *bound, int operand) {
    bp_graph *graph = making->graph;
    bp__node *node = &making->node;
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    BP__TRY(bp__bind(bound, node, describe_value, graph));
    bp_status status = bp_call_shape(node->call, bound->arguments.bytes, operand, &dtype, &ndim, shape);
    bp__unbind(bound);
    BP__TRY(status);
    bp_value made;
    BP__TRY(bp__value_add(graph, BP__VALUE_NODE, dtype, ndim, shape, &made));
    graph->values[made].from = graph->node_count;
    graph->values[made].operand = operand;
    node->first = node->first ? node->first : made;
    node->operand[operand] = made;
    return BP_OK;
}

/* Outputs that are neither wanted nor required stay absent. */
static bp_status add_outputs(bp__making *making, bp__bound *bound, int count, bp_value *const *outputs) {
    const bp__pass *pass = making->node.pass;
    for (int operand = pass->info.input_count; operand < pass->info.operand_count; operand++) {
        const int index = operand - pass->info.input_count;
        if (pass->operand[operand].info.required || (index < count && outputs[index])) {
            BP__TRY(add_output(making, bound, operand));
        }
    }
    return BP_OK;
}

/* ---- Adding ---- */

static bp_status grow_nodes(bp_graph *graph) {
    if (graph->node_count >= MOST_NODES) {
        return bp__fail(BP_E_OVERFLOW, "a graph has at most %d nodes", MOST_NODES);
    }
    return bp__graph_grow((void **)&graph->nodes, graph->node_count, &graph->node_capacity, sizeof *graph->nodes);
}

static bp_status add_whole(bp__making *making, bp__bound *bound, int operand_count, const bp_value *operands,
                           int output_count, bp_value *const *outputs) {
    bp_graph *graph = making->graph;
    bp__node *node = &making->node;
    BP__TRY(grow_nodes(graph));
    BP__TRY(check_values(graph, operand_count, operands));
    BP__TRY(find_pass(making, bound, operand_count, operands));
    bp__fields_decide(making);
    BP__TRY(check_list(node));
    BP__TRY(check_operands(node));
    BP__TRY(check_outputs(node->pass, output_count, outputs));
    BP__TRY(add_outputs(making, bound, output_count, outputs));
    if (node->first == 0) {
        return bp__fail(BP_E_ARGUMENT, "no output is wanted");
    }
    BP__TRY(bp__bind(bound, node, describe_value, graph));
    bp_status status = bp__call_check_surplus(node->call, node->pass, bound->arguments.bytes);
    status = status == BP_OK ? check_call(node->call, bound) : status;
    bp__unbind(bound);
    return status;
}

bp_status bp__node_add(bp__making *making, int operand_count, const bp_value *operands, int output_count,
                       bp_value *const *outputs) {
    bp_graph *graph = making->graph;
    bp__node *node = &making->node;
    const int values = graph->value_count;
    bp__bound *bound = bp__alloc(sizeof *bound); /* large: not on the stack */
    bp_status status = bound ? add_whole(making, bound, operand_count, operands, output_count, outputs)
                             : bp__fail_memory(sizeof *bound, "a node");
    bp__free(bound);
    if (status == BP_OK && graph->label) {
        node->label = bp__strdup(graph->label);
        status = node->label ? BP_OK : bp__fail_memory(strlen(graph->label), "a node");
    }
    if (status != BP_OK) {
        const char *name = node->call->info.name;
        bp__values_drop(graph, values + 1);
        bp__node_free(node);
        /* What reads a file says which of its nodes fails. */
        return graph->label ? status : bp__graph_fail_in(name, graph->node_count, status);
    }
    for (int i = 0; i < output_count; i++) {
        if (outputs[i]) {
            *outputs[i] = node->operand[node->pass->info.input_count + i];
        }
    }
    node->number = graph->node_count;
    graph->nodes[graph->node_count++] = *node;
    return BP_OK;
}

/* ---- Fields ---- */

static bp_status read_fields(bp__making *making, const char *fields) {
    bp__reader r = {.at = fields, .end = fields + strlen(fields)};
    const char *name;
    size_t length;
    for (bool more = !bp__reader_done(&r); more; more = bp__reader_take(&r, ",")) {
        if (!bp__reader_name(&r, &name, &length) || !bp__reader_take(&r, "=")) {
            return bp__reader_fail(&r, "fields is \"%s\"; it must be as \"name=value, name=value\"", fields);
        }
        BP__TRY(bp__field_read(making, &r, name, length));
    }
    return bp__reader_done(&r) ? BP_OK : bp__reader_fail(&r, "fields has \"%s\" behind a value", r.at);
}

/* ---- Copies ---- */

/* Fields are copied as text, so that each node has memory of its own for lists. */
static bp_status copy_fields(bp__making *making, const bp__node *node) {
    bp__text text = {0};
    BP__TRY(bp__fields_begin(making, node->call));
    making->node.pass = node->pass;
    bp__fields_write(node, &text);
    bp_status status = text.failed ? bp__fail_memory(text.length, "a node") : BP_OK;
    if (status == BP_OK && text.length > 0) {
        status = read_fields(making, bp__text_get(&text) + strlen(", "));
    }
    bp__text_free(&text);
    bp__fields_decide(making);
    return status;
}

static bp_status copy_inputs(bp__node *copy, const bp__node *node, const bp_value *map) {
    copy->list = bp__alloc(((size_t)node->list_count + 1) * sizeof *copy->list);
    copy->label = node->label ? bp__strdup(node->label) : NULL;
    if (!copy->list || (node->label && !copy->label)) {
        return bp__fail_memory((size_t)node->list_count * sizeof *copy->list, "a node");
    }
    copy->list_count = node->list_count;
    copy->number = node->number;
    for (int i = 0; i < node->list_count; i++) {
        copy->list[i] = map[node->list[i]];
    }
    for (int i = 0; i < node->pass->info.input_count; i++) {
        copy->operand[i] = map[node->operand[i]];
    }
    return BP_OK;
}

static bp_status copy_outputs(bp_graph *graph, const bp_graph *from, bp__node *copy, const bp__node *node,
                              bp_value *map) {
    for (int i = node->pass->info.input_count; i < node->pass->info.operand_count; i++) {
        const bp_value old = node->operand[i];
        const bp__graph_value *like = &from->values[old];
        if (old) {
            BP__TRY(bp__value_add(graph, BP__VALUE_NODE, like->dtype, like->ndim, like->shape, &map[old]));
            graph->values[map[old]].from = graph->node_count;
            graph->values[map[old]].operand = i;
            copy->operand[i] = map[old];
            copy->first = copy->first ? copy->first : map[old];
        }
    }
    return BP_OK;
}

bp_status bp__node_copy(bp_graph *graph, const bp_graph *from, const bp__node *node, bp_value *map) {
    bp__making *making = bp__alloc_zero(1, sizeof *making);
    if (!making) {
        return bp__fail_memory(sizeof *making, "a node");
    }
    bp__node *copy = &making->node;
    const int values = graph->value_count;
    bp_status status = grow_nodes(graph);
    status = status == BP_OK ? copy_fields(making, node) : status;
    status = status == BP_OK ? copy_inputs(copy, node, map) : status;
    status = status == BP_OK ? copy_outputs(graph, from, copy, node, map) : status;
    if (status == BP_OK) {
        graph->nodes[graph->node_count++] = *copy;
    } else {
        bp__values_drop(graph, values + 1);
        bp__node_free(copy);
    }
    bp__free(making);
    return status;
}

/* ---- Calls by their names ---- */

static const char *call_name(void *user, int index) {
    (void)user;
    const bp_call *call = bp_call_at(index);
    return call ? call->info.name : NULL;
}

/* Finds a value by its name, or by "v" and its number. */
static bp_value find_named(void *context, const char *name, size_t length) {
    const bp_graph *graph = context;
    const bp_value named = bp__value_named(graph, name, length);
    bp_value number = 0;
    if (named || length < 2 || name[0] != 'v') {
        return named;
    }
    for (size_t i = 1; i < length; i++) {
        const int digit = name[i] - '0';
        if (digit < 0 || digit > 9 || number > (graph->value_count - digit) / 10) {
            return 0;
        }
        number = number * 10 + digit;
    }
    return number <= graph->value_count ? number : 0;
}

static bp_status add_call(bp__making *making, const bp_call *call, const char *fields, int operand_count,
                          const bp_value *operands, int output_count, bp_value *const *outputs) {
    BP__TRY(bp__fields_begin(making, call));
    bp_status status = read_fields(making, fields ? fields : "");
    if (status != BP_OK) {
        bp__fields_free(&making->node);
        return bp__graph_fail_in(call->info.name, making->graph->node_count, status);
    }
    return bp__node_add(making, operand_count, operands, output_count, outputs);
}

bp_status bp_graph_call(bp_graph *graph, const char *call, const char *fields, int operand_count,
                        const bp_value *operands, int output_count, bp_value *const *outputs) {
    BP__UNCANCELLED;
    char near[128];
    BP__TRY(bp__graph_check_open(graph));
    const bp_call *described = bp_call_named(call);
    if (!described) {
        return bp__fail(BP_E_ARGUMENT, "there is no call \"%s\"%s%s", call ? call : "", call ? "; " : "",
                        call ? bp__suggest(call, call_name, NULL, near, sizeof near) : "");
    }
    if (operand_count < 0 || (operand_count > 0 && !operands) || output_count < 0 || (output_count > 0 && !outputs)) {
        return bp__fail(BP_E_ARGUMENT, "%s: operands or outputs are NULL, or a count is negative", call);
    }
    bp__making *making = bp__alloc_zero(1, sizeof *making);
    if (!making) {
        return bp__fail_memory(sizeof *making, "a node");
    }
    making->graph = graph;
    making->find = find_named;
    making->context = graph;
    bp_status status = add_call(making, described, fields, operand_count, operands, output_count, outputs);
    bp__free(making);
    return status;
}
