/* quick.h - declares calls of the frequent form of a function: arrays alone, and a new result. Made in quick.c; those
 * that calls.h describes in prepared.c. */
#ifndef BACKPLANE_PYTHON_QUICK_H
#define BACKPLANE_PYTHON_QUICK_H

#include "core.h"

enum { QUICK_ARRAYS = 3 };

/* One call. Most of it stays undefined. */
typedef struct quick_call {
    operand arrays[QUICK_ARRAYS];
    const DLTensor *tensors[QUICK_ARRAYS + 1]; /* the result after the arrays */
    int count, wanted;                         /* arrays that were read, and that must be */
    int number;                                /* of the function among all of its kind */
    int axis, axis_count;
    const int *axes; /* NULL: all */
    bool keeps;
    const bp_call *described; /* and its arguments */
    const void *arguments;
    core_result fresh;
    DLTensor result;
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM];
} quick_call;

typedef struct quick_kind {
    const char *name;
    int arrays;
    bool takes_axis;
    bool by_element;                    /* the result has the order of the arrays' dimensions */
    int (*find)(const char *name);      /* the number of a function of this kind; -1: there is none */
    bp_status (*shape)(quick_call *of); /* sets rank and shape of the result, and its type if it is not the array's */
    bp_status (*run)(quick_call *of);
} quick_kind;

/* Makes the result and runs the call without the interpreter's lock. Returns false if that failed. */
bool core_quick_compute(quick_call *of, core_state *state, bp_status (*run)(quick_call *of));

/* ---- prepared.c ---- */

/* A described call, whose parameters are known and whose arrays are not. */
typedef struct core_prepared core_prepared;

/* Makes one of a tuple: name, names of the arrays in order, how many of them are needed, name of the result, a dict of
 * the parameters, names of flags that a call may give, and a dict with a name in it whose value must be false, or None
 * twice. Returns NULL with an exception set. */
core_prepared *core_prepare(core_state *state, PyObject *parts);
void core_prepared_free(core_prepared *of); /* NULL is allowed */
int core_prepared_traverse(const core_prepared *of, visitproc visit, void *arg);

/* Returns whether the arguments may be of the frequent form: so many arrays, and flags. */
bool core_prepared_takes(const core_prepared *of, PyObject *const *named, Py_ssize_t arrays, PyObject *names);

/* Runs a call whose arrays were read. Returns false if it is not of the frequent form, or failed. */
bool core_prepared_run(quick_call *of, core_state *state, const core_prepared *prepared, PyObject *const *named,
                       PyObject *names);

#endif
