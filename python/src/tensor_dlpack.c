/* tensor_dlpack.c - gives the memory of a Tensor to consumers of DLPack.
 *
 * A consumer on a device works on a stream that it names, or on memory that is ready. Its reference may end while its
 * commands still run, so that the library learns where they run.
 */
#include "tensor.h"

#include <stdlib.h>

/* A tensor for DLPack's consumer, with the arrays that it points to. It may outlive the Python object. */
typedef struct export {
    DLManagedTensor plain;
    DLManagedTensorVersioned versioned;
    storage *held;
    bp_view layout;
}
export;

static export *make_export(const tensor *self) {
    export *made = malloc(sizeof *made);
    if (!made) {
        PyErr_NoMemory();
        return NULL;
    }
    made->held = core_storage_hold(self->storage);
    core_tensor_describe(&made->layout, self);
    return made;
}

static void end_export(export *given) {
    core_storage_release(given->held);
    free(given);
}

static void versioned_deleter(DLManagedTensorVersioned *given) {
    end_export(given->manager_ctx);
}

static void plain_deleter(DLManagedTensor *given) {
    end_export(given->manager_ctx);
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
    export *made = make_export(self);
    if (!made) {
        return NULL;
    }
    made->versioned = (DLManagedTensorVersioned){.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
                                                 .manager_ctx = made,
                                                 .deleter = versioned_deleter,
                                                 .flags = copied ? DLPACK_FLAG_BITMASK_IS_COPIED : 0,
                                                 .dl_tensor = made->layout.tensor};
    PyObject *capsule = PyCapsule_New(&made->versioned, "dltensor_versioned", versioned_capsule_end);
    if (!capsule) {
        end_export(made);
    }
    return capsule;
}

