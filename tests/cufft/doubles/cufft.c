/* cufft.c - the double of libcufft.so.12: plans, their states, and calls in the streams of the double of CUDA's driver.
 */
#include "parts.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X(name, symbol, parameters) BP_API cufftResult symbol parameters;
BP__CUFFT_FUNCTIONS(X)
#undef X
BP_API cufftResult cufftGetVersion(int *version);

enum { PLANS_MOST = 1 << 16, ALIGNMENT = 256 };

/* Plans are never freed, and their numbers are never used again, so that their use after the end is noticed. */
typedef struct plan {
    CUcontext of;
    bool destroyed, made, has_stream, has_area;
    int automatic;    /* whether the library allocates its workspace */
    atomic_int users; /* calls that are in it at this moment */
    CUstream stream;
    pthread_t streamer; /* the thread that has set it last */
    uint64_t area;
    cufft_told told;
} plan;

/* A transform that waits in a stream. It stays, because graphs run it again. */
typedef struct waiting {
    struct waiting *next;
    const plan *of;
    uint64_t area;
    cufft_told told;
} waiting;

cufft_controls cufft_double;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the plans and the list */
static plan *plans[PLANS_MOST];
static int plan_count;
static waiting *all;

void double_violate(const char *what) {
    if (atomic_fetch_add(&cufft_double.violations, 1) == 0) {
        snprintf(cufft_double.violation, sizeof cufft_double.violation, "%s", what);
    }
}

bool double_has(cufft_fault fault) {
    return cufft_double.fault == (int)fault;
}

__attribute__((constructor)) static void choose_fault(void) {
    cufft_double.fault = (int)double_number("CUFFT_DOUBLE", "fault=", CUFFT_FAULT_NONE);
}

cufftResult cufftGetVersion(int *version) {
    *version = (int)double_number("CUFFT_DOUBLE", "version=", 12000);
    return BP__CUFFT_SUCCESS;
}

/* ---- Plans ---- */

static plan *find_plan(cufftHandle handle) {
    pthread_mutex_lock(&mutex);
    plan *found = handle > 0 && handle <= plan_count ? plans[handle - 1] : NULL;
    pthread_mutex_unlock(&mutex);
    return found;
}

/* Returns the plan of a handle, in which a call is now; NULL with a violation. A plan works for one thread at a time.
 */
static plan *enter(cufftHandle handle) {
    plan *found = find_plan(handle);
    if (!found || found->destroyed) {
        double_violate("a plan is used that does not exist");
        return NULL;
    }
    if (double_context() != found->of) {
        double_violate("a plan is used in another context");
        return NULL;
    }
    if (atomic_fetch_add(&found->users, 1) > 0) {
        double_violate("two threads use a plan");
    }
    return found;
}

static cufftResult leave(plan *of, cufftResult status) {
    atomic_fetch_sub(&of->users, 1);
    return status;
}

cufftResult cufftCreate(cufftHandle *made) {
    const CUcontext current = double_context();
    plan *fresh = current ? calloc(1, sizeof *fresh) : NULL;
    if (!fresh || plan_count == PLANS_MOST) {
        free(fresh);
        return current ? BP__CUFFT_ALLOC_FAILED : BP__CUFFT_INTERNAL_ERROR;
    }
    fresh->of = current;
    fresh->automatic = 1;
    pthread_mutex_lock(&mutex);
    plans[plan_count++] = fresh;
    *made = plan_count;
    pthread_mutex_unlock(&mutex);
    cufft_double.plans++;
    return BP__CUFFT_SUCCESS;
}

/* The memory of a plan is freed when the device has run all commands. */
cufftResult cufftDestroy(cufftHandle gone) {
    plan *own = enter(gone);
    if (!own) {
        return BP__CUFFT_INVALID_PLAN;
    }
    double_synchronize();
    own->destroyed = true;
    cufft_double.plans--;
    return leave(own, BP__CUFFT_SUCCESS);
}

cufftResult cufftSetAutoAllocation(cufftHandle handle, int automatic) {
    plan *own = enter(handle);
    if (!own) {
        return BP__CUFFT_INVALID_PLAN;
    }
    if (own->made) {
        double_violate("the allocation of a plan is chosen after it was made");
    }
    own->automatic = automatic;
    return leave(own, BP__CUFFT_SUCCESS);
}

static bool is_right(const cufft_told *t, unsigned execution) {
    const bool in = double_is_complex(t->type[0]), out = double_is_complex(t->type[1]);
    bool right = t->rank >= 1 && t->rank <= 3 && t->batch >= 1 && (in || out) && double_is_complex(execution) &&
                 double_item(t->type[0]) && double_item(t->type[1]) && execution == t->type[in ? 0 : 1] &&
                 double_item(t->type[0]) * (in ? 1 : 2) == double_item(t->type[1]) * (out ? 1 : 2);
    for (int end = 0; end < 2 && right; end++) {
        right = t->stride[end] >= 1 && t->dist[end] >= 1;
        for (int d = 0; d < t->rank && right; d++) {
            right = t->n[d] >= 1 && t->embed[end][d] >= double_extent(t, end, d);
        }
    }
    return right;
}

