/* errors.c - names the driver's errors, and says what they mean for the device. */
#include "providers/cuda/runtime.h"

/* Errors of commands. After one of them the driver answers every call in the context with it, until the process ends.
 */
static bool is_of_command(int64_t code) {
    switch (code) {
    case BP__CU_ECC_UNCORRECTABLE:
    case BP__CU_NVLINK_UNCORRECTABLE:
    case BP__CU_ILLEGAL_ADDRESS:
    case BP__CU_LAUNCH_TIMEOUT:
    case BP__CU_ASSERT:
    case BP__CU_HARDWARE_STACK_ERROR:
    case BP__CU_ILLEGAL_INSTRUCTION:
    case BP__CU_MISALIGNED_ADDRESS:
    case BP__CU_INVALID_ADDRESS_SPACE:
    case BP__CU_INVALID_PC:
    case BP__CU_LAUNCH_FAILED:
    case BP__CU_MPS_CLIENT_TERMINATED:
        return true;
    default:
        return false;
    }
}

bool bp__cu_ends_use(int64_t code) {
    return is_of_command(code) || code == BP__CU_DEINITIALIZED || code == BP__CU_DEVICE_UNAVAILABLE ||
           code == BP__CU_INVALID_CONTEXT || code == BP__CU_CONTEXT_IS_DESTROYED;
}

/* The driver has one error for a context, and not one for each command. */
const char *bp__cu_error_name(int64_t code, int *lost) {
    const char *name = NULL;
    if (lost) {
        *lost = (bp__cu_ends_use(code) ? BP_ERROR_LOST : 0) | (is_of_command(code) ? BP_ERROR_FOUND_LATER : 0);
    }
    return bp__cu.GetErrorName && bp__cu.GetErrorName((CUresult)code, &name) == BP__CU_SUCCESS && name
               ? name
               : "unknown error";
}

static bp_status status_of(CUresult code) {
    switch (code) {
    case BP__CU_OUT_OF_MEMORY:
        return BP_E_NO_MEMORY;
    case BP__CU_NOT_SUPPORTED:
    case BP__CU_STREAM_CAPTURE_UNSUPPORTED:
    case BP__CU_STREAM_CAPTURE_INVALIDATED:
    case BP__CU_STREAM_CAPTURE_IMPLICIT:
    case BP__CU_CAPTURED_EVENT:
        return BP_E_UNSUPPORTED;
    default:
        return BP_E_DEVICE;
    }
}

bp_status bp__cu_fail(const bp_host *host, CUresult code, const char *what) {
    return host->fail(
        status_of(code), "cuda: %s: %s (%d)%s", what, bp__cu_error_name((int64_t)code, NULL), (int)code,
        is_of_command((int64_t)code) ? "; it was found here, an earlier command of the process has caused it" : "");
}
