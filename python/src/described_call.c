/* described_call.c - runs and explains the calls that calls.h describes. The names and defaults of torch are in
 * python/backplane/nn/. A function of the package gives the fields of a call as arguments with names, and the names of
 * the results that it wants. */
#include "described.h"
#include "record.h"

#include <limits.h>
#include <string.h>

enum {
    FIELDS = 32, /* given to one call */
    ARRAYS = 20,
    RESULTS = 8,
    SIZES = 5,
    POSITIONS = 6 /* arguments of the function in front of the fields */
};

/* One call, from its arguments to its results. It is large, and most of it stays undefined. */
typedef struct described_call {
    core_state *state;
    const core_described *of;
    union {
        size_t struct_size;
        int64_t aligned;
        char bytes[DESCRIBED_ARGUMENTS];
    } arguments;
    const bp_call_pass *pass;
    const described_field *given[FIELDS];
    int array_count, sizes_count, result_count, axes[BP_MAX_NDIM];
    operand arrays[ARRAYS]; /* of the fields, and last the caller's array for the first result */
    int64_t sizes[SIZES][BP_MAX_NDIM];
    const bp_call_field *numbers_field; /* a tensor that is given as a tuple of two numbers, or NULL */
    DLTensor numbers;
    int64_t numbers_shape[1], numbers_data[2];
    core_result fresh[RESULTS];
    DLTensor results[RESULTS];
    const bp_call_field *result_fields[RESULTS];
    int64_t shape[RESULTS][BP_MAX_NDIM], strides[BP_MAX_NDIM];
    const bp_options *options;
    PyObject *options_owner;
} described_call;

/* ---- Parameters ---- */

static void set_described(described_call *of, const bp_call_field *field, const void *value, size_t size) {
    memcpy(of->arguments.bytes + field->offset, value, size);
}

static void set_tensor(described_call *of, const bp_call_field *field, const DLTensor *tensor) {
    set_described(of, field, &tensor, sizeof tensor);
}

static int ndim_of(const described_call *of) {
    int ndim = 0;
    if (of->of->ndim > 0) {
        memcpy(&ndim, of->arguments.bytes + of->of->ndim, sizeof ndim);
    }
    return ndim;
}

/* Names the field in the message about a value that is no number. Returns false. */
static bool refuse_value(described_call *of, const described_field *field, const char *wanted, PyObject *value) {
    if (PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        core_refuse(of->state, of->state->bad_type, BP_E_ARGUMENT, "%s: expects %s, but got %R", field->text, wanted,
                    value);
    }
    return false;
}

/* Numbers are made by the package itself, so that they are small. */
static bool read_int(described_call *of, const described_field *field, PyObject *value) {
    if (field->words && value == Py_None) {
        return true;
    }
    const int number = field->words ? core_described_word(of->state, field, value) : (int)PyLong_AsLong(value);
    set_described(of, field->info, &number, sizeof number);
    return number != -1 || !PyErr_Occurred();
}

/* Reads an int of the caller. Numbers that no int has become the next one, which the library refuses. */
static bool read_signed(described_call *of, const described_field *field, PyObject *value) {
    int overflow;
    const long number = PyLong_AsLongAndOverflow(value, &overflow);
    const int nearest = overflow > 0 || number > INT_MAX   ? INT_MAX
                        : overflow < 0 || number < INT_MIN ? INT_MIN
                                                           : (int)number;
    set_described(of, field->info, &nearest, sizeof nearest);
    return !PyErr_Occurred() || refuse_value(of, field, "a whole number", value);
}

static bool read_number(described_call *of, const described_field *field, PyObject *value) {
    int64_t number = field->is_unsigned ? (int64_t)PyLong_AsUnsignedLongLongMask(value) : PyLong_AsLongLong(value);
    set_described(of, field->info, &number, sizeof number);
    return number != -1 || !PyErr_Occurred() || refuse_value(of, field, "a whole number", value);
}

