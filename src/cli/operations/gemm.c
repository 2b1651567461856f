/* gemm.c - matmul and gemm, for the commands that take an operation. */
#include "sizing.h"

#include <string.h>

enum { MATMUL, GEMM };

static int read_words(cli_job *job) {
    product_words *words = &job->words.product;
    bool alpha, beta;
    words->old_c = job->input_count == 3;
    words->alpha = (bp_scalar){1, 0};
    words->beta = (bp_scalar){words->old_c ? 1 : 0, 0};
    int code = operand_scalar(job->args, "alpha", &words->alpha, &alpha);
    code = code == CLI_OK ? operand_scalar(job->args, "beta", &words->beta, &beta) : code;
    if (code == CLI_OK && beta && !words->old_c && !job->dry && (words->beta.re != 0 || words->beta.im != 0)) {
        return cli_fail(CLI_USAGE, "--beta needs a third array, C");
    }
    if (job->operation->number == GEMM) {
        words->transform_a = operand_transform(job->args, "trans-a", "conj-a");
        words->transform_b = operand_transform(job->args, "trans-b", "conj-b");
    }
    return code;
}

/* Uses the old C as the output, in its layout. */
static int take_old_c(cli_job *job) {
    if (job->dry) {
        const bp_view *c = &job->inputs[2];
        return operand_view(&job->results[0], bp_dtype_from_dlpack(c->tensor.dtype), c->tensor.ndim, c->shape, false);
    }
    job->result_arrays[0] = job->input_arrays[2];
    memset(&job->input_arrays[2], 0, sizeof job->input_arrays[2]);
    bp_status status = npy_view(&job->result_arrays[0], &job->results[0]);
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

static int make_result(cli_job *job) {
    const product_words *words = &job->words.product;
    int code, ndim = 0;
    int64_t shape[BP_MAX_NDIM];
    const bp_view *a = &job->inputs[0], *b = &job->inputs[1];
    if (job->operation->number == GEMM) {
        code = operand_gemm_shape(a, words->transform_a, b, words->transform_b, &ndim, shape);
    } else {
        bp_status status = bp_matmul_shape(&a->tensor, &b->tensor, &ndim, shape);
        code = status == BP_OK ? CLI_OK : cli_fail_status(status);
    }
    return code == CLI_OK ? job_result(job, 0, bp_matmul_dtype(&a->tensor, &b->tensor), ndim, shape) : code;
}

static int prepare_product(cli_job *job) {
    int code = read_words(job);
    if (code == CLI_OK) {
        code = job->words.product.old_c ? take_old_c(job) : make_result(job);
    }
    return code == CLI_OK && job->dry ? operand_leading(job->args, "ldc", false, &job->results[0]) : code;
}

static bp_status run_matmul(cli_job *job) {
    return bp_matmul_run(job->options, &job->inputs[0].tensor, &job->inputs[1].tensor, &job->results[0].tensor);
}

static bp_status explain_matmul(const cli_job *job, bp_explanation **explanation) {
    return bp_matmul_explain(explanation, job->options, &job->inputs[0].tensor, &job->inputs[1].tensor,
                             &job->results[0].tensor);
}

static bp_status run_gemm(cli_job *job) {
    const product_words *words = &job->words.product;
    return bp_gemm_run(job->options, words->transform_a, words->transform_b, &words->alpha, &job->inputs[0].tensor,
                       &job->inputs[1].tensor, &words->beta, &job->results[0].tensor);
}

static bp_status explain_gemm(const cli_job *job, bp_explanation **explanation) {
    const product_words *words = &job->words.product;
    return bp_gemm_explain(explanation, job->options, words->transform_a, words->transform_b, &words->alpha,
                           &job->inputs[0].tensor, &job->inputs[1].tensor, &words->beta, &job->results[0].tensor);
}

/* An old C is the third operand, so the inputs are the first two arrays only. */
static void product_operands(const cli_job *job, bp_operand *operands, int *count) {
    operands[0] = job_operand(&job->inputs[0].tensor);
    operands[1] = job_operand(&job->inputs[1].tensor);
    operands[2] = job_operand(&job->results[0].tensor);
    *count = 3;
}

static bp_status plan_matmul(const cli_job *job, bp_plan **plan, bp_operand *operands, int *count) {
    product_operands(job, operands, count);
    return bp_matmul_plan(plan, job->options, &job->inputs[0].tensor, &job->inputs[1].tensor, &job->results[0].tensor);
}

static bp_status plan_gemm(const cli_job *job, bp_plan **plan, bp_operand *operands, int *count) {
    const product_words *words = &job->words.product;
    product_operands(job, operands, count);
    return bp_gemm_plan(plan, job->options, words->transform_a, words->transform_b, &words->alpha,
                        &job->inputs[0].tensor, &job->inputs[1].tensor, &words->beta, &job->results[0].tensor);
}

static const char *const gemm_options[] = {"alpha", "beta", "trans-a", "trans-b", "conj-a", "conj-b", NULL};

static const cli_measured matmul = {BP_OP_GEMM, plan_matmul, check_product};
static const cli_measured gemm = {BP_OP_GEMM, plan_gemm, check_product};

static const cli_sizing sizing = {"nxn nxn", NULL, NULL, work_product, "2 n^3", false, {16, 64, 256, 1024}, 0, NULL};

const cli_operation operations_gemm[] = {
    {"matmul", "A B", 2, 2, 1, MATMUL, NULL, prepare_product, run_matmul, explain_matmul, false, &matmul, NULL, &sizing,
     NULL},
    {"gemm", "A B [C]", 2, 3, 1, GEMM, gemm_options, prepare_product, run_gemm, explain_gemm, false, &gemm, NULL,
     &sizing, NULL},
    {.name = NULL},
};
