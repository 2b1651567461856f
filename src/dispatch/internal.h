/* internal.h - interface of dispatch for ops/, and declarations shared by the files of dispatch/.
 *
 * A call runs as follows. The operation makes a key of its tensors and looks it up in the calling thread's cache
 * (gemm_fast_path.c, operation_fast_path.c). If that misses, the operation makes a problem, plan_cache.c looks in
 * the process-wide cache, and choose.c evaluates every candidate. Running, planning and explaining use one choice
 * function. */
#ifndef BP_DISPATCH_INTERNAL_H
#define BP_DISPATCH_INTERNAL_H

#include "backplane/dispatch.h"
#include "base/base.h"
#include "calibration/calibration.h"
#include "dispatch/family.h"
#include "registry/internal.h"
#include "settings/internal.h"

#include <pthread.h>

/* ---- Candidates (candidates.c): a provider, with the library that it drives if it needs one. ---- */
struct bp__candidate {
    const bp_provider *provider;
    const bp_library_info *library; /* NULL if the provider needs no library */
    void *instance;                 /* NULL if open() failed or the library's state forbids opening it */
    bp_status status;               /* reason why `instance` is NULL */
    char refusal[256];
    _Atomic(const bp__calibration *) calibration; /* its measured times; NULL if there are none */
    atomic_bool used_by_tuning;                   /* its library is loaded, and has run */
    unsigned number;                              /* counted from 0 */
    atomic_bool called;                           /* it has run a plan */
    struct bp__candidate *next;                   /* list of all candidates ever made, for bp_reset */
};

/* Returns the current candidates. `need` tells what must be known of the libraries (bp__libraries). If it is NULL, the
 * library list is not built; only providers that need no library are returned, unless the list exists already.
 * `class`: of times that are measured first if the settings want it and there are none; -1: none. The array stays valid
 * until bp_reset. */
bp_status bp__candidates(const bp__need *need, int class, bp__candidate ***list, int *count);
/* Returns what must be known of the libraries to make a choice for the problem. */
bp__need bp__need_of(const bp_problem *problem);
bool bp__candidate_is_native(const bp__candidate *candidate);
const char *bp__candidate_id(const bp__candidate *candidate); /* library id or provider name */
/* Whether its library has threads of its own. Otherwise it runs on native's. */
bool bp__candidate_has_threads(const bp__candidate *candidate);
const char *bp__candidate_version(const bp__candidate *candidate);
/* Measures the current candidates. */
bp_status bp__candidates_measure(const bp__calibration_request *request);
bool bp__candidates_are_measured(void);
void bp__candidates_forked(void); /* in a child of fork */

extern const bp_provider *const bp__builtin_providers[]; /* ends with NULL */
bool bp__provider_is_builtin(const char *name);
bool bp__provider_exists(const char *name);
/* Whether the project has the provider. Its operations need libraries of the kinds in bp__preference. */
bool bp__provider_is_own(const char *name);
void bp__candidates_reset(void);
const bp_host *bp__host(void);           /* provider_host.c */
int bp__operation_interrupted(bp_op op); /* interrupted.c: see bp_host */

/* ---- Policy (policy.c) ---- */
/* Fills the policy from the calling thread's settings. Fails (BP_E_NO_MEMORY) if the names of preferred or excluded
 * libraries cannot be kept: without them, a library might run that the user excluded. */
bp_status bp__policy_resolve(bp_policy *policy, const bp__family *family);
/* Returns whether this thread's calls are limited to one thread because it is inside an OpenMP parallel region. */
bool bp__policy_in_region(void);
/* Returns the number of threads that other processes leave to calls without determinism; 0: no limit. */
int32_t bp__policy_load_limit(void);
void bp__policy_read_load(void);                             /* updates that number every tenth of a second */
const char *bp__policy_preferred(const bp_problem *problem); /* the preferred library; "": none */
/* In bp_policy.preferred of a family with kernels: this mark is between the list of the enabled ones and that library.
 */
#define BP__PREFERRED "\t"
const char *bp__policy_text(uint32_t handle); /* the text behind the handles `preferred` and `exclude` */
void bp__policy_reset(void);

