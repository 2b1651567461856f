/* described.c - operations whose call is described by calls.h: reads options into its fields, makes the results, runs,
 * explains and plans it. rows.h and derived.c make the rows. */
#include "described.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Fields ---- */

/* Options that have other names than their fields. */
static const struct {
    const char *option, *field;
} renamed[] = {
    {"ceil", "ceil_mode"}, {"causal", "is_causal"}, {"gqa", "enable_gqa"}, {"row-dims", "row_ndim"},
    {"dim", "axis"},       {"dim", "axes"},         {"keepdim", "keep"},
};
enum { RENAMED = sizeof renamed / sizeof renamed[0] };

/* Whether a name of a field is the first `length` characters of a text, with '-' for '_'. */
static bool is_name(const char *name, const char *text, size_t length) {
    if (strlen(name) != length) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (name[i] != (text[i] == '-' ? '_' : text[i])) {
            return false;
        }
    }
    return true;
}

static const bp_call_field *find_field(const bp_call *call, const char *name, size_t length) {
    const bp_call_field *field;
    for (int i = 0; (field = bp_call_field_at(call, i)) && !is_name(field->name, name, length); i++) {
    }
    return field;
}

/* Returns the field that an option sets; NULL if there is none, as for --size: the shape of a result is no field. */
static const bp_call_field *field_of_option(const bp_call *call, const char *option) {
    for (int i = 0; i < RENAMED; i++) {
        const bp_call_field *field = strcmp(option, renamed[i].option) == 0
                                         ? find_field(call, renamed[i].field, strlen(renamed[i].field))
                                         : NULL;
        if (field) {
            return field;
        }
    }
    return strcmp(option, "size") == 0 ? NULL : find_field(call, option, strlen(option));
}

char *described_option(const bp_call_field *field) {
    /* counts of the fields that point to several things; and the type of a result, which --to gives */
    static const char *const hidden[] = {"ndim", "axis_count", "count", "dtype"};
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        if (strcmp(field->name, hidden[i]) == 0) {
            return NULL;
        }
    }
    for (int i = 0; i < RENAMED; i++) {
        if (strcmp(field->name, renamed[i].field) == 0) {
            return cli_format("%s", renamed[i].option);
        }
    }
    char *option =
        field->kind == BP_FIELD_TENSOR || field->kind == BP_FIELD_TENSORS ? NULL : cli_format("%s", field->name);
    for (char *c = option; c && *c; c++) {
        *c = *c == '_' ? '-' : *c;
    }
    return option;
}

static void *place_of(described_words *words, const bp_call_field *field) {
    return (char *)&words->of + field->offset;
}

static int int_of(described_words *words, const char *name) {
    const bp_call_field *field = find_field(words->call, name, strlen(name));
    int value = 0;
    if (field) {
        memcpy(&value, place_of(words, field), sizeof value);
    }
    return value;
}

static void set_tensor(described_words *words, const char *name, size_t length, const DLTensor *tensor) {
    const bp_call_field *field = find_field(words->call, name, length);
    if (field) { /* the tests make a call of each operation, so a name that is not there fails there */
        memcpy(place_of(words, field), &tensor, sizeof tensor);
    }
}

static void set_int(described_words *words, const char *name, int value) {
    const bp_call_field *field = find_field(words->call, name, strlen(name));
    if (field) {
        memcpy(place_of(words, field), &value, sizeof value);
    }
}

/* Returns the number of a word in a list with commas; -1 if it is not there. */
static int number_of(const char *words, const char *word, size_t length) {
    for (int number = 0; words; number++) {
        const size_t own = strcspn(words, ",");
        if (own == length && strncmp(words, word, length) == 0) {
            return number;
        }
        words = words[own] ? words + own + 1 : NULL;
    }
    return -1;
}

/* Sets the fields that all calls of the operation have: "pass=backward,ndim=2". */
static void set_fixed(described_words *words, const char *fixed) {
    while (fixed && *fixed) {
        const size_t name = strcspn(fixed, "="), whole = strcspn(fixed, ",");
        const char *value = fixed + name + 1;
        const bp_call_field *field = find_field(words->call, fixed, name);
        if (field) {
            const int number = field->words ? number_of(field->words, value, whole - name - 1) : *value - '0';
            memcpy(place_of(words, field), &number, sizeof number);
        }
        fixed += whole + (fixed[whole] == ',');
    }
}

/* ---- Options ---- */

