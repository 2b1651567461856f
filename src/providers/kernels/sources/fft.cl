/* fft.cl - computes discrete Fourier transforms along one dimension, by Stockham's algorithm: passes whose result is in
 * order. Sizes with large prime factors are computed as convolutions (Bluestein, 1970).
 *
 * REAL is the type of the computation. A group takes LANES rows at a time, and has two arrays [points][2][LANES] of the
 * workspace: real parts, then imaginary ones. The forward transform is computed; the inverse one is the transform of the
 * conjugate, conjugated. `table` has the powers exp(-2 pi i k / points) and, for a convolution, n factors of the row and
 * the transform of the other operand. */
#include "common.cl"

#define DIMS 24
#define PASSES 40
#define MOST_RADIX 13

#if LANES > 1
#define EACH_LANE(l) INDEPENDENT for (int l = 0; l < LANES; l++)
#else
#define EACH_LANE(l) for (int l = 0; l < LANES; l++)
#endif
#if GROUP > 1
#define WAIT() barrier(CLK_GLOBAL_MEM_FENCE)
#else
#define WAIT()
#endif

enum { COMPLEX_ELEMENTS, REAL_ELEMENTS, HALF_SPECTRUM };

typedef struct transform {
    long rows, n, points;       /* `points`: n, or the points of the convolution */
    long input, output;         /* elements of a row of the input, the others are 0; elements that are written */
    long in_stride, out_stride; /* complex or real elements */
    int in_kind, out_kind;
    int convolves, inverse;
    int passes, ndim;
    long size[DIMS], in[DIMS], out[DIMS], limit[DIMS]; /* of the rows; from `limit` on, the input is 0 */
    uchar radix[PASSES];
} transform;

typedef struct rows {
    long in[LANES], out[LANES];
    bool exists[LANES], is_zero[LANES];
} rows;

static inline void find_rows(const transform *p, long first, rows *r) {
    for (int l = 0; l < LANES; l++) {
        long row = min(first + l, p->rows - 1);
        r->exists[l] = first + l < p->rows;
        r->is_zero[l] = false;
        r->in[l] = r->out[l] = 0;
        for (int d = p->ndim - 1; d >= 0; d--) {
            const long at = row % p->size[d];
            row /= p->size[d];
            r->is_zero[l] = r->is_zero[l] || at >= p->limit[d];
            r->in[l] += at * p->in[d];
            r->out[l] += at * p->out[d];
        }
    }
}

/* Element j of a row; beyond the half of a spectrum it is the conjugate of its mirror image. */
static inline void read_element(const transform *p, __global const REAL *in, long row, bool is_zero, long j, REAL *re,
                                REAL *im) {
    const bool mirrored = p->in_kind == HALF_SPECTRUM && j > p->n / 2;
    const long from = mirrored ? p->n - j : j, at = row + from * p->in_stride;
    *re = *im = 0;
    if (!is_zero && j < p->n && from < p->input) {
        const bool own = p->in_kind == HALF_SPECTRUM && (j == 0 || 2 * j == p->n); /* its own mirror image */
        *re = p->in_kind == REAL_ELEMENTS ? in[at] : in[2 * at];
        *im = p->in_kind == REAL_ELEMENTS || own ? (REAL)0 : in[2 * at + 1];
        *im = mirrored != (p->inverse != 0) ? -*im : *im;
    }
}

#define RE(x, i, l) (x)[(i) * 2 * LANES + (l)]
#define IM(x, i, l) (x)[((i) * 2 + 1) * LANES + (l)]

static inline void load(const transform *p, __global const REAL *in, const rows *r, __global const REAL *factor,
                        __global REAL *x) {
    for (long j = get_local_id(0); j < p->points; j += GROUP) {
        const REAL a = p->convolves && j < p->n ? factor[2 * j] : (REAL)1;
        const REAL b = p->convolves && j < p->n ? factor[2 * j + 1] : (REAL)0;
        for (int l = 0; l < LANES; l++) {
            REAL re, im;
            read_element(p, in, r->in[l], r->is_zero[l], j, &re, &im);
            RE(x, j, l) = p->convolves ? re * a - im * b : re;
            IM(x, j, l) = p->convolves ? re * b + im * a : im;
        }
    }
}