/* ---- Precision of f32 (precision.c) ---- */
/* Returns the setting that limits the rounding of f32 inputs at a place; BP__NO_SETTING: they are never rounded. */
int bp__precision_setting(const bp__family *family, int32_t place);
void bp__precision_resolve(bp_policy *policy, const bp__family *family, int32_t place);
/* Returns the name of the setting that decides for the problem: that one, or the parent that it inherits from. NULL if
 * there is none. For the thread whose settings the problem has. */
const char *bp__precision_decider(const bp_problem *problem);
/* Makes the convolutions of this thread linear layers, or no longer. Returns the earlier state. */
bool bp__precision_of_linear(bool on);

/* ---- Kernels that settings enable and order (kernels.c) ---- */
/* Returns the position of a name in a list with commas; -1 if it is not there. */
int bp__kernel_position(const char *list, const char *name);
/* Adds the content of the policy of such a family. */
void bp__kernels_add(const bp__kernels *kernels, bp__text *text);
bool bp__kernels_ordered(const bp_problem *problem);      /* whether the order was set */
const char *bp__kernels_order(const bp_problem *problem); /* the name of that setting */
/* Returns whether a setting disables the algorithm, and writes the reason. */
bool bp__kernel_off(const bp_problem *problem, const char *algorithm, char *text, size_t size);
/* Returns the algorithm's place in the order; 0 for all if it was not set. */
int bp__kernel_rank(const bp_problem *problem, const char *algorithm);

/* ---- Constraints (constraints.c) ---- */
void bp__verdict_refuse(bp_verdict *verdict, bp_reason reason, const char *text);
/* Refuses an accepted verdict that the policy does not permit, and adds the properties of a simulation. */
void bp__verdict_check(const bp_problem *problem, const bp__candidate *candidate, bp_verdict *verdict);
/* Returns the setting that disables the candidate or its runtime; NULL if there is none. */
const char *bp__candidate_off(const bp__candidate *candidate, const bp_policy *policy);

/* ---- Choice (choose.c) ---- */

/* One algorithm of a candidate, with its provider's verdict. */
typedef struct bp__offer {
    bp__candidate *candidate;
    bp_verdict verdict;
    int rank;              /* first sort key of accepted offers: order of the kernels */
    double order;          /* second sort key */
    double estimate_ns;    /* the provider's; under deterministic=threads that for all processors */
    double predicted_ns;   /* from measured times */
    bp__accuracy accuracy; /* of predicted_ns */
    size_t found_at, size; /* range in bp__choice.found: the provider's plan data */
    bool failed;           /* it was chosen before and failed */
    bool one_thread;       /* it accepts on one thread only, because the limits leave no memory for more */
    bool listed;           /* of the library's own list, for an explanation only: nothing runs it */
    double measured_ns;    /* from the record of the problem's class; 0: none */
    double neighbour_ns;   /* from the record of a similar problem; 0: none */
} bp__offer;

/* Whether the offers include the libraries' own lists (bp_provider.expand), and for what. */
typedef enum bp__expansion { BP__EXPANDS_NOTHING, BP__EXPANDS_TO_LIST, BP__EXPANDS_TO_MEASURE } bp__expansion;

typedef struct bp__choice {
    int chosen; /* index into offers, -1: none */
    int count, capacity;
    bp__offer *offers;
    bp__text found;
    bp__expansion expansion;
    bp_status status;       /* BP_OK, or why no offer was chosen */
    bp__text decision;      /* the reason of the choice, as text */
    bp__text warning;       /* empty, or the warning about a fallback */
    bool measured;          /* the offers are ranked by times measured for this class of problems */
    int64_t measured_s;     /* when that was, in seconds since 1970 */
    bool predicted;         /* the offers are ranked by calibrated times */
    char neighbour[128];    /* sizes of the similar problem by whose times the offers are ranked; "": none */
    int64_t neighbour_s;    /* when that was measured */
    const char *unmeasured; /* why times that exist are not used; NULL: there are none */
    char not_measured[192]; /* why the class was not measured although tuning.start=now asks for it; "": it was */
    bool short_of_memory;   /* a candidate, or several threads, had too little memory */
    int64_t since_ns;       /* when the choice began */
    bool transferred;       /* the problem is on a device, and the offers are the host's, for copies */
    bp_problem asked;       /* the problem that candidates evaluated; differs from the caller's if it is simulated or
                             * warn_only applies */
} bp__choice;

/* Fills the offers for the problem in choice->asked, at least one of each candidate, with their sort keys (evaluate.c).
 * `need`: as for bp__candidates. */
