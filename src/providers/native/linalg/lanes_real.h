/* lanes_real.h - template: arithmetic of cells of a real type. Parameters: TYPE and PART (both f32 or f64). The
 * complex twin is lanes_complex.h; lanes_kernels.h is written in these words alone.
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
/* a times r times s, in this order: r and s may be so large and so small that their product is neither. */
INLINE CELL NAME(scale)(CELL a, CELL r, VECTOR s) {
    a.part[0] = a.part[0] * r.part[0] * s;
    return a;
}
/* r and s for scale(), so that it divides by a. */
INLINE void NAME(invert)(CELL a, CELL *r, VECTOR *s) {
    *s = OF_PART(unscale)(NAME(size)(a));
    r->part[0] = 1 / (a.part[0] * *s);
}
