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

/* Handles are never freed, so that their use after the end is noticed. */
struct cusolverDnContext {
    CUcontext of;
    bool destroyed, has_stream;
    atomic_int users; /* calls that are in it at this moment */
    CUstream stream;
    pthread_t streamer; /* the thread that has set it last */
};

struct cusolverDnParams {
    bool destroyed;
};

/* A routine that waits in a stream. It stays, because graphs run it again. */
typedef struct waiting {
    struct waiting *next;
    cusolver_told told;
} waiting;

cusolver_controls cusolver_double;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static waiting *all;

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
    *made = fresh;
    cusolver_double.handles++;
    return BP__CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t *made) {
    *made = calloc(1, sizeof **made);
    cusolver_double.handles += *made != NULL;
    return *made ? BP__CUSOLVER_STATUS_SUCCESS : BP__CUSOLVER_STATUS_ALLOC_FAILED;
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

static bool is_right(const cusolver_told *t, cusolverDnParams_t params) {
    const size_t item = double_item(t->type);
    const bool solves = t->routine == ROUTINE_POTRS || t->routine == ROUTINE_GETRS;
    return !params->destroyed && item > 0 && t->m >= 0 && t->n >= 0 && t->k >= 0 && t->lda >= 1 && t->lda >= t->m &&
           (!solves || (t->ldb >= 1 && t->ldb >= t->n)) && (t->a | t->b) % item == 0 && t->info % 4 == 0 &&
           t->pivots % 8 == 0 && t->letter <= 2;
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
    const size_t host_needed = work_needed > 0 ? (size_t)cusolver_double.host_bytes : 0;
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
                                .pivots = at(pivots),
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
                                .pivots = at(pivots),
                                .info = at(info)};
    return call(handle, params, &told, 0, NULL, 0);
}
