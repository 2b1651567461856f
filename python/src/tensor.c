/* tensor.c - defines the type Tensor: a result in memory of the library, exported by the buffer protocol and DLPack.
 *
 * The memory has its own atomic reference count, separate from the Python object. An importer of DLPack may release its
 * reference in any thread, without the interpreter's lock, and after the interpreter has ended.
 */
#include "core.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>

typedef struct storage {
    atomic_long holders;
    DLManagedTensorVersioned *memory;
} storage;

typedef struct tensor {
    PyObject_HEAD storage *storage;
    PyObject *weak;
    bp_dtype dtype; /* of the memory, or the integer type of a bits() view */
    Py_ssize_t shape[BP_MAX_NDIM];
    Py_ssize_t strides[BP_MAX_NDIM]; /* in bytes, as in the buffer protocol */
} tensor;

static const DLTensor *inside(const tensor *self) {
    return &self->storage->memory->dl_tensor;
}

static void let_go(storage *held) {
    if (atomic_fetch_sub_explicit(&held->holders, 1, memory_order_acq_rel) == 1) {
        held->memory->deleter(held->memory);
        free(held);
    }
}

static storage *hold(storage *held) {
    atomic_fetch_add_explicit(&held->holders, 1, memory_order_relaxed);
    return held;
}

/* Returns a new Tensor of the storage. Takes one reference to it, also on failure. */
static PyObject *around(core_state *state, storage *held, bp_dtype dtype) {
    const DLTensor *of = &held->memory->dl_tensor;
    tensor *made = PyObject_New(tensor, (PyTypeObject *)state->tensor_type);
    if (!made) {
        let_go(held);
        return NULL;
    }
    made->storage = held;
    made->weak = NULL;
    made->dtype = dtype;
    for (int i = 0; i < of->ndim; i++) {
        made->shape[i] = (Py_ssize_t)of->shape[i];
        made->strides[i] = (Py_ssize_t)of->strides[i] * (of->dtype.bits / 8);
    }
    return (PyObject *)made;
}

PyObject *core_tensor(core_state *state, DLManagedTensorVersioned *memory) {
    storage *held = malloc(sizeof *held);
    if (!held) {
        memory->deleter(memory);
        return PyErr_NoMemory();
    }
    atomic_init(&held->holders, 1);
    held->memory = memory;
    return around(state, held, bp_dtype_from_dlpack(memory->dl_tensor.dtype));
}

static void drop(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    if (((tensor *)object)->weak) {
        PyObject_ClearWeakRefs(object);
    }
    let_go(((tensor *)object)->storage);
    PyObject_Free(object);
    Py_DECREF(type);
}

static bp_dtype dtype_of(const tensor *self) {
    return self->dtype;
}

static Py_ssize_t count_of(const tensor *self) {
    Py_ssize_t count = 1;
    for (int i = 0; i < inside(self)->ndim; i++) {
        count *= self->shape[i];
    }
    return count;
}

/* ---- The buffer protocol ---- */

/* Format codes of the buffer protocol; there is none for bf16. */
static struct {
    bp_dtype dtype;
    char letters[3];
} formats[] = {{BP_F16, "e"}, {BP_F32, "f"}, {BP_F64, "d"}, {BP_C64, "Zf"}, {BP_C128, "Zd"},
               {BP_I8, "b"},  {BP_I16, "h"}, {BP_I32, "i"}, {BP_I64, "q"},  {BP_U8, "B"},
               {BP_U16, "H"}, {BP_U32, "I"}, {BP_U64, "Q"}, {BP_BOOL, "?"}};

static char *format_of(bp_dtype dtype) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (formats[i].dtype == dtype) {
            return formats[i].letters;
        }
    }
    return NULL;
}

/* Returns whether the elements are contiguous, row-major or (first_innermost) column-major. */
static bool is_compact(const tensor *self, bool first_innermost) {
    Py_ssize_t step = inside(self)->dtype.bits / 8;
    int ndim = inside(self)->ndim;
    for (int i = 0; i < ndim && count_of(self) > 0; i++) {
        int d = first_innermost ? i : ndim - 1 - i;
        if (self->shape[d] > 1 && self->strides[d] != step) {
            return false;
        }
        step *= self->shape[d];
    }
    return true;
}

/* Returns whether the layout satisfies the request. A consumer that requests no strides assumes row-major memory. */
static bool is_served(const tensor *self, int flags) {
    bool rows = is_compact(self, false), columns = is_compact(self, true);
    if ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS) {
        return rows || columns;
    }
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS) {
        return columns;
    }
    bool needs_rows = (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS || (flags & PyBUF_STRIDES) != PyBUF_STRIDES;
    return rows || !needs_rows;
}

