/* network.c - makes the network of an expression: terms as sets of labels.
 *
 * Searches use a reduced network, in which each label that only one term has is already summed. */
#include "einsum/internal.h"

#include <string.h>

bp_status bp__network_reserve(bp__network *net, int terms, int labels, int64_t entries) {
    size_t t = (size_t)terms, l = (size_t)labels;
    size_t size = (2 * t + 2 * l) * sizeof(double) + (t + 1 + l + (size_t)entries) * sizeof(int32_t);
    char *at = bp__alloc(size);
    *net = (bp__network){.terms = terms, .labels = labels, .memory = at};
    if (!at) {
        return bp__fail_memory(size, "einsum's network");
    }
    net->size = (double *)at;
    net->log = net->size + l;
    net->elements = net->log + l;
    net->alone = net->elements + t;
    net->start = (int32_t *)(net->alone + t);
    net->uses = net->start + t + 1;
    net->label = net->uses + l;
    net->start[0] = 0;
    return BP_OK;
}

void bp__network_free(bp__network *net) {
    bp__free(net->memory);
    net->memory = NULL;
}

void bp__network_finish(bp__network *net) {
    net->any_alone = false;
    for (int i = 0; i < net->labels; i++) {
        net->log[i] = log2(net->size[i]);
    }
    for (int t = 0; t < net->terms; t++) {
        double elements = 1;
        for (int i = net->start[t]; i < net->start[t + 1]; i++) {
            elements *= net->size[net->label[i]];
        }
        net->elements[t] = elements;
        net->any_alone |= net->alone[t] > 0;
    }
}

/* Insertion sort: there are few labels, and they are mostly sorted. */
static void sort_labels(int32_t *label, int count) {
    for (int i = 1; i < count; i++) {
        int32_t moved = label[i];
        int j = i;
        for (; j > 0 && label[j - 1] > moved; j--) {
            label[j] = label[j - 1];
        }
        label[j] = moved;
    }
}

bp_status bp__network_make(bp__network *net, const bp__einsum *e) {
    BP__TRY(bp__network_reserve(net, e->count, e->labels, e->start[e->count]));
    for (int i = 0; i < e->labels; i++) {
        net->size[i] = (double)e->size[i];
        net->uses[i] = 0;
    }
    int32_t at = 0;
    for (int t = 0; t < e->count; t++) {
        for (int d = e->start[t]; d < e->start[t + 1]; d++) {
            if (e->dim[d] == e->size[e->label[d]]) { /* otherwise the size is 1 and the dimension broadcasts */
                net->label[at++] = e->label[d];
            }
        }
        sort_labels(net->label + net->start[t], at - net->start[t]);
        int32_t kept = net->start[t];
        for (int32_t i = net->start[t]; i < at; i++) { /* removes the repeated label of a diagonal */
            if (i == net->start[t] || net->label[i] != net->label[kept - 1]) {
                net->label[kept++] = net->label[i];
            }
        }
        for (int32_t i = net->start[t]; i < kept; i++) {
            net->uses[net->label[i]]++;
        }
        net->start[t + 1] = at = kept;
        net->alone[t] = 0;
    }
    for (int i = 0; i < e->output_ndim; i++) {
        net->uses[e->output[i]]++;
    }
    bp__network_finish(net);
    return BP_OK;
}

bp_status bp__network_reduce(bp__network *reduced, const bp__network *net) {
    BP__TRY(bp__network_reserve(reduced, net->terms, net->labels, net->start[net->terms]));
    memcpy(reduced->uses, net->uses, (size_t)net->labels * sizeof *net->uses);
    for (int i = 0; i < net->labels; i++) {
        reduced->size[i] = net->size[i] > 1 ? net->size[i] : 1;
    }
    int32_t at = 0;
    for (int t = 0; t < net->terms; t++) {
        reduced->alone[t] = 0;
        for (int i = net->start[t]; i < net->start[t + 1]; i++) {
            int32_t label = net->label[i];
            if (net->uses[label] == 1) {
                reduced->alone[t] = (reduced->alone[t] > 0 ? reduced->alone[t] : 1) * reduced->size[label];
            } else {
                reduced->label[at++] = label;
            }
        }
        reduced->start[t + 1] = at;
    }
    bp__network_finish(reduced);
    return BP_OK;
}

