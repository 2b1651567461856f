/* winograd_tile.c - transforms the image of a block of tiles into panels, and products of the block into results.
 *
 * Lanes of the image's transform are channels if these are contiguous, and tiles otherwise. Tiles with contiguous rows
 * are read and written by vectors; others, and those at edges, element by element. */
#include "winograd.h"

#include <string.h>

enum { CHANNELS = 32 }; /* channels that are transformed before they are packed, so that they stay in the cache */

/* ---- Memory ---- */

static int64_t most_width(const bp__native_kernels *products) {
    return products->p_panel > products->q_panel ? products->p_panel : products->q_panel;
}

static int64_t lane_floats(const bp__winograd_cut *cut, const bp__native_kernels *products) {
    const int64_t tiles = bp__conv_round_up(cut->block, most_width(products));
    const int64_t channels = cut->by_channel ? most_width(products) * CHANNELS : 0;
    return BP__WINOGRAD_PRODUCTS * bp__winograd_apart(tiles > channels ? tiles : channels);
}

/* Cuts `bytes` from the memory, whose address may be NULL if only the size is asked for. */
static void *take_memory(char *memory, size_t *used, int64_t bytes) {
    void *part = memory ? memory + *used : NULL;
    *used += (size_t)bp__conv_round_up(bytes, 64);
    return part;
}

static size_t divide(const bp__winograd_cut *cut, const bp__native_kernels *products, int64_t channels, char *memory,
                     bp__winograd_memory *parts) {
    const int64_t f32 = (int64_t)sizeof(float), width = most_width(products), all = BP__WINOGRAD_PRODUCTS;
    const int64_t tiles = bp__conv_round_up(cut->block, width), rows = bp__conv_round_up(cut->rows, width);
    const int64_t depth = bp__least(channels, products->k_block), pointer = (int64_t)sizeof(float *);
    size_t used = 0;
    parts->panels = take_memory(memory, &used, all * bp__winograd_apart(tiles * depth) * f32);
    const int64_t sums = cut->tiles_are_v ? tiles * cut->rows : rows * cut->block;
    parts->sums = take_memory(memory, &used, all * bp__winograd_apart(sums) * f32);
    parts->lanes = take_memory(memory, &used, lane_floats(cut, products) * f32);
    parts->patches = take_memory(memory, &used, (tiles + 1) * all * f32);
    parts->zeros = take_memory(memory, &used, CHANNELS * f32);
    parts->bias = take_memory(memory, &used, rows * f32);
    parts->from = take_memory(memory, &used, (cut->by_channel ? width * all : tiles) * pointer);
    parts->to = take_memory(memory, &used, tiles * pointer);
    parts->row = take_memory(memory, &used, tiles * (int64_t)sizeof(int64_t));
    parts->tiles = take_memory(memory, &used, tiles * (int64_t)sizeof(bp__winograd_tile));
    if (memory) {
        memset(parts->zeros, 0, CHANNELS * sizeof(float));
    }
    return used;
}

size_t bp__winograd_memory_bytes(const bp__winograd_cut *cut, const bp__native_kernels *products, int64_t channels) {
    bp__winograd_memory parts;
    return divide(cut, products, channels, NULL, &parts);
}

void bp__winograd_memory_at(const bp__winograd_cut *cut, const bp__native_kernels *products, int64_t channels,
                            char *memory, bp__winograd_memory *parts) {
    divide(cut, products, channels, memory, parts);
}

/* ---- Tiles ---- */

static int8_t limited(int64_t x, int64_t low, int64_t high) {
    return (int8_t)(x < low ? low : x > high ? high : x);
}

void bp__winograd_locate(const bp__winograd_unit *unit, int64_t start) {
    const bp__winograd_cut *cut = unit->cut;
    const bp__conv_job *job = unit->job;
    for (int64_t i = 0; i < unit->tiles; i++) {
        bp__winograd_tile *tile = &unit->memory->tiles[i];
        const int64_t all = start + i, index[] = {all / cut->across[1] % cut->across[0], all % cut->across[1]};
        const int64_t item = all / cut->across[1] / cut->across[0];
        tile->from = item * job->image_batch;
        tile->to = item * job->result_batch;
        for (int d = 0; d < 2; d++) {
            const bp__conv_axis *axis = &job->axis[1 + d];
            /* Taps of CONV_INPUT go backwards, so the first element of the image belongs to the last tap. */
            const int64_t shift = axis->first + (axis->change < 0 ? axis->change * (BP__WINOGRAD_TAPS - 1) : 0);
            const int64_t at = index[d] * BP__WINOGRAD_OUT + shift;
            tile->from += at * axis->stride;
            tile->to += index[d] * BP__WINOGRAD_OUT * axis->result;
            tile->low[d] = limited(-at, 0, BP__WINOGRAD_IN);
            tile->high[d] = limited(axis->size - at, 0, BP__WINOGRAD_IN);
            tile->exist[d] = limited(axis->grid - index[d] * BP__WINOGRAD_OUT, 0, BP__WINOGRAD_OUT);
        }
    }
}

