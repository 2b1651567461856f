/* base.h - utilities used by all modules: errors, memory, strings, files, JSON, environment.
 *
 * Internal. Names shared between files start with bp__; the library exports none of them.
 */
#ifndef BP_BASE_H
#define BP_BASE_H

#include "backplane/status.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define BP__COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define BP__LIKELY(x) __builtin_expect(!!(x), 1)
#define BP__UNLIKELY(x) __builtin_expect(!!(x), 0)
/* A function whose variables are not part of its caller's frame, so that they are not on the stack below other calls of
 * the caller: for large variables on deep paths, and for work that a frequent path rarely does. */
#define BP__OWN_FRAME __attribute__((noinline))

/* ---- Failures (error.c) ---- */

/* Stores the status and the message for bp_last_error() of this thread. Returns `status`. The message may quote the
 * previous one, because it is formatted before it is stored. A message longer than 8191 bytes is cut and ends with
 * "...". */
bp_status bp__fail(bp_status status, const char *format, ...) BP_PRINTF(2, 3);
bp_status bp__fail_v(bp_status status, const char *format, va_list args);

/* Stores the message for a failed allocation of `size` bytes "for <what>". Returns BP_E_NO_MEMORY. */
bp_status bp__fail_memory(size_t size, const char *what);
#ifdef __clang_analyzer__ /* the analyzer reads one file at a time and would assume that these functions may return    \
                             BP_OK */
#define bp__fail(status, ...) (bp__fail(status, __VA_ARGS__), (status))
#define bp__fail_memory(size, what) (bp__fail_memory(size, what), BP_E_NO_MEMORY)
#endif

/* Frees the long messages of all threads; their statuses stay. For bp_reset(). */
void bp__error_reset(void);

/* bp__error_hold() saves the thread's last error, so that code whose errors the caller must not see can run.
 * bp__error_return() restores it. bp__error_finish() does so if `status` is BP_OK, and otherwise keeps the new error:
 * for code that may recover from failures. It returns `status`. */
typedef struct bp__held_error {
    void *opaque[20];
} bp__held_error;
void bp__error_hold(bp__held_error *held);
void bp__error_return(const bp__held_error *held);
bp_status bp__error_finish(const bp__held_error *held, bp_status status);

/* Returns from the function with the error that a callee has reported. */
#define BP__TRY(expression)                                                                                            \
    do {                                                                                                               \
        bp_status bp__try_status = (expression);                                                                       \
        if (BP__UNLIKELY(bp__try_status != BP_OK)) {                                                                   \
            return bp__try_status;                                                                                     \
        }                                                                                                              \
    } while (0)

/* ---- Interruption (interrupt.c): see interrupt.h ---- */

/* Calls the calling thread's check. Returns true if the call must stop. Call it only without locks held and where
 * everything can be released. Long loops call it about every tenth of a millisecond. */
bool bp__interrupted(void);
/* As bp__interrupted, for loops that do not count their work; see bp_host.interrupt_due. */
int bp__interrupt_due(int64_t *since);
/* For a loop over elements: adds the number of elements done since the last call. A loop starts with zeros. */
typedef struct bp__pace {
    int64_t since, elements;
} bp__pace;
static inline bool bp__pace_due(bp__pace *pace, int64_t elements) {
    const int64_t many = 1 << 14;
    pace->elements += elements;
    if (BP__LIKELY(pace->elements < many)) {
        return false;
    }
    pace->elements = 0;
    return bp__interrupt_due(&pace->since);
}
/* Suppresses the thread's check (true), or enables it again (false), because the thread runs work of a call of another
 * thread. Returns the previous state. */
bool bp__interrupt_silence(bool silent);
/* Returns whether the thread has a check that would be called. */
bool bp__interrupt_is_set(void);
/* Returns whether the check is running. If so, a call into the library comes from within a call that has not returned.
 */
bool bp__interrupt_check_runs(void);
/* Stores the message "<what> was stopped by ...". Returns BP_E_CANCELLED. */
bp_status bp__fail_cancelled(const char *what);

/* ---- Memory (memory.c; text.h has bp__realloc and bp__free): the library makes all allocations here, so that an
 * allocator of the host program, or a test that lets the n-th allocation fail, sees every one. ---- */
void *bp__alloc(size_t size);                    /* uninitialised; NULL if out of memory */
void *bp__alloc_zero(size_t count, size_t size); /* checks the product for overflow */
void *bp__alloc_aligned(size_t size);            /* to 64 bytes; free it with bp__free_aligned */
void bp__free_aligned(void *block);
char *bp__strdup(const char *text);
int64_t bp__live_blocks(void); /* blocks that are allocated and not freed */

/* Returns a string that lives as long as the process; equal texts give equal pointers. Returns NULL if out of memory.
 * bp__intern_reset frees all of them. */
const char *bp__intern(const char *text);
void bp__intern_reset(void);

