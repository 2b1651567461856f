/* base.h - what every room stands on: failures, memory, text, files, JSON, environment. Knows nothing of math.
 *
 * Internal. Names shared between files start with bp__; nothing here is exported from the library.
 */
#ifndef BP_BASE_H
#define BP_BASE_H

#include "backplane/status.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define BP__COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define BP__LIKELY(x) __builtin_expect(!!(x), 1)
#define BP__UNLIKELY(x) __builtin_expect(!!(x), 0)

/* ---- Failures (error.c) ---- */

/* Keeps the status and the sentence for bp_last_error() of this thread; returns `status`. The sentence may quote the
 * previous one: it is formatted before it is stored. Sentences longer than 8191 bytes are cut with "...". */
bp_status bp__fail(bp_status status, const char *format, ...) BP_PRINTF(2, 3);
bp_status bp__fail_v(bp_status status, const char *format, va_list args);

/* The usual sentence for a failed allocation of `size` bytes "for <what>". */
bp_status bp__fail_memory(size_t size, const char *what);
#ifdef __clang_analyzer__ /* it sees one file at a time, and would take what these return for BP_OK */
#define bp__fail(status, ...) (bp__fail(status, __VA_ARGS__), (status))
#define bp__fail_memory(size, what) (bp__fail_memory(size, what), BP_E_NO_MEMORY)
#endif

/* Gives back the long sentences of all threads; their statuses stay. For bp_reset. */
void bp__error_reset(void);

/* Puts the thread's last failure aside while something runs whose failures are nobody's business, and puts it back. */
typedef struct bp__held_error {
    void *opaque[20];
} bp__held_error;
void bp__error_hold(bp__held_error *held);
void bp__error_return(const bp__held_error *held);

/* Leaves a function with the failure that a callee has reported. */
#define BP__TRY(expression)                                                                                            \
    do {                                                                                                               \
        bp_status bp__try_status = (expression);                                                                       \
        if (BP__UNLIKELY(bp__try_status != BP_OK)) {                                                                   \
            return bp__try_status;                                                                                     \
        }                                                                                                              \
    } while (0)

/* ---- Interruption (interrupt.c): see interrupt.h ---- */

/* Asks the calling thread's check; true: stop. Only without locks, and where everything can be given back. Long loops
 * ask about each tenth of a millisecond. */
bool bp__interrupted(void);
/* For loops that do not count their work: see bp_host.interrupt_due. */
int bp__interrupt_due(int64_t *since);
/* The same for a loop over elements, of which so many more are done. A loop begins with zeros. */
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
/* From now on the thread's check is not due, or is again: what the thread runs belongs to a call of another thread.
 * Returns what was set before. */
bool bp__interrupt_silence(bool silent);
/* Whether that check runs just now: what calls the library then does so from within a call that has not returned. */
bool bp__interrupt_asks(void);
/* The status and the usual sentence: "<what> was stopped by ...". */
bp_status bp__fail_cancelled(const char *what);

/* ---- Memory (memory.c): all of the library's memory comes from here, so that an allocator given by the host program,
 * or a test that lets the n-th allocation fail, reaches every one. ---- */
void *bp__alloc(size_t size);                    /* uninitialised; NULL when there is none left */
void *bp__alloc_zero(size_t count, size_t size); /* checks the product for overflow */
void *bp__realloc(void *block, size_t size);     /* as realloc; the old block stays on failure */
void bp__free(void *block);                      /* NULL is fine */
void *bp__alloc_aligned(size_t size);            /* to 64 bytes; bp__free_aligned gives it back */
void bp__free_aligned(void *block);
char *bp__strdup(const char *text);
int64_t bp__live_blocks(void); /* blocks handed out and not given back */

/* ---- Text (text.c): a buffer that grows; after a failed allocation it keeps `failed` and ignores what follows, so
 * that callers check once, at the end. ---- */
typedef struct bp__text {
    char *bytes; /* ends with NUL once anything was added; may be NULL before */
    size_t length;
    size_t capacity;
    bool failed;
} bp__text;
void bp__text_add(bp__text *text, const char *piece);
void bp__text_add_n(bp__text *text, const char *piece, size_t length);
void bp__text_addf(bp__text *text, const char *format, ...) BP_PRINTF(2, 3);
const char *bp__text_get(const bp__text *text); /* "" when empty; never NULL */
void bp__text_free(bp__text *text);

bool bp__text_equal(const char *a, const char *b); /* exact */
bool bp__text_starts(const char *text, const char *head);
bool bp__parse_int(const char *text, int64_t *value); /* whole text, decimal, optional sign, no spaces */
/* Copies with certain NUL; returns false when it had to cut. */
bool bp__copy_text(char *buffer, size_t size, const char *text);

/* The names of a list closest to `wrong` (edit distance), as "did you mean 'a' or 'b'?" in buffer; "" when none is
 * near. `name_at` returns NULL past the end. */
const char *bp__suggest(const char *wrong, const char *(*name_at)(void *user, int index), void *user, char *buffer,
                        size_t size);

/* Strings that live as long as the process; equal texts give equal pointers. NULL when out of memory.
 * Given back by bp__intern_reset. */
const char *bp__intern(const char *text);
void bp__intern_reset(void);

