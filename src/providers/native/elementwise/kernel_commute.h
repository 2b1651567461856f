/* kernel_commute.h - adds and multiplies vectors in a fixed order of the operands.
 *
 * If both elements are NaN, processors return the first one. Compilers exchange the operands of sums and products as
 * they like, in one place of a kernel and not in another. Then the bytes of a result would depend on its place. */
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
#define IN_ORDER(name, type, x86, arm)                                                                                 \
    INLINE type name(type a, type b) {                                                                                 \
        __asm__("v" x86 " %2, %1, %0" : "=v"(a) : "v"(a), "vm"(b));                                                    \
        return a;                                                                                                      \
    }
#elif VECTOR_BYTES == 32 && defined(__AVX__)
#define IN_ORDER(name, type, x86, arm)                                                                                 \
    INLINE type name(type a, type b) {                                                                                 \
        __asm__("v" x86 " %2, %1, %0" : "=x"(a) : "x"(a), "xm"(b));                                                    \
        return a;                                                                                                      \
    }
#elif VECTOR_BYTES == 16 && defined(__SSE2__)
#define IN_ORDER(name, type, x86, arm)                                                                                 \
    INLINE type name(type a, type b) {                                                                                 \
        __asm__(x86 " %1, %0" : "+x"(a) : "x"(b));                                                                     \
        return a;                                                                                                      \
    }
#elif VECTOR_BYTES == 16 && defined(__aarch64__)
#define IN_ORDER(name, type, x86, arm)                                                                                 \
    INLINE type name(type a, type b) {                                                                                 \
        __asm__(arm : "=w"(a) : "w"(a), "w"(b));                                                                       \
        return a;                                                                                                      \
    }
#else
#define IN_ORDER(name, type, x86, arm)                                                                                 \
    INLINE type name(type a, type b) {                                                                                 \
        return IN_ORDER_##name;                                                                                        \
    }
#define IN_ORDER_add_f32 a + b
#define IN_ORDER_add_f64 a + b
#define IN_ORDER_multiply_f32 a *b
#define IN_ORDER_multiply_f64 a *b
#endif
IN_ORDER(add_f32, vector_f32, "addps", "fadd %0.4s, %1.4s, %2.4s")
IN_ORDER(add_f64, vector_f64, "addpd", "fadd %0.2d, %1.2d, %2.2d")
IN_ORDER(multiply_f32, vector_f32, "mulps", "fmul %0.4s, %1.4s, %2.4s")
IN_ORDER(multiply_f64, vector_f64, "mulpd", "fmul %0.2d, %1.2d, %2.2d")
#undef IN_ORDER