static bool read_real(described_call *of, const described_field *field, PyObject *value) {
    const double number = PyFloat_AsDouble(value);
    set_described(of, field->info, &number, sizeof number);
    return number != -1 || !PyErr_Occurred() || refuse_value(of, field, "a number", value);
}

static bool read_flag(described_call *of, const described_field *field, PyObject *value) {
    const int flag = PyObject_IsTrue(value);
    set_described(of, field->info, &flag, sizeof flag);
    return flag >= 0;
}

/* Reads one number for each dimension, or one for all. The package gives `ndim` before. */
static bool read_sizes(described_call *of, const described_field *field, PyObject *value) {
    const int64_t *sizes;
    if (of->sizes_count == SIZES) {
        PyErr_Format(PyExc_TypeError, "%s has more sizes than %d", of->of->info->name, SIZES);
        return false;
    }
    const bool good =
        core_numbers_each(of->state, value, field->text, ndim_of(of), of->sizes[of->sizes_count++], &sizes);
    set_described(of, field->info, &sizes, sizeof sizes);
    return good;
}

/* Reads the axes of a call, which has one list of them; None is no list. The package gives their count before. */
static bool read_axes(described_call *of, const described_field *field, PyObject *value) {
    const int *axes = value == Py_None ? NULL : of->axes;
    int count;
    set_described(of, field->info, &axes, sizeof axes);
    return !axes || core_dims(of->state, value, of->axes, &count);
}

static bool read_parameter(described_call *of, const described_field *field, PyObject *value) {
    switch (field->info->kind) {
    case BP_FIELD_INT:
        return read_int(of, field, value);
    case BP_FIELD_SIGNED:
        return read_signed(of, field, value);
    case BP_FIELD_FLAG:
        return read_flag(of, field, value);
    case BP_FIELD_NUMBER:
        return read_number(of, field, value);
    case BP_FIELD_REAL:
        return read_real(of, field, value);
    case BP_FIELD_SIZES:
        return read_sizes(of, field, value);
    case BP_FIELD_AXES:
        return read_axes(of, field, value);
    default:
        return true; /* tensors are read when the pass is known, which says what is written */
    }
}

/* ---- Arrays ---- */

/* Returns the next operand; NULL with an exception set. */
static operand *next_array(described_call *of) {
    if (of->array_count == ARRAYS) {
        PyErr_Format(PyExc_TypeError, "%s takes at most %d arrays", of->of->info->name, ARRAYS);
        return NULL;
    }
    return &of->arrays[of->array_count];
}

static bool is_written(const bp_call_pass *pass, const bp_call_field *field) {
    for (int i = pass ? pass->input_count : 0; pass && i < pass->operand_count; i++) {
        if (bp_call_operand_at(pass, i)->offset == field->offset) {
            return true;
        }
    }
    return false;
}

/* Reads two numbers as a tensor, which is on the host. */
static bool read_numbers(described_call *of, const described_field *field, PyObject *pair) {
    for (int i = 0; i < 2; i++) {
        PyObject *number = PyTuple_GetItem(pair, i);
        of->numbers_data[i] = number ? (int64_t)PyLong_AsUnsignedLongLongMask(number) : -1;
        if (PyErr_Occurred()) {
            return false;
        }
    }
    of->numbers_shape[0] = 2;
    of->numbers = (DLTensor){.data = of->numbers_data,
                             .device = {kDLCPU, 0},
                             .ndim = 1,
                             .dtype = bp_dtype_to_dlpack(BP_I64),
                             .shape = of->numbers_shape};
    of->numbers_field = field->info;
    set_tensor(of, field->info, &of->numbers);
    return true;
}

