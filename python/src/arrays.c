/* arrays.c - converts Python arrays to tensors of the library without a copy: by the buffer protocol, otherwise DLPack.
 *
 * The buffer protocol is preferred because it reports whether memory is writable, and keeps that true until the buffer
 * is released. Shape and strides are copied, so that the tensor never points into a Python object. Three kinds of
 * arrays need more: unaligned memory is copied (unaligned.c), ml_dtypes' bfloat16 is read as 16-bit integers, and
 * lazily conjugated or negated torch tensors are resolved first.
 */
#include "core.h"

#include <string.h>

/* ---- Formats of the buffer protocol ---- */

/* Format characters of PEP 3118 by kind of number; the exporter reports the size. */
static const struct {
    const char *letters;
    uint8_t code;
} kinds[] = {{"efd", kDLFloat}, {"bhilqn", kDLInt}, {"BHILQN", kDLUInt}, {"?", kDLBool}};

/* Skips the byte order of a format. Returns false if it is not this machine's. */
static bool native_order(const char **format) {
    const uint16_t one = 1;
    bool little = *(const uint8_t *)&one == 1;
    switch (**format) {
    case '@':
    case '=':
        (*format)++;
        return true;
    case '<':
        (*format)++;
        return little;
    case '>':
    case '!':
        (*format)++;
        return !little;
    default:
        return true;
    }
}

/* Converts a format to an element type. Returns false if the library does not support it. */
static bool element_type(const char *format, Py_ssize_t size, DLDataType *type) {
    bool complex_number = *format == 'Z';
    format += complex_number;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (*format != '\0' && format[1] == '\0' && strchr(kinds[i].letters, *format)) {
            *type = (DLDataType){complex_number ? (uint8_t)kDLComplex : kinds[i].code, (uint8_t)(8 * size), 1};
            return size <= 16 && (!complex_number || kinds[i].code == kDLFloat) &&
                   bp_dtype_from_dlpack(*type) != BP_DTYPE_NONE;
        }
    }
    return false;
}

static bool read_format(core_state *state, operand *to, const char *name) {
    const char *format = to->buffer.format ? to->buffer.format : "B";
    if (!native_order(&format)) {
        core_refuse(state, state->bad_type, BP_E_DTYPE,
                    "%s: its numbers have the byte order of another machine (format '%s')", name, to->buffer.format);
        return false;
    }
    if (!element_type(format, to->buffer.itemsize, &to->tensor.dtype)) {
        core_refuse(state, state->bad_type, BP_E_DTYPE,
                    "%s: elements of format '%s'%s are not accepted; convert the array first: " CORE_ELEMENT_TYPES,
                    name, format, *format == 'O' ? " (objects of Python)" : "");
        return false;
    }
    return true;
}

/* ---- Layout ---- */

static bool has_valid_rank(core_state *state, int ndim, const char *name) {
    if (ndim < 0 || ndim > BP_MAX_NDIM) {
        core_refuse(state, state->bad_value, BP_E_ARGUMENT, "%s: has %d dimensions, at most %d are accepted", name,
                    ndim, BP_MAX_NDIM);
        return false;
    }
    return true;
}

void core_compact_strides(operand *to) {
    int64_t step = 1;
    for (int i = to->tensor.ndim - 1; i >= 0; i--) {
        to->strides[i] = step;
        step *= to->shape[i] > 0 ? to->shape[i] : 1;
    }
}

/* Converts strides from bytes to elements. That is exact for aligned memory only; `steps` keeps them in bytes. */
static void read_strides(operand *to) {
    const Py_buffer *buffer = &to->buffer;
    for (int i = 0; i < buffer->ndim; i++) {
        to->steps[i] = buffer->strides ? buffer->strides[i] : to->strides[i] * buffer->itemsize;
        to->strides[i] = to->steps[i] / buffer->itemsize;
    }
    to->unaligned = buffer->buf;
}

