/* message.c - prints the messages of the drop-in libraries, which have no caller to report to.
 *
 * The routines of BLAS return no status, so a wrong argument or a missing routine can only be told to the user.
 */
#include "dropin/internal.h"

#include <stdio.h>
#include <stdlib.h>

void bp__dropin_say_v(const char *format, va_list arguments) {
    vfprintf(stderr, format, arguments);
}

void bp__dropin_say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    bp__dropin_say_v(format, arguments);
    va_end(arguments);
}

void bp__dropin_end(void) {
    enum { AS_THE_LOADER = 127 };
    _Exit(AS_THE_LOADER);
}
