/* blocked.c - computes one large product from packed panels, on one thread or several.
 *
 * A block of S, [k_block x q_block], is packed once and shared by all threads. The threads then take tiles of C. For
 * each tile a thread packs the strip of V into its own memory and multiplies. Tile sizes depend on the number of
 * threads; the order of sums does not. Blocks are whole panels, so that operands packed beforehand fit every block
 * size.
 */
#include "choose.h"

#include <stdatomic.h>

#define S_BYTES ((int64_t)4 << 20)   /* shared block of S: fits in the third-level cache */
#define V_BYTES ((int64_t)240 << 10) /* strip of V: half of a second-level cache */
#define WIDE_BLOCK 1024              /* rows and columns of the block of C that 16-bit types keep in f32 */

/* One pass: adds the products of k in [k0, k0+k) to rows [p0, p0+p) and columns [q0, q0+q) of C. */
typedef struct pass {
    const bp__native_kernels *kernels;
    const bp__native_view *view;
    int64_t p0, q0, k0, p, q, k;
    int64_t depth; /* of panels: k with its padding */
    int64_t p_tile, q_tile, p_tiles, q_tiles;
    int threads;
    const bp__native_prepacked *prepacked;
    char *s_panels, *v_panels;
    const char *s_from; /* the panels of S in use: s_panels, or those packed beforehand */
    size_t v_bytes;     /* of one thread's strip */
    float *wide;        /* 16-bit types: this block of C in f32, [q][p] */
    bool first, last;
    atomic_int next;
    bp__stop *stop;
} pass;

static int64_t round_up(int64_t x, int64_t unit) {
    return (x + unit - 1) / unit * unit;
}

/* Returns the k of panels that hold k of an operand. */
static int64_t depth_of(const bp__native_kernels *kernels, int64_t k) {
    return round_up(k, kernels->k_unit);
}

static int64_t q_block(const bp__native_kernels *kernels) {
    int64_t columns = S_BYTES / (kernels->k_block * (int64_t)kernels->packed) / kernels->q_panel * kernels->q_panel;
    return kernels->widen ? bp__least(columns, WIDE_BLOCK / kernels->q_panel * kernels->q_panel) : columns;
}

static int64_t p_most(const bp__native_kernels *kernels) {
    return V_BYTES / (kernels->k_block * (int64_t)kernels->packed) / kernels->p_panel * kernels->p_panel;
}

/* Returns the rows of a tile: at least one panel, at most what the cache holds. The number of tiles is a multiple of
 * the threads, so that all threads stay busy to the end. */
static int64_t p_tile(const bp__native_kernels *kernels, int64_t p, int threads) {
    int64_t tiles = round_up((p + p_most(kernels) - 1) / p_most(kernels), threads);
    return round_up((p + tiles - 1) / tiles, kernels->p_panel);
}

static int64_t p_block(const bp__native_kernels *kernels, int64_t p) {
    return kernels->widen ? bp__least(p, WIDE_BLOCK / kernels->p_panel * kernels->p_panel) : p;
}

static size_t cache_lines(int64_t bytes) {
    return (size_t)round_up(bytes, 64);
}

static size_t s_bytes(const bp__native_kernels *kernels, const bp__native_view *view) {
    int64_t q = round_up(bp__least(view->q, q_block(kernels)), kernels->q_panel);
    return cache_lines(q * depth_of(kernels, bp__least(view->k, kernels->k_block)) * (int64_t)kernels->packed);
}

static size_t v_bytes(const bp__native_kernels *kernels, const bp__native_view *view) {
    int64_t p = round_up(bp__least(p_most(kernels), p_block(kernels, view->p)), kernels->p_panel);
    return cache_lines(p * depth_of(kernels, bp__least(view->k, kernels->k_block)) * (int64_t)kernels->packed);
}

size_t bp__native_blocked_scratch(const bp__native_kernels *kernels, const bp__native_view *view, int threads) {
    size_t bytes = s_bytes(kernels, view) + (size_t)threads * v_bytes(kernels, view);
    if (kernels->widen) {
        bytes += cache_lines(p_block(kernels, view->p) * bp__least(view->q, q_block(kernels)) * (int64_t)sizeof(float));
    }
    return bytes;
}

static const char *element_at(const void *base, int64_t elements, const bp__native_kernels *kernels) {
    return (const char *)base + elements * (int64_t)kernels->element;
}

