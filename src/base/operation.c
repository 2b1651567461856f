/* operation.c - the names of the operations and of their operands, for every module. */
#include "base/operation.h"

#include <stdbool.h>
#include <string.h>

static const struct {
    const char *name, *inputs, *outputs;
} ops[] = {
#define X(number, name, text, inputs, outputs, family) [number] = {text, inputs, outputs},
    BP_OP_MAP(X)
#undef X
};

static bool is_known(uint32_t op) {
    return (size_t)op < sizeof ops / sizeof *ops && ops[op].name;
}

const char *bp_op_name(bp_op op) {
    return is_known(op) ? ops[op].name : "?";
}

const char *bp_op_inputs(bp_op op) {
    return is_known(op) ? ops[op].inputs : "";
}

const char *bp_op_outputs(bp_op op) {
    return is_known(op) ? ops[op].outputs : "";
}

static int names_in(const char *list) {
    int count = 1;
    for (; (list = strchr(list, ',')) != NULL; list++) {
        count++;
    }
    return count;
}

int bp__input_count(bp_op op) {
    return names_in(ops[op].inputs);
}

int bp__operand_count(bp_op op) {
    return names_in(ops[op].inputs) + names_in(ops[op].outputs);
}
