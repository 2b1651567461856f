/* engines.c - the mode of backplane-probe that opens a ScaLAPACK in a process of its own, and tests it on one rank.
 *
 * Started by the library only (dist/engine_probe.c):
 *     backplane-probe --engine NAME FILE FOLDER MPI MILLISECONDS MEBIBYTES
 * NAME is a word of dist.preferred, FILE the library in FOLDER, and MPI the path of the MPI that it is built for. The
 * report has these lines:
 *     step=...           what is done next
 *     failed=MESSAGE     the library cannot be used
 *     untested=MESSAGE   the library was opened, but MPI starts no process alone
 *     done=1
 */
#include "probe/probe.h"

#include "backplane/linalg.h"
#include "backplane/matmul.h"
#include "backplane/settings.h"
#include "dist/internal.h"
#include "registry/internal.h"

#include <complex.h>
#include <dlfcn.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum { N = 40, BLOCK = 8 };

/* ---- The environment ---- */

/* This process is no rank of the job that a launcher has started, and must not speak for one. */
static void forget_launcher(void) {
    static const char *const prefixes[] = {"OMPI_", "PMIX_", "PMI_",  "HYDI_",  "HYDRA_",
                                           "MPIR_", "ORTE_", "PRTE_", "SLURM_", "BACKPLANE_RANK_RECORDS="};
    for (char **at = environ; *at;) {
        bool found = false;
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes && !found; i++) {
            found = strncmp(*at, prefixes[i], strlen(prefixes[i])) == 0;
        }
        char *name = found ? strndup(*at, strcspn(*at, "=")) : NULL;
        at = name && unsetenv(name) == 0 ? environ : at + 1;
        free(name);
    }
}

/* One process needs neither a network nor the launcher's daemon. Other families of MPI ignore these variables. */
static void stay_alone(const char *folder) {
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 1);
    setenv("OMPI_MCA_btl", "self", 1);
    setenv("OMPI_MCA_pml", "ob1", 1);
    setenv("BACKPLANE_REGISTRY_LIBRARY_PATH", folder, 1);
}

/* ---- The library ---- */

static bool has_routines(void *handle) {
    static const char *const names[] = {"gemm_", "potrf_", "potrs_", "getrf_", "getrs_",
                                        "gesv_", "getri_", "geqrf_", "gesvd_", "gels_"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (const char *type = "sdcz"; *type; type++) {
            char name[32] = {'p', *type};
            strcpy(name + 2, names[i]);
            if (!dlsym(handle, name)) {
                report("failed", "it has no routine %s", name);
                return false;
            }
        }
    }
    return true;
}

static bool open_files(const char *file, const char *mpi) {
    void *handle = NULL;
    if (!dlopen(mpi, RTLD_NOW | RTLD_LOCAL)) {
        report("failed", "%s", dlerror());
        return false;
    }
    if (bp__library_open_named(file, &handle) != BP_OK) {
        report("failed", "%s", bp_last_error());
        return false;
    }
    return has_routines(handle);
}

/* ---- Matrices of one rank ---- */

typedef struct matrix {
    bp_dist_view view;
    double values[2 * N * N]; /* of any type */
} matrix;

typedef struct matrices {
    bp_dtype dtype;
    bp_dist dist;
    matrix graded, general, left, right, result;
    double numbers[N];
    bp_dist_view vector;
} matrices;

static double complex element(bp_dtype dtype, const void *values, int64_t at) {
    const float *f = values;
    const double *d = values;
    return dtype == BP_F64   ? d[at]
           : dtype == BP_F32 ? (double)f[at]
           : dtype == BP_C64 ? (double)f[2 * at] + I * (double)f[2 * at + 1]
                             : d[2 * at] + I * d[2 * at + 1];
}

static void set_element(const matrices *m, matrix *of, int64_t at, double re, double im) {
    float *f = (float *)(void *)of->values;
    switch (m->dtype) {
    case BP_F32:
        f[at] = (float)re;
        break;
    case BP_F64:
        of->values[at] = re;
        break;
    case BP_C64:
        f[2 * at] = (float)re, f[2 * at + 1] = (float)im;
        break;
    default:
        of->values[2 * at] = re, of->values[2 * at + 1] = im;
    }
}

/* A symmetric matrix whose eigenvalues are far apart, and one without structure. */
static void fill(matrices *m) {
    for (int64_t j = 0; j < N; j++) {
        for (int64_t i = 0; i < N; i++) {
            set_element(m, &m->graded, i + j * N, (double)(N - (i > j ? i : j)), 0);
            set_element(m, &m->general, i + j * N, (double)((7 * i + 3 * j) % 11 - 5) + (i == j ? 20 : 0),
                        (double)((5 * i + 2 * j) % 7 - 3));
        }
    }
}

