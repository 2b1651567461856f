/* cudnn.h - declares what the files of the cudnn provider share.
 *
 * cuDNN computes operation graphs: tensors and operations, each a descriptor. Its heuristics list engines for a graph,
 * the fastest first, and an engine makes an execution plan of the graph. A plan of ours is a sequence of such calls and
 * of copies between operands and the workspace, for layouts that cuDNN does not take. A family of operations describes
 * its graphs and its steps; the other files are the same for all families. */
#ifndef BP_PROVIDERS_CUDNN_H
#define BP_PROVIDERS_CUDNN_H

#include "providers/cuda/vendor.h"
#include "providers/cudnn/api.h"

enum { BP__CUDNN_NDIM = 5, BP__CUDNN_ALIGNMENT = 16, BP__CUDNN_WORKSPACE_ALIGNMENT = 256 };

/* ---- The library (load.c) ---- */

typedef struct bp__cudnn_prepared bp__cudnn_prepared;

typedef struct bp__cudnn_device {
    bp__cu_part part; /* must be first */
    cudnnHandle_t handle;
    pthread_mutex_t mutex;        /* the handle and its stream; heuristics and plans, too */
    bp__cudnn_prepared *captured; /* under the instance's mutex: released plans that graphs may still run */
} bp__cudnn_device;

typedef struct bp__cudnn_instance {
    bp__cu_vendor vendor; /* must be first */
    bp__cudnn_api api;    /* the functions, once a plan was made */
} bp__cudnn_instance;

bp_status bp__cudnn_open(const bp_host *host, const bp_library_info *library, void **opened);
/* Fails with the name of a status, and with what the library says about its last error. */
bp_status bp__cudnn_fail(const bp__cudnn_instance *instance, const bp__cudnn_device *on, cudnnStatus_t status,
                         const char *what);

/* ---- Graphs (graph.c) ---- */

enum { BP__CUDNN_DESCRIPTORS = 128, BP__CUDNN_OPERATIONS = 32 };

/* Descriptors of a graph. After the first failure nothing more is made; `status` has it. */
typedef struct bp__cudnn_graph {
    const bp__cudnn_api *api;
    cudnnHandle_t handle;            /* NULL: `device` describes the device, which need not exist */
    cudnnBackendDescriptor_t device; /* the caller's */
    cudnnStatus_t status;
    int made_count, operation_count;
    cudnnBackendDescriptor_t made[BP__CUDNN_DESCRIPTORS], operations[BP__CUDNN_OPERATIONS];
    cudnnBackendDescriptor_t whole; /* once the graph is complete */
} bp__cudnn_graph;

typedef struct bp__cudnn_tensor {
    uint32_t type; /* a cudnnDataType_t */
    int ndim;
    int64_t size[BP__CUDNN_NDIM], stride[BP__CUDNN_NDIM]; /* elements */
} bp__cudnn_tensor;

void bp__cudnn_graph_begin(bp__cudnn_graph *graph, const bp__cudnn_api *api, cudnnHandle_t handle,
                           cudnnBackendDescriptor_t device);
void bp__cudnn_graph_free(bp__cudnn_graph *graph);

/* Make a descriptor, set attributes of it, and finalize it. A descriptor belongs to the graph. */
cudnnBackendDescriptor_t bp__cudnn_new(bp__cudnn_graph *graph, cudnnBackendDescriptorType_t type);
void bp__cudnn_set(bp__cudnn_graph *graph, cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
                   cudnnBackendAttributeType_t type, int64_t count, const void *values);
void bp__cudnn_set_number(bp__cudnn_graph *graph, cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
                          cudnnBackendAttributeType_t type, uint32_t value); /* a word of an enumeration */
void bp__cudnn_set_descriptor(bp__cudnn_graph *graph, cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
                              cudnnBackendDescriptor_t value);
void bp__cudnn_finalize(bp__cudnn_graph *graph, cudnnBackendDescriptor_t of);

/* Adds a tensor. `uid` names it in the graph and in runs; its address is a multiple of `alignment` bytes. */
cudnnBackendDescriptor_t bp__cudnn_add_tensor(bp__cudnn_graph *graph, const bp__cudnn_tensor *tensor, int64_t uid,
                                              int64_t alignment);
