/* tensor.c - defines the type Tensor: a result in memory of the library, exported by the buffer protocol and DLPack.
 * Its elements are read and written in tensor_items.c, and DLPack's capsules made in tensor_dlpack.c.
 *
 * The memory has its own atomic reference count, separate from the Python object. An importer of DLPack may release its
 * reference in any thread, without the interpreter's lock, and after the interpreter has ended.
 */
#include "tensor.h"

#include <stdlib.h>
#include <string.h>
#include <structmember.h>

void core_storage_release(storage *held) {
    if (atomic_fetch_sub_explicit(&held->holders, 1, memory_order_acq_rel) == 1) {
        held->memory->deleter(held->memory);
        free(held);
    }
}

storage *core_storage_hold(storage *held) {
    atomic_fetch_add_explicit(&held->holders, 1, memory_order_relaxed);
    return held;
}

/* Returns a new Tensor without a layout. Takes one reference to the storage, also on failure. */
static tensor *tensor_around(core_state *state, storage *held) {
    tensor *made = PyObject_New(tensor, (PyTypeObject *)state->tensor_type);
    if (!made) {
        core_storage_release(held);
        return NULL;
    }
    made->storage = held;
    made->weak = NULL;
    return made;
}

PyObject *core_tensor(core_state *state, DLManagedTensorVersioned *memory) {
    const DLTensor *of = &memory->dl_tensor;
    storage *held = malloc(sizeof *held);
    if (!held) {
        memory->deleter(memory);
        return PyErr_NoMemory();
    }
    atomic_init(&held->holders, 1);
    held->memory = memory;
    tensor *made = tensor_around(state, held);
    if (!made) {
        return NULL;
    }
    made->device = of->device;
    made->data = core_tensor_on_host(made) ? (char *)of->data + of->byte_offset : (char *)(uintptr_t)of->byte_offset;
    made->ndim = of->ndim;
    made->dtype = bp_dtype_from_dlpack(of->dtype);
    for (int i = 0; i < of->ndim; i++) {
        made->shape[i] = (Py_ssize_t)of->shape[i];
        made->strides[i] = (Py_ssize_t)of->strides[i] * (of->dtype.bits / 8);
    }
    return (PyObject *)made;
}

tensor *core_tensor_view(core_state *state, const tensor *of) {
    tensor *made = tensor_around(state, core_storage_hold(of->storage));
    if (made) {
        made->data = of->data;
        made->device = of->device;
        made->ndim = of->ndim;
        made->dtype = of->dtype;
        memcpy(made->shape, of->shape, (size_t)of->ndim * sizeof *of->shape);
        memcpy(made->strides, of->strides, (size_t)of->ndim * sizeof *of->strides);
    }
    return made;
}

static void drop_tensor(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    if (((tensor *)object)->weak) {
        PyObject_ClearWeakRefs(object);
    }
    core_storage_release(((tensor *)object)->storage);
    PyObject_Free(object);
    Py_DECREF(type);
}

static Py_ssize_t item_size(const tensor *self) {
    return (Py_ssize_t)bp_dtype_size(self->dtype);
}

Py_ssize_t core_tensor_count(const tensor *self) {
    Py_ssize_t count = 1;
    for (int i = 0; i < self->ndim; i++) {
        count *= self->shape[i];
    }
    return count;
}

/* Fills shape and strides in elements. */
static void read_layout(const tensor *self, int64_t *shape, int64_t *strides) {
    for (int i = 0; i < self->ndim; i++) {
        shape[i] = self->shape[i];
        strides[i] = self->strides[i] / item_size(self);
    }
}

bool core_tensor_on_host(const tensor *self) {
    return bp_device_place(self->device) == 0;
}

void core_tensor_describe(bp_view *view, const tensor *self) {
    const bool host = core_tensor_on_host(self);
    read_layout(self, view->shape, view->strides);
    view->tensor = (DLTensor){.data = host ? self->data : self->storage->memory->dl_tensor.data,
                              .device = self->device,
                              .ndim = self->ndim,
                              .dtype = bp_dtype_to_dlpack(self->dtype),
                              .shape = view->shape,
                              .strides = view->strides,
                              .byte_offset = host ? 0 : (uint64_t)(uintptr_t)self->data};
}

PyObject *core_tensor_at_host(PyObject *object) {
    if (!core_tensor_on_host((const tensor *)object)) {
        return core_tensor_copy(core_state_of_object(object), (const tensor *)object, 0);
    }
    Py_INCREF(object);
    return object;
}

