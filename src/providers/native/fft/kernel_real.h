/* kernel_real.h - template: converts between the spectrum of real data and the half-length complex spectrum, and
 * multiplies along a line. Parameters: as in kernel_lanes.h.
 */

/* Converts one k: with a = x[k] and b = x[h-k], returns y[k] and stores y[h-k] in *mirrored. */
INLINE COMPLEX NAME(combine_real_one)(COMPLEX a, COMPLEX b, COMPLEX v, VECTOR g, COMPLEX *mirrored) {
    const COMPLEX even = {a.re + b.re, a.im - b.im};
    const COMPLEX odd = NAME(multiply)((COMPLEX){a.re - b.re, a.im + b.im}, v);
    *mirrored = (COMPLEX){NAME(madd)(even.re, g, -odd.re), NAME(nmadd)(even.im, g, odd.im)};
    return (COMPLEX){NAME(madd)(even.re, g, odd.re), NAME(madd)(even.im, g, odd.im)};
}

/* Converts elements 0 and h, which consist of real parts only. */
INLINE void NAME(combine_real_ends)(REAL *y, const REAL *x, REAL g, bool splits, int64_t h) {
    const COMPLEX a = NAME(get)(x, 0);
    const VECTOR other = splits ? a.im : NAME(get)(x, h).re, by = NAME(splat)(splits ? 2 * g : g);
    const VECTOR sum = (a.re + other) * by, difference = (a.re - other) * by, zero = NAME(splat)(0);
    NAME(put)(y, 0, (COMPLEX){sum, splits ? zero : difference});
    if (splits) {
        NAME(put)(y, h, (COMPLEX){difference, zero});
    }
}

INLINE void NAME(combine_real_from)(REAL *y, const REAL *x, const REAL *v, REAL g, int64_t from, int64_t h) {
    for (int64_t k = from; k <= h / 2; k++) {
        COMPLEX mirrored;
        const COMPLEX one = NAME(combine_real_one)(NAME(get)(x, k), NAME(get)(x, h - k), NAME(splat_complex)(v + 2 * k),
                                                   NAME(splat)(g), &mirrored);
        NAME(put)(y, h - k, mirrored);
        NAME(put)(y, k, one);
    }
}

static void NAME(combine_real)(void *y, const void *x, const void *v, double g, bool splits, int64_t h) {
    NAME(combine_real_ends)(y, x, (REAL)g, splits, h);
    NAME(combine_real_from)(y, x, v, (REAL)g, 1, h);
}

/* Fills in the upper half of the spectrum with conjugates of the lower half. */
static void NAME(mirror)(void *work, int64_t n) {
    const VECTOR zero = NAME(splat)(0);
    NAME(put)(work, 0, (COMPLEX){NAME(get)(work, 0).re, zero});
    for (int64_t k = 1; k <= n / 2; k++) {
        const COMPLEX a = NAME(get)(work, k);
        NAME(put)(work, n - k, (COMPLEX){a.re, -a.im});
    }
}

#if LANES > 1
#define MIRRORED_AT(l, unused) LANE_OF(LANES - 1 - IN_LANE(l))
INLINE COMPLEX NAME(reverse)(COMPLEX a) {
    return (COMPLEX){SHUFFLE(a.re, a.re, MIRRORED_AT, 0), SHUFFLE(a.im, a.im, MIRRORED_AT, 0)};
}

/* Converts one line of pairs, LANES values of k and their mirror images at a time. */
static void NAME(combine_real_line)(void *to, const void *from, const void *twiddle, double g, bool splits, int64_t h) {
    const VECTOR by = NAME(splat)((REAL)g);
    const REAL *x = from, *v = twiddle;
    REAL *y = to;
    int64_t k = 1;
    NAME_WITH(combine_real_ends, TYPE, 1)(y, x, (REAL)g, splits, h);
    /* One block from each end is loaded before either is stored, because y may be x. */
    for (; k + LANES - 1 <= (h - 1) / 2; k += LANES) {
        COMPLEX mirrored;
        const int64_t other = h - k - LANES + 1;
        const COMPLEX a = NAME(load_pairs)(x + 2 * k), b = NAME(reverse)(NAME(load_pairs)(x + 2 * other));
        const COMPLEX one = NAME(combine_real_one)(a, b, NAME(load_pairs)(v + 2 * k), by, &mirrored);
        NAME(store_pairs)(y + 2 * k, one);
        NAME(store_pairs)(y + 2 * other, NAME(reverse)(mirrored));
    }
    NAME_WITH(combine_real_from, TYPE, 1)(y, x, v, (REAL)g, k, h);
}
#endif

INLINE void NAME(modulate_at)(REAL *y, const REAL *x, const REAL *v, bool swap_x, bool swap_y, VECTOR by) {
    COMPLEX a = NAME(load_pairs)(x);
    a = NAME(multiply)(swap_x ? NAME(swap)(a) : a, NAME(load_pairs)(v));
    a = NAME(scaled)(a, by);
    NAME(store_pairs)(y, swap_y ? NAME(swap)(a) : a);
}

static void NAME(modulate)(void *y, const void *x, const void *v, int64_t count, bool swap_x, bool swap_y,
                           double scale) {
    const VECTOR by = NAME(splat)((REAL)scale);
    int64_t j = 0;
    for (; j + LANES <= count; j += LANES) {
        NAME(modulate_at)((REAL *)y + 2 * j, (const REAL *)x + 2 * j, (const REAL *)v + 2 * j, swap_x, swap_y, by);
    }
#if LANES > 1
    NAME_WITH(modulate, TYPE, 1)
    ((REAL *)y + 2 * j, (const REAL *)x + 2 * j, (const REAL *)v + 2 * j, count - j, swap_x, swap_y, scale);
#endif
}

static const bp__fft_kernels NAME(kernels) = {
    .lanes = LANES,
    .bytes = LANES * sizeof(REAL),
    .passes = NAME(passes),
    .gather = NAME(gather),
    .scatter = NAME(scatter),
    .order = NAME(order),
    .combine_real = NAME(combine_real),
    .mirror = NAME(mirror),
    .modulate = NAME(modulate),
#if LANES > 1
    .first_line_pass = NAME(first_line_pass),
    .interleave_twiddles = NAME(interleave_twiddles),
    .twiddle_transpose = NAME(twiddle_transpose),
    .combine_real_line = NAME(combine_real_line),
#else
    .combine_real_line = NAME(combine_real),
#endif
};
