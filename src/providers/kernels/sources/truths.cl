/* truths.cl - has the kernels of functions of one and of two elements whose results are bool.
 *
 * VALUE(x) is the number of an element: FLOATING elements are widened, and an element of bool is 0 or 1. */
#include "common.cl"
#include "elementwise.cl"

#ifdef FLOATING
#define VALUE(x) JOIN(widen, X)(x)
#elif defined(TRUTH)
#define VALUE(x) ((x) != 0)
#else
#define VALUE(x) (x)
#endif

#define UNARY_TRUTH(name, holds)                                                                                       \
    static inline Y_STORAGE name##_truth(X_STORAGE of_x) {                                                             \
        const JOIN(number, X) x = VALUE(of_x);                                                                         \
        return (holds) ? 1 : 0;                                                                                        \
    }                                                                                                                  \
    UNARY(name##_all, name##_truth)
#define BINARY_TRUTH(name, holds)                                                                                      \
    static inline Y_STORAGE name##_truth(X_STORAGE of_a, X_STORAGE of_b) {                                             \
        const JOIN(number, X) a = VALUE(of_a), b = VALUE(of_b);                                                        \
        return (holds) ? 1 : 0;                                                                                        \
    }                                                                                                                  \
    BINARY(name##_all, name##_truth)

#ifdef FLOATING
UNARY_TRUTH(isnan, x != x)
UNARY_TRUTH(isinf, x == INFINITY || x == -INFINITY)
UNARY_TRUTH(isfinite, x > -INFINITY && x < INFINITY)
#endif
UNARY_TRUTH(logical_not, x == 0)
BINARY_TRUTH(equal, a == b)
BINARY_TRUTH(not_equal, a != b)
BINARY_TRUTH(less, a < b)
BINARY_TRUTH(less_equal, a <= b)
BINARY_TRUTH(greater, a > b)
BINARY_TRUTH(greater_equal, a >= b)
BINARY_TRUTH(logical_and, a != 0 && b != 0)
BINARY_TRUTH(logical_or, a != 0 || b != 0)
BINARY_TRUTH(logical_xor, (a != 0) != (b != 0))
#ifdef TRUTH
UNARY_TRUTH(bitwise_invert, x == 0)
BINARY_TRUTH(bitwise_and, a != 0 && b != 0)
BINARY_TRUTH(bitwise_or, a != 0 || b != 0)
BINARY_TRUTH(bitwise_xor, (a != 0) != (b != 0))
#endif
