/* record.h - declares how a call of the extension is handed over to the tracer of backplane.compile, see record.c. */
#ifndef BACKPLANE_PYTHON_RECORD_H
#define BACKPLANE_PYTHON_RECORD_H

#include "core.h"

PyObject *core_set_recorder(PyObject *module, PyObject *recorder);

/* Asks the recorder whether it records a call with these arguments (a tuple, and a dict or NULL). Returns false if it
 * does not; otherwise *result is what the call returns, or NULL with an exception set. Needs a recorder. */
bool core_record(core_state *state, const char *function, PyObject *arguments, PyObject *names, PyObject **result);

/* The same with the arguments of a fast call. */
bool core_record_vector(core_state *state, const char *function, PyObject *const *values, Py_ssize_t count,
                        PyObject *names, PyObject **result);

/* At the start of a function that computes with arrays: returns what the tracer recorded in place of the call. */
#define CORE_RECORDED(module, function, arguments, names)                                                              \
    do {                                                                                                               \
        core_state *recorded_by = core_state_of(module);                                                               \
        PyObject *recorded;                                                                                            \
        if (recorded_by->recorder && core_record(recorded_by, function, arguments, names, &recorded)) {                \
            return recorded;                                                                                           \
        }                                                                                                              \
    } while (0)

#define CORE_RECORDED_VECTOR(module, function, values, count, names)                                                   \
    do {                                                                                                               \
        core_state *recorded_by = core_state_of(module);                                                               \
        PyObject *recorded;                                                                                            \
        if (recorded_by->recorder && core_record_vector(recorded_by, function, values, count, names, &recorded)) {     \
            return recorded;                                                                                           \
        }                                                                                                              \
    } while (0)

#endif
