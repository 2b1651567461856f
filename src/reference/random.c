/* random.c - computes random numbers word by word, as random.h says. */
#include "reference/philox.h"
#include "reference/results.h"

#include <math.h>

/* Returns the word of an element, or its pair of words in types of 64 bits. */
static uint64_t word_of(const bp_random_call *call, uint64_t index) {
    const bool is_wide = call->output->dtype.bits == 64;
    const uint64_t in_block = is_wide ? 2 : 4, at = index % in_block;
    uint32_t block[4];
    reference_philox(call->offset + index / in_block, 0, call->seed, block);
    return is_wide ? (uint64_t)block[2 * at + 1] << 32 | block[2 * at] : block[at];
}

static int64_t bits_element(void *user, int64_t index) {
    return (int64_t)word_of(user, (uint64_t)index);
}

static reference_number uniform_element(void *user, int64_t index) {
    const bp_random_call *call = user;
    const int bits = (int)bp_dtype_size(bp_dtype_from_dlpack(call->output->dtype)) == 8 ? 64 : 32;
    const bp_dtype dtype = bp_dtype_from_dlpack(call->output->dtype);
    const int kept = dtype == BP_F16 ? 11 : dtype == BP_BF16 ? 8 : dtype == BP_F32 ? 24 : 53;
    return (reference_number){ldexpl((long double)(word_of(call, (uint64_t)index) >> (bits - kept)), -kept), -1};
}

/* A result on a device is at most 2 units of the last place from that on the host, which has up to 3 roundings: of the
 * logarithm with the root, of the angle's function, and of the product. */
static reference_number normal_element(void *user, int64_t index) {
    const bp_random_call *call = user;
    const bp_dtype dtype = bp_dtype_from_dlpack(call->output->dtype);
    const bool is_wide = dtype == BP_F64;
    const long double pi = 3.14159265358979323846264338327950288L;
    const uint64_t even = word_of(call, (uint64_t)index & ~UINT64_C(1)), odd = word_of(call, (uint64_t)index | 1);
    const double high = (double)(even >> 11) + 0.5;
    const float low = (float)even + 0.5f;
    const long double u = is_wide ? (long double)high * 0x1p-53L : (long double)low * 0x1p-32L;
    const long double angle = 2 * pi * (long double)odd * (is_wide ? 0x1p-64L : 0x1p-32L);
    const long double radius = sqrtl(-2 * logl(u)), value = radius * (index % 2 ? sinl(angle) : cosl(angle));
    const long double unit = (long double)reference_unit(is_wide ? BP_F64 : BP_F32);
    return (reference_number){value, 8 * unit * fabsl(value) + radius * 0x1p-62L};
}

bp_status reference_of_random(reference_results *made, const bp_random_call *call) {
    *made = (reference_results){.count = 0};
    void *user = (void *)(uintptr_t)call;
    return call->kind == BP_RANDOM_BITS
               ? reference_add_wholes(made, "output", call->output, 16, bits_element, user)
               : reference_add_result(made, "output", call->output, 16,
                                      call->kind == BP_RANDOM_UNIFORM ? uniform_element : normal_element, user);
}