/* A list of words that has been split, for cli_suggest(): each ends with 0, and the list with an empty one. */
static const char *word_at(void *list, int index) {
    const char *word = list;
    for (int i = 0; *word && i < index; i++) {
        word += strlen(word) + 1;
    }
    return *word ? word : NULL;
}

static int fail_word(const cli_job *job, const char *option, const bp_call_field *field, const char *word) {
    char *list = cli_allocate(strlen(field->words) + 2), *to = list;
    for (const char *c = field->words; *c; c++) {
        if (*c != ',') {
            *to++ = *c;
        } else if (to > list && to[-1]) { /* values that no word stands for are left out */
            *to++ = 0;
        }
    }
    to[0] = to[1] = 0;
    const char *near = cli_suggest(word, "", word_at, list);
    const int code = cli_fail(CLI_USAGE, "%s: there is no %s '%s'%s%s", job->operation->name, option, word,
                              near[0] ? near : "; it can be ", near[0] ? "" : field->words);
    free(list);
    return code;
}

static int read_word(cli_job *job, const char *option, const bp_call_field *field) {
    const char *word = cli_value(job->args, option);
    const int number = word ? number_of(field->words, word, strlen(word)) : (int)field->usual;
    if (number < 0) {
        return fail_word(job, option, field, word);
    }
    memcpy(place_of(&job->words.described, field), &number, sizeof number);
    return CLI_OK;
}

static int read_whole(cli_job *job, const char *option, const bp_call_field *field) {
    const bool is_int = field->kind == BP_FIELD_INT;
    const int64_t least = is_int ? 0 : INT64_MIN, most = is_int ? field->most : INT64_MAX;
    int64_t number;
    const int code = cli_number(job->args, option, least, most, (int64_t)field->usual, &number);
    const int small = (int)number;
    void *to = place_of(&job->words.described, field);
    if (is_int) {
        memcpy(to, &small, sizeof small);
    } else {
        memcpy(to, &number, sizeof number);
    }
    return code;
}

static int read_real(cli_job *job, const char *option, const bp_call_field *field) {
    bp_scalar read;
    bool given;
    const int code = operand_scalar(job->args, option, &read, &given);
    const double value = !given ? field->usual : read.im == 0 ? read.re : (double)NAN; /* the library reports it */
    memcpy(place_of(&job->words.described, field), &value, sizeof value);
    return code;
}

/* A number that the call chooses where none is given. */
static int read_choice(cli_job *job, const char *option, const bp_call_field *field) {
    described_words *words = &job->words.described;
    bp_scalar read;
    bool given;
    const int code = operand_scalar(job->args, option, &read, &given);
    double *number = given ? &words->numbers[words->number_count++] : NULL;
    if (number) {
        *number = read.im == 0 ? read.re : (double)NAN; /* the library reports it */
    }
    memcpy(place_of(words, field), &number, sizeof number);
    return code;
}

static int read_sizes(cli_job *job, const char *option, const bp_call_field *field) {
    described_words *words = &job->words.described;
    const int64_t *values = NULL;
    int count = int_of(words, "ndim"), code = CLI_OK;
    if (find_field(words->call, "axis_count", strlen("axis_count"))) {
        count = int_of(words, "axis_count");
    } else if (count == 0 && cli_value(job->args, option)) { /* as many as are given */
        code = operand_numbers(job->args, option, words->sizes[words->size_count], &count);
        set_int(words, "ndim", count);
    }
    code = code == CLI_OK ? job_each(job, option, count, words->sizes[words->size_count], &values) : code;
    words->size_count += code == CLI_OK && values != NULL;
    memcpy(place_of(words, field), &values, sizeof values);
    return code;
}

/* The signed numbers of all operations are axes. */
static int read_axis(cli_job *job, const char *option, const bp_call_field *field) {
    int dims[BP_MAX_NDIM], count;
    const int code = operand_dims(job->args, option, dims, &count);
    const int axis = count > 0 ? dims[0] : (int)field->usual;
    memcpy(place_of(&job->words.described, field), &axis, sizeof axis);
    return code != CLI_OK || count <= 1
               ? code
               : cli_fail(CLI_USAGE, "%s takes one --%s, not %d", job->operation->name, option, count);
}

static int read_axes(cli_job *job, const char *option, const bp_call_field *field) {
    described_words *words = &job->words.described;
    int count;
    const int code = operand_dims(job->args, option, words->axes, &count);
    const int *axes = count > 0 ? words->axes : NULL;
    memcpy(place_of(words, field), &axes, sizeof axes);
    set_int(words, "axis_count", count);
    return code;
}

