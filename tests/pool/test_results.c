/* test_results.c - pooling of random geometries and layouts against a reference that follows pool.h one element at a
 * time, for all types, on any number of threads. */
#include "backplane.h"

#include "tensor/internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MARK = 77, CASES = 1200 };

static uint64_t state_of_random = 1;

static int64_t between(int64_t low, int64_t high) {
    state_of_random ^= state_of_random << 13;
    state_of_random ^= state_of_random >> 7;
    state_of_random ^= state_of_random << 17;
    return low + (int64_t)((state_of_random >> 11) % (uint64_t)(high - low + 1));
}

/* ---- Tensors, with memory between their elements ---- */

typedef struct tensor {
    bp_view view;
    bp_dtype dtype;
    char *memory;
    int64_t all; /* elements of the memory */
    unsigned char *used;
} tensor;

static void put(bp_dtype dtype, char *to, double value) {
    if (dtype == BP_I64) {
        const int64_t whole = (int64_t)value;
        memcpy(to, &whole, sizeof whole);
    } else if (dtype == BP_F64) {
        memcpy(to, &value, sizeof value);
    } else {
        bp__convert_matrix(dtype, BP_F64, 1, 1, to, 1, 1, &value, 1, 1);
    }
}

static double take(bp_dtype dtype, const char *from) {
    double value;
    if (dtype == BP_I64) {
        int64_t whole;
        memcpy(&whole, from, sizeof whole);
        return (double)whole;
    }
    if (dtype == BP_F64) {
        memcpy(&value, from, sizeof value);
    } else {
        bp__convert_matrix(BP_F64, dtype, 1, 1, &value, 1, 1, from, 1, 1);
    }
    return value;
}

static double rounded(bp_dtype dtype, double value) {
    char block[8];
    put(dtype, block, value);
    return take(dtype, block);
}

static int64_t place_of(const tensor *t, int64_t index) {
    int64_t at = 0;
    for (int d = t->view.tensor.ndim - 1; d >= 0; d--) {
        at += index % t->view.tensor.shape[d] * t->view.tensor.strides[d];
        index /= t->view.tensor.shape[d];
    }
    return at;
}

static char *element(const tensor *t, int64_t index) {
    return (char *)t->view.tensor.data + place_of(t, index) * (int64_t)bp_dtype_size(t->dtype);
}

static double get(const tensor *t, int64_t index) {
    return take(t->dtype, element(t, index));
}

static int64_t count_of(const tensor *t) {
    return bp__tensor_elements(&t->view.tensor);
}

static void mark(tensor *t) {
    for (int64_t i = 0; i < t->all; i++) {
        put(t->dtype, t->memory + i * (int64_t)bp_dtype_size(t->dtype), MARK);
    }
}

/* Makes a tensor of a random layout: compact, channels-last, with gaps, or with dimensions in another order. */
static void make(tensor *t, bp_dtype dtype, int ndim, const int64_t *shape) {
    int order[BP_MAX_NDIM];
    int64_t strides[BP_MAX_NDIM], first = 0;
    const int kind = (int)between(0, 3);
    for (int i = 0; i < ndim; i++) {
        order[i] = kind == 3 ? ndim - 1 - i : i;
    }
    if (kind == 1) { /* the channels are dimension 1, or 0 without items: this is channels-last for the former */
        memmove(order + 1, order + 2, (size_t)(ndim - 2) * sizeof *order);
        order[ndim - 1] = 1;
    }
    t->dtype = dtype;
    t->all = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        const int d = order[i];
        strides[d] = t->all * (kind == 2 ? between(1, 2) : 1);
        t->all = strides[d] * (shape[d] > 0 ? shape[d] : 1);
    }
    for (int d = 0; d < ndim; d++) {
        if (kind == 2 && between(0, 3) == 0 && shape[d] > 0) {
            first += (shape[d] - 1) * strides[d];
            strides[d] = -strides[d];
        }
    }
    t->memory = malloc((size_t)t->all * bp_dtype_size(dtype));
    t->used = calloc((size_t)t->all, 1);
    assert_non_null(t->memory);
    assert_non_null(t->used);
    mark(t);
    assert_int_equal(
        bp_view_init(&t->view, t->memory + first * (int64_t)bp_dtype_size(dtype), dtype, ndim, shape, strides), BP_OK);
    for (int64_t i = 0; i < count_of(t); i++) {
        t->used[first + place_of(t, i)] = 1;
    }
}

static void drop(tensor *t) {
    free(t->memory);
    free(t->used);
    memset(t, 0, sizeof *t);
}

/* ---- Cases ---- */

