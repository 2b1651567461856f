/* numbers.cl - defines functions of one element of REAL that take one or two numbers, with the errors that elementwise.h
 * states. curve.cl comes before. The formulas are the native provider's. */
static inline REAL leaky_relu_of(REAL x, REAL slope, REAL none) {
    return x > 0 ? x : slope * x;
}

static inline REAL elu_of(REAL x, REAL alpha, REAL none) {
    return x > 0 ? x : alpha * expm1_of(x);
}

/* The quotient x / alpha may be denormal or 0 although x is not. If it is that small, the function is x. */
static inline REAL celu_of(REAL x, REAL alpha, REAL none) {
    const REAL ratio = divided(x, alpha);
    return x > 0 || magnitude(ratio) < EPSILON / 8 ? x : alpha * expm1_of(ratio);
}

static inline REAL clip_of(REAL x, REAL low, REAL high) {
    return at_most(high, at_least(low, x));
}

/* max(t, 0) + log(1 + e^-|t|), divided by beta, of t = beta x with twice the digits. Far below 0 it is e^t, which may be
 * smaller than a number before the division. */
static inline REAL softplus_of(REAL x, REAL beta, REAL threshold) {
    const sum_of_two product = exact_product(beta, x);
    const REAL t = product.high, lowest = (REAL)1.4 * LOWEST;
    const REAL low = magnitude(t) < -lowest ? product.low : (REAL)0;
    REAL scale;
    const REAL part = exp_scaled(at_least(lowest, AS_REAL(AS_BITS(t) | SIGN)), t < 0 ? low : -low, &scale);
    const REAL log_part = log1p_of(part * scale), above = divided(t > 0 ? t + (low + log_part) : log_part, beta);
    return t > threshold ? x : t < EXPM1_IS_LESS_1 ? divided(part, beta) * scale : above;
}

static inline REAL threshold_of(REAL x, REAL threshold, REAL value) {
    return x <= threshold ? value : x;
}

static inline REAL hardshrink_of(REAL x, REAL lambda, REAL none) {
    return magnitude(x) <= lambda ? (REAL)0 : x;
}

static inline REAL softshrink_of(REAL x, REAL lambda, REAL none) {
    return x > lambda ? x - lambda : x < -lambda ? x + lambda : x == x ? (REAL)0 : x;
}