static bool read_array(described_call *of, const described_field *field, PyObject *array, bool runs) {
    if (array == Py_None) {
        return true;
    }
    if (field->is_unsigned && PyTuple_Check(array)) {
        return read_numbers(of, field, array);
    }
    const unsigned access =
        (is_written(of->pass, field->info) ? CORE_WRITES : CORE_READS) | (runs ? 0 : CORE_DESCRIBES);
    operand *to = next_array(of);
    if (!to || !core_operand(of->state, to, array, field->text, access)) {
        return false;
    }
    of->array_count++;
    set_tensor(of, field->info, &to->tensor);
    return true;
}

/* Reads all fields: parameters first, then tensors, both in the order in which they are given. */
static bool read_fields(described_call *of, PyObject *const *values, PyObject *names, bool runs) {
    const int count = names ? (int)PyTuple_Size(names) : 0;
    int place = 0;
    if (count > FIELDS) {
        PyErr_Format(PyExc_TypeError, "%s has at most %d fields", of->of->info->name, FIELDS);
        return false;
    }
    for (int i = 0; i < count; i++) {
        of->given[i] = core_described_field(of->of, PyTuple_GetItem(names, i), &place);
        if (!of->given[i] || !read_parameter(of, of->given[i], values[i])) {
            return false;
        }
    }
    of->pass = bp_call_get_pass(of->of->call, &of->arguments);
    for (int i = 0; i < count; i++) {
        if (of->given[i]->info->kind == BP_FIELD_TENSOR && !read_array(of, of->given[i], values[i], runs)) {
            return false;
        }
    }
    of->pass = bp_call_get_pass(of->of->call, &of->arguments); /* tensors decide it too */
    return true;
}

/* ---- Results ---- */

/* Returns whether the strides of an image ascend from the channels over the positions to the items, as PyTorch asks
 * (c10/core/MemoryFormat.h); images of one position are row-major. */
static bool is_channels_last(const DLTensor *image, int positions) {
    const int channel = image->ndim - positions - 1, last = image->ndim - 1;
    int64_t least = 0;
    if (positions < 1 || channel < 0 || !image->strides || image->strides[channel] == 0) {
        return false;
    }
    for (int i = 0; i < image->ndim; i++) { /* the channels, the positions from the last one on, and the items */
        const int d = i == 0 ? channel : i <= positions ? last + 1 - i : channel + positions - i;
        if (image->shape[d] == 0 || image->strides[d] < least || (d < channel && least == image->strides[channel])) {
            return false;
        }
        least = image->shape[d] > 1 ? image->strides[d] * image->shape[d] : image->strides[d];
    }
    return channel > 0 || least > image->strides[channel] * image->shape[channel];
}

/* Returns whether the results of the call are images like the first array. */
static bool is_image(const described_call *of) {
    int64_t groups = 0;
    if (of->of->groups > 0) {
        memcpy(&groups, of->arguments.bytes + of->of->groups, sizeof groups);
    }
    return of->of->follows_layout && (groups > 0 || !of->of->needs_groups);
}

/* Gives an image the layout of the one that it is computed from, as PyTorch does. Images of convolutions and pooling
 * may be without the dimension of items. */
static void follow_layout(described_call *of, DLTensor *result) {
    const DLTensor *image = &of->arrays[0].tensor;
    const int positions = of->of->has_positions ? ndim_of(of) : image->ndim - 2, channel = result->ndim - positions - 1;
    if (channel < 0 || result->ndim != image->ndim || !is_channels_last(image, positions)) {
        return;
    }
    int64_t step = result->shape[channel];
    of->strides[channel] = 1;
    for (int d = result->ndim - 1; d >= 0; d--) {
        if (d != channel) {
            of->strides[d] = step;
            step *= result->shape[d];
        }
    }
    result->strides = of->strides;
}

/* Writes type and shape of a result, as they follow from the arguments. */
static bool find_shape(described_call *of, const bp_call_field *field, DLTensor *result) {
    bp_dtype dtype;
    int index = 0; /* of the operand */
    while (of->pass && index < of->pass->operand_count &&
           bp_call_operand_at(of->pass, index)->offset != field->offset) {
        index++;
    }
    const bp_status status = bp_call_shape(of->of->call, &of->arguments, index, &dtype, &result->ndim, result->shape);
    if (status != BP_OK) {
        core_fail(of->state, status, NULL);
        return false;
    }
    result->dtype = bp_dtype_to_dlpack(dtype);
    return true;
}

