/* module.c - defines the module backplane._core: functions, state, start and end. */
#include "core.h"
#include "distributed.h"
#include "record.h"

#include <string.h>

core_state *core_state_of(PyObject *module) {
    return PyModule_GetState(module);
}

core_state *core_state_of_object(PyObject *object) {
    return PyType_GetModuleState(Py_TYPE(object));
}

PyObject *core_text(const char *text) {
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");
}

PyObject *core_bytes(core_state *state, PyObject *text, const char *name) {
    char *start;
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape");
    if (bytes && PyBytes_AsStringAndSize(bytes, &start, NULL) != 0) { /* fails if there is a NUL inside */
        Py_CLEAR(bytes);
    }
    if (!bytes && PyErr_ExceptionMatches(PyExc_ValueError)) {
        PyErr_Clear();
        return core_refuse(state, state->bad_value, BP_E_BAD_VALUE,
                           "%s: text with a NUL or with half of a surrogate pair is not accepted", name);
    }
    return bytes;
}

void core_append(PyObject **list, PyObject *item) {
    if (!item || PyList_Append(*list, item) != 0) {
        Py_CLEAR(*list);
    }
    Py_XDECREF(item);
}

PyObject *core_no_new(PyTypeObject *type, PyObject *arguments, PyObject *names) {
    (void)arguments;
    (void)names;
    PyErr_Format(PyExc_TypeError, "%R is not made by calling it", type);
    return NULL;
}

static PyObject *freeze(PyObject *module, PyObject *unused) {
    (void)unused;
    core_state_of(module)->frozen = true;
    Py_RETURN_NONE;
}

static PyObject *is_frozen(PyObject *module, PyObject *unused) {
    (void)unused;
    return PyBool_FromLong(core_state_of(module)->frozen);
}

static PyObject *cpu_capability(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return core_text(bp_cpu_capability());
}

#define WITH_NAMES(function) (PyCFunction)(void (*)(void)) function, METH_VARARGS | METH_KEYWORDS
#define AS_VECTOR(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL | METH_KEYWORDS

