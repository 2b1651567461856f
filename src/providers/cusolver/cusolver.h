/* cusolver.h - declares what the files of the cusolver provider share.
 *
 * The library works on column-major matrices without gaps in the workspace. A run is a list of steps, which follows
 * from the problem alone: kernels of ours copy the inputs to buffers, in any layout, and check them; calls of the
 * library compute each item; kernels copy the results to the outputs and tell which items have failed. */
#ifndef BP_PROVIDERS_CUSOLVER_H
#define BP_PROVIDERS_CUSOLVER_H

#include "providers/cuda/vendor.h"
#include "providers/cusolver/api.h"

enum { BP__CUSOLVER_BATCH = 6, BP__CUSOLVER_NDIM = BP__CUSOLVER_BATCH + 2 };
enum { BP__CUSOLVER_STEPS = 8, BP__CUSOLVER_BUFFERS = 4, BP__CUSOLVER_MATRICES = 4 };
enum { BP__CUSOLVER_REPORT_BYTES = 2 * sizeof(uint64_t) };

/* ---- The kernels (kernels.c) ---- */

/* Numbers of kernels. A kernel for matrices is followed by the kernels of the other element types. */
enum {
    BP__CUSOLVER_LOAD,
    BP__CUSOLVER_STORE = 4,
    BP__CUSOLVER_PIVOTS_IN = 8,
    BP__CUSOLVER_PIVOTS_OUT,
    BP__CUSOLVER_PIVOTS_REPAIR,
    BP__CUSOLVER_REPORT,
    BP__CUSOLVER_PERMUTE, /* for elements whose parts have 4 bytes, then 8 bytes */
    BP__CUSOLVER_FIND_ZERO = BP__CUSOLVER_PERMUTE + 2,
    BP__CUSOLVER_DET = BP__CUSOLVER_FIND_ZERO + 4,
    BP__CUSOLVER_LOGDET = BP__CUSOLVER_DET + 4,
    BP__CUSOLVER_KERNELS = BP__CUSOLVER_LOGDET + 4,
    BP__CUSOLVER_MODULES = 3
};

/* The parameter of a kernel: a walk through the elements of all items; kernels.c says what else some kernels have
 * there. Dimension 0 has the rows, 1 the columns, the others the batch, its innermost dimension first. Strides are in
 * bytes. */
typedef struct bp__cusolver_walk {
    uint64_t dst, src;    /* addresses, set in a run, as the next three */
    uint64_t count;       /* of elements */
    uint64_t flags;       /* an int32 for each item: 1 if its input is not finite */
    uint64_t report;      /* two words: see kernels.c. 0: there is none */
    int64_t first, last;  /* an element is kept if its column minus its row is between these, and replaced otherwise */
    uint64_t diagonal;    /* bits of the number that replaces elements of the diagonal; REPORT: mask of the info */
    uint64_t conjugate;   /* sign bit of an imaginary part, or 0 */
    uint64_t diagonal_im; /* mask of imaginary parts on the diagonal */
    uint64_t size[BP__CUSOLVER_NDIM];
    int64_t dst_stride[BP__CUSOLVER_NDIM], src_stride[BP__CUSOLVER_NDIM];
} bp__cusolver_walk;

typedef struct bp__cusolver_kernels {
    CUmodule module[BP__CUSOLVER_MODULES];
    CUfunction function[BP__CUSOLVER_KERNELS];
} bp__cusolver_kernels;

/* Loads the kernels in the current context, which is entered with `relaxed`. After a failure, too, they are to be
 * unloaded. */
CUresult bp__cusolver_kernels_load(bp__cusolver_kernels *kernels);
void bp__cusolver_kernels_unload(bp__cusolver_kernels *kernels);
/* Enqueues a kernel. */
CUresult bp__cusolver_launch(const bp__cusolver_kernels *kernels, int kernel, const bp__cusolver_walk *walk,
                             CUstream stream);

/* ---- What is computed (operations.c) ---- */

