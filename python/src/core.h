/* core.h - declares types and functions that the files of the extension backplane._core share.
 *
 * The extension is plain C. It uses Python's limited interface, so that one binary works with CPython 3.9 and later,
 * and the public header of the library. Its only global state is the queue of warnings and the list of dropped scopes.
 * All else is in the module's state, so that each interpreter has its own.
 */
#ifndef BACKPLANE_PYTHON_CORE_H
#define BACKPLANE_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <backplane.h>

#include <stdbool.h>
#include <stdint.h>

#if Py_LIMITED_API + 0 < 0x030a0000
/* CPython 3.9 exports these two functions with this signature; they are in the limited interface since 3.10. */
PyAPI_FUNC(PyObject *) PyType_FromModuleAndSpec(PyObject *module, PyType_Spec *spec, PyObject *bases);
PyAPI_FUNC(void *) PyType_GetModuleState(PyTypeObject *type);
#endif

#if Py_LIMITED_API + 0 < 0x030b0000
/* The buffer protocol is in the limited interface since 3.11, unchanged since 3.3. So its declarations are repeated
 * here for 3.9 and 3.10. */
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
    PyTypeObject *type; /* numpy.ndarray; NULL: not yet imported */
    void **api;         /* NULL: not yet imported, or not usable */
} core_numpy;

/* ---- exchange.c ---- */

typedef struct core_exchange_api core_exchange_api;

/* A method without arguments that tells a property of a tensor. */
typedef struct core_predicate {
    PyObject *method;     /* as the type has it; NULL: it has none */
    PyCFunction function; /* what the method runs, if it is of C; otherwise NULL */
} core_predicate;

/* A type whose instances DLPack's C exchange interface reads and makes. */
typedef struct core_exchange {
    PyTypeObject *type;
    const core_exchange_api *api; /* NULL: the type has none */
    core_predicate is_negative;   /* its method is_neg */
    core_predicate is_conjugate;  /* its method is_conj */
    PyObject *gradient; /* the name "requires_grad", or its descriptor; NULL: the type has no such attribute */
    descrgetfunc get;   /* gets the value by the descriptor; NULL: `gradient` is a name */
} core_exchange;

enum { CORE_EXCHANGES = 8 };

/* Types of operands so far, with the interface or without it. If all entries have it, further types use __dlpack__().
 */
typedef struct core_exchanges {
    int count;
    core_exchange of[CORE_EXCHANGES];
} core_exchanges;

/* ---- cosine_tables.c ---- */

/* The factors of cosine transforms of one type and length. */
typedef struct core_table {
    int64_t n;
    int type;
    bool single; /* the factors are float, else double */
    int references;
    size_t bytes;
    int64_t second;   /* index in `factors` where those after the Fourier transform begin, for type 4 */
    double factors[]; /* pairs of cosine and sine */
} core_table;

enum { CORE_TABLES = 16 };

/* Tables of recent calls, the last used one first. */
typedef struct core_tables {
    int count;
    size_t bytes;
    core_table *of[CORE_TABLES];
} core_tables;

/* ---- described.c ---- */

typedef struct core_described core_described;

/* State of the module, one per interpreter. */
typedef struct core_state {
    PyObject *error;              /* backplane.Error, a RuntimeError */
    PyObject *bad_value;          /* an Error and a ValueError */
    PyObject *bad_type;           /* an Error and a TypeError */
    PyObject *unknown_name;       /* an Error and an AttributeError */
    PyObject *linalg_error;       /* an Error: an operation failed on a matrix */
    PyObject *linalg_error_numpy; /* a linalg_error that is also numpy.linalg.LinAlgError; NULL until needed */
    PyObject *warning;            /* the category of the library's warnings */
    PyObject *setting_type;
    PyObject *options_type;
    PyObject *scope_type;
    PyObject *tensor_type;
    PyObject
        *convert; /* function of the package that converts a Tensor to the type of the inputs; NULL before it is set */
    PyObject
        *convert_factors; /* function of the package that runs matmul with converted factors; NULL before it is set */
    PyObject *recorder;   /* function of the package that records calls while a function is traced; otherwise NULL */
    PyObject *word_out, *word_settings, *word_axis, *word_keepdims; /* names of arguments, interned */
    core_numpy numpy;
    core_exchanges exchanges;
    core_tables tables;
    core_described *described; /* calls that ran so far */
    bool frozen;               /* assignment to settings is an error: backends.disable_global_flags() */
} core_state;