/* Packs one thread's share of the block of S. Shares are whole panels, so that each panel is written by one thread. */
static void pack_s_task(void *context, int task) {
    const pass *w = context;
    const bp__native_view *view = w->view;
    int64_t panels = (w->q + w->kernels->q_panel - 1) / w->kernels->q_panel;
    int64_t from = panels * task / w->threads * w->kernels->q_panel;
    int64_t to = bp__least(panels * (task + 1) / w->threads * w->kernels->q_panel, w->q);
    if (from < to) {
        w->kernels->pack_s(w->s_panels + from * w->depth * (int64_t)w->kernels->packed,
                           element_at(view->s, (w->q0 + from) * view->s_q + w->k0 * view->s_k, w->kernels), view->s_q,
                           view->s_k, to - from, w->k, view->s_conjugate);
    }
}

/* Multiplies one tile: C += V*S for rows from p and columns from q of the pass. The first pass applies beta; for 16-bit
 * types the last one rounds the tile to C's type. */
static void multiply(const pass *w, const char *v_panels, int64_t p, int64_t q) {
    const bp__native_kernels *kernels = w->kernels;
    bp__native_view tile = *w->view;
    tile.p = bp__least(w->p_tile, w->p - p);
    tile.q = bp__least(w->q_tile, w->q - q);
    tile.k = w->k;
    tile.v = v_panels;
    tile.s = w->s_from + q * w->depth * (int64_t)kernels->packed;
    if (!w->first) {
        tile.beta[0] = 1;
        tile.beta[1] = 0;
    }
    char *c = (char *)w->view->c + ((w->p0 + p) * tile.c_p + (w->q0 + q) * tile.c_q) * (int64_t)kernels->result;
    if (!kernels->widen) {
        tile.c = c;
        kernels->block(&tile);
        return;
    }
    float *wide = w->wide + q * w->p + p;
    bp__native_view narrow = tile;
    if (w->first && tile.beta[0] != 0) {
        kernels->widen(wide, w->p, c, &narrow);
    }
    tile.c = wide;
    tile.c_p = 1;
    tile.c_q = w->p;
    kernels->block(&tile);
    if (w->last) {
        kernels->narrow(c, wide, w->p, &narrow);
    }
}

/* Returns the panels of V from row p of the pass on, in an operand that was packed beforehand. */
static const char *prepacked_v(const pass *w, int64_t p) {
    return w->prepacked->v +
           (w->k0 * round_up(w->view->p, w->kernels->p_panel) + (w->p0 + p) * w->depth) * (int64_t)w->kernels->packed;
}

static const char *prepacked_s(const pass *w) {
    return w->prepacked->s +
           (w->k0 * round_up(w->view->q, w->kernels->q_panel) + w->q0 * w->depth) * (int64_t)w->kernels->packed;
}

/* Computes tiles until none is left. The packed strip of V is reused if the next tile has the same rows. */
static void tile_task(void *context, int task) {
    pass *w = context;
    const bp__native_view *view = w->view;
    char *v_panels = w->v_panels + (size_t)task * w->v_bytes;
    int64_t packed = -1;
    for (;;) {
        int64_t tile = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
        if (tile >= w->p_tiles * w->q_tiles || bp__stops(w->stop)) {
            return;
        }
        int64_t p = tile / w->q_tiles * w->p_tile, q = tile % w->q_tiles * w->q_tile;
        if (w->prepacked->v) {
            multiply(w, prepacked_v(w, p), p, q);
            continue;
        }
        if (p != packed) {
            w->kernels->pack_v(v_panels, element_at(view->v, (w->p0 + p) * view->v_p + w->k0 * view->v_k, w->kernels),
                               view->v_p, view->v_k, bp__least(w->p_tile, w->p - p), w->k, view->v_conjugate);
            packed = p;
        }
        multiply(w, v_panels, p, q);
    }
}

static void cut_into_tiles(pass *w) {
    w->p_tile = p_tile(w->kernels, w->p, w->threads);
    w->p_tiles = (w->p + w->p_tile - 1) / w->p_tile;
    int64_t wanted = (w->threads + w->p_tiles - 1) / w->p_tiles;
    w->q_tile = round_up((w->q + wanted - 1) / wanted, w->kernels->q_panel);
    w->q_tiles = (w->q + w->q_tile - 1) / w->q_tile;
}

/* Runs one step of a pass on all threads. */
static void share(pass *w, bp_task task) {
    if (w->threads > 1) {
        w->stop->host->parallel(w->threads, w->threads, task, w);
    } else {
        task(w, 0);
    }
}

