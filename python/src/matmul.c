/* matmul.c - runs matrix products for Python, without the interpreter's lock. */
#include "core.h"

#include <string.h>

/* ---- Arguments ---- */

static const char *const transform_names[] = {[BP_AS_IS] = "as_is",
                                              [BP_TRANSPOSE] = "transpose",
                                              [BP_CONJUGATE_TRANSPOSE] = "conjugate_transpose",
                                              [BP_CONJUGATE] = "conjugate"};

static bool transform_from(core_state *state, const char *word, const char *name, bp_transform *transform) {
    for (int i = 0; i < (int)(sizeof transform_names / sizeof *transform_names); i++) {
        if (strcmp(word, transform_names[i]) == 0) {
            *transform = (bp_transform)i;
            return true;
        }
    }
    core_refuse(state, state->bad_value, BP_E_ARGUMENT,
                "%s: '%s' is not accepted; it takes as_is, transpose, conjugate_transpose or conjugate", name, word);
    return false;
}

/* Converts by complex(number), which accepts every number type, including NumPy's. Text is refused: complex() parses
 * it. */
static bool scalar_from(PyObject *number, bp_scalar *scalar) {
    PyObject *value = PyUnicode_Check(number)
                          ? PyErr_Format(PyExc_TypeError, "a factor must be a number, not %R", number)
                          : PyObject_CallFunctionObjArgs((PyObject *)&PyComplex_Type, number, NULL);
    if (value) {
        scalar->re = PyComplex_RealAsDouble(value);
        scalar->im = PyComplex_ImagAsDouble(value);
        Py_DECREF(value);
    }
    return value != NULL;
}

/* Results of PyArg_ParseTupleAndKeywords; borrowed references. */
typedef struct arguments {
    PyObject *a, *b, *c, *alpha, *beta, *settings;
    const char *transform_a, *transform_b;
} arguments;

static bool parse(arguments *given, bool gemm, PyObject *values, PyObject *names) {
    static char *for_matmul[] = {"", "", "out", "settings", NULL};
    static char *for_gemm[] = {"", "", "c", "alpha", "beta", "transform_a", "transform_b", "settings", NULL};
    *given = (arguments){.c = Py_None, .transform_a = "as_is", .transform_b = "as_is"};
    return gemm ? PyArg_ParseTupleAndKeywords(values, names, "OO|O$OOssO:gemm", for_gemm, &given->a, &given->b,
                                              &given->c, &given->alpha, &given->beta, &given->transform_a,
                                              &given->transform_b, &given->settings)
                : PyArg_ParseTupleAndKeywords(values, names, "OO|OO:matmul", for_matmul, &given->a, &given->b,
                                              &given->c, &given->settings);
}

static bool read_factors(product *of, const arguments *given) {
    of->alpha = (bp_scalar){1, 0};
    of->beta = (bp_scalar){0, 0};
    return transform_from(of->state, given->transform_a, "transform_a", &of->transform_a) &&
           transform_from(of->state, given->transform_b, "transform_b", &of->transform_b) &&
           (!given->alpha || scalar_from(given->alpha, &of->alpha)) &&
           (!given->beta || scalar_from(given->beta, &of->beta));
}

/* ---- The result's shape ---- */

/* Fills a view with the shape of op(factor). */
static void transformed(const operand *factor, bp_transform transform, bp_view *view) {
    int last = factor->tensor.ndim - 1;
    memcpy(view->shape, factor->shape, sizeof view->shape);
    memcpy(view->strides, factor->strides, sizeof view->strides);
    if (last > 0 && (transform == BP_TRANSPOSE || transform == BP_CONJUGATE_TRANSPOSE)) {
        view->shape[last] = factor->shape[last - 1];
        view->shape[last - 1] = factor->shape[last];
        view->strides[last] = factor->strides[last - 1];
        view->strides[last - 1] = factor->strides[last];
    }
    view->tensor = factor->tensor;
    view->tensor.shape = view->shape;
    view->tensor.strides = view->strides;
}

static bool shape_result(product *of) {
    bp_view a, b;
    int ndim = 0;
    if (of->gemm && (of->a.tensor.ndim < 2 || of->b.tensor.ndim < 2)) {
        core_refuse(of->state, of->state->bad_value, BP_E_SHAPE,
                    "gemm: a and b have %d and %d dimensions; they must have 2 or more", of->a.tensor.ndim,
                    of->b.tensor.ndim);
        return false;
    }
    transformed(&of->a, of->transform_a, &a);
    transformed(&of->b, of->transform_b, &b);
    bp_status status = bp_matmul_shape(&a.tensor, &b.tensor, &ndim, of->shape);
    if (status != BP_OK) {
        core_fail(of->state, status, NULL);
        return false;
    }
    of->out = (DLTensor){.device = {kDLCPU, 0}, .ndim = ndim, .dtype = of->a.tensor.dtype, .shape = of->shape};
    return true;
}

