/* greedy.c - one run of greedy: of all pairs that share a label, the one that frees the most memory, again and again.
 * Its tastes differ in how the operands' sizes weigh against the result's, and in how much chance there is.
 *
 * Everything is kept per entry (a label in a term), so that a merge costs as much as the two terms have labels, however
 * many terms share one; half a million operands take a second or two. */
#include "einsum/internal.h"

#include <string.h>

#define MOST_PARTNERS 24 /* looked at for each label of a new term: labels on many terms would make this quadratic */
#define LARGEST_LOG 1000.0

typedef struct candidate {
    double key;
    int32_t a, b;
} candidate;

typedef struct node {
    int32_t first, count; /* its entries */
    double log;           /* of its elements */
} node;

struct bp__greedy {
    const bp__net *net;
    const bp__goal *goal;
    double limit_log;
    /* Entries: those of the operands, then of results as they come. */
    int32_t *label, *place, *owner; /* place: in the label's list of holders */
    int32_t entries, entry_capacity;
    int32_t *holder_start, *holder; /* per label: entries, as many as `holders` says */
    int32_t *holders;
    int32_t *uses;
    node *nodes;
    unsigned char *alive;
    int32_t count; /* nodes */
    candidate *heap;
    int64_t heap_count, heap_capacity;
    /* Partners of the node in hand: what their shared labels take off the result. */
    double *shared;
    int32_t *partner;
    int partners;
    const bp__taste *taste;
    uint64_t random;
    double sum, largest; /* of costs; the largest logarithm */
    void *memory;
};

/* ---- Chance ---- */

