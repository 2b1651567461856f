/* internal.h - between ops/ and dispatch/, and between the files of dispatch/.
 *
 * The way of a call: an operation keys its tensors (call.c looks the key up in the thread's short list). Where that
 * misses, the operation makes a problem, cache.c looks in the process-wide cache, and choose.c asks every candidate.
 * One choice function serves running, planning and explaining.
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

/* The candidates of this moment. With `need_libraries` false the library list is not made, and only providers that need
 * none are returned, unless the list exists already. The array stays valid until bp_reset. */
bp_status bp__candidates(bool need_libraries, bp__candidate ***list, int *count);
const char *bp__candidate_id(const bp__candidate *candidate); /* library id or provider name */
const char *bp__candidate_version(const bp__candidate *candidate);

extern const bp_provider *const bp__builtin_providers[]; /* ends with NULL */
bool bp__provider_is_builtin(const char *name);
void bp__candidates_reset(void);
const bp_host *bp__host(void);                                                     /* host.c */
bp_status bp__fail_numeric(const bp_problem *problem, int64_t item, int64_t info); /* numeric.c: see bp_host */

/* ---- Policy (policy.c) ---- */
void bp__policy_resolve(bp_policy *policy, bp_op op); /* from the calling thread's settings */
bp_setting_id bp__preference_of(uint32_t op); /* the setting that names the library preferred for an operation */
const char *bp__policy_text(uint32_t handle); /* the text behind preferred and exclude */
void bp__policy_reset(void);

/* ---- Problems (problem.c) ---- */
void bp__problem_text(const bp_problem *problem, char *buffer, size_t size);

/* ---- Choice (choose.c) ---- */
typedef struct bp__choice {
    int chosen; /* index into verdicts, -1: none */
    int count;
    bp__candidate **candidates;
    bp_verdict *verdicts; /* count of them */
    double *order;        /* what the accepting ones are put in order by */
    bp_status status;     /* BP_OK, or why there is none */
    bp__text decision;    /* the sentence for it */
    bp__text warning;     /* empty, or the sentence of a fallback */
    bp_problem asked;     /* what the candidates were asked about: simulation and warn_only change it */
} bp__choice;

/* ---- Names of libraries in settings (names.c) ---- */
/* How well a name given by the user means this candidate: 0 not at all, 1 its family, SONAME or provider, 2 exactly. */
int bp__candidate_matches(const bp__candidate *candidate, const char *name);
bool bp__name_listed(const bp__candidate *candidate, const char *list);
/* Adds to the warning what dispatch.exclude names and nobody answers to: a constraint must not fail in silence. */
void bp__name_warn_of_unknown(bp__choice *choice, const char *list);
/* Why the name means no candidate, in one sentence. */
void bp__name_why_absent(const char *name, char *buffer, size_t size);

/* ---- Adapters: what is done to operands before and after the provider's part (adapt.c) ---- */
/* What happens, in words that follow "; "; NULL where the provider works on the caller's memory as it is. */
const char *bp__adapted(const bp_problem *problem);
void bp__adapt_layout(bp_problem *problem); /* what the provider is asked about */
/* Puts the adapter around `inner`, a plan for what bp__adapt_layout makes of `problem`; takes it on success. */
bp_status bp__adapt_wrap(const bp_problem *problem, bp_prepared *inner, bp_prepared **wrapped);

/* One adapter; the list of all is in adapt.c. */
typedef struct bp__adapter {
    const char *(*applies)(const bp_problem *problem); /* NULL or the words */
    void (*layout)(bp_problem *problem);
    bp_status (*wrap)(const bp_problem *problem, bp_prepared *inner, bp_prepared **wrapped);
} bp__adapter;
extern const bp__adapter bp__adapter_simulate; /* simulate.c: f32 inputs of products rounded to less */
extern const bp__adapter bp__adapter_fft;      /* fft_adapt.c: padding, conjugation, whole spectra of real input */

/* Whether a library's threads, as its row tells them, are those of an OpenMP runtime (backends.c). */
bool bp__on_openmp(const bp_library_info *library);

/* Bits of bp_policy.avoid. */
enum { BP__AVOID_MKL = 1, BP__AVOID_OPENMP = 2, BP__AVOID_ONEDNN = 4 };

/* Fills a choice for the problem; candidates whose bit is set in `skip` have failed already and are passed over. Fails
 * only for lack of memory or when the library list cannot be made. */
bp_status bp__choose(bp__choice *choice, const bp_problem *problem, uint64_t skip, bool all);
void bp__choice_free(bp__choice *choice);

/* ---- Plans (plan.c) ---- */

/* What a plan is found by: the bytes of its problem, or, where it is made of others, what its operation says. */
typedef struct bp__plan_key {
    const void *bytes;
    size_t size;
} bp__plan_key;

struct bp_plan {
    bp_prepared *prepared; /* the hot path reads this and the next two */
    uint64_t serial;
    bool needs_scalars; /* alpha or beta is neither 0 nor 1 */
    atomic_int references;
    atomic_uint_least64_t runs;
    const bp__candidate *candidate;
    int candidate_index;
    bp_verdict verdict;
    double order_ns; /* what the choice went by: the estimate, under deterministic=threads for all processors */
    bp_problem problem;
    char reason[512];
    char text[256];
    bp__plan_key key;
    size_t workspace;              /* bytes; see bp_plan_info */
    struct bp_plan *older, *newer; /* the list of all plans */
    unsigned char own_key[];       /* of a composed plan */
};

/* Chooses and prepares: tries candidates in turn as dispatch.fallback allows. The new plan has one reference. */
bp_status bp__plan_make(bp_plan **plan, const bp_problem *problem, uint64_t skip);
void bp__plan_retain(bp_plan *plan);
int bp__plans_alive(void);

