/* support_contraction.c - samples, and their comparison with the reference. */
#include "contraction/support_contraction.h"

#include "reference/results.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Tensors ---- */

static bool one_of(int count) {
    return test_array_between(1, count) == 1;
}

static void shuffle(int *order, int count) {
    for (int i = count - 1; i > 0; i--) {
        const int j = (int)test_array_between(0, i), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

static void tensor_make(test_array *t, bp_dtype dtype, int ndim, const int64_t *shape, sample_layout layout) {
    int order[SAMPLE_NDIM];
    int64_t strides[SAMPLE_NDIM] = {0}, step = layout == SCATTERED ? test_array_between(1, 3) : 1;
    for (int i = 0; i < ndim; i++) {
        order[i] = i;
    }
    if (layout != COMPACT && layout != ZERO_STRIDES) {
        shuffle(order, ndim);
    }
    for (int i = ndim - 1; i >= 0; i--) {
        const int64_t size = shape[order[i]] > 0 ? shape[order[i]] : 1;
        const bool none = layout == ZERO_STRIDES && one_of(3), backwards = layout == SCATTERED && one_of(3);
        strides[order[i]] = none ? 0 : backwards ? -step : step;
        step *= none ? 1 : size;
        step += layout == SCATTERED ? test_array_between(0, 2) : 0;
    }
    test_array_make_strided(t, dtype, ndim, shape, strides, 0);
}

void sample_make(sample *s, const char *expression, const int64_t size[SAMPLE_LABELS], bp_dtype dtype,
                 sample_layout operands, sample_layout out) {
    *s = (sample){.expression = strdup(expression), .dtype = dtype};
    memcpy(s->size, size, sizeof s->size);
    char *plain = (char *)(uintptr_t)s->expression;
    int64_t shape[SAMPLE_NDIM];
    int ndim = 0;
    for (const char *c = expression;; c++) {
        if (*c >= 'a' && *c <= 'z') {
            shape[ndim++] = c[1] == '!' ? 1 : size[*c - 'a'];
        } else if (*c == ',' || *c == '-') {
            tensor_make(&s->operand[s->count], dtype, ndim, shape, operands);
            test_array_fill(&s->operand[s->count], 1);
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
    tensor_make(&s->out, dtype, ndim, shape, out);
}

void sample_free(sample *s) {
    for (int i = 0; i < s->count; i++) {
        test_array_free(&s->operand[i]);
    }
    test_array_free(&s->out);
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
    test_array_check_gaps(&s->out, s->expression);
    double error = sample_error(s);
    if (!(error <= 1)) {
        bp_explanation *e;
        const char *text =
            bp_einsum_explain(&e, options, &call, &s->out.view.tensor) == BP_OK ? bp_explanation_text(e) : "";
        fail_msg("%s of %s: the error is %g times its bound\n%s", s->expression, bp_dtype_name(s->dtype), error, text);
    }
}

/* ---- Random expressions ---- */

void sample_expression(char *text, int operands, int64_t size[SAMPLE_LABELS]) {
    static const int64_t sizes[] = {1, 2, 2, 3, 3, 4, 5};
    bool used[SAMPLE_LABELS] = {false};
    int labels = operands + 1 + (int)test_array_between(0, 2);
    for (int i = 0; i < SAMPLE_LABELS; i++) {
        size[i] = sizes[test_array_between(0, 6)];
    }
    for (int i = 0; i < operands; i++) {
        int ndim = (int)test_array_between(0, 3) + (operands < 3);
        for (int d = 0; d < ndim; d++) {
            int label = (int)test_array_between(0, labels - 1);
            used[label] = true;
            *text++ = (char)('a' + label);
            if (one_of(12) && d + 1 < ndim && size[label] > 1) {
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
    shuffle(order, SAMPLE_LABELS);
    for (int i = 0, count = 0; i < SAMPLE_LABELS && count < 5; i++) {
        if (used[order[i]] && one_of(2)) {
            *text++ = (char)('a' + order[i]);
            count++;
        }
    }
    *text = 0;
}
