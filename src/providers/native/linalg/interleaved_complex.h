/* interleaved_complex.h - template: arithmetic of vector elements of a complex type. interleaved_real.h defines the
 * same functions for real types. Parameters: TYPE (c64 or c128), PART (f32 or f64).
 */
typedef struct VELEMENT {
    VECTOR part[2]; /* real, imaginary */
} VELEMENT;

/* Returns |re| + |im|, by which pivots are chosen, as in LAPACK. It needs no square root and avoids the overflow of
 * squares. */
INLINE VECTOR NAME(size)(VELEMENT a) {
    return OF_PART(absolute)(a.part[0]) + OF_PART(absolute)(a.part[1]);
}
/* Returns c - a * b, or c - a * conj(b). */
INLINE VELEMENT NAME(subtract_product)(bool conjugate, VELEMENT c, VELEMENT a, VELEMENT b) {
    c.part[0] = OF_PART(msub)(a.part[0], b.part[0], c.part[0]);
    c.part[1] = OF_PART(msub)(a.part[1], b.part[0], c.part[1]);
    if (conjugate) {
        c.part[0] = OF_PART(msub)(a.part[1], b.part[1], c.part[0]);
        c.part[1] = OF_PART(madd)(a.part[0], b.part[1], c.part[1]);
    } else {
        c.part[0] = OF_PART(madd)(a.part[1], b.part[1], c.part[0]);
        c.part[1] = OF_PART(msub)(a.part[0], b.part[1], c.part[1]);
    }
    return c;
}
INLINE VELEMENT NAME(scale)(VELEMENT a, VELEMENT r, VECTOR s) {
    const VECTOR re = a.part[0] * s, im = a.part[1] * s;
    VELEMENT x;
    x.part[0] = OF_PART(msub)(im, r.part[1], re * r.part[0]);
    x.part[1] = OF_PART(madd)(im, r.part[0], re * r.part[1]);
    return x;
}
INLINE void NAME(invert)(VELEMENT a, VELEMENT *r, VECTOR *s) {
    const VECTOR re = OF_PART(absolute)(a.part[0]), im = OF_PART(absolute)(a.part[1]);
    *s = OF_PART(unscale)(OF_PART(select)(re > im, re, im));
    const VECTOR x = a.part[0] * *s, y = a.part[1] * *s;
    const VECTOR norm = OF_PART(madd)(x, x, y * y);
    r->part[0] = x / norm;
    r->part[1] = -y / norm;
}
