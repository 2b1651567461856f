/* entry.h - declares the parts of a call that arrived at an entry. */
#ifndef BP_DROPIN_ENTRY_H
#define BP_DROPIN_ENTRY_H

#include "dropin/internal.h"
#include "dropin/policy.h"
#include "dropin/record.h"

#include <errno.h>
#include <pthread.h>

/* ---- Nested calls (call.c) ----
 *
 * A call that arrives while its thread is inside Backplane is one of a library that Backplane has called. It must reach
 * a routine without another choice. No call of a routine is inside: the routine may be left by longjmp. A thread is not
 * cancelled inside, because it would leave locks behind. */
typedef struct bp__dropin_visit {
    uintptr_t outer;
    int cancel_state;
    int error; /* errno, which routines of BLAS do not change */
} bp__dropin_visit;

/* The address of a variable of the outer call; 0 if there is none. */
extern BP__HIDDEN __thread uintptr_t bp__dropin_mark __attribute__((tls_model("initial-exec")));

static inline bool bp__dropin_inside(void) {
    char here;
    /* If a signal handler has left the outer call by longjmp, the stack may have become shorter than the mark. */
    if (bp__dropin_mark != 0 && (uintptr_t)&here > bp__dropin_mark) {
        bp__dropin_mark = 0;
    }
    return bp__dropin_mark != 0;
}

static inline void bp__dropin_visit_begin(bp__dropin_visit *visit) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &visit->cancel_state);
    visit->error = errno;
    visit->outer = bp__dropin_mark;
    bp__dropin_mark = (uintptr_t)visit;
}

static inline void bp__dropin_visit_end(const bp__dropin_visit *visit) {
    bp__dropin_mark = visit->outer;
    errno = visit->error;
    pthread_setcancelstate(visit->cancel_state, NULL);
}

/* ---- Constructors and destructors (loader.c) ---- */

/* Returns whether the thread is in dlopen() or dlclose(). It must not call Backplane then. */
bool bp__dropin_in_loader(void);

/* ---- Products (product.c) ---- */

/* Runs a matrix product through Backplane. Returns false if it was not run, because an argument is wrong, nothing is to
 * be computed, or Backplane refused; its routine must be called then. */
bool bp__dropin_product(const bp__dropin_slot *slot, const bp__dropin_frame *frame);

/* Returns whether the routine is one that bp__dropin_product() knows. */
bool bp__dropin_is_product(int routine);

/* ---- The routine that runs a call (target.c) ---- */

/* What happens to a large call. */
typedef enum bp__dropin_deed {
    BP__DROPIN_PASS,    /* the routine gets it, as it gets small ones */
    BP__DROPIN_PRODUCT, /* Backplane runs it */
    BP__DROPIN_FACTOR   /* the routine of the library that Backplane would choose for this operation gets it */
} bp__dropin_deed;

typedef struct bp__dropin_target {
    void *routine;       /* never NULL */
    const char *library; /* id in the library list, or path */
    const char *own;     /* path of the program's own library; "" in a drop-in library */
    const char *why;     /* why another library runs it that was not asked for; else NULL */
    bp__dropin_deed deed;
    bool converts; /* a complex result is returned in another way than the program expects; see complex.c */
    bool hidden;   /* the routine gets the address for its complex result as first argument */
    bool faulty;   /* the probe found something wrong with the routine: Backplane runs products of any size */
} bp__dropin_target;

/* Chooses the routine for an entry. If there is none, prints which routine is missing, and ends the process, as the
 * loader does with a missing symbol. */
void bp__dropin_choose(const bp__dropin_slot *slot, bp__dropin_target *target);

/* Calls a complex function whose way to return its result differs from the program's. */
void bp__dropin_convert(const bp__dropin_slot *slot, bp__dropin_frame *frame, const bp__dropin_target *target);

/* Returns whether the routine is a function with a complex result. */
bool bp__dropin_returns_complex(int routine);

/* Chooses among the library that was asked for and the program's own routine, whose library has the path `own`. */
void bp__dropin_choose_launched(const bp__dropin_slot *slot, void *original, const char *own,
                                bp__dropin_target *target);

/* ---- Calls (call.c) ---- */

/* Makes a call, or returns the routine to jump to; see bp__dropin_entry(). `plain`: the call is passed on as it is. */
void *bp__dropin_run(const bp__dropin_slot *slot, bp__dropin_frame *frame, const bp__dropin_target *target, bool plain);

/* Returns what happens to large calls of a routine whose target has been chosen, and the product of sizes from which on
 * a call is large; 0 if the routine is faulty. If a library was asked for but does not have the routine with the
 * program's width of integers, products go through Backplane, which can use the library with its own width. */
bp__dropin_deed bp__dropin_deed_of(int routine, const bp__dropin_target *target);
uint64_t bp__dropin_limit(int routine, bp__dropin_deed deed, bool faulty);

/* ---- Factorizations (factor.c) ---- */

enum { BP__DROPIN_FACTOR_SMALL = 256 * 256 }; /* matrices with fewer elements are not worth another library */

/* Returns the routine of the library that Backplane would choose for the operation; `own` if there is none, or if the
 * program's own library keeps the call. */
const bp__dropin_target *bp__dropin_factor(const bp__dropin_slot *slot, const bp__dropin_frame *frame,
                                           const bp__dropin_target *own);

/* ---- Records (note.c) ---- */

/* Makes a call and hands it to the recorder: through Backplane if `product`, and if that refuses, by the target. `own`:
 * the path of the program's own library. */
void bp__dropin_note(const bp__dropin_slot *slot, bp__dropin_frame *frame, const bp__dropin_target *target,
                     const char *own, bool product);

/* Fills options, sizes and flops of a call from its arguments. */
void bp__dropin_measure(const bp__dropin_slot *slot, const bp__dropin_frame *frame, bp__dropin_call *call);

#endif
