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

/* Runs a plan on other memory of the same layout. Addresses have byte offsets applied, and must keep the alignment
 * class (see bp_plan_info.alignment) and must not overlap in ways that the operation forbids: this hot path checks
 * neither. `scalars` is alpha and beta for gemm, of the classes planned for; NULL means 1 and 0, and is refused
 * (BP_E_ARGUMENT) where the plan was made for another value of either; imaginary parts count for complex types only.
 * Errors: those of the library, BP_E_NO_MEMORY for
 * scratch memory, BP_E_FORKED. */
BP_API bp_status bp_plan_run(const bp_plan *plan, const void *a, const void *b, void *c, const bp_scalar *scalars);

/* The same for plans of any operation: `operands` are the addresses in the order of bp_op_inputs() and bp_op_outputs(),
 * NULL for operands that the plan does not have. Alpha and beta of a gemm are 1 and 0; a plan for others is refused
 * (BP_E_ARGUMENT). bp_plan_run() refuses plans that are not of gemm. Errors also: those of the operation. */
BP_API bp_status bp_plan_execute(const bp_plan *plan, void *const *operands);

BP_API void bp_plan_release(bp_plan *plan); /* NULL is fine */

typedef struct bp_plan_info {
    size_t struct_size;
    const char *operation; /* "gemm": bp_matmul and bp_gemm both become one */
    const char *provider;  /* "native", "blas" */
    const char *library;   /* id in the library list, "native" for our own */
    const char *library_path;
    const char *library_version;
    const char *algorithm;
    const char *reason; /* why this one: "preferred by blas.preferred (environment)", "lowest estimated time", ... */
    uint32_t notes;     /* BP_NOTE_ mask */
    int threads;
    double cost_ns;    /* estimated */
    int alignment;     /* bytes that every address must be a multiple of */
    uint64_t runs;     /* by one-shot calls; counted without a lock, so that runs at the same moment may be missed */
    char problem[256]; /* readable: "f32 512x512 @ 512x512 -> 512x512, threads 2" */
    size_t workspace;  /* einsum: bytes of intermediate results and copies that a run holds; 0 for other operations */
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
    uint32_t notes;
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
BP_API void bp_explanation_free(bp_explanation *explanation);

/* "accumulates in f32, same bits with any number of threads, copies A first" into `buffer`; returns it. */
BP_API const char *bp_notes_text(uint32_t notes, char *buffer, size_t size);

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
