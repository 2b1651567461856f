/* support_transforms.c - implements transforms.h. */
#include "ops/transforms.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PI_2 6.283185307179586476925286766559005768L

/* A call with the defaults of its input filled in. */
typedef struct resolved {
    bool to_real;
    int sign;
    int ndim, rank;
    int dims[BP_MAX_NDIM];
    int64_t n[BP_MAX_NDIM];
    int64_t shape[BP_MAX_NDIM]; /* of the full transform */
    long double points;
} resolved;

static void resolve(resolved *r, const bp_fft_call *call, const DLTensor *in) {
    bp_fft_transform t = call->transform;
    r->to_real = t == BP_IRFFT || t == BP_HFFT;
    r->sign = t == BP_FFT || t == BP_RFFT || t == BP_HFFT ? -1 : 1;
    r->rank = in->ndim;
    r->ndim = call->axis_count == BP_FFT_ALL ? in->ndim : call->axis_count;
    r->points = 1;
    for (int i = 0; i < r->rank; i++) {
        r->shape[i] = in->shape[i];
    }
    for (int i = 0; i < r->ndim; i++) {
        int dim = call->axes ? call->axes[i] : r->rank - r->ndim + i;
        dim = dim < 0 ? dim + r->rank : dim;
        int64_t length = r->to_real && i == r->ndim - 1 ? 2 * (in->shape[dim] - 1) : in->shape[dim];
        r->dims[i] = dim;
        r->n[i] = call->s && call->s[i] != BP_FFT_LENGTH ? call->s[i] : length;
        r->shape[dim] = r->n[i];
        r->points *= (long double)r->n[i];
    }
}

static int64_t product(int count, const int64_t *sizes) {
    int64_t all = 1;
    for (int i = 0; i < count; i++) {
        all *= sizes[i];
    }
    return all;
}

static void index_of(int rank, const int64_t *shape, int64_t place, int64_t *index) {
    for (int i = rank - 1; i >= 0; i--) {
        index[i] = place % shape[i];
        place /= shape[i];
    }
}

static void load(const resolved *r, const DLTensor *in, long double complex *work) {
    int64_t index[BP_MAX_NDIM];
    int64_t count = product(r->rank, r->shape);
    for (int64_t place = 0; place < count; place++) {
        bool inside = true;
        index_of(r->rank, r->shape, place, index);
        for (int i = 0; i < r->ndim; i++) {
            bool half = r->to_real && i == r->ndim - 1;
            inside = inside && index[r->dims[i]] < in->shape[r->dims[i]] &&
                     index[r->dims[i]] < (half ? r->n[i] / 2 + 1 : r->n[i]);
        }
        work[place] = inside ? test_get(in, index) : 0;
    }
}

static void make_hermitian(long double complex *row, int64_t n) {
    row[0] = creall(row[0]);
    for (int64_t j = n / 2 + 1; j < n; j++) {
        row[j] = conjl(row[n - j]);
    }
    if (n % 2 == 0) {
        row[n / 2] = creall(row[n / 2]);
    }
}

static void transform_dim(const resolved *r, int i, long double complex *work) {
    int64_t n = r->n[i], step = product(r->rank - r->dims[i] - 1, r->shape + r->dims[i] + 1);
    int64_t rows = product(r->rank, r->shape) / n;
    long double complex *row = malloc((size_t)n * sizeof *row), *roots = malloc((size_t)n * sizeof *roots);
    for (int64_t k = 0; k < n; k++) {
        roots[k] = cexpl(CMPLXL(0, PI_2 * r->sign * (long double)k / (long double)n));
    }
    for (int64_t at = 0; at < rows; at++) {
        long double complex *first = work + at / step * step * n + at % step;
        for (int64_t j = 0; j < n; j++) {
            row[j] = first[j * step];
        }
        if (r->to_real && i == r->ndim - 1) {
            make_hermitian(row, n);
        }
        for (int64_t k = 0; k < n; k++) {
            long double complex sum = 0;
            for (int64_t j = 0; j < n; j++) {
                sum += row[j] * roots[j * k % n];
            }
            first[k * step] = sum;
        }
    }
    free(row);
    free(roots);
}