bp_status bp__evaluate_all(bp__choice *choice, const bp__need *need);
int bp__machine_threads(void); /* processors of the machine, at least 1 */

static inline bool bp__offer_is_usable(const bp__offer *offer) {
    return offer->verdict.reason == BP_REASON_ACCEPTED && !offer->failed && !offer->listed;
}

/* Returns the offer to choose in place of the fastest one (-1: none): of builds of one library whose calibrated times
 * differ by at most 3 %, one that the program has loaded itself, or else the first one in the list. (builds.c) */
int bp__choice_build(const bp__choice *choice, int fastest);
/* Adds the reason to the decision if the chosen offer is not the fastest one. (builds.c) */
void bp__choice_tell_build(bp__choice *choice, int fastest);

/* Returns the provider's least estimate for the problem; -1 if it refuses the problem. */
double bp__estimate_of(const bp__candidate *candidate, const bp_problem *problem);
/* Whether ratios to the candidate's estimates are interpolated, not times; see bp_provider. */
bool bp__cost_follows_kernels(const bp__candidate *candidate);
/* Makes the problem that calibration measures at a point of a class, which depends on no setting. */
bp_status bp__sample_make(bp_problem *problem, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS]);
/* The same at a small point, which every library that offers the operation accepts. */
bp_status bp__class_sample(bp_problem *problem, const bp__class *class);

/* Sets the sort keys of the offers: measured times if all candidates have some, otherwise estimates (times/predict.c).
 */
void bp__predict(bp__choice *choice);

/* ---- Library names in settings (match_library.c) ---- */
/* Returns how well a user's name matches the candidate: 0 not at all, 1 by family, SONAME or provider, 2 exactly. A
 * name may end with ":" and a provider of the library ("openblas:lapack"). It may end with ":" and an algorithm, given
 * by its whole text or first word ("native:packed"). It may end with both. A name that begins with ":" matches any
 * library. `algorithm` NULL: any; "": only names without one. */
int bp__name_matches(const char *name, const bp__candidate *candidate, const char *algorithm);
/* The text of bp_policy.exclude: the names of dispatch.exclude; if the family's libraries are limited too, this mark,
 * which no name contains, and then the names of those that may run. */
#define BP__ENABLED "\t"
/* `algorithm` NULL: the candidate with all its algorithms. */
typedef enum bp__exclusion { BP__NOT_EXCLUDED, BP__EXCLUDED, BP__NOT_ENABLED } bp__exclusion;
bp__exclusion bp__name_excluded(const char *exclude, const bp__candidate *candidate, const char *algorithm);
/* Returns the reason as text, which may be in the buffer. */
const char *bp__name_why_excluded(bp__exclusion exclusion, const bp_problem *problem, char *buffer, size_t size);
/* Adds a warning for each name in bp_policy.exclude that matches no candidate, so that a constraint never fails
 * silently. */
void bp__name_warn_of_unknown(bp__choice *choice);
/* Fails with the status and message for a name that matches no candidate. */
bp_status bp__name_absent(const char *name);
/* Writes one sentence: why the name matches no candidate. */
void bp__name_why_absent(const char *name, char *buffer, size_t size);

/* Returns whether the library's threads, as listed in its entry, belong to an OpenMP runtime (backends.c). */
bool bp__on_openmp(const bp_library_info *library);

/* Bits of bp_policy.constraints. */
enum {
    BP__DISABLED_MKL = 1,
    BP__DISABLED_OPENMP = 2,
    BP__DISABLED_ONEDNN = 4,
    BP__REPRODUCIBLE_ONEDNN = 8, /* oneDNN's candidates must be reproducible */
    BP__IEEE = 16,               /* f32 operations must have the errors of sums of products */
    BP__TRANSFERS = 32,          /* on a device: the host may run what no candidate of the device accepts */
    BP__STACK_CLASS = 64 + 128   /* a bp__stack_class; see needs.h */
};

/* A failure: an algorithm of a candidate, or with NULL all algorithms of the candidate. */
typedef struct bp__failed {
    const bp__candidate *candidate;
    const char *algorithm;
} bp__failed;

typedef struct bp__failures {
    bp__failed *list;
    int count;
    bool short_of_memory; /* at least one failed for lack of memory */
    bool one_thread;      /* one failed for that on several threads: the choice is made for one thread */
    bp__text text;        /* "; 'openblas' failed: ...", appended to the reason of the choice */
} bp__failures;

