/* internal.h - between ops/ and dispatch/, and between the files of dispatch/.
 *
 * The way of a call: an operation keys its tensors (product_fast_path.c looks the key up in the thread's short list).
 * Where that misses, the operation makes a problem, plan_cache.c looks in the process-wide cache, and choose.c asks
 * every candidate. One choice function serves running, planning and explaining.
 */
#ifndef BP_DISPATCH_INTERNAL_H
#define BP_DISPATCH_INTERNAL_H

#include "backplane/dispatch.h"
#include "base/base.h"
#include "settings/internal.h"

#include <pthread.h>

/* ---- Candidates (candidates.c): a provider with the library that it drives, or alone. ---- */
typedef struct bp__candidate {
    const bp_provider *provider;
    const bp_library_info *library; /* NULL for a provider that needs none */
    void *instance;                 /* NULL when open() failed or the library's state forbids it */
    bp_status status;               /* why there is no instance */
    char refusal[256];
    struct bp__candidate *next; /* every candidate ever made, for reset */
} bp__candidate;

/* Whether a member that later minor numbers appended is there: the memory behind a smaller provider is not its own. */
#define BP__PROVIDER_HAS(provider, member)                                                                             \
    ((provider)->struct_size >= offsetof(bp_provider, member) + sizeof((provider)->member))

/* The candidates of this moment. With `need_libraries` false the library list is not made, and only providers that need
 * none are returned, unless the list exists already. The array stays valid until bp_reset. */
bp_status bp__candidates(bool need_libraries, bp__candidate ***list, int *count);
const char *bp__candidate_id(const bp__candidate *candidate); /* library id or provider name */
const char *bp__candidate_version(const bp__candidate *candidate);

extern const bp_provider *const bp__builtin_providers[]; /* ends with NULL */
bool bp__provider_is_builtin(const char *name);
bool bp__provider_exists(const char *name);
void bp__candidates_reset(void);
const bp_host *bp__host(void);                                                     /* provider_host.c */
bp_status bp__fail_numeric(const bp_problem *problem, int64_t item, int64_t info); /* linalg_messages.c: see bp_host */
int bp__operation_interrupted(bp_op op);                                           /* interrupted.c: see bp_host */

/* ---- Adapters: what is done to operands before and after the provider's part ---- */
typedef struct bp__adapter {
    /* What happens, in words that follow "; "; NULL where the provider works on the caller's memory as it is. */
    const char *(*applies)(const bp_problem *problem);
    /* Makes of the problem what the provider is asked about. */
    void (*layout)(bp_problem *problem);
    /* Puts the adapter around `inner`, a plan for what layout() made; takes it over on success. */
    bp_status (*wrap)(const bp_problem *problem, bp_prepared *inner, bp_prepared **wrapped);
} bp__adapter;

/* ---- Operations (operations.c) ----
 *
 * Operations of one family share a struct of parameters and are chosen, kept and described in the same way. All that
 * dispatch knows of a family is this description, which lies in the family's folder in ops/. */

typedef enum bp__cache_kind { BP__CACHE_GENERAL, BP__CACHE_TRANSFORMS, BP__CACHES } bp__cache_kind;

#define BP__NO_SETTING (-1)

/* How an operand lies in memory. */
typedef struct bp__layout {
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_BATCH_NDIM + 2], strides[BP_MAX_BATCH_NDIM + 2];
} bp__layout;

typedef struct bp__family {
    size_t size;    /* of its parameters, a member of bp_problem.of */
    int preference; /* the bp_setting_id that names the preferred library; BP__NO_SETTING: none does */
    int precision;  /* the node of fp32_precision that says what f32 inputs may be rounded to; BP__NO_SETTING: they
                     * are not rounded */
    bp__cache_kind cache; /* which keeps its plans */
    bool products;        /* the words of its problems say which operation it is; settings about products apply */
    /* Checks a request and puts it into canonical form: fills a zeroed problem but for the policy. NULL for operations
     * that are only parts of others. */
    bp_status (*make)(bp_problem *problem, const void *request);
    void (*describe)(const bp_problem *problem, char *buffer, size_t size);
    /* Problems that are no library's work, so that a preference is not passed over; NULL: none. */
    bool (*is_trivial)(const bp_problem *problem);
    bool (*needs_scalars)(const bp_problem *problem); /* NULL: never */
    /* Type, shape and strides of an input; false where there is no such input. NULL: inputs cannot be packed. */
    bool (*input_layout)(const bp_problem *problem, int operand, bp__layout *layout);
    const bp__adapter *adapter; /* NULL: none */
} bp__family;

