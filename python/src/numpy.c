/* numpy.c - reads NumPy's arrays in place, and makes new ones, through NumPy's C interface.
 *
 * The buffer protocol takes about 150 ns for an array, and a NumPy array around a Tensor 400 ns: more than a small
 * product. The structs and table positions below are the same in all versions 1.x and 2.x of NumPy. They are declared
 * here, so that the package is built without NumPy and one binary serves all versions. They are compared with what the
 * buffer protocol says of a test array before they are used; if anything differs, arrays are read by that protocol.
 */
#include "core.h"

#include <string.h>

/* The beginning of NumPy's PyArray_Descr and PyArrayObject_fields. */
typedef struct numpy_descr {
    PyObject_HEAD PyTypeObject *scalar;
    char kind, letter, byteorder, flags;
    int number;
} numpy_descr;

typedef struct numpy_array {
    PyObject_HEAD char *data;
    int ndim;
    Py_ssize_t *shape;
    Py_ssize_t *strides; /* in bytes */
    PyObject *base;
    const numpy_descr *descr;
    int flags;
} numpy_array;

enum { WRITEABLE = 0x0400, WARN_ON_WRITE = 1 << 31 }; /* flags of an array */
enum { API_VERSION = 0, API_TYPE = 2, API_NEW = 93 }; /* positions in NumPy's table */

typedef unsigned (*numpy_version)(void);
typedef PyObject *(*numpy_new)(PyTypeObject *type, int ndim, const Py_ssize_t *shape, int number,
                               const Py_ssize_t *strides, void *data, int itemsize, int flags, PyObject *prototype);

/* NumPy's numbers of element types, which follow C's types: `long` is 7, `long long` 9. */
enum { NUMPY_FLOAT = 11, NUMPY_TYPES = 24 };
#define INTEGER(code, type)                                                                                            \
    { code, 8 * sizeof(type), 1 }
static const DLDataType types[NUMPY_TYPES] = {
    [0] = {kDLBool, 8, 1},
    [1] = INTEGER(kDLInt, signed char),
    [2] = INTEGER(kDLUInt, unsigned char),
    [3] = INTEGER(kDLInt, short),
    [4] = INTEGER(kDLUInt, unsigned short),
    [5] = INTEGER(kDLInt, int),
    [6] = INTEGER(kDLUInt, unsigned),
    [7] = INTEGER(kDLInt, long),
    [8] = INTEGER(kDLUInt, unsigned long),
    [9] = INTEGER(kDLInt, long long),
    [10] = INTEGER(kDLUInt, unsigned long long),
    [NUMPY_FLOAT] = {kDLFloat, 32, 1},
    [12] = {kDLFloat, 64, 1},
    [14] = {kDLComplex, 64, 1},
    [15] = {kDLComplex, 128, 1},
    [23] = {kDLFloat, 16, 1},
};

/* The first number of that type, or -1: bfloat16 has none. The columns are 8 to 128 bits. */
static int number_of(DLDataType type) {
    static const signed char numbers[][5] = {
        [kDLInt] = {1, 3, 5, sizeof(long) == 8 ? 7 : 9, -1},
        [kDLUInt] = {2, 4, 6, sizeof(long) == 8 ? 8 : 10, -1},
        [kDLFloat] = {-1, 23, NUMPY_FLOAT, 12, -1},
        [kDLOpaqueHandle] = {-1, -1, -1, -1, -1},
        [kDLBfloat] = {-1, -1, -1, -1, -1},
        [kDLComplex] = {-1, -1, -1, 14, 15},
        [kDLBool] = {0, -1, -1, -1, -1},
    };
    const unsigned bytes = type.bits / 8;
    if (type.code > kDLBool || type.lanes != 1 || type.bits % 8 != 0 || bytes == 0 || bytes > 16 ||
        (bytes & (bytes - 1)) != 0) {
        return -1;
    }
    return numbers[type.code][__builtin_ctz(bytes)];
}

/* ---- Finding NumPy ---- */

