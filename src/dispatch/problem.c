/* problem.c - a problem in words, for explain, the verbose line and the plan cache's listing. */
#include "dispatch/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *inputs, *outputs;
} ops[] = {
#define X(number, name, text, inputs, outputs) [BP_OP_##name] = {text, inputs, outputs},
    BP_OP_MAP(X)
#undef X
};

static bool is_known(bp_op op) {
    return (size_t)op < sizeof ops / sizeof *ops && ops[op].name;
}

const char *bp_op_name(bp_op op) {
    return is_known(op) ? ops[op].name : "?";
}

const char *bp_op_inputs(bp_op op) {
    return is_known(op) ? ops[op].inputs : "";
}

const char *bp_op_outputs(bp_op op) {
    return is_known(op) ? ops[op].outputs : "";
}

const char *bp_reason_name(bp_reason reason) {
    switch (reason) {
#define X(number, name, text)                                                                                          \
    case BP_REASON_##name:                                                                                             \
        return #name;
        BP_REASON_MAP(X)
#undef X
    }
    return "?";
}

const char *bp_reason_text(bp_reason reason) {
    switch (reason) {
#define X(number, name, text)                                                                                          \
    case BP_REASON_##name:                                                                                             \
        return text;
        BP_REASON_MAP(X)
#undef X
    }
    return "unknown reason";
}

static const struct {
    uint32_t note;
    const char *text;
} note_texts[] = {
    {BP_NOTE_ACCUMULATES_F32, "accumulates in f32"},
    {BP_NOTE_ACCUMULATES_F64, "accumulates in f64"},
    {BP_NOTE_SAME_THREADS, "same bits with any number of threads"},
    {BP_NOTE_SAME_RUN, "same bits again with the same number of threads"},
    {BP_NOTE_DOWN_CONVERTS, "rounds inputs to a shorter type"},
    {BP_NOTE_INPUTS_TF32, "rounds inputs to TF32"},
    {BP_NOTE_PROPAGATES_NAN, "propagates NaN"},
    {BP_NOTE_PACKS_A, "copies A first"},
    {BP_NOTE_PACKS_B, "copies B first"},
    {BP_NOTE_PACKS_C, "copies C"},
};

const char *bp_notes_text(uint32_t notes, char *buffer, size_t size) {
    size_t used = 0;
    if (!buffer || size == 0) {
        return "";
    }
    buffer[0] = '\0';
    if (notes & BP_NOTE_SAME_THREADS) {
        notes &= ~BP_NOTE_SAME_RUN; /* said by the stronger promise */
    }
    for (int i = 0; i < BP__COUNT(note_texts); i++) {
        if (!(notes & note_texts[i].note)) {
            continue;
        }
        int n = snprintf(buffer + used, size - used, "%s%s", used ? ", " : "", note_texts[i].text);
        if (n < 0 || (size_t)n >= size - used) {
            break;
        }
        used += (size_t)n;
    }
    return buffer;
}

/* "T" for a column-major operand, "" for row-major or a single row or column, "?" for anything else. */
static const char *order(int64_t rows, int64_t columns, int64_t row, int64_t column) {
    if (rows <= 1 || columns <= 1 || column == 1) {
        return "";
    }
    return row == 1 ? "^T" : " strided";
}

static void gemm_text(const bp_problem *problem, char *buffer, size_t size) {
    const bp_gemm_problem *g = &problem->of.gemm;
    char batch[32] = "";
    if (g->batch_ndim > 0) {
        snprintf(batch, sizeof batch, "%" PRId64 " x ", g->batch);
    }
    static const char *const betas[] = {"", " + C", " + beta C"};
    snprintf(buffer, size,
             "%s %s%s%" PRId64 "x%" PRId64 "%s%s @ %" PRId64 "x%" PRId64 "%s%s -> %" PRId64 "x%" PRId64 "%s%s",
             bp_dtype_name((bp_dtype)problem->dtype), batch, g->alpha == BP_FACTOR_ONE ? "" : "alpha ", g->m, g->k,
             order(g->m, g->k, g->a_row, g->a_column), g->conjugate_a ? "*" : "", g->k, g->n,
             order(g->k, g->n, g->b_row, g->b_column), g->conjugate_b ? "*" : "", g->m, g->n,
             order(g->m, g->n, g->c_row, g->c_column), betas[g->beta <= BP_FACTOR_ANY ? g->beta : 0]);
}

