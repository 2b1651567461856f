/* norm.c - computes batch, layer, RMS and group normalization and their gradients, with the formulas and the errors
 * that norm.h states. Elements that are normalized together are a set: a channel, or a row. */
#include "reference/results.h"

#include <math.h>
#include <stdlib.h>

/* Statistics of a set. The mean is first + rest, a sum that long double may round. */
typedef struct moments {
    long double first, rest, variance, inverse;
    long double size; /* root mean square of the differences to the first element */
    long double mean_error, variance_error, inverse_error; /* the last one is relative */
    long double sum, sum_size, product, product_size;      /* of BACKWARD, divided by the number of elements */
} moments;

/* What a weight is multiplied with in all sets, and the errors of these sums. */
typedef struct weight_sums {
    reference_number product, sum;
} weight_sums;

typedef struct norm {
    bool batch, backward, relu;
    bool centered;           /* a mean is subtracted, and depends on the input */
    bool constant;           /* BACKWARD: the statistics do not depend on the input */
    int64_t sets, count;     /* of sets, and of the elements of each */
    int64_t channels, inner; /* of a group; positions of a channel */
    int64_t groups, weights;
    long double unit, eps, momentum;
    wide_tensor input, output, weight, bias, mean, deviation; /* output: the gradient by it */
    moments *of;
    weight_sums *sums;
} norm;

/* ---- Places ---- */

static int64_t index_of(const norm *n, int64_t set, int64_t element) {
    return n->batch ? (element / n->inner * n->sets + set) * n->inner + element % n->inner : set * n->count + element;
}

static int64_t set_of(const norm *n, int64_t index) {
    return n->batch ? index / n->inner % n->sets : index / n->count;
}

static int64_t weight_of(const norm *n, int64_t index) {
    return n->batch ? set_of(n, index) : n->channels ? index / n->inner % (n->groups * n->channels) : index % n->count;
}

static long double element_or(const wide_tensor *tensor, int64_t index, long double otherwise) {
    return tensor->data ? (long double)tensor->data[index] : otherwise;
}

static long double deviation_of(const norm *n, const moments *m, int64_t index) {
    return (element_or(&n->input, index, 0) - m->first) - m->rest;
}

/* ---- Statistics ---- */

static void compute_moments(const norm *n, int64_t set) {
    moments *m = &n->of[set];
    const long double count = (long double)n->count;
    long double sum = 0, squares = 0, around = 0;
    m->first = n->centered && n->count > 0 ? element_or(&n->input, index_of(n, set, 0), 0) : 0;
    for (int64_t i = 0; i < n->count; i++) {
        const long double x = element_or(&n->input, index_of(n, set, i), 0) - m->first;
        sum += x;
        around += x * x;
    }
    m->rest = n->centered ? sum / count : 0;
    for (int64_t i = 0; i < n->count; i++) {
        const long double x = deviation_of(n, m, index_of(n, set, i));
        squares += x * x;
    }
    m->variance = squares / count;
    m->size = sqrtl(around / count);
    m->inverse = 1 / sqrtl(m->variance + n->eps);
    /* e (1 + 4 Q / S) of the variance is half as much of its root. */
    const long double e = (n->batch ? 4 * count + 16 : count + 8) * 0x1p-53L;
    m->mean_error = n->centered ? e * m->size : 0;
    m->variance_error = e * (m->variance + 4 * m->size * sqrtl(m->variance));
    m->inverse_error = e * (1 + 4 * m->size * m->inverse) / 2 + 4 * 0x1p-53L;
    if (isfinite(m->size) && (m->size > 1e150L || (m->size > 0 && m->size < 1e-150L))) {
        m->mean_error = m->inverse_error = HUGE_VALL; /* squares overflow or vanish in f64 */
    }
}

/* Statistics that the call has. The deviations are inverse already, or variances. */
static void take_moments(const norm *n, int64_t set, bool inverse) {
    const long double deviation = element_or(&n->deviation, set, 1);
    n->of[set] = (moments){.first = element_or(&n->mean, set, 0),
                           .variance = inverse ? 0 : deviation,
                           .inverse = inverse ? deviation : 1 / sqrtl(deviation + n->eps)};
}

/* ---- Gradients ---- */

/* Computes the means of d and of d x, with d = output weight, and adds to the sums of each weight. */
static void sum_set(const norm *n, int64_t set) {
    moments *m = &n->of[set];
    const long double count = (long double)n->count;
    const long double e = n->batch ? 0 : (count + 8) * 0x1p-53L, error = e + 2 * m->inverse_error;
    for (int64_t i = 0; i < n->count; i++) {
        const int64_t index = index_of(n, set, i), weight = weight_of(n, index);
        const long double y = element_or(&n->output, index, 0),
                          d = n->batch ? y : y * element_or(&n->weight, weight, 1);
        const long double x = deviation_of(n, m, index) * m->inverse;
        m->sum += d / count;
        m->sum_size += fabsl(d) / count;
        m->product += d * x / count;
        m->product_size += fabsl(d) * (fabsl(x) + m->size * m->inverse) / count;
        weight_sums *sums = &n->sums[weight];
        sums->product.value += y * x;
        sums->product.error += fabsl(y) * (error * fabsl(x) + e * m->size * m->inverse);
        sums->sum.value += y;
        const long double order = n->batch ? count * 0x1p-50L : ((long double)(n->sets * n->count) + 16) * 0x1p-53L;
        sums->product.error += order * fabsl(y * x);
        sums->sum.error += order * fabsl(y);
    }
}

