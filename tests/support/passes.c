/* passes.c - moves the tensors of a forward call to the fields of a gradient that has gradients by them. */
#include "passes.h"

#include <assert.h>
#include <string.h>

static const bp_call_field *field_named(const bp_call *call, const char *name, size_t length) {
    const bp_call_field *field;
    for (int i = 0; (field = bp_call_field_at(call, i)); i++) {
        if (strlen(field->name) == length && memcmp(field->name, name, length) == 0) {
            return field;
        }
    }
    return NULL;
}

static int has_operand(const bp_call_pass *pass, size_t offset) {
    const bp_call_operand *operand;
    for (int i = 0; (operand = bp_call_operand_at(pass, i)); i++) {
        if (operand->offset == offset) {
            return 1;
        }
    }
    return 0;
}

void test_call_to_pass(const char *name, void *arguments, int pass) {
    static const void *const none;
    const bp_call *call = bp_call_named(name);
    const bp_call_operand *operand;
    char *at = arguments;
    assert(call != NULL);
    memcpy(at + field_named(call, "pass", strlen("pass"))->offset, &pass, sizeof pass);
    const bp_call_pass *chosen = bp_call_get_pass(call, arguments);
    for (int i = 0; (operand = bp_call_operand_at(chosen, i)); i++) {
        const char *end = strstr(operand->name, "_gradient");
        const bp_call_field *from = end ? field_named(call, operand->name, (size_t)(end - operand->name)) : NULL;
        if (from && !has_operand(chosen, from->offset) && memcmp(at + operand->offset, &none, sizeof none) == 0) {
            memcpy(at + operand->offset, at + from->offset, sizeof none);
            memcpy(at + from->offset, &none, sizeof none);
        }
    }
}
