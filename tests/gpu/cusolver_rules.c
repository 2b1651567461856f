/* cusolver_rules.c - what the provider of cuSOLVER assumes of the library, checked on a real device: values, failing
 * items, the order of streams, graphs, and workspaces. The double in tests/cusolver/doubles keeps the same rules. */
#include "check.h"

#include "backplane.h"

#include "providers/cusolver/api.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 24, SIDES = 3, ITEMS = 3, BYTES = ITEMS * N * N * 16 };

static const bp_dtype types[] = {BP_F32, BP_F64, BP_C64, BP_C128};
static int32_t place;

static outcome open_linalg(bp_library_info *info) {
    void *context = NULL;
    *info = (bp_library_info){.struct_size = sizeof *info};
    if (bp_library_find("cusolver", info) != BP_OK) {
        return skip_rule("%s", bp_last_error());
    }
    LIBRARY(bp_device_find("cuda:0", &place));
    LIBRARY(bp_device_context(place, &context));
    NEEDS(open_driver());
    WORKS(cu.CtxSetCurrent(context));
    return PASSED;
}

/* ---- A call on the device, and the same on the host ---- */

typedef struct operand {
    DLManagedTensorVersioned *block;
    bp_view host;
    DLTensor device;
    uint8_t *bytes, *expected; /* what the device has, and of an output what the host has made */
} operand;

typedef struct solved {
    bp_linalg_call call;
    operand in[BP_LINALG_INPUTS], out[BP_LINALG_OUTPUTS];
    bool with_info;
} solved;

static outcome new_operand(operand *x, bp_dtype dtype, int ndim, const int64_t *shape) {
    const int64_t size = BYTES;
    *x = (operand){.bytes = calloc(1, BYTES), .expected = calloc(1, BYTES)};
    HOLDS(x->bytes && x->expected);
    LIBRARY(bp_tensor_empty_on(&x->block, place, BP_U8, 1, &size, NULL));
    LIBRARY(bp_view_init(&x->host, x->bytes, dtype, ndim, shape, NULL));
    x->device = x->host.tensor;
    x->device.data = x->block->dl_tensor.data;
    x->device.device = x->block->dl_tensor.device;
    x->device.byte_offset = x->block->dl_tensor.byte_offset;
    return PASSED;
}

static outcome copy_operand(operand *x, bool to_device, bp_queue *queue) {
    const int64_t size = BYTES;
    bp_view host;
    DLTensor device = x->block->dl_tensor;
    LIBRARY(bp_view_init(&host, x->bytes, BP_U8, 1, &size, NULL));
    device.shape = host.tensor.shape;
    device.strides = host.tensor.strides;
    LIBRARY(to_device ? bp_copy(&device, &host.tensor, queue) : bp_copy(&host.tensor, &device, queue));
    return PASSED;
}

static bool is_wide(bp_dtype dtype) {
    return dtype == BP_F64 || dtype == BP_C128;
}

static int parts_of(bp_dtype dtype) {
    return dtype == BP_C64 || dtype == BP_C128 ? 2 : 1;
}

static double part_at(const uint8_t *bytes, bp_dtype dtype, int64_t index) {
    double wide;
    float narrow;
    memcpy(is_wide(dtype) ? (void *)&wide : &narrow, bytes + index * (is_wide(dtype) ? 8 : 4), is_wide(dtype) ? 8 : 4);
    return is_wide(dtype) ? wide : (double)narrow;
}

static void set_part(uint8_t *bytes, bp_dtype dtype, int64_t index, double value) {
    const float narrow = (float)value;
    memcpy(bytes + index * (is_wide(dtype) ? 8 : 4), is_wide(dtype) ? (const void *)&value : &narrow,
           is_wide(dtype) ? 8 : 4);
}

/* Random numbers; matrices of N x N become definite, or with `exchanged` have their large elements on the other
 * diagonal, so that pivots exchange rows. */
static void fill(operand *x, bp_dtype dtype, bool exchanged) {
    static unsigned state = 1;
    const int parts = parts_of(dtype);
    const bool square = x->host.tensor.shape[x->host.tensor.ndim - 1] == N;
    for (int64_t i = 0; i < ITEMS * N * N * parts; i++) {
        const int64_t element = i / parts;
        state = state * 1664525u + 1013904223u;
        const double value = (double)(state >> 8) / (1 << 23) - 1;
        const int64_t row = element / N % N, large = exchanged ? N - 1 - row : row;
        const bool diagonal = square && i % parts == 0 && element % N == large;
        set_part(x->bytes, dtype, i, diagonal ? value + 2 * N : value);
    }
}

