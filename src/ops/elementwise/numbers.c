/* numbers.c - knows the numbers that functions of one element take, checks them, and rounds them to the type in which
 * the function computes, so that problems whose results are equal are equal bytes. */
#include "ops/elementwise/elementwise.h"

#include <math.h>

enum { MOST = 2 };

typedef struct taken {
    int count;
    double usual[MOST];
    const char *name[MOST];
} taken;

/* The numbers of each function, with the values that PyTorch takes where none is given. */
static const taken table[BP_UNARY_KINDS] = {
    [BP_UNARY_LEAKY_RELU] = {1, {0.01}, {"slope"}},
    [BP_UNARY_ELU] = {1, {1}, {"alpha"}},
    [BP_UNARY_CELU] = {1, {1}, {"alpha"}},
    [BP_UNARY_CLIP] = {2, {-INFINITY, INFINITY}, {"low", "high"}},
    [BP_UNARY_SOFTPLUS] = {2, {1, 20}, {"beta", "threshold"}},
    [BP_UNARY_THRESHOLD] = {2, {0, 0}, {"threshold", "value"}},
    [BP_UNARY_HARDSHRINK] = {1, {0.5}, {"lambda"}},
    [BP_UNARY_SOFTSHRINK] = {1, {0.5}, {"lambda"}},
};
static const char *const names[] = {
#define X(number, name, text) [BP_UNARY_##name] = text,
    BP_UNARY_MAP(X)
#undef X
};

int bp_unary_number_count(bp_unary_kind kind, double *usual) {
    const int count = (unsigned)kind < BP_UNARY_KINDS ? table[kind].count : 0;
    for (int i = 0; i < count && usual; i++) {
        usual[i] = table[kind].usual[i];
    }
    return count;
}

static bp_status refuse(bp_unary_kind kind, int i, double value, const char *right) {
    return bp__fail(BP_E_ARGUMENT, "%s: %s is %g; it must be %s", names[kind], table[kind].name[i], value, right);
}

static bool is_whole(double value) {
    return isinf(value) || value == trunc(value);
}

/* Rounds a number to the type of the computation. An integer 0 has no sign. */
static double rounded(bp_dtype dtype, double value) {
    return dtype == BP_F64                                          ? value
           : dtype == BP_F16 || dtype == BP_BF16 || dtype == BP_F32 ? (double)(float)value
                                                                    : value + 0.;
}

bp_status bp__elementwise_numbers(double *numbers, const bp__unary_arguments *call, bp_dtype dtype) {
    const bp_unary_kind kind = call->kind;
    const taken *t = &table[kind];
    const double *const given[MOST] = {call->first, call->second};
    for (int i = 0; i < MOST; i++) {
        if (i >= t->count && given[i]) {
            return bp__fail(BP_E_ARGUMENT, "%s takes %s; the %s one is %g", names[kind],
                            t->count ? "one number" : "no numbers", i ? "second" : "first", *given[i]);
        }
        if (i >= t->count) {
            continue;
        }
        const double value = given[i] ? *given[i] : t->usual[i];
        numbers[i] = rounded(dtype, value);
        if (isnan(value)) {
            return refuse(kind, i, value, "a number");
        }
        if ((dtype == BP_I32 || dtype == BP_I64) && !is_whole(value)) {
            return refuse(kind, i, value, "an integer or infinite for elements that are integers");
        }
        if (kind == BP_UNARY_CELU && numbers[i] == 0) {
            return refuse(kind, i, value, "another number than 0 in the type of the elements");
        }
        if (kind == BP_UNARY_SOFTSHRINK && !(value >= 0)) {
            return refuse(kind, i, value, "0 or more");
        }
    }
    return BP_OK;
}