static bool from_buffer(core_state *state, operand *to, const char *name, unsigned access) {
    if (!has_valid_rank(state, to->buffer.ndim, name) || !read_format(state, to, name)) {
        return false;
    }
    to->tensor.data = to->buffer.buf;
    to->tensor.device = (DLDevice){kDLCPU, 0};
    to->tensor.ndim = to->buffer.ndim;
    for (int i = 0; i < to->buffer.ndim; i++) {
        to->shape[i] = to->buffer.shape[i];
    }
    core_compact_strides(to);
    read_strides(to);
    return core_is_aligned(to) || core_align(state, to, access);
}

void core_operand_describe(operand *to, const DLTensor *given) {
    to->tensor = *given;
    if (given->ndim > 0) {
        memcpy(to->shape, given->shape, (size_t)given->ndim * sizeof *to->shape);
    }
    if (given->ndim > 0 && given->strides) {
        memcpy(to->strides, given->strides, (size_t)given->ndim * sizeof *to->strides);
    } else {
        core_compact_strides(to);
    }
    size_t size = given->dtype.bits / 8;
    for (int i = 0; i < given->ndim; i++) {
        to->steps[i] = (int64_t)((uint64_t)to->strides[i] * size); /* the library checks for overflow later */
    }
    to->unaligned = (char *)((uintptr_t)given->data + (uintptr_t)given->byte_offset);
}

static bool from_dlpack(core_state *state, operand *to, const DLTensor *given, const char *name, unsigned access) {
    if (!has_valid_rank(state, given->ndim, name)) {
        return false;
    }
    core_operand_describe(to, given);
    bool is_host = given->device.device_type == kDLCPU; /* the library says which devices it takes */
    return !is_host || core_is_aligned(to) || core_align(state, to, access);
}

/* ---- DLPack capsules ---- */

/* Requests DLPack 1, for a stream (NULL: none); an exporter that does not accept the version is called without it. */
static PyObject *ask_for_capsule(PyObject *exporter, PyObject *stream) {
    PyObject *names = Py_BuildValue("{s:(ii)}", "max_version", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
    PyObject *none = names ? PyTuple_New(0) : NULL;
    const bool ready = none && (!stream || PyDict_SetItemString(names, "stream", stream) == 0);
    PyObject *capsule = ready ? PyObject_Call(exporter, none, names) : NULL;
    if (ready && !capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        capsule = PyDict_DelItemString(names, "max_version") == 0 ? PyObject_Call(exporter, none, names) : NULL;
    }
    Py_XDECREF(none);
    Py_XDECREF(names);
    return capsule;
}

/* Takes ownership of the capsule's memory, and renames the capsule to mark it as used. */
static bool take_from_capsule(core_state *state, operand *to, PyObject *capsule, const char *name, unsigned access) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        DLManagedTensorVersioned *given = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        if (given->version.major != DLPACK_MAJOR_VERSION) {
            core_refuse(state, state->bad_type, BP_E_ARGUMENT, "%s: gives DLPack version %u, not %d", name,
                        (unsigned)given->version.major, DLPACK_MAJOR_VERSION);
            return false;
        }
        if ((access & CORE_WRITES) != 0 && (given->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0) {
            core_refuse(state, state->bad_value, BP_E_ARGUMENT, "%s: is read-only", name);
            return false;
        }
        to->versioned = PyCapsule_SetName(capsule, "used_dltensor_versioned") == 0 ? given : NULL;
        return to->versioned && from_dlpack(state, to, &given->dl_tensor, name, access);
    }
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        DLManagedTensor *given = PyCapsule_GetPointer(capsule, "dltensor");
        to->managed = PyCapsule_SetName(capsule, "used_dltensor") == 0 ? given : NULL;
        return to->managed && from_dlpack(state, to, &given->dl_tensor, name, access);
    }
    core_refuse(state, state->bad_type, BP_E_ARGUMENT, "%s: __dlpack__() did not return a DLPack capsule", name);
    return false;
}

/* ---- Buffer protocol and DLPack ---- */

