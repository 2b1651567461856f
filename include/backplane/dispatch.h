/* dispatch.h - plans, the plan cache, and the answers to "which library ran, and why". Thread-safe. */
#ifndef BACKPLANE_DISPATCH_H
#define BACKPLANE_DISPATCH_H

#include "backplane/provider.h"
#include "backplane/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Providers --------------------------------------------------------------------------------------------------- */

/* A provider that dispatch may ask, or that was turned away when modules were loaded. */
typedef struct bp_provider_info {
    size_t struct_size;
    const char *name;
    const char *version;
    const char *description;
    const char *path;   /* the module's file; "" when built in */
    bp_status status;   /* BP_OK, or why it was turned away: BP_E_ABI, BP_E_UNTRUSTED, BP_E_SYMBOL, BP_E_LOAD */
    const char *reason; /* one sentence; "" when in order */
} bp_provider_info;

/* Walks the list: 1 and *info, or 0 past the end. Strings live until bp_reset(). */
BP_API int bp_provider_at(int index, bp_provider_info *info);

/* ---- Plans ------------------------------------------------------------------------------------------------------- */

/* A chosen provider and algorithm for one problem, ready to run again and again. Immutable: may be run by several
 * threads at once. Held plans are counted; release each one that an operation's ..._plan() function returned. */
typedef struct bp_plan bp_plan;

/* Runs a plan, on the memory that it was made for or on other memory of the same layout. `operands` are in the order of
 * bp_op_inputs() and bp_op_outputs(), with a base of NULL for those that the plan does not have. Addresses must keep
 * the alignment (see bp_plan_info.alignment) and must not overlap in ways that the operation forbids: neither is
 * checked.
 *
 * `exec` may be NULL: the plan runs in the calling thread, with the library's own workspace, and with 1 and 0 for the
 * factors of a gemm. Scalars are of the classes that the plan was made for; a plan for an alpha or beta that is neither
 * 0 nor 1 is refused without them (BP_E_ARGUMENT). Imaginary parts count for complex types only.
 *
 * A workspace of the caller's serves one run at a time, and keeps a run from taking memory of the library; what a
 * foreign library takes for itself is not part of it. It is refused (BP_E_ARGUMENT) where it is smaller than
 * bp_plan_info.workspace or not aligned to 64 bytes.
 *
 * Errors: those of the operation and of the library, BP_E_NO_MEMORY for the workspace, BP_E_FORKED, BP_E_UNSUPPORTED
 * for a queue, since the plans of the host take none, and for an array of packed operands, even of NULLs, where
 * bp_plan_pack() can pack none; BP_E_ARGUMENT for what was packed for another plan or another operand. */
BP_API bp_status bp_execute(const bp_plan *plan, const bp_operand *operands, const bp_exec *exec);

/* ---- Packed operands ---- */

/* Copies a constant operand, the weights of a layer say, into the layout that the plan's library works on, once, so
 * that later runs of the plan need not: `operand` counts as in bp_execute(), and `source` is the operand's memory,
 * which may be freed or changed afterwards. Hand the result in through bp_exec.packed, to this plan only; it may serve
 * several threads at once. The plan stays alive as long as what was packed for it.
 *
 * Both inputs of every product (gemm) of the host can be packed. Where the library has no layout of its own the copy
 * has the layout of the operand, and saves no time; bp_plan_info.packs tells. To have the saving counted when a library
 * is chosen, make the plan with dispatch.packed (first, second or both) among its options.
 *
 * Errors: BP_E_ARGUMENT for an output, an operand that the plan does not have, or NULL; BP_E_UNSUPPORTED for plans of
 * other operations; BP_E_NO_MEMORY. */
BP_API bp_status bp_plan_pack(const bp_plan *plan, int operand, const bp_operand *source, bp_packed **packed);
BP_API void bp_packed_release(bp_packed *packed); /* NULL is fine */

BP_API void bp_plan_release(bp_plan *plan); /* NULL is fine */

typedef struct bp_plan_info {
    size_t struct_size;
    const char *operation; /* "gemm": bp_matmul and bp_gemm both become one */
    const char *provider;  /* "native", "blas" */
    const char *library;   /* id in the library list, "native" for our own */
    const char *library_path;
    const char *library_version;
    const char *algorithm;
    const char *reason;  /* why this one: "preferred by blas.preferred (environment)", "lowest estimated time", ... */
    uint32_t properties; /* BP_PROPERTY_ mask */
    int threads;
    double cost_ns;    /* estimated */
    int alignment;     /* bytes that every address must be a multiple of */
    uint64_t runs;     /* by one-shot calls; counted without a lock, so that runs at the same moment may be missed */
    char problem[256]; /* readable: "f32 512x512 @ 512x512 -> 512x512, threads 2" */
    size_t workspace;  /* bytes that a run needs beside its operands: copies, panels, intermediate results */
    uint32_t packs;    /* operands for which bp_plan_pack() saves time, a bit each */
} bp_plan_info;

