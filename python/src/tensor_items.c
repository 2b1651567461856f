/* tensor_items.c - reads and writes elements of a Tensor: indexing, iteration, conversion to Python's numbers.
 *
 * Indexing takes ints, slices, Ellipsis and None, and gives a view that shares the memory. An index for each dimension
 * gives a view of rank 0, as in PyTorch and the array API, because a Tensor has no scalar type of its own.
 */
#include "tensor.h"

#include <string.h>

/* ---- Indexing ---- */

/* A view while its index is read. */
typedef struct cursor {
    const tensor *from;
    int used;   /* dimensions of `from` that have been read */
    tensor *to; /* owns the layout so far: data, ndim, shape, strides */
} cursor;

static bool add_dimension(cursor *at, Py_ssize_t size, Py_ssize_t stride) {
    if (at->to->ndim == BP_MAX_NDIM) {
        PyErr_Format(PyExc_IndexError, "the result would have more than %d dimensions", BP_MAX_NDIM);
        return false;
    }
    at->to->shape[at->to->ndim] = size;
    at->to->strides[at->to->ndim++] = stride;
    return true;
}

static bool keep_dimensions(cursor *at, int count) {
    for (; count > 0; count--, at->used++) {
        if (!add_dimension(at, at->from->shape[at->used], at->from->strides[at->used])) {
            return false;
        }
    }
    return true;
}

static bool take_index(cursor *at, Py_ssize_t index) {
    Py_ssize_t size = at->from->shape[at->used];
    if (index < -size || index >= size) {
        PyErr_Format(PyExc_IndexError, "index %zd is out of range for dimension %d of size %zd", index, at->used, size);
        return false;
    }
    at->to->data += (index < 0 ? index + size : index) * at->from->strides[at->used];
    at->used++;
    return true;
}

static bool take_slice(cursor *at, PyObject *slice) {
    Py_ssize_t start, stop, step, stride = at->from->strides[at->used];
    if (PySlice_Unpack(slice, &start, &stop, &step) != 0) {
        return false;
    }
    Py_ssize_t size = PySlice_AdjustIndices(at->from->shape[at->used], &start, &stop, step);
    at->used++;
    if (size > 0) { /* an empty slice may start outside the memory */
        at->to->data += start * stride;
    }
    return add_dimension(at, size, size > 1 ? step * stride : stride);
}

static bool take_items(cursor *at, PyObject *key, int left) {
    if (key == Py_None) {
        return add_dimension(at, 1, (Py_ssize_t)bp_dtype_size(at->to->dtype));
    }
    if (key == Py_Ellipsis) {
        return keep_dimensions(at, at->from->ndim - at->used - left);
    }
    if (PySlice_Check(key)) {
        return take_slice(at, key);
    }
    if (PyBool_Check(key) || !PyIndex_Check(key)) {
        PyErr_Format(PyExc_TypeError,
                     "index: expects ints, slices, ... and None, but got %R; for other indices use numpy.asarray()",
                     key);
        return false;
    }
    Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
    return (index != -1 || !PyErr_Occurred()) && take_index(at, index);
}

/* Counts the dimensions that a tuple of indices reads. Returns -1 with an exception set. */
static int count_dimensions(const tensor *self, PyObject *keys) {
    int dimensions = 0, ellipses = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(keys); i++) {
        PyObject *key = PyTuple_GetItem(keys, i);
        ellipses += key == Py_Ellipsis;
        dimensions += key != Py_Ellipsis && key != Py_None;
    }
    if (ellipses > 1) {
        PyErr_SetString(PyExc_IndexError, "an index can have one ... only");
        return -1;
    }
    if (dimensions > self->ndim) {
        PyErr_Format(PyExc_IndexError, "too many indices: the tensor has %d dimensions, but %d were indexed",
                     self->ndim, dimensions);
        return -1;
    }
    return dimensions;
}

