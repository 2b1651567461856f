/* pages.c - checks the tensors of attention to keys and values in pages, and makes views of them. The views of key and
 * value are as in a call without pages: rows of a page are as far apart as rows of an item, and where a page begins
 * is part of the problem. */
#include "ops/attention/attention.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <string.h>

static bp_status check_shape(const DLTensor *tensor, const char *name, int ndim, const char *wanted) {
    char shape[256];
    if (tensor->ndim != ndim) {
        return bp__fail(BP_E_SHAPE, "attention: %s has shape %s; with pages it must be %s", name,
                        bp__shape_text(tensor->ndim, tensor->shape, shape, sizeof shape), wanted);
    }
    return BP_OK;
}

bp_status bp__attention_check_integers(const DLTensor *tensor, const char *name) {
    const bp_dtype dtype = bp_dtype_from_dlpack(tensor->dtype);
    if (dtype != BP_I32 && dtype != BP_I64) {
        return bp__fail(BP_E_DTYPE, "attention: %s is %s; it must be i32 or i64", name, bp_dtype_name(dtype));
    }
    return BP_OK;
}

/* The caller's tensors, in this order. */
enum { KEY, VALUE, PAGES, LENGTHS, VIEWS };

static bp_status check(const bp_attention_call *call, bool data_optional) {
    const DLTensor *const tensors[VIEWS] = {call->key, call->value, call->pages, call->lengths};
    static const char *const names[VIEWS] = {"key", "value", "pages", "lengths"}, *const wanted[VIEWS] = {
                                                                                      "pages x rows x heads x columns",
                                                                                      "pages x rows x heads x columns",
                                                                                      "items x pages", "items"};
    static const int ndim[VIEWS] = {4, 4, 2, 1};
    BP__TRY(bp__tensor_check(call->query, "query", data_optional));
    BP__TRY(check_shape(call->query, "query", 4, "items x heads x rows x columns"));
    for (int i = 0; i < VIEWS; i++) {
        BP__TRY(bp__tensor_check(tensors[i], names[i], data_optional));
        BP__TRY(check_shape(tensors[i], names[i], ndim[i], wanted[i]));
    }
    BP__TRY(bp__attention_check_integers(call->pages, "pages"));
    BP__TRY(bp__attention_check_integers(call->lengths, "lengths"));
    char one[256], two[256];
    if (call->key->shape[0] != call->value->shape[0] || call->key->shape[1] != call->value->shape[1]) {
        return bp__fail(BP_E_SHAPE,
                        "attention: key has shape %s, value has shape %s; the numbers and sizes of pages must be equal",
                        bp__shape_text(4, call->key->shape, one, sizeof one),
                        bp__shape_text(4, call->value->shape, two, sizeof two));
    }
    if (call->pages->shape[0] != call->query->shape[0] || call->lengths->shape[0] != call->query->shape[0]) {
        return bp__fail(BP_E_SHAPE,
                        "attention: query has %" PRId64 " items, pages %" PRId64 " and lengths %" PRId64
                        "; the numbers must be equal",
                        call->query->shape[0], call->pages->shape[0], call->lengths->shape[0]);
    }
    return BP_OK;
}

static void set_view(bp__attention_pages *paged, DLTensor *view, int which, const DLTensor *of, int ndim,
                     const int64_t *shape, const int64_t *strides) {
    memcpy(paged->shape[which], shape, (size_t)ndim * sizeof *shape);
    memcpy(paged->strides[which], strides, (size_t)ndim * sizeof *strides);
    *view = *of;
    view->ndim = ndim;
    view->shape = paged->shape[which];
    view->strides = paged->strides[which];
}

/* Makes the view of a pool: heads x keys x columns. Returns the stride from page to page. */
static int64_t view_pool(bp__attention_pages *paged, DLTensor *view, int which, const DLTensor *pool, int64_t keys) {
    int64_t strides[BP_MAX_NDIM];
    bp__tensor_strides(pool, strides);
    const int64_t step = pool->shape[1] == 1 ? 0 : strides[1];
    set_view(paged, view, which, pool, 3, (const int64_t[]){pool->shape[2], keys, pool->shape[3]},
             (const int64_t[]){strides[2], step, strides[3]});
    return strides[0];
}

bp_status bp__attention_view_pages(bp__attention_pages *paged, const bp_attention_call *call, bool data_optional) {
    int64_t strides[BP_MAX_NDIM], keys;
    BP__TRY(check(call, data_optional));
    paged->pool = call->key->shape[0];
    paged->page_size = call->key->shape[1];
    if (__builtin_mul_overflow(call->pages->shape[1], paged->page_size, &keys)) {
        return bp__fail(BP_E_OVERFLOW, "attention: %" PRId64 " pages of %" PRId64 " rows are too many for an item",
                        call->pages->shape[1], paged->page_size);
    }
    paged->call = *call;
    paged->key_page = view_pool(paged, &paged->key, KEY, call->key, keys);
    paged->value_page = view_pool(paged, &paged->value, VALUE, call->value, keys);
    bp__tensor_strides(call->pages, strides);
    set_view(paged, &paged->pages, PAGES, call->pages, 3,
             (const int64_t[]){call->pages->shape[0], 1, call->pages->shape[1]},
             (const int64_t[]){strides[0], 1, strides[1]});
    bp__tensor_strides(call->lengths, strides);
    set_view(paged, &paged->lengths, LENGTHS, call->lengths, 2, (const int64_t[]){call->lengths->shape[0], 1},
             (const int64_t[]){strides[0], 1});
    paged->call.key = &paged->key;
    paged->call.value = &paged->value;
    paged->call.pages = &paged->pages;
    paged->call.lengths = &paged->lengths;
    return BP_OK;
}
