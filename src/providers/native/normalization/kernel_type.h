/* kernel_type.h - template: the kernels of batch normalization for one type. Parameters: TYPE (its suffix), REAL (type
 * of the computation), IN (type in memory), WIDEN(x) and NARROW(x), which convert from IN to REAL and back. Loops over
 * contiguous lanes have copies of their own, so that the compiler can use vectors. */
typedef IN NAME(element) __attribute__((may_alias));
typedef REAL NAME(number) __attribute__((may_alias));

INLINE NAME(element) * NAME(row)(const bp__batch_norm_grid *grid, int64_t i) {
    return (NAME(element) *)(void *)(uintptr_t)grid->at + i * grid->next;
}

INLINE void NAME(add_row)(int64_t n, const NAME(element) *restrict x, int64_t lane, const double *restrict center,
                          int64_t step, double *restrict sum) {
    for (int64_t l = 0; l < n; l++) {
        sum[l] += (double)WIDEN(x[l * lane]) - center[l * step];
    }
}

INLINE void NAME(deviate_row)(int64_t n, const NAME(element) *restrict x, int64_t lane, const double *restrict center,
                              int64_t step, const double *restrict mean, double *restrict squares) {
    for (int64_t l = 0; l < n; l++) {
        const double distance = ((double)WIDEN(x[l * lane]) - center[l * step]) - mean[l];
        squares[l] += distance * distance;
    }
}

VECTORIZED static void NAME(moments)(int64_t lanes, int64_t count, const bp__batch_norm_grid *x, const double *center,
                                     int64_t step, double *mean, double *squares) {
    for (int64_t l = 0; l < lanes; l++) {
        mean[l] = squares[l] = 0;
    }
    for (int64_t i = 0; i < count; i++) {
        if (x->lane == 1 && step == 1) {
            NAME(add_row)(lanes, NAME(row)(x, i), 1, center, 1, mean);
        } else if (x->lane == 1) {
            NAME(add_row)(lanes, NAME(row)(x, i), 1, center, 0, mean);
        } else {
            NAME(add_row)(lanes, NAME(row)(x, i), x->lane, center, step, mean);
        }
    }
    for (int64_t l = 0; l < lanes; l++) {
        mean[l] /= (double)count;
    }
    for (int64_t i = 0; i < count; i++) {
        if (x->lane == 1 && step == 1) {
            NAME(deviate_row)(lanes, NAME(row)(x, i), 1, center, 1, mean, squares);
        } else if (x->lane == 1) {
            NAME(deviate_row)(lanes, NAME(row)(x, i), 1, center, 0, mean, squares);
        } else {
            NAME(deviate_row)(lanes, NAME(row)(x, i), x->lane, center, step, mean, squares);
        }
    }
}

INLINE void NAME(sums_row)(int64_t n, const NAME(element) *restrict y, int64_t y_lane, const NAME(element) *restrict x,
                           int64_t x_lane, const double *restrict center, int64_t step, double *restrict sum,
                           double *restrict product) {
    for (int64_t l = 0; l < n; l++) {
        const double value = (double)WIDEN(y[l * y_lane]);
        sum[l] += value;
        product[l] += value * ((double)WIDEN(x[l * x_lane]) - center[l * step]);
    }
}

VECTORIZED static void NAME(sums)(int64_t lanes, int64_t count, const bp__batch_norm_grid *y,
                                  const bp__batch_norm_grid *x, const double *center, int64_t step, double *sum,
                                  double *product) {
    for (int64_t i = 0; i < count; i++) {
        if (y->lane == 1 && x->lane == 1 && step == 1) {
            NAME(sums_row)(lanes, NAME(row)(y, i), 1, NAME(row)(x, i), 1, center, 1, sum, product);
        } else if (y->lane == 1 && x->lane == 1) {
            NAME(sums_row)(lanes, NAME(row)(y, i), 1, NAME(row)(x, i), 1, center, 0, sum, product);
        } else {
            NAME(sums_row)(lanes, NAME(row)(y, i), y->lane, NAME(row)(x, i), x->lane, center, step, sum, product);
        }
    }
}

