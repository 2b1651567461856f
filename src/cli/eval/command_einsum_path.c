/* command_einsum_path.c - `backplane einsum-path`: shows the best order of contractions for an einsum expression, and
 * its cost. */
#include "cli/operations/operands.h"
#include "cli/operations/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LETTERS 128

typedef struct request {
    const char *expression;
    int count;
    bp_einsum_operand *operands;
    int64_t (*shapes)[BP_MAX_NDIM];
    cli_search search;
} request;

/* ---- Sizes of labels: i=10,j=20 ---- */

static int read_sizes(const char *text, int64_t *size) {
    for (const char *at = text; *at;) {
        char *end = NULL;
        errno = 0;
        bool letter = (at[0] >= 'A' && at[0] <= 'Z') || (at[0] >= 'a' && at[0] <= 'z');
        long long value = letter && at[1] == '=' && at[2] >= '0' && at[2] <= '9' ? strtoll(at + 2, &end, 10) : -1;
        if (value < 0 || errno || (*end && *end != ',')) {
            return cli_fail(CLI_USAGE, "--sizes is '%s'; it must be such as i=10,j=20", text);
        }
        size[(int)at[0]] = value;
        at = *end ? end + 1 : end;
    }
    return CLI_OK;
}

/* Makes shapes from the labels of the expression. Other characters are left for the library to report. */
static int shapes_from_sizes(request *q, const char *text) {
    int64_t size[LETTERS];
    memset(size, 0xff, sizeof size);
    int code = read_sizes(text, size);
    int operand = 0;
    for (const char *at = q->expression; *at && *at != '-' && code == CLI_OK; at++) {
        bp_einsum_operand *o = &q->operands[operand];
        bool letter = (*at >= 'A' && *at <= 'Z') || (*at >= 'a' && *at <= 'z');
        if (strncmp(at, "...", 3) == 0) {
            code = cli_fail(CLI_USAGE, "--sizes gives no sizes for an ellipsis; use --shapes");
        } else if (letter && size[(int)*at] < 0) {
            code = cli_fail(CLI_USAGE, "--sizes has no size for label %c", *at);
        } else if (letter && o->ndim == BP_MAX_NDIM) {
            code = cli_fail(CLI_USAGE, "operand %d has more than %d labels", operand, BP_MAX_NDIM);
        } else if (letter) {
            q->shapes[operand][o->ndim++] = size[(int)*at];
        }
        operand += *at == ',';
    }
    return code;
}

/* ---- Shapes of operands: 10x20,20x30; an empty one is a scalar ---- */

static int shapes_from_list(request *q, const char *text) {
    int given = 0, code = CLI_OK;
    for (const char *at = text; code == CLI_OK; given++) {
        size_t length = strcspn(at, ",");
        char *piece = cli_format("%.*s", (int)length, at);
        if (given < q->count) {
            code = operand_shape(piece, &q->operands[given].ndim, q->shapes[given]);
        }
        free(piece);
        if (!at[length]) {
            break;
        }
        at += length + 1;
    }
    if (code == CLI_OK && given + 1 != q->count) {
        return cli_fail(CLI_USAGE, "--shapes has %d shape%s, but the expression has %d operand%s", given + 1,
                        given ? "s" : "", q->count, q->count == 1 ? "" : "s");
    }
    return code;
}

static int read_operands(request *q, const cli_args *args) {
    const char *sizes = cli_value(args, "sizes"), *shapes = cli_value(args, "shapes");
    if (!sizes == !shapes) {
        return cli_fail(CLI_USAGE, "exactly one of --sizes and --shapes must be given");
    }
    q->count = 1;
    for (const char *at = q->expression; *at && *at != '-'; at++) {
        q->count += *at == ',';
    }
    q->operands = cli_allocate((size_t)q->count * sizeof *q->operands);
    q->shapes = cli_allocate((size_t)q->count * sizeof *q->shapes);
    for (int i = 0; i < q->count; i++) {
        q->operands[i].shape = q->shapes[i];
    }
    return sizes ? shapes_from_sizes(q, sizes) : shapes_from_list(q, shapes);
}

/* ---- The search ---- */

static int read_dtype(request *q, const cli_args *args) {
    const char *dtype = cli_value(args, "dtype");
    q->search.fields.dtype = dtype ? bp_dtype_from_name(dtype) : BP_DTYPE_NONE;
    return !dtype || q->search.fields.dtype != BP_DTYPE_NONE ? CLI_OK
                                                             : cli_fail(CLI_USAGE, "no such element type: '%s'", dtype);
}

static int print_path(const request *q, const cli_args *args) {
    bp_contraction_path *path;
    bp_status status = bp_einsum_path(&path, &q->search.fields, q->expression, q->count, q->operands);
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    if (cli_has(args, "json")) {
        json_raw(NULL, bp_contraction_path_json(path));
    } else {
        cli_page(bp_contraction_path_text(path));
    }
    bp_contraction_path_release(path);
    return CLI_OK;
}

static int path(const cli_args *args) {
    request q = {.expression = args->operands[0]};
    int code = read_operands(&q, args);
    code = code == CLI_OK ? search_read(args, &q.search) : code;
    code = code == CLI_OK ? read_dtype(&q, args) : code;
    code = code == CLI_OK ? print_path(&q, args) : code;
    search_free(&q.search);
    free(q.operands);
    free(q.shapes);
    return code;
}

static const cli_option options[] = {
    {"sizes", 0, "LIST", "Sizes of labels: i=10,j=20."},
    {"shapes", 0, "LIST", "Shapes of operands: 10x20,20x30; an empty one is a scalar."},
    OPTIONS_SEARCH,
    {"dtype", 0, "DTYPE", "Element type for the sizes in bytes; default f64."},
    CLI_OPTION_JSON,
    {NULL, 0, NULL, NULL},
};

const cli_command command_path = {
    .name = "einsum-path",
    .summary = "Show the best order of contractions for an einsum expression, and its cost.",
    .operands = "EXPRESSION",
    .details = "\nExample: backplane einsum-path 'ij,jk,kl->il' --sizes i=10,j=20,k=30,l=40\n"
               "Without --strategy, the settings opt_einsum.enabled and opt_einsum.strategy apply.",
    .least = 1,
    .most = 1,
    .options = options,
    .run = path,
};
