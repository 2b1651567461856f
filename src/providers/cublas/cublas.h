/* cublas.h - declares what the files of the cublas provider share. A library is cuBLASLt or classic cuBLAS: each is an
 * instance of the provider, and offers the same products by other calls. */
#ifndef BP_PROVIDERS_CUBLAS_H
#define BP_PROVIDERS_CUBLAS_H

#include "providers/cublas/api.h"
#include "providers/cuda/vendor.h"

/* ---- The library (load.c) ---- */

/* What a library has for a device: its handle. */
typedef struct bp__cublas_device {
    bp__cu_part part; /* must be first */
    cublasLtHandle_t lt;
    cublasHandle_t classic;
    pthread_mutex_t mutex; /* the stream, workspace and modes of the classic handle */
} bp__cublas_device;

typedef struct bp__cublas_instance {
    bp__cu_vendor vendor; /* must be first */
    bool is_lt;
    bp__cublas_lt_api lt; /* the functions, once a plan was made */
    bp__cublas_api classic;
} bp__cublas_instance;

bp_status bp__cublas_open(const bp_host *host, const bp_library_info *library, void **opened);

/* ---- What is computed (route.c, layers.c) ---- */

/* A matrix of a problem. Strides are in elements. */
typedef struct bp__cublas_matrix {
    int64_t rows, columns, row, column;
    int64_t batch[BP_MAX_BATCH_NDIM];
    bool conjugate;
    uint8_t operand; /* its number */
} bp__cublas_matrix;

/* C = A B for all items of a batch, with a vector and a function: what a problem asks for. */
typedef struct bp__cublas_product {
    bp__cublas_matrix a, b, c;
    int batch_ndim;
    int64_t batch[BP_MAX_BATCH_NDIM];
    uint8_t alpha, beta; /* a bp_factor */
    bool has_bias;       /* a vector is added to each row of C */
    bool sums_rows;      /* the vector becomes the sums of the rows of A instead */
    uint8_t bias;        /* number of its operand */
    uint32_t function;   /* CUBLASLT_EPILOGUE_RELU or GELU, 0: none */
} bp__cublas_product;

typedef enum bp__cublas_work {
    BP__CUBLAS_PRODUCT,
    BP__CUBLAS_ZEROS,  /* D becomes 0 */
    BP__CUBLAS_NOTHING /* D stays as it is, or has no elements */
} bp__cublas_work;

/* The calls of the library: D = alpha op(A) op(B) + beta D in column-major order, m x n. */
typedef struct bp__cublas_route {
    bp__cublas_work work;
    uint8_t a, b, d, bias; /* numbers of operands */
    bool has_bias;
    uint32_t op_a, op_b;                  /* a cublasOperation_t */
    uint32_t epilogue;                    /* a cublasLtEpilogue_t */
    int64_t m, n, k, lda, ldb, ldd;       /* elements */
    int64_t count;                        /* items of one call */
    int64_t stride_a, stride_b, stride_d; /* between them */
    int outer_ndim;                       /* of the dimensions of the batch that take a call each */
    int64_t outer;                        /* calls */
    int64_t outer_size[BP_MAX_BATCH_NDIM];
    int64_t outer_a[BP_MAX_BATCH_NDIM], outer_b[BP_MAX_BATCH_NDIM], outer_d[BP_MAX_BATCH_NDIM];
} bp__cublas_route;

bp__cublas_matrix bp__cublas_transposed(const bp__cublas_matrix *x);
/* Fill *product. Return NULL, or why no library can run the problem. */
const char *bp__cublas_product_of_gemm(const bp_problem *problem, bp__cublas_product *product);
const char *bp__cublas_product_of_layer(const bp_problem *problem, bp__cublas_product *product);
/* Fills *route. Returns NULL, or why the library cannot run the product. */
const char *bp__cublas_route_of(const bp__cublas_product *product, bp__cublas_route *route);