typedef enum bp__cusolver_routine {
    BP__CUSOLVER_POTRF,
    BP__CUSOLVER_POTRS,
    BP__CUSOLVER_GETRF,
    BP__CUSOLVER_GETRS,
    BP__CUSOLVER_GEQRF,
    BP__CUSOLVER_ORGQR,
    BP__CUSOLVER_SYEVD,
    BP__CUSOLVER_GESVD
} bp__cusolver_routine;

/* A step: a kernel, or a routine for each item. */
typedef struct bp__cusolver_step {
    bool is_call;
    uint8_t number; /* of the kernel or of the routine */
    /* Of a kernel: the operand and the buffer between which it copies; -1: none. */
    int8_t operand, buffer;
    bp__cusolver_walk walk;
    /* Of a routine: the sizes of its first matrix, the columns of its second one or the number of reflectors, the
     * buffers, and letters, as NVIDIA's numbers. The buffers are {factored matrix, right sides, pivots}, {matrix, none,
     * scales of reflectors}, {matrix, eigenvalues}, or {matrix, U, S, Vh}. Kernels for determinants have {none, none,
     * pivots, logarithms}. */
    int64_t m, n, k;
    uint8_t buffers[BP__CUSOLVER_MATRICES];
    uint32_t letter, job; /* job: of SYEVD and GESVD */
} bp__cusolver_step;

/* Memory of a matrix without gaps for each item. */
typedef struct bp__cusolver_buffer {
    int64_t rows, columns;
    uint64_t item; /* bytes */
    uint64_t at;   /* offset in the workspace */
} bp__cusolver_buffer;

typedef struct bp__cusolver_route {
    int step_count, buffer_count;
    bool reports; /* a run is examined when it has ended */
    bool waits;   /* a routine waits for the device, so that it cannot be captured */
    bp__cusolver_step steps[BP__CUSOLVER_STEPS];
    bp__cusolver_buffer buffers[BP__CUSOLVER_BUFFERS];
} bp__cusolver_route;

/* Fills *route. Returns NULL, or why the provider cannot run the problem. */
const char *bp__cusolver_route_of(const bp_problem *problem, bp__cusolver_route *route);

/* Returns what computes the operation of a problem, such as "getrf, getrs"; NULL: the provider has no such operation.
 * Sets *work to the multiplications and additions of an item. */
const char *bp__cusolver_algorithm_of(const bp_problem *problem, double *work);

/* ---- Parts of routes (route.c) ---- */

/* Region of a matrix that is used. */
typedef enum bp__cusolver_region {
    BP__CUSOLVER_WHOLE,
    BP__CUSOLVER_LOWER,
    BP__CUSOLVER_UPPER,
    BP__CUSOLVER_STRICTLY_LOWER,
    BP__CUSOLVER_STRICTLY_UPPER,
    BP__CUSOLVER_NOTHING
} bp__cusolver_region;

typedef struct bp__cusolver_builder {
    const bp_problem *problem;
    bp__cusolver_route *route;
    const char *why;
} bp__cusolver_builder;

/* Adds a buffer for matrices of the problem's type, for real numbers of its precision, or for pivots; returns its
 * number. */
int bp__cusolver_add_matrix(bp__cusolver_builder *b, int64_t rows, int64_t columns);
int bp__cusolver_add_reals(bp__cusolver_builder *b, int64_t count);
int bp__cusolver_add_pivots(bp__cusolver_builder *b, int64_t count);
/* Add a kernel that copies an operand, or its transpose, to a buffer or from it. Elements outside of the region become
 * 0. `operand` may be -1 for a load: all elements become 0. */
bp__cusolver_step *bp__cusolver_add_load(bp__cusolver_builder *b, int operand, bool transposed, int buffer,
                                         bp__cusolver_region region);
bp__cusolver_step *bp__cusolver_add_store(bp__cusolver_builder *b, int operand, bool transposed, int buffer,
                                          bp__cusolver_region region);