static bool is_read_only(PyObject *array) {
    Py_buffer buffer;
    if (PyObject_GetBuffer(array, &buffer, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
        PyErr_Clear();
        return false;
    }
    bool fixed = buffer.readonly;
    PyBuffer_Release(&buffer);
    return fixed;
}

/* Returns false with an exception set; to->buffer.obj is then NULL if the array exports no buffer at all. */
static bool by_buffer(core_state *state, operand *to, PyObject *array, const char *name, unsigned access) {
    bool writes = (access & CORE_WRITES) != 0;
    if (PyObject_GetBuffer(array, &to->buffer, PyBUF_STRIDES | PyBUF_FORMAT | (writes ? PyBUF_WRITABLE : 0)) == 0) {
        return from_buffer(state, to, name, access);
    }
    memset(&to->buffer, 0, sizeof to->buffer);
    return false;
}

static bool by_dlpack(core_state *state, operand *to, PyObject *exporter, PyObject *stream, const char *name,
                      unsigned access) {
    PyObject *capsule = ask_for_capsule(exporter, stream);
    bool taken = capsule && take_from_capsule(state, to, capsule, name, access);
    Py_XDECREF(capsule);
    return taken;
}

/* ---- bfloat16 of ml_dtypes, which NumPy exports by neither protocol ---- */

static bool has_bfloat16(PyObject *array) {
    PyObject *dtype = PyObject_GetAttrString(array, "dtype");
    PyObject *name = dtype ? PyObject_GetAttrString(dtype, "name") : NULL;
    bool found = name && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "bfloat16") == 0;
    Py_XDECREF(dtype);
    Py_XDECREF(name);
    PyErr_Clear();
    return found;
}

static bool by_words(core_state *state, operand *to, PyObject *array, const char *name, unsigned access) {
    PyObject *words = PyObject_CallMethod(array, "view", "s", "uint16");
    bool taken = words && by_buffer(state, to, words, name, access);
    if (taken) {
        to->tensor.dtype = (DLDataType){kDLBfloat, 16, 1};
    } else if (words && (access & CORE_WRITES) != 0 && !to->buffer.obj && is_read_only(words)) {
        PyErr_Clear();
        core_refuse(state, state->bad_value, BP_E_ARGUMENT, "%s: is read-only", name);
    }
    Py_XDECREF(words);
    return taken;
}

/* ---- Lazily conjugated or negated torch tensors: DLPack would export the memory without the change of sign ---- */

/* Calls a predicate method. Returns 1 or 0, 0 if there is no such method, or -1 with an exception set. */
static int asks(PyObject *array, const char *question) {
    PyObject *method = PyObject_GetAttrString(array, question);
    if (!method) {
        PyErr_Clear();
        return 0;
    }
    PyObject *answer = PyCallable_Check(method) ? PyObject_CallObject(method, NULL) : NULL;
    int truth = answer ? PyObject_IsTrue(answer) : PyErr_Occurred() ? -1 : 0;
    Py_XDECREF(answer);
    Py_DECREF(method);
    return truth;
}

/* If predicate `question` is true, replaces *array (an owned reference) by the result of method `resolve`. */
static bool resolve_bit(core_state *state, PyObject **array, const char *question, const char *resolve,
                        const char *name, unsigned access) {
    int set = asks(*array, question);
    if (set > 0 && (access & CORE_WRITES) != 0) {
        core_refuse(state, state->bad_value, BP_E_ARGUMENT,
                    "%s: %s() is true, so values written to its memory would change sign; pass the result of %s()",
                    name, question, resolve);
        return false;
    }
    if (set > 0) {
        PyObject *plain = PyObject_CallMethod(*array, resolve, NULL);
        Py_DECREF(*array);
        *array = plain;
        return plain != NULL;
    }
    return set == 0;
}

static bool by_export(core_state *state, operand *to, PyObject *array, const char *name, unsigned access) {
    Py_INCREF(array);
    bool taken = resolve_bit(state, &array, "is_conj", "resolve_conj", name, access) &&
                 resolve_bit(state, &array, "is_neg", "resolve_neg", name, access);
    PyObject *exporter = taken ? PyObject_GetAttrString(array, "__dlpack__") : NULL;
    PyObject *stream = exporter ? core_stream_for(array) : NULL;
    taken = exporter && by_dlpack(state, to, exporter, stream, name, access);
    Py_XDECREF(stream);
    Py_XDECREF(exporter);
    Py_XDECREF(array);
    return taken;
}

