/* onednn.h - declarations that the files of the onednn provider share: convolutions, matrix products, averages of
 * windows, batch normalization and recurrent layers on oneDNN 3.
 *
 * A file for each family describes the operands as oneDNN sees them, and refuses what it computes with reference loops,
 * or not as our headers say. accept.c chooses threads and makes the offers. All of that is pure. plan.c makes the
 * primitive, and those that convert operands to the layouts of the library's choice. run.c runs them; a packed operand
 * skips the conversion. stage.c prepares what a recurrent layer reads and no tensor of the caller has. The provider's
 * instance is the library's driver.
 */
#ifndef BP_ONEDNN_ONEDNN_H
#define BP_ONEDNN_ONEDNN_H

#include "backplane/provider.h"
#include "providers/driver/driver.h"
#include "providers/onednn/api.h"

#include <stdbool.h>

/* Nanoseconds of a layer of a network on several threads: while they wait, the threads of an OpenMP runtime and the
 * threads of other operations keep each other from running. In a network that alternates between both this took more
 * than a millisecond for each call. */
#define BP__ONEDNN_TEAM_NS 1000000

enum { BP__ONEDNN_NDIM = 3 + BP_MAX_CONV_NDIM, BP__ONEDNN_MOST_OPERANDS = 10 };

/* A tensor: items or groups first. Strides are in elements. */
typedef struct bp__onednn_tensor {
    int ndim;
    int64_t size[BP__ONEDNN_NDIM], stride[BP__ONEDNN_NDIM];
} bp__onednn_tensor;

typedef enum bp__onednn_kind {
    BP__ONEDNN_CONVOLVE,         /* CONV */
    BP__ONEDNN_TRANSPOSE,        /* CONV_INPUT, as a deconvolution, which takes bias and relu */
    BP__ONEDNN_GRADIENT,         /* CONV_WEIGHT */
    BP__ONEDNN_MULTIPLY,         /* GEMM */
    BP__ONEDNN_AVERAGE,          /* AVG_POOL */
    BP__ONEDNN_AVERAGE_BACKWARD, /* AVG_POOL_BACKWARD */
    BP__ONEDNN_NORMALIZE,        /* BATCH_NORM */
    BP__ONEDNN_RECUR             /* RNN */
} bp__onednn_kind;

/* An operand of the primitive, and which one it is of the problem. */
typedef struct bp__onednn_operand {
    int argument; /* its number in the library */
    int index;    /* of the problem */
    int type;     /* a data type of the library */
    bp__onednn_tensor tensor;
} bp__onednn_operand;

/* Places of operands in a call. The image of a gradient is SOURCE although it may be written. From ITER on: the places
 * of recurrent layers; normalization has its statistics there. */
enum {
    BP__ONEDNN_SOURCE,
    BP__ONEDNN_WEIGHT,
    BP__ONEDNN_RESULT,
    BP__ONEDNN_BIAS,
    BP__ONEDNN_ITER, /* weight of the hidden state */
    BP__ONEDNN_PROJECTION,
    BP__ONEDNN_HIDDEN, /* states before the first step */
    BP__ONEDNN_CELL,
    BP__ONEDNN_LAST_HIDDEN, /* and after the last */
    BP__ONEDNN_LAST_CELL
};

/* How the library computes a call. */
typedef enum bp__onednn_way {
    BP__ONEDNN_BY_KERNEL, /* or it is not known yet */
    BP__ONEDNN_BY_LOOPS,  /* reference loops */
    BP__ONEDNN_BY_ITEMS,  /* products of a batch one by one */
    BP__ONEDNN_BY_COLUMNS /* a convolution as products of copied columns, image by image */
} bp__onednn_way;

/* A call of the library, as the problem implies it. */
typedef struct bp__onednn_call {
    bp__onednn_kind kind;
    int fpmath;                                           /* how f32 may be rounded */
    bp__onednn_operand operand[BP__ONEDNN_MOST_OPERANDS]; /* argument 0: absent */
    uint32_t own;                                         /* a bit for each place whose layout the library chooses */
    uint32_t staged;                                      /* and that stage.c prepares in the workspace, compact */
    uint32_t packs;                                       /* as in bp_verdict */
    int ndim;                                             /* positions of an image: 1 to 3 */
    int64_t kernel[BP_MAX_CONV_NDIM];                     /* of pooling */
    int64_t stride[BP_MAX_CONV_NDIM], dilation[BP_MAX_CONV_NDIM], begin[BP_MAX_CONV_NDIM], end[BP_MAX_CONV_NDIM];
    int algorithm;  /* of pooling; activation of RNN */
    int direction;  /* of a recurrent layer */
    unsigned flags; /* of a normalization */
    float eps;
    bool relu, adds, deterministic; /* adds: to the result */
    bp__onednn_way way;             /* as an earlier plan found */
    bp__thread_setup setup;
} bp__onednn_call;

void bp__onednn_accept(void *driver, const bp_problem *problem, bp_offers *offers);

/* ---- Families ---- */

/* Describe a call, except for its threads. Return NULL, or why the library does not take the problem. */
const char *bp__onednn_describe_conv(bp__onednn_call *call, const bp_problem *problem);
const char *bp__onednn_describe_product(bp__onednn_call *call, const bp_problem *problem);
const char *bp__onednn_describe_pool(bp__onednn_call *call, const bp_problem *problem);
const char *bp__onednn_describe_normalization(bp__onednn_call *call, const bp_problem *problem);
const char *bp__onednn_describe_recurrent(bp__onednn_call *call, const bp_problem *problem);

/* Return the estimated nanoseconds. */
double bp__onednn_conv_ns(const bp__driver *driver, const bp_problem *problem, const bp__onednn_call *call,
                          int threads);
