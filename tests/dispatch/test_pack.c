/* test_pack.c - packed operands: results bitwise equal to unpacked ones on every library, type and layout; lifetimes
 * and refusals. */
#include "backplane.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

/* One product: sizes and layouts of the operands. */
typedef struct shape {
    int64_t m, n, k, batch;
    bool a_transposed, b_transposed, b_shared; /* column-major; one B for the whole batch */
} shape;

static const shape shapes[] = {
    {1, 1, 1, 1, false, false, false},       {1, 300, 700, 1, false, false, false},
    {3, 129, 517, 1, false, false, false},   {5, 64, 33, 1, true, false, false},
    {64, 3, 300, 1, false, true, false},     {17, 50, 1030, 1, true, true, false},
    {130, 130, 130, 1, false, false, false}, {2, 90, 400, 6, false, false, true},
    {7, 31, 65, 5, false, true, true},       {4, 20, 60, 3, false, false, false},
    {1, 1040, 20, 1, false, false, false},   {1050, 2, 30, 1, false, false, false},
};

typedef struct operands {
    bp_dtype dtype;
    size_t size; /* bytes, of an element */
    char *memory[3];
    int64_t elements[3];
    bp_view view[3];
} operands;

static void set(bp_dtype dtype, void *memory, int64_t i, double value) {
    static const uint16_t half[] = {0x0000, 0x3C00, 0x4000, 0xBC00, 0x3800}; /* 0, 1, 2, -1, 0.5 */
    static const uint16_t brain[] = {0x0000, 0x3F80, 0x4000, 0xBF80, 0x3F00};
    int step = (int)(i * 7 % 5);
    switch (dtype) {
    case BP_F16:
        ((uint16_t *)memory)[i] = half[step];
        return;
    case BP_BF16:
        ((uint16_t *)memory)[i] = brain[step];
        return;
    case BP_F32:
        ((float *)memory)[i] = (float)value;
        return;
    case BP_F64:
        ((double *)memory)[i] = value;
        return;
    case BP_C64:
        ((float *)memory)[2 * i] = (float)value;
        ((float *)memory)[2 * i + 1] = (float)(value / 3 - 1);
        return;
    default:
        ((double *)memory)[2 * i] = value;
        ((double *)memory)[2 * i + 1] = value / 3 - 1;
    }
}

static void make_one(operands *o, int which, int64_t batch, int64_t rows, int64_t columns, bool turned) {
    int64_t sizes[] = {batch, rows, columns};
    int64_t strides[] = {rows * columns, turned ? 1 : columns, turned ? rows : 1};
    o->elements[which] = batch * rows * columns;
    o->memory[which] = calloc((size_t)o->elements[which], o->size);
    assert_non_null(o->memory[which]);
    for (int64_t i = 0; i < o->elements[which]; i++) {
        set(o->dtype, o->memory[which], i, (double)(i * 29 % 23) / 8 - 1 + which);
    }
    assert_int_equal(bp_view_init(&o->view[which], o->memory[which], o->dtype, batch > 1 ? 3 : 2, sizes + (batch == 1),
                                  strides + (batch == 1)),
                     BP_OK);
}

static void make(operands *o, bp_dtype dtype, const shape *s) {
    *o = (operands){.dtype = dtype, .size = bp_dtype_size(dtype)};
    make_one(o, 0, s->batch, s->m, s->k, s->a_transposed);
    make_one(o, 1, s->b_shared ? 1 : s->batch, s->k, s->n, s->b_transposed);
    make_one(o, 2, s->batch, s->m, s->n, false);
}

static void give_back(operands *o) {
    for (int i = 0; i < 3; i++) {
        free(o->memory[i]);
    }
}

static bp_plan *plan_of(operands *o, const char *settings) {
    bp_options *options;
    bp_plan *plan = NULL;
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    bp_status status = bp_matmul_plan(&plan, options, &o->view[0].tensor, &o->view[1].tensor, &o->view[2].tensor);
    /* The library does not offer the type or algorithm, or is not on this machine. */
    if (status != BP_OK && status != BP_E_FALLBACK && status != BP_E_NOT_FOUND) {
        fail_msg("%s: %s", settings, bp_last_error());
    }
    bp_options_release(options);
    return plan;
}

/* Compares each way to pass operands with the plan's own run. The source of a packed operand is overwritten, so that a
 * library that still reads it is detected. */
