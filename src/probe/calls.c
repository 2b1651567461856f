/* calls.c - makes the calls that are measured: a plan for a point of a class, and its operands. */
#include "probe/measure.h"

#include "dispatch/trial.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_BYTES = 8 << 20, MOST_BYTES = 1 << 30, ALIGNMENT = 64 };

/* The described operands: large, and needed only while a call is made. */
static bp__trial trial;

/* Memory of the operands, kept from point to point: new memory for each would take longer than the measurement. */
static struct kept {
    char *block;
    size_t bytes;
    bp_dtype dtype;
    bp__values values; /* that fill the whole block */
    bool filled;
} kept[BP__TRIAL_OPERANDS];

/* Whether any part of the values is right for any size. */
static bool is_uniform(const bp__trial_operand *o) {
    return o->values == BP__VALUES_ANY || o->values == BP__VALUES_POSITIVE;
}

static char *memory_of(int operand, bp__trial_operand *o) {
    struct kept *k = &kept[operand];
    const bool same = k->filled && k->dtype == o->dtype && k->values == o->values;
    if (k->bytes < o->size) {
        free(k->block);
        k->bytes = o->size > LEAST_BYTES ? o->size : LEAST_BYTES;
        k->block = aligned_alloc(ALIGNMENT, (k->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
        if (!k->block) {
            _Exit(3);
        }
    } else if (same && is_uniform(o)) {
        return k->block;
    }
    k->dtype = o->dtype;
    k->values = o->values;
    k->filled = is_uniform(o);
    if (is_uniform(o)) {
        bp__trial_operand whole = *o;
        whole.size = k->bytes;
        bp__trial_write(&trial, &whole, k->block);
    } else {
        bp__trial_write(&trial, o, k->block);
    }
    return k->block;
}

/* Outputs have values too, which maps their memory before the first run. */
static bool make_operands(call *one) {
    if (bp__trial_describe(&trial, &one->problem) != BP_OK || trial.compute) {
        return false;
    }
    one->count = trial.count;
    for (int i = 0; i < trial.count; i++) {
        bp__trial_operand *o = &trial.operand[i];
        if (!bp__trial_measure_span(o, MOST_BYTES)) {
            return false;
        }
        if (o->present && o->same == i) {
            one->operands[i] = (bp_operand){memory_of(i, o) + o->first, 0};
        } else if (o->present) {
            one->operands[i] = one->operands[o->same];
        }
    }
    return true;
}

/* Packs the operands that the settings name. */
static bool pack(call *one) {
    const uint32_t wanted = one->problem.policy.packed;
    for (int i = 0; i < one->count && wanted >> i; i++) {
        if (wanted >> i & 1) {
            if (bp_plan_pack(&one->packed[i], one->plan, i, &one->operands[i]) != BP_OK) {
                return false;
            }
            one->is_packed = true;
        }
    }
    return true;
}

void call_add_preferences(bp__text *text, const bp__class *class, const char *candidate) {
    const bp_problem problem = {.op = class->op};
    const bp__family *own = bp__family_of(&problem);
    for (int i = 0; i < BP__FAMILIES; i++) {
        const bp__family *family = bp__family_at(i);
        const char *algorithm = family == own ? class->algorithm : NULL;
        if (family->preferred) {
            bp__text_addf(text, ",%s=%s%s%s", bp_setting_at(family->preference)->name, candidate, algorithm ? ":" : "",
                          algorithm ? algorithm : "");
        }
    }
}

bool call_make(call *one, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS],
               const bp_options *options) {
    bp__call_scope scope;
    *one = (call){0};
    bp_status status = bp__sample_make(&one->problem, class, sizes);
    if (status == BP_OK) {
        bp__call_enter(&scope, options);
        status = bp__policy_resolve(&one->problem.policy, bp__family_of(&one->problem));
        status = status == BP_OK ? bp__plan_make(&one->plan, &one->problem, NULL) : status;
        bp__call_leave(&scope);
    }
    return status == BP_OK && make_operands(one) && pack(one);
}

void call_free(call *one) {
    bp_plan_release(one->plan);
    for (int i = 0; i < one->count; i++) {
        bp_packed_release(one->packed[i]);
    }
    *one = (call){0};
}