static uint64_t next_random(bp__greedy *g) {
    uint64_t z = g->random += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Gumbel's distribution: adding it to keys and taking the best draws with Boltzmann's weights. */
static double gumbel(bp__greedy *g) {
    double uniform = ((double)(next_random(g) >> 11) + 0.5) * 0x1p-53;
    return -log(-log(uniform));
}

/* ---- The heap, least key first ---- */

static bool before(const candidate *x, const candidate *y) {
    if (x->key != y->key) {
        return x->key < y->key;
    }
    return x->b != y->b ? x->b < y->b : x->a < y->a;
}

static void sift_down(candidate *heap, int64_t count, int64_t at) {
    candidate moved = heap[at];
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= count) {
            break;
        }
        child += child + 1 < count && before(&heap[child + 1], &heap[child]);
        if (!before(&heap[child], &moved)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static void sift_up(candidate *heap, int64_t at) {
    candidate moved = heap[at];
    while (at > 0 && before(&moved, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = moved;
}

static bool give_heap_room(bp__greedy *g) {
    if (g->heap_count < g->heap_capacity) {
        return true;
    }
    int64_t more = g->heap_capacity ? g->heap_capacity * 2 : 256;
    candidate *heap = bp__realloc(g->heap, (size_t)more * sizeof *heap);
    if (!heap) {
        return false;
    }
    g->heap = heap;
    g->heap_capacity = more;
    return true;
}

static candidate pop(bp__greedy *g) {
    candidate top = g->heap[0];
    g->heap[0] = g->heap[--g->heap_count];
    if (g->heap_count > 0) {
        sift_down(g->heap, g->heap_count, 0);
    }
    return top;
}

/* ---- Candidates ---- */

static double power(double log) {
    return exp2(log < LARGEST_LOG ? log : LARGEST_LOG);
}

/* What the result takes more than the operands give back; with chance, its logarithm and some noise. */
static double key_of(bp__greedy *g, double result, double a, double b) {
    double weight = g->taste->weight;
    double value = power(result) / weight - weight * (power(a) + power(b));
    if (g->taste->temperature == 0) {
        return value;
    }
    return copysign(log1p(fabs(value)), value) - g->taste->temperature * gumbel(g);
}

/* Finds the live nodes that share a label with `id`, and how much their common labels take off the product's size:
 * once what both have, and again what is summed. */
static void find_partners(bp__greedy *g, int32_t id, bool later_only) {
    const node *n = &g->nodes[id];
    g->partners = 0;
    for (int32_t e = n->first; e < n->first + n->count; e++) {
        int32_t label = g->label[e];
        double off = g->net->log[label] * (g->uses[label] == 2 ? 2 : 1);
        const int32_t *list = g->holder + g->holder_start[label];
        int32_t many = g->holders[label] < MOST_PARTNERS ? g->holders[label] : MOST_PARTNERS;
        /* A long list is looked at from its own place on, so that not all crowd around the same few. */
        int32_t from = many < g->holders[label] ? g->place[e] : 0;
        for (int32_t i = 0; i < many; i++, from++) {
            int32_t other = g->owner[list[from < g->holders[label] ? from : from - g->holders[label]]];
            if (other == id || (later_only && other < id)) {
                continue;
            }
            if (g->shared[other] < 0) {
                g->shared[other] = 0;
                g->partner[g->partners++] = other;
            }
            g->shared[other] += off;
        }
    }
}

/* False without memory. */
static bool push_partners(bp__greedy *g, int32_t id, bool later_only, bool sift) {
    find_partners(g, id, later_only);
    bool room = true;
    for (int i = 0; i < g->partners; i++) {
        int32_t other = g->partner[i];
        double a = g->nodes[id].log, b = g->nodes[other].log, result = a + b - g->shared[other];
        g->shared[other] = -1;
        room = room && give_heap_room(g);
        if (!room || result > g->limit_log) {
            continue; /* the sums of all partners must be cleared */
        }
        g->heap[g->heap_count] = (candidate){key_of(g, result, a, b), other < id ? other : id, other < id ? id : other};
        if (sift) {
            sift_up(g->heap, g->heap_count);
        }
        g->heap_count++;
    }
    return room;
}

static bool push_all(bp__greedy *g) {
    for (int32_t t = 0; t < g->net->terms; t++) {
        if (!push_partners(g, t, true, false)) {
            return false;
        }
    }
    for (int64_t i = g->heap_count / 2 - 1; i >= 0; i--) {
        sift_down(g->heap, g->heap_count, i);
    }
    return true;
}

/* ---- Merging ---- */

static bool give_entry_room(bp__greedy *g, int32_t more) {
    if (g->entry_capacity - g->entries >= more) {
        return true;
    }
    int64_t capacity = (int64_t)g->entry_capacity * 2 + more;
    if (capacity > INT32_MAX) {
        return false;
    }
    int32_t **arrays[] = {&g->label, &g->place, &g->owner};
    for (int i = 0; i < 3; i++) {
        int32_t *grown = bp__realloc(*arrays[i], (size_t)capacity * sizeof *grown);
        if (!grown) {
            return false;
        }
        *arrays[i] = grown;
    }
    g->entry_capacity = (int32_t)capacity;
    return true;
}

static void drop_entry(bp__greedy *g, int32_t e) {
    int32_t label = g->label[e], last = --g->holders[label];
    int32_t *list = g->holder + g->holder_start[label];
    list[g->place[e]] = list[last];
    g->place[list[last]] = g->place[e];
}

static void pass_entry(bp__greedy *g, int32_t e, int32_t owner) {
    int32_t fresh = g->entries++, label = g->label[e];
    g->label[fresh] = label;
    g->place[fresh] = g->place[e];
    g->owner[fresh] = owner;
    g->holder[g->holder_start[label] + g->place[e]] = fresh;
}

/* Makes the node's label set from the two others'; *product is the logarithm of all sizes. True where it sums. */
static bool merge_entries(bp__greedy *g, int32_t a, int32_t b, int32_t id, double *product) {
    int32_t x = g->nodes[a].first, x_end = x + g->nodes[a].count;
    int32_t y = g->nodes[b].first, y_end = y + g->nodes[b].count;
    bool inner = false;
    double log = 0;
    *product = 0;
    while (x < x_end || y < y_end) {
        int32_t e = y == y_end || (x < x_end && g->label[x] <= g->label[y]) ? x : y;
        bool both = x < x_end && y < y_end && g->label[x] == g->label[y];
        int32_t label = g->label[e];
        *product += g->net->log[label];
        if (both) {
            drop_entry(g, y);
            g->uses[label]--;
        }
        if (both && g->uses[label] == 1) { /* the result would be the last to have it */
            drop_entry(g, x);
            inner = true;
        } else {
            pass_entry(g, e, id);
            log += g->net->log[label];
        }
        x += both || e == x;
        y += both || e == y;
    }
    g->nodes[id].log = log;
    return inner;
}

static void add_cost(bp__greedy *g, double product_log, double result_log, bool inner) {
    double flops = product_log + (inner ? 1 : 0);
    double cost;
    if (g->goal->objective == BP_MINIMIZE_FLOPS) {
        cost = flops;
    } else if (flops < LARGEST_LOG && result_log < LARGEST_LOG) {
        cost = log2(bp__goal_step(g->goal, exp2(flops), exp2(result_log)));
    } else {
        cost = g->goal->objective == BP_MINIMIZE_SIZE || g->goal->objective == BP_MINIMIZE_WRITE ? result_log : flops;
    }
    g->largest = cost > g->largest ? cost : g->largest;
    if (g->goal->objective != BP_MINIMIZE_SIZE) {
        g->sum += power(cost);
    }
}

static double total_log(const bp__greedy *g) {
    bool sums = g->goal->objective != BP_MINIMIZE_SIZE && g->largest < LARGEST_LOG;
    return sums ? log2(g->sum) : g->largest;
}

static bool merge(bp__greedy *g, int32_t a, int32_t b, bp__pair *pairs) {
    int32_t id = g->count++;
    double product;
    if (!give_entry_room(g, g->nodes[a].count + g->nodes[b].count)) {
        return false;
    }
    g->nodes[id].first = g->entries;
    bool inner = merge_entries(g, a, b, id, &product);
    g->nodes[id].count = g->entries - g->nodes[id].first;
    g->alive[a] = g->alive[b] = 0;
    g->alive[id] = 1;
    g->shared[id] = -1;
    pairs[id - g->net->terms] = (bp__pair){a, b};
    add_cost(g, product, g->nodes[id].log, inner);
    return true;
}

/* ---- What shares no label: the smallest two, again and again ---- */

static bp__outcome join_rest(bp__greedy *g, double bound_log, bp__pair *pairs) {
    int32_t last = 2 * g->net->terms - 2;
    g->heap_count = 0;
    for (int32_t i = 0; i < g->count; i++) {
        if (g->alive[i]) {
            if (!give_heap_room(g)) {
                return BP__NO_MEMORY;
            }
            g->heap[g->heap_count] = (candidate){g->nodes[i].log, i, i};
            sift_up(g->heap, g->heap_count++);
        }
    }
    while (g->heap_count > 1) {
        int32_t a = pop(g).a, b = pop(g).a;
        if (!merge(g, a, b, pairs)) {
            return BP__NO_MEMORY;
        }
        int32_t id = g->count - 1;
        if (total_log(g) > bound_log || (id != last && g->nodes[id].log > g->limit_log)) {
            return BP__NONE;
        }
        g->heap[g->heap_count] = (candidate){g->nodes[id].log, id, id};
        sift_up(g->heap, g->heap_count++);
    }
    return BP__FOUND;
}

/* ---- One run ---- */

static void begin(bp__greedy *g) {
    const bp__net *net = g->net;
    g->entries = net->start[net->terms];
    g->count = net->terms;
    g->heap_count = 0;
    g->sum = 0;
    g->largest = -HUGE_VAL;
    memcpy(g->uses, net->uses, (size_t)net->labels * sizeof *g->uses);
    memcpy(g->label, net->label, (size_t)g->entries * sizeof *g->label);
    memset(g->holders, 0, (size_t)net->labels * sizeof *g->holders);
    for (int32_t t = 0; t < net->terms; t++) {
        double log = 0;
        for (int32_t e = net->start[t]; e < net->start[t + 1]; e++) {
            int32_t label = net->label[e];
            log += net->log[label];
            g->owner[e] = t;
            g->place[e] = g->holders[label]++;
            g->holder[g->holder_start[label] + g->place[e]] = e;
        }
        g->nodes[t] = (node){net->start[t], net->start[t + 1] - net->start[t], log};
        g->alive[t] = 1;
        g->shared[t] = -1;
    }
}

bp__outcome bp__greedy_run(bp__greedy *g, const bp__taste *taste, double bound_log, bp__pair *pairs, double *cost_log) {
    int32_t last = 2 * g->net->terms - 2;
    g->taste = taste;
    g->random = taste->seed;
    begin(g);
    if (!push_all(g)) {
        return BP__NO_MEMORY;
    }
    while (g->heap_count > 0) {
        candidate best = pop(g);
        if (!g->alive[best.a] || !g->alive[best.b]) {
            continue;
        }
        if (!merge(g, best.a, best.b, pairs)) {
            return BP__NO_MEMORY;
        }
        if (total_log(g) > bound_log) {
            return BP__NONE;
        }
        if (g->count - 1 != last && !push_partners(g, g->count - 1, false, true)) {
            return BP__NO_MEMORY;
        }
    }
    bp__outcome outcome = join_rest(g, bound_log, pairs);
    *cost_log = total_log(g);
    return outcome;
}

/* ---- Memory ---- */

static bool give_room(bp__greedy *g) {
    const bp__net *net = g->net;
    size_t nodes = 2 * (size_t)net->terms, labels = (size_t)net->labels, entries = (size_t)net->start[net->terms];
    size_t size =
        nodes * (sizeof(node) + sizeof(double) + sizeof(int32_t) + 1) + (3 * labels + 1 + entries) * sizeof(int32_t);
    char *at = bp__alloc(size);
    if (!at) {
        return false;
    }
    g->memory = at;
    g->nodes = (node *)at;
    g->shared = (double *)(g->nodes + nodes);
    g->partner = (int32_t *)(g->shared + nodes);
    g->holder_start = g->partner + nodes;
    g->holders = g->holder_start + labels + 1;
    g->uses = g->holders + labels;
    g->holder = g->uses + labels;
    g->alive = (unsigned char *)(g->holder + entries);
    return give_entry_room(g, (int32_t)(entries < (1 << 28) ? entries * 4 + 16 : entries));
}

/* Where each label's list of holders begins: after those of the labels before it. */
static void place_lists(bp__greedy *g) {
    const bp__net *net = g->net;
    memset(g->holder_start, 0, ((size_t)net->labels + 1) * sizeof *g->holder_start);
    for (int32_t e = 0; e < net->start[net->terms]; e++) {
        g->holder_start[net->label[e] + 1]++;
    }
    for (int32_t l = 0; l < net->labels; l++) {
        g->holder_start[l + 1] += g->holder_start[l];
    }
}

bp_status bp__greedy_new(bp__greedy **greedy, const bp__net *net, const bp__goal *goal) {
    bp__greedy *g = bp__alloc_zero(1, sizeof *g);
    *greedy = g;
    if (!g) {
        return bp__fail_memory(sizeof *g, "greedy");
    }
    g->net = net;
    g->goal = goal;
    g->limit_log = log2(goal->limit) + 1e-9; /* infinite stays so; logarithms of whole numbers round */
    if (!give_room(g)) {
        bp__greedy_free(g);
        *greedy = NULL;
        return bp__fail_memory((size_t)net->start[net->terms] * 16, "greedy");
    }
    place_lists(g);
    return BP_OK;
}

void bp__greedy_free(bp__greedy *g) {
    if (g) {
        bp__free(g->label);
        bp__free(g->place);
        bp__free(g->owner);
        bp__free(g->heap);
        bp__free(g->memory);
        bp__free(g);
    }
}
