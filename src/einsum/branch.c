/* branch.c - depth-first search that tries the best few pairs with a shared label at each step: branch-1, branch-2 and
 * branch-all.
 *
 * Outer products are tried only if no two terms share a label. */
#include "einsum/internal.h"

#include <stdlib.h>
#include <string.h>

#define BITS 64
#define WORK_PER_PAIR 4 /* work units */
#define CUTOFF                                                                                                         \
    4 /* factor; an order is dropped if its cost exceeds this multiple of the cheapest one at the same depth           \
       */

typedef struct option {
    double key; /* elements that the step adds */
    int32_t a, b;
} option;

typedef struct branching {
    const bp__network *net;
    const bp__goal *goal;
    bp__budget *budget;
    int width, words;
    uint64_t *sets; /* label set of each node */
    double *size;   /* elements of each node */
    int32_t *uses;
    int32_t *live;    /* the remaining nodes of each depth */
    double *progress; /* least cost so far at each depth */
    option *options;  /* a stack with the options of each depth */
    size_t option_count, option_capacity;
    bp__pair *current, *best;
    double best_cost;
    bp__outcome outcome; /* BP__FOUND if there is none */
    void *memory;
} branching;

/* Returns the live nodes of a depth; they follow the nodes of all smaller depths. */
static int32_t *live_at(const branching *s, int depth) {
    size_t terms = (size_t)s->net->terms, d = (size_t)depth;
    return s->live + d * terms - d * (d - (d > 0)) / 2;
}

static uint64_t *set_of(const branching *s, int32_t node) {
    return s->sets + (size_t)node * (size_t)s->words;
}

/* The result of contracting a pair. */
typedef struct pair_facts {
    double product, result;
    bool shares, inner;
} pair_facts;

static pair_facts look_at(const branching *s, int32_t a, int32_t b) {
    pair_facts f = {.product = s->size[a] * s->size[b]};
    double summed = 1;
    for (int w = 0; w < s->words; w++) {
        for (uint64_t left = set_of(s, a)[w] & set_of(s, b)[w]; left; left &= left - 1) {
            int label = w * BITS + __builtin_ctzll(left);
            f.product /= s->net->size[label];
            f.shares = true;
            if (s->uses[label] == 2) {
                f.inner = true;
                summed *= s->net->size[label];
            }
        }
    }
    f.result = f.product / summed;
    return f;
}

static bp__side side_of(const branching *s, int32_t node) {
    return (bp__side){s->size[node], node < s->net->terms ? s->net->alone[node] : 0};
}

static double step_cost(const branching *s, const pair_facts *f, int32_t a, int32_t b) {
    unsigned first;
    return bp__goal_pair(s->goal, f->product, f->result, f->inner, side_of(s, a), side_of(s, b), &first);
}

/* ---- Options ---- */

static int order_options(const void *x, const void *y) {
    const option *a = x, *b = y;
    if (a->key != b->key) {
        return (a->key > b->key) - (a->key < b->key);
    }
    return a->b != b->b ? (a->b > b->b) - (a->b < b->b) : (a->a > b->a) - (a->a < b->a);
}

/* Adds an option. Keeps only the best `width` of this depth, sorted; if width is 0, keeps all, unsorted. Returns false
 * if memory is short. */
static bool keep_option(branching *s, size_t from, option fresh) {
    size_t width = (size_t)s->width;
    if (s->width > 0 && s->option_count - from == width) {
        if (order_options(&fresh, &s->options[s->option_count - 1]) >= 0) {
            return true;
        }
        s->option_count--;
    }
    if (s->option_count == s->option_capacity) {
        size_t more = s->option_capacity * 2 + 64;
        option *grown = bp__realloc(s->options, more * sizeof *grown);
        if (!grown) {
            return false;
        }
        s->options = grown;
        s->option_capacity = more;
    }
    size_t at = s->option_count++;
    for (; s->width > 0 && at > from && order_options(&fresh, &s->options[at - 1]) < 0; at--) {
        s->options[at] = s->options[at - 1];
    }
    s->options[at] = fresh;
    return true;
}

/* Collects the pairs of this depth: those that share a label, or all. */
static bool find_options(branching *s, int depth, bool sharing) {
    const int32_t *live = live_at(s, depth);
    int count = s->net->terms - depth;
    size_t from = s->option_count;
    for (int i = 0; i < count; i++) {
        for (int j = i + 1; j < count; j++) {
            pair_facts f = look_at(s, live[i], live[j]);
            bool fits = count == 2 || f.result <= s->goal->limit;
            double key = f.result - s->size[live[i]] - s->size[live[j]];
            if (fits && (f.shares || !sharing) && !keep_option(s, from, (option){key, live[i], live[j]})) {
                s->outcome = BP__NO_MEMORY;
                return false;
            }
        }
    }
    if (s->width == 0 && s->option_count > from) {
        qsort(s->options + from, s->option_count - from, sizeof *s->options, order_options);
    }
    return s->option_count > from;
}

