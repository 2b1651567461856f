/* fft.c - Fourier transforms and shifts of the zero frequency, for the commands that take an operation. */
#include "sizing.h"

#include <string.h>

/* The number of an entry: the transform, and its default number of dimensions. */
enum { ONE, TWO, ALL, FORMS };
enum { SHIFT, UNSHIFT };

static int read_norm(const cli_args *args, bp_fft_norm *norm) {
    bp_status status = bp_fft_norm_from_name(cli_value(args, "norm"), norm);
    return status == BP_OK ? CLI_OK : cli_fail(CLI_USAGE, "--norm: %s", bp_last_error());
}

/* Copies the given dimensions and sizes into the call. */
static int read_dims(cli_job *job, int ndim) {
    fft_words *words = &job->words.fft;
    int dim_count, size_count;
    int code = operand_dims(job->args, "dim", words->dims, &dim_count);
    code = code == CLI_OK ? operand_numbers(job->args, ndim == 1 ? "n" : "s", words->s, &size_count) : code;
    if (code != CLI_OK) {
        return code;
    }
    if (ndim == 1 && (dim_count > 1 || size_count > 1)) {
        return cli_fail(CLI_USAGE, "%s transforms one dimension; use %sn for several", job->operation->name,
                        job->operation->name);
    }
    if (dim_count > 0 && size_count > 0 && dim_count != size_count) {
        return cli_fail(CLI_USAGE, "--dim has %d dimensions, but --s has %d sizes", dim_count, size_count);
    }
    words->call.axis_count = dim_count > 0 ? dim_count : size_count > 0 ? size_count : ndim;
    words->call.axes = dim_count > 0 ? words->dims : NULL;
    words->call.s = size_count > 0 ? words->s : NULL;
    return CLI_OK;
}

static int prepare_fft(cli_job *job) {
    static const int default_ndim[FORMS] = {1, 2, BP_FFT_ALL};
    bp_fft_call *call = &job->words.fft.call;
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    call->struct_size = sizeof *call;
    call->transform = (bp_fft_transform)(job->operation->number / FORMS);
    int code = read_norm(job->args, &call->norm);
    code = code == CLI_OK ? read_dims(job, default_ndim[job->operation->number % FORMS]) : code;
    if (code != CLI_OK) {
        return code;
    }
    bp_status status = bp_fft_shape(call, &job->inputs[0].tensor, &dtype, &ndim, shape);
    return status == BP_OK ? job_result(job, 0, dtype, ndim, shape) : cli_fail_status(status);
}

static bp_status run_fft(cli_job *job) {
    return bp_fft_run(job->options, &job->words.fft.call, &job->inputs[0].tensor, &job->results[0].tensor);
}

static bp_status explain_fft(const cli_job *job, bp_explanation **explanation) {
    return bp_fft_explain(explanation, job->options, &job->words.fft.call, &job->inputs[0].tensor,
                          &job->results[0].tensor);
}

static bp_status plan_fft(const cli_job *job, bp_plan **made, bp_operand *operands, int *count) {
    *count = job_operands(job, operands);
    return bp_fft_plan(made, job->options, &job->words.fft.call, &job->inputs[0].tensor, &job->results[0].tensor);
}

static const cli_measured measured = {BP_OP_FFT, plan_fft, check_transform};

static int prepare_shift(cli_job *job) {
    const bp_view *in = &job->inputs[0];
    int code = read_dims(job, BP_FFT_ALL);
    return code == CLI_OK ? job_result(job, 0, bp_dtype_from_dlpack(in->tensor.dtype), in->tensor.ndim, in->shape)
                          : code;
}

static bp_status run_shift(cli_job *job) {
    const bp_fft_call *call = &job->words.fft.call;
    const DLTensor *in = &job->inputs[0].tensor;
    DLTensor *out = &job->results[0].tensor;
    return job->operation->number == SHIFT ? bp_fftshift(in, call->axis_count, call->axes, out)
                                           : bp_ifftshift(in, call->axis_count, call->axes, out);
}

static const char *const one_options[] = {"n", "dim", "norm", NULL};
static const char *const many_options[] = {"s", "dim", "norm", NULL};
static const char *const shift_options[] = {"dim", NULL};

/* The sizings of one, two and all dimensions, of an input that is complex or real. */
#define COMPLEX(one, many)                                                                                             \
    {"n:complex", NULL, NULL, work_transform, one, false, {64, 1024, 16384, 262144}, 0, NULL}, {                       \
        "nxn:complex", NULL, NULL, work_transform, many, false, {16, 64, 256, 1024}, 0, NULL                           \
    }
static const cli_sizing
    between_complex[] = {COMPLEX("5 n log2 n", "10 n^2 log2 n")},
    from_complex[] = {COMPLEX("about 5 n log2 n", "about 10 n^2 log2 n")},
    from_real[] = {{"n", NULL, NULL, work_transform, "5/2 n log2 n", false, {64, 1024, 16384, 262144}, 0, NULL},
                   {"nxn", NULL, NULL, work_transform, "5 n^2 log2 n", false, {16, 64, 256, 1024}, 0, NULL}};

#define SIZING_FFT between_complex
#define SIZING_IFFT between_complex
#define SIZING_RFFT from_real
#define SIZING_IRFFT from_complex
#define SIZING_HFFT from_complex
#define SIZING_IHFFT from_real

#define ENTRY(name, number, options, sizing)                                                                           \
    { name, "A", 1, 1, 1, number, options, prepare_fft, run_fft, explain_fft, false, &measured, NULL, sizing, NULL }
#define TRANSFORM(number, NAME, text, many)                                                                            \
    ENTRY(text, (number)*FORMS + ONE, one_options, &SIZING_##NAME[0]),                                                 \
        ENTRY(text "2", (number)*FORMS + TWO, many_options, &SIZING_##NAME[1]),                                        \
        ENTRY(many, (number)*FORMS + ALL, many_options, &SIZING_##NAME[1]),

const cli_operation operations_fft[] = {
    BP_FFT_MAP(TRANSFORM) /* fft, fft2, fftn, ifft, ... */
    {"fftshift", "A", 1, 1, 1, SHIFT, shift_options, prepare_shift, run_shift, NULL, false, NULL, NULL, NULL, NULL},
    {"ifftshift", "A", 1, 1, 1, UNSHIFT, shift_options, prepare_shift, run_shift, NULL, false, NULL, NULL, NULL, NULL},
    {.name = NULL},
};
