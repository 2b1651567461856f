/* calls.c - runs calls that take any number of arrays and have one result: the calls of contract.c and products.c. */
#include "core.h"

void core_call_begin(core_call *of, core_state *state, bool explains) {
    of->state = state;
    of->given_out = false;
    of->explains = explains;
    of->options = NULL;
    of->options_owner = NULL;
    core_operands_begin(&of->operands);
    core_leave_dropped();
}

unsigned core_call_access(const core_call *of) {
    return of->explains ? CORE_DESCRIBES : CORE_READS;
}

bool core_call_out(core_call *of, PyObject *out) {
    of->given_out = core_operand(of->state, &of->out, out, "out", core_call_access(of) | CORE_WRITES);
    of->result = of->out.tensor;
    return of->given_out;
}

PyObject *core_call_run(core_call *of, bp_status (*run)(core_call *call), core_explainer explain) {
    core_result fresh = {0};
    const operand *like = core_operands_like(&of->operands);
    if (!of->given_out && !core_result_new(of->state, &fresh, &of->result, &like, 1)) {
        return NULL;
    }
    core_unlocked unlocked;
    core_unlock(&unlocked);
    bp_status status = run(of);
    core_lock(&unlocked);
    if (status != BP_OK) {
        core_fail_explained(of->state, status, explain, of);
        core_result_drop(&fresh);
        return NULL;
    }
    if (!of->given_out) {
        return core_result_take(of->state, &fresh);
    }
    Py_RETURN_NONE;
}

void core_call_release(core_call *of) {
    core_operands_release(&of->operands);
    if (of->given_out) {
        core_operand_release(&of->out);
    }
    Py_CLEAR(of->options_owner);
}