bool core_tensor_read(operand *to, PyObject *object) {
    const tensor *self = (const tensor *)object;
    if (core_tensor_on_host(self)) {
        return false;
    }
    bp_view view;
    core_tensor_describe(&view, self);
    core_operand_describe(to, &view.tensor);
    Py_INCREF(object);
    to->owner = object;
    return true;
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
    Py_ssize_t step = item_size(self);
    int ndim = self->ndim;
    for (int i = 0; i < ndim && core_tensor_count(self) > 0; i++) {
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
    char *format = format_of(self->dtype);
    if (!core_tensor_on_host(self)) {
        view->obj = NULL;
        PyErr_SetString(PyExc_BufferError, "the tensor is in memory of a device; copy it to the host with .cpu()");
        return -1;
    }
    if (!format) {
        view->obj = NULL;
        PyErr_Format(PyExc_BufferError, "the buffer protocol has no format for %s; use DLPack",
                     bp_dtype_name(self->dtype));
        return -1;
    }
    if (!is_served(self, flags)) {
        view->obj = NULL;
        PyErr_Format(PyExc_BufferError, "the tensor is %s; request a buffer with strides",
                     is_compact(self, false) ? "row-major" : "not row-major");
        return -1;
    }
    view->buf = self->data;
    view->itemsize = item_size(self);
    view->len = core_tensor_count(self) * view->itemsize;
    view->readonly = 0;
    view->ndim = self->ndim;
    view->format = (flags & PyBUF_FORMAT) != 0 ? format : NULL;
    view->shape = (flags & PyBUF_ND) != 0 ? self->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? self->strides : NULL;
    view->suboffsets = NULL;
    view->internal = NULL;
    Py_INCREF(object);
    view->obj = object;
    return 0;
}

/* ---- Copies ---- */

PyObject *core_tensor_copy(core_state *state, const tensor *self, int32_t place) {
    bp_view from;
    DLManagedTensorVersioned *memory;
    core_unlocked unlocked;
    core_tensor_describe(&from, self);
    core_unlock(&unlocked);
    bp_status status = bp_tensor_empty_on(&memory, place, self->dtype, self->ndim, from.shape, NULL);
    if (status == BP_OK) {
        status = bp_copy(&memory->dl_tensor, &from.tensor, NULL);
        if (status != BP_OK) {
            memory->deleter(memory);
        }
    }
    core_lock(&unlocked);
    return status == BP_OK ? core_tensor(state, memory) : core_fail(state, status, NULL);
}

/* ---- Attributes ---- */

static PyObject *tuple_of(const tensor *self, const Py_ssize_t *numbers) {
    int ndim = self->ndim;
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
    return core_text(bp_dtype_name(((const tensor *)object)->dtype));
}

static PyObject *get_ndim(PyObject *object, void *unused) {
    (void)unused;
    return PyLong_FromLong(((const tensor *)object)->ndim);
}

static PyObject *get_size(PyObject *object, void *unused) {
    (void)unused;
    return PyLong_FromSsize_t(core_tensor_count((const tensor *)object));
}

/* ---- Text ---- */

/* Calls a function of the package's module _tensor with the tensor. */
static PyObject *call_package(const char *function, PyObject *object, PyObject *arguments, PyObject *names) {
    PyObject *package = PyImport_ImportModule("backplane._tensor");
    PyObject *callable = package ? PyObject_GetAttrString(package, function) : NULL;
    PyObject *first = callable ? PyTuple_Pack(1, object) : NULL;
    PyObject *all = first && arguments ? PySequence_Concat(first, arguments) : Py_BuildValue("O", first);
    PyObject *result = all ? PyObject_Call(callable, all, names) : NULL;
    Py_XDECREF(all);
    Py_XDECREF(first);
    Py_XDECREF(callable);
    Py_XDECREF(package);
    return result;
}

static PyObject *show_tensor(PyObject *object) {
    return call_package("text", object, NULL, NULL);
}

static PyObject *show_html(PyObject *object, PyObject *unused) {
    (void)unused;
    return call_package("html", object, NULL, NULL);
}

static PyObject *as_array(PyObject *object, PyObject *arguments, PyObject *names) {
    return call_package("array", object, arguments, names);
}

static PyObject *numpy(PyObject *object, PyObject *unused) {
    (void)unused;
    return call_package("numpy", object, NULL, NULL);
}

static PyObject *tensor_to(PyObject *object, PyObject *arguments, PyObject *names) {
    return call_package("to", object, arguments, names);
}

static PyObject *get_device(PyObject *object, void *unused) {
    (void)unused;
    return call_package("device_of", object, NULL, NULL);
}

static PyObject *cpu(PyObject *object, PyObject *unused) {
    (void)unused;
    return core_tensor_at_host(object);
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
    tensor *made = core_tensor_view(state, self);
    if (made) {
        made->dtype = words[size];
    }
    return (PyObject *)made;
}

static PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))core_tensor_dlpack, METH_VARARGS | METH_KEYWORDS,
     "Returns a DLPack capsule of this memory; versioned if max_version is 1.0 or later."},
    {"__dlpack_device__", core_tensor_dlpack_device, METH_NOARGS,
     "Returns (1, 0) for host memory; (4, index) on OpenCL."},
    {"__array__", (PyCFunction)(void (*)(void))as_array, METH_VARARGS | METH_KEYWORDS,
     "__array__($self, /, dtype=None, *, copy=None)\n--\n\nReturns a NumPy array of this memory, or a copy."},
    {"__complex__", core_tensor_to_complex, METH_NOARGS, "Returns the only element as a complex."},
    {"_repr_html_", show_html, METH_NOARGS, "Returns the values as a table, for notebooks."},
    {"item", core_tensor_item, METH_NOARGS, "item($self, /)\n--\n\nReturns the only element as a number of Python."},
    {"tolist", core_tensor_tolist, METH_NOARGS,
     "tolist($self, /)\n--\n\nReturns the elements as nested lists of Python's numbers; of rank 0, the number."},
    {"cpu", cpu, METH_NOARGS,
     "cpu($self, /)\n--\n\nReturns the tensor if it is in host memory, otherwise a copy there, after the work that "
     "writes it."},
    {"numpy", numpy, METH_NOARGS, "numpy($self, /)\n--\n\nReturns a NumPy array of this memory, which is on the host."},
    {"to", (PyCFunction)(void (*)(void))tensor_to, METH_VARARGS | METH_KEYWORDS,
     "to($self, /, device=None, dtype=None, *, copy=False)\n--\n\n"
     "Returns the tensor on a device and with an element type: itself if it has both already, otherwise a copy."},
    {"bits", bits, METH_NOARGS, "Returns a Tensor of this memory as unsigned integers of the same size."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef fields[] = {
    {"shape", get_shape, NULL, "The size of each dimension.", NULL},
    {"strides", get_strides, NULL, "The stride of each dimension in bytes.", NULL},
    {"row_major", get_row_major, NULL, "Whether the elements are contiguous in row-major order.", NULL},
    {"dtype", get_dtype, NULL, "The element type's name: 'f32', 'bf16', ...", NULL},
    {"device", get_device, NULL, "The backplane.device that the memory is on.", NULL},
    {"ndim", get_ndim, NULL, "The number of dimensions.", NULL},
    {"size", get_size, NULL, "The number of elements.", NULL},
    {"T", core_tensor_transpose, NULL, "A view with the dimensions in reverse order.", NULL},
    {"mT", core_tensor_transpose, NULL, "A view with the last two dimensions exchanged.", "the last two"},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(tensor, weak), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc,
     "A result in memory of the host or of a device. Results are contiguous, and row-major except that einsum may "
     "choose another order of\n"
     "dimensions. An index of ints, slices, ... and None gives a view that shares the memory; assignment writes to "
     "it.\n"
     "Convert it without a copy by memoryview(), numpy.asarray() or from_dlpack()."},
    {Py_tp_new, (void *)core_no_new},
    {Py_tp_dealloc, (void *)drop_tensor},
    {Py_tp_repr, (void *)show_tensor},
    {Py_tp_methods, methods},
    {Py_tp_getset, fields},
    {Py_tp_members, members},
    {Py_bf_getbuffer, (void *)get_buffer},
    {Py_mp_subscript, (void *)core_tensor_get},
    {Py_mp_ass_subscript, (void *)core_tensor_set},
    {Py_mp_length, (void *)core_tensor_length},
    {Py_sq_item, (void *)core_tensor_at},
    {Py_sq_length, (void *)core_tensor_length},
    {Py_tp_iter, (void *)core_tensor_iterate},
    {Py_nb_float, (void *)core_tensor_to_float},
    {Py_nb_int, (void *)core_tensor_to_int},
    {Py_nb_index, (void *)core_tensor_to_index},
    {Py_nb_bool, (void *)core_tensor_to_bool},
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
