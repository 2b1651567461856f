/* files.h - tells math libraries and Backplane's own files from others, by the names of the files.
 *
 * The functions are in a header, and use no library, because the audit object can have none.
 */
#ifndef BP_DROPIN_FILES_H
#define BP_DROPIN_FILES_H

/* Returns the rest of a text that starts with `head`, or NULL. */
static inline const char *bp__dropin_after(const char *text, const char *head) {
    while (*head && *text == *head) {
        text++;
        head++;
    }
    return *head ? 0 : text;
}

static inline int bp__dropin_contains(const char *text, const char *part) {
    for (; *text; text++) {
        if (bp__dropin_after(text, part)) {
            return 1;
        }
    }
    return 0;
}

static inline const char *bp__dropin_file_name(const char *path) {
    const char *name = path;
    for (; *path; path++) {
        name = *path == '/' ? path + 1 : name;
    }
    return name;
}

/* Files whose own calls are left alone: math libraries, which call their own names, OpenMP runtimes, and Backplane. */
static inline int bp__dropin_is_exempt(const char *path) {
    const char *name = bp__dropin_file_name(path);
    static const char *const heads[] = {
        "libopenblas", "libscipy_openblas", "libblas",     "libcblas",     "libf77blas", "libgslcblas",
        "liblapack.",  "liblapack-",        "liblapack64", "libmkl_",      "libblis",    "libflame",
        "libatlas",    "libsatlas",         "libtatlas",   "libflexiblas", "libtmglib",  "libarmpl",
        "libnvpl_",    "libfftw3",          "libgomp",     "libiomp5",     "libomp",     "libbackplane",
        "libaocl",     "libblastrampoline"};
    for (unsigned i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        if (bp__dropin_after(name, heads[i])) {
            return 1;
        }
    }
    return bp__dropin_contains(path, "/backplane-providers/");
}

/* Returns whether an object's unsuffixed names have 64-bit integers: libblas64.so.3, libopenblas64.so.0,
 * libmkl_intel_ilp64.so.2. */
static inline int bp__dropin_is_wide(const char *name) {
    return bp__dropin_contains(name, "blas64") || bp__dropin_contains(name, "lapack64") ||
           bp__dropin_contains(name, "ilp64") || bp__dropin_contains(name, "blis64");
}

#endif
