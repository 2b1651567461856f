/* einsum.c - runs and explains einsum calls: checks, path, plan, run. */
#include "ops/einsum/einsum.h"
#include "ops/einsum/call.h"

#include "dispatch/composition.h"
#include "ops/shape.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NEAR_OPERANDS 32        /* lists up to this length are on the stack */
#define MOST_KEPT_OPERANDS 1000 /* plans of larger expressions are not cached */

/* The state of a call. */
typedef struct request {
    const bp_einsum_call *call;
    const DLTensor *out;
    bool data_optional;
    bool free;                 /* `out` may be NULL */
    bp_problem problem;        /* only its device and its policy; the parts have problems of their own */
    bp_problem *refused;       /* for explain: the problem of a part that no candidate accepts; may be NULL */
    bp_contraction_path *path; /* one reference, counted by src/einsum */
} request;

/* ---- Checks ---- */

/* Returns the call as this version's struct; NULL with an error. */
static const bp_einsum_call *whole(bp_einsum_call *own, const bp_einsum_call *call) {
    return bp__struct_read(own, sizeof *own, call, "einsum: call");
}

/* Whether the call has anything of the sublist form. */
static bool has_lists(const bp_einsum_call *call) {
    return call->labels || call->label_counts || call->output || call->output_count != 0;
}

static bp_status check_call(const bp_einsum_call *call) {
    if (!call) {
        return BP_E_ARGUMENT; /* whole() has reported the error */
    }
    if (call->count < 1 || !call->operands) {
        return bp__fail(BP_E_ARGUMENT, "einsum: count must be 1 or more, and operands must not be NULL");
    }
    if (call->expression && has_lists(call)) {
        return bp__fail(BP_E_ARGUMENT, "einsum: expression is given, and %s; the sublist form needs expression NULL",
                        call->labels         ? "labels"
                        : call->label_counts ? "label_counts"
                        : call->output       ? "output"
                                             : "output_count");
    }
    if (!call->expression && call->output_count == BP_EINSUM_IMPLICIT && call->output) {
        return bp__fail(BP_E_ARGUMENT,
                        "einsum: output is given, but output_count is BP_EINSUM_IMPLICIT; it must be the "
                        "number of labels in output");
    }
    if (!call->expression && (!call->labels || !call->label_counts)) {
        return bp__fail(BP_E_ARGUMENT,
                        "einsum: expression is NULL; without it, labels and label_counts must not be NULL");
    }
    return BP_OK;
}

static bp_status check_operand(const bp_einsum_call *call, int i, bool data_optional) {
    char name[32];
    snprintf(name, sizeof name, "operand %d", i);
    BP__TRY(bp__tensor_check(call->operands[i], name, data_optional));
    bp_dtype dtype = bp_dtype_from_dlpack(call->operands[i]->dtype);
    bp_dtype first = bp_dtype_from_dlpack(call->operands[0]->dtype);
    if (dtype < BP_F16 || dtype > BP_C128) {
        return bp__fail(BP_E_DTYPE, "%s is %s; einsum takes f16, bf16, f32, f64, c64 and c128", name,
                        bp_dtype_name(dtype));
    }
    if (dtype != first) {
        return bp__fail(BP_E_DTYPE, "operand 0 is %s, but %s is %s; they must have the same type", bp_dtype_name(first),
                        name, bp_dtype_name(dtype));
    }
    return BP_OK;
}

