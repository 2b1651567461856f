/* matrix_power.c - makes integer powers of matrices from products and the inverse, by repeated squaring.
 *
 * The bits of the power are read from the highest down: the result so far is squared, and multiplied by A if the bit is
 * set. So two buffers are enough, and few plans: of squares, of products by A, and of the last step, which writes the
 * result. Each step is a call like any other, with its own choice, cache entry and trace line. */
#include "ops/linalg/product_calls.h"

#include "backplane/matmul.h"
#include "ops/shape.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MOST_STEPS 128 /* an inverse, and two products for each bit but the highest */
#define BUFFERS 3      /* two for products, one for the inverse */

typedef struct step {
    const DLTensor *x, *y; /* y is NULL for an inverse */
    DLTensor *to;
    const char *title;
} step;

/* A power as a list of steps. Buffers have no data where the steps are only explained. */
typedef struct program {
    int count;
    step steps[MOST_STEPS];
    int buffers; /* a bit for each that is needed */
    bp_view buffer[BUFFERS];
} program;

static bp_status check_square(const DLTensor *a) {
    char got[256];
    return a->ndim >= 2 && a->shape[a->ndim - 1] == a->shape[a->ndim - 2]
               ? BP_OK
               : bp__fail(BP_E_SHAPE,
                          "linalg.matrix_power: A has shape %s; it must be square, or a batch of square matrices",
                          bp__shape_text(a->ndim, a->shape, got, sizeof got));
}

static bp_status check(const DLTensor *a, int64_t n, const DLTensor *out, bool data_optional) {
    BP__TRY(bp__tensor_check(a, "A", data_optional));
    BP__TRY(bp__tensor_check(out, "output", data_optional));
    BP__TRY(bp__tensor_check_host(a, "A")); /* the steps have buffers of the host */
    BP__TRY(bp__tensor_check_host(out, "output"));
    const bp_dtype dtype = bp_dtype_from_dlpack(a->dtype), given = bp_dtype_from_dlpack(out->dtype);
    if (dtype < BP_F16 || dtype > BP_C128 || (n < 0 && dtype < BP_F32)) {
        return bp__fail(BP_E_DTYPE,
                        "linalg.matrix_power: A is %s; the power %" PRId64 " takes %sf32, f64, c64 and c128",
                        bp_dtype_name(dtype), n, n < 0 ? "" : "f16, bf16, ");
    }
    if (given != dtype) {
        return bp__fail(BP_E_DTYPE, "linalg.matrix_power: output is %s; it must be %s like A", bp_dtype_name(given),
                        bp_dtype_name(dtype));
    }
    BP__TRY(check_square(a));
    char got[256], want[256];
    if (out->ndim != a->ndim || memcmp(out->shape, a->shape, (size_t)a->ndim * sizeof *a->shape) != 0) {
        return bp__fail(BP_E_SHAPE, "linalg.matrix_power: output has shape %s; it must have shape %s",
                        bp__shape_text(out->ndim, out->shape, got, sizeof got),
                        bp__shape_text(a->ndim, a->shape, want, sizeof want));
    }
    const bp__matrix_power_arguments call = {sizeof call, n, a, out};
    return bp__call_check_overlap(&bp__matrix_power_call, bp__matrix_power_passes, &call);
}

static void add_step(program *p, const DLTensor *x, const DLTensor *y, DLTensor *to, const char *title) {
    p->steps[p->count++] = (step){x, y, to, title};
    for (int i = 0; i < BUFFERS; i++) {
        p->buffers |= (to == &p->buffer[i].tensor) << i;
    }
}

static int bits_set(uint64_t x) {
    return __builtin_popcountll(x);
}

static int highest_bit(uint64_t x) {
    return 63 - __builtin_clzll(x);
}

static bp_status make_program(program *p, const DLTensor *a, int64_t n, DLTensor *out) {
    const uint64_t power = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    p->count = p->buffers = 0;
    for (int i = 0; i < BUFFERS; i++) {
        BP__TRY(bp_view_init(&p->buffer[i], NULL, bp_dtype_from_dlpack(a->dtype), a->ndim, a->shape, NULL));
    }
    if (power == 0) {
        return BP_OK;
    }
    int left = highest_bit(power) + bits_set(power) - 1; /* products to come */
    if (n < 0) {
        DLTensor *inverse = left > 0 ? &p->buffer[2].tensor : out;
        add_step(p, a, NULL, inverse, "inverse");
        a = inverse;
    }
    const DLTensor *so_far = a;
    for (int bit = highest_bit(power) - 1; bit >= 0; bit--) {
        for (int product = 0; product <= (int)(power >> bit & 1); product++) {
            DLTensor *to = --left > 0 ? &p->buffer[left & 1].tensor : out;
            add_step(p, so_far, product ? a : so_far, to, product ? "times A" : "square");
            so_far = to;
        }
    }
    return BP_OK;
}