static bool is_inside(const bp__winograd_tile *tile) {
    return tile->low[0] == 0 && tile->low[1] == 0 && tile->high[0] == BP__WINOGRAD_IN &&
           tile->high[1] == BP__WINOGRAD_IN;
}

static bool is_full(const bp__winograd_tile *tile) {
    return tile->exist[0] == BP__WINOGRAD_OUT && tile->exist[1] == BP__WINOGRAD_OUT;
}

/* ---- Image: lanes are channels ---- */

/* Finds the elements of a tile, for channel 0. */
static void point(const bp__winograd_unit *unit, const bp__winograd_tile *tile, const float **from) {
    const int64_t row = unit->job->axis[1].stride, column = unit->job->axis[2].stride;
    for (int r = 0; r < BP__WINOGRAD_IN; r++) {
        const float *at = unit->image + tile->from + r * row;
        const bool inside = r >= tile->low[0] && r < tile->high[0];
        for (int c = 0; c < BP__WINOGRAD_IN; c++) {
            from[r * BP__WINOGRAD_IN + c] = inside && c >= tile->low[1] && c < tile->high[1] ? at + c * column : NULL;
        }
    }
}

/* Transforms some channels of one tile. */
static void transform_channels(const bp__winograd_unit *unit, const float *const *first, int64_t channel, int64_t count,
                               float *to, int64_t step) {
    const float *from[BP__WINOGRAD_PRODUCTS];
    for (int e = 0; e < BP__WINOGRAD_PRODUCTS; e++) {
        from[e] = first[e] ? first[e] + channel : unit->memory->zeros;
    }
    unit->set->own->image(count, from, to, step);
}

static void image_by_channel(const bp__winograd_unit *unit, int64_t c0, int64_t k) {
    const bp__native_kernels *products = unit->set->products;
    const bp__winograd_memory *memory = unit->memory;
    const bool as_v = unit->cut->tiles_are_v;
    const int64_t matrix = bp__winograd_panels(unit, k);
    for (int64_t start = 0; start < unit->tiles;) {
        const int64_t width = as_v ? bp__conv_v_width(products, unit->tiles - start) : products->q_panel;
        const int64_t count = bp__least(width, unit->tiles - start), step = bp__winograd_apart(width * CHANNELS);
        for (int64_t i = 0; i < count; i++) {
            point(unit, &memory->tiles[start + i], memory->from + i * BP__WINOGRAD_PRODUCTS);
        }
        for (int64_t c = 0; c < k; c += CHANNELS) {
            const int64_t some = bp__least(CHANNELS, k - c);
            for (int64_t i = 0; i < count; i++) {
                transform_channels(unit, memory->from + i * BP__WINOGRAD_PRODUCTS, c0 + c, some,
                                   memory->lanes + i * CHANNELS, step);
            }
            for (int e = 0; e < BP__WINOGRAD_PRODUCTS; e++) {
                (as_v ? products->pack_v : products->pack_s)(memory->panels + e * matrix + start * k + c * width,
                                                             memory->lanes + e * step, CHANNELS, 1, count, some, false);
            }
        }
        start += count;
    }
}

/* ---- Image: lanes are tiles ---- */

/* Copies the elements of a tile that are inside the image. */
static void copy_patch(const bp__winograd_unit *unit, const bp__winograd_tile *tile, const float *from, float *patch) {
    const int64_t row = unit->job->axis[1].stride, column = unit->job->axis[2].stride;
    for (int r = tile->low[0]; r < tile->high[0]; r++) {
        for (int c = tile->low[1]; c < tile->high[1]; c++) {
            patch[r * BP__WINOGRAD_IN + c] = from[r * row + c * column];
        }
    }
}

/* Finds or copies the tiles of one channel, and splits them. Lanes without a tile become 0. */
static void split_channel(const bp__winograd_unit *unit, int64_t channel, int64_t lanes, int64_t step) {
    const bp__winograd_memory *memory = unit->memory;
    const bool contiguous = unit->job->axis[2].stride == 1;
    for (int64_t i = 0; i < lanes; i++) {
        float *patch = memory->patches + bp__least(i, unit->tiles) * BP__WINOGRAD_PRODUCTS;
        memory->from[i] = patch;
        memory->row[i] = BP__WINOGRAD_IN;
        if (i >= unit->tiles) {
            continue;
        }
        const bp__winograd_tile *tile = &memory->tiles[i];
        const float *from = unit->image + tile->from + channel * unit->job->image_channel;
        if (contiguous && is_inside(tile)) {
            memory->from[i] = from;
            memory->row[i] = unit->job->axis[1].stride;
        } else {
            copy_patch(unit, tile, from, patch);
        }
    }
    unit->set->own->split(lanes, memory->from, memory->row, memory->lanes, step);
}