static bool exchanges(bp_op op) {
    return op == BP_OP_LU_FACTOR || op == BP_OP_LU || op == BP_OP_INV || op == BP_OP_SOLVE;
}

static bool has_sides(bp_op op) {
    return op == BP_OP_SOLVE || op == BP_OP_SOLVE_TRIANGULAR;
}

/* Makes a call for a batch of matrices; its outputs are compact. */
static outcome new_call(solved *s, bp_op op, bp_dtype dtype, bp_linalg_mode mode, bool with_info) {
    *s = (solved){.call = {.struct_size = sizeof s->call, .op = op, .mode = mode}, .with_info = with_info};
    for (int i = 0; i < (has_sides(op) ? 2 : 1); i++) {
        NEEDS(new_operand(&s->in[i], dtype, 3, (const int64_t[]){ITEMS, N, i == 0 ? N : SIDES}));
        fill(&s->in[i], dtype, exchanges(op));
        NEEDS(copy_operand(&s->in[i], true, NULL));
        s->call.input[i] = &s->in[i].host.tensor;
    }
    for (int i = 0; i < BP_LINALG_OUTPUTS; i++) {
        bp_dtype type;
        int ndim;
        int64_t shape[BP_MAX_NDIM];
        const bool exists = bp_linalg_shape(&s->call, i, &type, &ndim, shape) == BP_OK;
        if (exists && (with_info || ndim > 1)) {
            NEEDS(new_operand(&s->out[i], type, ndim, shape));
        }
    }
    return PASSED;
}

static bp_linalg_call call_on(solved *s, bool device) {
    bp_linalg_call call = s->call;
    for (int i = 0; i < BP_LINALG_INPUTS; i++) {
        call.input[i] = !s->in[i].block ? NULL : device ? &s->in[i].device : &s->in[i].host.tensor;
    }
    for (int i = 0; i < BP_LINALG_OUTPUTS; i++) {
        call.output[i] = !s->out[i].block ? NULL : device ? &s->out[i].device : &s->out[i].host.tensor;
    }
    return call;
}

static void free_call(solved *s) {
    for (int i = 0; i < BP_LINALG_INPUTS + BP_LINALG_OUTPUTS; i++) {
        operand *x = i < BP_LINALG_INPUTS ? &s->in[i] : &s->out[i - BP_LINALG_INPUTS];
        if (x->block) {
            x->block->deleter(x->block);
        }
        free(x->bytes);
        free(x->expected);
    }
}

/* Runs the call on the host. */
static outcome expect_from_host(solved *s) {
    const bp_linalg_call call = call_on(s, false);
    LIBRARY(bp_linalg_run(NULL, &call));
    for (int i = 0; i < BP_LINALG_OUTPUTS; i++) {
        if (s->out[i].block) {
            memcpy(s->out[i].expected, s->out[i].bytes, BYTES);
        }
    }
    return PASSED;
}

/* Compares an output with the host's. */
static outcome compare(solved *s, int output) {
    operand *x = &s->out[output];
    const bp_dtype dtype = bp_dtype_from_dlpack(x->host.tensor.dtype);
    int64_t count = 1;
    NEEDS(copy_operand(x, false, NULL));
    for (int d = 0; d < x->host.tensor.ndim; d++) {
        count *= x->host.tensor.shape[d];
    }
    if (dtype == BP_I32) {
        HOLDS(memcmp(x->bytes, x->expected, (size_t)count * 4) == 0);
        return PASSED;
    }
    const int parts = parts_of(dtype);
    for (int64_t i = 0; i < count; i++) {
        const double a = part_at(x->bytes, dtype, i * parts), b = part_at(x->expected, dtype, i * parts);
        const double c = parts > 1 ? part_at(x->bytes, dtype, i * parts + 1) : 0;
        const double d = parts > 1 ? part_at(x->expected, dtype, i * parts + 1) : 0;
        if (!(hypot(a - b, c - d) <= (is_wide(dtype) ? 1e-11 : 1e-3) * (1 + hypot(b, d)))) {
            return fail("%s of %s: element %lld of output %d is %g%+gi in place of %g%+gi", bp_op_name(s->call.op),
                        bp_dtype_name(dtype), (long long)i, output, a, c, b, d);
        }
    }
    return PASSED;
}

