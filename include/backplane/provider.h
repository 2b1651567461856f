/* provider.h - the contract between Backplane and a provider: code that runs operations, ours or yours.
 *
 * A provider is one constant bp_provider, in a shared module or built in. A module exports it as `bp_provider_entry`,
 * or several of them as `bp_provider_entries`; CONTRIBUTING.md and examples/provider/ show a whole one. Rules:
 *   - `abi` is checked before any other field is read: the major number must equal ours, a smaller minor is welcome.
 *     Structs only grow at their end, and none that grows lies by value in another; struct_size says how much of one is
 *     there. Each side reads no further than the other side's struct_size.
 *   - A provider does not link against libbackplane: what it needs from us comes in the bp_host table.
 *   - accept() is pure and cheap: it reads the problem, touches no tensor data, opens and allocates nothing. It offers
 *     one candidate for each algorithm that could run the problem, and says why where there is none.
 *   - Nothing prints, aborts or exits. Failures are a bp_status, with a sentence through host->fail().
 *   - Every slot may be called from several threads at once, but open/close of one instance and destroy of one plan.
 */
#ifndef BACKPLANE_PROVIDER_H
#define BACKPLANE_PROVIDER_H

#include "backplane/library.h"
#include "backplane/machine.h"
#include "backplane/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BP_PROVIDER_ABI_MAJOR 2u
#define BP_PROVIDER_ABI_MINOR 1u
#define BP_PROVIDER_ABI ((BP_PROVIDER_ABI_MAJOR << 16) | BP_PROVIDER_ABI_MINOR)

/* The one list of operations: number, NAME, text, inputs, outputs, and the family, whose member of bp_problem.of holds
 * the parameters. bp_matmul and bp_gemm both become GEMM; all transforms become FFT. EINSUM is a plan of GEMM and
 * CONTRACT, and reaches no provider itself. Operands are given as the inputs, then the outputs, in this order. */
/* clang-format off */
#define BP_OP_MAP(X)                                                                        \
    X(1, GEMM, "gemm", "A,B", "C", gemm)                                                    \
    X(2, FFT, "fft", "input", "output", fft)                                                \
    X(3, INV, "inv", "A", "inverse,info", linalg)                                           \
    X(4, CHOLESKY, "cholesky", "A", "L,info", linalg)                                       \
    X(5, CHOLESKY_SOLVE, "cholesky_solve", "B,L", "X", linalg)                              \
    X(6, CHOLESKY_INVERSE, "cholesky_inverse", "L", "inverse,info", linalg)                 \
    X(7, LU_FACTOR, "lu_factor", "A", "LU,pivots,info", linalg)                             \
    X(8, LU, "lu", "A", "P,L,U", linalg)                                                    \
    X(9, LU_SOLVE, "lu_solve", "LU,pivots,B", "X", linalg)                                  \
    X(10, SOLVE, "solve", "A,B", "X,info", linalg)                                          \
    X(11, SOLVE_TRIANGULAR, "solve_triangular", "A,B", "X", linalg)                         \
    X(12, QR, "qr", "A", "Q,R", linalg)                                                     \
    X(13, EIGH, "eigh", "A", "w,V", linalg)                                                 \
    X(14, EIG, "eig", "A", "w,V", linalg)                                                   \
    X(15, SVD, "svd", "A", "U,S,Vh", linalg)                                                \
    X(16, LSTSQ, "lstsq", "A,B", "X,residuals,rank,S", linalg)                              \
    X(17, DET, "det", "A", "det", linalg)                                                   \
    X(18, SLOGDET, "slogdet", "A", "sign,logabsdet", linalg)                                \
    X(19, PINV, "pinv", "A", "inverse", linalg)                                             \
    X(20, MATRIX_RANK, "matrix_rank", "A", "rank", linalg)                                  \
    X(21, COND, "cond", "A", "cond", linalg)                                                \
    X(22, MATRIX_NORM, "matrix_norm", "A", "norm", linalg)                                  \
    X(23, CONTRACT, "contract", "A,B", "C", contract)                                       \
    X(24, EINSUM, "einsum", "operands", "out", einsum)                                      \
    X(25, VECTOR_NORM, "vector_norm", "A", "norm", linalg)