static bp_status check_output(const request *r) {
    const DLTensor *out = r->out;
    const bp_contraction_path_info *info = &r->path->info;
    if (info->output_ndim > BP_MAX_NDIM) {
        return bp__fail(BP_E_SHAPE, "einsum: the output has %d dimensions; tensors have at most %d", info->output_ndim,
                        BP_MAX_NDIM);
    }
    if (r->free && !out) {
        return BP_OK;
    }
    BP__TRY(bp__tensor_check(out, "output", r->data_optional));
    bp_dtype dtype = bp_dtype_from_dlpack(r->call->operands[0]->dtype), given = bp_dtype_from_dlpack(out->dtype);
    if (given != dtype) {
        return bp__fail(BP_E_DTYPE, "output is %s; einsum of %s gives %s", bp_dtype_name(given), bp_dtype_name(dtype),
                        bp_dtype_name(dtype));
    }
    size_t size = (size_t)info->output_ndim * sizeof(int64_t);
    if (out->ndim != info->output_ndim || (size > 0 && memcmp(out->shape, info->output_shape, size) != 0)) {
        char want[256], got[256];
        return bp__fail(BP_E_SHAPE, "output has shape %s; the result of the expression has shape %s",
                        bp__shape_text(out->ndim, out->shape, got, sizeof got),
                        bp__shape_text(info->output_ndim, info->output_shape, want, sizeof want));
    }
    return BP_OK;
}

static bp_status check_memory(const request *r) {
    const bp__einsum_arguments call = {sizeof call, NULL, r->call->count, r->call->operands, r->out};
    return bp__call_check_overlap(&bp__einsum_call, bp__einsum_passes, &call);
}

/* ---- Paths ---- */

static bp_status search_path(request *r, const bp_einsum_search *search, bp_einsum_operand *operands) {
    const bp_einsum_call *call = r->call;
    for (int i = 0; i < call->count; i++) {
        BP__TRY(check_operand(call, i, r->data_optional));
        const DLTensor *t = call->operands[i];
        operands[i] = (bp_einsum_operand){.ndim = t->ndim, .shape = t->shape};
        if (!call->expression) {
            operands[i].labels = call->labels[i];
            operands[i].label_count = call->label_counts[i];
        }
    }
    return call->expression
               ? bp_einsum_path(&r->path, search, call->expression, call->count, operands)
               : bp_einsum_path_sublists(&r->path, search, call->count, operands, call->output_count, call->output);
}

/* Returns the path for the call's operands. Checks the operands, too. */
static bp_status find_path(request *r) {
    bp_einsum_operand near[NEAR_OPERANDS];
    BP__TRY(check_call(r->call));
    bp_einsum_search search = {.struct_size = sizeof search};
    if (r->call->search) {
        const bp_einsum_search *given = bp__struct_read(&search, sizeof search, r->call->search, "einsum: search");
        if (!given) {
            return BP_E_ARGUMENT;
        }
        search = *given;
    }
    size_t size = (size_t)r->call->count * sizeof *near;
    bp_einsum_operand *operands = r->call->count <= NEAR_OPERANDS ? near : bp__alloc(size);
    if (!operands) {
        return bp__fail_memory(size, "einsum's operands");
    }
    bool known = r->call->operands[0] != NULL; /* else check_operand() reports the error */
    search.dtype = known ? bp_dtype_from_dlpack(r->call->operands[0]->dtype) : BP_DTYPE_NONE;
    bp_status status = search_path(r, &search, operands);
    if (operands != near) {
        bp__free(operands);
    }
    return status;
}

/* ---- Plans ---- */

/* Writes the key of a plan: everything that the plan and its description depend on. Only counts the bytes if `bytes` is
 * NULL. */
typedef struct key_writer {
    unsigned char *bytes;
    size_t size;
} key_writer;

static void add_bytes(key_writer *k, const void *bytes, size_t size) {
    if (k->bytes && size > 0) {
        memcpy(k->bytes + k->size, bytes, size);
    }
    k->size += size;
}

static void put_tensor(key_writer *k, const DLTensor *t) {
    int64_t strides[BP_MAX_NDIM];
    bp__tensor_strides(t, strides);
    add_bytes(k, strides, (size_t)t->ndim * sizeof *strides);
}

static bp_dtype type_of(const request *r) {
    return bp_dtype_from_dlpack(r->call->operands[0]->dtype);
}

