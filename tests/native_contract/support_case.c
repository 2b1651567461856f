/* support_case.c - allocates the operands of a contraction, runs it through the provider, and computes the reference.
 */
#include "contract.h"

#include "providers/native/contract/contract.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const bp_provider bp_provider_native;
extern const bp__contract_kernels bp__contract_wide[BP__CONTRACT_DTYPES];

enum { MARK = 0xA5 };

bool runs_here(kernels set) {
#if defined(__x86_64__)
    return set == KERNELS_DEFAULT ||
           test_plain_host()->hardware >=
               (bp_capability)(set == KERNELS_AVX512 ? BP_CAPABILITY_AVX512 : BP_CAPABILITY_AVX2);
#else
    return set == KERNELS_DEFAULT || set == KERNELS_WIDE;
#endif
}

bool is_complex(bp_dtype dtype) {
    return dtype == BP_C64 || dtype == BP_C128;
}

long double roundoff(bp_dtype dtype) {
    switch (dtype) {
    case BP_F16:
        return 0x1p-11L;
    case BP_BF16:
        return 0x1p-8L;
    case BP_F32:
    case BP_C64:
        return 0x1p-24L;
    default:
        return 0x1p-53L;
    }
}

/* Returns the smallest distance between two numbers of the type. */
static long double grain(bp_dtype dtype) {
    switch (dtype) {
    case BP_F16:
        return 0x1p-24L;
    case BP_BF16:
        return 0x1p-133L;
    case BP_F32:
    case BP_C64:
        return FLT_TRUE_MIN;
    default:
        return DBL_TRUE_MIN;
    }
}

uint64_t draw(uint64_t *state, uint64_t below) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

/* ---- Elements ---- */

/* Makes a complex number from its parts, because a product with I would turn infinity into NaN. */
static wide pair(long double re, long double im) {
    const long double parts[2] = {re, im};
    wide value;
    memcpy(&value, parts, sizeof value);
    return value;
}

static long double half_value(uint16_t bits, int exponent_bits) {
    const int mantissa_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1),
              mantissa = bits & ((1 << mantissa_bits) - 1);
    const long double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1) {
        return mantissa ? (long double)NAN : sign * (long double)INFINITY;
    }
    const int whole = exponent ? mantissa + (1 << mantissa_bits) : mantissa;
    return sign * ldexpl(whole, (exponent ? exponent : 1) - bias - mantissa_bits);
}

wide value_of(bp_dtype dtype, const void *at) {
    uint16_t bits;
    float floats[2];
    double doubles[2];
    switch (dtype) {
    case BP_F16:
    case BP_BF16:
        memcpy(&bits, at, sizeof bits);
        return half_value(bits, dtype == BP_F16 ? 5 : 8);
    case BP_F32:
        memcpy(floats, at, sizeof floats[0]);
        return floats[0];
    case BP_F64:
        memcpy(doubles, at, sizeof doubles[0]);
        return doubles[0];
    case BP_C64:
        memcpy(floats, at, sizeof floats);
        return pair(floats[0], floats[1]);
    default:
        memcpy(doubles, at, sizeof doubles);
        return pair(doubles[0], doubles[1]);
    }
}

/* Returns the 16-bit number with this value, by trying all 65536. The test fails if there is none. */
static uint16_t half_of(bp_dtype dtype, long double value) {
    for (uint32_t bits = 0; bits < 65536; bits++) {
        const long double x = half_value((uint16_t)bits, dtype == BP_F16 ? 5 : 8);
        if ((isnan(x) && isnan(value)) || (x == value && signbit(x) == signbit(value))) {
            return (uint16_t)bits;
        }
    }
    fail_msg("the type cannot represent %Lg", value);
    return 0;
}

static void put_at(bp_dtype dtype, void *at, wide value) {
    const double doubles[2] = {(double)creall(value), (double)cimagl(value)};
    const float floats[2] = {(float)doubles[0], (float)doubles[1]};
    if (dtype == BP_F16 || dtype == BP_BF16) {
        const uint16_t bits = half_of(dtype, creall(value));
        memcpy(at, &bits, sizeof bits);
    } else {
        const bool single = dtype == BP_F32 || dtype == BP_C64;
        memcpy(at, single ? (const void *)floats : doubles, bp_dtype_size(dtype));
    }
}

char *element(const operands *o, int side, const int64_t *index) {
    int64_t offset = 0;
    for (int d = 0; d < o->t.ndim; d++) {
        offset += index[d] * o->t.step[side][d];
    }
    return o->first[side] + offset * (int64_t)bp_dtype_size(o->t.dtype);
}

wide get(const operands *o, int side, const int64_t *index) {
    return value_of(o->t.dtype, element(o, side, index));
}

void put(const operands *o, int side, const int64_t *index, wide value) {
    put_at(o->t.dtype, element(o, side, index), value);
}

bool advance(const task *t, int from, int until, int64_t *index) {
    for (int d = until - 1; d >= from; d--) {
        if (++index[d] < t->size[d]) {
            return true;
        }
        index[d] = 0;
    }
    return false;
}