static inline void store(const transform *p, __global REAL *out, const rows *r, __global const REAL *factor,
                         __global const REAL *x, REAL scale) {
    for (long j = get_local_id(0); j < p->output; j += GROUP) {
        const REAL a = p->convolves ? factor[2 * j] : (REAL)1, b = p->convolves ? factor[2 * j + 1] : (REAL)0;
        for (int l = 0; l < LANES; l++) {
            const long at = r->out[l] + j * p->out_stride;
            REAL re = RE(x, j, l), im = IM(x, j, l);
            if (p->convolves) { /* the result of the convolution is conjugated */
                const REAL old = re;
                re = old * a + im * b;
                im = old * b - im * a;
            }
            if (!r->exists[l]) {
                continue;
            }
            if (p->out_kind == REAL_ELEMENTS) {
                out[at] = re * scale;
            } else {
                out[2 * at] = re * scale;
                out[2 * at + 1] = (p->inverse ? -im : im) * scale;
            }
        }
    }
}

/* Multiplies element `q` of a butterfly by a power. */
#define TWIST(re, im, power)                                                                                           \
    {                                                                                                                  \
        const REAL c = table[2 * (power)], s = table[2 * (power) + 1];                                                 \
        EACH_LANE(l) {                                                                                                 \
            const REAL old = re[l];                                                                                    \
            re[l] = old * c - im[l] * s;                                                                               \
            im[l] = old * s + im[l] * c;                                                                               \
        }                                                                                                              \
    }

static inline void pass_2(__global const REAL *table, long points, long done, __global const REAL *x,
                          __global REAL *y) {
    const long apart = points / 2;
    for (long j = get_local_id(0); j < apart; j += GROUP) {
        const long k = j % done, to = (j - k) * 2 + k;
        REAL re[LANES], im[LANES];
        EACH_LANE(l) {
            re[l] = RE(x, j + apart, l);
            im[l] = IM(x, j + apart, l);
        }
        TWIST(re, im, k * (apart / done))
        EACH_LANE(l) {
            RE(y, to, l) = RE(x, j, l) + re[l];
            IM(y, to, l) = IM(x, j, l) + im[l];
            RE(y, to + done, l) = RE(x, j, l) - re[l];
            IM(y, to + done, l) = IM(x, j, l) - im[l];
        }
    }
}

static inline void pass_4(__global const REAL *table, long points, long done, __global const REAL *x,
                          __global REAL *y) {
    const long apart = points / 4;
    for (long j = get_local_id(0); j < apart; j += GROUP) {
        const long k = j % done, to = (j - k) * 4 + k, step = k * (apart / done);
        REAL re[4][LANES], im[4][LANES];
#pragma unroll
        for (int q = 0; q < 4; q++) {
            EACH_LANE(l) {
                re[q][l] = RE(x, j + q * apart, l);
                im[q][l] = IM(x, j + q * apart, l);
            }
        }
        TWIST(re[1], im[1], step)
        TWIST(re[2], im[2], 2 * step)
        TWIST(re[3], im[3], 3 * step)
        EACH_LANE(l) {
            const REAL a = re[0][l] + re[2][l], b = im[0][l] + im[2][l], c = re[0][l] - re[2][l],
                       d = im[0][l] - im[2][l];
            const REAL e = re[1][l] + re[3][l], f = im[1][l] + im[3][l], g = re[1][l] - re[3][l],
                       h = im[1][l] - im[3][l];
            RE(y, to, l) = a + e;
            IM(y, to, l) = b + f;
            RE(y, to + done, l) = c + h;
            IM(y, to + done, l) = d - g;
            RE(y, to + 2 * done, l) = a - e;
            IM(y, to + 2 * done, l) = b - f;
            RE(y, to + 3 * done, l) = c - h;
            IM(y, to + 3 * done, l) = d + g;
        }
    }
}

