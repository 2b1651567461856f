/* attention_tiles.cl - the kernel of attention.cl for devices with local memory.
 *
 * A group of SIDE x SIDE work items takes QUERIES rows, and SPANS spans of COLUMNS columns of the values; scores are
 * computed again for further columns. For a block of KEYS keys, each work item computes the scores of ROWS rows and
 * RUN keys, from pieces of queries and keys in local memory that are DEEP columns wide. The weights go to local memory,
 * and are multiplied by pieces of DEEP rows of the values. While a piece is multiplied, the next one is read to
 * registers. */
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
    to[0] = x.x;
    to[1] = x.y;
    to[2] = x.z;
    to[3] = x.w;
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
    *(__local four *)to = MAKE4(four, from[0], from[1], from[2], from[3]);
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

#ifdef LIMITED
/* Scores of the first keys of a row become -infinity. */
static inline void leave_out(REAL score[RUN], int keys) {
#pragma unroll
    for (int j = 0; j < RUN; j++) {
        score[j] = j < keys ? -(REAL)INFINITY : score[j];
    }
}
#endif

static inline void drop_row(const attention *p, uint4 words, REAL kept, REAL weight[RUN]) {
    weight[0] = words.x < p->limit ? (REAL)0 : weight[0] * kept;
    weight[1] = words.y < p->limit ? (REAL)0 : weight[1] * kept;
    weight[2] = words.z < p->limit ? (REAL)0 : weight[2] * kept;
    weight[3] = words.w < p->limit ? (REAL)0 : weight[3] * kept;
}

__kernel GROUP_SIZE(ITEMS, 1) void
attention_tiles(__global const STORAGE *query, ulong query_first, __global const STORAGE *key, ulong key_first,
                __global const STORAGE *value, ulong value_first, __global const uchar *mask, ulong mask_first,
                __global const long *seed, ulong seed_first, __global STORAGE *output, ulong output_first,
                __global REAL *logsumexp, ulong logsumexp_first, const attention p, REAL scale,
                REAL kept LIMITS_PARAMETER SOFTCAP_PARAMETER) {
    SHARED REAL queries[2][DEEP * QUERY_LINE] __attribute__((aligned(32))),
        pieces[2][DEEP * LINE] __attribute__((aligned(32))), weights[KEYS * QUERY_LINE] __attribute__((aligned(32))),
        shared[SIDE * QUERY_LINE] __attribute__((aligned(32)));
    SHARED long query_row[QUERIES], mask_at[QUERIES], keys_of[QUERIES];
#ifdef LIMITED
    SHARED long first_at[QUERIES];
#endif
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
        const long last = permitted(&p, row, rows LIMITS);
#ifdef LIMITED
        const long begin = begin_of(&p, row, rows, &w) / KEYS * KEYS;
#else
        const long begin = 0;
#endif
        long at[TENSORS];
        find_item(&p, item, at);
        if (id < QUERIES) {
            const long own = row + min(id, rows - 1);
            query_row[id] = row_at(&p, &p.of[QUERY], own);
            mask_at[id] = at[MASK] + row_at(&p, &p.of[MASK], own);
            keys_of[id] = end_of(&p, own % p.queries LIMITS);
#ifdef LIMITED
            first_at[id] = first_of(&p, own % p.queries, &w);
#endif
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
        read_piece(own_keys + begin * p.of[KEY].row, &of_keys, last - begin, p.size, part);
        int turn = 0; /* a piece is overwritten after the next barrier, when all have multiplied it */
        for (long from = begin; from < last; from += KEYS) {
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
#ifdef SOFTCAP
#pragma unroll
                for (int j = 0; j < RUN; j++) {
                    score[i][j] = cap(score[i][j], softcap);
                }
#endif
                mask_row(&p, mask + (long)mask_first, mask_at[own] + own_key * p.of[MASK].column,
                         (int)clamp(keys_of[own] - own_key, 0L, (long)RUN), score[i]);
#ifdef LIMITED
                leave_out(score[i], (int)clamp(first_at[own] - own_key, 0L, (long)RUN));
#endif
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