/* "c64 2 x 512x64 forward", "c64 100 inverse complex to real, padded". */
static void fft_text(const bp_problem *problem, char *buffer, size_t size) {
    static const char *const kinds[] = {"", " real to complex", " complex to real"};
    const bp_fft_problem *f = &problem->of.fft;
    char batch[32] = "", sizes[128] = "1";
    if (f->batch != 1) {
        snprintf(batch, sizeof batch, "%" PRId64 " x ", f->batch);
    }
    size_t used = 0;
    for (int i = 0; i < f->ndim && used < sizeof sizes - 24; i++) {
        used += (size_t)snprintf(sizes + used, sizeof sizes - used, "%s%" PRId64, i ? "x" : "", f->n[i]);
    }
    snprintf(buffer, size, "%s %s%s %s%s%s%s%s", bp_dtype_name((bp_dtype)problem->dtype), batch, sizes,
             f->inverse ? "inverse" : "forward", f->kind <= BP_FFT_C2R ? kinds[f->kind] : "",
             f->fill ? ", whole spectrum" : "", f->pads ? ", padded" : "", f->in_place ? ", in place" : "");
}

static const char *mode_text(const bp_linalg_problem *l) {
    static const char *const texts[] = {[BP_MODE_DEFAULT] = "",
                                        [BP_QR_REDUCED] = " reduced",
                                        [BP_QR_COMPLETE] = " complete",
                                        [BP_QR_R] = " r",
                                        [BP_SVD_REDUCED] = " reduced",
                                        [BP_SVD_FULL] = " full",
                                        [BP_LSTSQ_GELSY] = " gelsy",
                                        [BP_LSTSQ_GELS] = " gels",
                                        [BP_LSTSQ_GELSD] = " gelsd",
                                        [BP_LSTSQ_GELSS] = " gelss",
                                        [BP_NORM_FRO] = " fro",
                                        [BP_NORM_NUC] = " nuc",
                                        [BP_NORM_P] = " p"};
    return l->mode < BP__COUNT(texts) ? texts[l->mode] : "";
}

/* "f64 100 x 32x32", "f64 64x64, 3 right sides". */
static void linalg_text(const bp_problem *problem, char *buffer, size_t size) {
    const bp_linalg_problem *l = &problem->of.linalg;
    char batch[32] = "", sides[48] = "", order[40] = "";
    if (l->batch_ndim > 0) {
        snprintf(batch, sizeof batch, "%" PRId64 " x ", l->batch);
    }
    if (l->k > 0) {
        snprintf(sides, sizeof sides, ", %" PRId64 " right sides", l->k);
    }
    if (l->mode == BP_NORM_P) {
        snprintf(order, sizeof order, "=%g", l->order);
    }
    snprintf(buffer, size, "%s %s%" PRId64 "x%" PRId64 "%s%s%s", bp_dtype_name((bp_dtype)problem->dtype), batch, l->m,
             l->n, sides, mode_text(l), order);
}

/* "f32 64x32x16, two operands -> 64x16": the sizes of all dimensions, and of those that are left. */
static void contract_text(const bp_problem *problem, char *buffer, size_t size) {
    const bp_contract_problem *c = &problem->of.contract;
    char all[160] = "", kept[96] = "";
    size_t used = 0, left = 0;
    for (int i = 0; i < c->ndim; i++) {
        const char *by = i ? "x" : "";
        used +=
            used < sizeof all - 24 ? (size_t)snprintf(all + used, sizeof all - used, "%s%" PRId64, by, c->size[i]) : 0;
        if (i < c->kept && left < sizeof kept - 24) {
            left += (size_t)snprintf(kept + left, sizeof kept - left, "%s%" PRId64, by, c->size[i]);
        }
    }
    snprintf(buffer, size, "%s %s%s -> %s%s", bp_dtype_name((bp_dtype)problem->dtype), used ? all : "1",
             c->second ? ", two operands" : "", left ? kept : "1", c->in_place ? ", in place" : "");
}

void bp__problem_text(const bp_problem *problem, char *buffer, size_t size) {
    switch ((bp_op)problem->op) {
    case BP_OP_GEMM:
        gemm_text(problem, buffer, size);
        return;
    case BP_OP_FFT:
        fft_text(problem, buffer, size);
        return;
    case BP_OP_CONTRACT:
        contract_text(problem, buffer, size);
        return;
    default:
        linalg_text(problem, buffer, size);
        return;
    }
}
