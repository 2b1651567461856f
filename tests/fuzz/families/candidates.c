/* candidates.c - runs one call on every candidate that accepts it, of the host and of a device, and compares the
 * results with the reference, and with the results of compact copies of the operands. */
#include "trial.h"

#include "reference/results.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_CANDIDATES = 64, NAME = 256, TEXT = 512 };

typedef struct candidates {
    int count;
    bool part[MOST_CANDIDATES]; /* of parts of the call, such as the products of a contraction */
    char name[MOST_CANDIDATES][NAME];
} candidates;

/* ---- References ---- */

static const operand *operand_of(const trial *t, const DLTensor *tensor) {
    for (int i = 0; i < t->count; i++) {
        if (tensor == &t->operand[i].tensor) {
            return &t->operand[i];
        }
    }
    return NULL;
}

/* Compares a result, or its compact copy. */
static void check_result(trial *t, const reference_result *of, const DLTensor *tensor, const char *what) {
    double error;
    const double bound = reference_bound(&of->values, bp_dtype_from_dlpack(tensor->dtype));
    if (reference_error(&of->values, tensor, &error) != BP_OK) {
        finding(t, "%s: %s cannot be read: %s", what, of->name, bp_last_error());
    } else if (!(error <= bound)) {
        finding(t, "%s: %s has the error %g, its bound is %g", what, of->name, error, bound);
    }
}

static void check_results(trial *t, const reference_results *all, bool compact, const char *what) {
    for (int i = 0; i < all->count; i++) {
        const operand *o = operand_of(t, all->of[i].tensor);
        if (o && all->of[i].values.values && count_of(o) > 0) {
            check_result(t, &all->of[i], compact ? &o->compact : &o->tensor, what);
        }
    }
}

/* Checks results that are not unique, by the inputs of before, which the compact copies have. Returns whether it could.
 */
static bool check_residual(trial *t, bool compact, const char *what) {
    double residual[2] = {0, 0};
    DLTensor *kept[OPERANDS];
    memcpy(kept, t->tensor, sizeof kept);
    for (int i = 0; i < t->count; i++) {
        operand *o = &t->operand[i];
        t->tensor[i] = !t->tensor[i] ? NULL : compact || !o->written ? &o->compact : &o->tensor;
    }
    const bp_status status = t->family->call(t, RESIDUAL, NULL, residual);
    memcpy(t->tensor, kept, sizeof kept);
    if (status == BP_OK && !(residual[0] <= residual[1])) {
        finding(t, "%s: the residual is %g, its bound is %g", what, residual[0], residual[1]);
    }
    return status == BP_OK;
}

/* ---- Memory ---- */

/* Lets all operands be as they were before the first call. */
static void restore_all(trial *t) {
    for (int i = 0; i < t->count; i++) {
        operand *o = &t->operand[i];
        if (!t->tensor[i]) {
            continue;
        }
        if (o->host == i && !o->sparse && o->bytes > 0) {
            memcpy(o->low, o->before, o->bytes);
        } else if (o->host == i && o->sparse && o->written) {
            fill_pattern(o, 0xa5);
        }
    }
    for (int i = 0; i < t->count; i++) {
        if (t->tensor[i] && t->operand[i].written) {
            copy_elements(&t->operand[i], t->operand[i].compact.data);
        }
    }
}

static bool keeps_sparse(const trial *t) {
    for (int i = 0; i < t->count; i++) {
        if (t->tensor[i] && t->operand[i].sparse && t->operand[i].kept) {
            return true;
        }
    }
    return false;
}

static void point_to(trial *t, bool compact) {
    for (int i = 0; i < t->count; i++) {
        t->tensor[i] = !t->tensor[i] ? NULL : compact ? &t->operand[i].compact : &t->operand[i].tensor;
    }
}

/* ---- Candidates of the host ---- */

static void add_candidate(candidates *made, const char *name, bool part) {
    for (int i = 0; i < made->count; i++) {
        if (strcmp(made->name[i], name) == 0) {
            return;
        }
    }
    if (made->count < MOST_CANDIDATES) {
        made->part[made->count] = part;
        snprintf(made->name[made->count++], NAME, "%s", name);
    }
}