/* The families, in the spelling of BP_OP_MAP. */
#define BP__FAMILY_MAP(X) X(gemm) X(fft) X(linalg) X(contract) X(einsum)
enum {
#define X(name) BP__FAMILY_##name,
    BP__FAMILY_MAP(X)
#undef X
        BP__FAMILIES
};
#define X(name) extern const bp__family bp__family_##name;
BP__FAMILY_MAP(X)
#undef X

const bp__family *bp__family_at(int index);
const bp__family *bp__family_of(const bp_problem *problem);
size_t bp__problem_size(const bp_problem *problem); /* bytes that say something: the union has room for others too */
void bp__problem_text(const bp_problem *problem, char *buffer, size_t size);
const char *bp__adapted(const bp_problem *problem); /* what an adapter does, as above, or NULL */

/* ---- Policy (policy.c) ---- */
/* From the calling thread's settings. */
void bp__policy_resolve(bp_policy *policy, const bp__family *family);
/* Whether a call of this thread gets one thread since it comes from inside a parallel region of OpenMP. */
bool bp__policy_in_region(void);
const char *bp__policy_text(uint32_t handle); /* the text behind preferred and exclude */
void bp__policy_reset(void);

/* ---- Choice (choose.c) ---- */

/* A candidate's algorithm, and what its provider says of it. */
typedef struct bp__offer {
    bp__candidate *candidate;
    bp_verdict verdict;
    double order;          /* what the accepted ones are put in order by: the cost, but where that must not depend on
                            * the number of threads */
    size_t found_at, size; /* what the provider worked out, in bp__choice.found */
    bool failed;           /* it was chosen and failed */
} bp__offer;

typedef struct bp__choice {
    int chosen; /* index into offers, -1: none */
    int count, capacity;
    bp__offer *offers;
    bp__text found;
    bp_status status;  /* BP_OK, or why there is none */
    bp__text decision; /* the sentence for it */
    bp__text warning;  /* empty, or the sentence of a fallback */
    bp_problem asked;  /* what the candidates were asked about: simulation and warn_only change it */
} bp__choice;

/* ---- Names of libraries in settings (match_library.c) ---- */
/* How well a name given by the user means this candidate: 0 not at all, 1 its family, SONAME or provider, 2 exactly. A
 * name may end with ":" and one of the providers that drive the library ("openblas:lapack"), with ":" and an algorithm,
 * by its whole text or its first word ("native:packed"), or with both; one that begins with ":" means those of any
 * library. `algorithm` NULL: whichever; "": names without one. */
int bp__name_matches(const char *name, const bp__candidate *candidate, const char *algorithm);
bool bp__name_listed(const char *list, const bp__candidate *candidate, const char *algorithm);
/* Adds to the warning what dispatch.exclude names and nobody answers to: a constraint must not fail in silence. */
void bp__name_warn_of_unknown(bp__choice *choice, const char *list);
/* Fails with the status and the sentence for a name that means no candidate. */
bp_status bp__name_absent(const char *name);
/* Why the name means no candidate, in one sentence. */
void bp__name_why_absent(const char *name, char *buffer, size_t size);

/* Whether a library's threads, as its row tells them, are those of an OpenMP runtime (backends.c). */
bool bp__on_openmp(const bp_library_info *library);

/* Bits of bp_policy.disabled_backends. */
enum { BP__DISABLED_MKL = 1, BP__DISABLED_OPENMP = 2, BP__DISABLED_ONEDNN = 4 };

/* What has failed already: algorithms of candidates, or with NULL all that a candidate has. */
typedef struct bp__failed {
    const bp__candidate *candidate;
    const char *algorithm;
} bp__failed;

typedef struct bp__failures {
    bp__failed *list;
    int count;
    bp__text said; /* "; 'openblas' failed: ...", for what is said of the choice */
} bp__failures;

bp_status bp__failures_add(bp__failures *failures, const bp__candidate *candidate, const char *algorithm,
                           bp_status status, const char *sentence);
