/* devices.c - lists devices, and makes tensors on them: empty or copied. */
#include "tensor.h"

#include <stdlib.h>
#include <string.h>

/* ---- Facts ---- */

static PyObject *bits_of(uint32_t can) {
    static const struct {
        uint32_t bit;
        const char *name;
    } names[] = {{BP_DEVICE_CAN_F64, "f64"},
                 {BP_DEVICE_CAN_F16, "f16"},
                 {BP_DEVICE_CAN_MAP, "map"},
                 {BP_DEVICE_CAN_TIME, "time"},
                 {BP_DEVICE_CAN_SHARE_HOST, "share_host"},
                 {BP_DEVICE_CAN_OUT_OF_ORDER, "out_of_order"},
                 {BP_DEVICE_CAN_COMPILE, "compile"},
                 {BP_DEVICE_CAN_ATOMICS_64, "atomics_64"},
                 {BP_DEVICE_IS_CPU, "cpu"},
                 {BP_DEVICE_HAS_ADDRESSES, "addresses"}};
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < sizeof names / sizeof *names; i++) {
        if (can & names[i].bit) {
            core_append(&list, PyUnicode_FromString(names[i].name));
        }
    }
    return list;
}

/* Drivers may give text that is not UTF-8, which core_text() keeps. */
static PyObject *facts_of(const bp_device_info *d) {
    static const char *const names[] = {"id",     "state",   "reason",   "runtime", "name",       "vendor",
                                        "driver", "version", "platform", "uuid",    "extensions", "arch"};
    const char *const texts[] = {d->id,         bp_device_state_name(d->state),
                                 d->reason,     d->runtime,
                                 d->name,       d->vendor,
                                 d->driver,     d->version,
                                 d->platform,   d->uuid,
                                 d->extensions, d->arch};
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {{"type", (uint64_t)d->type},
                   {"units", d->units},
                   {"clock_mhz", d->clock_mhz},
                   {"vector_bytes", d->vector_bytes},
                   {"group_items", d->group_items},
                   {"subgroup", d->subgroup},
                   {"memory", d->memory},
                   {"largest", d->largest},
                   {"local_memory", d->local_memory},
                   {"bandwidth_gb_s", d->bandwidth_gb_s},
                   {"capability", d->capability},
                   {"driver_number", d->driver_number},
                   {"l2", d->l2},
                   {"shared_optin", d->shared_optin}};
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < sizeof texts / sizeof *texts; i++) {
        PyObject *text = core_text(texts[i]);
        if (!text || PyDict_SetItemString(dict, names[i], text) != 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(text);
    }
    for (size_t i = 0; dict && i < sizeof numbers / sizeof *numbers; i++) {
        PyObject *number = PyLong_FromUnsignedLongLong(numbers[i].value);
        if (!number || PyDict_SetItemString(dict, numbers[i].name, number) != 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(number);
    }
    PyObject *can = dict ? bits_of(d->can) : NULL;
    if (dict && (!can || PyDict_SetItemString(dict, "can", can) != 0)) {
        Py_CLEAR(dict);
    }
    Py_XDECREF(can);
    return dict;
}

PyObject *core_devices(PyObject *module, PyObject *unused) {
    core_state *state = core_state_of(module);
    bp_device_info info = {.struct_size = sizeof info};
    core_unlocked unlocked;
    (void)unused;
    core_unlock(&unlocked);
    bp_device_at(0, &info); /* the first call looks for devices, which may take long */
    core_lock(&unlocked);
    PyObject *list = PyList_New(0);
    for (int i = 0; list && bp_device_at(i, &info); i++) {
        core_append(&list, facts_of(&info));
    }
    return core_finish(state, list);
}

/* Finds a device by its id. Returns false with an exception set. */
static bool find_place(core_state *state, const char *id, int32_t *place) {
    core_unlocked unlocked;
    core_unlock(&unlocked);
    const bp_status status = bp_device_find(id, place);
    core_lock(&unlocked);
    return status == BP_OK || core_fail(state, status, NULL);
}

/* Arguments: what is to be done, the device's id, a number. */
PyObject *core_device_control(PyObject *module, PyObject *arguments) {
    core_state *state = core_state_of(module);
    const char *what, *id;
    unsigned long long number;
    int32_t place;
    bp_status status;
    core_unlocked unlocked;
    if (!PyArg_ParseTuple(arguments, "ssK:device_control", &what, &id, &number) || !find_place(state, id, &place)) {
        return NULL;
    }
    core_unlock(&unlocked);
    if (strcmp(what, "wait") == 0) {
        status = place == 0 ? BP_OK : bp_device_wait(place);
    } else if (strcmp(what, "trim") == 0) {
        status = place == 0 ? BP_OK : bp_device_trim(place, number);
    } else if (strcmp(what, "limit") == 0) {
        status = bp_device_set_memory_limit(place, number);
    } else if (strcmp(what, "fft_plans") == 0) {
        status = bp_device_fft_plan_cache_clear(place);
    } else if (strcmp(what, "most_fft_plans") == 0) { /* -1: as the setting says */
        status = bp_device_set_fft_plan_cache_max_size(place, (int64_t)number);
    } else {
        status = bp_device_plan_cache_clear(place);
    }
    core_lock(&unlocked);
    if (status != BP_OK) {
        return core_fail(state, status, NULL);
    }
    Py_RETURN_NONE;
}

PyObject *core_device_memory(PyObject *module, PyObject *id) {
    core_state *state = core_state_of(module);
    PyObject *bytes = core_bytes(state, id, "device");
    int32_t place;
    bp_device_memory_info m = {.struct_size = sizeof m};
    const bool found = bytes && find_place(state, PyBytes_AsString(bytes), &place);
    Py_XDECREF(bytes);
    if (!found) {
        return NULL;
    }
    const bp_status status = bp_device_memory(place, &m);
    return status != BP_OK
               ? core_fail(state, status, NULL)
               : Py_BuildValue("{sKsKsKsKsKsKsK}", "used", (unsigned long long)m.used, "cached",
                               (unsigned long long)m.cached, "peak", (unsigned long long)m.peak, "limit",
                               (unsigned long long)m.limit, "allocations", (unsigned long long)m.allocations, "reuses",
                               (unsigned long long)m.reuses, "failures", (unsigned long long)m.failures);
}

/* Returns the size of a plan cache of a device, and its limit. */
static PyObject *plans_of(PyObject *module, PyObject *id, bp_status (*stats)(int32_t, bp_plan_cache_info *)) {
    core_state *state = core_state_of(module);
    PyObject *bytes = core_bytes(state, id, "device");
    int32_t place;
    bp_plan_cache_info info = {.struct_size = sizeof info};
    const bool found = bytes && find_place(state, PyBytes_AsString(bytes), &place);
    Py_XDECREF(bytes);
    if (!found) {
        return NULL;
    }
    const bp_status status = stats(place, &info);
    return status != BP_OK ? core_fail(state, status, NULL)
                           : Py_BuildValue("(LL)", (long long)info.size, (long long)info.max_size);
}

PyObject *core_device_plans(PyObject *module, PyObject *id) {
    return plans_of(module, id, bp_device_plan_cache_stats);
}

PyObject *core_device_fft_plans(PyObject *module, PyObject *id) {
    return plans_of(module, id, bp_device_fft_plan_cache_stats);
}

/* ---- Tensors ---- */

/* Makes a tensor without defined elements. NULL with an exception set. */
static DLManagedTensorVersioned *make_memory(core_state *state, PyObject *shape, const char *dtype_name,
                                             const char *id) {
    const bp_dtype dtype = bp_dtype_from_name(dtype_name);
    int64_t sizes[BP_MAX_NDIM];
    DLManagedTensorVersioned *memory = NULL;
    int count;
    int32_t place;
    core_unlocked unlocked;
    if (dtype == BP_DTYPE_NONE) {
        core_refuse(state, state->bad_type, BP_E_DTYPE, "dtype: '%s' is no element type; " CORE_ELEMENT_TYPES,
                    dtype_name);
        return NULL;
    }
    if (!core_numbers(state, shape, "size", sizes, &count) || !find_place(state, id, &place)) {
        return NULL;
    }
    core_unlock(&unlocked);
    const bp_status status = bp_tensor_empty_on(&memory, place, dtype, count, sizes, NULL);
    core_lock(&unlocked);
    return status == BP_OK ? memory : (core_fail(state, status, NULL), NULL);
}

/* Arguments: shape, element type, device. */
PyObject *core_empty(PyObject *module, PyObject *arguments) {
    core_state *state = core_state_of(module);
    PyObject *shape;
    const char *dtype, *id;
    if (!PyArg_ParseTuple(arguments, "O!ss:empty", &PyTuple_Type, &shape, &dtype, &id)) {
        return NULL;
    }
    DLManagedTensorVersioned *memory = make_memory(state, shape, dtype, id);
    return core_finish(state, memory ? core_tensor(state, memory) : NULL);
}

/* Returns a copy of an array on a device, row-major. Arguments: array, device. */
PyObject *core_transfer(PyObject *module, PyObject *arguments) {
    core_state *state = core_state_of(module);
    PyObject *array;
    const char *id;
    int32_t place;
    operand from;
    DLManagedTensorVersioned *memory = NULL;
    core_unlocked unlocked;
    if (!PyArg_ParseTuple(arguments, "Os:transfer", &array, &id) || !find_place(state, id, &place) ||
        !core_operand(state, &from, array, "array", CORE_READS)) {
        return NULL;
    }
    core_unlock(&unlocked);
    bp_status status = bp_tensor_empty_on(&memory, place, bp_dtype_from_dlpack(from.tensor.dtype), from.tensor.ndim,
                                          from.tensor.shape, NULL);
    if (status == BP_OK) {
        status = bp_copy(&memory->dl_tensor, &from.tensor, NULL);
        if (status != BP_OK) {
            memory->deleter(memory);
        }
    }
    core_lock(&unlocked);
    core_operand_release(&from);
    return core_finish(state, status == BP_OK ? core_tensor(state, memory) : core_fail(state, status, NULL));
}

/* ---- Import ---- */

/* Memory of another library, until the last Tensor of it ends. */
typedef struct imported {
    DLManagedTensorVersioned memory;
    DLManagedTensorVersioned *versioned; /* one of the two */
    DLManagedTensor *managed;
    bp_queue *queue; /* the importing thread's, on which it is used; NULL: a device without streams */
    bp_view layout;
} imported;

static void end_import(DLManagedTensorVersioned *memory) {
    imported *of = memory->manager_ctx;
    core_stream_end(of->queue);
    if (of->versioned && of->versioned->deleter) {
        of->versioned->deleter(of->versioned);
    }
    if (of->managed && of->managed->deleter) {
        of->managed->deleter(of->managed);
    }
    free(of);
}

/* Returns a Tensor of the memory of a DLPack exporter, on the device where it is. */
PyObject *core_from_dlpack(PyObject *module, PyObject *array) {
    core_state *state = core_state_of(module);
    operand from;
    if (!core_operand_export(state, &from, array, "x", CORE_WRITES)) {
        return core_finish(state, NULL);
    }
    imported *of = from.aligned ? NULL : calloc(1, sizeof *of);
    if (!of) {
        from.aligned ? core_refuse(state, state->bad_value, BP_E_LAYOUT, "x: is not aligned for its type")
                     : PyErr_NoMemory();
        core_operand_release(&from);
        return NULL;
    }
    const bp_status status = bp_view_init(&of->layout, from.tensor.data, bp_dtype_from_dlpack(from.tensor.dtype),
                                          from.tensor.ndim, from.shape, from.strides);
    if (status != BP_OK) {
        free(of);
        core_operand_release(&from);
        return core_fail(state, status, NULL);
    }
    of->layout.tensor.device = from.tensor.device;
    of->layout.tensor.byte_offset = from.tensor.byte_offset;
    of->versioned = from.versioned;
    of->managed = from.managed;
    of->queue = core_stream_hold(from.tensor.device);
    of->memory = (DLManagedTensorVersioned){.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
                                            .manager_ctx = of,
                                            .deleter = end_import,
                                            .dl_tensor = of->layout.tensor};
    from.versioned = NULL; /* the Tensor has them now */
    from.managed = NULL;
    core_operand_release(&from);
    return core_finish(state, core_tensor(state, &of->memory));
}
