/* short.c - a libcublasLt.so.13 that lacks functions, as one of another version could. */
#include "backplane/version.h"

#include <stddef.h>

BP_API size_t cublasLtGetVersion(void);
BP_API int cublasLtCreate(void **made);

size_t cublasLtGetVersion(void) {
    return 130100;
}

int cublasLtCreate(void **made) {
    *made = NULL;
    return 1;
}