static PyMethodDef functions[] = {
    {"matmul", AS_VECTOR(core_matmul),
     "matmul(input, other, *, out=None, settings=None)\n--\n\n"
     "Computes a @ b with the shape rules of numpy.matmul.\n\n"
     "``(m,k) @ (k,n) -> (m,n)``; ``(k) @ (k,n) -> (n)``; ``(m,k) @ (k) -> (m)``; ``(k) @ (k) -> ()``; leading\n"
     "dimensions are a batch and broadcast. Scalars are an error.\n\n"
     "Element types: f16, bf16, f32, f64, c64, c128, the same for all. f16 and bf16 are summed in f32 and rounded\n"
     "once at the end. The product of int8 and uint8 arrays, in any combination, is int32, exact modulo 2**32;\n"
     "numpy.matmul instead wraps to 8 bits. NumPy computes products of other integers. Lists become NumPy arrays, and "
     "NumPy\n"
     "arrays of mixed types get one type. Arrays of any strides are read in place; an unaligned array is\n"
     "copied, and an unaligned ``out`` copied back. The result is a NumPy array or a torch tensor like the first input "
     "that is one, otherwise\n"
     "a backplane.Tensor. ``out`` is written in place and returned; it must not overlap an input. ``settings`` is a\n"
     "dict of dotted names, or backplane.Options, for this call only.\n\n"
     ">>> matmul(np.arange(6.0).reshape(2, 3), np.ones(3))\n"
     "array([ 3., 12.])"},
    {"matmul_floats", AS_VECTOR(core_matmul_floats), "As matmul(); integers are a TypeError."},
    {"gemm", WITH_NAMES(core_gemm),
     "gemm(a, b, /, c=None, *, alpha=1.0, beta=0.0, transform_a='as_is', transform_b='as_is', settings=None)\n--\n\n"
     "Computes alpha * op(a) @ op(b) + beta * c, the BLAS operation for any strides.\n\n"
     "``transform_a`` and ``transform_b`` are as_is, transpose, conjugate_transpose or conjugate. All arrays have\n"
     "rank 2, or rank 2 plus batch dimensions; a's and b's broadcast. ``c`` is overwritten in place and\n"
     "returned. Without it, the result is a new array and beta must be 0. If beta is 0, c is not read. For real\n"
     "matrices alpha and beta must be real. Types, strides, results and settings are as in matmul().\n\n"
     ">>> gemm(np.eye(2), np.ones((2, 2)), np.ones((2, 2)), alpha=2.0, beta=1.0)\n"
     "array([[3., 3.],\n       [3., 3.]])"},
    {"set_convert_factors", core_set_convert_factors, METH_O,
     "Sets the function that runs matmul with converted factors."},
    {"set_recorder", core_set_recorder, METH_O, "Sets the function that records calls on traced values, or None."},
    {"described", core_call_names, METH_O,
     "Returns the fields of a call by the package's names, as the library's name and whether it is a number for each "
     "dimension, and its passes, as name, inputs and outputs."},
    {"set_convert", core_set_convert, METH_O, "Sets the function that makes a result what the inputs are."},
    {"explain_matmul", WITH_NAMES(core_explain_matmul), "The explanation of a matmul as a dict."},
    {"explain_matmul_floats", WITH_NAMES(core_explain_matmul_floats), "The explanation of a matmul_floats as a dict."},
    {"explain_gemm", WITH_NAMES(core_explain_gemm), "The explanation of a gemm as a dict."},
    {"fft", WITH_NAMES(core_fft), "A transform as a Tensor, None where `out` was given, or its explanation as a dict."},
    {"fftshift", core_fftshift, METH_VARARGS, "The input with the zero frequency in the middle, or back, as a Tensor."},
    {"fftfreq", core_fftfreq, METH_VARARGS, "Frequencies as a Tensor, or None where `out` was given."},
    {"call", AS_VECTOR(core_call_described),
     "Runs a call that calls.h describes. Returns the results as a tuple, with None where `out` was given, or the "
     "explanation."},
    {"word", core_word, METH_VARARGS, "Returns the number of a word of a call's field: call, field, word."},
    {"elementwise", core_elementwise, METH_VARARGS,
     "Runs an operation on single elements: the result, None if `out` was given, or the explanation."},
    {"devices", core_devices, METH_NOARGS, "Returns the devices as dicts."},
    {"device_control", core_device_control, METH_VARARGS,
     "Waits for a device, trims its memory, limits it, or clears its plan cache: what, device, number."},
    {"device_memory", core_device_memory, METH_O, "Returns statistics of a device's memory as a dict."},
    {"device_plans", core_device_plans, METH_O, "Returns the number of cached plans of a device, and its limit."},
    {"device_fft_plans", core_device_fft_plans, METH_O, "Returns the same of the cache of transforms."},
    {"empty", core_empty, METH_VARARGS, "Returns a Tensor without defined elements: shape, element type, device."},
    {"transfer", core_transfer, METH_VARARGS, "Returns a copy of an array on a device, as a Tensor."},
    {"from_dlpack", core_from_dlpack, METH_O,
     "from_dlpack(x, /)\n--\n\nReturns a Tensor of the memory of an object with __dlpack__(), on the device where it "
     "is."},
    {"reduce", WITH_NAMES(core_reduce), "A reduction, None where `out` was given, or its explanation as a dict."},
    {"softmax", WITH_NAMES(core_softmax),
     "Softmax or its gradient, None where `out` was given, or its explanation as a dict."},
    {"cosine", core_cosine, METH_VARARGS, "Returns a cosine or sine transform of one dimension."},
    {"fft_plans", core_fft_plans, METH_NOARGS, "Returns the number of cached plans of transforms."},
    {"fft_plans_clear", core_fft_plans_clear, METH_NOARGS, "Removes all cached plans of transforms."},
    {"linalg", WITH_NAMES(core_linalg), "Runs an operation of linear algebra: results as a tuple, or the explanation."},
    {"prefer", core_prefer, METH_VARARGS,
     "Checks that a library offers a setting's operations, then sets the setting."},
    {"last_plan", core_last_plan, METH_NOARGS, "Returns the calling thread's last plan as a dict, or None."},
    {"product_chain", core_product_chain, METH_VARARGS,
     "Runs vecdot, multi_dot or matrix_power: the result, None if `out` was given, or the explanation."},
    {"quick", core_quick, METH_VARARGS, "Makes a function whose frequent form runs without a frame of Python."},
    {"einsum", core_einsum, METH_VARARGS, "Runs an einsum: a Tensor, None if `out` was given, or the explanation."},
    {"einsum_plain", core_einsum_plain, METH_VARARGS,
     "Runs an einsum of an expression and arrays of one type, or returns None."},
    {"einsum_path", core_einsum_path, METH_VARARGS, "Returns a path as a list of positions, and the path object."},
    {"path_text", core_path_text, METH_O, "Returns the report of a path."},
    {"path_json", core_path_json, METH_O, "Returns a path and its costs as JSON."},
    {"libraries", core_libraries, METH_O, "Returns the libraries as dicts; searches again if the argument is true."},
    {"providers", core_providers, METH_NOARGS, "Returns the providers as dicts."},
    {"machine", core_machine, METH_NOARGS, "Returns properties of the processor as a dict."},
    {"backend_status", core_backend_status, METH_O, "Returns one backend as a dict."},
    {"backends", core_backends, METH_NOARGS, "Returns all backends as dicts."},
    {"comm_open", core_comm_open, METH_O,
     "Opens a communicator of all ranks; initializes MPI if the argument is true."},
    {"comm_from_mpi", core_comm_from_mpi, METH_VARARGS,
     "Opens a communicator: address and size of the handle, library."},
    {"comm_close", core_comm_close, METH_O, "Closes a communicator."},
    {"comm_describe", core_comm_describe, METH_O, "Returns a communicator's properties as a dict."},
    {"dist_complete", core_dist_complete, METH_VARARGS, "Returns grid, block, local shape and position of a rank."},
    {"dist_gemm", core_dist_gemm, METH_VARARGS, "Runs or explains a product of distributed matrices."},
    {"dist_linalg", core_dist_linalg, METH_VARARGS, "Runs or explains linear algebra of distributed matrices."},
    {"dist_fft", core_dist_fft, METH_VARARGS, "Runs or explains a transform of a distributed matrix or array."},
    {"dist_redistribute", core_dist_redistribute, METH_O, "Copies a distributed matrix to another distribution."},
    {"dist_file", core_dist_file, METH_O, "Returns element type and shape of a file."},
    {"dist_transfer", core_dist_transfer, METH_VARARGS, "Writes a distributed matrix to a file, or reads it."},
    {"record_start", core_record_start, METH_O, "Starts a record of at most so many calls."},
    {"record_stop", core_record_stop, METH_O, "Stops a record."},
    {"record_plans", core_record_plans, METH_O, "Returns a record's rows as dicts."},
    {"record_calls", core_record_calls, METH_O, "Returns a record's calls as tuples."},
    {"record_left_out", core_record_left_out, METH_O, "Returns the number of calls without an entry."},
    {"verbose_enter", core_verbose_enter, METH_VARARGS, "Opens a verbose scope: backend, level, whether to collect."},
    {"verbose_leave", core_verbose_leave, METH_O, "Leaves a verbose scope; returns its lines as a list, or None."},
    {"freeze", freeze, METH_NOARGS, "Makes assignment to settings an error from now on."},
    {"is_frozen", is_frozen, METH_NOARGS, "Returns whether assignment is an error."},
    {"cpu_capability", cpu_capability, METH_NOARGS, "Returns the instruction set that the native kernels use."},
    {NULL, NULL, 0, NULL},
};

