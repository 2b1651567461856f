/* dispatch.h - plans, packed operands, plan caches, and explanations of the choice. All functions are thread-safe. */
#ifndef BACKPLANE_DISPATCH_H
#define BACKPLANE_DISPATCH_H

#include "backplane/provider.h"
#include "backplane/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Providers --------------------------------------------------------------------------------------------------- */

/* A usable provider, or a module that was rejected at load time (see `status`). */
typedef struct bp_provider_info {
    size_t struct_size; /* set by the caller: sizeof(bp_provider_info) */
    const char *name;
    const char *version;
    const char *description;
    const char *path;   /* the module's file; "" if built in */
    bp_status status;   /* BP_OK, or the reason for rejection: BP_E_ABI, BP_E_UNTRUSTED, BP_E_SYMBOL, BP_E_LOAD */
    const char *reason; /* message for `status`; "" for BP_OK */
} bp_provider_info;

/* Fills *info with entry `index` (0, 1, ...) and returns 1. Returns 0 past the end. Strings are valid until
 * bp_reset(). */
BP_API int bp_provider_at(int index, bp_provider_info *info);

/* ---- Plans ------------------------------------------------------------------------------------------------------- */

/* The chosen provider, library and algorithm for one problem, prepared to run repeatedly. Immutable: several threads
 * may run it at once. Plans are reference-counted: call bp_plan_release() for each plan that a ..._plan() function
 * returned. */
typedef struct bp_plan bp_plan;

/* Runs a plan on the memory that it was made for, or on other memory of the same layout. `operands` has the inputs,
 * then the outputs, in the order of bp_op_inputs() and bp_op_outputs(); an operand that the plan does not have has base
 * NULL. The caller must guarantee their number (bp_plan_info.operands), unless bp_exec.operand_count has it, and that
 * the memory is as large as the plan's layouts. Addresses are checked, as in the operation's own call: an operand that
 * has elements needs one, aligned for its type; an output shares no element with another operand, except that a plan
 * made to run in place needs equal addresses, and functions of single elements may have them. Operands that are passed
 * in packed form are not looked at.
 *
 * `exec` may be NULL: the plan then runs in the calling thread, with a workspace of the library, and for a gemm with
 * alpha 1 and beta 0. Alpha and beta must be in the class of the plan (0, 1, other), because a kernel serves one class:
 * scalars of another class are refused, also alpha 1 and beta 0 of a missing bp_exec.scalars (BP_E_ARGUMENT). So are an
 * imaginary part for real matrices, and scalars other than 1 and 0 for another operation than a gemm.
 *
 * A workspace from the caller may be used by one run at a time. With it, a run allocates no memory of Backplane; a math
 * library may still allocate its own. BP_E_ARGUMENT if it is smaller than bp_plan_info.workspace or not aligned to
 * 64 bytes.
 *
 * Errors: BP_E_ARGUMENT if bp_exec.operand_count is neither 0 nor bp_plan_info.operands, or for an operand without an
 * address; BP_E_LAYOUT (alignment); BP_E_OVERLAP; the errors of the operation and of the library; BP_E_NO_MEMORY
 * (workspace; RLIMIT_AS or RLIMIT_DATA leaves less than the library needs); BP_E_FORKED; BP_E_UNSUPPORTED for a queue
 * or bp_exec.done if the plan is one of the host, and for an array of packed operands, even of NULLs, if
 * bp_plan_pack() supports no operand of the plan; BP_E_ARGUMENT for an operand packed for another plan or another
 * position. */
BP_API bp_status bp_execute(const bp_plan *plan, const bp_operand *operands, const bp_exec *exec);

/* ---- Packed operands ---- */

/* Copies a constant operand, such as the weights of a layer, into the layout that the plan's kernel reads, so that
 * later runs of the plan skip this copy. `operand` is its index as in bp_execute(). `source` is its memory, which may
 * be freed or changed afterwards. Pass the result in bp_exec.packed to runs of this plan only; several threads may use
 * it at once. It holds a reference to the plan. Release it with bp_packed_release().
 *
 * Both inputs of every matrix product (gemm) of the host can be packed, and the first two of every convolution. If the
 * library has no packed layout, the result is a plain copy and saves no time; see bp_plan_info.packs. To make the
 * choice of a library take the saving into account, create the plan with the option dispatch.packed (first, second or
 * both).
 *
 * Errors: BP_E_ARGUMENT (an output, an operand that the plan does not have, or NULL); BP_E_LAYOUT (not aligned);
 * BP_E_UNSUPPORTED (a plan of another operation, or on a device); BP_E_NO_MEMORY. */
