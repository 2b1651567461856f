/* complex.c - calls complex functions of libraries that return their result in another way than the program expects.
 *
 * gfortran's functions return a complex number in registers. Functions of Intel's Fortran and of f2c get an address for
 * it as an additional first argument. The names are equal. All of them have at most five arguments, all of them
 * addresses.
 */
#include "dropin/entry.h"

#include <complex.h>
#include <string.h>

bool bp__dropin_returns_complex(int routine) {
    static const char *const names[] = {"cdotc", "cdotu", "zdotc", "zdotu", "cladiv", "zladiv"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], bp__dropin_names[routine]) == 0) {
            return true;
        }
    }
    return false;
}

typedef const void *argument;
typedef float complex returns_single(argument, argument, argument, argument, argument);
typedef double complex returns_double(argument, argument, argument, argument, argument);
typedef void stores(void *, argument, argument, argument, argument, argument);

void bp__dropin_convert(const bp__dropin_slot *slot, bp__dropin_frame *frame, const bp__dropin_target *target) {
    bool single = bp__dropin_names[bp__dropin_routine(slot)][0] == 'c';
    int first =
        target->hidden ? 0 : 1; /* the program's first argument is the result's address if the routine has none */
    argument a[5];
    for (int i = 0; i < 5; i++) {
        a[i] = bp__dropin_address(frame, first + i);
    }
    if (target->hidden) {
        double complex result = 0;
        ((stores *)(uintptr_t)target->routine)(&result, a[0], a[1], a[2], a[3], a[4]);
        memcpy(&frame->vector_result[0][0], &result, 8); /* a single-precision one fills half a register */
        memcpy(&frame->vector_result[1][0], (char *)&result + 8, 8);
    } else if (single) {
        float complex result = ((returns_single *)(uintptr_t)target->routine)(a[0], a[1], a[2], a[3], a[4]);
        memcpy((void *)(uintptr_t)frame->integers[0], &result, sizeof result);
    } else {
        double complex result = ((returns_double *)(uintptr_t)target->routine)(a[0], a[1], a[2], a[3], a[4]);
        memcpy((void *)(uintptr_t)frame->integers[0], &result, sizeof result);
    }
}
