/* winograd_set.c - instantiates the kernels of Winograd's convolution for one instruction set. CMake compiles this
 * file once for each (KERNEL_ISA, VECTOR_BYTES).
 *
 * A transform of a tile is a transform of its columns followed by one of its rows. The matrices of the points 0,
 * +-a, +-b and infinity have pairs of rows that differ in signs only, so even and odd parts are computed once for
 * both. */
#include "winograd.h"
#include "providers/native/isa.h"

#include "providers/native/kernel_vector.h"

#define VL (VECTOR_BYTES / 4)
#define POINT_A 0.625
#define POINT_B 1.5
#define A2 (POINT_A * POINT_A)
#define B2 (POINT_B * POINT_B)

#define CONSTANT(x) splat_f32((float)(x))

typedef float loose __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(float)), may_alias));
typedef int32_t vector_mask __attribute__((vector_size(VECTOR_BYTES)));

/* Loads or stores `count` lanes. */
INLINE vector_f32 load(const float *from, int64_t count) {
    return count >= VL ? (vector_f32) * (const loose *)from : load_part_f32(from, (int)count);
}
INLINE void store(float *to, vector_f32 x, int64_t count) {
    if (count >= VL) {
        *(loose *)to = x;
    } else {
        store_part_f32(to, x, (int)count);
    }
}

INLINE void store_quad(float *to, vector_quad_f32 x) {
    memcpy(to, &x, sizeof x);
}

/* ---- Image: the transpose of B ---- */

INLINE void image_line(const vector_f32 x[6], vector_f32 to[6]) {
    const vector_f32 a = CONSTANT(POINT_A), b = CONSTANT(POINT_B), a2 = CONSTANT(A2), b2 = CONSTANT(B2);
    const vector_f32 both = CONSTANT(A2 * B2), sum = CONSTANT(A2 + B2);
    const vector_f32 even_a = msub_f32(b2, x[2], x[4]), odd_a = msub_f32(b2, x[1], x[3]);
    const vector_f32 even_b = msub_f32(a2, x[2], x[4]), odd_b = msub_f32(a2, x[1], x[3]);
    to[0] = madd_f32(both, x[0], msub_f32(sum, x[2], x[4]));
    to[1] = madd_f32(a, odd_a, even_a);
    to[2] = msub_f32(a, odd_a, even_a);
    to[3] = madd_f32(b, odd_b, even_b);
    to[4] = msub_f32(b, odd_b, even_b);
    to[5] = madd_f32(both, x[1], msub_f32(sum, x[3], x[5]));
}

INLINE void image_lanes(int64_t count, int64_t i, const float *const from[36], float *to, int64_t step) {
    vector_f32 half[6][6];
    for (int column = 0; column < 6; column++) {
        vector_f32 x[6], y[6];
        UNROLL
        for (int row = 0; row < 6; row++) {
            x[row] = load(from[6 * row + column] + i, count);
        }
        image_line(x, y);
        UNROLL
        for (int row = 0; row < 6; row++) {
            half[row][column] = y[row];
        }
    }
    for (int row = 0; row < 6; row++) {
        vector_f32 y[6];
        image_line(half[row], y);
        UNROLL
        for (int column = 0; column < 6; column++) {
            store(to + (6 * row + column) * step + i, y[column], count);
        }
    }
}

static void image(int64_t n, const float *const from[36], float *to, int64_t step) {
    int64_t i = 0;
    for (; i + VL <= n; i += VL) {
        image_lanes(VL, i, from, to, step);
    }
    if (i < n) {
        image_lanes(n - i, i, from, to, step);
    }
}

/* ---- Weight: G ---- */

/* The reciprocals of the derivatives of x (x^2 - a^2) (x^2 - b^2) at the points. */
#define AT_0 (1 / (A2 * B2))
#define AT_A (1 / (2 * A2 * (A2 - B2)))
#define AT_B (1 / (2 * B2 * (B2 - A2)))

INLINE void weight_line(const vector_f32 x[3], vector_f32 to[6]) {
    const vector_f32 even_a = CONSTANT(AT_A) * madd_f32(CONSTANT(A2), x[2], x[0]);
    const vector_f32 even_b = CONSTANT(AT_B) * madd_f32(CONSTANT(B2), x[2], x[0]);
    const vector_f32 odd_a = CONSTANT(AT_A * POINT_A) * x[1], odd_b = CONSTANT(AT_B * POINT_B) * x[1];
    to[0] = CONSTANT(AT_0) * x[0];
    to[1] = even_a + odd_a;
    to[2] = even_a - odd_a;
    to[3] = even_b + odd_b;
    to[4] = even_b - odd_b;
    to[5] = x[2];
}

/* Stores parts of a vector to places that each have 4 elements. */
INLINE void store_parts(float *to, vector_f32 x, const int64_t place[VL / 4], int64_t count) {
    vector_quad_f32 part[VL / 4];
    memcpy(part, &x, sizeof x);
    UNROLL
    for (int i = 0; i < VL / 4; i++) {
        if (4 * i < count) {
            store_quad(to + place[i], part[i]);
        }
    }
}

