/* probe.h - declares what the files of the probe helper share: the library under examination and the report functions.
 *
 * The helper is the child process in which an unknown library is opened and called for the first time. Whatever the
 * library does there (crash, hang, print, exit, allocate memory, start processes) does not affect the host program; the
 * parent reads what was reported until then. One process supervises (supervise.c), another one starts those that open
 * the library (attempts.c).
 */
#ifndef BP_PROBE_H
#define BP_PROBE_H

#include "registry/families.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { REPORT_FILE = 3 }; /* a socket to the host program */

typedef struct subject {
    const char *path;
    const bp__library_family *family;
    const char *prefix; /* prefix and suffix of Fortran names */
    const char *suffix;
    const char *cblas_suffix;
    unsigned kinds;
    void *handle;
    int int_bits; /* 0 before it is known */
    bool deepbind;
    bool hidden; /* complex functions take the address for their result as first argument */
    bool scarce; /* limits leave less memory than it may take */
    bool brief;  /* only what matrix products need is checked */
    int output;  /* the file that receives its output, or -1 */
} subject;

/* A call of gemm, or of gemv (k is 0), whose increments are ld_b and ld_c. Zero if there is none. */
typedef struct product_call {
    char op_a, op_b;
    int64_t m, n, k;
    int64_t ld_a, ld_b, ld_c;
} product_call;

/* Progress of a child, in memory that outlives it: if the child ends in a check, another child continues after that
 * check. */
typedef struct progress {
    bool known; /* all facts except the checks have been reported */
    int int_bits;
    int limit_ms;   /* limit of one check in all types; where memory is scarce, of the other steps too */
    bool measured;  /* the memory that it needs is measured, or was tried to be */
    bool measuring; /* and is being measured */
    int check;      /* position of the current one in the order of the checks, or -1 before the first */
    int type;
    unsigned overreads; /* the types whose LAPACK routines have read next to their operands: 1 << type */
    int stack;          /* KiB of stack that calls have taken */
    char routine[24];
    product_call product; /* the current call, in the checks of products */
    int row;              /* the current routine in the table of bounds_blas.c */
    char outside[2048];   /* names of those that have accessed memory outside of their operands */
} progress;

/* Calls `work` in a child of this process. If the library ends or hangs the child in one of the checks, which come
 * last, another child continues with the next check, so that the other results are not lost. Where memory is scarce,
 * the first step that does not end is the last one. Does not return: this process ends like the child that collected
 * the facts. */
_Noreturn void work_in_children(subject *library, int limit_ms, void (*work)(subject *library, progress *state));

/* Sends "name=value" to the parent; a later line of the same name replaces an earlier one. */
void report(const char *name, const char *format, ...) BP_PRINTF(2, 3);

/* Forks. Returns in the child, which has these limits of time and memory (0: none). In the parent, ends the process
 * when the child has ended. */
void start_supervised(int64_t milliseconds, int64_t mebibytes);

/* ---- Circumstances of the moment (circumstances.c) ---- */

enum { MOST_PERIODS = 6 }; /* a library that waits for a processor gets so many times its limit by the clock */

typedef enum session_state {
    SESSION_USED_UP, /* one thread has used the limit of processor time */
    SESSION_AWAKE,
    SESSION_SLEEPS
} session_state;

/* Returns the state of all threads of a session. */
session_state state_of_session(pid_t session, int64_t limit_ms);

/* Limits one check: SIGPROF ends this process when it has used that much processor time, and SIGALRM when it has slept
 * that long. 0: no limit. */
void limit_check(int milliseconds);

/* Returns whether the signal is one of limit_check(). */
bool is_time_limit(int number);

/* Returns whether a process that a signal ended is itself to blame. */
bool is_own_fault(int number);

/* Returns the name of a signal, such as "SIGSEGV"; "SIG?" for one without a name. */
const char *signal_name(int number);

/* Raises the soft limits of resources to the hard ones, as far as a library may need. */
void raise_limits(void);

/* Returns what is limited so far that a library may fail, or NULL. `mebibytes`: memory that it may take. */
const char *limit_in_force(int64_t mebibytes);

/* Returns whether limits of the process leave less memory than that. Some libraries then ask for memory again and again
 * without an end. Is called after raise_limits() and before this process sets limits of its own. */