/* Adds a tensor between two operations, which has no memory. */
cudnnBackendDescriptor_t bp__cudnn_add_virtual(bp__cudnn_graph *graph, const bp__cudnn_tensor *tensor, int64_t uid);
/* A function of the elements of x, and of b and a condition unless these are NULL. `axis` is the dimension of indices.
 */
typedef struct bp__cudnn_pointwise {
    uint32_t mode, compute;
    cudnnBackendDescriptor_t x, b, condition, y;
    const int64_t *axis;
} bp__cudnn_pointwise;
void bp__cudnn_add_pointwise_of(bp__cudnn_graph *graph, const bp__cudnn_pointwise *of);
/* As above, without condition and axis. */
void bp__cudnn_add_pointwise(bp__cudnn_graph *graph, uint32_t mode, uint32_t compute, cudnnBackendDescriptor_t x,
                             cudnnBackendDescriptor_t b, cudnnBackendDescriptor_t y);
/* Takes a finalized operation as the next one of the graph. */
void bp__cudnn_add_operation(bp__cudnn_graph *graph, cudnnBackendDescriptor_t operation);
void bp__cudnn_graph_complete(bp__cudnn_graph *graph);

/* ---- Engines (heuristics.c, filter.c) ---- */

/* What an engine is, and its place in the list. */
typedef struct bp__cudnn_engine {
    int64_t number;   /* in the library */
    uint32_t notes;   /* bit i: it has note i */
    int rank;         /* among the engines that the filter permits */
    bool is_fallback; /* of the list of engines that work without being fast */
    cudnnBackendDescriptor_t config;
} bp__cudnn_engine;

/* The plan of an engine. */
typedef struct bp__cudnn_execution {
    cudnnBackendDescriptor_t plan;
    int64_t workspace; /* bytes */
    bp__cudnn_engine engine;
} bp__cudnn_execution;

/* What an engine must not be. */
typedef struct bp__cudnn_filter {
    uint32_t refused;  /* mask of notes */
    int64_t workspace; /* bytes at most */
    int rank;          /* the only one that is taken; -1: all */
} bp__cudnn_filter;

/* Calls visit() for each engine that the filter permits, the fastest first, until it returns true: then the caller owns
 * the engine's `config`, which is otherwise valid during the call only. */
typedef bool (*bp__cudnn_visit)(void *user, const bp__cudnn_graph *graph, const bp__cudnn_engine *engine);
cudnnStatus_t bp__cudnn_each_engine(const bp__cudnn_graph *graph, const bp__cudnn_filter *filter, bp__cudnn_visit visit,
                                    void *user);
/* Makes the plan of an engine, which needs the graph and `config`; false if the engine cannot. */
bool bp__cudnn_execution_make(const bp__cudnn_graph *graph, const bp__cudnn_engine *engine,
                              bp__cudnn_execution *execution);
void bp__cudnn_execution_drop(const bp__cudnn_api *api, bp__cudnn_execution *execution); /* keeps `config` */
void bp__cudnn_execution_free(const bp__cudnn_api *api, bp__cudnn_execution *execution);
/* Makes the plan of the first engine that can. Returns CUDNN_STATUS_NOT_SUPPORTED if there is none. */
cudnnStatus_t bp__cudnn_first_execution(const bp__cudnn_graph *graph, const bp__cudnn_filter *filter,
                                        bp__cudnn_execution *execution);
/* Writes "engine 45, tensor cores, workspace of 131 bytes". */
void bp__cudnn_tell_execution(const bp__cudnn_execution *execution, char *text, size_t size);

/* Returns the notes that the settings of a problem refuse. `direct`: sums of products only. */
uint32_t bp__cudnn_refused_notes(const bp_problem *problem, bool direct);
bool bp__cudnn_must_repeat(const bp_policy *policy); /* bits must be the same in the next run */

/* ---- Plans (plan.c) ---- */

enum { BP__CUDNN_CALLS = 2, BP__CUDNN_STEPS = 14, BP__CUDNN_TENSORS = 16, BP__CUDNN_NUMBERS_MOST = 3 };

/* The memory of a tensor: an operand, a part of the workspace, or a number in the host's memory. */
enum { BP__CUDNN_WORKSPACE = -1, BP__CUDNN_NUMBER = -2 };
typedef struct bp__cudnn_place {
    int8_t operand;
    uint64_t at; /* bytes, in the workspace; of a number, which one it is */
} bp__cudnn_place;

