/* walk.cl - walks over the elements that reductions, softmax and normalization join to one result. common.cl comes
 * before.
 *
 * The first `kept_ndim` dimensions are those of the results, the others are reduced. A work item takes a tile of results
 * and a part of the elements of each. The LANES of a tile are neighbouring results (`columns`), or take the elements of
 * one result in turn. The parts of a result are ranges of its elements, or (`interleaved`) each takes every parts-th
 * element, so that neighbouring work items read neighbouring elements. All of that depends on the problem and the
 * device only, and so does the order in which elements are joined. */
#ifndef DIMS
#define DIMS 24
#endif
#ifndef OPERANDS
#define OPERANDS 2
#endif
typedef struct walk {
    long results, reduced; /* how many, and elements of each */
    long tiles, chunks;    /* all tiles, and those side by side in the last kept dimension */
    long parts, part;      /* parts of a result, and elements of one */
    int ndim, kept_ndim;
    int columns, interleaved;
    long size[DIMS];
    long stride[OPERANDS][DIMS];
} walk;

typedef struct tile {
    long result; /* number of the first one */
    int lanes;   /* results */
    long at[OPERANDS], lane[OPERANDS]; /* offset of the first one, and between neighbours */
} tile;

static inline tile tile_at(const walk *w, long index) {
    tile t = {0, 1, {0}, {0}};
    if (w->kept_ndim > 0) {
        const int last = w->kept_ndim - 1;
        const long width = w->columns ? LANES : 1, first = index % w->chunks * width;
        long row = index / w->chunks;
        t.result = row * w->size[last] + first;
        t.lanes = (int)min(width, w->size[last] - first);
        for (int i = 0; i < OPERANDS; i++) {
            t.at[i] = first * w->stride[i][last];
            t.lane[i] = w->stride[i][last];
        }
        for (int d = last - 1; d >= 0; d--) {
            for (int i = 0; i < OPERANDS; i++) {
                t.at[i] += row % w->size[d] * w->stride[i][d];
            }
            row /= w->size[d];
        }
    }
    return t;
}

/* The number of the part of a work item: dimension 0 of the work items if the parts are interleaved. */
static inline long part_of(const walk *w) {
    const long first = get_global_id(0), second = get_global_id(1);
    return w->interleaved ? first : second;
}

/* Loops over the tiles of a work item, which are the other dimension. If the parts are joined, it is dimension 0. */
#define EACH_TILE(w, parted, t)                                                                                        \
    const long id_##t[2] = {get_global_id(0), get_global_id(1)};                                                       \
    const long all_##t[2] = {get_global_size(0), get_global_size(1)};                                                  \
    const bool swapped_##t = (parted) && (w).interleaved;                                                              \
    const long step_##t = swapped_##t ? all_##t[1] : all_##t[0];                                                       \
    tile t;                                                                                                            \
    for (long index_##t = swapped_##t ? id_##t[1] : id_##t[0];                                                         \
         index_##t < (w).tiles && (t = tile_at(&(w), index_##t), true); index_##t += step_##t)

/* lanes x count elements: element (l, i) is l * lane + i * next elements behind the first. */
typedef struct strip {
    int lanes;
    long count;
    long at[OPERANDS], lane[OPERANDS], next[OPERANDS];
    long index, index_lane, index_next; /* the same for the numbers of the elements */
} strip;

/* Sets the strip of neighbouring elements of a part from element `index` on. Returns the first element after it. */
static inline long strip_at(const walk *w, const tile *t, long index, long end, strip *s) {
    const long step = w->interleaved ? w->parts : 1;
    const int last = w->ndim - 1;
    long row = 0, column = index, n = 1, stride[OPERANDS] = {0};
    for (int i = 0; i < OPERANDS; i++) {
        s->at[i] = t->at[i];
    }
    if (w->ndim > w->kept_ndim) {
        if (last > w->kept_ndim) {
            row = index / w->size[last];
            column = index - row * w->size[last];
        }
        n = (min(end - index, w->size[last] - column) + step - 1) / step;
        for (int i = 0; i < OPERANDS; i++) {
            s->at[i] += column * w->stride[i][last];
            stride[i] = step * w->stride[i][last];
        }
        for (int d = last - 1; d >= w->kept_ndim; d--) {
            for (int i = 0; i < OPERANDS; i++) {
                s->at[i] += row % w->size[d] * w->stride[i][d];
            }
            row /= w->size[d];
        }
    }
    s->index = index;
    if (w->columns) {
        s->lanes = t->lanes;
        s->count = n;
        s->index_lane = 0;
        s->index_next = step;
    } else {
        s->lanes = (int)min(n, (long)LANES);
        s->count = n / s->lanes;
        n = s->lanes * s->count; /* the rest is a strip of its own */
        s->index_lane = step;
        s->index_next = step * s->lanes;
    }
    for (int i = 0; i < OPERANDS; i++) {
        s->lane[i] = w->columns ? t->lane[i] : stride[i];
        s->next[i] = w->columns ? stride[i] : stride[i] * s->lanes;
    }
    return index + n * step;
}

/* Loops over the strips of a part. */
#define EACH_STRIP(w, t, number, s)                                                                                    \
    const long first_##s = (w)->interleaved ? (number) : (number) * (w)->part;                                         \
    const long end_##s = (w)->interleaved ? (w)->reduced : min(((number) + 1) * (w)->part, (w)->reduced);              \
    strip s;                                                                                                           \
    for (long at_##s = first_##s; at_##s < end_##s && (at_##s = strip_at(w, t, at_##s, end_##s, &s), true);)

/* Runs step(l, offset of an element of operand 0) for the elements of a strip, of which `from` and `to` bound the
 * counts. The lanes are independent. `l` is a constant in whole strips. */
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