core_state *core_state_of(PyObject *module);
core_state *core_state_of_object(PyObject *object); /* of an instance of one of the module's types */

/* Convert text of the library to str, and a str to bytes without a NUL. Bytes that are not UTF-8 survive both
 * directions, because paths and variables may contain any. `name` is the argument's name for messages. */
PyObject *core_text(const char *text);
PyObject *core_bytes(core_state *state, PyObject *text, const char *name);

/* Appends to a list and takes the reference to the item. Clears *list if that fails or `item` is NULL. */
void core_append(PyObject **list, PyObject *item);

/* tp_new of types that Python code cannot create. */
PyObject *core_no_new(PyTypeObject *type, PyObject *arguments, PyObject *names);

/* ---- errors.c ---- */

int core_add_errors(PyObject *module, core_state *state);

/* Sets the exception for a status, with the library's message, and returns NULL. `reasons` (borrowed, may be NULL) is a
 * tuple of (library, reason, text). If a signal stopped the call, keeps the exception that its handler raised. */
PyObject *core_fail(core_state *state, bp_status status, PyObject *reasons);

/* What messages about element types accept. */
#define CORE_ELEMENT_TYPES                                                                                             \
    "it must be one of f16, bf16, f32, f64, c64, c128, i8, i16, i32, i64, u8, u16, u32, u64 and bool"

/* Sets an exception with a formatted message (PyUnicode_FromFormat) and returns NULL. */
PyObject *core_refuse(core_state *state, PyObject *type, bp_status status, const char *format, ...);

/* ---- unlock.c ---- */

/* Brackets a long call of the library without the interpreter's lock. Ctrl-C stops it when the library calls its
 * interrupt check: it returns BP_E_CANCELLED, and the exception of Python's signal handler is set. */
typedef struct core_unlocked {
    PyThreadState *thread;    /* NULL: the lock is kept so far */
    int64_t next;             /* time of the next check of signals in ns; 0: not determined yet */
    bp_interrupt_check check; /* the previous check */
    void *user;               /* its argument */
} core_unlocked;
void core_unlock(core_unlocked *unlocked);

/* As core_unlock() for a call with these tensors. If they have few elements, the lock is kept until the library's first
 * interrupt check. */
void core_unlock_for(core_unlocked *unlocked, const DLTensor *const *tensors, int count);
void core_lock(core_unlocked *unlocked);

/* ---- settings.c ---- */

int core_add_settings(PyObject *module, core_state *state);

/* Converts a value to the library's text; checks its Python type. Returns a new reference to bytes, or NULL. */
PyObject *core_setting_text(core_state *state, const bp_setting_info *row, PyObject *value);

/* Checks a preferred library and sets it for the process. Arguments: two str, the setting and the library. */
PyObject *core_prefer(PyObject *module, PyObject *arguments);

/* ---- scopes.c ---- */

int core_add_scopes(PyObject *module, core_state *state);

/* Converts a call's argument `settings`: None, Options, or a dict. *owner is a new reference that keeps *options alive,
 * or NULL. */
bool core_options(core_state *state, PyObject *argument, const bp_options **options, PyObject **owner);

/* Closes the scopes of the calling thread whose last reference was dropped in another thread. */
void core_leave_dropped(void);

/* ---- arrays.c ---- */

/* A Python array that the library reads or writes in place during one call. */
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
    DLManagedTensorVersioned *aligned; /* an aligned copy of unaligned memory, or NULL */
    char *unaligned;                   /* first element of the original memory */
    int64_t steps[BP_MAX_NDIM];        /* its strides in bytes */
    bool copied_back;                  /* copy `aligned` back when the operand is released */
} operand;

/* Use of an operand by a call, as bits. */
typedef enum core_access {
    CORE_READS = 0,
    CORE_WRITES = 1,
    CORE_DESCRIBES = 2 /* reads type and layout only; the tensor may have no address */
} core_access;

/* `name` is the argument's, for messages. On failure the exception is set and nothing is held. */
bool core_operand(core_state *state, operand *to, PyObject *array, const char *name, unsigned access);

