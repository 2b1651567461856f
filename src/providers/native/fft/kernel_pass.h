/* kernel_pass.h - template: butterflies, and the passes of a transform. Parameters: as in kernel_lanes.h.
 *
 * Each radix is compiled to three passes: a first pass that reads any layout, a middle pass in working memory, and a
 * last pass that needs no twiddles and writes any layout.
 */

/* a - i b and a + i b */
#define MINUS_I(a, b)                                                                                                  \
    (COMPLEX) {                                                                                                        \
        (a).re + (b).im, (a).im - (b).re                                                                               \
    }
#define PLUS_I(a, b)                                                                                                   \
    (COMPLEX) {                                                                                                        \
        (a).re - (b).im, (a).im + (b).re                                                                               \
    }

INLINE void NAME(dft2)(COMPLEX *x) {
    const COMPLEX a = x[0], b = x[1];
    x[0] = NAME(add)(a, b);
    x[1] = NAME(subtract)(a, b);
}

/* DFT of length 4: two DFTs of length 2 and multiplications by -i only. */
INLINE void NAME(dft4)(COMPLEX *x) {
    const COMPLEX a = NAME(add)(x[0], x[2]), b = NAME(subtract)(x[0], x[2]);
    const COMPLEX c = NAME(add)(x[1], x[3]), d = NAME(subtract)(x[1], x[3]);
    x[0] = NAME(add)(a, c);
    x[1] = MINUS_I(b, d);
    x[2] = NAME(subtract)(a, c);
    x[3] = PLUS_I(b, d);
}

/* DFT of length 8 from two of length 4. The factor sqrt(1/2) is part of the fused additions. */
INLINE void NAME(dft8)(COMPLEX *x) {
    const VECTOR c = NAME(splat)((REAL)0.70710678118654752440L);
    COMPLEX e[4] = {x[0], x[2], x[4], x[6]}, o[4] = {x[1], x[3], x[5], x[7]};
    NAME(dft4)(e);
    NAME(dft4)(o);
    /* o[1] (1 - i) and o[3] (1 + i), without the factor sqrt(1/2), which the sums below multiply by */
    const COMPLEX p = MINUS_I(o[1], o[1]), q = PLUS_I(o[3], o[3]);
    x[0] = NAME(add)(e[0], o[0]);
    x[4] = NAME(subtract)(e[0], o[0]);
    x[1] = (COMPLEX){NAME(madd)(p.re, c, e[1].re), NAME(madd)(p.im, c, e[1].im)};
    x[5] = (COMPLEX){NAME(nmadd)(p.re, c, e[1].re), NAME(nmadd)(p.im, c, e[1].im)};
    x[2] = MINUS_I(e[2], o[2]);
    x[6] = PLUS_I(e[2], o[2]);
    x[3] = (COMPLEX){NAME(nmadd)(q.re, c, e[3].re), NAME(nmadd)(q.im, c, e[3].im)};
    x[7] = (COMPLEX){NAME(madd)(q.re, c, e[3].re), NAME(madd)(q.im, c, e[3].im)};
}

/* DFT of length 16: four columns of length 4, twiddles w, four rows of length 4. */
INLINE void NAME(dft16)(COMPLEX *x) {
    static const REAL w[4][4][2] = {
        {{1, 0}, {1, 0}, {1, 0}, {1, 0}},
        {{1, 0},
         {(REAL)0.92387953251128675613L, (REAL)-0.38268343236508977173L},
         {(REAL)0.70710678118654752440L, (REAL)-0.70710678118654752440L},
         {(REAL)0.38268343236508977173L, (REAL)-0.92387953251128675613L}},
        {{1, 0},
         {(REAL)0.70710678118654752440L, (REAL)-0.70710678118654752440L},
         {0, -1},
         {(REAL)-0.70710678118654752440L, (REAL)-0.70710678118654752440L}},
        {{1, 0},
         {(REAL)0.38268343236508977173L, (REAL)-0.92387953251128675613L},
         {(REAL)-0.70710678118654752440L, (REAL)-0.70710678118654752440L},
         {(REAL)-0.92387953251128675613L, (REAL)0.38268343236508977173L}},
    };
    COMPLEX y[4][4];
    UNROLL for (int p = 0; p < 4; p++) {
        COMPLEX column[4] = {x[p], x[p + 4], x[p + 8], x[p + 12]};
        NAME(dft4)(column);
        UNROLL for (int k = 0; k < 4; k++) {
            y[k][p] = p > 0 && k > 0 ? NAME(multiply)(column[k], NAME(splat_complex)(w[p][k])) : column[k];
        }
    }
    UNROLL for (int k = 0; k < 4; k++) {
        NAME(dft4)(y[k]);
        UNROLL for (int p = 0; p < 4; p++) {
            x[k + 4 * p] = y[k][p];
        }
    }
}

