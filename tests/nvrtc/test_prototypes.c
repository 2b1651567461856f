/* test_prototypes.c - checks our prototypes and constants against an installed header of NVRTC, where a mismatch does
 * not compile. */
#if defined(__has_include)
#if __has_include(<nvrtc.h>)
#include <nvrtc.h>
#define BP__NVRTC_HEADER
#endif
#endif

#include "providers/nvrtc/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifdef BP__NVRTC_HEADER
#define FUNCTION(name, symbol, parameters)                                                                             \
    typedef nvrtcResult our_##symbol parameters;                                                                       \
    _Static_assert(__builtin_types_compatible_p(__typeof__(symbol), our_##symbol), #symbol);
BP__NVRTC_FUNCTIONS(FUNCTION)
#define STATUS(name, number, means) _Static_assert(NVRTC_##name == number, "NVRTC_" #name);
BP__NVRTC_STATUSES(STATUS)
_Static_assert(sizeof(nvrtcResult) == 4, "size of the type");
#endif

static void header_is_installed(void **state) {
    (void)state;
#ifndef BP__NVRTC_HEADER
    print_message("skipped: no header of NVRTC is installed\n");
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(header_is_installed)};
    return cmocka_run_group_tests_name("prototypes", tests, NULL, NULL);
}
