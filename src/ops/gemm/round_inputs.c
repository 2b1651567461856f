/* round_inputs.c - rounds f32 inputs as tensor cores do, for any library: simulate.tf32 and simulate.bf16.
 *
 * A and B are copied with every element rounded, and the library multiplies the copies. Candidates evaluate the layout
 * of the copies, which is row-major. The choice, the plan and the explanation therefore describe the product that
 * really runs. */
#include "ops/gemm/gemm.h"

#include "tensor/internal.h"

#include <string.h>

enum { SIMULATE_TF32 = 1, SIMULATE_BF16 = 2 };

/* One operand in the caller's layout. A complex element counts as two components. */
typedef struct source {
    int ndim; /* batch dimensions, then rows and columns */
    int parts;
    int64_t shape[BP_MAX_BATCH_NDIM + 2];
    int64_t strides[BP_MAX_BATCH_NDIM + 2];
    int64_t elements;
} source;

typedef struct rounded {
    bp_prepared base; /* must be first: the interface of dispatch */
    bp_prepared *inner;
    uint32_t (*round)(uint32_t bits);
    size_t bytes; /* of the copies, in whole cache lines */
    source a, b;
} rounded;

/* ---- Rounding ---- */

#define EXPONENT 0x7F800000u
#define QUIET 0x00400000u

static bool is_special(uint32_t bits) {
    return (bits & EXPONENT) == EXPONENT;
}

static uint32_t keep_special(uint32_t bits, uint32_t dropped) {
    bool nan = (bits & ~EXPONENT & 0x7FFFFFFFu) != 0;
    return nan ? (bits | QUIET) & ~dropped : bits;
}

/* Rounds like PTX's cvt.rna.tf32.f32: 10 bits of fraction, nearest, ties away from zero. Denormals are kept; overflow
 * gives infinity. */
static uint32_t round_tf32(uint32_t bits) {
    const uint32_t dropped = 0x1FFF;
    return is_special(bits) ? keep_special(bits, dropped) : (bits + 0x1000) & ~dropped;
}

/* Rounds like PTX's cvt.rn.bf16.f32: 7 bits of fraction, nearest, ties to even. */
static uint32_t round_bf16(uint32_t bits) {
    const uint32_t dropped = 0xFFFF;
    return is_special(bits) ? keep_special(bits, dropped) : (bits + 0x7FFF + (bits >> 16 & 1)) & ~dropped;
}

static size_t bytes_of(const source *from) {
    return (size_t)from->parts * sizeof(uint32_t);
}

/* Returns false if the program stops the call. */
static bool copy_rounded(const rounded *s, const source *from, int dim, const uint32_t *in, uint32_t **out,
                         bp__pace *pace) {
    for (int64_t i = 0; i < from->shape[dim]; i++, in += from->strides[dim] * from->parts) {
        if (dim + 1 < from->ndim) {
            if (!copy_rounded(s, from, dim + 1, in, out, pace)) {
                return false;
            }
            continue;
        }
        for (int part = 0; part < from->parts; part++) {
            *(*out)++ = s->round(in[part]);
        }
    }
    return dim + 1 < from->ndim || !bp__pace_due(pace, from->shape[dim]) || !bp__operation_interrupted(BP_OP_GEMM);
}

/* The copies are at the beginning of the workspace; the provider's workspace follows. */
static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const rounded *s = (const rounded *)self;
    bp_operand ready[] = {exec->workspace, exec->workspace, operands[2]};
    uint32_t *end = bp_operand_address(&exec->workspace);
    ready[1].offset += (size_t)s->a.elements * bytes_of(&s->a);
    bp__pace pace = {0};
    if (!copy_rounded(s, &s->a, 0, bp_operand_address(&operands[0]), &end, &pace) ||
        !copy_rounded(s, &s->b, 0, bp_operand_address(&operands[1]), &end, &pace)) {
        return BP_E_CANCELLED;
    }
    bp_exec inner = *exec;
    inner.workspace.offset += s->bytes;
    inner.workspace_size = s->inner->workspace;
    return s->inner->enqueue(s->inner, ready, &inner);
}

static void destroy(bp_prepared *self) {
    rounded *s = (rounded *)self;
    s->inner->destroy(s->inner);
    bp__free(s);
}

/* ---- Layout ---- */

/* Sets the layout of a copy: row-major, compact. An operand that is broadcast over the batch is copied once. */
static void take_source(source *from, const bp_problem *problem, int64_t rows, int64_t columns, int64_t *row,
                        int64_t *column, int64_t *batch) {
    const bp_gemm_problem *gemm = &problem->of.gemm;
    memset(from, 0, sizeof *from);
    from->parts = problem->dtype == BP_C64 ? 2 : 1;
    from->ndim = gemm->batch_ndim + 2;
    for (int i = 0; i < gemm->batch_ndim; i++) {
        from->shape[i] = batch[i] ? gemm->batch_shape[i] : 1;
        from->strides[i] = batch[i];
    }
    from->shape[from->ndim - 2] = rows;
    from->strides[from->ndim - 2] = *row;
    from->shape[from->ndim - 1] = columns;
    from->strides[from->ndim - 1] = *column;
    *row = rows > 1 ? columns : 0;
    *column = columns > 1 ? 1 : 0;
    from->elements = rows * columns;
    for (int i = gemm->batch_ndim - 1; i >= 0; i--) {
        batch[i] = batch[i] ? from->elements : 0;
        from->elements *= from->shape[i];
    }
}

static void take_both(bp_problem *problem, source *a, source *b) {
    bp_gemm_problem *gemm = &problem->of.gemm;
    take_source(a, problem, gemm->m, gemm->k, &gemm->a_row, &gemm->a_column, gemm->batch_a);
    take_source(b, problem, gemm->k, gemm->n, &gemm->b_row, &gemm->b_column, gemm->batch_b);
}

static const char *simulated(const bp_problem *problem) {
    bool f32 = problem->dtype == BP_F32 || problem->dtype == BP_C64;
    return !f32 || problem->policy.simulate == 0       ? NULL
           : problem->policy.simulate == SIMULATE_TF32 ? "inputs are rounded to TF32 (simulate.tf32) first"
                                                       : "inputs are rounded to bfloat16 (simulate.bf16) first";
}

/* Inputs that were already packed are rounded as well, so that the library always receives copies. */
static void simulate_layout(bp_problem *problem) {
    source a, b;
    problem->policy.packed = 0;
    take_both(problem, &a, &b);
}

static bp_status simulate_wrap(const bp_problem *problem, bp_prepared *inner, bp_prepared **wrapped) {
    rounded *s = bp__alloc_zero(1, sizeof *s);
    if (!s) {
        return bp__fail_memory(sizeof *s, "a plan");
    }
    bp_problem copy = *problem;
    take_both(&copy, &s->a, &s->b);
    const size_t line = 64;
    s->bytes = (size_t)(s->a.elements + s->b.elements) * bytes_of(&s->a);
    s->bytes = (s->bytes + line - 1) / line * line;
    s->base = (bp_prepared){.struct_size = sizeof s->base,
                            .enqueue = enqueue,
                            .destroy = destroy,
                            .workspace = s->bytes + inner->workspace};
    s->inner = inner;
    s->round = problem->policy.simulate == SIMULATE_TF32 ? round_tf32 : round_bf16;
    *wrapped = &s->base;
    return BP_OK;
}

const bp__adapter bp__gemm_simulate = {simulated, simulate_layout, simulate_wrap};