/* Reads an array of NumPy or of a library with the exchange interface, without a call of Python. Returns false, without
 * an exception and with nothing held, for all others. */
bool core_operand_direct(core_state *state, operand *to, PyObject *array);
bool core_operand_export(core_state *state, operand *to, PyObject *array, const char *name,
                         unsigned access);                      /* by __dlpack__() alone */
void core_operand_describe(operand *to, const DLTensor *given); /* copies shape and strides of host memory */
void core_compact_strides(operand *to);                         /* of row-major memory without gaps */
void core_operand_clear(operand *held);                         /* makes one that holds nothing */
void core_operand_release(operand *held);                       /* fine for one that holds nothing */

/* ---- streams.c ---- */

/* Returns whether DLPack has streams for the kind of device. */
bool core_has_streams(DLDevice device);
/* Returns the number of the stream that the producer of `array` is asked for: the calling thread's queue for its
 * device. NULL, usually without an exception, if there is none. */
PyObject *core_stream_for(PyObject *array);
/* Returns the calling thread's queue for the device, with a reference; NULL for devices without streams. */
bp_queue *core_stream_hold(DLDevice device);
/* Waits for the work of the queue, without the interpreter's lock, and releases it. NULL is allowed. */
void core_stream_end(bp_queue *queue);

/* ---- numpy.c ---- */

/* Looks for NumPy among the imported modules; returns whether numpy->api is set. */
bool core_numpy_find(core_numpy *numpy);

/* Reads an array of exactly numpy->type. Returns false, without an exception, for arrays that core_operand() must look
 * at: unaligned, read-only, of the other byte order, of types that are not in NumPy itself. */
bool core_numpy_read(operand *to, PyObject *array, unsigned access);

/* Makes an array with the tensor's type, shape and strides (compact; NULL: row-major) and sets the tensor's address. */
PyObject *core_numpy_new(const core_numpy *numpy, DLTensor *tensor);
bool core_numpy_has(DLDataType type); /* whether NumPy has the element type */

/* ---- exchange.c ---- */

/* The entry of the object's type, if that has the interface; otherwise NULL. The entry stays valid as long as the
 * module. */
const core_exchange *core_exchange_find(core_exchanges *known, PyObject *object);

/* Reads a tensor. Returns false, without an exception, for what core_operand() must look at: memory of a device,
 * tensors that need gradients, that are conjugated or negated, or unaligned, and read-only memory for writing. */
bool core_exchange_read(const core_exchange *of, operand *to, PyObject *tensor, unsigned access);

/* A new tensor of the library that has the interface, around memory that becomes its own, also when this fails. */
PyObject *core_exchange_wrap(const core_exchange *of, DLManagedTensorVersioned *memory);

/* ---- results.c ---- */

/* Memory of a result until the call has succeeded. */
typedef struct core_result {
    PyObject *array;                  /* of NumPy, or NULL */
    DLManagedTensorVersioned *memory; /* of the library, or NULL */
    const core_exchange *exchange;    /* hands that memory to the caller's library; NULL: to a Tensor */
} core_result;

/* Returns whether the operand decides the type of the result: a NumPy array, a tensor of an exchange interface, or one
 * that was read by DLPack. The package looks at the last kind itself (_products.py), so the result is then a Tensor. */
bool core_result_like(const operand *of);

/* Takes memory for a tensor of that type and shape, with its strides (compact; NULL: row-major), in an array of the
 * type that the first of the operands has which decides it. Sets the tensor's address and strides. Returns false with
 * an exception set. */
bool core_result_new(core_state *state, core_result *result, DLTensor *tensor, const operand *const *operands,
                     int count);
/* Orders the dimensions of a result as the dimensions of a tensor are. `strides` is for BP_MAX_NDIM numbers, which the
 * result keeps if it is not row-major. */
void core_result_order(DLTensor *result, int64_t *strides, const DLTensor *like);
/* The same, of a result of single elements, as the first of these tensors that has its shape and, if there is such a
 * one, repeats nothing. */
void core_result_follow(DLTensor *result, int64_t *strides, const DLTensor *const *tensors, int count);
PyObject *core_result_take(core_state *state, core_result *result); /* the array; the result holds nothing after it */
/* Returns results as a tuple, with None for those that are in the caller's arrays. */
PyObject *core_results_take(core_state *state, core_result *results, int count);
void core_result_drop(core_result *result); /* fine for one that holds nothing */

