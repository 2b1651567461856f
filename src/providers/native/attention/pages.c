/* pages.c - reads keys and values in pages, and checks the numbers of pages and keys before anything is computed. Rows
 * that are in one page are read where they are; others are copied, a block at a time. */
#include "work.h"

#include <string.h>

static int64_t page_of(const bp__attention_item *item, int64_t key) {
    const bp_attention_layout *pages = &item->problem->tensor[BP_ATTENTION_PAGES];
    return bp__attention_integer(item->tensor[BP_ATTENTION_PAGES] +
                                     key / item->problem->page_size * pages->column * bp__attention_bytes(pages->dtype),
                                 pages->dtype);
}

const char *bp__attention_in_page(const bp__attention_item *item, bp_attention_tensor which, int64_t key,
                                  int64_t *rows) {
    const bp_attention_problem *p = item->problem;
    const bp_attention_layout *layout = &p->tensor[which];
    const int64_t row = key % p->page_size, page = which == BP_ATTENTION_KEY ? p->key_page : p->value_page;
    *rows = p->page_size - row;
    return item->tensor[which] + (page_of(item, key) * page + row * layout->row) * bp__attention_bytes(layout->dtype);
}

void bp__attention_gather(const bp__attention_item *item, bp_attention_tensor which, int64_t from, int64_t keys,
                          double factor, char *to) {
    const bp_attention_problem *p = item->problem;
    const bp_attention_layout *layout = &p->tensor[which];
    const int64_t columns = which == BP_ATTENTION_KEY ? p->size : p->value_size;
    const size_t line = (size_t)columns * item->plan->set.numbers->number;
    for (int64_t done = 0, rows; done < keys; done += rows) {
        const char *at = bp__attention_in_page(item, which, from + done, &rows);
        rows = bp__least(rows, keys - done);
        bp__attention_elements_of(item->plan, layout->dtype)
            ->widen(rows, columns, at, layout->row, layout->column, factor, to + (size_t)done * line, columns);
    }
}

/* Checks the numbers of one item. */
static bp_status check_item(const bp__attention_call *call, int64_t number, const char *pages, const char *length) {
    const bp_attention_problem *p = &call->plan->problem.of.attention;
    const bp_attention_layout *table = &p->tensor[BP_ATTENTION_PAGES];
    const int64_t keys = bp__attention_integer(length, p->tensor[BP_ATTENTION_LENGTHS].dtype);
    if (keys < 0 || keys > p->keys) {
        return call->plan->host->fail(
            BP_E_ARGUMENT, "attention: lengths[%lld] is %lld; it must be from 0 to %lld, the %s", (long long)number,
            (long long)keys, (long long)p->keys, pages ? "rows of its pages" : "number of keys");
    }
    for (int64_t i = 0; pages && i * p->page_size < keys; i++) {
        const int64_t page =
            bp__attention_integer(pages + i * table->column * bp__attention_bytes(table->dtype), table->dtype);
        if (page < 0 || page >= p->pool) {
            return call->plan->host->fail(BP_E_ARGUMENT,
                                          "attention: pages[%lld, %lld] is %lld; the pool has %lld pages, from 0 on",
                                          (long long)number, (long long)i, (long long)page, (long long)p->pool);
        }
    }
    return BP_OK;
}

bp_status bp__attention_check_numbers(const bp__attention_call *call) {
    const bp_attention_problem *p = &call->plan->problem.of.attention;
    const bp_attention_layout *pages = &p->tensor[BP_ATTENTION_PAGES], *lengths = &p->tensor[BP_ATTENTION_LENGTHS];
    const char *of_pages = call->tensor[BP_ATTENTION_PAGES], *of_lengths = call->tensor[BP_ATTENTION_LENGTHS];
    int64_t items = 1;
    if (!lengths->dtype) {
        return BP_OK;
    }
    for (int d = 0; d < p->batch_ndim; d++) { /* heads have the same numbers */
        items *= pages->batch[d] != 0 || lengths->batch[d] != 0 ? p->batch_shape[d] : p->batch_shape[d] > 0;
    }
    for (int64_t i = 0; i < items; i++) {
        int64_t rest = i, page = 0, length = 0;
        for (int d = p->batch_ndim - 1; d >= 0; d--) {
            if (pages->batch[d] != 0 || lengths->batch[d] != 0) {
                page += rest % p->batch_shape[d] * pages->batch[d];
                length += rest % p->batch_shape[d] * lengths->batch[d];
                rest /= p->batch_shape[d];
            }
        }
        const bp_status status =
            check_item(call, i, of_pages ? of_pages + page * bp__attention_bytes(pages->dtype) : NULL,
                       of_lengths + length * bp__attention_bytes(lengths->dtype));
        if (status != BP_OK) {
            return status;
        }
    }
    return BP_OK;
}
