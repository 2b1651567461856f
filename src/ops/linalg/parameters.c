/* parameters.c - checks the parameters of a linear-algebra call: flags, mode, order, tolerances.
 *
 * A field that the operation does not use must be zero, so that a request is never ignored. */
#include "ops/linalg/linalg.h"
#include "base/number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

bp_status bp__linalg_fail(const bp__linalg_entry *entry, bp_status status, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    bp__format_v(text, sizeof text, format, args);
    va_end(args);
    return bp__fail(status, "linalg.%s: %s", bp_op_name(entry->op), text);
}

static bp_status check_flags(const bp__linalg_entry *entry, const bp_linalg_call *call) {
    const struct {
        const char *name;
        bool set;
        unsigned bit;
    } flags[] = {
        {"upper", call->upper != 0, BP__TAKES_UPPER},
        {"right", call->right != 0, BP__TAKES_RIGHT},
        {"adjoint", call->adjoint != 0, BP__TAKES_ADJOINT},
        {"unitriangular", call->unitriangular != 0, BP__TAKES_UNIT},
        {"hermitian", call->hermitian != 0, BP__TAKES_HERMITIAN},
        {"fail_on_item_error", call->fail_on_item_error != 0, BP__TAKES_CHECK},
        {"rtol", call->rtol != NULL, BP__TAKES_RTOL},
        {"atol", call->atol != NULL, BP__TAKES_ATOL},
        {"axes", call->axes != NULL || call->axis_count != 0, BP__TAKES_DIMS},
        {"keep", call->keep != 0, BP__TAKES_KEEP},
    };
    for (int i = 0; i < BP__COUNT(flags); i++) {
        if (flags[i].set && !(entry->takes & flags[i].bit)) {
            return bp__linalg_fail(entry, BP_E_ARGUMENT, "%s is set; this operation does not use it", flags[i].name);
        }
    }
    if (call->upper && (entry->takes & BP__TAKES_HERMITIAN) && !call->hermitian) {
        return bp__linalg_fail(entry, BP_E_ARGUMENT,
                               "upper is set; it requires hermitian, because it selects the triangle to read");
    }
    return BP_OK;
}

static bp_status check_tolerance(const bp__linalg_entry *entry, const char *name, const double *value) {
    if (entry->op == BP_OP_LSTSQ) {
        return !value || !isnan(*value)
                   ? BP_OK
                   : bp__linalg_fail(entry, BP_E_ARGUMENT,
                                     "rcond is nan; it must be 0 or more, or negative for the machine precision");
    }
    if (value && !(*value >= 0.0)) {
        return bp__linalg_fail(entry, BP_E_ARGUMENT, "%s is %g; it must be 0 or more", name, *value);
    }
    return BP_OK;
}

static bool is_norm_order(double order) {
    double size = fabs(order);
    return size == 1.0 || size == 2.0 || (isinf(order) && size > 0.0);
}

static bp_status read_mode(bp__linalg_facts *facts) {
    const bp__linalg_entry *entry = facts->entry;
    bp_linalg_mode mode = facts->call->mode;
    bool normal = mode == BP_MODE_DEFAULT;
    if (!normal && (mode < entry->first || mode > entry->last)) {
        return entry->first == BP_MODE_DEFAULT
                   ? bp__linalg_fail(entry, BP_E_ARGUMENT, "mode is %d; this operation has none, so it must be 0",
                                     (int)mode)
                   : bp__linalg_fail(entry, BP_E_ARGUMENT, "mode is %d; it must be 0 or from %d to %d", (int)mode,
                                     (int)entry->first, (int)entry->last);
    }
    facts->mode = normal ? entry->standard : mode;
    facts->order = normal && facts->mode == BP_NORM_P ? 2.0 : facts->call->order;
    if (facts->call->order != 0.0 && mode != BP_NORM_P) {
        return bp__linalg_fail(entry, BP_E_ARGUMENT, "order is %g; it must be 0 unless mode is BP_NORM_P",
                               facts->call->order);
    }
    if (entry->op == BP_OP_VECTOR_NORM) {
        return isnan(facts->order)
                   ? bp__linalg_fail(entry, BP_E_ARGUMENT, "order is nan; it must be a number, inf or -inf")
                   : BP_OK;
    }
    if (facts->mode == BP_NORM_P && !is_norm_order(facts->order)) {
        return bp__linalg_fail(entry, BP_E_ARGUMENT, "order is %g; it must be 1, -1, 2, -2, inf or -inf", facts->order);
    }
    return BP_OK;
}

/* Refuses tensors beyond the number of the operation's. */
static bp_status check_counts(const bp__linalg_entry *entry, const bp_linalg_call *call) {
    const int outputs = entry->count - entry->inputs;
    for (int i = entry->inputs; i < BP_LINALG_INPUTS; i++) {
        if (call->input[i]) {
            return bp__linalg_fail(entry, BP_E_ARGUMENT, "input[%d] is set; the number of inputs is %d", i,
                                   entry->inputs);
        }
    }
    for (int i = outputs; i < BP_LINALG_OUTPUTS; i++) {
        if (call->output[i]) {
            return bp__linalg_fail(entry, BP_E_ARGUMENT, "output[%d] is set; the number of outputs is %d", i, outputs);
        }
    }
    return BP_OK;
}

bp_status bp__linalg_parameters(bp__linalg_facts *facts, const bp_linalg_call *call) {
    const bp__linalg_entry *entry = bp__linalg_entry_of(call->op);
    if (!entry) {
        return bp__fail(BP_E_ARGUMENT, "operation %d ('%s') is not one of linear algebra", (int)call->op,
                        bp_op_name(call->op));
    }
    facts->entry = entry;
    facts->call = call;
    BP__TRY(check_flags(entry, call));
    BP__TRY(check_tolerance(entry, "rtol", call->rtol));
    BP__TRY(check_tolerance(entry, "atol", call->atol));
    BP__TRY(check_counts(entry, call));
    BP__TRY(read_mode(facts));
    return call->rtol && facts->mode == BP_LSTSQ_GELS
               ? bp__linalg_fail(entry, BP_E_ARGUMENT, "rtol (rcond) is set; the driver gels does not use it")
               : BP_OK;
}

void bp__linalg_tolerances(const bp__linalg_facts *facts, double *rtol, double *atol) {
    const bp_linalg_call *call = facts->call;
    bool takes = (facts->entry->takes & BP__TAKES_RTOL) && facts->mode != BP_LSTSQ_GELS;
    bool wide = facts->dtype == BP_F64 || facts->dtype == BP_C128;
    double epsilon = wide ? DBL_EPSILON : (double)FLT_EPSILON;
    *atol = call->atol ? *call->atol : 0.0;
    double usual = *atol > 0.0 ? 0.0 : epsilon * (double)(facts->m > facts->n ? facts->m : facts->n);
    *rtol = !takes ? 0.0 : call->rtol ? *call->rtol : usual;
    if (*rtol < 0.0) { /* only rcond may be negative: LAPACK then uses its machine precision, the unit roundoff */
        *rtol = epsilon / 2;
    }
}