/* Computes a DFT of odd length by its definition, from sums and differences of mirrored elements. */
INLINE void NAME(dft_odd)(COMPLEX *x, int radix, const REAL *roots) {
    COMPLEX sum[BP__FFT_RADIX_MOST / 2 + 1], difference[BP__FFT_RADIX_MOST / 2 + 1];
    const COMPLEX first = x[0];
    COMPLEX total = first;
    UNROLL for (int j = 1; j <= radix / 2; j++) {
        sum[j] = NAME(add)(x[j], x[radix - j]);
        difference[j] = NAME(subtract)(x[j], x[radix - j]);
        total = NAME(add)(total, sum[j]);
    }
    x[0] = total;
    UNROLL for (int k = 1; k <= radix / 2; k++) {
        COMPLEX even = first, odd = {NAME(splat)(0), NAME(splat)(0)};
        UNROLL for (int j = 1; j <= radix / 2; j++) {
            const COMPLEX root = NAME(splat_complex)(roots + 2 * (j * k % radix));
            even = (COMPLEX){NAME(madd)(sum[j].re, root.re, even.re), NAME(madd)(sum[j].im, root.re, even.im)};
            odd = j == 1 ? NAME(scaled)(difference[j], root.im)
                         : (COMPLEX){NAME(madd)(difference[j].re, root.im, odd.re),
                                     NAME(madd)(difference[j].im, root.im, odd.im)};
        }
        x[k] = MINUS_I(even, odd);
        x[radix - k] = PLUS_I(even, odd);
    }
}

INLINE void NAME(butterfly)(COMPLEX *x, int radix, const REAL *roots) {
    if (radix == 2) {
        NAME(dft2)(x);
    } else if (radix == 4) {
        NAME(dft4)(x);
    } else if (radix == 8) {
        NAME(dft8)(x);
    } else if (radix == 16) {
        NAME(dft16)(x);
    } else if (radix != 1) {
        NAME(dft_odd)(x, radix, roots);
    }
}

/* Loads elements e, e + apart, e + 2 apart, ... of any layout. */
INLINE void NAME(load_some)(COMPLEX *x, int radix, const bp__fft_view *in, int64_t e, int64_t apart) {
    const REAL *at = (const REAL *)in->at + e * in->step;
    const int64_t next = apart * in->step, part = in->part;
    switch (in->layout) {
    case BP__FFT_LANES:
        UNROLL for (int k = 0; k < radix; k++) {
            x[k] = NAME(get)(at + k * next, 0);
        }
        return;
    case BP__FFT_LANES_SWAPPED:
        UNROLL for (int k = 0; k < radix; k++) {
            x[k] = NAME(swap)(NAME(get)(at + k * next, 0));
        }
        return;
    case BP__FFT_PAIRS:
        UNROLL for (int k = 0; k < radix; k++) {
            x[k] = NAME(load_pairs)(at + k * next);
        }
        return;
    case BP__FFT_PAIRS_SWAPPED:
        UNROLL for (int k = 0; k < radix; k++) {
            x[k] = NAME(swap)(NAME(load_pairs)(at + k * next));
        }
        return;
    case BP__FFT_PLAIN:
        break;
    }
    UNROLL for (int k = 0; k < radix; k++) {
        x[k] = (COMPLEX){NAME(load_plain)(at + k * next), NAME(load_plain)(at + k * next + part)};
    }
}

