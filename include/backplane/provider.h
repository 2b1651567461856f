/* provider.h - defines the interface between Backplane (the host) and a provider, which runs operations.
 *
 * A provider is one constant bp_provider, in a shared module or built in. A module exports it as `bp_provider_entry`,
 * or several as `bp_provider_entries`. CONTRIBUTING.md and examples/provider/ have a complete one. Rules:
 *   - The host checks `abi` before it reads any other field: the major number must be equal, the minor number not
 *     larger. Structs only grow at their end, and a struct that may grow is never a member by value of another one.
 *     struct_size is the size that the writer knows. Each side reads no further than the other side's struct_size.
 *   - A provider does not link to libbackplane. It calls the host through the bp_host table.
 *   - accept() has no side effects and is cheap: it reads the problem only. It does not read tensor data, open a
 * library or allocate memory. It offers a candidate per algorithm that can run the problem, or one refusal.
 *   - A provider does not print, abort or exit. It returns a bp_status and sets the message with host->fail().
 *   - Every function may be called by several threads at once, except open/close of one instance and destroy of one
 * plan.
 */
#ifndef BACKPLANE_PROVIDER_H
#define BACKPLANE_PROVIDER_H

#include "backplane/device.h"
#include "backplane/library.h"
#include "backplane/machine.h"
#include "backplane/operation.h"
#include "backplane/problems.h"
#include "backplane/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BP_PROVIDER_ABI_MAJOR 5u
#define BP_PROVIDER_ABI_MINOR 6u
#define BP_PROVIDER_ABI ((BP_PROVIDER_ABI_MAJOR << 16) | BP_PROVIDER_ABI_MINOR)

/* A scalar factor. `im` is ignored for real types. */
typedef struct bp_scalar {
    double re;
    double im;
} bp_scalar;

/* Class of alpha or beta. A problem has only the class, so that one plan serves
 * all values of it. */
typedef enum bp_factor { BP_FACTOR_ZERO, BP_FACTOR_ONE, BP_FACTOR_ANY } bp_factor;

/* The settings that take part in the choice, resolved for the calling thread. */
typedef struct bp_policy {
    int32_t threads;       /* maximum number of threads, at least 1 */
    uint8_t deterministic; /* 0 off, 1 run, 2 threads */
    uint8_t capability;    /* a bp_capability: highest instruction set for the native kernels */
    uint8_t fallback;      /* 0 strict, 1 warn, 2 allow */
    uint8_t precision;     /* f32 inputs may be rounded inside the operation to: 0 f32, 1 TF32, 2 bf16 */
    uint32_t preferred;    /* reserved for dispatch, from here to `simulate`; handle of an interned text, 0 = none */
    uint32_t exclude;      /* likewise */
    uint8_t constraints;   /* what settings disable or require, a bit each */
    uint8_t warn_only;     /* 1: if no candidate satisfies `deterministic`, warn and run one that does not */
    uint8_t simulate;      /* f32 inputs are rounded before the call to: 0 f32, 1 TF32, 2 bf16 */
    uint8_t fft_planner;   /* FFTW planner: 0 auto, 1 estimate, 2 measure, 3 patient */
    uint8_t packed;        /* bit i: the caller will pass operand i in packed form (bp_plan_pack) */
    uint8_t measured;      /* reserved for dispatch, from here on; 1: calibrated times may decide */
    uint8_t benchmark;     /* whether candidates are measured */
    uint8_t tuning;        /* which measured times are used */
    /* The settings under cuda and cudnn, on devices of CUDA and ROCm; 0 everywhere else. */
    uint8_t products;            /* BP_PRODUCTS_ mask; of linear algebra the library alone */
    uint8_t convolutions;        /* BP_CUDNN_ mask */
    uint8_t sdp;                 /* of attention: BP_SDP_ mask; 0 for other operations */
    uint8_t sdp_order;           /* see bp_policy_sdp() */
    uint32_t benchmark_limit;    /* most algorithms that BP_CUDNN_BENCHMARK measures; 0: no limit, or no measuring */
    uint64_t workspace_limit;    /* bytes for a product of cuBLAS; 0: what is best for the device */
    uint64_t lt_workspace_limit; /* likewise of cuBLASLt */
} bp_policy;