static bool take_all(cursor *at, PyObject *keys) {
    int left = count_dimensions(at->from, keys);
    if (left < 0) {
        return false;
    }
    for (Py_ssize_t i = 0; i < PyTuple_Size(keys); i++) {
        PyObject *key = PyTuple_GetItem(keys, i);
        if (!take_items(at, key, left)) {
            return false;
        }
        left -= key != Py_Ellipsis && key != Py_None;
    }
    return keep_dimensions(at, at->from->ndim - at->used);
}

static tensor *start_view(PyObject *object) {
    tensor *view = core_tensor_view(core_state_of_object(object), (const tensor *)object);
    if (view) {
        view->ndim = 0;
    }
    return view;
}

PyObject *core_tensor_get(PyObject *object, PyObject *key) {
    cursor at = {.from = (const tensor *)object, .to = start_view(object)};
    PyObject *keys = PyTuple_Check(key) ? Py_BuildValue("O", key) : PyTuple_Pack(1, key);
    bool good = at.to && keys && take_all(&at, keys);
    Py_XDECREF(keys);
    if (!good) {
        Py_CLEAR(at.to);
    }
    return (PyObject *)at.to;
}

PyObject *core_tensor_at(PyObject *object, Py_ssize_t index) {
    if (core_tensor_length(object) < 0) {
        return NULL;
    }
    cursor at = {.from = (const tensor *)object, .to = start_view(object)};
    if (at.to && !(take_index(&at, index) && keep_dimensions(&at, at.from->ndim - 1))) {
        Py_CLEAR(at.to);
    }
    return (PyObject *)at.to;
}

Py_ssize_t core_tensor_length(PyObject *object) {
    const tensor *self = (const tensor *)object;
    if (self->ndim == 0) {
        PyErr_SetString(PyExc_TypeError, "a tensor of rank 0 has no length");
        return -1;
    }
    return self->shape[0];
}

PyObject *core_tensor_iterate(PyObject *object) {
    return core_tensor_length(object) < 0 ? NULL : PySeqIter_New(object);
}

PyObject *core_tensor_transpose(PyObject *object, void *last_two) {
    const tensor *from = (const tensor *)object;
    int first = last_two ? from->ndim - 2 : 0;
    core_state *state = core_state_of_object(object);
    if (first < 0) {
        return core_refuse(state, state->bad_value, BP_E_SHAPE, "mT: needs two dimensions, but the tensor has %d",
                           from->ndim);
    }
    tensor *view = core_tensor_view(state, from);
    for (int i = first; view && i < from->ndim; i++) {
        view->shape[i] = from->shape[from->ndim - 1 - i + first];
        view->strides[i] = from->strides[from->ndim - 1 - i + first];
    }
    return (PyObject *)view;
}

/* ---- Elements as Python's numbers ---- */

static PyObject *half_to_float(core_state *state, bp_dtype dtype, char *element) {
    bp_view from, to;
    double value = 0;
    bp_status status = bp_view_init(&from, element, dtype, 0, (const int64_t[]){0}, NULL);
    status = status == BP_OK ? bp_view_init(&to, &value, BP_F64, 0, (const int64_t[]){0}, NULL) : status;
    status = status == BP_OK ? bp_tensor_copy(&to.tensor, &from.tensor) : status;
    return status == BP_OK ? PyFloat_FromDouble(value) : core_fail(state, status, NULL);
}

static PyObject *floating(core_state *state, bp_dtype dtype, char *element) {
    float narrow[2];
    double wide[2];
    memcpy(narrow, element, dtype == BP_C64 ? sizeof narrow : dtype == BP_F32 ? sizeof *narrow : 0);
    memcpy(wide, element, dtype == BP_C128 ? sizeof wide : dtype == BP_F64 ? sizeof *wide : 0);
    switch (dtype) {
    case BP_F32:
        return PyFloat_FromDouble((double)narrow[0]);
    case BP_F64:
        return PyFloat_FromDouble(wide[0]);
    case BP_C64:
        return PyComplex_FromDoubles((double)narrow[0], (double)narrow[1]);
    case BP_C128:
        return PyComplex_FromDoubles(wide[0], wide[1]);
    default:
        return half_to_float(state, dtype, element);
    }
}

