/* plan.c - makes the primitives of a convolution. */
#include "providers/onednn/onednn.h"

#include <stdio.h>
#include <string.h>

bp_status bp__onednn_status(const bp__onednn_plan *plan, int error, const char *what) {
    const bp_host *host = plan->driver->host;
    return error == BP__ONEDNN_OK
               ? BP_OK
               : host->fail(error == BP__ONEDNN_OUT_OF_MEMORY ? BP_E_NO_MEMORY : BP_E_UNSUPPORTED,
                            "library '%s': %s failed with status %d", plan->driver->library->id, what, error);
}

static bp_status resolve(bp__onednn_plan *plan) {
    static const struct {
        const char *name;
        size_t slot;
    } functions[] = {
#define X(name, result, arguments) {#name, offsetof(bp__onednn_api, name)},
#define ENUM(name) int
        BP__ONEDNN_FUNCTIONS(X, void *, void *, void *, const void *, void *, void *, const void *, void *,
                             const void *, void *, const void *, void *, const void *, bp__onednn_arg, ENUM, int64_t *)
#undef ENUM
#undef X
    };
    const bp__driver *driver = plan->driver;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        char symbol[96];
        snprintf(symbol, sizeof symbol, "dnnl_%s", functions[i].name);
        void *found = driver->host->symbol(driver->handle, symbol);
        if (!found) {
            return driver->host->fail(BP_E_SYMBOL, "library '%s' (%s) lacks %s", driver->library->id,
                                      driver->library->path, symbol);
        }
        memcpy((char *)&plan->api + functions[i].slot, &found, sizeof found);
    }
    void *optional = driver->host->symbol(driver->handle, "dnnl_primitive_attr_set_deterministic");
    memcpy(&plan->set_deterministic, &optional, sizeof optional);
    return BP_OK;
}

/* ---- Descriptions ---- */

static int describe(bp__onednn_plan *plan, void **to, const bp__onednn_tensor *t) {
    return plan->api.memory_desc_create_with_strides(to, t->ndim, (int64_t *)(uintptr_t)t->size, plan->call.type,
                                                     (int64_t *)(uintptr_t)t->stride);
}

static int describe_operands(bp__onednn_plan *plan) {
    bp__onednn_call *call = &plan->call;
    const bp__onednn_tensor bias = {.ndim = 1, .size = {call->bias}, .stride = {1}};
    int error = describe(plan, &plan->source, &call->source);
    error = error ? error : describe(plan, &plan->weight, &call->weight);
    error = error ? error : describe(plan, &plan->result, &call->result);
    return error || call->bias == 0 ? error : describe(plan, &plan->bias, &bias);
}

/* Makes the attributes: memory for intermediate results comes from us, and how f32 may be rounded. */
static int make_attributes(bp__onednn_plan *plan, void **attributes) {
    const bp__onednn_api *api = &plan->api;
    void *after = NULL;
    int error = api->primitive_attr_create(attributes);
    error = error ? error : api->primitive_attr_set_scratchpad_mode(*attributes, BP__ONEDNN_USER_SCRATCHPAD);
    error = error ? error : api->primitive_attr_set_fpmath_mode(*attributes, plan->call.fpmath);
    if (!error && plan->call.deterministic && plan->set_deterministic) {
        error = plan->set_deterministic(*attributes, 1);
    }
    if (error || !plan->call.relu) {
        return error;
    }
    error = api->post_ops_create(&after);
    error = error ? error : api->post_ops_append_eltwise(after, BP__ONEDNN_RELU, 0, 0);
    error = error ? error : api->primitive_attr_set_post_ops(*attributes, after);
    if (after) {
        api->post_ops_destroy(after);
    }
    return error;
}

/* Describes the primitive, with a layout of the weight that the library chooses. */
static int describe_primitive(bp__onednn_plan *plan, void *any, void *attributes) {
    const bp__onednn_api *api = &plan->api;
    bp__onednn_call *c = &plan->call;
    if (c->kind == BP__ONEDNN_CONVOLVE) {
        return api->convolution_forward_primitive_desc_create(
            &plan->description, plan->engine, BP__ONEDNN_INFERENCE, BP__ONEDNN_CONVOLUTION, plan->source, any,
            plan->bias, plan->result, c->stride, c->dilation, c->begin, c->end, attributes);
    }
    if (c->kind == BP__ONEDNN_TRANSPOSE) {
        return api->deconvolution_forward_primitive_desc_create(
            &plan->description, plan->engine, BP__ONEDNN_INFERENCE, BP__ONEDNN_DECONVOLUTION, plan->source, any,
            plan->bias, plan->result, c->stride, c->dilation, c->begin, c->end, attributes);
    }
    void *forward = NULL;
    int error = api->convolution_forward_primitive_desc_create(
        &forward, plan->engine, BP__ONEDNN_FORWARD, BP__ONEDNN_CONVOLUTION, plan->source, any, plan->bias, plan->result,
        c->stride, c->dilation, c->begin, c->end, attributes);
    error = error ? error
                  : api->convolution_backward_weights_primitive_desc_create(
                        &plan->description, plan->engine, BP__ONEDNN_CONVOLUTION, plan->source, any, plan->bias,
                        plan->result, c->stride, c->dilation, c->begin, c->end, forward, attributes);
    if (forward) {
        api->primitive_desc_destroy(forward);
    }
    return error;
}

