/* test_integers.c - tests products of 8-bit integers and of f16 on oneDNN: every element against a sum in int64_t
 * modulo 2^32, for all layouts, awkward sizes, batches and packed factors; refusals; and libraries with wrong
 * primitives.
 *
 * Most processors have no such primitives, or wrong ones. So a library in front of oneDNN computes these products, see
 * tests/registry/fakes/dnn_products.c. If the real one has right primitives it runs the same tests. */
#include "backplane.h"
#include "backplane/provider.h"
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define FAKES BP_TEST_BUILD_DIR "/tests/registry-fakes/"
#define STRICT "blas.preferred=onednn,dispatch.fallback=strict,num_threads=1"
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Makes one library the only one. */
static void use(const char *path) {
    if (access(path, F_OK) != 0) {
        print_message("skipped: %s is not there\n", path);
        skip();
    }
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    setenv("BACKPLANE_REGISTRY_CACHE", "off", 1);
    setenv("BACKPLANE_LIBRARY_PATH", path, 1);
    assert_int_equal(bp_reset(), BP_OK);
}

/* ---- Operands ---- */

typedef enum order { ROWS, COLUMNS, ROWS_APART, COLUMNS_APART, SPREAD, REVERSED, ORDERS } order;

typedef struct operand {
    bp_dtype dtype;
    int64_t items, rows, columns; /* items 0: no batch; 1: broadcast */
    int64_t step, row, column;    /* strides in elements */
    unsigned char *memory;
    size_t bytes;
    int64_t first; /* element */
    bp_view view;
} operand;

typedef struct product {
    bp_dtype a, b;
    int64_t items, m, n, k;
    order orders[3];
    bool share_a, share_b;
    int fill; /* 0: extreme values in any order; 1: the highest; 2: the lowest */
} product;

static unsigned char byte_of(const product *p, bp_dtype dtype, uint64_t *state) {
    static const unsigned char extremes[] = {0, 1, 127, 128, 129, 255};
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return p->fill == 1   ? (dtype == BP_I8 ? 127 : 255)
           : p->fill == 2 ? (dtype == BP_I8 ? 128 : 255)
           : *state % 3   ? extremes[*state / 3 % COUNT(extremes)]
                          : (unsigned char)(*state >> 32);
}

static void make(operand *x, const product *p, bp_dtype dtype, order layout, int64_t items, int64_t rows,
                 int64_t columns) {
    const int64_t gap = layout == ROWS_APART || layout == COLUMNS_APART ? 3 : 0, unit = layout == SPREAD ? 2 : 1;
    const bool by_columns = layout == COLUMNS || layout == COLUMNS_APART;
    uint64_t state = 88172645463325252u + (uint64_t)dtype;
    *x = (operand){.dtype = dtype, .items = items, .rows = rows, .columns = columns};
    x->row = by_columns ? 1 : (columns + gap) * unit;
    x->column = by_columns ? rows + gap : unit;
    x->step = (rows + gap) * (columns + gap) * unit;
    const int64_t count = x->step * (items ? items : 1) + 1;
    x->bytes = (size_t)count * bp_dtype_size(dtype);
    x->memory = malloc(x->bytes);
    assert_non_null(x->memory);
    for (size_t i = 0; i < x->bytes; i++) {
        x->memory[i] = byte_of(p, dtype, &state);
    }
    if (layout == REVERSED && rows > 0) {
        x->first = (rows - 1) * x->row;
        x->row = -x->row;
    }
    const int64_t shape[] = {items, rows, columns}, strides[] = {x->step, x->row, x->column};
    const int skip = items == 0;
    assert_int_equal(bp_view_init(&x->view, x->memory + x->first * (int64_t)bp_dtype_size(dtype), dtype, 3 - skip,
                                  shape + skip, strides + skip),
                     BP_OK);
}

static int64_t place(const operand *x, int64_t item, int64_t i, int64_t j) {
    return x->first + (x->items > 1 ? item * x->step : 0) + i * x->row + j * x->column;
}

static int64_t number(const operand *x, int64_t item, int64_t i, int64_t j) {
    const unsigned char byte = x->memory[place(x, item, i, j)];
    return x->dtype == BP_I8 ? (signed char)byte : byte;
}

