/* line_run.c - runs the transform of one line, or of several lines in lanes. */
#include "line.h"

#include <string.h>

static int64_t whole(int64_t count, int64_t unit) {
    return (count + unit - 1) / unit * unit;
}

/* ---- Direct ---- */

void bp__fft_line_lanes(const bp__fft_line *line, const bp__fft_view *in, const bp__fft_view *out, double scale,
                        void *const *work) {
    line->algorithm.wide->passes(line->pass, line->count, 1, in, out, scale, work);
}

static void run_direct(const bp__fft_line *line, const void *in, void *out, bool swapped, double scale, char *scratch) {
    const bp__fft_kernels *across = line->algorithm.across;
    const int64_t lanes = across->lanes;
    const bp__fft_layout layout = swapped ? BP__FFT_PAIRS_SWAPPED : BP__FFT_PAIRS;
    const size_t block = (size_t)line->algorithm.n * line->pair;
    const bp__fft_view to = {.at = out, .step = 2 * lanes, .layout = layout};
    if (lanes == 1) {
        const bp__fft_view from = {.at = (void *)(uintptr_t)in, .step = 2, .layout = layout};
        void *const work[2] = {scratch, scratch + block};
        across->passes(line->pass, line->count, 1, &from, &to, scale, work);
        return;
    }
    /* Two blocks are used alternately. The block that the last pass does not read can be the output, which is in the
     * cache anyway. This is not possible if the first pass would overwrite input that it still reads. */
    const int rest = line->count - 1;
    const bool aligned = ((uintptr_t)out & 31) == 0;
    void *other = aligned && (in != out || rest % 2 == 1) ? out : scratch + block;
    void *first = rest % 2 == 1 ? (void *)scratch : other, *second = rest % 2 == 1 ? other : (void *)scratch;
    across->first_line_pass(in, swapped, line->first_twiddles, line->pass[0].m, first);
    const bp__fft_view from = {.at = first, .step = 2 * lanes, .part = lanes, .layout = BP__FFT_LANES};
    void *const work[2] = {second, first};
    across->passes(line->pass + 1, rest, lanes, &from, &to, scale, work);
}

/* ---- Four-step ---- */

typedef struct split {
    const bp__fft_line *line;
    const char *in;
    char *out;
    char *between; /* for each group of rows, the elements of all columns */
    char *work;    /* two blocks for each task */
    size_t block;
    bool swapped;
    double scale;
    int tasks;
    bp__stop *stop;
} split;

/* Returns the working memory that the last pass does not read, so that it can write there. */
static void *last_block(const bp__fft_line *line, void *const *work) {
    return work[(line->count - 1) & 1];
}

static void fill_zero(void *work, const bp__fft_line *line, int64_t from, int64_t to) {
    const size_t element = line->pair * (size_t)line->algorithm.wide->lanes;
    memset((char *)work + (size_t)from * element, 0, (size_t)(to - from) * element);
}

/* Transforms one group of columns and stores it, multiplied by twiddles, as rows in `between`. */
static void split_columns(const split *s, int64_t group, void *const *work) {
    const bp__fft_line *line = s->line;
    const bp__fft_kernels *wide = line->algorithm.wide;
    const int64_t lanes = wide->lanes, a = line->algorithm.columns, b = line->algorithm.rows;
    const int64_t left = b - group * lanes, length = whole(a, lanes);
    const size_t vector = (size_t)lanes * line->pair;
    bp__fft_view in = {.at = (void *)(uintptr_t)(s->in + (size_t)group * vector),
                       .step = 2 * b,
                       .layout = s->swapped ? BP__FFT_PAIRS_SWAPPED : BP__FFT_PAIRS};
    if (left < lanes) {
        int64_t offset[BP__FFT_LANES_MOST];
        for (int64_t i = 0; i < left; i++) {
            offset[i] = 2 * i;
        }
        const bp__fft_lines lines = {in.at, offset, (int)left, 2 * b, 1, false};
        wide->gather(work[1], &lines, s->swapped, a);
        in = (bp__fft_view){.at = work[1], .step = 2 * lanes, .part = lanes, .layout = BP__FFT_LANES};
    }
    const bp__fft_view out = {
        .at = last_block(line->first, work), .step = 2 * lanes, .part = lanes, .layout = BP__FFT_LANES};
    bp__fft_line_lanes(line->first, &in, &out, 1, work);
    fill_zero(out.at, line, a, length);
    const int64_t row_group = whole(b, lanes) * 2 * lanes; /* reals of one group of rows */
    wide->twiddle_transpose(s->between + (size_t)(group * lanes) * vector, row_group, out.at,
                            (const char *)line->twiddle + (size_t)(group * length) * vector, length);
}