/* ---- operands.c ---- */

enum { CORE_NEAR_OPERANDS = 3 }; /* operands on the stack; one is about 1.7 kB */

/* The arrays of a call that takes any number of them. */
typedef struct core_operands {
    operand *list;
    const DLTensor **tensors;
    int count; /* arrays that are held */
    int like;  /* the first one that may decide the result's type */
    operand near_list[CORE_NEAR_OPERANDS];
    const DLTensor *near_tensors[CORE_NEAR_OPERANDS];
} core_operands;

void core_operands_begin(core_operands *of); /* makes one that holds nothing; most of it stays undefined */

/* Reads the arrays of a tuple from index `first` on. On failure the exception is set, and what was read is held. */
bool core_operands_read(core_state *state, core_operands *of, PyObject *arrays, Py_ssize_t first, unsigned access);
/* As above from index 0 on, with their names for messages. */
bool core_operands_read_named(core_state *state, core_operands *of, PyObject *arrays, const char *const *names,
                              unsigned access);
const operand *core_operands_like(const core_operands *of); /* one that decides the result's type; else the last */
void core_operands_release(core_operands *of);

/* ---- calls.c ---- */

/* Explains a call of an operation. */
typedef bp_status (*core_explainer)(const void *call, bp_explanation **explanation);

/* A call that takes any number of arrays and has one result. It is the first member of what an operation needs. */
typedef struct core_call {
    core_state *state;
    core_operands operands;
    bool given_out; /* the caller gave an array for the result */
    bool explains;
    operand out;
    DLTensor result;
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM]; /* of the result; the strides only if it is not row-major */
    const bp_options *options;
    PyObject *options_owner;
} core_call;

/* Starts a call that holds nothing. Most of the structure is large and stays undefined. */
void core_call_begin(core_call *of, core_state *state, bool explains);
unsigned core_call_access(const core_call *of);   /* to operands that are read */
bool core_call_out(core_call *of, PyObject *out); /* takes the caller's array as result; false with an exception set */

/* Runs an operation without the interpreter's lock. Returns the result, or None if it is in the caller's array. On
 * failure the exception is set: its reasons come from `explain`, which like `run` gets the call. */
PyObject *core_call_run(core_call *of, bp_status (*run)(core_call *call), core_explainer explain);
void core_call_release(core_call *of);

/* ---- unaligned.c ---- */

/* Returns whether the memory of operand->unaligned and ->steps can be read in place. */
bool core_is_aligned(const operand *of);

/* Replaces the operand by an aligned copy, or for CORE_DESCRIBES by a tensor without an address. Returns false with an
 * exception set. */
bool core_align(core_state *state, operand *to, unsigned access);
void core_unalign(operand *held); /* writes the copy back if the call may have changed it, and frees it */

/* ---- tensor.c ---- */

int core_add_tensor(PyObject *module, core_state *state);

/* Returns a new Tensor that owns memory from bp_tensor_empty_on(). Takes ownership also on failure. */
PyObject *core_tensor(core_state *state, DLManagedTensorVersioned *memory);
bool core_tensor_read(operand *to,
                      PyObject *tensor); /* borrows the memory of a Tensor on a device; false on the host */

/* ---- graph.c ---- */

int core_add_graph(PyObject *module);

/* ---- matmul.c ---- */

/* The arguments of one product, to run or to explain. */
typedef struct product {
    core_state *state;
    operand a, b, c;
    bool gemm; /* false: matmul */
    bool explains;
    bool given_c; /* the caller gave an array for the result */
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
    bool floats; /* products of integers are refused: NumPy's have another type */
} product_arguments;

/* Reads a tuple and a dict (or NULL). False with an exception set. */
bool core_product_parse(product_arguments *given, bool gemm, PyObject *arguments, PyObject *names);

/* Reads the operands; on failure the exception is set and nothing is held. The result's tensor has no memory yet
 * unless the caller has given some. */
bool core_product(product *of, core_state *state, bool gemm, bool explains, const product_arguments *given);
void core_product_release(product *of);