/* Powers of two up to 64 in one dimension need no workspace. */
static size_t workspace_of(const cufft_told *t) {
    long long points = t->batch;
    for (int d = 0; d < t->rank; d++) {
        points *= t->n[d];
    }
    const bool needs_none = t->rank == 1 && t->n[0] <= 64 && (t->n[0] & (t->n[0] - 1)) == 0;
    return needs_none ? 0 : ((size_t)points * 16 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

cufftResult cufftXtMakePlanMany(cufftHandle handle, int rank, long long *n, long long *in_embed, long long in_stride,
                                long long in_dist, cudaDataType in, long long *out_embed, long long out_stride,
                                long long out_dist, cudaDataType out, long long batch, size_t *workspace,
                                cudaDataType execution) {
    plan *own = enter(handle);
    if (!own) {
        return BP__CUFFT_INVALID_PLAN;
    }
    if (own->made || own->automatic) {
        double_violate(own->made ? "a plan is made twice" : "the library would allocate a workspace");
    }
    if (cufft_double.refuse_plans) {
        return leave(own, (cufftResult)cufft_double.refuse_plans);
    }
    cufft_told t = {.rank = rank,
                    .stride = {in_stride, out_stride},
                    .dist = {in_dist, out_dist},
                    .batch = batch,
                    .type = {in, out}};
    for (int d = 0; d < rank && d < 3; d++) {
        t.n[d] = n[d];
        t.embed[0][d] = in_embed[d];
        t.embed[1][d] = out_embed[d];
    }
    if (!is_right(&t, execution)) {
        return leave(own, BP__CUFFT_INVALID_VALUE);
    }
    t.workspace = *workspace = workspace_of(&t);
    own->told = t;
    own->made = true;
    cufft_double.made++;
    return leave(own, BP__CUFFT_SUCCESS);
}

cufftResult cufftSetWorkArea(cufftHandle handle, void *area) {
    plan *own = enter(handle);
    if (!own) {
        return BP__CUFFT_INVALID_PLAN;
    }
    const bool right = own->made && ((uintptr_t)area % ALIGNMENT == 0 || own->told.workspace == 0);
    own->area = (uint64_t)(uintptr_t)area;
    own->has_area = right && (area || own->told.workspace == 0);
    return leave(own, right ? BP__CUFFT_SUCCESS : BP__CUFFT_INVALID_VALUE);
}

cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
    plan *own = enter(handle);
    if (!own) {
        return BP__CUFFT_INVALID_PLAN;
    }
    own->stream = stream;
    own->streamer = pthread_self();
    own->has_stream = true;
    sched_yield(); /* another thread may set its own now, unless the user forbids it */
    return leave(own, BP__CUFFT_SUCCESS);
}

/* ---- Calls ---- */

static void run(void *user) {
    const waiting *own = user;
    if (own->of->destroyed) {
        double_violate("a plan is destroyed before a graph that has it");
    }
    double_transform(&own->told, own->area);
    cufft_double.run++;
}

static cufftResult enqueue(const plan *own) {
    waiting *fresh = malloc(sizeof *fresh);
    if (!fresh) {
        return BP__CUFFT_ALLOC_FAILED;
    }
    *fresh = (waiting){.of = own, .area = own->area, .told = own->told};
    pthread_mutex_lock(&mutex);
    fresh->next = all;
    all = fresh;
    cufft_double.told = own->told;
    pthread_mutex_unlock(&mutex);
    cufft_double.calls++;
    if (double_has(CUFFT_FAULT_ORDER)) {
        run(fresh);
        return BP__CUFFT_SUCCESS;
    }
    return double_launch(double_has(CUFFT_FAULT_STREAM) ? NULL : own->stream, run, fresh) ? BP__CUFFT_SUCCESS
                                                                                          : BP__CUFFT_EXEC_FAILED;
}

/* Returns the bytes of a complex element, to which all addresses are aligned. */
static size_t alignment_of(const cufft_told *t) {
    const size_t in = double_item(t->type[0]), out = double_item(t->type[1]);
    return in > out ? in : out;
}

cufftResult cufftXtExec(cufftHandle handle, void *from, void *to, int direction) {
    plan *own = enter(handle);
    if (!own) {
        return BP__CUFFT_INVALID_PLAN;
    }
    if (!own->made || (direction != BP__CUFFT_FORWARD && direction != BP__CUFFT_INVERSE)) {
        return leave(own, BP__CUFFT_INVALID_VALUE);
    }
    if (!own->has_area) {
        return leave(own, BP__CUFFT_NO_WORKSPACE);
    }
    if (cufft_double.refuse_calls) {
        return leave(own, (cufftResult)cufft_double.refuse_calls);
    }
    if (!own->has_stream || !pthread_equal(own->streamer, pthread_self())) {
        double_violate(own->has_stream ? "another thread has set the stream" : "a plan has no stream");
    }
    own->told.from = (uint64_t)(uintptr_t)from;
    own->told.to = (uint64_t)(uintptr_t)to;
    own->told.direction = direction;
    if ((own->told.from | own->told.to) % alignment_of(&own->told) != 0) {
        double_violate("an address is not aligned to complex elements");
        return leave(own, BP__CUFFT_UNALIGNED_DATA);
    }
    return leave(own, enqueue(own));
}
