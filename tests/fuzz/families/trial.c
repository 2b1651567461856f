/* trial.c - runs one call in every way, with failing allocations, and checks what it did. */
#include "trial.h"

#include "support/capability.h"
#include "support/failing.h"

#include <stdio.h>
#include <stdlib.h>

enum { FIRST = 0xa5, SECOND = 0x5a, SETTINGS = 6 };

static bp_options *options[SETTINGS];

void set_up(bool system) {
    static const char *const texts[] = {"num_threads=1",
                                        "num_threads=3",
                                        "cpu.capability=default,num_threads=1",
                                        "cpu.capability=avx2,num_threads=1",
                                        "cpu.capability=default,num_threads=3",
                                        "deterministic=threads,num_threads=2"};
    if (!system) { /* make fuzz includes the machine's libraries */
        setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 0);
    }
    bool ready = bp_set_allocator(&test_failing_allocator) == BP_OK;
    for (int i = 0; i < SETTINGS; i++) {
        ready = ready && test_options_new(&options[i], texts[i]) == BP_OK;
    }
    if (!ready) {
        fprintf(stderr, "fuzz_families: %s\n", bp_last_error());
        abort();
    }
}

/* ---- One way of a call ---- */

static bool failed_late(const trial *t, bp_status status) {
    return (t->item_errors && (status == BP_E_SINGULAR || status == BP_E_NOT_POSITIVE_DEFINITE ||
                               status == BP_E_NOT_CONVERGED || status == BP_E_NON_FINITE)) ||
           (t->late != BP_OK && status == t->late);
}

static void keep_results(trial *t) {
    for (int i = 0; i < t->count; i++) {
        operand *o = &t->operand[i];
        if (t->tensor[i] && o->written) {
            free(o->result);
            o->result = malloc((size_t)count_of(o) * bp_dtype_size(o->dtype) + 1);
            if (!o->result) {
                abort();
            }
            copy_elements(o, o->result);
        }
    }
}

static void restore(trial *t, int pattern) {
    for (int i = 0; i < t->count; i++) {
        operand *o = &t->operand[i];
        if (!t->tensor[i] || !o->written || o->host != i) {
            continue;
        }
        if (!o->kept) {
            fill_pattern(o, pattern);
        } else if (!o->sparse && o->bytes > 0) {
            memcpy(o->low, o->before, o->bytes);
        }
    }
}

/* Returns whether the memory of an output is part of an input's. Such a call cannot be repeated. */
static bool in_place(const trial *t) {
    for (int i = 0; i < t->count; i++) {
        if (t->tensor[i] && t->operand[i].written && t->operand[i].host != i) {
            return true;
        }
    }
    return false;
}

static bool sparse_and_kept(const trial *t) {
    for (int i = 0; i < t->count; i++) {
        if (t->tensor[i] && t->operand[i].sparse && t->operand[i].kept) {
            return true;
        }
    }
    return false;
}

/* ---- Calls, on a small stack ---- */

typedef struct stacked {
    trial *t;
    request how;
    const bp_options *set;
    void *made;
    const bp_plan *plan;
    const bp_operand *operands;
} stacked;

static bp_status call_it(void *user) {
    const stacked *s = user;
    return s->plan ? bp_execute(s->plan, s->operands, NULL) : s->t->family->call(s->t, s->how, s->set, s->made);
}

static bp_status on_stack(stacked *s) {
    int64_t used;
    const bp_status status = call_on_stack(call_it, s, &used);
    if (used > MOST_STACK) {
        finding(s->t, "the call takes %lld bytes of stack, more than %d", (long long)used, MOST_STACK);
    }
    return status;
}

static bp_status call_family(trial *t, request how, const bp_options *set, void *made) {
    return on_stack(&(stacked){.t = t, .how = how, .set = set, .made = made});
}

static bp_status execute(trial *t, const bp_plan *plan, const bp_operand *operands) {
    return on_stack(&(stacked){.t = t, .plan = plan, .operands = operands});
}

static bp_status run(trial *t, const bp_options *set) {
    const bp_status before = bp_last_status();
    const bp_status status = call_family(t, RUN, set, NULL);
    if (status == BP_OK && bp_last_status() != before) {
        finding(t, "a call that succeeds leaves the error '%s'", bp_last_error());
    }
    check_memory(t, status == BP_OK || failed_late(t, status), "the call");
    return status;
}