double bp__onednn_product_ns(const bp__driver *driver, const bp_problem *problem, const bp__onednn_call *call,
                             int threads);
double bp__onednn_pool_ns(const bp__driver *driver, const bp_problem *problem, const bp__onednn_call *call,
                          int threads);
double bp__onednn_normalization_ns(const bp__driver *driver, const bp_problem *problem, const bp__onednn_call *call,
                                   int threads);
double bp__onednn_recurrent_ns(const bp__driver *driver, const bp_problem *problem, const bp__onednn_call *call,
                               int threads);

/* ---- Ways without a kernel (reference.c) ---- */

/* Returns how the library computes a described primitive. */
struct bp__onednn_plan;
bp__onednn_way bp__onednn_way_of(const struct bp__onednn_plan *plan);
/* Note that, and return what was noted for an equal call. */
void bp__onednn_note_way(const bp__driver *driver, const bp__onednn_call *call, bp__onednn_way way);
bp__onednn_way bp__onednn_noted_way(const bp__driver *driver, const bp__onednn_call *call);

/* ---- Tensors (tensors.c) ---- */

/* The type of the library; 0 if it has none. */
int bp__onednn_type(uint32_t dtype);
double bp__onednn_elements(const bp__onednn_tensor *tensor);
/* Multiply-adds of f32 per nanosecond on one thread. */
double bp__onednn_rate(const bp__driver *driver);
/* Gives both images the strides of one layout, contiguous or channels-last. Returns false if they have no common one.
 */
bool bp__onednn_is_image(bp__onednn_tensor *x, bp__onednn_tensor *y);
/* Returns whether a tensor is channels-last, and gives it the strides of that layout. */
bool bp__onednn_is_last(bp__onednn_tensor *t);
/* Gives dimensions of size 1 a stride beyond the others. Returns whether all strides are positive, and each one spans
 * the dimensions with smaller ones. */
bool bp__onednn_is_nested(bp__onednn_tensor *tensor);

/* ---- Plans (plan.c) ---- */

typedef struct bp__onednn_api {
#define X(name, result, arguments) result(*name) arguments;
#define ENUM(name) int
    BP__ONEDNN_FUNCTIONS(X, void *, void *, void *, const void *, void *, void *, const void *, void *, const void *,
                         void *, const void *, void *, const void *, bp__onednn_arg, ENUM, int64_t *)
#undef ENUM
#undef X
} bp__onednn_api;

/* What one run at a time needs: a stream, and memory objects, whose addresses are set for the run. */
typedef struct bp__onednn_run {
    void *stream;
    void *operand[BP__ONEDNN_MOST_OPERANDS], *scratchpad; /* of the primitive */
    void *address[BP__ONEDNN_MOST_OPERANDS + 1];          /* theirs in the last run, the scratchpad's at the end */
    void *from[BP__ONEDNN_MOST_OPERANDS], *to[BP__ONEDNN_MOST_OPERANDS]; /* of conversions */
} bp__onednn_run;

/* The conversion of an operand to the layout of the library's choice, or of a written one back. */
typedef struct bp__onednn_conversion {
    const void *own; /* that layout; belongs to the primitive's description; NULL: the caller's */
    void *primitive; /* NULL: both layouts are equal */
    size_t at;       /* of the converted operand in the workspace */
} bp__onednn_conversion;

typedef struct bp__onednn_plan {
    bp_prepared prepared; /* must be first */
    bp__driver *driver;
    bp__onednn_call call;
    bp__onednn_api api;
    int (*set_deterministic)(void *attributes, int value); /* NULL in versions without it */
    void *engine;
    void *operand[BP__ONEDNN_MOST_OPERANDS]; /* descriptions, as the caller has them or stage.c makes them */
    void *description, *primitive;
    bp__onednn_conversion conversion[BP__ONEDNN_MOST_OPERANDS];
    size_t staged[BP__ONEDNN_MOST_OPERANDS], scratchpad; /* places in the workspace */
    bool has_scratchpad;
    bp_rnn_problem layer;            /* of a recurrent layer */
    _Atomic(bp__onednn_run *) spare; /* kept for the next run */
} bp__onednn_plan;

/* Returns whether a call writes the operand at a place whose layout the library chooses. */
static inline bool bp__onednn_writes(const bp__onednn_call *call, int place) {
    return place == (call->kind == BP__ONEDNN_GRADIENT ? BP__ONEDNN_WEIGHT : BP__ONEDNN_RESULT);
}

bp_status bp__onednn_plan_make(void *driver, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                               bp_prepared **prepared);

/* Returns BP_OK for 0, else fails with the library's status. */
bp_status bp__onednn_status(const bp__onednn_plan *plan, int error, const char *what);

/* Describes the primitive of a plan (primitives.c), with descriptions of its operands. */
int bp__onednn_describe_primitive(bp__onednn_plan *plan, void *const *operand, void *attributes);

/* ---- stage.c ---- */

/* Returns the bytes of a staged operand. */
size_t bp__onednn_staged_bytes(const bp__onednn_operand *operand);
/* Writes a staged operand to `to`. `operands` are the operands of the problem. */
void bp__onednn_stage(const bp__onednn_plan *plan, int place, const bp_operand *operands, void *to);
/* Writes a staged weight, which is at `from`. */
void bp__onednn_stage_weight(const bp__onednn_plan *plan, int place, const void *from, void *to);

/* ---- run.c ---- */

bp_status bp__onednn_enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);
bp_status bp__onednn_pack(const bp_prepared *self, int operand, const bp_operand *source, bp_packed **result);
void bp__onednn_free_run(const bp__onednn_plan *plan, bp__onednn_run *run); /* NULL is allowed */

#endif
