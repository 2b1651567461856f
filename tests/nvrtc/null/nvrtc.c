/* nvrtc.c - a libnvrtc.so.13 that compiles every program to nothing, for use with the driver that does nothing
 * (tests/cublas), so that gpu_check measures what the library itself costs on the host. */
#include "providers/nvrtc/api.h"

#include "backplane/version.h"

#include <string.h>

#define X(name, symbol, parameters) BP_API nvrtcResult symbol parameters;
BP__NVRTC_FUNCTIONS(X)
#undef X
BP_API nvrtcResult nvrtcVersion(int *major, int *minor);

static const char code[] = "nothing";

nvrtcResult nvrtcVersion(int *major, int *minor) {
    *major = 13;
    *minor = 0;
    return BP__NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int header_count,
                               const char *const *headers, const char *const *names) {
    (void)source, (void)name, (void)header_count, (void)headers, (void)names;
    *program = NULL;
    return BP__NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
    (void)program;
    return BP__NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options) {
    (void)program, (void)count, (void)options;
    return BP__NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size) {
    (void)program;
    *size = 1;
    return BP__NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log) {
    (void)program;
    *log = '\0';
    return BP__NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size) {
    (void)program;
    *size = sizeof code;
    return BP__NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *to) {
    (void)program;
    memcpy(to, code, sizeof code);
    return BP__NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *size) {
    return nvrtcGetCUBINSize(program, size);
}

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *to) {
    return nvrtcGetCUBIN(program, to);
}

nvrtcResult nvrtcGetNumSupportedArchs(int *count) {
    *count = 1;
    return BP__NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int *list) {
    list[0] = 50;
    return BP__NVRTC_SUCCESS;
}
