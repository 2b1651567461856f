/* verb_eval.c - `backplane eval`: a matrix product of arrays in .npy files. */
#include "operands.h"

#include <stdlib.h>
#include <time.h>

typedef struct job {
    const cli_args *args;
    const char *output;
    bool gemm, old_c; /* old_c: a third array takes part in the sum */
    bp_transform transform_a, transform_b;
    bp_scalar alpha, beta;
    npy_array a, b, c;
    bp_view view_a, view_b, view_c;
    bp_options *options;
} job;

static int check_words(job *j) {
    static const char *const for_gemm[] = {"alpha", "beta", "trans-a", "trans-b", "conj-a", "conj-b"};
    const cli_args *args = j->args;
    int code = operand_operation(args->operands[0], &j->gemm);
    if (code != CLI_OK) {
        return code;
    }
    for (size_t i = 0; i < sizeof for_gemm / sizeof for_gemm[0] && !j->gemm; i++) {
        if (cli_has(args, for_gemm[i])) {
            return cli_fail(CLI_USAGE, "--%s is for gemm, not for matmul.", for_gemm[i]);
        }
    }
    if (args->count == 4 && !j->gemm) {
        return cli_fail(CLI_USAGE, "matmul takes two files; a third is for gemm.");
    }
    int inputs_from_pipe = 0;
    for (int i = 1; i < args->count; i++) {
        inputs_from_pipe += args->operands[i][0] == '-' && !args->operands[i][1];
    }
    if (inputs_from_pipe > 1) {
        return cli_fail(CLI_USAGE, "standard input can give one array only.");
    }
    j->output = cli_value(args, "output");
    if (!j->output) {
        return cli_fail(CLI_USAGE, "-o FILE is missing: where does the result go?");
    }
    npy_error error;
    bp_status status = npy_check_target(j->output, &error);
    return status == BP_OK ? CLI_OK : cli_fail(cli_exit_of(status), "%s.", error.text);
}

static int check_factors(job *j) {
    bool alpha, beta;
    j->old_c = j->args->count == 4;
    j->alpha = (bp_scalar){1, 0};
    j->beta = (bp_scalar){j->old_c ? 1 : 0, 0};
    int code = operand_scalar(j->args, "alpha", &j->alpha, &alpha);
    code = code == CLI_OK ? operand_scalar(j->args, "beta", &j->beta, &beta) : code;
    if (code == CLI_OK && beta && !j->old_c && (j->beta.re != 0 || j->beta.im != 0)) {
        return cli_fail(CLI_USAGE, "--beta needs a third file: the C that it is the factor of.");
    }
    j->transform_a = operand_transform(j->args, "trans-a", "conj-a");
    j->transform_b = operand_transform(j->args, "trans-b", "conj-b");
    return code;
}

static int read_inputs(job *j) {
    unsigned flags = cli_has(j->args, "bf16") ? NPY_BF16 : 0;
    int code = operand_read(j->args->operands[1], flags, &j->a, &j->view_a);
    code = code == CLI_OK ? operand_read(j->args->operands[2], flags, &j->b, &j->view_b) : code;
    if (code == CLI_OK && j->old_c) {
        code = operand_read(j->args->operands[3], flags, &j->c, &j->view_c);
    }
    return code;
}

static int prepare_result(job *j) {
    int ndim = 0;
    int64_t shape[BP_MAX_NDIM];
    if (j->old_c) {
        return CLI_OK;
    }
    if (j->gemm) {
        int code = operand_gemm_shape(&j->view_a, j->transform_a, &j->view_b, j->transform_b, &ndim, shape);
        if (code != CLI_OK) {
            return code;
        }
    } else {
        bp_status status = bp_matmul_shape(&j->view_a.tensor, &j->view_b.tensor, &ndim, shape);
        if (status != BP_OK) {
            return cli_fail_status(status);
        }
    }
    return operand_result(&j->c, &j->view_c, j->a.header.dtype, ndim, shape);
}

static bool to_pipe(const job *j) {
    return j->output[0] == '-' && !j->output[1];
}