PyObject *core_matmul(PyObject *module, PyObject *const *values, Py_ssize_t count, PyObject *names);
PyObject *core_matmul_floats(PyObject *module, PyObject *const *values, Py_ssize_t count, PyObject *names);
PyObject *core_set_convert_factors(PyObject *module, PyObject *function);
PyObject *core_set_convert(PyObject *module, PyObject *function);
PyObject *core_gemm(PyObject *module, PyObject *arguments, PyObject *names);

/* ---- quick.c ---- */

/* Makes a function whose frequent form runs without a frame of Python. */
PyObject *core_quick(PyObject *module, PyObject *arguments);

/* ---- fft.c ---- */

/* Reads None (*count is -1) or a tuple of at most BP_MAX_NDIM whole numbers. Returns false with an exception set. */
bool core_numbers(core_state *state, PyObject *tuple, const char *name, int64_t *numbers, int *count);

/* Reads a whole number, which is for each of `ndim` dimensions, or a sequence of one for each. Sets *to to `numbers`.
 * Returns false with an exception set. */
bool core_numbers_each(core_state *state, PyObject *given, const char *name, int ndim, int64_t *numbers,
                       const int64_t **to);

/* Reads None or a tuple of at most BP_MAX_NDIM dimensions; *count is -1 for None. Returns false with an exception set.
 */
bool core_dims(core_state *state, PyObject *tuple, int *dims, int *count);

PyObject *core_fft(PyObject *module, PyObject *arguments, PyObject *names);
PyObject *core_fftshift(PyObject *module, PyObject *arguments);
PyObject *core_fftfreq(PyObject *module, PyObject *arguments);
PyObject *core_fft_plans(PyObject *module, PyObject *unused);
PyObject *core_fft_plans_clear(PyObject *module, PyObject *unused);

/* ---- cosine_tables.c, continued ---- */

/* Returns the table with a reference, which core_table_give() takes back, or NULL with an exception set. Both are
 * called with the interpreter's lock; the first may release it for a while. */
core_table *core_table_take(core_state *state, int type, int64_t n, bool single);
void core_table_give(core_table *table); /* NULL is allowed */
void core_tables_drop(core_tables *tables);

/* ---- cosine.c ---- */

PyObject *core_cosine(PyObject *module, PyObject *arguments);

/* ---- described.c, continued ---- */

void core_described_drop(core_state *state); /* frees state->described */

/* ---- described_call.c ---- */

/* Runs or explains a call of calls.h: name, wanted results, shape of the first one or None, array for the first one or
 * None, settings, whether to explain, and fields by their names. Returns the results as a tuple. */
PyObject *core_call_described(PyObject *module, PyObject *const *values, Py_ssize_t count, PyObject *names);
/* Returns the number of a word: a call, one of its fields that has words, and a word. */
PyObject *core_call_names(PyObject *module, PyObject *name);
PyObject *core_word(PyObject *module, PyObject *arguments);

/* ---- reduce.c ---- */

/* Kinds are the values of bp_reduce_kind, and then the values of bp_variance_kind. */
enum { CORE_REDUCE_VARIANCE = BP_REDUCE_ALL + 1, CORE_REDUCE_KINDS = CORE_REDUCE_VARIANCE + 2 };
DLDataType core_reduce_type(int kind, DLDataType type); /* of a reduction of elements of a type */
bp_status core_reduce_run(const bp_options *options, int kind, const DLTensor *input, int axis_count, const int *axes,
                          double correction, int keep, DLTensor *output);
PyObject *core_reduce(PyObject *module, PyObject *arguments, PyObject *names);
PyObject *core_softmax(PyObject *module, PyObject *arguments, PyObject *names);

/* ---- elementwise.c ---- */

/* The number of a function of one or two elements by its name; -1: there is none. */
int core_unary_kind(const char *kind);
DLDataType core_unary_type(bp_unary_kind kind, DLDataType type); /* of the result */
DLDataType core_binary_type(bp_binary_kind kind, DLDataType type);
int core_binary_kind(const char *kind);
PyObject *core_elementwise(PyObject *module, PyObject *arguments);

/* ---- devices.c ---- */

