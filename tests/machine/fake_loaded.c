/* fake_loaded.c - objects that only export the marker symbols of a library, as listed by FAKE_EXPORTS(X). */
#define X(name)                                                                                                        \
    void name(void);                                                                                                   \
    void name(void) {                                                                                                  \
    }
FAKE_EXPORTS
#undef X
int bp_double_loaded;
