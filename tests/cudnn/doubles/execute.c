/* execute.c - handles of the double, and calls in the streams of the double of CUDA's driver. */
#include "parts.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#define A(name) BP__CUDNN_ATTR_##name

struct cudnnContext {
    kept kept;
    CUcontext of;
    bool destroyed, has_stream;
    atomic_int users; /* calls that are in it at this moment */
    CUstream stream;
    pthread_t streamer; /* the thread that has set it last */
};

/* A call that waits in a stream. It stays, because graphs run it again. */
typedef struct waiting {
    kept kept;
    const executable *what;
    uint64_t pointers[TENSORS_MOST], workspace;
    float numbers[TENSORS_MOST]; /* read when the call is made */
} waiting;

/* ---- Handles ---- */

cudnnStatus_t cudnnCreate(cudnnHandle_t *made) {
    const CUcontext current = double_context();
    if (cudnn_double.refuse_create || !current) {
        return current ? (cudnnStatus_t)cudnn_double.refuse_create : BP__CUDNN_STATUS_NOT_INITIALIZED;
    }
    cudnnHandle_t fresh = double_keep(sizeof *fresh);
    if (!fresh) {
        return BP__CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    }
    fresh->of = current;
    *made = fresh;
    cudnn_double.handles++;
    return BP__CUDNN_STATUS_SUCCESS;
}

/* Returns whether a handle can be used now. A handle works for one thread at a time. */
static bool enter(cudnnHandle_t own) {
    if (!own || own->destroyed) {
        double_violate(0, "a handle is used that does not exist");
        return false;
    }
    if (double_context() != own->of) {
        double_violate(0, "a handle is used in another context");
        return false;
    }
    if (atomic_fetch_add(&own->users, 1) > 0) {
        double_violate(0, "two threads use a handle");
    }
    return true;
}

static cudnnStatus_t leave(cudnnHandle_t own, cudnnStatus_t status) {
    atomic_fetch_sub(&own->users, 1);
    return status;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t own) {
    if (!enter(own)) {
        return BP__CUDNN_STATUS_BAD_PARAM;
    }
    double_synchronize();
    own->destroyed = true;
    cudnn_double.handles--;
    return leave(own, BP__CUDNN_STATUS_SUCCESS);
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t own, cudaStream_t stream) {
    if (!enter(own)) {
        return BP__CUDNN_STATUS_BAD_PARAM;
    }
    own->stream = stream;
    own->streamer = pthread_self();
    own->has_stream = true;
    for (int i = 0; i < 10; i++) { /* another thread may set its own now, unless the user forbids it */
        sched_yield();
    }
    return leave(own, BP__CUDNN_STATUS_SUCCESS);
}

/* ---- Calls ---- */

/* The plan needs its configuration and graph. */
static bool is_complete(const descriptor *plan) {
    return plan->finalized && !plan->destroyed && plan->from[0] && !plan->from[0]->destroyed && plan->from[1] &&
           !plan->from[1]->destroyed;
}

/* Returns the time of a run in units of 1000 s. */
static int64_t cost_of(int64_t engine) {
    return engine == CUDNN_ENGINE_UNSTEADY   ? 5
           : engine == CUDNN_ENGINE_WINOGRAD ? 3
           : engine == CUDNN_ENGINE_TENSOR   ? 4
           : engine == CUDNN_ENGINE_PLAIN    ? 2
           : engine == CUDNN_ENGINE_ANY      ? 6
                                             : 1;
}

static void run(void *user) {
    waiting *own = user;
    if (!is_complete(own->what->plan)) {
        double_violate(0, "a plan, or what it is made from, has ended before a graph that has it");
    }
    double_run(own->what, own->pointers, own->workspace, cudnn_double.run);
    double_spend(cost_of(own->what->engine) * INT64_C(1000000000000));
    cudnn_double.run++;
}

