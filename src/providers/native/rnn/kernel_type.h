/* kernel_type.h - template: the kernels of recurrent layers for one real type. Parameters: as in kernel_each_real.h,
 * and TILE (vectors of sums of a tile). */
enum { NAME(LANES) = VECTOR_BYTES / sizeof(REAL) };

/* ---- Parts of vectors ---- */

/* Loads or stores `count` numbers of a vector, at most all. */
INLINE VECTOR NAME(load_some)(const NAME(number) * from, int64_t count) {
    return count >= NAME(LANES) ? NAME(load)(from) : LOAD_PART((const REAL *)from, (int)count);
}

INLINE void NAME(store_some)(NAME(number) * to, VECTOR x, int64_t count) {
    if (count >= NAME(LANES)) {
        NAME(store)(to, x);
    } else {
        STORE_PART((REAL *)to, x, (int)count);
    }
}

/* ---- Products ---- */

INLINE void NAME(tile)(int rows, int vectors, int64_t inner, bool adds, const NAME(number) * a, int64_t a_row,
                       const int64_t *item, const NAME(number) * panel, NAME(number) * sums) {
    VECTOR sum[TILE];
    const NAME(number) * row[TILE];
    UNROLL
    for (int i = 0; i < rows; i++) {
        row[i] = a + (item ? item[i] : i) * a_row;
        UNROLL
        for (int v = 0; v < vectors; v++) {
            sum[i * vectors + v] = SPLAT(0);
        }
    }
    for (int64_t k = 0; k < inner; k++) {
        VECTOR b[BP__RNN_VECTORS_FEW];
        UNROLL
        for (int v = 0; v < vectors; v++) {
            b[v] = NAME(load)(panel + (k * vectors + v) * NAME(LANES));
        }
        UNROLL
        for (int i = 0; i < rows; i++) {
            const VECTOR same = SPLAT(row[i][k]);
            UNROLL
            for (int v = 0; v < vectors; v++) {
                sum[i * vectors + v] = MADD(same, b[v], sum[i * vectors + v]);
            }
        }
    }
    UNROLL
    for (int i = 0; i < rows * vectors; i++) {
        NAME(store)(sums + i * NAME(LANES), adds ? sum[i] + NAME(load)(sums + i * NAME(LANES)) : sum[i]);
    }
}

INLINE void NAME(tiles)(int64_t rows, int vectors, int64_t inner, bool adds, const NAME(number) * a, int64_t a_row,
                        const int64_t *item, const NAME(number) * panel, NAME(number) * sums) {
    int64_t done = 0;
    /* A rest of 2 rows reads the panel for little work, so that 8 rows are twice 4 and not 6 and 2. */
#define TILES(count)                                                                                                   \
    for (; rows - done >= (count) && !((count) == 6 && rows - done == 8); done += (count)) {                           \
        NAME(tile)                                                                                                     \
        ((count), vectors, inner, adds, item ? a : a + done * a_row, a_row, item ? item + done : NULL, panel,          \
         sums + done * vectors * NAME(LANES));                                                                         \
    }
    TILES(TILE / vectors)
    TILES(4)
    TILES(2)
    TILES(1)
#undef TILES
}

static void NAME(product)(int64_t rows, int vectors, int64_t inner, int64_t block, const void *of_a, int64_t a_row,
                          const int64_t *item, const void *of_panel, void *sums) {
    const NAME(number) *a = of_a, *panel = of_panel;
    int64_t k = 0;
    do {
        const int64_t terms = inner - k < block ? inner - k : block;
        const NAME(number) *rest = panel + k * vectors * NAME(LANES);
        if (vectors == BP__RNN_VECTORS_GRU) {
            NAME(tiles)(rows, BP__RNN_VECTORS_GRU, terms, k > 0, a + k, a_row, item, rest, sums);
        } else if (vectors == BP__RNN_VECTORS_FEW) {
            NAME(tiles)(rows, BP__RNN_VECTORS_FEW, terms, k > 0, a + k, a_row, item, rest, sums);
        } else {
            NAME(tiles)(rows, BP__RNN_VECTORS, terms, k > 0, a + k, a_row, item, rest, sums);
        }
        k += block;
    } while (k < inner);
}

/* ---- Steps ---- */

/* The input's part of a gate, with the bias. */
INLINE VECTOR NAME(given)(const bp__rnn_row *row, int gate, int64_t j) {
    const NAME(number) *x = row->x, *bias = row->bias;
    return NAME(load_some)(x + gate * row->input + j, row->units - j) + NAME(load)(bias + gate * row->width + j);
}

INLINE VECTOR NAME(recurrent)(const bp__rnn_row *row, int gate, int64_t j) {
    const NAME(number) *sums = row->sums;
    return NAME(load_some)(sums + gate * row->sum + j, row->units - j);
}

INLINE VECTOR NAME(gate)(const bp__rnn_row *row, int gate, int64_t j) {
    return NAME(given)(row, gate, j) + NAME(recurrent)(row, gate, j);
}

