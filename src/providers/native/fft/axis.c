/* axis.c - runs the lines of one dimension, in groups that fill the lanes or one by one. */
#include "axis.h"
#include "twiddle.h"

#include <string.h>

/* ---- Tables ---- */

/* For weave(): real data's spectrum from that of its pairs (R2C), or back (C2R, without the halves). */
static bool weave_table(const bp_host *host, bool f64, bp__fft_axis *stage) {
    const int64_t h = stage->n / 2;
    const long double scale = stage->kind == BP_FFT_R2C ? (long double)stage->scale / 2 : (long double)stage->scale;
    bp__fft_roots roots;
    stage->weave = host->allocate((size_t)(h / 2 + 1) * (f64 ? 16 : 8));
    if (!stage->weave || !bp__fft_roots_open(host, stage->n, &roots)) {
        return false;
    }
    for (int64_t k = 0; k <= h / 2; k++) {
        const bp__fft_root w = bp__fft_root_at(&roots, k);
        /* -i w for R2C; its conjugate, i conj w, for C2R. */
        const bp__fft_root v = {scale * w.im, stage->kind == BP_FFT_R2C ? -scale * w.re : scale * w.re};
        bp__fft_put(stage->weave, f64, k, v);
    }
    bp__fft_roots_close(host, &roots);
    return true;
}

bp_status bp__fft_axis_make(const bp_host *host, const bp__fft_kernels *const *kernels, bool f64, bp__fft_axis *stage) {
    const bp__fft_use use = stage->in_lanes ? BP__FFT_IN_LANES : BP__FFT_ALONE;
    stage->handful = bp__stop_handful(bp__fft_line_work(stage), INT64_MAX);
    const bp_status status = bp__fft_line_make(host, kernels, f64, stage->length, use, &stage->line);
    if (status == BP_OK && bp__fft_halves(stage) && !weave_table(host, f64, stage)) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the tables of a real transform of %lld elements",
                          (long long)stage->n);
    }
    return status;
}

void bp__fft_axis_free(const bp_host *host, bp__fft_axis *stage) {
    bp__fft_line_free(stage->line);
    host->release(stage->weave);
}

/* ---- Where lines are ---- */

typedef struct cursor {
    const bp__fft_grid *grid;
    int64_t at[BP__FFT_DIMS_MOST];
    int64_t in, out;
} cursor;

static void move_to(cursor *c, const bp__fft_grid *grid, int64_t line) {
    c->grid = grid;
    c->in = c->out = 0;
    for (int d = grid->ndim - 1; d >= 0; d--) {
        c->at[d] = line % grid->size[d];
        line /= grid->size[d];
        c->in += c->at[d] * grid->in[d];
        c->out += c->at[d] * grid->out[d];
    }
}

static void move_on(cursor *c) {
    const bp__fft_grid *grid = c->grid;
    for (int d = grid->ndim - 1; d >= 0; d--) {
        c->in += grid->in[d];
        c->out += grid->out[d];
        if (++c->at[d] < grid->size[d]) {
            return;
        }
        c->in -= grid->size[d] * grid->in[d];
        c->out -= grid->size[d] * grid->out[d];
        c->at[d] = 0;
    }
}

/* Groups of lanes end where the fastest dimension ends, if that one fills them. */
static int64_t run_of(const bp__fft_grid *grid, int lanes) {
    return grid->ndim > 0 && grid->size[grid->ndim - 1] >= lanes ? grid->size[grid->ndim - 1] : grid->count;
}

static int64_t groups_of(const bp__fft_grid *grid, int lanes) {
    const int64_t run = run_of(grid, lanes);
    return grid->count / run * ((run + lanes - 1) / lanes);
}

/* ---- Lines in lanes ---- */

typedef struct group {
    int count;
    int64_t in[BP__FFT_LANES_MOST], out[BP__FFT_LANES_MOST];
} group;