static int read_option(cli_job *job, const char *option) {
    const bp_call_field *field = field_of_option(job->words.described.call, option);
    const int flag = cli_has(job->args, option);
    if (!field || number_of(job->operation->described->own, option, strlen(option)) >= 0) {
        return CLI_OK; /* adjust() or make_results() reads it */
    }
    switch (field->kind) {
    case BP_FIELD_FLAG:
        memcpy(place_of(&job->words.described, field), &flag, sizeof flag);
        return CLI_OK;
    case BP_FIELD_SIZES:
        return read_sizes(job, option, field);
    case BP_FIELD_REAL:
        return read_real(job, option, field);
    case BP_FIELD_TOLERANCE:
        return read_choice(job, option, field);
    case BP_FIELD_AXES:
        return read_axes(job, option, field);
    case BP_FIELD_SIGNED:
        return read_axis(job, option, field);
    default:
        return field->words ? read_word(job, option, field) : read_whole(job, option, field);
    }
}

int job_each(cli_job *job, const char *option, int ndim, int64_t values[BP_MAX_NDIM], const int64_t **to) {
    int count;
    const int code = operand_numbers(job->args, option, values, &count);
    *to = count > 0 ? values : NULL;
    if (code != CLI_OK || count == 0 || count == ndim) {
        return code;
    }
    if (count != 1) {
        return cli_fail(CLI_USAGE, "--%s has %d numbers; %s takes %d, or one for all dimensions", option, count,
                        job->operation->name, ndim);
    }
    for (int d = 1; d < ndim; d++) {
        values[d] = values[0];
    }
    return CLI_OK;
}

/* ---- Arrays and results ---- */

/* Sets a tensor of the call to the next array, or a list of tensors to all arrays that are left. Returns how many it
 * has taken. */
static int set_array(cli_job *job, const char *name, size_t length, int next) {
    described_words *words = &job->words.described;
    const bp_call_field *field = find_field(words->call, name, length);
    if (!field || field->kind != BP_FIELD_TENSORS) {
        set_tensor(words, name, length, &job->inputs[next].tensor);
        return 1;
    }
    const DLTensor **tensors = job->tensors + next;
    memcpy(place_of(words, field), &tensors, sizeof tensors);
    set_int(words, "count", job->input_count - next);
    return job->input_count - next;
}

/* Sets the tensors of the call to the arrays, in their order. A name with '?' has an array with --projection only. */
static void set_arrays(cli_job *job) {
    const char *name = job->operation->described->inputs;
    for (int i = 0; i < job->input_count && *name;) {
        const size_t whole = strcspn(name, ",");
        const bool optional = name[whole - 1] == '?';
        if (!optional || cli_has(job->args, "projection")) {
            i += set_array(job, name, whole - optional, i);
        }
        name += whole + (name[whole] == ',');
    }
}

/* Returns the index of the operand of the pass that a field is. */
static int operand_of(const bp_call_pass *pass, const char *name, size_t length) {
    const bp_call_operand *operand;
    for (int i = 0; (operand = bp_call_operand_at(pass, i)); i++) {
        if (is_name(operand->name, name, length)) {
            return i;
        }
    }
    return -1;
}

/* Reads --to, the type of the first result; leaves the usual one if it is not given. */
static int read_type(const cli_job *job, bp_dtype *dtype) {
    const char *type = cli_value(job->args, "to");
    *dtype = type ? bp_dtype_from_name(type) : *dtype;
    return *dtype == BP_DTYPE_NONE ? cli_fail(CLI_USAGE, "no such element type: '%s'", type ? type : "?") : CLI_OK;
}

/* Finds the shape of a first result that does not follow from the arrays: --size has it, or the first array. */
static int find_given_shape(cli_job *job, bp_dtype *dtype, int *ndim, int64_t *shape) {
    const DLTensor *like = job->input_count > 0 ? &job->inputs[0].tensor : NULL;
    *dtype = like ? bp_dtype_from_dlpack(like->dtype) : job->words.described.usual_type;
    if (cli_has(job->args, "size")) {
        return operand_numbers(job->args, "size", shape, ndim);
    }
    if (!like || !job_takes(job, "to")) {
        return cli_fail(CLI_USAGE, "--size is missing; %s needs it: the shape of its first result",
                        job->operation->name);
    }
    *ndim = like->ndim;
    memcpy(shape, like->shape, (size_t)like->ndim * sizeof *shape);
    return CLI_OK;
}

