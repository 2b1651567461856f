/* library.c - opens the libraries that calls are sent to, and finds their routines by all spellings of a name. */
#include "dropin/library.h"
#include "dropin/backplane.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };

/* What a library must have to be useful here. */
static unsigned wanted_kinds(void) {
    switch (BP__DROPIN_PART) {
    case BP__DROPIN_PART_LAPACK:
        return BP_LIB_LAPACK;
    default:
        return BP_LIB_BLAS;
    }
}

static const char *first_failure;

static void keep_failure(const char *text) {
    const char *none = NULL, *kept = bp__dropin_keep(text);
    __atomic_compare_exchange_n(&first_failure, &none, kept, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static bool open_library(const bp__dropin_api *api, const char *name, bp__dropin_library *to) {
    bp_library_info info = {.struct_size = sizeof info};
    if (api->bp_library_find(name, &info) != BP_OK) {
        return false;
    }
    if (api->bp_library_open(info.id, &to->handle) != BP_OK) {
        keep_failure(api->bp_last_error());
        return false;
    }
    snprintf(to->id, sizeof to->id, "%s", info.id);
    snprintf(to->prefix, sizeof to->prefix, "%s", info.prefix);
    snprintf(to->suffix, sizeof to->suffix, "%s", info.suffix);
    snprintf(to->c_suffix, sizeof to->c_suffix, "%s", info.cblas_suffix);
    to->kinds = info.kinds;
    to->int_bits = info.int_bits;
    to->findings = (bp__dropin_findings){info.faulty, info.overreads, info.int_bits, info.outside};
    to->swaps = strcmp(info.family, "mkl") == 0;
    to->stays = strcmp(info.threading, "libgomp") == 0;
    to->hidden = strcmp(info.complex_return, "hidden argument") == 0;
    if (info.f2c) { /* its functions return double where the program expects float */
        return false;
    }
    bp__dropin_redirect(to->handle, info.int_bits == 64);
    return true;
}

/* ---- Libraries by name, opened when they are first used ---- */

static const bp__dropin_library failed; /* takes the place of a library that could not be opened */

/* Opens the entry's library. Threads that do so at once open it more than once, and one result is kept. None waits for
 * another; see backplane.c. */
static const bp__dropin_library *open_entry(bp__dropin_named *entry) {
    const bp__dropin_library *now = __atomic_load_n(&entry->library, __ATOMIC_ACQUIRE);
    if (!now) {
        const bp__dropin_api *api = bp__dropin_backplane(NULL);
        bp__dropin_library *made = calloc(1, sizeof *made);
        const bool good = api && made && open_library(api, entry->name, made);
        const bp__dropin_library *result = good ? made : &failed;
        if (__atomic_compare_exchange_n(&entry->library, &now, result, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            now = result;
        }
        if (now != made) {
            free(made);
        }
    }
    return now == &failed ? NULL : now;
}

const bp__dropin_library *bp__dropin_library_named(bp__dropin_named *entry) {
    return open_entry(entry);
}

const bp__dropin_library *bp__dropin_library_asked(const char *name) {
    static bp__dropin_named asked;
    static bool told;
    asked.name = name;
    const bp__dropin_library *library = open_entry(&asked);
    if (!library && !__atomic_exchange_n(&told, true, __ATOMIC_RELAXED)) {
        const char *why;
        const bp__dropin_api *api = bp__dropin_backplane(&why);
        const char *failure = api ? api->bp_last_error() : why;
        bp__dropin_say("backplane: library '%s' is not used: %s\n", name,
                       *failure ? failure : "its functions return double in place of float (f2c)");
    }
    return library;
}

const bp__dropin_library *bp__dropin_library_with_id(const char *id) {
    static bp__dropin_named libraries[MOST];
    const char *name = bp__dropin_keep(id); /* equal texts have one address */
    for (int i = 0; *name && i < MOST; i++) {
        const char *there = NULL;
        if (__atomic_compare_exchange_n(&libraries[i].name, &there, name, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
            there == name) {
            return open_entry(&libraries[i]);
        }
    }
    return NULL;
}

/* ---- The libraries in Backplane's order ---- */

typedef struct rank {
    char id[256];
    double cost;
} rank;

typedef struct ranking {
    int count;
    rank ranks[MOST];
    bp__dropin_named libraries[MOST];
} ranking;

static ranking *ranked;

static void insert_ranked(ranking *made, const char *id, double cost) {
    int at = made->count;
    for (int i = 0; i < at; i++) {
        if (strcmp(made->ranks[i].id, id) == 0) {
            return;
        }
    }
    if (at == MOST) {
        return;
    }
    for (; at > 0 && made->ranks[at - 1].cost > cost; at--) {
        made->ranks[at] = made->ranks[at - 1];
    }
    snprintf(made->ranks[at].id, sizeof made->ranks[at].id, "%s", id);
    made->ranks[at].cost = cost;
    made->count++;
}

/* Orders the libraries by their expected time for a product of usual size. What a setting excludes, or prefers, is so
 * here too, because this is the explanation of a product. */
static void rank_by_product(const bp__dropin_api *api, ranking *made) {
    enum { SIDE = 512 };
    int64_t shape[2] = {SIDE, SIDE};
    DLTensor square = {.device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 64, 1}, .shape = shape};
    bp_explanation *explanation;
    if (api->bp_gemm_explain(&explanation, NULL, BP_AS_IS, BP_AS_IS, NULL, &square, &square, NULL, &square) != BP_OK) {
        return;
    }
    bp_candidate_info candidate = {.struct_size = sizeof candidate};
    for (int i = 0; api->bp_explanation_at(explanation, i, &candidate); i++) {
        if (candidate.accepted) {
            insert_ranked(made, candidate.library, candidate.chosen ? -1 : candidate.cost_ns);
        }
    }
    api->bp_explanation_release(explanation);
}

static void make_ranks(ranking *made) {
    const bp__dropin_api *api = bp__dropin_backplane(NULL);
    int kept = 0;
    if (api) {
        rank_by_product(api, made);
    }
    for (int i = 0; i < made->count; i++) {
        bp_library_info info = {.struct_size = sizeof info};
        if (api->bp_library_find(made->ranks[i].id, &info) == BP_OK && (info.kinds & wanted_kinds())) {
            made->libraries[kept++].name = made->ranks[i].id;
        }
    }
    made->count = kept;
}

/* Returns the order, or NULL without memory. Threads that need it at once each make it, and one is kept. */
static ranking *current_ranking(void) {
    ranking *now = __atomic_load_n(&ranked, __ATOMIC_ACQUIRE);
    ranking *made = now ? NULL : calloc(1, sizeof *made);
    if (!made) {
        return now;
    }
    make_ranks(made);
    if (__atomic_compare_exchange_n(&ranked, &now, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return made;
    }
    free(made);
    return now;
}

bool bp__dropin_library_exists(int rank_wanted) {
    const ranking *order = current_ranking();
    return order && rank_wanted < order->count;
}

const bp__dropin_library *bp__dropin_library_at(int rank_wanted) {
    ranking *order = current_ranking();
    return order && rank_wanted < order->count ? open_entry(&order->libraries[rank_wanted]) : NULL;
}

const char *bp__dropin_library_id(int rank_wanted) {
    return current_ranking()->libraries[rank_wanted].name;
}

/* ---- Routines ---- */

/* Returns whether an address is in this object, which a library reaches if it is linked to a name that we replace. */
static bool is_own(void *address) {
    Dl_info there, here;
    return dladdr(address, &there) == 0 || dladdr((void *)(uintptr_t)&bp__dropin_library_routine, &here) == 0 ||
           there.dli_fbase == here.dli_fbase;
}

static void *find_routine(const bp__dropin_library *library, const char *stem, const char *suffix) {
    char name[128];
    int length = snprintf(name, sizeof name, "%s%s%s", library->prefix, stem, suffix);
    void *found = length > 0 && (size_t)length < sizeof name ? dlsym(library->handle, name) : NULL;
    return found && !is_own(found) ? found : NULL;
}

void *bp__dropin_library_routine(const bp__dropin_library *library, int routine, bool wide) {
    static const char *const wide_fortran[] = {"_64_", "_64", NULL};
    static const char *const wide_c[] = {"64_", "_64", NULL};
    const char *stem = bp__dropin_names[routine];
    bp__dropin_family family = bp__dropin_family_of(routine);
    if (family == BP__DROPIN_FAMILY_FFTW) {
        return find_routine(library, stem, bp__dropin_is_fftw_fortran(routine) ? "_" : "");
    }
    bool c = family == BP__DROPIN_FAMILY_CBLAS || family == BP__DROPIN_FAMILY_LAPACKE;
    if (library->int_bits == (wide ? 64 : 32)) {
        return find_routine(library, stem, c ? library->c_suffix : library->suffix);
    }
    void *found = NULL;
    for (const char *const *suffix = c ? wide_c : wide_fortran; wide && *suffix && !found; suffix++) {
        found = find_routine(library, stem, *suffix);
    }
    return found;
}

/* ---- When a program starts, and what failed then or later ---- */

#if !BP__DROPIN_LAUNCHED

const char *bp__dropin_library_failure(void) {
    const char *first = __atomic_load_n(&first_failure, __ATOMIC_ACQUIRE);
    return first ? first : "";
}

/* Calls a product that is large enough for threads: MKL opens its parts at the first call, and OpenMP starts its
 * threads then. */
static void warm_up(const bp__dropin_library *library) {
    enum { SIDE = 128 };
    void *found = find_routine(library, "dgemm", library->suffix);
    void (*product)(const char *, const char *, const void *, const void *, const void *, const double *,
                    const double *, const void *, const double *, const void *, const double *, double *, const void *,
                    size_t, size_t);
    double *memory = found ? calloc((size_t)2 * SIDE * SIDE, sizeof *memory) : NULL;
    const double one = 1, zero = 0;
    const int64_t side = SIDE; /* a little-endian int is its first half */
    if (memory) {
        memcpy(&product, &found, sizeof product);
        product("N", "N", &side, &side, &side, &one, memory, &side, memory, &side, &zero, memory + SIDE * SIDE, &side,
                1, 1);
    }
    free(memory);
}

static bool start_library(const bp__dropin_api *api, const char *name, bp__dropin_library *to) {
    const bool good = open_library(api, name, to);
    if (good) {
        warm_up(to);
    }
    return good;
}

/* Stored times are read, and none are measured. */
static void start_best(const bp__dropin_api *api, bp__dropin_library *to) {
    ranking *made = calloc(1, sizeof *made);
    bp_scope *scope = NULL;
    const bool measures = bp__dropin_setting_is(api, "calibration", "auto");
    if (made && (!measures || api->bp_scope_enter(&scope, "calibration=read") == BP_OK)) {
        make_ranks(made);
        for (int i = 0; i < made->count && !start_library(api, made->libraries[i].name, to); i++) {
        }
        api->bp_scope_leave(&scope);
    }
    free(made);
}

void bp__dropin_library_start(const char *asked) {
    const bp__dropin_api *api = bp__dropin_backplane(NULL);
    bp__dropin_library *opened = api ? calloc(1, sizeof *opened) : NULL;
    if (opened && (!asked || !start_library(api, asked, opened))) {
        start_best(api, opened);
    }
    free(opened);
}

#endif

/* ---- What the probe found ---- */

/* Returns the check of a routine, by its name after the letter of the type, or -1. */
static int check_of(const char *stem) {
    static const struct {
        const char *stem;
        bp_check check;
    } checks[] = {
        {"gemm", BP_CHECK_GEMM},      {"gemv", BP_CHECK_GEMV},      {"trsm", BP_CHECK_TRIANGULAR},
        {"getrf", BP_CHECK_LU},       {"getrs", BP_CHECK_LU},       {"getri", BP_CHECK_LU},
        {"potrf", BP_CHECK_CHOLESKY}, {"potrs", BP_CHECK_CHOLESKY}, {"potri", BP_CHECK_CHOLESKY},
        {"geqrf", BP_CHECK_QR},       {"orgqr", BP_CHECK_QR},       {"ungqr", BP_CHECK_QR},
        {"syevd", BP_CHECK_EIGH},     {"heevd", BP_CHECK_EIGH},     {"geev", BP_CHECK_EIG},
        {"gesdd", BP_CHECK_SVD},      {"gels", BP_CHECK_LSTSQ},     {"gelsy", BP_CHECK_LSTSQ},
        {"gelsd", BP_CHECK_LSTSQ},    {"gelss", BP_CHECK_LSTSQ},    {"sytrf", BP_CHECK_CHOLESKY},
        {"sytrs", BP_CHECK_CHOLESKY}, {"hetrf", BP_CHECK_CHOLESKY}, {"hetrs", BP_CHECK_CHOLESKY},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (strcmp(stem, checks[i].stem) == 0) {
            return (int)checks[i].check;
        }
    }
    return -1;
}

static bool lists(const char *list, const char *name, size_t length) {
    for (const char *item = list; *item;) {
        const size_t end = strcspn(item, ", ");
        if (end == length && memcmp(item, name, length) == 0) {
            return true;
        }
        item += end + (item[end] != 0);
    }
    return false;
}

/* Returns whether a routine of BLAS other than gemm and gemv stays within its operands. */
static bool stays_inside(const char *outside, const char *name) {
    const size_t length = strlen(name), end = length > 4 && strcmp(name + length - 4, "_sub") == 0 ? 4 : 0;
    return *outside != '*' && !lists(outside, name, length - end);
}

bool bp__dropin_is_sound(const bp__dropin_findings *findings, int routine) {
    static const char letters[] = "sdcz";
    const char *name = bp__dropin_names[routine];
    name += strncmp(name, "cblas_", 6) == 0 ? 6 : strncmp(name, "LAPACKE_", 8) == 0 ? 8 : 0;
    const char *letter = *name ? strchr(letters, *name) : NULL;
    const int check = letter ? check_of(name + 1) : -1;
    const bp__dropin_family family = bp__dropin_family_of(routine);
    const bool factorizes = family == BP__DROPIN_FAMILY_LAPACK || family == BP__DROPIN_FAMILY_LAPACKE;
    const bool multiplies = family == BP__DROPIN_FAMILY_BLAS || family == BP__DROPIN_FAMILY_CBLAS;
    if (letter && factorizes && (findings->overreads & BP_OVERREAD_BIT(BP_F32 + (int)(letter - letters)))) {
        return false;
    }
    if (multiplies && check != BP_CHECK_GEMM && check != BP_CHECK_GEMV && !stays_inside(findings->outside, name)) {
        return false;
    }
    return check < 0 || !(findings->faulty & BP_CHECK_BIT(check, BP_F32 + (int)(letter - letters)));
}
