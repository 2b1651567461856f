/* walk.cl - walks over the elements that reductions, softmax and normalization join to one result. common.cl comes
 * before.
 *
 * The first `kept_ndim` dimensions are dimensions of the results, the others are reduced. A work item takes a tile of results
 * and a part of the elements of each. The LANES of a tile are neighbouring results (`columns`), or take the elements of
 * one result in turn. The parts of a result are ranges of its elements. On GPUs a group of GROUP work items takes
 * neighbouring tiles of one result, and `members` of them, a power of two, take the elements of a part in turn.
 * Neighbouring work items are the members of a result (`interleaved`), or take neighbouring results. All of that depends
 * on the problem and the device only, and so does the order in which elements are joined. */
#ifndef DIMS
#define DIMS 24
#endif
#ifndef OPERANDS
#define OPERANDS 2
#endif
#if GROUP > 1
#define COLUMNS(w) false
#define RESULTS 1 /* of a tile, at most */
#define MEMBERS(w) ((w)->members)
#else
#define COLUMNS(w) ((w)->columns)
#define RESULTS LANES
#define MEMBERS(w) 1
#endif
typedef struct walk {
    long results, reduced; /* how many, and elements of each */
    long tiles, chunks;    /* all tiles, and those side by side in the last kept dimension */
    long parts, part;      /* parts of a result, and elements of one */
    int ndim, kept_ndim;
    int columns, interleaved;
    int members, reserved;
    long size[DIMS];
    long stride[OPERANDS][DIMS];
} walk;

typedef struct tile {
    long result;        /* number of the first one */
    int lanes, written; /* results, and how many of them this work item writes */
    long at[OPERANDS], lane[OPERANDS]; /* offset of the first one, and between neighbours */
} tile;

/* Divides numbers that are not negative. GPUs divide 32 bits several times faster than 64. */
static inline long quotient(long a, long b) {
    return (ulong)(a | b) >> 32 == 0 ? (long)((uint)a / (uint)b) : a / b;
}

static inline tile tile_at(const walk *w, long index) {
    tile t = {0, 1, 1, {0}, {0}};
    if (w->kept_ndim > 0) {
        const int last = w->kept_ndim - 1;
        const long width = COLUMNS(w) ? LANES : 1;
        long row = quotient(index, w->chunks);
        const long first = (index - row * w->chunks) * width;
        t.result = row * w->size[last] + first;
        t.lanes = t.written = (int)min(width, w->size[last] - first);
        for (int i = 0; i < OPERANDS; i++) {
            t.at[i] = first * w->stride[i][last];
            t.lane[i] = w->stride[i][last];
        }
        for (int d = last - 1; d >= 0; d--) {
            const long above = quotient(row, w->size[d]);
            for (int i = 0; i < OPERANDS; i++) {
                t.at[i] += (row - above * w->size[d]) * w->stride[i][d];
            }
            row = above;
        }
    }
    return t;
}

/* The number of the part of a work item. */
static inline long part_of(void) {
    return get_global_id(1);
}

#if GROUP > 1
/* The number of a work item among the members, and of its result in the group. */
static inline int member_of(const walk *w) {
    const int id = (int)get_local_id(0);
    return w->interleaved ? id & (w->members - 1) : id / (GROUP / w->members);
}

static inline int place_of(const walk *w) {
    const int id = (int)get_local_id(0);
    return w->interleaved ? id / w->members : id & (GROUP / w->members - 1);
}

/* The distance of neighbouring members in the group. */
static inline int member_step(const walk *w) {
    return w->interleaved ? 1 : GROUP / w->members;
}

/* The tile of a work item if the first one of the group is number `first`. Behind the last tile it is an empty one. */
static inline tile group_tile(const walk *w, long first) {
    const long index = first + place_of(w);
    tile t = tile_at(w, min(index, w->tiles - 1));
    t.lanes = index < w->tiles ? t.lanes : 0;
    t.written = member_of(w) == 0 ? t.lanes : 0;
    return t;
}

