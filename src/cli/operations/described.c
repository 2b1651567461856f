/* described.c - operations whose call is a struct that calls.h describes: reads options into its fields, makes the
 * results, runs, explains and plans it. networks.c lists them. */
#include "described.h"

#include <math.h>
#include <string.h>

/* ---- Fields ---- */

/* Options that have other names than their fields. */
static const struct {
    const char *option, *field;
} renamed[] = {
    {"ceil", "ceil_mode"},    {"causal", "is_causal"}, {"gqa", "enable_gqa"},
    {"row-dims", "row_ndim"}, {"dim", "axis"},         {"size", ""}, /* the shape of a result, which no field has */
};

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

static const bp_call_field *field_of_option(const bp_call *call, const char *option) {
    for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++) {
        if (strcmp(option, renamed[i].option) == 0) {
            option = renamed[i].field;
        }
    }
    return find_field(call, option, strlen(option));
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

static int read_word(cli_job *job, const char *option, const bp_call_field *field) {
    const char *word = cli_value(job->args, option);
    const int number = word ? number_of(field->words, word, strlen(word)) : (int)field->usual;
    if (number < 0) {
        return cli_fail(CLI_USAGE, "--%s: no such value: '%s'; the values are %s", option, word, field->words);
    }
    memcpy(place_of(&job->words.described, field), &number, sizeof number);
    return CLI_OK;
}

static int read_whole(cli_job *job, const char *option, const bp_call_field *field) {
    const bool is_int = field->kind == BP_FIELD_INT || field->kind == BP_FIELD_SIGNED;
    const int64_t least = field->kind == BP_FIELD_INT ? 0 : is_int ? INT_MIN : INT64_MIN;
    const int64_t most = field->kind == BP_FIELD_INT ? field->most : is_int ? INT_MAX : INT64_MAX;
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

static int read_sizes(cli_job *job, const char *option, const bp_call_field *field) {
    described_words *words = &job->words.described;
    const int64_t *values;
    const int code = job_each(job, option, int_of(words, "ndim"), words->sizes[words->size_count], &values);
    words->size_count += values != NULL;
    memcpy(place_of(words, field), &values, sizeof values);
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

/* Sets the tensors of the call to the arrays, in their order. A name with '?' has an array with --projection only. */
static void set_arrays(cli_job *job) {
    const char *name = job->operation->described->inputs;
    for (int i = 0; i < job->input_count && *name;) {
        const size_t whole = strcspn(name, ",");
        const bool optional = name[whole - 1] == '?';
        if (!optional || cli_has(job->args, "projection")) {
            set_tensor(&job->words.described, name, whole - optional, &job->inputs[i++].tensor);
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

/* Finds the type and shape of a first result that do not follow from the arrays: --to and --size have them, or the
 * first array has. */
static int find_given_shape(cli_job *job, bp_dtype *dtype, int *ndim, int64_t *shape) {
    const DLTensor *like = job->input_count > 0 ? &job->inputs[0].tensor : NULL;
    const char *type = cli_value(job->args, "to");
    const bool bits = !like && job->words.described.of.random.kind == BP_RANDOM_BITS;
    *dtype = type ? bp_dtype_from_name(type) : like ? bp_dtype_from_dlpack(like->dtype) : bits ? BP_I64 : BP_F32;
    if (*dtype == BP_DTYPE_NONE) {
        return cli_fail(CLI_USAGE, "no such element type: '%s'", type ? type : "?");
    }
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
    if (index == 0 && job_takes(job, "size")) {
        return find_given_shape(job, dtype, ndim, shape);
    }
    const bp_status status = bp_call_shape(words->call, &words->of, operand, dtype, ndim, shape);
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
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
    *words = (described_words){.call = bp_call_named(described->call)};
    words->of.struct_size = bp_call_get_info(words->call)->size;
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

bp_status described_plan(const cli_job *job, bp_plan **made, bp_operand *operands, int *count) {
    const described_words *words = &job->words.described;
    const bp_call_pass *pass = bp_call_get_pass(words->call, &words->of);
    const bp_call_operand *operand;
    *count = 0;
    if (pass && pass->op == BP_OP_RANDOM) { /* whose seed is a field of the call, and an operand of the plan */
        operands[(*count)++] = (bp_operand){(void *)(uintptr_t)&words->of.random.seed, 0};
    }
    for (int i = 0; (operand = bp_call_operand_at(pass, i)); i++) {
        const DLTensor *tensor;
        memcpy(&tensor, (const char *)&words->of + operand->offset, sizeof tensor);
        operands[(*count)++] = job_operand(tensor);
    }
    return bp_call_plan(made, job->options, words->call, &words->of);
}
