/* fake_loaded.c - objects with the marks of a library and nothing else: the symbols that FAKE_EXPORTS(X) lists. */
#define X(name)                                                                                                        \
    void name(void);                                                                                                   \
    void name(void) {                                                                                                  \
    }
FAKE_EXPORTS
#undef X
int bp_double_loaded;
