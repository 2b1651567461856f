/* status.h - defines the status codes, error messages, the allocator and bp_reset.
 *
 * A function that can fail returns a bp_status: BP_OK is 0, every other value is one kind of failure. Each thread keeps
 * the message of its last failure. The message names the argument, its value and what would be right. The library
 * neither prints it nor aborts. All functions are thread-safe unless a comment says otherwise.
 *
 * A function whose name ends in _at returns the entry of a list: 1 and fills a struct, or a pointer; 0 or NULL past the
 * end. So `for (int i = 0; bp_library_at(i, &library); i++)` visits all.
 */
#ifndef BACKPLANE_STATUS_H
#define BACKPLANE_STATUS_H

#include "backplane/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The list of status codes: number, NAME, text. The enum, names, texts, the command's exit codes and
 * docs/reference/status.md are generated from it. Numbers have gaps between groups. A published number never changes.
 */
/* clang-format off */
#define BP_STATUS_MAP(X)                                                                   \
    X(0, OK, "success")                                                                    \
    /* The caller's arguments. */                                                          \
    X(1, E_ARGUMENT, "invalid argument")                                                   \
    X(2, E_SHAPE, "shapes do not fit the operation")                                       \
    X(3, E_DTYPE, "data type not accepted")                                                \
    X(4, E_DEVICE, "tensor is on a device that the operation cannot reach")                \
    X(5, E_LAYOUT, "memory layout not accepted")                                           \
    X(6, E_OVERLAP, "output memory overlaps an input or itself")                           \
    X(7, E_OVERFLOW, "a size does not fit the integer type it must be computed in")        \
    /* Settings and scopes. */                                                             \
    X(20, E_UNKNOWN_NAME, "no such name")                                                  \
    X(21, E_BAD_VALUE, "value not accepted by the setting")                                \
    X(22, E_READ_ONLY, "setting cannot be changed here")                                   \
    X(23, E_SCOPE, "scope entered or left in the wrong place")                             \
    /* Libraries and providers. */                                                         \
    X(40, E_NOT_FOUND, "library not found")                                                \
    X(41, E_LOAD, "library could not be loaded")                                           \
    X(42, E_BROKEN, "library does not work on this machine")                               \
    X(43, E_ABI, "binary interface version not accepted")                                  \
    X(44, E_TIMEOUT, "time limit reached")                                                 \
    X(45, E_UNTRUSTED, "path is not trusted")                                              \
    X(46, E_SYMBOL, "library lacks a needed symbol")                                       \
    /* Choice. */                                                                          \
    X(60, E_UNSUPPORTED, "not supported")                                                  \
    X(61, E_CONSTRAINT, "a constraint rules this out")                                     \
    X(62, E_NO_CANDIDATE, "no provider accepts this call")                                 \
    X(63, E_FALLBACK, "falling back is forbidden by dispatch.fallback=strict")             \
    X(64, E_FORKED, "library does not survive fork and was in use before it")              \
    /* The machine. NO_MEMORY: an allocation failed, or a limit (RLIMIT_AS, RLIMIT_DATA)   \
     * leaves less than the library needs, which is not called then. */                    \
    X(80, E_NO_MEMORY, "out of memory")                                                    \
    X(81, E_IO, "input or output failed")                                                  \
    X(82, E_SYSTEM, "a system call failed")                                                \
    X(83, E_BUSY, "resource is in use")                                                    \
    X(84, E_CANCELLED, "stopped by the caller's interrupt check")                          \
    /* Files. */                                                                           \
    X(100, E_FORMAT, "file is not in the expected format")                                 \
    X(101, E_TRUNCATED, "file ends too early")                                             \
    /* Numerics. */                                                                        \
    X(120, E_SINGULAR, "matrix is singular")                                               \
    X(121, E_NOT_POSITIVE_DEFINITE, "matrix is not positive definite")                     \
    X(122, E_NOT_CONVERGED, "iteration did not converge")                                  \
    X(123, E_WRONG_RESULT, "library gave a wrong result")                                  \
    X(124, E_NON_FINITE, "input holds NaN or infinity")                                    \
    /* Ourselves. */                                                                       \
    X(200, E_INTERNAL, "internal error, please report it")
/* clang-format on */

typedef enum bp_status {
#define BP__ENTRY(number, name, text) BP_##name = number,
    BP_STATUS_MAP(BP__ENTRY)
#undef BP__ENTRY
} bp_status;

/* Returns the constant's name without its prefix ("E_SHAPE"), or "E_?" if the number is not a status. Never NULL. */
BP_API const char *bp_status_name(bp_status status);

/* Returns the status's text from the list above, or "unknown status". Never NULL; static storage. */
BP_API const char *bp_status_text(bp_status status);

/* Sets *status to entry `index` (0, 1, ...) of the list and returns 1. Returns 0 past the end. */
BP_API int bp_status_at(int index, bp_status *status);

/* Returns the message of the calling thread's last failure, or "" if there was none. A successful call does not change
 * it. The pointer is valid in that thread until its next failing call. */
BP_API const char *bp_last_error(void);

/* Returns the status that belongs to bp_last_error(). */
BP_API bp_status bp_last_status(void);

/* Memory functions for everything that the library allocates. `user` is passed to each of them. Sizes are in bytes and
 * never 0. All three are called from any thread. */
typedef struct bp_allocator {
    void *(*allocate)(void *user, size_t size);
    void *(*reallocate)(void *user, void *old, size_t size);
    void (*release)(void *user, void *block);
    void *user;
} bp_allocator;

/* Replaces the allocator; NULL restores malloc. Copies *allocator. Errors: BP_E_ARGUMENT (a function is NULL),
 * BP_E_BUSY if the library holds memory: call it before any other function, or after bp_reset(). */
BP_API bp_status bp_set_allocator(const bp_allocator *allocator);

/* Frees all memory: the plan caches, the library list, the calling thread's scopes and the process layer of settings.
 * Math libraries stay loaded, because their threads cannot be unloaded safely. Not thread-safe: no other thread may be
 * inside the library. Errors: BP_E_BUSY if the program still has a plan, an explanation, options, or another thread's
 * scope: release them first; or if another thread measures the libraries, see calibrate.h. */
BP_API bp_status bp_reset(void);

#ifdef __cplusplus
}
#endif
#endif