BP_API bp_status bp_plan_pack(bp_packed **packed, const bp_plan *plan, int operand, const bp_operand *source);
BP_API void bp_packed_release(bp_packed *packed); /* NULL is allowed */

BP_API void bp_plan_release(bp_plan *plan); /* NULL is allowed */

typedef struct bp_plan_info {
    size_t struct_size;    /* set by the caller: sizeof(bp_plan_info) */
    const char *operation; /* "gemm": bp_matmul and bp_gemm both become one */
    const char *provider;  /* "native", "blas" */
    const char *library;   /* id in the library list; "native" for Backplane's own kernels */
    const char *library_path;
    const char *library_version;
    const char *algorithm;
    const char *reason;  /* why it was chosen: "preferred by blas.preferred (environment)", "lowest estimated time" */
    uint32_t properties; /* BP_PROPERTY_ mask */
    int threads;
    double cost_ns;    /* expected time of a run in ns, see bp_candidate_info */
    int alignment;     /* in bytes; every address passed to bp_execute() must be a multiple of it */
    uint64_t runs;     /* runs by one-shot calls; counted without a lock, so simultaneous runs may be missed */
    char problem[256]; /* description: "f32 512x512 @ 512x512 -> 512x512, threads 2" */
    size_t workspace;  /* bytes that a run needs in addition to its operands: copies, panels, intermediate results */
    uint32_t packs;    /* bit i: bp_plan_pack() of operand i saves time */
    int operands;      /* number of elements of bp_execute()'s `operands`, optional ones included */
    int workspace_alignment; /* bytes: what the address of a workspace of the caller is a multiple of, or its offset on
                              * devices whose memory has no addresses */
} bp_plan_info;

/* Fills *info. Strings are valid as long as the plan. Errors: BP_E_ARGUMENT (NULL, unknown struct_size). */
BP_API bp_status bp_plan_describe(const bp_plan *plan, bp_plan_info *info);

/* Describes the plan that the calling thread ran last, in a one-shot call or by bp_execute(). Strings are valid until
 * that thread's next bp_last_plan(). Errors: BP_E_NOT_FOUND before the first run, and after a call whose result has no
 * elements, because such a call runs no plan. */
BP_API bp_status bp_last_plan(bp_plan_info *info);

/* ---- The process-wide plan cache (plan_cache.max_size); Fourier transforms have one of their own, see fft.h ---- */

typedef struct bp_plan_cache_info {
    size_t struct_size; /* set by the caller: sizeof(bp_plan_cache_info) */
    int64_t size;       /* plans in the cache */
    int64_t max_size;   /* the setting */
    uint64_t hits;      /* calls that found their plan in this cache; hits in a thread cache are not counted */
    uint64_t misses;
    uint64_t evictions;
} bp_plan_cache_info;

/* Fills *info. Errors: BP_E_ARGUMENT (NULL, unknown struct_size). */
BP_API bp_status bp_plan_cache_stats(bp_plan_cache_info *info);

/* Removes all plans from the cache. Plans with other references stay valid. */
BP_API bp_status bp_plan_cache_clear(void);

/* Sets *plan to plan `index` (0: most recently used) with a new reference, which you release, and returns 1. Sets it to
 * NULL and returns 0 past the end. */
BP_API int bp_plan_cache_at(bp_plan **plan, int index);

/* Each device has a plan cache of its own, limited by plan_cache.max_size unless a limit is set for the device (-1: the
 * setting again). Transforms on CUDA devices have another one, see fft.h. Errors: BP_E_ARGUMENT (the host, NULL, a
 * negative limit), BP_E_NOT_FOUND (no such device), BP_E_NO_MEMORY. */
BP_API bp_status bp_device_plan_cache_stats(int32_t place, bp_plan_cache_info *info);
BP_API bp_status bp_device_plan_cache_clear(int32_t place);
BP_API bp_status bp_device_set_plan_cache_max_size(int32_t place, int64_t plans);

