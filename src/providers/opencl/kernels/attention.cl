/* attention.cl - computes attention with sums that are rescaled when a greater score is found (Milakov and Gimelshein,
 * "Online normalizer calculation for softmax", 2018; Dao and others, "FlashAttention", 2022).
 *
 * X is the type of queries, keys, values and results, REAL (math.cl) that of the computation. Rows are the queries of an
 * item; those of heads that share a key and a value are rows of one item. The order of a row's sums depends on the
 * number of keys, and on the device, alone. */
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

/* The random numbers of four neighbouring keys. */
static inline uint4 random_words(ulong seed, ulong row, ulong block) {
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
    return (uint4)(c0, c1, c2, c3);
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
 * A group of SIDE x SIDE work items takes QUERIES rows, and SPANS spans of COLUMNS columns of the values; scores are
 * computed again for further columns. For a block of KEYS keys, each work item computes the scores of ROWS rows and
 * RUN keys, from pieces of queries and keys in local memory that are DEEP columns wide. The weights go to local memory,
 * and are multiplied by pieces of DEEP rows of the values. While a piece is multiplied, the next one is read to
 * registers. */
#ifdef TILES
#define RUN 4
#define ITEMS (SIDE * SIDE)
#define QUERIES (SIDE * ROWS)
#define KEYS (SIDE * RUN)
#define COLUMNS KEYS
#define QUERY_PART (QUERIES * DEEP / ITEMS) /* numbers of a piece that a work item reads */
#define PART (KEYS * DEEP / ITEMS)
#define QUERY_LINE (QUERIES + 4) /* numbers of a line in local memory; 4 of them against conflicts of banks */
#define LINE (KEYS + 4)
#define VECTOR_OF(type, width) type##width
#define VECTOR_TYPE(type, width) VECTOR_OF(type, width)
typedef VECTOR_TYPE(REAL, 4) four;

static inline void get_4(__local const REAL *from, REAL to[4]) {
    const four x = *(__local const four *)from;
    to[0] = x.s0;
    to[1] = x.s1;
    to[2] = x.s2;
    to[3] = x.s3;
}

/* Numbers of the rows of a work item, which are neighbours. */
static inline void get_rows(__local const REAL *from, REAL to[ROWS]) {
#if ROWS == 4
    get_4(from, to);
#else
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        to[i] = from[i];
    }
#endif
}

static inline void put_rows(const REAL from[ROWS], __local REAL *to) {
#if ROWS == 4
    *(__local four *)to = (four)(from[0], from[1], from[2], from[3]);
#else
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        to[i] = from[i];
    }
#endif
}

/* Where a work item reads pieces of keys or values, and where it puts them. Neighbouring work items read neighbouring
 * columns. */
typedef struct reading {
    int row, column, next_row; /* `next`: the distance to the next number */
    int place, next_place;
    long first, next;
} reading;

static inline reading reading_of(const layout *of, int row, int column, int next_row, int place, int next_place) {
    const reading r = {row, column, next_row, place, next_place, row * of->row + column * of->column,
                       next_row * of->row};
    return r;
}

/* Past the end are zeros. Numbers are converted later, so that nothing waits for them here. */
static inline void read_piece(__global const STORAGE *from, const reading *r, long rows, long columns,
                              STORAGE part[PART]) {
#pragma unroll
    for (int s = 0; s < PART; s++) {
        const bool inside = r->row + s * r->next_row < rows && r->column < columns;
        part[s] = inside ? from[r->first + s * r->next] : (STORAGE)0;
    }
}

static inline void keep_piece(const STORAGE part[PART], const reading *r, __local REAL *piece) {
#pragma unroll
    for (int s = 0; s < PART; s++) {
        piece[r->place + s * r->next_place] = WIDEN(part[s]);
    }
}

/* The queries from a column on. */
static inline void read_queries(__global const STORAGE *from, __local const long *row_of, int rows, long first,
                                const attention *p, STORAGE part[QUERY_PART]) {
    const int id = get_local_id(0);
    const long column = first + id % DEEP, at = column * p->of[QUERY].column;
#pragma unroll
    for (int s = 0; s < QUERY_PART; s++) {
        const int row = id / DEEP + s * (ITEMS / DEEP);
        part[s] = row < rows && column < p->size ? from[row_of[row] + at] : (STORAGE)0;
    }
}

static inline void keep_queries(const STORAGE part[QUERY_PART], REAL scale, __local REAL *piece) {
    const int id = get_local_id(0);
#pragma unroll
    for (int s = 0; s < QUERY_PART; s++) {
        piece[id % DEEP * QUERY_LINE + id / DEEP + s * (ITEMS / DEEP)] = WIDEN(part[s]) * scale;
    }
}

static inline void multiply_piece(__local const REAL *left, __local const REAL *right, REAL sum[ROWS][RUN]) {
#pragma unroll 4
    for (int l = 0; l < DEEP; l++) {
        REAL u[ROWS], v[RUN];
        get_rows(left + l * QUERY_LINE, u);
        get_4(right + l * LINE, v);
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
#pragma unroll
            for (int j = 0; j < RUN; j++) {
                sum[i][j] = fma(u[i], v[j], sum[i][j]);
            }
        }
    }
}