/* Adds the failure of a verdict's algorithm. The first one for lack of memory on several threads, which is also a lack
 * of threads, is no failure of the algorithm: it is tried on one thread. */
bp_status bp__failures_add(bp__failures *failures, const bp__candidate *candidate, const bp_verdict *verdict,
                           bp_status status, const char *sentence);
/* Returns whether such a failure leads to a try on one thread. */
bool bp__failures_try_one_thread(const bp__failures *failures, const bp_verdict *verdict, bp_status status);
/* Marks the offers that have failed; `failures` may be NULL. */
void bp__failures_mark(const bp__failures *failures, bp__choice *choice);
void bp__failures_free(bp__failures *failures);

/* Fills a choice for the problem; skips what is in `failures` (may be NULL). If `all` is true, every candidate is
 * evaluated, even if a preference already decides. Fails only without memory or a list of libraries. */
bp_status bp__choose(bp__choice *choice, const bp_problem *problem, const bp__failures *failures, bool all);
/* Returns whether the candidate implements the sample's operation, whatever settings in force refuse. */
bool bp__candidate_offers(const bp__candidate *candidate, const bp_problem *sample);
/* Returns whether the candidate refuses the sample for its element type alone. */
bool bp__candidate_refuses_type(const bp__candidate *candidate, const bp_problem *sample);
void bp__choice_free(bp__choice *choice);

/* ---- Plans on devices (device_plans.c) ---- */
struct bp__devices_noted;
/* Puts a new problem on the device of its tensors. Errors: BP_E_DEVICE (the device is not there, with the reason),
 * BP_E_UNSUPPORTED. */
bp_status bp__problem_put_on_device(bp_problem *problem, const bp__family *family,
                                    const struct bp__devices_noted *noted);
/* Changes the policy of the host into the policy of a device: the settings of its place, without what works on the
 * host only. */
void bp__policy_on_device(bp_policy *policy, const bp__family *family, int32_t place);
void bp__policy_on_cuda(bp_policy *policy, const bp__family *family); /* policy_cuda.c: settings of cuda and cudnn */
void bp__policy_on_map(bp_policy *policy);                            /* dist.preferred, of distributed operands */
/* ---- Alignment of workspaces (aligned.c) ---- */
/* Checks what a provider's plan asks for; on the host, makes it a plan that needs 64 bytes. Destroys it on failure. */
bp_status bp__workspace_align(bp_prepared **prepared, int32_t place);
/* Returns the alignment of a plan's workspace, at least 64. */
size_t bp__workspace_alignment(const bp_prepared *prepared, int32_t place);
/* Returns the least offset from the workspace's own one that has the alignment, where the place has addresses with the
 * base. */
uint64_t bp__workspace_start(const bp_operand *workspace, int32_t place, size_t alignment);

/* Wrap a prepared call for a device, or one of the host that runs on copies. Take ownership of `inner` on success. */
bp_status bp__prepare_on_device(const bp_problem *problem, const char *text, bp_prepared *inner,
                                bp_prepared **prepared);
/* The same for distributed operands; and the part of the provider. */
bp_status bp__prepare_distributed(const bp_problem *problem, const bp__candidate *candidate, bp_prepared *inner,
                                  bp_prepared **prepared);
const bp_prepared *bp__distributed_inner(const bp_prepared *prepared);
/* Enclose a run of a plan with distributed operands that the program holds: the ranks compare nothing then. */
bool bp__distributed_hold(void);
void bp__distributed_release(bool before);
/* Ends a call with distributed operands that has not reached a run: with this status on this rank. Returns the status
 * of all ranks. Returns `status` for other calls. `candidate`: of a plan that was made; NULL: none. */
bp_status bp__distributed_conclude(const bp_problem *problem, const bp__candidate *candidate, bp_status status);
/* Returns the provider's or the operation's part of a plan, which a plan on a device wraps. */
const bp_prepared *bp__plan_inner(const bp_plan *plan);
bp_status bp__prepare_transferred(const bp_problem *problem, bp_prepared *inner, bp_prepared **prepared);
/* Adds to the accepted offers of the host what copies take, and to the decision why no candidate of the device runs. */
void bp__transfer_describe(bp__choice *choice, int32_t place, double copies_ns, const char *why);
/* Returns the expected time of copying the operands of the problem that this thread made last. */
double bp__transfer_cost_ns(const bp_problem *problem);