static size_t rounded(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static int make_primitive(bp__onednn_plan *plan) {
    const bp__onednn_api *api = &plan->api;
    void *any = NULL, *attributes = NULL;
    int error = api->memory_desc_create_with_tag(&any, plan->call.weight.ndim, plan->call.weight.size, plan->call.type,
                                                 BP__ONEDNN_ANY);
    error = error ? error : make_attributes(plan, &attributes);
    error = error ? error : describe_primitive(plan, any, attributes);
    error = error ? error : api->primitive_create(&plan->primitive, plan->description);
    if (!error) {
        const bool gradient = plan->call.kind == BP__ONEDNN_GRADIENT;
        plan->own_weight = api->primitive_desc_query_md(
            plan->description, gradient ? BP__ONEDNN_QUERY_DIFF_WEIGHTS : BP__ONEDNN_QUERY_WEIGHTS, 0);
        const void *scratchpad = api->primitive_desc_query_md(plan->description, BP__ONEDNN_QUERY_SCRATCHPAD, 0);
        plan->scratchpad_bytes = scratchpad ? rounded(api->memory_desc_get_size(scratchpad)) : 0;
        plan->weight_bytes = rounded(api->memory_desc_get_size(plan->own_weight));
    }
    if (any) {
        api->memory_desc_destroy(any);
    }
    if (attributes) {
        api->primitive_attr_destroy(attributes);
    }
    return error;
}

/* Makes the primitive that converts the weight to the library's layout, or a gradient back. */
static int make_conversion(bp__onednn_plan *plan) {
    const bp__onednn_api *api = &plan->api;
    const bool gradient = plan->call.kind == BP__ONEDNN_GRADIENT;
    const void *from = gradient ? plan->own_weight : plan->weight, *to = gradient ? plan->weight : plan->own_weight;
    void *description = NULL;
    if (api->memory_desc_equal(from, to)) {
        plan->weight_bytes = 0;
        return 0;
    }
    int error = api->reorder_primitive_desc_create(&description, from, plan->engine, to, plan->engine, NULL);
    error = error ? error : api->primitive_create(&plan->conversion, description);
    if (description) {
        api->primitive_desc_destroy(description);
    }
    return error;
}

static bp_status prepare(bp__onednn_plan *plan) {
    bp__driver *driver = plan->driver;
    bp_status status = bp__driver_ready(driver);
    status = status == BP_OK ? resolve(plan) : status;
    if (status != BP_OK) {
        return status;
    }
    plan->call.setup = bp__driver_thread_policy_plan(driver, &plan->call.setup);
    const int before = bp__driver_begin(driver, &plan->call.setup);
    int error = plan->api.engine_create(&plan->engine, BP__ONEDNN_CPU, 0);
    error = error ? error : describe_operands(plan);
    error = error ? error : make_primitive(plan);
    error = error ? error : make_conversion(plan);
    bp__driver_end(driver, &plan->call.setup, before);
    return bp__onednn_status(plan, error, "making a convolution");
}

static void destroy_primitives(bp__onednn_plan *plan) {
    const bp__onednn_api *api = &plan->api;
    bp__onednn_free_run(plan, atomic_load(&plan->spare));
    void *const primitives[] = {plan->conversion, plan->primitive};
    for (int i = 0; i < 2; i++) {
        if (primitives[i]) {
            api->primitive_destroy(primitives[i]);
        }
    }
    if (plan->description) {
        api->primitive_desc_destroy(plan->description);
    }
    void *const descriptions[] = {plan->source, plan->weight, plan->result, plan->bias};
    for (int i = 0; i < 4; i++) {
        if (descriptions[i]) {
            api->memory_desc_destroy(descriptions[i]);
        }
    }
    if (plan->engine) {
        api->engine_destroy(plan->engine);
    }
}

/* Destroys a plan. The library's objects leak in a child of fork in which it is unusable. */
static void destroy_plan(bp_prepared *prepared) {
    bp__onednn_plan *plan = (bp__onednn_plan *)prepared;
    if (!bp__driver_forked(plan->driver)) {
        bp__driver_call_record *record = bp__driver_enter(plan->driver->fork_state);
        destroy_primitives(plan);
        bp__driver_leave(plan->driver->fork_state, record);
    }
    plan->driver->host->release(plan);
}

bp_status bp__onednn_plan_make(void *driver, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                               bp_prepared **prepared) {
    const bp_host *host = ((bp__driver *)driver)->host;
    (void)problem, (void)verdict;
    bp__onednn_plan *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for a plan of the onednn provider");
    }
    memset(plan, 0, sizeof *plan);
    plan->driver = driver;
    plan->call = *(const bp__onednn_call *)found;
    bp_status status = prepare(plan);
    if (status != BP_OK) {
        destroy_plan(&plan->prepared);
        return status;
    }
    plan->prepared = (bp_prepared){.struct_size = sizeof plan->prepared,
                                   .enqueue = bp__onednn_enqueue,
                                   .destroy = destroy_plan,
                                   .workspace = plan->weight_bytes + plan->scratchpad_bytes,
                                   .pack = plan->call.kind == BP__ONEDNN_GRADIENT ? NULL : bp__onednn_pack};
    *prepared = &plan->prepared;
    return BP_OK;
}