void bp__failures_free(bp__failures *failures);

/* Fills a choice for the problem, passing over what has failed (which may be NULL). With `all` every candidate is
 * asked, also where a preference settles the choice. Fails only for lack of memory or when the library list cannot be
 * made. */
bp_status bp__choose(bp__choice *choice, const bp_problem *problem, const bp__failures *failures, bool all);
/* Whether the candidate has the operation at all, whatever settings in force may refuse at the moment. */
bool bp__candidate_offers(const bp__candidate *candidate, const bp_problem *sample);
void bp__choice_free(bp__choice *choice);

/* ---- Plans (plan.c) ---- */

/* What a plan is found by: the bytes of its problem, or, where it is made of others, what its operation says. */
typedef struct bp__plan_key {
    const void *bytes;
    size_t size;
} bp__plan_key;

struct bp_plan {
    bp_prepared *prepared; /* the warm path reads this and the next three */
    uint64_t serial;
    bool plain;         /* it needs neither scalars nor a workspace */
    bool needs_scalars; /* alpha or beta is neither 0 nor 1 */
    bool composed;
    atomic_int references;
    atomic_uint_least64_t runs;
    const bp__candidate *candidate;
    bp_verdict verdict;
    double order_ns; /* what the choice went by: the estimate, under deterministic=threads for all processors */
    bp_problem problem;
    char reason[512];
    char text[256];
    bp__plan_key key;
    struct bp_plan *older, *newer; /* the list of all plans */
    unsigned char own_key[];       /* of a composed plan */
};

/* Chooses and prepares: tries candidates in turn as dispatch.fallback allows, passing over what has failed before
 * (which may be NULL). The new plan has one reference. */
bp_status bp__plan_make(bp_plan **plan, const bp_problem *problem, bp__failures *failures);
void bp__plan_retain(bp_plan *plan);
void bp__plan_release(bp_plan *plan); /* NULL is fine */

/* A reference has gone to the program, which gives it back by bp_plan_release(). */
void bp__plan_handed_out(void);
int64_t bp__plans_held(void); /* references that the program has */

/* A plan that an operation composes of others: `prepared` runs those. It is described by the one among them that takes
 * longest. `plan` takes `prepared` over on success; the key is copied. */
typedef struct bp__composition {
    bp_op op;
    bp_dtype dtype;
    const bp_policy *policy;
    const bp_plan *longest;
    uint32_t properties; /* promises that all parts make */
    int32_t threads;
    double cost_ns;
    const char *algorithm; /* static */
    const char *reason, *text;
    bp__plan_key key;
} bp__composition;
bp_status bp__plan_compose(bp_plan **plan, bp_prepared *prepared, const bp__composition *composition);

/* Runs a part of such a plan, with the workspace that the whole has for it, and shows it to who observes. */
bp_status bp__plan_run_part(const bp_plan *part, const bp_operand *operands, void *workspace);

/* For bp_exec of a run without factors. */
extern const bp_scalar bp__plain_scalars[2];

/* Runs a plan whose workspace is the library's own. */
bp_status bp__plan_run_with_workspace(const bp_plan *plan, const bp_operand *operands, const bp_exec *exec);
static inline bp_status bp__plan_run(const bp_plan *plan, const bp_operand *operands, const bp_exec *exec) {
    const bp_prepared *prepared = plan->prepared;
    return BP__LIKELY(prepared->workspace == 0) ? prepared->enqueue(prepared, operands, exec)
                                                : bp__plan_run_with_workspace(plan, operands, exec);
}

/* What the calling thread keeps between calls; small, so that it fits the static TLS of a process that opens us late.
 */
typedef struct bp__thread_state {
    uint64_t epoch;    /* of the settings that follow */
    uint32_t policy;   /* number of the policy in force, for hot keys */
    uint32_t uncached; /* a bit for each bp__cache_kind that is off: its plans are not remembered */
    bool observed;     /* verbose or trace wants to see calls */
    bool in_region;    /* what `region` answered when the policy was resolved */
    uint32_t resets;   /* that had happened when `hot` was made; with another number it is gone */
    uint64_t last_serial;
    struct bp__thread_cache *hot;
    int (*region)(void); /* other than 0 inside a parallel region of OpenMP; NULL: no runtime is loaded */
} bp__thread_state;
extern _Thread_local bp__thread_state bp__thread __attribute__((tls_model("initial-exec"), visibility("hidden")));
/* In place of a serial number: the call that the thread made last had nothing to write, so that no plan ran. */
#define BP__NO_PLAN_RAN UINT64_MAX
void bp__thread_refresh(uint64_t epoch); /* policy.c: brings epoch, policy, observed up to date */