/* ---- Structs that grow (struct.c): `size` is the size in this version; `name` is the argument, for messages ---- */
bool bp__struct_usable(const void *given); /* not NULL, and its struct_size is plausible */
bp_status bp__struct_check(const void *given, size_t size, const char *name);
/* Refuses a usable struct whose struct_size ends inside a member of several words. */
bp_status bp__struct_check_member(const void *given, size_t from, size_t bytes, const char *member);
#define BP__STRUCT_MEMBER(given, type, member)                                                                         \
    bp__struct_check_member(given, offsetof(type, member), sizeof((type *)NULL)->member, #member)
/* Fills a usable struct of the caller up to its struct_size, which stays unchanged. */
void bp__struct_write(void *given, const void *own, size_t size);
/* Returns a struct of the caller in the layout of this version: the struct itself if the sizes are equal, else a copy
 * in `own`. Returns NULL, with an error (BP_E_ARGUMENT), if it cannot be read. */
const void *bp__struct_read(void *own, size_t size, const void *given, const char *name);

/* ---- Files (file.c) ---- */
/* Reads a regular file of at most `limit` bytes, NUL added; BP_E_NOT_FOUND, BP_E_IO, BP_E_OVERFLOW, BP_E_NO_MEMORY. */
bp_status bp__file_read(const char *path, size_t limit, char **bytes, size_t *size);
/* Reads the beginning of a small text file of the kernel and adds NUL. Returns false and "" if it cannot be read.
 * Allocates nothing and stores no error. */
bool bp__read_text(const char *path, char *buffer, size_t size);
/* Writes to a temporary file in the same directory, syncs it, and renames it to `path`. Makes missing directories as
 * bp__file_make_folders does. Removes temporary files of processes that were killed while they wrote this file. */
bp_status bp__file_replace(const char *path, size_t given, const void *bytes, size_t size);
/* Makes the missing directories above a file (mode 0700). The directory that the first `given` bytes of the path name
 * must exist; BP_E_NOT_FOUND if it does not. With 0 every directory is made. */
bp_status bp__file_make_folders(const char *path, size_t given);
/* Makes the missing directory of a file that all users read (mode 0755), but none above it. Returns the length of the
 * path of that directory, which does not exist if it could not be made. */
size_t bp__file_make_shared_folder(const char *path);
/* Returns whether the first `length` bytes of a path name a directory; true if `length` is 0. */
bool bp__is_folder(const char *path, size_t length);
/* Writes the path of a directory of the user: the value of the XDG variable, or else `below_home` in $HOME. *given is
 * the length of the part that is never made: the parent of the variable's directory, or $HOME. Returns false if
 * neither variable holds an absolute path, or if the path is too long. */
bool bp__user_folder(const char *variable, const char *below_home, char *path, size_t size, size_t *given);
/* Calls write(). A file that would grow beyond RLIMIT_FSIZE gives an error (EFBIG) and does not raise SIGXFSZ. */
ssize_t bp__file_write(int file, const void *bytes, size_t size);
/* As bp__file_write(), from byte `offset` of the file on. */
ssize_t bp__file_write_at(int file, const void *bytes, size_t size, int64_t offset);
/* Returns BP_OK if only root and the calling user can change the file and each directory above it. In a user namespace
 * that does not map root, the owner shown for root's files counts as root. Returns BP_E_UNTRUSTED with the reason, or
 * BP_E_NOT_FOUND if the file does not exist. A sticky world-writable directory (/tmp) does not disqualify files of root
 * or the user below it. */
bp_status bp__file_trusted(const char *path);
/* Returns whether a file's owner is trusted by a program of `user`. `system` is the owner shown for root's files if
 * root is not mapped (user namespaces), else 0. Such files are trusted if the user cannot write them. */
bool bp__owner_trusted(uid_t owner, uid_t user, uid_t system, bool writable);
/* Returns whether a text in the format of /proc/self/uid_map maps any user to that number. */
bool bp__map_holds(const char *map, uint64_t user);

/* ---- Environment (environment.c): no other file reads or changes it. Set-uid programs ignore it. ---- */
const char *bp__env(const char *name); /* NULL if unset or empty */
/* Calls `visit` for each variable whose name starts with `head`. The value may be empty; a name longer than 255 bytes
 * is cut. Stops when `visit` returns false. */
void bp__env_walk(const char *head, bool (*visit)(void *user, const char *name, const char *value), void *user);
/* Calls call(user), and then removes the named variables that it added. `names` ends with NULL, after at most
 * 64 names. Another thread must not read the environment meanwhile, as with setenv(). */
void bp__env_keep_unset(const char *const *names, void (*call)(void *user), void *user);

/* ---- Hash (hash.c) ---- */
uint64_t bp__hash(const void *bytes, size_t size); /* 64 well-mixed bits; stable between runs, not cryptographic */

/* ---- Clock ---- */
int64_t bp__now_ns(void); /* monotonic */

/* Bytes of address space, and of private writable memory. */
typedef struct bp__memory {
    int64_t space, data;
} bp__memory;
/* Writes what the limits of this process leave (limits.c). Returns false if there are none. */
bool bp__memory_left(bp__memory *memory);
bool bp__memory_is_limited(void);

/* Returns whether the calling thread has a stack of less than 512 KiB (stack.c). */
bool bp__stack_is_small(void);
/* Returns how much of a small stack is left; INT64_MAX if the stack is not small, or if its bounds are unknown. */
int64_t bp__stack_left(void);

/* ---- Warnings (warning.c): see bp_set_warning_handler ---- */
void bp__warn(const char *format, ...) BP_PRINTF(1, 2);
void bp__warning_reset(void);

/* ---- Fork: holds every mutex of this module while the process forks, so that the child finds none locked. They are
 * the innermost locks: take them last and release them first. ---- */
void bp__base_fork_lock(void);
void bp__base_fork_unlock(void);

/* Enclose foreign code that runs while this thread holds mutexes of the library. If that code forks, to start a helper
 * program, waiting for those mutexes would deadlock. The fork handlers therefore leave the mutexes alone, and the child
 * must not use the library. */
void bp__foreign_enter(void);
void bp__foreign_leave(void);
bool bp__foreign_runs(void); /* in the calling thread */

#endif
