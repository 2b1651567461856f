/* axis.c - transforms the lines of one dimension, in groups that fill the lanes or one by one. */
#include "axis.h"
#include "twiddle.h"

#include <string.h>

/* ---- Tables ---- */

/* Makes the twiddles of combine_real(). R2C: from the half-length complex spectrum to the real one. C2R: the reverse,
 * without the factor 1/2. */
static bool combine_table(const bp_host *host, bool f64, bp__fft_axis *axis) {
    const int64_t h = axis->n / 2;
    const long double scale = axis->kind == BP_FFT_R2C ? (long double)axis->scale / 2 : (long double)axis->scale;
    bp__fft_roots roots;
    axis->combine_twiddles = host->allocate((size_t)(h / 2 + 1) * (f64 ? 16 : 8));
    if (!axis->combine_twiddles || !bp__fft_roots_open(host, axis->n, &roots)) {
        return false;
    }
    for (int64_t k = 0; k <= h / 2; k++) {
        const bp__fft_root w = bp__fft_root_at(&roots, k);
        /* R2C: -i w. C2R: its conjugate, i conj(w). */
        const bp__fft_root v = {scale * w.im, axis->kind == BP_FFT_R2C ? -scale * w.re : scale * w.re};
        bp__fft_put(axis->combine_twiddles, f64, k, v);
    }
    bp__fft_roots_close(host, &roots);
    return true;
}

bp_status bp__fft_axis_make(const bp_host *host, const bp__fft_kernels *const *kernels, bool f64, bp__fft_axis *axis) {
    const bp__fft_use use = axis->in_lanes ? BP__FFT_IN_LANES : BP__FFT_ALONE;
    axis->chunk = bp__stop_chunk(bp__fft_line_work(axis), INT64_MAX);
    const bp_status status = bp__fft_line_make(host, kernels, f64, axis->length, use, &axis->line);
    if (status == BP_OK && bp__fft_halves(axis) && !combine_table(host, f64, axis)) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the tables of a real transform of %lld elements",
                          (long long)axis->n);
    }
    return status;
}

void bp__fft_axis_free(const bp_host *host, bp__fft_axis *axis) {
    bp__fft_line_free(axis->line);
    host->release(axis->combine_twiddles);
}

/* ---- Positions of lines ---- */

typedef struct cursor {
    const bp__fft_grid *grid;
    int64_t at[BP__FFT_DIMS_MOST];
    int64_t in, out;
} cursor;

static void cursor_seek(cursor *c, const bp__fft_grid *grid, int64_t line) {
    c->grid = grid;
    c->in = c->out = 0;
    for (int d = grid->ndim - 1; d >= 0; d--) {
        c->at[d] = line % grid->size[d];
        line /= grid->size[d];
        c->in += c->at[d] * grid->in[d];
        c->out += c->at[d] * grid->out[d];
    }
}