static int find_shape(cli_job *job, int operand, int index, bp_dtype *dtype, int *ndim, int64_t *shape) {
    const described_words *words = &job->words.described;
    int code = CLI_OK;
    if (index == 0 && job_takes(job, "size")) {
        code = find_given_shape(job, dtype, ndim, shape);
    } else {
        const bp_status status = bp_call_shape(words->call, &words->of, operand, dtype, ndim, shape);
        code = status == BP_OK ? CLI_OK : cli_fail_status(status);
    }
    return code == CLI_OK && index == 0 ? read_type(job, dtype) : code;
}

/* Makes the results that have files, and at least the first one. */
static int make_results(cli_job *job) {
    described_words *words = &job->words.described;
    const bp_call_pass *pass = bp_call_get_pass(words->call, &words->of);
    const char *name = job->operation->described->results;
    const int wanted = job->wanted > 1 ? job->wanted : 1;
    int code = CLI_OK;
    job->result_count = 0;
    while (code == CLI_OK && *name && job->result_count < wanted) {
        const int index = job->result_count;
        const size_t whole = strcspn(name, ",");
        bp_dtype dtype;
        int ndim;
        int64_t shape[BP_MAX_NDIM];
        code = find_shape(job, operand_of(pass, name, whole), index, &dtype, &ndim, shape);
        code = code == CLI_OK ? job_result(job, index, dtype, ndim, shape) : code;
        set_tensor(words, name, whole, &job->results[index].tensor);
        job->result_count++;
        name += whole + (name[whole] == ',');
    }
    return code;
}

/* ---- The functions of cli_operation ---- */

int described_prepare(cli_job *job) {
    const cli_described *described = job->operation->described;
    described_words *words = &job->words.described;
    int code = CLI_OK;
    *words = (described_words){.call = bp_call_named(described->call), .usual_type = BP_F32};
    words->of.struct_size = bp_call_get_info(words->call)->size;
    if (words->of.struct_size > sizeof words->of) { /* the tests make a call of each operation */
        return cli_fail(CLI_INTERNAL, "%s: its arguments are too long", job->operation->name);
    }
    set_fixed(words, described->fixed);
    for (const char *const *option = job->operation->options; option && *option && code == CLI_OK; option++) {
        code = read_option(job, *option);
    }
    set_arrays(job);
    code = code == CLI_OK && described->adjust ? described->adjust(job) : code;
    return code == CLI_OK ? make_results(job) : code;
}

bp_op described_op(const cli_job *job) {
    const bp_call_pass *pass = bp_call_get_pass(job->words.described.call, &job->words.described.of);
    return pass ? pass->op : (bp_op)0;
}

bp_status described_run(cli_job *job) {
    return bp_call_run(job->options, job->words.described.call, &job->words.described.of);
}

bp_status described_explain(const cli_job *job, bp_explanation **explanation) {
    return bp_call_explain(explanation, job->options, job->words.described.call, &job->words.described.of);
}

/* Adds the first operands of the plan that are numbers of the call, such as the seed of random numbers. */
static int add_numbers(const described_words *words, bp_op op, bp_operand *operands) {
    const char *name = bp_op_inputs(op);
    int count = 0;
    while (*name) {
        const size_t whole = strcspn(name, ",");
        const bp_call_field *field = find_field(words->call, name, whole);
        if (!field || field->kind != BP_FIELD_NUMBER) {
            break;
        }
        operands[count++] = (bp_operand){(char *)(uintptr_t)&words->of + field->offset, 0};
        name += whole + (name[whole] == ',');
    }
    return count;
}

bp_status described_plan(const cli_job *job, bp_plan **made, bp_operand *operands, int *count) {
    const described_words *words = &job->words.described;
    const bp_call_pass *pass = bp_call_get_pass(words->call, &words->of);
    const bp_call_operand *operand;
    *count = pass ? add_numbers(words, pass->op, operands) : 0;
    for (int i = 0; (operand = bp_call_operand_at(pass, i)); i++) {
        const DLTensor *tensor;
        memcpy(&tensor, (const char *)&words->of + operand->offset, sizeof tensor);
        operands[(*count)++] = job_operand(tensor);
    }
    return bp_call_plan(made, job->options, words->call, &words->of);
}

const cli_measured described_measured = {0, described_plan, check_described};