/* Stores elements e, e + apart, e + 2 apart, ... of any layout. */
INLINE void NAME(store_some)(COMPLEX *x, int radix, const bp__fft_view *out, int64_t e, int64_t apart) {
    REAL *at = (REAL *)out->at + e * out->step;
    const int64_t next = apart * out->step, part = out->part;
    switch (out->layout) {
    case BP__FFT_LANES:
        UNROLL for (int k = 0; k < radix; k++) {
            NAME(put)(at + k * next, 0, x[k]);
        }
        return;
    case BP__FFT_LANES_SWAPPED:
        UNROLL for (int k = 0; k < radix; k++) {
            NAME(put)(at + k * next, 0, NAME(swap)(x[k]));
        }
        return;
    case BP__FFT_PAIRS:
        UNROLL for (int k = 0; k < radix; k++) {
            NAME(store_pairs)(at + k * next, x[k]);
        }
        return;
    case BP__FFT_PAIRS_SWAPPED:
        UNROLL for (int k = 0; k < radix; k++) {
            NAME(store_pairs)(at + k * next, NAME(swap)(x[k]));
        }
        return;
    case BP__FFT_PLAIN:
        break;
    }
    UNROLL for (int k = 0; k < radix; k++) {
        NAME(store_plain)(at + k * next, x[k].re);
        NAME(store_plain)(at + k * next + part, x[k].im);
    }
}

INLINE void NAME(multiply_twiddles)(COMPLEX *x, int radix, const REAL *twiddle) {
    UNROLL for (int k = 1; k < radix; k++) {
        x[k] = NAME(multiply)(x[k], NAME(splat_complex)(twiddle + 2 * (k - 1)));
    }
}

/* Computes the first pass, in which s is 1. */
INLINE void NAME(first_pass)(int radix, const bp__fft_pass *pass, const bp__fft_view *in, REAL *to) {
    const REAL *twiddle = pass->twiddle, *roots = pass->roots;
    const int64_t m = pass->m;
    for (int64_t p = 0; p < m; p++, twiddle += 2 * (radix - 1)) {
        COMPLEX x[BP__FFT_RADIX_MOST];
        NAME(load_some)(x, radix, in, p, m);
        NAME(butterfly)(x, radix, roots);
        NAME(multiply_twiddles)(x, radix, twiddle);
        UNROLL for (int k = 0; k < radix; k++) {
            NAME(put)(to, radix * p + k, x[k]);
        }
    }
}

/* Computes a pass in working memory, from `from` to `to`: see bp__fft_pass for the formula. */
INLINE void NAME(middle_pass)(int radix, const bp__fft_pass *pass, int64_t s, const REAL *from, REAL *to) {
    const REAL *twiddle = pass->twiddle, *roots = pass->roots;
    const int64_t m = pass->m;
    for (int64_t p = 0; p < m; p++, twiddle += 2 * (radix - 1)) {
        for (int64_t q = 0; q < s; q++) {
            COMPLEX x[BP__FFT_RADIX_MOST];
            UNROLL for (int k = 0; k < radix; k++) {
                x[k] = NAME(get)(from, q + s * (p + m * k));
            }
            NAME(butterfly)(x, radix, roots);
            NAME(multiply_twiddles)(x, radix, twiddle);
            UNROLL for (int k = 0; k < radix; k++) {
                NAME(put)(to, q + s * (radix * p + k), x[k]);
            }
        }
    }
}

/* Computes the last pass, in which m is 1 and all twiddles are 1. */
INLINE void NAME(last_pass)(int radix, const bp__fft_pass *pass, int64_t s, const bp__fft_view *in,
                            const bp__fft_view *out, double scale) {
    const REAL *roots = pass->roots;
    const VECTOR by = NAME(splat)((REAL)scale);
    const bool scales = scale != 1;
    for (int64_t q = 0; q < s; q++) {
        COMPLEX x[BP__FFT_RADIX_MOST];
        NAME(load_some)(x, radix, in, q, s);
        NAME(butterfly)(x, radix, roots);
        if (scales) {
            UNROLL for (int k = 0; k < radix; k++) {
                x[k] = NAME(scaled)(x[k], by);
            }
        }
        NAME(store_some)(x, radix, out, q, s);
    }
}

/* Functions of one radix. With vectors they are not inlined, so that their numbers are not on the stack below a pass of
 * another radix. */