static void put_request(key_writer *k, const request *r, const bp__part_policies *policies) {
    const bp__einsum *e = &r->path->einsum;
    const bp__steps *steps = &r->path->steps;
    size_t dims = (size_t)e->start[e->count];
    int32_t head[] = {0,
                      (int32_t)r->path->search.strategy,
                      (int32_t)r->path->search.objective,
                      e->count,
                      e->labels,
                      e->output_ndim,
                      (int32_t)type_of(r),
                      steps->count,
                      r->problem.place};
    add_bytes(k, head, sizeof head);
    add_bytes(k, policies, sizeof *policies);
    add_bytes(k, e->start, ((size_t)e->count + 1) * sizeof *e->start);
    add_bytes(k, e->label, dims * sizeof *e->label);
    add_bytes(k, e->dim, dims * sizeof *e->dim);
    add_bytes(k, e->size, (size_t)e->labels * sizeof *e->size);
    add_bytes(k, e->name, (size_t)e->labels * sizeof *e->name);
    add_bytes(k, e->output, (size_t)e->output_ndim * sizeof *e->output);
    for (int i = 0; i < steps->count; i++) {
        add_bytes(k, &steps->step[i].id, sizeof steps->step[i].id);
    }
    for (int i = 0; i < e->count; i++) {
        put_tensor(k, r->call->operands[i]);
    }
    if (r->out) {
        put_tensor(k, r->out);
    }
}

static void add_words(bp__text *text, const request *r) {
    bp__text_addf(text, "%s %s", bp_dtype_name(type_of(r)), bp_contraction_path_expression(r->path));
    for (int i = 0; i < r->call->count && text->length < 240; i++) {
        char shape[256];
        const DLTensor *t = r->call->operands[i];
        bp__text_addf(text, "%s%s", i ? ", " : " of ", bp__shape_text(t->ndim, t->shape, shape, sizeof shape));
    }
}

/* Describes an operand of the call. An output that the program did not pass is compact. */
static bool describe_operand(const void *context, int operand, bp__elements *elements) {
    const request *r = context;
    const bp_contraction_path_info *info = &r->path->info;
    int64_t strides[BP_MAX_NDIM];
    const DLTensor compact = {.ndim = info->output_ndim, .shape = (int64_t *)(uintptr_t)info->output_shape};
    const DLTensor *out = r->out ? r->out : &compact, *t = operand < r->call->count ? r->call->operands[operand] : out;
    elements->dtype = type_of(r);
    elements->exact = true;
    bp__tensor_strides(t, strides);
    bp__elements_add_all(elements, t->ndim, t->shape, strides);
    return true;
}

static const char *threads_text(bp__threads threads) {
    return threads == BP__THREADS_OF_PRODUCTS
               ? ", without native's threads, because the threads of the products' library would compete with them"
           : threads == BP__THREADS_OF_NATIVE
               ? ", on native's threads alone, because another library's threads would compete with them"
               : "";
}

static bp_status compose(bp_plan **plan, const bp__plan_key *key, const request *r, const bp_policy *policy,
                         bp__program *program) {
    const bp__address_source addresses = {.place = r->problem.place,
                                          .count = r->call->count + 1,
                                          .inputs = r->call->count,
                                          .describe = describe_operand,
                                          .context = r};
    bp__composition c = {.op = BP_OP_EINSUM,
                         .dtype = type_of(r),
                         .policy = policy,
                         .device_place = r->problem.place,
                         .operands = r->call->count + 1,
                         .addresses = &addresses,
                         .algorithm =
                             program->count == 1 ? bp__contraction_of(program)->actions[0].text : "several parts",
                         .key = *key};
    bp__text words = {0}, reason = {0};
    BP__TRY(bp__program_sum_up(program, &c));
    add_words(&words, r);
    bp__text_addf(&reason, "path found by %s, in %d part%s%s; the slowest part: %s", r->path->info.strategy,
                  program->count, program->count == 1 ? "" : "s", threads_text(bp__contraction_of(program)->threads),
                  c.reason);
    c.text = bp__text_get(&words);
    c.reason = bp__text_get(&reason);
    bp_status status = bp__plan_compose(plan, &program->base, &c);
    bp__text_free(&words);
    bp__text_free(&reason);
    return status;
}

