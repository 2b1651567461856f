/* operands.c - makes the private operands of a trial, and sets them back before a call. */
#include "tuning/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

/* ---- Descriptions ---- */

bp__trial_operand *bp__trial_add(bp__trial *trial, bp_dtype dtype, bool output) {
    bp__trial_operand *o = &trial->operand[trial->count];
    *o = (bp__trial_operand){.present = true, .output = output, .same = trial->count++, .dtype = dtype};
    return o;
}

void bp__trial_add_dimension(bp__trial_operand *o, int64_t size, int64_t stride) {
    o->shape[o->ndim] = size;
    o->strides[o->ndim++] = stride;
}

void bp__trial_add_dimensions(bp__trial_operand *o, int ndim, const int64_t *sizes, const int64_t *strides) {
    for (int d = 0; d < ndim; d++) {
        bp__trial_add_dimension(o, sizes[d], strides[d]);
    }
}

void bp__trial_share(bp__trial *trial, int output, int input) {
    trial->operand[output].same = input;
    trial->operand[output].reads = true;
}

void bp__trial_store_index(const bp__trial_operand *o, char *memory, int64_t at, int64_t value) {
    const int32_t narrow = (int32_t)value;
    char *to = memory + o->first + at * (int64_t)bp_dtype_size(o->dtype);
    if (o->dtype == BP_I32) {
        memcpy(to, &narrow, sizeof narrow);
    } else {
        memcpy(to, &value, sizeof value);
    }
}

/* ---- Elements ---- */

bool bp__walk_begin(bp__walk *walk, const bp__trial_operand *operand) {
    memset(walk, 0, sizeof *walk);
    for (int i = 0; i < operand->ndim; i++) {
        if (operand->shape[i] == 0) {
            return false;
        }
    }
    return operand->present;
}

bool bp__walk_next(bp__walk *walk, const bp__trial_operand *operand, int inner) {
    for (int i = operand->ndim - 1 - inner; i >= 0; i--) {
        walk->at += operand->strides[i];
        if (++walk->index[i] < operand->shape[i]) {
            return true;
        }
        walk->at -= operand->shape[i] * operand->strides[i];
        walk->index[i] = 0;
    }
    return false;
}

bool bp__trial_measure_span(bp__trial_operand *o, size_t most) {
    const int64_t element = (int64_t)bp_dtype_size(o->dtype);
    int64_t low = 0, high = 0;
    bp__walk walk;
    if (!bp__walk_begin(&walk, o)) {
        return true;
    }
    for (int i = 0; i < o->ndim; i++) {
        int64_t span;
        if (__builtin_mul_overflow(o->shape[i] - 1, o->strides[i], &span) || span > (int64_t)most ||
            span < -(int64_t)most) {
            return false;
        }
        low += span < 0 ? span : 0;
        high += span > 0 ? span : 0;
    }
    o->first = -low * element;
    o->size = (size_t)((high - low + 1) * element);
    return o->size <= most;
}

/* ---- Values ---- */

typedef struct random_numbers {
    uint64_t state;
} random_numbers;
#define SEED UINT64_C(0x9e3779b97f4a7c15)

/* Returns a number in [-1, 1), by xorshift. */
static double next_random(random_numbers *r) {
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    r->state ^= r->state << 17;
    return (double)(int64_t)r->state * 0x1p-63;
}

/* Converts a number of magnitude at most 1; those below the smallest normal number become 0. */
static uint16_t half(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int exponent = (int)(bits >> 23 & 0xFF) - 127 + 15;
    const uint32_t sign = bits >> 16 & 0x8000;
    return (uint16_t)(exponent <= 0 ? sign : sign | (uint32_t)exponent << 10 | (bits >> 13 & 0x3FF));
}

static uint16_t bfloat(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)(bits >> 16);
}

/* Stores a component of an element. */
static void store(char *at, bp_dtype dtype, double value) {
    const float single = (float)value;
    const uint16_t word = dtype == BP_F16 ? half(single) : bfloat(single);
    switch (dtype) {
    case BP_F64:
    case BP_C128:
        memcpy(at, &value, sizeof value);
        break;
    case BP_F32:
    case BP_C64:
        memcpy(at, &single, sizeof single);
        break;
    case BP_F16:
    case BP_BF16:
        memcpy(at, &word, sizeof word);
        break;
    default:
        break; /* integers are bits */
    }
}