/* bp_policy.products: what products in f16, bf16 and f32 may do (cuda.matmul), and which library is preferred. */
#define BP_PRODUCTS_F16_REDUCTION 1u     /* add partial results in f16 */
#define BP_PRODUCTS_F16_SPLIT_K 2u       /* split k in products of f16 */
#define BP_PRODUCTS_BF16_REDUCTION 4u    /* add partial results in bf16 */
#define BP_PRODUCTS_BF16_SPLIT_K 8u      /* split k in products of bf16 */
#define BP_PRODUCTS_F16_ACCUMULATION 16u /* accumulate in f16 */
#define BP_PRODUCTS_BFX9 32u             /* compute f32 as nine products of bf16; `precision` is 0 */
#define BP_PRODUCTS_LIBRARY 192u         /* these two bits are a bp_products_library or a bp_linalg_library */
#define BP_PRODUCTS_LIBRARY_SHIFT 6

typedef enum bp_products_library {
    BP_PRODUCTS_BY_DEFAULT,
    BP_PRODUCTS_BY_CUBLAS,
    BP_PRODUCTS_BY_CUBLASLT,
    BP_PRODUCTS_BY_CK
} bp_products_library;

static inline bp_products_library bp_policy_products_library(const bp_policy *policy) {
    return BP__CAST(bp_products_library, policy->products >> BP_PRODUCTS_LIBRARY_SHIFT);
}

/* Since 5.4: the preferred library of linear algebra (cuda.preferred_linalg_library). */
typedef enum bp_linalg_library { BP_LINALG_BY_DEFAULT, BP_LINALG_BY_CUSOLVER, BP_LINALG_BY_MAGMA } bp_linalg_library;

static inline bp_linalg_library bp_policy_linalg_library(const bp_policy *policy) {
    return BP__CAST(bp_linalg_library, policy->products >> BP_PRODUCTS_LIBRARY_SHIFT);
}

/* bp_policy.convolutions. Dispatch itself refuses cuDNN and MIOpen for the first two. */
#define BP_CUDNN_DISABLED 1u          /* cudnn.enabled is false */
#define BP_CUDNN_DETERMINISTIC 2u     /* only algorithms with bitwise reproducible results */
#define BP_CUDNN_BENCHMARK 4u         /* measure the algorithms of a convolution, and use the fastest */
#define BP_CUDNN_DEPTHWISE_CUDNN 8u   /* depthwise convolutions: cuDNN */
#define BP_CUDNN_DEPTHWISE_NATIVE 16u /* depthwise convolutions: kernels of another library; neither: the fastest */
#define BP_CUDNN_IMMEDIATE 32u        /* MIOpen: the algorithm that needs no search */

/* Kinds of kernels of attention, in the default order. */
typedef enum bp_sdp_kernel {
    BP_SDP_FLASH,
    BP_SDP_EFFICIENT,
    BP_SDP_MATH,
    BP_SDP_CUDNN,
    BP_SDP_OVERRIDEABLE
} bp_sdp_kernel;
#define BP_SDP_KERNELS 5

/* bp_policy.sdp: bit 1 << bp_sdp_kernel allows the kernel. Dispatch refuses algorithms of other kernels. */
#define BP_SDP_REDUCTION 32u /* products of BP_SDP_MATH in f16 and bf16 may accumulate in these types */

/* Returns the kernel that is tried at `position` (0 to BP_SDP_KERNELS - 1), whether it is allowed or not.
 * sdp_order is the number of the order among all orders, sorted as words. */
