/* job_shapes.c - reads "OPERATION [EXPRESSION] [DTYPE] SHAPE ..." and makes views without data, for explain and tune.
 */
#include "operations.h"

#include <string.h>

static const char *dtype_at(void *unused, int index) {
    (void)unused;
    static const char *const names[] = {
#define X(number, name, text, code, bits) text,
        BP_DTYPE_MAP(X)
#undef X
    };
    return index < (int)(sizeof names / sizeof names[0]) ? names[index] : NULL;
}

static bool is_shape(const char *word) {
    return !*word || (*word >= '0' && *word <= '9');
}

#define MOST_TYPES 16

/* Element types of the arrays: one for all, or one for each. */
typedef struct type_list {
    int count;
    bp_dtype of[MOST_TYPES];
} type_list;

/* Reads the element types before the shapes, if there are any: f32, or u8,i8. Shapes begin with a digit. */
static int read_types(cli_job *job, type_list *types) {
    const char *words = job->first < job->args->count ? job->args->operands[job->first] : "";
    types->count = 1;
    types->of[0] = BP_F64;
    if (is_shape(words)) {
        return CLI_OK;
    }
    job->first++;
    types->count = 0;
    for (const char *at = words; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char word[16];
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
        const bp_dtype dtype = bp_dtype_from_name(word);
        if (dtype == BP_DTYPE_NONE || types->count == MOST_TYPES) {
            return cli_fail(CLI_USAGE, "no such element type: '%s'%s", dtype == BP_DTYPE_NONE ? word : words,
                            cli_suggest(word, "", dtype_at, NULL));
        }
        types->of[types->count++] = dtype;
    }
    return CLI_OK;
}

/* Refuses an element type behind a shape, whose place is before all of them. */
static int check_order(const cli_job *job) {
    const char *name = job->operation->name;
    for (int i = job->first; i < job->args->count; i++) {
        const char *word = job->args->operands[i];
        if (bp_dtype_from_name(word) != BP_DTYPE_NONE) {
            return cli_fail(CLI_USAGE,
                            "%s: '%s' is behind a shape; the element type, or one for each array, comes before them: "
                            "%s%s %s %s ...",
                            name, word, name, job->expression ? " EXPRESSION" : "", word,
                            job->args->operands[job->first]);
        }
    }
    return CLI_OK;
}

/* Makes views of the given shapes. --trans-a and --trans-b give their layout, unless they are options of the operation;
 * --lda and --ldb their leading dimensions. */
static int read_views(cli_job *job, const type_list *types) {
    static const char *const layouts[] = {"trans-a", "trans-b"}, *const leading[] = {"lda", "ldb"};
    const cli_args *args = job->args;
    int code = CLI_OK;
    if (types->count > 1 && types->count != job->input_count) {
        return cli_fail(CLI_USAGE, "%d element types for %d arrays; give one, or one for each", types->count,
                        job->input_count);
    }
    for (int i = 0; i < job->input_count && code == CLI_OK; i++) {
        int64_t shape[BP_MAX_NDIM];
        int ndim;
        bool transposed = i < 2 && cli_has(args, layouts[i]) && !job_takes(job, layouts[i]);
        code = operand_shape(args->operands[job->first + i], &ndim, shape);
        code = code == CLI_OK
                   ? operand_view(&job->inputs[i], types->of[types->count > 1 ? i : 0], ndim, shape, transposed)
                   : code;
        code = code == CLI_OK && i < 2 ? operand_leading(args, leading[i], transposed, &job->inputs[i]) : code;
        job->inputs[i].tensor.device = job->device.device_type ? job->device : job->inputs[i].tensor.device;
    }
    return code;
}

int job_shapes(cli_job *job) {
    type_list types;
    job->dry = true;
    int code = job_operation(job);
    code = code == CLI_OK ? read_types(job, &types) : code;
    code = code == CLI_OK ? check_order(job) : code;
    code = code == CLI_OK ? job_check(job) : code;
    return code == CLI_OK ? read_views(job, &types) : code;
}
