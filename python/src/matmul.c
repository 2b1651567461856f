/* matmul.c - runs matrix products for Python, without the interpreter's lock. */
#include "core.h"
#include "record.h"

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

bool core_product_parse(product_arguments *given, bool gemm, PyObject *values, PyObject *names) {
    static char *for_matmul[] = {"input", "other", "out", "settings", NULL};
    static char *for_gemm[] = {"", "", "c", "alpha", "beta", "transform_a", "transform_b", "settings", NULL};
    *given = (product_arguments){.c = Py_None, .transform_a = "as_is", .transform_b = "as_is"};
    return gemm ? PyArg_ParseTupleAndKeywords(values, names, "OO|O$OOssO:gemm", for_gemm, &given->a, &given->b,
                                              &given->c, &given->alpha, &given->beta, &given->transform_a,
                                              &given->transform_b, &given->settings)
                : PyArg_ParseTupleAndKeywords(values, names, "OO|$OO:matmul", for_matmul, &given->a, &given->b,
                                              &given->c, &given->settings);
}

static bool read_factors(product *of, const product_arguments *given) {
    of->alpha = (bp_scalar){1, 0};
    of->beta = (bp_scalar){0, 0};
    return transform_from(of->state, given->transform_a, "transform_a", &of->transform_a) &&
           transform_from(of->state, given->transform_b, "transform_b", &of->transform_b) &&
           (!given->alpha || scalar_from(given->alpha, &of->alpha)) &&
           (!given->beta || scalar_from(given->beta, &of->beta));
}

/* ---- The result's shape ---- */

/* Returns the tensor of op(factor), which is the factor's own unless the last two dimensions change places. */
static const DLTensor *transformed(const operand *factor, bp_transform transform, bp_view *view) {
    const int ndim = factor->tensor.ndim, last = ndim - 1;
    if (last <= 0 || (transform != BP_TRANSPOSE && transform != BP_CONJUGATE_TRANSPOSE)) {
        return &factor->tensor;
    }
    memcpy(view->shape, factor->shape, (size_t)ndim * sizeof *view->shape);
    memcpy(view->strides, factor->strides, (size_t)ndim * sizeof *view->strides);
    view->shape[last] = factor->shape[last - 1];
    view->shape[last - 1] = factor->shape[last];
    view->strides[last] = factor->strides[last - 1];
    view->strides[last - 1] = factor->strides[last];
    view->tensor = factor->tensor;
    view->tensor.shape = view->shape;
    view->tensor.strides = view->strides;
    return &view->tensor;
}