static inline bp_sdp_kernel bp_policy_sdp(const bp_policy *policy, int position) {
    unsigned rest = policy->sdp_order % 120u, orders = 24, left = 31; /* bit i: kernel i has no position yet */
    for (int i = 0;; i++) {
        unsigned skip = rest / orders, kernel = 0;
        while (!(left >> kernel & 1) || skip-- > 0) {
            kernel++;
        }
        if (i == position || i == BP_SDP_KERNELS - 1) {
            return BP__CAST(bp_sdp_kernel, kernel);
        }
        left &= ~(1u << kernel);
        rest %= orders;
        orders /= BP__CAST(unsigned, BP_SDP_KERNELS - 1 - i);
    }
}

typedef enum bp_capability {
    BP_CAPABILITY_DEFAULT,
    BP_CAPABILITY_AVX2,
    BP_CAPABILITY_AVX512,
    BP_CAPABILITY_VSX,
    BP_CAPABILITY_ZVECTOR,
    BP_CAPABILITY_SVE256
} bp_capability;

#define BP_INFO_NON_FINITE (-1) /* info of an item that was not computed, because its input has NaN or infinity */

/* One call, as bytes: unused bytes are 0, so that problems can be compared and hashed byte by byte. */
typedef struct bp_problem {
    uint32_t struct_size;
    uint32_t op;    /* a bp_op; selects the member of `of`, see BP_OP_MAP */
    uint32_t dtype; /* a bp_dtype: type of operands and result; the members of `of` state exceptions */
    int32_t place;  /* the device that all operands are on: 0 is the host */
    bp_policy policy;
    union { /* one member for each family: bp_conv_problem conv, ... */
#define BP__MEMBER(unused, family, ...) bp_##family##_problem family;
        BP_FAMILY_MAP(BP__MEMBER, )
#undef BP__MEMBER
    } of;
} bp_problem;

/* Returns the type of B or of C of a product. `type` is b_type or c_type of its problem. */
static inline bp_dtype bp_gemm_type(const bp_problem *problem, uint8_t type) {
    return BP__CAST(bp_dtype, type ? type : problem->dtype);
}

/* Numerical properties that a candidate guarantees. An absent bit means "unknown", and a call that requires the
 * property fails. No property guarantees equality with a particular routine of a library; for products with one row or
 * column see blas.preferred=LIBRARY:gemm. */
#define BP_PROPERTY_ACCUMULATES_F32 1u    /* sums in f32 (f16, bf16, f32 input) */
#define BP_PROPERTY_ACCUMULATES_F64 2u    /* sums in f64 */
#define BP_PROPERTY_REPRODUCIBLE 4u       /* bitwise reproducible with the same number of threads */
#define BP_PROPERTY_THREAD_INVARIANT 8u   /* bitwise equal with any number of threads and at any index of a batch */
#define BP_PROPERTY_ROUNDS_BELOW_TF32 16u /* rounds inputs to a type shorter than TF32 first, such as bf16 */
#define BP_PROPERTY_PROPAGATES_NAN 32u    /* NaN and Inf in an input reach the result, also if multiplied by zero */
#define BP_PROPERTY_INPUTS_TF32 64u       /* rounds f32 inputs to TF32 first */
#define BP_PROPERTY_LARGER_ERROR 128u     /* transforms inputs, with larger errors than a sum of products */
#define BP_PROPERTY_PACKS_A 256u          /* copies the operand to scratch memory first */
#define BP_PROPERTY_PACKS_B 512u
#define BP_PROPERTY_PACKS_C 1024u
#define BP_PROPERTY_ROW_INVARIANT 2048u /* bitwise equal in any row and any column of a matrix product */
/* The items of this batch are computed one by one. The library computes batches in other layouts at once, so that the
 * measured times of batches do not hold. */
#define BP_PROPERTY_ITEM_BY_ITEM 4096u