/* Compares every element, and requires that no other byte changed. */
static void compare(const operand *a, const operand *b, const operand *c, const unsigned char *before) {
    uint32_t *expected = malloc(c->bytes);
    assert_non_null(expected);
    memcpy(expected, before, c->bytes);
    for (int64_t item = 0; item < (c->items ? c->items : 1); item++) {
        for (int64_t i = 0; i < c->rows; i++) {
            for (int64_t j = 0; j < c->columns; j++) {
                int64_t sum = 0;
                for (int64_t l = 0; l < a->columns; l++) {
                    sum += number(a, item, i, l) * number(b, item, l, j);
                }
                expected[place(c, item, i, j)] = (uint32_t)(uint64_t)sum;
            }
        }
    }
    assert_memory_equal(c->memory, expected, c->bytes);
    free(expected);
}

/* Runs a product, with the given operand packed if it is not negative. Returns the status of its plan. */
static bp_status run(const product *p, const char *settings, int packed_operand, bp_plan_info *info) {
    operand a, b, c;
    bp_plan *plan;
    bp_options *options;
    make(&a, p, p->a, p->orders[0], p->share_a ? 1 : p->items, p->m, p->k);
    make(&b, p, p->b, p->orders[1], p->share_b ? 1 : p->items, p->k, p->n);
    make(&c, p, BP_I32, p->orders[2], p->items, p->m, p->n);
    unsigned char *before = malloc(c.bytes);
    assert_non_null(before);
    memcpy(before, c.memory, c.bytes);
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    const bp_status status = bp_matmul_plan(&plan, options, &a.view.tensor, &b.view.tensor, &c.view.tensor);
    bp_options_release(options);
    if (status == BP_OK) {
        bp_packed *packed = NULL;
        bp_operand operands[] = {{a.view.tensor.data, a.view.tensor.byte_offset},
                                 {b.view.tensor.data, b.view.tensor.byte_offset},
                                 {c.view.tensor.data, c.view.tensor.byte_offset}};
        const bp_packed *list[3] = {NULL};
        *info = (bp_plan_info){.struct_size = sizeof *info};
        assert_int_equal(bp_plan_describe(plan, info), BP_OK);
        if (packed_operand >= 0) {
            assert_int_equal(bp_plan_pack(&packed, plan, packed_operand, &operands[packed_operand]), BP_OK);
            list[packed_operand] = packed;
            operands[packed_operand] = (bp_operand){NULL, 0};
        }
        const bp_exec exec = {.struct_size = sizeof exec, .packed = list, .operand_count = 3};
        assert_int_equal(bp_execute(plan, operands, &exec), BP_OK);
        compare(&a, &b, &c, before);
        bp_packed_release(packed);
        bp_plan_release(plan);
    }
    free(before);
    free(a.memory);
    free(b.memory);
    free(c.memory);
    return status;
}

/* Requires that oneDNN computes the product. */
static void accept(product p) {
    bp_plan_info info;
    if (run(&p, STRICT, -1, &info) != BP_OK) {
        fail_msg("%ldx%ldx%ld, orders %d %d %d: %s", (long)p.m, (long)p.k, (long)p.n, p.orders[0], p.orders[1],
                 p.orders[2], bp_last_error());
    }
    assert_true(strstr(info.library, "onednn") != NULL);
}

static void refuse_with(const product *p, const char *settings, const char *text) {
    bp_plan_info info;
    assert_int_equal(run(p, settings, -1, &info), BP_E_FALLBACK);
    if (!strstr(bp_last_error(), text)) {
        fail_msg("'%s' lacks '%s'", bp_last_error(), text);
    }
}

/* ---- Right primitives ---- */

static void layouts(void **state) {
    (void)state;
    use(FAKES "dnn-products");
    for (int i = 0; i < 2 * ORDERS * ORDERS * ORDERS; i++) {
        const order a = (order)(i / 2 % ORDERS), b = (order)(i / 2 / ORDERS % ORDERS),
                    c = (order)(i / 2 / ORDERS / ORDERS);
        const bool swapped = c == COLUMNS || c == COLUMNS_APART;
        const bp_dtype other = i % 2 ? BP_U8 : BP_I8;
        const product p = {
            .a = swapped ? BP_I8 : other, .b = swapped ? other : BP_I8, .m = 9, .n = 19, .k = 7, .orders = {a, b, c}};
        if (a < SPREAD && b < SPREAD && c < SPREAD) {
            accept(p);
        } else {
            refuse_with(&p, STRICT, "row-major and column-major matrices only");
        }
    }
}

