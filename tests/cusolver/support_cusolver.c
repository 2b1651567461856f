/* support_cusolver.c - implements support_cusolver.h. */
#include "cusolver/support_cusolver.h"

#include "reference/linalg.h"

#define ALL CUSOLVER_DOUBLES "/good:" DOUBLES "/good"

cusolver_controls *the_cusolver(void) {
    static cusolver_controls *found;
    found = found ? found : controls_of(CUSOLVER_DOUBLES "/good/libcusolver.so.12", "cusolver_double");
    return found;
}

/* ---- Setup ---- */

int start_cusolver(void **state) {
    unsetenv("CUSOLVER_DOUBLE");
    return start_cuda(state) == 0 && restart_with(ALL) == BP_OK ? 0 : -1;
}

int stop_cusolver(void **state) {
    const int stopped = stop_cuda(state);
    if (the_cusolver()->handles) {
        fprintf(stderr, "%d handles are left\n", the_cusolver()->handles);
    }
    return stopped != 0 || the_cusolver()->handles;
}

/* Returns the number of a fault that CUSOLVER_FAULT names, as the tests of local.cmake do. */
static int planted_fault(void) {
    static const char *const names[CUSOLVER_FAULT_MOST] = {
        [CUSOLVER_FAULT_NONE] = "",
        [CUSOLVER_FAULT_ORDER] = "order",
        [CUSOLVER_FAULT_STREAM] = "stream",
        [CUSOLVER_FAULT_TRIANGLE] = "triangle",
        [CUSOLVER_FAULT_OP] = "op",
        [CUSOLVER_FAULT_CONJUGATE] = "conjugate",
        [CUSOLVER_FAULT_PIVOTS] = "pivots",
        [CUSOLVER_FAULT_SIDES] = "sides",
        [CUSOLVER_FAULT_INFO] = "info",
        [CUSOLVER_FAULT_WORKSPACE] = "workspace",
        [CUSOLVER_FAULT_REFLECTOR] = "reflector",
        [CUSOLVER_FAULT_VALUES] = "values",
    };
    return number_of_fault("CUSOLVER_FAULT", names, CUSOLVER_FAULT_MOST);
}

int begin_cusolver(void **state) {
    cusolver_controls *d = the_cusolver();
    d->refuse_make = 0;
    d->refuse_size = 0;
    d->divides = false;
    d->refuse_call = 0;
    d->host_bytes = 0;
    d->fail_spectra = 0;
    d->violations = 0;
    d->fault = planted_fault();
    const int begun = begin_cuda(state);
    the_double()->longest_delay_us = 20;
    return begun;
}

int end_cusolver(void **state) {
    const cusolver_controls *d = the_cusolver();
    const bool violated = d->violations != 0;
    if (violated) {
        fprintf(stderr, "cusolver: %d violations (%s)\n", d->violations, d->violation);
    }
    return end_cuda(state) != 0 || violated ? -1 : 0;
}

/* ---- Cases ---- */

linalg_case new_case(bp_op op, bp_dtype dtype) {
    return (linalg_case){.call = {.struct_size = sizeof(bp_linalg_call), .op = op}, .dtype = dtype};
}

test_array *add_input(linalg_case *c, int ndim, const int64_t *shape, test_layout layout) {
    int i = 0;
    while (c->in[i].memory) {
        i++;
    }
    test_array_make(&c->in[i], c->dtype, ndim, shape, layout);
    test_array_fill(&c->in[i], 1);
    return &c->in[i];
}

static void add_to_diagonals(test_array *a, double value) {
    const int ndim = a->view.tensor.ndim;
    const int64_t n = a->view.tensor.shape[ndim - 1];
    for (int64_t i = 0; n > 0 && i < test_array_count(a); i += n) {
        const int64_t at = i + i / n % n;
        const bp_scalar x = test_array_get_complex(a, at);
        test_array_set_complex(a, at, (bp_scalar){x.re + value, x.im});
    }
}

void make_dominant(test_array *a) {
    add_to_diagonals(a, (double)a->view.tensor.shape[a->view.tensor.ndim - 1] + 1);
}

/* Only one triangle of the matrices is read, and the imaginary parts of diagonals are not: they stay as they are. */
void make_definite(test_array *a) {
    add_to_diagonals(a, 2 * (double)a->view.tensor.shape[a->view.tensor.ndim - 1] + 1);
}

const bp_linalg_call *host_call(linalg_case *c) {
    static bp_linalg_call call;
    call = c->call;
    for (int i = 0; i < CASE_INPUTS; i++) {
        call.input[i] = c->in[i].memory ? &c->in[i].view.tensor : NULL;
    }
    for (int i = 0; i < CASE_OUTPUTS; i++) {
        call.output[i] = c->out[i].memory ? &c->out[i].view.tensor : NULL;
    }
    return &call;
}

