/* internal.h - declares what the files of the drop-in libraries and of the hooks library share. */
#ifndef BP_DROPIN_INTERNAL_H
#define BP_DROPIN_INTERNAL_H

#include "dropin/routines.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#define BP__HIDDEN __attribute__((visibility("hidden")))

/* ---- Entries and names (table.c, stubs.c) ---- */

extern BP__HIDDEN bp__dropin_slot bp__dropin_slots[];
extern BP__HIDDEN const char *const bp__dropin_names[];

typedef enum bp__dropin_family {
    BP__DROPIN_FAMILY_BLAS,
    BP__DROPIN_FAMILY_CBLAS,
    BP__DROPIN_FAMILY_LAPACK,
    BP__DROPIN_FAMILY_LAPACKE,
    BP__DROPIN_FAMILY_FFTW
} bp__dropin_family;

bp__dropin_family bp__dropin_family_of(int routine);
const char *bp__dropin_family_name(bp__dropin_family family);

/* Returns whether a routine is one of FFTW's legacy Fortran interface. Its names are Fortran's. */
static inline bool bp__dropin_is_fftw_fortran(int routine) {
    return routine >= BP__DROPIN_FFTW_END;
}

/* Returns the path of the file that defines the entry's original routine; "" if there is none. */
const char *bp__dropin_owner(const bp__dropin_slot *slot);

static inline int bp__dropin_index(const bp__dropin_slot *slot) {
    return (int)(slot - bp__dropin_slots);
}

static inline int bp__dropin_routine(const bp__dropin_slot *slot) {
    return bp__dropin_index(slot) / (2 * BP__DROPIN_SLOTS);
}

static inline bool bp__dropin_wide(const bp__dropin_slot *slot) {
    return bp__dropin_index(slot) / BP__DROPIN_SLOTS % 2 == 1;
}

/* ---- Calls (enter.c, entry.c) ---- */

/* The registers and the stack of a call. enter.c knows the offsets. */
typedef struct bp__dropin_frame {
    uint64_t integers[6];
    double vectors[8][2];
    uint64_t rax;
    const uint64_t *stack; /* the arguments that are not in registers */
    uint64_t result[2];    /* rax, rdx */
    double vector_result[2][2];
    void *caller; /* return address */
} bp__dropin_frame;

/* Target of stubs: saves the arguments, calls bp__dropin_entry, and then returns its result to the caller or jumps to
 * the routine with the arguments unchanged. */
void bp__dropin_enter(void);

/* Calls a routine with the arguments of a frame (`words` of them are on the stack), and stores its results there. */
void bp__dropin_invoke(void *target, bp__dropin_frame *frame, long words);

/* Handles a call that arrived at an entry. Returns the routine to jump to, or NULL if the call was made and its results
 * are in the frame. */
void *bp__dropin_entry(bp__dropin_slot *slot, bp__dropin_frame *frame);

/* Returns argument `index` of a Fortran routine, an address. */
static inline const void *bp__dropin_address(const bp__dropin_frame *frame, int index) {
    return (const void *)(uintptr_t)(index < 6 ? frame->integers[index] : frame->stack[index - 6]);
}

/* Returns the integer at an address. */
static inline int64_t bp__dropin_integer(const void *address, bool wide) {
    return wide ? *(const int64_t *)address : *(const int32_t *)address;
}

/* ---- Environment (environment.c) ---- */

/* The variables of `backplane launch`, and the variables of the drop-in libraries, differ in one word. */
#if BP__DROPIN_LAUNCHED
#define BP__DROPIN_VARIABLE(name) "BACKPLANE_LAUNCH_" name
#else
#define BP__DROPIN_VARIABLE(name) "BACKPLANE_DROPIN_" name
#endif

/* Returns a variable's value, or NULL if it is absent or empty, or if the process has another user's rights. */
const char *bp__dropin_env(const char *name);

/* ---- Copies of texts (keep.c) ---- */

/* Returns a copy of a text that stays valid, the same for equal texts; "" if there is no memory. */
const char *bp__dropin_keep(const char *text);

/* ---- Messages (message.c) ---- */

/* Prints to the standard error output. */
void bp__dropin_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void bp__dropin_say_v(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

/* Ends the process with the loader's status for a missing symbol. */
void bp__dropin_end(void) __attribute__((noreturn));

#endif
