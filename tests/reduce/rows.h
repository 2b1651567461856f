/* rows.h - shapes whose blocks, parts and tiles end in all places, for tests of what is computed along rows. */
#ifndef BP_TESTS_REDUCE_ROWS_H
#define BP_TESTS_REDUCE_ROWS_H

#include <stdint.h>

enum { LONG_LENGTHS = 9, LONG_SHAPES = LONG_LENGTHS * 12 };

/* Writes shape `i` of LONG_SHAPES; four times each, so that types and kinds can be taken in turn. */
static inline void long_shape(int i, int64_t shape[2]) {
    static const int64_t lengths[LONG_LENGTHS] = {63, 64, 65, 127, 8191, 8192, 8193, 70000, 140001};
    const int64_t n = lengths[i / 12];
    const int64_t shapes[][2] = {{n, 1}, {2, n}, {n, n < 9000 ? 17 : 3}};
    shape[0] = shapes[i % 3][0];
    shape[1] = shapes[i % 3][1];
}

#endif
