/* tensor.h - declares the object backplane.Tensor, which the files tensor*.c share. */
#ifndef BACKPLANE_PYTHON_TENSOR_H
#define BACKPLANE_PYTHON_TENSOR_H

#include "core.h"

#include <stdatomic.h>

/* Memory with an atomic reference count. Tensors, views and capsules of DLPack each hold one reference. */
typedef struct storage {
    atomic_long holders;
    DLManagedTensorVersioned *memory;
} storage;

typedef struct tensor {
    PyObject_HEAD storage *storage;
    PyObject *weak;
    char *data; /* the first element; on a device its offset in bytes from the storage's handle */
    DLDevice device;
    int ndim;
    bp_dtype dtype; /* of the memory, or the integer type of a bits() view */
    Py_ssize_t shape[BP_MAX_NDIM];
    Py_ssize_t strides[BP_MAX_NDIM]; /* in bytes, as in the buffer protocol */
} tensor;

/* ---- tensor.c ---- */

/* These two may be called without the interpreter's lock. */
storage *core_storage_hold(storage *held);
void core_storage_release(storage *held);

/* Returns a new Tensor with the memory, type and layout of `of`. The caller may change its layout. */
tensor *core_tensor_view(core_state *state, const tensor *of);
void core_tensor_describe(bp_view *view, const tensor *self); /* for functions of the library */
bool core_tensor_on_host(const tensor *self);
PyObject *core_tensor_copy(core_state *state, const tensor *self, int32_t place); /* row-major; NULL: exception set */

/* Returns the tensor in row-major host memory, a new reference: itself if it is on the host, otherwise a copy. NULL
 * with an exception set. */
PyObject *core_tensor_at_host(PyObject *self);
Py_ssize_t core_tensor_count(const tensor *self); /* the number of elements */

/* ---- tensor_dlpack.c: methods ---- */

PyObject *core_tensor_dlpack(PyObject *object, PyObject *arguments, PyObject *names);
PyObject *core_tensor_dlpack_device(PyObject *object, PyObject *unused);

/* ---- tensor_items.c ---- */

PyObject *core_tensor_get(PyObject *self, PyObject *key);
int core_tensor_set(PyObject *self, PyObject *key, PyObject *value);
PyObject *core_tensor_at(PyObject *self, Py_ssize_t index); /* along the first dimension */
Py_ssize_t core_tensor_length(PyObject *self);
PyObject *core_tensor_iterate(PyObject *self);
PyObject *core_tensor_tolist(PyObject *self, PyObject *unused);
PyObject *core_tensor_item(PyObject *self, PyObject *unused);
PyObject *core_tensor_transpose(PyObject *self, void *last_two); /* getter of T (NULL) and mT */

/* Conversions of a tensor with one element. */
PyObject *core_tensor_to_float(PyObject *self);
PyObject *core_tensor_to_int(PyObject *self);
PyObject *core_tensor_to_index(PyObject *self);
PyObject *core_tensor_to_complex(PyObject *self, PyObject *unused);
int core_tensor_to_bool(PyObject *self);

#endif
