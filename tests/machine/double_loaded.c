/* double_loaded.c - objects with the marks of a library and nothing else: the symbols that DOUBLE_EXPORTS(X) lists. */
#define X(name)                                                                                                        \
    void name(void);                                                                                                   \
    void name(void) {                                                                                                  \
    }
DOUBLE_EXPORTS
#undef X
int bp_double_loaded;
