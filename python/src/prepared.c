/* prepared.c - described calls whose parameters are known when the function is made, so that a call gives arrays and
 * flags alone. */
#include "described.h"
#include "quick.h"

#include <string.h>

enum { FLAGS = 4 };

typedef union arguments {
    size_t struct_size;
    int64_t aligned;
    char bytes[DESCRIBED_ARGUMENTS];
} arguments;

struct core_prepared {
    const core_described *of;
    const described_field *arrays[QUICK_ARRAYS], *flags[FLAGS], *result;
    int most, least, flag_count; /* arrays: at most, at least */
    PyObject *switches, *name;   /* a dict, and a name in it whose value must be false; or NULL */
    arguments given;
};

/* ---- Making ---- */

static bool find_fields(const core_described *of, PyObject *names, const described_field **fields, int most,
                        int *count) {
    int place = 0;
    *count = (int)PyTuple_Size(names);
    if (*count < 0 || *count > most) {
        PyErr_Format(PyExc_TypeError, "%s: %d names, at most %d", of->info->name, *count, most);
        return false;
    }
    for (int i = 0; i < *count; i++) {
        fields[i] = core_described_field(of, PyTuple_GetItem(names, i), &place);
        if (!fields[i]) {
            return false;
        }
    }
    return true;
}

static bool read_parts(core_prepared *made, core_state *state, PyObject *parts) {
    PyObject *name, *arrays, *result, *parameters, *flags, *switches, *word;
    int place = 0;
    if (!PyArg_ParseTuple(parts, "O!O!iUO!O!OO:quick", &PyUnicode_Type, &name, &PyTuple_Type, &arrays, &made->least,
                          &result, &PyDict_Type, &parameters, &PyTuple_Type, &flags, &switches, &word)) {
        return false;
    }
    made->of = core_describe(state, name);
    if (switches != Py_None) {
        Py_INCREF(switches);
        Py_INCREF(word);
        made->switches = switches;
        made->name = word;
    }
    return made->of && find_fields(made->of, arrays, made->arrays, QUICK_ARRAYS, &made->most) &&
           find_fields(made->of, flags, made->flags, FLAGS, &made->flag_count) &&
           (made->result = core_described_field(made->of, result, &place)) != NULL &&
           core_described_arguments(state, made->of, parameters, &made->given);
}

core_prepared *core_prepare(core_state *state, PyObject *parts) {
    core_prepared *made = PyMem_Calloc(1, sizeof *made);
    if (!made) {
        PyErr_NoMemory();
        return NULL;
    }
    if (!read_parts(made, state, parts)) {
        core_prepared_free(made);
        return NULL;
    }
    return made;
}

void core_prepared_free(core_prepared *of) {
    if (of) {
        Py_CLEAR(of->switches);
        Py_CLEAR(of->name);
        PyMem_Free(of);
    }
}

int core_prepared_traverse(const core_prepared *of, visitproc visit, void *arg) {
    if (of) {
        Py_VISIT(of->switches);
    }
    return 0;
}

/* ---- Calls ---- */

static const described_field *flag_of(const core_prepared *of, const PyObject *name) {
    for (int i = 0; i < of->flag_count; i++) {
        if (of->flags[i]->name == name) {
            return of->flags[i];
        }
    }
    return NULL;
}

bool core_prepared_takes(const core_prepared *of, PyObject *const *named, Py_ssize_t arrays, PyObject *names) {
    const Py_ssize_t count = names ? PyTuple_Size(names) : 0;
    if (arrays < of->least || arrays > of->most) {
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!PyBool_Check(named[i]) || !flag_of(of, PyTuple_GetItem(names, i))) {
            return false;
        }
    }
    return !of->switches || PyDict_GetItem(of->switches, of->name) == Py_False;
}

/* The number of the result among the operands of a pass. */
static int result_index(const core_prepared *of, const bp_call_pass *pass) {
    int index = 0;
    while (index < pass->operand_count && bp_call_operand_at(pass, index)->offset != of->result->info->offset) {
        index++;
    }
    return index;
}

static bp_status run_prepared(quick_call *of) {
    return bp_call_run(NULL, of->described, of->arguments);
}

/* Writes the address of a tensor into the arguments. */
static void set_tensor(arguments *to, const described_field *field, const DLTensor *tensor) {
    memcpy(to->bytes + field->info->offset, &tensor, sizeof tensor);
}

bool core_prepared_run(quick_call *of, core_state *state, const core_prepared *prepared, PyObject *const *named,
                       PyObject *names) {
    arguments given;
    bp_dtype dtype;
    memcpy(given.bytes, prepared->given.bytes, prepared->of->info->size);
    for (int i = 0; i < of->count; i++) {
        set_tensor(&given, prepared->arrays[i], of->tensors[i]);
    }
    for (Py_ssize_t i = 0; names && i < PyTuple_Size(names); i++) {
        const int flag = named[i] == Py_True;
        memcpy(given.bytes + flag_of(prepared, PyTuple_GetItem(names, i))->info->offset, &flag, sizeof flag);
    }
    const bp_call_pass *pass = bp_call_get_pass(prepared->of->call, &given);
    of->result = (DLTensor){.device = of->tensors[0]->device, .shape = of->shape};
    if (!pass || bp_call_shape(prepared->of->call, &given, result_index(prepared, pass), &dtype, &of->result.ndim,
                               of->shape) != BP_OK) {
        return false;
    }
    of->result.dtype = bp_dtype_to_dlpack(dtype);
    set_tensor(&given, prepared->result, &of->result);
    of->described = prepared->of->call;
    of->arguments = &given;
    return core_quick_compute(of, state, run_prepared);
}
