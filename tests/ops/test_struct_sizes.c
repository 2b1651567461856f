/* test_struct_sizes.c - structs of programs built with another version: smaller and larger ones are filled and read up
 * to their size, and nothing beyond is touched. */
#include "backplane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Operands of the calls below ---- */

static double x[16] = {4, 1, 0, 0, 1, 4, 1, 0, 0, 1, 4, 1, 0, 0, 1, 4}, y[16], spectrum[32];
static bp_view in, out, line, complex_line;
static bp_plan *plan, *contraction;
static bp_explanation *explanation;
static bp_contraction_path *path;

static int set_up(void **state) {
    (void)state;
    static const int64_t length[] = {16}, half[] = {9}, pair[] = {4, 4};
    static const DLTensor *tensors[2];
    static const bp_einsum_operand operands[] = {{.ndim = 2, .shape = pair}, {.ndim = 2, .shape = pair}};
    bp_view_matrix(&in, x, BP_F64, 4, 4);
    bp_view_matrix(&out, y, BP_F64, 4, 4);
    bp_view_init(&line, x, BP_F64, 1, length, NULL);
    bp_view_init(&complex_line, spectrum, BP_C128, 1, half, NULL);
    tensors[0] = tensors[1] = &in.tensor;
    bp_einsum_call call = {.struct_size = sizeof call, .expression = "ij,jk->ik", .count = 2, .operands = tensors};
    bool made = bp_matmul_plan(&plan, NULL, &in.tensor, &in.tensor, &out.tensor) == BP_OK &&
                bp_matmul(&in.tensor, &in.tensor, &out.tensor) == BP_OK &&
                bp_matmul_explain(&explanation, NULL, &in.tensor, &in.tensor, &out.tensor) == BP_OK &&
                bp_einsum_plan(&contraction, NULL, &call, &out.tensor) == BP_OK &&
                bp_einsum_path(&path, NULL, "ij,jk->ik", 2, operands) == BP_OK;
    return made ? 0 : -1;
}

static int give_back(void **state) {
    (void)state;
    bp_plan_release(plan);
    bp_plan_release(contraction);
    bp_explanation_release(explanation);
    bp_contraction_path_release(path);
    return bp_reset() == BP_OK ? 0 : -1;
}

/* ---- Structs that the library fills: one function each, true if it was filled ---- */

#define FILLER(name, type, call)                                                                                       \
    static bool name(void *info) {                                                                                     \
        type *i = info;                                                                                                \
        return call;                                                                                                   \
    }
FILLER(machine, bp_machine_info, bp_machine(i) == BP_OK)
FILLER(loaded, bp_loaded_object, bp_loaded_object_at(0, i) == 1)
FILLER(library, bp_library_info, bp_library_at(0, i))
FILLER(found_library, bp_library_info, bp_library_find("native", i) == BP_OK)
FILLER(provider, bp_provider_info, bp_provider_at(0, i) == 1)
FILLER(described, bp_plan_info, bp_plan_describe(plan, i) == BP_OK)
FILLER(last, bp_plan_info, bp_last_plan(i) == BP_OK)
FILLER(cache, bp_plan_cache_info, bp_plan_cache_stats(i) == BP_OK)
FILLER(fft_cache, bp_plan_cache_info, bp_fft_plan_cache_stats(i) == BP_OK)
FILLER(path_cache, bp_plan_cache_info, bp_einsum_path_cache_stats(i) == BP_OK)
FILLER(candidate, bp_candidate_info, bp_explanation_at(explanation, 0, i) == 1)
FILLER(backend, bp_backend_info, bp_backend_status("cpu", i) == BP_OK)
FILLER(listed_backend, bp_backend_info, bp_backend_at(0, i) == 1)
FILLER(part, bp_einsum_part, bp_einsum_part_at(contraction, 0, i) == 1)
FILLER(described_path, bp_contraction_path_info, bp_contraction_path_describe(path, i) == BP_OK)
FILLER(step, bp_contraction_step, bp_contraction_path_at(path, 0, i) == 1)

/* Members of several words, in which no size may end. */
typedef struct several {
    bool (*fill)(void *info);
    size_t from, end;
} several;
#define SEVERAL(filler, type, member)                                                                                  \
    { filler, offsetof(type, member), offsetof(type, member) + sizeof((type *)NULL)->member }
