/* bf16.c - selects the kernels of attention for AVX512_BF16, and copies queries and keys as pairs. */
#include "work.h"

#include <string.h>

#if defined(__x86_64__)
const bp__attention_pairs *bp__attention_pairs_for(const bp_host *host, const bp_problem *problem, const char **why) {
    return bp__native_bf16_set(host, problem, why) ? &bp__attention_pairs_avx512bf16 : NULL;
}
#else
const bp__attention_pairs *bp__attention_pairs_for(const bp_host *host, const bp_problem *problem, const char **why) {
    (void)bp__native_bf16_set(host, problem, why);
    return NULL;
}
#endif

/* Multiplies a number by 2 to the power of an exponent, which is not above 0. Results below the normal numbers are 0.
 */
static uint16_t scaled(uint16_t number, int exponent) {
    enum { FRACTION = 7, MOST = 0xff };
    const int own = number >> FRACTION & MOST;
    if (own == 0 || own == MOST) { /* 0, or denormal, which counts as 0; infinity and NaN */
        return number;
    }
    return own + exponent > 0 ? (uint16_t)(number + exponent * (1 << FRACTION)) : (uint16_t)(number & 0x8000u);
}

void bp__attention_pack_pairs(const bp__attention_item *item, int64_t row, int64_t rows, char *memory, char *to) {
    const int64_t lanes = item->plan->set.numbers->lanes, size = item->problem->size;
    const bp_attention_layout *query = &item->problem->tensor[BP_ATTENTION_QUERY];
    const int64_t column = query->dtype == BP_F32 ? 1 : query->column;
    uint16_t *panel = (uint16_t *)(void *)to;
    double rest;
    const int exponent = bp__attention_split_scale(item->problem->scale, &rest);
    if (rows < lanes || size % 2) {
        memset(to, 0, (size_t)((size + 1) / 2 * lanes) * 4);
    }
    for (int64_t lane = 0; lane < rows; lane++) {
        const void *at = bp__attention_row(item, BP_ATTENTION_QUERY, row + lane);
        if (query->dtype == BP_F32) {
            item->plan->set.pairs->round_row(size, at, query->column, memory);
            at = memory;
        }
        const uint16_t *from = at;
        for (int64_t d = 0; d < size; d++) {
            panel[(d / 2 * lanes + lane) * 2 + d % 2] = scaled(from[d * column], exponent);
        }
    }
}

const char *bp__attention_pair_keys(const bp__attention_item *item, int64_t from, int64_t keys, char *memory,
                                    int64_t *row) {
    const bp_attention_layout *key = &item->problem->tensor[BP_ATTENTION_KEY];
    const int64_t size = item->problem->size, padded = (size + 1) / 2 * 2;
    const bool rounds = key->dtype == BP_F32;
    const char *at = item->tensor[BP_ATTENTION_KEY] + from * key->row * (rounds ? 4 : 2);
    if (!rounds && key->column == 1 && size == padded) {
        *row = key->row;
        return at;
    }
    uint16_t *to = (uint16_t *)(void *)memory;
    for (int64_t k = 0; k < keys && rounds; k++, to += padded) {
        item->plan->set.pairs->round_row(size, at + k * key->row * 4, key->column, to);
    }
    for (int64_t k = 0; k < keys && !rounds; k++, to += padded) {
        const uint16_t *number = (const uint16_t *)(const void *)at + k * key->row;
        for (int64_t d = 0; d < padded; d++) {
            to[d] = d < size ? number[d * key->column] : 0;
        }
    }
    *row = padded;
    return memory;
}
