/* support_contraction.c - samples, and their comparison with the reference. */
#include "contraction/support_contraction.h"

#include "reference/results.h"
#include "tensor/internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

uint64_t sample_next(sample_random *random) {
    random->state ^= random->state << 13;
    random->state ^= random->state >> 7;
    random->state ^= random->state << 17;
    return random->state;
}

/* ---- Elements ---- */

static void element_set(bp_dtype dtype, void *at, double re, double im) {
    switch (dtype) {
    case BP_F16:
        *(uint16_t *)at = bp__f64_to_f16(re);
        break;
    case BP_BF16:
        *(uint16_t *)at = bp__f64_to_bf16(re);
        break;
    case BP_F32:
        *(float *)at = (float)re;
        break;
    case BP_F64:
        *(double *)at = re;
        break;
    case BP_C64:
        ((float *)at)[0] = (float)re;
        ((float *)at)[1] = (float)im;
        break;
    default:
        ((double *)at)[0] = re;
        ((double *)at)[1] = im;
        break;
    }
}

/* ---- Tensors ---- */

static double uniform(sample_random *random) {
    return (double)(sample_next(random) >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

static void shuffle(int *order, int count, sample_random *random) {
    for (int i = count - 1; i > 0; i--) {
        int j = (int)(sample_next(random) % (unsigned)(i + 1)), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

/* Computes strides for the layout, and the offset of the first element in elements. Returns how many elements the
 * memory must have. */
static int64_t lay_out(int ndim, const int64_t *shape, sample_layout layout, int64_t *strides, int64_t *first,
                       sample_random *random) {
    int order[SAMPLE_NDIM];
    for (int i = 0; i < ndim; i++) {
        order[i] = i;
    }
    if (layout != COMPACT && layout != ZERO_STRIDES) {
        shuffle(order, ndim, random);
    }
    int64_t step = layout == SCATTERED ? 1 + (int64_t)(sample_next(random) % 3) : 1, needed = 1;
    *first = 0;
    for (int i = ndim - 1; i >= 0; i--) {
        int d = order[i];
        int64_t size = shape[d] > 0 ? shape[d] : 1;
        bool none = layout == ZERO_STRIDES && sample_next(random) % 3 == 0;
        bool backwards = layout == SCATTERED && sample_next(random) % 3 == 0;
        strides[d] = none ? 0 : backwards ? -step : step;
        *first += backwards ? (size - 1) * step : 0;
        needed += none ? 0 : (size - 1) * step;
        step *= none ? 1 : size;
        step += layout == SCATTERED ? (int64_t)(sample_next(random) % 3) : 0;
    }
    return needed;
}

static void tensor_make(sample_tensor *t, bp_dtype dtype, int ndim, const int64_t *shape, sample_layout layout,
                        sample_random *random) {
    int64_t strides[SAMPLE_NDIM] = {0}, first;
    int64_t needed = lay_out(ndim, shape, layout, strides, &first, random);
    size_t element = bp_dtype_size(dtype);
    t->bytes = (size_t)needed * element;
    t->memory = malloc(t->bytes);
    assert_non_null(t->memory);
    for (int64_t i = 0; i < needed; i++) {
        element_set(dtype, (char *)t->memory + (size_t)i * element, uniform(random), uniform(random));
    }
    assert_int_equal(bp_view_init(&t->view, (char *)t->memory + (size_t)first * element, dtype, ndim, shape,
                                  layout == COMPACT ? NULL : strides),
                     BP_OK);
}

void sample_make(sample *s, const char *expression, const int64_t size[SAMPLE_LABELS], bp_dtype dtype,
                 sample_layout operands, sample_layout out, sample_random *random) {
    *s = (sample){.expression = strdup(expression), .dtype = dtype};
    memcpy(s->size, size, sizeof s->size);
    char *plain = (char *)(uintptr_t)s->expression;
    int64_t shape[SAMPLE_NDIM];
    int ndim = 0;
    for (const char *c = expression;; c++) {
        if (*c >= 'a' && *c <= 'z') {
            shape[ndim++] = c[1] == '!' ? 1 : size[*c - 'a'];
        } else if (*c == ',' || *c == '-') {
            tensor_make(&s->operand[s->count], dtype, ndim, shape, operands, random);
            s->list[s->count] = &s->operand[s->count].view.tensor;
            s->count++;
            ndim = 0;
        } else if (*c == 0) {
            break;
        }
        if (*c != '!') {
            *plain++ = *c;
        }
    }
    *plain = 0;
    tensor_make(&s->out, dtype, ndim, shape, out, random);
}

void sample_free(sample *s) {
    for (int i = 0; i < s->count; i++) {
        free(s->operand[i].memory);
    }
    free(s->out.memory);
    free((void *)(uintptr_t)s->expression);
}

bp_einsum_call sample_call(const sample *s) {
    return (bp_einsum_call){
        .struct_size = sizeof(bp_einsum_call), .expression = s->expression, .count = s->count, .operands = s->list};
}

/* ---- Comparison ---- */

double sample_error(const sample *s) {
    reference_results made;
    double error;
    assert_int_equal(reference_of_einsum(&made, s->expression, s->count, s->list, &s->out.view.tensor), BP_OK);
    const reference *values = &made.of[0].values;
    assert_non_null(values->values);
    assert_int_equal(reference_error(values, &s->out.view.tensor, &error), BP_OK);
    const double bound = reference_bound(values, s->dtype);
    reference_results_free(&made);
    return error / bound;
}

void sample_check(const sample *s, const bp_options *options) {
    bp_einsum_call call = sample_call(s);
    bp_status status = bp_einsum_run(options, &call, (DLTensor *)(uintptr_t)&s->out.view.tensor);
    if (status != BP_OK) {
        fail_msg("%s of %s: %s", s->expression, bp_dtype_name(s->dtype), bp_last_error());
    }
    double error = sample_error(s);
    if (!(error <= 1)) {
        bp_explanation *e;
        const char *text =
            bp_einsum_explain(&e, options, &call, &s->out.view.tensor) == BP_OK ? bp_explanation_text(e) : "";
        fail_msg("%s of %s: the error is %g times its bound\n%s", s->expression, bp_dtype_name(s->dtype), error, text);
    }
}

/* ---- Random expressions ---- */

void sample_expression(char *text, int operands, int64_t size[SAMPLE_LABELS], sample_random *random) {
    static const int64_t sizes[] = {1, 2, 2, 3, 3, 4, 5};
    bool used[SAMPLE_LABELS] = {false};
    int labels = operands + 1 + (int)(sample_next(random) % 3);
    for (int i = 0; i < SAMPLE_LABELS; i++) {
        size[i] = sizes[sample_next(random) % 7];
    }
    for (int i = 0; i < operands; i++) {
        int ndim = (int)(sample_next(random) % 4) + (operands < 3);
        for (int d = 0; d < ndim; d++) {
            int label = (int)(sample_next(random) % (unsigned)labels);
            used[label] = true;
            *text++ = (char)('a' + label);
            if (sample_next(random) % 12 == 0 && d + 1 < ndim && size[label] > 1) {
                *text++ = (char)('a' + label); /* a diagonal */
                d++;
            }
        }
        *text++ = i + 1 < operands ? ',' : '-';
    }
    *text++ = '>';
    int order[SAMPLE_LABELS];
    for (int i = 0; i < SAMPLE_LABELS; i++) {
        order[i] = i;
    }
    shuffle(order, SAMPLE_LABELS, random);
    for (int i = 0, count = 0; i < SAMPLE_LABELS && count < 5; i++) {
        if (used[order[i]] && sample_next(random) % 2 == 0) {
            *text++ = (char)('a' + order[i]);
            count++;
        }
    }
    *text = 0;
}
