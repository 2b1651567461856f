/* run.c - runs the primitives of a plan.
 *
 * Memory objects have an address that is set before a run, so that threads cannot share them. A plan keeps one set for
 * the next run; further threads make their own. */
#include "providers/onednn/onednn.h"

#include <string.h>

/* ---- Memory objects ---- */

static int make_memory(const bp__onednn_plan *plan, void **to, const void *description) {
    return description ? plan->api.memory_create(to, description, plan->engine, NULL) : 0;
}

void bp__onednn_free_run(const bp__onednn_plan *plan, bp__onednn_run *run) {
    if (!run) {
        return;
    }
    for (int i = 0; i < BP__ONEDNN_MOST_OPERANDS; i++) {
        if (run->operand[i]) {
            plan->api.memory_destroy(run->operand[i]);
        }
    }
    void *const further[] = {run->scratchpad, run->from, run->to};
    for (int i = 0; i < 3; i++) {
        if (further[i]) {
            plan->api.memory_destroy(further[i]);
        }
    }
    if (run->stream) {
        plan->api.stream_destroy(run->stream);
    }
    plan->driver->host->release(run);
}

static bp_status new_run(const bp__onednn_plan *plan, bp__onednn_run **made) {
    const bp_host *host = plan->driver->host;
    const bool gradient = plan->call.kind == BP__ONEDNN_GRADIENT;
    bp__onednn_run *run = host->allocate(sizeof *run);
    if (!run) {
        return host->fail(BP_E_NO_MEMORY, "no memory for a run of the onednn provider");
    }
    memset(run, 0, sizeof *run);
    int error = plan->api.stream_create(&run->stream, plan->engine, BP__ONEDNN_IN_ORDER);
    for (int i = 0; i < BP__ONEDNN_MOST_OPERANDS && !error; i++) {
        const void *own = i == BP__ONEDNN_WEIGHT ? plan->own_weight : NULL;
        error = make_memory(plan, &run->operand[i], own ? own : plan->operand[i]);
    }
    if (plan->scratchpad_bytes > 0) {
        const void *description = plan->api.primitive_desc_query_md(plan->description, BP__ONEDNN_QUERY_SCRATCHPAD, 0);
        error = error ? error : make_memory(plan, &run->scratchpad, description);
    }
    if (plan->conversion) {
        const void *theirs = plan->operand[BP__ONEDNN_WEIGHT];
        error = error ? error : make_memory(plan, &run->from, gradient ? plan->own_weight : theirs);
        error = error ? error : make_memory(plan, &run->to, gradient ? theirs : plan->own_weight);
    }
    if (error) {
        bp__onednn_free_run(plan, run);
        return bp__onednn_status(plan, error, "describing memory");
    }
    *made = run;
    return BP_OK;
}

static bp_status take_run(const bp__onednn_plan *plan, bp__onednn_run **run) {
    *run = atomic_exchange((_Atomic(bp__onednn_run *) *)(uintptr_t)&plan->spare, NULL);
    return *run ? BP_OK : new_run(plan, run);
}

static void give_run(const bp__onednn_plan *plan, bp__onednn_run *run) {
    bp__onednn_run *none = NULL;
    if (!atomic_compare_exchange_strong((_Atomic(bp__onednn_run *) *)(uintptr_t)&plan->spare, &none, run)) {
        bp__onednn_free_run(plan, run);
    }
}

/* ---- Runs ---- */

static int convert(const bp__onednn_plan *plan, const bp__onednn_run *run, void *from, void *to) {
    const bp__onednn_arg args[] = {{BP__ONEDNN_ARG_SRC, run->from}, {BP__ONEDNN_ARG_DST, run->to}};
    int error = plan->api.memory_set_data_handle(run->from, from);
    error = error ? error : plan->api.memory_set_data_handle(run->to, to);
    return error ? error : plan->api.primitive_execute(plan->conversion, run->stream, 2, args);
}

/* Sets an address unless it is that of the last run, to save a call of the library. */
static int set_address(const bp__onednn_plan *plan, void *memory, void **last, void *address) {
    if (*last == address) {
        return 0;
    }
    const int error = plan->api.memory_set_data_handle(memory, address);
    *last = error ? *last : address;
    return error;
}

