/* cusolver_rules.c - what the provider of cuSOLVER assumes of the library, checked on a real device: values, failing
 * items, the order of streams, graphs, and workspaces. The double in tests/cusolver/doubles keeps the same rules. */
#include "linear.h"

#include "providers/cusolver/api.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>

/* Runs a call on the device, and compares outputs of `compared`, a mask. */
static outcome check(bp_op op, bp_linalg_mode mode, bool upper, unsigned compared) {
    for (int i = 0; i < 4; i++) {
        linear_call s;
        NEEDS(new_linear(&s, op, linear_types[i], mode, true));
        s.call.upper = upper;
        NEEDS(solve_on_host(&s));
        const bp_linalg_call call = linear_call_on(&s, true);
        LIBRARY(bp_linalg_run(NULL, &call));
        LIBRARY(bp_device_wait(linear_place));
        for (int o = 0; o < BP_LINALG_OUTPUTS; o++) {
            if (s.out[o].block && (compared >> o & 1)) {
                NEEDS(expect_linear(&s, o));
            }
        }
        free_linear(&s);
    }
    return PASSED;
}

static outcome values_are_right(void) {
    bp_library_info info;
    NEEDS(open_linear(&info));
    for (int upper = 0; upper < 2; upper++) {
        NEEDS(check(BP_OP_CHOLESKY, BP_MODE_DEFAULT, upper, 3));
        NEEDS(check(BP_OP_CHOLESKY_INVERSE, BP_MODE_DEFAULT, upper, 3));
        NEEDS(check(BP_OP_SOLVE_TRIANGULAR, BP_MODE_DEFAULT, upper, 1));
    }
    NEEDS(check(BP_OP_LU_FACTOR, BP_MODE_DEFAULT, false, 7));
    NEEDS(check(BP_OP_LU, BP_MODE_DEFAULT, false, 7));
    NEEDS(check(BP_OP_INV, BP_MODE_DEFAULT, false, 3));
    NEEDS(check(BP_OP_DET, BP_MODE_DEFAULT, false, 1));
    NEEDS(check(BP_OP_SLOGDET, BP_MODE_DEFAULT, false, 3));
    return check(BP_OP_SOLVE, BP_MODE_DEFAULT, false, 3);
}

/* Returns the parts of an element of a matrix of an item. */
static void element_of(const linear_operand *x, int64_t item, int64_t row, int64_t column, double value[2]) {
    const bp_dtype dtype = bp_dtype_from_dlpack(x->host.tensor.dtype);
    const int64_t *shape = x->host.tensor.shape, at = (item * shape[1] + row) * shape[2] + column;
    value[0] = linear_part(x->bytes, dtype, at * linear_parts(dtype));
    value[1] = linear_parts(dtype) > 1 ? linear_part(x->bytes, dtype, at * 2 + 1) : 0;
}

/* Returns the largest element of |Q R - A|. */
static double residual_of(const linear_call *s) {
    double largest = 0;
    for (int64_t i = 0; i < LINEAR_ITEMS * LINEAR_N * LINEAR_N; i++) {
        double sum[2], q[2], r[2];
        element_of(&s->in[0], i / LINEAR_N / LINEAR_N, i / LINEAR_N % LINEAR_N, i % LINEAR_N, sum);
        for (int64_t k = 0; k < LINEAR_N; k++) {
            element_of(&s->out[0], i / LINEAR_N / LINEAR_N, i / LINEAR_N % LINEAR_N, k, q);
            element_of(&s->out[1], i / LINEAR_N / LINEAR_N, k, i % LINEAR_N, r);
            sum[0] -= q[0] * r[0] - q[1] * r[1];
            sum[1] -= q[0] * r[1] + q[1] * r[0];
        }
        largest = fmax(largest, hypot(sum[0], sum[1]));
    }
    return largest;
}

static outcome factors_of_qr(bp_linalg_mode mode) {
    for (int i = 0; i < 4; i++) {
        linear_call s;
        NEEDS(new_linear(&s, BP_OP_QR, linear_types[i], mode, true));
        const bp_linalg_call call = linear_call_on(&s, true);
        LIBRARY(bp_linalg_run(NULL, &call));
        LIBRARY(bp_device_wait(linear_place));
        NEEDS(copy_linear(&s.out[0], false, NULL));
        NEEDS(copy_linear(&s.out[1], false, NULL));
        const double residual = residual_of(&s);
        if (!(residual <= (linear_is_wide(linear_types[i]) ? 1e-11 : 1e-2))) {
            return fail("qr of %s: Q R differs from A by %g", bp_dtype_name(linear_types[i]), residual);
        }
        free_linear(&s);
    }
    return PASSED;
}