bp_status bp__network_part(bp__network *part, const bp__network *net, const int32_t *list, int count, int32_t *number) {
    int64_t entries = 0;
    for (int i = 0; i < count; i++) {
        entries += net->start[list[i] + 1] - net->start[list[i]];
    }
    BP__TRY(bp__network_reserve(part, count, net->labels < entries ? net->labels : (int)entries, entries));
    int32_t at = 0, labels = 0;
    for (int i = 0; i < count; i++) {
        for (int j = net->start[list[i]]; j < net->start[list[i] + 1]; j++) {
            int32_t label = net->label[j];
            if (number[label] < 0) {
                number[label] = labels;
                part->size[labels] = net->size[label];
                /* All terms with the label are in this part, or it is in the output. */
                part->uses[labels++] = net->uses[label];
            }
            part->label[at++] = number[label];
        }
        sort_labels(part->label + part->start[i], at - part->start[i]);
        part->start[i + 1] = at;
        part->alone[i] = net->alone[list[i]];
    }
    for (int i = 0; i < count; i++) {
        for (int j = net->start[list[i]]; j < net->start[list[i] + 1]; j++) {
            number[net->label[j]] = -1;
        }
    }
    part->labels = labels;
    bp__network_finish(part);
    return BP_OK;
}

/* ---- Connected parts ---- */

static int32_t root_of(int32_t *above, int32_t i) {
    while (above[i] != i) {
        i = above[i] = above[above[i]];
    }
    return i;
}

int bp__network_parts(const bp__network *net, int32_t *part) {
    int32_t *holder = bp__alloc((size_t)net->labels * sizeof *holder); /* per label: a term that has it */
    if (!holder) {
        return -1;
    }
    memset(holder, 0xff, (size_t)net->labels * sizeof *holder);
    for (int t = 0; t < net->terms; t++) {
        part[t] = t;
    }
    for (int t = 0; t < net->terms; t++) {
        for (int i = net->start[t]; i < net->start[t + 1]; i++) {
            int32_t *other = &holder[net->label[i]];
            if (*other < 0) {
                *other = t;
            } else { /* the lower number stays the root, so that parts are numbered in the order of their first terms */
                int32_t a = root_of(part, *other), b = root_of(part, t);
                part[a < b ? b : a] = a < b ? a : b;
            }
        }
    }
    bp__free(holder);
    int parts = 0;
    for (int t = 0; t < net->terms; t++) {
        part[t] = root_of(part, t);
    }
    /* A root comes before the other terms of its part, so its number is already set. */
    for (int t = 0; t < net->terms; t++) {
        part[t] = part[t] == t ? -1 - parts++ : part[part[t]];
    }
    for (int t = 0; t < net->terms; t++) {
        part[t] = -1 - part[t];
    }
    return parts;
}

/* ---- Pairs with labels that only one side has ---- */

/* Returns whether a side may be summed first: it has labels to sum, and its elements are within the limit. */
static bool may_sum(const bp__goal *goal, bp__side side) {
    return side.alone > 0 && side.elements <= goal->limit;
}

static double with_sum(const bp__goal *goal, double cost, bp__side side) {
    return bp__goal_join(goal, cost, bp__goal_step(goal, 2 * side.elements * side.alone, side.elements));
}

double bp__goal_pair(const bp__goal *goal, double product, double result, bool inner, bp__side a, bp__side b,
                     unsigned *first) {
    double best = HUGE_VAL;
    *first = 0;
    for (unsigned choice = 0; choice < 4; choice++) {
        bool sum_a = (choice & 1) != 0, sum_b = (choice & 2) != 0;
        if ((sum_a && !may_sum(goal, a)) || (sum_b && !may_sum(goal, b))) {
            continue;
        }
        bool left_a = a.alone > 0 && !sum_a, left_b = b.alone > 0 && !sum_b;
        double all = product * (left_a ? a.alone : 1) * (left_b ? b.alone : 1);
        double cost = bp__goal_step(goal, inner || left_a || left_b ? 2 * all : all, result);
        cost = sum_a ? with_sum(goal, cost, a) : cost;
        cost = sum_b ? with_sum(goal, cost, b) : cost;
        if (cost < best) {
            best = cost;
            *first = choice;
        }
    }
    return best;
}
