/* linalg.c - linear algebra by torch.linalg's names, for the commands that take an operation. The library computes
 * shapes and types and checks the arguments. An entry here has the options and the results. */
#include "reference/linalg.h"
#include "sizing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Added to the bp_op of operations that return values without vectors. */
#define VALUES_ONLY 100

static bp_op op_of(const cli_job *job) {
    return (bp_op)(job->operation->number % VALUES_ONLY);
}

static int count_names(const char *names) {
    int count = 1;
    for (; *names; names++) {
        count += *names == ',';
    }
    return count;
}

/* ---- Options ---- */

typedef struct word {
    const char *name;
    bp_linalg_mode mode;
    double order;
} word;

static const word qr_modes[] = {
    {"reduced", BP_QR_REDUCED, 0}, {"complete", BP_QR_COMPLETE, 0}, {"r", BP_QR_R, 0}, {NULL, BP_MODE_DEFAULT, 0}};
static const word drivers[] = {{"gelsy", BP_LSTSQ_GELSY, 0},
                               {"gels", BP_LSTSQ_GELS, 0},
                               {"gelsd", BP_LSTSQ_GELSD, 0},
                               {"gelss", BP_LSTSQ_GELSS, 0},
                               {NULL, BP_MODE_DEFAULT, 0}};
static const word norms[] = {
    {"fro", BP_NORM_FRO, 0},   {"nuc", BP_NORM_NUC, 0}, {"1", BP_NORM_P, 1},          {"-1", BP_NORM_P, -1},
    {"2", BP_NORM_P, 2},       {"-2", BP_NORM_P, -2},   {"inf", BP_NORM_P, HUGE_VAL}, {"-inf", BP_NORM_P, -HUGE_VAL},
    {NULL, BP_MODE_DEFAULT, 0}};

static int read_word(cli_job *job, const char *option, const word *words) {
    bp_linalg_call *call = &job->words.linalg.call;
    const char *text = cli_value(job->args, option);
    for (const word *w = words; text && w->name; w++) {
        if (strcmp(w->name, text) == 0) {
            call->mode = w->mode;
            call->order = w->order;
            return CLI_OK;
        }
    }
    if (!text) {
        return CLI_OK;
    }
    char *known = NULL;
    for (const word *w = words; w->name; w++) {
        known = cli_join(known, known ? ", " : "", w->name);
    }
    int code = cli_fail(CLI_USAGE, "--%s is '%s'; it must be one of %s", option, text, known);
    free(known);
    return code;
}

static int read_tolerance(cli_job *job, const char *option, double *value, const double **slot) {
    bp_scalar number;
    bool given;
    int code = operand_scalar(job->args, option, &number, &given);
    if (code == CLI_OK && given) {
        *value = number.im == 0 ? number.re : (double)NAN; /* the library reports it */
        *slot = value;
    }
    return code;
}

static int read_options(cli_job *job) {
    linalg_words *words = &job->words.linalg;
    bp_linalg_call *call = &words->call;
    *call = (bp_linalg_call){.struct_size = sizeof *call, .op = op_of(job)};
    call->upper = cli_has(job->args, "upper");
    call->right = cli_has(job->args, "right");
    call->adjoint = cli_has(job->args, "adjoint");
    call->unitriangular = cli_has(job->args, "unitriangular");
    call->hermitian = cli_has(job->args, "hermitian");
    call->mode = cli_has(job->args, "full-matrices") ? BP_SVD_FULL : BP_MODE_DEFAULT;
    int code = read_word(job, "mode", qr_modes);
    code = code == CLI_OK ? read_word(job, "driver", drivers) : code;
    code = code == CLI_OK ? read_word(job, "ord", norms) : code;
    code = code == CLI_OK ? read_tolerance(job, "rtol", &words->rtol, &call->rtol) : code;
    code = code == CLI_OK ? read_tolerance(job, "rcond", &words->rtol, &call->rtol) : code;
    return code == CLI_OK ? read_tolerance(job, "atol", &words->atol, &call->atol) : code;
}

/* ---- Results ---- */

/* Returns whether output[index] is computed only if it has a file. */
static bool is_extra(bp_op op, int index, int outputs) {
    bool info = strstr(bp_op_outputs(op), "info") && index == outputs - 1;
    return info || (op == BP_OP_LSTSQ && index > 0);
}

