/* options.c - implements options.h. */
#include "support/options.h"

#include "support/capability.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

bp_options *test_options(const char *settings) {
    bp_options *options = NULL;
    if (test_options_new(&options, settings) != BP_OK) {
        fail_msg("%s: %s", settings, bp_last_error());
    }
    return options;
}