/* ---- Structs that grow (struct.c): `size` is what this version has; `name` is the argument, for failures ---- */
bool bp__struct_usable(const void *given); /* not NULL, and its struct_size can be right */
bp_status bp__struct_check(const void *given, size_t size, const char *name);
/* Fills a usable struct of the caller's, as far as it goes, but for its struct_size. */
void bp__struct_write(void *given, const void *own, size_t size);
/* A struct of the caller's as this version knows it: the struct itself where the sizes are equal, else a copy in `own`;
 * NULL, with a failure (BP_E_ARGUMENT), where it cannot be read. */
const void *bp__struct_read(void *own, size_t size, const void *given, const char *name);

/* ---- JSON out (json.c): commas and escapes are kept right; invalid UTF-8 becomes U+FFFD. ---- */
typedef struct bp__json {
    bp__text *out;
    unsigned char need_comma[32]; /* per depth */
    int depth;
} bp__json;
void bp__json_begin(bp__json *json, bp__text *out);
void bp__json_open(bp__json *json, const char *key, char bracket); /* '{' or '['; key NULL inside arrays */
void bp__json_close(bp__json *json, char bracket);
void bp__json_text(bp__json *json, const char *key, const char *value); /* NULL writes null */
void bp__json_raw(bp__json *json, const char *key, const char *value);  /* text that is JSON already */
void bp__json_int(bp__json *json, const char *key, int64_t value);
void bp__json_number(bp__json *json, const char *key, double value); /* non-finite becomes null */
void bp__json_bool(bp__json *json, const char *key, bool value);

/* ---- Files (file.c) ---- */
/* Reads a regular file of at most `limit` bytes, NUL added; BP_E_NOT_FOUND, BP_E_IO, BP_E_OVERFLOW, BP_E_NO_MEMORY. */
bp_status bp__file_read(const char *path, size_t limit, char **bytes, size_t *size);
/* The beginning of a small text of the kernel's, NUL added; false and "" when it cannot be read. Allocates nothing and
 * keeps no error. */
bool bp__read_text(const char *path, char *buffer, size_t size);
/* Writes to a temporary file in the same folder, syncs it, and renames it over `path`. Makes missing folders as
 * bp__file_make_folders does. Removes temporary files of processes that were killed while they wrote this file. */
bp_status bp__file_replace(const char *path, size_t given, const void *bytes, size_t size);
/* Makes the missing folders above a file (0700). The folder that the first `given` bytes of the path name must exist:
 * BP_E_NOT_FOUND if it does not. With 0 every folder is made. */
bp_status bp__file_make_folders(const char *path, size_t given);
/* Whether the first `length` bytes of a path name a folder; true where it is 0. */
bool bp__is_folder(const char *path, size_t length);
/* Writes the path of a folder of the user's: what the XDG variable says, or else `below_home` in $HOME. *given is the
 * length of the part that is never made: the folder above that of the variable, or $HOME. Returns false if neither
 * variable holds an absolute path, or if the path is too long. */
bool bp__user_folder(const char *variable, const char *below_home, char *path, size_t size, size_t *given);
/* Calls write(). A file that would grow beyond RLIMIT_FSIZE is an error (EFBIG) and does not raise SIGXFSZ. */
ssize_t bp__file_write(int file, const void *bytes, size_t size);
/* BP_OK when only root and the calling user can change the file and each folder above it (in a user namespace that
 * does not map root: the owner that root's files show there); BP_E_UNTRUSTED with the reason otherwise, BP_E_NOT_FOUND
 * when it is not there. A sticky world-writable folder (/tmp) does not disqualify what root or the user own below it.
 */
bp_status bp__file_trusted(const char *path);
/* The parts of that rule. Whether a file's owner is trusted by the program of `user`. `system` is what the files of
 * root show where root is not mapped (user namespaces), else 0; they are trusted if the user cannot write them. */
bool bp__owner_trusted(uid_t owner, uid_t user, uid_t system, bool writable);
/* Whether text in the form of /proc/self/uid_map maps somebody to that number. */
bool bp__map_holds(const char *map, uint64_t user);

/* ---- Environment (environment.c): the one reader. Set-uid programs see nothing of it. ---- */
const char *bp__env(const char *name); /* NULL when unset or empty */
/* Calls `visit` for each variable whose name starts with `head`; the value may be empty, and a name longer than 255
 * bytes arrives cut. Stops when it returns false. */
void bp__env_walk(const char *head, bool (*visit)(void *user, const char *name, const char *value), void *user);

/* ---- Hash (hash.c) ---- */
uint64_t bp__hash(const void *bytes, size_t size); /* 64 well-mixed bits; stable between runs, not cryptographic */

/* ---- Clock ---- */
int64_t bp__now_ns(void); /* monotonic */

/* ---- Warnings (warning.c): see bp_set_warning_handler ---- */
void bp__warn(const char *format, ...) BP_PRINTF(1, 2);
void bp__warning_reset(void);

/* ---- Fork: holds every mutex of this room while the process forks, so that the child finds none locked. They are the
 * innermost locks: take them last, give them back first. ---- */
void bp__base_fork_lock(void);
void bp__base_fork_unlock(void);

/* Around code of others that runs while this thread holds mutexes of ours. When it forks, to start a helper program,
 * waiting for those mutexes would never end: fork leaves ours alone then, and its child is not for using us. */
void bp__foreign_enter(void);
void bp__foreign_leave(void);
bool bp__foreign_runs(void); /* in the calling thread */

#endif