/* Adds the candidates of a call, or of its parts: these may accept one part and not another. */
static void list_candidates(candidates *made, const bp_explanation *explanation, bool part) {
    bp_candidate_info info = {.struct_size = sizeof info};
    char name[NAME];
    for (int i = 0; bp_explanation_at(explanation, i, &info); i++) {
        snprintf(name, sizeof name, part ? "%s:%s" : "%s:%s:%s", info.library, info.provider, info.algorithm);
        if (info.accepted) {
            add_candidate(made, name, part);
        }
    }
    const bp_explanation *one;
    for (int i = 0; (one = bp_explanation_part(explanation, i)); i++) {
        list_candidates(made, one, true);
    }
}

static int threads_of(const trial *t) {
    return 1 + (int)(t->seed % 3);
}

/* Returns options by which only the candidate runs; candidates of a part are preferred where they accept it. NULL: all.
 */
static bp_options *pin(const trial *t, const char *name, bool part) {
    char text[TEXT];
    bp_options *options = NULL;
    const char *preference = part ? bp_op_preference(BP_OP_GEMM) : name ? bp_op_preference(t->op) : NULL;
    snprintf(text, sizeof text, "num_threads=%d%s%s%s%s%s", threads_of(t), name ? ", " : "", name ? preference : "",
             name ? "=\"" : "", name ? name : "",
             !name  ? ""
             : part ? "\""
                    : "\", dispatch.fallback=strict");
    if (bp_options_new(&options, text) != BP_OK) {
        fprintf(stderr, "%s: %s\n", text, bp_last_error());
        abort();
    }
    return options;
}

/* The same candidate may refuse the compact copies; then there is nothing to compare. */
static void run_compact(trial *t, const reference_results *all, const bp_options *options, const char *what) {
    char text[TEXT];
    point_to(t, true);
    const bp_status status = t->family->call(t, RUN, options, NULL);
    point_to(t, false);
    if (status != BP_OK) {
        return;
    }
    snprintf(text, sizeof text, "%s on compact copies", what);
    check_results(t, all, true, text);
    check_residual(t, true, text);
    for (int i = 0; i < t->count; i++) {
        operand *o = &t->operand[i];
        if (t->tensor[i] && o->written && o->tolerance == 0) {
            char *got = malloc((size_t)count_of(o) * bp_dtype_size(o->dtype) + 1);
            if (!got) {
                abort();
            }
            copy_elements(o, got);
            compare(t, o, got, o->compact.data, text);
            free(got);
        }
    }
}

static bool is_item_error(bp_status status) {
    return status == BP_E_SINGULAR || status == BP_E_NOT_POSITIVE_DEFINITE || status == BP_E_NOT_CONVERGED ||
           status == BP_E_NON_FINITE;
}

static void run_candidate(trial *t, const reference_results *all, const char *name, bool part, coverage *c) {
    bp_options *options = pin(t, name, part);
    restore_all(t);
    const bp_status status = t->family->call(t, RUN, options, NULL);
    check_memory(t, status == BP_OK || is_item_error(status) || (t->late != BP_OK && status == t->late), name);
    if (status == BP_OK) {
        c->runs++;
        check_results(t, all, false, name);
        c->compared += check_residual(t, false, name) || all->count > 0;
        run_compact(t, all, options, name);
    } else if (!(t->item_errors && is_item_error(status)) && status != BP_E_OVERLAP && status != BP_E_ARGUMENT &&
               status != BP_E_FALLBACK) { /* what only the loaded library can tell is refused late */
        finding(t, "%s accepts the call, which fails: %s", name, bp_last_error());
    }
    bp_options_release(options);
}

/* ---- A device ---- */

/* The memory of an operand on the device, and its tensor there. */
typedef struct placed {
    DLManagedTensorVersioned *memory;
    DLTensor tensor, host; /* host: all bytes */
    int64_t bytes;
} placed;

