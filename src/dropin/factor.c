/* factor.c - chooses the library for large factorizations and solutions of LAPACK, by Backplane's choice for the same
 * operation.
 *
 * A program's own library is kept unless another one is known to be faster: libraries inside programs, such as
 * PyTorch's MKL, are often good and never measured. The library's routine gets the program's arguments as they are, so
 * it works in place and reports as LAPACK does. Factors and pivots of LU and Cholesky decompositions mean the same in
 * every LAPACK, so that another library may use them. Backplane's own implementation is not used: its results do not
 * overwrite its inputs, and the copies would cost what it gains. The choice is kept for each routine, each library of
 * the program, and each power of two of the size.
 */
#include "dropin/backplane.h"
#include "dropin/entry.h"
#include "dropin/library.h"

#include <dlfcn.h>
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#define X(name, kind) +1
enum { KINDS = 6, TYPES = 4, FACTORS = 0 BP__DROPIN_SIZED_LAPACK(X), SIZES = 32 };
#undef X
_Static_assert(FACTORS == KINDS * TYPES, "factor.c computes the kind and the type from the number of the routine");

/* A choice, for one routine, width, power of two, and library of the program. */
enum { OWN_LIBRARIES = 4 }; /* of one process and width. Further ones keep their calls */
typedef struct choice {
    const char *own;                 /* its path, one address for equal paths; NULL: free */
    const bp__dropin_target *target; /* never changes; routine NULL: the program's own. NULL: not chosen yet */
} choice;

static choice choices[FACTORS][2][SIZES][OWN_LIBRARIES];