/* Result of accept() for one algorithm: refused with a reason, or accepted with its properties. */
typedef struct bp_verdict {
    uint32_t struct_size;
    bp_reason reason;
    const char *algorithm; /* static text, lower case: "gemm", "packed avx2"; settings use its first word */
    uint32_t properties;   /* BP_PROPERTY_ mask */
    int32_t threads;       /* number that a run will use; 0: the library decides */
    double cost_ns;        /* estimated time in ns; only used to rank candidates */
    char text[192];        /* refused: why, without a capital or full stop; accepted: a remark, or "" */
    size_t workspace;      /* bytes that a run needs in addition to its operands */
    uint32_t packs;        /* bit i: pack() supports operand i, in the order of BP_OP_MAP */
} bp_verdict;

#define BP_VERDICT_INIT                                                                                                \
    { .struct_size = sizeof(bp_verdict), .algorithm = "" }

/* Collects a provider's candidates for one problem. */
typedef struct bp_offers bp_offers;
struct bp_offers {
    /* Adds one algorithm. A provider that cannot run the problem at all adds a single refusal. `found` is data of
     * accept() for plan(): `size` bytes, copied, passed to plan() aligned to 16 bytes if this candidate is chosen. It
     * must not have pointers into itself. NULL and 0 if there is none. */
    void (*add)(bp_offers *self, const bp_verdict *verdict, const void *found, size_t size);
};

/* An operand of a call. In host memory, base + offset is the address of its first element. On devices a base may be a
 * handle, so both are passed. An absent operand has base NULL and offset 0. */
typedef struct bp_operand {
    void *base;
    uint64_t offset; /* bytes */
} bp_operand;

/* Returns base + offset. Computed with integers, because an operand without elements may have base NULL. */
static inline void *bp_operand_address(const bp_operand *operand) {
    return BP__ADDRESS_CAST(void *, BP__ADDRESS_CAST(uintptr_t, operand->base) + operand->offset);
}

/* Sets `addresses` to the addresses of a linear-algebra problem's operands, NULL for absent ones. `operands` may end
 * with the operation's last operand, so later ones are not read. */
static inline void bp_linalg_addresses(const bp_linalg_problem *problem, const bp_operand *operands,
                                       void *addresses[BP_LINALG_OPERANDS]) {
    for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
        addresses[i] = problem->operand[i].dtype ? bp_operand_address(&operands[i]) : BP__NULL;
    }
}

/* A constant operand in the layout of the plan that it was packed for, see bp_plan_pack(). */
typedef struct bp_packed bp_packed;

/* Arguments of one run of a plan, see bp_execute(). */
typedef struct bp_exec {
    size_t struct_size; /* sizeof(bp_exec) */
    bp_queue *queue; /* of the plan's device; NULL: the calling thread's. A plan of the host runs in the calling thread
                      * and is complete when the call returns */
    bp_operand workspace;     /* at least bp_plan_info.workspace bytes, a multiple of bp_plan_info.workspace_alignment;
                               * base NULL: the library allocates it */
    size_t workspace_size;    /* bytes */
    const bp_scalar *scalars; /* alpha and beta of a gemm; NULL: 1 and 0 */
    const bp_packed *const
        *packed;            /* for each operand NULL, or its packed form, which is read instead of the operand.
                             * NULL: none is packed. Plans whose operands cannot be packed accept no array, even of NULLs */
    size_t operand_count;   /* number of operands that are passed, which bp_execute() compares with the plan's; 0: the
                             * caller guarantees it */
    bp_event *const *after; /* events that the run waits for, on the device */
    size_t after_count;
    bp_event **done; /* NULL, or where the event at the end of the run is stored; release it */
} bp_exec;

