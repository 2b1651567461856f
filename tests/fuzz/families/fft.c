/* fft.c - random Fourier transforms, shifts and frequencies. */
#include "../../support/named.h"
#include "trial.h"

enum { TRANSFORM, SHIFT, SHIFT_BACK, FREQUENCIES };

static struct {
    int op, transform, norm, ndim;
    bool has_dims, has_sizes;
    int dims[4];
    int64_t s[4], n;
} p;

static const bp_dtype reals[] = {BP_F32, BP_F64}, complexes[] = {BP_C64, BP_C128};

static bp_fft_call call_of(void) {
    return (bp_fft_call){sizeof(bp_fft_call),        (bp_fft_transform)p.transform, (bp_fft_norm)p.norm, p.ndim,
                         p.has_dims ? p.dims : NULL, p.has_sizes ? p.s : NULL};
}

static void draw_transform(trial *t, int ndim) {
    source *s = &t->source;
    int64_t shape[BP_MAX_NDIM], out[BP_MAX_NDIM];
    bp_dtype type;
    int out_ndim;
    for (int d = 0; d < ndim; d++) {
        shape[d] = draw_size(s, d == ndim - 1 ? 70 : 8);
    }
    p.transform = draw(s, 6);
    p.norm = (int)draw_wild(s, draw(s, 3));
    p.ndim = chance(s, 4) ? BP_FFT_ALL : 1 + draw(s, ndim < 3 ? ndim : 3);
    p.has_dims = p.ndim > 0 && draw(s, 2);
    p.has_sizes = draw(s, 2);
    for (int i = 0; i < 4; i++) {
        p.dims[i] = (int)draw_wild(s, draw(s, 2) ? i % ndim : -1 - i % ndim);
        p.s[i] = draw_wild(s, draw(s, 2) ? BP_FFT_LENGTH : 1 + draw(s, 40));
    }
    const bool real = p.transform == BP_RFFT || p.transform == BP_IHFFT || chance(s, 4);
    operand *in = add(t, "input", real ? draw_type(s, 2, reals) : draw_type(s, 2, complexes), ndim, shape);
    in->content = FRACTIONS;
    DLTensor x = in->tensor;
    x.shape = in->shape;
    const bp_fft_call c = call_of();
    if (bp_fft_shape(&c, &x, &type, &out_ndim, out) != BP_OK) {
        t->invalid = true;
        return;
    }
    add_output(t, "output", type, out_ndim, out, 64);
}

static void draw_shift(trial *t, int ndim) {
    static const bp_dtype types[] = {BP_F32, BP_C128, BP_I32, BP_F16};
    source *s = &t->source;
    int64_t shape[BP_MAX_NDIM];
    const bp_dtype type = draw_type(s, 4, types);
    for (int d = 0; d < ndim; d++) {
        shape[d] = draw_size(s, 9);
        p.dims[d] = (int)draw_wild(s, draw(s, 2) ? d : d - ndim);
    }
    p.ndim = chance(s, 3) ? BP_FFT_ALL : draw(s, ndim + 1);
    add(t, "input", type, ndim, shape);
    add_output(t, "output", type, ndim, shape, 0);
}

static void make(trial *t) {
    source *s = &t->source;
    const int ndim = 1 + draw(s, 4);
    p.op = draw(s, 8) < 5 ? TRANSFORM : 1 + draw(s, 3);
    if (p.op == FREQUENCIES) {
        p.n = draw_size(s, 50);
        add_output(t, "output", draw_type(s, 2, reals), 1, (const int64_t[]){p.n / 2 + 1}, 0);
    } else {
        (p.op == TRANSFORM ? draw_transform : draw_shift)(t, ndim);
    }
    describe(t, "fft %d: transform %d norm %d ndim %d dims %d %d %d %d (%d) sizes %lld %lld %lld (%d)", p.op,
             p.transform, p.norm, p.ndim, p.dims[0], p.dims[1], p.dims[2], p.dims[3], p.has_dims, (long long)p.s[0],
             (long long)p.s[1], (long long)p.s[2], p.has_sizes);
}

/* Plans and explanations are asked for by name (calls.h). */
static bp_status call_named(const trial *t, request what, const bp_options *set, void *made) {
    const bp_fft_call c = call_of();
    named_call n;
    named_begin(&n, "fft");
    named_int(&n, "transform", (int)c.transform);
    named_int(&n, "norm", (int)c.norm);
    named_int(&n, "axis_count", c.axis_count);
    named_pointer(&n, "axes", c.axes);
    named_pointer(&n, "s", c.s);
    named_operands(&n, (const DLTensor *const *)t->tensor);
    return request_described(t, what, "fft", &n.arguments, set, made);
}

static bp_status call(const trial *t, request what, const bp_options *set, void *made) {
    const bp_fft_call c = call_of();
    const DLTensor *in = t->tensor[0];
    DLTensor *out = t->tensor[t->count - 1];
    const int *dims = p.ndim < 0 ? NULL : p.dims;
    if (what != RUN) {
        return p.op == TRANSFORM ? call_named(t, what, set, made) : BP_E_UNSUPPORTED;
    }
    return p.op == TRANSFORM    ? bp_fft_run(set, &c, in, out)
           : p.op == SHIFT      ? bp_fftshift(in, p.ndim, dims, out)
           : p.op == SHIFT_BACK ? bp_ifftshift(in, p.ndim, dims, out)
                                : bp_rfftfreq(p.n, 0.25, out);
}

const family family_fft = {"fft", "fft.preferred", make, call, NULL, false};