static void compare(operands *o, bp_plan *plan) {
    size_t bytes = (size_t)o->elements[2] * o->size;
    const bp_operand at[] = {{o->memory[0], 0}, {o->memory[1], 0}, {o->memory[2], 0}};
    char *expected = malloc(bytes);
    assert_int_equal(bp_execute(plan, at, NULL), BP_OK);
    memcpy(expected, o->memory[2], bytes);
    for (int mask = 1; mask < 4; mask++) {
        bp_packed *packed[3] = {NULL};
        char *saved[2] = {NULL};
        for (int i = 0; i < 2; i++) {
            size_t size = (size_t)o->elements[i] * o->size;
            if (mask >> i & 1) {
                assert_int_equal(bp_plan_pack(&packed[i], plan, i, &at[i]), BP_OK);
                saved[i] = malloc(size);
                memcpy(saved[i], o->memory[i], size);
                memset(o->memory[i], 0x7F, size); /* NaN in every type */
            }
        }
        memset(o->memory[2], 0x11, bytes);
        bp_exec exec = {.struct_size = sizeof exec, .packed = (const bp_packed *const *)packed};
        for (int turn = 0; turn < 2; turn++) {
            assert_int_equal(bp_execute(plan, at, &exec), BP_OK);
            assert_memory_equal(o->memory[2], expected, bytes);
        }
        for (int i = 0; i < 2; i++) {
            bp_packed_release(packed[i]);
            if (saved[i]) {
                memcpy(o->memory[i], saved[i], (size_t)o->elements[i] * o->size);
                free(saved[i]);
            }
        }
    }
    free(expected);
}

static void packed_operands_give_bitwise_equal_results(void **state) {
    (void)state;
    static const bp_dtype types[] = {BP_F16, BP_BF16, BP_F32, BP_F64, BP_C64, BP_C128};
    static const char *const ways[] = {"blas.preferred=native:packed, num_threads=1",
                                       "blas.preferred=native:packed, num_threads=3", "blas.preferred=native:small",
                                       "blas.preferred=openblas, num_threads=1", "blas.preferred=netlib"};
    int compared = 0;
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
                char settings[160];
                operands o;
                snprintf(settings, sizeof settings, "%s, dispatch.fallback=strict, deterministic=%s", ways[w],
                         w == 3 ? "off" : "run");
                make(&o, types[t], &shapes[s]);
                bp_plan *plan = plan_of(&o, settings);
                if (plan) {
                    compare(&o, plan);
                    compared++;
                }
                bp_plan_release(plan);
                give_back(&o);
            }
        }
    }
    assert_true(compared >= 6 * 12 + 40); /* native supports every type */
}

/* Plans a product whose operand benefits from packing. */
static void plans_report_which_operands_benefit(void **state) {
    (void)state;
    operands o;
    bp_plan_info info = {.struct_size = sizeof info};
    make(&o, BP_F32, &(shape){8, 600, 900, 1, false, false, false});
    bp_plan *plan = plan_of(&o, "blas.preferred=native:packed, dispatch.packed=second");
    assert_int_equal(bp_plan_describe(plan, &info), BP_OK);
    assert_int_equal(info.packs, 3);
    double with = info.cost_ns;
    bp_plan_release(plan);
    plan = plan_of(&o, "blas.preferred=native:packed");
    assert_int_equal(bp_plan_describe(plan, &info), BP_OK);
    assert_true(with < info.cost_ns); /* the cost of packing is not included if it was done before */
    bp_plan_release(plan);
    give_back(&o);
}

static void packed_operands_keep_their_plan(void **state) {
    (void)state;
    operands o;
    bp_packed *packed;
    make(&o, BP_F64, &(shape){9, 200, 100, 1, false, false, false});
    const bp_operand at[] = {{o.memory[0], 0}, {o.memory[1], 0}, {o.memory[2], 0}};
    bp_plan *plan = plan_of(&o, "blas.preferred=native:packed");
    assert_int_equal(bp_plan_pack(&packed, plan, 1, &at[1]), BP_OK);
    bp_plan_release(plan);
    assert_int_equal(bp_plan_cache_clear(), BP_OK);
    assert_int_equal(bp_reset(), BP_E_BUSY);
    assert_non_null(strstr(bp_last_error(), "1 packed operand is still held"));
    const bp_packed *list[3] = {NULL, packed, NULL};
    bp_exec exec = {.struct_size = sizeof exec, .packed = list};
    assert_int_equal(bp_execute(plan, at, &exec), BP_OK); /* it still exists */
    bp_packed_release(packed);
    bp_packed_release(NULL);
    assert_int_equal(bp_reset(), BP_OK);
    give_back(&o);
}