/* Sets all elements of a tensor to the same number. */
static bp_status fill(DLTensor *out, float value) {
    const int64_t strides[BP_MAX_NDIM] = {0};
    bp_view source;
    BP__TRY(bp_view_init(&source, &value, BP_F32, out->ndim, out->shape, strides));
    return bp_tensor_copy(out, &source.tensor);
}

/* Sets each matrix to the identity: all elements to 0, then the diagonals, which are a view of `out`, to 1. */
static bp_status write_identity(DLTensor *out) {
    const int last = out->ndim - 1;
    int64_t strides[BP_MAX_NDIM];
    bp_view diagonals;
    bp__tensor_strides(out, strides);
    if (bp__tensor_elements(out) == 0) {
        return BP_OK;
    }
    strides[last - 1] = (int64_t)((uint64_t)strides[last - 1] + (uint64_t)strides[last]); /* any number for 1 x 1 */
    BP__TRY(fill(out, 0));
    BP__TRY(bp_view_init(&diagonals, out->data, bp_dtype_from_dlpack(out->dtype), last, out->shape, strides));
    diagonals.tensor.byte_offset = out->byte_offset;
    return fill(&diagonals.tensor, 1);
}

static bp_status run_steps(const program *p) {
    for (int i = 0; i < p->count; i++) {
        const step *s = &p->steps[i];
        BP__TRY(s->y ? bp_matmul(s->x, s->y, s->to) : bp_inv(s->x, s->to));
    }
    return BP_OK;
}

static bp_status run_program(program *p, const DLTensor *a, int64_t n, DLTensor *out) {
    BP__TRY(make_program(p, a, n, out));
    if (p->count == 0 || n == 1) {
        bp__thread.last_serial = BP__NO_PLAN_RAN;
        return n == 0 ? write_identity(out) : bp_tensor_copy(out, a);
    }
    DLManagedTensorVersioned *memory[BUFFERS] = {NULL};
    bp_status status = BP_OK;
    for (int i = 0; i < BUFFERS && status == BP_OK; i++) {
        if (p->buffers >> i & 1) {
            status = bp_tensor_empty(&memory[i], bp_dtype_from_dlpack(a->dtype), a->ndim, a->shape, NULL);
            p->buffer[i].tensor.data = status == BP_OK ? memory[i]->dl_tensor.data : NULL;
        }
    }
    status = status == BP_OK ? run_steps(p) : status;
    for (int i = 0; i < BUFFERS; i++) {
        if (memory[i]) {
            memory[i]->deleter(memory[i]);
        }
    }
    return status;
}

static bp_status run_matrix_power(const DLTensor *a, int64_t n, DLTensor *out) {
    BP__TRY(check(a, n, out, false));
    program *p = bp__alloc(sizeof *p); /* large: not on the stack */
    if (!p) {
        return bp__fail_memory(sizeof *p, "the steps of a power");
    }
    bp_status status = run_program(p, a, n, out);
    bp__free(p);
    return status;
}

bp_status bp_matrix_power_run(const bp_options *options, const DLTensor *a, int64_t n, DLTensor *out) {
    bp__call_scope scope;
    bp__call_enter(&scope, options);
    bp_status status = run_matrix_power(a, n, out);
    bp__call_leave(&scope);
    return status;
}

bp_status bp_matrix_power(const DLTensor *a, int64_t n, DLTensor *out) {
    return run_matrix_power(a, n, out);
}

/* ---- Explaining ---- */

static bp_linalg_call inverse_of(const step *s) {
    return (bp_linalg_call){.struct_size = sizeof(bp_linalg_call), .op = BP_OP_INV, .input = {s->x}, .output = {s->to}};
}

/* Plans for the first `count` steps; `refused` is the step that no candidate takes. */
static bp_status plan_steps(const program *p, bp_plan **plans, const step **refused) {
    for (int i = 0; i < p->count; i++) {
        const step *s = &p->steps[i];
        const bp_linalg_call inverse = inverse_of(s);
        *refused = s;
        BP__TRY(s->y ? bp_matmul_plan(&plans[i], NULL, s->x, s->y, s->to) : bp_linalg_plan(&plans[i], NULL, &inverse));
    }
    return BP_OK;
}

static bp_status explain_step(bp_explanation **explanation, const step *s) {
    const bp_linalg_call inverse = inverse_of(s);
    return s->y ? bp_matmul_explain(explanation, NULL, s->x, s->y, s->to)
                : bp_linalg_explain(explanation, NULL, &inverse);
}

