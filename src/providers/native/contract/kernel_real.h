/* kernel_real.h - template: sums, dot products and products of one real type. Parameters: TYPE, BYTES (of an element),
 * SUM (the type of sums: f32 or f64), REAL (its C type), LANES, EACH_LANE.
 */
#define VECTOR OF_SUM(vector)

/* How a kernel uses b: not at all, as vectors, or as one broadcast element. It is a constant in every call, so that the
 * compiler generates a loop for each. */
enum NAME(with) { NAME(NO_B), NAME(VECTOR_B), NAME(BROADCAST_B) };

/* Returns the next `lanes` products (or elements of a) of each row, added in the order of the rows. */
INLINE VECTOR NAME(terms)(int with, int rows, const char *const *a, const char *const *b, const VECTOR *factor,
                          int64_t x, int64_t lanes) {
    VECTOR sum = {0};
    UNROLL
    for (int r = 0; r < rows; r++) {
        const char *at = a[r] + x * BYTES;
        const VECTOR left = lanes == LANES ? NAME(load)(at) : NAME(load_some)(at, lanes);
        if (with == NAME(NO_B)) {
            sum = r ? sum + left : left;
        } else if (with == NAME(BROADCAST_B)) {
            sum = r ? OF_SUM(madd)(left, factor[r], sum) : left * factor[r];
        } else {
            at = b[r] + x * BYTES;
            const VECTOR right = lanes == LANES ? NAME(load)(at) : NAME(load_some)(at, lanes);
            sum = r ? OF_SUM(madd)(left, right, sum) : left * right;
        }
    }
    return sum;
}

/* sums[x] += the sum over `rows` rows of a[ay[r] + x] * b[by[r] + x], for n elements. */
INLINE void NAME(add_rows)(int with, int rows, int64_t n, char *sums, const char *a, const int64_t *ay, const char *b,
                           const int64_t *by) {
    const char *left[8], *right[8];
    VECTOR factor[8];
    UNROLL
    for (int r = 0; r < rows; r++) {
        left[r] = a + ay[r];
        right[r] = with == NAME(NO_B) ? NULL : b + by[r];
        factor[r] = OF_SUM(splat)(with == NAME(BROADCAST_B) ? NAME(one_of)(right[r]) : 0);
    }
    int64_t x = 0;
    for (; x + LANES <= n; x += LANES) {
        char *to = sums + x * (int64_t)sizeof(REAL);
        OF_SUM(store)(to, OF_SUM(load)(to) + NAME(terms)(with, rows, left, right, factor, x, LANES));
    }
    if (x < n) {
        char *to = sums + x * (int64_t)sizeof(REAL);
        OF_SUM(store)(to, OF_SUM(load)(to) + NAME(terms)(with, rows, left, right, factor, x, n - x));
    }
}

/* Adds all `count` rows, several at a time, so that sums are loaded and stored less often. */
INLINE void NAME(all_rows)(int with, int64_t n, int64_t count, char *sums, const char *a, const int64_t *ay,
                           const char *b, const int64_t *by) {
    int64_t y = 0;
    for (; with == NAME(NO_B) && y + 8 <= count; y += 8) {
        NAME(add_rows)(with, 8, n, sums, a, ay + y, b, by + y);
    }
    for (; y + 4 <= count; y += 4) {
        NAME(add_rows)(with, 4, n, sums, a, ay + y, b, by + y);
    }
    for (; y < count; y++) {
        NAME(add_rows)(with, 1, n, sums, a, ay + y, b, by + y);
    }
}

/* Selects the loop for b: absent, broadcast, or a vector. */
static void NAME(rows)(int64_t n, int64_t count, void *sums, const char *a, const int64_t *ay, const char *b,
                       const int64_t *by, bool broadcast) {
    if (!b) {
        NAME(all_rows)(NAME(NO_B), n, count, sums, a, ay, b, ay);
    } else if (broadcast) {
        NAME(all_rows)(NAME(BROADCAST_B), n, count, sums, a, ay, b, by);
    } else {
        NAME(all_rows)(NAME(VECTOR_B), n, count, sums, a, ay, b, by);
    }
}

/* ---- Dot products ---- */

INLINE VECTOR NAME(chain)(bool alone, VECTOR sum, const char *a, const char *b, int64_t lanes) {
    const VECTOR left = lanes == LANES ? NAME(load)(a) : NAME(load_some)(a, lanes);
    if (alone) {
        return sum + left;
    }
    const VECTOR right = lanes == LANES ? NAME(load)(b) : NAME(load_some)(b, lanes);
    return OF_SUM(madd)(left, right, sum);
}

/* Returns the dot product of `count` contiguous elements, or the sum of a's elements if `alone`. There are CHAINS
 * independent vector sums. */