static bool neighbours(const int64_t *offset, int count, int64_t apart) {
    for (int i = 1; i < count; i++) {
        if (offset[i] - offset[0] != i * apart) {
            return false;
        }
    }
    return true;
}

static bp__fft_place in_lanes(void *work, int lanes, bool swapped) {
    return (bp__fft_place){
        .at = work, .step = 2 * lanes, .part = lanes, .layout = swapped ? BP__FFT_LANES_SWAPPED : BP__FFT_LANES};
}

static void *real_at(const bp__fft_axis *stage, const void *base, int64_t offset) {
    return (char *)(uintptr_t)base + offset * (int64_t)(stage->line->f64 ? 8 : 4);
}

/* Lines of one side: where their reals are. */
static bp__fft_lines side_lines(const bp__fft_axis *stage, const void *base, const int64_t *offset, int count,
                                int64_t step, bool real) {
    const bp__fft_lines pairs = {(void *)(uintptr_t)base, offset, count, step, 1, false};
    const bp__fft_lines halves = {(void *)(uintptr_t)base, offset, count, 2 * step, step, false};
    const bp__fft_lines reals = {(void *)(uintptr_t)base, offset, count, step, 0, true};
    return !real ? pairs : bp__fft_halves(stage) ? halves : reals;
}

/* Whether a full group stands side by side in memory, so that passes may read or write it there. */
static bool side_place(const bp__fft_axis *stage, const bp__fft_lines *lines, bool real, bool swapped,
                       bp__fft_place *place) {
    const int lanes = stage->line->recipe.wide->lanes;
    if (lines->count < lanes || lines->real || !neighbours(lines->offset, lanes, real ? 1 : 2)) {
        return false;
    }
    char *at = real_at(stage, lines->at, lines->offset[0]);
    if (!real) {
        *place = (bp__fft_place){at, lines->step, 1, swapped ? BP__FFT_PAIRS_SWAPPED : BP__FFT_PAIRS};
    } else if (swapped) {
        *place = (bp__fft_place){real_at(stage, at, lines->part), lines->step, -lines->part, BP__FFT_PLAIN};
    } else {
        *place = (bp__fft_place){at, lines->step, lines->part, BP__FFT_PLAIN};
    }
    return true;
}

/* Elements to and from working memory by a pass that does nothing else. */
static void copy_elements(const bp__fft_kernels *kernels, const bp__fft_place *in, const bp__fft_place *out,
                          int64_t count) {
    const bp__fft_pass pass = {.radix = 1, .m = 1, .s = count};
    kernels->passes(&pass, 1, 1, in, out, 1, NULL);
}

static void load_group(const bp__fft_axis *stage, const bp__fft_lines *lines, void *work, int64_t count) {
    const bp__fft_kernels *wide = stage->line->recipe.wide;
    const bp__fft_place to = in_lanes(work, wide->lanes, false);
    bp__fft_place place;
    if (side_place(stage, lines, false, false, &place)) {
        copy_elements(wide, &place, &to, count);
    } else {
        wide->gather(work, lines, false, count);
    }
}

static void store_group(const bp__fft_axis *stage, const bp__fft_lines *lines, void *work, int64_t count) {
    const bp__fft_kernels *wide = stage->line->recipe.wide;
    const bp__fft_place from = in_lanes(work, wide->lanes, false);
    bp__fft_place place;
    if (side_place(stage, lines, false, false, &place)) {
        copy_elements(wide, &from, &place, count);
    } else {
        wide->scatter(work, lines, false, count);
    }
}

