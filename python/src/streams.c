/* streams.c - finds the stream that DLPack's producers are asked for, and waits for the work on their memory.
 *
 * Only CUDA and ROCm have streams in DLPack. A producer makes the stream that it is given wait for its own work, but
 * does not learn when the work of this library ends. So its memory is given back after this work.
 */
#include "core.h"

bool core_has_streams(DLDevice device) {
    return device.device_type == kDLCUDA || device.device_type == kDLROCM;
}

/* Reads the device of a producer. Returns false without an exception if it does not tell one with streams. */
static bool device_of(PyObject *array, DLDevice *device) {
    int type = 0, id = 0;
    PyObject *pair = PyObject_CallMethod(array, "__dlpack_device__", NULL);
    const bool read = pair && PyTuple_Check(pair) && PyArg_ParseTuple(pair, "ii", &type, &id);
    Py_XDECREF(pair);
    PyErr_Clear();
    *device = (DLDevice){(DLDeviceType)type, id};
    return read && core_has_streams(*device);
}

/* Returns the calling thread's queue, with a reference. NULL if the device cannot be used, which the call will tell. */
static bp_queue *queue_of(DLDevice device) {
    bp_queue *queue = NULL;
    core_unlocked unlocked;
    core_unlock(&unlocked); /* the first use opens the device */
    (void)bp_queue_current(&queue, bp_device_place(device));
    core_lock(&unlocked);
    return queue;
}

PyObject *core_stream_for(PyObject *array) {
    DLDevice device;
    bp_queue *queue = device_of(array, &device) ? queue_of(device) : NULL;
    if (!queue) {
        return NULL;
    }
    const intptr_t number = (intptr_t)bp_queue_native(queue);
    bp_queue_release(queue);
    return PyLong_FromLongLong(number == 0 && device.device_type == kDLCUDA ? 1 : number);
}

bp_queue *core_stream_hold(DLDevice device) {
    return core_has_streams(device) ? queue_of(device) : NULL;
}

void core_stream_end(bp_queue *queue) {
    bp_event *last = NULL;
    if (queue && bp_event_record(&last, queue) == BP_OK) {
        (void)bp_event_sync(last, -1); /* a failure stays with the queue */
    }
    bp_event_release(last);
    bp_queue_release(queue);
}