typedef struct pooling {
    bp_pool_call call;
    bp_dtype dtype;
    int64_t kernel[3], stride[3], dilation[3], padding[3], output_size[3];
    tensor input, output, indices;
    char text[256];
} pooling;

static void random_kernel(pooling *c) {
    bp_pool_call *call = &c->call;
    for (int d = 0; d < call->ndim; d++) {
        c->kernel[d] = between(1, 4);
        c->stride[d] = between(1, 4);
        c->dilation[d] = call->kind == BP_POOL_MAX ? between(1, 3) : 1;
        c->padding[d] = between(0, (c->dilation[d] * (c->kernel[d] - 1) + 1) / 2);
    }
    call->kernel = c->kernel;
    call->stride = between(0, 3) ? c->stride : NULL;
    call->dilation = call->kind == BP_POOL_MAX ? c->dilation : NULL;
    call->padding = c->padding;
    call->ceil_mode = (int)between(0, 1);
    if (call->kind == BP_POOL_AVERAGE) {
        call->exclude_padding = (int)between(0, 1);
        call->divisor = between(0, 3) ? 0 : between(-2, 5);
    }
}

static void describe(pooling *c) {
    const DLTensor *in = &c->input.view.tensor;
    size_t used = (size_t)snprintf(c->text, sizeof c->text, "%s %s %s, ceil %d, shape", bp_dtype_name(c->dtype),
                                   c->call.output_size ? "adaptive" : "", c->call.kind ? "average" : "maximum",
                                   c->call.ceil_mode);
    for (int d = 0; d < in->ndim && used < sizeof c->text; d++) {
        used += (size_t)snprintf(c->text + used, sizeof c->text - used, " %d", (int)in->shape[d]);
    }
    for (int d = 0; d < c->call.ndim && used < sizeof c->text; d++) {
        used += (size_t)snprintf(c->text + used, sizeof c->text - used, ", kernel %d stride %d dilation %d padding %d",
                                 (int)c->kernel[d], (int)c->stride[d], (int)c->dilation[d], (int)c->padding[d]);
    }
}

/* Makes a forward call with an input of whole numbers, and some NaN if `wild`. */
static void begin(pooling *c, bp_dtype dtype, bp_pool_kind kind, bool wild) {
    int64_t shape[BP_MAX_NDIM];
    int rank, out_rank;
    bp_dtype type;
    for (;;) {
        memset(c, 0, sizeof *c);
        c->dtype = dtype;
        c->call = (bp_pool_call){.struct_size = sizeof c->call, .kind = kind, .ndim = (int)between(1, 3)};
        if (between(0, 2) == 0) {
            for (int d = 0; d < c->call.ndim; d++) {
                c->output_size[d] = between(between(0, 9) ? 1 : 0, 6);
            }
            c->call.output_size = c->output_size;
        } else {
            random_kernel(c);
        }
        rank = 0;
        if (between(0, 5)) {
            shape[rank++] = between(0, 8) ? between(1, 3) : 0;
        }
        shape[rank++] = between(0, 9) ? between(1, 20) : between(250, 270);
        for (int d = 0; d < c->call.ndim; d++) {
            shape[rank++] = c->call.ndim == 1 && between(0, 5) == 0 ? between(250, 600) : between(1, 11);
        }
        make(&c->input, dtype, rank, shape);
        c->call.input = &c->input.view.tensor;
        if (bp_pool_shape(&c->call, &type, &out_rank, shape) == BP_OK) {
            break;
        }
        drop(&c->input);
    }
    describe(c);
    assert_int_equal(type, dtype);
    make(&c->output, dtype, out_rank, shape);
    c->call.output = &c->output.view.tensor;
    if (kind == BP_POOL_MAX && between(0, 2)) {
        make(&c->indices, BP_I64, out_rank, shape);
        c->call.indices = &c->indices.view.tensor;
    }
    for (int64_t i = 0; i < count_of(&c->input); i++) {
        const bool strange = wild && between(0, 15) == 0;
        put(dtype, element(&c->input, i), strange ? (between(0, 1) ? NAN : -INFINITY) : (double)between(-4, 4));
    }
}

static void end(pooling *c) {
    drop(&c->input);
    drop(&c->output);
    drop(&c->indices);
}

/* ---- Reference ---- */

/* The inputs of one output in one dimension: all t from `begin` on, `step` apart, of which there are `count`. */
typedef struct span {
    int64_t begin, step, count, in, padding;
} span;