/* Odd radices: the sums and differences of elements q and radix - q share their products. */
static inline void pass_odd(__global const REAL *table, long points, long done, int radix, __global const REAL *x,
                            __global REAL *y) {
    const long apart = points / radix;
    for (long j = get_local_id(0); j < apart; j += GROUP) {
        const long k = j % done, to = (j - k) * radix + k;
        REAL re[MOST_RADIX][LANES], im[MOST_RADIX][LANES];
        for (int q = 0; q < radix; q++) {
            EACH_LANE(l) {
                re[q][l] = RE(x, j + q * apart, l);
                im[q][l] = IM(x, j + q * apart, l);
            }
            if (q > 0) {
                TWIST(re[q], im[q], q * k * (apart / done))
            }
        }
        for (int q = 1; q <= radix / 2; q++) {
            EACH_LANE(l) {
                const REAL a = re[q][l], b = im[q][l];
                re[q][l] = a + re[radix - q][l];
                im[q][l] = b + im[radix - q][l];
                re[radix - q][l] = a - re[radix - q][l];
                im[radix - q][l] = b - im[radix - q][l];
            }
        }
        for (int s = 0; s <= radix / 2; s++) {
            REAL even_re[LANES], even_im[LANES], odd_re[LANES], odd_im[LANES];
            EACH_LANE(l) {
                even_re[l] = re[0][l];
                even_im[l] = im[0][l];
                odd_re[l] = odd_im[l] = 0;
            }
            for (int q = 1; q <= radix / 2; q++) {
                const REAL c = table[2 * (q * s % radix * apart)], sine = table[2 * (q * s % radix * apart) + 1];
                EACH_LANE(l) {
                    even_re[l] += c * re[q][l];
                    even_im[l] += c * im[q][l];
                    odd_re[l] -= sine * im[radix - q][l];
                    odd_im[l] += sine * re[radix - q][l];
                }
            }
            EACH_LANE(l) {
                RE(y, to + s * done, l) = even_re[l] + odd_re[l];
                IM(y, to + s * done, l) = even_im[l] + odd_im[l];
            }
            if (s > 0) {
                EACH_LANE(l) {
                    RE(y, to + (radix - s) * done, l) = even_re[l] - odd_re[l];
                    IM(y, to + (radix - s) * done, l) = even_im[l] - odd_im[l];
                }
            }
        }
    }
}

/* Transforms x with the help of y. Returns where the result is. */
static inline __global REAL *all_passes(const transform *p, __global const REAL *table, __global REAL *x,
                                        __global REAL *y) {
    long done = 1;
    for (int i = 0; i < p->passes; i++) {
        const int radix = p->radix[i];
        WAIT();
        if (radix == 2) {
            pass_2(table, p->points, done, x, y);
        } else if (radix == 4) {
            pass_4(table, p->points, done, x, y);
        } else {
            pass_odd(table, p->points, done, radix, x, y);
        }
        done *= radix;
        __global REAL *const result = y;
        y = x;
        x = result;
    }
    WAIT();
    return x;
}

/* Multiplies by the transform of the other operand, and conjugates. */
static inline void multiply(const transform *p, __global const REAL *other, __global REAL *x) {
    for (long j = get_local_id(0); j < p->points; j += GROUP) {
        const REAL c = other[2 * j], s = other[2 * j + 1];
        EACH_LANE(l) {
            const REAL re = RE(x, j, l), im = IM(x, j, l);
            RE(x, j, l) = re * c - im * s;
            IM(x, j, l) = -(re * s + im * c);
        }
    }
}

__kernel GROUP_SIZE(GROUP, 1) void
transform_rows(__global const REAL *in, ulong in_first, __global REAL *out, ulong out_first, __global REAL *memory,
               ulong memory_first, __global const REAL *table, ulong table_first, const transform p, REAL scale) {
    const long part = p.points * 2 * LANES;
    __global REAL *const slot = memory + (long)memory_first + get_group_id(0) * 2 * part;
    __global const REAL *factor = table + (long)table_first + 2 * p.points;
    table += (long)table_first;
    for (long row = get_group_id(0) * LANES; row < p.rows; row += get_num_groups(0) * LANES) {
        rows r;
        find_rows(&p, row, &r);
        load(&p, in + (long)in_first, &r, factor, slot);
        __global REAL *x = all_passes(&p, table, slot, slot + part);
        if (p.convolves) {
            multiply(&p, factor + 2 * p.n, x);
            x = all_passes(&p, table, x, x == slot ? slot + part : slot);
        }
        store(&p, out + (long)out_first, &r, factor, x, scale);
        WAIT();
    }
}
