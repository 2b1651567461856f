/* check.hpp - reports failed checks of the C++ tests; main() returns checks_failed(). */
#ifndef BP_TESTS_CHECK_HPP
#define BP_TESTS_CHECK_HPP

#include <cmath>
#include <cstdio>

inline int &failed_checks() {
    static int count = 0;
    return count;
}

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                       \
            failed_checks()++;                                                                                         \
        }                                                                                                              \
    } while (0)

inline bool near(double got, double want, double tolerance = 1e-12) {
    return std::fabs(got - want) <= tolerance * (1 + std::fabs(want));
}

#endif
