/* integer_products.c - checks products of 8-bit integers of oneDNN against sums modulo 2^32.
 *
 * Instructions of processors without VNNI add pairs of products with saturation to 16 bits, which two products of
 * extreme values exceed. Some primitives of i8 shift a factor by 128 and multiply it as u8. Others compute sums in f32,
 * which rounds those above 2^24. */
#include "probe/dnn.h"

#include <stdio.h>
#include <string.h>

/* Leading dimensions have a gap in all products but the longest. */
enum { GAP = 3, LONGEST = 70001, POISON = 77, LAYOUTS = 8 };

typedef struct product {
    int type; /* of A */
    int64_t m, n, k;
    bool transposed_a, transposed_b, own; /* own: the library chooses the layout of B */
    bool mixed;
    int a, b; /* the value of all elements unless `mixed` */
} product;

static int lowest_value(int type) {
    return type == BP__ONEDNN_U8 ? 0 : -128;
}

static int highest_value(int type) {
    return type == BP__ONEDNN_U8 ? 255 : 127;
}

/* Single vectors, tails and whole blocks of kernels, several blocks of k, and a sum that exceeds 32 bits. Sums of an
 * odd number of odd products have all of their bits. */
static const int64_t sizes[][3] = {{1, 1, 1},     {3, 5, 7},    {70, 33, 41}, {64, 64, 64},
                                   {9, 100, 601}, {1, 64, 256}, {40, 1, 70},  {1, 1, LONGEST}};

static void fill(argument *x, const product *p, int value, int64_t count) {
    const int choice[] = {lowest_value(x->type), highest_value(x->type), highest_value(x->type) - 1, 1,
                          lowest_value(x->type) + 1};
    uint32_t state = 12345;
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        x->values.bytes[i] = (unsigned char)(p->mixed ? choice[(state >> 16) % 5] : value);
    }
}

static uint32_t value_at(const argument *x, int64_t at) {
    const unsigned char byte = x->values.bytes[at];
    return x->type == BP__ONEDNN_U8 ? byte : (uint32_t)(signed char)byte;
}

/* Returns whether the library has only the loops of its reference implementation, which the provider refuses. */
static bool is_reference(const void *description) {
    const char *name = "";
    return dnnl.primitive_desc_query(description, BP__ONEDNN_QUERY_NAME, 0, &name) == BP__ONEDNN_OK &&
           strncmp(name, "ref", 3) == 0;
}

/* Makes the description of the product; NULL if the library does not offer it. */
static void *describe(const product *p, const argument *a, const argument *b, const argument *c) {
    void *any = NULL, *description = NULL;
    int error =
        p->own ? dnnl.memory_desc_create_with_tag(&any, 2, (int64_t[]){p->k, p->n}, BP__ONEDNN_S8, BP__ONEDNN_ANY) : 0;
    error = error ? error
                  : dnnl.matmul_primitive_desc_create(&description, dnn_engine, a->description,
                                                      any ? any : b->description, NULL, c->description, NULL);
    if (any) {
        dnnl.memory_desc_destroy(any);
    }
    if (!error && is_reference(description)) {
        dnnl.primitive_desc_destroy(description);
        return NULL;
    }
    return error ? NULL : description;
}

/* One product, and the strides of its operands. */
typedef struct operands {
    argument *a, *b, *c;
    int64_t a_row, a_column, b_row, b_column, c_row;
} operands;

static bool add_operands(operands *o, const product *p) {
    const int64_t gap = p->k < LONGEST ? GAP : 0;
    o->a_row = p->transposed_a ? 1 : p->k + gap;
    o->a_column = p->transposed_a ? p->m + gap : 1;
    o->b_row = p->transposed_b ? 1 : p->n + gap;
    o->b_column = p->transposed_b ? p->k + gap : 1;
    o->c_row = p->n + gap;
    o->a = add_argument(BP__ONEDNN_ARG_SRC, p->type, 2, (int64_t[]){p->m, p->k}, (int64_t[]){o->a_row, o->a_column});
    o->b = add_argument(BP__ONEDNN_ARG_WEIGHTS, BP__ONEDNN_S8, 2, (int64_t[]){p->k, p->n},
                        (int64_t[]){o->b_row, o->b_column});
    o->c = add_argument(BP__ONEDNN_ARG_DST, BP__ONEDNN_S32, 2, (int64_t[]){p->m, p->n}, (int64_t[]){o->c_row, 1});
    return o->a && o->b && o->c;
}

/* The sum modulo 2^32. */
static uint32_t expected(const operands *o, const product *p, int64_t i, int64_t j) {
    uint32_t sum = 0;
    if (!p->mixed) {
        return (uint32_t)p->k * (uint32_t)p->a * (uint32_t)p->b;
    }
    for (int64_t l = 0; l < p->k; l++) {
        sum += value_at(o->a, i * o->a_row + l * o->a_column) * value_at(o->b, l * o->b_row + j * o->b_column);
    }
    return sum;
}

/* `at_end`: where its operands are in their regions. */
static outcome check_variant(const product *p, bool at_end) {
    operands o;
    void *description = add_operands(&o, p) ? describe(p, o.a, o.b, o.c) : NULL;
    if (!description) {
        return ABSENT;
    }
    fill(o.a, p, p->a, (p->m - 1) * o.a_row + (p->k - 1) * o.a_column + 1);
    fill(o.b, p, p->b, (p->k - 1) * o.b_row + (p->n - 1) * o.b_column + 1);
    for (int64_t at = 0; at < p->m * o.c_row; at++) {
        o.c->values.i32[at] = POISON;
    }
    bool right = (!p->own || convert_weight(o.b, description)) && run_primitive_at(description, at_end);
    for (int64_t at = 0; at < p->m * o.c_row && right; at++) {
        const int64_t i = at / o.c_row, j = at % o.c_row;
        right = (uint32_t)o.c->values.i32[at] == (j < p->n ? expected(&o, p, i, j) : POISON);
    }
    return right ? RIGHT : WRONG;
}

static outcome check_values(product *p, char how[MOST_TEXT]) {
    const int pairs[][2] = {
        {highest_value(p->type), -128}, {lowest_value(p->type), -128}, {highest_value(p->type), 127}, {0, 0}};
    for (int i = 0; i < 4; i++) {
        p->a = pairs[i][0];
        p->b = pairs[i][1];
        p->mixed = i == 3;
        const outcome found = check_variant(p, i % 2 == 0);
        drop_arguments();
        if (found != RIGHT) {
            char values[40] = "mixed extreme values";
            if (!p->mixed) {
                snprintf(values, sizeof values, "all elements %d and %d", p->a, p->b);
            }
            snprintf(how, MOST_TEXT, "op %c%c, %dx%dx%d%s, %s", p->transposed_a ? 'T' : 'N',
                     p->transposed_b ? 'T' : 'N', (int)p->m, (int)p->n, (int)p->k, p->own ? ", packed" : "", values);
            return found;
        }
    }
    return RIGHT;
}

outcome check_integer_product(int type, char how[MOST_TEXT]) {
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (int layout = 0; layout < LAYOUTS; layout++) {
            product p = {.type = type, .m = sizes[s][0], .n = sizes[s][1], .k = sizes[s][2]};
            p.transposed_a = layout & 1;
            p.transposed_b = layout & 2;
            p.own = layout & 4;
            const outcome found = check_values(&p, how);
            if (found == WRONG || (found == ABSENT && s == 0 && layout == 0)) {
                return found;
            }
        }
    }
    return RIGHT;
}