/* Tensor `uid` of a graph. */
typedef struct bp__cudnn_binding {
    int64_t uid;
    bp__cudnn_place place;
    uint64_t bytes;
} bp__cudnn_binding;

typedef enum bp__cudnn_work { BP__CUDNN_CALL, BP__CUDNN_COPY, BP__CUDNN_FILL } bp__cudnn_work;

/* A call of the library, a copy, or bytes of one value. */
typedef struct bp__cudnn_step {
    bp__cudnn_work work;
    int32_t call; /* its number */
    uint8_t value;
    uint64_t bytes; /* that are filled */
    bp__cudnn_place to, from;
    bp_transfer copy; /* without its two operands */
} bp__cudnn_step;

/* Describes a graph: the call's tensors and operations. Doing so again, for another alignment, gives the same ones. */
typedef void (*bp__cudnn_describe)(const void *what, int call, bp__cudnn_graph *graph, int64_t alignment);

/* What a run does. A family makes it. */
typedef struct bp__cudnn_sequence {
    bp__cudnn_describe describe;
    int call_count, step_count;
    int binding_count[BP__CUDNN_CALLS];
    bp__cudnn_binding bindings[BP__CUDNN_CALLS][BP__CUDNN_TENSORS];
    bp__cudnn_step steps[BP__CUDNN_STEPS];
    uint64_t buffers; /* bytes of the workspace, before the library's part */
    int64_t item;     /* bytes of an element: the least alignment */
    bool aligned;     /* no engine takes addresses that are no multiples of BP__CUDNN_ALIGNMENT */
    int number_count;
    float numbers[BP__CUDNN_NUMBERS_MOST];
    bp__cudnn_filter filter; /* its rank is the first call's */
    uint32_t refused_later;  /* notes that later calls refuse, too */
    int64_t measured;        /* most engines of the first call that are measured; 0: none */
} bp__cudnn_sequence;

/* Adds bytes to the workspace; returns where they begin. */
uint64_t bp__cudnn_reserve(bp__cudnn_sequence *sequence, uint64_t bytes);
void bp__cudnn_bind(bp__cudnn_sequence *sequence, int call, int64_t uid, bp__cudnn_place place, uint64_t bytes);
void bp__cudnn_add_call(bp__cudnn_sequence *sequence, int call);
void bp__cudnn_add_fill(bp__cudnn_sequence *sequence, bp__cudnn_place to, uint8_t value, uint64_t bytes);
/* Adds a copy between two layouts; strides are in elements of `item` bytes, and 0 where an element is repeated. */
void bp__cudnn_add_copy(bp__cudnn_sequence *sequence, bp__cudnn_place to, const int64_t *to_stride,
                        bp__cudnn_place from, const int64_t *from_stride, int ndim, const int64_t *size);

/* The calls of a plan for addresses with one alignment. */
typedef struct bp__cudnn_calls {
    atomic_bool made;
    bp__cudnn_graph graph[BP__CUDNN_CALLS];
    bp__cudnn_execution execution[BP__CUDNN_CALLS];
} bp__cudnn_calls;

enum { BP__CUDNN_ALIGNED, BP__CUDNN_UNALIGNED, BP__CUDNN_ALIGNMENTS };

struct bp__cudnn_prepared {
    bp_prepared prepared; /* must be first */
    bp__cudnn_instance *instance;
    bp__cudnn_device *on;
    bp__cudnn_prepared *next; /* in the list of the device */
    atomic_bool captured;     /* graphs may have it */
    bp__cudnn_sequence sequence;
    bp__cudnn_calls calls[BP__CUDNN_ALIGNMENTS];
    max_align_t what[]; /* of the family */
};

/* Makes the plan of a sequence; `what` is copied, and passed to describe(). BP_E_UNSUPPORTED if no engine can. */
bp_status bp__cudnn_make(bp__cudnn_instance *instance, int32_t place, const bp__cudnn_sequence *sequence,
                         const void *what, size_t size, bp_prepared **prepared);
/* Makes the calls for an alignment unless they exist. The device was entered with `relaxed`. */
bp_status bp__cudnn_calls_make(bp__cudnn_prepared *plan, int alignment, int64_t most_workspace);
/* Destroys the descriptors of a plan, and frees it. Its context is current. */
void bp__cudnn_plan_free(bp__cudnn_prepared *plan);
bp_status bp__cudnn_enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec); /* run.c */