static reference_number input_gradient(void *user, int64_t index) {
    const norm *n = user;
    const moments *m = &n->of[set_of(n, index)];
    const long double weight = element_or(&n->weight, weight_of(n, index), 1),
                      scale = m->inverse * (n->batch ? weight : 1);
    const long double d = element_or(&n->output, index, 0) * (n->batch ? 1 : weight);
    const long double x = deviation_of(n, m, index) * m->inverse;
    const long double mean = n->constant || !n->centered ? 0 : m->sum, slope = n->constant ? 0 : m->product;
    const long double terms = fabsl(d) + fabsl(mean) + fabsl(x * slope);
    const long double means = n->constant ? 0 : m->sum_size + fabsl(x) * m->product_size;
    if (n->batch) {
        const long double order = (long double)n->count * 0x1p-50L;
        return (reference_number){scale * (d - mean - x * slope), fabsl(scale) * (8 * n->unit * terms + order * means)};
    }
    const long double e = ((long double)n->count + 8) * 0x1p-53L, error = e + 2 * m->inverse_error;
    return (reference_number){
        scale * (d - mean - x * slope),
        fabsl(scale) * ((8 * n->unit + 2 * error) * terms + error * means + e * m->size * m->inverse * fabsl(slope))};
}

static reference_number weight_gradient(void *user, int64_t index) {
    return ((const norm *)user)->sums[index].product;
}

static reference_number bias_gradient(void *user, int64_t index) {
    return ((const norm *)user)->sums[index].sum;
}

/* ---- Results of the other passes ---- */

static reference_number output(void *user, int64_t index) {
    const norm *n = user;
    const moments *m = &n->of[set_of(n, index)];
    const long double scale = m->inverse * element_or(&n->weight, weight_of(n, index), 1);
    const long double bias = element_or(&n->bias, weight_of(n, index), 0), normal = deviation_of(n, m, index) * scale;
    const long double value = normal + bias, roundings = n->batch ? 4 : 8;
    const long double error = roundings * n->unit * (fabsl(normal) + fabsl(bias)) + m->inverse_error * fabsl(normal) +
                              m->mean_error * fabsl(scale);
    return (reference_number){n->relu && value < 0 ? 0 : value, error};
}

static reference_number mean(void *user, int64_t set) {
    const moments *m = &((const norm *)user)->of[set];
    return (reference_number){m->first + m->rest, m->mean_error};
}

static reference_number inverse_std(void *user, int64_t set) {
    const moments *m = &((const norm *)user)->of[set];
    return (reference_number){m->inverse, m->inverse_error * m->inverse};
}

/* Four roundings in f64, and the roundings of the statistic. */
static reference_number running(const norm *n, const wide_tensor *old, int64_t set, long double statistic,
                                long double error) {
    const long double kept = (1 - n->momentum) * element_or(old, set, 0), added = n->momentum * statistic;
    return (reference_number){kept + added, n->momentum * error + 4 * 0x1p-53L * (fabsl(kept) + fabsl(added))};
}

static reference_number running_mean(void *user, int64_t set) {
    const norm *n = user;
    return running(n, &n->mean, set, n->of[set].first + n->of[set].rest, n->of[set].mean_error);
}

static reference_number running_var(void *user, int64_t set) {
    const norm *n = user;
    const long double factor = (long double)n->count / (long double)(n->count - 1);
    return running(n, &n->deviation, set, n->of[set].variance * factor, n->of[set].variance_error * factor);
}

/* ---- Calls ---- */

static bp_status read_tensor(bp_status status, wide_tensor *made, const DLTensor *tensor) {
    return status == BP_OK && tensor ? wide_make(made, tensor, false) : status;
}

/* Reads the tensors that both calls have, and computes the statistics that `given` has not. */
static bp_status open_norm(norm *n, bp_status status, const DLTensor *input, bool given, bool inverse) {
    const bp_dtype dtype = bp_dtype_from_dlpack(input->dtype);
    n->unit = (long double)reference_unit(dtype == BP_F64 ? BP_F64 : BP_F32);
    status = read_tensor(status, &n->input, input);
    n->of = calloc((size_t)n->sets + 1, sizeof *n->of);
    n->sums = calloc((size_t)n->weights + 1, sizeof *n->sums);
    status = status == BP_OK && !(n->of && n->sums) ? BP_E_NO_MEMORY : status;
    for (int64_t set = 0; status == BP_OK && set < n->sets; set++) {
        if (given) {
            take_moments(n, set, inverse);
        } else {
            compute_moments(n, set);
        }
        if (n->backward) {
            sum_set(n, set);
        }
    }
    return status;
}

