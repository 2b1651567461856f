/* onednn.h - declarations that the files of the onednn provider share: convolutions on oneDNN 3.
 *
 * accept.c describes the operands as oneDNN sees them, and refuses what it computes with reference loops. It is pure.
 * plan.c makes the primitive, whose weight has a layout of the library's choice, and the primitive that converts the
 * caller's weight to it. run.c runs both; a packed weight skips the conversion. The provider's instance is the
 * library's driver.
 */
#ifndef BP_ONEDNN_ONEDNN_H
#define BP_ONEDNN_ONEDNN_H

#include "backplane/provider.h"
#include "providers/driver/driver.h"
#include "providers/onednn/api.h"

#include <stdbool.h>

enum { BP__ONEDNN_NDIM = 2 + BP_MAX_CONV_NDIM };

/* A tensor: items or groups first. Strides are in elements. */
typedef struct bp__onednn_tensor {
    int ndim;
    int64_t size[BP__ONEDNN_NDIM + 1], stride[BP__ONEDNN_NDIM + 1];
} bp__onednn_tensor;

typedef enum bp__onednn_kind {
    BP__ONEDNN_CONVOLVE,  /* CONV */
    BP__ONEDNN_TRANSPOSE, /* CONV_INPUT, as a deconvolution, which takes bias and relu */
    BP__ONEDNN_GRADIENT   /* CONV_WEIGHT */
} bp__onednn_kind;

/* A call of the library, as the problem implies it. */
typedef struct bp__onednn_call {
    bp__onednn_kind kind;
    int type;                                 /* a data type of the library */
    int fpmath;                               /* how f32 may be rounded */
    int ndim;                                 /* positions: 1 to 3 */
    bp__onednn_tensor source, weight, result; /* CONV_WEIGHT: X, W and Y */
    int64_t bias;                             /* elements; 0: none */
    int64_t stride[BP_MAX_CONV_NDIM], dilation[BP_MAX_CONV_NDIM], begin[BP_MAX_CONV_NDIM], end[BP_MAX_CONV_NDIM];
    bool relu, deterministic;
    bool swapped; /* CONV_WEIGHT: Y is the first operand and X the second */
    bp__thread_setup setup;
} bp__onednn_call;

void bp__onednn_accept(void *driver, const bp_problem *problem, bp_offers *offers);

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
    void *source, *weight, *result, *bias, *scratchpad; /* of the primitive */
    void *from, *to;                                    /* of the conversion of the weight */
} bp__onednn_run;

typedef struct bp__onednn_plan {
    bp_prepared prepared; /* must be first */
    bp__driver *driver;
    bp__onednn_call call;
    bp__onednn_api api;
    int (*set_deterministic)(void *attributes, int value); /* NULL in versions without it */
    void *engine;
    void *source, *weight, *result, *bias; /* descriptions; the weight's is the caller's */
    void *description, *primitive;
    const void *own_weight;                /* the library's layout; belongs to `description` */
    void *conversion;                      /* between both layouts; NULL: they are equal */
    size_t weight_bytes, scratchpad_bytes; /* rounded up to 64 */
    _Atomic(bp__onednn_run *) spare;       /* kept for the next run */
} bp__onednn_plan;

bp_status bp__onednn_plan_make(void *driver, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                               bp_prepared **prepared);

/* Returns BP_OK for 0, else fails with the library's status. */
bp_status bp__onednn_status(const bp__onednn_plan *plan, int error, const char *what);

/* ---- run.c ---- */

bp_status bp__onednn_enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);
bp_status bp__onednn_pack(const bp_prepared *self, int operand, const bp_operand *source, bp_packed **result);
void bp__onednn_free_run(const bp__onednn_plan *plan, bp__onednn_run *run); /* NULL is allowed */

#endif
