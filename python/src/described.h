/* described.h - declares the descriptions of calls.h with names as objects of Python: made in described.c, used in
 * described_call.c. */
#ifndef BACKPLANE_PYTHON_DESCRIBED_H
#define BACKPLANE_PYTHON_DESCRIBED_H

#include "core.h"

enum { DESCRIBED_ARGUMENTS = 512 }; /* bytes of the largest struct */

/* A field under a name of the package. */
typedef struct described_field {
    const bp_call_field *info;
    const char *text;
    PyObject *name;   /* the text, interned */
    PyObject *words;  /* a tuple, or NULL */
    bool is_unsigned; /* seed and offset */
} described_field;

/* A description with its names as objects of Python, so that a call compares addresses only. */
struct core_described {
    core_described *next;
    const bp_call *call;
    const bp_call_info *info;
    PyObject *name;
    size_t ndim;         /* offset of the field `ndim`; 0: there is none */
    bool follows_order;  /* the result has the order of the first array's dimensions */
    size_t groups;       /* offset of the field `groups`; 0: there is none */
    bool needs_groups;   /* a result is an image only if there are groups */
    bool has_positions;  /* `ndim` is the number of positions of an image */
    bool follows_layout; /* a result that is an image has the layout of the one that it is computed from */
    int count;
    described_field fields[];
};

/* Returns the description of a call, or NULL with an exception set. It stays valid as long as the module. */
const core_described *core_describe(core_state *state, PyObject *name);

/* Finds a field, or returns NULL with an exception set. Callers name fields in about the order of the struct, so the
 * search starts behind the last one, at *place. */
const described_field *core_described_field(const core_described *of, PyObject *name, int *place);

/* Returns the number of a word of a field that has words; -1 with an exception set. */
int core_described_word(core_state *state, const described_field *field, PyObject *word);

/* Writes the struct of a call with these parameters, a dict by their names: whole numbers, words, flags and real
 * numbers. Returns false with an exception set. */
bool core_described_arguments(core_state *state, const core_described *description, PyObject *parameters,
                              void *arguments);

#endif
