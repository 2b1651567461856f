/* weights.h - reads tensors from files of the format safetensors, and makes constants of graphs from them.
 *
 *     bp_weights *weights;
 *     bp_value w;
 *     bp_weights_open(&weights, "model.safetensors");
 *     bp_graph_weight(graph, NULL, weights, "encoder.0.weight", &w);
 *     bp_weights_close(weights);
 *
 * A file has 8 bytes with the length of a header (little endian), the header, which is JSON, and the elements of all
 * tensors in row-major order. The header names each tensor's type, shape and place. Files come from anywhere: what a
 * header says is checked when the file is opened, and elements are read from the file when they are asked for. Several
 * threads may use one object at once.
 */
#ifndef BACKPLANE_WEIGHTS_H
#define BACKPLANE_WEIGHTS_H

#include "backplane/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bp_weights bp_weights;

/* Opens a file and reads its header. *weights is NULL after an error. Errors: BP_E_ARGUMENT, BP_E_NOT_FOUND, BP_E_IO
 * (it cannot be read, or is not a regular file), BP_E_TRUNCATED (it ends before the header or the elements do),
 * BP_E_FORMAT (the header is not as the format says; two tensors have one name; places overlap or leave gaps),
 * BP_E_OVERFLOW (the header is above 100 MB, or a size above 2^63), BP_E_NO_MEMORY. */
BP_API bp_status bp_weights_open(bp_weights **weights, const char *path);

/* Closes the file, when no graph holds tensors of it. NULL is allowed. */
BP_API void bp_weights_close(bp_weights *weights);

/* A tensor of a file. */
typedef struct bp_weight_info {
    size_t struct_size; /* set by the caller: sizeof(bp_weight_info) */
    const char *name;
    const char *type; /* as the file names it: "F32", "BF16", "F8_E4M3" */
    bp_dtype dtype;   /* BP_DTYPE_NONE: a type that the library does not have */
    int ndim;
    const int64_t *shape;
} bp_weight_info;

/* Fills *info with tensor `index` (0, 1, ..., in the order of the file) and returns 1; returns 0 past the end. Valid as
 * long as the object. */
BP_API int bp_weights_at(const bp_weights *weights, int index, bp_weight_info *info);

/* Returns the index of the tensor with this name; -1 if there is none. */
BP_API int bp_weights_index(const bp_weights *weights, const char *name);

/* Fills a view of tensor `index`, whose elements are in memory of the object. They are read from the file at the first
 * use, are in row-major order, begin at a multiple of 64 bytes, and must not be written; bytes of bool become 0 and 1.
 * The view is valid until bp_weights_close(). Errors: BP_E_ARGUMENT, BP_E_DTYPE (dtype is BP_DTYPE_NONE), BP_E_IO,
 * BP_E_TRUNCATED (the file became shorter), BP_E_NO_MEMORY. */
BP_API bp_status bp_weights_view(bp_view *view, bp_weights *weights, int index);

/* Adds a constant with the elements of a tensor of the file. `name` is the constant's; NULL: the tensor's. Nothing is
 * copied: all graphs with the tensor share its memory, and hold it after bp_weights_close(). Errors: as
 * bp_graph_constant() and bp_weights_view(); BP_E_NOT_FOUND (no such tensor). */
BP_API bp_status bp_graph_weight(bp_graph *graph, const char *name, bp_weights *weights, const char *tensor,
                                 bp_value *value);

#ifdef __cplusplus
}
#endif
#endif
