/* graph_backend.h - backends of graphs: functions of the program that run regions of a graph in their own way.
 *
 * A region is a part of a graph: neighbouring functions of single elements (unary, binary, where) whose results have
 * one shape. Backplane's own backend, "blocks", runs all of them on one block of elements after another. A program adds
 * a further one, which generates code, for example. It is asked when a plan is made, and may refuse a region with a
 * reason:
 *
 *     bp_graph_backend mine = {.struct_size = sizeof mine, .name = "mine", .description = "my compiler",
 *                              .accept = accept, .plan = plan, .run = run, .destroy = destroy};
 *     bp_graph_backend_add(&mine);
 *
 * The choice: of the backends that accept, the one with the least estimated time. The setting graph.backend has names
 * in order of preference, "mine, other", and names with "-" in front, "-blocks", of backends that run no region. If
 * none runs a region, its nodes are parts of their own. A name that no backend has is an error of the run
 * (BP_E_ARGUMENT). bp_graph_explain() says which backend runs a region, what it costs, and why others do not.
 *
 * "blocks" gives the bytes of the nodes one by one. The bytes of another backend are its own.
 */
#ifndef BACKPLANE_GRAPH_BACKEND_H
#define BACKPLANE_GRAPH_BACKEND_H

#include "backplane/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A value of a region: inputs, then outputs, then values that only the region's nodes read. All of them are broadcast
 * to the region's shape. */
typedef struct bp_region_value {
    bp_dtype dtype;
    const int64_t *strides; /* of inputs and outputs: in elements, for each dimension of the region; 0: repeated. Else
                               NULL */
    const void *constant;   /* the first element of a constant of the graph; NULL: another value. Valid as long as the
                               plan */
} bp_region_value;

/* A function of a region. Its result has its own type (bp_region_value.dtype), to which it is rounded. */
typedef struct bp_region_node {
    const char *call;     /* "unary", "binary" or "where" */
    const char *function; /* the word of its field kind: "add", "clip"; "" for where */
    int number_count;     /* of a unary function: numbers that it takes at most (elementwise.h) */
    double number[2];     /* NaN: not given */
    int operand_count;
    int operand[3]; /* values: inputs in the order of the call */
    int result;     /* a value */
    int node;       /* its number in the graph, as in messages */
} bp_region_node;

/* A region, for tensors of known layouts. Valid during the call only. */
typedef struct bp_region {
    size_t struct_size;
    int ndim;
    const int64_t *shape; /* without sizes of 0 */
    int input_count, output_count, value_count, node_count;
    const bp_region_value *values;
    const bp_region_node *nodes; /* each one after those whose results it reads */
    int threads;                 /* most that a run may use */
    int deterministic;           /* 0 off, 1 run, 2 threads: what the offer must guarantee */
} bp_region;

/* What a backend tells about a region that it runs. */
typedef struct bp_region_offer {
    size_t struct_size;
    double cost_ns;      /* estimated time of a run */
    int threads;         /* that a run uses */
    unsigned properties; /* BP_PROPERTY_REPRODUCIBLE, BP_PROPERTY_THREAD_INVARIANT, BP_PROPERTY_PROPAGATES_NAN */
    size_t workspace;    /* bytes that each run gets, aligned to 64 */
    char reason[192];    /* of a refusal: why, without a capital or full stop */
} bp_region_offer;

/* A backend. Its functions may be called by several threads at once, and in a child of fork. They may call the library,
 * but accept() and plan() must not add or remove backends. All but `release` are required. */
typedef struct bp_graph_backend {
    size_t struct_size;      /* sizeof(bp_graph_backend) */
    const char *name;        /* 1 to 63 letters, digits, '_' and '-', the first one a letter; copied */
    const char *description; /* one line; copied */
    void *user;              /* handed to accept(), plan() and release() */
    /* Returns 1 and fills the offer, or returns 0 with the reason. Cheap, and without side effects. */
    int (*accept)(void *user, const bp_region *region, bp_region_offer *offer);
    /* Prepares the runs of an accepted region. BP_E_UNSUPPORTED is a late refusal: another backend runs the region. So
     * it is after other failures, unless dispatch.fallback=strict; dispatch.fallback=warn warns. */
    bp_status (*plan)(void *user, const bp_region *region, void **planned);
    /* Computes the outputs from the inputs: the addresses of the first elements, inputs first. Outputs overlap nothing.
     * The first failure is the graph's; BP_E_CANCELLED ends the run as an interrupt check does. */
    bp_status (*run)(void *planned, void *const *addresses, void *workspace);
    void (*destroy)(void *planned); /* frees what plan() made, when the plan is freed */
    void (*release)(void *user);    /* NULL, or called once after the backend was removed and its last plan was freed */
} bp_graph_backend;

/* Adds a backend. Graphs that were planned before are planned again. Errors: BP_E_ARGUMENT (the name is taken or wrong,
 * a function is NULL, more than 32 backends), BP_E_NO_MEMORY. */
BP_API bp_status bp_graph_backend_add(const bp_graph_backend *backend);

/* Removes a backend by its name: new plans do not use it, and graphs that it runs are planned again. Its functions and
 * `user` must stay until release() is called, because plans use them: those that the program holds, the ones of a run
 * in another thread, and those that a graph keeps until it has a new one or is released. Errors: BP_E_ARGUMENT (there
 * is none of that name; "blocks" cannot be removed). bp_reset() fails until release() was called. */
BP_API bp_status bp_graph_backend_remove(const char *name);

/* A backend in the list. */
typedef struct bp_graph_backend_info {
    size_t struct_size; /* set by the caller: sizeof(bp_graph_backend_info) */
    char name[64];
    char description[192]; /* cut if it is longer */
} bp_graph_backend_info;

/* Fills *info with backend `index` (0: "blocks", then the backends of the program in the order in which they were
 * added) and returns 1; returns 0 past the end. */
BP_API int bp_graph_backend_at(int index, bp_graph_backend_info *info);

#ifdef __cplusplus
}
#endif
#endif