/* Returns the choice for a library of the program, or NULL if there are too many. */
static choice *choice_of(choice *of_size, const char *own) {
    for (int i = 0; i < OWN_LIBRARIES; i++) {
        const char *there = NULL;
        if (__atomic_compare_exchange_n(&of_size[i].own, &there, own, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
            there == own) {
            return &of_size[i];
        }
    }
    return NULL;
}

/* The kinds in the order of the routines. */
enum { GETRF, GESV, POTRF, POSV, GETRS, POTRS };

static const bp_op operations[KINDS] = {
    [GETRF] = BP_OP_LU_FACTOR, [GESV] = BP_OP_SOLVE,     [POTRF] = BP_OP_CHOLESKY,
    [POSV] = BP_OP_CHOLESKY,   [GETRS] = BP_OP_LU_SOLVE, [POTRS] = BP_OP_CHOLESKY_SOLVE};

/* A problem of the operation, with tensors in the order of the storage of LAPACK and without memory. */
typedef struct problem {
    int64_t shapes[4][2], strides[2][2];
    DLTensor tensors[4];
    bp_linalg_call call;
} problem;

static DLTensor *add_operand(problem *p, int index, DLDataType type, int ndim, int64_t rows, int64_t columns) {
    p->shapes[index][0] = rows;
    p->shapes[index][1] = columns;
    p->tensors[index] = (DLTensor){.device = {kDLCPU, 0}, .ndim = ndim, .dtype = type, .shape = p->shapes[index]};
    return &p->tensors[index];
}

static void describe_problem(problem *p, int kind, int type, int64_t m, int64_t n, int64_t columns) {
    static const DLDataType types[TYPES] = {
        {kDLFloat, 32, 1}, {kDLFloat, 64, 1}, {kDLComplex, 64, 1}, {kDLComplex, 128, 1}};
    static const DLDataType integer = {kDLInt, 32, 1};
    bp_linalg_call *call = &p->call;
    memset(p, 0, sizeof *p);
    call->struct_size = sizeof *call;
    call->op = operations[kind];
    switch (kind) {
    case GETRF:
        call->input[0] = add_operand(p, 0, types[type], 2, m, n);
        call->output[0] = add_operand(p, 1, types[type], 2, m, n);
        call->output[1] = add_operand(p, 2, integer, 1, m < n ? m : n, 1);
        break;
    case GESV:
        call->input[0] = add_operand(p, 0, types[type], 2, n, n);
        call->input[1] = add_operand(p, 1, types[type], 2, n, columns);
        call->output[0] = add_operand(p, 2, types[type], 2, n, columns);
        break;
    case GETRS:
        call->input[0] = add_operand(p, 0, types[type], 2, n, n);
        call->input[1] = add_operand(p, 1, integer, 1, n, 1);
        call->input[2] = add_operand(p, 2, types[type], 2, n, columns);
        call->output[0] = add_operand(p, 3, types[type], 2, n, columns);
        break;
    case POTRS:
        call->input[0] = add_operand(p, 0, types[type], 2, n, columns);
        call->input[1] = add_operand(p, 1, types[type], 2, n, n);
        call->output[0] = add_operand(p, 2, types[type], 2, n, columns);
        break;
    default:
        call->input[0] = add_operand(p, 0, types[type], 2, n, n);
        call->output[0] = add_operand(p, 1, types[type], 2, n, n);
        break;
    }
}

typedef struct candidate {
    char id[256];
    double cost_ns;
    bool accepted, chosen;
    bool measured; /* or interpolated between measurements of this machine */
} candidate;

/* The candidates of a problem that are libraries and offer the operation, by their expected time: the chosen one first,
 * refused ones last. */
enum { MOST = 32 };
typedef struct candidates {
    int count;
    candidate at[MOST];
} candidates;

static bool precedes(const candidate *a, const candidate *b) {
    return a->chosen != b->chosen ? a->chosen : a->accepted != b->accepted ? a->accepted : a->cost_ns < b->cost_ns;
}

static void insert_candidate(candidates *list, const bp_candidate_info *info) {
    if (info->reason == BP_REASON_OP || strcmp(info->library, "native") == 0 || list->count == MOST ||
        strlen(info->library) >= sizeof list->at[0].id) {
        return;
    }
    const bool tuned = info->measured_ns > 0;
    candidate made = {.cost_ns = tuned ? info->measured_ns : info->cost_ns,
                      .accepted = info->accepted != 0,
                      .chosen = info->chosen != 0,
                      .measured = tuned || info->time_source != BP_TIME_ESTIMATED};
    memcpy(made.id, info->library, strlen(info->library) + 1);
    int at = list->count++;
    for (; at > 0 && precedes(&made, &list->at[at - 1]); at--) {
        list->at[at] = list->at[at - 1];
    }
    list->at[at] = made;
}

static void list_candidates(const bp__dropin_api *api, const problem *p, candidates *list) {
    bp_explanation *explanation;
    list->count = 0;
    if (api->bp_linalg_explain(&explanation, NULL, &p->call) != BP_OK) {
        return;
    }
    bp_candidate_info c = {.struct_size = sizeof c};
    for (int i = 0; api->bp_explanation_at(explanation, i, &c); i++) {
        insert_candidate(list, &c);
    }
    api->bp_explanation_release(explanation);
}

/* ---- The program's own library ---- */

/* Returns whether the code of a library is a candidate's. A file that passes its calls on is in the list of
 * libraries, but is no candidate: Debian's libblas.so.3 of OpenBLAS forwards to libopenblas.so.0. */
static bool is_same_code(const bp__dropin_api *api, const bp_library_info *library, const candidate *c) {
    bp_library_info other = {.struct_size = sizeof other};
    return strcmp(library->id, c->id) == 0 ||
           (library->state == BP_LIBRARY_FACADE && api->bp_library_find(c->id, &other) == BP_OK &&
            strcmp(library->family, other.family) == 0 && strcmp(library->version, other.version) == 0 &&
            strcmp(library->threading, other.threading) == 0);
}

/* The library that the program would call. */
typedef struct own_library {
    bool none;                  /* in a drop-in library */
    const candidate *candidate; /* NULL: it is in no list, so that nothing is known of its speed and its guarantees */
} own_library;

static own_library find_own(const bp__dropin_api *api, const candidates *list, const char *path) {
    bp_library_info info = {.struct_size = sizeof info};
    own_library own = {.none = *path == '\0'};
    if (!own.none && api->bp_library_find(path, &info) == BP_OK) {
        for (int i = 0; i < list->count && !own.candidate; i++) {
            own.candidate = is_same_code(api, &info, &list->at[i]) ? &list->at[i] : NULL;
        }
    }
    return own;
}

/* Returns why a candidate takes the calls of the program's own library, or NULL if that library keeps them. */
static const char *why_leave(const bp__dropin_api *api, const own_library *own, const candidate *to) {
    enum { WORTH_PERCENT = 110 }; /* a second library has threads and buffers of its own */
    const candidate *from = own->candidate;
    if (own->none) {
        return "the library that Backplane chooses for the operation";
    }
    if (from == to) {
        return NULL;
    }
    if (to->chosen && !bp__dropin_setting_is(api, "linalg.preferred", "")) {
        return "linalg.preferred names a library";
    }
    if (from ? !from->accepted : !bp__dropin_setting_is(api, "deterministic", "off")) {
        return "the program's own library does not guarantee what the settings demand";
    }
    return from && from->measured && to->measured && from->cost_ns * 100 > to->cost_ns * WORTH_PERCENT
               ? "by measurements on this machine, faster than the program's own library"
               : NULL;
}

/* The size that a choice depends on, as a power of two. */
static int bucket_of(int64_t m, int64_t n) {
    int64_t least = m < n ? m : n;
    int bucket = least > 0 ? 63 - __builtin_clzll((unsigned long long)least) : 0;
    return bucket < SIZES ? bucket : SIZES - 1;
}

/* Finds the best library that has the routine with the program's width of integers, if it is better than the program's
 * own one. Libraries that are passed over are not opened: they would start threads. */
static void find_target(const bp__dropin_slot *slot, const problem *p, const char *path, bp__dropin_target *target) {
    const bp__dropin_api *api = bp__dropin_backplane(NULL);
    candidates list;
    if (!api) {
        return;
    }
    list_candidates(api, p, &list);
    const own_library own = find_own(api, &list, path);
    for (int i = 0; i < list.count && list.at[i].accepted && !target->routine; i++) {
        target->why = why_leave(api, &own, &list.at[i]);
        if (!target->why) {
            return;
        }
        const bp__dropin_library *library = bp__dropin_library_with_id(list.at[i].id);
        if (library && bp__dropin_is_sound(&library->findings, bp__dropin_routine(slot))) {
            target->routine = bp__dropin_library_routine(library, bp__dropin_routine(slot), bp__dropin_wide(slot));
            target->library = library->id;
        }
    }
}

/* Chooses, and keeps the result of the first thread that has one: the measured times of two sizes may differ. */
static const bp__dropin_target *choose_target(const bp__dropin_slot *slot, int number, int64_t m, int64_t n,
                                              int64_t columns, choice *kept) {
    const bp__dropin_target *before = NULL;
    bp__dropin_target *made = calloc(1, sizeof *made);
    problem p;
    if (!made) {
        return NULL;
    }
    describe_problem(&p, number / TYPES, number % TYPES, m, n, columns);
    find_target(slot, &p, kept->own, made);
    made->own = "";
    if (__atomic_compare_exchange_n(&kept->target, &before, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return made;
    }
    free(made);
    return before;
}

/* Returns whether the thread is in a parallel region of an OpenMP runtime of the program. The library that the program
 * calls there knows what to do, and another one would start threads of its own. */
static bool in_parallel_region(void) {
    int (*in_parallel)(void);
    *(void **)&in_parallel = dlsym(RTLD_DEFAULT, "omp_in_parallel");
    return in_parallel && in_parallel();
}

const bp__dropin_target *bp__dropin_factor(const bp__dropin_slot *slot, const bp__dropin_frame *frame,
                                           const bp__dropin_target *own) {
    int number = bp__dropin_routine(slot) - (BP__DROPIN_SIZED_COUNT - FACTORS);
    bp__dropin_call call = {.sizes = 0};
    bp__dropin_measure(slot, frame, &call);
    bool square = number / TYPES != GETRF;
    int64_t m = call.size[0], n = square ? m : call.size[1], columns = call.sizes > 1 ? call.size[1] : 1;
    if (m <= 0 || n <= 0 || columns <= 0 || m > INT32_MAX || n > INT32_MAX || columns > INT32_MAX ||
        in_parallel_region()) {
        return own;
    }
    choice *kept = choice_of(choices[number][bp__dropin_wide(slot)][bucket_of(m, n)], own->own);
    if (!kept) {
        return own;
    }
    const bp__dropin_target *target = __atomic_load_n(&kept->target, __ATOMIC_ACQUIRE);
    if (!target) {
        bp__dropin_visit visit;
        bp__dropin_visit_begin(&visit);
        fenv_t state; /* choosing computes, and the program must see no exception of that */
        feholdexcept(&state);
        target = choose_target(slot, number, m, n, columns, kept);
        fesetenv(&state);
        bp__dropin_visit_end(&visit);
    }
    return target && target->routine ? target : own;
}