/* Add a kernel that copies pivots from an operand, where -1 is an operand of no exchanges, or to one. */
void bp__cusolver_add_pivots_in(bp__cusolver_builder *b, int operand, int buffer);
void bp__cusolver_add_pivots_out(bp__cusolver_builder *b, int operand, int buffer);
/* Adds a kernel that replaces pivots of a factorization that are no row of the matrix. */
void bp__cusolver_add_pivot_repair(bp__cusolver_builder *b, int buffer, int64_t rows);
/* Add kernels that write ones to an operand, which was filled with zeros, where pivots move rows; and that set the
 * infos to the first zero on the diagonal of a buffer. */
void bp__cusolver_add_permutation(bp__cusolver_builder *b, int operand, int pivots);
void bp__cusolver_add_find_zero(bp__cusolver_builder *b, int buffer);
/* Adds a kernel that writes determinants from LU factors; or their signs, and logarithms to a buffer, unless `logs` is
 * -1. */
void bp__cusolver_add_det(bp__cusolver_builder *b, int operand, int lu, int pivots, int logs);
/* Adds a kernel that tells which items have failed: those whose input is not finite, and with `counts` also those for
 * which a routine has set info. `operand` has the infos; -1: there is none. */
void bp__cusolver_add_report(bp__cusolver_builder *b, int operand, bool counts);
bp__cusolver_step *bp__cusolver_add_call(bp__cusolver_builder *b, bp__cusolver_routine routine, int matrix);
/* Writes ones to the diagonal where the region does not have it. */
void bp__cusolver_set_unit_diagonal(const bp__cusolver_builder *b, bp__cusolver_step *step);
void bp__cusolver_set_conjugate(const bp__cusolver_builder *b, bp__cusolver_step *step);

/* ---- The library ---- */

typedef struct bp__cusolver_device {
    bp__cu_part part; /* must be first */
    bp__cusolver_kernels kernels;
    cusolverDnHandle_t handle;
    cusolverDnParams_t params;
    pthread_mutex_t mutex; /* the stream of the handle, and the host's workspaces of plans */
} bp__cusolver_device;

typedef struct bp__cusolver_instance {
    bp__cu_vendor vendor; /* must be first */
    bp__cusolver_api api; /* the functions, once a plan was made */
} bp__cusolver_instance;

bp_status bp__cusolver_open(const bp_host *host, const bp_library_info *library, void **opened);

/* ---- Candidates, plans and runs ---- */

typedef struct bp__cusolver_prepared {
    bp_prepared prepared; /* must be first */
    bp__cusolver_instance *instance;
    bp__cusolver_device *on;
    bp_problem problem;
    bp__cusolver_route route;
    cudaDataType type, real_type;
    uint64_t info_at, other_info_at, flags_at, report_at, work_at; /* offsets in the workspace */
    uint64_t zeroed; /* bytes from info_at on that a run clears: infos and flags */
    size_t work_size;
    void *host_work; /* NULL: none */
    size_t host_work_size;
} bp__cusolver_prepared;

/* A call of a routine: addresses of an item. */
typedef struct bp__cusolver_item {
    uint64_t matrix[BP__CUSOLVER_MATRICES], work;
    int *info, *other_info; /* of routines whose info is a result of the operation, and of others */
} bp__cusolver_item;

/* What is said if cuda.preferred_linalg_library is magma. */
#define BP__CUSOLVER_NO_MAGMA "MAGMA is deprecated; as in PyTorch, cuSOLVER is called in its place"

void bp__cusolver_accept(void *instance, const bp_problem *problem, bp_offers *offers);
bp_status bp__cusolver_plan(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                            bp_prepared **prepared);
bp_status bp__cusolver_enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);

/* Call a routine for an item, and ask for the workspaces of one (calls.c). */
cusolverStatus_t bp__cusolver_call(const bp__cusolver_prepared *plan, const bp__cusolver_step *step,
                                   const bp__cusolver_item *item);
cusolverStatus_t bp__cusolver_sizes(const bp__cusolver_prepared *plan, const bp__cusolver_step *step, size_t *device,
                                    size_t *host);
/* Returns NVIDIA's name of a routine, for messages. */
const char *bp__cusolver_name_of(bp__cusolver_routine routine);

#endif
