/* short.c - a libcusolver.so.12 that lacks functions, as one of another version could. */
#include "backplane/version.h"

BP_API int cusolverGetVersion(int *version);
BP_API int cusolverDnCreate(void **made);

int cusolverGetVersion(int *version) {
    *version = 12004;
    return 0;
}

int cusolverDnCreate(void **made) {
    *made = 0;
    return 1;
}
