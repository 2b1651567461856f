/* plan.c - makes the primitives of a call: the operation, and the conversions of its operands. */
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

static int describe_operands(bp__onednn_plan *plan) {
    int error = 0;
    for (int i = 0; i < BP__ONEDNN_MOST_OPERANDS && !error; i++) {
        bp__onednn_operand *o = &plan->call.operand[i];
        if (o->argument) {
            error = plan->api.memory_desc_create_with_strides(&plan->operand[i], o->tensor.ndim, o->tensor.size,
                                                              o->type, o->tensor.stride);
        }
    }
    return error;
}

/* Adds what follows the primitive: a sum with the result that was there, and ReLU. */
static int add_post_ops(bp__onednn_plan *plan, void *attributes) {
    const bp__onednn_api *api = &plan->api;
    void *after = NULL;
    int error = api->post_ops_create(&after);
    if (!error && plan->call.adds) {
        error = api->post_ops_append_sum(after, 1, 0, BP__ONEDNN_SAME_TYPE);
    }
    if (!error && plan->call.relu) {
        error = api->post_ops_append_eltwise(after, BP__ONEDNN_RELU, 0, 0);
    }
    error = error ? error : api->primitive_attr_set_post_ops(attributes, after);
    if (after) {
        api->post_ops_destroy(after);
    }
    return error;
}

/* Makes the attributes: memory for intermediate results comes from us, and how f32 may be rounded. */
static int make_attributes(bp__onednn_plan *plan, void **attributes) {
    const bp__onednn_api *api = &plan->api;
    int error = api->primitive_attr_create(attributes);
    error = error ? error : api->primitive_attr_set_scratchpad_mode(*attributes, BP__ONEDNN_USER_SCRATCHPAD);
    error = error ? error : api->primitive_attr_set_fpmath_mode(*attributes, plan->call.fpmath);
    if (!error && plan->call.deterministic && plan->set_deterministic) {
        error = plan->set_deterministic(*attributes, 1);
    }
    return error || !(plan->call.relu || plan->call.adds) ? error : add_post_ops(plan, *attributes);
}

/* Asks for the layouts of the library's choice. */
static void query(bp__onednn_plan *plan) {
    for (int i = 0; i < BP__ONEDNN_MOST_OPERANDS; i++) {
        const bp__onednn_operand *o = &plan->call.operand[i];
        if (plan->call.own >> i & 1) {
            plan->conversion[i].own =
                plan->api.primitive_desc_query_md(plan->description, BP__ONEDNN_QUERY_ARGUMENT, o->argument);
        }
    }
}

static int make_primitive(bp__onednn_plan *plan) {
    const bp__onednn_api *api = &plan->api;
    void *any[BP__ONEDNN_MOST_OPERANDS] = {NULL}, *seen[BP__ONEDNN_MOST_OPERANDS], *attributes = NULL;
    int error = 0;
    for (int i = 0; i < BP__ONEDNN_MOST_OPERANDS && !error; i++) {
        bp__onednn_operand *o = &plan->call.operand[i];
        error = !(plan->call.own >> i & 1) ? 0
                                           : api->memory_desc_create_with_tag(&any[i], o->tensor.ndim, o->tensor.size,
                                                                              o->type, BP__ONEDNN_ANY);
        seen[i] = any[i] ? any[i] : plan->operand[i];
    }
    error = error ? error : make_attributes(plan, &attributes);
    error = error ? error : bp__onednn_describe_primitive(plan, seen, attributes);
    error = error ? error : api->primitive_create(&plan->primitive, plan->description);
    if (!error) {
        query(plan);
    }
    for (int i = 0; i < BP__ONEDNN_MOST_OPERANDS; i++) {
        if (any[i]) {
            api->memory_desc_destroy(any[i]);
        }
    }
    if (attributes) {
        api->primitive_attr_destroy(attributes);
    }
    return error;
}

/* Makes the primitive that converts an operand to the library's layout, or a written one back. */
static int make_conversion(bp__onednn_plan *plan, int place) {
    const bp__onednn_api *api = &plan->api;
    bp__onednn_conversion *made = &plan->conversion[place];
    const bool back = bp__onednn_writes(&plan->call, place);
    const void *theirs = plan->operand[place];
    const void *from = back ? made->own : theirs, *to = back ? theirs : made->own;
    void *description = NULL;
    if (!made->own || api->memory_desc_equal(from, to)) {
        return 0;
    }
    int error = api->reorder_primitive_desc_create(&description, from, plan->engine, to, plan->engine, NULL);
    error = error ? error : api->primitive_create(&made->primitive, description);
    if (description) {
        api->primitive_desc_destroy(description);
    }
    return error;
}