static unsigned access_of(const product *of) {
    return of->explains ? CORE_DESCRIBES : CORE_READS;
}

static bool place_result(product *of, PyObject *c) {
    if (c != Py_None) {
        of->given_c = core_operand(of->state, &of->c, c, of->gemm ? "c" : "out", access_of(of) | CORE_WRITES);
        of->out = of->c.tensor;
        return of->given_c;
    }
    if (of->beta.re != 0 || of->beta.im != 0) {
        core_refuse(of->state, of->state->bad_value, BP_E_ARGUMENT,
                    "gemm: beta is not 0, but c is None; it must be an array");
        return false;
    }
    return shape_result(of);
}

bool core_product(product *of, core_state *state, bool gemm, bool explains, PyObject *values, PyObject *names) {
    arguments given;
    of->state = state;
    of->gemm = gemm;
    of->explains = explains;
    of->given_c = false;
    of->a.buffer.obj = of->b.buffer.obj = of->c.buffer.obj = NULL;
    of->a.managed = of->b.managed = of->c.managed = NULL;
    of->a.versioned = of->b.versioned = of->c.versioned = NULL;
    of->a.aligned = of->b.aligned = of->c.aligned = NULL;
    of->options_owner = NULL;
    core_leave_dropped();
    if (!parse(&given, gemm, values, names)) {
        return false;
    }
    if (read_factors(of, &given) && core_options(state, given.settings, &of->options, &of->options_owner) &&
        core_operand(state, &of->a, given.a, "a", access_of(of)) &&
        core_operand(state, &of->b, given.b, "b", access_of(of)) && place_result(of, given.c)) {
        return true;
    }
    core_product_release(of);
    return false;
}

void core_product_release(product *of) {
    core_operand_release(&of->a);
    core_operand_release(&of->b);
    core_operand_release(&of->c);
    Py_CLEAR(of->options_owner);
}

/* ---- The call ---- */

static bp_status run(product *of) {
    core_unlocked unlocked;
    core_unlock(&unlocked);
    bp_status status = of->gemm ? bp_gemm_run(of->options, of->transform_a, of->transform_b, &of->alpha, &of->a.tensor,
                                              &of->b.tensor, &of->beta, &of->out)
                                : bp_matmul_run(of->options, &of->a.tensor, &of->b.tensor, &of->out);
    core_lock(&unlocked);
    return status;
}

/* Allocates the result, unless the caller gave an array. Returns false with an exception set. */
static bool give_memory(product *of, DLManagedTensorVersioned **memory) {
    *memory = NULL;
    if (of->given_c) {
        return true;
    }
    bp_status status = bp_tensor_empty(memory, bp_dtype_from_dlpack(of->out.dtype), of->out.ndim, of->out.shape, NULL);
    if (status != BP_OK) {
        core_fail(of->state, status, NULL);
        return false;
    }
    of->out = (*memory)->dl_tensor;
    return true;
}

static PyObject *result_of(const product *of, DLManagedTensorVersioned *memory) {
    PyObject *result = Py_None;
    if (memory) {
        result = core_tensor(of->state, memory);
    } else {
        Py_INCREF(result);
    }
    return result;
}

static PyObject *multiply(PyObject *module, bool gemm, PyObject *values, PyObject *names) {
    product of;
    DLManagedTensorVersioned *memory;
    PyObject *result = NULL;
    if (!core_product(&of, core_state_of(module), gemm, false, values, names)) {
        return NULL;
    }
    if (give_memory(&of, &memory)) {
        bp_status status = run(&of);
        if (status == BP_OK) {
            result = result_of(&of, memory);
        } else {
            core_fail_explained(of.state, status, core_product_explain, &of);
            if (memory) {
                memory->deleter(memory);
            }
        }
    }
    core_product_release(&of);
    return core_finish(of.state, result);
}

PyObject *core_matmul(PyObject *module, PyObject *values, PyObject *names) {
    return multiply(module, false, values, names);
}

PyObject *core_gemm(PyObject *module, PyObject *values, PyObject *names) {
    return multiply(module, true, values, names);
}
