/* exact.c - finds the order of least cost by dynamic programming over sets of operands.
 *
 * For each set, from pairs upwards, it keeps the cheapest way to contract it. A set is kept only if its cost plus the
 * least cost of reading its result is within a bound. The bound is the cost of a good order found by other means, so
 * that few sets are made. Sets of operands and labels are bit masks. The code is compiled once for networks that fit
 * one word of each, and once for any size.
 *
 * Whether a step sums a label depends on the set alone, because the set determines which operands are outside. A table
 * indexed by the labels of the two results cannot know that. Searches with such a table miss the best order if a label
 * is on three tensors. */
#include "einsum/internal.h"

#include <string.h>

#define BITS 64
#define MOST_SETS (1 << 25) /* sets; about 2 GiB */
#define JOINS_PER_LOOK 4096
#define WORK_PER_JOIN 16 /* work units for a pair whose cost is computed and that may be kept */

typedef struct table {
    const bp__network *net;
    const bp__goal *goal;
    int set_words, label_words;
    bool outer;
    double bound;
    bp__budget *budget;
    /* Per kept set; sets of one size are adjacent. */
    uint64_t *sets, *labels;
    double *cost, *size;
    bp__pair *made_of;
    int count, capacity;
    int32_t *layer; /* layer[s]: index of the first set of size s */
    int32_t *slot;  /* hash table: index of a set, or -1 */
    uint32_t slot_mask;
    uint64_t *holders; /* per label: the operands that have it */
    uint64_t *kept;    /* labels that the output, or something outside the network, has */
    double *products;  /* per group of four labels: the products of their sizes, for all 16 subsets */
    void *fixed;
} table;

/* Buffers for the current pair. */
typedef struct scratch {
    uint64_t *set, *result, *shared;
} scratch;

static int words_for(int count) {
    return count < 1 ? 1 : (count + BITS - 1) / BITS;
}

static void set_bit(uint64_t *words, int bit) {
    words[bit / BITS] |= (uint64_t)1 << bit % BITS;
}

/* ---- Memory ---- */

static bool grow_array(void *array, size_t each, int count) {
    void **at = array;
    void *more = bp__realloc(*at, each * (size_t)count);
    if (!more) {
        return false;
    }
    *at = more;
    return true;
}

static bool grow_sets(table *t) {
    int more = t->capacity ? t->capacity * 2 : 64;
    if (more < t->net->terms) {
        more = t->net->terms * 2;
    }
    bool grown = grow_array(&t->sets, sizeof *t->sets * (size_t)t->set_words, more) &&
                 grow_array(&t->labels, sizeof *t->labels * (size_t)t->label_words, more) &&
                 grow_array(&t->cost, sizeof *t->cost, more) && grow_array(&t->size, sizeof *t->size, more) &&
                 grow_array(&t->made_of, sizeof *t->made_of, more);
    t->capacity = grown ? more : t->capacity;
    return grown;
}