typedef struct making {
    const request *r;
    const bp__part_policies *policies;
} making;

static bp_status make_plan(bp_plan **plan, const bp__plan_key *key, const void *context) {
    const making *m = context;
    bp__program *program;
    atomic_fetch_add_explicit(&m->r->path->references, 1, memory_order_relaxed);
    BP__TRY(bp__program_build(&program, m->r->path, m->r->call->operands, m->r->out, m->policies, m->r->refused));
    bp_status status = compose(plan, key, m->r, &m->policies->products, program);
    if (status != BP_OK) {
        program->base.destroy(&program->base);
    }
    return status;
}

static bp_status find_plan(bp_plan **plan, const request *r, bool *fresh) {
    unsigned char near[1024];
    bp__part_policies policies;
    BP__TRY(bp__policy_resolve(&policies.products, &bp__family_gemm));
    BP__TRY(bp__policy_resolve(&policies.contractions, &bp__family_contract));
    if (r->problem.place != 0) {
        bp__policy_on_device(&policies.products, &bp__family_gemm, r->problem.place);
        bp__policy_on_device(&policies.contractions, &bp__family_contract, r->problem.place);
    }
    making m = {r, &policies};
    key_writer k = {NULL, 0};
    if (r->call->count > MOST_KEPT_OPERANDS) {
        bp__plan_key none = {near, 0};
        *fresh = true;
        return make_plan(plan, &none, &m);
    }
    put_request(&k, r, &policies);
    size_t size = k.size;
    k = (key_writer){size <= sizeof near ? near : bp__alloc(size), 0};
    if (!k.bytes) {
        return bp__fail_memory(size, "a contraction");
    }
    put_request(&k, r, &policies);
    bp_status status =
        bp__cache_get_composed(plan, r->problem.place, &(bp__plan_key){k.bytes, size}, make_plan, &m, fresh);
    if (k.bytes != near) {
        bp__free(k.bytes);
    }
    return status;
}

/* Checks the call. On success the request has a path and a device. */
static bp_status check(request *r) {
    bp__devices_noted noted;
    bp__devices_note(&noted);
    bp_status status = find_path(r);
    status = status == BP_OK ? check_output(r) : status;
    status = status == BP_OK ? check_memory(r) : status;
    bp__devices_noted_end(&noted);
    return status == BP_OK && noted.place != 0 ? bp__problem_put_on_device(&r->problem, &bp__family_einsum, &noted)
                                               : status;
}

/* Does everything from the checks to the plan. */
/* Returns a request, which must be freed; NULL if out of memory. Not on the stack, because it is large and planning
 * comes on top of it. `planning`: the data may be absent, and so may the output. */
static request *new_request(const bp_einsum_call *call, const DLTensor *out, bool planning) {
    request *r = bp__alloc_zero(1, sizeof *r);
    if (r) {
        r->call = call;
        r->out = out;
        r->data_optional = r->free = planning;
    }
    return r;
}

static bp_status fail_request(void) {
    return bp__fail_memory(sizeof(request), "an einsum");
}

static bp_status prepare(bp_plan **plan, request *r, bool *fresh) {
    *plan = NULL;
    bp_status status = check(r);
    status = status == BP_OK ? find_plan(plan, r, fresh) : status;
    bp_contraction_path_release(r->path); /* NULL is allowed */
    r->path = NULL;
    return status;
}

/* ---- Calls ---- */

/* Fills the operation for the thread cache, including the expression. Returns false if the cache cannot hold the call.
 */
