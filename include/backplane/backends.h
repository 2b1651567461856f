/* backends.h - the backends that torch.backends names: what each is here, answered from fact, with the reason.
 *
 * Nothing here is a constant that pretends. `built`: this version has a provider for it, and the provider is there.
 * `present`: its library was found and is not broken; a GPU library counts although it cannot be tried without a
 * driver. `available`: an operation can run on it here and now. `enabled`: available, and no setting keeps dispatch
 * from using it. All functions are thread-safe; the first call makes the list of libraries, see library.h.
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
    int64_t version_number; /* the same, counted as the backend does: 91900 for cuDNN 9.19.0; 0 when unknown */
    const char *setting;    /* the switch behind `enabled`: "mkl.enabled"; "" when there is none */
    const char *reason;     /* why it is not available, one sentence; "" when it is */
} bp_backend_info;

/* Walks the list: 1 and *info, or 0 past the end, for a NULL pointer and for an unknown struct_size. */
BP_API int bp_backend_at(int index, bp_backend_info *info);

/* One backend by name. Errors: BP_E_ARGUMENT, BP_E_UNKNOWN_NAME (the sentence has the nearest names), and those of
 * bp_library_count(). */
BP_API bp_status bp_backend_status(const char *name, bp_backend_info *info);

/* Whether anything here answers to a setting: 1, or 0 with *why (may be NULL) saying what is missing. Switches of
 * backends that are not there can be read and written, so that programs run unchanged everywhere; this tells that they
 * steer nothing. 1 also for an unknown name. *why lives until bp_reset(). */
BP_API int bp_setting_has_effect(const char *name, const char **why);

/* Checks a library for one of the settings blas.preferred, linalg.preferred and fft.preferred: whether a library of
 * that name (id, family, SONAME, absolute path, or provider) is here and offers the operations that the setting is
 * about. "" and "default" mean no preference, and are BP_OK. Makes the list of libraries on first use. Settings are
 * stored unchecked by bp_set() and its relatives, by files and by variables, which may be shared by machines with other
 * libraries; a call that cannot follow a preference then does what dispatch.fallback says.
 * Errors: BP_E_ARGUMENT, BP_E_UNKNOWN_NAME (not one of these settings), BP_E_BAD_VALUE (no setting takes the text),
 * BP_E_NOT_FOUND (the sentence lists the libraries there are, and the nearest names), BP_E_UNSUPPORTED (the library is
 * here, without such operations), BP_E_BROKEN, BP_E_UNTRUSTED, BP_E_NO_MEMORY. */
BP_API bp_status bp_preferred_check(const char *setting, const char *library);

/* Checks a library likewise, and then writes the setting's process layer. On failure the setting stays as it was. */
BP_API bp_status bp_preferred_set(const char *setting, const char *library);

#ifdef __cplusplus
}
#endif
#endif