/* The transform between two sides that it can read and write itself, through working memory where it cannot. */
static void transform_group(const bp__fft_axis *stage, const bp__fft_lines *in, const bp__fft_lines *out, bool in_real,
                            bool out_real, double scale, void *const *work) {
    const bp__fft_line *line = stage->line;
    const bp__fft_kernels *wide = line->recipe.wide;
    bp__fft_place from, to;
    if (!in) {
        from = in_lanes(work[1], wide->lanes, stage->swapped);
    } else if (!side_place(stage, in, in_real, stage->swapped, &from)) {
        wide->gather(work[1], in, stage->swapped, line->recipe.n);
        from = in_lanes(work[1], wide->lanes, false);
    }
    const bool direct = out && side_place(stage, out, out_real, stage->swapped, &to);
    if (!direct) {
        to = in_lanes(work[(line->count - 1) & 1], wide->lanes, false);
    }
    bp__fft_line_lanes(line, &from, &to, scale, work);
    if (out && !direct) {
        wide->scatter(to.at, out, stage->swapped, line->recipe.n);
    }
}

static void run_group(const bp__fft_axis *stage, const void *in, void *out, const group *g, void *const *work) {
    const bp__fft_kernels *wide = stage->line->recipe.wide;
    const int64_t h = stage->length, spectrum = bp__fft_spectrum(stage);
    const bool halves = bp__fft_halves(stage);
    const bool in_real = stage->kind == BP_FFT_R2C, out_real = stage->kind == BP_FFT_C2R;
    const bp__fft_lines from = side_lines(stage, in, g->in, g->count, stage->in_step, in_real);
    const bp__fft_lines to = side_lines(stage, out, g->out, g->count, stage->out_step, out_real);
    if (in_real) {
        void *last = work[(stage->line->count - 1) & 1];
        transform_group(stage, &from, NULL, true, false, halves ? 1 : stage->scale, work);
        if (halves) {
            wide->weave(last, last, stage->weave, stage->scale / 2, true, h);
        }
        store_group(stage, &to, last, spectrum);
    } else if (out_real) {
        load_group(stage, &from, work[1], spectrum);
        if (halves) {
            wide->weave(work[1], work[1], stage->weave, stage->scale, false, h);
        } else {
            wide->mirror(work[1], stage->n);
        }
        transform_group(stage, NULL, &to, false, true, halves ? 1 : stage->scale, work);
    } else {
        transform_group(stage, &from, &to, false, false, stage->scale, work);
    }
}

/* Bytes of a block of working memory. */
static size_t lanes_block(const bp__fft_axis *stage) {
    return (size_t)(stage->length + 1) * (size_t)stage->line->recipe.wide->lanes * stage->line->pair;
}

static void run_groups(const bp__fft_axis *stage, const void *in, void *out, int64_t from, int64_t to, char *scratch,
                       bp__stop *stop) {
    const int lanes = stage->line->recipe.wide->lanes;
    const int64_t run = run_of(&stage->lines, lanes), groups = (run + lanes - 1) / lanes;
    void *const work[2] = {scratch, scratch + lanes_block(stage)};
    int64_t question = from + stage->handful;
    cursor c;
    if (from < to) {
        move_to(&c, &stage->lines, from / groups * run + from % groups * lanes);
    }
    for (int64_t i = from; i < to; i++) {
        if (i == question) {
            if (bp__stops(stop)) {
                return;
            }
            question += stage->handful;
        }
        const int64_t left = run - i % groups * lanes;
        group g = {.count = left < lanes ? (int)left : lanes};
        for (int k = 0; k < g.count; k++) {
            g.in[k] = c.in;
            g.out[k] = c.out;
            move_on(&c);
        }
        run_group(stage, in, out, &g, work);
    }
}

/* ---- Lines one by one ---- */

static const bp__fft_kernels *narrow_of(const bp__fft_axis *stage) {
    return stage->line->recipe.narrow;
}

/* One line between any steps and contiguous pairs, where it does not stand so already. */
static const void *gathered(const bp__fft_axis *stage, const void *at, int64_t step, bool real, int64_t count,
                            void *space) {
    static const int64_t here = 0;
    const bp__fft_lines lines = side_lines(stage, at, &here, 1, step, real);
    if (lines.part == 1 && lines.step == 2 && !lines.real) {
        return at;
    }
    narrow_of(stage)->gather(space, &lines, false, count);
    return space;
}