INLINE void NAME(save)(const bp__rnn_row *row, int gate, int64_t j, VECTOR x) {
    NAME(number) *saved = row->saved;
    if (saved) {
        NAME(store_some)(saved + gate * row->gate + j, x, row->units - j);
    }
}

INLINE void NAME(finish)(const bp__rnn_row *row, int64_t j, VECTOR hidden) {
    NAME(store)((NAME(number) *)row->after + j, hidden);
    if (row->output) {
        NAME(store_some)((NAME(number) *)row->output + j, hidden, row->units - j);
    }
}

static void NAME(forward_tanh)(const bp__rnn_row *row) {
    for (int64_t j = 0; j < row->units; j += NAME(LANES)) {
        NAME(finish)(row, j, NAME(tanh)(NAME(gate)(row, 0, j)));
    }
}

static void NAME(forward_relu)(const bp__rnn_row *row) {
    for (int64_t j = 0; j < row->units; j += NAME(LANES)) {
        NAME(finish)(row, j, GREATER(SPLAT(0), NAME(gate)(row, 0, j)));
    }
}

static void NAME(forward_lstm)(const bp__rnn_row *row) {
    NAME(number) *cell = row->cell;
    for (int64_t j = 0; j < row->units; j += NAME(LANES)) {
        const VECTOR i = NAME(sigmoid)(NAME(gate)(row, 0, j)), f = NAME(sigmoid)(NAME(gate)(row, 1, j)),
                     g = NAME(tanh)(NAME(gate)(row, 2, j)), o = NAME(sigmoid)(NAME(gate)(row, 3, j));
        const VECTOR c = MADD(f, NAME(load)(cell + j), i * g);
        NAME(store)(cell + j, c);
        NAME(finish)(row, j, o * NAME(tanh)(c));
        NAME(save)(row, 0, j, i);
        NAME(save)(row, 1, j, f);
        NAME(save)(row, 2, j, g);
        NAME(save)(row, 3, j, o);
        NAME(save)(row, 4, j, c);
    }
}

static void NAME(forward_gru)(const bp__rnn_row *row) {
    const NAME(number) *before = row->before, *bias = row->bias;
    for (int64_t j = 0; j < row->units; j += NAME(LANES)) {
        const VECTOR r = NAME(sigmoid)(NAME(gate)(row, 0, j)), z = NAME(sigmoid)(NAME(gate)(row, 1, j));
        const VECTOR part = NAME(recurrent)(row, 2, j) + NAME(load)(bias + 3 * row->width + j);
        const VECTOR n = NAME(tanh)(MADD(r, part, NAME(given)(row, 2, j)));
        NAME(finish)(row, j, MADD(z, NAME(load)(before + j) - n, n));
        NAME(save)(row, 0, j, r);
        NAME(save)(row, 1, j, z);
        NAME(save)(row, 2, j, n);
        NAME(save)(row, 3, j, part);
    }
}

static void NAME(forward_gru_reset)(const bp__rnn_row *row) {
    const NAME(number) *before = row->before;
    NAME(number) *reset = row->after, *update = row->cell;
    for (int64_t j = 0; j < row->units; j += NAME(LANES)) {
        const VECTOR r = NAME(sigmoid)(NAME(gate)(row, 0, j)), z = NAME(sigmoid)(NAME(gate)(row, 1, j));
        const VECTOR part = r * NAME(load)(before + j);
        NAME(store)(reset + j, part);
        NAME(store)(update + j, z);
        NAME(save)(row, 0, j, r);
        NAME(save)(row, 1, j, z);
        NAME(save)(row, 3, j, part);
    }
}

static void NAME(forward_gru_candidate)(const bp__rnn_row *row) {
    const NAME(number) *before = row->before, *update = row->cell;
    for (int64_t j = 0; j < row->units; j += NAME(LANES)) {
        const VECTOR n = NAME(tanh)(NAME(given)(row, 2, j) + NAME(recurrent)(row, 0, j));
        NAME(finish)(row, j, MADD(NAME(load)(update + j), NAME(load)(before + j) - n, n));
        NAME(save)(row, 2, j, n);
    }
}

static void NAME(hidden)(int64_t units, int64_t gate, const void *saved, void *to) {
    const NAME(number) *o = (const NAME(number) *)saved + 3 * gate, *c = o + gate;
    for (int64_t j = 0; j < units; j += NAME(LANES)) {
        const VECTOR hidden = NAME(load_some)(o + j, units - j) * NAME(tanh)(NAME(load_some)(c + j, units - j));
        NAME(store_some)((NAME(number) *)to + j, hidden, units - j);
    }
}

/* ---- Steps backwards ---- */

INLINE VECTOR NAME(saved)(const bp__rnn_slope *s, int gate, int64_t j) {
    return NAME(load_some)((const NAME(number) *)s->saved + gate * s->gate + j, s->units - j);
}

INLINE void NAME(put)(const bp__rnn_slope *s, void *gates, int gate, int64_t j, VECTOR x) {
    NAME(store_some)((NAME(number) *)gates + gate * s->gate + j, x, s->units - j);
}