static bool place_operand(const operand *o, int32_t device, placed *to) {
    to->bytes = (int64_t)o->bytes;
    to->host = (DLTensor){
        .data = o->low, .device = {kDLCPU, 0}, .ndim = 1, .dtype = bp_dtype_to_dlpack(BP_U8), .shape = &to->bytes};
    return bp_tensor_empty_on(&to->memory, device, BP_U8, 1, &to->bytes, NULL) == BP_OK &&
           bp_copy(&to->memory->dl_tensor, &to->host, NULL) == BP_OK;
}

/* Copies all operands to the device. Returns whether all of them could be. */
static bool place_on(trial *t, int32_t device, placed *list) {
    for (int i = 0; i < t->count; i++) {
        operand *o = &t->operand[i];
        if (!t->tensor[i]) {
            continue;
        }
        if (o->sparse || (o->host == i && !place_operand(o, device, &list[i]))) {
            return false;
        }
        const DLTensor *memory = &list[o->host].memory->dl_tensor;
        list[i].tensor = o->tensor;
        list[i].tensor.data = memory->data;
        list[i].tensor.device = memory->device;
        list[i].tensor.byte_offset = memory->byte_offset;
        if (count_of(o) > 0) {
            list[i].tensor.byte_offset += (uint64_t)((char *)o->tensor.data - o->low);
        }
        t->tensor[i] = &list[i].tensor;
    }
    return true;
}

/* Copies all operands from the device. The call may fail here first, such as for an index out of range. */
static bp_status fetch(const trial *t, placed *list) {
    bp_status status = BP_OK;
    for (int i = 0; i < t->count && status == BP_OK; i++) {
        status = list[i].memory ? bp_copy(&list[i].host, &list[i].memory->dl_tensor, NULL) : BP_OK;
    }
    return status;
}

/* Runs the call on copies of all operands on the device, if it has a candidate for them. */
static void run_on_device(trial *t, const reference_results *all, int32_t device, coverage *c) {
    placed list[OPERANDS];
    memset(list, 0, sizeof list);
    restore_all(t);
    const bool here = place_on(t, device, list);
    bp_status status = here ? t->family->call(t, RUN, NULL, NULL) : BP_E_UNSUPPORTED;
    status = status == BP_OK ? fetch(t, list) : status;
    for (int i = 0; i < t->count; i++) {
        t->tensor[i] = t->tensor[i] ? &t->operand[i].tensor : NULL;
        if (list[i].memory) {
            list[i].memory->deleter(list[i].memory);
        }
    }
    if (status == BP_OK) {
        c->device_runs++;
        check_memory(t, true, "the device");
        check_results(t, all, false, "the device");
    } else if (here && status != BP_E_NO_CANDIDATE && status != BP_E_FALLBACK && status != BP_E_UNSUPPORTED &&
               status != BP_E_OVERLAP && status != BP_E_ARGUMENT && status != BP_E_DTYPE && status != BP_E_DEVICE &&
               !is_item_error(status)) {
        finding(t, "the device: %s", bp_last_error());
    }
}

/* ---- Trials ---- */

int run_candidates(const family *f, uint64_t seed, coverage *c) {
    static trial present;
    trial *t = &present;
    bp_explanation *explanation = NULL;
    candidates list;
    reference_results all = {.count = 0};
    begin_trial(t, f, NULL, 0, seed, -1);
    t->pinned = true;
    if (t->invalid) {
        return 0;
    }
    place_all(t);
    keep_before(t);
    bp_options *options = pin(t, NULL, false);
    if (!keeps_sparse(t) && f->call(t, EXPLAIN, options, &explanation) == BP_OK && t->op != 0) {
        c->calls++;
        list.count = 0;
        list_candidates(&list, explanation, false);
        const bp_status status = f->call(t, REFERENCE, NULL, &all);
        if (status != BP_OK && status != BP_E_UNSUPPORTED) {
            finding(t, "the reference fails: %s", bp_status_name(status));
        }
        for (int i = 0; i < list.count; i++) {
            run_candidate(t, &all, list.name[i], list.part[i], c);
        }
        if (c->device > 0 && c->calls % c->device_part == 0) {
            run_on_device(t, &all, c->device, c);
        }
        reference_results_free(&all);
    }
    bp_options_release(options);
    bp_explanation_release(explanation);
    release_all(t);
    return t->findings;
}