static inline void clear(REAL sum[ROWS][RUN]) {
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
#pragma unroll
        for (int j = 0; j < RUN; j++) {
            sum[i][j] = 0;
        }
    }
}

/* Adds the mask to the scores of a row. Those from key `keys` on become -infinity. */
static inline void mask_row(const attention *p, __global const uchar *mask, long at, int keys, REAL score[RUN]) {
#pragma unroll
    for (int j = 0; j < RUN; j++) {
        if (p->mask != NO_MASK && j < keys) {
            score[j] += bias_at(p, mask, at + j * p->of[MASK].column);
        }
        score[j] = j < keys ? score[j] : -(REAL)INFINITY;
    }
}

static inline void drop_row(const attention *p, uint4 words, REAL kept, REAL weight[RUN]) {
    weight[0] = words.x < p->limit ? (REAL)0 : weight[0] * kept;
    weight[1] = words.y < p->limit ? (REAL)0 : weight[1] * kept;
    weight[2] = words.z < p->limit ? (REAL)0 : weight[2] * kept;
    weight[3] = words.w < p->limit ? (REAL)0 : weight[3] * kept;
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
attention_tiles(__global const STORAGE *query, ulong query_first, __global const STORAGE *key, ulong key_first,
                __global const STORAGE *value, ulong value_first, __global const uchar *mask, ulong mask_first,
                __global const long *seed, ulong seed_first, __global STORAGE *output, ulong output_first,
                __global REAL *logsumexp, ulong logsumexp_first, const attention p, REAL scale, REAL kept) {
    __local REAL queries[2][DEEP * QUERY_LINE] __attribute__((aligned(32))),
        pieces[2][DEEP * LINE] __attribute__((aligned(32))), weights[KEYS * QUERY_LINE] __attribute__((aligned(32))),
        shared[SIDE * QUERY_LINE] __attribute__((aligned(32)));
    __local long query_row[QUERIES], mask_at[QUERIES], keys_of[QUERIES];
    const int id = get_local_id(0), x = id % SIDE, y = id / SIDE;
    const reading of_keys = reading_of(&p.of[KEY], id / DEEP, id % DEEP, ITEMS / DEEP, id % DEEP * LINE + id / DEEP,
                                       ITEMS / DEEP),
                  of_values = reading_of(&p.of[VALUE], id / COLUMNS, id % COLUMNS, ITEMS / COLUMNS,
                                         id / COLUMNS * LINE + id % COLUMNS, ITEMS / COLUMNS * LINE);
    const ulong seed_0 = p.drops ? (ulong)seed[seed_first] : 0;
    const ulong seed_1 = p.drops ? (ulong)seed[(long)seed_first + p.seed_column] : 0;
    const long first_column = get_group_id(1) * (SPANS * COLUMNS);
    for (long unit = get_group_id(0); unit < p.units; unit += get_num_groups(0)) {
        /* Causal blocks that use the most keys come first, so that groups end at about the same time. */
        const long items = p.units / p.blocks;
        const long item = unit % items, row = (p.blocks - 1 - unit / items) * QUERIES;
        const int rows = (int)min((long)QUERIES, p.rows - row);
        const long last = permitted(&p, row, rows);
        long at[TENSORS];
        find_item(&p, item, at);
        if (id < QUERIES) {
            const long own = row + min(id, rows - 1);
            query_row[id] = row_at(&p, &p.of[QUERY], own);
            mask_at[id] = at[MASK] + row_at(&p, &p.of[MASK], own);
            keys_of[id] = p.causal ? min(own % p.queries + 1, p.keys) : p.keys;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        __global const STORAGE *own_queries = query + (long)query_first + at[QUERY];
        __global const STORAGE *own_keys = key + (long)key_first + at[KEY];
        __global const STORAGE *own_values =
            value + (long)value_first + at[VALUE] + first_column * p.of[VALUE].column;
        REAL greatest[ROWS], sum[ROWS], result[SPANS][ROWS][RUN];
        STORAGE query_part[QUERY_PART], part[PART];
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            greatest[i] = -(REAL)INFINITY;
            sum[i] = 0;
        }
#pragma unroll
        for (int span = 0; span < SPANS; span++) {
            clear(result[span]);
        }
        read_queries(own_queries, query_row, rows, 0, &p, query_part);
        read_piece(own_keys, &of_keys, last, p.size, part);
        int turn = 0; /* a piece is overwritten after the next barrier, when all have multiplied it */
        for (long from = 0; from < last; from += KEYS) {
            const int keys = (int)min((long)KEYS, last - from);
            __global const STORAGE *key_block = own_keys + from * p.of[KEY].row;
            __global const STORAGE *value_block = own_values + from * p.of[VALUE].row;
            REAL score[ROWS][RUN], best[ROWS];
            clear(score);
            long column = 0;
            do {
                keep_queries(query_part, scale, queries[turn]);
                keep_piece(part, &of_keys, pieces[turn]);
                barrier(CLK_LOCAL_MEM_FENCE);
                column += DEEP;
                if (column < p.size) {
                    read_queries(own_queries, query_row, rows, column, &p, query_part);
                    read_piece(key_block + column * p.of[KEY].column, &of_keys, keys, p.size - column, part);
                } else {
                    read_piece(value_block, &of_values, keys, p.value_size - first_column, part);
                }
                multiply_piece(queries[turn] + y * ROWS, pieces[turn] + x * RUN, score);
                turn ^= 1;
            } while (column < p.size);

            const long own_key = from + x * RUN;
#pragma unroll
            for (int i = 0; i < ROWS; i++) {
                const int own = y * ROWS + i;
                mask_row(&p, mask + (long)mask_first, mask_at[own] + own_key * p.of[MASK].column,
                         (int)clamp(keys_of[own] - own_key, 0L, (long)RUN), score[i]);
                best[i] = greatest[i];
#pragma unroll
                for (int j = 0; j < RUN; j++) {
                    best[i] = score[i][j] > best[i] ? score[i][j] : best[i];
                }
            }
            put_rows(best, shared + x * QUERY_LINE + y * ROWS);
            barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 4
            for (int k = 0; k < SIDE; k++) {
                REAL other[ROWS];
                get_rows(shared + k * QUERY_LINE + y * ROWS, other);
#pragma unroll
                for (int i = 0; i < ROWS; i++) {
                    best[i] = other[i] > best[i] ? other[i] : best[i];
                }
            }
#pragma unroll
            for (int i = 0; i < ROWS; i++) {
                const REAL center = finite_center(best[i]), factor = exp_or_0(greatest[i] - center);
                greatest[i] = best[i];
                sum[i] *= factor;
#pragma unroll
                for (int j = 0; j < RUN; j++) {
                    score[i][j] = exp_or_0(score[i][j] - center);
                    sum[i] += score[i][j];
                }
                if (p.drops) {
                    const ulong number = seed_1 + (ulong)(item * p.rows + row + y * ROWS + i);
                    drop_row(&p, random_words(seed_0, number, (ulong)own_key / RUN), kept, score[i]);
                }
#pragma unroll
                for (int span = 0; span < SPANS; span++) {
#pragma unroll
                    for (int j = 0; j < RUN; j++) {
                        result[span][i][j] *= factor;
                    }
                }
            }
#pragma unroll
            for (int j = 0; j < RUN; j++) {
                REAL line[ROWS];
#pragma unroll
                for (int i = 0; i < ROWS; i++) {
                    line[i] = score[i][j];
                }
                put_rows(line, weights + (x * RUN + j) * QUERY_LINE + y * ROWS);
            }

#pragma unroll
            for (int span = 0; span < SPANS; span++) {
                const long columns = p.value_size - first_column - span * COLUMNS;
                for (int k = 0; k < keys; k += DEEP) {
                    keep_piece(part, &of_values, pieces[turn]);
                    barrier(CLK_LOCAL_MEM_FENCE);
                    if (k + DEEP < keys) {
                        read_piece(value_block + (k + DEEP) * p.of[VALUE].row + span * COLUMNS * p.of[VALUE].column,
                                   &of_values, keys - k - DEEP, columns, part);
                    } else if (span + 1 < SPANS) {
                        read_piece(value_block + (span + 1) * COLUMNS * p.of[VALUE].column, &of_values, keys,
                                   columns - COLUMNS, part);
                    } else if (from + KEYS < last) {
                        read_queries(own_queries, query_row, rows, 0, &p, query_part);
                        read_piece(key_block + KEYS * p.of[KEY].row, &of_keys, last - from - KEYS, p.size, part);
                    }
                    multiply_piece(weights + k * QUERY_LINE + y * ROWS, pieces[turn] + x * RUN, result[span]);
                    turn ^= 1;
                }
            }
        }
        put_rows(sum, shared + x * QUERY_LINE + y * ROWS);
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            const int own = y * ROWS + i;
            REAL all = 0;
            for (int k = 0; k < SIDE; k++) {
                all += shared[k * QUERY_LINE + own];
            }
            const REAL factor = all == 0 ? (REAL)1 : 1 / all;
            const long to = (long)output_first + at[OUTPUT] + row_at(&p, &p.of[OUTPUT], row + own);
#pragma unroll
            for (int span = 0; span < SPANS; span++) {
#pragma unroll
                for (int j = 0; j < RUN; j++) {
                    const long column = first_column + span * COLUMNS + x * RUN + j;
                    if (own < rows && column < p.value_size) {
                        output[to + column * p.of[OUTPUT].column] = NARROW(result[span][i][j] * factor);
                    }
                }
            }
            if (logsumexp && own < rows && x == 0 && first_column == 0) {
                logsumexp[(long)logsumexp_first + at[LOGSUMEXP] + row_at(&p, &p.of[LOGSUMEXP], row + own)] =
                    logarithm(greatest[i], all);
            }
        }
    }
}
#endif
