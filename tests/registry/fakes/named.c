/* named.c - the interface of fake libraries that choose the BLAS to forward to. */
#define SHOW(name)                                                                                                     \
    __attribute__((visibility("default"))) void name(void);                                                            \
    void name(void) {                                                                                                  \
    }

#ifdef FAKE_FLEXIBLAS
SHOW(flexiblas_current_backend)
SHOW(openblas_get_config) /* a forwarder may have names of the libraries that it replaces */
__attribute__((visibility("default"))) void flexiblas_get_version(int *major, int *minor, int *patch);
void flexiblas_get_version(int *major, int *minor, int *patch) {
    *major = 3;
    *minor = 4;
    *patch = 5;
}
#elif defined FAKE_BACKPLANE
SHOW(bp_dropin_forwards)
#else
SHOW(lbt_forward)
SHOW(lbt_get_config)
#endif