static void split_rows(const split *s, int64_t group, void *const *work) {
    const bp__fft_line *line = s->line;
    const bp__fft_kernels *wide = line->algorithm.wide;
    const int64_t lanes = wide->lanes, a = line->algorithm.columns, b = line->algorithm.rows, left = a - group * lanes;
    const size_t vector = (size_t)lanes * line->pair;
    const bp__fft_view in = {.at = s->between + (size_t)(group * whole(b, lanes)) * vector,
                             .step = 2 * lanes,
                             .part = lanes,
                             .layout = BP__FFT_LANES};
    bp__fft_view out = {.at = s->out + (size_t)group * vector,
                        .step = 2 * a,
                        .layout = s->swapped ? BP__FFT_PAIRS_SWAPPED : BP__FFT_PAIRS};
    if (left >= lanes) {
        bp__fft_line_lanes(line->second, &in, &out, s->scale, work);
        return;
    }
    int64_t offset[BP__FFT_LANES_MOST];
    for (int64_t i = 0; i < left; i++) {
        offset[i] = 2 * i;
    }
    const bp__fft_lines lines = {out.at, offset, (int)left, 2 * a, 1, false};
    out =
        (bp__fft_view){.at = last_block(line->second, work), .step = 2 * lanes, .part = lanes, .layout = BP__FFT_LANES};
    bp__fft_line_lanes(line->second, &in, &out, s->scale, work);
    wide->scatter(out.at, &lines, s->swapped, b);
}

/* Returns share `task` of `tasks` shares of `count` units. */
static void share(int64_t count, int task, int tasks, int64_t *from, int64_t *to) {
    *from = count / tasks * task + (task < count % tasks ? task : count % tasks);
    *to = *from + count / tasks + (task < count % tasks ? 1 : 0);
}

static void run_groups_of(const split *s, int task, int64_t count,
                          void (*part)(const split *, int64_t, void *const *)) {
    const int64_t lanes = s->line->algorithm.wide->lanes;
    char *const mine = s->work + (size_t)task * 2 * s->block;
    void *const work[2] = {mine, mine + s->block};
    int64_t from, to;
    share((count + lanes - 1) / lanes, task, s->tasks, &from, &to);
    for (int64_t group = from; group < to && !bp__stops(s->stop); group++) {
        part(s, group, work);
    }
}

static void columns_task(void *context, int task) {
    const split *s = context;
    run_groups_of(s, task, s->line->algorithm.rows, split_columns);
}

static void rows_task(void *context, int task) {
    const split *s = context;
    run_groups_of(s, task, s->line->algorithm.columns, split_rows);
}

static size_t between_bytes(const bp__fft_line *line) {
    const int64_t lanes = line->algorithm.wide->lanes;
    return (size_t)(whole(line->algorithm.columns, lanes) * whole(line->algorithm.rows, lanes)) * line->pair;
}

static size_t split_block(const bp__fft_line *line) {
    const int64_t lanes = line->algorithm.wide->lanes, longest = line->algorithm.rows; /* the longer factor */
    return (size_t)(whole(longest, lanes) * lanes) * line->pair;
}

static void run_split(const bp__fft_line *line, const void *in, void *out, bool swapped, double scale, char *scratch,
                      int threads, bp__stop *stop) {
    split s = {line, in, out, scratch, scratch + between_bytes(line), split_block(line), swapped, scale, threads, stop};
    if (threads == 1) {
        columns_task(&s, 0);
        rows_task(&s, 0);
    } else {
        line->host->parallel(threads, threads, columns_task, &s);
        line->host->parallel(threads, threads, rows_task, &s);
    }
}

/* ---- Bluestein ---- */

/* x * chirp, convolution with the conjugate chirp by two transforms of the inner length, then * chirp again. */
static void run_chirp(const bp__fft_line *line, const void *in, void *out, bool swapped, double scale, char *scratch,
                      int threads, bp__stop *stop) {
    const int64_t n = line->algorithm.n, inner = line->algorithm.inner;
    const size_t block = (size_t)inner * line->pair;
    const bp__fft_kernels *wide = line->algorithm.wide;
    char *const a = scratch, *const b = scratch + block, *const rest = scratch + 2 * block;
    wide->modulate(a, in, line->twiddle, n, swapped, false, 1);
    memset(a + (size_t)n * line->pair, 0, block - (size_t)n * line->pair);
    bp__fft_line_run(line->first, a, b, false, 1, rest, threads, stop);
    if (bp__stopped(stop)) {
        return;
    }
    wide->modulate(b, b, line->spectrum, inner, false, false, 1);
    bp__fft_line_run(line->first, b, a, true, 1, rest, threads, stop);
    wide->modulate(out, a, line->twiddle, n, false, swapped, scale);
}

void bp__fft_line_run(const bp__fft_line *line, const void *in, void *out, bool swapped, double scale, char *scratch,
                      int threads, bp__stop *stop) {
    switch (line->algorithm.way) {
    case BP__FFT_DIRECT:
        run_direct(line, in, out, swapped, scale, scratch);
        return;
    case BP__FFT_SPLIT:
        run_split(line, in, out, swapped, scale, scratch, threads, stop);
        return;
    case BP__FFT_CHIRP:
        run_chirp(line, in, out, swapped, scale, scratch, threads, stop);
        return;
    }
}

size_t bp__fft_line_scratch(const bp__fft_line *line, int threads) {
    switch (line->algorithm.way) {
    case BP__FFT_SPLIT:
        return between_bytes(line) + (size_t)threads * 2 * split_block(line);
    case BP__FFT_CHIRP:
        return 2 * (size_t)line->algorithm.inner * line->pair + bp__fft_line_scratch(line->first, threads);
    case BP__FFT_DIRECT:
        break;
    }
    return 2 * (size_t)line->algorithm.n * line->pair;
}