/* Compares the layout of an array of 2x3 f32 with what the buffer protocol says of it. */
static bool layout_matches(PyObject *object) {
    const numpy_array *array = (const numpy_array *)object;
    Py_buffer buffer;
    if (PyObject_GetBuffer(object, &buffer, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
        return false;
    }
    bool same = array->data == buffer.buf && array->ndim == 2 && array->shape[0] == 2 && array->shape[1] == 3 &&
                array->strides[0] == 12 && array->strides[1] == 4 && array->descr->number == NUMPY_FLOAT &&
                array->descr->byteorder == '=' && (array->flags & WRITEABLE) != 0;
    PyBuffer_Release(&buffer);
    return same;
}

static bool is_usable(void **api) {
    const Py_ssize_t shape[] = {2, 3};
    unsigned major = ((numpy_version)(uintptr_t)api[API_VERSION])() >> 24;
    if (major != 1 && major != 2) {
        return false;
    }
    PyObject *array = ((numpy_new)(uintptr_t)api[API_NEW])((PyTypeObject *)api[API_TYPE], 2, shape, NUMPY_FLOAT, NULL,
                                                           NULL, 0, 0, NULL);
    bool usable = array && layout_matches(array);
    Py_XDECREF(array);
    PyErr_Clear();
    return usable;
}

/* The table of a module that the program has imported; NULL if it has not. NumPy's capsule has no name, so the table's
 * array type is compared with the module's: programs put other modules in NumPy's place. */
static void **table_in(const char *module) {
    PyObject *name = PyUnicode_FromString(module);
    PyObject *found = name ? PyImport_GetModule(name) : NULL;
    PyObject *type = found ? PyObject_GetAttrString(found, "ndarray") : NULL;
    PyObject *capsule = type ? PyObject_GetAttrString(found, "_ARRAY_API") : NULL;
    void **table = capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
    if (table && (table[API_TYPE] != type || !table[API_VERSION] || !table[API_NEW])) {
        table = NULL;
    }
    PyErr_Clear();
    Py_XDECREF(capsule);
    Py_XDECREF(type);
    Py_XDECREF(found);
    Py_XDECREF(name);
    return table;
}

bool core_numpy_find(core_numpy *numpy) {
    if (numpy->type) {
        return numpy->api != NULL;
    }
    void **api = table_in("numpy._core._multiarray_umath");
    api = api ? api : table_in("numpy.core._multiarray_umath");
    if (!api) {
        return false;
    }
    numpy->api = is_usable(api) ? api : NULL;
    numpy->type = api[API_TYPE]; /* masked arrays are found by it, also if the table is not usable */
    Py_INCREF(numpy->type);
    return numpy->api != NULL;
}

/* ---- Arrays ---- */

bool core_numpy_read(operand *to, PyObject *object, unsigned access) {
    const numpy_array *array = (const numpy_array *)object;
    unsigned number = (unsigned)array->descr->number;
    bool is_native = array->descr->byteorder == '=' || array->descr->byteorder == '|';
    bool refuses = (access & CORE_WRITES) != 0 && (array->flags & (WRITEABLE | WARN_ON_WRITE)) != WRITEABLE;
    if (number >= NUMPY_TYPES || types[number].bits == 0 || !is_native || refuses || array->ndim > BP_MAX_NDIM) {
        return false;
    }
    int size = types[number].bits / 8;
    to->tensor = (DLTensor){
        .data = array->data, .device = {kDLCPU, 0}, .ndim = array->ndim, .dtype = types[number], .byte_offset = 0};
    for (int i = 0; i < array->ndim; i++) {
        to->shape[i] = array->shape[i];
        to->steps[i] = array->strides[i];
        to->strides[i] = array->strides[i] / size;
    }
    to->unaligned = array->data;
    if (!core_is_aligned(to)) {
        return false;
    }
    Py_INCREF(object);
    to->owner = object;
    return true;
}

PyObject *core_numpy_new(const core_numpy *numpy, DLTensor *result) {
    int number = number_of(result->dtype), size = result->dtype.bits / 8;
    Py_ssize_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM];
    for (int i = 0; i < result->ndim; i++) {
        shape[i] = (Py_ssize_t)result->shape[i];
        strides[i] = result->strides ? (Py_ssize_t)result->strides[i] * size : 0;
    }
    PyObject *made = ((numpy_new)(uintptr_t)numpy->api[API_NEW])(numpy->type, result->ndim, shape, number,
                                                                 result->strides ? strides : NULL, NULL, 0, 0, NULL);
    if (made) {
        result->data = ((numpy_array *)made)->data;
        result->byte_offset = 0;
    }
    return made;
}

bool core_numpy_has(DLDataType type) {
    return number_of(type) >= 0;
}