static int get_buffer(PyObject *object, Py_buffer *view, int flags) {
    tensor *self = (tensor *)object;
    const DLTensor *of = inside(self);
    char *format = format_of(dtype_of(self));
    if (!format) {
        view->obj = NULL;
        PyErr_Format(PyExc_BufferError, "the buffer protocol has no format for %s; use DLPack",
                     bp_dtype_name(dtype_of(self)));
        return -1;
    }
    if (!is_served(self, flags)) {
        view->obj = NULL;
        PyErr_Format(PyExc_BufferError, "the tensor is %s; request a buffer with strides",
                     is_compact(self, false) ? "row-major" : "not row-major");
        return -1;
    }
    view->buf = of->data;
    view->itemsize = of->dtype.bits / 8;
    view->len = count_of(self) * view->itemsize;
    view->readonly = 0;
    view->ndim = of->ndim;
    view->format = (flags & PyBUF_FORMAT) != 0 ? format : NULL;
    view->shape = (flags & PyBUF_ND) != 0 ? self->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? self->strides : NULL;
    view->suboffsets = NULL;
    view->internal = NULL;
    Py_INCREF(object);
    view->obj = object;
    return 0;
}

/* ---- DLPack ---- */

static void versioned_deleter(DLManagedTensorVersioned *given) {
    let_go(given->manager_ctx);
    free(given);
}

static void plain_deleter(DLManagedTensor *given) {
    let_go(given->manager_ctx);
    free(given);
}

/* A capsule that no consumer has renamed still owns its reference. */
static void versioned_capsule_end(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        versioned_deleter(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    }
}

static void plain_capsule_end(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        plain_deleter(PyCapsule_GetPointer(capsule, "dltensor"));
    }
}

static PyObject *versioned_capsule(const tensor *self, bool copied) {
    storage *held = self->storage;
    DLManagedTensorVersioned *given = malloc(sizeof *given);
    if (!given) {
        return PyErr_NoMemory();
    }
    *given = (DLManagedTensorVersioned){.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
                                        .manager_ctx = hold(held),
                                        .deleter = versioned_deleter,
                                        .flags = copied ? DLPACK_FLAG_BITMASK_IS_COPIED : 0,
                                        .dl_tensor = held->memory->dl_tensor};
    given->dl_tensor.dtype = bp_dtype_to_dlpack(self->dtype);
    PyObject *capsule = PyCapsule_New(given, "dltensor_versioned", versioned_capsule_end);
    if (!capsule) {
        versioned_deleter(given);
    }
    return capsule;
}

static PyObject *plain_capsule(const tensor *self) {
    storage *held = self->storage;
    DLManagedTensor *given = malloc(sizeof *given);
    if (!given) {
        return PyErr_NoMemory();
    }
    *given =
        (DLManagedTensor){.dl_tensor = held->memory->dl_tensor, .manager_ctx = hold(held), .deleter = plain_deleter};
    given->dl_tensor.dtype = bp_dtype_to_dlpack(self->dtype);
    PyObject *capsule = PyCapsule_New(given, "dltensor", plain_capsule_end);
    if (!capsule) {
        plain_deleter(given);
    }
    return capsule;
}

static PyObject *copy_of(core_state *state, const tensor *self) {
    const DLTensor *of = inside(self);
    DLManagedTensorVersioned *memory;
    bp_status status = bp_tensor_empty(&memory, dtype_of(self), of->ndim, of->shape, of->strides);
    if (status != BP_OK) {
        return core_fail(state, status, NULL);
    }
    size_t size = (size_t)count_of(self) * (of->dtype.bits / 8); /* a result has no gaps, in any order of dimensions */
    if (size > 0) {
        memcpy(memory->dl_tensor.data, of->data, size);
    }
    return core_tensor(state, memory);
}

/* Reads two ints from a tuple. None leaves them unchanged. */
static bool pair_from(core_state *state, PyObject *pair, const char *name, int *first, int *second) {
    if (pair == Py_None) {
        return true;
    }
    if (!PyTuple_Check(pair)) {
        core_refuse(state, state->bad_type, BP_E_ARGUMENT, "%s: expects a tuple of two ints, but got %R", name, pair);
        return false;
    }
    return PyArg_ParseTuple(pair, "ii", first, second);
}

/* Returns whether the arguments of __dlpack__ request host memory without a stream. */
static bool acceptable(core_state *state, PyObject *stream, PyObject *device) {
    int type = kDLCPU, id = 0;
    if (stream != Py_None) {
        PyErr_SetString(PyExc_BufferError, "host memory has no stream; stream must be None");
        return false;
    }
    if (!pair_from(state, device, "dl_device", &type, &id)) {
        return false;
    }
    if (type != kDLCPU) {
        PyErr_Format(PyExc_BufferError, "the tensor cannot be copied to device (%d, %d)", type, id);
        return false;
    }
    return true;
}

