/* arrays.c - brings arrays of Python to the library in place: by the buffer protocol, else by DLPack.
 *
 * The buffer protocol comes first because it tells whether memory may be written, for as long as it is held. Shape and
 * strides are copied, so that the tensor given to the library never points into an object of Python.
 */
#include "core.h"

#include <string.h>

/* ---- Formats of the buffer protocol ---- */

/* What PEP 3118 calls an element, by the kind of number; the size comes from the exporter. */
static const struct {
    const char *letters;
    uint8_t code;
} kinds[] = {{"efd", kDLFloat}, {"bhilqn", kDLInt}, {"BHILQN", kDLUInt}, {"?", kDLBool}};

/* Leaves the format without its byte order; false when that is not this machine's. */
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

/* False for what is no single number that the library knows. */
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
        core_refuse(state, state->bad_type, BP_E_DTYPE, "%s: elements of format '%s' are not accepted", name,
                    to->buffer.format ? to->buffer.format : "B");
        return false;
    }
    return true;
}

/* ---- Layout ---- */

static bool room_for(core_state *state, int ndim, const char *name) {
    if (ndim < 0 || ndim > BP_MAX_NDIM) {
        core_refuse(state, state->bad_value, BP_E_ARGUMENT, "%s: has %d dimensions, at most %d are accepted", name,
                    ndim, BP_MAX_NDIM);
        return false;
    }
    return true;
}

static void compact_strides(operand *to) {
    int64_t step = 1;
    for (int i = to->tensor.ndim - 1; i >= 0; i--) {
        to->strides[i] = step;
        step *= to->shape[i] > 0 ? to->shape[i] : 1;
    }
}

/* The protocol counts strides in bytes, the library in elements. */
static bool read_strides(core_state *state, operand *to, const char *name) {
    const Py_buffer *buffer = &to->buffer;
    for (int i = 0; buffer->strides && i < buffer->ndim; i++) {
        if (buffer->shape[i] > 1 && buffer->strides[i] % buffer->itemsize != 0) {
            core_refuse(state, state->bad_value, BP_E_LAYOUT,
                        "%s: the stride of dimension %d is %zd bytes, which is no multiple of the element's %zd", name,
                        i, buffer->strides[i], buffer->itemsize);
            return false;
        }
        to->strides[i] = buffer->strides[i] / buffer->itemsize;
    }
    return true;
}

static bool from_buffer(core_state *state, operand *to, const char *name) {
    if (!room_for(state, to->buffer.ndim, name) || !read_format(state, to, name)) {
        return false;
    }
    to->tensor.data = to->buffer.buf;
    to->tensor.device = (DLDevice){kDLCPU, 0};
    to->tensor.ndim = to->buffer.ndim;
    for (int i = 0; i < to->buffer.ndim; i++) {
        to->shape[i] = to->buffer.shape[i];
    }
    compact_strides(to);
    return read_strides(state, to, name);
}

static bool from_dlpack(core_state *state, operand *to, const DLTensor *given, const char *name) {
    if (!room_for(state, given->ndim, name)) {
        return false;
    }
    to->tensor = *given;
    if (given->ndim > 0) {
        memcpy(to->shape, given->shape, (size_t)given->ndim * sizeof *to->shape);
    }
    compact_strides(to);
    if (given->ndim > 0 && given->strides) {
        memcpy(to->strides, given->strides, (size_t)given->ndim * sizeof *to->strides);
    }
    return true;
}

/* ---- DLPack capsules ---- */

