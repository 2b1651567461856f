/* api.h - declares the types, functions and constants of NVRTC (12 and 13) that the provider calls, also for the test
 * that compares them with the installed header. Types have NVIDIA's names, so that they are the same types as in that
 * header. That test includes it first, and defines BP__NVRTC_HEADER. */
#ifndef BP_PROVIDERS_NVRTC_API_H
#define BP_PROVIDERS_NVRTC_API_H

#include <stddef.h>

#ifndef BP__NVRTC_HEADER
typedef unsigned nvrtcResult; /* an enumeration of 32 bits */
typedef struct _nvrtcProgram *nvrtcProgram;
#endif

/* X(name, symbol, parameters). All return an nvrtcResult. */
/* clang-format off */
#define BP__NVRTC_FUNCTIONS(X)                                                                                         \
    X(CreateProgram, nvrtcCreateProgram,                                                                               \
      (nvrtcProgram *, const char *, const char *, int, const char *const *, const char *const *))                     \
    X(DestroyProgram, nvrtcDestroyProgram, (nvrtcProgram *))                                                           \
    X(CompileProgram, nvrtcCompileProgram, (nvrtcProgram, int, const char *const *))                                   \
    X(GetProgramLogSize, nvrtcGetProgramLogSize, (nvrtcProgram, size_t *))                                             \
    X(GetProgramLog, nvrtcGetProgramLog, (nvrtcProgram, char *))                                                       \
    X(GetCUBINSize, nvrtcGetCUBINSize, (nvrtcProgram, size_t *))                                                       \
    X(GetCUBIN, nvrtcGetCUBIN, (nvrtcProgram, char *))                                                                 \
    X(GetPTXSize, nvrtcGetPTXSize, (nvrtcProgram, size_t *))                                                           \
    X(GetPTX, nvrtcGetPTX, (nvrtcProgram, char *))                                                                     \
    X(GetNumSupportedArchs, nvrtcGetNumSupportedArchs, (int *))                                                        \
    X(GetSupportedArchs, nvrtcGetSupportedArchs, (int *))

/* The statuses that we treat apart: X(name without "NVRTC_", number, what it means to us) */
#define BP__NVRTC_STATUSES(X)                                                                                          \
    X(SUCCESS, 0, BP_OK) X(ERROR_OUT_OF_MEMORY, 1, BP_E_NO_MEMORY)                                                     \
    X(ERROR_PROGRAM_CREATION_FAILURE, 2, BP_E_BROKEN) X(ERROR_INVALID_INPUT, 3, BP_E_BROKEN)                           \
    X(ERROR_INVALID_PROGRAM, 4, BP_E_BROKEN) X(ERROR_INVALID_OPTION, 5, BP_E_BROKEN)                                   \
    X(ERROR_COMPILATION, 6, BP_E_BROKEN) X(ERROR_BUILTIN_OPERATION_FAILURE, 7, BP_E_BROKEN)                            \
    X(ERROR_INTERNAL_ERROR, 11, BP_E_BROKEN)
/* clang-format on */

enum {
#define X(name, number, means) BP__NVRTC_##name = number,
    BP__NVRTC_STATUSES(X)
#undef X
};

/* The functions of a loaded library. */
typedef struct bp__nvrtc_api {
#define X(name, symbol, parameters) nvrtcResult(*name) parameters;
    BP__NVRTC_FUNCTIONS(X)
#undef X
} bp__nvrtc_api;

#endif
