/* operations.c - lists the operations, and checks their arguments. */
#include "operations.h"

#include "described.h"

#include <stdlib.h>
#include <string.h>

static const cli_operation *lists[] = {
#define X(name) operations_##name,
    OPERATIONS_MAP(X)
#undef X
};

const cli_operation *cli_operation_at(int index) {
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        lists[i] = lists[i]->derived ? derived_rows(lists[i]->derived) : lists[i];
        for (const cli_operation *row = lists[i]; row->name; row++) {
            if (index-- == 0) {
                return row;
            }
        }
    }
    return NULL;
}

static const char *operation_name_at(void *unused, int index) {
    (void)unused;
    const cli_operation *row = cli_operation_at(index);
    return row ? row->name : NULL;
}

/* Takes the expression, which is the argument behind the operation. */
static int read_expression(cli_job *job) {
    job->first = job->operation->expression ? 2 : 1;
    if (job->args->count < job->first) {
        return cli_fail(CLI_USAGE, "%s: the expression is missing; it takes %s", job->operation->name,
                        job->operation->arrays);
    }
    job->expression = job->operation->expression ? job->args->operands[1] : NULL;
    if (job->expression && job->args->count > 2 && bp_dtype_from_name(job->expression) != BP_DTYPE_NONE) {
        return cli_fail(CLI_USAGE, "%s: the expression comes before the element type: %s '%s' %s ...",
                        job->operation->name, job->operation->name, job->args->operands[2], job->expression);
    }
    return CLI_OK;
}

const cli_operation *cli_operation_named(const char *name) {
    const cli_operation *row;
    for (int i = 0; (row = cli_operation_at(i)) && strcmp(row->name, name) != 0; i++) {
    }
    return row;
}

/* Finds the operation that the first operand names. NULL after a message. */
static const cli_operation *find_operation(const cli_args *args) {
    const char *word = args->operands[0];
    const cli_operation *row = cli_operation_named(word);
    if (row) {
        return row;
    }
    const char *near = cli_suggest(word, "", operation_name_at, NULL);
    char *see = cli_format("; `backplane %s --help` lists them", args->command->name);
    cli_fail(CLI_USAGE, "no such operation: '%s'%s", word, near[0] ? near : see);
    free(see);
    return NULL;
}

int job_operation(cli_job *job) {
    job->operation = find_operation(job->args);
    return job->operation ? read_expression(job) : CLI_USAGE;
}

static bool takes(const cli_operation *operation, const char *option) {
    for (const char *const *name = operation->options; name && *name; name++) {
        if (strcmp(*name, option) == 0) {
            return true;
        }
    }
    return false;
}

/* Returns whether the operation takes the option as the layout of an operand of a product: its leading dimension. */
static bool is_leading(const cli_operation *operation, const char *option) {
    const bool product = strcmp(operation->name, "matmul") == 0 || strcmp(operation->name, "gemm") == 0;
    return product && (strcmp(option, "lda") == 0 || strcmp(option, "ldb") == 0 || strcmp(option, "ldc") == 0);
}

/* Returns the names of the operations that take an option; NULL if it is for all. */
static char *takers(const char *option) {
    char *names = NULL;
    const cli_operation *row;
    for (int i = 0; (row = cli_operation_at(i)); i++) {
        if (takes(row, option) || is_leading(row, option)) {
            names = cli_join(names, names ? ", " : "", row->name);
        }
    }
    return names;
}

/* Returns whether `explain` takes the option as the layout of an operand: a transposed view, or a leading dimension. */
static bool is_layout(const cli_job *job, const char *option) {
    return job->dry && (strcmp(option, "trans-a") == 0 || is_leading(job->operation, option) ||
                        (strcmp(option, "trans-b") == 0 && job->operation->most > 1));
}

/* ---- Help for one operation ---- */

/* Options of the operation, or those that all operations take. */
static void print_options(const cli_job *job, bool own) {
    for (const cli_option *option = job->args->command->options; option->name; option++) {
        bool mine = takes(job->operation, option->name) || is_layout(job, option->name);
        char *names = mine ? NULL : takers(option->name);
        if (mine == own && !names) {
            cli_option_help(option);
        }
        free(names);
    }
}

static void print_help(const cli_job *job) {
    const cli_operation *operation = job->operation;
    const char *name = operation->name, *command = job->args->command->name, *arrays = operation->arrays;
    bool writes = strcmp(command, "eval") == 0;
    int word =
        operation->expression ? (int)strcspn(arrays, " ") + 1 : 0; /* the element type is behind the expression */
    cli_say(CLI_STRONG, "Usage\n");
    char *usage = cli_format("backplane %s %s [options] %.*s%s%s%s", command, name, word, arrays,
                             job->dry ? "[DTYPE] " : "", arrays + word, writes ? " -o FILE.npy" : "");
    printf("  ");
    cli_paragraph(2, usage);
    free(usage);
    printf("\n  ");
    const char *are = operation->most > 1 ? "Each array is" : "A is", *several = operation->results > 1 ? "s" : "";
    char *text = job->dry  ? cli_format("%s a shape, such as 8x512x64.", are)
                 : !writes ? cli_format("%s an .npy file.", are)
                           : cli_format("%s an .npy file. %s has %d result%s%s%s.", are, name, operation->results,
                                        several, several[0] ? " at most" : "",
                                        several[0] ? "; give one -o for each, in their order" : "");
    cli_paragraph(2, text);
    free(text);
    if (operation->options) {
        cli_say(CLI_STRONG, "\nOptions of %s\n", name);
        print_options(job, true);
    }
    cli_say(CLI_STRONG, "\nOptions of all operations\n");
    print_options(job, false);
    cli_option_help(&cli_help_option);
}