/* Whether the thread has entered or left a parallel region, so that its policy must be resolved again. */
static inline bool bp__region_changed(void) {
    return bp__thread.region && (bp__thread.region() != 0) != bp__thread.in_region;
}

/* Brings the thread up to date with settings and parallel regions: at the beginning of each call. */
static inline void bp__thread_update(void) {
    uint64_t epoch = bp__settings_epoch();
    if (BP__UNLIKELY(epoch != bp__thread.epoch || bp__region_changed())) {
        bp__thread_refresh(epoch);
    }
}

/* Looks for OpenMP runtimes that were loaded meanwhile, before a plan is made. True when the policy has another number
 * than before, so that a key made with the old one does not count. */
bool bp__thread_look(void);

/* ---- Packed operands (pack.c) ---- */
/* BP_OK where each packed operand was packed for this plan, as the operand that it stands for. */
bp_status bp__packed_check(const bp_plan *plan, const bp_packed *const *packed);
int64_t bp__packed_held(void); /* packed operands that the program has */
/* Runs a plan with packed operands; `exec` is whole but perhaps for a workspace. */
bp_status bp__packed_run(const bp_plan *plan, const bp_operand *operands, const bp_exec *exec);

/* ---- The process-wide cache (plan_cache.c) ---- */
/* The plan for the problem with a new reference, made when there is none. *fresh tells which. */
bp_status bp__cache_get(bp_plan **plan, const bp_problem *problem, bool *fresh);

/* The same for composed plans, by a key that begins with a byte of 0, as no problem's does. */
typedef bp_status (*bp__plan_maker)(bp_plan **plan, const bp__plan_key *key, const void *context);
bp_status bp__cache_get_composed(bp_plan **plan, const bp__plan_key *key, bp__plan_maker make, const void *context,
                                 bool *fresh);
void bp__cache_reset(void);
/* Changes whenever plans made before must not be found again: cleared cache, new library list, fork. */
uint64_t bp__plan_epoch(void);
void bp__plan_epoch_next(void);

/* ---- One call (product_fast_path.c: products; operation_fast_path.c: all other operations; slow_path.c) ---- */
#define BP__KEY_WORDS 64
#define BP__OPERANDS 3      /* of a product */
#define BP__MOST_OPERANDS 9 /* of any other operation in a short list: einsum of eight */

/* Everything that tells one call from another, but addresses and the values of scalars. */
typedef struct bp__call_key {
    uint64_t words[BP__KEY_WORDS];
    int count; /* 0: does not fit, use no short list */
} bp__call_key;

/* One product in the making: `key` was filled by bp__call_find. */
typedef struct bp__call {
    bp__call_key key;
    const DLTensor *tensors[BP__OPERANDS]; /* inputs, then the output */
} bp__call;

/* Looks in the thread's short list. `tag` is the operation with its transforms and factor classes, in 31 bits. Returns
 * the plan (borrowed) when the call's tensors are known to be valid and do not overlap; NULL when the long way is
 * needed.
 */
const bp_plan *bp__call_find(bp__call *call, uint64_t tag);

/* The long way: plan from the cache, run, remembered in the short list. The tensors have been checked. */
bp_status bp__call_plan_and_run(bp__call *call, const bp_problem *problem, const bp_scalar *scalars);

/* Runs a found plan on the call's tensors. */
bp_status bp__call_run(const bp__call *call, const bp_plan *plan, const bp_scalar *scalars);

/* The first words of tags: the operation, then bits of its own, BP__TAG_BITS of them. */
#define BP__TAG_BITS 23
static inline uint64_t bp__tag(bp_op op, uint64_t bits) {
    return (uint64_t)op | bits << 8;
}

#define BP__PARAMETERS 8
#define BP__PARAMETERS_LONG                                                                                            \
    (BP__PARAMETERS + 1) /* parameter_count: more than fit, so that the call goes the long way */