/* ---- Plans (plan.c) ---- */

/* Key of a plan: the bytes of its problem, or for a composed plan the key that its operation made. */
typedef struct bp__plan_key {
    const void *bytes;
    size_t size;
} bp__plan_key;

struct bp_plan {
    bp_prepared *prepared; /* the fast path reads this and the next seven */
    struct bp__addresses *addresses;
    uint64_t serial;
    bool plain;         /* needs neither scalars nor a workspace, and is not guarded */
    bool threaded;      /* may use several threads of the host */
    bool guarded;       /* may wait in a cancellation point: a library on several threads, a device, parts */
    bool needs_scalars; /* alpha is not 1, or beta is not 0 */
    bool composed;
    atomic_bool warm; /* has run in bp_execute() or as a part; under limits of memory, only if it calls no library */
    atomic_int references;
    atomic_uint_least64_t runs;
    atomic_uint_least64_t due;        /* number of runs at which bp__tune_due() is called; UINT64_MAX: never */
    atomic_uint_least64_t least_ns;   /* shortest run whose time was taken; 0: none yet */
    atomic_uint_least64_t counted_ns; /* time of its runs that was added to the time of all calls */
    double due_ns;        /* what bp__tune_due() is expected to take: measuring its candidates, or making it again */
    atomic_bool replaced; /* the caches have, or will make, a plan with measured times */
    bool short_of_memory; /* it has another candidate, or fewer threads, because memory was short */
    const bp__candidate *candidate;
    int operands; /* of a run, absent ones included */
    bp_verdict verdict;
    double order_ns;     /* on the scale of estimates; under deterministic=threads, for all processors. Sums of several
                          * plans are compared, and some have no measured times */
    double predicted_ns; /* 0 if the choice used estimates */
    bp_problem problem;
    char reason[512];
    char text[256];
    bp__plan_key key;
    struct bp_plan *older, *newer; /* list of all plans */
    unsigned char own_key[];       /* key of a composed plan */
};

/* Returns the time that a run is expected to take: by measurements, or the provider's estimate. */
static inline double bp__plan_expected_ns(const bp_plan *plan) {
    return plan->predicted_ns > 0 ? plan->predicted_ns : plan->verdict.cost_ns;
}

/* Chooses a candidate and prepares a plan. Tries further candidates as dispatch.fallback allows; skips what is in
 * `failures` (may be NULL). The new plan has one reference. */
bp_status bp__plan_make(bp_plan **plan, const bp_problem *problem, bp__failures *failures);
/* Makes a plan of the chosen candidate and frees it, if its library tells only then that it has nothing but reference
 * loops. Sets *refused to whether it is refused, and adds it to the failures. For explanations. */
bp_status bp__plan_try(const bp__choice *choice, const bp_problem *problem, bp__failures *failures, bool *refused);
void bp__plan_retain(bp_plan *plan);
void bp__plan_release(bp_plan *plan); /* NULL is allowed */

/* Counts a reference that the program now owns and releases with bp_plan_release(). */
void bp__plan_handed_out(void);
void bp__plan_keep_as_part(void); /* a reference that was handed out becomes one of a composed plan */
int64_t bp__plans_held(void);     /* number of references that the program owns */
/* Counts graphs that the program owns. */
void bp__graph_handed_out(int count);
int64_t bp__graphs_held(void);
/* Counts backends of graphs that were added and not released. */
void bp__graph_backend_handed_out(int count);
int64_t bp__graph_backends_held(void);

/* Runs a part of a composed plan on the whole plan's queue (NULL: the host), with its share of the workspace, and with
 * packed operands (NULL: there are none). Logs and traces the part if requested. */
bp_status bp__plan_run_part(const bp_plan *part, const bp_operand *operands, const bp_packed *const *packed,
                            bp_queue *queue, const bp_operand *workspace);

/* Returns whether a plan computes elements one after another: bp_prepared.elements. A provider of an earlier interface
 * does not have it. */
static inline bool bp__elements_of(const bp_plan *plan) {
    const bp_prepared *prepared = plan->prepared;
    return prepared->struct_size >= offsetof(bp_prepared, join) + sizeof prepared->join && prepared->elements;
}

/* Scalars of a bp_exec without factors. */
extern const bp_scalar bp__plain_scalars[2];

