/* parts.h - declares what the files of the double share. */
#ifndef BP_TESTS_CUDNN_PARTS_H
#define BP_TESTS_CUDNN_PARTS_H

#include "double.h"

#include "cuda/libraries/driver.h"
#include "providers/cudnn/api.h"

#include "backplane/version.h"

BP_API extern cudnn_controls cudnn_double;

#define X(result, name, symbol, parameters) BP_API result symbol parameters;
BP__CUDNN_FUNCTIONS(X)
#undef X

/* Counts a violation, and returns the status. */
cudnnStatus_t double_violate(cudnnStatus_t status, const char *what);
bool double_has(cudnn_fault fault);

/* First member of what is never freed, so that its use after the end is noticed. */
typedef struct kept {
    struct kept *next;
} kept;
/* Returns zeroed memory that begins with a `kept`, which stays reachable; NULL without memory. */
void *double_keep(size_t size);

/* ---- Descriptors (descriptors.c) ---- */

enum { ATTRIBUTES_MOST = 12, TENSORS_MOST = 48, OPERATIONS_MOST = 32, NDIM_MOST = 8 };

/* A value that was set. */
typedef struct attribute {
    unsigned name, type;
    int64_t count;
    void *values;
} attribute;

typedef struct descriptor {
    kept kept;
    unsigned magic, type;
    bool finalized, destroyed;
    int count;
    attribute attributes[ATTRIBUTES_MOST];
    unsigned notes; /* of an engine */
    int64_t engine, workspace;
    struct descriptor *from[2]; /* what an engine and its configuration belong to: graph, configuration */
    struct executable *made;    /* of a plan */
} descriptor;

/* Returns a descriptor that exists; NULL with a violation. */
descriptor *double_descriptor(void *given);
const attribute *double_attribute(const descriptor *of, unsigned name); /* NULL: was not set */
int64_t double_integer(const descriptor *of, unsigned name, int index);
unsigned double_word(const descriptor *of, unsigned name);
double double_factor(const descriptor *of, unsigned name);
descriptor *double_child(const descriptor *of, unsigned name, int index);
size_t double_bytes_of_type(unsigned attribute_type); /* 0: an unknown type */

/* ---- Rules (rules.c) ---- */

/* Returns the status of setting an attribute, or of finalizing; with a violation if it is a mistake. */
cudnnStatus_t double_may_set(const descriptor *of, unsigned name, unsigned type, int64_t count, const void *values);
cudnnStatus_t double_may_finalize(descriptor *of);

/* ---- Graphs (graphs.c) ---- */

typedef struct tensor {
    int64_t uid, alignment;
    unsigned type; /* a cudnnDataType_t */
    int ndim;
    int64_t size[NDIM_MOST], stride[NDIM_MOST];
    bool is_virtual, is_number; /* a number is in the host's memory */
} tensor;

typedef struct operation {
    unsigned type, mode; /* of the descriptor; the function, or the kind of a reduction */
    int in[3], out;      /* tensors; -1: there are fewer inputs. in[2] is a condition */
    int64_t axis;
    int spatial;
    int64_t before[NDIM_MOST], after[NDIM_MOST], step[NDIM_MOST], dilation[NDIM_MOST];
    double alpha, beta;
} operation;

/* What an engine runs. */
typedef struct executable {
    const descriptor *plan;
    int64_t engine, workspace;
    int tensor_count, operation_count;
    tensor tensors[TENSORS_MOST];
    operation operations[OPERATIONS_MOST];
} executable;

/* Reads a graph; CUDNN_STATUS_BAD_PARAM if sizes do not fit. */
cudnnStatus_t double_read_graph(const descriptor *graph, executable *into);
cudnnStatus_t double_check_operation(const descriptor *of);

static inline bool double_is_pointwise(const operation *o, unsigned mode) {
    return o->type == BP__CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR && o->mode == mode;
}

/* ---- Attention (attention.c) ---- */

/* Returns whether a graph is attention or its gradients, operation by operation, as the library recognizes it. */
bool double_is_attention(const executable *e);
/* Returns whether the library has kernels for its sizes; a violation if these read rows that are not where they expect
 * them, because the library does not check that. */
bool double_has_attention(const executable *e);

/* ---- Engines (engines.c) ---- */

/* Fills engine configurations of a list, at most `most`; returns how many the list has. */
int64_t double_list(const descriptor *heuristic, int64_t most, void *const *configs);
/* Makes *made from the plan's configuration, or refuses. */
cudnnStatus_t double_make_plan(descriptor *plan);

/* ---- Values (values.c, functions.c) ---- */

/* The elements of all tensors in row-major order. */
typedef struct run_values {
    const executable *what;
    long double *of[TENSORS_MOST];
    int number_of_run;
} run_values;

int64_t double_count(const tensor *t);
long double double_round(unsigned type, long double value); /* to a cudnnDataType_t */
/* Computes an operation that is no convolution. */
void double_apply(const run_values *v, const operation *o);

/* Runs all operations. `pointers` are of the tensors that are not virtual. */
void double_run(const executable *what, const uint64_t *pointers, uint64_t workspace, int number_of_run);

#endif