static bool is_vectors(const cli_job *job, int index) {
    return job->operation->number > VALUES_ONLY && index != (op_of(job) == BP_OP_SVD ? 1 : 0);
}

/* Makes a result if the call has it; *made tells whether. The outputs depend on mode and driver. */
static int make_result(cli_job *job, int index, int slot, bool wanted, bool *made) {
    bp_linalg_call *call = &job->words.linalg.call;
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    *made = bp_linalg_shape(call, index, &dtype, &ndim, shape) == BP_OK;
    if (!*made || !wanted) {
        return CLI_OK;
    }
    int code = job_result(job, slot, dtype, ndim, shape);
    call->output[index] = &job->results[slot].tensor;
    return code;
}

static int make_results(cli_job *job) {
    bp_op op = op_of(job);
    int outputs = count_names(bp_op_outputs(op));
    int slot = 0, code = CLI_OK;
    for (int i = 0; i < outputs && code == CLI_OK; i++) {
        bool made;
        if (!is_vectors(job, i)) {
            code = make_result(job, i, slot, slot < job->wanted || !is_extra(op, i, outputs), &made);
            slot += made;
        }
    }
    job->result_count = slot;
    return code;
}

/* Checks the arguments through an output that every call of the operation has. */
static int check_call(const cli_job *job) {
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    int sure = op_of(job) == BP_OP_QR;
    bp_status status = bp_linalg_shape(&job->words.linalg.call, sure, &dtype, &ndim, shape);
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

static int prepare_linalg(cli_job *job) {
    int code = read_options(job);
    bool pivoted = op_of(job) == BP_OP_LU_SOLVE || op_of(job) == BP_OP_LDL_SOLVE;
    if (code == CLI_OK && job->dry && pivoted) { /* pivots are always integers */
        const bp_view pivots = job->inputs[1];
        code = operand_view(&job->inputs[1], BP_I32, pivots.tensor.ndim, pivots.shape, false);
    }
    for (int i = 0; i < job->input_count; i++) {
        job->words.linalg.call.input[i] = &job->inputs[i].tensor;
    }
    code = code == CLI_OK ? check_call(job) : code;
    return code == CLI_OK ? make_results(job) : code;
}

static bp_status run_linalg(cli_job *job) {
    return bp_linalg_run(job->options, &job->words.linalg.call);
}

static bp_status explain_linalg(const cli_job *job, bp_explanation **explanation) {
    return bp_linalg_explain(explanation, job->options, &job->words.linalg.call);
}

static bp_status plan_linalg(const cli_job *job, bp_plan **made, bp_operand *operands, int *count) {
    const bp_linalg_call *call = &job->words.linalg.call;
    *count = count_names(bp_op_inputs(call->op)) + count_names(bp_op_outputs(call->op));
    for (int i = 0; i < *count; i++) {
        operands[i] = job_operand(reference_linalg_operand(call, i));
    }
    return bp_linalg_plan(made, job->options, call);
}

/* ---- Entries ---- */

static const cli_measured measured = {BP_OP_INV, plan_linalg, check_linalg};

static const char *const takes_upper[] = {"upper", NULL};
static const char *const takes_right[] = {"right", NULL};
static const char *const triangular[] = {"upper", "right", "unitriangular", NULL};
static const char *const lu_solving[] = {"right", "adjoint", NULL};
static const char *const takes_hermitian[] = {"hermitian", NULL};
static const char *const takes_mode[] = {"mode", NULL};
static const char *const takes_full[] = {"full-matrices", NULL};
static const char *const fitting[] = {"rcond", "driver", NULL};
static const char *const tolerant[] = {"rtol", "atol", "hermitian", "upper", NULL};
static const char *const takes_ord[] = {"ord", NULL};

/* clang-format off */
#define ROW(name, arrays, count, results, number, options, sizing) \
    {name, arrays, count, count, results, number, options, prepare_linalg, run_linalg, explain_linalg, false, &measured, NULL, sizing, NULL}
/* Sizes of factorizations, of products of orthogonal matrices, and of eigenvalue and singular value problems. */
#define FACTORED(arrays, count) &(const cli_sizing){arrays, NULL, NULL, work_linalg, count, false, {16, 64, 256, 768}, 0, NULL}
#define ORTHOGONAL(arrays, count) &(const cli_sizing){arrays, NULL, NULL, work_linalg, count, false, {16, 64, 256, 512}, 0, NULL}
#define SPECTRAL(arrays, count) &(const cli_sizing){arrays, NULL, NULL, work_linalg, count, false, {16, 64, 128, 256}, 0, NULL}
const cli_operation operations_linalg[] = {
    ROW("inv", "A", 1, 2, BP_OP_INV, NULL, FACTORED("nxn", "2 n^3")),
    ROW("solve", "A B", 2, 2, BP_OP_SOLVE, takes_right, FACTORED("nxn nx1", "2/3 n^3 + 2 n^2")),
    ROW("solve_triangular", "A B", 2, 1, BP_OP_SOLVE_TRIANGULAR, triangular, FACTORED("nxn:definite nxn", "n^3")),
    ROW("cholesky", "A", 1, 2, BP_OP_CHOLESKY, takes_upper, FACTORED("nxn:definite", "1/3 n^3")),
    ROW("cholesky_solve", "B L", 2, 1, BP_OP_CHOLESKY_SOLVE, takes_upper, FACTORED("nxn nxn:definite", "2 n^3")),
    ROW("cholesky_inverse", "L", 1, 2, BP_OP_CHOLESKY_INVERSE, takes_upper, FACTORED("nxn:definite", "2/3 n^3")),
    ROW("lu_factor", "A", 1, 3, BP_OP_LU_FACTOR, NULL, FACTORED("nxn", "2/3 n^3")),
    ROW("lu", "A", 1, 3, BP_OP_LU, NULL, FACTORED("nxn", "2/3 n^3")),
    ROW("lu_solve", "LU pivots B", 3, 1, BP_OP_LU_SOLVE, lu_solving, FACTORED("nxn:definite n:pivots nxn", "2 n^3")),
    ROW("ldl_factor", "A", 1, 3, BP_OP_LDL_FACTOR, takes_hermitian, FACTORED("nxn:definite", "1/3 n^3")),
    ROW("ldl_solve", "LD pivots B", 3, 1, BP_OP_LDL_SOLVE, takes_hermitian, FACTORED("nxn:lower n:pivots nxn", "2 n^3")),
    ROW("qr", "A", 1, 2, BP_OP_QR, takes_mode, ORTHOGONAL("nxn", "8/3 n^3")),
    ROW("eigh", "A", 1, 2, BP_OP_EIGH, takes_upper, SPECTRAL("nxn:definite", "9 n^3, nominal")),
    ROW("eigvalsh", "A", 1, 1, BP_OP_EIGH + VALUES_ONLY, takes_upper, SPECTRAL("nxn:definite", "4/3 n^3, nominal")),
    ROW("eig", "A", 1, 2, BP_OP_EIG, NULL, SPECTRAL("nxn", "25 n^3, nominal")),
    ROW("eigvals", "A", 1, 1, BP_OP_EIG + VALUES_ONLY, NULL, SPECTRAL("nxn", "10 n^3, nominal")),
    ROW("svd", "A", 1, 3, BP_OP_SVD, takes_full, SPECTRAL("nxn", "22 n^3, nominal")),
    ROW("svdvals", "A", 1, 1, BP_OP_SVD + VALUES_ONLY, NULL, SPECTRAL("nxn", "8/3 n^3, nominal")),
    ROW("lstsq", "A B", 2, 4, BP_OP_LSTSQ, fitting, ORTHOGONAL("2nxn 2nx1", "10/3 n^3 + 8 n^2, nominal")),
    ROW("det", "A", 1, 1, BP_OP_DET, NULL, FACTORED("nxn", "2/3 n^3")),
    ROW("slogdet", "A", 1, 2, BP_OP_SLOGDET, NULL, FACTORED("nxn", "2/3 n^3")),
    ROW("pinv", "A", 1, 1, BP_OP_PINV, tolerant, SPECTRAL("nxn", "24 n^3, nominal")),
    ROW("matrix_rank", "A", 1, 1, BP_OP_MATRIX_RANK, tolerant, SPECTRAL("nxn", "8/3 n^3, nominal")),
    ROW("cond", "A", 1, 1, BP_OP_COND, takes_ord, SPECTRAL("nxn", "8/3 n^3, nominal")),
    ROW("matrix_norm", "A", 1, 1, BP_OP_MATRIX_NORM, takes_ord, ORTHOGONAL("nxn", "2 n^2")),
    {.name = NULL},
};
/* clang-format on */