static void refusals_name_the_operand(void **state) {
    (void)state;
    operands o, other;
    bp_packed *packed, *wrong = (bp_packed *)(void *)&o;
    make(&o, BP_F64, &(shape){9, 200, 100, 1, false, false, false});
    make(&other, BP_F64, &(shape){9, 201, 100, 1, false, false, false});
    const bp_operand at[] = {{o.memory[0], 0}, {o.memory[1], 0}, {o.memory[2], 0}};
    bp_plan *plan = plan_of(&o, "blas.preferred=native:packed");
    bp_plan *second = plan_of(&other, "blas.preferred=native:packed");
    assert_int_equal(bp_plan_pack(&wrong, plan, 2, &at[2]), BP_E_ARGUMENT);
    assert_null(wrong);
    assert_non_null(strstr(bp_last_error(), "not an input"));
    assert_int_equal(bp_plan_pack(&wrong, plan, -1, &at[0]), BP_E_ARGUMENT);
    assert_int_equal(bp_plan_pack(&wrong, plan, 0, &(bp_operand){0}), BP_E_ARGUMENT);
    assert_int_equal(bp_plan_pack(&wrong, NULL, 0, &at[0]), BP_E_ARGUMENT);
    assert_int_equal(bp_plan_pack(&packed, plan, 1, &at[1]), BP_OK);
    const bp_packed *as_first[3] = {packed, NULL, NULL}, *as_second[3] = {NULL, packed, NULL};
    const bp_packed *as_output[3] = {NULL, NULL, packed};
    bp_exec exec = {.struct_size = sizeof exec, .packed = as_first};
    assert_int_equal(bp_execute(plan, at, &exec), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "another operand"));
    exec.packed = as_output;
    assert_int_equal(bp_execute(plan, at, &exec), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "packed[2]"));
    exec.packed = as_second;
    assert_int_equal(bp_execute(second, at, &exec), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "another plan"));
    bp_packed_release(packed);
    bp_plan_release(plan);
    bp_plan_release(second);
    give_back(&o);
    give_back(&other);
}

static void only_products_pack(void **state) {
    (void)state;
    static double in[16], out[32];
    int64_t length[] = {16}, half[] = {9};
    bp_view v, w;
    bp_plan *plan;
    bp_packed *packed;
    bp_view_init(&v, in, BP_F64, 1, length, NULL);
    bp_view_init(&w, out, BP_C128, 1, half, NULL);
    bp_fft_call call = {.struct_size = sizeof call, .transform = BP_RFFT, .axis_count = BP_FFT_ALL};
    assert_int_equal(bp_fft_plan(&plan, NULL, &call, &v.tensor, &w.tensor), BP_OK);
    const bp_operand at[] = {{in, 0}, {out, 0}};
    const bp_packed *list[2] = {NULL, NULL};
    bp_exec exec = {.struct_size = sizeof exec, .packed = list};
    assert_int_equal(bp_plan_pack(&packed, plan, 0, &at[0]), BP_E_UNSUPPORTED);
    assert_int_equal(bp_execute(plan, at, &exec), BP_E_UNSUPPORTED);
    bp_plan_release(plan);
}

/* ---- Several threads on one packed operand ---- */

typedef struct shared {
    bp_plan *plan;
    const bp_packed *list[3];
    operands o;
    char *expected;
    bool wrong;
} shared;

static void *run_many(void *context) {
    shared *s = context;
    size_t bytes = (size_t)s->o.elements[2] * s->o.size;
    char *own = malloc(bytes);
    const bp_operand at[] = {{s->o.memory[0], 0}, {NULL, 0}, {own, 0}};
    bp_exec exec = {.struct_size = sizeof exec, .packed = s->list};
    for (int i = 0; i < 50; i++) {
        if (bp_execute(s->plan, at, &exec) != BP_OK || memcmp(own, s->expected, bytes) != 0) {
            s->wrong = true;
        }
    }
    free(own);
    return NULL;
}

static void threads_share_a_packed_operand(void **state) {
    (void)state;
    shared s = {0};
    bp_packed *packed;
    pthread_t threads[4];
    make(&s.o, BP_F32, &(shape){6, 150, 260, 1, false, false, false});
    s.plan = plan_of(&s.o, "blas.preferred=native:packed, num_threads=1");
    const bp_operand at[] = {{s.o.memory[0], 0}, {s.o.memory[1], 0}, {s.o.memory[2], 0}};
    assert_int_equal(bp_execute(s.plan, at, NULL), BP_OK);
    s.expected = s.o.memory[2];
    assert_int_equal(bp_plan_pack(&packed, s.plan, 1, &at[1]), BP_OK);
    s.list[1] = packed;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_many, &s), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_false(s.wrong);
    bp_packed_release(packed);
    bp_plan_release(s.plan);
    give_back(&s.o);
}

