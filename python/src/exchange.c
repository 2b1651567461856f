/* exchange.c - reads and makes tensors of libraries that have DLPack's C exchange interface (torch since 2.10).
 *
 * A type that has it carries the attribute `__dlpack_c_exchange_api__`, a capsule with functions that take objects of
 * that type. Borrowing a tensor takes about 60 ns, against some microseconds for a capsule of __dlpack__(). A subclass
 * may change what its methods give, so that only types which have the attribute themselves are read in this way.
 * DLPack's header of Debian 12 is older than the interface; its declarations are repeated here, from DLPack 1.3.
 */
#include "core.h"

#include <string.h>

typedef int (*exchange_borrow)(void *object, DLTensor *tensor);
typedef int (*exchange_wrap)(DLManagedTensorVersioned *memory, void **object);

struct core_exchange_api {
    struct {
        DLPackVersion version;
        const void *previous;
    } header;
    void (*allocate)(void);   /* not called */
    void (*take_share)(void); /* not called */
    exchange_wrap wrap;
    exchange_borrow borrow; /* may be NULL */
    void (*current_stream)(void);
};

/* ---- Types ---- */

static const core_exchange_api *api_in(PyObject *capsule) {
    const core_exchange_api *api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    bool usable = api && api->header.version.major == DLPACK_MAJOR_VERSION && api->borrow && api->wrap;
    PyErr_Clear();
    return usable ? api : NULL;
}

/* Looks in the type's own attributes, not in those of its bases. */
static const core_exchange_api *api_of(PyTypeObject *type) {
    static const char name[] = "__dlpack_c_exchange_api__";
    PyObject *attributes = PyObject_GetAttrString((PyObject *)type, "__dict__");
    PyObject *capsule = attributes ? PyMapping_GetItemString(attributes, name) : NULL;
    const core_exchange_api *api = capsule ? api_in(capsule) : NULL;
    PyErr_Clear();
    Py_XDECREF(capsule);
    Py_XDECREF(attributes);
    return api;
}

/* A new entry, or one of a type without the interface; NULL if there is none. */
static core_exchange *free_entry(core_exchanges *known) {
    if (known->count < CORE_EXCHANGES) {
        return &known->of[known->count++];
    }
    for (int i = 0; i < CORE_EXCHANGES; i++) {
        if (!known->of[i].api) {
            Py_CLEAR(known->of[i].type);
            return &known->of[i];
        }
    }
    return NULL;
}

const core_exchange *core_exchange_find(core_exchanges *known, PyTypeObject *type) {
    for (int i = 0; i < known->count; i++) {
        if (known->of[i].type == type) {
            return known->of[i].api ? &known->of[i] : NULL;
        }
    }
    core_exchange *made = free_entry(known);
    if (!made) {
        return NULL;
    }
    made->api = api_of(type);
    made->is_negative = made->is_conjugate = made->gradient = NULL;
    if (made->api) {
        made->is_negative = PyObject_GetAttrString((PyObject *)type, "is_neg");
        made->is_conjugate = PyObject_GetAttrString((PyObject *)type, "is_conj");
        made->gradient = PyObject_HasAttrString((PyObject *)type, "requires_grad")
                             ? PyUnicode_InternFromString("requires_grad")
                             : NULL;
        PyErr_Clear();
    }
    made->type = type;
    Py_INCREF(type);
    return made->api ? made : NULL;
}

/* ---- Tensors ---- */

/* Counts a failure as true. */
static bool is_true(const PyObject *answer) {
    return answer != Py_False;
}

static bool has_bit(PyObject *predicate, PyObject *object) {
    PyObject *answer = predicate ? PyObject_CallFunctionObjArgs(predicate, object, NULL) : NULL;
    bool set = predicate && is_true(answer);
    Py_XDECREF(answer);
    return set;
}

static bool has_gradient(const core_exchange *of, PyObject *object) {
    PyObject *answer = of->gradient ? PyObject_GetAttr(object, of->gradient) : NULL;
    bool set = of->gradient && is_true(answer);
    Py_XDECREF(answer);
    return set;
}

/* Returns whether the memory is not all that the tensor means: torch's negative and conjugate bits, and gradients.
 * Torch checks them in __dlpack__(), but not when a tensor is borrowed. */
static bool is_special(const core_exchange *of, const DLTensor *given, PyObject *object) {
    return has_bit(of->is_negative, object) || has_gradient(of, object) ||
           (given->dtype.code == kDLComplex && has_bit(of->is_conjugate, object));
}

bool core_exchange_read(const core_exchange *of, operand *to, PyObject *object) {
    DLTensor given;
    if (of->api->borrow(object, &given) != 0 || given.device.device_type != kDLCPU || given.ndim > BP_MAX_NDIM ||
        is_special(of, &given, object)) {
        PyErr_Clear();
        return false;
    }
    core_operand_describe(to, &given);
    if (!core_is_aligned(to)) {
        return false;
    }
    Py_INCREF(object);
    to->owner = object;
    return true;
}

PyObject *core_exchange_wrap(const core_exchange *of, DLManagedTensorVersioned *memory) {
    void *object = NULL;
    return of->api->wrap(memory, &object) == 0 ? object : NULL;
}