/* Runs a call on the device, and compares outputs of `compared`, a mask. */
static outcome check(bp_op op, bp_linalg_mode mode, bool upper, unsigned compared) {
    for (int i = 0; i < 4; i++) {
        solved s;
        NEEDS(new_call(&s, op, types[i], mode, true));
        s.call.upper = upper;
        NEEDS(expect_from_host(&s));
        const bp_linalg_call call = call_on(&s, true);
        LIBRARY(bp_linalg_run(NULL, &call));
        LIBRARY(bp_device_wait(place));
        for (int o = 0; o < BP_LINALG_OUTPUTS; o++) {
            if (s.out[o].block && (compared >> o & 1)) {
                NEEDS(compare(&s, o));
            }
        }
        free_call(&s);
    }
    return PASSED;
}

static outcome values_are_right(void) {
    bp_library_info info;
    NEEDS(open_linalg(&info));
    for (int upper = 0; upper < 2; upper++) {
        NEEDS(check(BP_OP_CHOLESKY, BP_MODE_DEFAULT, upper, 3));
        NEEDS(check(BP_OP_CHOLESKY_INVERSE, BP_MODE_DEFAULT, upper, 3));
        NEEDS(check(BP_OP_SOLVE_TRIANGULAR, BP_MODE_DEFAULT, upper, 1));
    }
    NEEDS(check(BP_OP_LU_FACTOR, BP_MODE_DEFAULT, false, 7));
    NEEDS(check(BP_OP_LU, BP_MODE_DEFAULT, false, 7));
    NEEDS(check(BP_OP_INV, BP_MODE_DEFAULT, false, 3));
    return check(BP_OP_SOLVE, BP_MODE_DEFAULT, false, 3);
}

/* Returns the parts of an element of a matrix of an item. */
static void element_of(const operand *x, int64_t item, int64_t row, int64_t column, double value[2]) {
    const bp_dtype dtype = bp_dtype_from_dlpack(x->host.tensor.dtype);
    const int64_t *shape = x->host.tensor.shape, at = (item * shape[1] + row) * shape[2] + column;
    value[0] = part_at(x->bytes, dtype, at * parts_of(dtype));
    value[1] = parts_of(dtype) > 1 ? part_at(x->bytes, dtype, at * 2 + 1) : 0;
}

/* Returns the largest element of |Q R - A|. */
static double residual_of(const solved *s) {
    double largest = 0;
    for (int64_t i = 0; i < ITEMS * N * N; i++) {
        double sum[2], q[2], r[2];
        element_of(&s->in[0], i / N / N, i / N % N, i % N, sum);
        for (int64_t k = 0; k < N; k++) {
            element_of(&s->out[0], i / N / N, i / N % N, k, q);
            element_of(&s->out[1], i / N / N, k, i % N, r);
            sum[0] -= q[0] * r[0] - q[1] * r[1];
            sum[1] -= q[0] * r[1] + q[1] * r[0];
        }
        largest = fmax(largest, hypot(sum[0], sum[1]));
    }
    return largest;
}

static outcome factors_of_qr(bp_linalg_mode mode) {
    for (int i = 0; i < 4; i++) {
        solved s;
        NEEDS(new_call(&s, BP_OP_QR, types[i], mode, true));
        const bp_linalg_call call = call_on(&s, true);
        LIBRARY(bp_linalg_run(NULL, &call));
        LIBRARY(bp_device_wait(place));
        NEEDS(copy_operand(&s.out[0], false, NULL));
        NEEDS(copy_operand(&s.out[1], false, NULL));
        const double residual = residual_of(&s);
        if (!(residual <= (is_wide(types[i]) ? 1e-11 : 1e-2))) {
            return fail("qr of %s: Q R differs from A by %g", bp_dtype_name(types[i]), residual);
        }
        free_call(&s);
    }
    return PASSED;
}

/* Vectors have any sign or phase, so that values are compared, and products. */
static outcome spectra_are_right(void) {
    bp_library_info info;
    NEEDS(open_linalg(&info));
    NEEDS(factors_of_qr(BP_QR_REDUCED));
    NEEDS(factors_of_qr(BP_QR_COMPLETE));
    NEEDS(check(BP_OP_EIGH, BP_MODE_DEFAULT, false, 1));
    NEEDS(check(BP_OP_EIGH, BP_MODE_DEFAULT, true, 1));
    NEEDS(check(BP_OP_SVD, BP_SVD_REDUCED, false, 2));
    return check(BP_OP_SVD, BP_SVD_FULL, false, 2);
}

/* ---- Failing items ---- */