/* To standard output, unless that takes the result. */
static int print_explanation(const job *j) {
    bp_explanation *explanation = NULL;
    bp_status status =
        j->gemm ? bp_gemm_explain(&explanation, j->options, j->transform_a, j->transform_b, &j->alpha,
                                  &j->view_a.tensor, &j->view_b.tensor, &j->beta, &j->view_c.tensor)
                : bp_matmul_explain(&explanation, j->options, &j->view_a.tensor, &j->view_b.tensor, &j->view_c.tensor);
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    cli_print(to_pipe(j) ? stderr : stdout, bp_explanation_text(explanation));
    bp_explanation_free(explanation);
    return CLI_OK;
}

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void report(const job *j, double elapsed) {
    bp_plan_info plan = {.struct_size = sizeof plan};
    char shape[256], time[32];
    if (to_pipe(j)) {
        return;
    }
    cli_shape(j->c.header.ndim, j->c.header.shape, shape, sizeof shape);
    cli_say(CLI_PLAIN, "%s: %s %s", j->output, bp_dtype_name(j->c.header.dtype), shape);
    if (bp_last_plan(&plan) == BP_OK) {
        cli_say(CLI_PLAIN, ", by %s%s%s (%s, %d thread%s): %s", plan.library, plan.library_version[0] ? " " : "",
                plan.library_version, plan.algorithm, plan.threads, plan.threads == 1 ? "" : "s", plan.reason);
    }
    cli_say(CLI_FAINT, " [%s]\n", cli_duration(elapsed, time, sizeof time));
}

static int compute(job *j) {
    if (cli_has(j->args, "explain")) {
        int code = print_explanation(j);
        if (code != CLI_OK) {
            return code;
        }
    }
    double start = now_ns();
    bp_status status = j->gemm ? bp_gemm_with(j->options, j->transform_a, j->transform_b, &j->alpha, &j->view_a.tensor,
                                              &j->view_b.tensor, &j->beta, &j->view_c.tensor)
                               : bp_matmul_with(j->options, &j->view_a.tensor, &j->view_b.tensor, &j->view_c.tensor);
    double elapsed = now_ns() - start;
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    npy_error error;
    status = npy_write(j->output, &j->c, &error);
    if (status != BP_OK) {
        return cli_fail(cli_exit_of(status), "%s.", error.text);
    }
    report(j, elapsed);
    return CLI_OK;
}

static int eval(const cli_args *args) {
    job j = {.args = args};
    int code = check_words(&j);
    code = code == CLI_OK ? check_factors(&j) : code;
    code = code == CLI_OK ? operand_options(args, &j.options) : code;
    code = code == CLI_OK ? read_inputs(&j) : code;
    code = code == CLI_OK ? prepare_result(&j) : code;
    code = code == CLI_OK ? compute(&j) : code;
    bp_options_free(j.options);
    npy_free(&j.a);
    npy_free(&j.b);
    npy_free(&j.c);
    return code;
}

static const cli_option options[] = {
    {"output", 'o', "FILE", "The .npy file to write; - is standard output."},
    CLI_OPTION_SET,
    {"explain", 'e', NULL, "Also show every candidate and the reason for the choice."},
    {"bf16", 0, NULL, "Read '<V2' arrays, as ml_dtypes writes them, as bfloat16."},
    {"alpha", 0, "X", "gemm: factor of the product (real or real,imaginary), 1 unless given."},
    {"beta", 0, "X", "gemm: factor of the old C, 1 when C is given."},
    {"trans-a", 0, NULL, "gemm: use the transpose of A."},
    {"trans-b", 0, NULL, "gemm: use the transpose of B."},
    {"conj-a", 0, NULL, "gemm: conjugate A."},
    {"conj-b", 0, NULL, "gemm: conjugate B."},
    {NULL, 0, NULL, NULL},
};

const cli_verb verb_eval = {
    .name = "eval",
    .summary = "Multiply arrays in .npy files and write the result.",
    .operands = "matmul|gemm A.npy B.npy [C.npy] -o OUT.npy",
    .details =
        "\nmatmul follows numpy.matmul; gemm is alpha * op(A) @ op(B) + beta * C. The result appears whole or not at "
        "all, and may replace an input. - reads from standard input.",
    .least = 3,
    .most = 4,
    .options = options,
    .run = eval,
};