static void close_norm(norm *n) {
    wide_tensor *const tensors[] = {&n->input, &n->output, &n->weight, &n->bias, &n->mean, &n->deviation};
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
        wide_free(tensors[i]);
    }
    free(n->of);
    free(n->sums);
}

static bp_status add(bp_status status, reference_results *made, const char *name, const DLTensor *tensor,
                     reference_element *element, norm *n) {
    return status == BP_OK ? reference_add_result(made, name, tensor, 1, element, n) : status;
}

static bp_status add_gradients(bp_status status, reference_results *made, const DLTensor *input, const DLTensor *weight,
                               const DLTensor *bias, norm *n) {
    status = add(status, made, "input_gradient", input, input_gradient, n);
    status = add(status, made, "weight_gradient", weight, weight_gradient, n);
    return add(status, made, "bias_gradient", bias, bias_gradient, n);
}

bp_status reference_of_batch_norm(reference_results *made, const bp_batch_norm_call *call) {
    const DLTensor *in = call->input;
    const bool backward = call->pass == BP_BATCH_NORM_BACKWARD, inverse = backward && call->inverse_std;
    norm n = {.batch = true,
              .backward = backward,
              .relu = call->relu != 0,
              .centered = true,
              .constant = !inverse,
              .sets = in->shape[1],
              .weights = in->shape[1],
              .count = in->shape[0],
              .inner = 1,
              .eps = (long double)call->eps,
              .momentum = (long double)call->momentum};
    *made = (reference_results){.count = 0};
    for (int d = 2; d < in->ndim; d++) {
        n.inner *= in->shape[d];
    }
    n.count *= n.inner;
    bp_status status = read_tensor(BP_OK, &n.output, backward ? call->output_gradient : NULL);
    status = read_tensor(status, &n.weight, call->weight);
    status = read_tensor(status, &n.bias, call->bias);
    status = read_tensor(status, &n.mean, inverse ? call->mean : call->running_mean);
    status = read_tensor(status, &n.deviation, inverse ? call->inverse_std : call->running_var);
    status = open_norm(&n, status, in, call->pass != BP_BATCH_NORM_TRAINING, inverse);
    if (backward) {
        status = add_gradients(status, made, call->input_gradient, call->weight_gradient, call->bias_gradient, &n);
    } else {
        status = add(status, made, "output", call->output, output, &n);
    }
    if (call->pass == BP_BATCH_NORM_TRAINING) {
        status = add(status, made, "mean", call->mean, mean, &n);
        status = add(status, made, "inverse_std", call->inverse_std, inverse_std, &n);
        status = add(status, made, "running_mean", call->running_mean, running_mean, &n);
        status = add(status, made, "running_var", call->running_var, running_var, &n);
    }
    close_norm(&n);
    return status;
}

static void set_rows(norm *n, const bp_layer_norm_call *call) {
    const DLTensor *in = call->input;
    const bool group = call->kind == BP_GROUP_NORM;
    n->count = n->sets = n->inner = 1;
    for (int d = 0; d < in->ndim; d++) {
        *(d < (group ? 1 : in->ndim - call->row_ndim) ? &n->sets : &n->count) *= in->shape[d];
        n->inner *= group && d > 1 ? in->shape[d] : 1;
    }
    n->groups = group ? call->groups : 1;
    n->count /= n->groups;
    n->sets *= n->groups;
    n->channels = group ? in->shape[1] / n->groups : 0;
    n->weights = group ? in->shape[1] : n->count;
}

bp_status reference_of_layer_norm(reference_results *made, const bp_layer_norm_call *call) {
    const bool backward = call->pass == BP_LAYER_NORM_BACKWARD;
    norm n = {.backward = backward, .centered = call->kind != BP_RMS_NORM, .eps = (long double)call->eps};
    *made = (reference_results){.count = 0};
    set_rows(&n, call);
    bp_status status = read_tensor(BP_OK, &n.output, backward ? call->output_gradient : NULL);
    status = read_tensor(status, &n.weight, call->weight);
    status = read_tensor(status, &n.bias, call->bias);
    status = read_tensor(status, &n.mean, backward ? call->mean : NULL);
    status = read_tensor(status, &n.deviation, backward ? call->inverse_std : NULL);
    status = open_norm(&n, status, call->input, backward && call->inverse_std, true);
    if (backward) {
        status = add_gradients(status, made, call->input_gradient, call->weight_gradient, call->bias_gradient, &n);
    } else {
        status = add(status, made, "output", call->output, output, &n);
        status = add(status, made, "mean", call->mean, mean, &n);
        status = add(status, made, "inverse_std", call->inverse_std, inverse_std, &n);
    }
    close_norm(&n);
    return status;
}
