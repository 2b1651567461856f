/* place.c - gives operands strides, memory and content. */
#include "trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096, ARENA = 1 << 20, MOST_SPARSE = 64 };
#define SPARSE_BYTES ((size_t)1 << 37)

/* For each operand: memory between two pages that cannot be accessed. One more is for an operand that is sparse. */
static char *arenas[OPERANDS], *wide;

static char *reserve(size_t size) {
    char *memory = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        abort();
    }
    return memory;
}

static void open_arenas(void) {
    wide = reserve(SPARSE_BYTES);
    for (int i = 0; i < OPERANDS; i++) {
        arenas[i] = reserve(ARENA + 2 * PAGE) + PAGE;
        if (mprotect(arenas[i], ARENA, PROT_READ | PROT_WRITE) != 0) {
            perror("mprotect");
            abort();
        }
    }
}

/* ---- Strides ---- */

static void compact_strides(const operand *o, int64_t *strides) {
    int64_t step = 1;
    for (int d = o->tensor.ndim - 1; d >= 0; d--) {
        strides[d] = step;
        step *= o->shape[d] > 1 ? o->shape[d] : 1;
    }
}

/* Draws an order of the dimensions, gaps, and the sign of each stride. Returns whether the strides are compact. */
static bool draw_strides(source *s, operand *o) {
    const int ndim = o->tensor.ndim, kind = o->packed ? 0 : draw(s, 8);
    int order[BP_MAX_NDIM];
    int64_t step = 1 + (kind >= 5 ? draw(s, 3) : 0);
    for (int d = 0; d < ndim; d++) {
        order[d] = ndim - 1 - d;
    }
    for (int d = 0; d + 1 < ndim && kind >= 3; d++) {
        const int other = d + draw(s, ndim - d), swapped = order[d];
        order[d] = order[other];
        order[other] = swapped;
    }
    for (int i = 0; i < ndim; i++) {
        const int d = order[i];
        o->strides[d] = kind >= 6 && chance(s, 3) ? -step : step;
        step *= (o->shape[d] > 1 ? o->shape[d] : 1) + (kind == 2 || kind >= 5 ? draw(s, 3) : 0);
        if (kind == 7 && o->content != DOMINANT && !o->distinct && chance(s, o->written ? 24 : 3)) {
            o->strides[d] = 0;
        } else if (o->shape[d] <= 1 && chance(s, 4)) { /* a stride that nothing uses */
            o->strides[d] = draw(s, 2) ? -7 : INT64_C(1) << draw(s, 40);
        }
    }
    return kind < 2;
}

/* Sets the offset of the first element from the lowest, and the number of elements between lowest and highest. */
static int64_t span_of(const operand *o, int64_t *low) {
    int64_t high = 0;
    *low = 0;
    for (int d = 0; d < o->tensor.ndim; d++) {
        if (o->shape[d] > 1) {
            *(o->strides[d] < 0 ? low : &high) += (o->shape[d] - 1) * o->strides[d];
        }
    }
    return high - *low + 1;
}

/* ---- Memory ---- */

static void place_dense(source *s, operand *o, int number) {
    const size_t element = bp_dtype_size(o->dtype);
    bool compact = draw_strides(s, o);
    int64_t low, span = span_of(o, &low);
    if ((size_t)span * element > ARENA) {
        compact_strides(o, o->strides);
        compact = true;
        span = span_of(o, &low);
    }
    o->bytes = count_of(o) > 0 ? (size_t)span * element : 0;
    o->low = draw(s, 2) ? arenas[number] + ARENA - o->bytes : arenas[number];
    o->tensor.data = count_of(o) == 0 && draw(s, 2) ? NULL : o->low - low * (int64_t)element;
    o->tensor.strides = compact && draw(s, 2) ? NULL : o->strides;
    if (compact) {
        compact_strides(o, o->strides);
    }
}

