/* status.h - what every public function returns, and where the detail of a failure is kept.
 *
 * A function that can fail returns a bp_status. BP_OK is zero; every other value names one kind of failure.
 * The sentence that tells which argument was wrong, what was wrong with it and what would be right is kept per
 * thread and read with bp_last_error(). The library never prints it, and never aborts.
 */
#ifndef BACKPLANE_STATUS_H
#define BACKPLANE_STATUS_H

#include "backplane/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The one list of status codes: number, NAME, text. The enum, the names, the texts, the command line's exit codes and
 * the reference page derive from it. Numbers are grouped by family with gaps, and a published number never changes. */
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
    /* The machine. */                                                                     \
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
#define X(number, name, text) BP_##name = number,
    BP_STATUS_MAP(X)
#undef X
} bp_status;

/* The constant's name without its prefix ("E_SHAPE"), or "E_?" for a number that is not a status. Never NULL. */
BP_API const char *bp_status_name(bp_status status);

/* The constant's one-line meaning, or "unknown status". Never NULL, static storage. */
BP_API const char *bp_status_text(bp_status status);

/* Walks the list: the status at position `index` (0, 1, ...); returns 0 past the end, 1 otherwise. */
BP_API int bp_status_at(int index, bp_status *status);

/* The sentence for the last failure in the calling thread; "" before the first one. Success leaves it alone. The
 * pointer stays valid in that thread until its next failing call. */
BP_API const char *bp_last_error(void);

/* The status that belongs to bp_last_error(). */
BP_API bp_status bp_last_status(void);

/* Memory functions for everything that the library allocates. `user` is passed through. Sizes are never zero. */
typedef struct bp_allocator {
    void *(*allocate)(void *user, size_t size);
    void *(*reallocate)(void *user, void *old, size_t size);
    void (*release)(void *user, void *block);
    void *user;
} bp_allocator;

/* Replaces the allocator, NULL restores malloc. Only while the library holds no memory: before the first other call,
 * or after bp_reset(); otherwise BP_E_BUSY. */
BP_API bp_status bp_set_allocator(const bp_allocator *allocator);

/* Gives back all memory and forgets the plan cache, the library list, scopes of the calling thread and the process
 * layer of settings; math libraries stay loaded, because their threads cannot be unloaded safely. No other thread may
 * be inside the library. Held plans, explanations, options and other threads' scopes must be released before: BP_E_BUSY
 * otherwise. */
BP_API bp_status bp_reset(void);

#ifdef __cplusplus
}
#endif
#endif