INLINE void weight_lanes(int64_t count, const float *from, int64_t from_step, float *to, int64_t step, bool whole,
                         const int64_t place[VL / 4]) {
    vector_f32 half[6][3];
    for (int column = 0; column < 3; column++) {
        vector_f32 x[3], y[6];
        UNROLL
        for (int row = 0; row < 3; row++) {
            x[row] = load(from + (3 * row + column) * from_step, count);
        }
        weight_line(x, y);
        UNROLL
        for (int row = 0; row < 6; row++) {
            half[row][column] = y[row];
        }
    }
    for (int row = 0; row < 6; row++) {
        vector_f32 y[6];
        weight_line(half[row], y);
        UNROLL
        for (int column = 0; column < 6; column++) {
            float *at = to + (6 * row + column) * step;
            if (whole) {
                store(at + place[0], y[column], VL);
            } else {
                store_parts(at, y[column], place, count);
            }
        }
    }
}

static void weight(int64_t n, const float *from, int64_t from_step, float *to, int64_t step, int64_t width,
                   int64_t panel) {
    for (int64_t i = 0; i < n; i += VL) {
        int64_t place[VL / 4];
        UNROLL
        for (int part = 0; part < VL / 4; part++) {
            place[part] = (i + 4 * part) / width * panel + (i + 4 * part) % width;
        }
        if (width % VL == 0) {
            weight_lanes(VL, from + i, from_step, to, step, true, place);
        } else if (i + VL <= n) {
            weight_lanes(VL, from + i, from_step, to, step, false, place);
        } else {
            weight_lanes(n - i, from + i, from_step, to, step, false, place);
        }
    }
}

/* ---- Result: the transpose of A ---- */

INLINE void result_line(const vector_f32 x[6], vector_f32 to[4]) {
    const vector_f32 sum_a = x[1] + x[2], sum_b = x[3] + x[4], rest_a = x[1] - x[2], rest_b = x[3] - x[4];
    to[0] = x[0] + (sum_a + sum_b);
    to[1] = madd_f32(CONSTANT(POINT_A), rest_a, CONSTANT(POINT_B) * rest_b);
    to[2] = madd_f32(CONSTANT(A2), sum_a, CONSTANT(B2) * sum_b);
    to[3] = madd_f32(CONSTANT(A2 * POINT_A), rest_a, madd_f32(CONSTANT(B2 * POINT_B), rest_b, x[5]));
}

/* NaN stays. */
INLINE vector_f32 without_negative(vector_f32 x) {
    const vector_mask negative = (vector_mask)(x < splat_f32(0));
    return (vector_f32)((vector_mask)x & ~negative);
}

INLINE void result_lanes(int64_t count, int64_t i, const float *from, int64_t step, float *const to[16],
                         vector_f32 bias, bool relu) {
    vector_f32 half[4][6];
    for (int column = 0; column < 6; column++) {
        vector_f32 x[6], y[4];
        UNROLL
        for (int row = 0; row < 6; row++) {
            x[row] = load(from + (6 * row + column) * step + i, count);
        }
        result_line(x, y);
        UNROLL
        for (int row = 0; row < 4; row++) {
            half[row][column] = y[row];
        }
    }
    for (int row = 0; row < 4; row++) {
        vector_f32 y[4];
        result_line(half[row], y);
        UNROLL
        for (int column = 0; column < 4; column++) {
            float *at = to[4 * row + column];
            const vector_f32 x = y[column] + bias;
            if (at) {
                store(at + i, relu ? without_negative(x) : x, count);
            }
        }
    }
}

static void result(int64_t n, const float *from, int64_t step, float *const to[16], const float *bias,
                   int64_t bias_step, bool relu) {
    vector_f32 added = splat_f32(bias ? *bias : 0);
    int64_t i = 0;
    for (; i + VL <= n; i += VL) {
        added = bias && bias_step ? load(bias + i, VL) : added;
        result_lanes(VL, i, from, step, to, added, relu);
    }
    if (i < n) {
        added = bias && bias_step ? load(bias + i, n - i) : added;
        result_lanes(n - i, i, from, step, to, added, relu);
    }
}

/* ---- Tiles with contiguous rows ---- */

INLINE void transpose(vector_quad_f32 x[4]) {
    const vector_quad_f32 a = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);
    const vector_quad_f32 b = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
    const vector_quad_f32 c = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
    const vector_quad_f32 d = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
    x[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    x[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    x[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    x[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

static void split(int64_t n, const float *const *from, const int64_t *row, float *to, int64_t step) {
    for (int64_t i = 0; i < n; i += 4) {
        for (int r = 0; r < 6; r++) {
            vector_quad_f32 first[4], last[4];
            UNROLL
            for (int j = 0; j < 4; j++) {
                first[j] = load_quad_f32(from[i + j] + r * row[i + j]);
                last[j] = load_quad_f32(from[i + j] + r * row[i + j] + 2);
            }
            transpose(first);
            transpose(last);
            UNROLL
            for (int j = 0; j < 4; j++) {
                store_quad(to + (6 * r + j) * step + i, first[j]);
            }
            store_quad(to + (6 * r + 4) * step + i, last[2]);
            store_quad(to + (6 * r + 5) * step + i, last[3]);
        }
    }
}

static void join(int64_t n, const float *from, int64_t step, float *const *to, int64_t row) {
    for (int64_t i = 0; i < n; i += 4) {
        for (int r = 0; r < 4; r++) {
            vector_quad_f32 x[4];
            UNROLL
            for (int j = 0; j < 4; j++) {
                x[j] = load_quad_f32(from + (4 * r + j) * step + i);
            }
            transpose(x);
            UNROLL
            for (int j = 0; j < 4; j++) {
                if (to[i + j]) {
                    store_quad(to[i + j] + r * row, x[j]);
                }
            }
        }
    }
}

const bp__winograd_kernels KERNEL_TABLE(bp__winograd) = {image, weight, result, split, join};