/* clang-format on */

typedef enum bp_op {
#define X(number, name, text, inputs, outputs, family) BP_OP_##name = number,
    BP_OP_MAP(X)
#undef X
} bp_op;

BP_API const char *bp_op_name(bp_op op);

/* The operands' names, separated by commas: "A,B" and "X,info". "" for a number that is no operation. */
BP_API const char *bp_op_inputs(bp_op op);
BP_API const char *bp_op_outputs(bp_op op);

/* The one list of reasons in a verdict: number, NAME, text. */
/* clang-format off */
#define BP_REASON_MAP(X)                                                              \
    X(0, ACCEPTED, "accepted")                                                        \
    X(1, OP, "operation not offered")                                                 \
    X(2, DTYPE, "data type not offered")                                              \
    X(3, LAYOUT, "memory layout not offered")                                         \
    X(4, SIZE, "sizes exceed the library's integer width")                            \
    X(5, SYMBOL, "library lacks the routine")                                         \
    X(6, DETERMINISM, "does not promise the determinism asked for")                   \
    X(7, PRECISION, "does not promise the precision asked for")                       \
    X(8, EXCLUDED, "excluded by a setting")                                           \
    X(9, BROKEN, "library does not work here")                                        \
    X(10, FORKED, "was in use before fork and does not survive it")                   \
    X(11, THREADS, "cannot run with the thread count asked for")                      \
    X(12, CAPABILITY, "needs instructions that this processor lacks")                 \
    X(13, LOAD, "library could not be loaded")                                        \
    X(14, OTHER, "refused")                                                           \
    X(15, DEVICE, "works on host memory only")
/* clang-format on */

typedef enum bp_reason {
#define X(number, name, text) BP_REASON_##name = number,
    BP_REASON_MAP(X)
#undef X
} bp_reason;

BP_API const char *bp_reason_name(bp_reason reason); /* "DTYPE" */
BP_API const char *bp_reason_text(bp_reason reason);

/* A factor that operations take; `im` is ignored for real types. */
typedef struct bp_scalar {
    double re;
    double im;
} bp_scalar;

/* What a problem says of alpha and beta: enough to choose, without a plan for every value. */
typedef enum bp_factor { BP_FACTOR_ZERO, BP_FACTOR_ONE, BP_FACTOR_ANY } bp_factor;

#define BP_MAX_BATCH_NDIM 16

/* The settings that take part in choosing, resolved for the calling thread. */
typedef struct bp_policy {
    int32_t threads;       /* most threads to use, at least 1 */
    uint8_t deterministic; /* 0 off, 1 run, 2 threads */
    uint8_t capability;    /* a bp_capability: highest instruction set for our own kernels */
    uint8_t fallback;      /* 0 strict, 1 warn, 2 allow */
    uint8_t precision;     /* f32 inputs may be rounded inside to: 0 nothing less, 1 TF32, 2 bf16 */
    uint32_t preferred;    /* what follows is the dispatcher's alone. Text handles; 0 = none */
    uint32_t exclude;
    uint8_t disabled_backends; /* families and runtimes that settings switch off, a bit each */
    uint8_t warn_only;         /* deterministic is a wish */
    uint8_t simulate;          /* f32 inputs are rounded before the call to: 0 nothing less, 1 TF32, 2 bf16 */
    uint8_t fft_planner; /* how FFTW finds plans: 0 auto, 1 estimate, 2 measure, 3 patient; this one is for providers */
    uint8_t packed;      /* operands that will be handed in packed (bp_plan_pack), a bit each; for providers too */
    uint8_t reserved[3];
} bp_policy;

typedef enum bp_capability {
    BP_CAPABILITY_DEFAULT,
    BP_CAPABILITY_AVX2,
    BP_CAPABILITY_AVX512,
    BP_CAPABILITY_VSX,
    BP_CAPABILITY_ZVECTOR,
    BP_CAPABILITY_SVE256
} bp_capability;