/* ---- One step forward and back ---- */

/* Each shared label loses one holder. A label that only the result would hold is summed in this step and removed from
 * the result. */
static void step_forth(branching *s, int depth, option o, const pair_facts *f) {
    const int32_t *live = live_at(s, depth);
    int32_t *next = live_at(s, depth + 1), id = s->net->terms + depth;
    for (int i = 0; i < s->net->terms - depth; i++) {
        if (live[i] != o.a && live[i] != o.b) {
            *next++ = live[i];
        }
    }
    *next = id;
    for (int w = 0; w < s->words; w++) {
        uint64_t a = set_of(s, o.a)[w], b = set_of(s, o.b)[w], result = a | b;
        for (uint64_t left = a & b; left; left &= left - 1) {
            if (--s->uses[w * BITS + __builtin_ctzll(left)] == 1) {
                result &= ~(left & (0 - left));
            }
        }
        set_of(s, id)[w] = result;
    }
    s->size[id] = f->result;
    s->current[depth] = (bp__pair){o.a, o.b};
}

static void step_back(branching *s, option o) {
    for (int w = 0; w < s->words; w++) {
        for (uint64_t left = set_of(s, o.a)[w] & set_of(s, o.b)[w]; left; left &= left - 1) {
            s->uses[w * BITS + __builtin_ctzll(left)]++;
        }
    }
}

static bool worth_it(branching *s, int depth, double cost) {
    double *least = &s->progress[depth];
    if (cost >= s->best_cost || cost > CUTOFF * *least) {
        return false;
    }
    *least = cost < *least ? cost : *least;
    return true;
}

static void branch_from(branching *s, int depth, double cost) {
    size_t from = s->option_count;
    if (depth == s->net->terms - 1) {
        s->best_cost = cost;
        memcpy(s->best, s->current, (size_t)depth * sizeof *s->best);
        return;
    }
    uint64_t count = (uint64_t)(s->net->terms - depth);
    if (!bp__spend(s->budget, count * count * WORK_PER_PAIR)) {
        s->outcome = s->budget->end;
        return;
    }
    if (!find_options(s, depth, true) && s->outcome == BP__FOUND) {
        find_options(s, depth, false);
    }
    size_t to = s->option_count;
    for (size_t i = from; i < to && s->outcome == BP__FOUND; i++) {
        option o = s->options[i];
        pair_facts f = look_at(s, o.a, o.b);
        double with = bp__goal_join(s->goal, cost, step_cost(s, &f, o.a, o.b));
        if (worth_it(s, depth + 1, with)) {
            step_forth(s, depth, o, &f);
            branch_from(s, depth + 1, with);
            step_back(s, o);
        }
    }
    s->option_count = from;
}

/* ---- The search ---- */

static bool begin(branching *s) {
    const bp__network *net = s->net;
    size_t terms = (size_t)net->terms, nodes = 2 * terms, set_words = nodes * (size_t)s->words;
    size_t lives = terms * (terms + 1) / 2 + terms;
    char *at = bp__alloc((set_words + nodes + terms) * 8 + terms * sizeof(bp__pair) +
                         ((size_t)net->labels + lives) * sizeof(int32_t));
    if (!at) {
        return false;
    }
    s->memory = at;
    s->sets = (uint64_t *)at;
    s->size = (double *)(s->sets + set_words);
    s->progress = s->size + nodes;
    s->current = (bp__pair *)(s->progress + terms);
    s->uses = (int32_t *)(s->current + terms);
    s->live = s->uses + net->labels;
    memset(s->sets, 0, set_words * sizeof *s->sets);
    memcpy(s->uses, net->uses, (size_t)net->labels * sizeof *s->uses);
    for (int32_t t = 0; t < net->terms; t++) {
        for (int32_t e = net->start[t]; e < net->start[t + 1]; e++) {
            set_of(s, t)[net->label[e] / BITS] |= (uint64_t)1 << net->label[e] % BITS;
        }
        s->size[t] = net->elements[t];
        s->live[t] = t;
        s->progress[t] = HUGE_VAL;
    }
    return true;
}

bp__outcome bp__branch(const bp__network *net, const bp__goal *goal, int width, bp__budget *budget, bp__pair *pairs,
                       double *cost) {
    branching s = {.net = net, .goal = goal, .budget = budget, .width = width, .best = pairs, .best_cost = HUGE_VAL};
    s.words = net->labels < 1 ? 1 : (net->labels + BITS - 1) / BITS;
    s.outcome = BP__FOUND;
    if (!begin(&s)) {
        return BP__NO_MEMORY;
    }
    branch_from(&s, 0, 0);
    bp__free(s.memory);
    bp__free(s.options);
    *cost = s.best_cost;
    bool stands = s.outcome == BP__FOUND || (s.outcome == BP__GAVE_UP && s.best_cost < HUGE_VAL);
    if (!stands) {
        return s.outcome;
    }
    return s.best_cost < HUGE_VAL ? BP__FOUND : BP__NONE;
}
