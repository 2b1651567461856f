/* greedy.c - one greedy run: repeatedly contracts the pair that frees the most memory, among pairs that share a label.
 *
 * Two parameters vary between runs: the weight of the operand sizes, and the amount of random noise. All data is stored
 * per entry (a label in a term). The cost of a merge therefore depends only on the number of labels of the two terms.
 * Half a million operands take a second or two. */
#include "einsum/tree.h"

#include <string.h>

#define MOST_PARTNERS 24 /* per label of a new term; more would make labels on many terms quadratic */
#define LARGEST_LOG 1000.0
#define WORK_PER_POP 40       /* work units for a pop and the merge that follows */
#define WORK_PER_CANDIDATE 30 /* work units for a candidate that is rated and put on the heap */
#define WHOLE_LOG 40.0        /* below this logarithm, the error of a power is less than 0.5 */

typedef struct candidate {
    double key;
    int32_t a, b;
} candidate;

typedef struct node {
    int32_t first, count; /* range of its entries */
    double log;           /* of its number of elements */
} node;

struct bp__greedy {
    const bp__network *net;
    const bp__goal *goal;
    double limit_log;
    /* One entry for each label of the operands, then of the results. */
    int32_t *label, *place, *owner; /* place: index in the label's list of holders */
    int32_t entries, entry_capacity;
    int32_t *holder_start, *holder; /* per label: list of entries; `holders` has the lengths */
    int32_t *holders;
    int32_t *uses;
    node *nodes;
    unsigned char *alive;
    int32_t count; /* number of nodes */
    candidate *heap;
    int64_t heap_count, heap_capacity, appended; /* appended: all candidates so far, including removed ones */
    /* Partners of the current node, and the reduction of the result by their shared labels. */
    double *shared;
    int32_t *partner;
    int partners;
    const bp__greedy_params *params;
    uint64_t random;
    double sum, largest; /* sum of the costs, and the largest logarithm */
    void *memory;
};

/* ---- Random noise ---- */

/* Draws from Gumbel's distribution. Adding it to the keys and selecting the best samples with Boltzmann weights. */
static double gumbel(bp__greedy *g) {
    double uniform = ((double)(bp__next_random(&g->random) >> 11) + 0.5) * 0x1p-53;
    return -log(-log(uniform));
}

/* ---- The heap, smallest key first ---- */

