/* products.c - runs the products of linear algebra that are made of other operations for Python: vecdot, multi_dot and
 * matrix_power. Conversion of lists and integers is in python/backplane/_linalg_names.py. */
#include "core.h"
#include "record.h"

#include <string.h>

/* One call, from its arguments to its result. */
typedef struct chain {
    core_call call; /* must be first */
    const struct kind *kind;
    int64_t number; /* vecdot: the dimension; matrix_power: the power */
} chain;

typedef struct kind {
    const char *name;
    int operands; /* 0: any number */
    bp_status (*shape)(const chain *of, int *ndim, int64_t *shape);
    bp_status (*run)(chain *of);
    bp_status (*explain)(const chain *of, bp_explanation **explanation);
} kind;

/* ---- vecdot ---- */

static bp_status vecdot_shape(const chain *of, int *ndim, int64_t *shape) {
    const DLTensor *const *t = of->call.operands.tensors;
    return bp_vecdot_shape(t[0], t[1], (int)of->number, ndim, shape);
}

static bp_status vecdot_run(chain *of) {
    const DLTensor *const *t = of->call.operands.tensors;
    return bp_vecdot_run(of->call.options, t[0], t[1], (int)of->number, &of->call.result);
}

static bp_status vecdot_explain(const chain *of, bp_explanation **explanation) {
    const DLTensor *const *t = of->call.operands.tensors;
    return bp_vecdot_explain(explanation, of->call.options, t[0], t[1], (int)of->number, &of->call.result);
}

/* ---- multi_dot ---- */

static bp_status multi_dot_shape(const chain *of, int *ndim, int64_t *shape) {
    return bp_multi_dot_shape(of->call.operands.count, of->call.operands.tensors, ndim, shape);
}

static bp_status multi_dot_run(chain *of) {
    return bp_multi_dot_run(of->call.options, of->call.operands.count, of->call.operands.tensors, &of->call.result);
}

static bp_status multi_dot_explain(const chain *of, bp_explanation **explanation) {
    return bp_multi_dot_explain(explanation, of->call.options, of->call.operands.count, of->call.operands.tensors,
                                &of->call.result);
}

/* ---- matrix_power ---- */

static bp_status matrix_power_shape(const chain *of, int *ndim, int64_t *shape) {
    const DLTensor *a = of->call.operands.tensors[0];
    *ndim = a->ndim;
    memcpy(shape, a->shape, (size_t)a->ndim * sizeof *shape);
    return BP_OK;
}

static bp_status matrix_power_run(chain *of) {
    return bp_matrix_power_run(of->call.options, of->call.operands.tensors[0], of->number, &of->call.result);
}

static bp_status matrix_power_explain(const chain *of, bp_explanation **explanation) {
    return bp_matrix_power_explain(explanation, of->call.options, of->call.operands.tensors[0], of->number,
                                   &of->call.result);
}

static const kind kinds[] = {
    {"vecdot", 2, vecdot_shape, vecdot_run, vecdot_explain},
    {"multi_dot", 0, multi_dot_shape, multi_dot_run, multi_dot_explain},
    {"matrix_power", 1, matrix_power_shape, matrix_power_run, matrix_power_explain},
};

/* ---- The call ---- */

static bool find_kind(chain *of, const char *name, PyObject *arrays) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            of->kind = &kinds[i];
            const bool fits = kinds[i].operands == 0 || PyTuple_Size(arrays) == kinds[i].operands;
            if (!fits) {
                PyErr_Format(PyExc_ValueError, "%s takes %d arrays", name, kinds[i].operands);
            }
            return fits;
        }
    }
    PyErr_Format(PyExc_ValueError, "product '%s' is unknown", name);
    return false;
}

/* Determines the result's tensor. If the caller gives no memory, it has no address yet. */
static bool place_result(chain *of, PyObject *out) {
    core_call *call = &of->call;
    if (out != Py_None) {
        return core_call_out(call, out);
    }
    int ndim;
    const bp_status status = of->kind->shape(of, &ndim, call->shape);
    if (status != BP_OK) {
        core_fail(call->state, status, NULL);
        return false;
    }
    call->result = (DLTensor){.device = call->operands.tensors[0]->device,
                              .ndim = ndim,
                              .dtype = call->operands.tensors[0]->dtype,
                              .shape = call->shape};
    return true;
}

static bp_status explain_chain(const void *context, bp_explanation **explanation) {
    const chain *of = context;
    return of->kind->explain(of, explanation);
}

static bp_status run_chain(core_call *call) {
    chain *of = (chain *)call;
    return of->kind->run(of);
}

/* Arguments: name, operands, dimension or power, out, settings, whether to explain. */
PyObject *core_product_chain(PyObject *module, PyObject *values) {
    CORE_RECORDED(module, "product_chain", values, NULL);
    chain of;
    core_call *call = &of.call;
    const char *name;
    PyObject *arrays, *out, *settings, *result = NULL;
    long long number;
    int explains;
    if (!PyArg_ParseTuple(values, "sO!LOOp:product_chain", &name, &PyTuple_Type, &arrays, &number, &out, &settings,
                          &explains)) {
        return NULL;
    }
    of.number = number;
    core_call_begin(call, core_state_of(module), explains != 0);
    if (find_kind(&of, name, arrays) && core_options(call->state, settings, &call->options, &call->options_owner) &&
        core_operands_read(call->state, &call->operands, arrays, 0, core_call_access(call)) && place_result(&of, out)) {
        result = explains ? core_explanation(call->state, explain_chain, &of)
                          : core_call_run(call, run_chain, explain_chain);
    }
    core_call_release(call);
    return core_finish(call->state, result);
}