static bool no_array(core_state *state, PyObject *array, const char *name) {
    PyObject *type = PyObject_GetAttrString((PyObject *)Py_TYPE(array), "__name__");
    if (type) {
        core_refuse(state, state->bad_type, BP_E_ARGUMENT,
                    "%s: a %U supports neither the buffer protocol nor __dlpack__; convert it with numpy.asarray()",
                    name, type);
        Py_DECREF(type);
    }
    return false;
}

/* Refuses bytes: they export a buffer, but without a number type. */
static bool is_bytes(core_state *state, PyObject *array, const char *name) {
    bool bytes = PyBytes_Check(array) || PyByteArray_Check(array);
    if (bytes) {
        core_refuse(state, state->bad_type, BP_E_DTYPE,
                    "%s: bytes have no number type; convert them, for example with memoryview(...).cast('d')", name);
    }
    return bytes;
}

/* Returns whether the array is in host memory. An object without __dlpack_device__ counts as host memory. The exporter
 * of device memory may refuse access for its own reason. */
static bool is_on_host(PyObject *array) {
    PyObject *kind, *value, *trace;
    int type = kDLCPU, id;
    PyErr_Fetch(&kind, &value, &trace);
    PyObject *device = PyObject_CallMethod(array, "__dlpack_device__", NULL);
    if (!device || !PyTuple_Check(device) || !PyArg_ParseTuple(device, "ii", &type, &id)) {
        PyErr_Clear();
        type = kDLCPU;
    }
    Py_XDECREF(device);
    PyErr_Restore(kind, value, trace);
    return type == kDLCPU;
}

/* Replaces an exporter's BufferError by an exception with the argument's name; the BufferError becomes its cause. */
static bool name_refused(core_state *state, PyObject *array, const char *name) {
    PyObject *kind, *value, *trace, *cause_kind, *cause, *cause_trace;
    if (!PyErr_ExceptionMatches(PyExc_BufferError) || !is_on_host(array)) {
        return false;
    }
    PyErr_Fetch(&cause_kind, &cause, &cause_trace);
    PyErr_NormalizeException(&cause_kind, &cause, &cause_trace);
    core_refuse(state, state->bad_type, BP_E_DTYPE, "%s: cannot be read: %S", name, cause);
    PyErr_Fetch(&kind, &value, &trace);
    PyErr_NormalizeException(&kind, &value, &trace);
    PyException_SetCause(value, cause); /* takes it over */
    Py_XDECREF(cause_kind);
    Py_XDECREF(cause_trace);
    PyErr_Restore(kind, value, trace);
    return false;
}

/* Uses DLPack after the buffer protocol has failed; the exception of that failure is still set. */
static bool bring_otherwise(core_state *state, operand *to, PyObject *array, const char *name, unsigned access) {
    PyObject *kind, *value, *trace;
    bool buffers = PyErr_Occurred() != NULL;
    PyErr_Fetch(&kind, &value, &trace);
    PyObject *exporter = PyObject_GetAttrString(array, "__dlpack__");
    if (!exporter) {
        PyErr_Clear();
        PyErr_Restore(kind, value, trace);
        return buffers ? name_refused(state, array, name) : no_array(state, array, name);
    }
    Py_XDECREF(kind);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    Py_DECREF(exporter);
    return by_export(state, to, array, name, access) || name_refused(state, array, name);
}

static bool bring_operand(core_state *state, operand *to, PyObject *array, const char *name, unsigned access) {
    if (is_bytes(state, array, name)) {
        return false;
    }
    if (!PyObject_CheckBuffer(array)) {
        return bring_otherwise(state, to, array, name, access);
    }
    if (by_buffer(state, to, array, name, access)) {
        return true;
    }
    if (to->buffer.obj) {
        return false;
    }
    if ((access & CORE_WRITES) != 0 && is_read_only(array)) {
        PyErr_Clear();
        core_refuse(state, state->bad_value, BP_E_ARGUMENT, "%s: is read-only", name);
        return false;
    }
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    if (has_bfloat16(array)) {
        Py_XDECREF(kind);
        Py_XDECREF(value);
        Py_XDECREF(trace);
        return by_words(state, to, array, name, access);
    }
    PyErr_Restore(kind, value, trace);
    return bring_otherwise(state, to, array, name, access);
}

