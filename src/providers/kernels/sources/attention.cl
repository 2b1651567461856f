/* attention.cl - computes attention with sums that are rescaled when a greater score is found (Milakov and Gimelshein,
 * "Online normalizer calculation for softmax", 2018; Dao and others, "FlashAttention", 2022).
 *
 * X is the type of queries, keys, values and results, REAL (math.cl) the type of the computation. Rows are the queries of an
 * item. Heads that share a key and a value form one item. The order of a row's sums depends on the
 * number of keys, and on the device, alone.
 *
 * With SOFTCAP, scores are limited before the mask is added. With LIMITED, queries see the keys of a window, or their
 * positions are counted from the last key. */
#include "common.cl"
#include "math.cl"
#include "philox.cl"

#define STORAGE JOIN(storage, X)
#define WIDEN(x) ((REAL)JOIN(widen, X)(x))
#define NARROW(x) JOIN(narrow, X)(x)
#define DIMS 12

enum { NO_MASK, BOOL_MASK, F32_MASK, OWN_MASK };
enum { QUERY, KEY, VALUE, MASK, OUTPUT, LOGSUMEXP, TENSORS };

typedef struct layout {
    long row, column, head; /* strides; `head`: between heads that share a key */
    long item[DIMS];
} layout;

typedef struct attention {
    long queries, keys, size, value_size;
    long rows, blocks, units; /* rows of an item, blocks of them, and units of work */
    long slot, key_at, value_at, sum_at; /* panels: numbers of a work item's memory, and where its parts begin */
    ulong limit;                         /* random numbers below it drop a weight */
    long seed_column;
    int ndim, causal, mask, drops, panels, reserved;
    long shape[DIMS];
    layout of[TENSORS];
} attention;

/* Offsets of an item in all tensors. */
static inline void find_item(const attention *p, long item, long at[TENSORS]) {
    for (int t = 0; t < TENSORS; t++) {
        at[t] = 0;
    }
    for (int d = p->ndim - 1; d >= 0; d--) {
        const long index = item % p->shape[d];
        for (int t = 0; t < TENSORS; t++) {
            at[t] += index * p->of[t].item[d];
        }
        item /= p->shape[d];
    }
}

/* The offset of a row of an item in tensors that have queries. */
static inline long row_at(const attention *p, const layout *of, long row) {
    const long head = row / p->queries;
    return head * of->head + (row - head * p->queries) * of->row;
}

#ifdef LIMITED
/* The keys on both sides of its position that a query sees (-1: all), and the position of query 0. */
typedef struct limits {
    long left, right, origin;
} limits;
#define LIMITS_PARAMETER , const limits w
#define LIMITS_POINTER , const limits *w
#define LIMITS , &w
#define SAME_LIMITS , w

static inline long first_of(const attention *p, long query, const limits *w) {
    return w->left < 0 ? 0 : clamp(query + w->origin - w->left, 0L, p->keys);
}

/* The first key that any of the rows sees. */
static inline long begin_of(const attention *p, long row, long rows, const limits *w) {
    const long first = row % p->queries;
    return first_of(p, first + rows > p->queries ? 0 : first, w);
}

static inline long end_of(const attention *p, long query, const limits *w) {
    const long right = p->causal ? 0 : w->right;
    return right < 0 ? p->keys : clamp(query + w->origin + right + 1, 0L, p->keys);
}
#else
#define LIMITS_PARAMETER
#define LIMITS_POINTER
#define LIMITS
#define SAME_LIMITS

static inline long end_of(const attention *p, long query) {
    return p->causal ? min(query + 1, p->keys) : p->keys;
}
#endif

/* The end of the keys that any of the rows sees. */
static inline long permitted(const attention *p, long row, long rows LIMITS_POINTER) {
    const long first = row % p->queries, last = first + rows - 1;
    return end_of(p, min(last, p->queries - 1) SAME_LIMITS);
}

#ifdef SOFTCAP
#define SOFTCAP_PARAMETER , REAL softcap
static inline REAL cap(REAL score, REAL softcap) {
    return softcap * tanh_of(divided(score, softcap));
}
#else
#define SOFTCAP_PARAMETER
#endif

static inline REAL bias_at(const attention *p, __global const uchar *mask, long at) {
    switch (p->mask) {
    case BOOL_MASK:
        return mask[at] ? (REAL)0 : -(REAL)INFINITY;
    case F32_MASK:
        return (REAL)((__global const float *)mask)[at];
    default:
        return WIDEN(((__global const STORAGE *)mask)[at]);
    }
}

/* Exponentials below the least normal number are 0. */
static inline REAL exp_or_0(REAL x) {
    return x < LEAST_EXPONENT * (REAL)0.69314718055994530942 ? (REAL)0 : exp_of(x);
}

static inline REAL finite_center(REAL greatest) {
    return greatest == -(REAL)INFINITY ? (REAL)0 : greatest;
}

static inline REAL logarithm(REAL greatest, REAL sum) {
    return sum == 0 ? -(REAL)INFINITY : greatest + log_of(sum);
}

/* ---- Dropout, as attention.h describes it ---- */

/* The random numbers of four neighbouring keys. */
static inline uint4 random_words(ulong seed, ulong row, ulong block) {
    uint4 counter = MAKE4(uint4, (uint)block, (uint)(block >> 32), (uint)row, (uint)(row >> 32));
    philox(&counter, MAKE2(uint2, (uint)seed, (uint)(seed >> 32)));
    return counter;
}

#ifdef PANELS
#include "attention_panels.cl"
#endif
#ifdef TILES
#include "attention_tiles.cl"
#endif
