/* core.h - what the files of the extension backplane._core share.
 *
 * The extension is plain C against Python's limited interface (one binary for CPython 3.9 and later) and the public
 * header of the library. It keeps no global state but the queue of warnings and the list of scopes that a wrong thread
 * has thrown away: everything else is in the module's state, so that each interpreter has its own.
 */
#ifndef BACKPLANE_PYTHON_CORE_H
#define BACKPLANE_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <backplane.h>

#include <stdbool.h>
#include <stdint.h>

#if Py_LIMITED_API + 0 < 0x030a0000
/* These two are exported by CPython 3.9 with this signature, and became a part of the limited interface in 3.10. */
PyAPI_FUNC(PyObject *) PyType_FromModuleAndSpec(PyObject *module, PyType_Spec *spec, PyObject *bases);
PyAPI_FUNC(void *) PyType_GetModuleState(PyTypeObject *type);
#endif

#if Py_LIMITED_API + 0 < 0x030b0000
/* The buffer protocol is in the limited interface from 3.11 on. Its layout, numbers and functions have not changed
 * since 3.3, and 3.11 promised them as they were, so that they are declared here for 3.9 and 3.10. */
typedef struct {
    void *buf;
    PyObject *obj;
    Py_ssize_t len;
    Py_ssize_t itemsize;
    int readonly;
    int ndim;
    char *format;
    Py_ssize_t *shape;
    Py_ssize_t *strides;
    Py_ssize_t *suboffsets;
    void *internal;
} Py_buffer;
PyAPI_FUNC(int) PyObject_CheckBuffer(PyObject *object);
PyAPI_FUNC(int) PyObject_GetBuffer(PyObject *object, Py_buffer *view, int flags);
PyAPI_FUNC(void) PyBuffer_Release(Py_buffer *view);
#define PyBUF_WRITABLE 0x0001
#define PyBUF_FORMAT 0x0004
#define PyBUF_ND 0x0008
#define PyBUF_STRIDES (0x0010 | PyBUF_ND)
#define PyBUF_F_CONTIGUOUS (0x0040 | PyBUF_STRIDES)
#define PyBUF_C_CONTIGUOUS (0x0020 | PyBUF_STRIDES)
#define PyBUF_ANY_CONTIGUOUS (0x0080 | PyBUF_STRIDES)
#define Py_bf_getbuffer 1
#define Py_bf_releasebuffer 2
#endif

#if Py_LIMITED_API + 0 < 0x030a0000
/* In the limited interface from 3.10 on; CPython 3.9 knows the flag with this number. */
#define METH_FASTCALL 0x0080
#endif

/* ---- numpy.c ---- */

/* NumPy's C interface, once the program has imported NumPy. */
typedef struct core_numpy {
    PyTypeObject *type; /* numpy.ndarray; NULL: not yet imported, or not usable */
    void **api;
    bool is_unusable; /* its layout is not the one that is known */
} core_numpy;

/* ---- exchange.c ---- */

typedef struct core_exchange_api core_exchange_api;

/* A type whose instances DLPack's C exchange interface reads and makes. */
typedef struct core_exchange {
    PyTypeObject *type;
    const core_exchange_api *api; /* NULL: the type has none */
    PyObject *is_negative;        /* its method is_neg, or NULL */
} core_exchange;

enum { CORE_EXCHANGES = 8 };

/* The types that were met, with the interface and without it. Types beyond that many are read by __dlpack__(). */
typedef struct core_exchanges {
    int count;
    core_exchange of[CORE_EXCHANGES];
} core_exchanges;

/* What one interpreter's module holds. */
typedef struct core_state {
    PyObject *error;              /* backplane.Error, a RuntimeError */
    PyObject *bad_value;          /* an Error and a ValueError */
    PyObject *bad_type;           /* an Error and a TypeError */
    PyObject *unknown_name;       /* an Error and an AttributeError */
    PyObject *linalg_error;       /* an Error: the matrix is at fault */
    PyObject *linalg_error_numpy; /* the same, and numpy.linalg's; NULL until it is needed */
    PyObject *warning;            /* the category of the library's warnings */
    PyObject *setting_type;
    PyObject *options_type;
    PyObject *scope_type;
    PyObject *tensor_type;
    PyObject *convert; /* the package's function that makes a result what the inputs are; NULL before it is set */
    PyObject *word_out, *word_settings; /* names of arguments */
    core_numpy numpy;
    core_exchanges exchanges;
    bool frozen; /* assignment to settings is refused: backends.disable_global_flags() */
} core_state;