/* Makes pages accessible that have elements, or takes the access away. */
static void open_pages(const operand *o, bool open) {
    int64_t index[BP_MAX_NDIM] = {0};
    do {
        const uintptr_t from = (uintptr_t)address_of(o, index) & ~(uintptr_t)(PAGE - 1);
        if (mprotect((void *)from, PAGE, open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) {
            perror("mprotect");
            abort();
        }
        if (!open) {
            madvise((void *)from, PAGE, MADV_DONTNEED);
        }
    } while (advance(o, index));
}

/* Spreads an operand with few elements: one dimension has a stride beyond 2^31. */
static bool place_sparse(source *s, operand *o) {
    const int64_t element = (int64_t)bp_dtype_size(o->dtype);
    const int d = o->tensor.ndim > 0 ? draw(s, o->tensor.ndim) : 0;
    int64_t low;
    if (o->tensor.ndim == 0 || o->packed || o->shape[d] < 2 || count_of(o) == 0 || count_of(o) > MOST_SPARSE) {
        return false;
    }
    compact_strides(o, o->strides);
    o->strides[d] = (INT64_C(1) << 31) + draw(s, 2) * 65;
    o->strides[d] = draw(s, 2) ? -o->strides[d] : o->strides[d];
    const int64_t span = span_of(o, &low);
    if ((uint64_t)span * (uint64_t)element > SPARSE_BYTES - 2 * PAGE) {
        return false;
    }
    o->sparse = true;
    o->bytes = (size_t)(count_of(o) * element);
    o->low = wide + PAGE;
    o->tensor.data = o->low - low * element;
    o->tensor.strides = o->strides;
    open_pages(o, true);
    return true;
}

/* Puts an operand into the memory of another one: the same tensor, or one that overlaps it. */
static bool place_alias(trial *t, operand *o, int number) {
    source *s = &t->source;
    const int other = number > 0 ? draw(s, number) : 0;
    const operand *host = &t->operand[other];
    if (number == 0 || !t->tensor[other] || host->dtype != o->dtype || host->host != other || host->sparse ||
        host->written || host->distinct || o->distinct || o->packed || !chance(s, o->written ? 12 : 6)) {
        return false;
    }
    const bool same = host->tensor.ndim == o->tensor.ndim && memcmp(host->shape, o->shape, sizeof o->shape) == 0 &&
                      (!o->written || draw(s, 2));
    if (same) {
        memcpy(o->strides, host->strides, sizeof o->strides);
        o->tensor.data = host->tensor.data;
    } else {
        compact_strides(o, o->strides);
        if (!o->written || count_of(o) == 0 || (size_t)count_of(o) * bp_dtype_size(o->dtype) > host->bytes) {
            return false;
        }
        o->tensor.data = host->low;
    }
    o->tensor.strides = o->strides;
    o->host = other;
    o->low = host->low;
    o->bytes = host->bytes;
    return true;
}

/* ---- Content ---- */

static double next_value(source *s, const operand *o, const int64_t *index, int part) {
    const int ndim = o->tensor.ndim;
    const uint64_t bits = draw_bits(s);
    const bool diagonal = ndim >= 2 && index[ndim - 1] == index[ndim - 2];
    switch (o->content) {
    case FRACTIONS:
        return (double)(bits % 512) / 256 - 1;
    case POSITIVE:
        return (double)(bits % 256) / 256 + 0.5;
    case INDICES:
        return s->wild && bits >> 32 & 1 && bits % 8 == 0 ? -1 : o->limit > 0 ? (double)(bits % (uint64_t)o->limit) : 0;
    case PIVOTS:
        return s->wild && bits >> 32 & 1 && bits % 8 == 0 ? 0 : 1 + (double)(bits % (uint64_t)o->limit);
    case DOMINANT: /* of an order below 16 */
        return diagonal ? (part == 0 ? 16 + (double)(bits % 16) : 0) : (double)(bits % 16) / 8 - 1;
    default:
        return o->dtype == BP_BOOL || o->dtype == BP_U8 ? (double)(bits % 2) : (double)(bits % 7) - 3;
    }
}

static void fill(source *s, operand *o) {
    const bp_dtype type = component_type(o->dtype);
    const size_t size = bp_dtype_size(type);
    int64_t index[BP_MAX_NDIM] = {0};
    if (count_of(o) == 0) {
        return;
    }
    do {
        for (int part = 0; part < (is_complex(o->dtype) ? 2 : 1); part++) {
            char *at = address_of(o, index) + (size_t)part * size;
            const uint64_t bits = draw_bits(s);
            if (o->content == ANYTHING && o->dtype != BP_BOOL) {
                memcpy(at, &bits, size);
            } else {
                set_value(type, at, next_value(s, o, index, part));
            }
        }
    } while (advance(o, index));
}

void fill_pattern(operand *o, int pattern) {
    int64_t index[BP_MAX_NDIM] = {0};
    if (count_of(o) == 0) {
        return;
    }
    do {
        memset(address_of(o, index), pattern, bp_dtype_size(o->dtype));
    } while (advance(o, index));
}

void copy_elements(const operand *o, char *to) {
    int64_t index[BP_MAX_NDIM] = {0};
    const size_t size = bp_dtype_size(o->dtype);
    if (count_of(o) == 0) {
        return;
    }
    do {
        memcpy(to, address_of(o, index), size);
        to += size;
    } while (advance(o, index));
}

/* Makes the compact copy of an operand. */
static void make_compact(operand *o) {
    o->compact = o->tensor;
    o->compact.shape = o->shape;
    o->compact.strides = NULL;
    o->compact.data = malloc((size_t)count_of(o) * bp_dtype_size(o->dtype) + 64);
    if (!o->compact.data) {
        abort();
    }
    copy_elements(o, o->compact.data);
}

void place_all(trial *t) {
    if (!wide) {
        open_arenas();
    }
    source *s = &t->source;
    bool sparse = false;
    for (int i = 0; i < t->count; i++) {
        operand *o = &t->operand[i];
        if (!t->tensor[i]) {
            continue;
        }
        o->tensor.shape = o->shape;
        if (place_alias(t, o, i)) {
            continue;
        }
        if (!sparse && chance(s, 16) && place_sparse(s, o)) {
            sparse = true;
        } else {
            place_dense(s, o, i);
        }
        for (size_t n = 0; !o->sparse && n < o->bytes; n++) {
            o->low[n] = (char)(n * 37 + 11); /* the gaps */
        }
        fill(s, o);
    }
    if (t->family->prepare) {
        t->family->prepare(t);
    }
    for (int i = 0; i < t->count; i++) {
        operand *o = &t->operand[i];
        if (t->tensor[i]) {
            if (o->written && !o->kept && o->host == i) {
                fill_pattern(o, 0xa5);
            }
            make_compact(o);
        }
    }
}

void release_all(trial *t) {
    for (int i = 0; i < t->count; i++) {
        operand *o = &t->operand[i];
        if (o->sparse) {
            open_pages(o, false);
        }
        free(o->compact.data);
        free(o->before);
        free(o->result);
    }
}
