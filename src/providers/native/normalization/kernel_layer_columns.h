/* kernel_layer_columns.h - template: the kernels of layer and RMS normalization of rows that are columns in memory, for
 * one type. Parameters: as in kernel_each_type.h. The lanes of a vector are rows, so nothing is added across lanes.
 */

INLINE void NAME(column_sums_tile)(int64_t lane, int vectors, bool whole, int lanes, int64_t n, bp__layer_vector x,
                                   const bp__layer_columns *c, double *to, bool squares) {
    vector_f64 sum[TILE][NAME(PARTS)], first[TILE][NAME(PARTS)], second[TILE][NAME(PARTS)];
    const NAME(element) *from = (const NAME(element) *)(const void *)x.at + lane;
    UNROLL
    for (int v = 0; v < vectors; v++) {
        memcpy(first[v], c->first + lane + v * NAME(WIDTH), sizeof first[v]);
        memcpy(second[v], c->second + lane + v * NAME(WIDTH), sizeof second[v]);
        memset(sum[v], 0, sizeof sum[v]);
    }
    for (int64_t i = 0; i < n; i++, from += x.stride) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            vector_f64 value[NAME(PARTS)];
            DOUBLES(NAME(get)(from + v * NAME(WIDTH), 1, whole, lanes), value);
            UNROLL
            for (int h = 0; h < NAME(PARTS); h++) {
                value[h] -= first[v][h];
                if (squares) {
                    value[h] -= second[v][h];
                    sum[v][h] = madd_f64(value[h], value[h], sum[v][h]);
                } else {
                    sum[v][h] += value[h];
                }
            }
        }
    }
    UNROLL
    for (int v = 0; v < vectors; v++) {
        memcpy(to + lane + v * NAME(WIDTH), sum[v], sizeof sum[v]);
    }
}

static void NAME(column_sums)(int64_t lanes, int64_t n, bp__layer_vector x, const bp__layer_columns *columns,
                              double *sums) {
    EACH_TILE(lanes, true, NAME(column_sums_tile), n, x, columns, sums, false);
}

static void NAME(column_squares)(int64_t lanes, int64_t n, bp__layer_vector x, const bp__layer_columns *columns,
                                 double *sums) {
    EACH_TILE(lanes, true, NAME(column_sums_tile), n, x, columns, sums, true);
}

INLINE void NAME(column_apply_tile)(int64_t lane, int vectors, bool whole, int lanes, int64_t n, bp__layer_vector y,
                                    bp__layer_vector x, const bp__layer_columns *c, const NAME(number) * weights,
                                    const NAME(number) * biases, int step) {
    VECTOR high[TILE], inverse_std[TILE], less[TILE];
    const NAME(element) *from = (const NAME(element) *)(const void *)x.at + lane;
    NAME(element) *to = (NAME(element) *)(void *)y.at + lane;
    UNROLL
    for (int v = 0; v < vectors; v++) {
        REAL means[NAME(WIDTH)], rests[NAME(WIDTH)], factors[NAME(WIDTH)];
        for (int l = 0; l < NAME(WIDTH); l++) {
            const int64_t at = lane + v * NAME(WIDTH) + l;
            means[l] = (REAL)(c->first[at] + c->second[at]);
            rests[l] = (REAL)(-((c->first[at] - (double)means[l]) + c->second[at]) * c->inverse_std[at]);
            factors[l] = (REAL)c->inverse_std[at];
        }
        memcpy(&high[v], means, sizeof high[v]);
        memcpy(&less[v], rests, sizeof less[v]);
        memcpy(&inverse_std[v], factors, sizeof inverse_std[v]);
    }
    for (int64_t i = 0; i < n; i++, from += x.stride, to += y.stride) {
        const VECTOR weight = SPLAT(weights[i * step]), bias = SPLAT(biases[i * step]);
        UNROLL
        for (int v = 0; v < vectors; v++) {
            const VECTOR value = NAME(get)(from + v * NAME(WIDTH), 1, whole, lanes);
            const VECTOR normal = MADD(value - high[v], inverse_std[v], less[v]);
            NAME(put)(to + v * NAME(WIDTH), 1, whole, lanes, MADD(normal, weight, bias));
        }
    }
}

static void NAME(column_apply)(int64_t lanes, int64_t n, bp__layer_vector y, bp__layer_vector x,
                               const bp__layer_columns *columns, const bp__layer_numbers *numbers) {
    const NAME(number) *weights = numbers->weights, *biases = numbers->biases;
    EACH_TILE(lanes, true, NAME(column_apply_tile), n, y, x, columns, weights, biases, numbers->step);
}