void core_operand_clear(operand *held) {
    memset(&held->tensor, 0, sizeof held->tensor);
    memset(&held->buffer, 0, sizeof held->buffer);
    held->managed = NULL;
    held->versioned = NULL;
    held->owner = NULL;
    held->exchange = NULL;
    held->is_numpy = false;
    held->aligned = NULL;
}

/* Reads an array without a call of Python, if its type is NumPy's or has DLPack's exchange interface. */
static bool bring_directly(core_state *state, operand *to, PyObject *array, unsigned access) {
    if (core_numpy_find(&state->numpy) && Py_TYPE(array) == state->numpy.type) {
        to->is_numpy = true;
        return core_numpy_read(to, array, access);
    }
    if ((PyObject *)Py_TYPE(array) == state->tensor_type) {
        return core_tensor_read(to, array);
    }
    to->exchange = core_exchange_find(&state->exchanges, array);
    return to->exchange && core_exchange_read(to->exchange, to, array, access);
}

/* A masked array looks like a plain one to the buffer protocol, so it is refused before anything is read or written. */
static bool is_masked(core_state *state, operand *to, PyObject *array, const char *name) {
    if (!state->numpy.type || to->is_numpy || !PyType_IsSubtype(Py_TYPE(array), state->numpy.type)) {
        return false;
    }
    to->is_numpy = true;
    PyObject *mask = PyObject_GetAttrString(array, "mask");
    PyErr_Clear();
    if (mask) {
        core_refuse(state, state->bad_type, BP_E_DTYPE,
                    "%s: a masked array's mask would be lost; its filled() has none", name);
    }
    Py_XDECREF(mask);
    return mask != NULL;
}

bool core_operand(core_state *state, operand *to, PyObject *array, const char *name, unsigned access) {
    core_operand_clear(to);
    if (!bring_directly(state, to, array, access) &&
        (is_masked(state, to, array, name) || !bring_operand(state, to, array, name, access))) {
        core_operand_release(to);
        return false;
    }
    to->tensor.shape = to->shape;
    to->tensor.strides = to->strides;
    return true;
}

bool core_operand_direct(core_state *state, operand *to, PyObject *array) {
    core_operand_clear(to);
    if (!bring_directly(state, to, array, CORE_READS)) {
        return false;
    }
    to->tensor.shape = to->shape;
    to->tensor.strides = to->strides;
    if (to->is_numpy || to->exchange) {
        return true;
    }
    core_operand_release(to); /* a Tensor on a device */
    return false;
}

bool core_operand_export(core_state *state, operand *to, PyObject *array, const char *name, unsigned access) {
    core_operand_clear(to);
    if (!by_export(state, to, array, name, access)) {
        core_operand_release(to);
        return false;
    }
    to->tensor.shape = to->shape;
    to->tensor.strides = to->strides;
    return true;
}

/* Exporters may run code of Python when they get their memory back, which must not see an exception that is on its way.
 */
void core_operand_release(operand *held) {
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    Py_CLEAR(held->owner);
    core_unalign(held);
    if (held->buffer.obj) {
        PyBuffer_Release(&held->buffer);
    }
    if (held->versioned || held->managed) {
        core_unlocked unlocked;
        bp_queue *queue = core_stream_hold(held->tensor.device);
        core_unlock(&unlocked);
        core_stream_end(queue); /* the calls on the memory may still run */
        core_lock(&unlocked);
    }
    if (held->versioned && held->versioned->deleter) {
        held->versioned->deleter(held->versioned);
    }
    if (held->managed && held->managed->deleter) {
        held->managed->deleter(held->managed);
    }
    memset(&held->buffer, 0, sizeof held->buffer);
    held->versioned = NULL;
    held->managed = NULL;
    PyErr_Restore(kind, value, trace);
}