/* A prepared call. A provider's own struct begins with this one. */
typedef struct bp_prepared bp_prepared;
struct bp_prepared {
    uint32_t struct_size;
    /* Runs the call; several threads may run it at once. On the host it returns when the result is complete. The host
     * fills all of `exec`: the workspace has `workspace` bytes, a gemm has its scalars, and packed operands come from
     * pack() of this same prepared call. */
    bp_status (*enqueue)(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);
    void (*destroy)(bp_prepared *self);
    size_t workspace; /* bytes; 0: none */
    /* Copies an operand to the provider's layout. NULL: no operand can be packed. */
    bp_status (*pack)(const bp_prepared *self, int operand, const bp_operand *source, bp_packed **packed);
    /* Bytes: a power of two of at most 4096. The workspace's address is a multiple of it, or on devices without
     * addresses its offset. 0: 256 on devices with addresses, which libraries expect there, and 64 elsewhere. */
    size_t workspace_alignment;
    /* Since 5.3: of UNARY, BINARY and WHERE on the host, so that graphs run several functions together, block by block.
     *
     * Computes `count` elements, which lie one after another from these addresses on: of the inputs, then of the
     * output, which may be in the place of an input of its type. Sizes and strides of the problem do not matter. It
     * runs in the calling thread, cannot fail, and gives an element the bits that enqueue() gives it. NULL: there is
     * none, and the members below are not read. */
    void (*elements)(const bp_prepared *self, int64_t count, void *const *operands);
    double element_ns; /* estimated time of an element in elements(), with operands in the first cache */
    /* Sets *joined to a call whose elements() computes self, and then `next` with the result of self as its input
     * `input`. Operands: the inputs of self, the other inputs of next, the output of next. *joined is NULL if there is
     * none. It is used for nothing but elements() and destroy(), and does not need self and next. NULL: none is joined.
     */
    bp_status (*join)(const bp_prepared *self, const bp_prepared *next, int input, bp_prepared **joined);
};

/* First member of the struct that pack() returns. */
struct bp_packed {
    uint32_t struct_size;
    int32_t operand;  /* set by dispatch */
    const void *plan; /* set by dispatch */
    size_t size;      /* bytes */
    void (*destroy)(bp_packed *self);
};

typedef void (*bp_task)(void *context, int task);

/* Functions of the host for providers. New members are added at the end: check struct_size before you use one that is
 * newer than the ABI version you require. */
