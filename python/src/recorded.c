/* recorded.c - starts and reads records of calls (backplane/record.h). A record is a capsule. */
#include "core.h"

#define CAPSULE "backplane.record"

static void release(PyObject *capsule) {
    bp_record_release(PyCapsule_GetPointer(capsule, CAPSULE));
}

static bp_record *record_of(PyObject *capsule) {
    return PyCapsule_GetPointer(capsule, CAPSULE);
}

PyObject *core_record_start(PyObject *module, PyObject *most) {
    const long long count = PyLong_AsLongLong(most);
    bp_record *record;
    if (count == -1 && PyErr_Occurred()) {
        return NULL;
    }
    bp_status status = bp_record_start(&record, count);
    if (status != BP_OK) {
        return core_fail(core_state_of(module), status, NULL);
    }
    PyObject *capsule = PyCapsule_New(record, CAPSULE, release);
    if (!capsule) {
        bp_record_release(record);
    }
    return capsule;
}

PyObject *core_record_stop(PyObject *module, PyObject *capsule) {
    (void)module;
    bp_record *record = record_of(capsule);
    if (!record) {
        return NULL;
    }
    bp_record_stop(record);
    Py_RETURN_NONE;
}

static PyObject *plan_row(const bp_recorded_plan *row) {
    char properties[512];
    return Py_BuildValue(
        "{s:N, s:N, s:N, s:N, s:N, s:N, s:N, s:i, s:d, s:N, s:N, s:L, s:L, s:L, s:L, s:L}", "operation",
        core_text(row->operation), "provider", core_text(row->provider), "library", core_text(row->library),
        "algorithm", core_text(row->algorithm), "problem", core_text(row->problem), "reason", core_text(row->reason),
        "properties", core_text(bp_properties_text(row->properties, properties, sizeof properties)), "threads",
        row->threads, "cost_ns", row->cost_ns, "part", PyBool_FromLong(row->part), "queued",
        PyBool_FromLong(row->queued), "runs", (long long)row->runs, "failed", (long long)row->failed, "total_ns",
        (long long)row->total_ns, "least_ns", (long long)row->least_ns, "most_ns", (long long)row->most_ns);
}

PyObject *core_record_plans(PyObject *module, PyObject *capsule) {
    (void)module;
    const bp_record *record = record_of(capsule);
    PyObject *list = record ? PyList_New(0) : NULL;
    bp_recorded_plan row = {.struct_size = sizeof row};
    for (int64_t i = 0; list && bp_record_plan_at(record, i, &row); i++) {
        core_append(&list, plan_row(&row));
    }
    return list;
}

PyObject *core_record_calls(PyObject *module, PyObject *capsule) {
    (void)module;
    const bp_record *record = record_of(capsule);
    PyObject *list = record ? PyList_New(0) : NULL;
    bp_recorded_call call = {.struct_size = sizeof call};
    for (int64_t i = 0; list && bp_record_call_at(record, i, &call); i++) {
        core_append(&list, Py_BuildValue("(LLLLNs)", (long long)call.plan, (long long)call.start_ns,
                                         (long long)call.duration_ns, (long long)call.thread,
                                         PyBool_FromLong(call.fresh), bp_status_name(call.status)));
    }
    return list;
}

PyObject *core_record_left_out(PyObject *module, PyObject *capsule) {
    (void)module;
    const bp_record *record = record_of(capsule);
    return record ? PyLong_FromLongLong(bp_record_left_out(record)) : NULL;
}