static int start_module(PyObject *module) {
    core_state *state = core_state_of(module);
    state->word_out = PyUnicode_InternFromString("out");
    state->word_settings = PyUnicode_InternFromString("settings");
    state->word_axis = PyUnicode_InternFromString("axis");
    state->word_keepdims = PyUnicode_InternFromString("keepdims");
    if (!state->word_out || !state->word_settings || !state->word_axis || !state->word_keepdims) {
        return -1;
    }
    if (core_add_errors(module, state) != 0 || core_add_settings(module, state) != 0 ||
        core_add_scopes(module, state) != 0 || core_add_tensor(module, state) != 0 || core_add_graph(module) != 0) {
        return -1;
    }
    core_collect_warnings();
    return PyModule_AddStringConstant(module, "version", bp_version());
}

static int traverse_module(PyObject *module, visitproc visit, void *arg) {
    core_state *state = core_state_of(module);
    Py_VISIT(state->error);
    Py_VISIT(state->bad_value);
    Py_VISIT(state->bad_type);
    Py_VISIT(state->unknown_name);
    Py_VISIT(state->linalg_error);
    Py_VISIT(state->linalg_error_numpy);
    Py_VISIT(state->warning);
    Py_VISIT(state->setting_type);
    Py_VISIT(state->options_type);
    Py_VISIT(state->scope_type);
    Py_VISIT(state->tensor_type);
    Py_VISIT(state->convert);
    Py_VISIT(state->convert_factors);
    Py_VISIT(state->recorder);
    Py_VISIT(state->numpy.type);
    for (int i = 0; i < state->exchanges.count; i++) {
        Py_VISIT(state->exchanges.of[i].type);
        Py_VISIT(state->exchanges.of[i].is_negative.method);
        Py_VISIT(state->exchanges.of[i].is_conjugate.method);
        Py_VISIT(state->exchanges.of[i].gradient);
    }
    return 0;
}