/* C = alpha * op(A) * op(B) + beta * C for every item of the batch, where op may conjugate; transposition is in the
 * strides. A is m x k, B is k x n, C is m x n. Strides are in elements and may be zero or negative, except that C never
 * overlaps itself. Strides of dimensions of size 1 are 0. Addresses are
 * multiples of the element (of its real part, for complex types). beta == 0 means C is not read
 * (NaN there does not survive), as in the BLAS. k == 0 gives beta * C. Sizes are never negative, and may be zero. */
typedef struct bp_gemm_problem {
    int64_t m, n, k;
    int64_t a_row, a_column; /* strides of A between rows and between columns */
    int64_t b_row, b_column;
    int64_t c_row, c_column;
    uint8_t conjugate_a, conjugate_b;
    uint8_t alpha, beta; /* a bp_factor */
    uint8_t reserved[4];
    int32_t batch_ndim;                     /* merged as far as strides allow; 0 for a single product */
    uint32_t reserved_more;                 /* would be padding, whose bytes nothing keeps zero */
    int64_t batch;                          /* number of products; 1 for a single one */
    int64_t batch_shape[BP_MAX_BATCH_NDIM]; /* last one fastest */
    int64_t batch_a[BP_MAX_BATCH_NDIM];     /* strides of A over the batch, 0 where broadcast */
    int64_t batch_b[BP_MAX_BATCH_NDIM];
    int64_t batch_c[BP_MAX_BATCH_NDIM];
} bp_gemm_problem;

#define BP_MAX_FFT_NDIM 16

typedef enum bp_fft_kind { BP_FFT_C2C, BP_FFT_R2C, BP_FFT_C2R } bp_fft_kind;

/* Discrete Fourier transforms over `ndim` dimensions of every item of a batch:
 *     out[k] = scale * sum over j of in[j] * exp(-+ 2 pi i (j0 k0 / n0 + j1 k1 / n1 + ...)),
 * with - forward and + when `inverse`. For R2C the input is real, and the last dimension of the output has n/2+1
 * elements; the rest follows from symmetry. For C2R the last dimension of the input has n/2+1 elements, the rest is
 * taken from symmetry (imaginary parts of elements that are their own mirror are ignored), and the output is real.
 * bp_problem's dtype is the complex one, C64 or C128. Strides are in elements of the operand's own type and may be zero
 * (input only) or negative; dimensions of size 1 have stride 0. The input is not written, but for `in_place`: then
 * input and output are the same memory with the same strides (C2C only). Sizes of dimensions are at least 1. C2C
 * dimensions may stand in any order; those of size 1 are left out, so that ndim may be 0 (a scaled copy). Providers get
 * forward R2C and inverse C2R only, of an input as long as the transform: `full_spectrum`, `conjugate` and `input_size`
 * are the dispatcher's, who asks about, plans and wraps the plain transform. */
typedef struct bp_fft_problem {
    uint8_t kind; /* a bp_fft_kind */
    uint8_t inverse;
    uint8_t in_place;
    uint8_t full_spectrum; /* R2C whose output has all n elements of the last dimension */
    uint8_t conjugate;     /* of a C2R's input or an R2C's output */
    uint8_t zero_padded;   /* some input_size[d] differs from what the transform needs */
    uint8_t reserved[2];
    int32_t ndim;
    int32_t batch_ndim; /* merged as far as strides allow */
    double scale;
    int64_t batch;              /* number of items, 1 for a single one */
    int64_t n[BP_MAX_FFT_NDIM]; /* sizes of the transform: for R2C and C2R those of the real side */
    int64_t in[BP_MAX_FFT_NDIM];
    int64_t out[BP_MAX_FFT_NDIM];
    int64_t given[BP_MAX_FFT_NDIM]; /* elements of the input in each dimension; the transform sees zeros beyond */
    int64_t batch_shape[BP_MAX_BATCH_NDIM];
    int64_t batch_in[BP_MAX_BATCH_NDIM];
    int64_t batch_out[BP_MAX_BATCH_NDIM];
} bp_fft_problem;

