/* operand_list.c - the list of remaining operands while a path is followed.
 *
 * Contracted operands are removed, and results are appended. A Fenwick tree over identities converts positions, so that
 * long paths take n log n. */
#include "einsum/internal.h"

struct bp__operand_list {
    int32_t ids;  /* number of operands that are or were in the list */
    int32_t most; /* capacity */
    int32_t length;
    int32_t top;    /* the largest power of two that is at most `most` */
    int32_t tree[]; /* indexed from 1 */
};

static void add(bp__operand_list *list, int32_t id, int32_t change) {
    for (int32_t i = id + 1; i <= list->most; i += i & -i) {
        list->tree[i] += change;
    }
}

bp__operand_list *bp__operand_list_new(int terms, int steps) {
    size_t most = (size_t)terms + (size_t)steps;
    bp__operand_list *list =
        most > INT32_MAX / 2 ? NULL : bp__alloc_zero(1, sizeof *list + (most + 1) * sizeof(int32_t));
    if (!list) {
        return NULL;
    }
    list->ids = list->length = terms;
    list->most = (int32_t)most;
    list->top = 1;
    while (list->top <= list->most / 2) {
        list->top *= 2;
    }
    for (int32_t i = 1; i <= list->most; i++) { /* adds all operands at once: each node counts its range */
        int32_t from = i - (i & -i), to = i < terms ? i : terms;
        list->tree[i] = to > from ? to - from : 0;
    }
    return list;
}

int32_t bp__operand_list_position(const bp__operand_list *list, int32_t id) {
    int32_t before = 0;
    for (int32_t i = id; i > 0; i -= i & -i) {
        before += list->tree[i];
    }
    return before;
}

int32_t bp__operand_list_at(const bp__operand_list *list, int32_t position) {
    int32_t at = 0;
    for (int32_t step = list->top; step > 0; step /= 2) {
        if (at + step <= list->most && list->tree[at + step] <= position) {
            at += step;
            position -= list->tree[at];
        }
    }
    return at;
}

void bp__operand_list_take(bp__operand_list *list, int32_t id) {
    add(list, id, -1);
    list->length--;
}

void bp__operand_list_append(bp__operand_list *list) {
    add(list, list->ids++, 1);
    list->length++;
}

int32_t bp__operand_list_length(const bp__operand_list *list) {
    return list->length;
}