typedef struct bp_host {
    uint32_t abi;
    uint32_t struct_size;
    /* Allocates memory with the program's allocator, aligned to 64 bytes. Returns NULL if memory is exhausted. */
    void *(*allocate)(size_t size);
    void (*release)(void *block);
    /* Returns scratch memory of the calling thread, aligned to 64 bytes, valid until that thread's next scratch() call;
     * NULL if memory is exhausted. The block grows on demand and is reused. For plan() and for tasks of parallel();
     * enqueue() has its workspace, which is never this memory. */
    void *(*scratch)(size_t size);
    /* Sets the message of bp_last_error() and returns `status`. */
    bp_status (*fail)(bp_status status, const char *format, ...) BP_PRINTF(2, 3);
    /* Warns the user, once per text. */
    void (*warn)(const char *format, ...) BP_PRINTF(1, 2);
    /* Runs task(context, 0) ... task(context, count-1) on at most `threads` threads of the host's pool; one of them is
     * the calling thread, and returns when all are done. A nested call runs in the calling thread only. */
    void (*parallel)(int threads, int count, bp_task task, void *context);
    /* Opens a listed library. Loading rules: absolute path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND, never closed, OpenMP
     * conflicts are reported first. Later calls return the same handle. */
    bp_status (*open_library)(const bp_library_info *library, void **handle);
    /* Returns the address of symbol `name` in a handle, NULL if there is none. */
    void *(*symbol)(void *handle, const char *name);
    /* Copies dst[i*dst_row + j*dst_column] = src[i*src_row + j*src_column], conjugated if `conjugate`. Strides are in
     * elements. dst and src must not overlap. */
    void (*copy_matrix)(bp_dtype dtype, int64_t rows, int64_t columns, void *dst, int64_t dst_row, int64_t dst_column,
                        const void *src, int64_t src_row, int64_t src_column, int conjugate);
    const bp_machine_info *machine;
    bp_capability hardware; /* highest instruction set of this machine */
    /* Incremented in each child of fork. If it differs from its value at open(), the process is a child. */
    const volatile uint32_t *fork_count;
    /* Sets the message for the first failing item of a linear-algebra call, with the same text for all providers, and
     * returns the status that belongs to `info` (LAPACK's, or BP_INFO_NON_FINITE). `item` is the index in the batch,
     * last dimension fastest. */
    bp_status (*fail_numeric)(const bp_problem *problem, int64_t item, int64_t info);

    /* For loops that may take long, between units of work: the interrupt check of the thread that began the
     * call (interrupt.h).
     *
     * Returns whether to call interrupted(). False without a check, on other threads, and until 0.1 ms after the check
     * was last due. Set *since to 0 when a call begins; the first query of a call only reads the clock. Only the thread
     * that began the call reads and writes *since, so threads may share it. Costs about 2 ns without a check, otherwise
     * a clock read: combine units of work that take less. May be called anywhere, also while locks are held. */
    int (*interrupt_due)(int64_t *since);
    /* Calls the check. If it returns true, stop and return BP_E_CANCELLED; the message is set. The check may call the
     * library, including this provider. So the calling thread must hold no lock and no thread setting that such a call
     * needs. Workspaces stay valid; scratch() memory does not. */
    int (*interrupted)(bp_op op);

    /* Text of a library that is kept between processes, such as measurements of its planner. It is kept for
     * this file (by its build-id) on this machine. Do not use it where `deterministic` is set.
     *
     * Returns what remember() kept under a name, for release(); NULL if there is nothing, or if tuning.store is off. */
    char *(*recall)(const bp_library_info *library, const char *name);
    /* Keeps a text, in place of an earlier one. Does nothing unless `benchmark` is on for the family and tuning.store
     * permits it. Call it without locks that another operation needs: it writes a file. */
    void (*remember)(const bp_library_info *library, const char *name, bp_op op, const char *text);

    /* Calls call(user), and then removes the named environment variables that it added: what a
     * library sets for itself must not reach libraries that the program loads later. `names` ends with NULL, after at
     * most 64 names. */
    void (*keep_unset)(const char *const *names, void (*call)(void *user), void *user);

    /* Devices, see runtime.h; a problem's place tells which.
     *
     * Returns the facts of a device, for accept(); NULL if there is no such place. Valid until the provider's close().
     */
    const bp_device_info *(*device)(int32_t place);
    /* Opens the device if necessary, and sets *device to what its runtime made in device_open(). For plan(). */
    bp_status (*device_open)(int32_t place, void **device);
    /* Returns what the runtime made in queue_open(). For enqueue(), where bp_exec.queue is never NULL on a device. */
    void *(*queue)(bp_queue *queue);
    /* Tells that a run was enqueued, and hands over the event of its last command. The host reports a failure of it
     * with the operation's name. */
    bp_status (*enqueued)(bp_queue *queue, void *event);
    /* Bytes that are kept between processes, such as compiled kernels. The key is all that they depend on. `kind` names
     * a folder. recall_bytes() returns a copy for release(), or NULL; the bytes have a checksum, so that damaged files
     * count as absent. remember_bytes() does nothing if registry.cache does not permit it. */
    void *(*recall_bytes)(const char *kind, const void *key, size_t key_size, size_t *size);
    void (*remember_bytes)(const char *kind, const void *key, size_t key_size, const void *bytes, size_t size);
    /* Opens a library that is not listed, such as the driver of a device, by the name of its file: "libOpenCL.so.1". It
     * is searched in the same places, and opened under the same rules as by open_library(). Later calls return the same
     * handle. Errors: BP_E_NOT_FOUND, BP_E_UNTRUSTED, BP_E_LOAD. */
    bp_status (*open_named)(const char *name, void **handle);

    /* Starts that many threads, which exist at the same time, and ends them. Returns 0, or the error number
     * of the first that cannot be started. For libraries that end the process, or wait for ever, without their threads.
     */
    int (*threads_start_error)(int count);

    /* Since 3.0. Like enqueued(), for a command whose result is examined when it has ended: `check` is called once,
     * with `ended` 1 after the command, in a thread that waits for the queue or looks at it, or with 0 if the command
     * failed or cannot be waited for any more. It frees what `user` has. It may read memory of the host and call fail()
     * and fail_numeric(), and must not use queues, events or memory of a device. With `ended` 1 its status is the
     * failure of the command, which the next wait for the queue returns with its message; commands behind it run.
     * A failure of this function has called `check`. */
    bp_status (*enqueued_checked)(bp_queue *queue, void *event, bp_status (*check)(void *user, int ended), void *user);
} bp_host;