static void sizes(void **state) {
    static const int64_t shapes[][3] = {{1, 1, 1},     {1, 1, 9},   {1, 9, 1},     {9, 1, 9},
                                        {1, 70, 3001}, {70, 1, 5},  {31, 33, 29},  {65, 63, 67},
                                        {3, 2, 301},   {49, 41, 1}, {17, 23, 769}, {2, 3, 66001}};
    (void)state;
    use(FAKES "dnn-products");
    for (size_t i = 0; i < COUNT(shapes) * 6; i++) {
        const int64_t *s = shapes[i / 6];
        accept((product){
            .a = i % 2 ? BP_U8 : BP_I8, .b = BP_I8, .m = s[0], .n = s[1], .k = s[2], .fill = (int)(i / 2 % 3)});
    }
    refuse_with(&(product){.a = BP_I8, .b = BP_I8, .m = 3, .n = 0, .k = 2}, STRICT, "empty operands");
    refuse_with(&(product){.a = BP_I8, .b = BP_I8, .m = 3, .n = 2, .k = 0}, STRICT, "empty operands");
}

static void batches(void **state) {
    (void)state;
    use(FAKES "dnn-products");
    for (int i = 0; i < 16; i++) {
        accept((product){.a = i & 1 ? BP_U8 : BP_I8,
                         .b = BP_I8,
                         .items = 5,
                         .m = 6,
                         .n = 11,
                         .k = 13,
                         .orders = {i & 2 ? COLUMNS : ROWS, i & 2 ? ROWS_APART : COLUMNS, ROWS},
                         .share_a = (i & 12) == 4,
                         .share_b = (i & 12) == 8});
    }
}

static void packed_factors(void **state) {
    (void)state;
    bp_plan_info info;
    use(FAKES "dnn-products");
    for (int i = 0; i < 8; i++) {
        const bool swapped = i & 4;
        const bp_dtype other = i & 1 ? BP_U8 : BP_I8;
        const product p = {.a = swapped ? BP_I8 : other,
                           .b = swapped ? other : BP_I8,
                           .m = 33,
                           .n = 17,
                           .k = 65,
                           .orders = {i & 2 ? COLUMNS_APART : ROWS, i & 2 ? ROWS : COLUMNS, swapped ? COLUMNS : ROWS}};
        const char *settings = swapped ? STRICT ",dispatch.packed=first" : STRICT ",dispatch.packed=second";
        assert_int_equal(run(&p, settings, swapped ? 0 : 1, &info), BP_OK);
    }
}

static void settings(void **state) {
    (void)state;
    bp_plan_info info;
    const product p = {.a = BP_U8, .b = BP_I8, .m = 5, .n = 6, .k = 7};
    const uint32_t exact = BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT | BP_PROPERTY_ROW_INVARIANT;
    use(FAKES "dnn-products");
    assert_int_equal(run(&p, STRICT ",deterministic=threads", -1, &info), BP_OK);
    assert_int_equal(info.properties & exact, exact);
    refuse_with(&p, STRICT ",mkldnn.enabled=false", "mkldnn.enabled is false");
    refuse_with(&p, STRICT ",dispatch.exclude=onednn", "dispatch.exclude");
}

/* The probe has found kernels, but there is none for this product: another candidate runs. */
static void reference_loops(void **state) {
    (void)state;
    bp_plan_info info;
    const product p = {.a = BP_I8, .b = BP_I8, .m = 3, .n = 97, .k = 5};
    use(FAKES "dnn-products");
    refuse_with(&p, STRICT, "has only reference loops for this problem");
    assert_int_equal(run(&p, "blas.preferred=onednn,dispatch.fallback=allow", -1, &info), BP_OK);
    assert_string_equal(info.library, "native");
}

/* The second factor of the library's call must be i8: B, or A of a column-major result. */
static void unsigned_factors(void **state) {
    (void)state;
    product p = {.a = BP_I8, .b = BP_U8, .m = 5, .n = 6, .k = 7};
    use(FAKES "dnn-products");
    refuse_with(&p, STRICT, "its second factor of integers must be i8");
    p.a = BP_U8;
    refuse_with(&p, STRICT, "its second factor of integers must be i8");
    p.orders[2] = COLUMNS;
    refuse_with(&p, STRICT, "its first factor of a column-major result must be i8");
    p.a = BP_I8;
    accept(p);
}