static bool shape_result(product *of) {
    bp_view view_a, view_b;
    int ndim = 0;
    if (of->gemm && (of->a.tensor.ndim < 2 || of->b.tensor.ndim < 2)) {
        core_refuse(of->state, of->state->bad_value, BP_E_SHAPE,
                    "gemm: a and b have %d and %d dimensions; they must have 2 or more", of->a.tensor.ndim,
                    of->b.tensor.ndim);
        return false;
    }
    const DLTensor *a = transformed(&of->a, of->transform_a, &view_a);
    const DLTensor *b = transformed(&of->b, of->transform_b, &view_b);
    bp_status status = bp_matmul_shape(a, b, &ndim, of->shape);
    if (status != BP_OK) {
        core_fail(of->state, status, NULL);
        return false;
    }
    bp_dtype dtype = bp_matmul_dtype(a, b);
    of->out =
        (DLTensor){.device = of->a.tensor.device, .ndim = ndim, .dtype = bp_dtype_to_dlpack(dtype), .shape = of->shape};
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

static bool check_floats(const product *of, const product_arguments *given) {
    const DLDataType type = of->a.tensor.dtype;
    if (given->floats && (type.code == kDLInt || type.code == kDLUInt)) {
        core_refuse(of->state, of->state->bad_type, BP_E_DTYPE, "matmul: a has integers; it must have another type");
        return false;
    }
    return true;
}

bool core_product(product *of, core_state *state, bool gemm, bool explains, const product_arguments *given) {
    of->state = state;
    of->gemm = gemm;
    of->explains = explains;
    of->given_c = false;
    of->options_owner = NULL;
    core_operand_clear(&of->a);
    core_operand_clear(&of->b);
    core_operand_clear(&of->c);
    core_leave_dropped();
    if (read_factors(of, given) && core_options(state, given->settings, &of->options, &of->options_owner) &&
        core_operand(state, &of->a, given->a, "a", access_of(of)) &&
        core_operand(state, &of->b, given->b, "b", access_of(of)) && check_floats(of, given) &&
        place_result(of, given->c)) {
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

static bp_status run_product(product *of) {
    const DLTensor *const tensors[] = {&of->a.tensor, &of->b.tensor, &of->out};
    core_unlocked unlocked;
    core_unlock_for(&unlocked, tensors, 3);
    bp_status status = of->gemm ? bp_gemm_run(of->options, of->transform_a, of->transform_b, &of->alpha, &of->a.tensor,
                                              &of->b.tensor, &of->beta, &of->out)
                                : bp_matmul_run(of->options, &of->a.tensor, &of->b.tensor, &of->out);
    core_lock(&unlocked);
    return status;
}

/* The product in the type that the operands have, or the caller's array after it was written. */
static PyObject *compute_product(product *of, PyObject *c) {
    const operand *const operands[] = {&of->a, &of->b};
    core_result result = {0};
    if (!of->given_c && !core_result_new(of->state, &result, &of->out, operands, 2)) {
        return NULL;
    }
    bp_status status = run_product(of);
    if (status != BP_OK) {
        core_fail_explained(of->state, status, core_product_explain, of);
        core_result_drop(&result);
        return NULL;
    }
    if (!of->given_c) {
        return core_result_take(of->state, &result);
    }
    Py_INCREF(c);
    return c;
}

/* Results for arrays of other libraries are Tensors so far. */
static PyObject *converted(core_state *state, PyObject *result, const product_arguments *given) {
    if (!result || (PyObject *)Py_TYPE(result) != state->tensor_type || result == given->c || !state->convert) {
        return result;
    }
    PyObject *made = PyObject_CallFunctionObjArgs(state->convert, result, given->a, given->b, NULL);
    Py_DECREF(result);
    return made;
}

static PyObject *multiply(core_state *state, bool gemm, const product_arguments *given) {
    product of;
    PyObject *result = NULL;
    if (core_product(&of, state, gemm, false, given)) {
        result = compute_product(&of, given->c);
        core_product_release(&of);
    }
    return converted(state, core_finish(state, result), given);
}

/* Two arrays, `out` and `settings`. False for anything else, without an exception. */
static bool read_vector(core_state *state, product_arguments *given, PyObject *const *values, Py_ssize_t count,
                        PyObject *names) {
    Py_ssize_t named = names ? PyTuple_Size(names) : 0;
    *given = (product_arguments){.c = Py_None, .transform_a = "as_is", .transform_b = "as_is"};
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        if (name != state->word_out && name != state->word_settings) {
            return false;
        }
        *(name == state->word_out ? &given->c : &given->settings) = values[count + i];
    }
    if (count == 2) {
        given->a = values[0];
        given->b = values[1];
    }
    return count == 2;
}

/* The arguments as a tuple and a dict, for messages about what is wrong with them, and for names that are not interned.
 */
static bool read_slowly(product_arguments *given, PyObject *const *values, Py_ssize_t count, PyObject *names) {
    PyObject *tuple = PyTuple_New(count), *dict = PyDict_New();
    bool fine = tuple && dict;
    for (Py_ssize_t i = 0; fine && i < count; i++) {
        Py_INCREF(values[i]);
        fine = PyTuple_SetItem(tuple, i, values[i]) == 0;
    }
    for (Py_ssize_t i = 0; fine && names && i < PyTuple_Size(names); i++) {
        fine = PyDict_SetItem(dict, PyTuple_GetItem(names, i), values[count + i]) == 0;
    }
    fine = fine && core_product_parse(given, false, tuple, dict);
    Py_XDECREF(tuple); /* the caller holds what the two have held */
    Py_XDECREF(dict);
    return fine;
}

/* Tries a product that a TypeError ended again, with factors that the package converts: lists, integers, mixed types.
 * If there is nothing to convert it returns None, and the error stays. `words` are the arguments of gemm by name; None
 * for matmul. */
static PyObject *multiply_again(core_state *state, const product_arguments *given, PyObject *words) {
    PyObject *type, *value, *traceback;
    if (!state->convert_factors || !PyErr_ExceptionMatches(PyExc_TypeError)) {
        return NULL;
    }
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *settings = given->settings ? given->settings : Py_None;
    PyObject *result =
        PyObject_CallFunctionObjArgs(state->convert_factors, given->a, given->b, given->c, settings, words, NULL);
    if (result != Py_None) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return result;
    }
    Py_DECREF(result);
    PyErr_Restore(type, value, traceback);
    return NULL;
}

static PyObject *matmul(PyObject *module, bool floats, PyObject *const *values, Py_ssize_t count, PyObject *names) {
    product_arguments given;
    core_state *state = core_state_of(module);
    if (!read_vector(state, &given, values, count, names) && !read_slowly(&given, values, count, names)) {
        return NULL;
    }
    given.floats = floats;
    PyObject *result = multiply(state, false, &given);
    return result || floats ? result : multiply_again(state, &given, Py_None);
}

PyObject *core_matmul(PyObject *module, PyObject *const *values, Py_ssize_t count, PyObject *names) {
    CORE_RECORDED_VECTOR(module, "matmul", values, count, names);
    return matmul(module, false, values, count, names);
}

PyObject *core_matmul_floats(PyObject *module, PyObject *const *values, Py_ssize_t count, PyObject *names) {
    CORE_RECORDED_VECTOR(module, "matmul_floats", values, count, names);
    return matmul(module, true, values, count, names);
}

PyObject *core_gemm(PyObject *module, PyObject *values, PyObject *names) {
    CORE_RECORDED(module, "gemm", values, names);
    product_arguments given;
    core_state *state = core_state_of(module);
    if (!core_product_parse(&given, true, values, names)) {
        return NULL;
    }
    PyObject *result = multiply(state, true, &given);
    if (result) {
        return result;
    }
    PyObject *words = names ? names : PyDict_New();
    result = words ? multiply_again(state, &given, words) : NULL;
    if (words != names) {
        Py_XDECREF(words);
    }
    return result;
}

PyObject *core_set_convert_factors(PyObject *module, PyObject *function) {
    core_state *state = core_state_of(module);
    Py_INCREF(function);
    Py_XDECREF(state->convert_factors);
    state->convert_factors = function;
    Py_RETURN_NONE;
}

PyObject *core_set_convert(PyObject *module, PyObject *function) {
    core_state *state = core_state_of(module);
    Py_INCREF(function);
    Py_XDECREF(state->convert);
    state->convert = function;
    Py_RETURN_NONE;
}