static const several members[] = {
    SEVERAL(described, bp_plan_info, problem), SEVERAL(last, bp_plan_info, problem),
    SEVERAL(loaded, bp_loaded_object, path),   SEVERAL(loaded, bp_loaded_object, kind),
    SEVERAL(loaded, bp_loaded_object, family),
};

static bool ends_inside(bool (*fill)(void *info), size_t size) {
    bool inside = false;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        inside |= members[i].fill == fill && size > members[i].from && size < members[i].end;
    }
    return inside;
}

static const struct {
    bool (*fill)(void *info);
    size_t size;
    bool optional; /* the described object may be missing on this machine */
} filled[] = {
    {machine, sizeof(bp_machine_info), false},
    {loaded, sizeof(bp_loaded_object), true},
    {library, sizeof(bp_library_info), false},
    {found_library, sizeof(bp_library_info), false},
    {provider, sizeof(bp_provider_info), false},
    {described, sizeof(bp_plan_info), false},
    {last, sizeof(bp_plan_info), false},
    {cache, sizeof(bp_plan_cache_info), false},
    {fft_cache, sizeof(bp_plan_cache_info), false},
    {path_cache, sizeof(bp_plan_cache_info), false},
    {candidate, sizeof(bp_candidate_info), false},
    {backend, sizeof(bp_backend_info), false},
    {listed_backend, sizeof(bp_backend_info), false},
    {part, sizeof(bp_einsum_part), false},
    {described_path, sizeof(bp_contraction_path_info), false},
    {step, sizeof(bp_contraction_step), false},
};

enum { CAPACITY = 4096, MORE = 64, CANARY = 0xA5 };

static void prepare(char *memory, size_t size) {
    memset(memory, CANARY, CAPACITY);
    memcpy(memory, &size, sizeof size);
}

/* Leaves a value in the memory that the next call uses for its variables, so that one that it does not set shows. */
__attribute__((noinline)) static void soil_stack(int value) {
    volatile char memory[32768];
    for (size_t i = 0; i < sizeof memory; i++) {
        memory[i] = (char)value;
    }
}

static void smaller_structs_are_filled_as_far_as_they_go(void **state) {
    (void)state;
    static _Alignas(16) char whole[CAPACITY], some[CAPACITY];
    for (size_t f = 0; f < sizeof filled / sizeof *filled; f++) {
        size_t size = filled[f].size;
        prepare(whole, size);
        soil_stack(0x55);
        bool there = filled[f].fill(whole);
        assert_true(there || filled[f].optional);
        for (size_t less = 16; there && less <= size + MORE; less += 8) {
            size_t known = less < size ? less : size, kept;
            prepare(some, less);
            if (ends_inside(filled[f].fill, less)) {
                assert_false(filled[f].fill(some));
                continue;
            }
            soil_stack(0x33);
            assert_true(filled[f].fill(some));
            memcpy(&kept, some, sizeof kept);
            assert_int_equal(kept, less); /* the caller's size is unchanged */
            assert_memory_equal(some + sizeof kept, whole + sizeof kept, known - sizeof kept);
            for (size_t i = known; i < CAPACITY; i++) {
                assert_int_equal((unsigned char)some[i], CANARY);
            }
        }
    }
}

static void invalid_sizes_are_refused(void **state) {
    (void)state;
    static _Alignas(16) char memory[CAPACITY];
    static const size_t wrong[] = {0, 1, 8, 17, 12, 20, 28, 44, 1 << 20, SIZE_MAX};
    for (size_t f = 0; f < sizeof filled / sizeof *filled; f++) {
        for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
            prepare(memory, wrong[w]);
            assert_false(filled[f].fill(memory));
            for (size_t i = sizeof wrong[w]; i < CAPACITY; i++) {
                assert_int_equal((unsigned char)memory[i], CANARY);
            }
        }
    }
}

/* ---- Structs that the library reads ---- */

static bp_status run_linalg(const void *call) {
    return bp_linalg_run(NULL, call);
}

static bp_status run_fft(const void *call) {
    return bp_fft_run(NULL, call, &line.tensor, &complex_line.tensor);
}