static void sums_with_c(void **state) {
    (void)state;
    signed char bytes[4] = {1, 2, 3, 4};
    int32_t c[4] = {5, 6, 7, 8};
    const bp_scalar one = {1, 0};
    const int64_t shape[] = {2, 2};
    bp_view a, result;
    bp_options *options;
    use(FAKES "dnn-products");
    assert_int_equal(bp_view_init(&a, bytes, BP_I8, 2, shape, NULL), BP_OK);
    assert_int_equal(bp_view_init(&result, c, BP_I32, 2, shape, NULL), BP_OK);
    assert_int_equal(bp_options_new(&options, STRICT), BP_OK);
    assert_int_equal(bp_gemm_run(options, BP_AS_IS, BP_AS_IS, NULL, &a.tensor, &a.tensor, &one, &result.tensor),
                     BP_E_FALLBACK);
    assert_non_null(strstr(bp_last_error(), "rounds to f32 where it adds"));
    bp_options_release(options);
}

/* ---- Allocation ---- */

static long left = -1; /* allocations that still succeed; negative: all */

static void *failing_allocate(void *user, size_t size) {
    (void)user;
    left -= left > 0;
    return left == 0 ? NULL : malloc(size);
}

static void *failing_reallocate(void *user, void *old, size_t size) {
    (void)user;
    left -= left > 0;
    return left == 0 ? NULL : realloc(old, size);
}

static void failing_release(void *user, void *block) {
    (void)user;
    free(block);
}

/* Plans, packs and runs a product. Returns the first failure. */
static bp_status try_all(bp_options *options, bp_view views[3], const signed char *a, const signed char *b,
                         int32_t *c) {
    bp_operand operands[] = {{(void *)(uintptr_t)a, 0}, {(void *)(uintptr_t)b, 0}, {c, 0}};
    const bp_packed *list[3] = {NULL};
    bp_plan *plan = NULL;
    bp_packed *packed = NULL;
    bp_status status = bp_matmul_plan(&plan, options, &views[0].tensor, &views[1].tensor, &views[2].tensor);
    if (status == BP_OK) {
        status = bp_plan_pack(&packed, plan, 1, &operands[1]);
    }
    if (status == BP_OK) {
        list[1] = packed;
        const bp_exec exec = {.struct_size = sizeof exec, .packed = list, .operand_count = 3};
        status = bp_execute(plan, operands, &exec);
        bp_packed_release(packed);
    }
    bp_plan_release(plan);
    return status;
}

static void allocations_fail(void **state) {
    (void)state;
    enum { SIZE = 3, MOST = 2000 };
    const signed char a[SIZE * SIZE] = {-128, 127, 0, 1, 2, 3, 4, 5, 6},
                               b[SIZE * SIZE] = {-128, 0, 0, 127, 1, 0, 0, 0, 1};
    const int64_t shape[] = {SIZE, SIZE};
    int32_t c[SIZE * SIZE];
    bp_view views[3];
    bp_options *options;
    use(FAKES "dnn-products");
    assert_int_equal(bp_view_init(&views[0], (void *)(uintptr_t)a, BP_I8, 2, shape, NULL), BP_OK);
    assert_int_equal(bp_view_init(&views[1], (void *)(uintptr_t)b, BP_I8, 2, shape, NULL), BP_OK);
    assert_int_equal(bp_view_init(&views[2], c, BP_I32, 2, shape, NULL), BP_OK);
    assert_int_equal(bp_options_new(&options, STRICT ",dispatch.packed=second"), BP_OK);
    accept((product){.a = BP_I8, .b = BP_I8, .m = 2, .n = 5, .k = 7}); /* opens the library */
    int failures = 0, n = 1;
    for (bp_status status = BP_E_NO_MEMORY; n < MOST && status != BP_OK; n++) {
        left = n;
        status = try_all(options, views, a, b, c);
        const bool ran_out = left == 0;
        left = -1;
        if (status != BP_OK && status != BP_E_NO_MEMORY) {
            fail_msg("allocation %d: %s (%s)", n, bp_status_name(status), bp_last_error());
        }
        failures += status != BP_OK;
        status = ran_out ? BP_E_NO_MEMORY : status;
    }
    if (n == MOST || failures < 4) {
        fail_msg("%d allocations failed, of %d", failures, n);
    }
    assert_int_equal(c[0], 128 * 128 + 127 * 127);
    bp_options_release(options);
    assert_int_equal(bp_reset(), BP_OK);
    assert_int_equal(bp__live_blocks(), 0);
}

/* ---- f16 ---- */

/* Bits of the integers 0 to 8 in f16. */
static const uint16_t halves[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4800};