/* One call of any other operation, filled by the operation but for `key`. */
typedef struct bp__operation {
    uint64_t tag; /* made by bp__tag() */
    int parameter_count;
    int count, inputs;                          /* operands, and how many of them are inputs */
    bool in_place;                              /* the input and the output are one, so they need not be apart */
    const DLTensor *tensors[BP__MOST_OPERANDS]; /* inputs, then outputs; NULL: not there */
    uint64_t parameters[BP__PARAMETERS];        /* whatever else tells calls apart */
    bp__call_key key;
} bp__operation;

/* As their namesakes above, but that `tensors` may hold NULL for operands that are not there. */
const bp_plan *bp__operation_find(bp__operation *operation);
bp_status bp__operation_run(const bp__operation *operation, const bp_plan *plan);
bp_status bp__operation_plan_and_run(bp__operation *operation, const bp_problem *problem);

/* Keeps the plan in the short list where the operation was looked up there (else it is NULL), and where plans are not
 * kept at all, until the next one. */
void bp__operation_remember(const bp__operation *operation, bp_plan *plan);

/* Runs a composed plan, and keeps it in the short list where `operation` was looked up there (else it is NULL). */
bp_status bp__composed_run(bp__operation *operation, bp_plan *plan, bool fresh, const bp_operand *operands);

/* The problem of a request, under the calling thread's settings. */
bp_status bp__problem_make(bp_problem *problem, const bp__family *family, const void *request);

/* Plans and explains for a request, under the options' settings. */
bp_status bp__plan_for(bp_plan **plan, const bp_options *options, const bp__family *family, const void *request);
bp_status bp__explain_for(bp_explanation **explanation, const bp_options *options, const bp__family *family,
                          const void *request);

/* Plans, runs by `run`, and where the library fails for want of memory and the like runs another in its place, as
 * dispatch.fallback allows. *ran is the plan with a reference, also when it failed; NULL when another one stood in. */
typedef bp_status (*bp__runner)(const void *call, const bp_plan *plan);
bp_status bp__plan_and_run(const bp_problem *problem, bp__runner run, const void *call, bp_plan **ran);

/* Keeps the plan alive until this thread describes another one. */
void bp__thread_cache_describe(bp_plan *plan);
void bp__thread_cache_check(void); /* forgets a list that bp_reset has freed */
void bp__thread_cache_reset(void); /* all threads' short lists; no other thread may be inside the library */

/* ---- Explain (explain.c) ---- */
bp_status bp__explain(bp_explanation **explanation, const bp_problem *problem);

/* The page of a plan that is made of others: those of its parts follow what is said of the whole. `facts` adds to the
 * text, and to the JSON between the first fields and the parts. */
typedef struct bp__whole {
    const char *operation, *problem, *decision;
    const bp_plan *const *parts;
    const char *const *part_titles;
    int part_count;
    void (*add_text)(bp__text *text, const void *context);
    void (*add_json)(bp__json *json, const void *context);
    const void *context;
} bp__whole;
bp_status bp__explain_whole(bp_explanation **explanation, const bp__whole *whole);
int bp__explanations_alive(void);

/* ---- Observation (trace.c): BACKPLANE_VERBOSE lines and BACKPLANE_TRACE events ---- */
bool bp__trace_wanted(void); /* from the calling thread's settings */
void bp__trace_call(const bp_plan *plan, bool fresh, int64_t start_ns, int64_t end_ns, bp_status status);
void bp__trace_plan(const bp__choice *choice, const bp_problem *problem); /* verbose 2 */
void bp__trace_reset(void);
bool bp__write_all(int fd, const char *text, size_t size); /* goes on after signals; false: the system would not */

/* ---- Fork (atfork.c): arranged when the library is loaded. What may lock first calls this, so that a program linked
 * with the rooms as an archive has atfork.c too. ---- */
void bp__fork_watch(void);

/* The mutexes of this room, for atfork.c. */
extern pthread_mutex_t bp__candidates_mutex, bp__policy_mutex, bp__plans_mutex, bp__cache_mutex, bp__thread_cache_mutex,
    bp__trace_mutex, bp__host_mutex, bp__verbose_mutex;

#endif
