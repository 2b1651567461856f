/* regions.c - finds neighbouring functions of single elements that run together, block by block.
 *
 * One after another they would read and write whole tensors, which wait for memory if the caches do not hold them. An
 * element's result does not depend on its place, so that blocks change no bit. Results that only the region reads have
 * no memory but a block. */
#include "graph/region.h"

#include <string.h>

static const bp__node *node_of(const bp__lowered *l, int step) {
    const int node = l->steps[step].node;
    return node >= 0 ? &l->graph->nodes[node] : NULL;
}

bp_value bp__step_result(const bp__lowered *l, int step) {
    const bp__node *node = node_of(l, step);
    return node->operand[node->pass->info.input_count];
}

bool bp__step_is_pointwise(const bp__lowered *l, int step) {
    const bp__node *node = node_of(l, step);
    return node && node->call->pointwise && node->pass->info.operand_count <= BP__REGION_ARGUMENTS;
}

static bool have_one_shape(const bp__lowered *l, int step, int other) {
    const bp__graph_value *a = &l->graph->values[bp__step_result(l, step)],
                          *b = &l->graph->values[bp__step_result(l, other)];
    return a->ndim == b->ndim && (a->ndim == 0 || memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0);
}

/* Returns the value that a value is a view of, also through others. */
static bp_value base_of(const bp__lowered *l, bp_value value) {
    const bp__graph_value *v = &l->graph->values[l->same[value]];
    while (v->kind == BP__VALUE_VIEW && !l->folded[v - l->graph->values]) {
        v = &l->graph->values[l->same[v->from]];
    }
    return (bp_value)(v - l->graph->values);
}

/* Returns whether a step reads another view of a result of these steps, or what this is a part of: then a block may
 * need elements of a later one, or of memory that is written at the end of the block. */
static bool reads_otherwise(const bp__lowered *l, int step, int first) {
    const bp__node *node = node_of(l, step);
    for (int i = 0; i < node->pass->info.input_count; i++) {
        const bp_value v = l->same[node->operand[i]], base = base_of(l, v);
        for (int s = first; s < step; s++) {
            const bp_value result = bp__step_result(l, s);
            if (result != v && bp__layouts_contains(l, base, result)) {
                return true;
            }
        }
    }
    return false;
}

/* ---- Operands ---- */

static bool is_result(const bp__lowered *l, int first, int end, bp_value value) {
    for (int s = first; s < end; s++) {
        if (bp__step_result(l, s) == value) {
            return true;
        }
    }
    return false;
}

/* Adds a value to a list, if it is not there. Returns its place; `most` if the list is full. */
static int add_once(bp_value *list, int *count, int most, bp_value value) {
    for (int i = 0; i < *count; i++) {
        if (list[i] == value) {
            return i;
        }
    }
    if (*count < most) {
        list[*count] = value;
        return (*count)++;
    }
    return most;
}

/* Lists what the steps read that none of them writes. Returns false if it is too much. */
static bool list_inputs(const bp__lowered *l, int first, int end, bp_value *list, int *count) {
    *count = 0;
    for (int s = first; s < end; s++) {
        const bp__node *node = node_of(l, s);
        for (int i = 0; i < node->pass->info.input_count; i++) {
            const bp_value v = l->same[node->operand[i]];
            if (!is_result(l, first, end, v) && add_once(list, count, BP__REGION_OPERANDS, v) == BP__REGION_OPERANDS) {
                return false;
            }
        }
    }
    return true;
}

/* Returns whether something but the steps of a region reads a result, or writes another part of what it is a part of.
 */
static bool is_used_outside(const bp__lowered *l, const bp__region *region, bp_value value) {
    const bp__located *at = &l->at[value];
    return at->block < 0 || l->uses[at->block].first < region->first || l->uses[at->block].last >= region->end;
}

int bp__region_operands(const bp__lowered *l, const bp__region *region, bp_value *list, int *inputs) {
    int count;
    if (!list_inputs(l, region->first, region->end, list, &count)) {
        return 0;
    }
    *inputs = count;
    for (int s = region->first; s < region->end; s++) {
        const bp_value v = bp__step_result(l, s);
        if (is_used_outside(l, region, v)) {
            if (count == BP__REGION_OPERANDS) {
                return 0;
            }
            list[count++] = v;
        }
    }
    return count;
}

/* ---- Finding ---- */

static int end_of_run(const bp__lowered *l, int first, bp_plan *const *plans) {
    int end = first;
    while (end < l->step_count && end < first + BP__REGION_STEPS && plans[end] && have_one_shape(l, first, end) &&
           !reads_otherwise(l, end, first)) {
        end++;
    }
    return end;
}

/* Shortens a run to what has few enough operands. */
static void limit_operands(const bp__lowered *l, bp__region *region) {
    bp_value list[BP__REGION_OPERANDS];
    int inputs;
    while (region->end - region->first > 1 && bp__region_operands(l, region, list, &inputs) == 0) {
        region->end--;
    }
}

/* Returns whether the tensors are smaller than a block that the program wants. */
static bool fits_block(const bp__lowered *l, const bp__region *region) {
    bp_value list[BP__REGION_OPERANDS];
    int inputs;
    const int count = bp__region_operands(l, region, list, &inputs);
    const int64_t elements = bp__value_elements(&l->graph->values[bp__step_result(l, region->first)]);
    int64_t bytes = 0;
    for (int i = 0; i < count; i++) {
        bytes += (int64_t)bp_dtype_size(l->graph->values[list[i]].dtype);
    }
    return elements * bytes <= bp__setting_int(BP_SET_graph_block_bytes);
}

/* Blocks of the workspace that the steps use are in use until the last one, because a loop returns to the first. */
static void keep_until_end(bp__lowered *l, const bp__region *region, bp_value value) {
    const bp__located *at = &l->at[value];
    if (at->block >= 0 && l->uses[at->block].last < region->end - 1) {
        l->uses[at->block].last = region->end - 1;
    }
}

static void place_values(bp__lowered *l, const bp__region *region) {
    for (int s = region->first; s < region->end; s++) {
        const bp__located *at = &l->at[bp__step_result(l, s)];
        if (!is_used_outside(l, region, bp__step_result(l, s))) {
            l->uses[at->block].bytes = 0;
        }
    }
    for (int s = region->first; s < region->end; s++) {
        const bp__node *node = node_of(l, s);
        for (int i = 0; i < node->pass->info.operand_count; i++) {
            keep_until_end(l, region, l->same[node->operand[i]]);
        }
    }
}

bp_status bp__lower_regions(bp__lowered *l, bp_plan *const *plans) {
    for (int first = 0; first < l->step_count;) {
        bp__region region = {.first = first, .end = end_of_run(l, first, plans)};
        limit_operands(l, &region);
        first = region.end > first ? region.end : first + 1;
        if (region.end - region.first < 2 || fits_block(l, &region)) {
            continue;
        }
        if (!l->regions) {
            const size_t most = (size_t)l->step_count / 2;
            l->regions = bp__alloc(most * sizeof *l->regions);
            if (!l->regions) {
                return bp__fail_memory(most * sizeof *l->regions, "the plan of a graph");
            }
        }
        l->regions[l->region_count++] = region;
    }
    return BP_OK;
}

void bp__lower_place_regions(bp__lowered *l) {
    for (int i = 0; i < l->region_count; i++) {
        place_values(l, &l->regions[i]);
    }
    if (l->region_count > 0) {
        bp__lower_chain(l);
    }
}
