/* interleaved_real.h - template: arithmetic of cells of a real type. Parameters: TYPE and PART (both f32 or f64). The
 * complex twin is interleaved_complex.h; interleaved_kernels.h is written in these words alone.
 */
typedef struct CELL {
    VECTOR part[1];
} CELL;

INLINE VECTOR NAME(size)(CELL a) {
    return OF_PART(absolute)(a.part[0]);
}
INLINE CELL NAME(subtract_product)(bool conjugate, CELL c, CELL a, CELL b) {
    (void)conjugate;
    c.part[0] = OF_PART(msub)(a.part[0], b.part[0], c.part[0]);
    return c;
}
/* a times s times r, in this order: with those of invert(), nothing on the way leaves the range that the result does
 * not leave, also where a and the divisor are denormal. */
INLINE CELL NAME(scale)(CELL a, CELL r, VECTOR s) {
    a.part[0] = a.part[0] * s * r.part[0];
    return a;
}
/* r and s for scale(), so that it divides by a. */
INLINE void NAME(invert)(CELL a, CELL *r, VECTOR *s) {
    *s = OF_PART(unscale)(NAME(size)(a));
    r->part[0] = 1 / (a.part[0] * *s);
}
