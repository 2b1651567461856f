/* enter.c - passes a call between assembly and C without a loss: every register argument, the stack, both kinds of
 * results.
 *
 * The layout is as in bp__dropin_frame (internal.h): 0 integers, 48 vectors, 176 rax, 184 stack, 192 result,
 * 208 vector_result, 240 caller. Its size is 248, so 256 bytes keep the stack aligned.
 */
#include "dropin/internal.h"

#define OFFSET(member, at)                                                                                             \
    _Static_assert(offsetof(bp__dropin_frame, member) == (at), "enter.c has the offsets of the frame")
OFFSET(integers, 0);
OFFSET(vectors, 48);
OFFSET(rax, 176);
OFFSET(stack, 184);
OFFSET(result, 192);
OFFSET(vector_result, 208);
OFFSET(caller, 240);
_Static_assert(sizeof(bp__dropin_slot) == 32, "stubs have the size of an entry");

/* clang-format off */
#define LOAD_ARGUMENTS(base)                                                                                           \
    "    movq 0(" base "), %rdi\n    movq 8(" base "), %rsi\n    movq 16(" base "), %rdx\n"                            \
    "    movq 24(" base "), %rcx\n    movq 32(" base "), %r8\n    movq 40(" base "), %r9\n"                            \
    "    movups 48(" base "), %xmm0\n    movups 64(" base "), %xmm1\n    movups 80(" base "), %xmm2\n"                 \
    "    movups 96(" base "), %xmm3\n    movups 112(" base "), %xmm4\n    movups 128(" base "), %xmm5\n"               \
    "    movups 144(" base "), %xmm6\n    movups 160(" base "), %xmm7\n    movq 176(" base "), %rax\n"

__asm__(
    ".text\n"
    ".p2align 4\n"
    ".globl bp__dropin_enter\n.hidden bp__dropin_enter\n.type bp__dropin_enter, @function\n"
    "bp__dropin_enter:\n"
    "    .cfi_startproc\n"
    "    endbr64\n"
    "    pushq %rbp\n    .cfi_def_cfa_offset 16\n    .cfi_offset %rbp, -16\n"
    "    movq %rsp, %rbp\n    .cfi_def_cfa_register %rbp\n"
    "    subq $256, %rsp\n"
    "    movq %rdi, 0(%rsp)\n    movq %rsi, 8(%rsp)\n    movq %rdx, 16(%rsp)\n"
    "    movq %rcx, 24(%rsp)\n    movq %r8, 32(%rsp)\n    movq %r9, 40(%rsp)\n"
    "    movups %xmm0, 48(%rsp)\n    movups %xmm1, 64(%rsp)\n    movups %xmm2, 80(%rsp)\n"
    "    movups %xmm3, 96(%rsp)\n    movups %xmm4, 112(%rsp)\n    movups %xmm5, 128(%rsp)\n"
    "    movups %xmm6, 144(%rsp)\n    movups %xmm7, 160(%rsp)\n"
    "    movq %rax, 176(%rsp)\n"
    "    leaq 16(%rbp), %rax\n    movq %rax, 184(%rsp)\n"
    "    movq 8(%rbp), %rax\n    movq %rax, 240(%rsp)\n"
    "    movq %r11, %rdi\n    movq %rsp, %rsi\n"
    "    call bp__dropin_entry\n"
    "    testq %rax, %rax\n    je 1f\n"
    "    movq %rax, %r11\n"
    LOAD_ARGUMENTS("%rsp")
    "    leave\n    .cfi_remember_state\n    .cfi_def_cfa %rsp, 8\n"
    "    jmp *%r11\n"
    "1:  .cfi_restore_state\n"
    "    movq 192(%rsp), %rax\n    movq 200(%rsp), %rdx\n"
    "    movups 208(%rsp), %xmm0\n    movups 224(%rsp), %xmm1\n"
    "    leave\n    .cfi_def_cfa %rsp, 8\n"
    "    ret\n"
    "    .cfi_endproc\n"
    ".size bp__dropin_enter, . - bp__dropin_enter\n"
#if BP__DROPIN_PART == BP__DROPIN_PART_HOOKS
    ".globl bp_hooks_enter\n.set bp_hooks_enter, bp__dropin_enter\n" /* for the audit object */
#endif

    ".p2align 4\n"
    ".globl bp__dropin_invoke\n.hidden bp__dropin_invoke\n.type bp__dropin_invoke, @function\n"
    "bp__dropin_invoke:\n" /* rdi: target, rsi: frame, rdx: words */
    "    .cfi_startproc\n"
    "    endbr64\n"
    "    pushq %rbp\n    .cfi_def_cfa_offset 16\n    .cfi_offset %rbp, -16\n"
    "    movq %rsp, %rbp\n    .cfi_def_cfa_register %rbp\n"
    "    pushq %rbx\n    .cfi_offset %rbx, -24\n"
    "    subq $8, %rsp\n"
    "    movq %rdi, %r11\n    movq %rsi, %rbx\n"
    "    leaq 15(,%rdx,8), %rax\n    andq $-16, %rax\n    subq %rax, %rsp\n"
    "    movq 184(%rbx), %rsi\n    movq %rsp, %rdi\n    movq %rdx, %rcx\n"
    "    cld\n    rep movsq\n"
    LOAD_ARGUMENTS("%rbx")
    "    call *%r11\n"
    "    movq %rax, 192(%rbx)\n    movq %rdx, 200(%rbx)\n"
    "    movups %xmm0, 208(%rbx)\n    movups %xmm1, 224(%rbx)\n"
    "    movq -8(%rbp), %rbx\n"
    "    leave\n    .cfi_def_cfa %rsp, 8\n"
    "    ret\n"
    "    .cfi_endproc\n"
    ".size bp__dropin_invoke, . - bp__dropin_invoke\n");
/* clang-format on */