/* ---- Explain ---- */

/* All candidates for one call with their verdicts, from the same code that chooses for the call itself. */
typedef struct bp_explanation bp_explanation;

/* The source of a candidate's time. */
typedef enum bp_time_source {
    BP_TIME_ESTIMATED,    /* the provider's formula, with constants that were not measured on this machine */
    BP_TIME_INTERPOLATED, /* from times measured on this machine at other sizes or layouts */
    BP_TIME_MEASURED,     /* measured on this machine at these sizes */
    BP_TIME_NEIGHBOUR     /* one of the other three, times the ratio of measured to expected time in the record of a
                           * product of similar sizes (tune.h) */
} bp_time_source;

/* Returns "estimated", "interpolated", "measured" or "neighbour"; "" for an invalid value. Static storage. */
BP_API const char *bp_time_source_name(bp_time_source source);

typedef struct bp_candidate_info {
    size_t struct_size; /* set by the caller: sizeof(bp_candidate_info) */
    const char *library;
    const char *provider;
    const char *version;
    int accepted;
    bp_reason reason;
    const char *text; /* refused: why; accepted: a remark, or "" */
    const char *algorithm;
    uint32_t properties; /* BP_PROPERTY_ mask */
    int threads;
    double cost_ns;             /* expected time in ns */
    int chosen;                 /* 1: the call would run this candidate */
    bp_time_source time_source; /* of cost_ns */
    double measured_ns;         /* time measured for this class of problems, see tune.h; 0: none */
} bp_candidate_info;

/* Fills *info with candidate `index` (0, 1, ...) and returns 1. Returns 0 past the end. All strings of an explanation
 * are valid until its release. */
BP_API int bp_explanation_at(const bp_explanation *explanation, int index, bp_candidate_info *info);
BP_API const char *bp_explanation_problem(const bp_explanation *explanation);  /* description of the problem */
BP_API const char *bp_explanation_decision(const bp_explanation *explanation); /* why this candidate, or why none */
BP_API const char *bp_explanation_text(const bp_explanation *explanation);     /* the whole as readable text */
BP_API const char *bp_explanation_json(const bp_explanation *explanation);     /* the whole as JSON */

/* Returns the explanation of sub-plan `index` (0, 1, ...) of an einsum, which runs several plans in turn; NULL past the
 * end and for other operations. It is valid until the release of `explanation`, which has no candidates itself. */
BP_API const bp_explanation *bp_explanation_part(const bp_explanation *explanation, int index);
BP_API void bp_explanation_release(bp_explanation *explanation); /* NULL is allowed */

/* Writes the properties as text to `buffer` (`size` bytes) and returns it: "accumulates in f32, ...". */
BP_API const char *bp_properties_text(uint32_t properties, char *buffer, size_t size);

/* ---- Threads of the libraries ---- */

/* Sets *count to the current thread count of a library (id from the library list; "native" for Backplane's thread
 * pool). 0 means unknown, for instance because the library is not loaded yet. A count that a call sets for its own
 * duration (OpenMP) is restored when the call returns. Errors: BP_E_ARGUMENT, BP_E_NOT_FOUND (no such library),
 * BP_E_UNSUPPORTED (no provider calls it), BP_E_BROKEN, BP_E_UNTRUSTED, BP_E_FORKED. */
BP_API bp_status bp_library_threads(const char *id, int *count);

/* Replaces the thread pool by an executor of the program; NULL restores the pool. `parallel` must be thread-safe and do
 * what bp_host.parallel does: call task(context, 0) ... task(context, count-1), on at most `threads` threads, in any
 * order, and return when all are done. It is called in the thread that called the operation, and must return there (no
 * longjmp, no exception). A task neither waits for another one nor calls the library. While `parallel` waits, it may
 * run other work of the program in the same thread, including operations of this library, which may call it
 * recursively; not bp_reset(). A child of fork keeps the executor. Errors: BP_E_BUSY while an operation runs on several
 * threads. */
BP_API bp_status bp_set_executor(void (*parallel)(void *user, int threads, int count, bp_task task, void *context),
                                 void *user);

#ifdef __cplusplus
}
#endif
#endif
