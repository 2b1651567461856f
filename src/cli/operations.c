/* operations.c - the list of operations, and what is the same for all of them. */
#include "operations.h"

#include <stdlib.h>
#include <string.h>

static const cli_operation *const families[] = {operations_products, operations_einsum, operations_fft,
                                                operations_linalg, operations_vectors};

const cli_operation *cli_operation_at(int index) {
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        for (const cli_operation *row = families[i]; row->name; row++) {
            if (index-- == 0) {
                return row;
            }
        }
    }
    return NULL;
}

static const char *operation_name_at(const void *unused, int index) {
    (void)unused;
    const cli_operation *row = cli_operation_at(index);
    return row ? row->name : NULL;
}

/* The expression is a word of its own, between the operation and what is said of the arrays. */
static int read_expression(cli_job *job) {
    job->first = job->operation->expression ? 2 : 1;
    if (job->args->count < job->first) {
        return cli_fail(CLI_USAGE, "%s takes %s; the expression is missing.", job->operation->name,
                        job->operation->arrays);
    }
    job->expression = job->operation->expression ? job->args->operands[1] : NULL;
    return CLI_OK;
}

int job_operation(cli_job *job) {
    const cli_operation *row;
    const char *word = job->args->operands[0];
    for (int i = 0; (row = cli_operation_at(i)); i++) {
        if (strcmp(row->name, word) == 0) {
            job->operation = row;
            return read_expression(job);
        }
    }
    return cli_fail(CLI_USAGE, "no such operation: '%s'.%s `backplane help --json` lists them.", word,
                    cli_suggest(word, "", operation_name_at, NULL));
}

static bool takes(const cli_operation *operation, const char *option) {
    for (const char *const *name = operation->options; name && *name; name++) {
        if (strcmp(*name, option) == 0) {
            return true;
        }
    }
    return false;
}

/* The names of the operations that take an option; NULL when it is for all. */
static char *takers(const char *option) {
    char *names = NULL;
    const cli_operation *row;
    for (int i = 0; (row = cli_operation_at(i)); i++) {
        if (takes(row, option)) {
            names = cli_join(names, names ? ", " : "", row->name);
        }
    }
    return names;
}

/* Without data an operand may be said to lie transposed, where that is no part of the operation itself. */
static bool is_layout(const cli_job *job, const char *option) {
    return job->dry && (strcmp(option, "trans-a") == 0 || (strcmp(option, "trans-b") == 0 && job->operation->most > 1));
}

static void make_room(cli_job *job, int arrays) {
    job->input_count = arrays;
    job->input_arrays = cli_allocate((size_t)arrays * sizeof *job->input_arrays);
    job->inputs = cli_allocate((size_t)arrays * sizeof *job->inputs);
    job->tensors = cli_allocate((size_t)arrays * sizeof *job->tensors);
    for (int i = 0; i < arrays; i++) {
        job->tensors[i] = &job->inputs[i].tensor;
    }
}

int job_check(cli_job *job) {
    const cli_operation *operation = job->operation;
    int code = CLI_OK, arrays = job->args->count - job->first;
    for (int i = 0; i < job->args->given_count && code == CLI_OK; i++) {
        const char *option = job->args->given[i].option->name;
        char *names = takes(operation, option) || is_layout(job, option) ? NULL : takers(option);
        if (names) {
            code = cli_fail(CLI_USAGE, "--%s is for %s, not for %s.", option, names, operation->name);
        }
        free(names);
    }
    if (code == CLI_OK && (arrays < operation->least || arrays > operation->most)) {
        code = cli_fail(CLI_USAGE, "%s takes %s; %d %s given.", operation->name, operation->arrays, arrays,
                        arrays == 1 ? "was" : "were");
    }
    if (code == CLI_OK && !operation->explain && (job->dry || cli_has(job->args, "explain"))) {
        code =
            cli_fail(CLI_USAGE, "no library takes part in %s, so that there is nothing to explain.", operation->name);
    }
    if (code == CLI_OK) {
        make_room(job, arrays);
    }
    return code;
}

bool job_takes(const cli_job *job, const char *option) {
    return takes(job->operation, option);
}

int job_result(cli_job *job, int index, bp_dtype dtype, int ndim, const int64_t *shape) {
    bp_view *view = &job->results[index];
    return job->dry ? operand_view(view, dtype, ndim, shape, false)
                    : operand_result(&job->result_arrays[index], view, dtype, ndim, shape);
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