/* Adds a part to the workspace. Returns its place. */
static size_t reserve(bp__onednn_plan *plan, size_t bytes) {
    const size_t at = plan->prepared.workspace;
    plan->prepared.workspace = at + (bytes + 63) / 64 * 64;
    return at;
}

static void lay_out(bp__onednn_plan *plan) {
    const bp__onednn_api *api = &plan->api;
    for (int i = 0; i < BP__ONEDNN_MOST_OPERANDS; i++) {
        bp__onednn_conversion *c = &plan->conversion[i];
        c->at = c->primitive ? reserve(plan, api->memory_desc_get_size(c->own)) : 0;
        plan->staged[i] =
            plan->call.staged >> i & 1 ? reserve(plan, bp__onednn_staged_bytes(&plan->call.operand[i])) : 0;
    }
    const void *scratchpad = api->primitive_desc_query_md(plan->description, BP__ONEDNN_QUERY_SCRATCHPAD, 0);
    const size_t bytes = scratchpad ? api->memory_desc_get_size(scratchpad) : 0;
    plan->has_scratchpad = bytes > 0;
    plan->scratchpad = reserve(plan, bytes);
}

static bp_status prepare(bp__onednn_plan *plan) {
    bp__driver *driver = plan->driver;
    bp_status status = bp__driver_ready(driver);
    status = status == BP_OK ? resolve(plan) : status;
    if (status != BP_OK) {
        return status;
    }
    plan->call.setup = bp__driver_thread_policy_plan(driver, &plan->call.setup);
    plan->call.setup.fixed = true; /* primitives are made for a number of threads */
    bp__thread_setup setup;
    status = bp__driver_admit_plan(driver, &plan->call.setup, &setup);
    if (status != BP_OK) {
        return status;
    }
    const int before = bp__driver_begin(driver, &setup);
    int error = plan->api.engine_create(&plan->engine, BP__ONEDNN_CPU, 0);
    error = error ? error : describe_operands(plan);
    error = error ? error : make_primitive(plan);
    for (int i = 0; i < BP__ONEDNN_MOST_OPERANDS && !error; i++) {
        error = make_conversion(plan, i);
    }
    if (!error) {
        lay_out(plan);
    }
    const bp__onednn_way way = error ? BP__ONEDNN_BY_KERNEL : bp__onednn_way_of(plan);
    bp__driver_end(driver, &setup, before);
    if (way == BP__ONEDNN_BY_KERNEL || way == plan->call.way) {
        return bp__onednn_status(plan, error, "making a primitive");
    }
    bp__onednn_note_way(driver, &plan->call, way);
    return driver->host->fail(BP_E_UNSUPPORTED,
                              way == BP__ONEDNN_BY_LOOPS   ? "library '%s' has only reference loops for it"
                              : way == BP__ONEDNN_BY_ITEMS ? "library '%s' has no kernel for a batch in this layout"
                                                           : "library '%s' has no kernel for images in this layout",
                              driver->library->id);
}

static void destroy_primitives(bp__onednn_plan *plan) {
    const bp__onednn_api *api = &plan->api;
    bp__onednn_free_run(plan, atomic_load(&plan->spare));
    if (plan->primitive) {
        api->primitive_destroy(plan->primitive);
    }
    if (plan->description) {
        api->primitive_desc_destroy(plan->description);
    }
    for (int i = 0; i < BP__ONEDNN_MOST_OPERANDS; i++) {
        if (plan->conversion[i].primitive) {
            api->primitive_destroy(plan->conversion[i].primitive);
        }
        if (plan->operand[i]) {
            api->memory_desc_destroy(plan->operand[i]);
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
    (void)verdict;
    bp__onednn_plan *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for a plan of the onednn provider");
    }
    memset(plan, 0, sizeof *plan);
    plan->driver = driver;
    plan->call = *(const bp__onednn_call *)found;
    if (plan->call.kind == BP__ONEDNN_RECUR) {
        plan->layer = problem->of.rnn;
    }
    bp_status status = prepare(plan);
    if (status != BP_OK) {
        destroy_plan(&plan->prepared);
        return status;
    }
    plan->prepared.struct_size = sizeof plan->prepared;
    plan->prepared.enqueue = bp__onednn_enqueue;
    plan->prepared.destroy = destroy_plan;
    plan->prepared.pack = plan->call.packs ? bp__onednn_pack : NULL;
    *prepared = &plan->prepared;
    return BP_OK;
}