static void halves_are_multiplied(void **state) {
    (void)state;
    enum { M = 3, N = 2, K = 2 };
    const int64_t shape_a[] = {M, K}, shape_b[] = {K, N}, shape_c[] = {M, N};
    uint16_t a[M * K], b[K * N] = {halves[1], halves[0], halves[1], halves[2]}, c[M * N] = {0};
    static const int expected[M * N] = {1, 2, 3, 4, 3, 2};
    static const int values[M * K] = {0, 1, 1, 2, 2, 1};
    bp_view view[3];
    bp_options *options;
    use(FAKES "dnn-products");
    for (int i = 0; i < M * K; i++) {
        a[i] = halves[values[i]];
    }
    assert_int_equal(bp_view_init(&view[0], a, BP_F16, 2, shape_a, NULL), BP_OK);
    assert_int_equal(bp_view_init(&view[1], b, BP_F16, 2, shape_b, NULL), BP_OK);
    assert_int_equal(bp_view_init(&view[2], c, BP_F16, 2, shape_c, NULL), BP_OK);
    assert_int_equal(bp_options_new(&options, STRICT), BP_OK);
    if (bp_matmul_run(options, &view[0].tensor, &view[1].tensor, &view[2].tensor) != BP_OK) {
        fail_msg("%s", bp_last_error());
    }
    for (int i = 0; i < M * N; i++) {
        assert_int_equal(c[i], halves[expected[i]]);
    }
    bp_options_release(options);
    use(FAKES "dnn-f16");
    assert_int_equal(bp_options_new(&options, STRICT), BP_OK);
    assert_int_equal(bp_matmul_run(options, &view[0].tensor, &view[1].tensor, &view[2].tensor), BP_E_FALLBACK);
    assert_non_null(strstr(bp_last_error(), "its matmul f16: not offered on this processor"));
    bp_options_release(options);
}

/* ---- Wrong primitives ---- */

static void floats_are_multiplied(void) {
    float a[4] = {1, 2, 3, 4}, c[4];
    const int64_t shape[] = {2, 2};
    bp_view view, result;
    bp_options *options;
    assert_int_equal(bp_view_init(&view, a, BP_F32, 2, shape, NULL), BP_OK);
    assert_int_equal(bp_view_init(&result, c, BP_F32, 2, shape, NULL), BP_OK);
    assert_int_equal(bp_options_new(&options, STRICT), BP_OK);
    assert_int_equal(bp_matmul_run(options, &view.tensor, &view.tensor, &result.tensor), BP_OK);
    bp_options_release(options);
    assert_true(c[0] == 7 && c[1] == 10 && c[2] == 15 && c[3] == 22);
}

/* Only products of integers are refused. */
static void wrong_integers(void **state) {
    (void)state;
    const product p = {.a = BP_U8, .b = BP_I8, .m = 5, .n = 6, .k = 7};
    use(FAKES "dnn-saturates");
    refuse_with(&p, STRICT, "its matmul u8 x i8: wrong results in probe: op NN, 3x5x7, all elements 255 and -128");
    floats_are_multiplied();
    use(FAKES "dnn-rounds");
    refuse_with(&p, STRICT, "its matmul u8 x i8: wrong results in probe");
    floats_are_multiplied();
    use(FAKES "dnn-reference");
    refuse_with(&p, STRICT, "its matmul u8 x i8: not offered on this processor");
    floats_are_multiplied();
    use(FAKES "dnn-sum");
    bp_library_info found = {.struct_size = sizeof found};
    assert_int_equal(bp_library_find("onednn", &found), BP_OK);
    assert_true(found.faulty & BP_PRIMITIVE_BIT(BP_PRIMITIVE_MATMUL_F32));
}

static int restore(void **state) {
    (void)state;
    unsetenv("BACKPLANE_LIBRARY_PATH");
    return bp_reset() != BP_OK;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts),
        cmocka_unit_test(sizes),
        cmocka_unit_test(batches),
        cmocka_unit_test(packed_factors),
        cmocka_unit_test(settings),
        cmocka_unit_test(unsigned_factors),
        cmocka_unit_test(sums_with_c),
        cmocka_unit_test(reference_loops),
        cmocka_unit_test(halves_are_multiplied),
        cmocka_unit_test(wrong_integers),
        cmocka_unit_test(allocations_fail),
    };
    const bp_allocator allocator = {failing_allocate, failing_reallocate, failing_release, NULL};
    if (bp_set_allocator(&allocator) != BP_OK) {
        return 1;
    }
    return cmocka_run_group_tests_name("integers", tests, NULL, restore);
}