/* Makes the descriptor of the addresses of a call, which the caller destroys, also after a failure (run.c). */
cudnnStatus_t bp__cudnn_pack_make(const bp__cudnn_prepared *plan, int call, void **pointers, void *workspace,
                                  cudnnBackendDescriptor_t *pack);
/* Measures the engines of the first call, and returns the rank of the fastest; -1: none was measured (measure.c). The
 * device was entered with `relaxed`, and its mutex is held. */
int bp__cudnn_measure(const bp__cudnn_prepared *plan, const bp__cudnn_graph *graph, const bp__cudnn_filter *filter);

/* ---- Convolutions (conv.c, conv_graph.c) ---- */

enum { BP__CUDNN_X, BP__CUDNN_W, BP__CUDNN_Y, BP__CUDNN_SIDES };

/* How a bias is added to each channel of the result, or its gradient is made. */
typedef enum bp__cudnn_bias {
    BP__CUDNN_NO_BIAS,
    BP__CUDNN_IN_GRAPH, /* an operation behind the convolution adds it, and another one applies relu */
    BP__CUDNN_BEFORE,   /* the result is filled with it, and the convolution adds to the result */
    BP__CUDNN_GRADIENT  /* a second graph sums the gradient of the result */
} bp__cudnn_bias;

/* One of the three tensors of a convolution. */
typedef struct bp__cudnn_side {
    bp__cudnn_tensor tensor; /* compact, as cuDNN gets it */
    int8_t operand;
    bool buffered;                  /* a copy in the workspace is compact; the operand is not */
    int64_t stride[BP__CUDNN_NDIM]; /* of the operand */
    uint64_t bytes;                 /* of the tensor */
} bp__cudnn_side;

/* What accept() hands to plan(). */
typedef struct bp__cudnn_conv {
    uint32_t operation;                                        /* the descriptor of the operation */
    uint32_t compute;                                          /* a cudnnDataType_t */
    int32_t item;                                              /* bytes of an element */
    int32_t spatial;                                           /* number of positions */
    int64_t before[BP_MAX_CONV_NDIM], after[BP_MAX_CONV_NDIM]; /* padding */
    int64_t stride[BP_MAX_CONV_NDIM], dilation[BP_MAX_CONV_NDIM];
    bp__cudnn_side side[BP__CUDNN_SIDES];
    bp__cudnn_bias bias;
    bool has_bias; /* false: with IN_GRAPH, zeros are added, because relu needs a bias in the graph */
    bool relu;
    int8_t bias_operand, summed; /* summed: the side whose elements are the gradient's */
    int64_t bias_stride;
    bool channels_last;
} bp__cudnn_conv;

typedef struct bp__cudnn_offer {
    bp__cudnn_conv conv;
    uint32_t refused; /* notes */
    int32_t rank;     /* of the engine; -1: the first that can */
    int64_t measured; /* most engines that are measured */
} bp__cudnn_offer;

/* Fills *conv. Returns false with a refusal in *verdict. */
bool bp__cudnn_conv_of(const bp__cudnn_instance *instance, const bp_problem *problem, bp__cudnn_conv *conv,
                       bp_verdict *verdict);
/* Sets the strides of a compact tensor. */
void bp__cudnn_lay_out(const bp__cudnn_tensor *tensor, bool channels_last, int64_t *stride);
/* Returns the number of the side that is written. */
int bp__cudnn_result_of(const bp__cudnn_conv *conv);
/* Describes the graph, as bp__cudnn_describe; `what` is a bp__cudnn_conv. */
void bp__cudnn_conv_describe(const void *what, int call, bp__cudnn_graph *graph, int64_t alignment);
/* Makes the sequence of an offer on a device. */
void bp__cudnn_conv_sequence(const bp__cudnn_offer *offer, const bp_device_info *device, bp__cudnn_sequence *sequence);

/* ---- Candidates (accept.c) ---- */

void bp__cudnn_accept(void *instance, const bp_problem *problem, bp_offers *offers);
void bp__cudnn_expand(void *instance, const bp_problem *problem, const bp_verdict *offer, bp_offers *offers);
bp_status bp__cudnn_plan(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                         bp_prepared **prepared);

#endif
