/* attention_panels.cl - the kernel of attention.cl for processors.
 *
 * A work item has a slot of the workspace. It takes a block of up to `panels` panels of QUERIES rows, and blocks of KEYS
 * keys. Scores are arrays [KEYS][QUERIES], sums [value_size][QUERIES]. */
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
                               int keys, REAL *score LIMITS_POINTER) {
    for (int l = 0; l < QUERIES && p->mask != NO_MASK; l++) {
        const long first = mask_at + row_at(p, &p->of[MASK], row_of_lane(at, l)) + from * p->of[MASK].column;
        for (int j = 0; j < keys; j++) {
            score[j * QUERIES + l] += bias_at(p, mask, first + j * p->of[MASK].column);
        }
    }
#ifdef LIMITED
    for (int l = 0; l < QUERIES; l++) {
        const long query = row_of_lane(at, l) % p->queries;
        const long first = first_of(p, query, w) - from, end = end_of(p, query, w) - from;
        for (int j = 0; j < keys; j++) {
            score[j * QUERIES + l] = j >= first && j < end ? score[j * QUERIES + l] : -(REAL)INFINITY;
        }
    }
#else
    for (int l = 0; l < QUERIES && p->causal; l++) {
        const long most = row_of_lane(at, l) % p->queries;
        for (long j = max(most + 1 - from, 0L); j < keys; j++) {
            score[j * QUERIES + l] = -(REAL)INFINITY;
        }
    }
#endif
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

static inline uint random_word(ulong seed, ulong row, ulong key) {
    const uint4 words = random_words(seed, row, key / 4);
    const uint low = key & 1 ? words.y : words.x, high = key & 1 ? words.w : words.z;
    return key & 2 ? high : low;
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
                               ulong memory_first, const attention p, REAL scale,
                               REAL kept LIMITS_PARAMETER SOFTCAP_PARAMETER) {
    __global REAL *slot = memory + (long)memory_first + get_global_id(0) * p.slot;
    const ulong seed_0 = p.drops ? (ulong)seed[seed_first] : 0;
    const ulong seed_1 = p.drops ? (ulong)seed[(long)seed_first + p.seed_column] : 0;
    for (long unit = get_global_id(0); unit < p.units; unit += get_global_size(0)) {
        /* Causal blocks that use the most keys come first, so that cores end at about the same time. */
        const long items = p.units / p.blocks;
        const long item = unit % items, row = (p.blocks - 1 - unit / items) * p.panels * QUERIES;
        const long rows = min((long)p.panels * QUERIES, p.rows - row);
        const int panels = (int)((rows + QUERIES - 1) / QUERIES);
        long at[TENSORS], last = 0, begin = 0;
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
            last = max(last, permitted(&p, of[i].row, of[i].rows LIMITS));
        }
#ifdef LIMITED
        begin = begin_of(&p, row, rows, &w) / KEYS * KEYS;
#endif
        for (long from = begin; from < last; from += KEYS) {
            const int keys = (int)min((long)KEYS, last - from);
            const block left = block_at(&p, KEY, key + (long)key_first + at[KEY], from, keys, p.size, slot + p.key_at);
            const block right =
                block_at(&p, VALUE, value + (long)value_first + at[VALUE], from, keys, p.value_size, slot + p.value_at);
            for (int i = 0; i < panels; i++) {
                const int own = (int)min((long)keys, permitted(&p, of[i].row, of[i].rows LIMITS) - from);
                REAL score[KEYS * QUERIES], factor[QUERIES];
                if (own <= 0) {
                    continue;
                }
#ifdef LIMITED
                if (begin_of(&p, of[i].row, of[i].rows, &w) >= from + keys) {
                    continue;
                }
#endif
                multiply_keys(own, p.size, left.at, left.row, 1, slot + i * p.size * QUERIES, score, NULL);
#ifdef SOFTCAP
                for (int s = 0; s < own * QUERIES; s++) {
                    score[s] = cap(score[s], softcap);
                }
#endif
                mask_scores(&p, mask + (long)mask_first, at[MASK], &of[i], from, own, score LIMITS);
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