/* ---- Memory ---- */

void lay_out(task *t, int side, const int *order, int count, int64_t gap) {
    int64_t step = 1;
    for (int i = count - 1; i >= 0; i--) {
        t->step[side][order[i]] = step;
        step *= t->size[order[i]] + gap;
    }
}

/* Fills an operand with random numbers with exponents near 0. */
static void fill(const operands *o, int side, uint64_t *state) {
    const size_t unit = bp_dtype_size(o->t.dtype);
    const int reals = is_complex(o->t.dtype) ? 2 : 1;
    char *at = o->memory[side] + o->bytes[side] % unit;
    for (; at + unit <= o->memory[side] + o->bytes[side]; at += unit) {
        double parts[2];
        for (int i = 0; i < reals; i++) {
            parts[i] = ldexp((double)draw(state, 1 << 24) - (1 << 23), -23);
        }
        if (o->t.dtype == BP_F16 || o->t.dtype == BP_BF16) {
            const int mantissa = o->t.dtype == BP_F16 ? 10 : 7, bias = o->t.dtype == BP_F16 ? 15 : 127;
            const uint16_t bits =
                (uint16_t)(draw(state, 2) << 15 | (uint64_t)(bias - 4 + (int)draw(state, 5)) << mantissa |
                           draw(state, UINT64_C(1) << mantissa));
            memcpy(at, &bits, sizeof bits);
        } else {
            put_at(o->t.dtype, at, pair(parts[0], reals == 2 ? parts[1] : 0));
        }
    }
}

static bool is_there(const task *t, int side) {
    return side == A || (side == B ? t->has_b : !t->in_place);
}

static void make_memory(operands *o, int side) {
    const task *t = &o->t;
    const int64_t unit = (int64_t)bp_dtype_size(t->dtype);
    int64_t low = 0, high = 0;
    bool empty = false;
    for (int d = 0; d < t->ndim; d++) {
        const int64_t span = (t->size[d] - 1) * t->step[side][d];
        empty = empty || (t->size[d] == 0 && (side != C || d < t->output_ndim));
        low += span < 0 ? span : 0;
        high += span > 0 ? span : 0;
    }
    const int64_t misaligned = t->misaligned ? unit / (is_complex(t->dtype) ? 2 : 1) : 0;
    o->bytes[side] = (size_t)(misaligned + (empty ? 1 : high - low + 1) * unit);
    o->memory[side] = malloc(o->bytes[side]);
    assert_non_null(o->memory[side]);
    memset(o->memory[side], MARK, o->bytes[side]);
    o->first[side] = o->memory[side] + misaligned - (empty ? 0 : low * unit);
}

static void describe(operands *o) {
    const task *t = &o->t;
    bp_contract_problem *p = &o->problem.of.contract;
    const kernels wanted = t->set == KERNELS_WIDE ? KERNELS_AVX2 : t->set;
    o->problem.struct_size = sizeof o->problem;
    o->problem.op = BP_OP_CONTRACT;
    o->problem.dtype = (uint32_t)t->dtype;
    o->problem.policy.threads = t->threads ? t->threads : 1;
    o->problem.policy.capability = (uint8_t)wanted;
    p->ndim = t->ndim;
    p->output_ndim = t->output_ndim;
    p->has_b = t->has_b;
    p->in_place = t->in_place;
    for (int d = 0; d < t->ndim; d++) {
        p->size[d] = t->size[d];
        p->a[d] = t->step[A][d];
        p->b[d] = t->has_b ? t->step[B][d] : 0;
        p->c[d] = t->in_place ? t->step[A][d] : t->step[C][d];
    }
}

void make_operands(operands *o, const task *t) {
    memset(o, 0, sizeof *o);
    o->t = *t;
    uint64_t state = t->seed + 1;
    describe(o);
    for (int side = 0; side < SIDES; side++) {
        if (is_there(t, side)) {
            make_memory(o, side);
            if (side != C) {
                fill(o, side, &state);
            }
        }
    }
    if (t->in_place) {
        o->first[C] = o->first[A];
        memcpy(o->t.step[C], o->t.step[A], sizeof o->t.step[C]);
    }
}

void free_operands(operands *o) {
    for (int side = 0; side < SIDES; side++) {
        free(o->memory[side]);
        free(o->before[side]);
    }
}

static void save_contents(operands *o) {
    for (int side = 0; side < SIDES; side++) {
        if (o->memory[side]) {
            free(o->before[side]);
            o->before[side] = malloc(o->bytes[side]);
            assert_non_null(o->before[side]);
            memcpy(o->before[side], o->memory[side], o->bytes[side]);
        }
    }
}

