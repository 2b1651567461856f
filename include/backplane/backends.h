/* backends.h - reports the state of each backend of torch.backends on this machine, with the reason.
 *
 * All fields are determined at run time. `built`: this version has a provider for it, and the provider is installed.
 * `present`: its library was found and is not broken; a GPU library counts although it cannot be probed without a
 * driver. `available`: an operation can run on it now. `enabled`: available, and no setting keeps dispatch from using
 * it. All functions are thread-safe. The first call builds the list of libraries, see library.h.
 */
#ifndef BACKPLANE_BACKENDS_H
#define BACKPLANE_BACKENDS_H

#include "backplane/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Strings are "" when unknown, never NULL, and live until bp_reset(). */
typedef struct bp_backend_info {
    size_t struct_size; /* set by the caller: sizeof(bp_backend_info) */
    const char *name;   /* "cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", ... */
    int built, present, available, enabled;
    const char *version;    /* of the library: "9.19.0" */
    int64_t version_number; /* the version in the backend's own numbering: 91900 for cuDNN 9.19.0; 0 when unknown */
    const char *setting;    /* the setting behind `enabled`: "mkl.enabled"; "" when there is none */
    const char *reason;     /* why it is not available; "" if it is */
} bp_backend_info;

/* Fills *info with entry `index` (0, 1, ...) of the list and returns 1. Returns 0 past the end, for NULL and for an
 * unknown struct_size. */
BP_API int bp_backend_at(int index, bp_backend_info *info);

/* Fills *info with the backend of that name. Errors: BP_E_ARGUMENT, BP_E_UNKNOWN_NAME (the message has the nearest
 * names), and the errors of bp_library_count(). */
BP_API bp_status bp_backend_status(const char *name, bp_backend_info *info);

/* Returns 1 if a provider or library on this machine uses the setting, or if the name is unknown. Otherwise returns 0
 * and sets *why (may be NULL) to the reason, which is valid until bp_reset(). Settings of absent backends can be read
 * and written, so that programs run unchanged on every machine; this function tells that they have no effect here. */
BP_API int bp_setting_has_effect(const char *name, const char **why);

/* Checks a value for a setting of a preferred library, such as blas.preferred or conv.preferred: a library of that name
 * (id, family, SONAME, absolute path, or provider) must be on this machine and offer the setting's operations. "" and
 * "default" mean no preference, and give BP_OK. bp_set(), files and environment variables store these settings without
 * this check, because machines with different libraries may share them; if a call then cannot follow the preference,
 * dispatch.fallback applies.
 * Errors: BP_E_ARGUMENT, BP_E_UNKNOWN_NAME (not one of these settings), BP_E_BAD_VALUE (not valid for any setting),
 * BP_E_NOT_FOUND (the message lists the libraries found and the nearest names), BP_E_UNSUPPORTED (the library does not
 * offer these operations), BP_E_BROKEN, BP_E_UNTRUSTED, BP_E_NO_MEMORY. */
BP_API bp_status bp_preferred_check(const char *setting, const char *library);

/* Checks a value as bp_preferred_check() does, then writes it to the process layer. An error leaves the setting
 * unchanged. */
BP_API bp_status bp_preferred_set(const char *setting, const char *library);

#ifdef __cplusplus
}
#endif
#endif