/* Finds the address of each tensor that is not virtual. */
static cudnnStatus_t find_pointers(const executable *what, const descriptor *pack, waiting *fresh) {
    const attribute *uids = double_attribute(pack, A(VARIANT_PACK_UNIQUE_IDS));
    int found = 0, wanted = 0;
    for (int i = 0; i < what->tensor_count; i++) {
        const tensor *t = &what->tensors[i];
        wanted += !t->is_virtual;
        for (int k = 0; k < uids->count && !t->is_virtual; k++) {
            if (double_integer(pack, A(VARIANT_PACK_UNIQUE_IDS), k) == t->uid) {
                fresh->pointers[i] = (uint64_t)double_integer(pack, A(VARIANT_PACK_DATA_POINTERS), k);
                found++;
            }
        }
        if (t->is_number && fresh->pointers[i]) {
            memcpy(&fresh->numbers[i], (const void *)(uintptr_t)fresh->pointers[i], sizeof(float));
            fresh->pointers[i] = (uint64_t)(uintptr_t)&fresh->numbers[i];
        }
        if (fresh->pointers[i] % (uint64_t)t->alignment != 0) {
            return double_violate(BP__CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, "an address is not aligned");
        }
    }
    return found == wanted && found == uids->count
               ? BP__CUDNN_STATUS_SUCCESS
               : double_violate(BP__CUDNN_STATUS_BAD_PARAM, "the addresses are of other tensors");
}

static void note(const executable *what) {
    cudnn_double.calls++;
    cudnn_double.engine = (int)what->engine;
    cudnn_double.workspace = what->workspace;
    cudnn_double.alignment = what->tensors[0].alignment;
    cudnn_double.channels_last = what->tensors[0].stride[1] == 1 && what->tensors[0].size[1] > 1;
}

static cudnnStatus_t enqueue(cudnnHandle_t own, const descriptor *plan, const descriptor *pack) {
    waiting *fresh = double_keep(sizeof *fresh);
    if (!fresh) {
        return BP__CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    }
    fresh->what = plan->made;
    fresh->workspace = (uint64_t)double_integer(pack, A(VARIANT_PACK_WORKSPACE), 0);
    cudnnStatus_t status = find_pointers(plan->made, pack, fresh);
    if (status == BP__CUDNN_STATUS_SUCCESS && plan->workspace > 0 && fresh->workspace % 256 != 0) {
        status = double_violate(BP__CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, "the workspace is not aligned");
    }
    if (status != BP__CUDNN_STATUS_SUCCESS) {
        return status;
    }
    note(plan->made);
    if (double_has(CUDNN_FAULT_ORDER)) {
        run(fresh);
        return BP__CUDNN_STATUS_SUCCESS;
    }
    return double_launch(double_has(CUDNN_FAULT_STREAM) ? NULL : own->stream, run, fresh)
               ? BP__CUDNN_STATUS_SUCCESS
               : BP__CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t own, cudnnBackendDescriptor_t given, cudnnBackendDescriptor_t packed) {
    const descriptor *plan = double_descriptor(given), *pack = double_descriptor(packed);
    if (!plan || !pack || !enter(own)) {
        return BP__CUDNN_STATUS_BAD_PARAM;
    }
    if (cudnn_double.refuse_calls) {
        return leave(own, (cudnnStatus_t)cudnn_double.refuse_calls);
    }
    if (plan->type != BP__CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
        pack->type != BP__CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR || !is_complete(plan) || !pack->finalized ||
        (const void *)double_child(plan, A(EXECUTION_PLAN_HANDLE), 0) != own) {
        return leave(own, double_violate(BP__CUDNN_STATUS_BAD_PARAM, "a plan is run that is not complete"));
    }
    if (!own->has_stream || !pthread_equal(own->streamer, pthread_self())) {
        double_violate(0, own->has_stream ? "another thread has set the stream" : "a handle has no stream");
    }
    return leave(own, enqueue(own, plan, pack));
}