/* Reads the shape of a result, such as `input_size`. Its type is the first array's. */
static bool read_shape(described_call *of, const bp_call_field *field, PyObject *size, DLTensor *result) {
    char name[32];
    const char *gradient = strstr(field->name, "_gradient"); /* it has the size of the tensor by which it is */
    PyOS_snprintf(name, sizeof name, "%.*s_size",
                  (int)(gradient ? (size_t)(gradient - field->name) : strlen(field->name)), field->name);
    result->dtype = of->arrays[0].tensor.dtype;
    return core_numbers(of->state, size, name, result->shape, &result->ndim);
}

/* Makes the next result. It is an array of the same kind as the first one that was given. */
static bool make_result(described_call *of, const bp_call_field *field, PyObject *size, bool runs) {
    const operand *first = &of->arrays[0];
    const int i = of->result_count;
    DLTensor *result = &of->results[i];
    if (of->array_count == 0) {
        PyErr_Format(PyExc_TypeError, "%s: a result needs an array", of->of->info->name);
        return false;
    }
    *result = (DLTensor){.device = first->tensor.device, .shape = of->shape[i]};
    if (size == Py_None ? !find_shape(of, field, result) : !read_shape(of, field, size, result)) {
        return false;
    }
    if (is_image(of) && strcmp(field->name, "weight_gradient") != 0) {
        follow_layout(of, result);
    } else if (of->of->follows_order) {
        core_result_follow(result, of->strides, (const DLTensor *const[]){&first->tensor}, 1);
    }
    of->fresh[i] = (core_result){0};
    of->result_fields[of->result_count++] = field;
    return !runs || core_result_new(of->state, &of->fresh[i], result, &first, 1);
}

/* Takes the caller's array as the first result. */
static bool take_out(described_call *of, const bp_call_field *field, PyObject *out, bool runs) {
    operand *to = next_array(of);
    if (!to || !core_operand(of->state, to, out, "out", CORE_WRITES | (runs ? 0 : CORE_DESCRIBES))) {
        return false;
    }
    of->array_count++;
    of->results[0] = to->tensor;
    of->fresh[0] = (core_result){0};
    of->result_fields[of->result_count++] = field;
    return true;
}

/* Makes the wanted results. They become arguments at last, because tensors without memory have no shape for others. */
static bool place_results(described_call *of, PyObject *wanted, PyObject *size, PyObject *out, bool runs) {
    const int count = (int)PyTuple_Size(wanted);
    int place = 0;
    if (count > RESULTS) {
        PyErr_Format(PyExc_TypeError, "%s has at most %d results", of->of->info->name, RESULTS);
        return false;
    }
    for (int i = 0; i < count; i++) {
        const described_field *field = core_described_field(of->of, PyTuple_GetItem(wanted, i), &place);
        const bool given = i == 0 && out != Py_None;
        if (!field || !(given ? take_out(of, field->info, out, runs)
                              : make_result(of, field->info, i == 0 ? size : Py_None, runs))) {
            return false;
        }
    }
    for (int i = 0; i < of->result_count; i++) {
        set_tensor(of, of->result_fields[i], &of->results[i]);
    }
    return true;
}

static void release_described(described_call *of) {
    for (int i = 0; i < of->array_count; i++) {
        core_operand_release(&of->arrays[i]);
    }
    for (int i = 0; i < of->result_count; i++) {
        core_result_drop(&of->fresh[i]);
    }
    Py_CLEAR(of->options_owner);
}

/* ---- Running ---- */