/* Runs a plan in a thread that cannot be cancelled. */
bp_status bp__plan_run_uncancelled(const bp_plan *plan, const bp_operand *operands, const bp_exec *exec);
/* Runs a plan with a workspace that Backplane provides, or one that is guarded. */
bp_status bp__plan_run_with_care(const bp_plan *plan, const bp_operand *operands, const bp_exec *exec);
static inline bp_status bp__plan_run(const bp_plan *plan, const bp_operand *operands, const bp_exec *exec) {
    const bp_prepared *prepared = plan->prepared;
    return BP__LIKELY(prepared->workspace == 0 && !plan->guarded) ? prepared->enqueue(prepared, operands, exec)
                                                                  : bp__plan_run_with_care(plan, operands, exec);
}

enum { BP__PLANS_RAN = 8, BP__CANDIDATES_RUN = 64 };

/* State of the calling thread between calls. It must stay small, to fit the static TLS of a process that loads
 * Backplane late. */
typedef struct bp__thread_state {
    uint64_t epoch;    /* settings epoch at which the following fields were resolved */
    uint32_t policy;   /* number of the policy in force, part of call keys */
    uint32_t uncached; /* a bit for each bp__cache_kind that is off: its plans are not cached */
    bool observed;     /* verbose or trace is on */
    bool in_region;    /* result of `region` when the policy was resolved */
    bool small_stack;  /* each call asks whether the stack suffices */
    bool limited;      /* other processes limited the threads when the policy was resolved */
    uint32_t resets;   /* number of resets when `cache` was made; if it differs now, `cache` was freed */
    uint64_t last_serial;
    const bp_plan *due_part; /* a part of a composed plan whose bp__tune_due() is to be called after the whole */
    uint64_t due_whole;      /* serial of that plan */
    int64_t due_ns;
    uint8_t threads_run[BP__CANDIDATES_RUN]; /* most threads of each of the first candidates, in calls of this thread */
    uint64_t ran[BP__PLANS_RAN]; /* serials of plans that this thread has run under limits of memory; 0: none */
    struct bp__thread_cache *cache;
    int (*region)(void); /* returns nonzero inside an OpenMP parallel region; NULL: no runtime is loaded */
} bp__thread_state;
extern _Thread_local bp__thread_state bp__thread __attribute__((tls_model("initial-exec"), visibility("hidden")));
/* Value of last_serial if the thread's last call had an empty result, so that no plan ran. */
#define BP__NO_PLAN_RAN UINT64_MAX
void bp__thread_refresh(uint64_t epoch); /* policy.c: updates epoch, policy and observed */

/* Returns whether the thread has entered or left a parallel region. Its policy must then be resolved again. */
static inline bool bp__region_changed(void) {
    return bp__thread.region && (bp__thread.region() != 0) != bp__thread.in_region;
}

/* Updates the thread's state after changes of settings or parallel regions. Every call begins with it. */
static inline void bp__thread_update(void) {
    uint64_t epoch = bp__settings_epoch();
    if (BP__UNLIKELY(epoch != bp__thread.epoch || bp__region_changed())) {
        bp__thread_refresh(epoch);
    }
}

bool bp__trace_wanted(void); /* trace.c: reads the calling thread's settings */
/* Asks again whether the call is observed, for a call that did not begin with bp__thread_update(), because it has no
 * key. The rest of the state must stay: a key of the call would no longer fit it. */
static inline void bp__thread_observe(void) {
    if (BP__UNLIKELY(bp__settings_epoch() != bp__thread.epoch)) {
        bp__thread.observed = bp__trace_wanted();
    }
}

/* Looks for newly loaded OpenMP runtimes before a plan is made. Returns true if the policy number changed; keys made
 * before are then invalid. */
bool bp__thread_find_runtimes(void);

/* ---- Packed operands (pack.c) ---- */
/* Returns BP_OK if each packed operand was packed for this plan and for the operand that it replaces. */
bp_status bp__packed_check(const bp_plan *plan, const bp_packed *const *packed);
int64_t bp__packed_held(void); /* packed operands that the program owns */
/* Runs a plan with packed operands. `exec` is complete, but may lack a workspace. */
bp_status bp__packed_run(const bp_plan *plan, const bp_operand *operands, const bp_exec *exec);

