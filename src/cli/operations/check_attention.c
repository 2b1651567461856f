/* check_attention.c - checks the results of attention, for compare. Each checked element is computed from the
 * definition in attention.h, in long double. */
#include "operations.h"

#include <math.h>
#include <stdlib.h>

typedef struct attention {
    const bp_attention_call *call;
    int64_t queries, keys, size, value_size, heads; /* heads: of the output, if enable_gqa */
    long double scale;
    wide query, key, value, mask;
    long double *weight, *scale_of; /* of each key, for one row: its weight before division; the terms of its score */
    int64_t row;                    /* the row that they are for; -1: none */
} attention;

/* ---- Dropout: the numbers that attention.h defines ---- */

/* One round of Philox 4x32. */
static void mix(uint32_t c[4], uint32_t low_key, uint32_t high_key) {
    const uint64_t left = UINT64_C(0xD2511F53) * c[0], right = UINT64_C(0xCD9E8D57) * c[2];
    const uint32_t next[] = {(uint32_t)(right >> 32) ^ c[1] ^ low_key, (uint32_t)right,
                             (uint32_t)(left >> 32) ^ c[3] ^ high_key, (uint32_t)left};
    for (int i = 0; i < 4; i++) {
        c[i] = next[i];
    }
}

static bool is_dropped(const attention *a, int64_t key) {
    const DLTensor *seed = a->call->seed;
    if (!seed) {
        return false;
    }
    const int64_t *numbers = seed->data;
    const uint64_t of = (uint64_t)numbers[0], block = (uint64_t)key / 4, row = (uint64_t)(a->row + numbers[1]);
    uint32_t c[] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)row, (uint32_t)(row >> 32)};
    for (uint32_t round = 0; round < 10; round++) {
        mix(c, (uint32_t)of + round * 0x9E3779B9u, (uint32_t)(of >> 32) + round * 0xBB67AE85u);
    }
    return (double)c[key % 4] < a->call->dropout * 0x1p32;
}

/* ---- One row ---- */

/* Returns the offset of an item's matrix in a compact tensor that broadcasts over the batch of the output. */
static int64_t item_offset(const attention *a, const DLTensor *tensor, const DLTensor *out, int64_t item) {
    const bool shares = a->heads > 0 && tensor != a->call->mask;
    int64_t stride = 1, offset = 0;
    for (int back = 1; back <= tensor->ndim; back++) {
        const int64_t own = tensor->shape[tensor->ndim - back];
        if (back > 2) {
            const int64_t size = out->shape[out->ndim - back], at = item % size;
            item /= size;
            offset += stride * (own == 1 ? 0 : shares && back == 3 ? at / (a->heads / own) : at);
        }
        stride *= own;
    }
    return offset;
}

/* Returns what the mask adds to a score. */
static long double mask_at(const attention *a, int64_t offset, int64_t query, int64_t key) {
    const DLTensor *mask = a->call->mask;
    if (!mask) {
        return a->call->is_causal && key > query ? -(long double)HUGE_VAL : 0;
    }
    const int64_t columns = mask->ndim > 0 ? mask->shape[mask->ndim - 1] : 1;
    const int64_t rows = mask->ndim > 1 ? mask->shape[mask->ndim - 2] : 1;
    const double x = a->mask.data[offset + (rows == 1 ? 0 : query * columns) + (columns == 1 ? 0 : key)];
    return bp_dtype_from_dlpack(mask->dtype) != BP_BOOL ? (long double)x : x != 0 ? 0 : -(long double)HUGE_VAL;
}

/* Computes the weights of a row. */
static void set_row(attention *a, const DLTensor *out, int64_t row) {
    const int64_t item = row / a->queries, query = row % a->queries;
    const double *q = a->query.data + item_offset(a, a->call->query, out, item) + query * a->size;
    const double *k = a->key.data + item_offset(a, a->call->key, out, item);
    const int64_t mask = a->call->mask ? item_offset(a, a->call->mask, out, item) : 0;
    long double most = -(long double)HUGE_VAL;
    a->row = row;
    for (int64_t j = 0; j < a->keys; j++) {
        const long double added = mask_at(a, mask, query, j);
        long double sum = 0, terms = 0;
        for (int64_t e = 0; e < a->size; e++) {
            const long double product = (long double)q[e] * (long double)k[j * a->size + e];
            sum += product;
            terms += fabsl(product);
        }
        const bool excluded = a->call->is_causal && j > query; /* also if its score is infinite or NaN */
        a->weight[j] = excluded ? added : a->scale * sum + added;
        a->scale_of[j] = fabsl(a->scale) * terms + (isinf(added) ? 0 : fabsl(added));
        most = a->weight[j] > most || isnan(a->weight[j]) ? a->weight[j] : most;
    }
    for (int64_t j = 0; j < a->keys; j++) {
        a->weight[j] = isinf(most) && most < 0 ? 0 : expl(a->weight[j] - most);
    }
}