static bool is_floating(bp_dtype dtype) {
    return dtype >= BP_F16 && dtype <= BP_C128;
}

static bool is_complex(bp_dtype dtype) {
    return dtype == BP_C64 || dtype == BP_C128;
}

/* Fills memory with numbers of magnitude up to `most` around `middle`. Integers have all values, booleans both. */
static void fill(char *memory, size_t size, bp_dtype dtype, double middle, double most, random_numbers *numbers) {
    const size_t step = bp_dtype_size(dtype) / (is_complex(dtype) ? 2 : 1);
    for (size_t at = 0; at + step <= size; at += step) {
        const double number = next_random(numbers);
        const uint64_t bits = dtype == BP_BOOL ? number < 0 : numbers->state;
        if (is_floating(dtype)) {
            store(memory + at, dtype, middle + most * number);
        } else {
            memcpy(memory + at, &bits, step);
        }
    }
}

static double real_part(const char *at, bp_dtype dtype) {
    double wide;
    float single;
    if (bp_dtype_size(dtype) / (is_complex(dtype) ? 2 : 1) == sizeof wide) {
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
    memcpy(&single, at, sizeof single);
    return (double)single;
}

/* A permutation of 0 to side - 1: i becomes (factor i + start) mod side. */
typedef struct permutation {
    int64_t side, factor, start;
} permutation;

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Returns a permutation for the matrix at a position: the same one if it is visited again, as part of another item. */
static permutation permutation_at(int64_t at, int64_t side) {
    const uint64_t bits = bp__hash(&at, sizeof at);
    permutation p = {side, 1 + (int64_t)(bits >> 32) % side, (int64_t)(bits & UINT32_MAX) % side};
    while (common_divisor(p.factor, side) != 1) {
        p.factor = p.factor % side + 1;
    }
    return p;
}

/* Adds to one element of each row and column, so that factorizations exchange rows as they do of any matrix. */
static void shift_permuted(const bp__trial_operand *o, char *memory, double value) {
    const int64_t element = (int64_t)bp_dtype_size(o->dtype);
    const int64_t rows = o->shape[o->ndim - 2], columns = o->shape[o->ndim - 1];
    const int64_t side = rows < columns ? rows : columns;
    bp__walk walk;
    for (bool more = bp__walk_begin(&walk, o); more && side > 0; more = bp__walk_next(&walk, o, 2)) {
        const permutation p = permutation_at(walk.at, side);
        int64_t column = p.start;
        for (int64_t i = 0; i < side; i++, column = (column + p.factor) % side) {
            const int64_t step = i * o->strides[o->ndim - 2] + column * o->strides[o->ndim - 1];
            char *at = memory + o->first + (walk.at + step) * element;
            store(at, o->dtype, real_part(at, o->dtype) + value);
        }
    }
}

static void set_diagonals(const bp__trial_operand *o, char *memory, double value) {
    const int64_t element = (int64_t)bp_dtype_size(o->dtype);
    const int64_t rows = o->shape[o->ndim - 2], columns = o->shape[o->ndim - 1];
    const int64_t step = o->strides[o->ndim - 2] + o->strides[o->ndim - 1];
    bp__walk walk;
    for (bool more = bp__walk_begin(&walk, o); more; more = bp__walk_next(&walk, o, 2)) {
        for (int64_t i = 0; i < rows && i < columns; i++) {
            char *at = memory + o->first + (walk.at + i * step) * element;
            store(at, o->dtype, value);
            if (is_complex(o->dtype)) {
                store(at + element / 2, o->dtype, 0);
            }
        }
    }
}

static void set_indices(const bp__trial_operand *o, char *memory, random_numbers *numbers) {
    bp__walk walk;
    for (bool more = bp__walk_begin(&walk, o); more; more = bp__walk_next(&walk, o, 0)) {
        (void)next_random(numbers);
        bp__trial_store_index(o, memory, walk.at, (int64_t)(numbers->state % (uint64_t)o->limit));
    }
}

/* Makes the values of the first `size` bytes: of all, or of those that are repeated. */
static void make_values(const bp__trial *trial, const bp__trial_operand *o, char *memory, size_t size,
                        random_numbers *numbers) {
    const int64_t rows = o->ndim >= 2 ? o->shape[o->ndim - 2] : 1, columns = o->ndim >= 1 ? o->shape[o->ndim - 1] : 1;
    const double n = (double)(rows > columns ? rows : columns) + 1;
    const double middle = o->values == BP__VALUES_POSITIVE || o->values == BP__VALUES_NEAR_ONE;
    const double most = o->values == BP__VALUES_POSITIVE   ? 0.5
                        : o->values == BP__VALUES_NEAR_ONE ? 1 / ((double)o->limit + 1)
                        : o->values == BP__VALUES_DIAGONAL ? 1 / n
                                                           : 1;
    fill(memory, size, o->dtype, middle, most, numbers);
    switch (o->values) {
    case BP__VALUES_ANY:
    case BP__VALUES_POSITIVE:
    case BP__VALUES_NEAR_ONE:
    case BP__VALUES_COMPUTED:
        break;
    case BP__VALUES_SHIFTED:
        shift_permuted(o, memory, 2 * sqrt(n));
        break;
    case BP__VALUES_DIAGONAL:
        set_diagonals(o, memory, 1);
        break;
    case BP__VALUES_INDICES:
        set_indices(o, memory, numbers);
        break;
    case BP__VALUES_FILLED:
        o->fill(trial, o, memory);
        break;
    }
}

/* ---- Memory ---- */

/* Allocates memory that begins `position` bytes into a cache line. */
static char *allocate(size_t size, size_t position, void **block) {
    *block = bp__alloc_aligned(size + LINE);
    return *block ? (char *)*block + position : NULL;
}

/* Returns how many bytes determine the values of an operand. Large ones repeat random numbers, because copying is
 * faster than making them. The period is a prime number of elements, so that rows of a matrix differ. */
static size_t untouched_size(const bp__trial_operand *o) {
    enum { PERIOD = 65521 };
    const size_t period = PERIOD * bp_dtype_size(o->dtype);
    const bool repeats = o->values <= BP__VALUES_NEAR_ONE; /* each element by itself */
    return repeats && o->size > period ? period : o->size;
}

/* Fills memory by repeating its first `period` bytes. */
static void repeat(char *memory, size_t size, const char *from, size_t period) {
    for (size_t at = 0; at < size; at += period) {
        memcpy(memory + at, from, size - at < period ? size - at : period);
    }
}

void bp__trial_write(const bp__trial *trial, const bp__trial_operand *o, char *memory) {
    random_numbers numbers = {SEED};
    const size_t period = untouched_size(o);
    make_values(trial, o, memory, period, &numbers);
    repeat(memory + period, o->size - period, memory, period);
}

static bp_status make_memory(bp__trial *trial, bp__trial_operand *o, const bp_operand *address,
                             random_numbers *numbers) {
    if (!o->present || o->same != (int)(o - trial->operand)) {
        return BP_OK;
    }
    const size_t element = bp_dtype_size(o->dtype);
    uintptr_t place = address ? (uintptr_t)bp_operand_address(address) - (uintptr_t)o->first : 0;
    size_t position = place % LINE / element * element; /* of a multiple of the element's size */
    o->memory = allocate(o->size, position, &o->block);
    if (!o->output || o->reads) {
        o->untouched_size = untouched_size(o);
        o->untouched = allocate(o->untouched_size, 0, &o->block_untouched);
    }
    if (!o->memory || (!o->untouched && (!o->output || o->reads))) {
        return bp__fail_memory(o->size, "an operand to measure with");
    }
    if (o->untouched) {
        make_values(trial, o, o->untouched, o->untouched_size, numbers);
    }
    return BP_OK;
}

/* Puts the dimensions of an output in the order of falling strides, so that rows are compact where possible. */
static void sort_dimensions(bp__trial_operand *o) {
    for (int i = 1; i < o->ndim; i++) {
        for (int j = i; j > 0 && llabs(o->strides[j - 1]) < llabs(o->strides[j]); j--) {
            const int64_t size = o->shape[j], stride = o->strides[j];
            o->shape[j] = o->shape[j - 1];
            o->strides[j] = o->strides[j - 1];
            o->shape[j - 1] = size;
            o->strides[j - 1] = stride;
        }
    }
}

/* Computes the inputs that depend on others, and keeps them as the values before a call. */
static bp_status compute(bp__trial *trial) {
    bp__trial_restore(trial);
    BP__TRY(trial->compute(trial));
    for (int i = 0; i < trial->count; i++) {
        const bp__trial_operand *o = &trial->operand[i];
        if (o->present && o->values == BP__VALUES_COMPUTED) {
            memcpy(o->untouched, o->memory, o->size);
        }
    }
    return BP_OK;
}

static bp_status make_all(bp__trial *trial, const bp_operand *addresses) {
    random_numbers numbers = {SEED};
    for (int i = 0; i < trial->count; i++) {
        BP__TRY(make_memory(trial, &trial->operand[i], addresses ? &addresses[i] : NULL, &numbers));
    }
    for (int i = 0; i < trial->count; i++) {
        bp__trial_operand *o = &trial->operand[i];
        const bp__trial_operand *owner = &trial->operand[o->same];
        o->memory = owner->memory;
        if (o->output) {
            sort_dimensions(o);
        }
        trial->operands[i] = (bp_operand){o->present ? owner->memory + owner->first : NULL, 0};
    }
    return trial->compute ? compute(trial) : BP_OK;
}

bp_status bp__trial_open(bp__trial *trial, const bp_operand *addresses, size_t most) {
    size_t total = 0;
    for (int i = 0; i < trial->count; i++) {
        if (!bp__trial_measure_span(&trial->operand[i], most) || (total += trial->operand[i].size) > most) {
            return bp__fail(BP_E_UNSUPPORTED, "its operands are larger than %zu MiB", most >> 20);
        }
    }
    const bp_status status = make_all(trial, addresses);
    if (status != BP_OK) {
        bp__trial_close(trial);
    }
    return status;
}

void bp__trial_close(bp__trial *trial) {
    for (int i = 0; i < trial->count; i++) {
        bp__free_aligned(trial->operand[i].block);
        bp__free_aligned(trial->operand[i].block_untouched);
        trial->operand[i].block = trial->operand[i].block_untouched = NULL;
    }
}

bool bp__trial_changes(const bp__trial *trial) {
    for (int i = 0; i < trial->count; i++) {
        if (trial->operand[i].output && trial->operand[i].reads) {
            return true;
        }
    }
    return false;
}

void bp__trial_restore(bp__trial *trial) {
    for (int i = 0; i < trial->count; i++) {
        bp__trial_operand *o = &trial->operand[i];
        if (!o->present || o->same != i) {
            continue;
        }
        if (o->untouched) {
            repeat(o->memory, o->size, o->untouched, o->untouched_size);
        } else {
            memset(o->memory, 0xFF, o->size); /* NaN in every floating type, -1 in integers */
        }
    }
}

size_t bp__trial_result_size(const bp__trial *trial) {
    size_t size = 0;
    for (int i = 0; i < trial->count; i++) {
        const bp__trial_operand *o = &trial->operand[i];
        size += o->present && o->output ? trial->operand[o->same].size : 0;
    }
    return size;
}

bp_status bp__trial_keep(const bp__trial *trial, bp__trial_result *result) {
    memset(result, 0, sizeof *result);
    for (int i = 0; i < trial->count; i++) {
        const bp__trial_operand *o = &trial->operand[i];
        if (!o->present || !o->output) {
            continue;
        }
        const size_t size = trial->operand[o->same].size;
        result->memory[i] = bp__alloc(size);
        if (!result->memory[i]) {
            bp__trial_result_free(result);
            return bp__fail_memory(size, "a result to compare");
        }
        memcpy(result->memory[i], o->memory, size);
    }
    return BP_OK;
}

void bp__trial_result_free(bp__trial_result *result) {
    for (int i = 0; i < BP__TRIAL_OPERANDS; i++) {
        bp__free(result->memory[i]);
        result->memory[i] = NULL;
    }
}

/* ---- Tensors of samples ---- */

void bp__sample_tensor_init(bp__sample_tensor *sample, bp_dtype dtype, int ndim, const int64_t *shape,
                            const int64_t *strides) {
    int64_t step = 1;
    sample->tensor = (DLTensor){.device = {kDLCPU, 0},
                                .ndim = ndim,
                                .dtype = bp_dtype_to_dlpack(dtype),
                                .shape = sample->shape,
                                .strides = sample->strides};
    for (int d = ndim - 1; d >= 0; d--) {
        sample->shape[d] = shape[d];
        sample->strides[d] = strides ? strides[d] : step;
        step *= shape[d];
    }
}
