/* support_cufft.c - implements support_cufft.h. */
#include "cufft/support_cufft.h"

#define ALL CUFFT_DOUBLES "/good:" DOUBLES "/good"

cufft_controls *the_cufft(void) {
    static cufft_controls *found;
    found = found ? found : controls_of(CUFFT_DOUBLES "/good/libcufft.so.12", "cufft_double");
    return found;
}

/* ---- Setup ---- */

int start_cufft(void **state) {
    unsetenv("CUFFT_DOUBLE");
    return start_cuda(state) == 0 && restart_with(ALL) == BP_OK ? 0 : -1;
}

int stop_cufft(void **state) {
    const int stopped = stop_cuda(state);
    if (the_cufft()->plans) {
        fprintf(stderr, "%d plans are left\n", the_cufft()->plans);
    }
    return stopped != 0 || the_cufft()->plans;
}

/* Returns the number of a fault that CUFFT_FAULT names, as the tests of local.cmake do. */
static int planted_fault(void) {
    static const char *const names[CUFFT_FAULT_MOST] = {
        [CUFFT_FAULT_NONE] = "",
        [CUFFT_FAULT_ORDER] = "order",
        [CUFFT_FAULT_STREAM] = "stream",
        [CUFFT_FAULT_EMBED] = "embed",
        [CUFFT_FAULT_STRIDE] = "stride",
        [CUFFT_FAULT_BATCH] = "batch",
        [CUFFT_FAULT_DIRECTION] = "direction",
        [CUFFT_FAULT_WORKSPACE] = "workspace",
        [CUFFT_FAULT_SCALE] = "scale",
    };
    return number_of_fault("CUFFT_FAULT", names, CUFFT_FAULT_MOST);
}

int begin_cufft(void **state) {
    cufft_controls *d = the_cufft();
    d->refuse_plans = 0;
    d->refuse_calls = 0;
    d->violations = 0;
    d->fault = planted_fault();
    const int begun = begin_cuda(state);
    the_double()->longest_delay_us = 20;
    return begun;
}

int end_cufft(void **state) {
    const cufft_controls *d = the_cufft();
    const bool violated = d->violations != 0;
    if (violated) {
        fprintf(stderr, "cufft: %d violations (%s)\n", d->violations, d->violation);
    }
    return end_cuda(state) != 0 || violated ? -1 : 0;
}

/* ---- Transforms ---- */

/* Makes the call, of the last dimension unless the test has set it, and the shape of the result. */
static void shape_of(fft_case *c, bp_fft_transform transform, bp_dtype dtype, int ndim, const int64_t *shape,
                     bp_dtype *out_dtype, int64_t *out_shape) {
    bp_view view;
    int out_ndim;
    assert_ok(bp_view_init(&view, NULL, dtype, ndim, shape, NULL));
    if (c->call.struct_size == 0) {
        c->call = (bp_fft_call){.struct_size = sizeof c->call, .axis_count = 1};
    }
    c->call.transform = transform;
    assert_ok(bp_fft_shape(&c->call, &view.tensor, out_dtype, &out_ndim, out_shape));
}

static void put_fft(fft_case *c, size_t past_in, size_t past_out) {
    test_array_fill(&c->in, 1);
    put(&c->device_in, &c->in, 0, past_in);
    put(&c->device_out, &c->out, 0, past_out);
    assert_ok(bp_device_wait(cuda_place(0))); /* tests may run it on another queue */
}

void make_fft(fft_case *c, bp_fft_transform transform, bp_dtype dtype, int ndim, const int64_t *shape,
              test_layout in_layout, test_layout out_layout) {
    bp_dtype out_dtype;
    int64_t out_shape[BP_MAX_NDIM];
    shape_of(c, transform, dtype, ndim, shape, &out_dtype, out_shape);
    test_array_make(&c->in, dtype, ndim, shape, in_layout);
    test_array_make(&c->out, out_dtype, ndim, out_shape, out_layout);
    put_fft(c, 0, 0);
}

void make_strided_fft(fft_case *c, bp_fft_transform transform, bp_dtype dtype, int ndim, const int64_t *shape,
                      const int64_t *in_strides, const int64_t *out_strides, size_t past_in, size_t past_out) {
    bp_dtype out_dtype;
    int64_t out_shape[BP_MAX_NDIM];
    shape_of(c, transform, dtype, ndim, shape, &out_dtype, out_shape);
    test_array_make_strided(&c->in, dtype, ndim, shape, in_strides, 0);
    test_array_make_strided(&c->out, out_dtype, ndim, out_shape, out_strides, 0);
    put_fft(c, past_in, past_out);
}

void free_fft(fft_case *c) {
    drop(&c->device_in);
    drop(&c->device_out);
    test_array_free(&c->in);
    test_array_free(&c->out);
}

void check_fft(fft_case *c, const char *text) {
    reference_results made;
    test_array before;
    test_array_copy(&before, &c->in);
    assert_ok(reference_of_fft(&made, &c->call, &c->in.view.tensor, &c->out.view.tensor));
    if (bp_fft_run(NULL, &c->call, &c->device_in.tensor, &c->device_out.tensor) != BP_OK) {
        fail_msg("%s: %s", text, bp_last_error());
    }
    get(&c->device_out);
    get(&c->device_in);
    test_check_results(&made, text);
    test_array_check_gaps(&c->out, text);
    test_array_check_unchanged(&c->in, &before, text);
    test_array_free(&before);
}

const char *explained_fft(const fft_case *c, const char *settings) {
    static char text[32768];
    bp_options *options;
    bp_explanation *e;
    assert_ok(bp_options_new(&options, settings));
    assert_ok(bp_fft_explain(&e, options, &c->call, &c->device_in.tensor, &c->device_out.tensor));
    snprintf(text, sizeof text, "%s", bp_explanation_text(e));
    bp_explanation_release(e);
    bp_options_release(options);
    return text;
}

bp_plan *plan_fft(const fft_case *c, const char *settings, bp_operand operands[2]) {
    bp_options *options;
    bp_plan *plan;
    assert_ok(bp_options_new(&options, settings));
    assert_ok(bp_fft_plan(&plan, options, &c->call, &c->device_in.tensor, &c->device_out.tensor));
    bp_options_release(options);
    operands[0] = (bp_operand){c->device_in.tensor.data, c->device_in.tensor.byte_offset};
    operands[1] = (bp_operand){c->device_out.tensor.data, c->device_out.tensor.byte_offset};
    return plan;
}