static PyObject *object_of(core_state *state, bp_dtype dtype, char *element) {
    if (dtype < BP_I8) {
        return floating(state, dtype, element);
    }
    switch (dtype) {
    case BP_I8:
        return PyLong_FromLong(*(int8_t *)element);
    case BP_I16:
        return PyLong_FromLong(*(int16_t *)(void *)element);
    case BP_I32:
        return PyLong_FromLong(*(int32_t *)(void *)element);
    case BP_I64:
        return PyLong_FromLongLong(*(int64_t *)(void *)element);
    case BP_U8:
        return PyLong_FromLong(*(uint8_t *)element);
    case BP_U16:
        return PyLong_FromLong(*(uint16_t *)(void *)element);
    case BP_U32:
        return PyLong_FromUnsignedLong(*(uint32_t *)(void *)element);
    case BP_U64:
        return PyLong_FromUnsignedLongLong(*(uint64_t *)(void *)element);
    default:
        return PyBool_FromLong(*element);
    }
}

static PyObject *list_of(core_state *state, const tensor *self, int dimension, char *data) {
    if (dimension == self->ndim) {
        return object_of(state, self->dtype, data);
    }
    PyObject *list = PyList_New(self->shape[dimension]);
    for (Py_ssize_t i = 0; list && i < self->shape[dimension]; i++) {
        PyObject *item = list_of(state, self, dimension + 1, data + i * self->strides[dimension]);
        if (!item) {
            Py_CLEAR(list);
        } else {
            PyList_SetItem(list, i, item);
        }
    }
    return list;
}

PyObject *core_tensor_tolist(PyObject *object, PyObject *unused) {
    PyObject *host = core_tensor_at_host(object);
    const tensor *self = (const tensor *)host;
    (void)unused;
    PyObject *list = host ? list_of(core_state_of_object(object), self, 0, self->data) : NULL;
    Py_XDECREF(host);
    return list;
}

PyObject *core_tensor_item(PyObject *object, PyObject *unused) {
    const tensor *self = (const tensor *)object;
    core_state *state = core_state_of_object(object);
    (void)unused;
    if (core_tensor_count(self) != 1) {
        return core_refuse(state, state->bad_value, BP_E_SHAPE,
                           "a tensor of %zd elements has no single value; one element is needed",
                           core_tensor_count(self));
    }
    PyObject *host = core_tensor_at_host(object);
    PyObject *item = host ? object_of(state, self->dtype, ((const tensor *)host)->data) : NULL;
    Py_XDECREF(host);
    return item;
}

/* Calls a function with the only element. */
static PyObject *converted(PyObject *object, PyObject *(*convert)(PyObject *)) {
    PyObject *item = core_tensor_item(object, NULL);
    PyObject *result = item ? convert(item) : NULL;
    Py_XDECREF(item);
    return result;
}

PyObject *core_tensor_to_float(PyObject *object) {
    return converted(object, PyNumber_Float);
}

PyObject *core_tensor_to_int(PyObject *object) {
    return converted(object, PyNumber_Long);
}

PyObject *core_tensor_to_index(PyObject *object) {
    const tensor *self = (const tensor *)object;
    if (self->ndim > 0 || self->dtype < BP_I8 || self->dtype == BP_BOOL) {
        PyErr_SetString(PyExc_TypeError, "only a tensor of rank 0 of an integer type is an index");
        return NULL;
    }
    return converted(object, PyNumber_Index);
}

PyObject *core_tensor_to_complex(PyObject *object, PyObject *unused) {
    PyObject *item = core_tensor_item(object, unused);
    PyObject *result = item ? PyObject_CallFunctionObjArgs((PyObject *)&PyComplex_Type, item, NULL) : NULL;
    Py_XDECREF(item);
    return result;
}

int core_tensor_to_bool(PyObject *object) {
    PyObject *item = core_tensor_item(object, NULL);
    int truth = item ? PyObject_IsTrue(item) : -1;
    Py_XDECREF(item);
    return truth;
}

/* ---- Writing ---- */

/* A number in memory, in a type that bp_tensor_copy() converts to the tensor's type. */
typedef union number {
    double real[2];
    uint64_t whole;
    unsigned char bytes[16];
} number;

