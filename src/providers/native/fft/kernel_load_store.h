/* kernel_load_store.h - template: copies lines of any layout to and from working memory, and computes the first pass of
 * a single line. Parameters: as in kernel_lanes.h.
 */

/* order[i] is the line in lane i; LANE_OF_LINE is the inverse. */
#if LANES == 1
static const int NAME(order)[] = {0};
#define LANE_OF_LINE(line) 0
#else
static const int NAME(order)[] = {EACH_LANE(LANE_AT, 0)};
#define LANE_OF_LINE(line) LANE_OF(line)
#endif

/* Copies elements [from, n) of lines of any layout. */
static void NAME(gather_any)(REAL *work, const bp__fft_lines *lines, bool swapped, int64_t from, int64_t n) {
    for (int i = 0; i < LANES; i++) {
        const int line = NAME(order)[i];
        REAL *re = work + i + (swapped ? LANES : 0), *im = work + i + (swapped ? 0 : LANES);
        const REAL *at = (const REAL *)lines->at + (line < lines->count ? lines->offset[line] : 0);
        const int64_t step = lines->step, part = lines->part;
        for (int64_t e = from; e < n; e++) {
            re[e * 2 * LANES] = line < lines->count ? at[e * step] : 0;
            im[e * 2 * LANES] = line < lines->count && !lines->real ? at[e * step + part] : 0;
        }
    }
}

static void NAME(scatter_any)(const REAL *work, const bp__fft_lines *lines, bool swapped, int64_t from, int64_t n) {
    for (int line = 0; line < lines->count; line++) {
        const int i = LANE_OF_LINE(line);
        const REAL *re = work + i + (swapped ? LANES : 0), *im = work + i + (swapped ? 0 : LANES);
        REAL *at = (REAL *)lines->at + lines->offset[line];
        const int64_t step = lines->step, part = lines->part;
        for (int64_t e = from; e < n; e++) {
            at[e * step] = re[e * 2 * LANES];
            if (!lines->real) {
                at[e * step + part] = im[e * 2 * LANES];
            }
        }
    }
}

#if LANES > 1
/* Transposes a square of complex numbers: row e, lane l becomes element e of line l, and the reverse. */
INLINE void NAME(transpose_pairs)(COMPLEX *x) {
    VECTOR re[LANES], im[LANES];
    UNROLL for (int i = 0; i < LANES; i++) {
        re[i] = x[IN_LANE(i)].re;
        im[i] = x[IN_LANE(i)].im;
    }
    NAME(transpose)(re);
    NAME(transpose)(im);
    UNROLL for (int i = 0; i < LANES; i++) {
        x[IN_LANE(i)] = (COMPLEX){re[i], im[i]};
    }
}

static void NAME(gather)(void *work, const bp__fft_lines *lines, bool swapped, int64_t n) {
    int64_t done = 0;
    if (lines->count == LANES && lines->step == 2 && lines->part == 1 && !lines->real) {
        for (; done + LANES <= n; done += LANES) {
            COMPLEX x[LANES];
            UNROLL for (int i = 0; i < LANES; i++) {
                x[i] = NAME(load_pairs)((const REAL *)lines->at + lines->offset[i] + 2 * done);
            }
            NAME(transpose_pairs)(x);
            UNROLL for (int i = 0; i < LANES; i++) {
                NAME(put)(work, done + i, swapped ? NAME(swap)(x[i]) : x[i]);
            }
        }
    }
    NAME(gather_any)(work, lines, swapped, done, n);
}

static void NAME(scatter)(const void *work, const bp__fft_lines *lines, bool swapped, int64_t n) {
    int64_t done = 0;
    if (lines->count == LANES && lines->step == 2 && lines->part == 1 && !lines->real) {
        for (; done + LANES <= n; done += LANES) {
            COMPLEX x[LANES];
            UNROLL for (int i = 0; i < LANES; i++) {
                const COMPLEX a = NAME(get)(work, done + i);
                x[i] = swapped ? NAME(swap)(a) : a;
            }
            NAME(transpose_pairs)(x);
            UNROLL for (int i = 0; i < LANES; i++) {
                NAME(store_pairs)((REAL *)lines->at + lines->offset[i] + 2 * done, x[i]);
            }
        }
    }
    NAME(scatter_any)(work, lines, swapped, done, n);
}

/* Computes LANES butterflies of the first pass, for elements p to p + LANES, with one twiddle vector for each output.
 * The results are transposed, so that each residue becomes a lane. */
INLINE void NAME(first_line_pass_at)(const REAL *from, bool swapped, const REAL *twiddle, int64_t p, int64_t m,
                                     REAL *work) {
    COMPLEX x[LANES];
    UNROLL for (int k = 0; k < LANES; k++) {
        const COMPLEX a = NAME(load_pairs)(from + 2 * (p + m * k));
        x[k] = swapped ? NAME(swap)(a) : a;
    }
    NAME(butterfly)(x, LANES, NULL);
    UNROLL for (int k = 1; k < LANES; k++) {
        x[k] = NAME(multiply)(x[k], NAME(get)(twiddle, k - 1));
    }
    NAME(transpose_pairs)(x);
    UNROLL for (int i = 0; i < LANES; i++) {
        NAME(put)(work, p + i, x[i]);
    }
}

/* Computes the first pass of one line. The last block may overlap the one before; it then computes the same values
 * again. */
static void NAME(first_line_pass)(const void *in, bool swapped, const void *twiddle, int64_t m, void *work) {
    const REAL *w = twiddle;
    for (int64_t p = 0; p < m; p += LANES, w += 2 * LANES * (LANES - 1)) {
        const int64_t at = p + LANES <= m ? p : m - LANES;
        if (swapped) {
            NAME(first_line_pass_at)(in, true, w, at, m, work);
        } else {
            NAME(first_line_pass_at)(in, false, w, at, m, work);
        }
    }
}

/* Makes the twiddle vectors of first_line_pass() from a table of pairs. */
static void NAME(interleave_twiddles)(void *to, const void *twiddle, int64_t m) {
    REAL *w = to;
    for (int64_t p = 0; p < m; p += LANES) {
        const int64_t at = p + LANES <= m ? p : m - LANES;
        for (int k = 1; k < LANES; k++, w += 2 * LANES) {
            for (int i = 0; i < LANES; i++) {
                const REAL *pair = (const REAL *)twiddle + 2 * ((at + NAME(order)[i]) * (LANES - 1) + k - 1);
                w[i] = pair[0];
                w[LANES + i] = pair[1];
            }
        }
    }
}

/* Multiplies squares of working memory by twiddles and stores them transposed. */
static void NAME(twiddle_transpose)(void *to, int64_t to_step, const void *from, const void *twiddle, int64_t count) {
    for (int64_t k = 0; k < count; k += LANES) {
        COMPLEX x[LANES];
        UNROLL for (int i = 0; i < LANES; i++) {
            x[i] = NAME(multiply)(NAME(get)(from, k + i), NAME(get)(twiddle, k + i));
        }
        NAME(transpose_pairs)(x);
        UNROLL for (int i = 0; i < LANES; i++) {
            NAME(put)((REAL *)to + k / LANES * to_step, i, x[i]);
        }
    }
}
#else

static void NAME(gather)(void *work, const bp__fft_lines *lines, bool swapped, int64_t n) {
    NAME(gather_any)(work, lines, swapped, 0, n);
}

static void NAME(scatter)(const void *work, const bp__fft_lines *lines, bool swapped, int64_t n) {
    NAME(scatter_any)(work, lines, swapped, 0, n);
}
#endif
