/* weights.c - opens files of weights, and reads tensors from them into memory and into graphs. */
#define _GNU_SOURCE
#include "graph/weights.h"

#include "base/uncancelled.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LENGTH = 8, MOST_HEADER = 100000000 };

/* ---- Files ---- */

static bp_status fail_file(const char *path, const char *action, int error) {
    char reason[128];
    return bp__fail(error == ENOENT || error == ENOTDIR ? BP_E_NOT_FOUND : BP_E_IO, "%s: cannot %s: %s", path, action,
                    strerror_r(error, reason, sizeof reason));
}

/* Reads exactly `size` bytes. */
static bp_status read_bytes(const bp_weights *w, uint64_t from, void *to, size_t size) {
    char *at = to;
    while (size > 0) {
        const ssize_t got = pread(w->file, at, size, (off_t)from);
        if (got < 0 && errno != EINTR) {
            return fail_file(w->path, "read it", errno);
        }
        if (got == 0) {
            return bp__fail(BP_E_TRUNCATED, "%s: the file ends at byte %llu", w->path, (unsigned long long)from);
        }
        if (got > 0) {
            at += got;
            from += (uint64_t)got;
            size -= (size_t)got;
        }
    }
    return BP_OK;
}

/* Opens the file, and finds its size. */
static bp_status open_file(bp_weights *w, uint64_t *size) {
    struct stat facts;
    w->file = open(w->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* opening a pipe must not block */
    if (w->file < 0) {
        return fail_file(w->path, "open it", errno);
    }
    if (fstat(w->file, &facts) != 0) {
        return fail_file(w->path, "examine it", errno);
    }
    *size = (uint64_t)facts.st_size;
    return S_ISREG(facts.st_mode) ? BP_OK : bp__fail(BP_E_IO, "%s is no regular file", w->path);
}

static bp_status read_header(bp_weights *w) {
    uint64_t size = 0, length = 0;
    unsigned char bytes[LENGTH];
    BP__TRY(open_file(w, &size));
    BP__TRY(read_bytes(w, 0, bytes, LENGTH));
    for (int i = LENGTH - 1; i >= 0; i--) {
        length = length << 8 | bytes[i];
    }
    if (length > MOST_HEADER) {
        return bp__fail(BP_E_OVERFLOW, "%s: the header has %llu bytes, more than %d", w->path,
                        (unsigned long long)length, MOST_HEADER);
    }
    if (length > size - LENGTH) {
        return bp__fail(BP_E_TRUNCATED, "%s: the file ends before its header does", w->path);
    }
    char *header = bp__alloc((size_t)length);
    if (!header) {
        return bp__fail_memory((size_t)length, w->path);
    }
    w->start = LENGTH + length;
    bp_status status = read_bytes(w, LENGTH, header, (size_t)length);
    status = status == BP_OK ? bp__weights_parse(w, header, (size_t)length, size - w->start) : status;
    bp__free(header);
    return status;
}

bp_status bp_weights_open(bp_weights **weights, const char *path) {
    BP__UNCANCELLED;
    if (!weights || !path) {
        return bp__fail(BP_E_ARGUMENT, "weights and path must not be NULL");
    }
    *weights = NULL;
    bp_weights *made = bp__alloc_zero(1, sizeof *made);
    if (!made) {
        return bp__fail_memory(sizeof *made, path);
    }
    made->file = -1;
    atomic_init(&made->references, 1);
    made->path = bp__strdup(path);
    bp_status status = made->path ? read_header(made) : bp__fail_memory(strlen(path), path);
    if (status != BP_OK) {
        bp_weights_close(made);
        return status;
    }
    *weights = made;
    return BP_OK;
}

static void free_weights(bp_weights *weights) {
    for (int i = 0; i < weights->count; i++) {
        bp__free(weights->list[i].name);
        bp__free_aligned(atomic_load(&weights->list[i].block));
    }
    if (weights->file >= 0) {
        close(weights->file);
    }
    bp__free(weights->names.list);
    bp__free(weights->list);
    bp__free(weights->path);
    bp__free(weights);
}

void bp_weights_close(bp_weights *weights) {
    BP__UNCANCELLED;
    if (weights && atomic_fetch_sub(&weights->references, 1) == 1) {
        free_weights(weights);
    }
}

/* ---- Tensors ---- */

int bp_weights_at(const bp_weights *weights, int index, bp_weight_info *info) {
    if (!weights || index < 0 || index >= weights->count || !bp__struct_usable(info)) {
        return 0;
    }
    const bp__weight *w = &weights->list[index];
    const bp_weight_info found = {
        .name = w->name, .type = w->type, .dtype = w->dtype, .ndim = w->ndim, .shape = w->shape};
    bp__struct_write(info, &found, sizeof found);
    return 1;
}

int bp_weights_index(const bp_weights *weights, const char *name) {
    return weights && name ? bp__names_find(&weights->names, name, strlen(name)) - 1 : -1;
}

/* Reads the elements into new memory. Bytes of bool are 0 and 1 in the library, and anything in a file. */
static bp_status read_elements(const bp_weights *weights, const bp__weight *w, void **block) {
    const size_t size = (size_t)(w->end - w->begin);
    unsigned char *bytes = bp__alloc_aligned(size ? size : 1);
    if (!bytes) {
        return bp__fail_memory(size, weights->path);
    }
    const bp_status status = read_bytes(weights, weights->start + w->begin, bytes, size);
    if (status != BP_OK) {
        bp__free_aligned(bytes);
        return status;
    }
    for (size_t i = 0; i < size && w->dtype == BP_BOOL; i++) {
        bytes[i] = bytes[i] != 0;
    }
    *block = bytes;
    return BP_OK;
}

/* Returns the memory of the elements. Threads that need it at once read it each, and keep one: none waits for another,
 * which a child of fork might not have. */
static bp_status load_elements(const bp_weights *weights, bp__weight *w, void **block) {
    void *made = NULL, *former = NULL;
    *block = atomic_load(&w->block);
    if (*block) {
        return BP_OK;
    }
    if (w->dtype == BP_DTYPE_NONE) {
        return bp__fail(BP_E_DTYPE, "%s: the elements of %s are %s, a type that the library does not have",
                        weights->path, w->name, w->type);
    }
    BP__TRY(read_elements(weights, w, &made));
    if (!atomic_compare_exchange_strong(&w->block, &former, made)) {
        bp__free_aligned(made);
        made = former;
    }
    *block = made;
    return BP_OK;
}

bp_status bp_weights_view(bp_view *view, bp_weights *weights, int index) {
    BP__UNCANCELLED;
    void *block;
    if (!weights || index < 0 || index >= weights->count || !view) {
        return bp__fail(BP_E_ARGUMENT, "weights or view is NULL, or there is no tensor %d", index);
    }
    bp__weight *w = &weights->list[index];
    BP__TRY(load_elements(weights, w, &block));
    return bp_view_init(view, block, w->dtype, w->ndim, w->shape, NULL);
}

/* ---- Graphs ---- */

/* Lets the graph hold the object. */
static bp_status hold_weights(bp_graph *graph, bp_weights *weights) {
    for (int i = 0; i < graph->weights_count; i++) {
        if (graph->weights[i] == weights) {
            return BP_OK;
        }
    }
    BP__TRY(bp__graph_grow((void **)&graph->weights, graph->weights_count, &graph->weights_capacity,
                           sizeof *graph->weights));
    graph->weights[graph->weights_count++] = weights;
    atomic_fetch_add(&weights->references, 1);
    return BP_OK;
}

bp_status bp_graph_weight(bp_graph *graph, const char *name, bp_weights *weights, const char *tensor, bp_value *value) {
    BP__UNCANCELLED;
    void *block;
    if (!weights || !tensor) {
        return bp__fail(BP_E_ARGUMENT, "weights and tensor must not be NULL");
    }
    const int index = bp_weights_index(weights, tensor);
    if (index < 0) {
        return bp__fail(BP_E_NOT_FOUND, "%s has no tensor %s", weights->path, tensor);
    }
    bp__weight *w = &weights->list[index];
    BP__TRY(bp__graph_check_open(graph));
    BP__TRY(load_elements(weights, w, &block));
    const DLTensor elements = {.data = block,
                               .device = {kDLCPU, 0},
                               .ndim = w->ndim,
                               .dtype = bp_dtype_to_dlpack(w->dtype),
                               .shape = w->shape};
    BP__TRY(hold_weights(graph, weights));
    return bp__constant_hold(graph, name ? name : tensor, &elements, value);
}

void bp__weights_drop(bp_graph *graph) {
    for (int i = 0; i < graph->weights_count; i++) {
        bp_weights_close(graph->weights[i]);
    }
    bp__free((void *)graph->weights);
}