int job_help(const cli_args *args) {
    cli_job job = {.args = args,
                   .dry = strcmp(args->command->name, "explain") == 0 || strcmp(args->command->name, "tune") == 0};
    if (args->count == 0) {
        cli_command_help(args->command);
        return CLI_OK;
    }
    job.operation = find_operation(args);
    if (!job.operation) {
        return CLI_USAGE;
    }
    print_help(&job);
    return CLI_OK;
}

/* ---- Checks ---- */

void job_allocate(cli_job *job, int arrays) {
    job->input_count = arrays;
    job->input_arrays = cli_allocate((size_t)arrays * sizeof *job->input_arrays);
    job->inputs = cli_allocate((size_t)arrays * sizeof *job->inputs);
    job->tensors = cli_allocate((size_t)arrays * sizeof *job->tensors);
    for (int i = 0; i < arrays; i++) {
        job->tensors[i] = &job->inputs[i].tensor;
    }
}

int job_check_option(const cli_job *job, const char *option) {
    const cli_operation *operation = job->operation;
    char *names = takes(operation, option) || is_layout(job, option) ? NULL : takers(option);
    const int code =
        !names ? CLI_OK : cli_fail(CLI_USAGE, "%s takes no option --%s; it is for %s", operation->name, option, names);
    free(names);
    return code;
}

int job_check(cli_job *job) {
    const cli_operation *operation = job->operation;
    int code = CLI_OK, arrays = job->args->count - job->first;
    for (int i = 0; i < job->args->given_count && code == CLI_OK; i++) {
        code = job_check_option(job, job->args->given[i].option->name);
    }
    if (code == CLI_OK && (arrays < operation->least || arrays > operation->most)) {
        code = cli_fail(CLI_USAGE, "%s: %d array%s given; it takes %s", operation->name, arrays, arrays == 1 ? "" : "s",
                        operation->arrays);
    }
    if (code == CLI_OK && !operation->explain && (job->dry || cli_has(job->args, "explain"))) {
        code = cli_fail(CLI_USAGE, "%s uses no library, so there is nothing to explain", operation->name);
    }
    if (code == CLI_OK) {
        job_allocate(job, arrays);
    }
    return code;
}

bool job_takes(const cli_job *job, const char *option) {
    return takes(job->operation, option);
}

int job_check_pipe(const cli_job *job) {
    int from_pipe = 0;
    for (int i = 0; i < job->input_count; i++) {
        from_pipe += strcmp(job->args->operands[job->first + i], "-") == 0;
    }
    return from_pipe > 1 ? cli_fail(CLI_USAGE, "two arrays are '-'; standard input gives one array only") : CLI_OK;
}

int job_read(cli_job *job) {
    unsigned flags = cli_has(job->args, "bf16") ? BP__NPY_BF16 : 0;
    int code = CLI_OK;
    for (int i = 0; i < job->input_count && code == CLI_OK; i++) {
        code = operand_read(job->args->operands[job->first + i], flags, &job->input_arrays[i], &job->inputs[i]);
    }
    return code;
}

const char *job_preference(const cli_job *job) {
    const bp_op op = job->operation->measured->op;
    return bp_op_preference(op ? op : described_op(job));
}

bp_operand job_operand(const DLTensor *tensor) {
    return tensor ? (bp_operand){tensor->data, tensor->byte_offset} : (bp_operand){NULL, 0};
}

int job_operands(const cli_job *job, bp_operand *operands) {
    int count = 0;
    for (int i = 0; i < job->input_count; i++) {
        operands[count++] = job_operand(&job->inputs[i].tensor);
    }
    for (int i = 0; i < job->result_count; i++) {
        operands[count++] = job_operand(&job->results[i].tensor);
    }
    return count;
}

int job_result(cli_job *job, int index, bp_dtype dtype, int ndim, const int64_t *shape) {
    bp_view *view = &job->results[index];
    if (job->dry) {
        const int code = operand_view(view, dtype, ndim, shape, false);
        view->tensor.device = job->device.device_type ? job->device : view->tensor.device;
        return code;
    }
    return operand_result(&job->result_arrays[index], view, dtype, ndim, shape);
}

void job_fill_nan(cli_job *job) {
    for (int i = 0; i < job->result_count; i++) {
        npy_array *array = &job->result_arrays[i];
        if (array->data) { /* the call may leave out results */
            memset(array->data, 0xff, array->header.size);
        }
    }
}

int job_prepare(cli_job *job) {
    job->result_count = job->operation->results;
    return job->operation->prepare(job);
}

void job_free(cli_job *job) {
    bp_options_release(job->options);
    for (int i = 0; i < job->input_count; i++) {
        npy_free(&job->input_arrays[i]);
    }
    free(job->input_arrays);
    free(job->inputs);
    free(job->tensors);
    search_free(&job->search);
    for (int i = 0; i < JOB_RESULTS; i++) {
        npy_free(&job->result_arrays[i]);
    }
}
