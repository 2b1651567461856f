/* support_cublas.c - implements support_cublas.h. */
#include "cublas/support_cublas.h"

#define ALL CUBLAS_DOUBLES "/lt:" CUBLAS_DOUBLES "/classic:" DOUBLES "/good"

cublas_controls *the_lt(void) {
    static cublas_controls *found;
    found = found ? found : controls_of(CUBLAS_DOUBLES "/lt/libcublasLt.so.13", "cublas_double");
    return found;
}

cublas_controls *the_classic(void) {
    static cublas_controls *found;
    found = found ? found : controls_of(CUBLAS_DOUBLES "/classic/libcublas.so.13", "cublas_double");
    return found;
}

/* ---- Setup ---- */

int start_cublas(void **state) {
    unsetenv("CUBLAS_DOUBLE");
    return start_cuda(state) == 0 && restart_with(ALL) == BP_OK ? 0 : -1;
}

static bool is_clean(const cublas_controls *d, const char *name) {
    if (d->handles || d->objects) {
        fprintf(stderr, "%s: %d handles and %d descriptors are left\n", name, d->handles, d->objects);
    }
    return !d->handles && !d->objects;
}

int stop_cublas(void **state) {
    const int stopped = stop_cuda(state);
    return stopped != 0 || !is_clean(the_lt(), "cublaslt") || !is_clean(the_classic(), "cublas");
}

/* Returns the number of a fault that CUBLAS_FAULT names, as the tests of local.cmake do. */
static int planted_fault(void) {
    static const char *const names[CUBLAS_FAULT_MOST] = {
        [CUBLAS_FAULT_NONE] = "",
        [CUBLAS_FAULT_TRANSPOSITION] = "transposition",
        [CUBLAS_FAULT_CONJUGATE] = "conjugate",
        [CUBLAS_FAULT_LD] = "ld",
        [CUBLAS_FAULT_BATCH] = "batch",
        [CUBLAS_FAULT_ALPHA] = "alpha",
        [CUBLAS_FAULT_BETA] = "beta",
        [CUBLAS_FAULT_ROUNDING] = "rounding",
        [CUBLAS_FAULT_ORDER] = "order",
        [CUBLAS_FAULT_BIAS] = "bias",
        [CUBLAS_FAULT_FUNCTION] = "function",
        [CUBLAS_FAULT_SCHEMES] = "schemes",
        [CUBLAS_FAULT_WORKSPACE] = "workspace",
        [CUBLAS_FAULT_ALIGNMENT] = "alignment",
    };
    return number_of_fault("CUBLAS_FAULT", names, CUBLAS_FAULT_MOST);
}

static void begin_library(cublas_controls *d) {
    d->refuse_create = 0;
    d->refuse_products = 0;
    d->refuse_lists = 0;
    d->empty_lists = false;
    d->violations = 0;
    d->fault = planted_fault();
}

int begin_cublas(void **state) {
    begin_library(the_lt());
    begin_library(the_classic());
    const int begun = begin_cuda(state);
    the_double()->longest_delay_us = 20;
    return begun;
}

static bool has_violations(const cublas_controls *d, const char *name) {
    if (d->violations) {
        fprintf(stderr, "%s: %d violations (%s)\n", name, d->violations, d->violation);
    }
    return d->violations != 0;
}

int end_cublas(void **state) {
    const bool lt = has_violations(the_lt(), "cublaslt"), classic = has_violations(the_classic(), "cublas");
    return end_cuda(state) != 0 || lt || classic ? -1 : 0;
}

/* ---- Products ---- */

typedef struct trial {
    test_array host[3];
    on_device device[3];
} trial;

