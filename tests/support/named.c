/* named.c - fills the arguments of a call by the names of its fields. */
#include "named.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void stop(const char *kind, const char *name) {
    fprintf(stderr, "there is no %s '%s'\n", kind, name);
    abort();
}

void named_begin(named_call *named, const char *name) {
    memset(named, 0, sizeof *named);
    named->call = bp_call_named(name);
    if (!named->call || bp_call_get_info(named->call)->size > sizeof named->arguments) {
        stop("call", name);
    }
    named->arguments.size = bp_call_get_info(named->call)->size;
}

static void put(named_call *named, const char *name, const void *value, size_t size) {
    const bp_call_field *field;
    int i = 0;
    while ((field = bp_call_field_at(named->call, i)) && strcmp(field->name, name) != 0) {
        i++;
    }
    if (!field) {
        stop("field", name);
        return;
    }
    memcpy(named->arguments.bytes + field->offset, value, size);
}

void named_int(named_call *named, const char *field, int value) {
    put(named, field, &value, sizeof value);
}

void named_number(named_call *named, const char *field, int64_t value) {
    put(named, field, &value, sizeof value);
}

void named_real(named_call *named, const char *field, double value) {
    put(named, field, &value, sizeof value);
}

void named_pointer(named_call *named, const char *field, const void *value) {
    put(named, field, &value, sizeof(const void *));
}

void named_operands(named_call *named, const DLTensor *const *tensors) {
    const bp_call_pass *pass = bp_call_get_pass(named->call, &named->arguments);
    const bp_call_operand *operand;
    for (int i = 0; (operand = bp_call_operand_at(pass, i)); i++) {
        memcpy(named->arguments.bytes + operand->offset, &tensors[i], sizeof tensors[i]);
    }
}
