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
typedef int (*exchange_share)(void *object, DLManagedTensorVersioned **memory);
typedef int (*exchange_wrap)(DLManagedTensorVersioned *memory, void **object);

struct core_exchange_api {
    struct {
        DLPackVersion version;
        const void *previous;
    } header;
    void (*allocate)(void); /* not called */
    exchange_share share;
    exchange_wrap wrap;
    exchange_borrow borrow; /* may be NULL */
    void (*current_stream)(void);
};

/* ---- Types ---- */

static const core_exchange_api *api_in(PyObject *capsule) {
    const core_exchange_api *api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    bool usable = api && api->header.version.major == DLPACK_MAJOR_VERSION && api->borrow && api->share && api->wrap;
    PyErr_Clear();
    return usable ? api : NULL;
}

/* Looks in the type's own attributes, not in its bases'. */
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

/* Finds a method. The function of one of C, as torch's are, is called without the interpreter's preparations, which
 * take longer than what it does. */
static core_predicate predicate_of(PyTypeObject *type, PyObject *object, const char *name) {
    core_predicate found = {PyObject_GetAttrString((PyObject *)type, name), NULL};
    PyObject *bound = NULL;
    if (found.method && Py_TYPE(found.method) == &PyMethodDescr_Type) {
        descrgetfunc bind =
            (descrgetfunc)(uintptr_t)PyType_GetSlot(&PyMethodDescr_Type, Py_tp_descr_get); /* from 3.10 on */
        bound = bind ? bind(found.method, object, (PyObject *)type) : NULL;
    }
    if (bound && PyCFunction_Check(bound) && PyCFunction_GetFlags(bound) == METH_NOARGS) {
        found.function = PyCFunction_GetFunction(bound);
    }
    Py_XDECREF(bound);
    PyErr_Clear();
    return found;
}

/* Finds how to read `requires_grad`. Torch's is a descriptor with a getter in C, which takes half as long without the
 * search for the name. A class of Python may have an attribute of instances. */
static void describe_gradient(core_exchange *to, PyTypeObject *type) {
    static const char name[] = "requires_grad";
    PyObject *attribute = PyObject_GetAttrString((PyObject *)type, name);
    if (attribute && Py_TYPE(attribute) == &PyGetSetDescr_Type &&
        PyType_GetSlot(type, Py_tp_getattro) == (void *)(uintptr_t)PyObject_GenericGetAttr) {
        to->get = (descrgetfunc)(uintptr_t)PyType_GetSlot(&PyGetSetDescr_Type, Py_tp_descr_get); /* from 3.10 on */
    }
    if (to->get) {
        to->gradient = attribute;
        return;
    }
    to->gradient = attribute ? PyUnicode_InternFromString(name) : NULL;
    Py_XDECREF(attribute);
}

/* The attributes of a type may run Python code: other threads, and calls of this module for other types. */
static core_exchange described(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    core_exchange made = {.type = type, .api = api_of(type)};
    if (made.api) {
        made.is_negative = predicate_of(type, object, "is_neg");
        made.is_conjugate = predicate_of(type, object, "is_conj");
        describe_gradient(&made, type);
        PyErr_Clear();
    }
    Py_INCREF(type);
    return made;
}

static void forget(core_exchange *entry) {
    Py_CLEAR(entry->is_negative.method);
    Py_CLEAR(entry->is_conjugate.method);
    Py_CLEAR(entry->gradient);
    Py_CLEAR(entry->type);
}

/* Stores the entry in a free place, or in place of a type without the interface. Returns the stored entry, which stays
 * there if it has an interface; NULL if there is no place. */
static core_exchange *store_exchange(core_exchanges *known, core_exchange *made) {
    int place = 0;
    while (place < known->count && known->of[place].api) {
        place++;
    }
    place = known->count < CORE_EXCHANGES ? known->count++ : place;
    if (place == CORE_EXCHANGES) {
        forget(made);
        return NULL;
    }
    core_exchange former = known->of[place]; /* in a free place its references are NULL */
    known->of[place] = *made;
    forget(&former);
    return &known->of[place];
}

const core_exchange *core_exchange_find(core_exchanges *known, PyObject *object) {
    const PyTypeObject *type = Py_TYPE(object);
    for (int i = 0; i < known->count; i++) {
        if (known->of[i].type == type) {
            return known->of[i].api ? &known->of[i] : NULL;
        }
    }
    core_exchange made = described(object);
    const core_exchange *stored = store_exchange(known, &made);
    return made.api ? stored : NULL;
}

/* ---- Tensors ---- */

/* Counts a failure as true. */
static bool is_true(const PyObject *answer) {
    return answer != Py_False;
}

static bool has_bit(const core_predicate *predicate, PyObject *object) {
    if (!predicate->method) {
        return false;
    }
    PyObject *answer = predicate->function ? predicate->function(object, NULL)
                                           : PyObject_CallFunctionObjArgs(predicate->method, object, NULL);
    bool set = is_true(answer);
    Py_XDECREF(answer);
    return set;
}

static bool has_gradient(const core_exchange *of, PyObject *object) {
    if (!of->gradient) {
        return false;
    }
    PyObject *answer =
        of->get ? of->get(of->gradient, object, (PyObject *)of->type) : PyObject_GetAttr(object, of->gradient);
    bool set = is_true(answer);
    Py_XDECREF(answer);
    return set;
}

/* Returns whether the memory is not all that the tensor means: torch's negative and conjugate bits, and gradients.
 * Torch checks them in __dlpack__(), but not when a tensor is borrowed. */
static bool is_special(const core_exchange *of, DLDataType type, PyObject *object) {
    return has_bit(&of->is_negative, object) || has_gradient(of, object) ||
           (type.code == kDLComplex && has_bit(&of->is_conjugate, object));
}

/* A borrowed tensor does not say whether its memory is read-only; a share of the memory does. Torch, whose types have a
 * negative bit, has no read-only memory, and a share takes as long as the rest of a small call. */
static bool is_read_only(const core_exchange *of, PyObject *object) {
    DLManagedTensorVersioned *share = NULL;
    if (of->is_negative.method) {
        return false;
    }
    if (of->api->share(object, &share) != 0 || !share) {
        return true;
    }
    bool fixed = share->version.major != DLPACK_MAJOR_VERSION || (share->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
    if (share->deleter) {
        share->deleter(share);
    }
    return fixed;
}

bool core_exchange_read(const core_exchange *of, operand *to, PyObject *object, unsigned access) {
    DLTensor given;
    if ((access & CORE_WRITES) != 0 && is_read_only(of, object)) {
        PyErr_Clear();
        return false;
    }
    if (of->api->borrow(object, &given) != 0 || given.device.device_type != kDLCPU || given.ndim < 0 ||
        given.ndim > BP_MAX_NDIM) {
        PyErr_Clear();
        return false;
    }
    core_operand_describe(to, &given); /* before any code of Python runs: shape and strides are the object's */
    if (is_special(of, given.dtype, object) || !core_is_aligned(to)) {
        PyErr_Clear();
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