static long double scale_of(const bp_fft_call *call, const resolved *r) {
    bool whole = call->norm == (r->sign < 0 ? BP_FFT_FORWARD : BP_FFT_BACKWARD);
    return call->norm == BP_FFT_ORTHO ? 1 / sqrtl(r->points) : whole ? 1 / r->points : 1;
}

double test_transform_error(const bp_fft_call *call, const DLTensor *in, const DLTensor *out) {
    resolved r;
    resolve(&r, call, in);
    int64_t count = product(r.rank, r.shape), outputs = product(out->ndim, out->shape);
    long double complex *work = malloc((size_t)(count + 1) * sizeof *work);
    long double squares = 0, scale = scale_of(call, &r), worst = 0;
    load(&r, in, work);
    for (int64_t i = 0; i < count; i++) {
        squares += creall(work[i] * conjl(work[i]));
    }
    for (int i = 0; i < r.ndim; i++) {
        transform_dim(&r, i, work);
    }
    bp_dtype dtype = bp_dtype_from_dlpack(out->dtype);
    long double unit = dtype == BP_F32 || dtype == BP_C64 ? 0x1p-24L : 0x1p-53L;
    long double bound = 8 * unit * (log2l(r.points) + 4) * scale * sqrtl(squares) + 0x1p-140L;
    for (int64_t place = 0; place < outputs; place++) {
        int64_t index[BP_MAX_NDIM], from = 0;
        index_of(out->ndim, out->shape, place, index);
        for (int i = 0; i < r.rank; i++) {
            from = from * r.shape[i] + index[i];
        }
        long double error = cabsl(test_get(out, index) - scale * work[from]) / bound;
        worst = isnan(error) ? INFINITY : fmaxl(worst, error);
    }
    free(work);
    return (double)worst;
}

void test_transform(const bp_fft_call *call, bp_dtype dtype, int ndim, const int64_t *shape, test_order in_order,
                    test_order out_order, unsigned *seed) {
    test_tensor in, out;
    bp_dtype out_dtype;
    int out_ndim;
    int64_t out_shape[BP_MAX_NDIM];
    test_tensor_new(&in, dtype, ndim, shape, in_order, seed);
    if (bp_fft_shape(call, &in.view.tensor, &out_dtype, &out_ndim, out_shape) != BP_OK) {
        fail_msg("no shape: %s", bp_last_error());
    }
    for (int again = 0; again < 2; again++) {
        test_tensor_new(&out, out_dtype, out_ndim, out_shape, out_order, seed);
        bp_status status = bp_fft_run(NULL, call, &in.view.tensor, &out.view.tensor);
        double error = status == BP_OK ? test_transform_error(call, &in.view.tensor, &out.view.tensor) : INFINITY;
        if (!(error <= 1.0) || !test_tensor_guards_hold(&out)) {
            fail_msg(
                "transform %d norm %d of %s, last size %d of %d, layouts %d %d, round %d: error is %g of its bound, "
                "guards %d (%s)",
                call->transform, call->norm, bp_dtype_name(dtype), ndim ? (int)shape[ndim - 1] : 0, ndim, in_order,
                out_order, again, error, test_tensor_guards_hold(&out), status == BP_OK ? "" : bp_last_error());
        }
        test_tensor_free(&out);
    }
    if (memcmp(in.block, in.before, in.bytes) != 0) {
        fail_msg("the input was written");
    }
    test_tensor_free(&in);
}

const char *const test_transform_libraries[] = {"plain-dft", "native", NULL};

int test_transform_setup(void **state) {
    bool good = bp_reset() == BP_OK && bp_set("fft.preferred", *state) == BP_OK &&
                bp_set("dispatch.fallback", "strict") == BP_OK;
    return good ? 0 : -1;
}

void test_transform_environment(void) {
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    setenv("BACKPLANE_LIBRARY_PATH", BP_TEST_BUILD_DIR "/no-such-folder", 1);
    setenv("BACKPLANE_PROVIDER_PATH", BP_TEST_BUILD_DIR "/tests/ops-fakes", 1);
}
