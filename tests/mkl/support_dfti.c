/* support_dfti.c - see support_dfti.h. */
#include "mkl/support_dfti.h"

#include "dispatch/internal.h"

#include <stdio.h>
#include <string.h>

test_dfti dfti;

/* ---- Descriptors ---- */

static long create(void **descriptor, int precision, int domain, long rank, ...) {
    test_dfti_descriptor *d = &dfti.descriptor[dfti.described % TEST_DFTI_DESCRIPTORS];
    va_list sizes;
    *d = (test_dfti_descriptor){.precision = precision, .domain = domain, .rank = rank, .placement = -1, .storage = -1};
    d->destroys = -1;
    d->many = d->in_distance = d->out_distance = d->threads = -1;
    d->forward_scale = d->backward_scale = -1;
    assert_in_range(rank, 1, BP__MKL_MOST_NDIM);
    va_start(sizes, rank);
    if (rank == 1) {
        d->n[0] = va_arg(sizes, long);
    } else {
        memcpy(d->n, va_arg(sizes, const long *), (size_t)rank * sizeof *d->n);
    }
    va_end(sizes);
    dfti.described++;
    *descriptor = d;
    return 0;
}

static long set_value(void *descriptor, int parameter, ...) {
    test_dfti_descriptor *d = descriptor;
    long *number = parameter == BP__MKL_NUMBER_OF_TRANSFORMS ? &d->many
                   : parameter == BP__MKL_INPUT_DISTANCE     ? &d->in_distance
                   : parameter == BP__MKL_OUTPUT_DISTANCE    ? &d->out_distance
                   : parameter == BP__MKL_THREAD_LIMIT       ? &d->threads
                                                             : NULL;
    int *word = parameter == BP__MKL_PLACEMENT                ? &d->placement
                : parameter == BP__MKL_CONJUGATE_EVEN_STORAGE ? &d->storage
                : parameter == BP__MKL_DESTROY_INPUT          ? &d->destroys
                                                              : NULL;
    va_list value;
    assert_false(d->committed);
    va_start(value, parameter);
    if (number) {
        *number = va_arg(value, long);
    } else if (word) {
        *word = va_arg(value, int);
    } else if (parameter == BP__MKL_INPUT_STRIDES || parameter == BP__MKL_OUTPUT_STRIDES) {
        memcpy(parameter == BP__MKL_INPUT_STRIDES ? d->in : d->out, va_arg(value, const long *),
               (size_t)(d->rank + 1) * sizeof *d->in);
    } else {
        assert_true(parameter == BP__MKL_FORWARD_SCALE || parameter == BP__MKL_BACKWARD_SCALE);
        *(parameter == BP__MKL_FORWARD_SCALE ? &d->forward_scale : &d->backward_scale) = va_arg(value, double);
    }
    va_end(value);
    return parameter == dfti.fails_at ? 3 : 0;
}

static long commit(void *descriptor) {
    ((test_dfti_descriptor *)descriptor)->committed = true;
    return dfti.fails;
}

static long free_descriptor(void **descriptor) {
    *descriptor = NULL;
    dfti.freed++;
    return 0;
}

char *test_dfti_message(long error) {
    static char text[32];
    snprintf(text, sizeof text, "its error %ld", error);
    return text;
}

/* ---- Calls ---- */

static long note(const test_dfti_descriptor *d, bool forward, void *in, void *out) {
    dfti.call[dfti.calls++ % TEST_DFTI_CALLS] = (test_dfti_call){
        .descriptor = (int)(d - dfti.descriptor), .forward = forward, .in = in, .out = out, .threads = dfti.threads};
    return dfti.fails;
}

#define DEFINE_COMPUTE(NAME, FORWARD)                                                                                  \
    static long NAME(void *descriptor, void *in, ...) {                                                                \
        const test_dfti_descriptor *d = descriptor;                                                                    \
        va_list more;                                                                                                  \
        va_start(more, in);                                                                                            \
        void *out = d->placement == BP__MKL_INPLACE ? NULL : va_arg(more, void *);                                     \
        va_end(more);                                                                                                  \
        return note(d, FORWARD, in, out);                                                                              \
    }
DEFINE_COMPUTE(compute_forward, true)
DEFINE_COMPUTE(compute_backward, false)

/* ---- Threads ---- */

static int set_threads(int want) {
    int before = dfti.threads;
    dfti.threads = want;
    return before;
}

static int get_threads(void) {
    return dfti.threads == 0 || dfti.threads > dfti.most_threads ? dfti.most_threads : dfti.threads;
}

static int threading_layer(void) {
    return dfti.layer;
}

/* ---- The library ---- */

typedef void (*function)(void);
static const struct {
    const char *name;
    function address;
} functions[] = {
    {"DftiCreateDescriptor", (function)create},          {"DftiSetValue", (function)set_value},
    {"DftiCommitDescriptor", (function)commit},          {"DftiComputeForward", (function)compute_forward},
    {"DftiComputeBackward", (function)compute_backward}, {"DftiFreeDescriptor", (function)free_descriptor},
    {"DftiErrorMessage", (function)test_dfti_message},   {"MKL_Set_Num_Threads_Local", (function)set_threads},
    {"MKL_Get_Max_Threads", (function)get_threads},      {"mkl_sdl_get_threading_layer", (function)threading_layer}};

const char *test_dfti_name(int number) {
    return number < 7 ? functions[number].name : NULL;
}

static bp_status open_fake(const bp_library_info *library, void **handle) {
    (void)library;
    *handle = &dfti;
    return BP_OK;
}

static void *symbol_of_fake(void *handle, const char *name) {
    void *address = NULL;
    (void)handle;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(functions[i].name, name) == 0 && !(dfti.lacks && strcmp(dfti.lacks, name) == 0)) {
            memcpy(&address, &functions[i].address, sizeof address);
        }
    }
    return address;
}

static void *open_dfti(uint64_t faulty, const char *faults, const char *inexact) {
    static bp_host host;
    static bp_library_info row;
    static const bp_library_info all = {.struct_size = sizeof all,
                                        .id = "mkl",
                                        .family = "mkl",
                                        .kinds = BP_LIB_FFT,
                                        .path = "/lib/libmkl_rt.so",
                                        .threading = "libiomp5",
                                        .kernels = "avx2",
                                        .int_bits = 32};
    void *instance = NULL;
    row = all;
    row.faulty = faulty;
    row.faults = faults;
    row.inexact[0] = "";
    row.inexact[1] = inexact;
    host = *bp__host();
    host.open_library = open_fake;
    host.symbol = symbol_of_fake;
    dfti = (test_dfti){.most_threads = 8, .layer = -1};
    assert_int_equal(bp_provider_mkl.open(&host, &row, &instance), BP_OK);
    return instance;
}

void *test_open_dfti(void) {
    return open_dfti(0, "", "");
}

void *test_open_faulty_dfti(uint64_t faulty, const char *faults) {
    return open_dfti(faulty, faults, "");
}

void *test_open_inexact_dfti(const char *primes) {
    return open_dfti(0, "", primes);
}
