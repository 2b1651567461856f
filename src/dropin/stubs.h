/* stubs.h - has the assembly macros of stubs, one for each place where a routine has its sizes.
 *
 * A stub changes rax, r10 and r11 only, which a callee may change, and jumps. So the routine finds every argument,
 * hidden string lengths included, where the caller has put it, and returns to the caller. Sizes are compared as
 * unsigned numbers: a negative size, which is the caller's error, is a large one, and is handled by C code. All stubs
 * of a kind have the same size (routines.h), so an index gives their address.
 */
#ifndef BP_DROPIN_STUBS_H
#define BP_DROPIN_STUBS_H

#include "dropin/routines.h"

#define BP__TEXT_OF(x) #x
#define BP__TEXT(x) BP__TEXT_OF(x)

/* bp_place: loads the address of the next entry, 32 bytes each. */
/* clang-format off */
__asm__(
    ".macro bp_place\n"
    "    endbr64\n"
    "    leaq bp__dropin_slots + 32 * bp_index(%rip), %r11\n"
    "    .set bp_index, bp_index + 1\n"
    ".endm\n"
    ".macro bp_plain\n"
    "    .p2align 4\n"
    "    bp_place\n"
    "    jmp *(%r11)\n"
    ".endm\n"
    ".macro bp_decide\n"
    "    cmpq 16(%r11), %rax\n"
    "    jae 1f\n"
    "    jmp *(%r11)\n"
    "1:  jmp *8(%r11)\n"
    ".endm\n"
    /* A first and a further size: at an address (Fortran), or in a register (C). */
    ".macro bp_at_32 to\n    movslq (\\to), %rax\n.endm\n"
    ".macro bp_at_64 to\n    movq (\\to), %rax\n.endm\n"
    ".macro bp_times_at_32 to\n    movslq (\\to), %r10\n    imulq %r10, %rax\n.endm\n"
    ".macro bp_times_at_64 to\n    imulq (\\to), %rax\n.endm\n"
    ".macro bp_in_32 half, whole\n    movslq \\half, %rax\n.endm\n"
    ".macro bp_in_64 half, whole\n    movq \\whole, %rax\n.endm\n"
    ".macro bp_times_in_32 half, whole\n    movslq \\half, %r10\n    imulq %r10, %rax\n.endm\n"
    ".macro bp_times_in_64 half, whole\n    imulq \\whole, %rax\n.endm\n"
    ".macro bp_f_gemm width\n    bp_at_\\width %rdx\n    bp_times_at_\\width %rcx\n    bp_times_at_\\width %r8\n.endm\n"
    ".macro bp_f_gemv width\n    bp_at_\\width %rsi\n    bp_times_at_\\width %rdx\n.endm\n"
    ".macro bp_c_gemm width\n    bp_in_\\width %ecx, %rcx\n    bp_times_in_\\width %r8d, %r8\n"
    "    bp_times_in_\\width %r9d, %r9\n.endm\n"
    ".macro bp_c_gemv width\n    bp_in_\\width %edx, %rdx\n    bp_times_in_\\width %ecx, %rcx\n.endm\n"
    ".macro bp_f_first_two width\n    bp_at_\\width %rdi\n    bp_times_at_\\width %rsi\n.endm\n"
    ".macro bp_f_first width\n    bp_at_\\width %rdi\n    imulq %rax, %rax\n.endm\n"
    ".macro bp_f_second width\n    bp_at_\\width %rsi\n    imulq %rax, %rax\n.endm\n"
    ".macro bp_sized kind, width\n"
    "    .p2align 6\n"
    "    bp_place\n"
    "    bp_\\kind \\width\n"
    "    bp_decide\n"
    ".endm\n"
    ".set bp_index, 0\n");
/* clang-format on */

#endif