/* Computes a block of C: one pass for each block of k, in order. */
static void run_passes(pass *w) {
    cut_into_tiles(w);
    for (w->k0 = 0; w->k0 < w->view->k && !bp__stops(w->stop); w->k0 += w->kernels->k_block) {
        w->k = bp__least(w->view->k - w->k0, w->kernels->k_block);
        w->depth = depth_of(w->kernels, w->k);
        w->first = w->k0 == 0;
        w->last = w->k0 + w->k == w->view->k;
        atomic_store_explicit(&w->next, 0, memory_order_relaxed);
        w->s_from = w->prepacked->s ? prepacked_s(w) : w->s_panels;
        if (!w->prepacked->s) {
            share(w, pack_s_task);
        }
        share(w, tile_task);
    }
}

void bp__native_blocked(const bp__native_kernels *kernels, const bp__native_view *view,
                        const bp__native_prepacked *prepacked, int threads, void *scratch, bp__stop *stop) {
    pass w = {.kernels = kernels, .view = view, .threads = threads, .prepacked = prepacked, .stop = stop};
    w.s_panels = scratch;
    w.v_panels = w.s_panels + s_bytes(kernels, view);
    w.v_bytes = v_bytes(kernels, view);
    w.wide = (float *)(void *)(w.v_panels + (size_t)threads * w.v_bytes);
    for (w.q0 = 0; w.q0 < view->q; w.q0 += q_block(kernels)) {
        w.q = bp__least(view->q - w.q0, q_block(kernels));
        for (w.p0 = 0; w.p0 < view->p && !bp__stopped(stop); w.p0 += p_block(kernels, view->p)) {
            w.p = bp__least(view->p - w.p0, p_block(kernels, view->p));
            run_passes(&w);
        }
    }
}

size_t bp__native_prepack_bytes(const bp__native_kernels *kernels, const bp__native_view *view, bool v) {
    int64_t length = v ? round_up(view->p, kernels->p_panel) : round_up(view->q, kernels->q_panel), bytes;
    bool fits = view->k < INT64_MAX && !__builtin_mul_overflow(length, depth_of(kernels, view->k), &bytes) &&
                !__builtin_mul_overflow(bytes, (int64_t)kernels->packed, &bytes) && bytes < INT64_MAX - 64;
    return fits ? cache_lines(bytes) : SIZE_MAX; /* strides of 0 can make an operand larger than memory */
}

/* Packs the strips of V one after another, as tile_task() does. Strips must match, because the end of a strip decides
 * how its last panels are cut. */
static void prepack_v(pass *w, char *panels) {
    const bp__native_view *view = w->view;
    for (w->p0 = 0; w->p0 < view->p; w->p0 += p_block(w->kernels, view->p)) {
        w->p = bp__least(view->p - w->p0, p_block(w->kernels, view->p));
        cut_into_tiles(w);
        for (int64_t p = 0; p < w->p && !bp__stops(w->stop); p += w->p_tile) {
            w->kernels->pack_v(panels + (w->p0 + p) * w->depth * (int64_t)w->kernels->packed,
                               element_at(view->v, (w->p0 + p) * view->v_p + w->k0 * view->v_k, w->kernels), view->v_p,
                               view->v_k, bp__least(w->p_tile, w->p - p), w->k, view->v_conjugate);
        }
    }
}

/* Packs one operand: all panels of the first block of k, then of the second, and so on. */
void bp__native_prepack(const bp__native_kernels *kernels, const bp__native_view *view, bool v, int threads, void *to,
                        bp__stop *stop) {
    pass w = {
        .kernels = kernels, .view = view, .threads = threads, .q = bp__least(view->q, q_block(kernels)), .stop = stop};
    int64_t length = v ? round_up(view->p, kernels->p_panel) : round_up(view->q, kernels->q_panel);
    for (w.k0 = 0; w.k0 < view->k && !bp__stops(stop); w.k0 += kernels->k_block) {
        char *panels = (char *)to + w.k0 * length * (int64_t)kernels->packed;
        w.k = bp__least(view->k - w.k0, kernels->k_block);
        w.depth = depth_of(kernels, w.k);
        if (v) {
            prepack_v(&w, panels);
        } else {
            kernels->pack_s(panels, element_at(view->s, w.k0 * view->s_k, kernels), view->s_q, view->s_k, view->q, w.k,
                            view->s_conjugate);
        }
    }
}
