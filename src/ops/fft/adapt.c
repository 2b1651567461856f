/* adapt.c - wraps a provider's plain transform: zero padding, conjugation, full spectra of real input, empty batches.
 *
 * Candidates evaluate the plain transform that they would run, so that the choice, the plan and the explanation
 * describe what really runs. Input in an unsuitable form is copied to the workspace. Work after the transform is done
 * in the output's memory. */
#include "ops/fft/fft.h"

#include "tensor/internal.h"

#include <string.h>

#define MOST_DIMS (BP_MAX_BATCH_NDIM + BP_MAX_FFT_NDIM + 1)

/* One dimension of the input's copy. */
typedef struct copied {
    int64_t size;  /* of the copy */
    int64_t given; /* elements of the input; the rest is filled with zeros */
    int64_t from;  /* strides in elements */
    int64_t to;
} copied;

typedef struct adapted {
    bp_prepared base; /* must be first: the interface of dispatch */
    bp_prepared *inner;
    bp_fft_problem fft; /* the caller's problem */
    bp_dtype complex, input;
    size_t bytes; /* of the copy, in whole cache lines; 0: the provider reads the input directly */
    int count;
    copied dims[MOST_DIMS]; /* of the copy: at least two, the last two form a matrix */
} adapted;

/* ---- Description ---- */

static bool copies(const bp_fft_problem *f) {
    return f->zero_padded || (f->kind == BP_FFT_C2R && f->conjugate);
}

/* Returns how many elements of the input the transform reads in a dimension. */
static int64_t needed(const bp_fft_problem *f, int i) {
    return f->kind == BP_FFT_C2R && i == f->ndim - 1 ? f->n[i] / 2 + 1 : f->n[i];
}

static const char *applies(const bp_problem *problem) {
    static const char *const texts[2][2][2] = {
        /* indices: padding, fill, conjugation of an output */
        {{NULL, "the result is conjugated"},
         {"the rest of the spectrum is filled in by symmetry",
          "the rest of the spectrum is filled in by symmetry, and the result is conjugated"}},
        {{"the input is padded with zeros first", "the input is padded with zeros first, and the result is conjugated"},
         {"the input is padded with zeros first, and the rest of the spectrum is filled in by symmetry",
          "the input is padded with zeros first, the rest of the spectrum is filled in by symmetry, and the result is "
          "conjugated"}},
    };
    const bp_fft_problem *f = &problem->of.fft;
    if (problem->place != 0) { /* providers of devices do all of it: the copies here are in host memory */
        return NULL;
    }
    if (f->batch == 0) {
        return "nothing is computed, because the batch is empty";
    }
    if (f->kind == BP_FFT_C2R && f->conjugate) {
        return f->zero_padded ? "the input is conjugated and padded with zeros first" : "the input is conjugated first";
    }
    return texts[f->zero_padded][f->full_spectrum][f->conjugate];
}

/* Lays out the copy: an input that is broadcast over the batch is copied once, and the last dimension is contiguous.
 * Returns the number of elements; `f` becomes the transform of the copy. */
static int64_t take_copy(bp_fft_problem *f, copied *dims, int *count) {
    int64_t step = 1;
    *count = 1 + f->batch_ndim + f->ndim;
    dims[0] = (copied){.size = 1, .given = 1};
    for (int i = f->ndim - 1; i >= 0; i--) {
        int64_t size = needed(f, i);
        dims[1 + f->batch_ndim + i] = (copied){size, f->input_size[i], f->in[i], step};
        f->in[i] = size > 1 ? step : 0;
        f->input_size[i] = size;
        step *= size;
    }
    for (int i = f->batch_ndim - 1; i >= 0; i--) {
        int64_t size = f->batch_in[i] ? f->batch_shape[i] : 1;
        dims[1 + i] = (copied){size, size, f->batch_in[i], step};
        f->batch_in[i] = size > 1 ? step : 0;
        step *= size;
    }
    return step;
}

/* Drops dimensions of one element. They were kept only to record that the input is empty there. */
static void drop_single(bp_fft_problem *f) {
    int kept = 0;
    for (int i = 0; i < f->ndim; i++) {
        if (f->n[i] > 1 || (f->kind != BP_FFT_C2C && i == f->ndim - 1)) {
            f->n[kept] = f->n[i];
            f->in[kept] = f->in[i];
            f->out[kept] = f->out[i];
            f->input_size[kept++] = f->input_size[i];
        }
    }
    for (int i = kept; i < f->ndim; i++) {
        f->n[i] = f->in[i] = f->out[i] = f->input_size[i] = 0;
    }
    f->ndim = kept;
}

