/* arrays.h - tensors of arbitrary types, shapes and strides for fuzz targets.
 *
 * Each tensor is in its own memory, which begins or ends at a page that cannot be accessed. Bytes that are no element
 * of an output must stay as they are, and all bytes if a call fails. Content depends on the bytes of the input. */
#ifndef BP_FUZZ_ARRAYS_H
#define BP_FUZZ_ARRAYS_H

#include "backplane.h"

#include "../support/capability.h"
#include "elements.h"
#include "tensor/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ARENAS = 24, ARENA = 1 << 19, MOST_ELEMENTS = 20000, MOST_NDIM = 5, PAGE = 4096, SETTINGS = 6 };

typedef struct input {
    const uint8_t *bytes;
    size_t left;
} input;

typedef struct array {
    DLTensor tensor;
    bp_dtype dtype;
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM];
    char *low; /* the first byte of the elements */
    size_t bytes;
    char *before; /* the bytes before the call */
} array;

static char *arenas[ARENAS];
static uint64_t random_state;
static bp_options *options[SETTINGS];

static inline void require(bool condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "fuzz: %s; last error: %s\n", what, bp_last_error());
        abort();
    }
}

static inline void set_up(void) {
    static const char *const texts[] = {"num_threads=1",
                                        "num_threads=3",
                                        "cpu.capability=default,num_threads=1",
                                        "cpu.capability=avx2,num_threads=1",
                                        "cpu.capability=default,num_threads=3",
                                        "cpu.capability=avx2,num_threads=3"};
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    for (int i = 0; i < BP__COUNT(texts); i++) {
        require(test_options_new(&options[i], texts[i]) == BP_OK, texts[i]);
    }
    for (int i = 0; i < ARENAS; i++) {
        char *memory = mmap(NULL, ARENA + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        require(memory != MAP_FAILED && mprotect(memory + PAGE, ARENA, PROT_READ | PROT_WRITE) == 0, "mmap");
        arenas[i] = memory + PAGE;
    }
}

static inline uint8_t next_byte(input *in) {
    if (in->left == 0) {
        return 0;
    }
    in->left--;
    return *in->bytes++;
}

static inline int below(input *in, int end) {
    return next_byte(in) % end;
}

static inline uint64_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* ---- Elements ---- */

static inline int64_t offset_of(const array *a, const int64_t *index) {
    int64_t offset = 0;
    for (int d = 0; d < a->tensor.ndim; d++) {
        offset += index[d] * a->strides[d];
    }
    return offset;
}

static inline char *address_of(const array *a, const int64_t *index) {
    return (char *)bp__tensor_data(&a->tensor) + offset_of(a, index) * (int64_t)bp_dtype_size(a->dtype);
}

static inline double get(const array *a, const int64_t *index) {
    return value_of(a->dtype, address_of(a, index));
}

static inline double get_old(const array *a, const int64_t *index) {
    return value_of(a->dtype, a->before + (address_of(a, index) - a->low));
}

static inline bool advance(const array *a, int64_t *index) {
    for (int d = a->tensor.ndim - 1; d >= 0; d--) {
        if (++index[d] < a->shape[d]) {
            return true;
        }
        index[d] = 0;
    }
    return false;
}

static inline int64_t count_of(const array *a) {
    int64_t count = 1;
    for (int d = 0; d < a->tensor.ndim; d++) {
        count *= a->shape[d];
    }
    return count;
}

/* ---- Tensors ---- */

/* Gives a tensor strides and memory. An output has no stride 0. */
static inline bool place(input *in, array *a, int number, bp_dtype dtype, bool output) {
    const int kind = below(in, 8), ndim = a->tensor.ndim;
    int64_t low = 0, high = 0, step = 1 + (kind == 5 ? below(in, 3) : 0);
    int order[BP_MAX_NDIM];
    for (int d = 0; d < ndim; d++) {
        order[d] = ndim - 1 - d;
    }
    for (int d = 0; d + 1 < ndim && kind >= 4; d++) {
        const int other = d + below(in, ndim - d), swapped = order[d];
        order[d] = order[other];
        order[other] = swapped;
    }
    for (int i = 0; i < ndim; i++) {
        const int d = order[i];
        a->strides[d] = kind >= 6 && below(in, 4) == 0 ? -step : step;
        step *= (a->shape[d] > 1 ? a->shape[d] : 1) + (kind == 3 || kind == 7 ? below(in, 3) : 0);
        if (!output && kind == 7 && below(in, 3) == 0) {
            a->strides[d] = 0;
        }
        if (a->shape[d] > 1) {
            *(a->strides[d] < 0 ? &low : &high) += (a->shape[d] - 1) * a->strides[d];
        }
    }
    const int64_t element = (int64_t)bp_dtype_size(dtype);
    a->dtype = dtype;
    a->bytes = (size_t)((high - low + 1) * element);
    if (step > MOST_ELEMENTS * 2 || a->bytes > ARENA) {
        return false;
    }
    char *arena = arenas[number];
    a->low = below(in, 2) ? arena + ARENA - a->bytes : arena;
    a->tensor.data = a->low - low * element;
    if (count_of(a) == 0) {
        a->bytes = 0;
    }
    a->tensor.byte_offset = 0;
    a->tensor.dtype = bp_dtype_to_dlpack(dtype);
    a->tensor.device = (DLDevice){kDLCPU, 0};
    a->tensor.shape = a->shape;
    a->tensor.strides = kind == 0 ? NULL : a->strides;
    for (size_t i = 0; i < a->bytes / (size_t)element; i++) {
        char *at = a->low + i * (size_t)element;
        const uint64_t bits = next_random();
        const double x = (double)(int64_t)(bits >> 40) * 0x1p-22 - 2;
        const bool odd = bits % 1024 == 5;
        switch (dtype) {
        case BP_F16:
            memcpy(at, &(uint16_t){(uint16_t)((bits & 0x83ff) | (odd ? 0x7c00 : (10 + (bits >> 20) % 7) << 10))}, 2);
            break;
        case BP_BF16:
            memcpy(at, &(uint16_t){(uint16_t)((bits & 0x807f) | (odd ? 0x7f80 : (122 + (bits >> 20) % 7) << 7))}, 2);
            break;
        case BP_F32:
            memcpy(at, &(float){odd ? (float)NAN : (float)x}, 4);
            break;
        case BP_F64:
            memcpy(at, &(double){odd ? (double)INFINITY : x}, 8);
            break;
        case BP_I32:
            memcpy(at, &(int32_t){(int32_t)(bits >> 50) - 8192}, 4);
            break;
        case BP_BOOL:
            *at = (char)(bits >> 50 & 1);
            break;
        default:
            memcpy(at, &(int64_t){(int64_t)(bits >> 50) - 8192}, 8);
        }
    }
    a->before = NULL;
    return true;
}

static inline void keep(array *a) {
    a->before = malloc(a->bytes + 1);
    require(a->before != NULL, "malloc");
    memcpy(a->before, a->low, a->bytes);
}

/* Checks that the call wrote nothing but elements, and nothing at all if it failed. */
static inline void check_bytes(array *a, bool written) {
    char *now = malloc(a->bytes + 1);
    require(now != NULL, "malloc");
    memcpy(now, a->low, a->bytes);
    if (written && count_of(a) > 0) {
        int64_t index[BP_MAX_NDIM] = {0};
        do {
            memcpy(now + (address_of(a, index) - a->low), a->before + (address_of(a, index) - a->low),
                   bp_dtype_size(a->dtype));
        } while (advance(a, index));
    }
    require(memcmp(now, a->before, a->bytes) == 0, "a call wrote bytes that it must not write");
    free(now);
}

static inline void drop(array *a) {
    free(a->before);
    a->before = NULL;
}

static inline void expect(double got, double want, double tolerance) {
    if (got == want || (isnan(got) && isnan(want)) || fabs(got - want) <= tolerance) {
        return;
    }
    fprintf(stderr, "fuzz: %.17g instead of %.17g, tolerance %g\n", got, want, tolerance);
    abort();
}

static inline bool next_shape(input *in, array *a, int least_ndim) {
    a->tensor.ndim = least_ndim + below(in, MOST_NDIM + 1 - least_ndim);
    int64_t count = 1;
    for (int d = 0; d < a->tensor.ndim; d++) {
        const uint8_t tag = next_byte(in);
        a->shape[d] = tag < 200 ? tag % 8 : tag < 240 ? tag - 190 : (int64_t)tag * 11 + next_byte(in);
        a->shape[d] += tag < 190 && a->shape[d] == 0; /* few are empty */
        count *= a->shape[d] > 0 ? a->shape[d] : 1;
    }
    return count <= MOST_ELEMENTS;
}

static inline void copy_shape(array *to, const array *from) {
    to->tensor.ndim = from->tensor.ndim;
    memcpy(to->shape, from->shape, sizeof to->shape);
}

static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16, BP_I32, BP_I64};

/* Begins an input: chooses the settings of its calls, and the content of its tensors. */
static inline const bp_options *begin(input *in) {
    if (!arenas[0]) {
        set_up();
    }
    random_state = 88172645463325252u;
    for (size_t i = 0; i < in->left; i++) {
        random_state = (random_state ^ in->bytes[i]) * 1099511628211u + 1;
    }
    random_state |= 1;
    return options[below(in, SETTINGS)];
}

#endif
