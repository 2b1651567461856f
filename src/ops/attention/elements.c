/* elements.c - describes the elements of the operands of attention. */
#include "ops/attention/attention.h"

/* Sets the sizes of the matrix of one item. */
static void matrix_of(const bp_attention_problem *p, bp_attention_tensor which, int64_t *rows, int64_t *columns) {
    switch (which) {
    case BP_ATTENTION_KEY:
    case BP_ATTENTION_KEY_GRADIENT:
        *rows = p->keys;
        *columns = p->size;
        return;
    case BP_ATTENTION_VALUE:
    case BP_ATTENTION_VALUE_GRADIENT:
        *rows = p->keys;
        *columns = p->value_size;
        return;
    case BP_ATTENTION_MASK:
    case BP_ATTENTION_MASK_GRADIENT:
        *rows = p->queries;
        *columns = p->keys;
        return;
    case BP_ATTENTION_SEED:
        *rows = 1;
        *columns = 2;
        return;
    case BP_ATTENTION_PAGES:
        *rows = 1;
        *columns = p->page_size > 0 ? p->keys / p->page_size : 0;
        return;
    case BP_ATTENTION_LOGSUMEXP:
    case BP_ATTENTION_LENGTHS:
        *rows = which == BP_ATTENTION_LENGTHS ? 1 : p->queries;
        *columns = 1;
        return;
    default:
        *rows = p->queries;
        *columns = which == BP_ATTENTION_QUERY || which == BP_ATTENTION_QUERY_GRADIENT ? p->size : p->value_size;
    }
}

bool bp__attention_elements(const bp_problem *problem, int operand, bp__elements *elements) {
    const bp_attention_problem *p = &problem->of.attention;
    const bool pages = problem->op == BP_OP_ATTENTION_PAGED;
    const bp_attention_tensor which = bp__attention_tensor_of((bp_op)problem->op, operand);
    const bp_attention_layout *layout = &p->tensor[which];
    int64_t rows, columns;
    matrix_of(p, which, &rows, &columns);
    elements->dtype = (bp_dtype)layout->dtype;
    if (pages && (which == BP_ATTENTION_KEY || which == BP_ATTENTION_VALUE)) {
        bp__elements_add(elements, p->pool, which == BP_ATTENTION_KEY ? p->key_page : p->value_page);
        rows = p->page_size;
    }
    bp__elements_add_all(elements, p->batch_ndim, p->batch_shape, layout->batch);
    bp__elements_add(elements, rows, layout->row);
    bp__elements_add(elements, columns, layout->column);
    return layout->dtype != 0;
}
