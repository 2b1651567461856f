/* fake_products.c - a library whose products compute nothing and count their calls, so that a result shows that another
 * library has computed it. It has the names with an underscore, for 32-bit integers or, in a file named so, 64-bit
 * ones. */
int fake_calls;

#define COUNTS(name)                                                                                                   \
    void name(void);                                                                                                   \
    void name(void) {                                                                                                  \
        fake_calls++;                                                                                                  \
    }
#define ALL(name)                                                                                                      \
    COUNTS(s##name##_)                                                                                                 \
    COUNTS(d##name##_)                                                                                                 \
    COUNTS(c##name##_)                                                                                                 \
    COUNTS(z##name##_)                                                                                                 \
    COUNTS(cblas_s##name)                                                                                              \
    COUNTS(cblas_d##name)                                                                                              \
    COUNTS(cblas_c##name)                                                                                              \
    COUNTS(cblas_z##name)
ALL(gemm)
ALL(gemv)

/* Calls back, as a library does that finds a wrong argument. */
void (*fake_hook)(void);
void dscal_(void);
void dscal_(void) {
    fake_calls++;
    if (fake_hook) {
        fake_hook();
    }
}
