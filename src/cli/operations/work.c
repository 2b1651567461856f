/* work.c - counts the operations on real numbers of a job, as in LAPACK's timing programs, for bench. The counts
 * of eigenvalue and singular value problems are nominal, since algorithms differ. */
#include "sizing.h"

#include <math.h>

double sizing_elements(const DLTensor *tensor) {
    double elements = 1;
    for (int i = 0; i < tensor->ndim; i++) {
        elements *= (double)tensor->shape[i];
    }
    return elements;
}

double sizing_from_end(const DLTensor *tensor, int index) {
    return tensor->ndim >= index ? (double)tensor->shape[tensor->ndim - index] : 1;
}

double sizing_elements_per(const DLTensor *tensor, double size) {
    return size > 0 ? sizing_elements(tensor) / size : 0;
}

double work_elements(const cli_job *job) {
    double most = 0;
    for (int i = 0; i < job->input_count; i++) {
        most = fmax(most, sizing_elements(&job->inputs[i].tensor));
    }
    for (int i = 0; i < job->result_count; i++) {
        most = fmax(most, sizing_elements(&job->results[i].tensor));
    }
    return most;
}

double work_sum(const cli_job *job) {
    return 2 * sizing_elements(&job->inputs[0].tensor);
}

/* ---- Products ---- */

double work_product(const cli_job *job) {
    const bool transposed =
        job_takes(job, "trans-a") &&
        (job->words.product.transform_a == BP_TRANSPOSE || job->words.product.transform_a == BP_CONJUGATE_TRANSPOSE) &&
        job->inputs[0].tensor.ndim > 1;
    return 2 * sizing_elements(&job->results[0].tensor) * sizing_from_end(&job->inputs[0].tensor, transposed ? 2 : 1);
}

/* abc,cd,be->ade in its best order for equal sizes: over c, then over b. */
double work_tucker(const cli_job *job) {
    const DLTensor *core = &job->inputs[0].tensor, *second = &job->inputs[1].tensor, *third = &job->inputs[2].tensor;
    const double first = 2 * sizing_elements(core) * sizing_from_end(second, 1);
    return first + 2 * sizing_elements_per(core, sizing_from_end(core, 1)) * sizing_from_end(second, 1) *
                       sizing_from_end(third, 1);
}

/* The chain from its right end, which is the best order if that is a vector. */
double work_chain(const cli_job *job) {
    const double columns = sizing_from_end(&job->inputs[job->input_count - 1].tensor, 1);
    double work = 0;
    for (int i = 0; i + 1 < job->input_count; i++) {
        work += 2 * sizing_elements(&job->inputs[i].tensor) * columns;
    }
    return work;
}

/* Squarings and products of binary powers, and an inverse for a negative power. */
double work_power(const cli_job *job) {
    const int64_t power = job->words.vector.power;
    const double product = 2 * sizing_elements(&job->inputs[0].tensor) * sizing_from_end(&job->inputs[0].tensor, 1);
    double products = power < 0;
    for (uint64_t left = (uint64_t)(power < 0 ? -power : power); left > 1; left /= 2) {
        products += 1 + (double)(left & 1);
    }
    return product * products;
}

/* ---- Transforms ---- */

double work_transform(const cli_job *job) {
    const bp_fft_call *call = &job->words.fft.call;
    const DLTensor *in = &job->inputs[0].tensor, *out = &job->results[0].tensor;
    const int all = call->axis_count == BP_FFT_ALL ? in->ndim : call->axis_count;
    const bool real = in->dtype.code != kDLComplex || out->dtype.code != kDLComplex;
    double points = 1;
    for (int i = 0; i < all; i++) {
        const int dim =
            call->axes ? (call->axes[i] < 0 ? call->axes[i] + in->ndim : call->axes[i]) : in->ndim - all + i;
        points *= fmax((double)in->shape[dim], (double)out->shape[dim]);
    }
    return (real ? 2.5 : 5) * fmax(sizing_elements(in), sizing_elements(out)) * log2(points > 1 ? points : 2);
}

/* ---- Linear algebra ---- */

/* The work of one matrix with m rows, n columns and k right-hand sides. */
static double work_of(bp_op op, bool values_only, double m, double n, double k) {
    const double low = fmin(m, n), high = fmax(m, n), tall = high * low * low;
    switch ((int)op) {
    case BP_OP_INV:
        return 2 * n * n * n;
    case BP_OP_SOLVE:
        return 2 * n * n * n / 3 + 2 * n * n * k;
    case BP_OP_SOLVE_TRIANGULAR:
        return n * n * k;
    case BP_OP_CHOLESKY:
    case BP_OP_LDL_FACTOR:
        return n * n * n / 3;
    case BP_OP_CHOLESKY_SOLVE:
    case BP_OP_LU_SOLVE:
    case BP_OP_LDL_SOLVE:
        return 2 * n * n * k;
    case BP_OP_CHOLESKY_INVERSE:
        return 2 * n * n * n / 3;
    case BP_OP_QR:
        return 4 * tall - 4 * low * low * low / 3;
    case BP_OP_EIGH:
        return values_only ? 4 * n * n * n / 3 : 9 * n * n * n;
    case BP_OP_EIG:
        return values_only ? 10 * n * n * n : 25 * n * n * n;
    case BP_OP_SVD:
        return values_only ? 4 * tall - 4 * low * low * low / 3 : 22 * tall;
    case BP_OP_LSTSQ:
        return 2 * tall - 2 * low * low * low / 3 + 4 * m * n * k;
    case BP_OP_PINV:
        return 22 * tall + 2 * tall;
    case BP_OP_MATRIX_RANK:
    case BP_OP_COND:
        return 4 * tall - 4 * low * low * low / 3;
    case BP_OP_MATRIX_NORM:
        return 2 * m * n;
    default: /* lu_factor, lu, det, slogdet */
        return tall - low * low * low / 3;
    }
}

double work_linalg(const cli_job *job) {
    const bp_op op = job->words.linalg.call.op;
    const DLTensor *first = &job->inputs[0].tensor, *last = &job->inputs[job->input_count - 1].tensor;
    const bool reversed = op == BP_OP_CHOLESKY_SOLVE; /* whose right-hand sides are the first array */
    const DLTensor *a = reversed ? last : first, *b = reversed ? first : last;
    const double m = sizing_from_end(a, 2), n = sizing_from_end(a, 1), items = sizing_elements_per(a, m * n);
    const double columns = job->input_count > 1 ? sizing_elements_per(b, op == BP_OP_LSTSQ ? m : n) : 0;
    const bool values_only = job->result_count == 1 && (op == BP_OP_EIGH || op == BP_OP_EIG || op == BP_OP_SVD);
    return items * work_of(op, values_only, m, n, items > 0 ? columns / items : 0);
}