static bp_status plan_for(operands *o, bp_prepared **plan) {
    void *instance;
    assert_int_equal(bp_provider_native.open(test_plain_host(), NULL, &instance), BP_OK);
    o->verdict = test_verdict(&bp_provider_native, instance, &o->problem);
    assert_int_equal(o->verdict.reason, BP_REASON_ACCEPTED);
    assert_non_null(o->verdict.algorithm);
    assert_true(o->verdict.threads >= 1 && o->verdict.threads <= o->problem.policy.threads);
    assert_true(o->verdict.cost_ns > 0 && isfinite(o->verdict.cost_ns));
    if (o->t.set != KERNELS_WIDE) {
        return test_plan_first(&bp_provider_native, instance, &o->problem, plan);
    }
    bp__contract_tiling tiling;
    bp__contract_choose_tiling(test_plain_host(), &o->problem, 2, &tiling);
    return bp__contract_prepare(test_plain_host(), &bp__contract_wide[o->t.dtype - BP_F16], &tiling, o->verdict.threads,
                                plan);
}

bp_status run_task(operands *o) {
    bp_prepared *plan;
    bp_status status = plan_for(o, &plan);
    if (status != BP_OK) {
        return status;
    }
    save_contents(o);
    status = test_enqueue(plan, (void *const *)o->first, 3, NULL);
    plan->destroy(plan);
    return status;
}

/* ---- Reference and checks ---- */

/* Returns an element of an input as it was before the call, because C may have overwritten A. */
static wide input(const operands *o, int side, const int64_t *index) {
    const char *at = element(o, side, index);
    return value_of(o->t.dtype, o->before[side] ? o->before[side] + (at - o->memory[side]) : at);
}

wide reference(const operands *o, int64_t *index, long double *moduli) {
    const task *t = &o->t;
    wide sum = 0;
    *moduli = 0;
    for (int d = t->output_ndim; d < t->ndim; d++) {
        index[d] = 0;
        if (t->size[d] == 0) {
            return 0;
        }
    }
    do {
        const wide a = input(o, A, index), b = t->has_b ? input(o, B, index) : 1;
        sum += pair(creall(a) * creall(b) - cimagl(a) * cimagl(b), creall(a) * cimagl(b) + cimagl(a) * creall(b));
        *moduli += cabsl(a) * cabsl(b);
    } while (advance(t, t->output_ndim, t->ndim, index));
    return sum;
}

static bool is_empty(const task *t) {
    for (int d = 0; d < t->output_ndim; d++) {
        if (t->size[d] == 0) {
            return true;
        }
    }
    return false;
}

static int64_t terms_of(const task *t) {
    int64_t terms = 1;
    for (int d = t->output_ndim; d < t->ndim; d++) {
        terms *= t->size[d];
    }
    return terms;
}

void check_results(const operands *o) {
    const task *t = &o->t;
    const bp_dtype summed = t->dtype == BP_F16 || t->dtype == BP_BF16 ? BP_F32 : t->dtype;
    int64_t index[BP_MAX_CONTRACT_NDIM] = {0};
    if (is_empty(t)) {
        return;
    }
    /* No chain of additions has more than some hundred terms, however long the sum is. */
    const int64_t terms = terms_of(t);
    const long double chain = (long double)(terms < 160 ? terms + 2 : 160 + terms / 1000);
    do {
        long double moduli;
        const wide exact = reference(o, index, &moduli), got = get(o, C, index);
        const long double bound =
            1.01L * roundoff(t->dtype) * cabsl(exact) + chain * roundoff(summed) * moduli + grain(t->dtype);
        const bool plain = terms == 1 && !t->has_b;
        if (plain ? got != exact : !(cabsl(got - exact) <= bound)) {
            fail_msg("dtype %d, set %d, seed %u, %s, element %d: %.20Lg%+.20Lgi, not %.20Lg%+.20Lgi (bound %Lg)",
                     t->dtype, t->set, t->seed, o->verdict.algorithm, (int)index[0], creall(got), cimagl(got),
                     creall(exact), cimagl(exact), bound);
        }
    } while (advance(t, 0, t->output_ndim, index));
}

void check_surroundings(const operands *o) {
    const task *t = &o->t;
    const int64_t unit = (int64_t)bp_dtype_size(t->dtype);
    const int written = t->in_place ? A : C;
    int64_t index[BP_MAX_CONTRACT_NDIM] = {0};
    for (int side = 0; side < SIDES; side++) {
        if (o->memory[side] && side != written) {
            assert_memory_equal(o->memory[side], o->before[side], o->bytes[side]);
        }
    }
    char *rest = malloc(o->bytes[written]);
    assert_non_null(rest);
    memcpy(rest, o->memory[written], o->bytes[written]);
    if (!is_empty(t)) {
        do {
            const int64_t at = element(o, C, index) - o->memory[written];
            memcpy(rest + at, o->before[written] + at, (size_t)unit);
        } while (advance(t, 0, t->output_ndim, index));
    }
    assert_memory_equal(rest, o->before[written], o->bytes[written]);
    free(rest);
}

void check_task(const task *t) {
    operands o;
    make_operands(&o, t);
    assert_int_equal(run_task(&o), BP_OK);
    check_results(&o);
    check_surroundings(&o);
    free_operands(&o);
}
