/* kernel_tiles.h - cuts the lanes of a kernel into tiles; see kernel_lanes.h. */
#ifndef BP_NATIVE_KERNEL_TILES_H
#define BP_NATIVE_KERNEL_TILES_H

#define TILE 4

/* Calls tile(first lane, vectors, whole, lanes of a vector that is not whole, ...). */
#define EACH_TILE(lanes, contiguous, tile, ...)                                                                        \
    do {                                                                                                               \
        int64_t lane_ = 0;                                                                                             \
        for (; (contiguous) && lane_ + TILE * NAME(WIDTH) <= (lanes); lane_ += TILE * NAME(WIDTH)) {                   \
            tile(lane_, TILE, true, 0, __VA_ARGS__);                                                                   \
        }                                                                                                              \
        for (; (contiguous) && lane_ + NAME(WIDTH) <= (lanes); lane_ += NAME(WIDTH)) {                                 \
            tile(lane_, 1, true, 0, __VA_ARGS__);                                                                      \
        }                                                                                                              \
        for (; lane_ < (lanes); lane_ += NAME(WIDTH)) {                                                                \
            tile(lane_, 1, false, (int)((lanes)-lane_ < NAME(WIDTH) ? (lanes)-lane_ : NAME(WIDTH)), __VA_ARGS__);      \
        }                                                                                                              \
    } while (0)

#endif