#if LANES == 1
#define OF_RADIX static
#else
#define OF_RADIX __attribute__((noinline)) static
#endif
#define RADIX(radix)                                                                                                   \
    OF_RADIX void NAME(first_##radix)(const bp__fft_pass *pass, const bp__fft_view *in, REAL *to) {                    \
        NAME(first_pass)(radix, pass, in, to);                                                                         \
    }                                                                                                                  \
    OF_RADIX void NAME(middle_##radix)(const bp__fft_pass *pass, int64_t s, const REAL *from, REAL *to) {              \
        NAME(middle_pass)(radix, pass, s, from, to);                                                                   \
    }                                                                                                                  \
    OF_RADIX void NAME(last_##radix)(const bp__fft_pass *pass, int64_t s, const bp__fft_view *in,                      \
                                     const bp__fft_view *out, double scale) {                                          \
        NAME(last_pass)(radix, pass, s, in, out, scale);                                                               \
    }
#define EACH_RADIX(X) X(1) X(2) X(3) X(4) X(5) X(7) X(8) X(11) X(13) WIDEST_RADIX(X)
#if LANES == 16
#define WIDEST_RADIX(X) X(16)
#else
#define WIDEST_RADIX(X)
#endif
EACH_RADIX(RADIX)
#undef OF_RADIX

/* Adds one term to the even and the odd sum. */
INLINE void NAME(add_term)(COMPLEX *even, COMPLEX *odd, COMPLEX sum, COMPLEX difference, const REAL *root) {
    const COMPLEX w = NAME(splat_complex)(root);
    *even = (COMPLEX){NAME(madd)(sum.re, w.re, even->re), NAME(madd)(sum.im, w.re, even->im)};
    *odd = (COMPLEX){NAME(madd)(difference.re, w.im, odd->re), NAME(madd)(difference.im, w.im, odd->im)};
}

/* Tells where a pass stores the term k of a DFT, after its twiddle factor and the scale. */
typedef struct NAME(any_store) {
    const bp__fft_pass *pass;
    const bp__fft_view *out;
    int64_t s, p, q;
    double scale;
    VECTOR by;
} NAME(any_store);

INLINE void NAME(store_term)(const NAME(any_store) * t, int k, COMPLEX x) {
    const int radix = t->pass->radix;
    if (t->pass->m > 1 && k > 0) {
        x = NAME(multiply)(x, NAME(splat_complex)((const REAL *)t->pass->twiddle + 2 * (t->p * (radix - 1) + k - 1)));
    }
    x = t->scale != 1 ? NAME(scaled)(x, t->by) : x;
    NAME(store_some)(&x, 1, t->out, t->q + t->s * (radix * t->p + k), 1);
}

/* Computes a DFT of a prime length without code of its own, as dft_odd() does with a radix that is known at run time.
 * Each sum has two chains: this is faster and rounds less often. Its terms are loaded as pairs and stored as they are
 * computed, so that the stack has half of them. */
static void NAME(dft_any)(const bp__fft_view *in, int64_t first_at, int64_t step, const NAME(any_store) * to) {
    COMPLEX sum[BP__FFT_PRIME_MOST / 2 + 2], difference[BP__FFT_PRIME_MOST / 2 + 2], total[4], first;
    const COMPLEX zero = {NAME(splat)(0), NAME(splat)(0)};
    const int radix = to->pass->radix, half = radix / 2;
    const REAL *roots = to->pass->roots;
    NAME(load_some)(&first, 1, in, first_at, 1);
    for (int i = 0; i < 4; i++) {
        total[i] = zero;
    }
    for (int j = 1; j <= half; j++) {
        COMPLEX low, high;
        NAME(load_some)(&low, 1, in, first_at + step * j, 1);
        NAME(load_some)(&high, 1, in, first_at + step * (radix - j), 1);
        sum[j] = NAME(add)(low, high);
        difference[j] = NAME(subtract)(low, high);
        total[j & 3] = NAME(add)(total[j & 3], sum[j]);
    }
    sum[half + 1] = difference[half + 1] = zero;
    NAME(store_term)(to, 0, NAME(add)(first, NAME(add)(NAME(add)(total[0], total[1]), NAME(add)(total[2], total[3]))));
    for (int k = 1; k <= half; k++) {
        COMPLEX even[2] = {first, zero}, odd[2] = {zero, zero};
        for (int j = 1, at = k; j <= half; j += 2) {
            const int next = at + k < radix ? at + k : at + k - radix;
            NAME(add_term)(even, odd, sum[j], difference[j], roots + 2 * at);
            NAME(add_term)(even + 1, odd + 1, sum[j + 1], difference[j + 1], roots + 2 * next);
            at = next + k < radix ? next + k : next + k - radix;
        }
        even[0] = NAME(add)(even[0], even[1]);
        odd[0] = NAME(add)(odd[0], odd[1]);
        NAME(store_term)(to, k, MINUS_I(even[0], odd[0]));
        NAME(store_term)(to, radix - k, PLUS_I(even[0], odd[0]));
    }
}