static bool prepare(matrices *m, bp_comm *comm, bp_dtype dtype) {
    const bp_dtype real = dtype == BP_C64 ? BP_F32 : dtype == BP_C128 ? BP_F64 : dtype;
    matrix *all[] = {&m->graded, &m->general, &m->left, &m->right, &m->result};
    m->dtype = dtype;
    m->dist = (bp_dist){
        .struct_size = sizeof m->dist, .comm = comm, .grid = {1, 1}, .block = {BLOCK, BLOCK}, .shape = {N, N}};
    bool right = bp_dist_view_replicated(&m->vector, m->numbers, real, 1, N, &m->dist) == BP_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        right = right && bp_dist_view_init(&all[i]->view, all[i]->values, N, dtype, &m->dist) == BP_OK;
    }
    fill(m);
    return right;
}

/* ---- Checks ---- */

/* How a product is put together: left diag right, where the right factor may be the adjoint of the left one. */
typedef struct parts {
    const matrix *left, *right;
    bool adjoint, diagonal;
} parts;

static double complex product_at(const matrices *m, const parts *p, int64_t i, int64_t j) {
    double complex sum = 0;
    for (int64_t k = 0; k < N; k++) {
        const double complex right = p->adjoint ? conj(element(m->dtype, p->left->values, j + k * N))
                                                : element(m->dtype, p->right->values, k + j * N);
        const bp_dtype real = m->dtype == BP_C64 || m->dtype == BP_F32 ? BP_F32 : BP_F64;
        const double complex factor = p->diagonal ? element(real, m->numbers, k) : 1;
        sum += element(m->dtype, p->left->values, i + k * N) * factor * right;
    }
    return sum;
}

/* Reports a wrong result, and returns false: `parts` must give `wanted`. */
static bool check(const matrices *m, bp_status status, const parts *p, const matrix *wanted, const char *what) {
    const double epsilon = m->dtype == BP_F32 || m->dtype == BP_C64 ? FLT_EPSILON : DBL_EPSILON;
    const double bound = 100 * N * epsilon * N * N; /* the elements of the factors are below N */
    if (status != BP_OK) {
        report("failed", "%s %s in probe: %s", what, bp_dtype_name(m->dtype), bp_last_error());
        return false;
    }
    for (int64_t i = 0; i < N; i++) {
        for (int64_t j = 0; j < N; j++) {
            const double error = cabs(product_at(m, p, i, j) - element(m->dtype, wanted->values, i + j * N));
            if (!(error <= bound)) {
                report("failed", "wrong results in probe: %s %s", what, bp_dtype_name(m->dtype));
                return false;
            }
        }
    }
    return true;
}

static bool check_type(matrices *m) {
    DLTensor *graded = &m->graded.view.tensor, *general = &m->general.view.tensor, *numbers = &m->vector.tensor;
    DLTensor *left = &m->left.view.tensor, *right = &m->right.view.tensor, *result = &m->result.view.tensor;
    const parts squared = {&m->general, &m->general, false, false}, adjoint = {&m->left, NULL, true, false},
                solved = {&m->general, &m->right, false, false}, both = {&m->left, &m->right, false, false},
                values = {&m->left, NULL, true, true}, svd = {&m->left, &m->right, false, true};
    return check(m, bp_matmul(general, general, result), &squared, &m->result, "gemm") &&
           check(m, bp_cholesky(graded, 0, left), &adjoint, &m->graded, "potrf") &&
           check(m, bp_solve(general, graded, 0, right), &solved, &m->graded, "gesv") &&
           check(m, bp_qr(general, BP_QR_REDUCED, left, right), &both, &m->general, "geqrf") &&
           check(m, bp_eigh(graded, 0, numbers, left), &values, &m->graded, "syevd") &&
           check(m, bp_svd(general, 0, left, numbers, right), &svd, &m->general, "gesvd");
}

static bool check_types(bp_comm *comm) {
    static const bp_dtype types[] = {BP_F32, BP_F64, BP_C64, BP_C128};
    bool right = true;
    for (size_t i = 0; i < sizeof types / sizeof *types && right; i++) {
        matrices *m = calloc(1, sizeof *m);
        if (!m || !prepare(m, comm, types[i])) {
            report("untested", "%s", m ? bp_last_error() : "no memory");
            free(m);
            return true;
        }
        right = check_type(m);
        free(m);
    }
    return right;
}

static bool test(const char *name) {
    bp_comm *comm;
    bp_set("num_threads", "1");
    bp_set("dispatch.fallback", "strict");
    bp_set("dist.preferred", name);
    bp__engines_leave_probe();
    report("step", "while MPI was initialized");
    if (bp_comm_open(&comm, BP_COMM_INIT) != BP_OK) {
        report("untested", "%s", bp_last_error());
        return true;
    }
    report("step", "while it was tested");
    return check_types(comm);
}

_Noreturn void engine_main(int count, char **words) {
    if (count != 8) {
        _exit(2);
    }
    start_supervised(strtoll(words[6], NULL, 10), strtoll(words[7], NULL, 10));
    isolate();
    forget_launcher();
    stay_alone(words[4]);
    report("step", "while it was loaded");
    if (open_files(words[3], words[5]) && test(words[2])) {
        report("done", "1");
    }
    _exit(0); /* without running destructors of the library */
}