core_state *core_state_of(PyObject *module);
core_state *core_state_of_object(PyObject *object); /* an instance of one of our types */

/* Text of the library as str, and of Python as bytes without a NUL. Bytes that are no UTF-8 survive the way there and
 * back, since paths and variables may hold any. `name` is what the text is for, for messages. */
PyObject *core_text(const char *text);
PyObject *core_bytes(core_state *state, PyObject *text, const char *name);

/* Appends to a list and drops the reference to the item; clears *list on failure, also of what made the item. */
void core_append(PyObject **list, PyObject *item);

/* tp_new of types that only this module makes. */
PyObject *core_no_new(PyTypeObject *type, PyObject *arguments, PyObject *names);

/* ---- errors.c ---- */

int core_add_errors(PyObject *module, core_state *state);

/* Sets the exception that belongs to a status, with the library's sentence, and returns NULL. `reasons` (may be NULL)
 * is a tuple of (library, reason, text), and is borrowed. Of a call that a signal has stopped, the exception that its
 * handler raised stays. */
PyObject *core_fail(core_state *state, bp_status status, PyObject *reasons);

/* The same with a sentence of our own; `format` is PyUnicode_FromFormat's. */
PyObject *core_refuse(core_state *state, PyObject *type, bp_status status, const char *format, ...);

/* ---- unlock.c ---- */

/* A call of the library without the interpreter's lock that may take long: Ctrl-C stops it where the library asks its
 * interrupt check. The call then returns BP_E_CANCELLED, and the exception of Python's handler is set. */
typedef struct core_unlocked {
    PyThreadState *thread;
    int64_t next; /* when Python is asked again; 0: not yet asked */
    bp_interrupt_check check;
    void *user; /* of the check that was set before */
} core_unlocked;
void core_unlock(core_unlocked *unlocked);
void core_lock(core_unlocked *unlocked);

/* ---- settings.c ---- */

int core_add_settings(PyObject *module, core_state *state);

/* The value as the library's text, checked for the type that the row asks for. New reference to bytes, or NULL. */
PyObject *core_setting_text(core_state *state, const bp_setting_info *row, PyObject *value);

/* Stores a preferred library for the process that has been checked first; two str: the setting, the library. */
PyObject *core_prefer(PyObject *module, PyObject *arguments);

/* ---- scopes.c ---- */

int core_add_scopes(PyObject *module, core_state *state);

/* What a call's argument `settings` may be: None, Options, or a dict. *owner is a new reference that keeps *options
 * alive, or NULL. */
bool core_options(core_state *state, PyObject *argument, const bp_options **options, PyObject **owner);

/* Leaves the calling thread's scopes that other threads have thrown away. */
void core_leave_dropped(void);

/* ---- arrays.c ---- */

/* An array of Python that the library reads or writes in place, for the time of one call. */
typedef struct operand {
    DLTensor tensor;
    int64_t shape[BP_MAX_NDIM];
    int64_t strides[BP_MAX_NDIM];
    Py_buffer buffer; /* held while buffer.obj is not NULL */
    DLManagedTensor *managed;
    DLManagedTensorVersioned *versioned;
    PyObject *owner;                   /* an array that is read without a buffer or a capsule; a reference, or NULL */
    const core_exchange *exchange;     /* of the array's type, or NULL */
    bool is_numpy;                     /* the array is a numpy.ndarray or of a subclass */
    DLManagedTensorVersioned *aligned; /* a copy of memory that is not aligned as its elements ask for, or NULL */
    char *unaligned;                   /* that memory's first element, and its strides in bytes */
    int64_t steps[BP_MAX_NDIM];
    bool copied_back; /* when the operand is released */
} operand;

/* What a call does with an operand, as bits. */
typedef enum core_access {
    CORE_READS = 0,
    CORE_WRITES = 1,
    CORE_DESCRIBES = 2 /* only looks at type and layout; the tensor may come without an address */
} core_access;