static bool read_floating(number *to, PyObject *value, bool is_complex) {
    to->real[0] = is_complex ? PyComplex_RealAsDouble(value) : PyFloat_AsDouble(value);
    to->real[1] = is_complex ? PyComplex_ImagAsDouble(value) : 0;
    return !PyErr_Occurred();
}

/* Reads a whole number; its low bytes are the element. */
static bool read_whole(core_state *state, number *to, bp_dtype dtype, PyObject *value) {
    bool is_signed = dtype < BP_U8;
    int bits = (int)(8 * bp_dtype_size(dtype));
    PyObject *index = PyNumber_Index(value);
    if (!index) {
        return false;
    }
    int64_t low = is_signed ? PyLong_AsLongLong(index) : 0;
    to->whole = is_signed ? (uint64_t)low : PyLong_AsUnsignedLongLong(index);
    bool fits = !PyErr_Occurred();
    Py_DECREF(index);
    if (fits && bits < 64) {
        fits = is_signed ? low >> (bits - 1) == 0 || low >> (bits - 1) == -1 : to->whole >> bits == 0;
    }
    if (!fits) {
        PyErr_Clear();
        core_refuse(state, state->bad_value, BP_E_BAD_VALUE, "%R is out of range for %s", value, bp_dtype_name(dtype));
    }
    return fits;
}

/* Converts a number of Python. Returns its type in memory, or BP_DTYPE_NONE with an exception set. */
static bp_dtype read_number(core_state *state, number *to, bp_dtype dtype, PyObject *value) {
    bool good;
    if (dtype < BP_I8) {
        bool is_complex = dtype == BP_C64 || dtype == BP_C128;
        good = read_floating(to, value, is_complex);
        dtype = is_complex ? BP_C128 : BP_F64;
    } else if (dtype == BP_BOOL) {
        int truth = PyObject_IsTrue(value);
        to->bytes[0] = truth == 1;
        good = truth >= 0;
    } else {
        good = read_whole(state, to, dtype, value); /* the low bytes come first on all supported processors */
    }
    return good ? dtype : BP_DTYPE_NONE;
}

/* Copies to a view on a device. A source on the host is converted there; one element is sent once, and spread on the
 * device. */
static bp_status copy_to_device(DLTensor *target, DLTensor *source) {
    static const int64_t none[BP_MAX_NDIM];
    const bp_dtype dtype = bp_dtype_from_dlpack(target->dtype);
    DLManagedTensorVersioned *host = NULL, *sent = NULL;
    int64_t ones[BP_MAX_NDIM];
    bool is_number = true;
    for (int i = 0; i < source->ndim; i++) {
        is_number = is_number && source->strides[i] == 0;
        ones[i] = 1;
    }
    if (bp_device_place(source->device) != 0) {
        return bp_copy(target, source, NULL);
    }
    DLTensor one = *source;
    one.shape = is_number ? ones : source->shape;
    bp_status status = bp_tensor_empty(&host, dtype, one.ndim, one.shape, NULL);
    status = status == BP_OK ? bp_tensor_copy(&host->dl_tensor, &one) : status;
    if (status == BP_OK && !is_number) {
        status = bp_copy(target, &host->dl_tensor, NULL);
    } else if (status == BP_OK) {
        status = bp_tensor_empty_on(&sent, bp_device_place(target->device), dtype, one.ndim, ones, NULL);
        status = status == BP_OK ? bp_copy(&sent->dl_tensor, &host->dl_tensor, NULL) : status;
        if (status == BP_OK) {
            DLTensor spread = sent->dl_tensor;
            spread.shape = target->shape;
            spread.strides = (int64_t *)(uintptr_t)none;
            status = bp_unary_run(NULL, BP_UNARY_COPY, &spread, target);
        }
    }
    if (sent) {
        sent->deleter(sent);
    }
    if (host) {
        host->deleter(host);
    }
    return status;
}

