/* interleaved_real.h - template: arithmetic of cells of a real type. Parameters: TYPE and PART (both f32 or f64). The
 * complex twin is interleaved_complex.h; interleaved_kernels.h is written in these words alone.
 */
typedef struct VELEMENT {
    VECTOR part[1];
} VELEMENT;

INLINE VECTOR NAME(size)(VELEMENT a) {
    return OF_PART(absolute)(a.part[0]);
}
INLINE VELEMENT NAME(subtract_product)(bool conjugate, VELEMENT c, VELEMENT a, VELEMENT b) {
    (void)conjugate;
    c.part[0] = OF_PART(msub)(a.part[0], b.part[0], c.part[0]);
    return c;
}
/* a times s times r, in this order: with those of invert(), nothing on the way leaves the range that the result does
 * not leave, also where a and the divisor are denormal. */
INLINE VELEMENT NAME(scale)(VELEMENT a, VELEMENT r, VECTOR s) {
    a.part[0] = a.part[0] * s * r.part[0];
    return a;
}
/* r and s for scale(), so that it divides by a. */
INLINE void NAME(invert)(VELEMENT a, VELEMENT *r, VECTOR *s) {
    *s = OF_PART(unscale)(NAME(size)(a));
    r->part[0] = 1 / (a.part[0] * *s);
}