static void image_by_tile(const bp__winograd_unit *unit, int64_t c0, int64_t k) {
    const bp__native_kernels *products = unit->set->products;
    const bp__winograd_memory *memory = unit->memory;
    const bool as_v = unit->cut->tiles_are_v;
    const int64_t matrix = bp__winograd_panels(unit, k);
    const int64_t lanes = bp__conv_round_up(unit->tiles, as_v ? products->lanes : products->q_panel);
    const int64_t step = bp__winograd_apart(lanes);
    /* The elements of patches outside the image stay 0 for all channels. */
    memset(memory->patches, 0, (size_t)(unit->tiles + 1) * BP__WINOGRAD_PRODUCTS * sizeof(float));
    for (int64_t c = 0; c < k; c++) {
        split_channel(unit, c0 + c, lanes, step);
        for (int64_t start = 0; start < lanes;) {
            const float *from[BP__WINOGRAD_PRODUCTS];
            const int64_t width = as_v ? bp__conv_v_width(products, lanes - start) : products->q_panel;
            for (int e = 0; e < BP__WINOGRAD_PRODUCTS; e++) {
                from[e] = memory->lanes + e * step + start;
            }
            unit->set->own->image(width, from, memory->panels + start * k + c * width, matrix);
            start += width;
        }
    }
}

int64_t bp__winograd_panels(const bp__winograd_unit *unit, int64_t k) {
    const bp__native_kernels *products = unit->set->products;
    return bp__winograd_apart(
        bp__conv_round_up(unit->tiles, unit->cut->tiles_are_v ? products->lanes : products->q_panel) * k);
}

void bp__winograd_image(const bp__winograd_unit *unit, int64_t c0, int64_t k) {
    (unit->cut->by_channel ? image_by_channel : image_by_tile)(unit, c0, k);
}

/* ---- Result ---- */

/* Rows are lanes, and contiguous in the result. */
static void result_by_row(const bp__winograd_unit *unit) {
    const int64_t step = bp__winograd_sums_step(unit), product = bp__winograd_sums_product(unit);
    const int64_t row = unit->job->axis[1].result, column = unit->job->axis[2].result;
    for (int64_t i = 0; i < unit->tiles; i++) {
        const bp__winograd_tile *tile = &unit->memory->tiles[i];
        float *to[BP__WINOGRAD_OUT * BP__WINOGRAD_OUT];
        for (int r = 0; r < BP__WINOGRAD_OUT; r++) {
            for (int c = 0; c < BP__WINOGRAD_OUT; c++) {
                to[r * BP__WINOGRAD_OUT + c] =
                    r < tile->exist[0] && c < tile->exist[1] ? unit->result + tile->to + r * row + c * column : NULL;
            }
        }
        unit->set->own->result(unit->rows, unit->memory->sums + i * step, product, to, unit->bias, 1, unit->relu);
    }
}

/* Writes the part of a tile that exists; result r is from[r * step]. */
static void write_part(const bp__winograd_unit *unit, const bp__winograd_tile *tile, const float *from, int64_t step,
                       float *to) {
    for (int r = 0; r < tile->exist[0]; r++) {
        for (int c = 0; c < tile->exist[1]; c++) {
            to[r * unit->job->axis[1].result + c * unit->job->axis[2].result] = from[(r * BP__WINOGRAD_OUT + c) * step];
        }
    }
}

/* Tiles are lanes. */
static void result_by_tile(const bp__winograd_unit *unit) {
    const bp__winograd_memory *memory = unit->memory;
    const int64_t step = bp__winograd_sums_step(unit), product = bp__winograd_sums_product(unit);
    const bool contiguous = unit->job->axis[2].result == 1;
    float *lanes[BP__WINOGRAD_OUT * BP__WINOGRAD_OUT];
    const int64_t apart = bp__winograd_apart(step);
    for (int r = 0; r < BP__WINOGRAD_OUT * BP__WINOGRAD_OUT; r++) {
        lanes[r] = memory->lanes + r * apart;
    }
    for (int64_t i = 0; i < step; i++) {
        memory->to[i] = NULL;
    }
    for (int64_t k = 0; k < unit->rows; k++) {
        float *to = unit->result + k * unit->job->result_channel;
        unit->set->own->result(step, memory->sums + k * step, product, lanes, unit->bias ? unit->bias + k : NULL, 0,
                               unit->relu);
        for (int64_t i = 0; i < unit->tiles; i++) {
            const bp__winograd_tile *tile = &memory->tiles[i];
            if (contiguous && is_full(tile)) {
                memory->to[i] = to + tile->to;
            } else {
                write_part(unit, tile, memory->lanes + i, apart, to + tile->to);
            }
        }
        if (contiguous) {
            unit->set->own->join(step, memory->lanes, apart, memory->to, unit->job->axis[1].result);
        }
    }
}

void bp__winograd_result(const bp__winograd_unit *unit) {
    (unit->cut->tiles_are_v ? result_by_tile : result_by_row)(unit);
}
