/* checks.c - runs the checks of BP_CHECK_MAP in every element type, and reports which passed and what is wrong. */
#include "probe/checks.h"

#include "backplane/tensor.h"
#include "registry/facts.h"

#include <stdio.h>
#include <string.h>

static const char *c2c(trial *t) {
    return check_transforms(t, COMPLEX_TO_COMPLEX);
}

static const char *r2c(trial *t) {
    return check_transforms(t, REAL_TO_COMPLEX);
}

static const char *c2r(trial *t) {
    return check_transforms(t, COMPLEX_TO_REAL);
}

/* The check of BLAS's other routines, whose results are names of routines, and no bits of bp_check. */
enum { OTHERS_OF_BLAS = -1 };

/* In the order in which they run: products first, because they matter most if the time is over. */
static const signed char checks[] = {
    BP_CHECK_GEMV, BP_CHECK_GEMM, OTHERS_OF_BLAS, BP_CHECK_LU,         BP_CHECK_CHOLESKY, BP_CHECK_QR,  BP_CHECK_EIGH,
    BP_CHECK_EIG,  BP_CHECK_SVD,  BP_CHECK_LSTSQ, BP_CHECK_TRIANGULAR, BP_CHECK_C2C,      BP_CHECK_R2C, BP_CHECK_C2R};

enum {
#define X(number, name, text) +1
    ALL_CHECKS = 1 BP_CHECK_MAP(X),
#undef X
    CHECKS = sizeof checks / sizeof *checks,
    TYPES = sizeof number_types / sizeof *number_types
};

_Static_assert((int)CHECKS == (int)ALL_CHECKS, "every check runs");

/* By bp_check. Transforms loop over the samples themselves, with one plan for all. */
static const char *(*const functions[])(trial *t) = {
    [BP_CHECK_LU] = check_lu,
    [BP_CHECK_CHOLESKY] = check_cholesky,
    [BP_CHECK_QR] = check_qr,
    [BP_CHECK_EIGH] = check_eigh,
    [BP_CHECK_EIG] = check_eig,
    [BP_CHECK_SVD] = check_svd,
    [BP_CHECK_LSTSQ] = check_lstsq,
    [BP_CHECK_TRIANGULAR] = check_triangular,
    [BP_CHECK_C2C] = c2c,
    [BP_CHECK_R2C] = r2c,
    [BP_CHECK_C2R] = c2r,
    [BP_CHECK_GEMV] = check_gemv_memory,
    [BP_CHECK_GEMM] = check_gemm_memory,
};

/* Returns whether the check is of products. It loops over shapes itself, and needs no sample. */
static bool multiplies(int check) {
    return check >= BP_CHECK_GEMV;
}

static bool transforms(int check) {
    return check >= BP_CHECK_C2C && check <= BP_CHECK_C2R;
}

static bool factorizes(int check) {
    return !multiplies(check) && !transforms(check);
}

static uint64_t bit_of(int check, int type) {
    return BP_CHECK_BIT(check, BP_F32 + type);
}

static const char *topic_of(int check, int type) {
    static char topic[64];
    return bp__check_topic(__builtin_ctzll(bit_of(check, type)), topic, sizeof topic) ? topic : "";
}

static uint64_t all_checks(const subject *library) {
    const char *id = library->family->id;
    bool mkl = strcmp(id, "mkl") == 0, narrow = mkl || strcmp(id, "fftwf") == 0, wide = mkl || strcmp(id, "fftw") == 0;
    uint64_t due = 0;
    for (int i = 0; i < CHECKS; i++) {
        const int check = checks[i];
        for (int type = 0; type < TYPES && check != OTHERS_OF_BLAS; type++) {
            bool fits = transforms(check)
                            ? (library->kinds & BP_LIB_FFT) && ((type == 2 && narrow) || (type == 3 && wide))
                        : multiplies(check) ? (library->kinds & (BP_LIB_BLAS | BP_LIB_CBLAS)) != 0
                                            : (library->kinds & BP_LIB_LAPACK) && library->int_bits != 0;
            due |= fits ? bit_of(check, type) : 0;
        }
    }
    return due;
}

uint64_t checks_due(const subject *library) {
    const uint64_t all = all_checks(library);
    uint64_t of_products = 0;
    for (int type = 0; type < TYPES; type++) {
        of_products |= bit_of(BP_CHECK_GEMV, type) | bit_of(BP_CHECK_GEMM, type);
    }
    return library->brief ? all & of_products : all;
}

/* ---- One check ---- */

void *routine_of(trial *t, const char *stem) {
    char name[24];
    snprintf(name, sizeof name, "%c%s", t->type->letter, stem);
    memcpy(t->state->routine, name, sizeof name);
    return fortran_routine(t->library, name);
}