#define BP_LINALG_OPERANDS 6

/* One operand of a linear-algebra problem: for each item of the batch a matrix, a vector (columns is 1), or a value
 * (1x1).
 */
typedef struct bp_linalg_operand {
    uint32_t dtype; /* a bp_dtype; 0: the operand is not there, and its address is NULL */
    uint32_t reserved;
    int64_t rows, columns;
    int64_t row, column;              /* strides in elements of its own type, any sign; 0 where the size is 1 */
    int64_t batch[BP_MAX_BATCH_NDIM]; /* 0 where an input is broadcast */
} bp_linalg_operand;

/* What bp_linalg_problem.mode says, by operation. */
typedef enum bp_linalg_mode {
    BP_MODE_DEFAULT = 0,
    BP_QR_REDUCED = 1, /* QR: Q is m x k, R is k x n, with k = min(m, n) */
    BP_QR_COMPLETE,    /* Q is m x m, R is m x n */
    BP_QR_R,           /* R is k x n, and Q is not there */
    BP_SVD_REDUCED,    /* SVD: U is m x k, Vh is k x n */
    BP_SVD_FULL,       /* U is m x m, Vh is n x n */
    BP_LSTSQ_GELSY,    /* LSTSQ: complete orthogonal factorization with pivoting; rank by rcond */
    BP_LSTSQ_GELS,     /* QR or LQ; A is taken to have full rank */
    BP_LSTSQ_GELSD,    /* SVD, divide and conquer; rank by rcond */
    BP_LSTSQ_GELSS,    /* SVD; rank by rcond */
    BP_NORM_FRO,       /* MATRIX_NORM, COND: square root of the sum of squares */
    BP_NORM_NUC,       /* sum of the singular values */
    BP_NORM_P /* by `order`: 1, -1, inf, -inf (column and row sums), 2, -2 (singular values); VECTOR_NORM: any */
} bp_linalg_mode;

/* Linear algebra on every item of a batch: which operands there are and what the operation does with them is told in
 * linalg.h, function by function. Element types are F32, F64, C64 and C128: bp_problem's dtype is that of A (of L, of
 * LU). Outputs do not overlap inputs or each other; an operand may be absent only where linalg.h calls it optional.
 *
 * The rule of non-finite input, for all providers: an item in which an element that the operation reads is NaN or
 * infinite is not handed to a library (gesdd never returns from some). Every floating output of such an item is NaN,
 * its integer outputs are 0, and its info is BP_INFO_NON_FINITE; with `fail_on_item_error` the call fails with
 * BP_E_NON_FINITE and names the first such item. BP_NORM_FRO and the orders 1, -1, inf and -inf of MATRIX_NORM, and
 * VECTOR_NORM, read like arithmetic instead: NaN and infinity go through.
 *
 * VECTOR_NORM takes all elements of A, whose order does not count, as one vector of m * n elements.
 *
 * Failing items: with `fail_on_item_error`, execute() returns the status of the first failing item (BP_E_SINGULAR,
 * BP_E_NOT_POSITIVE_DEFINITE, BP_E_NOT_CONVERGED, BP_E_NON_FINITE) with a sentence made by bp_host.fail_numeric; what
 * the outputs hold then is not specified. Without, it goes on, writes LAPACK's info for each item, and returns BP_OK.
 */