static PyObject *plain_capsule(const tensor *self) {
    export *made = make_export(self);
    if (!made) {
        return NULL;
    }
    made->plain = (DLManagedTensor){.dl_tensor = made->layout.tensor, .manager_ctx = made, .deleter = plain_deleter};
    PyObject *capsule = PyCapsule_New(&made->plain, "dltensor", plain_capsule_end);
    if (!capsule) {
        end_export(made);
    }
    return capsule;
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

enum { NO_ORDER = -1 }; /* a stream of __dlpack__: the consumer synchronizes itself */

/* Reads the number of a consumer's stream. Only CUDA and ROCm have streams in DLPack; on CUDA 1 and 2 are handles, and
 * 0 may mean either of them. */
static bool stream_from(const tensor *self, PyObject *stream, int64_t *number) {
    const DLDeviceType type = self->device.device_type;
    if (stream == Py_None) {
        return true;
    }
    if (!core_has_streams(self->device)) {
        PyErr_SetString(PyExc_BufferError, core_tensor_on_host(self)
                                               ? "host memory has no stream; stream must be None"
                                               : "the tensor is ready when its capsule is made; stream must be None");
        return false;
    }
    *number = PyLong_AsLongLong(stream);
    if (*number == -1 && PyErr_Occurred()) {
        return false;
    }
    const bool ambiguous = type == kDLCUDA ? *number == 0 : *number == 1 || *number == 2;
    if (ambiguous || *number < NO_ORDER) {
        PyErr_Format(PyExc_BufferError, "stream: %lld is no stream of %s; it must be -1, %s or the handle of a stream",
                     (long long)*number, type == kDLCUDA ? "CUDA" : "ROCm", type == kDLCUDA ? "1, 2" : "0");
        return false;
    }
    return true;
}

/* Returns whether the arguments of __dlpack__ request a device of this library. */
static bool acceptable(core_state *state, const tensor *self, PyObject *device, DLDevice *to) {
    int type = (int)self->device.device_type, id = self->device.device_id;
    if (!pair_from(state, device, "dl_device", &type, &id)) {
        return false;
    }
    *to = (DLDevice){(DLDeviceType)type, id};
    if (bp_device_place(*to) != 0 && bp_device_place(*to) != bp_device_place(self->device)) {
        PyErr_Format(PyExc_BufferError, "the tensor cannot be copied to device (%d, %d)", type, id);
        return false;
    }
    return true;
}

/* Waits for the work of the calling thread's queue: a consumer in another context or library sees finished memory. */
static bool finish_tensor(core_state *state, const tensor *self) {
    bp_queue *queue = NULL;
    core_unlocked unlocked;
    if (core_tensor_on_host(self)) {
        return true;
    }
    core_unlock(&unlocked);
    bp_status status = bp_queue_current(&queue, bp_device_place(self->device));
    status = status == BP_OK ? bp_queue_wait(queue) : status;
    bp_queue_release(queue);
    core_lock(&unlocked);
    return status == BP_OK || core_fail(state, status, NULL);
}

/* Makes a stream of the consumer wait for the work of the calling thread's queue. The memory is reused after the work
 * that the stream has when the consumer gives it back. */
static bp_status give_to_stream(const tensor *self, void *native) {
    const int32_t place = bp_device_place(self->device);
    bp_queue *theirs = NULL, *own = NULL;
    bp_event *ready = NULL;
    bp_status status = bp_queue_wrap(&theirs, place, native);
    status = status == BP_OK ? bp_tensor_use(self->storage->memory, theirs) : status;
    status = status == BP_OK ? bp_queue_current(&own, place) : status;
    status = status == BP_OK ? bp_event_record(&ready, own) : status;
    status = status == BP_OK ? bp_event_wait(theirs, ready) : status;
    bp_event_release(ready);
    bp_queue_release(own);
    bp_queue_release(theirs);
    return status;
}

/* Prepares the memory for a consumer that works on a stream. Without one, it may work on any queue, on memory that is
 * ready. */
static bool hand_over(core_state *state, const tensor *self, bool has_stream, int64_t stream) {
    core_unlocked unlocked;
    bp_status status;
    if (core_tensor_on_host(self)) {
        return true;
    }
    if (!has_stream || stream == NO_ORDER) {
        (void)bp_tensor_export(self->storage->memory);
        return has_stream || finish_tensor(state, self);
    }
    core_unlock(&unlocked);
    status = give_to_stream(self, (void *)(intptr_t)stream);
    core_lock(&unlocked);
    return status == BP_OK || core_fail(state, status, NULL);
}

PyObject *core_tensor_dlpack(PyObject *object, PyObject *arguments, PyObject *names) {
    static char *known[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    core_state *state = core_state_of_object(object);
    const tensor *self = (const tensor *)object;
    DLDevice to;
    int major = 0, minor = 0;
    int64_t number = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "|$OOOO:__dlpack__", known, &stream, &version, &device, &copy) ||
        !stream_from(self, stream, &number) || !acceptable(state, self, device, &to) ||
        !pair_from(state, version, "max_version", &major, &minor)) {
        return NULL;
    }
    const bool moves = bp_device_place(to) != bp_device_place(self->device);
    if (moves && copy == Py_False) {
        PyErr_SetString(PyExc_BufferError, "the tensor is in memory of a device; a copy is needed on the host");
        return NULL;
    }
    PyObject *source = copy == Py_True || moves ? core_tensor_copy(state, self, bp_device_place(to)) : object;
    if (!source) {
        return NULL;
    }
    const tensor *given = (const tensor *)source;
    PyObject *capsule = NULL;
    if (hand_over(state, given, stream != Py_None, number)) {
        capsule = major >= DLPACK_MAJOR_VERSION ? versioned_capsule(given, source != object) : plain_capsule(given);
    }
    if (source != object) {
        Py_DECREF(source);
    }
    return capsule;
}

PyObject *core_tensor_dlpack_device(PyObject *object, PyObject *unused) {
    const tensor *self = (const tensor *)object;
    (void)unused;
    return Py_BuildValue("(ii)", (int)self->device.device_type, (int)self->device.device_id);
}
