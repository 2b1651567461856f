/* columns.c - computes a pass as other programs do without a library for convolutions: im2col by a plain loop, and one
 * matrix product for each group (bp_matmul). Gradients by the input and transposed convolutions end with the reverse,
 * col2im. A peer of the benchmark; the weight has the layout [group][tap][channel of X][channel of Y] and any values.
 */
#include "passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct columns {
    const layer *layer;
    const bp_options *options;
    int batch, x_size, y_size; /* of the image and of the positions */
    int64_t positions, taps, x_channels, y_channels;
    float *x, *y, *weight, *columns;
    bool copies; /* the columns are not X itself */
};

static float *filled(size_t count) {
    float *memory = aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
    for (size_t i = 0; memory && i < count; i++) {
        memory[i] = (float)(i % 17) / 16 - 0.5F;
    }
    return memory;
}

static int64_t power_of(int base, int exponent) {
    return exponent == 0 ? 1 : base * power_of(base, exponent - 1);
}

columns *columns_new(const layer *l, int batch, const bp_options *options, float *input, float *output) {
    const bool transposed = l->pass == TRANSPOSED;
    columns *c = calloc(1, sizeof *c);
    if (!c) {
        return NULL;
    }
    *c = (columns){.layer = l,
                   .options = options,
                   .batch = batch,
                   .x_size = transposed ? layer_out(l) : l->size,
                   .y_size = transposed ? l->size : layer_out(l),
                   .taps = power_of(l->kernel, l->ndim),
                   .x_channels = transposed ? l->out_channels : l->in_channels,
                   .y_channels = transposed ? l->in_channels : l->out_channels,
                   .x = transposed ? output : input,
                   .y = transposed ? input : output,
                   .copies = l->kernel > 1 || l->stride > 1 || l->padding > 0};
    c->positions = batch * power_of(c->y_size, l->ndim);
    c->weight = filled((size_t)(c->taps * c->x_channels * c->y_channels / l->groups));
    c->columns = c->copies ? filled((size_t)(c->positions * c->taps * c->x_channels)) : c->x;
    if (!c->weight || !c->columns) {
        columns_free(c);
        return NULL;
    }
    return c;
}

/* Returns the element of X at a position and tap, or -1 outside the image. */
static int64_t element_at(const columns *c, int64_t position, int64_t tap) {
    const layer *l = c->layer;
    int64_t at = 0, step = 1;
    for (int d = 0; d < l->ndim; d++) {
        const int64_t i = position % c->y_size * l->stride + tap % l->kernel - l->padding;
        if (i < 0 || i >= c->x_size) {
            return -1;
        }
        at += i * step;
        step *= c->x_size;
        position /= c->y_size;
        tap /= l->kernel;
    }
    return (position * step + at) * c->x_channels;
}

/* Copies X to the columns, or adds the columns to X. Columns are [position][group][tap][channel]. */
static void exchange(const columns *c, bool back) {
    const int groups = c->layer->groups;
    const int64_t channels = c->x_channels / groups;
    if (back) {
        memset(c->x, 0, (size_t)(c->batch * power_of(c->x_size, c->layer->ndim) * c->x_channels) * sizeof(float));
    }
    for (int64_t i = 0; i < c->positions * c->taps; i++) {
        const int64_t position = i / c->taps, tap = i % c->taps, from = element_at(c, position, tap);
        float *column = c->columns + position * c->taps * c->x_channels + tap * channels;
        for (int g = 0; g < groups; g++, column += c->taps * channels) {
            float *x = c->x + from + g * channels;
            for (int64_t j = 0; back && from >= 0 && j < channels; j++) {
                x[j] += column[j];
            }
            for (int64_t j = 0; !back && j < channels; j++) {
                column[j] = from >= 0 ? x[j] : 0;
            }
        }
    }
}

/* Describes one matrix for each group. */
static void view(bp_view *made, float *memory, const columns *c, int64_t rows, int64_t width, int64_t group,
                 int64_t row, int64_t column) {
    const int64_t shape[] = {c->layer->groups, rows, width}, strides[] = {group, row, column};
    bp_view_init(made, memory, BP_F32, 3, shape, strides);
}

void columns_run(void *context) {
    columns *c = context;
    const int groups = c->layer->groups;
    const int64_t n = c->taps * c->x_channels / groups, k = c->y_channels / groups;
    const bool back = c->layer->pass == INPUT_GRADIENT || c->layer->pass == TRANSPOSED;
    const bool gradient = c->layer->pass == WEIGHT_GRADIENT;
    bp_view m, w, y;
    if (c->copies && !back) {
        exchange(c, false);
    }
    if (gradient) {
        view(&m, c->columns, c, n, c->positions, n, 1, n * groups);
    } else {
        view(&m, c->columns, c, c->positions, n, n, n * groups, 1);
    }
    if (back) {
        view(&w, c->weight, c, k, n, n * k, 1, k);
    } else {
        view(&w, c->weight, c, n, k, n * k, k, 1);
    }
    view(&y, c->y, c, c->positions, k, k, c->y_channels, 1);
    const DLTensor *const a = back ? &y.tensor : &m.tensor, *const b = gradient ? &y.tensor : &w.tensor;
    DLTensor *const result = back ? &m.tensor : gradient ? &w.tensor : &y.tensor;
    if (bp_matmul_run(c->options, a, b, result) != BP_OK) {
        fprintf(stderr, "passes: %s\n", bp_last_error());
        exit(1);
    }
    if (c->copies && back) {
        exchange(c, true);
    }
}

void columns_free(columns *c) {
    free(c->weight);
    if (c->copies) {
        free(c->columns);
    }
    free(c);
}