INLINE void NAME(apply_row)(int64_t n, NAME(element) *restrict y, int64_t y_lane, const NAME(element) *restrict x,
                            int64_t x_lane, const NAME(number) *const numbers[BP__BATCH_NORM_NUMBERS], int64_t step,
                            bool relu) {
    const NAME(number) *restrict center = numbers[BP__BATCH_NORM_CENTER], *restrict rest = numbers[BP__BATCH_NORM_REST];
    const NAME(number) *restrict scale = numbers[BP__BATCH_NORM_SCALE], *restrict shift = numbers[BP__BATCH_NORM_SHIFT];
    for (int64_t l = 0; l < n; l++) {
        const REAL distance = (WIDEN(x[l * x_lane]) - center[l * step]) - rest[l * step];
        const REAL value = distance * scale[l * step] + shift[l * step];
        y[l * y_lane] = NARROW(relu && value < 0 ? 0 : value);
    }
}

VECTORIZED static void NAME(apply)(int64_t lanes, int64_t count, const bp__batch_norm_grid *y,
                                   const bp__batch_norm_grid *x, const void *const given[BP__BATCH_NORM_NUMBERS],
                                   int64_t step, bool relu) {
    const NAME(number) *const numbers[BP__BATCH_NORM_NUMBERS] = {given[0], given[1], given[2], given[3], given[4]};
    for (int64_t i = 0; i < count; i++) {
        NAME(element) *to = NAME(row)(y, i);
        const NAME(element) *from = NAME(row)(x, i);
        if (y->lane == 1 && x->lane == 1 && step == 1) {
            NAME(apply_row)(lanes, to, 1, from, 1, numbers, 1, relu);
        } else if (y->lane == 1 && x->lane == 1) {
            NAME(apply_row)(lanes, to, 1, from, 1, numbers, 0, relu);
        } else {
            NAME(apply_row)(lanes, to, y->lane, from, x->lane, numbers, step, relu);
        }
    }
}

INLINE void NAME(gradient_row)(int64_t n, NAME(element) *restrict g, int64_t g_lane, const NAME(element) *restrict y,
                               int64_t y_lane, const NAME(element) *restrict x, int64_t x_lane,
                               const NAME(number) *const numbers[BP__BATCH_NORM_NUMBERS], int64_t step) {
    const NAME(number) *restrict center = numbers[BP__BATCH_NORM_CENTER], *restrict scale =
                                                                              numbers[BP__BATCH_NORM_SCALE];
    const NAME(number) *restrict shift = numbers[BP__BATCH_NORM_SHIFT], *restrict slope = numbers[BP__BATCH_NORM_SLOPE];
    for (int64_t l = 0; l < n; l++) {
        const REAL distance = WIDEN(x[l * x_lane]) - center[l * step];
        g[l * g_lane] = NARROW((WIDEN(y[l * y_lane]) - shift[l * step] - distance * slope[l * step]) * scale[l * step]);
    }
}

VECTORIZED static void NAME(gradient)(int64_t lanes, int64_t count, const bp__batch_norm_grid *g,
                                      const bp__batch_norm_grid *y, const bp__batch_norm_grid *x,
                                      const void *const given[BP__BATCH_NORM_NUMBERS], int64_t step) {
    const NAME(number) *const numbers[BP__BATCH_NORM_NUMBERS] = {given[0], given[1], given[2], given[3], given[4]};
    const bool contiguous = g->lane == 1 && y->lane == 1 && x->lane == 1;
    for (int64_t i = 0; i < count; i++) {
        NAME(element) *to = NAME(row)(g, i);
        const NAME(element) *from = NAME(row)(y, i), *with = NAME(row)(x, i);
        if (contiguous && step == 1) {
            NAME(gradient_row)(lanes, to, 1, from, 1, with, 1, numbers, 1);
        } else if (contiguous) {
            NAME(gradient_row)(lanes, to, 1, from, 1, with, 1, numbers, 0);
        } else {
            NAME(gradient_row)(lanes, to, g->lane, from, y->lane, with, x->lane, numbers, step);
        }
    }
}

static double NAME(load)(const char *from) {
    return (double)WIDEN(*(const NAME(element) *)(const void *)from);
}

static void NAME(store)(char *to, double value) {
    *(NAME(element) *)(void *)to = NARROW((REAL)value);
}

static void NAME(set)(void *numbers, int64_t index, double value) {
    ((NAME(number) *)numbers)[index] = (REAL)value;
}
