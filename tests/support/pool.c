/* pool.c - implements pool.h. */
#include "support/pool.h"

#include "machine/internal.h"

int test_stop_pool(void **state) {
    (void)state;
    bp__pool_stop();
    return 0;
}