INLINE REAL NAME(dot)(bool alone, int64_t count, const char *a, const char *b) {
    VECTOR sum[CHAINS] = {{0}};
    int64_t y = 0;
    for (; y + CHAINS * LANES <= count; y += CHAINS * LANES) {
        UNROLL
        for (int c = 0; c < CHAINS; c++) {
            const int64_t at = (y + c * LANES) * BYTES;
            sum[c] = NAME(chain)(alone, sum[c], a + at, alone ? NULL : b + at, LANES);
        }
    }
    for (; y + LANES <= count; y += LANES) {
        sum[0] = NAME(chain)(alone, sum[0], a + y * BYTES, alone ? NULL : b + y * BYTES, LANES);
    }
    if (y < count) {
        sum[1] = NAME(chain)(alone, sum[1], a + y * BYTES, alone ? NULL : b + y * BYTES, count - y);
    }
    return OF_SUM(sum_lanes)((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* Adds dot products with so few terms that most lanes of a vector would be empty. `count` is a constant in every call.
 */
INLINE void NAME(short_sums)(bool alone, int64_t n, int count, REAL *sums, const char *a, const int64_t *ax,
                             const char *b, const int64_t *bx) {
    for (int64_t x = 0; x < n; x++) {
        const char *left = a + ax[x], *right = alone ? NULL : b + bx[x];
        REAL sum = 0;
        UNROLL
        for (int y = 0; y < count; y++) {
            const REAL term = NAME(one_of)(left + y * BYTES);
            sum = alone ? sum + term : OF_SUM(scalar_madd)(term, NAME(one_of)(right + y * BYTES), sum);
        }
        sums[x] += sum;
    }
}

static void NAME(short_dots)(int64_t n, int64_t count, REAL *sums, const char *a, const int64_t *ax, const char *b,
                             const int64_t *bx) {
#define CASE(terms)                                                                                                    \
    case terms:                                                                                                        \
        if (b) {                                                                                                       \
            NAME(short_sums)(false, n, terms, sums, a, ax, b, bx);                                                     \
        } else {                                                                                                       \
            NAME(short_sums)(true, n, terms, sums, a, ax, NULL, ax);                                                   \
        }                                                                                                              \
        break;
    switch (count) {
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
    default:
        break;
    }
#undef CASE
}

static void NAME(dots)(int64_t n, int64_t count, void *sums, const char *a, const int64_t *ax, const char *b,
                       const int64_t *bx) {
    REAL *to = sums;
    if (count <= FEW) {
        NAME(short_dots)(n, count, to, a, ax, b, bx);
        return;
    }
    for (int64_t x = 0; x < n; x++) {
        to[x] += b ? NAME(dot)(false, count, a + ax[x], b + bx[x]) : NAME(dot)(true, count, a + ax[x], NULL);
    }
}

/* ---- Products ---- */

INLINE void NAME(product)(int with, int64_t n, char *c, const char *a, const char *b) {
    const VECTOR factor = OF_SUM(splat)(with == NAME(BROADCAST_B) ? NAME(one_of)(b) : 0);
    int64_t x = 0;
    for (; x + LANES <= n; x += LANES) {
        NAME(store)(c + x * BYTES, NAME(terms)(with, 1, &a, &b, &factor, x, LANES));
    }
    if (x < n) {
        NAME(store_some)(c + x * BYTES, NAME(terms)(with, 1, &a, &b, &factor, x, n - x), n - x);
    }
}

static void NAME(products)(int64_t rows, int64_t n, char *c, const int64_t *cz, const char *a, const int64_t *az,
                           const char *b, const int64_t *bz, bool broadcast) {
    for (int64_t z = 0; z < rows; z++) {
        if (broadcast) {
            NAME(product)(NAME(BROADCAST_B), n, c + cz[z], a + az[z], b + bz[z]);
        } else {
            NAME(product)(NAME(VECTOR_B), n, c + cz[z], a + az[z], b + bz[z]);
        }
    }
}

/* ---- Results ---- */

static void NAME(flush)(int64_t n, double *totals, void *sums) {
    OF_SUM(flush_sums)(n, totals, sums);
}

static void NAME(store_sums)(int64_t n, void *to, const void *sums) {
    int64_t x = 0;
    for (; x + LANES <= n; x += LANES) {
        NAME(store)((char *)to + x * BYTES, OF_SUM(load)((const char *)sums + x * (int64_t)sizeof(REAL)));
    }
    if (x < n) {
        const VECTOR rest = OF_SUM(load)((const char *)sums + x * (int64_t)sizeof(REAL));
        NAME(store_some)((char *)to + x * BYTES, rest, n - x);
    }
}

static void NAME(store_totals)(int64_t n, void *to, const double *totals) {
    for (int64_t x = 0; x < n; x++) {
        const REAL sum = (REAL)totals[x];
        NAME(store_some)((char *)to + x * BYTES, OF_SUM(splat)(sum), 1);
    }
}

#undef VECTOR
