/* dropin.c - times calls of a drop-in library against direct calls of the library that runs them.
 *
 * Three comparisons, interleaved: a routine whose stub only jumps, a product below the limit of sizes, and a product
 * that Backplane runs. All of them do so little that the cost of the way is visible. The argument is the library
 * (openblas).
 */
#include "timing.h"

#include <backplane.h>
#include <dlfcn.h>

typedef void gemm(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
                  const int *, const double *, const int *, const double *, double *, const int *, size_t, size_t);
typedef void scal(const int *, const double *, double *, const int *);

enum { SIDE = 8 };
static double a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];

static void call_gemm(void *routine) {
    static const int n = SIDE;
    static const double one = 1, zero = 0;
    ((gemm *)routine)("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n, 1, 1);
}

/* The same product by the public interface, with tensors that exist. */
static bp_view views[3];
static void call_backplane(void *unused) {
    (void)unused;
    bp_gemm(BP_AS_IS, BP_AS_IS, NULL, &views[0].tensor, &views[1].tensor, NULL, &views[2].tensor);
}

static void call_scal(void *routine) {
    static const int none = 0, step = 1;
    static const double one = 1;
    ((scal *)routine)(&none, &one, c, &step);
}

static void *symbol(void *handle, const char *name) {
    void *found = handle ? dlsym(handle, name) : NULL;
    if (!found) {
        fprintf(stderr, "%s: %s\n", name, dlerror());
        exit(1);
    }
    return found;
}

/* Opens a drop-in library from a folder next to the benchmark's. Each file has settings of its own. */
static void *open_dropin(const char *program, const char *file) {
    char path[PATH_MAX];
    const char *slash = strrchr(program, '/');
    snprintf(path, sizeof path, "%.*s/../%s", slash ? (int)(slash - program) : 1, slash ? program : ".", file);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return handle;
}

int main(int count, char **words) {
    const char *library = count > 1 ? words[1] : "openblas";
    void *direct;
    bp_library_info info = {.struct_size = sizeof info};
    if (bp_set("num_threads", "1") != BP_OK || bp_set("blas.preferred", library) != BP_OK ||
        bp_library_find(library, &info) != BP_OK || bp_library_open(library, &direct) != BP_OK) {
        fprintf(stderr, "%s\n", bp_last_error());
        return 1;
    }
    if (strcmp(info.suffix, "_") != 0 || *info.prefix || info.int_bits != 32) {
        fprintf(stderr, "%s has other names than dgemm_ with 32-bit integers\n", library);
        return 1;
    }
    timing_fill_f64(a, SIDE * SIDE);
    timing_fill_f64(b, SIDE * SIDE);
    /* One file sends small products to the library, the other one sends all of them through Backplane. */
    void *small = open_dropin(words[0], "libbackplane_blas.so.0");
    void *large = open_dropin(words[0], "backplane-dropin/libblas.so.3");
    call_gemm(symbol(small, "dgemm_"));
    setenv("BACKPLANE_DROPIN_SMALL", "0", 1);
    call_gemm(symbol(large, "dgemm_"));
    double *arrays[] = {a, b, c};
    static const int64_t shape[] = {SIDE, SIDE}, strides[] = {1, SIDE};
    for (int i = 0; i < 3; i++) {
        bp_view_init(&views[i], arrays[i], BP_F64, 2, shape, strides);
    }
    candidate list[] = {
        {.name = "dscal of 0 elements, direct", .run = call_scal, .context = symbol(direct, "dscal_")},
        {.name = "dscal of 0 elements, drop-in", .run = call_scal, .context = symbol(small, "dscal_")},
        {.name = "dgemm 8x8x8, direct", .run = call_gemm, .context = symbol(direct, "dgemm_")},
        {.name = "dgemm 8x8x8, drop-in, below the limit", .run = call_gemm, .context = symbol(small, "dgemm_")},
        {.name = "dgemm 8x8x8, drop-in, through Backplane", .run = call_gemm, .context = symbol(large, "dgemm_")},
        {.name = "dgemm 8x8x8, bp_gemm", .run = call_backplane},
    };
    enum { COUNT = sizeof list / sizeof list[0], ROUNDS = 101 };
    timing_interleave(list, COUNT, ROUNDS, 1e6, 1);
    printf("on %s %s, one thread; median and quartiles in ns\n", info.id, info.version);
    for (int i = 0; i < COUNT; i++) {
        double median = timing_median(&list[i]);
        printf("%-42s %8.1f  (%.1f to %.1f)\n", list[i].name, median, timing_quantile(&list[i], 0.25),
               timing_quantile(&list[i], 0.75));
    }
    return 0;
}
