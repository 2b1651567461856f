/* short.c - a libcudnn.so.9 that lacks functions, as one of another version could. */
#include "backplane/version.h"

#include <stddef.h>

BP_API size_t cudnnGetVersion(void);
BP_API int cudnnCreate(void *made);

size_t cudnnGetVersion(void) {
    return 92801;
}

int cudnnCreate(void *made) {
    (void)made;
    return 1;
}