bool memory_is_scarce(int64_t mebibytes);

/* Disables core files, and redirects output so that nothing is printed on the terminal of the host program. Returns the
 * file that receives the output, or -1. */
int isolate(void);

/* Measures the times of a candidate, reports them and ends the process (measure.c). */
_Noreturn void measure_main(int count, char **words);

/* Reports the devices of a runtime and ends the process (devices.c). */
_Noreturn void devices_main(int count, char **words);

/* Tests a library of distributed operands and ends the process (engines.c). */
_Noreturn void engine_main(int count, char **words);

/* Makes the calling process the one that reports. A copy of it made by the library may not report. */
void become_reporter(void);
bool may_report(void);

/* Sends the source of a fact: "version: openblas_get_config". */
void report_how(const char *name, const char *how);

/* Return the address of a routine, with `stem` in the library's Fortran or C spelling, or NULL. */
void *fortran_routine(const subject *library, const char *stem);
void *c_routine(const subject *library, const char *stem);

/* Returns the address of a symbol of the library's own interface, with any of the affixes that libraries use, or NULL.
 */
void *own_symbol(const subject *library, const char *name);

void read_version_and_kernels(const subject *library);
void find_thread_scope(const subject *library);
void find_conventions(subject *library);
void find_loaded_runtimes(const subject *library);

/* Sets one thread, also in a library below this one. The problems are small, so that several threads would only wait
 * for each other. */
void stay_on_one_thread(const subject *library);

/* Sets the number of threads of the library, and of one below it. Returns false if there is no function for that. */
bool set_threads(const subject *library, int64_t count);

/* ---- Needed stack (stack.c) ---- */

/* Fills the stack below the caller with a pattern, so that report_stack() sees how much calls have taken since. Without
 * a stack of 2 MiB, nothing is filled and nothing is reported. */
void fill_stack(void);
/* Reports the stack that has been taken, if it is more than in earlier attempts. */
void report_stack(progress *state);

/* ---- Needed memory (needs.c) ---- */

/* Note the memory of this process before and after it opens the library. */
void note_before_opening(void);
void note_opened(void);
/* Makes calls of ordinary size on one thread and on two, and reports what they and the opening have added to the
 * address space and to the data of this process. */
void measure_needs(const subject *library);
/* Computes one product of square matrices in each type that the library has, from one of number_types on. `memory`
 * holds three of them in double complex. */
void multiply_squares(const subject *library, int first_type, int64_t side, void *memory);

/* Finds the integer width with dpotrf. Called last, because the reference library ends the process on a bad argument.
 */
void find_width_of_lapack(subject *library);

/* Multiplies small matrices in each data type that the library has, and reports wrong results. */
void check_products(const subject *library);

/* Checks the generated kernels of a library of kind BP_LIB_SMM, and finds its integer width. */
void check_generated_kernels(subject *library);

/* Checks the primitives of a library of kind BP_LIB_DNN with the interface of oneDNN 3. */
void check_primitives(const subject *library);

/* Computes one product of small f32 matrices if the library has the routine. */
void try_product(const subject *library);

/* Tests whether the library forwards its products to another one that it has opened, and reports that file. note_loaded
 * records what was loaded before the library. */
void find_forwarding(const subject *library);
void note_loaded(void);

/* ---- Checks of a working library (checks.c) ---- */

/* Returns the checks for this library, one BP_CHECK_BIT each. */
uint64_t checks_due(const subject *library);
/* Reports them. Until the check of BLAS's other routines has ended, every one counts as one that accesses more. */
void report_due(const subject *library, const progress *state);
/* Continues after the checks that `state` marks as done; reports which passed and what is wrong. */
void run_checks(const subject *library, progress *state);
/* Writes " (op N, 126x7)" and the like; "" if there is no call (bounds.c). */
void print_product(const product_call *call, char *text, size_t size);
/* Reports that the current check was not finished, and how it ended. `accessed`: by an access of memory that it may not
 * access. */
void report_unfinished(const subject *library, progress *state, bool accessed, const char *how);
/* Goes on to what follows the call that has ended a child: the next check; but after an access, the next type of
 * products, or the next routine of BLAS. */
void skip_unfinished(progress *state, bool accessed);

#endif
