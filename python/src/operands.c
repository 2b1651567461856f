/* operands.c - reads the arrays of a call that takes any number of them. Most calls have few, which need no allocation.
 */
#include "core.h"

#include <limits.h>

void core_operands_begin(core_operands *of) {
    of->list = of->near_list;
    of->tensors = of->near_tensors;
    of->count = 0;
    of->like = 0;
}

static bool allocate_operands(core_operands *of, Py_ssize_t count) {
    if (count > CORE_NEAR_OPERANDS) {
        of->list = PyMem_Malloc((size_t)count * sizeof *of->list);
        of->tensors = PyMem_Malloc((size_t)count * sizeof *of->tensors);
    }
    if (of->list && of->tensors && count <= INT_MAX) {
        return true;
    }
    PyErr_NoMemory();
    return false;
}

static bool read_one(core_state *state, core_operands *of, PyObject *array, unsigned access) {
    static const char *const near_names[CORE_NEAR_OPERANDS] = {"operand 0", "operand 1", "operand 2"};
    operand *to = &of->list[of->count];
    if (of->count < CORE_NEAR_OPERANDS) {
        return core_operand(state, to, array, near_names[of->count], access);
    }
    char name[32];
    PyOS_snprintf(name, sizeof name, "operand %d", of->count);
    return core_operand(state, to, array, name, access);
}

bool core_operands_read_named(core_state *state, core_operands *of, PyObject *arrays, const char *const *names,
                              unsigned access) {
    const Py_ssize_t count = PyTuple_Size(arrays);
    if (!allocate_operands(of, count)) {
        return false;
    }
    for (; of->count < count; of->count++) {
        operand *to = &of->list[of->count];
        if (!core_operand(state, to, PyTuple_GetItem(arrays, of->count), names[of->count], access)) {
            return false;
        }
        of->tensors[of->count] = &to->tensor;
    }
    return true;
}

bool core_operands_read(core_state *state, core_operands *of, PyObject *arrays, Py_ssize_t first, unsigned access) {
    const Py_ssize_t count = PyTuple_Size(arrays) - first;
    if (!allocate_operands(of, count)) {
        return false;
    }
    for (; of->count < count; of->count++) {
        if (!read_one(state, of, PyTuple_GetItem(arrays, first + of->count), access)) {
            return false;
        }
        of->tensors[of->count] = &of->list[of->count].tensor;
    }
    return true;
}

const operand *core_operands_like(const core_operands *of) {
    const operand *like = &of->list[of->like];
    for (int i = of->like; i < of->count && !core_result_like(like); i++) {
        like = &of->list[i];
    }
    return like;
}

void core_operands_release(core_operands *of) {
    while (of->count > 0) {
        core_operand_release(&of->list[--of->count]);
    }
    if (of->list != of->near_list) {
        PyMem_Free(of->list);
        PyMem_Free((void *)of->tensors);
    }
}
