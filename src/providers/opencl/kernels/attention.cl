/* attention.cl - computes attention with sums that are rescaled when a greater score is found (Milakov and Gimelshein,
 * "Online normalizer calculation for softmax", 2018; Dao and others, "FlashAttention", 2022).
 *
 * X is the type of queries, keys, values and results, REAL (math.cl) that of the computation. Rows are the queries of an
 * item; those of heads that share a key and a value are rows of one item. The order of a row's sums depends on the
 * number of keys alone. */
#include "common.cl"
#include "math.cl"

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

/* The number of keys that the causal mask permits for any of the rows. */
static inline long permitted(const attention *p, long row, long rows) {
    if (!p->causal) {
        return p->keys;
    }
    const long first = row % p->queries, last = first + rows - 1;
    return min(p->keys, min(last, p->queries - 1) + 1);
}

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

/* ---- Dropout: Philox 4x32-10, as attention.h describes it ---- */

static inline uint random_word(ulong seed, ulong row, ulong key) {
    const ulong block = key / 4;
    uint k0 = (uint)seed, k1 = (uint)(seed >> 32);
    uint c0 = (uint)block, c1 = (uint)(block >> 32), c2 = (uint)row, c3 = (uint)(row >> 32);
    for (int round = 0; round < 10; round++) {
        const uint first_high = mul_hi(0xD2511F53u, c0), first_low = 0xD2511F53u * c0;
        const uint second_high = mul_hi(0xCD9E8D57u, c2), second_low = 0xCD9E8D57u * c2;
        c0 = second_high ^ c1 ^ k0;
        c1 = second_low;
        c2 = first_high ^ c3 ^ k1;
        c3 = first_low;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    const uint low = key & 1 ? c1 : c0, high = key & 1 ? c3 : c2;
    return key & 2 ? high : low;
}

/* ---- Panels: for processors ----
 *
 * A work item has a slot of the workspace. It takes a block of up to `panels` panels of QUERIES rows, and blocks of KEYS
 * keys. Scores are arrays [KEYS][QUERIES], sums [value_size][QUERIES]. */
#ifdef PANELS
#include "vector.cl"
#define QUERIES (WIDTH * VECTORS)
#define ROWS 6 /* of a product at once: sums, a row of B and an element of A fill 16 vector registers */

/* c[i] = c[i] * factor + sum over k of a[i * a_row + k * a_inner] * b[k], for rows of QUERIES numbers. Rows past the
 * end are computed again, and not written. */
#define PRODUCT(name, B_SPACE, C_SPACE)                                                                                \
    static inline void name(long rows, long inner, __global const REAL *a, long a_row, long a_inner,                   \
                            B_SPACE const REAL *b, C_SPACE REAL *c, const REAL *factor) {                              \
        for (long row = 0; row < rows; row += ROWS) {                                                                  \
            vector sum[ROWS][VECTORS];                                                                                 \
            long at[ROWS];                                                                                             \
            _Pragma("unroll") for (int i = 0; i < ROWS; i++) {                                                         \
                const long own = min(row + i, rows - 1);                                                               \
                at[i] = own * a_row;                                                                                   \
                _Pragma("unroll") for (int v = 0; v < VECTORS; v++) {                                                  \
                    sum[i][v] = factor ? LOAD(WIDTH, own * VECTORS + v, c) * LOAD(WIDTH, v, factor) : (vector)0;       \
                }                                                                                                      \
            }                                                                                                          \
            for (long k = 0; k < inner; k++) {                                                                         \
                vector x[VECTORS];                                                                                     \
                _Pragma("unroll") for (int v = 0; v < VECTORS; v++) {                                                  \
                    x[v] = LOAD(WIDTH, k * VECTORS + v, b);                                                            \
                }                                                                                                      \
                _Pragma("unroll") for (int i = 0; i < ROWS; i++) {                                                     \
                    const vector y = (vector)a[at[i] + k * a_inner];                                                   \
                    _Pragma("unroll") for (int v = 0; v < VECTORS; v++) {                                              \
                        sum[i][v] = fma(y, x[v], sum[i][v]);                                                           \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
            _Pragma("unroll") for (int i = 0; i < ROWS; i++) {                                                         \
                if (row + i < rows) {                                                                                  \
                    _Pragma("unroll") for (int v = 0; v < VECTORS; v++) {                                              \
                        STORE(WIDTH, sum[i][v], (row + i) * VECTORS + v, c);                                           \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
PRODUCT(multiply_keys, __global, __private)
PRODUCT(multiply_values, __private, __global)

/* A panel: its rows, and what is known of each. */
typedef struct panel {
    long row;
    int rows;
    REAL greatest[QUERIES], sum[QUERIES];
} panel;

static inline long row_of_lane(const panel *at, int lane) {
    return at->row + min(lane, at->rows - 1);
}

static inline void pack_queries(const attention *p, __global const STORAGE *query, const panel *at, REAL scale,
                                __global REAL *to) {
    for (int l = 0; l < QUERIES; l++) {
        __global const STORAGE *from = query + row_at(p, &p->of[QUERY], row_of_lane(at, l));
        for (long e = 0; e < p->size; e++) {
            to[e * QUERIES + l] = l < at->rows ? WIDEN(from[e * p->of[QUERY].column]) * scale : (REAL)0;
        }
    }
}

static inline void pack_rows(__global const STORAGE *from, long row, long column, int rows, long columns,
                             __global REAL *to) {
    for (int j = 0; j < rows; j++) {
        __global const STORAGE *own = from + j * row;
        if (column == 1) {
            for (long e = 0; e < columns; e++) {
                to[j * columns + e] = WIDEN(own[e]);
            }
        } else {
            for (long e = 0; e < columns; e++) {
                to[j * columns + e] = WIDEN(own[e * column]);
            }
        }
    }
}

static inline void mask_scores(const attention *p, __global const uchar *mask, long mask_at, const panel *at, long from,
                               int keys, REAL *score) {
    for (int l = 0; l < QUERIES && p->mask != NO_MASK; l++) {
        const long first = mask_at + row_at(p, &p->of[MASK], row_of_lane(at, l)) + from * p->of[MASK].column;
        for (int j = 0; j < keys; j++) {
            score[j * QUERIES + l] += bias_at(p, mask, first + j * p->of[MASK].column);
        }
    }
    for (int l = 0; l < QUERIES && p->causal; l++) {
        const long most = row_of_lane(at, l) % p->queries;
        for (long j = max(most + 1 - from, 0L); j < keys; j++) {
            score[j * QUERIES + l] = -(REAL)INFINITY;
        }
    }
}

/* Replaces scores by weights, updates the greatest score and the sum, and sets the factors of earlier sums. */
static inline void weigh(int keys, REAL *score, panel *at, REAL *factor) {
    REAL best[QUERIES], center[QUERIES], sum[QUERIES];
    for (int l = 0; l < QUERIES; l++) {
        best[l] = at->greatest[l];
    }
    for (int j = 0; j < keys; j++) {
        INDEPENDENT
        for (int l = 0; l < QUERIES; l++) {
            best[l] = score[j * QUERIES + l] > best[l] ? score[j * QUERIES + l] : best[l];
        }
    }
    INDEPENDENT
    for (int l = 0; l < QUERIES; l++) {
        center[l] = finite_center(best[l]);
        factor[l] = exp_or_0(at->greatest[l] - center[l]);
        sum[l] = 0;
    }
    for (int j = 0; j < keys; j++) {
        INDEPENDENT
        for (int l = 0; l < QUERIES; l++) {
            const REAL weight = exp_or_0(score[j * QUERIES + l] - center[l]);
            score[j * QUERIES + l] = weight;
            sum[l] += weight;
        }
    }
    for (int l = 0; l < QUERIES; l++) {
        at->greatest[l] = best[l];
        at->sum[l] = at->sum[l] * factor[l] + sum[l];
    }
}

static inline void drop(const attention *p, const panel *at, ulong seed, ulong offset, long from, int keys, REAL kept,
                        REAL *weight) {
    for (int l = 0; l < QUERIES; l++) {
        const ulong row = offset + (ulong)row_of_lane(at, l);
        for (int j = 0; j < keys; j++) {
            const bool dropped = random_word(seed, row, from + j) < p->limit;
            weight[j * QUERIES + l] = dropped ? (REAL)0 : weight[j * QUERIES + l] * kept;
        }
    }
}

static inline void write_panel(const attention *p, const panel *at, __global const REAL *sums,
                               __global STORAGE *output, __global REAL *logsumexp) {
    for (int l = 0; l < at->rows; l++) {
        const REAL factor = at->sum[l] == 0 ? (REAL)1 : 1 / at->sum[l];
        __global STORAGE *to = output + row_at(p, &p->of[OUTPUT], at->row + l);
        for (long c = 0; c < p->value_size; c++) {
            to[c * p->of[OUTPUT].column] = NARROW(sums[c * QUERIES + l] * factor);
        }
        if (logsumexp) {
            logsumexp[row_at(p, &p->of[LOGSUMEXP], at->row + l)] = logarithm(at->greatest[l], at->sum[l]);
        }
    }
}

/* Keys or values of a block, as numbers with contiguous columns: where they are, or copied. */
typedef struct block {
    __global const REAL *at;
    long row;
} block;

static inline block block_at(const attention *p, int tensor, __global const STORAGE *from, long first, int rows,
                             long columns, __global REAL *copy) {
    const layout *of = &p->of[tensor];
    block b = {copy, columns};
    from += first * of->row;
#ifdef READS_STORAGE
    if (of->column == 1 || columns == 1) {
        b.at = from;
        b.row = of->row;
        return b;
    }
#endif
    pack_rows(from, of->row, of->column, rows, columns, copy);
    return b;
}

__kernel void attention_panels(__global const STORAGE *query, ulong query_first, __global const STORAGE *key,
                               ulong key_first, __global const STORAGE *value, ulong value_first,
                               __global const uchar *mask, ulong mask_first, __global const long *seed,
                               ulong seed_first, __global STORAGE *output, ulong output_first,
                               __global REAL *logsumexp, ulong logsumexp_first, __global REAL *memory,
                               ulong memory_first, const attention p, REAL scale, REAL kept) {
    __global REAL *slot = memory + (long)memory_first + get_global_id(0) * p.slot;
    const ulong seed_0 = p.drops ? (ulong)seed[seed_first] : 0;
    const ulong seed_1 = p.drops ? (ulong)seed[(long)seed_first + p.seed_column] : 0;
    for (long unit = get_global_id(0); unit < p.units; unit += get_global_size(0)) {
        /* Causal blocks that use the most keys come first, so that cores end at about the same time. */
        const long items = p.units / p.blocks;
        const long item = unit % items, row = (p.blocks - 1 - unit / items) * p.panels * QUERIES;
        const long rows = min((long)p.panels * QUERIES, p.rows - row);
        const int panels = (int)((rows + QUERIES - 1) / QUERIES);
        long at[TENSORS], last = 0;
        panel of[MOST_PANELS];
        find_item(&p, item, at);
        for (int i = 0; i < panels; i++) {
            of[i].row = row + i * QUERIES;
            of[i].rows = (int)min((long)QUERIES, rows - i * QUERIES);
            for (int l = 0; l < QUERIES; l++) {
                of[i].greatest[l] = -(REAL)INFINITY;
                of[i].sum[l] = 0;
            }
            pack_queries(&p, query + (long)query_first + at[QUERY], &of[i], scale, slot + i * p.size * QUERIES);
            for (long c = 0; c < p.value_size * QUERIES; c++) {
                slot[p.sum_at + i * p.value_size * QUERIES + c] = 0;
            }
            last = max(last, permitted(&p, of[i].row, of[i].rows));
        }
        for (long from = 0; from < last; from += KEYS) {
            const int keys = (int)min((long)KEYS, last - from);
            const block left = block_at(&p, KEY, key + (long)key_first + at[KEY], from, keys, p.size, slot + p.key_at);
            const block right =
                block_at(&p, VALUE, value + (long)value_first + at[VALUE], from, keys, p.value_size, slot + p.value_at);
            for (int i = 0; i < panels; i++) {
                const int own = (int)min((long)keys, permitted(&p, of[i].row, of[i].rows) - from);
                REAL score[KEYS * QUERIES], factor[QUERIES];
                if (own <= 0) {
                    continue;
                }
                multiply_keys(own, p.size, left.at, left.row, 1, slot + i * p.size * QUERIES, score, NULL);
                mask_scores(&p, mask + (long)mask_first, at[MASK], &of[i], from, own, score);
                weigh(own, score, &of[i], factor);
                if (p.drops) {
                    drop(&p, &of[i], seed_0, seed_1 + (ulong)(item * p.rows), from, own, kept, score);
                }
                multiply_values(p.value_size, own, right.at, 1, right.row, score,
                                slot + p.sum_at + i * p.value_size * QUERIES, factor);
            }
        }
        for (int i = 0; i < panels; i++) {
            write_panel(&p, &of[i], slot + p.sum_at + i * p.value_size * QUERIES,
                        output + (long)output_first + at[OUTPUT],
                        logsumexp ? logsumexp + (long)logsumexp_first + at[LOGSUMEXP] : NULL);
        }
    }
}
#endif

/* ---- Tiles: for devices with local memory ----
 *
 * A group takes GROUP rows, one for each work item, and COLUMNS columns of the values. Scores are computed again for
 * further columns. */
#ifdef TILES
#define KEYS 16
#define DEEP 16 /* columns of queries and keys in local memory at once */

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
attention_tiles(__global const STORAGE *query, ulong query_first, __global const STORAGE *key, ulong key_first,
                __global const STORAGE *value, ulong value_first, __global const uchar *mask, ulong mask_first,
                __global const long *seed, ulong seed_first, __global STORAGE *output, ulong output_first,
                __global REAL *logsumexp, ulong logsumexp_first, const attention p, REAL scale, REAL kept) {
    __local REAL queries[DEEP][GROUP + 1], keys[KEYS][DEEP], values[KEYS][COLUMNS];
    const int lane = get_local_id(0);
    const ulong seed_0 = p.drops ? (ulong)seed[seed_first] : 0;
    const ulong seed_1 = p.drops ? (ulong)seed[(long)seed_first + p.seed_column] : 0;
    const long first_column = get_group_id(1) * COLUMNS, columns = min((long)COLUMNS, p.value_size - first_column);
    for (long unit = get_group_id(0); unit < p.units; unit += get_num_groups(0)) {
        const long item = unit / p.blocks, row = unit % p.blocks * GROUP, rows = min((long)GROUP, p.rows - row);
        const long own = row + min((long)lane, rows - 1), most = own % p.queries, last = permitted(&p, row, rows);
        long at[TENSORS];
        REAL greatest = -(REAL)INFINITY, sum = 0, result[COLUMNS];
        find_item(&p, item, at);
        const long query_at = (long)query_first + at[QUERY], key_at = (long)key_first + at[KEY],
                   value_at = (long)value_first + at[VALUE];
        const long mask_at = at[MASK] + row_at(&p, &p.of[MASK], own);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            result[c] = 0;
        }
        for (long from = 0; from < last; from += KEYS) {
            REAL score[KEYS], best = greatest, part = 0;
#pragma unroll
            for (int j = 0; j < KEYS; j++) {
                score[j] = 0;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int i = lane; i < KEYS * COLUMNS; i += GROUP) {
                const int j = i / COLUMNS, c = i % COLUMNS;
                values[j][c] = from + j < last && c < columns
                                   ? WIDEN(value[value_at + (from + j) * p.of[VALUE].row +
                                                 (first_column + c) * p.of[VALUE].column])
                                   : (REAL)0;
            }
            for (long e0 = 0; e0 < p.size; e0 += DEEP) {
                barrier(CLK_LOCAL_MEM_FENCE);
                for (int i = lane; i < GROUP * DEEP; i += GROUP) {
                    const int r = i / DEEP, e = i % DEEP;
                    queries[e][r] = r < rows && e0 + e < p.size
                                        ? WIDEN(query[query_at + row_at(&p, &p.of[QUERY], row + r) +
                                                      (e0 + e) * p.of[QUERY].column]) *
                                              scale
                                        : (REAL)0;
                }
                for (int i = lane; i < KEYS * DEEP; i += GROUP) {
                    const int j = i / DEEP, e = i % DEEP;
                    keys[j][e] = from + j < last && e0 + e < p.size
                                     ? WIDEN(key[key_at + (from + j) * p.of[KEY].row + (e0 + e) * p.of[KEY].column])
                                     : (REAL)0;
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                for (int e = 0; e < DEEP; e++) {
                    const REAL x = queries[e][lane];
#pragma unroll
                    for (int j = 0; j < KEYS; j++) {
                        score[j] = fma(x, keys[j][e], score[j]);
                    }
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
            for (int j = 0; j < KEYS; j++) {
                const bool inside = from + j < last && (!p.causal || from + j <= most);
                if (p.mask != NO_MASK && inside) {
                    score[j] += bias_at(&p, mask + (long)mask_first, mask_at + (from + j) * p.of[MASK].column);
                }
                score[j] = inside ? score[j] : -(REAL)INFINITY;
                best = score[j] > best ? score[j] : best;
            }
            const REAL center = finite_center(best), factor = exp_or_0(greatest - center);
#pragma unroll
            for (int j = 0; j < KEYS; j++) {
                score[j] = exp_or_0(score[j] - center);
                part += score[j];
                if (p.drops) {
                    const ulong number = seed_1 + (ulong)(item * p.rows + own);
                    score[j] = random_word(seed_0, number, from + j) < p.limit ? (REAL)0 : score[j] * kept;
                }
            }
            sum = sum * factor + part;
            greatest = best;
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) {
                result[c] *= factor;
            }
            for (int j = 0; j < KEYS; j++) {
#pragma unroll
                for (int c = 0; c < COLUMNS; c++) {
                    result[c] = fma(score[j], values[j][c], result[c]);
                }
            }
        }
        if (lane < rows) {
            const REAL factor = sum == 0 ? (REAL)1 : 1 / sum;
            const long to = (long)output_first + at[OUTPUT] + row_at(&p, &p.of[OUTPUT], own);
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) {
                if (c < columns) {
                    output[to + (first_column + c) * p.of[OUTPUT].column] = NARROW(result[c] * factor);
                }
            }
            if (logsumexp && first_column == 0) {
                logsumexp[(long)logsumexp_first + at[LOGSUMEXP] + row_at(&p, &p.of[LOGSUMEXP], own)] =
                    logarithm(greatest, sum);
            }
        }
    }
}
#endif