/* ---- The process-wide cache (plan_cache.c) ---- */
/* Returns the cached plan for the problem with a new reference, or makes one. Sets *fresh to whether it is new. */
bp_status bp__cache_get(bp_plan **plan, const bp_problem *problem, bool *fresh);

/* Returns a composed plan in the same way. Its key begins with a byte of 0, which no problem's key does. */
typedef bp_status (*bp__plan_maker)(bp_plan **plan, const bp__plan_key *key, const void *context);
bp_status bp__cache_get_composed(bp_plan **plan, int32_t place, const bp__plan_key *key, bp__plan_maker make,
                                 const void *context, bool *fresh);
void bp__cache_reset(void);
/* Returns a number that changes when older plans become invalid: cleared cache, new library list, fork. */
uint64_t bp__plan_epoch(void);
void bp__plan_epoch_next(void);

/* ---- One call (gemm_fast_path.c: products; operation_fast_path.c: all other operations; slow_path.c) ---- */
#define BP__KEY_WORDS 64
#define BP__OPERANDS 3       /* of a product */
#define BP__MOST_OPERANDS 20 /* of any other operation: gradients of a recurrent layer */

/* Everything that distinguishes calls, except addresses and the values of scalars. */
typedef struct bp__call_key {
    uint64_t words[BP__KEY_WORDS];
    int count; /* 0: the key does not fit, so that the call bypasses the thread cache */
} bp__call_key;

/* One product call; bp__call_find() fills `key`. */
typedef struct bp__call {
    bp__call_key key;
    const DLTensor *tensors[BP__OPERANDS]; /* inputs, then the output */
} bp__call;

/* Looks the call up in the thread cache. `tag` is the operation with its transforms and factor classes, in 31 bits.
 * Returns the plan (borrowed) if the call's tensors are known to be valid and not to overlap. Returns NULL if the slow
 * path is needed. */
const bp_plan *bp__call_find(bp__call *call, uint64_t tag);

/* Takes the slow path: gets a plan from the plan cache, runs it, adds it to the thread cache. The tensors are already
 * checked. */
bp_status bp__call_plan_and_run(bp__call *call, const bp_problem *problem, const bp_scalar *scalars);

/* Runs a plan on the call's tensors. */
bp_status bp__call_run(const bp__call *call, const bp_plan *plan, const bp_scalar *scalars);

/* Makes a tag: the operation and BP__TAG_BITS bits of its own. */
#define BP__TAG_BITS 23
static inline uint64_t bp__tag(bp_op op, uint64_t bits) {
    return (uint64_t)op | bits << 8;
}

#define BP__PARAMETERS 8
#define BP__PARAMETERS_LONG                                                                                            \
    (BP__PARAMETERS + 1) /* a parameter_count too large for the key: the call takes the slow path */

/* One call of any other operation; the operation fills all but `key`. */
typedef struct bp__operation {
    uint64_t tag; /* made by bp__tag() */
    int parameter_count;
    int count, inputs; /* operands, and how many of them are inputs */
    uint8_t in_place;  /* bit i: input i and the output are the same memory, which is allowed */
    const DLTensor *tensors[BP__MOST_OPERANDS]; /* inputs, then outputs; NULL: absent */
    uint64_t parameters[BP__PARAMETERS];        /* everything else that distinguishes calls */
    bp__call_key key;
} bp__operation;

/* These work like bp__call_find(), bp__call_run() and bp__call_plan_and_run(), but `tensors` may hold NULL for absent
 * operands. */
const bp_plan *bp__operation_find(bp__operation *operation);
bp_status bp__operation_run(const bp__operation *operation, const bp_plan *plan);
bp_status bp__operation_plan_and_run(bp__operation *operation, const bp_problem *problem);

/* Takes the slow path of a call: makes the problem of the request, which checks everything, and runs a plan for it,
 * unless no output has elements. */
bp_status bp__operation_run_request(bp__operation *operation, const bp__family *family, const void *request);

/* Adds the plan to the thread cache if `operation` was looked up there (NULL if not). If plans are not cached, keeps
 * the plan until the next one. */
void bp__operation_remember(const bp__operation *operation, bp_plan *plan);

/* Runs a composed plan. Adds it to the thread cache if `operation` was looked up there (NULL if not). */
bp_status bp__composed_run(bp__operation *operation, bp_plan *plan, bool fresh, const bp_operand *operands);

