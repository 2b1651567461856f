/* cusolver.c - the double of libcusolver.so.12: handles, their states, and calls in the streams of the double of CUDA's
 * driver. */
#include "parts.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X(name, symbol, parameters) BP_API cusolverStatus_t symbol parameters;
BP__CUSOLVER_FUNCTIONS(X)
#undef X
BP_API int cusolverGetVersion(int *version);

enum { ALIGNMENT = 256 };

/* Handles and parameters are never freed, so that their use after the end is noticed. */
struct cusolverDnContext {
    cusolverDnHandle_t next;
    CUcontext of;
    bool destroyed, has_stream;
    atomic_int users; /* calls that are in it at this moment */
    CUstream stream;
    pthread_t streamer; /* the thread that has set it last */
};

struct cusolverDnParams {
    cusolverDnParams_t next;
    bool destroyed;
};

/* A routine that waits in a stream. It stays, because graphs run it again. */
typedef struct waiting {
    struct waiting *next;
    cusolver_told told;
} waiting;

cusolver_controls cusolver_double;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the lists */
static waiting *all;
static cusolverDnHandle_t all_handles;
static cusolverDnParams_t all_params;

void double_violate(const char *what) {
    if (atomic_fetch_add(&cusolver_double.violations, 1) == 0) {
        snprintf(cusolver_double.violation, sizeof cusolver_double.violation, "%s", what);
    }
}

bool double_has(cusolver_fault fault) {
    return cusolver_double.fault == (int)fault;
}

__attribute__((constructor)) static void choose_fault(void) {
    cusolver_double.fault = (int)double_number("CUSOLVER_DOUBLE", "fault=", CUSOLVER_FAULT_NONE);
}

int cusolverGetVersion(int *version) {
    *version = (int)double_number("CUSOLVER_DOUBLE", "version=", 12004);
    return 0;
}

/* ---- Handles ---- */

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *made) {
    const CUcontext current = double_context();
    if (!current || cusolver_double.refuse_make) {
        return current ? (cusolverStatus_t)cusolver_double.refuse_make : BP__CUSOLVER_STATUS_NOT_INITIALIZED;
    }
    cusolverDnHandle_t fresh = calloc(1, sizeof *fresh);
    if (!fresh) {
        return BP__CUSOLVER_STATUS_ALLOC_FAILED;
    }
    fresh->of = current;
    pthread_mutex_lock(&mutex);
    fresh->next = all_handles;
    all_handles = *made = fresh;
    pthread_mutex_unlock(&mutex);
    cusolver_double.handles++;
    return BP__CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t *made) {
    cusolverDnParams_t fresh = calloc(1, sizeof *fresh);
    if (!fresh) {
        return BP__CUSOLVER_STATUS_ALLOC_FAILED;
    }
    pthread_mutex_lock(&mutex);
    fresh->next = all_params;
    all_params = *made = fresh;
    pthread_mutex_unlock(&mutex);
    cusolver_double.handles++;
    return BP__CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t gone) {
    if (gone->destroyed) {
        double_violate("parameters are destroyed twice");
    }
    gone->destroyed = true;
    cusolver_double.handles--;
    return BP__CUSOLVER_STATUS_SUCCESS;
}

/* Returns whether a call is in the handle now. A handle works for one thread at a time. */
static bool enter(cusolverDnHandle_t handle) {
    const bool right = !handle->destroyed && double_context() == handle->of;
    if (!right) {
        double_violate(handle->destroyed ? "a handle is used that was destroyed"
                                         : "a handle is used in another context");
        return false;
    }
    if (atomic_fetch_add(&handle->users, 1) > 0) {
        double_violate("two threads use a handle");
    }
    return true;
}

static cusolverStatus_t leave(cusolverDnHandle_t handle, cusolverStatus_t status) {
    atomic_fetch_sub(&handle->users, 1);
    return status;
}

cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t gone) {
    if (!enter(gone)) {
        return BP__CUSOLVER_STATUS_INVALID_VALUE;
    }
    double_synchronize();
    gone->destroyed = true;
    cusolver_double.handles--;
    return leave(gone, BP__CUSOLVER_STATUS_SUCCESS);
}

cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
    if (!enter(handle)) {
        return BP__CUSOLVER_STATUS_INVALID_VALUE;
    }
    handle->stream = stream;
    handle->streamer = pthread_self();
    handle->has_stream = true;
    sched_yield(); /* another thread may set its own now, unless the user forbids it */
    return leave(handle, BP__CUSOLVER_STATUS_SUCCESS);
}

/* ---- Calls ---- */

/* The workspace of a factorization: a number for each row, and of the host as much as a test wants. */
static cusolverStatus_t tell_size(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t lda,
                                  unsigned type, size_t *device, size_t *host) {
    if (!enter(handle)) {
        return BP__CUSOLVER_STATUS_INVALID_VALUE;
    }
    *device = (size_t)m * 16;
    *host = (size_t)cusolver_double.host_bytes;
    const bool right = !params->destroyed && m >= 0 && lda >= m && lda >= 1 && double_item(type) > 0;
    return leave(handle, cusolver_double.refuse_size ? (cusolverStatus_t)cusolver_double.refuse_size
                         : right                     ? BP__CUSOLVER_STATUS_SUCCESS
                                                     : BP__CUSOLVER_STATUS_INVALID_VALUE);
}

static void run(void *user) {
    double_compute(&((const waiting *)user)->told);
    cusolver_double.run++;
}

static cusolverStatus_t enqueue(cusolverDnHandle_t handle, const cusolver_told *told) {
    waiting *fresh = malloc(sizeof *fresh);
    if (!fresh) {
        return BP__CUSOLVER_STATUS_ALLOC_FAILED;
    }
    *fresh = (waiting){.told = *told};
    pthread_mutex_lock(&mutex);
    fresh->next = all;
    all = fresh;
    cusolver_double.told = *told;
    pthread_mutex_unlock(&mutex);
    cusolver_double.calls++;
    if (double_has(CUSOLVER_FAULT_ORDER)) {
        run(fresh);
        return BP__CUSOLVER_STATUS_SUCCESS;
    }
    return double_launch(double_has(CUSOLVER_FAULT_STREAM) ? NULL : handle->stream, run, fresh)
               ? BP__CUSOLVER_STATUS_SUCCESS
               : BP__CUSOLVER_STATUS_EXECUTION_FAILED;
}

/* The library decomposes no wide matrices. */
static bool is_right_svd(const cusolver_told *t) {
    const bool with_vectors = t->job == 'A' || t->job == 'S';
    return t->m >= t->n && (with_vectors || t->job == 'N') && (!with_vectors || (t->ldb >= t->m && t->ldc >= t->n));
}

static bool is_right(const cusolver_told *t, cusolverDnParams_t params) {
    const size_t item = double_item(t->type);
    const bool solves = t->routine == ROUTINE_POTRS || t->routine == ROUTINE_GETRS;
    const bool has_pivots = t->routine == ROUTINE_GETRF || t->routine == ROUTINE_GETRS;
    return !params->destroyed && item > 0 && t->m >= 0 && t->n >= 0 && t->k >= 0 && t->lda >= 1 && t->lda >= t->m &&
           (!solves || (t->ldb >= 1 && t->ldb >= t->n)) && (t->a | t->b) % item == 0 && t->info % 4 == 0 &&
           t->vector % (has_pivots ? 8 : 4) == 0 && t->letter <= 2 &&
           (t->routine != ROUTINE_GESVD || is_right_svd(t)) &&
           (t->routine != ROUTINE_ORGQR || (t->n <= t->m && t->k <= t->n));
}

