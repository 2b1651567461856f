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
        void *const memory[] = {run->operand[i], run->from[i], run->to[i]};
        for (int j = 0; j < 3; j++) {
            if (memory[j]) {
                plan->api.memory_destroy(memory[j]);
            }
        }
    }
    if (run->scratchpad) {
        plan->api.memory_destroy(run->scratchpad);
    }
    if (run->stream) {
        plan->api.stream_destroy(run->stream);
    }
    plan->driver->host->release(run);
}

static bp_status new_run(const bp__onednn_plan *plan, bp__onednn_run **made) {
    const bp_host *host = plan->driver->host;
    bp__onednn_run *run = host->allocate(sizeof *run);
    if (!run) {
        return host->fail(BP_E_NO_MEMORY, "no memory for a run of the onednn provider");
    }
    memset(run, 0, sizeof *run);
    int error = plan->api.stream_create(&run->stream, plan->engine, BP__ONEDNN_IN_ORDER);
    for (int i = 0; i < BP__ONEDNN_MOST_OPERANDS && !error; i++) {
        const bp__onednn_conversion *c = &plan->conversion[i];
        const void *theirs = plan->operand[i];
        error = make_memory(plan, &run->operand[i], c->own ? c->own : theirs);
        if (c->primitive) {
            const bool back = bp__onednn_writes(&plan->call, i);
            error = error ? error : make_memory(plan, &run->from[i], back ? c->own : theirs);
            error = error ? error : make_memory(plan, &run->to[i], back ? theirs : c->own);
        }
    }
    if (plan->has_scratchpad) {
        const void *description = plan->api.primitive_desc_query_md(plan->description, BP__ONEDNN_QUERY_SCRATCHPAD, 0);
        error = error ? error : make_memory(plan, &run->scratchpad, description);
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

static int convert(const bp__onednn_plan *plan, const bp__onednn_run *run, int place, void *from, void *to) {
    const bp__onednn_arg args[] = {{BP__ONEDNN_ARG_SRC, run->from[place]}, {BP__ONEDNN_ARG_DST, run->to[place]}};
    int error = plan->api.memory_set_data_handle(run->from[place], from);
    error = error ? error : plan->api.memory_set_data_handle(run->to[place], to);
    return error ? error : plan->api.primitive_execute(plan->conversion[place].primitive, run->stream, 2, args);
}

/* Sets an address unless it is the address of the last run, to save a call of the library. */
static int set_address(const bp__onednn_plan *plan, void *memory, void **last, void *address) {
    if (*last == address) {
        return 0;
    }
    const int error = plan->api.memory_set_data_handle(memory, address);
    *last = error ? *last : address;
    return error;
}

/* Runs the primitive with operands at these addresses. */
static int execute(const bp__onednn_plan *plan, bp__onednn_run *run, void *const *address, void *scratchpad) {
    const bp__onednn_api *api = &plan->api;
    bp__onednn_arg args[BP__ONEDNN_MOST_OPERANDS + 1];
    int count = 0, error = 0;
    for (int i = 0; i < BP__ONEDNN_MOST_OPERANDS && !error; i++) {
        const bp__onednn_operand *o = &plan->call.operand[i];
        if (o->argument) {
            error = set_address(plan, run->operand[i], &run->address[i], address[i]);
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

/* Sets the address of an operand for the primitive: packed, staged and converted as far as it must be. */
static int provide(const bp__onednn_plan *plan, const bp__onednn_run *run, int place, const bp_operand *operands,
                   const bp_exec *exec, void **address) {
    const bp__onednn_operand *o = &plan->call.operand[place];
    const bp__onednn_conversion *c = &plan->conversion[place];
    const bool own = plan->call.own >> place & 1, staged = plan->call.staged >> place & 1;
    const packed *given =
        own && exec->packed && plan->call.packs >> o->index & 1 ? (const packed *)exec->packed[o->index] : NULL;
    char *workspace = bp_operand_address(&exec->workspace);
    void *theirs = staged ? workspace + plan->staged[place] : bp_operand_address(&operands[o->index]);
    *address = given ? given->weight : c->primitive ? workspace + c->at : theirs;
    if (given) {
        return 0;
    }
    if (staged) {
        bp__onednn_stage(plan, place, operands, theirs);
    }
    return c->primitive && !bp__onednn_writes(&plan->call, place) ? convert(plan, run, place, theirs, *address) : 0;
}

static int run_all(const bp__onednn_plan *plan, bp__onednn_run *run, const bp_operand *operands, const bp_exec *exec) {
    void *address[BP__ONEDNN_MOST_OPERANDS];
    int error = 0;
    for (int i = 0; i < BP__ONEDNN_MOST_OPERANDS && !error; i++) {
        error = plan->call.operand[i].argument ? provide(plan, run, i, operands, exec, &address[i]) : 0;
    }
    char *workspace = bp_operand_address(&exec->workspace);
    error = error ? error : execute(plan, run, address, workspace + plan->scratchpad);
    for (int i = 0; i < BP__ONEDNN_MOST_OPERANDS && !error; i++) {
        if (plan->conversion[i].primitive && bp__onednn_writes(&plan->call, i)) {
            void *theirs = bp_operand_address(&operands[plan->call.operand[i].index]);
            error = convert(plan, run, i, address[i], theirs);
        }
    }
    return error;
}

/* Does work on a stream of the library, with the threads of the plan's setup. The work returns the library's error. */
typedef int stream_work(const bp__onednn_plan *plan, bp__onednn_run *run, const void *user);

static bp_status on_stream(const bp__onednn_plan *plan, stream_work *work, const void *user, const char *what) {
    bp__onednn_run *run;
    bp__thread_setup setup;
    bp_status status = bp__driver_admit(plan->driver, &plan->call.setup, &setup);
    if (status != BP_OK) {
        return status;
    }
    const int before = bp__driver_begin(plan->driver, &setup);
    status = take_run(plan, &run);
    if (status == BP_OK) {
        const int error = work(plan, run, user);
        status = bp__onednn_status(plan, error ? error : plan->api.stream_wait(run->stream), what);
        give_run(plan, run);
    }
    bp__driver_end(plan->driver, &setup, before);
    return status;
}

typedef struct call_arguments {
    const bp_operand *operands;
    const bp_exec *exec;
} call_arguments;

static int run_call(const bp__onednn_plan *plan, bp__onednn_run *run, const void *user) {
    const call_arguments *call = user;
    return run_all(plan, run, call->operands, call->exec);
}

bp_status bp__onednn_enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const call_arguments call = {operands, exec};
    return on_stream((const bp__onednn_plan *)self, run_call, &call, "running a primitive");
}

/* ---- Packed weights ---- */

static void destroy_packed(bp_packed *self) {
    packed *p = (packed *)self;
    p->host->release(p->weight);
    p->host->release(p);
}

typedef struct conversion {
    int place;
    void *from, *to;
} conversion;

static int run_conversion(const bp__onednn_plan *plan, bp__onednn_run *run, const void *user) {
    const conversion *c = user;
    return convert(plan, run, c->place, c->from, c->to);
}

/* Converts an operand to the library's layout. */
static bp_status convert_packed(const bp__onednn_plan *plan, int place, void *from, void *to) {
    const conversion c = {place, from, to};
    return on_stream(plan, run_conversion, &c, "packing an operand");
}

/* Writes a packed operand: staged and converted as far as it must be. */
static bp_status write_packed(const bp__onednn_plan *plan, int place, void *source, void *to, size_t bytes) {
    const bp_host *host = plan->driver->host;
    const bool converts = plan->conversion[place].primitive != NULL, staged = plan->call.staged >> place & 1;
    const size_t apart = staged && converts ? bp__onednn_staged_bytes(&plan->call.operand[place]) : 0;
    void *copy = apart > 0 ? host->allocate(apart) : to;
    if (!copy) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of an operand that is packed", apart);
    }
    if (staged) {
        bp__onednn_stage_weight(plan, place, source, copy);
    }
    bp_status status = BP_OK;
    if (converts) {
        status = convert_packed(plan, place, staged ? copy : source, to);
    } else if (!staged) {
        memcpy(to, source, bytes);
    }
    if (apart > 0) {
        host->release(copy);
    }
    return status;
}

bp_status bp__onednn_pack(const bp_prepared *self, int operand, const bp_operand *source, bp_packed **result) {
    const bp__onednn_plan *plan = (const bp__onednn_plan *)self;
    const bp_host *host = plan->driver->host;
    int place = 0;
    while (!(plan->call.own >> place & 1) || plan->call.operand[place].index != operand) {
        place++; /* dispatch only passes operands in `packs` */
    }
    if (bp__driver_forked(plan->driver)) {
        return bp__driver_fail_forked(plan->driver);
    }
    const size_t bytes = plan->api.memory_desc_get_size(plan->conversion[place].own);
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
    /* the caller also destroys the result after a failure */
    return write_packed(plan, place, bp_operand_address(source), weight, bytes);
}