static bool stands_alone(const bp__fft_axis *stage, int64_t step, bool real) {
    const bp__fft_lines lines = side_lines(stage, NULL, NULL, 1, step, real);
    return lines.part == 1 && lines.step == 2 && !lines.real;
}

static void scattered(const bp__fft_axis *stage, void *at, int64_t step, bool real, int64_t count, const void *from) {
    static const int64_t here = 0;
    const bp__fft_lines lines = side_lines(stage, at, &here, 1, step, real);
    if (from != at) {
        narrow_of(stage)->scatter(from, &lines, false, count);
    }
}

/* Bytes of a line of pairs. */
static size_t alone_block(const bp__fft_axis *stage) {
    return ((size_t)(stage->length + 1) * stage->line->pair + 63) / 64 * 64;
}

static void run_alone(const bp__fft_axis *stage, const void *in, void *out, int threads, char *scratch,
                      bp__stop *stop) {
    const bp__fft_line *line = stage->line;
    const bool halves = bp__fft_halves(stage);
    const bool in_real = stage->kind == BP_FFT_R2C, out_real = stage->kind == BP_FFT_C2R;
    const int64_t spectrum = bp__fft_spectrum(stage), h = stage->length;
    char *const a = scratch, *const b = scratch + alone_block(stage), *const rest = b + alone_block(stage);
    void *const to = stands_alone(stage, stage->out_step, out_real) ? out : b;
    const void *from = gathered(stage, in, stage->in_step, in_real, out_real ? spectrum : h, a);
    if (in_real) {
        bp__fft_line_run(line, from, halves ? to : b, false, halves ? 1 : stage->scale, rest, threads, stop);
        if (halves) {
            line->recipe.wide->weave_line(to, to, stage->weave, stage->scale / 2, true, h);
        }
        scattered(stage, out, stage->out_step, false, spectrum, halves ? to : b);
        return;
    }
    if (out_real && halves) {
        line->recipe.wide->weave_line(a, from, stage->weave, stage->scale, false, h);
        from = a;
    } else if (out_real) {
        memmove(a, from, (size_t)spectrum * line->pair);
        narrow_of(stage)->mirror(a, stage->n);
        from = a;
    }
    bp__fft_line_run(line, from, to, stage->swapped, halves ? 1 : stage->scale, rest, threads, stop);
    scattered(stage, out, stage->out_step, out_real, h, to);
}

void bp__fft_axis_run(const bp__fft_axis *stage, const void *in, void *out, int part, int parts, int threads,
                      char *scratch, bp__stop *stop) {
    const int64_t lanes = stage->in_lanes ? stage->line->recipe.wide->lanes : 1;
    const int64_t count = stage->in_lanes ? groups_of(&stage->lines, (int)lanes) : stage->lines.count;
    const int64_t share = count / parts, more = count % parts;
    const int64_t from = share * part + (part < more ? part : more), to = from + share + (part < more ? 1 : 0);
    if (stage->in_lanes) {
        run_groups(stage, in, out, from, to, scratch, stop);
        return;
    }
    const bool plain = bp__fft_plain(stage);
    int64_t question = from + stage->handful;
    cursor c;
    move_to(&c, &stage->lines, from);
    for (int64_t i = from; i < to; i++) {
        if (i == question) {
            if (bp__stops(stop)) {
                return;
            }
            question += stage->handful;
        }
        const void *line = real_at(stage, in, c.in);
        if (plain) {
            bp__fft_line_run(stage->line, line, real_at(stage, out, c.out), stage->swapped, stage->scale, scratch,
                             threads, stop);
        } else {
            run_alone(stage, line, real_at(stage, out, c.out), threads, scratch, stop);
        }
        move_on(&c);
    }
}

size_t bp__fft_axis_scratch(const bp__fft_axis *stage, int threads) {
    return stage->in_lanes ? 2 * lanes_block(stage)
                           : 2 * alone_block(stage) + bp__fft_line_scratch(stage->line, threads);
}
