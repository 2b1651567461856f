/* model_dot.h - the model of VDPBF16PS (vdpbf16ps.h) for vectors of 64 bytes, as the macro DOT of kernel templates. */
#ifndef TESTS_NATIVE_MODEL_DOT_H
#define TESTS_NATIVE_MODEL_DOT_H

#include "vdpbf16ps.h"

#define VECTOR_BYTES 64
#define DOT(sum, v, s) dot(sum, v, s)

typedef float lanes_f32 __attribute__((vector_size(VECTOR_BYTES)));
typedef uint32_t lanes_u32 __attribute__((vector_size(VECTOR_BYTES)));

/* Lane by lane, and not inlined: the tiles contain hundreds of calls. */
static __attribute__((noinline)) void dot_lanes(uint32_t sum[VECTOR_BYTES / 4], const uint32_t v[VECTOR_BYTES / 4],
                                                const uint32_t s[VECTOR_BYTES / 4]) {
    for (int i = 0; i < VECTOR_BYTES / 4; i++) {
        sum[i] = model_vdpbf16ps(sum[i], v[i], s[i]);
    }
}

static inline lanes_f32 dot(lanes_f32 sum, lanes_u32 v, lanes_u32 s) {
    uint32_t lanes[3][VECTOR_BYTES / 4];
    memcpy(lanes[0], &sum, sizeof sum);
    memcpy(lanes[1], &v, sizeof v);
    memcpy(lanes[2], &s, sizeof s);
    dot_lanes(lanes[0], lanes[1], lanes[2]);
    memcpy(&sum, lanes[0], sizeof sum);
    return sum;
}

#endif