/* Vectors have any sign or phase, so that values are compared, and products. */
static outcome spectra_are_right(void) {
    bp_library_info info;
    NEEDS(open_linear(&info));
    NEEDS(factors_of_qr(BP_QR_REDUCED));
    NEEDS(factors_of_qr(BP_QR_COMPLETE));
    NEEDS(check(BP_OP_EIGH, BP_MODE_DEFAULT, false, 1));
    NEEDS(check(BP_OP_EIGH, BP_MODE_DEFAULT, true, 1));
    NEEDS(check(BP_OP_SVD, BP_SVD_REDUCED, false, 2));
    return check(BP_OP_SVD, BP_SVD_FULL, false, 2);
}

/* ---- Failing items ---- */

/* Item 1 is not definite, or has a NaN. */
static outcome fail_item(linear_call *s, double value) {
    set_linear_part(s->in[0].bytes, BP_F64, LINEAR_N * LINEAR_N + LINEAR_N + 1, value);
    return copy_linear(&s->in[0], true, NULL);
}

static outcome failures_are_told(void) {
    static const struct {
        double value;
        bp_status status;
        int32_t info;
    } cases[] = {{-1, BP_E_NOT_POSITIVE_DEFINITE, 2}, {(double)NAN, BP_E_NON_FINITE, -1}};
    bp_library_info library;
    NEEDS(open_linear(&library));
    for (int i = 0; i < 4; i++) {
        linear_call s;
        NEEDS(new_linear(&s, BP_OP_CHOLESKY, BP_F64, BP_MODE_DEFAULT, i / 2));
        NEEDS(fail_item(&s, cases[i % 2].value));
        const bp_linalg_call call = linear_call_on(&s, true);
        LIBRARY(bp_linalg_run(NULL, &call));
        const bp_status status = bp_device_wait(linear_place);
        EXPECT(status, i / 2 ? BP_OK : cases[i % 2].status);
        if (i / 2) {
            const int32_t expected[LINEAR_ITEMS] = {0, cases[i % 2].info, 0};
            NEEDS(copy_linear(&s.out[1], false, NULL));
            HOLDS(memcmp(s.out[1].bytes, expected, sizeof expected) == 0);
        }
        free_linear(&s);
    }
    return PASSED;
}

/* ---- Streams ---- */

typedef struct held {
    linear_call s;
    bp_plan *plan;
    bp_operand operands[3];
    bp_queue *queue;
    bp_exec exec;
} held;

/* A plan of Cholesky factors with info. It has run once, because loading kernels may wait for the device. */
static outcome hold(held *h) {
    LIBRARY(bp_queue_new(&h->queue, linear_place, 0));
    NEEDS(new_linear(&h->s, BP_OP_CHOLESKY, BP_F64, BP_MODE_DEFAULT, true));
    LIBRARY(bp_device_wait(linear_place)); /* another queue has written the input */
    const bp_linalg_call call = linear_call_on(&h->s, true);
    LIBRARY(bp_linalg_plan(&h->plan, NULL, &call));
    const DLTensor *const tensors[] = {call.input[0], call.output[0], call.output[1]};
    for (int i = 0; i < 3; i++) {
        h->operands[i] = (bp_operand){tensors[i]->data, tensors[i]->byte_offset};
    }
    h->exec = (bp_exec){.struct_size = sizeof h->exec, .queue = h->queue};
    LIBRARY(bp_execute(h->plan, h->operands, &h->exec));
    LIBRARY(bp_queue_wait(h->queue));
    return PASSED;
}

static void release(held *h) {
    bp_plan_release(h->plan);
    bp_queue_release(h->queue);
    free_linear(&h->s);
}

static outcome runs_keep_the_order(void) {
    held h;
    bp_library_info info;
    NEEDS(open_linear(&info));
    NEEDS(hold(&h));
    gate *own = close_gate(bp_queue_native(h.queue));
    HOLDS(own != NULL);
    NEEDS(write_linear(&h.s, h.queue));
    LIBRARY(bp_execute(h.plan, h.operands, &h.exec));
    WORKS(cu.StreamSynchronize(NULL)); /* a call that is in the default stream by mistake has run then */
    open_gate(own);
    LIBRARY(bp_queue_wait(h.queue));
    NEEDS(solve_on_host(&h.s));
    NEEDS(expect_linear(&h.s, 0));
    release(&h);
    return PASSED;
}