static const char *try_samples(trial *t, int check) {
    const char *wrong = NULL;
    for (int kind = 0; kind < SAMPLES && !wrong; kind++) {
        make_sample(t, (sample_kind)kind);
        wrong = functions[check](t);
    }
    return wrong;
}

static void run_check(const subject *library, progress *state, int check, int type) {
    static trial t;
    t.library = library;
    t.state = state;
    t.type = &number_types[type];
    t.tolerance = 20 * ORDER * (t.type->is_double ? 0x1p-52 : 0x1p-23);
    const char *wrong = transforms(check) || multiplies(check) ? functions[check](&t) : try_samples(&t, check);
    const char *described = wrong && !factorizes(check)   ? wrong
                            : !wrong && factorizes(check) ? check_lapack_memory(&t, check)
                                                          : NULL;
    if (described) {
        report("fault", "%s: %s", topic_of(check, type), described);
    } else if (wrong) {
        report("fault", "%s: wrong results in probe: %s, %s matrix: %s", topic_of(check, type), state->routine,
               sample_names[t.kind], wrong);
    } else {
        report("passed", "%llx", (unsigned long long)bit_of(check, type));
    }
}

/* ---- All of them ---- */

static bool tests_others_of_blas(const subject *library) {
    return (library->kinds & BP_LIB_BLAS) && !library->brief;
}

static bool is_due(const subject *library, uint64_t due, int check, int type) {
    return check == OTHERS_OF_BLAS ? tests_others_of_blas(library) : (due & bit_of(check, type)) != 0;
}

static void report_outside(const char *names) {
    report("outside", "%s", names);
}

/* Reports the names after the last type. */
static void run_others_of_blas(const subject *library, progress *state) {
    static trial t;
    t.library = library;
    t.state = state;
    t.type = &number_types[state->type];
    if (!check_blas_memory(&t)) {
        report_how("outside", "not tested: no memory");
    } else if (state->type == TYPES - 1) {
        report_outside(state->outside);
    }
}

void report_due(const subject *library, const progress *state) {
    report("due", "%llx", (unsigned long long)checks_due(library));
    if (checks_due(library) != all_checks(library) || (library->brief && (library->kinds & BP_LIB_BLAS))) {
        report("left", "1");
    }
    if (!state->known && (library->kinds & BP_LIB_BLAS)) {
        report_outside("*");
    }
}

void run_checks(const subject *library, progress *state) {
    uint64_t due = checks_due(library);
    stay_on_one_thread(library);
    state->check += state->check < 0;
    for (; state->check < CHECKS; state->check++, state->type = 0) {
        const int check = checks[state->check];
        limit_check(state->limit_ms);
        for (; state->type < TYPES; state->type++) {
            state->routine[0] = 0;
            state->product = (product_call){0};
            if (check == OTHERS_OF_BLAS && is_due(library, due, check, state->type)) {
                run_others_of_blas(library, state);
            } else if (is_due(library, due, check, state->type)) {
                run_check(library, state, check, state->type);
            }
        }
    }
    limit_check(0);
}

/* ---- Checks that have ended a child ---- */

/* Before the first check and after the last one, any that has no rule of its own. */
static int current_check(const progress *state) {
    return state->check >= 0 && state->check < CHECKS ? checks[state->check] : BP_CHECK_LU;
}

void skip_unfinished(progress *state, bool accessed) {
    if (accessed && current_check(state) == OTHERS_OF_BLAS) {
        state->row++;
    } else if (accessed && multiplies(current_check(state))) {
        state->type++;
    } else {
        state->check++;
        state->type = 0;
    }
}

/* Reports the rest of the current check. The types that passed before the child ended have been reported. */
void report_unfinished(const subject *library, progress *state, bool accessed, const char *how) {
    const int check = current_check(state);
    const bool bounds = accessed && multiplies(check);
    const uint64_t due = checks_due(library);
    char call[96];
    if (check == OTHERS_OF_BLAS) {
        char text[160];
        snprintf(text, sizeof text, "%s %s", state->routine, how);
        report_how("outside", text);
        note_outside(state);
        return;
    }
    print_product(&state->product, call, sizeof call);
    for (int type = state->type; type < (bounds ? state->type + 1 : TYPES); type++) {
        if (due & bit_of(check, type)) {
            report("fault", "%s: %s: %s%s%s%s", topic_of(check, type),
                   bounds ? "accesses memory outside of its operands in probe" : "not tested", state->routine, call,
                   *state->routine ? " " : "", how);
        }
    }
}