static uint64_t hash_set(const uint64_t *set, const int words) {
    uint64_t hash = 0;
    for (int w = 0; w < words; w++) {
        hash = (hash ^ set[w]) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    return hash;
}

static bool grow_slots(table *t) {
    size_t slots = t->slot ? ((size_t)t->slot_mask + 1) * 4 : 256;
    while (slots < 4 * (size_t)t->count) {
        slots *= 4;
    }
    int32_t *slot = bp__alloc(slots * sizeof *slot);
    if (!slot) {
        return false;
    }
    memset(slot, 0xff, slots * sizeof *slot);
    bp__free(t->slot);
    t->slot = slot;
    t->slot_mask = (uint32_t)slots - 1;
    for (int i = 0; i < t->count; i++) {
        uint64_t at = hash_set(t->sets + (size_t)i * (size_t)t->set_words, t->set_words);
        while (slot[at & t->slot_mask] >= 0) {
            at++;
        }
        slot[at & t->slot_mask] = i;
    }
    return true;
}

static void table_free(table *t) {
    bp__free(t->sets);
    bp__free(t->labels);
    bp__free(t->cost);
    bp__free(t->size);
    bp__free(t->made_of);
    bp__free(t->slot);
    bp__free(t->fixed);
}

/* ---- Initialization ---- */

static bool allocate_fixed(table *t) {
    size_t labels = (size_t)t->net->labels, nibbles = (size_t)t->label_words * (BITS / 4) * 16;
    size_t words = labels * (size_t)t->set_words + (size_t)t->label_words;
    size_t size = nibbles * sizeof(double) + words * sizeof(uint64_t) + ((size_t)t->net->terms + 2) * sizeof(int32_t);
    char *at = bp__alloc(size);
    if (!at) {
        return false;
    }
    t->fixed = at;
    t->products = (double *)at;
    t->holders = (uint64_t *)(t->products + nibbles);
    t->kept = t->holders + labels * (size_t)t->set_words;
    t->layer = (int32_t *)(t->kept + t->label_words);
    memset(t->holders, 0, words * sizeof(uint64_t));
    return true;
}

static void fill_products(table *t) {
    for (int four = 0; four * 4 < t->net->labels; four++) {
        double *product = t->products + (size_t)four * 16;
        product[0] = 1;
        for (int bit = 0; bit < 4; bit++) {
            int label = four * 4 + bit;
            double size = label < t->net->labels ? t->net->size[label] : 1;
            for (int i = 0; i < 1 << bit; i++) {
                product[(1 << bit) + i] = product[i] * size;
            }
        }
    }
}

/* Adds the operands: they are the sets of size 1. */
static void fill_operands(table *t) {
    const bp__network *net = t->net;
    memset(t->sets, 0, (size_t)net->terms * (size_t)t->set_words * sizeof *t->sets);
    memset(t->labels, 0, (size_t)net->terms * (size_t)t->label_words * sizeof *t->labels);
    for (int i = 0; i < net->terms; i++) {
        set_bit(t->sets + (size_t)i * (size_t)t->set_words, i);
        for (int j = net->start[i]; j < net->start[i + 1]; j++) {
            set_bit(t->labels + (size_t)i * (size_t)t->label_words, net->label[j]);
            set_bit(t->holders + (size_t)net->label[j] * (size_t)t->set_words, i);
        }
        t->cost[i] = 0;
        t->size[i] = net->elements[i];
        t->made_of[i] = (bp__pair){-1, -1};
    }
    t->count = net->terms;
}

/* Marks labels with more uses than the operands here account for. */
static void fill_kept(table *t) {
    for (int label = 0; label < t->net->labels; label++) {
        int inside = 0;
        for (int w = 0; w < t->set_words; w++) {
            inside += __builtin_popcountll(t->holders[(size_t)label * (size_t)t->set_words + (size_t)w]);
        }
        if (t->net->uses[label] > inside) {
            set_bit(t->kept, label);
        }
    }
}

static bool begin(table *t) {
    t->set_words = words_for(t->net->terms);
    t->label_words = words_for(t->net->labels);
    if (!grow_sets(t) || !allocate_fixed(t)) {
        return false;
    }
    fill_products(t);
    fill_operands(t);
    fill_kept(t);
    return grow_slots(t);
}

/* ---- Pairs ---- */

#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE double product_of(const table *t, const uint64_t *labels, const int words) {
    double product = 1;
    for (int w = 0; w < words; w++) {
        const double *four = t->products + (size_t)w * (BITS / 4) * 16;
        for (uint64_t left = labels[w]; left; left >>= 4, four += 16) {
            product *= four[left & 15];
        }
    }
    return product;
}

/* Returns whether the set contains all operands with the label. */
ALWAYS_INLINE bool holds_all(const table *t, int label, const uint64_t *set, const int words) {
    uint64_t outside = 0;
    for (int w = 0; w < words; w++) {
        outside |= t->holders[(size_t)label * (size_t)words + (size_t)w] & ~set[w];
    }
    return outside == 0;
}

/* Removes the labels that the step sums from `result`. Returns whether there are any. */
ALWAYS_INLINE bool take_summed(const table *t, const uint64_t *shared, const uint64_t *set, uint64_t *result,
                               const int set_words, const int label_words) {
    bool any = false;
    for (int w = 0; w < label_words; w++) {
        for (uint64_t left = shared[w] & ~t->kept[w]; left; left &= left - 1) {
            int bit = __builtin_ctzll(left);
            if (holds_all(t, w * BITS + bit, set, set_words)) {
                result[w] &= ~((uint64_t)1 << bit);
                any = true;
            }
        }
    }
    return any;
}

ALWAYS_INLINE bool same_words(const uint64_t *a, const uint64_t *b, const int words) {
    uint64_t differ = 0;
    for (int w = 0; w < words; w++) {
        differ |= a[w] ^ b[w];
    }
    return differ == 0;
}

