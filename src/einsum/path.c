/* path.c - makes path objects from an expression and a search, computes their costs, and describes them. */
#include "einsum/internal.h"

#include <string.h>

double bp__step_flops(const bp__step *step) {
    return bp__bigfloat_double(step->product) * (step->inner ? 2 : 1);
}

/* Returns the operations without intermediate results: multiplications for all operands but one, and a sum. */
static bp__bigfloat naive_flops(const bp__network *net, const bp__einsum *e) {
    bp__bigfloat product = bp__bigfloat_of(1);
    for (int i = 0; i < net->labels; i++) {
        product = bp__bigfloat_times(product, net->size[i]);
    }
    int per_element = (e->count > 2 ? e->count - 1 : 1) + (e->output_ndim < e->labels ? 1 : 0);
    return bp__bigfloat_times(product, per_element);
}

static double output_elements(const bp__einsum *e) {
    double elements = 1;
    for (int i = 0; i < e->output_ndim; i++) {
        elements *= (double)e->size[e->output[i]];
    }
    return elements;
}

static bp__goal goal_of(const bp__einsum *e, const bp__network *net, const bp_einsum_search *search) {
    double limit = search->memory_limit > 0 ? (double)search->memory_limit : HUGE_VAL;
    if (search->memory_limit == BP_PATH_LARGEST_OPERAND) {
        limit = output_elements(e);
        for (int i = 0; i < net->terms; i++) {
            limit = net->elements[i] > limit ? net->elements[i] : limit;
        }
    }
    return (bp__goal){search->objective, search->factor, limit};
}

static bp__bigfloat step_cost(const bp__goal *goal, const bp__step *step) {
    bp__bigfloat flops = bp__bigfloat_times(step->product, step->inner ? 2 : 1);
    bp__bigfloat weighed = bp__bigfloat_times(step->size, goal->factor);
    switch (goal->objective) {
    case BP_MINIMIZE_SIZE:
    case BP_MINIMIZE_WRITE:
        return step->size;
    case BP_MINIMIZE_COMBO:
        return bp__bigfloat_plus(flops, weighed);
    case BP_MINIMIZE_LIMIT:
        return bp__bigfloat_less(flops, weighed) ? weighed : flops;
    case BP_MINIMIZE_FLOPS:
        break;
    }
    return flops;
}

/* Adds up the steps. An intermediate result above the memory limit is an error, even in the caller's own path. */
static bp_status add_up(bp_contraction_path *path, const bp__goal *goal) {
    bp_contraction_path_info *info = &path->info;
    bp__bigfloat flops = {0, 0}, cost = flops, largest = flops, written = flops;
    for (int i = 0; i < path->steps.count; i++) {
        const bp__step *s = &path->steps.step[i];
        bp__bigfloat step = step_cost(goal, s);
        flops = bp__bigfloat_plus(flops, bp__bigfloat_times(s->product, s->inner ? 2 : 1));
        written = bp__bigfloat_plus(written, s->size);
        largest = bp__bigfloat_less(largest, s->size) ? s->size : largest;
        cost = goal->objective != BP_MINIMIZE_SIZE ? bp__bigfloat_plus(cost, step) : largest;
        info->scaling = s->scaling > info->scaling ? s->scaling : info->scaling;
        if (i < path->steps.count - 1 && bp__bigfloat_double(s->size) > goal->limit) {
            return bp__fail(BP_E_CONSTRAINT,
                            "einsum: an intermediate result of the path has %.6g elements; the memory limit is %.6g",
                            bp__bigfloat_double(s->size), goal->limit);
        }
    }
    info->naive_flops = bp__bigfloat_double(path->naive);
    info->naive_flops_log10 = bp__bigfloat_log10(path->naive);
    info->flops = bp__bigfloat_double(flops);
    info->flops_log10 = bp__bigfloat_log10(flops);
    info->speedup = flops.mantissa == 0 ? 1 : pow(10, info->naive_flops_log10 - info->flops_log10);
    info->cost = bp__bigfloat_double(cost);
    info->cost_log10 = bp__bigfloat_log10(cost);
    info->largest = bp__bigfloat_double(largest);
    info->largest_log10 = bp__bigfloat_log10(largest);
    info->written = bp__bigfloat_double(written);
    info->peak_bytes = bp__steps_peak(&path->steps, path->einsum.count) * (double)bp_dtype_size(path->search.dtype);
    return BP_OK;
}