/* Sets one element. An error in a score changes its own weight, and all others by the division, so the terms of the
 * scores are part of the scale. Returns false if `is_causal` excludes a value that is not finite: attention.h leaves
 * open whether it reaches the element. */
static bool set_value(attention *a, const DLTensor *out, reference_value *value) {
    const int64_t row = value->index / a->value_size, column = value->index % a->value_size;
    if (row != a->row) {
        set_row(a, out, row);
    }
    const double *v = a->value.data + item_offset(a, a->call->value, out, row / a->queries) + column;
    const long double kept = 1 - (long double)a->call->dropout;
    long double sum = 0, own = 0, plain = 0, total = 0, shared = 0;
    bool known = true;
    for (int64_t j = 0; j < a->keys; j++) {
        const bool excluded = a->call->is_causal && j > row % a->queries;
        const long double terms =
            a->weight[j] == 0 ? 0 : a->scale_of[j]; /* those of a score of -infinity may be infinite */
        known = known && (!excluded || isfinite(v[j * a->value_size]));
        total += a->weight[j];
        shared += a->weight[j] * terms;
        if (!excluded && !is_dropped(a, j)) {
            const long double x = (long double)v[j * a->value_size] / kept, size = fabsl(a->weight[j] * x);
            sum += a->weight[j] * x;
            plain += size;
            own += size * terms;
        }
    }
    const bool none = total == 0;
    value->re = none ? 0 : (double)(sum / total);
    value->im = 0;
    value->scale = none ? 0 : (double)((plain + own + plain * (shared / total)) / total);
    return known;
}

/* ---- The check ---- */

static bp_status open_attention(attention *a) {
    const bp_attention_call *call = a->call;
    const DLTensor *query = call->query, *value = call->value;
    a->queries = query->shape[query->ndim - 2];
    a->size = query->shape[query->ndim - 1];
    a->keys = value->shape[value->ndim - 2];
    a->value_size = value->shape[value->ndim - 1];
    a->heads = call->enable_gqa ? query->shape[query->ndim - 3] : 0;
    a->scale = call->has_scale ? (long double)call->scale : 1 / sqrtl((long double)a->size);
    a->row = -1;
    a->weight = cli_allocate((size_t)(a->keys + 1) * sizeof *a->weight);
    a->scale_of = cli_allocate((size_t)(a->keys + 1) * sizeof *a->scale_of);
    bp_status status = wide_make(&a->query, query, false);
    status = status == BP_OK ? wide_make(&a->key, call->key, false) : status;
    status = status == BP_OK ? wide_make(&a->value, value, false) : status;
    return status == BP_OK && call->mask ? wide_make(&a->mask, call->mask, false) : status;
}

static void close_attention(attention *a) {
    free(a->weight);
    free(a->scale_of);
    wide_free(&a->query);
    wide_free(&a->key);
    wide_free(&a->value);
    wide_free(&a->mask);
}

/* Checks the output; the logarithms are not checked. */
bp_status check_attention(cli_check *check, const cli_job *job) {
    const DLTensor *out = &job->results[0].tensor;
    attention a = {.call = &job->words.described.of.attention};
    *check = (cli_check){.bound = 0};
    bp_status status = open_attention(&a);
    /* An element that is checked alone needs all scores of its row. Its rounding errors grow with keys + size. */
    const int64_t work = a.keys * (a.size + 1);
    status = status == BP_OK ? reference_begin(&check->values, out, work, 64) : status;
    check->values.terms = a.keys + a.size;
    int64_t known = 0;
    for (int64_t i = 0; status == BP_OK && i < check->values.count; i++) {
        check->values.values[known] = check->values.values[i];
        known += set_value(&a, out, &check->values.values[known]);
    }
    check->values.count = known;
    close_attention(&a);
    return status == BP_OK ? check_with_reference(
                                 check, job,
                                 "the largest |output - reference| / (weights |value| (1 + |query| |key| |scale| + "
                                 "|mask|)); the reference is computed in long double")
                           : status;
}
