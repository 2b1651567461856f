/* factor.c - chooses the library for large factorizations and solutions of LAPACK, by Backplane's choice for the same
 * operation.
 *
 * The library's routine gets the program's arguments as they are, so it works in place and reports as LAPACK does.
 * Factors and pivots of LU and Cholesky decompositions mean the same in every LAPACK, so that another library may use
 * them. Backplane's own implementation is not used: its results do not overwrite its inputs, and the copies would cost
 * what it gains. The choice is kept for each routine and each power of two of the size.
 */
#include "dropin/backplane.h"
#include "dropin/entry.h"
#include "dropin/library.h"

#include <dlfcn.h>
#include <fenv.h>
#include <string.h>

#define X(name, kind) +1
enum { KINDS = 6, TYPES = 4, FACTORS = 0 BP__DROPIN_SIZED_LAPACK(X), SIZES = 32 };
#undef X
_Static_assert(FACTORS == KINDS * TYPES, "factor.c computes the kind and the type from the number of the routine");

/* A choice, for one routine, width, and power of two. `made` is written last. */
typedef struct choice {
    bp__dropin_target target; /* routine NULL: the program's own */
    bool made;
} choice;

static choice choices[FACTORS][2][SIZES];

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

static DLTensor *add(problem *p, int index, DLDataType type, int ndim, int64_t rows, int64_t columns) {
    p->shapes[index][0] = rows;
    p->shapes[index][1] = columns;
    p->tensors[index] = (DLTensor){.device = {kDLCPU, 0}, .ndim = ndim, .dtype = type, .shape = p->shapes[index]};
    p->call.operand[index] = &p->tensors[index];
    return &p->tensors[index];
}

static void describe(problem *p, int kind, int type, int64_t m, int64_t n, int64_t columns) {
    static const DLDataType types[TYPES] = {
        {kDLFloat, 32, 1}, {kDLFloat, 64, 1}, {kDLComplex, 64, 1}, {kDLComplex, 128, 1}};
    static const DLDataType integer = {kDLInt, 32, 1};
    memset(p, 0, sizeof *p);
    p->call.struct_size = sizeof p->call;
    p->call.op = operations[kind];
    switch (kind) {
    case GETRF:
        add(p, 0, types[type], 2, m, n);
        add(p, 1, types[type], 2, m, n);
        add(p, 2, integer, 1, m < n ? m : n, 1);
        break;
    case GESV:
        add(p, 0, types[type], 2, n, n);
        add(p, 1, types[type], 2, n, columns);
        add(p, 2, types[type], 2, n, columns);
        break;
    case GETRS:
        add(p, 0, types[type], 2, n, n);
        add(p, 1, integer, 1, n, 1);
        add(p, 2, types[type], 2, n, columns);
        add(p, 3, types[type], 2, n, columns);
        break;
    case POTRS:
        add(p, 0, types[type], 2, n, columns);
        add(p, 1, types[type], 2, n, n);
        add(p, 2, types[type], 2, n, columns);
        break;
    default:
        add(p, 0, types[type], 2, n, n);
        add(p, 1, types[type], 2, n, n);
        break;
    }
}

/* The candidates of a problem that are libraries, by their expected time. */
enum { MOST = 16 };
typedef struct candidates {
    int count;
    char ids[MOST][256];
    double costs[MOST];
} candidates;

static void insert(candidates *list, const bp_candidate_info *c) {
    double cost = c->chosen ? -1 : c->cost_ns;
    if (!c->accepted || strcmp(c->library, "native") == 0 || list->count == MOST || strlen(c->library) >= 256) {
        return;
    }
    int at = list->count++;
    for (; at > 0 && list->costs[at - 1] > cost; at--) {
        memcpy(list->ids[at], list->ids[at - 1], sizeof list->ids[at]);
        list->costs[at] = list->costs[at - 1];
    }
    memcpy(list->ids[at], c->library, strlen(c->library) + 1);
    list->costs[at] = cost;
}

static void list_candidates(const problem *p, candidates *list) {
    const bp__dropin_api *api = bp__dropin_backplane(NULL);
    bp_explanation *explanation;
    list->count = 0;
    if (!api || api->bp_linalg_explain(&explanation, NULL, &p->call) != BP_OK) {
        return;
    }
    bp_candidate_info c = {.struct_size = sizeof c};
    for (int i = 0; api->bp_explanation_at(explanation, i, &c); i++) {
        insert(list, &c);
    }
    api->bp_explanation_release(explanation);
}

/* The size that a choice depends on, as a power of two. */
static int bucket_of(int64_t m, int64_t n) {
    int64_t least = m < n ? m : n;
    int bucket = least > 0 ? 63 - __builtin_clzll((unsigned long long)least) : 0;
    return bucket < SIZES ? bucket : SIZES - 1;
}

/* Takes the best library that has the routine with the program's width of integers. */
static void choose(const bp__dropin_slot *slot, int number, int64_t m, int64_t n, int64_t columns, choice *made) {
    problem p;
    candidates list;
    bp__dropin_target target = {.routine = NULL};
    describe(&p, number / TYPES, number % TYPES, m, n, columns);
    list_candidates(&p, &list);
    for (int i = 0; i < list.count && !target.routine; i++) {
        const bp__dropin_library *library = bp__dropin_library_ranked(list.ids[i]);
        if (library) {
            target.routine = bp__dropin_library_routine(library, bp__dropin_routine(slot), bp__dropin_wide(slot));
            target.library = library->id;
        }
    }
    __atomic_store_n(&made->target.library, target.library, __ATOMIC_RELAXED);
    __atomic_store_n(&made->target.own, "", __ATOMIC_RELAXED);
    __atomic_store_n(&made->target.routine, target.routine, __ATOMIC_RELAXED);
    __atomic_store_n(&made->made, true, __ATOMIC_RELEASE);
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
    choice *kept = &choices[number][bp__dropin_wide(slot)][bucket_of(m, n)];
    if (!__atomic_load_n(&kept->made, __ATOMIC_ACQUIRE)) {
        bp__dropin_visit visit;
        bp__dropin_visit_begin(&visit);
        fenv_t state; /* choosing computes, and the program must see no exception of that */
        feholdexcept(&state);
        choose(slot, number, m, n, columns, kept);
        fesetenv(&state);
        bp__dropin_visit_end(&visit);
    }
    return kept->target.routine ? &kept->target : own;
}
