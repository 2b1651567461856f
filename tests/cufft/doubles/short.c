/* short.c - a libcufft.so.12 that lacks functions, as one of another version could. */
#include "backplane/version.h"

BP_API int cufftGetVersion(int *version);
BP_API int cufftCreate(int *made);

int cufftGetVersion(int *version) {
    *version = 12000;
    return 0;
}

int cufftCreate(int *made) {
    *made = 0;
    return 1;
}