/* Runs again with outputs of another pattern, if an element may not have been written. */
static void run_again(trial *t, const bp_options *set) {
    restore(t, SECOND);
    keep_before(t);
    if (run(t, set) != BP_OK) {
        finding(t, "the same call fails the second time: %s", bp_last_error());
        return;
    }
    for (int i = 0; i < t->count; i++) {
        const operand *o = &t->operand[i];
        if (t->tensor[i] && o->written && !o->kept) {
            char *again = malloc((size_t)count_of(o) * bp_dtype_size(o->dtype) + 1);
            copy_elements(o, again);
            check_written(t, o, again, FIRST, SECOND);
            compare(t, o, again, o->result, "the same call again");
            free(again);
        }
    }
}

/* Returns whether the call has an element to write. Without one it does not look at numbers such as lengths and pages,
 * which a plan may still refuse. */
static bool writes_any(const trial *t) {
    bool any = false;
    for (int i = 0; i < t->count; i++) {
        any |= t->tensor[i] && t->operand[i].written && count_of(&t->operand[i]) > 0;
    }
    return any;
}

static void expect(trial *t, const bp_plan *plan, const bp_operand *operands, bp_status right, const char *what) {
    const bp_status status = execute(t, plan, operands);
    if (status != right) {
        finding(t, "a plan with %s gives %s, not %s", what, bp_status_name(status), bp_status_name(right));
    }
}

/* Returns whether an operand has no elements, or nothing is written. Inputs with elements may not be read then. */
static bool any_empty(const trial *t) {
    bool any = !writes_any(t);
    for (int i = 0; i < t->count; i++) {
        any |= t->tensor[i] && count_of(&t->operand[i]) == 0;
    }
    return any;
}

/* Runs the plan with one wrong address: none, one between two elements, and one of another operand for an output. */
static void run_misplaced(trial *t, const bp_plan *plan, const bp_operand *right, const operand *const *of, int count) {
    bp_operand operands[OPERANDS];
    memcpy(operands, right, sizeof operands);
    const bool empty = any_empty(t);
    for (int i = 0; i < count; i++) {
        if (!of[i] || count_of(of[i]) == 0 || (empty && !of[i]->written)) {
            continue;
        }
        operands[i].base = NULL;
        expect(t, plan, operands, BP_E_ARGUMENT, "an address that is missing");
        operands[i] = right[i];
        operands[i].offset = 1;
        if (bp_dtype_size(of[i]->dtype) > 1) {
            expect(t, plan, operands, BP_E_LAYOUT, "an address between two elements");
        }
        for (int other = 0; other < i && of[i]->written && !empty; other++) {
            const bool same = of[other] && of[other]->dtype == of[i]->dtype && count_of(of[other]) > 0;
            operands[i] = right[other];
            if (same && right[other].base != right[i].base && !t->family->shares) {
                expect(t, plan, operands, BP_E_OVERLAP, "an output at the address of another operand");
            }
        }
        operands[i] = right[i];
    }
}

static void run_plan(trial *t, const bp_options *set) {
    bp_plan *plan = NULL;
    bp_operand operands[OPERANDS] = {{0}};
    const operand *of[OPERANDS] = {NULL};
    const bp_status made = call_family(t, PLAN, set, &plan);
    if (made != BP_OK) {
        if (made != BP_E_UNSUPPORTED && made != BP_E_LAYOUT) {
            finding(t, "the call runs, but no plan is made: %s", bp_last_error());
        }
        return;
    }
    const int count = t->order_count > 0 ? t->order_count : t->count;
    for (int i = 0; i < count; i++) {
        const int at = t->order_count > 0 ? t->order[i] : i;
        of[i] = at >= 0 && t->tensor[at] ? &t->operand[at] : NULL;
        operands[i].base = of[i] ? of[i]->tensor.data : NULL;
    }
    restore(t, SECOND);
    keep_before(t);
    run_misplaced(t, plan, operands, of, count);
    check_memory(t, false, "the plan with a wrong address");
    const bp_status status = execute(t, plan, operands);
    const bool without_address = status != BP_OK && strstr(bp_last_error(), "base is NULL");
    if (status != BP_OK && (writes_any(t) || status != BP_E_ARGUMENT || without_address)) {
        finding(t, "the call runs, but its plan fails: %s", bp_last_error());
    }
    check_memory(t, status == BP_OK, "the plan");
    for (int i = 0; i < t->count && status == BP_OK; i++) {
        const operand *o = &t->operand[i];
        if (t->tensor[i] && o->written) {
            char *got = malloc((size_t)count_of(o) * bp_dtype_size(o->dtype) + 1);
            copy_elements(o, got);
            compare(t, o, got, o->result, "the plan");
            free(got);
        }
    }
    bp_plan_release(plan);
}

