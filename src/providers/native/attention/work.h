/* work.h - declares what the kernels of attention share: their calls, addresses of rows and blocks, masks, dropout. */
#ifndef BP_NATIVE_ATTENTION_WORK_H
#define BP_NATIVE_ATTENTION_WORK_H

#include "attention.h"

#include "providers/least.h"
#include "providers/native/address.h"
#include "providers/native/stop.h"

#include <math.h>

enum { BP__ATTENTION_KEYS = 128 }; /* of a block */

/* What each plan begins with. */
typedef struct bp__attention_work {
    bp_prepared base; /* must be first */
    const bp_host *host;
    bp_problem problem;
    bp__attention_set set;
    int threads;
    int64_t group;       /* heads that share a key and a value, if they are the last dimension of the batch; or 1 */
    int64_t items, rows; /* of the batch without them; of an item: group times QUERIES */
    size_t memory;       /* bytes of a thread */
} bp__attention_work;

typedef struct bp__attention_call {
    const bp__attention_work *plan;
    char *tensor[BP_ATTENTION_TENSORS]; /* NULL: absent */
    char *workspace;
    uint64_t seed, offset;
    _Atomic int64_t next;
    bp__stop stop;
} bp__attention_call;

/* One item of a call. */
typedef struct bp__attention_item {
    const bp__attention_call *call;
    const bp__attention_work *plan;
    const bp_attention_problem *problem;
    int64_t index;
    int64_t keys;                       /* of this item, which may have fewer than others */
    char *tensor[BP_ATTENTION_TENSORS]; /* NULL: absent */
} bp__attention_item;

static inline const bp__attention_elements *bp__attention_elements_of(const bp__attention_work *plan, uint32_t dtype) {
    return &plan->set.elements[dtype - BP_F16];
}

/* Sets what the plans have in common, and finds the group. */
void bp__attention_begin(bp__attention_work *plan, const bp_host *host, const bp_problem *problem,
                         const bp__attention_set *set, int threads);
bp__attention_call bp__attention_call_of(const bp__attention_work *plan, const bp_operand *operands,
                                         const bp_exec *exec);
bp__attention_item bp__attention_item_of(const bp__attention_call *call, int64_t index);

/* Checks the numbers of pages and keys of a call that has them. Sets an error if one is out of range. */
bp_status bp__attention_check_numbers(const bp__attention_call *call);
/* Converts `keys` rows of KEY or VALUE from key `from` on, which may be in several pages, to contiguous rows of
 * numbers. */
void bp__attention_gather(const bp__attention_item *item, bp_attention_tensor which, int64_t from, int64_t keys,
                          double factor, char *to);
/* Returns the address of a row of KEY or VALUE, and the number of rows from there on in the same page. */
const char *bp__attention_in_page(const bp__attention_item *item, bp_attention_tensor which, int64_t key,
                                  int64_t *rows);

/* Returns the address of the first element of a row. */
char *bp__attention_row(const bp__attention_item *item, bp_attention_tensor which, int64_t row);

/* Writes `rows` rows of one tensor. */
void bp__attention_rows(const bp__attention_item *item, bp_attention_tensor which, int64_t row, int64_t rows,
                        void **addresses);

/* Returns `keys` rows of KEY or VALUE from key `from` on as numbers with contiguous columns, `*row` numbers apart. They
 * are converted into `memory` unless they are such numbers already. */
const char *bp__attention_block(const bp__attention_item *item, bp_attention_tensor which, int64_t from, int64_t keys,
                                char *memory, int64_t *row);

/* Return the first key that a row sees, and the end of its keys. */
static inline int64_t bp__attention_first(const bp__attention_item *item, int64_t row) {
    const bp_attention_problem *p = item->problem;
    return p->window_left < 0 ? 0 : bp__attention_first_seen(p, row % p->queries, item->keys);
}

static inline int64_t bp__attention_end(const bp__attention_item *item, int64_t row) {
    const bp_attention_problem *p = item->problem;
    return !p->causal && p->window_right < 0 ? item->keys : bp__attention_end_seen(p, row % p->queries, item->keys);
}

/* From the first key that one of some rows sees to the last one; it may be empty. */
typedef struct bp__attention_range {
    int64_t first, end;
} bp__attention_range;

bp__attention_range bp__attention_seen(const bp__attention_item *item, int64_t row, int64_t rows);

/* Whether none of some rows sees any of `keys` keys from `from` on. */
static inline bool bp__attention_skips(bp__attention_range seen, int64_t from, int64_t keys) {
    return seen.end <= from || seen.first >= from + keys;
}