/* Returns the index of a set. If there is none, returns -1 and the free slot in *slot. */
ALWAYS_INLINE int find_set(const table *t, const uint64_t *set, uint64_t *slot, const int words) {
    uint64_t at = hash_set(set, words);
    for (; t->slot[at & t->slot_mask] >= 0; at++) {
        int found = t->slot[at & t->slot_mask];
        if (same_words(t->sets + (size_t)found * (size_t)words, set, words)) {
            return found;
        }
    }
    *slot = at & t->slot_mask;
    return -1;
}

/* Returns whether the set is an operand with labels that no other operand has. */
static bool has_alone(const table *t, int number) {
    return number < t->net->terms && t->net->alone[number] > 0;
}

static bp__side side_of(const table *t, int number) {
    bool operand = number < t->net->terms;
    return (bp__side){t->size[number], operand ? t->net->alone[number] : 0};
}

ALWAYS_INLINE double cost_of_pair(const table *t, int a, int b, double product, double size, bool inner) {
    double step;
    if (BP__UNLIKELY(has_alone(t, a) || has_alone(t, b))) {
        unsigned first;
        step = bp__goal_pair(t->goal, product, size, inner, side_of(t, a), side_of(t, b), &first);
    } else {
        step = bp__goal_step(t->goal, inner ? 2 * product : product, size);
    }
    return bp__goal_join(t->goal, bp__goal_join(t->goal, t->cost[a], t->cost[b]), step);
}

static bool add_set(table *t, const uint64_t *set, const uint64_t *labels, double cost, double size, bp__pair made_of,
                    uint64_t slot) {
    if (t->count == t->capacity && !grow_sets(t)) {
        return false;
    }
    size_t i = (size_t)t->count++;
    memcpy(t->sets + i * (size_t)t->set_words, set, (size_t)t->set_words * sizeof *set);
    memcpy(t->labels + i * (size_t)t->label_words, labels, (size_t)t->label_words * sizeof *labels);
    t->cost[i] = cost;
    t->size[i] = size;
    t->made_of[i] = made_of;
    t->slot[slot] = (int32_t)i;
    return (uint32_t)t->count * 2 < t->slot_mask || grow_slots(t);
}

/* Records the pair a, b if it is within the bound and cheaper than the known pair. Returns false if memory is short. */
ALWAYS_INLINE bool join(table *t, const scratch *x, int a, int b, bool last, const int set_words,
                        const int label_words) {
    uint64_t *set = x->set, *result = x->result, *shared = x->shared;
    for (int w = 0; w < set_words; w++) {
        set[w] =
            t->sets[(size_t)a * (size_t)set_words + (size_t)w] | t->sets[(size_t)b * (size_t)set_words + (size_t)w];
    }
    for (int w = 0; w < label_words; w++) {
        uint64_t of_a = t->labels[(size_t)a * (size_t)label_words + (size_t)w];
        uint64_t of_b = t->labels[(size_t)b * (size_t)label_words + (size_t)w];
        result[w] = of_a | of_b;
        shared[w] = of_a & of_b;
    }
    double product = product_of(t, result, label_words);
    bool inner = take_summed(t, shared, set, result, set_words, label_words);
    double size = inner ? product_of(t, result, label_words) : product;
    double cost = cost_of_pair(t, a, b, product, size, inner);
    /* An intermediate result is read by a later step. That step takes at least as many operations as the result has
     * elements; the elements of its own result may be fewer. */
    double later = last || t->goal->objective == BP_MINIMIZE_SIZE || t->goal->objective == BP_MINIMIZE_WRITE ? 0 : size;
    if (cost + later > t->bound || (!last && size > t->goal->limit)) {
        return true;
    }
    uint64_t slot = 0;
    int known = find_set(t, set, &slot, set_words);
    if (known >= 0) {
        if (cost < t->cost[known]) {
            t->cost[known] = cost;
            t->made_of[known] = (bp__pair){a, b};
        }
        return true;
    }
    return add_set(t, set, result, cost, size, (bp__pair){a, b}, slot);
}

/* Returns whether two sets can be joined: they must be disjoint and share a label, or outer products must be allowed.
 */
ALWAYS_INLINE bool fit(const table *t, int a, int b, const int set_words, const int label_words) {
    uint64_t both = 0, shared = 0;
    for (int w = 0; w < set_words; w++) {
        both |= t->sets[(size_t)a * (size_t)set_words + (size_t)w] & t->sets[(size_t)b * (size_t)set_words + (size_t)w];
    }
    if (both) {
        return false;
    }
    for (int w = 0; w < label_words; w++) {
        shared |= t->labels[(size_t)a * (size_t)label_words + (size_t)w] &
                  t->labels[(size_t)b * (size_t)label_words + (size_t)w];
    }
    return shared || t->outer;
}