/* The adapter that rounds the inputs needs unpacked operands, whatever layout the library has. */
static void rounded_products_take_packed_operands(void **state) {
    (void)state;
    static const char *const ways[] = {"simulate.tf32=true, blas.preferred=native:packed",
                                       "simulate.bf16=true, blas.preferred=native:packed, dispatch.packed=both"};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        operands o;
        bp_plan_info info = {.struct_size = sizeof info};
        make(&o, BP_F32, &(shape){130, 130, 130, 1, false, false, false});
        bp_plan *plan = plan_of(&o, ways[w]);
        compare(&o, plan);
        assert_int_equal(bp_plan_describe(plan, &info), BP_OK);
        assert_int_equal(info.packs, 0); /* packing saves no time */
        bp_plan_release(plan);
        give_back(&o);
    }
}

/* 2^59 elements with strides of 0: their panels would exceed a size_t. */
static void operands_too_large_to_pack_are_refused(void **state) {
    (void)state;
    uint16_t one = 0x3C00;
    const int64_t row[] = {1, INT64_C(1) << 59}, column[] = {INT64_C(1) << 59, 1}, single[] = {1, 1}, same[] = {0, 0};
    const bp_operand source = {&one, 0};
    bp_view a, b, c;
    bp_options *options;
    bp_plan *plan;
    assert_int_equal(bp_view_init(&a, &one, BP_F16, 2, row, same), BP_OK);
    assert_int_equal(bp_view_init(&b, &one, BP_F16, 2, column, same), BP_OK);
    assert_int_equal(bp_view_init(&c, NULL, BP_F16, 2, single, NULL), BP_OK);
    assert_int_equal(bp_options_new(&options, "blas.preferred=native:packed, num_threads=1"), BP_OK);
    assert_int_equal(bp_matmul_plan(&plan, options, &a.tensor, &b.tensor, &c.tensor), BP_OK);
    for (int i = 0; i < 2; i++) {
        bp_packed *packed;
        assert_int_equal(bp_plan_pack(&packed, plan, i, &source), BP_E_NO_MEMORY);
        assert_null(packed);
    }
    bp_plan_release(plan);
    bp_options_release(options);
}

/* Elements shared by several indices, with unreadable memory between them. */
static void memory_between_elements_is_not_read(void **state) {
    (void)state;
    enum { FAR = 4 * 65536 };
    char *region = mmap(NULL, 3 * FAR, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    double b[] = {1, 2, 3, 4}, c[4] = {0};
    const double expected[] = {2 * 1 + 3 * 3, 2 * 2 + 3 * 4, 3 * 1 + 5 * 3, 3 * 2 + 5 * 4}, values[] = {2, 3, 5};
    const int64_t sides[] = {2, 2}, strides[] = {FAR / sizeof(double), FAR / sizeof(double)};
    bp_view x, y, z;
    bp_options *options;
    bp_plan *plan;
    bp_packed *packed[3] = {NULL};
    assert_true(region != MAP_FAILED);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mprotect(region + i * FAR, 65536, PROT_READ | PROT_WRITE), 0);
        memcpy(region + i * FAR, &values[i], sizeof(double));
    }
    assert_int_equal(bp_view_init(&x, region, BP_F64, 2, sides, strides), BP_OK);
    bp_view_matrix(&y, b, BP_F64, 2, 2);
    bp_view_matrix(&z, c, BP_F64, 2, 2);
    assert_int_equal(bp_options_new(&options, "blas.preferred=native:tiny"), BP_OK);
    assert_int_equal(bp_matmul_plan(&plan, options, &x.tensor, &y.tensor, &z.tensor), BP_OK);
    const bp_operand at[] = {{region, 0}, {b, 0}, {c, 0}};
    assert_int_equal(bp_plan_pack(&packed[0], plan, 0, &at[0]), BP_OK);
    munmap(region, 3 * FAR);
    bp_exec exec = {.struct_size = sizeof exec, .packed = (const bp_packed *const *)packed};
    assert_int_equal(bp_execute(plan, at, &exec), BP_OK);
    assert_memory_equal(c, expected, sizeof c);
    bp_packed_release(packed[0]);
    bp_plan_release(plan);
    bp_options_release(options);
}

static int reset(void **state) {
    (void)state;
    return bp_reset() == BP_OK ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_operands_give_bitwise_equal_results),
        cmocka_unit_test(plans_report_which_operands_benefit),
        cmocka_unit_test(packed_operands_keep_their_plan),
        cmocka_unit_test(refusals_name_the_operand),
        cmocka_unit_test(only_products_pack),
        cmocka_unit_test(threads_share_a_packed_operand),
        cmocka_unit_test(rounded_products_take_packed_operands),
        cmocka_unit_test(operands_too_large_to_pack_are_refused),
        cmocka_unit_test(memory_between_elements_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, reset);
}