static bp_status explain_described(const void *call, bp_explanation **explanation) {
    described_call *of = (described_call *)call;
    DLTensor numbers = of->numbers;
    if (!of->numbers_field) {
        return bp_call_explain(explanation, of->options, of->of->call, &of->arguments);
    }
    numbers.device = of->arrays[0].tensor.device; /* where run_unlocked() copies them; no memory is needed here */
    numbers.data = NULL;
    set_tensor(of, of->numbers_field, &numbers);
    const bp_status status = bp_call_explain(explanation, of->options, of->of->call, &of->arguments);
    set_tensor(of, of->numbers_field, &of->numbers);
    return status;
}

/* Runs the call. All operands are on the device of the first array, so numbers are copied there. */
static bp_status run_unlocked(described_call *of) {
    const int32_t place = of->numbers_field ? bp_device_place(of->arrays[0].tensor.device) : 0;
    DLManagedTensorVersioned *copy;
    if (place == 0) {
        return bp_call_run(of->options, of->of->call, &of->arguments);
    }
    bp_status status = bp_tensor_empty_on(&copy, place, BP_I64, 1, of->numbers_shape, NULL);
    if (status != BP_OK) {
        return status;
    }
    status = bp_copy(&copy->dl_tensor, &of->numbers, NULL);
    if (status == BP_OK) {
        set_tensor(of, of->numbers_field, &copy->dl_tensor);
        status = bp_call_run(of->options, of->of->call, &of->arguments);
        set_tensor(of, of->numbers_field, &of->numbers);
    }
    copy->deleter(copy);
    return status;
}

static PyObject *run_described(described_call *of) {
    core_unlocked unlocked;
    core_unlock(&unlocked);
    const bp_status status = run_unlocked(of);
    core_lock(&unlocked);
    return status == BP_OK ? core_results_take(of->state, of->fresh, of->result_count)
                           : core_fail_explained(of->state, status, explain_described, of);
}

static bool begin_described(described_call *of, core_state *state, PyObject *name) {
    of->state = state;
    of->of = core_describe(state, name);
    of->array_count = of->sizes_count = of->result_count = 0;
    of->numbers_field = NULL;
    of->options = NULL;
    of->options_owner = NULL;
    if (of->of) {
        memset(&of->arguments, 0, of->of->info->size);
        of->arguments.struct_size = of->of->info->size;
    }
    return of->of != NULL;
}

PyObject *core_call_described(PyObject *module, PyObject *const *values, Py_ssize_t count, PyObject *names) {
    CORE_RECORDED_VECTOR(module, "call", values, count, names);
    described_call of;
    PyObject *result = NULL;
    core_leave_dropped();
    if (count != POSITIONS || !PyUnicode_Check(values[0]) || !PyTuple_Check(values[1])) {
        PyErr_SetString(PyExc_TypeError, "call() takes name, wanted, size, out, settings, explains, and fields");
        return NULL;
    }
    PyObject *const wanted = values[1], *const size = values[2], *const out = values[3];
    const int explains = PyObject_IsTrue(values[5]);
    if (explains < 0 || !begin_described(&of, core_state_of(module), values[0])) {
        return NULL;
    }
    if (core_options(of.state, values[4], &of.options, &of.options_owner) &&
        read_fields(&of, values + POSITIONS, names, !explains) && place_results(&of, wanted, size, out, !explains)) {
        result = explains ? core_explanation(of.state, explain_described, &of) : run_described(&of);
    }
    release_described(&of);
    return core_finish(of.state, result);
}

bool core_described_arguments(core_state *state, const core_described *description, PyObject *parameters,
                              void *arguments) {
    described_call of = {.state = state, .of = description};
    PyObject *name, *value;
    Py_ssize_t at = 0;
    int place = 0;
    of.arguments.struct_size = description->info->size;
    while (PyDict_Next(parameters, &at, &name, &value)) {
        const described_field *field = core_described_field(description, name, &place);
        if (!field || !read_parameter(&of, field, value)) {
            return false;
        }
    }
    memcpy(arguments, of.arguments.bytes, description->info->size);
    return true;
}
