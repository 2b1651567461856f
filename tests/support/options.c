/* options.c - implements options.h. */
#include "support/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Whether the processor has the instruction set that follows `capability`. */
static bool is_here(const char *capability, size_t length) {
    char text[64];
    bp_options *options;
    snprintf(text, sizeof text, "%.*s", (int)length, capability);
    const bool here = bp_options_new(&options, text) == BP_OK;
    if (here) {
        bp_options_release(options);
    }
    return here;
}

bp_options *test_options(const char *settings) {
    static const char name[] = "cpu.capability=";
    const char *capability = strstr(settings, name);
    const size_t length = capability ? strcspn(capability, ",") : 0;
    char text[512];
    bp_options *options;
    if (capability && !is_here(capability, length)) {
        snprintf(text, sizeof text, "%.*s%sauto%s", (int)(capability - settings), settings, name, capability + length);
    } else {
        snprintf(text, sizeof text, "%s", settings);
    }
    if (bp_options_new(&options, text) != BP_OK) {
        fail_msg("%s: %s", text, bp_last_error());
    }
    return options;
}