/* Enqueues a call if it is right. A routine uses the host's workspace before it returns. */
static cusolverStatus_t call(cusolverDnHandle_t handle, cusolverDnParams_t params, const cusolver_told *told,
                             size_t work_needed, void *host_work, size_t host_size) {
    if (!enter(handle)) {
        return BP__CUSOLVER_STATUS_INVALID_VALUE;
    }
    if (cusolver_double.refuse_call) {
        return leave(handle, (cusolverStatus_t)cusolver_double.refuse_call);
    }
    if (!handle->has_stream || !pthread_equal(handle->streamer, pthread_self())) {
        double_violate(handle->has_stream ? "another thread has set the stream" : "a handle has no stream");
    }
    if (!is_right(told, params)) {
        return leave(handle, BP__CUSOLVER_STATUS_INVALID_VALUE);
    }
    const bool has_host_work = work_needed > 0 && told->routine != ROUTINE_ORGQR;
    const size_t host_needed = has_host_work ? (size_t)cusolver_double.host_bytes : 0;
    if (told->work_size < work_needed || told->work % ALIGNMENT != 0 || host_size < host_needed ||
        (host_needed > 0 && !host_work)) {
        return leave(handle, BP__CUSOLVER_STATUS_INVALID_WORKSPACE);
    }
    if (host_needed > 0) {
        memset(host_work, 0xff, host_needed);
    }
    return leave(handle, enqueue(handle, told));
}

static uint64_t at(const void *address) {
    return (uint64_t)(uintptr_t)address;
}

cusolverStatus_t cusolverDnXpotrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             cublasFillMode_t uplo, int64_t n, cudaDataType type, const void *a,
                                             int64_t lda, cudaDataType compute, size_t *device, size_t *host) {
    (void)a, (void)uplo;
    return tell_size(handle, params, n, lda, compute == type ? type : UINT32_MAX, device, host);
}

cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t handle, cusolverDnParams_t params, cublasFillMode_t uplo,
                                  int64_t n, cudaDataType type, void *a, int64_t lda, cudaDataType compute, void *work,
                                  size_t work_size, void *host_work, size_t host_size, int *info) {
    const cusolver_told told = {.routine = ROUTINE_POTRF,
                                .letter = uplo,
                                .type = compute == type ? type : UINT32_MAX,
                                .m = n,
                                .n = n,
                                .lda = lda,
                                .a = at(a),
                                .info = at(info),
                                .work = at(work),
                                .work_size = work_size};
    return call(handle, params, &told, (size_t)n * 16, host_work, host_size);
}

cusolverStatus_t cusolverDnXpotrs(cusolverDnHandle_t handle, cusolverDnParams_t params, cublasFillMode_t uplo,
                                  int64_t n, int64_t sides, cudaDataType type, const void *a, int64_t lda,
                                  cudaDataType type_b, void *b, int64_t ldb, int *info) {
    const cusolver_told told = {.routine = ROUTINE_POTRS,
                                .letter = uplo,
                                .type = type_b == type ? type : UINT32_MAX,
                                .m = n,
                                .n = n,
                                .k = sides,
                                .lda = lda,
                                .ldb = ldb,
                                .a = at(a),
                                .b = at(b),
                                .info = at(info)};
    return call(handle, params, &told, 0, NULL, 0);
}

cusolverStatus_t cusolverDnXgetrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,
                                             cudaDataType type, const void *a, int64_t lda, cudaDataType compute,
                                             size_t *device, size_t *host) {
    (void)a, (void)n;
    return tell_size(handle, params, m, lda, compute == type ? type : UINT32_MAX, device, host);
}

cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,
                                  cudaDataType type, void *a, int64_t lda, int64_t *pivots, cudaDataType compute,
                                  void *work, size_t work_size, void *host_work, size_t host_size, int *info) {
    const cusolver_told told = {.routine = ROUTINE_GETRF,
                                .type = compute == type ? type : UINT32_MAX,
                                .m = m,
                                .n = n,
                                .lda = lda,
                                .a = at(a),
                                .vector = at(pivots),
                                .info = at(info),
                                .work = at(work),
                                .work_size = work_size};
    return call(handle, params, &told, (size_t)m * 16, host_work, host_size);
}

