/* machine.c - returns libraries, providers, backends and the processor's properties as dicts. */
#include "core.h"

/* ---- Libraries ---- */

static const struct {
    unsigned bit;
    const char *name;
} kinds[] = {{BP_LIB_BLAS, "blas"}, {BP_LIB_CBLAS, "cblas"},   {BP_LIB_LAPACK, "lapack"},   {BP_LIB_FFT, "fft"},
             {BP_LIB_DNN, "dnn"},   {BP_LIB_OPENMP, "openmp"}, {BP_LIB_BUILTIN, "builtin"}, {BP_LIB_GPU, "gpu"},
             {BP_LIB_SMM, "smm"},   {BP_LIB_OPENCL, "opencl"}};

static PyObject *offers(unsigned mask) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < sizeof kinds / sizeof *kinds; i++) {
        if ((mask & kinds[i].bit) != 0) {
            core_append(&list, PyUnicode_FromString(kinds[i].name));
        }
    }
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

static PyObject *library(const bp_library_info *row) {
    return Py_BuildValue("{s:N, s:N, s:N, s:s, s:N, s:N, s:N, s:N, s:N, s:i, s:N, s:N, s:N, s:N, s:N}", "id",
                         core_text(row->id), "family", core_text(row->family), "offers", offers(row->kinds), "state",
                         bp_library_state_name(row->state), "reason", core_text(row->reason), "path",
                         core_text(row->path), "soname", core_text(row->soname), "version", core_text(row->version),
                         "kernels", core_text(row->kernels), "int_bits", row->int_bits, "threading",
                         core_text(row->threading), "fact_sources", core_text(row->fact_sources), "faults",
                         core_text(row->faults), "blas", core_text(row->blas), "loaded", PyBool_FromLong(row->loaded));
}

PyObject *core_libraries(PyObject *module, PyObject *refresh) {
    core_state *state = core_state_of(module);
    int count = 0;
    bp_status status;
    int again = PyObject_IsTrue(refresh);
    if (again < 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status = again ? bp_libraries_refresh(0) : BP_OK;
    status = status == BP_OK ? bp_library_count(&count) : status;
    Py_END_ALLOW_THREADS if (status != BP_OK) {
        return core_finish(state, core_fail(state, status, NULL));
    }
    PyObject *list = PyList_New(0);
    bp_library_info row = {.struct_size = sizeof row};
    for (int i = 0; list && i < count && bp_library_at(i, &row); i++) {
        core_append(&list, library(&row));
    }
    return core_finish(state, list);
}

PyObject *core_providers(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    bp_provider_info row = {.struct_size = sizeof row};
    PyObject *list = PyList_New(0);
    for (int i = 0; list && bp_provider_at(i, &row); i++) {
        core_append(&list, Py_BuildValue("{s:N, s:N, s:N, s:N, s:s, s:N}", "name", core_text(row.name), "version",
                                         core_text(row.version), "description", core_text(row.description), "path",
                                         core_text(row.path), "status", bp_status_name(row.status), "reason",
                                         core_text(row.reason)));
    }
    return list;
}

/* ---- The processor ---- */

PyObject *core_machine(PyObject *module, PyObject *unused) {
    (void)unused;
    bp_machine_info row = {.struct_size = sizeof row};
    bp_status status = bp_machine(&row);
    if (status != BP_OK) {
        return core_fail(core_state_of(module), status, NULL);
    }
    return Py_BuildValue("{s:N, s:N, s:N, s:i, s:i, s:i, s:i, s:i, s:L, s:s, s:s}", "architecture",
                         core_text(row.architecture), "cpu_vendor", core_text(row.cpu_vendor), "cpu_model",
                         core_text(row.cpu_model), "logical_cpus", row.logical_cpus, "usable_cpus", row.usable_cpus,
                         "physical_cores", row.physical_cores, "packages", row.packages, "numa_nodes", row.numa_nodes,
                         "memory_bytes", (long long)row.memory_bytes, "capability", bp_cpu_capability(),
                         "hardware_capability", bp_cpu_hardware_capability());
}

/* ---- Backends ---- */

static PyObject *backend(const bp_backend_info *row) {
    return Py_BuildValue("{s:N, s:N, s:N, s:N, s:N, s:N, s:L, s:N}", "name", core_text(row->name), "built",
                         PyBool_FromLong(row->built), "present", PyBool_FromLong(row->present), "available",
                         PyBool_FromLong(row->available), "enabled", PyBool_FromLong(row->enabled), "version",
                         core_text(row->version), "version_number", (long long)row->version_number, "reason",
                         core_text(row->reason));
}

PyObject *core_backend_status(PyObject *module, PyObject *name) {
    core_state *state = core_state_of(module);
    if (!PyUnicode_Check(name)) {
        return core_refuse(state, state->bad_type, BP_E_ARGUMENT, "name: expects a str, but got %R", name);
    }
    PyObject *text = core_bytes(state, name, "name");
    if (!text) {
        return NULL;
    }
    bp_backend_info row = {.struct_size = sizeof row};
    const char *asked = PyBytes_AsString(text);
    bp_status status;
    Py_BEGIN_ALLOW_THREADS status = bp_backend_status(asked, &row);
    Py_END_ALLOW_THREADS Py_DECREF(text);
    return core_finish(state, status == BP_OK ? backend(&row) : core_fail(state, status, NULL));
}

PyObject *core_backends(PyObject *module, PyObject *unused) {
    (void)unused;
    PyObject *list = PyList_New(0);
    for (int i = 0; list; i++) {
        bp_backend_info row = {.struct_size = sizeof row};
        int more;
        Py_BEGIN_ALLOW_THREADS more = bp_backend_at(i, &row);
        Py_END_ALLOW_THREADS if (!more) {
            break;
        }
        core_append(&list, backend(&row));
    }
    return core_finish(core_state_of(module), list);
}