/* Computes any pass of such a radix, one element at a time; almost all of its time is in the butterfly. */
static void NAME(pass_any)(const bp__fft_pass *pass, int64_t s, const bp__fft_view *in, const bp__fft_view *out,
                           double scale) {
    NAME(any_store) to = {.pass = pass, .out = out, .s = s, .scale = scale, .by = NAME(splat)((REAL)scale)};
    for (to.p = 0; to.p < pass->m; to.p++) {
        for (to.q = 0; to.q < s; to.q++) {
            NAME(dft_any)(in, to.q + s * to.p, s * pass->m, &to);
        }
    }
}

static void NAME(inner_any)(const bp__fft_pass *pass, int64_t s, const bp__fft_view *in, REAL *to) {
    const bp__fft_view out = {to, 2 * LANES, LANES, BP__FFT_LANES};
    NAME(pass_any)(pass, s, in, &out, 1);
}

static void NAME(run_first)(const bp__fft_pass *pass, const bp__fft_view *in, REAL *to) {
    switch (pass->radix) {
#define CASE(radix)                                                                                                    \
    case radix:                                                                                                        \
        NAME(first_##radix)(pass, in, to);                                                                             \
        return;
        EACH_RADIX(CASE)
#undef CASE
    default:
        NAME(inner_any)(pass, 1, in, to);
    }
}

static void NAME(run_middle)(const bp__fft_pass *pass, int64_t s, const bp__fft_view *in, REAL *to) {
    switch (pass->radix) {
#define CASE(radix)                                                                                                    \
    case radix:                                                                                                        \
        NAME(middle_##radix)(pass, s, in->at, to);                                                                     \
        return;
        EACH_RADIX(CASE)
#undef CASE
    default:
        NAME(inner_any)(pass, s, in, to);
    }
}

static void NAME(run_last)(const bp__fft_pass *pass, int64_t s, const bp__fft_view *in, const bp__fft_view *out,
                           double scale) {
    switch (pass->radix) {
#define CASE(radix)                                                                                                    \
    case radix:                                                                                                        \
        NAME(last_##radix)(pass, s, in, out, scale);                                                                   \
        return;
        EACH_RADIX(CASE)
#undef CASE
    default:
        NAME(pass_any)(pass, s, in, out, scale);
    }
}

/* Runs the passes in order, between alternating blocks of working memory. */
static void NAME(passes)(const bp__fft_pass *pass, int count, int64_t unit, const bp__fft_view *in,
                         const bp__fft_view *out, double scale, void *const *work) {
    /* `in` is used by pointer and not copied. Its fields were just written one by one, and a wide load of the whole
     * struct would wait for these stores. */
    bp__fft_view between = {NULL, 2 * LANES, LANES, BP__FFT_LANES};
    const bp__fft_view *from = in;
    for (int i = 0; i + 1 < count; i++) {
        REAL *to = work[i & 1];
        if (from->layout == BP__FFT_LANES && from->step == 2 * LANES) {
            NAME(run_middle)(pass + i, pass[i].s / unit, from, to);
        } else {
            NAME(run_first)(pass + i, from, to);
        }
        between.at = to;
        from = &between;
    }
    NAME(run_last)(pass + count - 1, pass[count - 1].s / unit, from, out, scale);
}