static bp_status run_einsum(const void *call) {
    return bp_einsum_run(NULL, call, &out.tensor);
}

static bp_status search(const void *how) {
    static const int64_t pair[] = {4, 4};
    static const bp_einsum_operand operands[] = {{.ndim = 2, .shape = pair}, {.ndim = 2, .shape = pair}};
    bp_contraction_path *made;
    bp_status status = bp_einsum_path(&made, how, "ij,jk->ik", 2, operands);
    if (status == BP_OK) {
        bp_contraction_path_release(made);
    }
    return status;
}

static bp_status execute(const void *exec) {
    const bp_operand operands[] = {{x, 0}, {x, 0}, {y, 0}};
    return bp_execute(plan, operands, exec);
}

/* Runs with all required members within `least` bytes; the others have their defaults. Sizes between `from` and `end`
 * end inside a member. */
static void check_read(bp_status (*run)(const void *), const void *given, size_t size, size_t least, size_t from,
                       size_t end) {
    static _Alignas(16) char memory[CAPACITY];
    for (size_t less = least; less <= size + MORE; less += 8) {
        memset(memory, 0xFF, sizeof memory); /* memory beyond the struct must not be read */
        memset(memory, 0, less > size ? less : 0);
        memcpy(memory, given, less < size ? less : size);
        memcpy(memory, &less, sizeof less);
        const bool inside = less > from && less < end;
        assert_int_equal(run(memory), inside ? BP_E_ARGUMENT : BP_OK);
        assert_true(!inside || strstr(bp_last_error(), "ends inside") != NULL);
    }
    for (size_t less = sizeof less + 1; less <= size + MORE; less++) {
        if (less % sizeof less != 0) { /* it ends inside a member */
            memcpy(memory, &less, sizeof less);
            assert_int_equal(run(memory), BP_E_ARGUMENT);
            assert_non_null(strstr(bp_last_error(), "struct_size"));
        }
    }
    memset(memory, 0, sizeof memory);
    memcpy(memory, given, size);
    size_t later = size + 8;
    memcpy(memory, &later, sizeof later);
    memory[size + 3] = 1; /* a member that this version does not know */
    assert_int_equal(run(memory), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "later version"));
    memcpy(memory, &(size_t){0}, sizeof(size_t));
    assert_int_equal(run(memory), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "struct_size"));
}

static void smaller_structs_are_read_as_far_as_they_go(void **state) {
    (void)state;
    const DLTensor *tensors[] = {&in.tensor, &in.tensor};
    bp_linalg_call inverse = {.struct_size = sizeof inverse,
                              .op = BP_OP_INV,
                              .input = {&in.tensor},
                              .output = {&out.tensor},
                              .fail_on_item_error = 1};
    bp_fft_call transform = {.struct_size = sizeof transform, .transform = BP_RFFT, .axis_count = BP_FFT_ALL};
    bp_einsum_call product = {
        .struct_size = sizeof product, .expression = "ij,jk->ik", .count = 2, .operands = tensors};
    bp_einsum_search how = {.struct_size = sizeof how};
    bp_exec exec = {.struct_size = sizeof exec};
    check_read(run_linalg, &inverse, sizeof inverse, offsetof(bp_linalg_call, output) + sizeof(DLTensor *),
               offsetof(bp_linalg_call, output), offsetof(bp_linalg_call, output) + sizeof inverse.output);
    check_read(run_fft, &transform, sizeof transform,
               (offsetof(bp_fft_call, axis_count) + sizeof transform.axis_count + 7) / 8 * 8, 0, 0);
    check_read(run_einsum, &product, sizeof product, offsetof(bp_einsum_call, operands) + sizeof product.operands, 0,
               0);
    check_read(search, &how, sizeof how, 16, 0, 0);
    check_read(execute, &exec, sizeof exec, 16, offsetof(bp_exec, workspace),
               offsetof(bp_exec, workspace) + sizeof exec.workspace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smaller_structs_are_filled_as_far_as_they_go),
        cmocka_unit_test(invalid_sizes_are_refused),
        cmocka_unit_test(smaller_structs_are_read_as_far_as_they_go),
    };
    return cmocka_run_group_tests(tests, set_up, give_back);
}