static void explain(trial *t, const bp_options *set, bp_status ran) {
    bp_explanation *e = NULL;
    const bp_status status = call_family(t, EXPLAIN, set, &e);
    if (status != BP_OK && ran == BP_OK && status != BP_E_UNSUPPORTED && status != BP_E_LAYOUT) {
        finding(t, "the call runs, but is not explained: %s", bp_last_error());
    }
    bp_explanation_release(e);
}

/* ---- Compact copies ---- */

/* Chooses other settings for them; often `native`. */
static const bp_options *other_settings(trial *t, bp_options **own) {
    char text[128];
    *own = NULL;
    if (!t->family->preferred || draw(&t->source, 2)) {
        return options[draw(&t->source, SETTINGS)];
    }
    snprintf(text, sizeof text, "%s=native,num_threads=%d", t->family->preferred, 1 + draw(&t->source, 3));
    return bp_options_new(own, text) == BP_OK ? *own : options[0];
}

static void run_compact(trial *t, bp_status status) {
    bp_options *own;
    const bp_options *set = other_settings(t, &own);
    for (int i = 0; i < t->count; i++) {
        t->tensor[i] = t->tensor[i] ? &t->operand[i].compact : NULL;
    }
    const bp_status other = call_family(t, RUN, set, NULL);
    for (int i = 0; i < t->count; i++) {
        t->tensor[i] = t->tensor[i] ? &t->operand[i].tensor : NULL;
    }
    if (status == BP_OK && other != BP_OK) {
        finding(t, "the call runs, but with compact copies fails: %s", bp_last_error());
    } else if (status != BP_OK && other == BP_OK && status != BP_E_OVERLAP && status != BP_E_LAYOUT &&
               status != BP_E_OVERFLOW) {
        finding(t, "the call fails with %s, but with compact copies runs: %s", bp_status_name(status), bp_last_error());
    }
    for (int i = 0; i < t->count && status == BP_OK && other == BP_OK; i++) {
        const operand *o = &t->operand[i];
        if (t->tensor[i] && o->written) {
            compare(t, o, o->result, o->compact.data, "compact copies");
        }
    }
    bp_options_release(own);
}

/* ---- Trials ---- */

/* Runs the call with one allocation failing. Returns false if the outputs are no more as before. */
static void run_short_of_memory(trial *t, const bp_options *set) {
    test_fail_allocations((long)draw(&t->source, 40), true);
    const bp_status status = call_family(t, RUN, set, NULL);
    test_end_of_failures();
    if (status == BP_E_NO_CANDIDATE && strstr(bp_last_error(), "memory")) {
        finding(t, "a failed allocation is reported as %s: %s", bp_status_name(status), bp_last_error());
    }
    check_memory(t, status == BP_OK || failed_late(t, status), "the call with a failing allocation");
    restore(t, FIRST);
    keep_before(t);
}

static void check_call(trial *t) {
    source *s = &t->source;
    const bp_options *set = chance(s, 3) ? NULL : options[draw(s, SETTINGS)];
    const bool once = in_place(t) || sparse_and_kept(t);
    const int ways = draw(s, 16);
    keep_before(t);
    if (ways == 15 && !once) {
        run_short_of_memory(t, set);
    }
    if (ways == 14) {
        explain(t, set, BP_E_ARGUMENT);
    }
    const bp_status status = run(t, set);
    if (status == BP_OK) {
        keep_results(t);
    }
    run_compact(t, status);
    if (status == BP_OK && !once) {
        run_again(t, set);
        if (ways < 4 || t->source.zero_at >= 0) {
            run_plan(t, set);
        }
    }
    if (ways == 4 || t->source.zero_at >= 0) {
        explain(t, set, status);
    }
}

static trial present;

void print_trial(void) {
    print_call(&present);
}

void begin_trial(trial *t, const family *f, const uint8_t *bytes, size_t size, uint64_t seed, int zero_at) {
    memset(t, 0, sizeof *t);
    t->family = f;
    t->seed = seed;
    t->source = (source){bytes, size, seed * 0x2545f4914f6cdd1du + 1, zero_at, 0, false};
    t->source.wild = chance(&t->source, 16);
    f->make(t);
}

int run_trial(const family *f, const uint8_t *bytes, size_t size, uint64_t seed, int zero_at, int *sizes,
              unsigned long long *calls) {
    trial *t = &present;
    begin_trial(t, f, bytes, size, seed, zero_at);
    *sizes = t->source.drawn;
    if (!t->invalid) {
        ++*calls;
        place_all(t);
        check_call(t);
        release_all(t);
    }
    return t->findings;
}
