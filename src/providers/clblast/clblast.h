/* clblast.h - declares what the files of the clblast provider share. */
#ifndef BP_CLBLAST_CLBLAST_H
#define BP_CLBLAST_CLBLAST_H

#include "providers/clblast/api.h"
#include "providers/opencl/objects.h"

/* The provider's instance for a library. */
typedef struct bp__clblast_instance {
    const bp_host *host;
    const bp_library_info *library;
    pthread_mutex_t mutex; /* guards loading */
    atomic_bool loaded;
    bp__clblast_api api;
} bp__clblast_instance;

/* How a product is expressed for the library. Batches of several dimensions are several calls. */
typedef struct bp__clblast_route {
    int layout, transpose_a, transpose_b;
    size_t m, n, k;
    size_t lda, ldb, ldc;
    size_t stride_a, stride_b, stride_c, count; /* of one call; count 1: a single product */
    int outer_ndim;                             /* of the batch's dimensions, the rest */
    size_t outer;                               /* number of calls */
    size_t extent;                              /* largest index of an element, from the operand's first one */
    uint32_t dtype;
} bp__clblast_route;

/* Fills *route. Returns NULL, or why the library cannot run the product. */
const char *bp__clblast_route_of(const bp_problem *problem, bp__clblast_route *route);

void bp__clblast_accept(void *instance, const bp_problem *problem, bp_offers *offers);
bp_status bp__clblast_plan(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                           bp_prepared **prepared);

/* Loads the library at the first call. */
bp_status bp__clblast_load(bp__clblast_instance *instance);

/* One call of the library. */
typedef struct bp__clblast_call {
    const bp__clblast_route *route;
    cl_mem a, b, c, temp;    /* temp NULL: the library allocates it */
    size_t at_a, at_b, at_c; /* in elements */
    bp_scalar alpha, beta;
    cl_command_queue queue;
} bp__clblast_call;

/* Enqueues a product; *event (may be NULL) is its last command. Returns CLBlast's status. */
int bp__clblast_run(const bp__clblast_api *api, const bp__clblast_call *call, cl_event *event);
/* Returns the bytes of temporary memory that a single product needs at most, whatever the operands' offsets are; 0 if
 * unknown. */
size_t bp__clblast_temp_bytes(const bp__clblast_api *api, const bp__clblast_route *route, cl_command_queue queue);

#endif
