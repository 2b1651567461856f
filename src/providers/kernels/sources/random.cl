/* random.cl - fills a tensor with the numbers of Philox 4x32-10, as include/backplane/random.h describes them.
 *
 * Y is the type of the output. KIND_UNIFORM, KIND_NORMAL or KIND_BITS selects the numbers and WIDE pairs of words.
 * BLOCK is a type with the bytes of a block's elements. The seed is {seed, offset}. Each step of normal numbers is one
 * operation that IEEE 754 rounds, in the order of the native provider's, so that results are equal where the device
 * divides and takes roots exactly. */
#include "common.cl"
#include "philox.cl"
#ifdef KIND_NORMAL
#include "math.cl"
#endif

#define DIMS 24
typedef struct layout {
    long total;
    int ndim, dense; /* dense: the output has no gaps */
    long size[DIMS];
    long stride[DIMS];
} layout;

#ifdef WIDE
#define IN_BLOCK 2
typedef ulong word;
#else
#define IN_BLOCK 4
typedef uint word;
#endif

#ifdef KIND_NORMAL
#ifdef WIDE
#define SIN_TERMS                                                                                                      \
    -0.16666666666666666, 0.008333333333330948, -0.00019841269836758574, 2.755731610255244e-06,                        \
        -2.5051131845003624e-08, 1.5918129294866608e-10
#define COS_TERMS                                                                                                      \
    0.041666666666666664, -0.0013888888888887398, 2.480158729876569e-05, -2.7557317271729793e-07,                      \
        2.08761462684032e-09, -1.1382632425521717e-11
#define TRIG_COUNT 6
#define UNIT 0x1p-53
#define TURN 3.40612158008655459e-19
#define RADIUS(word) ((double)(long)((word) >> 11) + 0.5)
#else
#define SIN_TERMS -0.1666666466231438f, 0.008332748270629749f, -0.00019587890880412386f
#define COS_TERMS 0.04166666465950221f, -0.0013888303035894866f, 2.4547942085071572e-05f
#define TRIG_COUNT 3
#define UNIT 0x1p-32f
#define TURN 1.46291807926715968e-9f
#define RADIUS(word) (convert_float_rte(word) + 0.5f)
#endif
#define SIDE (8 * (int)sizeof(word) - 2)
POLYNOMIAL(sin_terms, TRIG_COUNT, SIN_TERMS)
POLYNOMIAL(cos_terms, TRIG_COUNT, COS_TERMS)

/* -2 log(x) of a normal number x, at most 1. */
static inline REAL square_of(REAL x) {
    const BITS bits = AS_BITS(x);
    const BITS biased = (bits - AS_BITS((REAL)0.70710678118654752440) + ((BITS)BIAS << MANTISSA)) >> MANTISSA;
    const REAL k = (REAL)((int)biased - BIAS);
    const REAL f = AS_REAL(bits - ((biased - BIAS) << MANTISSA)) - (REAL)1;
    const REAL s = divided(f, (REAL)2 + f), z = s * s, half_square = (REAL)0.5 * f * f;
    const REAL low = s * (z * log_terms(z) + half_square) + k * LN2_LOW;
    return (REAL)-2 * (k * LN2_HIGH + (f - (half_square - low)));
}

static inline void normal_pair(word even, word odd, REAL result[2]) {
    const REAL radius = root(square_of(RADIUS(even) * UNIT));
    const word quarter = (odd + ((word)1 << (SIDE - 1))) >> SIDE;
    const REAL x = (REAL)(SIGNED)(odd - (quarter << SIDE)) * TURN, z = x * x;
    const REAL sine = x + x * (z * sin_terms(z));
    const REAL cosine = (REAL)1 - ((REAL)0.5 * z - z * (z * cos_terms(z)));
    const bool swapped = quarter & 1;
    const REAL first = radius * (swapped ? sine : cosine), second = radius * (swapped ? cosine : sine);
    result[0] = (quarter + 1) & 2 ? -first : first;
    result[1] = quarter & 2 ? -second : second;
}
#endif

/* The elements of a block, as they are stored. Loops are unrolled, so that all of them are in registers. */
#define STORAGE JOIN(storage, Y)
static inline void elements_of(ulong2 seed, ulong block, STORAGE to[IN_BLOCK]) {
    const ulong at = seed.y + block;
    uint4 c = MAKE4(uint4, (uint)at, (uint)(at >> 32), 0, 0);
    philox(&c, MAKE2(uint2, (uint)seed.x, (uint)(seed.x >> 32)));
#ifdef WIDE
    const word w[] = {(ulong)c.y << 32 | c.x, (ulong)c.w << 32 | c.z};
#else
    const word w[] = {c.x, c.y, c.z, c.w};
#endif
#if defined(KIND_NORMAL)
#pragma unroll
    for (int i = 0; i < IN_BLOCK; i += 2) {
        REAL pair[2];
        normal_pair(w[i], w[i + 1], pair);
        to[i] = JOIN(narrow, Y)(pair[0]);
        to[i + 1] = JOIN(narrow, Y)(pair[1]);
    }
#else
#pragma unroll
    for (int i = 0; i < IN_BLOCK; i++) {
#if defined(KIND_BITS)
        to[i] = (STORAGE)w[i];
#elif defined(WIDE)
        to[i] = (double)(long)(w[i] >> 11) * 0x1p-53;
#else
        to[i] = JOIN(narrow, Y)((float)(int)(w[i] >> (32 - BITS_OF)) * (1.0f / (1 << BITS_OF)));
#endif
    }
#endif
}

static inline long place_of(const layout *l, long index) {
    long place = 0;
    for (int d = l->ndim - 1; d >= 0; d--) {
        place += index % l->size[d] * l->stride[d];
        index /= l->size[d];
    }
    return place;
}

typedef union numbers {
    STORAGE element[IN_BLOCK];
    BLOCK all;
} numbers;

/* A block is written at once if the output's memory allows it, so that neighbouring work items fill whole lines. */
__kernel void random_all(const ulong2 seed, __global STORAGE *y, ulong y_first, const layout l) {
    const long blocks = (l.total + IN_BLOCK - 1) / IN_BLOCK;
    y += (long)y_first;
    const bool aligned = l.dense && (size_t)y % sizeof(BLOCK) == 0;
    for (long block = get_global_id(0); block < blocks; block += get_global_size(0)) {
        numbers n;
        elements_of(seed, (ulong)block, n.element);
        const long first = block * IN_BLOCK, count = min(l.total - first, (long)IN_BLOCK);
        if (aligned && count == IN_BLOCK) {
            ((__global BLOCK *)y)[block] = n.all;
            continue;
        }
        _Pragma("unroll") for (int i = 0; i < IN_BLOCK; i++) {
            if (i < count) {
                y[l.dense ? first + i : place_of(&l, first + i)] = n.element[i];
            }
        }
    }
}
