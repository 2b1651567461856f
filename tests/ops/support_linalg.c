/* support_linalg.c - implements linalg_support.h. */
#include "ops/linalg_support.h"

#include "ops/linalg/linalg.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void test_call_start(test_call *c, bp_op op) {
    memset(c, 0, sizeof *c);
    c->call.struct_size = sizeof c->call;
    c->call.op = op;
}

static unsigned seed = 1;

void test_call_seed(unsigned start) {
    seed = start;
}

static void make(test_call *c, int index, bp_dtype dtype, int ndim, const int64_t *shape, test_order order) {
    test_tensor_new(&c->tensor[index], dtype, ndim, shape, order, &seed);
    c->made[index] = true;
    bp__linalg_set(&c->call, index, &c->tensor[index].view.tensor);
}

void test_call_input(test_call *c, int index, bp_dtype dtype, int ndim, const int64_t *shape, test_order order) {
    make(c, index, dtype, ndim, shape, order);
}

void test_call_outputs(test_call *c, unsigned mask, test_order order) {
    const int inputs = bp__input_count(c->call.op);
    for (int i = inputs; i < BP_LINALG_OPERANDS; i++) {
        bp_dtype dtype;
        int ndim;
        int64_t shape[BP_MAX_NDIM];
        if (mask >> i & 1) {
            if (bp_linalg_shape(&c->call, i - inputs, &dtype, &ndim, shape) != BP_OK) {
                fail_msg("output %d of %s: %s", i - inputs, bp_op_name(c->call.op), bp_last_error());
            }
            make(c, i, dtype, ndim, shape, order);
        }
    }
}

DLTensor *test_operand(test_call *c, int index) {
    return &c->tensor[index].view.tensor;
}

void test_call_end(test_call *c) {
    for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
        if (c->made[i]) {
            test_tensor_free(&c->tensor[i]);
        }
    }
}

recorder_state *test_recorder(void) {
    static const char module[] = BP_TEST_BUILD_DIR "/tests/ops-recorder/recorder.so";
    setenv("BACKPLANE_PROVIDER_PATH", BP_TEST_BUILD_DIR "/tests/ops-recorder", 1);
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    setenv("BACKPLANE_LIBRARY_PATH", BP_TEST_BUILD_DIR "/no-such-folder", 1);
    void *handle = dlopen(module, RTLD_NOW);
    void *symbol = handle ? dlsym(handle, "bp_test_recorder") : NULL;
    if (!symbol) {
        fprintf(stderr, "%s does not load\n", module);
        return NULL;
    }
    recorder_state *(*find)(void);
    memcpy(&find, &symbol, sizeof find);
    return find();
}

void test_refused(bp_status got, bp_status want, const char *needle) {
    if (got != want || !strstr(bp_last_error(), needle)) {
        fail_msg("%s: '%s', where %s: '%s' was expected", bp_status_name(got), bp_last_error(), bp_status_name(want),
                 needle);
    }
}