static PyObject *dlpack(PyObject *object, PyObject *arguments, PyObject *names) {
    static char *known[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    core_state *state = core_state_of_object(object);
    int major = 0, minor = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "|$OOOO:__dlpack__", known, &stream, &version, &device, &copy) ||
        !acceptable(state, stream, device) || !pair_from(state, version, "max_version", &major, &minor)) {
        return NULL;
    }
    PyObject *source = copy == Py_True ? copy_of(state, (tensor *)object) : object;
    if (!source) {
        return NULL;
    }
    const tensor *given = (const tensor *)source;
    PyObject *capsule =
        major >= DLPACK_MAJOR_VERSION ? versioned_capsule(given, source != object) : plain_capsule(given);
    if (source != object) {
        Py_DECREF(source);
    }
    return capsule;
}

static PyObject *dlpack_device(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    return Py_BuildValue("(ii)", kDLCPU, 0);
}

/* ---- Attributes ---- */

static PyObject *tuple_of(const tensor *self, const Py_ssize_t *numbers) {
    int ndim = inside(self)->ndim;
    PyObject *tuple = PyTuple_New(ndim);
    for (int i = 0; tuple && i < ndim; i++) {
        PyObject *number = PyLong_FromSsize_t(numbers[i]);
        if (!number) {
            Py_CLEAR(tuple);
        } else {
            PyTuple_SetItem(tuple, i, number);
        }
    }
    return tuple;
}

static PyObject *get_shape(PyObject *object, void *unused) {
    (void)unused;
    return tuple_of((const tensor *)object, ((const tensor *)object)->shape);
}

static PyObject *get_strides(PyObject *object, void *unused) {
    (void)unused;
    return tuple_of((const tensor *)object, ((const tensor *)object)->strides);
}

static PyObject *get_row_major(PyObject *object, void *unused) {
    (void)unused;
    return PyBool_FromLong(is_compact((const tensor *)object, false));
}

static PyObject *get_dtype(PyObject *object, void *unused) {
    (void)unused;
    return core_text(bp_dtype_name(dtype_of((const tensor *)object)));
}

static PyObject *get_ndim(PyObject *object, void *unused) {
    (void)unused;
    return PyLong_FromLong(inside((const tensor *)object)->ndim);
}

static PyObject *show(PyObject *object) {
    PyObject *shape = get_shape(object, NULL);
    PyObject *text =
        shape ? PyUnicode_FromFormat("<backplane.Tensor %s %R>", bp_dtype_name(dtype_of((const tensor *)object)), shape)
              : NULL;
    Py_XDECREF(shape);
    return text;
}

/* Returns a view of the memory as unsigned integers. NumPy has no bfloat16; ml_dtypes' arrays are views of uint16. */
static PyObject *bits(PyObject *object, PyObject *unused) {
    static const bp_dtype words[] = {[1] = BP_U8, [2] = BP_U16, [4] = BP_U32, [8] = BP_U64};
    core_state *state = core_state_of_object(object);
    const tensor *self = (const tensor *)object;
    size_t size = bp_dtype_size(self->dtype);
    (void)unused;
    if (size >= sizeof words / sizeof *words) {
        return core_refuse(state, state->bad_type, BP_E_DTYPE, "bits: there is no unsigned integer as large as %s",
                           bp_dtype_name(self->dtype));
    }
    return around(state, hold(self->storage), words[size]);
}

static PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))dlpack, METH_VARARGS | METH_KEYWORDS,
     "Returns a DLPack capsule of this memory; versioned if max_version is 1.0 or later."},
    {"__dlpack_device__", dlpack_device, METH_NOARGS, "Returns (1, 0): host memory."},
    {"bits", bits, METH_NOARGS, "Returns a Tensor of this memory as unsigned integers of the same size."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef fields[] = {
    {"shape", get_shape, NULL, "The size of each dimension.", NULL},
    {"strides", get_strides, NULL, "The stride of each dimension in bytes.", NULL},
    {"row_major", get_row_major, NULL, "Whether the elements are contiguous in row-major order.", NULL},
    {"dtype", get_dtype, NULL, "The element type's name: 'f32', 'bf16', ...", NULL},
    {"ndim", get_ndim, NULL, "The number of dimensions.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(tensor, weak), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc,
     "A result in host memory: contiguous, and row-major, except that results of einsum may have another order of "
     "dimensions. Convert it without a copy by memoryview(), numpy.asarray() or from_dlpack()."},
    {Py_tp_new, (void *)core_no_new},
    {Py_tp_dealloc, (void *)drop},
    {Py_tp_repr, (void *)show},
    {Py_tp_methods, methods},
    {Py_tp_getset, fields},
    {Py_tp_members, members},
    {Py_bf_getbuffer, (void *)get_buffer},
    {0, NULL},
};
static PyType_Spec spec = {
    .name = "backplane.Tensor", .basicsize = sizeof(tensor), .flags = Py_TPFLAGS_DEFAULT, .slots = slots};

int core_add_tensor(PyObject *module, core_state *state) {
    state->tensor_type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!state->tensor_type) {
        return -1;
    }
    Py_INCREF(state->tensor_type);
    if (PyModule_AddObject(module, "Tensor", state->tensor_type) != 0) {
        Py_DECREF(state->tensor_type);
        return -1;
    }
    return 0;
}