cusolverStatus_t cusolverDnXgetrs(cusolverDnHandle_t handle, cusolverDnParams_t params, cublasOperation_t op, int64_t n,
                                  int64_t sides, cudaDataType type, const void *a, int64_t lda, const int64_t *pivots,
                                  cudaDataType type_b, void *b, int64_t ldb, int *info) {
    const cusolver_told told = {.routine = ROUTINE_GETRS,
                                .letter = op,
                                .type = type_b == type ? type : UINT32_MAX,
                                .m = n,
                                .n = n,
                                .k = sides,
                                .lda = lda,
                                .ldb = ldb,
                                .a = at(a),
                                .b = at(b),
                                .vector = at(pivots),
                                .info = at(info)};
    return call(handle, params, &told, 0, NULL, 0);
}

/* ---- QR ---- */

cusolverStatus_t cusolverDnXgeqrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,
                                             cudaDataType type, const void *a, int64_t lda, cudaDataType type_tau,
                                             const void *tau, cudaDataType compute, size_t *device, size_t *host) {
    (void)a, (void)n, (void)tau;
    return tell_size(handle, params, m, lda, compute == type && type_tau == type ? type : UINT32_MAX, device, host);
}

cusolverStatus_t cusolverDnXgeqrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,
                                  cudaDataType type, void *a, int64_t lda, cudaDataType type_tau, void *tau,
                                  cudaDataType compute, void *work, size_t work_size, void *host_work, size_t host_size,
                                  int *info) {
    const cusolver_told told = {.routine = ROUTINE_GEQRF,
                                .type = compute == type && type_tau == type ? type : UINT32_MAX,
                                .m = m,
                                .n = n,
                                .lda = lda,
                                .a = at(a),
                                .vector = at(tau),
                                .info = at(info),
                                .work = at(work),
                                .work_size = work_size};
    return call(handle, params, &told, (size_t)m * 16, host_work, host_size);
}

/* The functions that form Q have no parameters, no workspace of the host, and one that counts elements. */
static struct cusolverDnParams no_params;

static cusolverStatus_t form_q(cusolverDnHandle_t handle, unsigned type, const int sizes[4], const void *a,
                               const void *tau, const void *work, int count, const int *info) {
    const cusolver_told told = {.routine = ROUTINE_ORGQR,
                                .type = type,
                                .m = sizes[0],
                                .n = sizes[1],
                                .k = sizes[2],
                                .lda = sizes[3],
                                .a = at(a),
                                .vector = at(tau),
                                .info = at(info),
                                .work = at(work),
                                .work_size = (size_t)count * double_item(type)};
    return call(handle, &no_params, &told, (size_t)sizes[1] * double_item(type), NULL, 0);
}

#define FORM_Q(name, type, number)                                                                                     \
    cusolverStatus_t name##_bufferSize(cusolverDnHandle_t handle, int m, int n, int k, const type *a, int lda,         \
                                       const type *tau, int *count) {                                                  \
        (void)a, (void)tau;                                                                                            \
        *count = n;                                                                                                    \
        return !enter(handle) ? BP__CUSOLVER_STATUS_INVALID_VALUE                                                      \
                              : leave(handle, n <= m && k <= n && lda >= m ? BP__CUSOLVER_STATUS_SUCCESS               \
                                                                           : BP__CUSOLVER_STATUS_INVALID_VALUE);       \
    }                                                                                                                  \
    cusolverStatus_t name(cusolverDnHandle_t handle, int m, int n, int k, type *a, int lda, const type *tau,           \
                          type *work, int count, int *info) {                                                          \
        return form_q(handle, number, (const int[]){m, n, k, lda}, a, tau, work, count, info);                         \
    }