/* Strings live as long as the plan. Errors: BP_E_ARGUMENT. */
BP_API bp_status bp_plan_describe(const bp_plan *plan, bp_plan_info *info);

/* The plan that the calling thread ran last (one-shot or held) through this library. BP_E_NOT_FOUND before the first,
 * and after a call whose result has no elements: such a call is checked, and runs no plan. The plan is kept alive for
 * its strings until that thread's next bp_last_plan(). */
BP_API bp_status bp_last_plan(bp_plan_info *info);

/* ---- The process-wide plan cache (plan_cache.max_size); Fourier transforms have one of their own, see fft.h ---- */

typedef struct bp_plan_cache_info {
    size_t struct_size;
    int64_t size;
    int64_t max_size;
    uint64_t hits; /* calls that found their plan here; a thread's own short list is not counted */
    uint64_t misses;
    uint64_t evictions;
} bp_plan_cache_info;

BP_API bp_status bp_plan_cache_stats(bp_plan_cache_info *info);
BP_API bp_status bp_plan_cache_clear(void);

/* Walks the plans, most recently used first: a new reference in *plan, to be released; BP_E_NOT_FOUND past the end. */
BP_API bp_status bp_plan_cache_at(int index, bp_plan **plan);

/* ---- Explain ---- */

/* Every candidate for one call and its verdict, from the same list that the call itself would choose from. */
typedef struct bp_explanation bp_explanation;

typedef struct bp_candidate_info {
    size_t struct_size;
    const char *library;
    const char *provider;
    const char *version;
    int accepted;
    bp_reason reason;
    const char *text; /* why refused, or what is worth knowing */
    const char *algorithm;
    uint32_t properties;
    int threads;
    double cost_ns;
    int chosen;
} bp_candidate_info;

BP_API int bp_explanation_at(const bp_explanation *explanation, int index, bp_candidate_info *info);
BP_API const char *bp_explanation_problem(const bp_explanation *explanation);  /* the problem in words */
BP_API const char *bp_explanation_decision(const bp_explanation *explanation); /* why the chosen one, or why none */
BP_API const char *bp_explanation_text(const bp_explanation *explanation);     /* a readable page */
BP_API const char *bp_explanation_json(const bp_explanation *explanation);

/* Of einsum, which runs several plans one after the other: the explanation of each, in their order, and NULL past the
 * end. It lives as long as the whole; the whole has no candidates of its own. */
BP_API const bp_explanation *bp_explanation_part(const bp_explanation *explanation, int index);
BP_API void bp_explanation_release(bp_explanation *explanation);

/* "accumulates in f32, same bits with any number of threads, copies A first" into `buffer`; returns it. */
BP_API const char *bp_properties_text(uint32_t properties, char *buffer, size_t size);

/* ---- Threads of the libraries ---- */

/* The thread count in force in a library (id from the library list, "native" for our pool); 0 when it cannot be known,
 * as long as we have not loaded the library for instance. Counts that a call sets for its own time (OpenMP's) have been
 * given back when it returns. Errors: BP_E_NOT_FOUND (no such library), BP_E_UNSUPPORTED (no provider drives it),
 * BP_E_BROKEN, BP_E_UNTRUSTED, BP_E_FORKED. */
BP_API bp_status bp_library_threads(const char *id, int *count);

/* Runs operations on an executor of the program in place of our pool: `parallel` has bp_host's contract and must be
 * thread-safe. It is called in the thread that called the operation, for operations on several threads, and returns
 * there, by a plain return, when all tasks are done. Tasks take any order; none waits for another or calls back. While
 * `parallel` waits, it may do other work of the program in the same thread, operations of this library included, which
 * may come to it in turn; not bp_reset(). A child of fork keeps the executor. NULL brings our own pool back. Only while
 * no operation runs on several threads: BP_E_BUSY otherwise. */
BP_API bp_status bp_set_executor(void (*parallel)(void *user, int threads, int count, bp_task task, void *context),
                                 void *user);

#ifdef __cplusplus
}
#endif
#endif
