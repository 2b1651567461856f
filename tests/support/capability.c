/* capability.c - implements capability.h. */
#include "capability.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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

bp_status test_options_new(bp_options **options, const char *settings) {
    static const char name[] = "cpu.capability=";
    const char *capability = strstr(settings, name);
    const size_t length = capability ? strcspn(capability, ",") : 0;
    char text[512];
    if (!capability || is_here(capability, length)) {
        return bp_options_new(options, settings);
    }
    snprintf(text, sizeof text, "%.*s%sauto%s", (int)(capability - settings), settings, name, capability + length);
    return bp_options_new(options, text);
}