static bool is_before(const candidate *x, const candidate *y) {
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
        child += child + 1 < count && is_before(&heap[child + 1], &heap[child]);
        if (!is_before(&heap[child], &moved)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static void sift_up(candidate *heap, int64_t at) {
    candidate moved = heap[at];
    while (at > 0 && is_before(&moved, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = moved;
}

static bool reserve_heap(bp__greedy *g) {
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

/* Returns 2 to that power. Numbers of elements are integers. Small powers are rounded to integers, so that equal sizes
 * have equal keys. */
static double power(double log) {
    double value = exp2(log < LARGEST_LOG ? log : LARGEST_LOG);
    return log < WHOLE_LOG ? (value + 0x1.8p52) - 0x1.8p52 : value;
}

/* Returns the growth of memory: the result minus the operands, weighted. With noise, returns its logarithm plus noise.
 */
static double key_of(bp__greedy *g, double result, double a, double b) {
    double weight = g->params->weight;
    double value = power(result) / weight - weight * (power(a) + power(b));
    if (g->params->temperature == 0) {
        return value;
    }
    return copysign(log1p(fabs(value)), value) - g->params->temperature * gumbel(g);
}

/* Finds the live nodes that share a label with `id`. Sums up how much the shared labels reduce the product's size: once
 * for shared labels, twice for summed ones. */
static void find_partners(bp__greedy *g, int32_t id, bool later_only) {
    const node *n = &g->nodes[id];
    g->partners = 0;
    for (int32_t e = n->first; e < n->first + n->count; e++) {
        int32_t label = g->label[e];
        double off = g->net->log[label] * (g->uses[label] == 2 ? 2 : 1);
        const int32_t *list = g->holder + g->holder_start[label];
        int32_t many = g->holders[label] < MOST_PARTNERS ? g->holders[label] : MOST_PARTNERS;
        /* A long list is read from this entry's position on, so that not all terms select the same few partners. */
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

static const candidate none = {HUGE_VAL, -1, -1};

/* Makes the candidate of the current node and a partner. Returns `none` if the result would exceed the limit. */
static candidate pair_with(bp__greedy *g, int32_t id, int32_t other) {
    double a = g->nodes[id].log, b = g->nodes[other].log, result = a + b - g->shared[other];
    if (result > g->limit_log) {
        return none;
    }
    return (candidate){key_of(g, result, a, b), other < id ? other : id, other < id ? id : other};
}

static void clear_partners(bp__greedy *g) {
    for (int i = 0; i < g->partners; i++) {
        g->shared[g->partner[i]] = -1;
    }
}

/* Appends to the heap's array without sorting. Returns false if memory is short. */
static bool append(bp__greedy *g, candidate c) {
    if (c.b < 0) {
        return true;
    }
    if (!reserve_heap(g)) {
        return false;
    }
    g->heap[g->heap_count++] = c;
    g->appended++;
    return true;
}

/* Appends all pairs with later operands. push_operands() sorts them afterwards. */
static bool append_all(bp__greedy *g, int32_t id) {
    bool fits = true;
    find_partners(g, id, true);
    for (int i = 0; fits && i < g->partners; i++) {
        fits = append(g, pair_with(g, id, g->partner[i]));
    }
    clear_partners(g);
    return fits;
}

/* Appends the best later partner for each label of the operand. */
static bool append_best(bp__greedy *g, int32_t id) {
    const node *n = &g->nodes[id];
    bool fits = true;
    find_partners(g, id, true);
    for (int32_t e = n->first; fits && e < n->first + n->count; e++) {
        int32_t label = g->label[e];
        const int32_t *list = g->holder + g->holder_start[label];
        bool pairs_terms = g->uses[label] == g->holders[label]; /* a label of the output does not define partners */
        candidate best = none;
        for (int32_t i = 0; pairs_terms && i < g->holders[label]; i++) {
            int32_t other = g->owner[list[i]];
            if (other > id && g->shared[other] >= 0) {
                candidate c = pair_with(g, id, other);
                best = is_before(&c, &best) ? c : best;
            }
        }
        fits = append(g, best);
    }
    clear_partners(g);
    return fits;
}

/* Returns false if memory is short. */
static bool push_operands(bp__greedy *g) {
    for (int32_t t = 0; t < g->net->terms; t++) {
        if (!(g->params->narrow ? append_best(g, t) : append_all(g, t))) {
            return false;
        }
    }
    for (int64_t i = g->heap_count / 2 - 1; i >= 0; i--) {
        sift_down(g->heap, g->heap_count, i);
    }
    return true;
}

/* Pushes the candidates of a new result: all partners, or only the best one. Returns false if memory is short. */
static bool push_result(bp__greedy *g, int32_t id) {
    candidate best = none;
    bool fits = true;
    find_partners(g, id, false);
    for (int i = 0; fits && i < g->partners; i++) {
        candidate c = pair_with(g, id, g->partner[i]);
        if (g->params->narrow) {
            best = is_before(&c, &best) ? c : best;
        } else if (c.b >= 0) {
            fits = append(g, c);
            sift_up(g->heap, g->heap_count - 1);
        }
    }
    clear_partners(g);
    if (fits && best.b >= 0) {
        fits = append(g, best);
        sift_up(g->heap, g->heap_count - 1);
    }
    return fits;
}

/* ---- Merging ---- */

static bool reserve_entries(bp__greedy *g, int32_t more) {
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

/* Merges the label sets of the two nodes. *product is the logarithm of the product of all sizes. Returns whether labels
 * are summed. */
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
        if (both && g->uses[label] == 1) { /* only the result would have the label, so it is summed */
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
        g->sum += exp2(cost < LARGEST_LOG ? cost : LARGEST_LOG);
    }
}

static double total_log(const bp__greedy *g) {
    bool sums = g->goal->objective != BP_MINIMIZE_SIZE && g->largest < LARGEST_LOG;
    return sums ? log2(g->sum) : g->largest;
}

static bool merge(bp__greedy *g, int32_t a, int32_t b, bp__pair *pairs) {
    int32_t id = g->count++;
    double product;
    if (!reserve_entries(g, g->nodes[a].count + g->nodes[b].count)) {
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

/* ---- Terms without a shared label: joins the smallest two, repeatedly ---- */

static bp__outcome join_rest(bp__greedy *g, double bound_log, bp__pair *pairs) {
    int32_t last = 2 * g->net->terms - 2;
    g->heap_count = 0;
    for (int32_t i = 0; i < g->count; i++) {
        if (g->alive[i]) {
            if (!reserve_heap(g)) {
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
    const bp__network *net = g->net;
    g->entries = net->start[net->terms];
    g->count = net->terms;
    g->heap_count = g->appended = 0;
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

bp__outcome bp__greedy_run(bp__greedy *g, const bp__greedy_params *params, double bound_log, bp__budget *budget,
                           bp__pair *pairs, double *cost_log) {
    int32_t last = 2 * g->net->terms - 2;
    g->params = params;
    g->random = params->seed;
    begin(g);
    if (!push_operands(g)) {
        return BP__NO_MEMORY;
    }
    for (int64_t appended = 0; g->heap_count > 0; appended = g->appended) {
        uint64_t work = WORK_PER_POP + (uint64_t)(g->appended - appended) * WORK_PER_CANDIDATE;
        if (!bp__spend_anyway(budget, work)) {
            return BP__CANCELLED;
        }
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
        if (g->count - 1 != last && !push_result(g, g->count - 1)) {
            return BP__NO_MEMORY;
        }
    }
    bp__outcome outcome = join_rest(g, bound_log, pairs);
    *cost_log = total_log(g);
    return outcome;
}

/* ---- Memory ---- */

static bool reserve(bp__greedy *g) {
    const bp__network *net = g->net;
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
    return reserve_entries(g, (int32_t)(entries < (1 << 28) ? entries * 4 + 16 : entries));
}

/* Sets the beginning of each label's list of holders, one list after the other. */
static void place_lists(bp__greedy *g) {
    const bp__network *net = g->net;
    memset(g->holder_start, 0, ((size_t)net->labels + 1) * sizeof *g->holder_start);
    for (int32_t e = 0; e < net->start[net->terms]; e++) {
        g->holder_start[net->label[e] + 1]++;
    }
    for (int32_t l = 0; l < net->labels; l++) {
        g->holder_start[l + 1] += g->holder_start[l];
    }
}

bp_status bp__greedy_new(bp__greedy **greedy, const bp__network *net, const bp__goal *goal) {
    bp__greedy *g = bp__alloc_zero(1, sizeof *g);
    *greedy = g;
    if (!g) {
        return bp__fail_memory(sizeof *g, "greedy");
    }
    g->net = net;
    g->goal = goal;
    /* Infinity is unchanged; the tolerance covers rounded logarithms of integers. */
    g->limit_log = log2(goal->limit) + 1e-9;
    if (!reserve(g)) {
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
