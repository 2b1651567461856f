/* plain_dft.c - a provider of transforms by the sums of the definition, for tests of the FFT adapter.
 *
 * It accepts exactly what the interface guarantees. It checks those guarantees, and refuses problems that it must never
 * receive. */
#include "backplane/provider.h"

#include <complex.h>
#include <math.h>

typedef struct prepared {
    bp_prepared base;
    bp_dtype complex_type;
    bp_fft_problem fft;
    int64_t elements; /* of an item during the computation */
} prepared;

static const bp_host *host;

static bp_status open_plain(const bp_host *given, const bp_library_info *library, void **instance) {
    (void)library;
    host = given;
    *instance = &host;
    return BP_OK;
}

static void close_plain(void *instance) {
    (void)instance;
}

static int64_t needed(const bp_fft_problem *f, int i) {
    return f->kind == BP_FFT_C2R && i == f->ndim - 1 ? f->n[i] / 2 + 1 : f->n[i];
}

static int64_t given_back(const bp_fft_problem *f, int i) {
    return f->kind == BP_FFT_R2C && i == f->ndim - 1 ? f->n[i] / 2 + 1 : f->n[i];
}

/* Returns the guarantee of bp_fft_problem that the problem violates; NULL if there is none. */
static const char *violated_guarantee(const bp_problem *problem) {
    const bp_fft_problem *f = &problem->of.fft;
    int64_t batch = 1;
    if (problem->dtype != BP_C64 && problem->dtype != BP_C128) {
        return "dtype is not the complex one";
    }
    if (f->full_spectrum || f->conjugate || f->zero_padded) {
        return "fill, conjugate and pads are the dispatcher's";
    }
    if (f->inverse != (f->kind == BP_FFT_C2R) && f->kind != BP_FFT_C2C) {
        return "R2C is forward and C2R is inverse";
    }
    if (f->kind != BP_FFT_C2C && (f->in_place || f->ndim == 0)) {
        return "a half spectrum has a dimension and is never in place";
    }
    for (int i = 0; i < f->ndim; i++) {
        int half = f->kind != BP_FFT_C2C && i == f->ndim - 1;
        if (f->n[i] < (half ? 1 : 2) || f->input_size[i] != needed(f, i)) {
            return "a size is not what it must be";
        }
        if ((needed(f, i) == 1 && f->in[i] != 0) || (given_back(f, i) == 1 && f->out[i] != 0)) {
            return "a dimension of size 1 has a stride";
        }
        if (f->in_place && f->in[i] != f->out[i]) {
            return "in place with different strides";
        }
    }
    for (int i = 0; i < f->batch_ndim; i++) {
        batch *= f->batch_shape[i];
        if (f->batch_shape[i] < 2) {
            return "a batch dimension has no effect";
        }
    }
    return f->batch != batch ? "batch is not the product of its dimensions" : NULL;
}

static void accept_plain(void *instance, const bp_problem *problem, bp_offers *offers) {
    (void)instance;
    bp_verdict verdict = BP_VERDICT_INIT;
    if (problem->op != BP_OP_FFT) {
        return; /* adds no offer, which counts as a refusal */
    }
    const char *why = violated_guarantee(problem);
    verdict.reason = why ? BP_REASON_OTHER : BP_REASON_ACCEPTED;
    for (int i = 0; why && why[i] && i < (int)sizeof verdict.text - 1; i++) {
        verdict.text[i] = why[i];
    }
    verdict.algorithm = "sums";
    verdict.properties = BP_PROPERTY_THREAD_INVARIANT | BP_PROPERTY_PROPAGATES_NAN;
    verdict.threads = 1;
    verdict.cost_ns = 1e9;
    offers->add(offers, &verdict, NULL, 0);
}

static double complex load(const prepared *p, const char *at) {
    switch (p->fft.kind == BP_FFT_R2C ? (p->complex_type == BP_C64 ? BP_F32 : BP_F64) : p->complex_type) {
    case BP_F32:
        return *(const float *)at;
    case BP_F64:
        return *(const double *)at;
    case BP_C64:
        return *(const float complex *)at;
    default:
        return *(const double complex *)at;
    }
}

static void store(const prepared *p, char *at, double complex value) {
    switch (p->fft.kind == BP_FFT_C2R ? (p->complex_type == BP_C64 ? BP_F32 : BP_F64) : p->complex_type) {
    case BP_F32:
        *(float *)at = (float)creal(value);
        break;
    case BP_F64:
        *(double *)at = creal(value);
        break;
    case BP_C64:
        *(float complex *)at = (float complex)value;
        break;
    default:
        *(double complex *)at = value;
    }
}