/* Asks for the interface's version 1; an exporter that does not know the argument gives what it has. */
static PyObject *ask_for_capsule(PyObject *exporter) {
    PyObject *names = Py_BuildValue("{s:(ii)}", "max_version", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
    PyObject *none = names ? PyTuple_New(0) : NULL;
    PyObject *capsule = none ? PyObject_Call(exporter, none, names) : NULL;
    if (none && !capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        capsule = PyObject_CallObject(exporter, none);
    }
    Py_XDECREF(none);
    Py_XDECREF(names);
    return capsule;
}

/* From here on the memory is ours to give back, so the capsule gets the name that says it is used. */
static bool take_from_capsule(core_state *state, operand *to, PyObject *capsule, const char *name, bool writable) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        DLManagedTensorVersioned *given = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        if (given->version.major != DLPACK_MAJOR_VERSION) {
            core_refuse(state, state->bad_type, BP_E_ARGUMENT, "%s: gives DLPack version %u, not %d", name,
                        (unsigned)given->version.major, DLPACK_MAJOR_VERSION);
            return false;
        }
        if (writable && (given->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0) {
            core_refuse(state, state->bad_value, BP_E_ARGUMENT, "%s: is read-only", name);
            return false;
        }
        to->versioned = PyCapsule_SetName(capsule, "used_dltensor_versioned") == 0 ? given : NULL;
        return to->versioned && from_dlpack(state, to, &given->dl_tensor, name);
    }
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        DLManagedTensor *given = PyCapsule_GetPointer(capsule, "dltensor");
        to->managed = PyCapsule_SetName(capsule, "used_dltensor") == 0 ? given : NULL;
        return to->managed && from_dlpack(state, to, &given->dl_tensor, name);
    }
    core_refuse(state, state->bad_type, BP_E_ARGUMENT, "%s: __dlpack__() gave no DLPack capsule", name);
    return false;
}

/* ---- Both ways ---- */

static bool by_buffer(core_state *state, operand *to, PyObject *array, const char *name, bool writable) {
    if (PyObject_GetBuffer(array, &to->buffer, PyBUF_STRIDES | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0)) != 0) {
        memset(&to->buffer, 0, sizeof to->buffer);
        return false;
    }
    return from_buffer(state, to, name);
}

static bool by_dlpack(core_state *state, operand *to, PyObject *exporter, const char *name, bool writable) {
    PyObject *capsule = ask_for_capsule(exporter);
    bool taken = capsule && take_from_capsule(state, to, capsule, name, writable);
    Py_XDECREF(capsule);
    return taken;
}

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

static bool no_array(core_state *state, PyObject *array, const char *name) {
    PyObject *type = PyObject_GetAttrString((PyObject *)Py_TYPE(array), "__name__");
    if (type) {
        core_refuse(state, state->bad_type, BP_E_ARGUMENT,
                    "%s: a %U has neither the buffer protocol nor __dlpack__; numpy.asarray() makes an array of it",
                    name, type);
        Py_DECREF(type);
    }
    return false;
}

/* Bytes are memory too, but say of no number what it is. */
static bool is_bytes(core_state *state, PyObject *array, const char *name) {
    bool bytes = PyBytes_Check(array) || PyByteArray_Check(array);
    if (bytes) {
        core_refuse(state, state->bad_type, BP_E_DTYPE,
                    "%s: bytes hold no numbers; memoryview(...).cast('d') makes some of them", name);
    }
    return bytes;
}

/* Memory of a device may be refused with good reason by who has it; what says nothing of devices is the host's. */
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

/* An exporter's BufferError does not say which argument it is about, so it becomes the cause of one that does. */
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

static bool bring(core_state *state, operand *to, PyObject *array, const char *name, bool writable) {
    if (is_bytes(state, array, name)) {
        return false;
    }
    bool buffers = PyObject_CheckBuffer(array);
    if (buffers && by_buffer(state, to, array, name, writable)) {
        return true;
    }
    if (buffers && writable && !to->buffer.obj && is_read_only(array)) {
        PyErr_Clear();
        core_refuse(state, state->bad_value, BP_E_ARGUMENT, "%s: is read-only", name);
        return false;
    }
    if (buffers && to->buffer.obj) {
        return false;
    }
    /* Types that the buffer protocol has no letter for, bfloat16 among them, may have DLPack. */
    PyObject *kind, *value, *trace;
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
    bool taken = by_dlpack(state, to, exporter, name, writable);
    Py_DECREF(exporter);
    return taken || name_refused(state, array, name);
}

void core_operand_clear(operand *held) {
    memset(&held->tensor, 0, sizeof held->tensor);
    memset(&held->buffer, 0, sizeof held->buffer);
    held->managed = NULL;
    held->versioned = NULL;
}

bool core_operand(core_state *state, operand *to, PyObject *array, const char *name, bool writable) {
    core_operand_clear(to);
    if (!bring(state, to, array, name, writable)) {
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
    if (held->buffer.obj) {
        PyBuffer_Release(&held->buffer);
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