static void add_text(bp__text *text, const void *context) {
    const program *p = context;
    bp__text_addf(text, "steps     %d\n", p->count);
}

static void add_json(bp__json *json, const void *context) {
    const program *p = context;
    bp__json_int(json, "steps", p->count);
}

static bp_status explain_program(bp_explanation **explanation, program *p, const DLTensor *a, int64_t n,
                                 const DLTensor *out) {
    bp_view result;
    int64_t strides[BP_MAX_NDIM];
    bp__tensor_strides(out, strides);
    BP__TRY(bp_view_init(&result, out->data, bp_dtype_from_dlpack(out->dtype), out->ndim, out->shape, strides));
    result.tensor.byte_offset = out->byte_offset;
    BP__TRY(make_program(p, a, n, &result.tensor));
    bp_plan *plans[MOST_STEPS] = {NULL};
    const char *titles[MOST_STEPS];
    char shape[256], problem[320], decision[96];
    snprintf(problem, sizeof problem, "%s %s to the power %" PRId64, bp_dtype_name(bp_dtype_from_dlpack(a->dtype)),
             bp__shape_text(a->ndim, a->shape, shape, sizeof shape), n);
    snprintf(decision, sizeof decision, "%s",
             p->count ? "each step is chosen by itself"
             : n      ? "a copy of A"
                      : "the identity");
    for (int i = 0; i < p->count; i++) {
        titles[i] = p->steps[i].title;
    }
    const step *refused = NULL;
    bp_status status = plan_steps(p, plans, &refused);
    if (status == BP_OK) {
        const bp__whole whole = {.operation = "matrix_power",
                                 .problem = problem,
                                 .decision = decision,
                                 .parts = (const bp_plan *const *)plans,
                                 .part_titles = titles,
                                 .part_count = p->count,
                                 .add_text = add_text,
                                 .add_json = add_json,
                                 .context = p};
        status = bp__explain_whole(explanation, &whole);
    } else if (status == BP_E_NO_CANDIDATE) {
        status = explain_step(explanation, refused);
    }
    for (int i = 0; i < p->count; i++) {
        bp_plan_release(plans[i]);
    }
    return status;
}

static bp_status explain(bp_explanation **explanation, const DLTensor *a, int64_t n, const DLTensor *out) {
    BP__TRY(check(a, n, out, true));
    program *p = bp__alloc(sizeof *p);
    if (!p) {
        return bp__fail_memory(sizeof *p, "the steps of a power");
    }
    bp_status status = explain_program(explanation, p, a, n, out);
    bp__free(p);
    return status;
}

bp_status bp_matrix_power_explain(bp_explanation **explanation, const bp_options *options, const DLTensor *a, int64_t n,
                                  const DLTensor *out) {
    if (!explanation) {
        return bp__fail(BP_E_ARGUMENT, "linalg.matrix_power: explanation must not be NULL");
    }
    *explanation = NULL;
    bp__call_scope scope;
    bp__call_enter(&scope, options);
    bp_status status = explain(explanation, a, n, out);
    bp__call_leave(&scope);
    return status;
}

/* ---- The description ---- */

static bp_status run_described(const bp_call *described, const bp_options *options, const void *given) {
    const bp__matrix_power_arguments *call = given;
    (void)described;
    return bp_matrix_power_run(options, call->A, call->n, (DLTensor *)(uintptr_t)call->output);
}

static bp_status explain_described(const bp_call *described, bp_explanation **explanation, const bp_options *options,
                                   const void *given) {
    const bp__matrix_power_arguments *call = given;
    (void)described;
    return bp_matrix_power_explain(explanation, options, call->A, call->n, call->output);
}

static bp_status shape_of_call(const void *given, bp__call_result *result) {
    const bp__matrix_power_arguments *call = given;
    BP__TRY(bp__tensor_check(call->A, "A", true));
    BP__TRY(check_square(call->A));
    result->dtype = bp_dtype_from_dlpack(call->A->dtype);
    result->ndim = call->A->ndim;
    memcpy(result->shape, call->A->shape, (size_t)call->A->ndim * sizeof *call->A->shape);
    return BP_OK;
}

static const bp__call_functions functions = {run_described, NULL, explain_described};

const bp_call bp__matrix_power_call = {
    .info = {"matrix_power", "an integer power of a matrix", sizeof(bp__matrix_power_arguments),
             BP__COUNT(bp__matrix_power_fields), 1, 0, true},
    .op = BP_OP_GEMM,
    .ndim_offset = -1,
    .fields = bp__matrix_power_fields,
    .family = &bp__family_gemm,
    .passes = bp__matrix_power_passes,
    .shape = shape_of_call,
    .functions = &functions,
};