FORM_Q(cusolverDnSorgqr, float, BP__CUDA_R_32F)
FORM_Q(cusolverDnDorgqr, double, BP__CUDA_R_64F)
FORM_Q(cusolverDnCungqr, cuComplex, BP__CUDA_C_32F)
FORM_Q(cusolverDnZungqr, cuDoubleComplex, BP__CUDA_C_64F)

/* ---- Eigenvalues and singular values ---- */

static bool is_real_of(unsigned real, unsigned type) {
    const bool single = type == BP__CUDA_R_32F || type == BP__CUDA_C_32F;
    return real == (unsigned)(single ? BP__CUDA_R_32F : BP__CUDA_R_64F);
}

cusolverStatus_t cusolverDnXsyevd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             cusolverEigMode_t job, cublasFillMode_t uplo, int64_t n, cudaDataType type,
                                             const void *a, int64_t lda, cudaDataType real, const void *w,
                                             cudaDataType compute, size_t *device, size_t *host) {
    (void)job, (void)uplo, (void)a, (void)w;
    const bool right = compute == type && is_real_of(real, type);
    return tell_size(handle, params, n, lda, right ? type : UINT32_MAX, device, host);
}

cusolverStatus_t cusolverDnXsyevd(cusolverDnHandle_t handle, cusolverDnParams_t params, cusolverEigMode_t job,
                                  cublasFillMode_t uplo, int64_t n, cudaDataType type, void *a, int64_t lda,
                                  cudaDataType real, void *w, cudaDataType compute, void *work, size_t work_size,
                                  void *host_work, size_t host_size, int *info) {
    const cusolver_told told = {.routine = ROUTINE_SYEVD,
                                .letter = uplo,
                                .job = job,
                                .type = compute == type && is_real_of(real, type) ? type : UINT32_MAX,
                                .m = n,
                                .n = n,
                                .lda = lda,
                                .a = at(a),
                                .vector = at(w),
                                .info = at(info),
                                .work = at(work),
                                .work_size = work_size};
    return call(handle, params, &told, (size_t)n * 16, host_work, host_size);
}

cusolverStatus_t cusolverDnXgesvd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params, signed char job_u,
                                             signed char job_v, int64_t m, int64_t n, cudaDataType type, const void *a,
                                             int64_t lda, cudaDataType real, const void *s, cudaDataType type_u,
                                             const void *u, int64_t ldu, cudaDataType type_v, const void *v,
                                             int64_t ldv, cudaDataType compute, size_t *device, size_t *host) {
    (void)job_u, (void)job_v, (void)a, (void)s, (void)u, (void)ldu, (void)v, (void)ldv;
    const bool right = compute == type && type_u == type && type_v == type && is_real_of(real, type) && m >= n;
    return tell_size(handle, params, m, lda, right ? type : UINT32_MAX, device, host);
}

cusolverStatus_t cusolverDnXgesvd(cusolverDnHandle_t handle, cusolverDnParams_t params, signed char job_u,
                                  signed char job_v, int64_t m, int64_t n, cudaDataType type, void *a, int64_t lda,
                                  cudaDataType real, void *s, cudaDataType type_u, void *u, int64_t ldu,
                                  cudaDataType type_v, void *v, int64_t ldv, cudaDataType compute, void *work,
                                  size_t work_size, void *host_work, size_t host_size, int *info) {
    const bool right = compute == type && type_u == type && type_v == type && is_real_of(real, type) && job_u == job_v;
    const cusolver_told told = {.routine = ROUTINE_GESVD,
                                .job = (unsigned)job_u,
                                .type = right ? type : UINT32_MAX,
                                .m = m,
                                .n = n,
                                .lda = lda,
                                .ldb = ldu,
                                .ldc = ldv,
                                .a = at(a),
                                .b = at(u),
                                .c = at(v),
                                .vector = at(s),
                                .info = at(info),
                                .work = at(work),
                                .work_size = work_size};
    return call(handle, params, &told, (size_t)m * 16, host_work, host_size);
}
