/* fourier_transform.c - transforms the tiles of a convolution, whose planes fill the lanes of vectors.
 *
 * The last axis is transformed as real lines: their complex transform has half the length. Rows of zeros are left out,
 * and so are those that have no results. The other axes are transformed in place, with their own steps. */
#include "fourier.h"

#include <string.h>

static bp__fft_axis real_axis(const bp__fourier_cut *cut, bp_fft_kind kind, double scale) {
    const int64_t n = cut->axis[BP__FOURIER_LAST].n;
    return (bp__fft_axis){
        .kind = kind, .in_lanes = true, .n = n, .length = n / 2, .scale = scale, .lines = {.count = 1}};
}

bp_status bp__fourier_tables_make(const bp_host *host, const bp__fourier_cut *cut, const bp__fourier_set *set,
                                  bp__fourier_tables *tables) {
    double elements = 1;
    for (int d = 0; d < BP__FOURIER_AXES; d++) {
        elements *= (double)cut->axis[d].n;
    }
    tables->forward = real_axis(cut, BP_FFT_R2C, 1);
    tables->inverse = real_axis(cut, BP_FFT_C2R, 1 / elements);
    bp_status status = bp__fft_axis_make(host, set->transforms, cut->f64, &tables->forward);
    if (status == BP_OK) {
        status = bp__fft_axis_make(host, set->transforms, cut->f64, &tables->inverse);
    }
    for (int d = 0; d < BP__FOURIER_LAST && status == BP_OK; d++) {
        if (cut->axis[d].n > 1) {
            status =
                bp__fft_line_make(host, set->transforms, cut->f64, cut->axis[d].n, BP__FFT_IN_LANES, &tables->lines[d]);
        }
    }
    return status;
}

void bp__fourier_tables_free(const bp_host *host, bp__fourier_tables *tables) {
    bp__fft_axis_free(host, &tables->forward);
    bp__fft_axis_free(host, &tables->inverse);
    for (int d = 0; d < BP__FOURIER_LAST; d++) {
        bp__fft_line_free(tables->lines[d]);
    }
}

int64_t bp__fourier_work(const bp__fourier_cut *cut) {
    int64_t most = cut->row;
    for (int d = 0; d < BP__FOURIER_LAST; d++) {
        most = cut->axis[d].n > most ? cut->axis[d].n : most;
    }
    return most;
}

void bp__fourier_copy(const bp__fourier_set *set, const bp__fft_view *in, const bp__fft_view *out, int64_t count) {
    const bp__fft_pass pass = {.radix = 1, .m = 1, .s = count};
    set->transforms[0]->passes(&pass, 1, 1, in, out, 1, NULL);
}

/* Elements of a tile, `step` elements apart. */
static bp__fft_view view_of(const bp__fourier_set *set, void *at, int64_t step, bool swapped) {
    const int64_t lanes = bp__fourier_lanes(set);
    return (bp__fft_view){
        .at = at, .step = 2 * lanes * step, .part = lanes, .layout = swapped ? BP__FFT_LANES_SWAPPED : BP__FFT_LANES};
}

/* What a transform needs to know. */
typedef struct transform {
    const bp__fourier_cut *cut;
    const bp__fourier_set *set;
    const bp__fourier_tables *tables;
    char *tile;
    const bp__fourier_box *data;
    void *work[2];
    bool inverse;
} transform;

static void transform_line(const transform *t, const bp__fft_line *line, int64_t at, int64_t step) {
    char *from = t->tile + at * bp__fourier_element(t->cut, t->set);
    const bp__fft_view view = view_of(t->set, from, step, t->inverse);
    bp__fft_line_lanes(line, &view, &view, 1, t->work);
}

static void transform_row(const transform *t, int64_t row) {
    const bp__fft_kernels *kernels = t->set->transforms[0];
    const bp__fft_axis *axis = t->inverse ? &t->tables->inverse : &t->tables->forward;
    char *at = t->tile + row * t->cut->row * bp__fourier_element(t->cut, t->set);
    if (t->inverse) {
        kernels->combine_real(at, at, axis->combine_twiddles, axis->scale, false, axis->length);
    }
    transform_line(t, axis->line, row * t->cut->row, 1);
    if (!t->inverse) {
        kernels->combine_real(at, at, axis->combine_twiddles, axis->scale / 2, true, axis->length);
    }
}

/* Transforms the rows that have data. Others become 0 before a transform, and keep their contents in the inverse. */
static void transform_rows(const transform *t) {
    const bp__fourier_axis *axis = t->cut->axis;
    const bp__fourier_box *data = t->data;
    const size_t bytes = (size_t)(t->cut->row * bp__fourier_element(t->cut, t->set));
    for (int64_t row = 0; row < axis[0].n * axis[1].n; row++) {
        const int64_t i = row / axis[1].n, j = row % axis[1].n;
        if (i >= data->low[0] && i < data->high[0] && j >= data->low[1] && j < data->high[1]) {
            transform_row(t, row);
        } else if (!t->inverse) {
            memset(t->tile + (size_t)row * bytes, 0, bytes);
        }
    }
}

/* Transforms the second axis of the parts of the tile that have data, or the first axis. */
static void transform_columns(const transform *t, int d) {
    const bp__fourier_axis *axis = t->cut->axis;
    const int64_t row = t->cut->row, whole = axis[1].n * row;
    if (!t->tables->lines[d]) {
        return;
    }
    const int64_t low = d == 1 ? t->data->low[0] : 0, high = d == 1 ? t->data->high[0] : 1;
    for (int64_t i = low; i < high; i++) {
        for (int64_t j = 0; j < (d == 1 ? row : whole); j++) {
            transform_line(t, t->tables->lines[d], i * whole + j, d == 1 ? row : whole);
        }
    }
}

static transform transform_of(const bp__fourier_cut *cut, const bp__fourier_set *set, const bp__fourier_tables *tables,
                              void *tile, const bp__fourier_box *data, char *work) {
    const int64_t block = bp__fourier_work(cut) * bp__fourier_element(cut, set);
    return (transform){cut, set, tables, tile, data, {work, work + block}, false};
}

void bp__fourier_forward(const bp__fourier_cut *cut, const bp__fourier_set *set, const bp__fourier_tables *tables,
                         void *tile, const bp__fourier_box *data, char *work) {
    const transform t = transform_of(cut, set, tables, tile, data, work);
    transform_rows(&t);
    transform_columns(&t, 1);
    transform_columns(&t, 0);
}

void bp__fourier_inverse(const bp__fourier_cut *cut, const bp__fourier_set *set, const bp__fourier_tables *tables,
                         void *tile, const bp__fourier_box *data, char *work) {
    transform t = transform_of(cut, set, tables, tile, data, work);
    t.inverse = true;
    transform_columns(&t, 0);
    transform_columns(&t, 1);
    transform_rows(&t);
}