static span span_of(const pooling *c, int d, int64_t out) {
    const int from = d - (3 - c->call.ndim), first = c->call.input->ndim - c->call.ndim;
    if (from < 0) {
        return (span){0, 1, 1, 1, 0};
    }
    const int64_t in = c->call.input->shape[first + from];
    if (c->call.output_size) {
        const double size = (double)c->output_size[from];
        const int64_t start = (int64_t)floor((double)(out * in) / size);
        return (span){start, 1, (int64_t)ceil((double)((out + 1) * in) / size) - start, in, 0};
    }
    const int64_t stride = c->call.stride ? c->stride[from] : c->kernel[from];
    return (span){out * stride - c->padding[from], c->dilation[from], c->kernel[from], in, c->padding[from]};
}

typedef void (*visit)(void *context, int64_t channel, int64_t place, int64_t output, double divisor);

/* Calls `each` for the inputs of one output: its channel of all items, the place in the channel, the output. */
static void visit_window(const pooling *c, int64_t output, visit each, void *context) {
    const DLTensor *out = c->call.output;
    int64_t rest = output, index[3] = {0};
    for (int d = 2; d >= 3 - c->call.ndim; d--) {
        const int64_t size = out->shape[out->ndim - 3 + d];
        index[d] = rest % size;
        rest /= size;
    }
    span s[3];
    int64_t counted = 1, inside = 1;
    for (int d = 0; d < 3; d++) {
        int64_t with = 0, without = 0;
        s[d] = span_of(c, d, index[d]);
        for (int64_t t = 0; t < s[d].count; t++) {
            const int64_t at = s[d].begin + t * s[d].step;
            with += at < s[d].in + s[d].padding;
            without += at >= 0 && at < s[d].in;
        }
        counted *= with;
        inside *= without;
    }
    const double divisor =
        c->call.divisor ? (double)c->call.divisor : (double)(c->call.exclude_padding ? inside : counted);
    for (int64_t i = 0; i < s[0].count * s[1].count * s[2].count; i++) {
        const int64_t t[] = {i / (s[1].count * s[2].count), i / s[2].count % s[1].count, i % s[2].count};
        int64_t place = 0;
        bool in = true;
        for (int d = 0; d < 3; d++) {
            const int64_t at = s[d].begin + t[d] * s[d].step;
            in = in && at >= 0 && at < s[d].in;
            place = place * s[d].in + at;
        }
        if (in) {
            each(context, rest, place, output, divisor);
        }
    }
}

static int64_t places_of(const pooling *c) {
    int64_t places = 1;
    for (int d = 0; d < c->call.ndim; d++) {
        places *= c->call.input->shape[c->call.input->ndim - 1 - d];
    }
    return places;
}

typedef struct expected {
    const pooling *c;
    double best, sum, divisor;
    int64_t index;
    double *gradient, *sizes;
} expected;

static void read_input(void *context, int64_t channel, int64_t place, int64_t output, double divisor) {
    expected *e = context;
    const double x = get(&e->c->input, channel * places_of(e->c) + place);
    (void)output;
    if (e->index < 0) {
        e->index = place;
    }
    if (x > e->best || isnan(x)) {
        e->best = x;
        e->index = place;
    }
    e->sum += x;
    e->divisor = divisor;
}

static double quotient(bp_dtype dtype, double a, double b) {
    return dtype == BP_F64 ? a / b : rounded(dtype, (double)((float)a / (float)b));
}

static void check_unused(const pooling *c, const tensor *t, const char *what) {
    for (int64_t i = 0; t->memory && i < t->all; i++) {
        if (!t->used[i] && take(t->dtype, t->memory + i * (int64_t)bp_dtype_size(t->dtype)) != MARK) {
            fail_msg("%s: wrote between the elements of %s", c->text, what);
        }
    }
}

static void compare_forward(const pooling *c) {
    for (int64_t i = 0; i < count_of(&c->output); i++) {
        expected e = {.c = c, .best = -INFINITY, .divisor = 1, .index = -1};
        visit_window(c, i, read_input, &e);
        const double want = c->call.kind == BP_POOL_MAX ? e.best : quotient(c->dtype, e.sum, e.divisor);
        const double got = get(&c->output, i);
        if (!(got == want || (isnan(got) && isnan(want)))) {
            fail_msg("%s: output %d is %g instead of %g", c->text, (int)i, got, want);
        }
        if (c->call.indices && get(&c->indices, i) != (double)e.index) {
            fail_msg("%s: index %d is %g instead of %d", c->text, (int)i, get(&c->indices, i), (int)e.index);
        }
    }
    check_unused(c, &c->output, "output");
    check_unused(c, &c->indices, "indices");
}

/* ---- Tests ---- */

