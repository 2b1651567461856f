/* plan.c - makes the descriptors of a transform. Everything that is fixed is set in them once. */
#include "providers/mkl/mkl.h"

#include <stdio.h>
#include <string.h>

bp_status bp__mkl_status(const bp__mkl_plan *plan, long error) {
    const bp_host *host = plan->driver->host;
    return error == 0 ? BP_OK
                      : host->fail(error == BP__MKL_NO_MEMORY ? BP_E_NO_MEMORY : BP_E_UNSUPPORTED, "library '%s': %s",
                                   plan->driver->library->id, plan->api.ErrorMessage(error));
}

static bp_status resolve(bp__mkl_plan *plan) {
    static const struct {
        const char *name;
        size_t slot;
    } functions[] = {
#define X(name, result, arguments) {"Dfti" #name, offsetof(bp__mkl_api, name)},
        BP__MKL_FUNCTIONS(X, void *, int, int)
#undef X
    };
    const bp__driver *driver = plan->driver;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = driver->host->symbol(driver->handle, functions[i].name);
        if (!found) {
            return driver->host->fail(BP_E_SYMBOL, "library '%s' (%s) lacks %s", driver->library->id,
                                      driver->library->path, functions[i].name);
        }
        memcpy((char *)&plan->api + functions[i].slot, &found, sizeof found);
    }
    return BP_OK;
}

/* Sets and commits a descriptor. Its thread limit holds for any thread count in force at the run. */
static long describe(const bp__mkl_api *api, const bp__mkl_call *stage, int threads, void *d) {
    long error = api->SetValue(d, BP__MKL_PLACEMENT, stage->in_place ? BP__MKL_INPLACE : BP__MKL_NOT_INPLACE);
    error = error ? error : api->SetValue(d, BP__MKL_INPUT_STRIDES, stage->in);
    error = error ? error : api->SetValue(d, BP__MKL_OUTPUT_STRIDES, stage->out);
    if (stage->many > 1) {
        error = error ? error : api->SetValue(d, BP__MKL_NUMBER_OF_TRANSFORMS, stage->many);
        error = error ? error : api->SetValue(d, BP__MKL_INPUT_DISTANCE, stage->in_distance);
        error = error ? error : api->SetValue(d, BP__MKL_OUTPUT_DISTANCE, stage->out_distance);
    }
    if (stage->real) {
        error = error ? error : api->SetValue(d, BP__MKL_CONJUGATE_EVEN_STORAGE, BP__MKL_COMPLEX_COMPLEX);
        error = error ? error : api->SetValue(d, BP__MKL_DESTROY_INPUT, BP__MKL_AVOID);
    }
    int scale = stage->forward ? BP__MKL_FORWARD_SCALE : BP__MKL_BACKWARD_SCALE;
    error = error ? error : api->SetValue(d, scale, stage->scale);
    error = error ? error : api->SetValue(d, BP__MKL_THREAD_LIMIT, (long)threads);
    return error ? error : api->CommitDescriptor(d);
}

static long make_stage(bp__mkl_plan *plan, int number) {
    const bp__mkl_api *api = &plan->api;
    const bp__mkl_call *stage = &plan->route.stage[number];
    int precision = plan->route.single ? BP__MKL_SINGLE : BP__MKL_DOUBLE;
    int domain = stage->real ? BP__MKL_REAL : BP__MKL_COMPLEX;
    void **d = &plan->descriptor[number];
    plan->compute[number] = stage->forward ? api->ComputeForward : api->ComputeBackward;
    long error = stage->rank == 1 ? api->CreateDescriptor(d, precision, domain, 1L, stage->n[0])
                                  : api->CreateDescriptor(d, precision, domain, (long)stage->rank, stage->n);
    return error ? error : describe(api, stage, plan->setup.threads, *d);
}

static bp_status prepare(bp__mkl_plan *plan, const bp__thread_setup *judged) {
    bp__driver *driver = plan->driver;
    bp_status status = bp__driver_ready(driver);
    status = status == BP_OK ? resolve(plan) : status;
    if (status != BP_OK) {
        return status;
    }
    plan->setup = bp__driver_thread_policy_plan(driver, judged);
    bp__thread_setup setup;
    status = bp__driver_admit_plan(driver, &plan->setup, &setup);
    if (status != BP_OK) {
        return status;
    }
    int before = bp__driver_begin(driver, &setup);
    long error = 0;
    for (int i = 0; i < plan->route.stages && error == 0; i++) {
        error = make_stage(plan, i);
    }
    bp__driver_end(driver, &setup, before);
    return bp__mkl_status(plan, error);
}

/* Destroys a plan. Descriptors leak in a child of fork in which the library is unusable. */
static void destroy_plan(bp_prepared *prepared) {
    bp__mkl_plan *plan = (bp__mkl_plan *)prepared;
    for (int i = 0; i < plan->route.stages; i++) {
        if (plan->descriptor[i] && !bp__driver_forked(plan->driver)) {
            bp__driver_call_record *record = bp__driver_enter(plan->fork_state);
            plan->api.FreeDescriptor(&plan->descriptor[i]);
            bp__driver_leave(plan->fork_state, record);
        }
    }
    plan->driver->host->release(plan);
}

bp_status bp__mkl_plan_make(void *opaque, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                            bp_prepared **prepared) {
    bp__driver *driver = opaque;
    const bp_host *host = driver->host;
    const bp__mkl_judgement *judgement = found;
    (void)problem, (void)verdict;
    bp__mkl_plan *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for a plan of the mkl provider");
    }
    *plan = (bp__mkl_plan){.prepared = {.struct_size = sizeof plan->prepared,
                                        .destroy = destroy_plan,
                                        .workspace = (judgement->route.between + 63) / 64 * 64},
                           .driver = driver,
                           .fork_state = driver->fork_state,
                           .route = judgement->route};
    bp_status status = prepare(plan, &judgement->setup);
    if (status != BP_OK) {
        destroy_plan(&plan->prepared);
        return status;
    }
    const bp__mkl_route *route = &plan->route;
    bool single = route->stages == 1 && route->items.calls == 1 && route->stage[0].walk.calls == 1 &&
                  !plan->setup.sets_count && !plan->setup.marks && !plan->setup.starts && !route->stage[0].in_place;
    plan->prepared.enqueue = single ? bp__mkl_run_single : bp__mkl_run_general;
    *prepared = &plan->prepared;
    return BP_OK;
}