static bool describe(bp__operation *o, const bp_einsum_call *call, const DLTensor *out) {
    const size_t most = sizeof o->parameters;
    if (!call->expression || has_lists(call) || call->search || call->count < 1 || call->count >= BP__MOST_OPERANDS ||
        !call->operands) {
        return false;
    }
    size_t length = strnlen(call->expression, most);
    if (length == most) {
        return false;
    }
    memset(o->parameters, 0, most);
    memcpy(o->parameters, call->expression, length);
    o->tag = bp__tag(BP_OP_EINSUM, (uint64_t)call->count);
    o->parameter_count = (int)(length / sizeof o->parameters[0]) + 1;
    o->count = call->count + 1;
    o->inputs = call->count;
    o->in_place = false;
    for (int i = 0; i < call->count; i++) {
        if (!call->operands[i]) {
            return false;
        }
        o->tensors[i] = call->operands[i];
    }
    o->tensors[call->count] = out;
    return true;
}

static bp_status run_prepared(bp__operation *o, bp_plan *plan, bool fresh, const bp_einsum_call *call, DLTensor *out) {
    bp_operand near[NEAR_OPERANDS + 1];
    size_t size = ((size_t)call->count + 1) * sizeof *near;
    bp_operand *operands = call->count <= NEAR_OPERANDS ? near : bp__alloc(size);
    if (!operands) {
        return bp__fail_memory(size, "einsum's operands");
    }
    for (int i = 0; i < call->count; i++) {
        operands[i] = (bp_operand){call->operands[i]->data, call->operands[i]->byte_offset};
    }
    operands[call->count] = (bp_operand){out->data, out->byte_offset};
    bp_status status = bp__composed_run(o, plan, fresh, operands);
    if (operands != near) {
        bp__free(operands);
    }
    return status;
}

__attribute__((noinline)) static bp_status run_long(bp__operation *o, const bp_einsum_call *call, DLTensor *out) {
    bp_plan *plan;
    bool fresh;
    request *r = new_request(call, out, false);
    bp_status status = r ? prepare(&plan, r, &fresh) : fail_request();
    bp__free(r);
    BP__TRY(status);
    status = run_prepared(o, plan, fresh, call, out);
    bp__plan_release(plan);
    return status;
}

static bp_status run_einsum(const bp_einsum_call *call, DLTensor *out) {
    bp__operation operation;
    if (!out || !describe(&operation, call, out)) {
        return run_long(NULL, call, out);
    }
    const bp_plan *plan = bp__operation_find(&operation);
    return BP__LIKELY(plan != NULL) ? bp__operation_run(&operation, plan) : run_long(&operation, call, out);
}

bp_status bp_einsum(const char *expression, int count, const DLTensor *const *operands, DLTensor *out) {
    if (BP__UNLIKELY(!expression)) {
        return bp__fail(BP_E_ARGUMENT, "einsum: expression is NULL; it must be text such as \"ij,jk->ik\"");
    }
    bp_einsum_call call = {.struct_size = sizeof call, .expression = expression, .count = count, .operands = operands};
    return run_einsum(&call, out);
}

bp_status bp_einsum_run(const bp_options *options, const bp_einsum_call *call, DLTensor *out) {
    bp_einsum_call own;
    call = whole(&own, call);
    BP__TRY(check_call(call));
    bp__call_scope scope;
    bp__call_enter(&scope, options);
    bp_status status = run_einsum(call, out);
    bp__call_leave(&scope);
    return status;
}

/* Uses the thread cache, because callers that need the output's shape first call this function before every
 * computation. */
static bp_status plan_without_output(bp_plan **plan, request *r) {
    bp__operation operation;
    bool fresh, listed = describe(&operation, r->call, NULL);
    bp_plan *known = listed ? (bp_plan *)(uintptr_t)bp__operation_find(&operation) : NULL;
    if (known) {
        bp__plan_retain(known);
        *plan = known;
        return BP_OK;
    }
    BP__TRY(prepare(plan, r, &fresh));
    if (listed) {
        bp__operation_remember(&operation, *plan);
    }
    return BP_OK;
}