typedef struct bp_linalg_problem {
    int64_t m, n;  /* of A; of the square factor in solves */
    int64_t k;     /* columns of B (rows when B is on the right: see a_on_left); 0 where there is no B */
    uint8_t mode;  /* a bp_linalg_mode */
    uint8_t upper; /* CHOLESKY and its solvers, SOLVE_TRIANGULAR, EIGH, PINV and MATRIX_RANK of Hermitian matrices: the
                    * triangle that holds the factor, or that is read */
    uint8_t a_on_left;          /* SOLVE, LU_SOLVE, SOLVE_TRIANGULAR: op(A) X = B; 0: X op(A) = B */
    uint8_t adjoint;            /* LU_SOLVE: op(A) is the conjugate transpose */
    uint8_t unit_diagonal;      /* SOLVE_TRIANGULAR: the diagonal is taken to be ones and not read */
    uint8_t hermitian;          /* PINV, MATRIX_RANK */
    uint8_t fail_on_item_error; /* a failing item fails the call */
    uint8_t empty;     /* there is nothing to compute, since some size or the batch is 0: only the native provider takes
                        * these. LSTSQ with k = 0 is not empty where rank or singular values are asked for */
    double rtol, atol; /* PINV, MATRIX_RANK: singular values up to max(atol, rtol * largest) count as zero; LSTSQ: rtol
                        * is rcond. Never negative: the caller's default has been put in */
    double order;      /* BP_NORM_P */
    int32_t batch_ndim;
    uint32_t reserved;
    int64_t batch; /* number of items, 1 for a single one */
    int64_t batch_shape[BP_MAX_BATCH_NDIM];
    bp_linalg_operand operand[BP_LINALG_OPERANDS]; /* inputs, then outputs, as in BP_OP_MAP */
} bp_linalg_problem;

#define BP_MAX_CONTRACT_NDIM 32

/* C = sum over the summed dimensions of A * B, element by element: every dimension has a stride in each operand, 0
 * where an input lacks it. So this one operation copies and transposes (one operand, nothing summed), sums, takes
 * diagonals, multiplies element by element, and makes outer products and products whose layout no matrix product takes.
 *
 * The first `output_ndim` dimensions are C's, the farthest apart in C first; those that are summed over follow, the
 * farthest apart in A (in B, where A lacks them) first. Strides are in elements; those of inputs have any sign and may
 * be zero, C does not overlap itself. Dimensions of size 1 are left out, and neighbours that step evenly in all
 * operands are one. Sizes may be 0: with a kept one there is nothing to do, with a summed one C is zero. C overlaps no
 * input, except with `in_place`: then nothing is summed, and C is A, with the same address and strides. Element types
 * are F16, BF16, F32, F64, C64 and C128; F16 and BF16 are computed in f32 and rounded once, at the end. */
typedef struct bp_contract_problem {
    int32_t ndim, output_ndim;
    uint8_t has_b; /* there is a B; else its strides are 0, its address is NULL, and A alone is summed or copied */
    uint8_t in_place;
    uint8_t reserved[6];
    int64_t size[BP_MAX_CONTRACT_NDIM];
    int64_t a[BP_MAX_CONTRACT_NDIM], b[BP_MAX_CONTRACT_NDIM], c[BP_MAX_CONTRACT_NDIM]; /* strides; c: 0 where summed */
} bp_contract_problem;

#define BP_INFO_NON_FINITE (-1) /* in info: the item was not computed, since NaN or infinity is in its input */

/* Plain bytes: unused ones are zero, so that problems compare and hash by content. */
typedef struct bp_problem {
    uint32_t struct_size;
    uint32_t op;    /* a bp_op; tells which member of `of` is meant: gemm, fft, contract, or linalg for all others */
    uint32_t dtype; /* a bp_dtype: the operands' and the result's; see the members for operands of another */
    int32_t place;  /* the device that all operands are on: 0 is the host */
    bp_policy policy;
    union {
        bp_gemm_problem gemm;
        bp_fft_problem fft;
        bp_linalg_problem linalg;
        bp_contract_problem contract;
    } of;
} bp_problem;

/* Numerical properties: promises, so an absent bit means "unknown" and fails a request that needs it. None promises the
 * bits of a certain routine of a library; for products of one row or column see blas.preferred=LIBRARY:gemm. */