/* Copies to a view; through a temporary tensor if the source shares memory with it. */
static int copy_into(core_state *state, const tensor *to, DLTensor *source) {
    bp_view target;
    DLManagedTensorVersioned *apart = NULL;
    core_unlocked unlocked;
    core_tensor_describe(&target, to);
    core_unlock(&unlocked);
    bp_status status = core_tensor_count(to) == 0 ? BP_OK
                       : !core_tensor_on_host(to) ? copy_to_device(&target.tensor, source)
                                                  : bp_tensor_copy(&target.tensor, source);
    if (status == BP_E_OVERLAP) {
        status = bp_tensor_empty(&apart, bp_dtype_from_dlpack(source->dtype), source->ndim, source->shape, NULL);
        status = status == BP_OK ? bp_tensor_copy(&apart->dl_tensor, source) : status;
        status = status == BP_OK ? bp_tensor_copy(&target.tensor, &apart->dl_tensor) : status;
    }
    core_lock(&unlocked);
    if (apart) {
        apart->deleter(apart);
    }
    if (status != BP_OK) {
        core_fail(state, status, NULL);
    }
    return status == BP_OK ? 0 : -1;
}

static int write_number(core_state *state, const tensor *to, PyObject *value) {
    static const int64_t none[BP_MAX_NDIM];
    int64_t shape[BP_MAX_NDIM];
    number content;
    bp_view source;
    bp_dtype dtype = read_number(state, &content, to->dtype, value);
    if (dtype == BP_DTYPE_NONE) {
        return -1;
    }
    for (int i = 0; i < to->ndim; i++) {
        shape[i] = to->shape[i];
    }
    bp_status status = bp_view_init(&source, &content, dtype, to->ndim, shape, none);
    if (status != BP_OK) {
        core_fail(state, status, NULL);
        return -1;
    }
    return copy_into(state, to, &source.tensor);
}

/* Changes a source to the shape of a view, by strides of 0. Returns false if that is not possible. */
static bool broadcast(bp_view *source, const tensor *to) {
    int drop = 0;
    while (source->tensor.ndim - drop > to->ndim && source->shape[drop] == 1) {
        drop++;
    }
    int missing = to->ndim - source->tensor.ndim + drop;
    if (missing < 0) {
        return false;
    }
    bp_view from;
    if (bp_view_copy(&from, source) != BP_OK) {
        return false;
    }
    for (int i = 0; i < to->ndim; i++) {
        int64_t size = i < missing ? 1 : from.shape[i - missing + drop];
        if (size != to->shape[i] && size != 1) {
            return false;
        }
        source->strides[i] = size == 1 ? 0 : from.strides[i - missing + drop];
        source->shape[i] = to->shape[i];
    }
    source->tensor.ndim = to->ndim;
    return true;
}

static int write_array(core_state *state, const tensor *to, PyObject *value) {
    operand from;
    bp_view source;
    int result = -1;
    if (!core_operand(state, &from, value, "value", CORE_READS)) {
        return -1;
    }
    const DLTensor *read = &from.tensor;
    bp_status status =
        bp_view_init(&source, read->data, bp_dtype_from_dlpack(read->dtype), read->ndim, read->shape, read->strides);
    source.tensor.device = read->device;
    source.tensor.byte_offset = read->byte_offset;
    if (status != BP_OK) {
        core_fail(state, status, NULL);
    } else if (broadcast(&source, to)) {
        result = copy_into(state, to, &source.tensor);
    } else {
        core_refuse(state, state->bad_value, BP_E_SHAPE, "value: its shape does not broadcast to the index's shape");
    }
    core_operand_release(&from);
    return result;
}

int core_tensor_set(PyObject *object, PyObject *key, PyObject *value) {
    core_state *state = core_state_of_object(object);
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "elements of a tensor cannot be deleted");
        return -1;
    }
    PyObject *view = core_tensor_get(object, key);
    if (!view) {
        return -1;
    }
    bool is_number = PyNumber_Check(value) && !PyObject_HasAttrString(value, "__dlpack__");
    int result = (is_number ? write_number : write_array)(state, (const tensor *)view, value);
    Py_DECREF(view);
    return result;
}