/* `name` is the argument's, for messages. On failure the exception is set and nothing is held. */
bool core_operand(core_state *state, operand *to, PyObject *array, const char *name, unsigned access);
void core_operand_describe(operand *to, const DLTensor *given); /* copies shape and strides of host memory */
void core_compact_strides(operand *to);                         /* of row-major memory without gaps */
void core_operand_clear(operand *held);                         /* makes one that holds nothing */
void core_operand_release(operand *held);                       /* fine for one that holds nothing */

/* ---- numpy.c ---- */

/* Looks for NumPy among the imported modules; returns whether numpy->type is set. */
bool core_numpy_find(core_numpy *numpy);

/* Reads an array of exactly numpy->type. Returns false, without an exception, for arrays that core_operand() must look
 * at: unaligned, read-only, of the other byte order, of types that are not in NumPy itself. */
bool core_numpy_read(operand *to, PyObject *array, unsigned access);

/* Makes an array with the tensor's type, shape and strides (compact; NULL: row-major) and sets the tensor's address. */
PyObject *core_numpy_new(const core_numpy *numpy, DLTensor *tensor);
bool core_numpy_has(DLDataType type); /* whether NumPy has the element type */

/* ---- exchange.c ---- */

/* The entry of a type that has the interface, or NULL. The entry stays valid as long as the module. */
const core_exchange *core_exchange_find(core_exchanges *known, PyTypeObject *type);

/* Reads a tensor. Returns false, without an exception, for what core_operand() must look at: memory of a device,
 * tensors that need gradients, that are conjugated or negated, or unaligned. */
bool core_exchange_read(const core_exchange *of, operand *to, PyObject *tensor);

/* A new tensor of the library that has the interface, around memory that becomes its own, also when this fails. */
PyObject *core_exchange_wrap(const core_exchange *of, DLManagedTensorVersioned *memory);

/* ---- results.c ---- */

/* Memory of a result until the call has succeeded. */
typedef struct core_result {
    PyObject *array;                  /* of NumPy, or NULL */
    DLManagedTensorVersioned *memory; /* of the library, or NULL */
    const core_exchange *exchange;    /* hands that memory to the caller's library; NULL: to a Tensor */
} core_result;

/* Takes memory for a tensor of that type and shape, with its strides (compact; NULL: row-major), in an array of the
 * type that the first of the operands has which is NumPy's or of an exchange interface. Sets the tensor's address and
 * strides. Returns false with an exception set. */
bool core_result_new(core_state *state, core_result *result, DLTensor *tensor, const operand *const *operands,
                     int count);
PyObject *core_result_take(core_state *state, core_result *result); /* the array; the result holds nothing after it */
void core_result_drop(core_result *result);                         /* fine for one that holds nothing */

/* ---- unaligned.c ---- */

/* Whether the memory that operand->unaligned and ->steps describe can be read in place. */
bool core_is_aligned(const operand *of);

/* Puts an aligned copy of that memory in the operand's place, or a tensor without an address for CORE_DESCRIBES. On
 * failure the exception is set. */
bool core_align(core_state *state, operand *to, unsigned access);
void core_unalign(operand *held); /* writes the copy back if the call may have changed it, and frees it */

/* ---- tensor.c ---- */

int core_add_tensor(PyObject *module, core_state *state);

/* A fresh Tensor around memory from bp_tensor_new, which becomes its own also when this fails. */
PyObject *core_tensor(core_state *state, DLManagedTensorVersioned *memory);

/* ---- matmul.c ---- */

/* The arguments of one product, whether it is run or explained. */
typedef struct product {
    core_state *state;
    operand a, b, c;
    bool gemm; /* and not matmul */
    bool explains;
    bool given_c; /* the caller has named where the result goes */
    DLTensor out;
    int64_t shape[BP_MAX_NDIM];
    bp_transform transform_a, transform_b;
    bp_scalar alpha, beta;
    const bp_options *options;
    PyObject *options_owner;
} product;

/* The arguments of a product as they were given; borrowed. What is left out of `alpha` and `beta` is NULL. */
typedef struct product_arguments {
    PyObject *a, *b, *c, *alpha, *beta, *settings;
    const char *transform_a, *transform_b;
} product_arguments;

/* Reads a tuple and a dict (or NULL). False with an exception set. */
bool core_product_parse(product_arguments *given, bool gemm, PyObject *arguments, PyObject *names);

