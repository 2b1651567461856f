/* adapt.c - the list of adapters, and which one a problem needs: at most one, since each serves other operations. */
#include "dispatch/internal.h"

static const bp__adapter *const adapters[] = {&bp__adapter_simulate, &bp__adapter_fft};

static const bp__adapter *adapter_for(const bp_problem *problem) {
    for (int i = 0; i < BP__COUNT(adapters); i++) {
        if (adapters[i]->applies(problem)) {
            return adapters[i];
        }
    }
    return NULL;
}

const char *bp__adapted(const bp_problem *problem) {
    const bp__adapter *adapter = adapter_for(problem);
    return adapter ? adapter->applies(problem) : NULL;
}

void bp__adapt_layout(bp_problem *problem) {
    const bp__adapter *adapter = adapter_for(problem);
    if (adapter) {
        adapter->layout(problem);
    }
}

bp_status bp__adapt_wrap(const bp_problem *problem, bp_prepared *inner, bp_prepared **wrapped) {
    const bp__adapter *adapter = adapter_for(problem);
    if (adapter) {
        return adapter->wrap(problem, inner, wrapped);
    }
    *wrapped = inner;
    return BP_OK;
}