#define BP_PROPERTY_ACCUMULATES_F32 1u /* sums in f32 (f16, bf16, f32 input) */
#define BP_PROPERTY_ACCUMULATES_F64 2u
#define BP_PROPERTY_REPRODUCIBLE 4u       /* same bits again with the same number of threads */
#define BP_PROPERTY_THREAD_INVARIANT 8u   /* same bits with any number of threads and at any place in a batch */
#define BP_PROPERTY_ROUNDS_BELOW_TF32 16u /* rounds inputs to a type shorter than TF32 first, bf16 for one */
#define BP_PROPERTY_PROPAGATES_NAN 32u    /* NaN and Inf in an input reach the result, also beside zeros */
#define BP_PROPERTY_INPUTS_TF32 64u       /* rounds f32 inputs to TF32 first */
#define BP_PROPERTY_PACKS_A 256u          /* copies the operand into scratch memory first */
#define BP_PROPERTY_PACKS_B 512u
#define BP_PROPERTY_PACKS_C 1024u

/* What a provider says of one algorithm for a problem: refused with a reason, or accepted with what it promises. */
typedef struct bp_verdict {
    uint32_t struct_size;
    bp_reason reason;
    const char *algorithm; /* static text, lower case: "gemm", "packed avx2"; its first word may stand in settings */
    uint32_t properties;
    int32_t threads;  /* how many it will use; 0: as many as the library likes */
    double cost_ns;   /* estimate, for ordering; not a promise */
    char text[192];   /* refused: why, as a sentence part; accepted: anything worth knowing, or "" */
    size_t workspace; /* bytes that a run needs beside its operands */
    uint32_t packs;   /* operands that pack() takes, a bit each in the order of BP_OP_MAP */
} bp_verdict;

#define BP_VERDICT_INIT                                                                                                \
    { .struct_size = sizeof(bp_verdict), .algorithm = "" }

/* Takes a provider's candidates for one problem. */
typedef struct bp_offers bp_offers;
struct bp_offers {
    /* One call for each algorithm. A provider that takes the problem in no way adds a single refusal. `found` is what
     * accept() worked out for this algorithm: `size` bytes without addresses of their own parts, which are copied, and
     * which plan() gets where this candidate is chosen, aligned to 16 bytes. NULL and 0 where there is nothing. */
    void (*add)(bp_offers *self, const bp_verdict *verdict, const void *found, size_t size);
};

/* An operand of a call. In the memory of the host, base + offset is the address of its first element; on devices a base
 * may be a handle, so both are passed on. An operand that is not there has a base of NULL and an offset of 0. */
typedef struct bp_operand {
    void *base;
    uint64_t offset; /* bytes */
} bp_operand;

/* As numbers, since an operand without elements may have no address. */
static inline void *bp_operand_address(const bp_operand *operand) {
    return (void *)((uintptr_t)operand->base + (uintptr_t)operand->offset);
}

/* The addresses of a linear algebra problem's operands, NULL for those that it does not have. The caller's array ends
 * with the operation's last operand, so that no further one may be looked at. */
static inline void bp_linalg_addresses(const bp_linalg_problem *problem, const bp_operand *operands,
                                       void *addresses[BP_LINALG_OPERANDS]) {
    for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
        addresses[i] = problem->operand[i].dtype ? bp_operand_address(&operands[i]) : 0;
    }
}

/* A constant operand in the layout of the plan that it was packed for: see bp_plan_pack(). */
typedef struct bp_packed bp_packed;

/* An ordered queue of work on a device. The host has none. */
typedef struct bp_queue bp_queue;

/* How a plan is run: see bp_execute(). */
typedef struct bp_exec {
    size_t struct_size;
    bp_queue *queue;      /* NULL: in the calling thread, and done when the call returns */
    bp_operand workspace; /* at least bp_plan_info.workspace bytes, aligned to 64; base NULL: the library's own */
    size_t workspace_size;
    const bp_scalar *scalars;       /* alpha and beta of a gemm; NULL: 1 and 0 */
    const bp_packed *const *packed; /* for each operand NULL, or its packed form, which is read in place of the operand;
                                     * NULL: none is packed. Only plans of products take an array, also one of NULLs */
} bp_exec;