/* Writes what the mask adds to the scores of one row, `lanes` numbers apart; the item has a mask. */
void bp__attention_bias(const bp__attention_item *item, int64_t row, int64_t from, int64_t keys, char *to,
                        int64_t lanes);
/* Writes it for a panel. Returns `to`, or NULL if there is no mask. */
char *bp__attention_panel_bias(const bp__attention_item *item, int64_t row, int64_t rows, int64_t from, int64_t keys,
                               char *to);
/* Writes which of `keys` keys from `from` on the rows of a panel see, in at most two lines from `to` on. A limit that
 * none of the rows needs is NULL. */
bp__attention_limits bp__attention_panel_limits(const bp__attention_item *item, int64_t row, int64_t rows, int64_t from,
                                                int64_t keys, char *to);

/* Writes sums to a row of MASK_GRADIENT, from a column on. Sums are `step` numbers apart. */
void bp__attention_write_mask(const bp__attention_item *item, int64_t row, int64_t column, int64_t columns,
                              const char *sums, int64_t step);

/* Applies dropout to the weights of `lanes` rows; the first `rows` exist. */
void bp__attention_drop(const bp__attention_item *item, int64_t row, int64_t rows, int lanes, int64_t from,
                        int64_t keys, char *weights);

/* Copies rows of a tensor to the lanes of a panel [columns][lanes], times `factor`; lanes without a row are 0. */
void bp__attention_pack(const bp__attention_item *item, bp_attention_tensor which, int64_t row, int64_t rows,
                        int64_t columns, double factor, char *to);

/* Splits the scale of scores into a power of 2, whose exponent it returns, and *rest. Queries of bf16 are
 * multiplied by the power, which is exact and at most 1, so that products overflow no earlier than scores. */
static inline int bp__attention_split_scale(double scale, double *rest) {
    const int exponent = scale == 0 ? 0 : ilogb(scale);
    *rest = scalbn(scale, exponent < 0 ? -exponent : 0);
    return exponent < 0 ? exponent : 0;
}

/* Copies rows of queries to the lanes of a panel of pairs, times a power of 2; lanes without a row are 0. Queries of
 * f32 are rounded; `memory` holds one of them. */
void bp__attention_pack_pairs(const bp__attention_item *item, int64_t row, int64_t rows, char *memory, char *to);
/* Returns `keys` rows of KEY from key `from` on as rows of pairs, `*row` bf16 numbers apart. They are copied into
 * `memory` unless they are such rows already; rows of f32 are rounded. */
const char *bp__attention_pair_keys(const bp__attention_item *item, int64_t from, int64_t keys, char *memory,
                                    int64_t *row);

/* Runs compute(call, unit, memory of the thread) for each unit. */
void bp__attention_stage(bp__attention_call *call,
                         void (*compute)(bp__attention_call *call, int64_t unit, char *memory), int64_t units);

/* Items that add to one gradient: those that differ in the dimensions of `shared`. */
typedef struct bp__attention_sweep {
    bp_attention_tensor first, second; /* the gradients; BP_ATTENTION_TENSORS: none */
    uint32_t shared;                   /* bit d: dimension d of the batch */
    int64_t targets, items;            /* gradients, and items of each */
} bp__attention_sweep;

enum { BP__ATTENTION_SWEEPS = 4 };

/* Writes the sweeps that compute the gradients of a problem: by query; by key and value together, if they are summed
 * over the same items; by the mask. Returns how many there are. */
int bp__attention_sweeps(const bp__attention_work *work, bp__attention_sweep sweeps[BP__ATTENTION_SWEEPS]);
/* Returns item number `index` of those that add to a gradient. */
int64_t bp__attention_sweep_item(const bp__attention_work *work, const bp__attention_sweep *sweep, int64_t target,
                                 int64_t index);

/* More memory than can be allocated. Sums and products of sizes do not exceed it, so that an impossible workspace is
 * refused as such. */
#define BP__ATTENTION_TOO_MUCH ((size_t)1 << 60)
size_t bp__attention_times(size_t a, size_t b);
/* Reserves an array of numbers in 64-byte lines. Returns its offset. */
size_t bp__attention_reserve(size_t *end, size_t number, int64_t rows, int64_t columns);

bp_status bp__attention_no_memory(const bp_host *host, size_t size);
void bp__attention_destroy(bp_prepared *self);

#endif
