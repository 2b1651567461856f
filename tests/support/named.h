/* named.h - fills the arguments of a call by the names of its fields, as a program does that knows only calls.h. */
#ifndef BP_TESTS_SUPPORT_NAMED_H
#define BP_TESTS_SUPPORT_NAMED_H

#include "backplane/calls.h"

typedef struct named_call {
    const bp_call *call;
    union {
        size_t size;
        char bytes[512];
    } arguments;
} named_call;

/* Begin with zeros; the program ends if there is no such call, or no such field. */
void named_begin(named_call *named, const char *name);
void named_int(named_call *named, const char *field, int value);
void named_number(named_call *named, const char *field, int64_t value);
void named_real(named_call *named, const char *field, double value);
void named_pointer(named_call *named, const char *field, const void *value);

/* Gives the operands of the pass that the other fields choose, in their order. */
void named_operands(named_call *named, const DLTensor *const *tensors);

#endif