static bp_status output_shape(bp_contraction_path *path) {
    const bp__einsum *e = &path->einsum;
    size_t size = (size_t)e->output_ndim * sizeof(int64_t);
    int64_t *shape = bp__alloc(size);
    if (!shape) {
        return bp__fail_memory(size, "a contraction path");
    }
    for (int i = 0; i < e->output_ndim; i++) {
        shape[i] = e->size[e->output[i]];
    }
    path->info.output_ndim = e->output_ndim;
    path->info.output_shape = shape;
    return BP_OK;
}

/* Searches for an order and makes its steps. */
static bp_status find_steps(bp_contraction_path *path, const bp__network *net, const bp_einsum_search *search,
                            const bp__goal *goal) {
    bp__network reduced;
    bp__found found = {.pairs = NULL};
    if (search->strategy == BP_PATH_GIVEN) {
        path->info.strategy = bp_path_strategy_name(search->strategy);
        return bp__steps_given(&path->steps, net, search);
    }
    bp_status status = bp__network_reduce(&reduced, net);
    status = status == BP_OK ? bp__search(&found, &reduced, search, goal) : status;
    status = status == BP_OK ? bp__steps_of_tree(&path->steps, net, &reduced, &found.goal, found.pairs) : status;
    path->info.strategy = found.strategy;
    path->info.exact = found.exact;
    bp__free(found.pairs);
    bp__network_free(&reduced);
    return status;
}

static bp_status fill(bp_contraction_path *path, const bp_einsum_search *search) {
    bp__network net;
    BP__TRY(bp__network_make(&net, &path->einsum));
    bp__goal goal = goal_of(&path->einsum, &net, search);
    path->naive = naive_flops(&net, &path->einsum);
    path->info.operands = path->einsum.count;
    path->info.labels = path->info.naive_scaling = path->einsum.labels;
    bp_status status = find_steps(path, &net, search, &goal);
    path->info.steps = path->steps.count;
    status = status == BP_OK ? add_up(path, &goal) : status;
    bp__network_free(&net);
    return status == BP_OK ? output_shape(path) : status;
}

bp_status bp__path_make(bp_contraction_path **path, bp__einsum *einsum, const bp_einsum_search *search) {
    bp_contraction_path *made = bp__alloc_zero(1, sizeof *made);
    *path = NULL;
    if (!made) {
        bp__einsum_free(einsum);
        return bp__fail_memory(sizeof *made, "a contraction path");
    }
    atomic_init(&made->references, 1);
    made->einsum = *einsum;
    made->search = *search;
    made->search.path = made->search.path_counts = NULL;
    bp_status status = fill(made, search);
    if (status != BP_OK) {
        bp__path_drop(made);
        return status;
    }
    *path = made;
    return BP_OK;
}

void bp__path_drop(bp_contraction_path *path) {
    if (atomic_fetch_sub_explicit(&path->references, 1, memory_order_acq_rel) > 1) {
        return;
    }
    bp__expressions_free(atomic_load(&path->expressions));
    bp__free(atomic_load(&path->expression));
    bp__free(atomic_load(&path->text));
    bp__free(atomic_load(&path->json));
    bp__free(path->steps.step);
    bp__free((void *)(uintptr_t)path->info.output_shape);
    bp__einsum_free(&path->einsum);
    bp__free(path);
}

bp_status bp_contraction_path_describe(const bp_contraction_path *path, bp_contraction_path_info *info) {
    if (!path) {
        return bp__fail(BP_E_ARGUMENT, "bp_contraction_path_describe: path must not be NULL");
    }
    BP__TRY(bp__struct_check(info, sizeof *info, "info"));
    bp__struct_write(info, &path->info, sizeof path->info);
    return BP_OK;
}

int bp_contraction_path_at(const bp_contraction_path *path, int index, bp_contraction_step *step) {
    if (!path || !bp__struct_usable(step) || index < 0 || index >= path->steps.count) {
        return 0;
    }
    const bp__step *s = &path->steps.step[index];
    const bp__expressions *texts = bp__path_expressions(path);
    bp_contraction_step own;
    memset(&own, 0, sizeof own); /* padding too: the whole struct is copied to the caller */
    own.count = s->id.b < 0 ? 1 : 2;
    own.position[0] = s->position.a;
    own.position[1] = s->position.b;
    own.operand[0] = s->id.a;
    own.operand[1] = s->id.b;
    own.result = path->einsum.count + index;
    own.expression = texts ? texts->text.bytes + texts->at[index] : "";
    own.kind = s->kind;
    own.scaling = s->scaling;
    own.flops = bp__step_flops(s);
    own.size = bp__bigfloat_double(s->size);
    bp__struct_write(step, &own, sizeof own);
    return 1;
}