/* Reads the operands; on failure the exception is set and nothing is held. The result's tensor has no memory yet
 * unless the caller has given some. */
bool core_product(product *of, core_state *state, bool gemm, bool explains, const product_arguments *given);
void core_product_release(product *of);

PyObject *core_matmul(PyObject *module, PyObject *const *values, Py_ssize_t count, PyObject *names);
PyObject *core_set_convert(PyObject *module, PyObject *function);
PyObject *core_gemm(PyObject *module, PyObject *arguments, PyObject *names);

/* ---- fft.c ---- */

PyObject *core_fft(PyObject *module, PyObject *arguments, PyObject *names);
PyObject *core_fftshift(PyObject *module, PyObject *arguments);
PyObject *core_fftfreq(PyObject *module, PyObject *arguments);
PyObject *core_fft_plans(PyObject *module, PyObject *unused);
PyObject *core_fft_plans_clear(PyObject *module, PyObject *unused);

/* ---- linalg.c ---- */

PyObject *core_linalg(PyObject *module, PyObject *arguments, PyObject *names);

/* ---- explain.c ---- */

/* How a call of some operation is explained. */
typedef bp_status (*core_explainer)(const void *call, bp_explanation **explanation);

bp_status core_product_explain(const void *product, bp_explanation **explanation);
PyObject *core_explanation(core_state *state, core_explainer explain, const void *call); /* as a dict */

/* core_fail() for a call, with what each library said where the failure is that none would do it. */
PyObject *core_fail_explained(core_state *state, bp_status status, core_explainer explain, const void *call);
PyObject *core_refusals(const bp_explanation *explanation); /* (library, reason, text) of each that refused */
PyObject *core_explain_matmul(PyObject *module, PyObject *arguments, PyObject *names);
PyObject *core_explain_gemm(PyObject *module, PyObject *arguments, PyObject *names);
PyObject *core_last_plan(PyObject *module, PyObject *unused);

/* ---- einsum.c ---- */

/* What einsum and einsum_path are asked besides operands; the lists are PyMem memory. */
typedef struct core_asking {
    core_state *state;
    const char *expression; /* NULL: the sublist form */
    PyObject *bytes;        /* that hold it */
    const int32_t **lists;  /* of labels, one for each operand */
    int *list_counts;
    int output_count;
    const int32_t *output;
    bp_einsum_search search; /* struct_size is 0 where nothing was said of it */
    int32_t *labels;         /* what the lists point at */
    int32_t *path, *path_counts;
} core_asking;

/* `words` is None, or a tuple of labels, output, strategy, minimize, memory_limit, trials, seconds, seed, work and
 * path. On failure the exception is set and nothing is held. */
bool core_asking_read(core_asking *asking, core_state *state, PyObject *expression, PyObject *words);
void core_asking_free(core_asking *asking); /* fine for one that is all zeros */

PyObject *core_einsum_path(PyObject *module, PyObject *values);
PyObject *core_path_text(PyObject *module, PyObject *capsule);
PyObject *core_path_json(PyObject *module, PyObject *capsule);

/* ---- contract.c ---- */

PyObject *core_einsum(PyObject *module, PyObject *values);
PyObject *core_einsum_plain(PyObject *module, PyObject *values);

/* ---- machine.c ---- */

PyObject *core_libraries(PyObject *module, PyObject *refresh);
PyObject *core_providers(PyObject *module, PyObject *unused);
PyObject *core_machine(PyObject *module, PyObject *unused);
PyObject *core_verbose_enter(PyObject *module, PyObject *arguments);
PyObject *core_verbose_leave(PyObject *module, PyObject *capsule);
PyObject *core_backend_status(PyObject *module, PyObject *name);
PyObject *core_backends(PyObject *module, PyObject *unused);

/* ---- warnings.c ---- */

/* Takes the library's warnings from now on, for all interpreters. */
void core_collect_warnings(void);

/* Hands what has come to Python's warnings; false with an exception set where those are made errors. */
bool core_tell_warnings(core_state *state);

/* The end of a call that may have caused some: tells them with the call itself, also when it fails (`result` is NULL
 * and an exception is set), so that none comes with a later one. Gives the result, or NULL with an exception set. */
PyObject *core_finish(core_state *state, PyObject *result);

#endif