static int clear_module(PyObject *module) {
    core_state *state = core_state_of(module);
    Py_CLEAR(state->error);
    Py_CLEAR(state->bad_value);
    Py_CLEAR(state->bad_type);
    Py_CLEAR(state->unknown_name);
    Py_CLEAR(state->linalg_error);
    Py_CLEAR(state->linalg_error_numpy);
    Py_CLEAR(state->warning);
    Py_CLEAR(state->setting_type);
    Py_CLEAR(state->options_type);
    Py_CLEAR(state->scope_type);
    Py_CLEAR(state->tensor_type);
    Py_CLEAR(state->convert);
    Py_CLEAR(state->convert_factors);
    Py_CLEAR(state->recorder);
    Py_CLEAR(state->word_out);
    Py_CLEAR(state->word_settings);
    Py_CLEAR(state->word_axis);
    Py_CLEAR(state->word_keepdims);
    Py_CLEAR(state->numpy.type);
    for (int i = 0; i < state->exchanges.count; i++) {
        Py_CLEAR(state->exchanges.of[i].type);
        Py_CLEAR(state->exchanges.of[i].is_negative.method);
        Py_CLEAR(state->exchanges.of[i].is_conjugate.method);
        Py_CLEAR(state->exchanges.of[i].gradient);
    }
    state->exchanges.count = 0;
    core_tables_drop(&state->tables);
    return 0;
}

/* Frees the descriptions last: functions that the collector has not ended yet have their addresses. */
static void end_module(void *module) {
    clear_module(module);
    core_described_drop(core_state_of(module));
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)start_module},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "backplane._core",
    .m_doc = "Internal: connects the package backplane with the C library. Use the package.",
    .m_size = sizeof(core_state),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = traverse_module,
    .m_clear = clear_module,
    .m_free = end_module,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) {
    return PyModuleDef_Init(&definition);
}