/* Loops over the tiles of a work item, as often for all of a group, because of its barriers. */
#define EACH_TILE(w, t)                                                                                                \
    const long across_##t = GROUP / (w).members, step_##t = (long)get_num_groups(0) * across_##t;                      \
    tile t;                                                                                                            \
    for (long index_##t = (long)get_group_id(0) * across_##t;                                                          \
         index_##t < (w).tiles && (t = group_tile(&(w), index_##t), true); index_##t += step_##t)

/* Defines a function that joins the values of all members of a result, and returns the joined one to each. */
#define JOIN_MEMBERS(name, TYPE, JOINED)                                                                               \
    static inline TYPE name(const walk *w, __local TYPE *values, TYPE value) {                                         \
        const int id = (int)get_local_id(0), member = member_of(w), step = member_step(w);                             \
        values[id] = value;                                                                                            \
        for (int distance = w->members / 2; distance > 0; distance /= 2) {                                             \
            barrier(CLK_LOCAL_MEM_FENCE);                                                                              \
            if (member < distance) {                                                                                   \
                values[id] = JOINED(values[id], values[id + distance * step]);                                         \
            }                                                                                                          \
        }                                                                                                              \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        value = values[id - member * step];                                                                            \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        return value;                                                                                                  \
    }
#else
static inline int member_of(const walk *w) {
    return 0;
}

#define EACH_TILE(w, t)                                                                                                \
    const long step_##t = get_global_size(0);                                                                          \
    tile t;                                                                                                            \
    for (long index_##t = get_global_id(0); index_##t < (w).tiles && (t = tile_at(&(w), index_##t), true);             \
         index_##t += step_##t)

#define JOIN_MEMBERS(name, TYPE, JOINED)                                                                               \
    static inline TYPE name(const walk *w, __local TYPE *values, TYPE value) {                                         \
        return value;                                                                                                  \
    }
#endif

/* Loops over the results that a work item writes. */
#define EACH_RESULT(t, l) for (int l = 0; l < RESULTS && l < (t).written; l++)

/* The number of lane l's result: all lanes of a row have the same. */
#define RESULT_OF_LANE(w, t, l) ((t)->result + (COLUMNS(w) ? min(l, (t)->lanes - 1) : 0))

/* lanes x count elements: element (l, i) is l * lane + i * next elements behind the first. */
typedef struct strip {
    int lanes;
    long count;
    long at[OPERANDS], lane[OPERANDS], next[OPERANDS];
    long index, index_lane, index_next; /* the same for the numbers of the elements */
} strip;

/* Sets the strip of neighbouring elements of a part from element `index` on. Returns the first element after it. */
static inline long strip_at(const walk *w, const tile *t, long index, long end, strip *s) {
    const long step = MEMBERS(w);
    const int last = w->ndim - 1;
    long row = 0, column = index, n = 1, stride[OPERANDS] = {0};
    for (int i = 0; i < OPERANDS; i++) {
        s->at[i] = t->at[i];
    }
    if (w->ndim > w->kept_ndim) {
        if (last > w->kept_ndim) {
            row = quotient(index, w->size[last]);
            column = index - row * w->size[last];
        }
        n = quotient(min(end - index, w->size[last] - column) + step - 1, step);
        for (int i = 0; i < OPERANDS; i++) {
            s->at[i] += column * w->stride[i][last];
            stride[i] = step * w->stride[i][last];
        }
        for (int d = last - 1; d >= w->kept_ndim; d--) {
            const long above = quotient(row, w->size[d]);
            for (int i = 0; i < OPERANDS; i++) {
                s->at[i] += (row - above * w->size[d]) * w->stride[i][d];
            }
            row = above;
        }
    }
    s->index = index;
    if (COLUMNS(w)) {
        s->lanes = t->lanes;
        s->count = n;
        s->index_lane = 0;
        s->index_next = step;
    } else {
        s->lanes = (int)min(n, (long)LANES);
        s->count = s->lanes == LANES ? n / LANES : 1;
        n = s->lanes * s->count; /* the rest is a strip of its own */
        s->index_lane = step;
        s->index_next = step * s->lanes;
    }
    for (int i = 0; i < OPERANDS; i++) {
        s->lane[i] = COLUMNS(w) ? t->lane[i] : stride[i];
        s->next[i] = COLUMNS(w) ? stride[i] : stride[i] * s->lanes;
    }
    return index + n * step;
}

/* Loops over the strips of a part, or of a member of it. An empty tile has none. */
#define EACH_STRIP(w, t, number, s)                                                                                    \
    const long first_##s = (number) * (w)->part + member_of(w);                                                        \
    const long end_##s = (t)->lanes > 0 ? min(((number) + 1) * (w)->part, (w)->reduced) : 0;                           \
    strip s;                                                                                                           \
    for (long at_##s = first_##s; at_##s < end_##s && (at_##s = strip_at(w, t, at_##s, end_##s, &s), true);)

/* Runs step(l, offset of an element of operand 0) for the elements of a strip, where `from` and `to` bound the
 * counts. The lanes are independent. `l` is a constant in whole strips, and on GPUs always, because their registers have
 * no index. */
#if GROUP > 1
#define EACH_ELEMENT(s, from, to, step)                                                                                \
    if ((s).lanes == LANES) {                                                                                          \
        for (long i = from; i < to; i++) {                                                                             \
            const long row = (s).at[0] + i * (s).next[0];                                                              \
            _Pragma("unroll") for (int l = 0; l < LANES; l++) {                                                        \
                step(l, i, row + l * (s).lane[0])                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    } else {                                                                                                           \
        for (long i = from; i < to; i++) {                                                                             \
            _Pragma("unroll") for (int l = 0; l < LANES; l++) {                                                        \
                if (l < (s).lanes) {                                                                                   \
                    step(l, i, (s).at[0] + i * (s).next[0] + l * (s).lane[0])                                          \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
#else
#define EACH_ELEMENT(s, from, to, step)                                                                                \
    if ((s).lanes == LANES && (s).lane[0] == 1) {                                                                      \
        for (long i = from; i < to; i++) {                                                                             \
            const long row = (s).at[0] + i * (s).next[0];                                                              \
            _Pragma("unroll") for (int l = 0; l < LANES; l++) {                                                        \
                step(l, i, row + l)                                                                                    \
            }                                                                                                          \
        }                                                                                                              \
    } else {                                                                                                           \
        for (long i = from; i < to; i++) {                                                                             \
            for (int l = 0; l < (s).lanes; l++) {                                                                      \
                step(l, i, (s).at[0] + i * (s).next[0] + l * (s).lane[0])                                              \
            }                                                                                                          \
        }                                                                                                              \
    }
#endif