static void cursor_next(cursor *c) {
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

/* Returns the lines after which a group of lanes ends early: the lines of the fastest dimension if there are enough
 * to fill the lanes, otherwise all lines. */
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

static bp__fft_view in_lanes(void *work, int lanes, bool swapped) {
    return (bp__fft_view){
        .at = work, .step = 2 * lanes, .part = lanes, .layout = swapped ? BP__FFT_LANES_SWAPPED : BP__FFT_LANES};
}

static void *real_at(const bp__fft_axis *axis, const void *base, int64_t offset) {
    return (char *)(uintptr_t)base + offset * (int64_t)(axis->line->f64 ? 8 : 4);
}

/* Describes the lines of one side. Real lines of even length are read as pairs of reals. */
static bp__fft_lines side_lines(const bp__fft_axis *axis, const void *base, const int64_t *offset, int count,
                                int64_t step, bool real) {
    const bp__fft_lines pairs = {(void *)(uintptr_t)base, offset, count, step, 1, false};
    const bp__fft_lines halves = {(void *)(uintptr_t)base, offset, count, 2 * step, step, false};
    const bp__fft_lines reals = {(void *)(uintptr_t)base, offset, count, step, 0, true};
    return !real ? pairs : bp__fft_halves(axis) ? halves : reals;
}

/* Returns whether a full group is contiguous across the lines, so that passes can access it directly, and sets *view.
 */
static bool side_view(const bp__fft_axis *axis, const bp__fft_lines *lines, bool real, bool swapped,
                      bp__fft_view *view) {
    const int lanes = axis->line->algorithm.wide->lanes;
    if (lines->count < lanes || lines->real || !neighbours(lines->offset, lanes, real ? 1 : 2)) {
        return false;
    }
    char *at = real_at(axis, lines->at, lines->offset[0]);
    if (!real) {
        *view = (bp__fft_view){at, lines->step, 1, swapped ? BP__FFT_PAIRS_SWAPPED : BP__FFT_PAIRS};
    } else if (swapped) {
        *view = (bp__fft_view){real_at(axis, at, lines->part), lines->step, -lines->part, BP__FFT_PLAIN};
    } else {
        *view = (bp__fft_view){at, lines->step, lines->part, BP__FFT_PLAIN};
    }
    return true;
}

/* Copies elements to or from working memory by a pass of radix 1. */
static void copy_elements(const bp__fft_kernels *kernels, const bp__fft_view *in, const bp__fft_view *out,
                          int64_t count) {
    const bp__fft_pass pass = {.radix = 1, .m = 1, .s = count};
    kernels->passes(&pass, 1, 1, in, out, 1, NULL);
}

static void load_group(const bp__fft_axis *axis, const bp__fft_lines *lines, void *work, int64_t count) {
    const bp__fft_kernels *wide = axis->line->algorithm.wide;
    const bp__fft_view to = in_lanes(work, wide->lanes, false);
    bp__fft_view view;
    if (side_view(axis, lines, false, false, &view)) {
        copy_elements(wide, &view, &to, count);
    } else {
        wide->gather(work, lines, false, count);
    }
}

static void store_group(const bp__fft_axis *axis, const bp__fft_lines *lines, void *work, int64_t count) {
    const bp__fft_kernels *wide = axis->line->algorithm.wide;
    const bp__fft_view from = in_lanes(work, wide->lanes, false);
    bp__fft_view view;
    if (side_view(axis, lines, false, false, &view)) {
        copy_elements(wide, &from, &view, count);
    } else {
        wide->scatter(work, lines, false, count);
    }
}

/* Transforms a group. Passes access in and out directly if possible; otherwise elements are copied through working
 * memory. NULL: the side is in working memory already. */
static void transform_group(const bp__fft_axis *axis, const bp__fft_lines *in, const bp__fft_lines *out, bool in_real,
                            bool out_real, double scale, void *const *work) {
    const bp__fft_line *line = axis->line;
    const bp__fft_kernels *wide = line->algorithm.wide;
    bp__fft_view from, to;
    if (!in) {
        from = in_lanes(work[1], wide->lanes, axis->swapped);
    } else if (!side_view(axis, in, in_real, axis->swapped, &from)) {
        wide->gather(work[1], in, axis->swapped, line->algorithm.n);
        from = in_lanes(work[1], wide->lanes, false);
    }
    const bool direct = out && side_view(axis, out, out_real, axis->swapped, &to);
    if (!direct) {
        to = in_lanes(work[(line->count - 1) & 1], wide->lanes, false);
    }
    bp__fft_line_lanes(line, &from, &to, scale, work);
    if (out && !direct) {
        wide->scatter(to.at, out, axis->swapped, line->algorithm.n);
    }
}

static void run_group(const bp__fft_axis *axis, const void *in, void *out, const group *g, void *const *work) {
    const bp__fft_kernels *wide = axis->line->algorithm.wide;
    const int64_t h = axis->length, spectrum = bp__fft_spectrum(axis);
    const bool halves = bp__fft_halves(axis);
    const bool in_real = axis->kind == BP_FFT_R2C, out_real = axis->kind == BP_FFT_C2R;
    const bp__fft_lines from = side_lines(axis, in, g->in, g->count, axis->in_step, in_real);
    const bp__fft_lines to = side_lines(axis, out, g->out, g->count, axis->out_step, out_real);
    if (in_real) {
        void *last = work[(axis->line->count - 1) & 1];
        transform_group(axis, &from, NULL, true, false, halves ? 1 : axis->scale, work);
        if (halves) {
            wide->combine_real(last, last, axis->combine_twiddles, axis->scale / 2, true, h);
        }
        store_group(axis, &to, last, spectrum);
    } else if (out_real) {
        load_group(axis, &from, work[1], spectrum);
        if (halves) {
            wide->combine_real(work[1], work[1], axis->combine_twiddles, axis->scale, false, h);
        } else {
            wide->mirror(work[1], axis->n);
        }
        transform_group(axis, NULL, &to, false, true, halves ? 1 : axis->scale, work);
    } else {
        transform_group(axis, &from, &to, false, false, axis->scale, work);
    }
}

/* Returns the bytes of one block of working memory. */
static size_t lanes_block(const bp__fft_axis *axis) {
    return (size_t)(axis->length + 1) * (size_t)axis->line->algorithm.wide->lanes * axis->line->pair;
}

static void run_groups(const bp__fft_axis *axis, const void *in, void *out, int64_t from, int64_t to, char *scratch,
                       bp__stop *stop) {
    const int lanes = axis->line->algorithm.wide->lanes;
    const int64_t run = run_of(&axis->lines, lanes), groups = (run + lanes - 1) / lanes;
    void *const work[2] = {scratch, scratch + lanes_block(axis)};
    int64_t next_check = from + axis->chunk;
    cursor c;
    if (from < to) {
        cursor_seek(&c, &axis->lines, from / groups * run + from % groups * lanes);
    }
    for (int64_t i = from; i < to; i++) {
        if (i == next_check) {
            if (bp__stops(stop)) {
                return;
            }
            next_check += axis->chunk;
        }
        const int64_t left = run - i % groups * lanes;
        group g = {.count = left < lanes ? (int)left : lanes};
        for (int k = 0; k < g.count; k++) {
            g.in[k] = c.in;
            g.out[k] = c.out;
            cursor_next(&c);
        }
        run_group(axis, in, out, &g, work);
    }
}

/* ---- Lines one by one ---- */

static const bp__fft_kernels *narrow_of(const bp__fft_axis *axis) {
    return axis->line->algorithm.narrow;
}

/* Returns a line as contiguous pairs: in place if it has that layout, otherwise copied to the buffer. */
static const void *gathered(const bp__fft_axis *axis, const void *at, int64_t step, bool real, int64_t count,
                            void *space) {
    static const int64_t here = 0;
    const bp__fft_lines lines = side_lines(axis, at, &here, 1, step, real);
    if (lines.part == 1 && lines.step == 2 && !lines.real) {
        return at;
    }
    narrow_of(axis)->gather(space, &lines, false, count);
    return space;
}

static bool is_contiguous(const bp__fft_axis *axis, int64_t step, bool real) {
    const bp__fft_lines lines = side_lines(axis, NULL, NULL, 1, step, real);
    return lines.part == 1 && lines.step == 2 && !lines.real;
}

static void scattered(const bp__fft_axis *axis, void *at, int64_t step, bool real, int64_t count, const void *from) {
    static const int64_t here = 0;
    const bp__fft_lines lines = side_lines(axis, at, &here, 1, step, real);
    if (from != at) {
        narrow_of(axis)->scatter(from, &lines, false, count);
    }
}

/* Returns the bytes of a line of pairs, rounded up to cache lines. */
static size_t alone_block(const bp__fft_axis *axis) {
    return ((size_t)(axis->length + 1) * axis->line->pair + 63) / 64 * 64;
}

/* Transforms one line of any kind and layout on up to `threads` threads. */
static void run_alone(const bp__fft_axis *axis, const void *in, void *out, int threads, char *scratch, bp__stop *stop) {
    const bp__fft_line *line = axis->line;
    const bool halves = bp__fft_halves(axis);
    const bool in_real = axis->kind == BP_FFT_R2C, out_real = axis->kind == BP_FFT_C2R;
    const int64_t spectrum = bp__fft_spectrum(axis), h = axis->length;
    char *const a = scratch, *const b = scratch + alone_block(axis), *const rest = b + alone_block(axis);
    void *const to = is_contiguous(axis, axis->out_step, out_real) ? out : b;
    const void *from = gathered(axis, in, axis->in_step, in_real, out_real ? spectrum : h, a);
    if (in_real) {
        bp__fft_line_run(line, from, halves ? to : b, false, halves ? 1 : axis->scale, rest, threads, stop);
        if (halves) {
            line->algorithm.wide->combine_real_line(to, to, axis->combine_twiddles, axis->scale / 2, true, h);
        }
        scattered(axis, out, axis->out_step, false, spectrum, halves ? to : b);
        return;
    }
    if (out_real && halves) {
        line->algorithm.wide->combine_real_line(a, from, axis->combine_twiddles, axis->scale, false, h);
        from = a;
    } else if (out_real) {
        memmove(a, from, (size_t)spectrum * line->pair);
        narrow_of(axis)->mirror(a, axis->n);
        from = a;
    }
    bp__fft_line_run(line, from, to, axis->swapped, halves ? 1 : axis->scale, rest, threads, stop);
    scattered(axis, out, axis->out_step, out_real, h, to);
}

void bp__fft_axis_run(const bp__fft_axis *axis, const void *in, void *out, int part, int parts, int threads,
                      char *scratch, bp__stop *stop) {
    const int64_t lanes = axis->in_lanes ? axis->line->algorithm.wide->lanes : 1;
    const int64_t count = axis->in_lanes ? groups_of(&axis->lines, (int)lanes) : axis->lines.count;
    const int64_t share = count / parts, more = count % parts;
    const int64_t from = share * part + (part < more ? part : more), to = from + share + (part < more ? 1 : 0);
    if (axis->in_lanes) {
        run_groups(axis, in, out, from, to, scratch, stop);
        return;
    }
    const bool plain = bp__fft_plain(axis);
    int64_t next_check = from + axis->chunk;
    cursor c;
    cursor_seek(&c, &axis->lines, from);
    for (int64_t i = from; i < to; i++) {
        if (i == next_check) {
            if (bp__stops(stop)) {
                return;
            }
            next_check += axis->chunk;
        }
        const void *line = real_at(axis, in, c.in);
        if (plain) {
            bp__fft_line_run(axis->line, line, real_at(axis, out, c.out), axis->swapped, axis->scale, scratch, threads,
                             stop);
        } else {
            run_alone(axis, line, real_at(axis, out, c.out), threads, scratch, stop);
        }
        cursor_next(&c);
    }
}

size_t bp__fft_axis_scratch(const bp__fft_axis *axis, int threads) {
    return axis->in_lanes ? 2 * lanes_block(axis) : 2 * alone_block(axis) + bp__fft_line_scratch(axis->line, threads);
}
