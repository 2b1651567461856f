/* rows.h - writes the rows of operations whose call is described by calls.h. */
#ifndef BP_CLI_ROWS_H
#define BP_CLI_ROWS_H

#include "described.h"
#include "sizing.h"

#define ROW(name, arrays, least, most, results, options, described, sizing)                                            \
    {                                                                                                                  \
        name, arrays, least, most, results, 0, options, described_prepare, described_run, described_explain, false,    \
            &described_measured, described, sizing, NULL                                                               \
    }

/* Three rows: of one, two and three dimensions. `text` and `tail` are the name before and after the number. */
#define EACH_DIMENSION(text, tail, arrays, least, most, results, options, described, sizing)                           \
    ROW(text "1d" tail, arrays, least, most, results, options, &described[0], &sizing[0]),                             \
        ROW(text "2d" tail, arrays, least, most, results, options, &described[1], &sizing[1]),                         \
        ROW(text "3d" tail, arrays, least, most, results, options, &described[2], &sizing[2])
#define DESCRIBED(call, fixed, inputs, results, adjust, own)                                                           \
    {                                                                                                                  \
        {call, fixed ",ndim=1", inputs, results, adjust, own}, {call, fixed ",ndim=2", inputs, results, adjust, own},  \
        {                                                                                                              \
            call, fixed ",ndim=3", inputs, results, adjust, own                                                        \
        }                                                                                                              \
    }

/* The sizings of such rows; the text of the shapes is the same. */
#define SIZED(arrays, options, work, count, moves, results)                                                            \
    {                                                                                                                  \
        {arrays, options, NULL, work, count, moves, {64, 256, 1024, 4096}, results, NULL},                             \
            {arrays, options, NULL, work, count, moves, {8, 16, 32, 64}, results, NULL}, {                             \
            arrays, options, NULL, work, count, moves, {4, 8, 16, 24}, results, NULL                                   \
        }                                                                                                              \
    }
#define PER_PRODUCT "2 for each product"
#define PER_ELEMENT "1 for each element"

/* Arrays of images, and the sizes of those that have two dimensions. */
#define IMAGES "8x32xn*"
#define IMAGE_SIZES                                                                                                    \
    { 8, 16, 32, 64 }
#define NORM(arrays, options, sizes, results)                                                                          \
    { arrays, options, NULL, work_elements, PER_ELEMENT, true, sizes, results, NULL }

#endif