static void NAME(backward_tanh)(const bp__rnn_slope *s) {
    const NAME(number) *after = s->before, *hidden = s->hidden;
    for (int64_t j = 0; j < s->units; j += NAME(LANES)) {
        const VECTOR h = NAME(load_some)(after + j, s->units - j);
        NAME(put)(s, s->gates, 0, j, NAME(load)(hidden + j) * (SPLAT(1) - h * h));
    }
}

static void NAME(backward_relu)(const bp__rnn_slope *s) {
    const NAME(number) *after = s->before, *hidden = s->hidden;
    for (int64_t j = 0; j < s->units; j += NAME(LANES)) {
        const VECTOR h = NAME(load_some)(after + j, s->units - j), d = NAME(load)(hidden + j);
        NAME(put)(s, s->gates, 0, j, NAME(select)((NAME(bitmask))(h > SPLAT(0)), d, SPLAT(0)));
    }
}

static void NAME(backward_lstm)(const bp__rnn_slope *s) {
    const NAME(number) *hidden = s->hidden, *before = s->cell_before;
    NAME(number) *cell = s->cell;
    const VECTOR one = SPLAT(1);
    for (int64_t j = 0; j < s->units; j += NAME(LANES)) {
        const VECTOR i = NAME(saved)(s, 0, j), f = NAME(saved)(s, 1, j), g = NAME(saved)(s, 2, j),
                     o = NAME(saved)(s, 3, j), t = NAME(tanh)(NAME(saved)(s, 4, j)), dh = NAME(load)(hidden + j);
        const VECTOR dc = MADD(dh * o, one - t * t, NAME(load)(cell + j));
        NAME(put)(s, s->gates, 0, j, dc * g * i * (one - i));
        NAME(put)(s, s->gates, 1, j, dc * NAME(load_some)(before + j, s->units - j) * f * (one - f));
        NAME(put)(s, s->gates, 2, j, dc * i * (one - g * g));
        NAME(put)(s, s->gates, 3, j, dh * t * o * (one - o));
        NAME(store)(cell + j, dc * f);
    }
}

static void NAME(backward_gru)(const bp__rnn_slope *s) {
    const NAME(number) *before = s->before;
    NAME(number) *hidden = s->hidden;
    const VECTOR one = SPLAT(1);
    for (int64_t j = 0; j < s->units; j += NAME(LANES)) {
        const VECTOR r = NAME(saved)(s, 0, j), z = NAME(saved)(s, 1, j), n = NAME(saved)(s, 2, j),
                     part = NAME(saved)(s, 3, j), dh = NAME(load)(hidden + j);
        const VECTOR dz = dh * (NAME(load_some)(before + j, s->units - j) - n) * z * (one - z);
        const VECTOR dn = dh * (one - z) * (one - n * n), dr = dn * part * r * (one - r);
        NAME(put)(s, s->gates, 0, j, dr);
        NAME(put)(s, s->gates, 1, j, dz);
        NAME(put)(s, s->gates, 2, j, dn);
        NAME(put)(s, s->recurrent, 0, j, dr);
        NAME(put)(s, s->recurrent, 1, j, dz);
        NAME(put)(s, s->recurrent, 2, j, dn * r);
        NAME(store)(hidden + j, dh * z);
    }
}

static void NAME(backward_gru_candidate)(const bp__rnn_slope *s) {
    const NAME(number) *before = s->before;
    NAME(number) *hidden = s->hidden;
    const VECTOR one = SPLAT(1);
    for (int64_t j = 0; j < s->units; j += NAME(LANES)) {
        const VECTOR z = NAME(saved)(s, 1, j), n = NAME(saved)(s, 2, j), dh = NAME(load)(hidden + j);
        NAME(put)(s, s->gates, 1, j, dh * (NAME(load_some)(before + j, s->units - j) - n) * z * (one - z));
        NAME(put)(s, s->gates, 2, j, dh * (one - z) * (one - n * n));
        NAME(store)(hidden + j, dh * z);
    }
}

static void NAME(backward_gru_reset)(const bp__rnn_slope *s) {
    const NAME(number) *before = s->before, *by_reset = s->by_reset;
    NAME(number) *hidden = s->hidden;
    for (int64_t j = 0; j < s->units; j += NAME(LANES)) {
        const VECTOR r = NAME(saved)(s, 0, j), by = NAME(load)(by_reset + j);
        NAME(put)(s, s->gates, 0, j, by * NAME(load_some)(before + j, s->units - j) * r * (SPLAT(1) - r));
        NAME(store)(hidden + j, MADD(by, r, NAME(load)(hidden + j)));
    }
}

static void NAME(add)(int64_t count, void *of_to, const void *of_from) {
    NAME(number) *to = of_to;
    const NAME(number) *from = of_from;
    int64_t i = 0;
    for (; i + NAME(LANES) <= count; i += NAME(LANES)) {
        NAME(store)(to + i, NAME(load)(to + i) + NAME(load)(from + i));
    }
    for (; i < count; i++) {
        to[i] += from[i];
    }
}