/* A prepared call. Providers begin a struct of their own with this one. */
typedef struct bp_prepared bp_prepared;
struct bp_prepared {
    uint32_t struct_size;
    /* Runs it. Several threads may be inside at once. On the host it returns when the result is there. `exec` is whole:
     * its workspace has `workspace` bytes, the scalars of a gemm are there, and what is packed was packed by pack() of
     * this very call. */
    bp_status (*enqueue)(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);
    void (*destroy)(bp_prepared *self);
    size_t workspace; /* bytes, aligned to 64; 0: none */
    /* Copies an operand into a layout of its own. NULL: no operand can be packed. */
    bp_status (*pack)(const bp_prepared *self, int operand, const bp_operand *source, bp_packed **packed);
};

/* What pack() returns begins with this. */
struct bp_packed {
    uint32_t struct_size;
    int32_t operand; /* this one and the next are the dispatcher's */
    const void *plan;
    size_t size; /* bytes */
    void (*destroy)(bp_packed *self);
};

typedef void (*bp_task)(void *context, int task);

/* What we give a provider. Append-only; check struct_size before using a slot newer than the ABI you need. */
typedef struct bp_host {
    uint32_t abi;
    uint32_t struct_size;
    /* Memory through the library's allocator, aligned to 64 bytes; NULL when there is none left. */
    void *(*allocate)(size_t size);
    void (*release)(void *block);
    /* Scratch memory of the calling thread, aligned to 64 bytes, valid until that thread's next scratch() call; grown
     * on demand and kept, so that it costs nothing when warm. For plan() and for tasks of parallel(), never the memory
     * of a workspace; enqueue() itself has its workspace. NULL when out of memory. */
    void *(*scratch)(size_t size);
    /* Keeps a sentence for bp_last_error() and returns `status`. */
    bp_status (*fail)(bp_status status, const char *format, ...) BP_PRINTF(2, 3);
    /* A warning for the user, given once per text. */
    void (*warn)(const char *format, ...) BP_PRINTF(1, 2);
    /* Runs task(context, 0) ... task(context, count-1) on at most `threads` threads of our pool (the caller's is one of
     * them), and returns when all are done. Nested calls run in the caller alone. */
    void (*parallel)(int threads, int count, bp_task task, void *context);
    /* Opens a library of the list under the house rules (absolute path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND, never
     * closed, OpenMP conflicts reported before); a second call gives the same handle. */
    bp_status (*open_library)(const bp_library_info *library, void **handle);
    /* The address of `name` in a handle, NULL when it has none. */
    void *(*symbol)(void *handle, const char *name);
    /* dst[i*dst_row + j*dst_column] = src[i*src_row + j*src_column], conjugated on request; same dtype, no overlap. */
    void (*copy_matrix)(bp_dtype dtype, int64_t rows, int64_t columns, void *dst, int64_t dst_row, int64_t dst_column,
                        const void *src, int64_t src_row, int64_t src_column, int conjugate);
    const bp_machine_info *machine;
    bp_capability hardware; /* highest instruction set here */
    /* Grows by one in each child of fork: compare with the value at open to know that you are in a child. */
    const volatile uint32_t *fork_count;
    /* Keeps the sentence for the first failing item of a linear-algebra call, worded alike for all providers, and
     * returns the status that belongs to `info` (LAPACK's, or BP_INFO_NON_FINITE); `item` counts through the batch,
     * last dimension fastest. */
    bp_status (*fail_numeric)(const bp_problem *problem, int64_t item, int64_t info);

    /* Since 2.1. For loops that may take long, between their units of work: the interrupt check of the thread that
     * began the call (interrupt.h).
     *
     * Whether it is time to ask: false without a check, on other threads, and until a tenth of a millisecond has passed
     * since the check was last due. *since is 0 when a call begins, and the first question of a call only starts the
     * clock; it is read and written by the thread that began the call alone, so threads may share it. About 2 ns
     * without a check, else the time of reading a clock: units that take less are done several at a time. May be asked
     * anywhere. */
    int (*interrupt_due)(int64_t *since);
    /* Asks it, where it is due. True: the operation stops, and returns BP_E_CANCELLED, whose sentence has been kept.
     * The check may call the library, the same provider included: so nothing of the calling thread may be held that
     * such a call takes, neither a lock nor a setting of the thread. Workspaces stay; scratch() memory does not. */
    int (*interrupted)(bp_op op);
} bp_host;