const bp_linalg_call *device_call(linalg_case *c) {
    static bp_linalg_call call;
    call = c->call;
    for (int i = 0; i < CASE_INPUTS; i++) {
        call.input[i] = c->in[i].memory ? &c->device_in[i].tensor : NULL;
    }
    for (int i = 0; i < CASE_OUTPUTS; i++) {
        call.output[i] = c->out[i].memory ? &c->device_out[i].tensor : NULL;
    }
    return &call;
}

void put_case(linalg_case *c, test_layout layout, unsigned absent) {
    const bp_linalg_call call = *host_call(c);
    for (int i = 0; i < CASE_OUTPUTS; i++) {
        bp_dtype dtype;
        int ndim;
        int64_t shape[BP_MAX_NDIM];
        if (!(absent >> i & 1) && bp_linalg_shape(&call, i, &dtype, &ndim, shape) == BP_OK) {
            test_array_make(&c->out[i], dtype, ndim, shape, ndim > 0 ? layout : TEST_COMPACT);
            put(&c->device_out[i], &c->out[i], c->device, 0);
        }
    }
    for (int i = 0; i < CASE_INPUTS; i++) {
        if (c->in[i].memory) {
            put(&c->device_in[i], &c->in[i], c->device, 0);
        }
    }
    assert_ok(bp_device_wait(cuda_place(c->device))); /* tests may run it on another queue */
}

void free_case(linalg_case *c) {
    for (int i = 0; i < CASE_INPUTS; i++) {
        if (c->in[i].memory) {
            drop(&c->device_in[i]);
            test_array_free(&c->in[i]);
        }
    }
    for (int i = 0; i < CASE_OUTPUTS; i++) {
        if (c->out[i].memory) {
            drop(&c->device_out[i]);
            test_array_free(&c->out[i]);
        }
    }
}

bp_status run_case(linalg_case *c) {
    bp_status status = bp_linalg_run(NULL, device_call(c));
    status = status == BP_OK ? bp_device_wait(cuda_place(c->device)) : status;
    if (status == BP_OK) {
        for (int i = 0; i < CASE_OUTPUTS; i++) {
            if (c->out[i].memory) {
                get(&c->device_out[i]);
            }
        }
    }
    return status;
}

void check_case(linalg_case *c, const char *text) {
    test_array before[CASE_INPUTS];
    double error;
    for (int i = 0; i < CASE_INPUTS && c->in[i].memory; i++) {
        test_array_copy(&before[i], &c->in[i]);
    }
    if (run_case(c) != BP_OK) {
        fail_msg("%s: %s", text, bp_last_error());
    }
    assert_ok(reference_linalg_error(host_call(c), &error));
    if (!(error <= reference_linalg_bound(host_call(c)))) {
        fail_msg("%s: the error is %g, more than %g", text, error, reference_linalg_bound(host_call(c)));
    }
    for (int i = 0; i < CASE_INPUTS && c->in[i].memory; i++) {
        get(&c->device_in[i]);
        test_array_check_unchanged(&c->in[i], &before[i], text);
        test_array_free(&before[i]);
    }
    for (int i = 0; i < CASE_OUTPUTS; i++) {
        test_array_check_gaps(&c->out[i], text);
    }
}

const char *explained_case(linalg_case *c, const char *settings) {
    static char text[32768];
    bp_options *options;
    bp_explanation *e;
    assert_ok(bp_options_new(&options, settings));
    assert_ok(bp_linalg_explain(&e, options, device_call(c)));
    snprintf(text, sizeof text, "%s", bp_explanation_text(e));
    bp_explanation_release(e);
    bp_options_release(options);
    return text;
}

static int count_names(const char *names) {
    int count = *names != '\0';
    for (const char *at = names; *at; at++) {
        count += *at == ',';
    }
    return count;
}

bp_plan *plan_case(linalg_case *c, bp_operand operands[CASE_INPUTS + CASE_OUTPUTS]) {
    const bp_linalg_call *call = device_call(c);
    const int inputs = count_names(bp_op_inputs(call->op)), all = inputs + count_names(bp_op_outputs(call->op));
    bp_plan *plan;
    assert_ok(bp_linalg_plan(&plan, NULL, call));
    for (int i = 0; i < all; i++) {
        const DLTensor *t = i < inputs ? call->input[i] : call->output[i - inputs];
        operands[i] = t ? (bp_operand){t->data, t->byte_offset} : (bp_operand){NULL, 0};
    }
    return plan;
}

void write_inputs(linalg_case *c) {
    for (int i = 0; i < CASE_INPUTS; i++) {
        if (c->in[i].memory) {
            test_array_open(&c->in[i]);
            write_bytes(&c->device_in[i].block->dl_tensor, c->in[i].block, NULL);
            test_array_close(&c->in[i]);
        }
    }
}