static const bp_dtype dtypes[] = {BP_F32, BP_F64, BP_F16, BP_BF16};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static int cases(void) {
    const char *sanitizers = getenv("TESTED_SANITIZERS"), *emulated = getenv("TESTED_EMULATED");
    return (sanitizers && *sanitizers) || emulated ? CASES / 6 : CASES;
}

static void run(pooling *c, const char *settings) {
    bp_options *options = NULL;
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    const bp_status status = bp_pool_run(options, &c->call);
    if (status != BP_OK) {
        fail_msg("%s with %s: %s", c->text, settings, bp_last_error());
    }
    bp_options_release(options);
}

static void outputs_equal_the_reference(void **state) {
    (void)state;
    state_of_random = 42;
    for (int i = 0; i < cases(); i++) {
        pooling c;
        const bp_pool_kind kind = i / DTYPES % 2 ? BP_POOL_AVERAGE : BP_POOL_MAX;
        begin(&c, dtypes[i % DTYPES], kind, kind == BP_POOL_MAX && i % 3 == 0);
        run(&c, i % 5 ? "" : "cpu.capability=default");
        compare_forward(&c);
        end(&c);
    }
}

static void add_gradient(void *context, int64_t channel, int64_t place, int64_t output, double divisor) {
    expected *e = context;
    const double part = get(&e->c->output, output) / divisor;
    e->gradient[channel * places_of(e->c) + place] += part;
    e->sizes[channel * places_of(e->c) + place] += fabs(part);
}

static void compare_gradient(const pooling *c) {
    static const double eps[] = {[BP_F16] = 0x1p-11, [BP_BF16] = 0x1p-8, [BP_F32] = 0x1p-24, [BP_F64] = 0x1p-53};
    const int64_t all = count_of(&c->input);
    expected e = {.c = c, .gradient = calloc((size_t)all + 1, 8), .sizes = calloc((size_t)all + 1, 8)};
    assert_non_null(e.gradient);
    assert_non_null(e.sizes);
    for (int64_t i = 0; i < count_of(&c->output); i++) {
        if (c->call.kind == BP_POOL_AVERAGE) {
            visit_window(c, i, add_gradient, &e);
        } else if (get(&c->indices, i) >= 0) {
            const int64_t rows = count_of(&c->output) / (all / places_of(c)), channel = i / rows;
            e.gradient[channel * places_of(c) + (int64_t)get(&c->indices, i)] += get(&c->output, i);
        }
    }
    for (int64_t i = 0; i < all; i++) {
        /* Each of at most 64 terms is rounded when it is divided, and when it is added. The last rounding is that to
         * the type. Gradients of maxima are sums of whole numbers. */
        const double sums = c->dtype == BP_F64 ? 0x1p-53 : 0x1p-24;
        const double bound = e.sizes[i] * (200 * sums + eps[c->dtype]), got = get(&c->input, i);
        if (!(fabs(got - e.gradient[i]) <= bound)) {
            fail_msg("%s: gradient %d is %.17g instead of %.17g", c->text, (int)i, got, e.gradient[i]);
        }
    }
    free(e.gradient);
    free(e.sizes);
    check_unused(c, &c->input, "input");
}

/* Turns a forward call into one for the gradient, of random whole numbers. */
static void turn(pooling *c) {
    c->call.pass = BP_POOL_BACKWARD;
    mark(&c->input);
    for (int64_t i = 0; i < count_of(&c->output); i++) {
        put(c->dtype, element(&c->output, i), (double)between(-4, 4));
    }
}

static void gradients_equal_the_reference(void **state) {
    (void)state;
    state_of_random = 43;
    for (int i = 0; i < cases(); i++) {
        pooling c;
        begin(&c, dtypes[i % DTYPES], i / DTYPES % 2 ? BP_POOL_AVERAGE : BP_POOL_MAX, false);
        if (c.call.kind == BP_POOL_MAX && !c.call.indices) {
            end(&c);
            continue;
        }
        run(&c, "");
        turn(&c);
        run(&c, i % 5 ? "" : "cpu.capability=default");
        compare_gradient(&c);
        end(&c);
    }
}

