/* cpu.h - declares what each cpu_<architecture>.c file provides; exactly one of them has code. */
#ifndef BP_MACHINE_CPU_H
#define BP_MACHINE_CPU_H

#include "machine/internal.h"

/* Returns the highest instruction set that hardware and operating system support. Called once. */
bp_capability bp__cpu_detect(void);

typedef struct bp__cpu_identity {
    char vendor[32]; /* "" when unknown */
    char model[80];
    int family, model_number, stepping; /* -1 if the architecture has no such numbers */
} bp__cpu_identity;
void bp__cpu_identify(bp__cpu_identity *identity);

/* The words of CPUID and XGETBV that decide, as data, so that tests can pass the words of other machines. */
typedef struct bp__x86_words {
    uint32_t leaf1_ecx;
    uint32_t leaf7_ebx;
    uint64_t xcr0; /* 0 if the operating system does not use XSAVE */
} bp__x86_words;
bp_capability bp__x86_capability(const bp__x86_words *words);

#endif