/* Makes the problem of a request, under the calling thread's settings. */
bp_status bp__problem_make(bp_problem *problem, const bp__family *family, const void *request);

/* Make a plan or an explanation for a request, under the settings in `options`. */
bp_status bp__plan_for(bp_plan **plan, const bp_options *options, const bp__family *family, const void *request);
bp_status bp__explain_for(bp_explanation **explanation, const bp_options *options, const bp__family *family,
                          const void *request);

/* Makes a plan and runs it with `run`. If the library fails for lack of memory or similar, runs another one as
 * dispatch.fallback allows. *ran is the plan with a reference, even if it failed, or NULL if another plan ran instead.
 */
typedef bp_status (*bp__runner)(const void *call, const bp_plan *plan);
bp_status bp__plan_and_run(const bp_problem *problem, bp__runner run, const void *call, bp_plan **ran);

/* Keeps the plan alive until this thread describes another one. */
void bp__thread_cache_describe(bp_plan *plan);
void bp__thread_cache_check(void); /* drops a cache that bp_reset has freed */
void bp__thread_cache_reset(void); /* frees the caches of all threads; no other thread may be inside the library */

/* ---- When a problem class is measured (times/tune_due.c) ----
 *
 * A plan counts its runs. At some of them the time of the run is taken, to decide when the class is worth measuring. */
/* Counts a run. Returns whether the caller takes its time and calls bp__tune_due() after it. */
static inline bool bp__run_counted(const bp_plan *plan) {
    bp_plan *counted = (bp_plan *)plan; /* the counters do not belong to the plan's value */
    uint64_t runs = atomic_load_explicit(&counted->runs, memory_order_relaxed) + 1;
    atomic_store_explicit(&counted->runs, runs, memory_order_relaxed);
    return BP__UNLIKELY(runs >= atomic_load_explicit(&counted->due, memory_order_relaxed));
}
/* Decides after a run of `ns`; may measure the class. Then the caches forget the plan, and the next call makes another
 * one. `operands` may be NULL. The caller holds a reference other than the references of the caches, or uses the plan
 * no more.
 */
void bp__tune_due(const bp_plan *plan, const bp_operand *operands, double ns);
/* Sets when the plan's class is considered for measuring. */
void bp__tune_schedule(bp_plan *plan, const bp__choice *choice);
void bp__cache_forget(const bp_plan *plan);        /* plan_cache.c */
void bp__thread_cache_forget(const bp_plan *plan); /* thread_cache.c: in the calling thread */

/* ---- Explain (explain.c) ---- */
bp_status bp__explain(bp_explanation **explanation, const bp_problem *problem);

/* Content of the explanation of a composed plan: the facts about the whole, then the explanations of its parts.
 * add_text() extends the text; add_json() adds JSON fields between the first fields and the parts. */
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

/* ---- Logging (trace.c): BACKPLANE_VERBOSE lines and BACKPLANE_TRACE events ---- */
void bp__trace_call(const bp_plan *plan, bool fresh, int64_t start_ns, int64_t end_ns, bp_status status);
/* The same for a part of a composed plan, whose own call follows. */
void bp__trace_part(const bp_plan *part, int64_t start_ns, int64_t end_ns, bp_status status);
void bp__trace_plan(const bp__choice *choice, const bp_problem *problem); /* for verbose 2 */
void bp__report_choice(const bp_plan *plan); /* to the handler of bp_set_choice_handler() */
void bp__trace_reset(void);

/* ---- Records of calls (record.c) ---- */
bool bp__records_run(void);
int64_t bp__records_held(void); /* records that the program owns */
void bp__records_add(const bp_plan *plan, bool part, bool fresh, int64_t start_ns, int64_t end_ns, bp_status status);

/* Writes all bytes, continuing after signals. Returns false if the system refuses. */
bool bp__write_all(int fd, const char *text, size_t size);

/* ---- Fork (atfork.c): the handlers are registered when the library is loaded. Code that may lock first calls
 * bp__fork_watch(), so that a program linked with the static archive contains atfork.c. ---- */
void bp__fork_watch(void);

/* The mutexes of this module, for atfork.c. */
extern pthread_mutex_t bp__candidates_mutex, bp__policy_mutex, bp__plans_mutex, bp__cache_mutex, bp__thread_cache_mutex,
    bp__trace_mutex, bp__host_mutex, bp__verbose_mutex;

#endif