/* A plan that an operation composes of others: `prepared` runs those. It is described by the one among them that takes
 * longest. `plan` takes `prepared` over on success; the key is copied. */
typedef struct bp__composition {
    bp_op op;
    bp_dtype dtype;
    const bp_policy *policy;
    const bp_plan *longest;
    uint32_t notes; /* promises that all parts make */
    int32_t threads;
    double cost_ns;
    const char *algorithm; /* static */
    const char *reason, *text;
    size_t workspace;
    bp__plan_key key;
} bp__composition;
bp_status bp__plan_compose(bp_plan **plan, bp_prepared *prepared, const bp__composition *composition);

/* Runs a part of such a plan, and shows it to who observes. */
bp_status bp__plan_run_part(const bp_plan *part, void *const *operands);

enum { BP__UNCACHED_GENERAL = 1, BP__UNCACHED_FFT = 2 };

/* What the calling thread keeps between calls; small, so that it fits the static TLS of a process that opens us late.
 */
typedef struct bp__thread_state {
    uint64_t epoch;    /* of the settings that follow */
    uint32_t policy;   /* number of the policy in force, for hot keys */
    uint32_t uncached; /* plan caches that are off, of BP__UNCACHED_: their plans are not remembered */
    bool observed;     /* verbose or trace wants to see calls */
    uint32_t resets;   /* that had happened when `hot` was made; with another number it is gone */
    uint64_t last_serial;
    struct bp__hot *hot;
} bp__thread_state;
extern _Thread_local bp__thread_state bp__thread __attribute__((tls_model("initial-exec"), visibility("hidden")));
void bp__thread_refresh(uint64_t epoch); /* policy.c: brings epoch, policy, observed up to date */

/* ---- The process-wide cache (cache.c) ---- */
size_t bp__problem_size(const bp_problem *problem); /* the bytes of a problem that say something */
/* The plan for the problem with a new reference, made when there is none. *fresh tells which. */
bp_status bp__cache_get(bp_plan **plan, const bp_problem *problem, bool *fresh);

/* The same for composed plans, by a key that begins with a byte of 0, as no problem's does. */
typedef bp_status (*bp__plan_maker)(bp_plan **plan, const bp__plan_key *key, const void *context);
bp_status bp__cache_get_composed(bp_plan **plan, const bp__plan_key *key, bp__plan_maker make, const void *context,
                                 bool *fresh);
void bp__cache_reset(void);
/* Changes whenever plans made before must not be found again: cleared cache, new library list, fork. */
uint64_t bp__generation(void);
void bp__generation_next(void);

/* ---- One call (call.c: products; operation.c: all other operations; long_way.c) ---- */
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

/* The first numbers of tags, so that no two operations have the same: the byte BP__TAG_SHIFT of a tag. */
enum { BP__TAG_MATMUL = 1, BP__TAG_GEMM = 2, BP__TAG_FFT = 3, BP__TAG_LINALG = 4, BP__TAG_EINSUM = 5 };

#define BP__PARAMETERS 8
#define BP__PARAMETERS_LONG                                                                                            \
    (BP__PARAMETERS + 1) /* parameter_count: more than fit, so that the call goes the long way */

/* One call of any other operation, filled by the operation but for `key`. */
typedef struct bp__operation {
    uint64_t tag; /* a BP__TAG_ in the lowest byte, then 23 bits of the operation's own */
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
bp_status bp__composed_run(bp__operation *operation, bp_plan *plan, bool fresh, void *const *operands);

/* Plans and explains for an operation's request: `make` checks it and fills the problem, under the options' settings.
 */
typedef bp_status (*bp__problem_maker)(bp_problem *problem, const void *request);
bp_status bp__plan_for(bp_plan **plan, const bp_options *options, bp__problem_maker make, const void *request);
bp_status bp__explain_for(bp_explanation **explanation, const bp_options *options, bp__problem_maker make,
                          const void *request);

/* Plans, runs by `run`, and where the library fails for want of memory and the like runs another in its place, as
 * dispatch.fallback allows. *ran is the plan with a reference, also when it failed; NULL when another one stood in. */
typedef bp_status (*bp__runner)(const void *call, const bp_plan *plan);
bp_status bp__plan_and_run(const bp_problem *problem, bp__runner run, const void *call, bp_plan **ran);

/* Keeps the plan alive until this thread describes another one. */
void bp__hot_describe(bp_plan *plan);
void bp__hot_check(void); /* forgets a list that bp_reset has freed */
void bp__hot_reset(void); /* all threads' short lists; no other thread may be inside the library */

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

/* ---- Observation (observe.c): BACKPLANE_VERBOSE lines and BACKPLANE_TRACE events ---- */
bool bp__observe_wanted(void); /* from the calling thread's settings */
void bp__observe_call(const bp_plan *plan, bool fresh, int64_t start_ns, int64_t end_ns, bp_status status);
void bp__observe_plan(const bp__choice *choice, const bp_problem *problem); /* verbose 2 */
void bp__observe_reset(void);
bool bp__write_all(int fd, const char *text, size_t size); /* goes on after signals; false: the system would not */

/* ---- Fork (fork.c): arranged when the library is loaded. What may lock first calls this, so that a program linked
 * with the rooms as an archive has fork.c too. ---- */
void bp__fork_watch(void);

/* The mutexes of this room, for fork.c. */
extern pthread_mutex_t bp__candidates_mutex, bp__policy_mutex, bp__plans_mutex, bp__cache_mutex, bp__hot_mutex,
    bp__observe_mutex, bp__host_mutex, bp__verbose_mutex;

#endif
