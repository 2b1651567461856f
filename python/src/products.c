/* products.c - runs the products of linear algebra that are made of other operations for Python: vecdot, multi_dot and
 * matrix_power. Conversion of lists and integers is in python/backplane/_linalg_names.py. */
#include "core.h"

#include <string.h>

/* One call, from its arguments to its result. */
typedef struct chain {
    core_state *state;
    const struct kind *kind;
    core_operands operands;
    int64_t number; /* vecdot: the dimension; matrix_power: the power */
    bool given_out;
    bool explains;
    operand out;
    DLTensor result;
    int64_t shape[BP_MAX_NDIM];
    const bp_options *options;
    PyObject *options_owner;
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
    const DLTensor *const *t = of->operands.tensors;
    return bp_vecdot_shape(t[0], t[1], (int)of->number, ndim, shape);
}

static bp_status vecdot_run(chain *of) {
    const DLTensor *const *t = of->operands.tensors;
    return bp_vecdot_run(of->options, t[0], t[1], (int)of->number, &of->result);
}

static bp_status vecdot_explain(const chain *of, bp_explanation **explanation) {
    const DLTensor *const *t = of->operands.tensors;
    return bp_vecdot_explain(explanation, of->options, t[0], t[1], (int)of->number, &of->result);
}

/* ---- multi_dot ---- */

static bp_status multi_dot_shape(const chain *of, int *ndim, int64_t *shape) {
    return bp_multi_dot_shape(of->operands.count, of->operands.tensors, ndim, shape);
}

static bp_status multi_dot_run(chain *of) {
    return bp_multi_dot_run(of->options, of->operands.count, of->operands.tensors, &of->result);
}

static bp_status multi_dot_explain(const chain *of, bp_explanation **explanation) {
    return bp_multi_dot_explain(explanation, of->options, of->operands.count, of->operands.tensors, &of->result);
}

/* ---- matrix_power ---- */

static bp_status matrix_power_shape(const chain *of, int *ndim, int64_t *shape) {
    const DLTensor *a = of->operands.tensors[0];
    *ndim = a->ndim;
    memcpy(shape, a->shape, (size_t)a->ndim * sizeof *shape);
    return BP_OK;
}

static bp_status matrix_power_run(chain *of) {
    return bp_matrix_power_run(of->options, of->operands.tensors[0], of->number, &of->result);
}

static bp_status matrix_power_explain(const chain *of, bp_explanation **explanation) {
    return bp_matrix_power_explain(explanation, of->options, of->operands.tensors[0], of->number, &of->result);
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
static bool place_result(chain *of, PyObject *out, unsigned access) {
    if (out != Py_None) {
        of->given_out = core_operand(of->state, &of->out, out, "out", access | CORE_WRITES);
        of->result = of->out.tensor;
        return of->given_out;
    }
    int ndim;
    const bp_status status = of->kind->shape(of, &ndim, of->shape);
    if (status != BP_OK) {
        core_fail(of->state, status, NULL);
        return false;
    }
    of->result =
        (DLTensor){.device = {kDLCPU, 0}, .ndim = ndim, .dtype = of->operands.tensors[0]->dtype, .shape = of->shape};
    return true;
}

static bp_status explain(const void *context, bp_explanation **explanation) {
    const chain *of = context;
    return of->kind->explain(of, explanation);
}

/* Returns the result, or None if it is in the caller's array. */
static PyObject *run(chain *of) {
    core_result fresh = {0};
    const operand *like = core_operands_like(&of->operands);
    if (!of->given_out && !core_result_new(of->state, &fresh, &of->result, &like, 1)) {
        return NULL;
    }
    core_unlocked unlocked;
    core_unlock(&unlocked);
    bp_status status = of->kind->run(of);
    core_lock(&unlocked);
    if (status != BP_OK) {
        core_fail_explained(of->state, status, explain, of);
        core_result_drop(&fresh);
        return NULL;
    }
    if (!of->given_out) {
        return core_result_take(of->state, &fresh);
    }
    Py_RETURN_NONE;
}

static void release(chain *of) {
    core_operands_release(&of->operands);
    if (of->given_out) {
        core_operand_release(&of->out);
    }
    Py_CLEAR(of->options_owner);
}

/* Arguments: name, operands, dimension or power, out, settings, whether to explain. */
PyObject *core_product_chain(PyObject *module, PyObject *values) {
    chain of;
    const char *name;
    PyObject *arrays, *out, *settings, *result = NULL;
    long long number;
    int explains;
    if (!PyArg_ParseTuple(values, "sO!LOOp:product_chain", &name, &PyTuple_Type, &arrays, &number, &out, &settings,
                          &explains)) {
        return NULL;
    }
    of.state = core_state_of(module);
    of.number = number;
    of.given_out = false;
    of.explains = explains != 0;
    of.options = NULL;
    of.options_owner = NULL;
    core_operands_begin(&of.operands);
    core_leave_dropped();
    const unsigned access = of.explains ? CORE_DESCRIBES : CORE_READS;
    if (find_kind(&of, name, arrays) && core_options(of.state, settings, &of.options, &of.options_owner) &&
        core_operands_read(of.state, &of.operands, arrays, 0, access) && place_result(&of, out, access)) {
        result = of.explains ? core_explanation(of.state, explain, &of) : run(&of);
    }
    release(&of);
    return core_finish(of.state, result);
}