/* Makes all sets of `size` from sets of `part` operands and sets of the rest. */
ALWAYS_INLINE bp__outcome fill_from(table *t, const scratch *x, int size, int part, const int set_words,
                                    const int label_words) {
    int rest = size - part;
    bool last = size == t->net->terms;
    for (int a = t->layer[part]; a < t->layer[part + 1]; a++) {
        int from = part == rest ? a + 1 : t->layer[rest], to = t->layer[rest + 1];
        uint64_t work = (uint64_t)(to > from ? to - from : 0) + 1, joined = 0;
        if (!bp__spend(t->budget, work * (uint64_t)(set_words + label_words) / 2)) {
            return t->budget->end;
        }
        if (t->count > MOST_SETS) {
            return BP__GAVE_UP;
        }
        for (int b = from; b < to; b++) {
            bool within = bp__goal_join(t->goal, t->cost[a], t->cost[b]) <= t->bound;
            if (within && fit(t, a, b, set_words, label_words)) {
                if (!join(t, x, a, b, last, set_words, label_words)) {
                    return BP__NO_MEMORY;
                }
                if (++joined == JOINS_PER_LOOK) {
                    joined = 0;
                    if (!bp__spend(t->budget, JOINS_PER_LOOK * WORK_PER_JOIN)) {
                        return t->budget->end;
                    }
                }
            }
        }
        if (!bp__spend(t->budget, joined * WORK_PER_JOIN)) {
            return t->budget->end;
        }
    }
    return BP__FOUND;
}

ALWAYS_INLINE bp__outcome fill_layers(table *t, const scratch *x, const int set_words, const int label_words) {
    t->layer[1] = 0;
    for (int size = 2; size <= t->net->terms; size++) {
        t->layer[size] = t->count;
        for (int part = 1; part <= size / 2; part++) {
            bp__outcome outcome = fill_from(t, x, size, part, set_words, label_words);
            if (outcome != BP__FOUND) {
                return outcome;
            }
        }
    }
    return t->count > t->layer[t->net->terms] ? BP__FOUND : BP__NONE;
}

static bp__outcome fill_one_word(table *t) {
    uint64_t set, result, shared;
    return fill_layers(t, &(scratch){&set, &result, &shared}, 1, 1);
}

static bp__outcome fill_any(table *t) {
    uint64_t *words = bp__alloc(((size_t)t->set_words + 2 * (size_t)t->label_words) * sizeof *words);
    scratch x = {words, words + t->set_words, words + t->set_words + t->label_words};
    bp__outcome outcome = words ? fill_layers(t, &x, t->set_words, t->label_words) : BP__NO_MEMORY;
    bp__free(words);
    return outcome;
}

/* ---- Reading the order: the set of all operands is split from the end; the identity of a result is its index. ---- */
static void read_order(const table *t, bp__pair *pairs) {
    int terms = t->net->terms, made = terms - 1;
    int32_t waiting_at = made - 1; /* pairs[waiting_at..] hold the indices of sets that are still to be split */
    pairs[waiting_at] = t->made_of[t->count - 1];
    for (int at = made - 1; at >= 0; at--) {
        int32_t *side[] = {&pairs[at].a, &pairs[at].b};
        for (int i = 0; i < 2; i++) {
            if (*side[i] >= terms) {
                pairs[--waiting_at] = t->made_of[*side[i]];
                *side[i] = terms + waiting_at;
            }
        }
    }
}

bp__outcome bp__exact(const bp__network *net, const bp__goal *goal, bool outer, double bound, bp__budget *budget,
                      bp__pair *pairs, double *cost) {
    /* Sums in another order round differently; the tolerance keeps the order that gave the bound within it. */
    table t = {.net = net, .goal = goal, .outer = outer, .budget = budget, .bound = bound * (1 + 1e-9)};
    bp__outcome outcome = BP__NO_MEMORY;
    if (begin(&t)) {
        outcome = t.set_words == 1 && t.label_words == 1 ? fill_one_word(&t) : fill_any(&t);
    }
    if (outcome == BP__FOUND) {
        read_order(&t, pairs);
        *cost = t.cost[t.count - 1];
    }
    table_free(&t);
    return outcome;
}