bp_status bp_einsum_plan(bp_plan **plan, const bp_options *options, const bp_einsum_call *call, const DLTensor *out) {
    if (!plan) {
        return bp__fail(BP_E_ARGUMENT, "einsum: plan must not be NULL");
    }
    *plan = NULL;
    bp_einsum_call own;
    call = whole(&own, call);
    BP__TRY(check_call(call));
    request *r = new_request(call, out, true);
    if (!r) {
        return fail_request();
    }
    bp__call_scope scope;
    bool fresh;
    bp__call_enter(&scope, options);
    bp_status status = out ? prepare(plan, r, &fresh) : plan_without_output(plan, r);
    if (status == BP_OK) {
        bp__plan_handed_out();
    }
    bp__call_leave(&scope);
    bp__free(r);
    return status;
}

static bp_status explain(bp_explanation **explanation, const bp_einsum_call *call, const DLTensor *out,
                         bp_problem *refused) {
    bp_einsum_call own;
    request *r = new_request(whole(&own, call), out, true);
    if (!r) {
        return fail_request();
    }
    r->refused = refused;
    bp_plan *plan;
    bool fresh;
    bp_status status = prepare(&plan, r, &fresh);
    bp__free(r);
    if (status == BP_E_NO_CANDIDATE) {
        return bp__explain(explanation, refused);
    }
    if (status == BP_OK) {
        status = bp__program_explain(explanation, plan);
        bp__plan_release(plan);
    }
    return status;
}

bp_status bp_einsum_explain(bp_explanation **explanation, const bp_options *options, const bp_einsum_call *call,
                            const DLTensor *out) {
    if (!explanation) {
        return bp__fail(BP_E_ARGUMENT, "einsum: explanation must not be NULL");
    }
    *explanation = NULL;
    bp_problem *refused = bp__alloc(sizeof *refused);
    if (!refused) {
        return bp__fail_memory(sizeof *refused, "the description of an einsum");
    }
    bp__call_scope scope;
    bp__call_enter(&scope, options);
    bp_status status = explain(explanation, call, out, refused);
    bp__call_leave(&scope);
    bp__free(refused);
    return status;
}

bp_status bp_einsum_shape(const bp_einsum_call *call, bp_dtype *dtype, int *ndim, int64_t *shape) {
    if (!dtype || !ndim || !shape) {
        return bp__fail(BP_E_ARGUMENT, "einsum: dtype, ndim and shape must not be NULL");
    }
    bp_einsum_call own;
    request r = {.call = whole(&own, call), .data_optional = true, .free = true};
    BP__TRY(find_path(&r));
    const bp_contraction_path_info *info = &r.path->info;
    bp_status status = check_output(&r);
    if (status == BP_OK) {
        *dtype = type_of(&r);
        *ndim = info->output_ndim;
        memcpy(shape, info->output_shape, (size_t)*ndim * sizeof *shape);
    }
    bp_contraction_path_release(r.path);
    return status;
}

bp_status bp_einsum_plan_output(const bp_plan *plan, bp_dtype *dtype, int *ndim, int64_t *shape, int64_t *strides) {
    const bp__program *program = bp__einsum_program(plan);
    if (!program || !dtype || !ndim || !shape || !strides) {
        return bp__fail(BP_E_ARGUMENT,
                        "einsum: dtype, ndim, shape and strides must not be NULL, and plan must be a plan of einsum");
    }
    const bp__contraction *contraction = bp__contraction_of(program);
    const size_t size = (size_t)contraction->path->info.output_ndim * sizeof *shape;
    *dtype = (bp_dtype)plan->problem.dtype;
    *ndim = contraction->path->info.output_ndim;
    memcpy(shape, contraction->path->info.output_shape, size);
    memcpy(strides, contraction->strides, size);
    return BP_OK;
}
