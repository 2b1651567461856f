/* cpu.h - what each cpu_<architecture>.c file provides; exactly one of them compiles to something. */
#ifndef BP_MACHINE_CPU_H
#define BP_MACHINE_CPU_H

#include "machine/internal.h"

/* The highest instruction set that hardware and operating system offer. Asked once. */
bp_capability bp__cpu_detect(void);

typedef struct bp__cpu_identity {
    char vendor[32]; /* "" when unknown */
    char model[80];
    int family, model_number, stepping; /* -1 where the architecture has no such numbers */
} bp__cpu_identity;
void bp__cpu_identify(bp__cpu_identity *identity);

/* The words of CPUID and XGETBV that decide, apart from the machine that they come from. */
typedef struct bp__x86_words {
    uint32_t leaf1_ecx;
    uint32_t leaf7_ebx;
    uint64_t xcr0; /* 0 when the operating system does not use XSAVE */
} bp__x86_words;
bp_capability bp__x86_capability(const bp__x86_words *words);

#endif
