/* support_contraction.c - samples, and the reference: every element of the output as a sum over all labels at once, in
 * long double. */
#include "contraction/support_contraction.h"

#include "tensor/internal.h"

#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef long double complex value;

uint64_t sample_next(sample_random *random) {
    random->state ^= random->state << 13;
    random->state ^= random->state >> 7;
    random->state ^= random->state << 17;
    return random->state;
}

/* ---- Elements ---- */

static value element_get(bp_dtype dtype, const void *at) {
    switch (dtype) {
    case BP_F16:
        return bp__f16_to_f32(*(const uint16_t *)at);
    case BP_BF16:
        return bp__bf16_to_f32(*(const uint16_t *)at);
    case BP_F32:
        return *(const float *)at;
    case BP_F64:
        return *(const double *)at;
    case BP_C64:
        return ((const float *)at)[0] + (value)((const float *)at)[1] * I;
    default:
        return ((const double *)at)[0] + (value)((const double *)at)[1] * I;
    }
}

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

static double epsilon(bp_dtype dtype) {
    switch (dtype) {
    case BP_F16:
        return ldexp(1, -10);
    case BP_BF16:
        return ldexp(1, -7);
    case BP_F32:
    case BP_C64:
        return ldexp(1, -23);
    default:
        return ldexp(1, -52);
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

/* ---- The reference ---- */

/* Returns the address of the element with these indices; `labels` ends at a character that is not a letter. */
static const void *element_at(const sample_tensor *t, const char *labels, const int64_t index[SAMPLE_LABELS]) {
    int64_t at = 0;
    for (int d = 0; labels[d] >= 'a' && labels[d] <= 'z'; d++) {
        at += t->view.tensor.shape[d] == 1 ? 0 : index[labels[d] - 'a'] * t->view.strides[d];
    }
    return (const char *)t->view.tensor.data + at * (int64_t)bp_dtype_size(bp_dtype_from_dlpack(t->view.tensor.dtype));
}

/* Advances to the next indices. Returns false after the last ones. */
static bool advance(const sample *s, const bool in[SAMPLE_LABELS], int64_t index[SAMPLE_LABELS]) {
    for (int label = SAMPLE_LABELS - 1; label >= 0; label--) {
        if (!in[label]) {
            continue;
        }
        if (++index[label] < s->size[label]) {
            return true;
        }
        index[label] = 0;
    }
    return false;
}

static value product_at(const sample *s, const int64_t index[SAMPLE_LABELS]) {
    value product = 1;
    const char *labels = s->expression;
    for (int i = 0; i < s->count; i++) {
        product *= element_get(s->dtype, element_at(&s->operand[i], labels, index));
        labels += s->operand[i].view.tensor.ndim + 1;
    }
    return product;
}

/* Computes one element: the sum, and the sum of the moduli. */
static value sum_at(const sample *s, const bool summed[SAMPLE_LABELS], int64_t index[SAMPLE_LABELS],
                    long double *moduli, double *terms) {
    value sum = 0;
    bool empty = false;
    for (int label = 0; label < SAMPLE_LABELS; label++) {
        empty |= summed[label] && s->size[label] == 0;
    }
    *moduli = 0;
    *terms = 0;
    if (!empty) {
        do {
            value x = product_at(s, index);
            sum += x;
            *moduli += cabsl(x);
            *terms += 1;
        } while (advance(s, summed, index));
    }
    return sum;
}

/* Results of steps are rounded to the type; sums of f16 and bf16 are computed in f32. */
static double bound_of(const sample *s, long double moduli, double terms) {
    double eps = epsilon(s->dtype), sums = s->dtype == BP_F16 || s->dtype == BP_BF16 ? epsilon(BP_F32) : eps;
    double tiny = s->dtype == BP_F16                          ? 1e-7 * (s->count + 1.0) * (terms + 1)
                  : s->dtype == BP_F64 || s->dtype == BP_C128 ? 1e-300
                                                              : 1e-37;
    return (double)moduli * (eps * (2.0 * s->count + 2) + sums * (terms + 4)) + tiny;
}

double sample_error(const sample *s) {
    bool kept[SAMPLE_LABELS] = {false}, summed[SAMPLE_LABELS] = {false};
    const char *arrow = strstr(s->expression, "->");
    for (const char *c = s->expression; c < arrow; c++) {
        if (*c != ',') {
            summed[*c - 'a'] = true;
        }
    }
    for (const char *c = arrow + 2; *c; c++) {
        summed[*c - 'a'] = false;
        kept[*c - 'a'] = true;
        if (s->size[*c - 'a'] == 0) {
            return 0;
        }
    }
    int64_t index[SAMPLE_LABELS] = {0};
    double worst = 0;
    do {
        long double moduli;
        double terms;
        value want = sum_at(s, summed, index, &moduli, &terms);
        value got = element_get(s->dtype, element_at(&s->out, arrow + 2, index));
        bool finite = isfinite(creall(want)) && isfinite(cimagl(want));
        double error = finite ? (double)(cabsl(got - want) / bound_of(s, moduli, terms)) : 0;
        if (!finite && isfinite(creall(got)) && isfinite(cimagl(got))) {
            error = (double)INFINITY;
        }
        worst = error > worst || isnan(error) ? error : worst;
    } while (advance(s, kept, index));
    return worst;
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