PyObject *core_devices(PyObject *module, PyObject *unused);
PyObject *core_device_control(PyObject *module, PyObject *arguments);
PyObject *core_device_memory(PyObject *module, PyObject *id);
PyObject *core_device_plans(PyObject *module, PyObject *id);
PyObject *core_device_fft_plans(PyObject *module, PyObject *id);
PyObject *core_empty(PyObject *module, PyObject *arguments);
PyObject *core_transfer(PyObject *module, PyObject *arguments);
PyObject *core_from_dlpack(PyObject *module, PyObject *array);

/* ---- linalg.c ---- */

PyObject *core_linalg(PyObject *module, PyObject *arguments, PyObject *names);

/* ---- products.c ---- */

PyObject *core_product_chain(PyObject *module, PyObject *arguments);

/* ---- explain.c ---- */

bp_status core_product_explain(const void *product, bp_explanation **explanation);
PyObject *core_explanation(core_state *state, core_explainer explain, const void *call); /* as a dict */

/* As core_fail(); if no library accepted the call, adds the reason of each. */
PyObject *core_fail_explained(core_state *state, bp_status status, core_explainer explain, const void *call);
PyObject *core_refusals(const bp_explanation *explanation); /* (library, reason, text) of each that refused */
PyObject *core_explain_matmul(PyObject *module, PyObject *arguments, PyObject *names);
PyObject *core_explain_matmul_floats(PyObject *module, PyObject *arguments, PyObject *names);
PyObject *core_explain_gemm(PyObject *module, PyObject *arguments, PyObject *names);
PyObject *core_last_plan(PyObject *module, PyObject *unused);

/* ---- einsum.c ---- */

/* Arguments of einsum and einsum_path other than operands; the lists are PyMem memory. */
typedef struct core_asking {
    core_state *state;
    const char *expression; /* NULL: sublist form */
    PyObject *bytes;        /* owns `expression` */
    const int **lists;      /* labels of each operand */
    int *list_counts;
    int output_count;
    const int *output;
    bp_einsum_search search; /* struct_size is 0 if no search parameters were given */
    int *labels;             /* memory of `lists` and `output` */
    int *path, *path_counts;
} core_asking;

/* `words` is None, or a tuple of labels, output, strategy, minimize, memory_limit, trials, seconds, seed, work and
 * path. Returns false with an exception set and nothing allocated. */
bool core_asking_read(core_asking *asking, core_state *state, PyObject *expression, PyObject *words);
void core_asking_free(core_asking *asking); /* accepts all zeros */

PyObject *core_einsum_path(PyObject *module, PyObject *values);
PyObject *core_path_text(PyObject *module, PyObject *capsule);
PyObject *core_path_json(PyObject *module, PyObject *capsule);

/* ---- contract.c ---- */

PyObject *core_einsum(PyObject *module, PyObject *values);
PyObject *core_einsum_plain(PyObject *module, PyObject *values);

/* ---- recorded.c ---- */

PyObject *core_record_start(PyObject *module, PyObject *most);
PyObject *core_record_stop(PyObject *module, PyObject *capsule);
PyObject *core_record_plans(PyObject *module, PyObject *capsule);
PyObject *core_record_calls(PyObject *module, PyObject *capsule);
PyObject *core_record_left_out(PyObject *module, PyObject *capsule);

/* ---- machine.c ---- */

PyObject *core_libraries(PyObject *module, PyObject *refresh);
PyObject *core_providers(PyObject *module, PyObject *unused);
PyObject *core_machine(PyObject *module, PyObject *unused);
PyObject *core_verbose_enter(PyObject *module, PyObject *arguments);
PyObject *core_verbose_leave(PyObject *module, PyObject *capsule);
PyObject *core_backend_status(PyObject *module, PyObject *name);
PyObject *core_backends(PyObject *module, PyObject *unused);

/* ---- warnings.c ---- */

/* Starts collecting the library's warnings, for all interpreters. */
void core_collect_warnings(void);

/* Passes collected warnings to Python's warnings module. Returns false with an exception set if it makes them errors.
 */
bool core_tell_warnings(core_state *state);

/* Ends a call that may have caused warnings: passes them on, also if the call failed (`result` is NULL and an exception
 * is set), so that none appears in a later call. Returns the result, or NULL with an exception set. */
PyObject *core_finish(core_state *state, PyObject *result);

#endif