typedef struct bp_provider {
    uint32_t abi; /* BP_PROVIDER_ABI */
    uint32_t struct_size;
    const char *name; /* "native", "blas"; letters, digits, '-' */
    const char *version;
    const char *description; /* one line */
    unsigned library_kinds;  /* BP_LIB_ mask of the libraries that it calls; 0: none, it gets one instance */
    /* Creates an instance. `library` is NULL if library_kinds is 0, otherwise valid as long as the instance. Must not
     * load the library; the first plan() does. Required. */
    bp_status (*open)(const bp_host *host, const bp_library_info *library, void **instance);
    void (*close)(void *instance); /* required */
    /* Adds a candidate for each algorithm that can run the problem, or one refusal. Required. */
    void (*accept)(void *instance, const bp_problem *problem, bp_offers *offers);
    /* Prepares an offered candidate; may load the library. `found` is the data that was added with the offer. Problem,
     * verdict and `found` are valid during the call only. BP_E_UNSUPPORTED is a late refusal, for what only the loaded
     * library can tell: another candidate is chosen, without a warning. Required. */
    bp_status (*plan)(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                      bp_prepared **prepared);
    /* Sets the library's thread count if `want` > 0, and sets *got to the current count (0: unknown). Optional: NULL
     * means that the provider has no threads of its own. */
    bp_status (*threads)(void *instance, int want, int *got);
    /* Families of the libraries that it calls (bp_library_info.family), separated by spaces; NULL: all families. */
    const char *families;
    /* Kinds of devices that it supports, separated by spaces; NULL: the host. It gets no problem of other devices. */
    const char *runtimes;
    /* 1: the cost of products follows the steps in the times of the kernels, such as those after each whole vector.
     * Between the sizes at which times were measured, the times then follow the cost. 0: the cost is smoother than the
     * times, which are interpolated. */
    int32_t cost_follows_kernels;
    /* Adds the algorithms of the library's own list for an offer of accept(): the results of a heuristic, or engines.
     * The offer stands for the one that the library prefers. Each has another name (bp_verdict.algorithm) than the
     * others, the same in every process, and counts as no faster than the offer until it is measured; at most 32 are
     * taken. Called only where candidates are measured, and for explanations with explain.all. May open the library and
     * be slow. Optional: NULL if there is no such list. */
    void (*expand)(void *instance, const bp_problem *problem, const bp_verdict *offer, bp_offers *offers);
} bp_provider;

/* A provider's source ends with
 *
 *     BP_PROVIDER_DEFINE(name) = {.abi = BP_PROVIDER_ABI, .struct_size = sizeof(bp_provider), .name = "name", ...};
 *
 * It compiles to a module, which must export only this constant, as BP_PROVIDER_ENTRY. With BP_BUILTIN_PROVIDER defined
 * it compiles into the library, as `bp_provider_<name>`.
 *
 * A module of several providers is also compiled with BP_BUILTIN_PROVIDER defined, and one more file has
 *
 *     extern const bp_provider bp_provider_one, bp_provider_other;
 *     BP_PROVIDERS_DEFINE = {&bp_provider_one, &bp_provider_other, NULL};
 *
 * This list is exported as BP_PROVIDER_ENTRIES, and BP_PROVIDER_ENTRY is then not read. Each provider of the list is
 * accepted or rejected separately.
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
