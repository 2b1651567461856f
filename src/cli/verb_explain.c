/* verb_explain.c - `backplane explain`: which library would run a product of these shapes, and why, without any data.
 */
#include "operands.h"

#include <stdlib.h>

typedef struct question {
    bool gemm;
    bp_dtype dtype;
    bp_transform transform_a, transform_b;
    bp_view a, b, out;
    bp_options *options;
} question;

static const char *dtype_at(const void *unused, int index) {
    (void)unused;
    static const char *const names[] = {
#define X(number, name, text, code, bits) text,
        BP_DTYPE_MAP(X)
#undef X
    };
    return index < (int)(sizeof names / sizeof names[0]) ? names[index] : NULL;
}

/* For matmul the shapes are those of the product and --trans tells of their layout; for gemm the matrices are as stored
 * and --trans is part of the operation, as in the BLAS. */
static int read_question(const cli_args *args, question *q) {
    int code = operand_operation(args->operands[0], &q->gemm);
    if (code != CLI_OK) {
        return code;
    }
    q->dtype = bp_dtype_from_name(args->operands[1]);
    if (q->dtype == BP_DTYPE_NONE) {
        return cli_fail(CLI_USAGE, "no such element type: '%s'.%s", args->operands[1],
                        cli_suggest(args->operands[1], "", dtype_at, NULL));
    }
    if (!q->gemm && (cli_has(args, "conj-a") || cli_has(args, "conj-b"))) {
        return cli_fail(CLI_USAGE, "--conj-a and --conj-b are for gemm; matmul does not conjugate.");
    }
    bool layout_a = !q->gemm && cli_has(args, "trans-a"), layout_b = !q->gemm && cli_has(args, "trans-b");
    q->transform_a = q->gemm ? operand_transform(args, "trans-a", "conj-a") : BP_AS_IS;
    q->transform_b = q->gemm ? operand_transform(args, "trans-b", "conj-b") : BP_AS_IS;
    int64_t shape[BP_MAX_NDIM];
    int ndim;
    code = operand_shape(args->operands[2], &ndim, shape);
    code = code == CLI_OK ? operand_view(&q->a, q->dtype, ndim, shape, layout_a) : code;
    code = code == CLI_OK ? operand_shape(args->operands[3], &ndim, shape) : code;
    code = code == CLI_OK ? operand_view(&q->b, q->dtype, ndim, shape, layout_b) : code;
    if (code != CLI_OK) {
        return code;
    }
    if (q->gemm) {
        code = operand_gemm_shape(&q->a, q->transform_a, &q->b, q->transform_b, &ndim, shape);
    } else {
        bp_status status = bp_matmul_shape(&q->a.tensor, &q->b.tensor, &ndim, shape);
        code = status == BP_OK ? CLI_OK : cli_fail_status(status);
    }
    code = code == CLI_OK ? operand_view(&q->out, q->dtype, ndim, shape, false) : code;
    return code == CLI_OK ? operand_options(args, &q->options) : code;
}

static int answer(const cli_args *args, const question *q) {
    bp_scalar alpha = {1, 0}, beta = {0, 0};
    bool given;
    int code = operand_scalar(args, "alpha", &alpha, &given);
    code = code == CLI_OK ? operand_scalar(args, "beta", &beta, &given) : code;
    if (code != CLI_OK) {
        return code;
    }
    bp_explanation *explanation = NULL;
    bp_status status = q->gemm
                           ? bp_gemm_explain(&explanation, q->options, q->transform_a, q->transform_b, &alpha,
                                             &q->a.tensor, &q->b.tensor, &beta, &q->out.tensor)
                           : bp_matmul_explain(&explanation, q->options, &q->a.tensor, &q->b.tensor, &q->out.tensor);
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    if (cli_has(args, "json")) {
        json_raw(NULL, bp_explanation_json(explanation));
    } else {
        cli_say(CLI_PLAIN, "%s", bp_explanation_text(explanation));
    }
    bool chosen = false;
    bp_candidate_info candidate = {.struct_size = sizeof candidate};
    for (int i = 0; bp_explanation_at(explanation, i, &candidate); i++) {
        chosen |= candidate.chosen != 0;
    }
    bp_explanation_free(explanation);
    return chosen ? CLI_OK : CLI_LIBRARY;
}

static int explain(const cli_args *args) {
    question q = {.options = NULL};
    int code = read_question(args, &q);
    code = code == CLI_OK ? answer(args, &q) : code;
    bp_options_free(q.options);
    return code;
}

static const cli_option options[] = {
    CLI_OPTION_SET,
    {"trans-a", 0, NULL, "matmul: A is a transposed view; gemm: use the transpose of A."},
    {"trans-b", 0, NULL, "The same for B."},
    {"conj-a", 0, NULL, "gemm: conjugate A."},
    {"conj-b", 0, NULL, "gemm: conjugate B."},
    {"alpha", 0, "X", "gemm: factor of the product (real or real,imaginary), 1 unless given."},
    {"beta", 0, "X", "gemm: factor of the old C, 0 unless given."},
    CLI_OPTION_JSON,
    {NULL, 0, NULL, NULL},
};

const cli_verb verb_explain = {
    .name = "explain",
    .summary = "Show which library would run a product of these shapes, and why.",
    .operands = "matmul|gemm DTYPE SHAPE SHAPE",
    .details =
        "\nExample: backplane explain matmul f32 512x512 512x512 --set num_threads=1\n"
        "Shapes follow numpy.matmul: vectors (512), matrices, batches (8x64x32). Ends with 4 when no library takes it.",
    .least = 4,
    .most = 4,
    .options = options,
    .run = explain,
};