typedef struct bp_provider {
    uint32_t abi; /* BP_PROVIDER_ABI */
    uint32_t struct_size;
    const char *name; /* "native", "blas"; letters, digits, '-' */
    const char *version;
    const char *description; /* one line */
    unsigned library_kinds;  /* BP_LIB_ mask of the libraries that it drives; 0: needs none, gets one instance */
    /* Makes an instance. `library` is NULL when library_kinds is 0, else lives as long as the instance. Must not load
     * the library yet: that is for the first plan. Required. */
    bp_status (*open)(const bp_host *host, const bp_library_info *library, void **instance);
    void (*close)(void *instance); /* required */
    /* Offers a candidate for each of its algorithms that takes the problem, or one refusal. Required. */
    void (*accept)(void *instance, const bp_problem *problem, bp_offers *offers);
    /* Prepares a candidate that it has offered; may load the library. Problem, verdict and `found`, the bytes that came
     * with the offer, are read during the call only. Required. */
    bp_status (*plan)(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                      bp_prepared **prepared);
    /* The library's thread count: sets it when `want` > 0, and reads back what is in force into *got (0: cannot be
     * known). Optional: NULL means the provider has no threads of its own. */
    bp_status (*threads)(void *instance, int want, int *got);
    /* Families of the libraries that it drives (bp_library_info.family), separated by spaces; NULL: those of every
     * family. */
    const char *families;
    /* Kinds of devices that it works on, separated by spaces; NULL: the host. A problem elsewhere does not reach it. */
    const char *runtimes;
} bp_provider;

/* A provider's source ends with
 *
 *     BP_PROVIDER_DEFINE(name) = {.abi = BP_PROVIDER_ABI, .struct_size = sizeof(bp_provider), .name = "name", ...};
 *
 * and compiles both ways: to a module, where the constant is exported as BP_PROVIDER_ENTRY, the only name that a module
 * needs to export; and, with BP_BUILTIN_PROVIDER defined, into the library, as `bp_provider_<name>`.
 *
 * A module of several providers is compiled with BP_BUILTIN_PROVIDER defined too, and one more file of it says
 *
 *     extern const bp_provider bp_provider_one, bp_provider_other;
 *     BP_PROVIDERS_DEFINE = {&bp_provider_one, &bp_provider_other, NULL};
 *
 * which is exported as BP_PROVIDER_ENTRIES and then asked for alone. Each of them is taken or turned away for itself.
 */
#define BP_PROVIDER_ENTRY "bp_provider_entry"
#define BP_PROVIDER_ENTRIES "bp_provider_entries"
#ifdef __cplusplus
#define BP__PROVIDER_LINKAGE extern "C"
#else
#define BP__PROVIDER_LINKAGE extern
#endif
#define BP_PROVIDERS_DEFINE                                                                                            \
    BP__PROVIDER_LINKAGE BP_API const bp_provider *const bp_provider_entries[];                                        \
    const bp_provider *const bp_provider_entries[]
#ifdef BP_BUILTIN_PROVIDER
#define BP_PROVIDER_DEFINE(name)                                                                                       \
    BP__PROVIDER_LINKAGE const bp_provider bp_provider_##name;                                                         \
    const bp_provider bp_provider_##name
#else
#define BP_PROVIDER_DEFINE(name)                                                                                       \
    BP__PROVIDER_LINKAGE BP_API const bp_provider bp_provider_entry;                                                   \
    const bp_provider bp_provider_entry
#endif

#ifdef __cplusplus
}
#endif
#endif