static void layout(bp_problem *problem) {
    bp_fft_problem *f = &problem->of.fft;
    copied dims[MOST_DIMS];
    int count;
    if (copies(f)) {
        take_copy(f, dims, &count);
        drop_single(f);
    }
    f->batch = f->batch > 0 ? f->batch : 1;
    f->inverse = f->kind == BP_FFT_C2C ? f->inverse : f->kind == BP_FFT_C2R;
    f->zero_padded = f->full_spectrum = f->conjugate = 0;
}

/* ---- Before the transform ---- */

static void zeros(const adapted *a, const copied *d, char *to) {
    size_t item = bp_dtype_size(a->input) * (size_t)d->to;
    memset(to + (size_t)d->given * item, 0, (size_t)(d->size - d->given) * item);
}

/* Returns whether the program stops the call after `elements` more elements. */
static bool stops(bp__pace *pace, int64_t elements) {
    return bp__pace_due(pace, elements) && bp__operation_interrupted(BP_OP_FFT);
}

/* Copies the last two dimensions, some rows at a time. Returns false if stopped. */
static bool copy_rows(const adapted *a, const copied *d, char *to, const char *from, bp__pace *pace) {
    enum { AT_ONCE = 1 << 18 };
    const int64_t item = (int64_t)bp_dtype_size(a->input);
    const copied *row = d + 1;
    const int64_t most = row->size < AT_ONCE ? AT_ONCE / row->size : 1;
    for (int64_t done = 0; done < d->given;) {
        const int64_t rows = d->given - done < most ? d->given - done : most;
        char *at = to + done * d->to * item;
        bp__copy_matrix(a->input, rows, row->given, at, d->to, row->to, from + done * d->from * item, d->from,
                        row->from, a->fft.kind == BP_FFT_C2R && a->fft.conjugate);
        for (int64_t i = 0; i < rows && row->size > row->given; i++) {
            zeros(a, row, at + i * d->to * item);
        }
        done += rows;
        if (stops(pace, rows * row->size)) {
            return false;
        }
    }
    return true;
}

static bool copy_input(const adapted *a, int dim, char *to, const char *from, bp__pace *pace) {
    const int64_t item = (int64_t)bp_dtype_size(a->input);
    const copied *d = &a->dims[dim];
    if (dim == a->count - 2) {
        if (!copy_rows(a, d, to, from, pace)) {
            return false;
        }
    } else {
        for (int64_t i = 0; i < d->given; i++) {
            if (!copy_input(a, dim + 1, to + i * d->to * item, from + i * d->from * item, pace)) {
                return false;
            }
        }
    }
    zeros(a, d, to);
    return true;
}

/* ---- After the transform: the output of real input ---- */

/* Sets to[i] to the conjugate of from[-i], for i in [1, count]; strides in complex elements. */
#define MIRROR(name, real)                                                                                             \
    static void name(real *to, const real *from, int64_t stride, int64_t count) {                                      \
        for (int64_t i = 1; i <= count; i++) {                                                                         \
            to[2 * i * stride] = from[-2 * i * stride];                                                                \
            to[2 * i * stride + 1] = -from[-2 * i * stride + 1];                                                       \
        }                                                                                                              \
    }
MIRROR(mirror_f32, float)
MIRROR(mirror_f64, double)

#define CONJUGATE(name, real)                                                                                          \
    static void name(real *at, int64_t stride, int64_t count) {                                                        \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            at[2 * i * stride + 1] = -at[2 * i * stride + 1];                                                          \
        }                                                                                                              \
    }
CONJUGATE(conjugate_f32, float)
CONJUGATE(conjugate_f64, double)

/* Fills the second half of the row at `row` from the row with mirrored indices in all other dimensions. */
static void fill_row(const adapted *a, char *row, const char *mirrored) {
    const bp_fft_problem *f = &a->fft;
    int last = f->ndim - 1;
    int64_t item = (int64_t)bp_dtype_size(a->complex), n = f->n[last], stride = f->out[last];
    int64_t middle = n / 2; /* the first element to fill follows it, and mirrors n - middle - 1 */
    char *to = row + middle * stride * item;
    const char *from = mirrored + (n - middle) * stride * item;
    if (a->complex == BP_C64) {
        mirror_f32((float *)to, (const float *)from, stride, n - middle - 1);
    } else {
        mirror_f64((double *)to, (const double *)from, stride, n - middle - 1);
    }
}