/* Runs the primitive, with the weight at an address of its own. */
static int execute(const bp__onednn_plan *plan, bp__onednn_run *run, const bp_operand *operands, void *weight,
                   void *scratchpad) {
    const bp__onednn_api *api = &plan->api;
    bp__onednn_arg args[BP__ONEDNN_MOST_OPERANDS + 1];
    int count = 0, error = 0;
    for (int i = 0; i < BP__ONEDNN_MOST_OPERANDS && !error; i++) {
        const bp__onednn_operand *o = &plan->call.operand[i];
        if (o->argument) {
            void *address = i == BP__ONEDNN_WEIGHT ? weight : bp_operand_address(&operands[o->index]);
            error = set_address(plan, run->operand[i], &run->address[i], address);
            args[count++] = (bp__onednn_arg){o->argument, run->operand[i]};
        }
    }
    if (run->scratchpad && !error) {
        error = set_address(plan, run->scratchpad, &run->address[BP__ONEDNN_MOST_OPERANDS], scratchpad);
        args[count++] = (bp__onednn_arg){BP__ONEDNN_ARG_SCRATCHPAD, run->scratchpad};
    }
    return error ? error : api->primitive_execute(plan->primitive, run->stream, count, args);
}

typedef struct packed {
    bp_packed base; /* must be first: dispatch uses this part */
    const bp_host *host;
    void *weight;
} packed;

static int run_all(const bp__onednn_plan *plan, bp__onednn_run *run, const bp_operand *operands, const bp_exec *exec) {
    const bool gradient = plan->call.kind == BP__ONEDNN_GRADIENT;
    const int index = plan->call.operand[BP__ONEDNN_WEIGHT].index;
    const packed *given = exec->packed && plan->call.packs ? (const packed *)exec->packed[index] : NULL;
    char *workspace = bp_operand_address(&exec->workspace);
    void *theirs = bp_operand_address(&operands[index]);
    void *weight = given ? given->weight : plan->conversion ? workspace : theirs;
    int error = 0;
    if (plan->conversion && !given && !gradient) {
        error = convert(plan, run, theirs, weight);
    }
    error = error ? error : execute(plan, run, operands, weight, workspace + plan->weight_bytes);
    if (plan->conversion && gradient) {
        error = error ? error : convert(plan, run, weight, theirs);
    }
    return error ? error : plan->api.stream_wait(run->stream);
}

bp_status bp__onednn_enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__onednn_plan *plan = (const bp__onednn_plan *)self;
    bp__onednn_run *run;
    if (bp__driver_forked(plan->driver)) {
        return bp__driver_fail_forked(plan->driver);
    }
    const int before = bp__driver_begin(plan->driver, &plan->call.setup);
    bp_status status = take_run(plan, &run);
    if (status == BP_OK) {
        status = bp__onednn_status(plan, run_all(plan, run, operands, exec), "running a primitive");
        give_run(plan, run);
    }
    bp__driver_end(plan->driver, &plan->call.setup, before);
    return status;
}

/* ---- Packed weights ---- */

static void destroy_packed(bp_packed *self) {
    packed *p = (packed *)self;
    p->host->release(p->weight);
    p->host->release(p);
}

bp_status bp__onednn_pack(const bp_prepared *self, int operand, const bp_operand *source, bp_packed **result) {
    const bp__onednn_plan *plan = (const bp__onednn_plan *)self;
    const bp_host *host = plan->driver->host;
    const size_t bytes = plan->api.memory_desc_get_size(plan->own_weight);
    (void)operand; /* dispatch only passes the weight */
    if (bp__driver_forked(plan->driver)) {
        return bp__driver_fail_forked(plan->driver);
    }
    packed *p = host->allocate(sizeof *p);
    void *weight = host->allocate(bytes);
    if (!p || !weight) {
        host->release(p);
        host->release(weight);
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a packed operand", bytes);
    }
    *p = (packed){.base = {.struct_size = sizeof p->base, .size = bytes, .destroy = destroy_packed},
                  .host = host,
                  .weight = weight};
    *result = &p->base;
    if (!plan->conversion) {
        memcpy(weight, bp_operand_address(source), bytes);
        return BP_OK;
    }
    bp__onednn_run *run;
    const int before = bp__driver_begin(plan->driver, &plan->call.setup);
    bp_status status = take_run(plan, &run);
    if (status == BP_OK) {
        int error = convert(plan, run, bp_operand_address(source), weight);
        error = error ? error : plan->api.stream_wait(run->stream);
        status = bp__onednn_status(plan, error, "packing an operand");
        give_run(plan, run);
    }
    bp__driver_end(plan->driver, &plan->call.setup, before);
    return status; /* the caller also destroys the result after a failure */
}
