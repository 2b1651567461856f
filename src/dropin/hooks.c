/* hooks.c - has the stubs of the hooks library, which have no names, and the symbols that the audit object reads. */
#include "dropin/internal.h"
#include "dropin/stubs.h"

/* Entries are zero until the audit object binds a name to one, so that a program without math touches none. */
bp__dropin_slot bp__dropin_slots[BP__DROPIN_ENTRIES];

/* clang-format off */
#define X(name, kind)                                                                                                  \
    __asm__(".rept " BP__TEXT(BP__DROPIN_SLOTS) "\n bp_sized " #kind ", 32\n .endr\n"                                  \
            ".rept " BP__TEXT(BP__DROPIN_SLOTS) "\n bp_sized " #kind ", 64\n .endr\n");
__asm__(".text\n.p2align 6\n.globl bp_hooks_sized_stubs\nbp_hooks_sized_stubs:\n");
BP__DROPIN_SIZED(X)
#undef X

#define X(name) __asm__(".rept 2 * " BP__TEXT(BP__DROPIN_SLOTS) "\n bp_plain\n .endr\n");
__asm__(".p2align 6\n.globl bp_hooks_stubs\nbp_hooks_stubs:\n");
BP__DROPIN_BLAS(X) BP__DROPIN_CBLAS(X) BP__DROPIN_LAPACK(X) BP__DROPIN_LAPACKE(X) BP__DROPIN_FFTW(X) BP__DROPIN_FFTW_FORTRAN(X)
#undef X
    /* clang-format on */

    __asm__(".globl bp_hooks_entries\n"
            ".set bp_hooks_entries, bp__dropin_slots\n"
            ".type bp_hooks_entries, @object\n");

__attribute__((visibility("default"))) extern const bp__dropin_hooks bp_hooks;
const bp__dropin_hooks bp_hooks = {
    .version = BP__DROPIN_VERSION, .routines = BP__DROPIN_ROUTINES, .slots = BP__DROPIN_SLOTS};
