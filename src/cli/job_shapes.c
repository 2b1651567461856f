/* job_shapes.c - reads "OPERATION [EXPRESSION] [DTYPE] SHAPE ..." and makes views without data, for explain and tune.
 */
#include "operations.h"

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

/* Reads the element type before the shapes, if there is one. Shapes begin with a digit, element types do not. */
static int read_dtype(cli_job *job, bp_dtype *dtype) {
    const char *word = job->first < job->args->count ? job->args->operands[job->first] : "";
    *dtype = BP_F64;
    if (is_shape(word)) {
        return CLI_OK;
    }
    job->first++;
    *dtype = bp_dtype_from_name(word);
    return *dtype != BP_DTYPE_NONE
               ? CLI_OK
               : cli_fail(CLI_USAGE, "no such element type: '%s'%s", word, cli_suggest(word, "", dtype_at, NULL));
}

/* Makes views of the given shapes. --trans-a and --trans-b give their layout, unless they are options of the operation;
 * --lda and --ldb their leading dimensions. */
static int read_views(cli_job *job, bp_dtype dtype) {
    static const char *const layouts[] = {"trans-a", "trans-b"}, *const leading[] = {"lda", "ldb"};
    const cli_args *args = job->args;
    int code = CLI_OK;
    for (int i = 0; i < job->input_count && code == CLI_OK; i++) {
        int64_t shape[BP_MAX_NDIM];
        int ndim;
        bool transposed = i < 2 && cli_has(args, layouts[i]) && !job_takes(job, layouts[i]);
        code = operand_shape(args->operands[job->first + i], &ndim, shape);
        code = code == CLI_OK ? operand_view(&job->inputs[i], dtype, ndim, shape, transposed) : code;
        code = code == CLI_OK && i < 2 ? operand_leading(args, leading[i], transposed, &job->inputs[i]) : code;
    }
    return code;
}

int job_shapes(cli_job *job) {
    bp_dtype dtype = BP_DTYPE_NONE;
    job->dry = true;
    int code = job_operation(job);
    code = code == CLI_OK ? read_dtype(job, &dtype) : code;
    code = code == CLI_OK ? job_check(job) : code;
    return code == CLI_OK ? read_views(job, dtype) : code;
}
