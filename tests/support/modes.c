/* modes.c - implements modes.h. */
#include "support/modes.h"

#include <stdlib.h>

bool test_takes_all(void) {
    return getenv("TESTED_ALL") != NULL;
}

bool test_leaves_out(int number, int parts) {
    return number % parts != 0 && !test_takes_all();
}