/* ---- How it is computed (numerics.c) ---- */

typedef struct bp__cublas_numerics {
    uint32_t compute;      /* a cublasComputeType_t */
    uint32_t scale;        /* a cudaDataType: of alpha and beta */
    uint32_t ab, d;        /* of the operands */
    uint32_t schemes;      /* mask of cublasLtReductionScheme_t */
    uint32_t item, item_d; /* bytes of an element of A and B, and of D */
    uint64_t workspace;    /* bytes at most */
    uint32_t properties;   /* of the verdict */
    double rate;           /* how many times more operations than in f32 a GPU makes */
} bp__cublas_numerics;

/* Fills *numerics from the types and the policy of a problem. Returns false with a refusal in *verdict. */
bool bp__cublas_numerics_of(const bp__cublas_instance *instance, const bp_problem *problem,
                            const bp_device_info *device, bp__cublas_numerics *numerics, bp_verdict *verdict);
const char *bp__cublas_compute_name(uint32_t compute);

/* Alpha or beta in the type of `scale`. */
typedef union bp__cublas_scalar {
    uint16_t f16;
    float f32[2];
    double f64[2];
    int32_t i32;
} bp__cublas_scalar;
void bp__cublas_scalar_of(bp__cublas_scalar *scalar, uint32_t scale, bp_scalar value);

/* ---- Candidates and plans ---- */

/* What accept() hands to plan(). */
typedef struct bp__cublas_offer {
    bp__cublas_route route;
    bp__cublas_numerics numerics;
    int rank; /* in the list of the library's heuristic */
} bp__cublas_offer;

void bp__cublas_accept(void *instance, const bp_problem *problem, bp_offers *offers);
void bp__cublas_expand(void *instance, const bp_problem *problem, const bp_verdict *offer, bp_offers *offers);
bp_status bp__cublas_plan(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                          bp_prepared **prepared);

/* ---- Calls (calls.c): the same for both libraries ---- */

/* What the plans of both libraries begin with. */
typedef struct bp__cublas_prepared {
    bp_prepared prepared;
    bp__cublas_instance *instance;
    bp__cublas_device *on;
    bp__cublas_offer offer;
} bp__cublas_prepared;

/* The addresses of one call. */
typedef struct bp__cublas_call {
    uint64_t a, b, d, bias;
    bp__cublas_scalar alpha, beta;
    void *workspace;
    size_t workspace_size;
    CUstream stream;
} bp__cublas_call;

/* Fills the parts of a plan that both libraries have. */
void bp__cublas_plan_begin(bp__cublas_prepared *plan, bp__cublas_instance *instance, bp__cublas_device *on,
                           const bp__cublas_offer *offer);
/* Enqueues all calls of a plan, each by `run`, which fails with a message, and the event behind them. */
typedef bp_status (*bp__cublas_run)(const bp__cublas_prepared *plan, const bp__cublas_call *call);
bp_status bp__cublas_enqueue(const bp__cublas_prepared *plan, const bp_operand *operands, const bp_exec *exec,
                             bp__cublas_run run);

bp_status bp__cublas_plan_lt(bp__cublas_instance *instance, bp__cublas_device *on, const bp__cublas_offer *offer,
                             bp_prepared **prepared);
bp_status bp__cublas_plan_classic(bp__cublas_instance *instance, bp__cublas_device *on, const bp__cublas_offer *offer,
                                  bp_prepared **prepared);
/* A plan that calls no library: zeros, or nothing. */
bp_status bp__cublas_plan_zeros(bp__cublas_instance *instance, const bp__cublas_offer *offer, bp_prepared **prepared);

/* Adds the algorithms of cuBLASLt's heuristic for an offer. */
void bp__cublas_list_lt(bp__cublas_instance *instance, bp__cublas_device *on, const bp__cublas_offer *offer,
                        const bp_verdict *verdict, bp_offers *offers);

#endif
