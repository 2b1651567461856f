/* exports.h - has the macros that give stubs the names of routines.
 *
 * A name with 32-bit integers, and the names of its 64-bit form: dgemm_, dgemm_64_ and dgemm_64; cblas_dgemm,
 * cblas_dgemm64_ and cblas_dgemm_64. FFTW's names have one form, and those for Fortran two: dfftw_execute_ and
 * dfftw_execute__.
 */
#ifndef BP_DROPIN_EXPORTS_H
#define BP_DROPIN_EXPORTS_H

#include "dropin/internal.h"
#include "dropin/stubs.h"

/* clang-format off */
#define BP__LABEL(name) ".globl " name "\n.type " name ", @function\n" name ":\n"
/* Compilers add one underscore, or two to a name that has one. */
#define BP__LABELS_OF_FFTW_FORTRAN(name) BP__LABEL(#name "_") BP__LABEL(#name "__")
#define BP__EXPORT_FORTRAN(name, align, stub)                                                                          \
    __asm__(".p2align " align "\n" BP__LABEL(#name "_") stub "32\n"                                                    \
            ".p2align " align "\n" BP__LABEL(#name "_64_") BP__LABEL(#name "_64") stub "64\n");
#define BP__EXPORT_C(name, align, stub)                                                                                \
    __asm__(".p2align " align "\n" BP__LABEL(#name) stub "32\n"                                                        \
            ".p2align " align "\n" BP__LABEL(#name "64_") BP__LABEL(#name "_64") stub "64\n");
/* The second entry of these is not used. */
#define BP__EXPORT_FFTW(name) __asm__(".p2align 4\n" BP__LABEL(#name) "bp_plain\n.set bp_index, bp_index + 1\n");
#define BP__EXPORT_FFTW_FORTRAN(name)                                                                                  \
    __asm__(".p2align 4\n" BP__LABELS_OF_FFTW_FORTRAN(name) "bp_plain\n.set bp_index, bp_index + 1\n");

#define BP__EXPORT_SIZED(name, kind) BP__EXPORT_##kind(name)
#define BP__EXPORT_f_gemm(name) BP__EXPORT_FORTRAN(name, "6", "bp_sized f_gemm, ")
#define BP__EXPORT_f_gemv(name) BP__EXPORT_FORTRAN(name, "6", "bp_sized f_gemv, ")
#define BP__EXPORT_c_gemm(name) BP__EXPORT_C(name, "6", "bp_sized c_gemm, ")
#define BP__EXPORT_c_gemv(name) BP__EXPORT_C(name, "6", "bp_sized c_gemv, ")
#define BP__EXPORT_f_first_two(name) BP__EXPORT_FORTRAN(name, "6", "bp_sized f_first_two, ")
#define BP__EXPORT_f_first(name) BP__EXPORT_FORTRAN(name, "6", "bp_sized f_first, ")
#define BP__EXPORT_f_second(name) BP__EXPORT_FORTRAN(name, "6", "bp_sized f_second, ")
/* A plain stub is the same for both widths; the number is its comment. */
#define BP__EXPORT_PLAIN_FORTRAN(name) BP__EXPORT_FORTRAN(name, "4", "bp_plain #")
#define BP__EXPORT_PLAIN_C(name) BP__EXPORT_C(name, "4", "bp_plain #")
/* clang-format on */

/* The loader relocates these entries before any constructor runs, so the first call may come from one. */
#define BP__EXPORTED_ENTRIES                                                                                           \
    bp__dropin_slot bp__dropin_slots[BP__DROPIN_ENTRIES] = {                                                           \
        [0 ... BP__DROPIN_ENTRIES - 1] = {(void *)bp__dropin_enter, (void *)bp__dropin_enter, 0, NULL}}

/* By this symbol, discovery recognises a library that forwards to others, and never chooses it. It is weak, because a
 * program may have several of these libraries, with the same value. AddressSanitizer refuses a second definition of
 * another one. */
#define BP__EXPORTED_MARK                                                                                              \
    __attribute__((visibility("default"), weak)) extern const int bp_dropin_forwards;                                  \
    const int bp_dropin_forwards = BP__DROPIN_VERSION

#endif