static size_t item_size(const prepared *p, int output) {
    int real = p->fft.kind == (output ? BP_FFT_C2R : BP_FFT_R2C);
    return (p->complex_type == BP_C64 ? sizeof(float complex) : sizeof(double complex)) / (real ? 2 : 1);
}

/* Copies the item's elements in row-major order between the caller's memory and `work`, which has n elements in each
 * dimension. */
static void move(const prepared *p, int output, int dim, char *at, double complex *work) {
    const bp_fft_problem *f = &p->fft;
    if (dim == f->ndim) {
        if (output) {
            store(p, at, f->scale * *work);
        } else {
            *work = load(p, at);
        }
        return;
    }
    int64_t step = 1, count = output ? given_back(f, dim) : needed(f, dim);
    for (int i = dim + 1; i < f->ndim; i++) {
        step *= f->n[i];
    }
    int64_t stride = (output ? f->out[dim] : f->in[dim]) * (int64_t)item_size(p, output);
    for (int64_t i = 0; i < count; i++) {
        move(p, output, dim + 1, at + i * stride, work + i * step);
    }
}

/* Transforms one row of n elements with stride `step`. `half`: the second half follows from symmetry. */
static void transform_row(double complex *row, int64_t n, int64_t step, double sign, int half, double complex *spare) {
    for (int64_t j = 0; j < n; j++) {
        spare[j] = row[j * step];
    }
    if (half) {
        spare[0] = creal(spare[0]);
        for (int64_t j = n / 2 + 1; j < n; j++) {
            spare[j] = conj(spare[n - j]);
        }
        if (n % 2 == 0) {
            spare[n / 2] = creal(spare[n / 2]);
        }
    }
    for (int64_t k = 0; k < n; k++) {
        double complex sum = 0;
        for (int64_t j = 0; j < n; j++) {
            double angle = sign * 2 * 3.14159265358979323846 * (double)(j * k % n) / (double)n;
            sum += spare[j] * (cos(angle) + I * sin(angle));
        }
        row[k * step] = sum;
    }
}

static void transform_item(const prepared *p, const char *in, char *out, double complex *work) {
    const bp_fft_problem *f = &p->fft;
    double complex *spare = work + p->elements;
    for (int64_t i = 0; i < p->elements; i++) {
        work[i] = 0; /* only part of a half spectrum is read */
    }
    move(p, 0, 0, (char *)(uintptr_t)in, work);
    int64_t step = p->elements;
    for (int dim = 0; dim < f->ndim; dim++) {
        int64_t n = f->n[dim], outer = p->elements / step;
        step /= n;
        for (int64_t row = 0; row < outer * step; row++) {
            transform_row(work + row / step * step * n + row % step, n, step, f->inverse ? 1 : -1,
                          f->kind == BP_FFT_C2R && dim == f->ndim - 1, spare);
        }
    }
    move(p, 1, 0, out, work);
}

static void each_item(const prepared *p, int dim, const char *in, char *out, double complex *work) {
    const bp_fft_problem *f = &p->fft;
    if (dim == f->batch_ndim) {
        transform_item(p, in, out, work);
        return;
    }
    for (int64_t i = 0; i < f->batch_shape[dim]; i++) {
        each_item(p, dim + 1, in + i * f->batch_in[dim] * (int64_t)item_size(p, 0),
                  out + i * f->batch_out[dim] * (int64_t)item_size(p, 1), work);
    }
}

static bp_status enqueue_plain(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *p = (const prepared *)self;
    each_item(p, 0, bp_operand_address(&operands[0]), bp_operand_address(&operands[1]),
              bp_operand_address(&exec->workspace));
    return BP_OK;
}

static void destroy_plain(bp_prepared *self) {
    host->release(self);
}

static bp_status plan_plain(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                            bp_prepared **made) {
    (void)instance, (void)verdict, (void)found;
    prepared *p = host->allocate(sizeof *p);
    if (!p) {
        return host->fail(BP_E_NO_MEMORY, "no memory for a plan");
    }
    *p = (prepared){{.struct_size = sizeof p->base, .enqueue = enqueue_plain, .destroy = destroy_plain},
                    (bp_dtype)problem->dtype,
                    problem->of.fft,
                    1};
    for (int i = 0; i < p->fft.ndim; i++) {
        p->elements *= p->fft.n[i];
    }
    /* The adapter has its own workspace in addition to this one. */
    p->base.workspace = 2 * (size_t)p->elements * sizeof(double complex);
    *made = &p->base;
    return BP_OK;
}

BP_PROVIDER_DEFINE(plain_dft) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "plain-dft",
    .version = "1",
    .description = "transforms by definition, for tests",
    .open = open_plain,
    .close = close_plain,
    .accept = accept_plain,
    .plan = plan_plain,
};