static void threads_do_not_change_bits(void **state) {
    (void)state;
    static const char *const settings[] = {"num_threads=2", "num_threads=3", "num_threads=7"};
    state_of_random = 44;
    for (int i = 0; i < 24; i++) {
        pooling c;
        const bool max = i % 2;
        const int64_t shape[] = {3, 40, 61, 50};
        int64_t out[BP_MAX_NDIM];
        int rank;
        bp_dtype dtype;
        memset(&c, 0, sizeof c);
        c.dtype = dtypes[i / 2 % DTYPES];
        c.call = (bp_pool_call){.struct_size = sizeof c.call, .kind = max ? BP_POOL_MAX : BP_POOL_AVERAGE, .ndim = 2};
        for (int d = 0; d < 2; d++) {
            c.kernel[d] = 3;
            c.stride[d] = c.output_size[d] = 1 + i % 2;
            c.padding[d] = 1;
        }
        c.call.output_size = i % 3 == 0 ? c.output_size : NULL;
        c.call.kernel = i % 3 ? c.kernel : NULL;
        c.call.stride = i % 3 ? c.stride : NULL;
        c.call.padding = i % 3 ? c.padding : NULL;
        make(&c.input, c.dtype, 4, shape);
        c.call.input = &c.input.view.tensor;
        assert_int_equal(bp_pool_shape(&c.call, &dtype, &rank, out), BP_OK);
        make(&c.output, c.dtype, rank, out);
        c.call.output = &c.output.view.tensor;
        if (max) {
            make(&c.indices, BP_I64, rank, out);
            c.call.indices = &c.indices.view.tensor;
        }
        for (int64_t j = 0; j < count_of(&c.input); j++) {
            put(c.dtype, element(&c.input, j), (double)between(-1000, 1000) / 997);
        }
        for (int backward = 0; backward < 2; backward++) {
            tensor *written = backward ? &c.input : &c.output;
            const size_t bytes = (size_t)written->all * bp_dtype_size(c.dtype);
            c.call.pass = backward ? BP_POOL_BACKWARD : BP_POOL_FORWARD;
            run(&c, "num_threads=1");
            char *first = malloc(bytes);
            assert_non_null(first);
            memcpy(first, written->memory, bytes);
            for (int s = 0; s < 3; s++) {
                mark(written);
                run(&c, settings[s]);
                assert_memory_equal(first, written->memory, bytes);
            }
            free(first);
        }
        end(&c);
    }
}

static double weighted(pooling *c, const double *weights) {
    double sum = 0;
    run(c, "");
    for (int64_t i = 0; i < count_of(&c->output); i++) {
        sum += isfinite(get(&c->output, i)) ? weights[i] * get(&c->output, i) : 0; /* empty windows */
    }
    return sum;
}

/* Compares with differences of a weighted sum of the outputs. Inputs are distinct and further apart than the step, so
 * that no maximum moves. */
static void gradients_equal_differences(void **state) {
    (void)state;
    const double step = 0x1p-10;
    state_of_random = 45;
    for (int i = 0; i < 60; i++) {
        pooling c;
        double weights[20000];
        do {
            begin(&c, BP_F64, i % 2 ? BP_POOL_AVERAGE : BP_POOL_MAX, false);
            if (count_of(&c.input) == 0 || count_of(&c.input) > 600 || count_of(&c.output) > 20000 ||
                (i % 2 == 0 && !c.call.indices)) {
                end(&c);
            }
        } while (!c.input.memory);
        const int64_t all = count_of(&c.input), distance = 7; /* 7 and 601 have no common divisor: all differ */
        for (int64_t j = 0; j < all; j++) {
            put(BP_F64, element(&c.input, j), (double)((j + 1) * distance % 601) / 8);
        }
        for (int64_t j = 0; j < count_of(&c.output); j++) {
            weights[j] = (double)between(-8, 8);
        }
        double *wanted = malloc((size_t)all * sizeof *wanted);
        assert_non_null(wanted);
        const double before = weighted(&c, weights);
        for (int64_t j = 0; j < all; j++) {
            const double x = get(&c.input, j);
            put(BP_F64, element(&c.input, j), x + step);
            wanted[j] = (weighted(&c, weights) - before) / step;
            put(BP_F64, element(&c.input, j), x);
        }
        (void)weighted(&c, weights); /* the indices of the unchanged input */
        turn(&c);
        for (int64_t j = 0; j < count_of(&c.output); j++) {
            put(BP_F64, element(&c.output, j), weights[j]);
        }
        run(&c, "");
        for (int64_t j = 0; j < all; j++) {
            if (!(fabs(get(&c.input, j) - wanted[j]) <= 1e-6)) {
                fail_msg("%s: gradient %d is %g instead of %g", c.text, (int)j, get(&c.input, j), wanted[j]);
            }
        }
        free(wanted);
        end(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_equal_the_reference),
        cmocka_unit_test(gradients_equal_the_reference),
        cmocka_unit_test(threads_do_not_change_bits),
        cmocka_unit_test(gradients_equal_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
