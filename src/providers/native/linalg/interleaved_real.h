/* interleaved_real.h - template: arithmetic of vector elements of a real type. Parameters: TYPE and PART (both f32 or
 * f64). interleaved_complex.h defines the same functions for complex types; interleaved_kernels.h uses only these.
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
/* Returns a * s * r, multiplied in this order. With r and s of invert(), no intermediate value overflows or underflows
 * if the result does not, even for denormal a and divisors. */
INLINE VELEMENT NAME(scale)(VELEMENT a, VELEMENT r, VECTOR s) {
    a.part[0] = a.part[0] * s * r.part[0];
    return a;
}
/* Sets r and s so that scale() divides by a. */
INLINE void NAME(invert)(VELEMENT a, VELEMENT *r, VECTOR *s) {
    *s = OF_PART(unscale)(NAME(size)(a));
    r->part[0] = 1 / (a.part[0] * *s);
}
