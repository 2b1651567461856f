/* blocks.c - finds neighbouring functions of single elements that run block by block.
 *
 * One after another they would read and write whole tensors, which wait for memory if the caches do not hold them. In
 * blocks, what one step hands to the next stays in the second cache. An element's result does not depend on its place,
 * so that blocks change no bit. Results that no other step reads have memory for one block, for each thread. */
#include "graph/graph.h"

#include <string.h>

enum {
    MOST_OPERANDS = 4,
    MOST_STEPS = 64, /* that run together; each is compared with all others */
    USUAL_CACHE = 1 << 18,
    ALIGNMENT = 64
};

/* ---- Steps ---- */

static const bp__node *node_of(const bp__lowered *l, int step) {
    const int node = l->steps[step].node;
    return node >= 0 ? &l->graph->nodes[node] : NULL;
}

static bp_value result_of(const bp__lowered *l, int step) {
    const bp__node *node = node_of(l, step);
    return node->operand[node->pass->info.input_count];
}

static bool is_pointwise(const bp__lowered *l, int step) {
    const bp__node *node = node_of(l, step);
    return node && node->call->pointwise && node->pass->info.operand_count <= MOST_OPERANDS;
}

static bool have_one_shape(const bp__lowered *l, int step, int other) {
    const bp__graph_value *a = &l->graph->values[result_of(l, step)], *b = &l->graph->values[result_of(l, other)];
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

/* Returns whether a step reads another view of a result of these steps: then a block may need elements of a later one.
 */
static bool reads_otherwise(const bp__lowered *l, int step, int first) {
    const bp__node *node = node_of(l, step);
    for (int i = 0; i < node->pass->info.input_count; i++) {
        const bp_value v = l->same[node->operand[i]], base = base_of(l, v);
        for (int s = first; s < step && base != v; s++) {
            if (result_of(l, s) == base) {
                return true;
            }
        }
    }
    return false;
}

static int end_of_run(const bp__lowered *l, int first) {
    int end = first;
    while (end < l->step_count && end < first + MOST_STEPS && is_pointwise(l, end) && have_one_shape(l, first, end) &&
           !reads_otherwise(l, end, first)) {
        end++;
    }
    return end;
}

/* ---- Layouts ---- */

/* Dimensions of more than one element, in their order. */
typedef struct layout {
    int64_t size[BP_MAX_NDIM], stride[BP_MAX_NDIM];
    int ndim;
} layout;

static void describe_layout(const bp__lowered *l, bp_value value, layout *made) {
    const bp__graph_value *v = &l->graph->values[value];
    made->ndim = 0;
    for (int d = 0; d < v->ndim; d++) {
        if (v->shape[d] != 1) {
            made->size[made->ndim] = v->shape[d];
            made->stride[made->ndim++] = l->at[value].strides[d];
        }
    }
}

/* Returns whether the elements lie one after another, in any order of dimensions. */
static bool is_dense(const layout *a) {
    int64_t step = 1;
    int found = 0;
    for (int d = 0; d < a->ndim; d++) {
        if (a->stride[d] == step) {
            step *= a->size[d];
            found++;
            d = -1; /* look again */
        }
    }
    return found == a->ndim;
}

/* Returns whether a value is a single element, or has the layout of the others. */
static bool is_flat(const bp__lowered *l, bp_value value, const layout *like) {
    layout own;
    describe_layout(l, value, &own);
    const size_t bytes = (size_t)own.ndim * sizeof *own.size;
    return own.ndim == 0 || (own.ndim == like->ndim && memcmp(own.size, like->size, bytes) == 0 &&
                             memcmp(own.stride, like->stride, bytes) == 0);
}

/* Returns whether the steps may take all dimensions as one. */
static bool all_flat(const bp__lowered *l, int first, int end) {
    layout like;
    describe_layout(l, result_of(l, first), &like);
    bool flat = is_dense(&like);
    for (int s = first; s < end && flat; s++) {
        const bp__node *node = node_of(l, s);
        for (int i = 0; i < node->pass->info.operand_count; i++) {
            flat &= is_flat(l, l->same[node->operand[i]], &like);
        }
    }
    return flat;
}

/* Returns whether a step from `first` on, or operand `before` of this step and those in front, has the value. */
static bool has_operand(const bp__lowered *l, int first, int step, int before, bp_value value) {
    for (int s = first; s <= step; s++) {
        const bp__node *node = node_of(l, s);
        const int count = s < step ? node->pass->info.operand_count : before;
        for (int i = 0; i < count; i++) {
            if (l->same[node->operand[i]] == value) {
                return true;
            }
        }
    }
    return false;
}

/* Returns the bytes of an element of each tensor that the steps read and write. */
static int64_t bytes_of_element(const bp__lowered *l, int first, int end) {
    int64_t bytes = 0;
    for (int s = first; s < end; s++) {
        const bp__node *node = node_of(l, s);
        for (int i = 0; i < node->pass->info.operand_count; i++) {
            const bp_value v = l->same[node->operand[i]];
            bytes += has_operand(l, first, s, i, v) ? 0 : (int64_t)bp_dtype_size(l->graph->values[v].dtype);
        }
    }
    return bytes;
}

/* ---- Cutting ---- */

/* Returns the bytes of all tensors of a block. */
static int64_t block_limit(void) {
    const int64_t wanted = bp__setting_int(BP_SET_graph_block_bytes), cache = bp__host()->machine->l2_bytes;
    return wanted > 0 ? wanted : (cache > 0 ? cache : USUAL_CACHE) / 2;
}

/* Returns whether a step's result has a block of the workspace of its own, so that it may shrink to one for each block.
 */
static bool may_be_inner(const bp__lowered *l, int step) {
    const bp_value v = result_of(l, step);
    return l->at[v].block >= 0 && bp__layouts_root(l, v) == v;
}

/* Returns the axis that is outermost in memory, so that the elements of a block lie one after another in all results
 * that may be inner; -1: they lie in different orders. */
static int outermost(const bp__lowered *l, int first, int end) {
    layout like = {.ndim = -1}, other;
    int of = first, axis = -1;
    for (int s = first; s < end; s++) {
        if (!may_be_inner(l, s)) {
            continue;
        }
        describe_layout(l, result_of(l, s), &other);
        if (like.ndim < 0) {
            like = other;
            of = s;
        } else if (memcmp(like.stride, other.stride, (size_t)other.ndim * sizeof *other.stride) != 0) {
            return -1;
        }
    }
    const bp__graph_value *value = &l->graph->values[result_of(l, of)];
    const int64_t *strides = l->at[result_of(l, of)].strides;
    for (int d = 0; d < value->ndim; d++) {
        if (value->shape[d] > 1 && (axis < 0 || strides[d] > strides[axis])) {
            axis = d;
        }
    }
    return axis;
}

/* Chooses axis and size of the blocks. Returns false if the steps are not worth it. */
static bool cut(const bp__lowered *l, bp__blocks *b, int threads) {
    const bp__graph_value *v = &l->graph->values[result_of(l, b->first)];
    const int64_t elements = bp__value_elements(v), each = bytes_of_element(l, b->first, b->end);
    const int64_t most = block_limit() / each; /* elements of a block */
    int64_t length = elements, inside = 1;
    b->axis = -1;
    if (elements <= most || most < 1) {
        return false;
    }
    if (!all_flat(l, b->first, b->end)) {
        b->axis = outermost(l, b->first, b->end);
        if (b->axis < 0) {
            return false;
        }
        length = v->shape[b->axis];
        inside = elements / length;
    }
    b->size = most / inside;
    b->size -= b->axis < 0 && b->size > ALIGNMENT ? b->size % ALIGNMENT : 0;
    if (b->size < 1) {
        return false;
    }
    b->count = length / b->size;
    b->rest = length % b->size;
    b->threads = b->count / 2 < threads ? (int)(b->count / 2) : threads;
    return b->count > 1;
}

/* Bytes of a result in a block. */
static int64_t block_bytes(const bp__lowered *l, const bp__blocks *b, bp_value value) {
    const bp__graph_value *v = &l->graph->values[value];
    const int64_t inside = b->axis < 0 ? 1 : bp__value_elements(v) / v->shape[b->axis];
    const int64_t bytes = b->size * inside * (int64_t)bp_dtype_size(v->dtype);
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Every block of the workspace that the steps use is in use until the last one, because a loop returns to the first. */
static void keep_until_end(bp__lowered *l, const bp__blocks *b, bp_value value) {
    const bp__located *at = &l->at[value];
    if (at->block >= 0 && l->uses[at->block].last < b->end - 1) {
        l->uses[at->block].last = b->end - 1;
    }
}

static void place_blocks(bp__lowered *l, const bp__blocks *b) {
    for (int s = b->first; s < b->end; s++) {
        const bp__located *at = &l->at[result_of(l, s)];
        if (may_be_inner(l, s) && l->uses[at->block].last < b->end) {
            l->inner[result_of(l, s)] = true;
            l->uses[at->block].bytes = block_bytes(l, b, result_of(l, s)) * (b->threads > 1 ? b->threads : 1);
        }
    }
    for (int s = b->first; s < b->end; s++) {
        const bp__node *node = node_of(l, s);
        for (int i = 0; i < node->pass->info.operand_count; i++) {
            keep_until_end(l, b, l->same[node->operand[i]]);
        }
    }
}

/* One block of memory: the list, then a flag for each value. */
static bp_status begin_blocks(bp__lowered *l) {
    const size_t most = (size_t)l->step_count / 2, size = most * sizeof *l->blocks + (size_t)l->graph->value_count + 1;
    l->blocks = bp__alloc_zero(1, size);
    if (!l->blocks) {
        return bp__fail_memory(size, "the plan of a graph");
    }
    l->inner = (bool *)(l->blocks + most);
    return BP_OK;
}

bp_status bp__lower_blocks(bp__lowered *l, int threads) {
    for (int first = 0; first < l->step_count;) {
        bp__blocks b = {.first = first, .end = end_of_run(l, first)};
        first = b.end > first ? b.end : first + 1;
        if (b.end - b.first < 2 || !cut(l, &b, threads)) {
            continue;
        }
        if (!l->blocks) {
            BP__TRY(begin_blocks(l));
        }
        place_blocks(l, &b);
        l->blocks[l->blocks_count++] = b;
    }
    if (l->blocks) {
        bp__lower_chain(l);
    }
    return BP_OK;
}

/* ---- Operands ---- */

static void set_flat(const bp__graph_value *v, int64_t size, bp__block_operand *operand) {
    const bool whole = bp__value_elements(v) > 1;
    operand->tensor.ndim = whole;
    operand->shape[0] = size;
    operand->strides[0] = 1;
    operand->tensor.strides = operand->strides;
    operand->advance = whole ? size * (int64_t)bp_dtype_size(v->dtype) : 0;
}

void bp__block_operand_of(const bp__lowered *l, const bp__blocks *b, bp_value value, int64_t size,
                          bp__block_operand *operand) {
    const bp__graph_value *v = &l->graph->values[value];
    operand->tensor = bp__located_tensor(l, value);
    operand->tensor.shape = operand->shape;
    operand->advance = 0;
    if (b->axis < 0) {
        set_flat(v, size, operand);
        return;
    }
    const bp__graph_value *result = &l->graph->values[result_of(l, b->first)];
    const int axis = b->axis - (result->ndim - v->ndim);
    for (int d = 0; d < v->ndim; d++) {
        operand->shape[d] = v->shape[d];
    }
    if (axis >= 0 && v->shape[axis] > 1) {
        operand->shape[axis] = size;
        operand->advance = l->at[value].strides[axis] * size * (int64_t)bp_dtype_size(v->dtype);
    }
}