static outcome bits_are_the_same(void) {
    static uint8_t first[LINEAR_BYTES];
    held h;
    bp_library_info info;
    NEEDS(open_linear(&info));
    NEEDS(hold(&h));
    for (int round = 0; round < 20; round++) {
        LIBRARY(bp_execute(h.plan, h.operands, &h.exec));
        LIBRARY(bp_queue_wait(h.queue));
        NEEDS(copy_linear(&h.s.out[0], false, NULL));
        if (round == 0) {
            memcpy(first, h.s.out[0].bytes, LINEAR_ITEMS * LINEAR_N * LINEAR_N * 8);
        }
        HOLDS(memcmp(first, h.s.out[0].bytes, LINEAR_ITEMS * LINEAR_N * LINEAR_N * 8) == 0);
    }
    release(&h);
    return PASSED;
}

/* Also after the plan was released. */
static outcome runs_are_captured(void) {
    held h;
    bp_queue_graph *graph;
    bp_library_info info;
    NEEDS(open_linear(&info));
    NEEDS(hold(&h));
    LIBRARY(bp_queue_capture_begin(h.queue));
    LIBRARY(bp_execute(h.plan, h.operands, &h.exec));
    LIBRARY(bp_queue_capture_end(&graph, h.queue));
    bp_plan_release(h.plan);
    h.plan = NULL;
    for (int round = 0; round < 3; round++) {
        NEEDS(write_linear(&h.s, h.queue));
        LIBRARY(bp_queue_graph_launch(graph, h.queue));
        LIBRARY(bp_queue_wait(h.queue));
        NEEDS(solve_on_host(&h.s));
        NEEDS(expect_linear(&h.s, 0));
    }
    bp_queue_graph_release(graph);
    release(&h);
    return PASSED;
}

/* ---- The library itself ---- */

/* Captures of Cholesky and LU factorizations assume that these need no memory of the host. */
static outcome workspaces_are_on_the_device(void) {
    bp__cusolver_api api;
    bp_library_info info;
    cusolverDnHandle_t handle;
    cusolverDnParams_t params;
    size_t device, host;
    NEEDS(open_linear(&info));
    void *library = dlopen(info.path, RTLD_NOW | RTLD_LOCAL);
    HOLDS(library != NULL);
#define X(name, symbol, parameters) *(void **)&api.name = dlsym(library, #symbol);
    BP__CUSOLVER_FUNCTIONS(X)
#undef X
    EXPECT(api.Create(&handle), 0);
    EXPECT(api.CreateParams(&params), 0);
    EXPECT(api.PotrfSize(handle, params, 0, 512, BP__CUDA_R_64F, NULL, 512, BP__CUDA_R_64F, &device, &host), 0);
    note("potrf of 512: %zu bytes on the device, %zu on the host", device, host);
    HOLDS(host == 0);
    EXPECT(api.GetrfSize(handle, params, 512, 512, BP__CUDA_R_64F, NULL, 512, BP__CUDA_R_64F, &device, &host), 0);
    note("getrf of 512: %zu bytes on the device, %zu on the host", device, host);
    HOLDS(host == 0);
    EXPECT(api.DestroyParams(params), 0);
    EXPECT(api.Destroy(handle), 0);
    return PASSED;
}

const rule cusolver_rules[] = {
    {"linalg.values", "Factorizations, solutions and inverses have the values of the host's.", values_are_right},
    {"linalg.spectra", "Q and R, eigenvalues and singular values are right.", spectra_are_right},
    {"linalg.failing", "Failing items are told by info, or by the next wait.", failures_are_told},
    {"linalg.order", "Factorizations run in the order of their stream.", runs_keep_the_order},
    {"linalg.bits", "Runs of a plan are bitwise reproducible.", bits_are_the_same},
    {"linalg.graphs", "Factorizations are captured into graphs, which run after the plan was released.",
     runs_are_captured},
    {"linalg.workspace", "Cholesky and LU factorizations need no memory of the host.", workspaces_are_on_the_device},
    {NULL, NULL, NULL},
};