/* Item 1 is not definite, or has a NaN. */
static outcome fail_item(solved *s, double value) {
    set_part(s->in[0].bytes, BP_F64, N * N + N + 1, value);
    return copy_operand(&s->in[0], true, NULL);
}

static outcome failures_are_told(void) {
    static const struct {
        double value;
        bp_status status;
        int32_t info;
    } cases[] = {{-1, BP_E_NOT_POSITIVE_DEFINITE, 2}, {(double)NAN, BP_E_NON_FINITE, -1}};
    bp_library_info library;
    NEEDS(open_linalg(&library));
    for (int i = 0; i < 4; i++) {
        solved s;
        NEEDS(new_call(&s, BP_OP_CHOLESKY, BP_F64, BP_MODE_DEFAULT, i / 2));
        NEEDS(fail_item(&s, cases[i % 2].value));
        const bp_linalg_call call = call_on(&s, true);
        LIBRARY(bp_linalg_run(NULL, &call));
        const bp_status status = bp_device_wait(place);
        EXPECT(status, i / 2 ? BP_OK : cases[i % 2].status);
        if (i / 2) {
            const int32_t expected[ITEMS] = {0, cases[i % 2].info, 0};
            NEEDS(copy_operand(&s.out[1], false, NULL));
            HOLDS(memcmp(s.out[1].bytes, expected, sizeof expected) == 0);
        }
        free_call(&s);
    }
    return PASSED;
}

/* ---- Streams ---- */

typedef struct held {
    solved s;
    bp_plan *plan;
    bp_operand operands[3];
    bp_queue *queue;
    bp_exec exec;
} held;

/* A plan of Cholesky factors with info. It has run once, because loading kernels may wait for the device. */
static outcome hold(held *h) {
    LIBRARY(bp_queue_new(&h->queue, place, 0));
    NEEDS(new_call(&h->s, BP_OP_CHOLESKY, BP_F64, BP_MODE_DEFAULT, true));
    LIBRARY(bp_device_wait(place)); /* another queue has written the input */
    const bp_linalg_call call = call_on(&h->s, true);
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
    free_call(&h->s);
}

static outcome write_again(held *h) {
    fill(&h->s.in[0], BP_F64, false);
    NEEDS(copy_operand(&h->s.in[0], true, h->queue));
    return PASSED;
}

static outcome runs_keep_the_order(void) {
    held h;
    bp_library_info info;
    NEEDS(open_linalg(&info));
    NEEDS(hold(&h));
    gate *own = close_gate(bp_queue_native(h.queue));
    HOLDS(own != NULL);
    NEEDS(write_again(&h));
    LIBRARY(bp_execute(h.plan, h.operands, &h.exec));
    WORKS(cu.StreamSynchronize(NULL)); /* a call that is in the default stream by mistake has run then */
    open_gate(own);
    LIBRARY(bp_queue_wait(h.queue));
    NEEDS(expect_from_host(&h.s));
    NEEDS(compare(&h.s, 0));
    release(&h);
    return PASSED;
}

static outcome bits_are_the_same(void) {
    static uint8_t first[BYTES];
    held h;
    bp_library_info info;
    NEEDS(open_linalg(&info));
    NEEDS(hold(&h));
    for (int round = 0; round < 20; round++) {
        LIBRARY(bp_execute(h.plan, h.operands, &h.exec));
        LIBRARY(bp_queue_wait(h.queue));
        NEEDS(copy_operand(&h.s.out[0], false, NULL));
        if (round == 0) {
            memcpy(first, h.s.out[0].bytes, ITEMS * N * N * 8);
        }
        HOLDS(memcmp(first, h.s.out[0].bytes, ITEMS * N * N * 8) == 0);
    }
    release(&h);
    return PASSED;
}

/* Also after the plan was released. */
static outcome runs_are_captured(void) {
    held h;
    bp_queue_graph *graph;
    bp_library_info info;
    NEEDS(open_linalg(&info));
    NEEDS(hold(&h));
    LIBRARY(bp_queue_capture_begin(h.queue));
    LIBRARY(bp_execute(h.plan, h.operands, &h.exec));
    LIBRARY(bp_queue_capture_end(&graph, h.queue));
    bp_plan_release(h.plan);
    h.plan = NULL;
    for (int round = 0; round < 3; round++) {
        NEEDS(write_again(&h));
        LIBRARY(bp_queue_graph_launch(graph, h.queue));
        LIBRARY(bp_queue_wait(h.queue));
        NEEDS(expect_from_host(&h.s));
        NEEDS(compare(&h.s, 0));
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
    NEEDS(open_linalg(&info));
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
