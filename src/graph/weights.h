/* weights.h - declares what the reader of a safetensors header finds. */
#ifndef BP_GRAPH_WEIGHTS_H
#define BP_GRAPH_WEIGHTS_H

#include "graph/graph.h"

#include "backplane/weights.h"

#include <stdatomic.h>

typedef struct bp__weight {
    char *name;
    char type[16];
    bp_dtype dtype; /* BP_DTYPE_NONE: a type that the library does not have */
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    uint64_t begin, end;   /* of the elements, in bytes behind the header */
    _Atomic(void *) block; /* the elements; NULL: not read yet */
} bp__weight;

struct bp_weights {
    atomic_int references; /* the program, and each graph */
    char *path;
    int file;
    uint64_t start; /* of the elements in the file */
    bp__weight *list;
    int count, capacity;
    bp__names names; /* numbers from 1 on */
};

/* Reads the header of a file with `size` bytes of elements into the list. Errors: BP_E_FORMAT, BP_E_OVERFLOW,
 * BP_E_NO_MEMORY; the caller frees the list after an error too. */
bp_status bp__weights_parse(bp_weights *weights, const char *header, size_t length, uint64_t size);

#endif