static void make_operand(test_array *x, const gemm_case *c, bp_dtype dtype, int64_t rows, int64_t columns,
                         bool by_columns, bool same) {
    int64_t shape[4], strides[4];
    const int64_t ld = (by_columns ? rows : columns) + c->gap;
    int64_t step = ld * (by_columns ? columns : rows) + c->apart;
    for (int d = c->batch_ndim - 1; d >= 0; d--) {
        shape[d] = c->batch[d];
        strides[d] = same ? 0 : step;
        step *= c->batch[d];
    }
    shape[c->batch_ndim] = rows;
    shape[c->batch_ndim + 1] = columns;
    strides[c->batch_ndim] = by_columns ? 1 : ld;
    strides[c->batch_ndim + 1] = by_columns ? ld : 1;
    test_array_make_strided(x, dtype, c->batch_ndim + 2, shape, strides, 0);
    test_array_fill(x, dtype == BP_I8 ? 9 : 1);
}

static bool transposes(int transform) {
    return transform == BP_TRANSPOSE || transform == BP_CONJUGATE_TRANSPOSE;
}

static void make_trial(trial *t, const gemm_case *c) {
    const bool ta = transposes(c->transform_a), tb = transposes(c->transform_b);
    make_operand(&t->host[0], c, c->dtype, ta ? c->k : c->m, ta ? c->m : c->k, c->columns_a, c->same_a);
    make_operand(&t->host[1], c, c->dtype, tb ? c->n : c->k, tb ? c->k : c->n, c->columns_b, c->same_b);
    make_operand(&t->host[2], c, c->output ? c->output : c->dtype, c->m, c->n, c->columns_c, false);
}

static void put_trial(trial *t, const gemm_case *c) {
    for (int i = 0; i < 3; i++) {
        put(&t->device[i], &t->host[i], c->device, c->past);
    }
}

static void free_trial(trial *t) {
    for (int i = 0; i < 3; i++) {
        drop(&t->device[i]);
        test_array_free(&t->host[i]);
    }
}

static bp_status run_trial(trial *t, const gemm_case *c, const char *settings) {
    bp_options *options;
    assert_ok(bp_options_new(&options, settings));
    const bp_status status = bp_gemm_run(options, (bp_transform)c->transform_a, (bp_transform)c->transform_b, &c->alpha,
                                         &t->device[0].tensor, &t->device[1].tensor, &c->beta, &t->device[2].tensor);
    bp_options_release(options);
    return status;
}

void check_gemm(const gemm_case *c, const char *settings, double part) {
    trial t;
    reference_results made;
    char text[160];
    snprintf(text, sizeof text, "%s %dx%dx%d, %d%d, %d%d%d, batch %d, '%s'", bp_dtype_name(c->dtype), (int)c->m,
             (int)c->n, (int)c->k, c->transform_a, c->transform_b, c->columns_a, c->columns_b, c->columns_c,
             c->batch_ndim, settings);
    make_trial(&t, c);
    put_trial(&t, c);
    assert_ok(reference_of_gemm(&made, c->transform_a, c->transform_b, &c->alpha, &t.host[0].view.tensor,
                                &t.host[1].view.tensor, &c->beta, &t.host[2].view.tensor));
    const bp_status status = run_trial(&t, c, settings);
    if (status != BP_OK) {
        fail_msg("%s: %s", text, bp_last_error());
    }
    get(&t.device[2]);
    test_check_results_within(&made, part, text);
    test_array_check_gaps(&t.host[2], text);
    free_trial(&t);
}

bp_status run_gemm(const gemm_case *c, const char *settings) {
    trial t;
    make_trial(&t, c);
    put_trial(&t, c);
    const bp_status status = run_trial(&t, c, settings);
    assert_ok(bp_device_wait(cuda_place(c->device)));
    free_trial(&t);
    return status;
}

const char *explained(const gemm_case *c, const char *settings) {
    static char text[32768];
    trial t;
    bp_options *options;
    bp_explanation *e;
    make_trial(&t, c);
    put_trial(&t, c);
    assert_ok(bp_options_new(&options, settings));
    assert_ok(bp_gemm_explain(&e, options, (bp_transform)c->transform_a, (bp_transform)c->transform_b, &c->alpha,
                              &t.device[0].tensor, &t.device[1].tensor, &c->beta, &t.device[2].tensor));
    snprintf(text, sizeof text, "%s", bp_explanation_text(e));
    bp_explanation_release(e);
    bp_options_release(options);
    free_trial(&t);
    return text;
}