static void conjugate_row(const adapted *a, char *row) {
    int last = a->fft.ndim - 1;
    int64_t count = a->fft.n[last] / 2 + 1;
    if (a->complex == BP_C64) {
        conjugate_f32((float *)row, a->fft.out[last], count);
    } else {
        conjugate_f64((double *)row, a->fft.out[last], count);
    }
}

/* Visits each row of an item together with its mirrored row. Returns false if stopped. */
static bool each_row(const adapted *a, int dim, char *row, char *mirrored, bool fill, bp__pace *pace) {
    const bp_fft_problem *f = &a->fft;
    if (dim == f->ndim - 1) {
        if (fill) {
            fill_row(a, row, mirrored);
        } else {
            conjugate_row(a, row);
        }
        return !stops(pace, f->n[dim]);
    }
    int64_t step = f->out[dim] * (int64_t)bp_dtype_size(a->complex), n = f->n[dim];
    for (int64_t i = 0; i < n; i++) {
        if (!each_row(a, dim + 1, row + i * step, mirrored + (i > 0 ? n - i : 0) * step, fill, pace)) {
            return false;
        }
    }
    return true;
}

static bool finish(const adapted *a, int dim, char *out, bp__pace *pace) {
    const bp_fft_problem *f = &a->fft;
    if (dim == f->batch_ndim) {
        return (!f->conjugate || each_row(a, 0, out, out, false, pace)) &&
               (!f->full_spectrum || each_row(a, 0, out, out, true, pace));
    }
    int64_t step = f->batch_out[dim] * (int64_t)bp_dtype_size(a->complex);
    for (int64_t i = 0; i < f->batch_shape[dim]; i++) {
        if (!finish(a, dim + 1, out + i * step, pace)) {
            return false;
        }
    }
    return true;
}

/* ---- The wrapped plan ---- */

/* The copy is at the beginning of the workspace; the provider's workspace follows. */
static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const adapted *a = (const adapted *)self;
    bp_operand ready[2] = {operands[0], operands[1]};
    bp_exec inner = *exec;
    bp__pace pace = {0};
    if (a->fft.batch == 0) {
        return BP_OK;
    }
    if (a->bytes > 0) {
        if (!copy_input(a, 0, bp_operand_address(&exec->workspace), bp_operand_address(&operands[0]), &pace)) {
            return BP_E_CANCELLED;
        }
        ready[0] = exec->workspace;
        inner.workspace.offset += a->bytes;
        inner.workspace_size = a->inner->workspace;
    }
    bp_status status = a->inner->enqueue(a->inner, ready, &inner);
    if (status == BP_OK && a->fft.kind == BP_FFT_R2C && (a->fft.conjugate || a->fft.full_spectrum)) {
        pace = (bp__pace){0};
        status = finish(a, 0, bp_operand_address(&operands[1]), &pace) ? BP_OK : BP_E_CANCELLED;
    }
    return status;
}

static void destroy(bp_prepared *self) {
    adapted *a = (adapted *)self;
    a->inner->destroy(a->inner);
    bp__free(a);
}

static bp_status wrap(const bp_problem *problem, bp_prepared *inner, bp_prepared **wrapped) {
    adapted *a = bp__alloc_zero(1, sizeof *a);
    if (!a) {
        return bp__fail_memory(sizeof *a, "a plan");
    }
    bp_fft_problem plain = problem->of.fft;
    a->base = (bp_prepared){.struct_size = sizeof a->base, .enqueue = enqueue, .destroy = destroy};
    a->inner = inner;
    a->fft = problem->of.fft;
    a->complex = (bp_dtype)problem->dtype;
    a->input = a->fft.kind != BP_FFT_R2C ? a->complex : a->complex == BP_C64 ? BP_F32 : BP_F64;
    if (copies(&plain)) {
        const size_t line = 64;
        size_t bytes = (size_t)take_copy(&plain, a->dims, &a->count) * bp_dtype_size(a->input);
        a->bytes = (bytes + line - 1) / line * line;
    }
    a->base.workspace = a->fft.batch == 0 ? 0 : a->bytes + inner->workspace;
    *wrapped = &a->base;
    return BP_OK;
}

const bp__adapter bp__fft_adapter = {applies, layout, wrap};
