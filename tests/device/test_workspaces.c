/* test_workspaces.c - alignment of workspaces: what a provider asks for, what the library gives it, and what it takes
 * from a program.
 *
 * Memory of "other" has addresses, with 16 bytes of alignment; bases of "fake" are handles. */
#include "device/support_gauge.h"

#include "dispatch/internal.h"

#include <malloc.h>

enum { N = 16, SIZE = 1000 };

/* The next plans are new ones. */
static void forget_plans(void) {
    assert_ok(bp_device_plan_cache_clear(place_of("other:0")));
    assert_ok(bp_device_plan_cache_clear(place_of("fake:0")));
}

static int begin_workspaces(void **state) {
    *gauge = (gauge_record){.workspace = SIZE};
    forget_plans();
    return begin(state);
}

static bp_status plan_product(bp_plan **plan, const char *id, DLManagedTensorVersioned *tensors[3]) {
    const int64_t shape[] = {N, N};
    for (int i = 0; i < 3; i++) {
        assert_ok(bp_tensor_empty_on(&tensors[i], place_of(id), BP_F32, 2, shape, NULL));
    }
    return bp_matmul_plan(plan, NULL, &tensors[0]->dl_tensor, &tensors[1]->dl_tensor, &tensors[2]->dl_tensor);
}

static void free_tensors(DLManagedTensorVersioned *tensors[3]) {
    for (int i = 0; i < 3; i++) {
        free_tensor(tensors[i]);
    }
}

static void operands_of(bp_operand operands[3], DLManagedTensorVersioned *tensors[3]) {
    for (int i = 0; i < 3; i++) {
        operands[i] = (bp_operand){tensors[i]->dl_tensor.data, tensors[i]->dl_tensor.byte_offset};
    }
}

static int alignment_of(const bp_plan *plan) {
    bp_plan_info info = {.struct_size = sizeof info};
    assert_ok(bp_plan_describe(plan, &info));
    return info.workspace_alignment;
}

/* Runs the plan with a workspace of the program. */
static bp_status run_with(const bp_plan *plan, DLManagedTensorVersioned *tensors[3], void *base, uint64_t offset) {
    bp_operand operands[3];
    operands_of(operands, tensors);
    const bp_exec exec = {.struct_size = sizeof exec, .workspace = {base, offset}, .workspace_size = SIZE};
    return bp_execute(plan, operands, &exec);
}

static void addresses_are_checked_with_their_offset(void **state) {
    DLManagedTensorVersioned *tensors[3], *block = new_bytes("other:0", 8192);
    bp_plan *plan;
    (void)state;
    gauge->alignment = 256;
    assert_ok(plan_product(&plan, "other:0", tensors));
    assert_int_equal(alignment_of(plan), 256);
    char *base = block->dl_tensor.data;
    const uint64_t to_next = -(uintptr_t)base & 255;
    assert_ok(run_with(plan, tensors, base, to_next));
    assert_ok(run_with(plan, tensors, base + to_next, 256));
    assert_true(gauge->given.base == base + to_next && gauge->given.offset == 256);
    assert_int_equal(gauge->misaligned, 0);
    const int runs = gauge->runs;
    assert_fails(run_with(plan, tensors, base + to_next + 8, 0), BP_E_ARGUMENT, "is not aligned to 256 bytes");
    assert_fails(run_with(plan, tensors, base, to_next + 64), BP_E_ARGUMENT, "is not aligned to 256 bytes");
    assert_fails(run_with(plan, tensors, base + to_next + 128, 256), BP_E_ARGUMENT, "is not aligned to 256 bytes");
    assert_int_equal(gauge->runs, runs);
    bp_plan_release(plan);
    free_tensors(tensors);
    free_tensor(block);
}

static void handles_are_checked_by_their_offset(void **state) {
    DLManagedTensorVersioned *tensors[3], *block = new_bytes("fake:0", 8192);
    void *base = block->dl_tensor.data;
    bp_plan *plan;
    (void)state;
    assert_ok(plan_product(&plan, "fake:0", tensors));
    assert_int_equal(alignment_of(plan), 64);
    assert_ok(run_with(plan, tensors, base, 64));
    assert_fails(run_with(plan, tensors, base, 32), BP_E_ARGUMENT, "is not aligned to 64 bytes");
    bp_plan_release(plan);
    free_tensors(tensors);
    forget_plans();
    gauge->alignment = 1024;
    assert_ok(plan_product(&plan, "fake:0", tensors));
    assert_int_equal(alignment_of(plan), 1024);
    assert_ok(run_with(plan, tensors, base, 2048));
    assert_fails(run_with(plan, tensors, base, 512), BP_E_ARGUMENT, "is not aligned to 1024 bytes");
    bp_plan_release(plan);
    free_tensors(tensors);
    free_tensor(block);
}

static void workspaces_of_the_library_are_aligned(void **state) {
    static const size_t alignments[] = {0, 64, 512, 4096};
    static const char *const ids[] = {"other:0", "fake:0"};
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        DLManagedTensorVersioned *tensors[3];
        bp_operand operands[3];
        bp_plan *plan;
        const bool addresses = i < 4;
        gauge->alignment = alignments[i % 4];
        forget_plans();
        assert_ok(plan_product(&plan, ids[i / 4], tensors));
        const size_t told = (size_t)alignment_of(plan);
        assert_int_equal(told, gauge->alignment ? gauge->alignment : addresses ? 256 : 64);
        operands_of(operands, tensors);
        assert_ok(bp_execute(plan, operands, NULL));
        assert_int_equal(gauge->given_size, SIZE);
        assert_non_null(gauge->given.base);
        assert_int_equal(((addresses ? (uintptr_t)gauge->given.base : 0) + gauge->given.offset) % told, 0);
        if (addresses) { /* it ends in the block, which the fake runtime takes from malloc() */
            assert_true(gauge->given.offset + SIZE <= malloc_usable_size(gauge->given.base));
        }
        bp_plan_release(plan);
        free_tensors(tensors);
    }
}

/* The parts of a contraction share one workspace, which begins with intermediate results. */
static void parts_of_a_contraction_get_aligned_workspaces(void **state) {
    static const int64_t shapes[3][2] = {{3, 5}, {5, 7}, {7, 3}}, out_shape[] = {3, 3};
    DLManagedTensorVersioned *tensors[3], *out;
    const DLTensor *operands[3];
    bp_plan *plan;
    (void)state;
    gauge->alignment = 1024;
    for (int i = 0; i < 3; i++) {
        assert_ok(bp_tensor_empty_on(&tensors[i], place_of("other:0"), BP_F32, 2, shapes[i], NULL));
        operands[i] = &tensors[i]->dl_tensor;
    }
    assert_ok(bp_tensor_empty_on(&out, place_of("other:0"), BP_F32, 2, out_shape, NULL));
    assert_ok(bp_einsum("ij,jk,kl->il", 3, operands, &out->dl_tensor));
    assert_int_equal(gauge->runs, 2);
    assert_int_equal(gauge->misaligned, 0);
    const bp_einsum_call call = {
        .struct_size = sizeof call, .expression = "ij,jk,kl->il", .count = 3, .operands = operands};
    assert_ok(bp_einsum_plan(&plan, NULL, &call, &out->dl_tensor));
    assert_int_equal(alignment_of(plan), 1024);
    bp_plan_release(plan);
    free_tensors(tensors);
    free_tensor(out);
}

static void wrong_alignments_are_refused(void **state) {
    static const size_t wrong[] = {48, 8192, SIZE_MAX};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        DLManagedTensorVersioned *tensors[3];
        bp_plan *plan;
        char text[64];
        snprintf(text, sizeof text, "workspace_alignment is %zu; it must be", wrong[i]);
        gauge->alignment = wrong[i];
        forget_plans();
        assert_true(plan_product(&plan, "other:0", tensors) != BP_OK);
        if (!strstr(bp_last_error(), text)) {
            fail_msg("'%s' is not in '%s'", text, bp_last_error());
        }
        free_tensors(tensors);
    }
}

/* ---- On the host ---- */

static struct {
    int runs, packs, destroyed;
    bp_operand workspace;
    size_t size;
} of_host;

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    (void)self, (void)operands;
    of_host.runs++;
    of_host.workspace = exec->workspace;
    of_host.size = exec->workspace_size;
    return BP_OK;
}

static void destroy(bp_prepared *self) {
    (void)self;
    of_host.destroyed++;
}

static bp_status pack(const bp_prepared *self, int operand, const bp_operand *source, bp_packed **packed) {
    (void)source, (void)packed;
    of_host.packs += self->workspace == SIZE && operand == 1;
    return BP_OK;
}

static void a_plan_of_the_host_needs_64_bytes(void **state) {
    static _Alignas(4096) char block[3 * 4096];
    bp_prepared inner = {.struct_size = sizeof inner, .enqueue = enqueue, .destroy = destroy, .workspace = SIZE},
                *prepared = &inner;
    (void)state;
    memset(&of_host, 0, sizeof of_host);
    assert_ok(bp__workspace_align(&prepared, 0));
    assert_ptr_equal(prepared, &inner); /* it needs no more */
    inner.workspace_alignment = 1024;
    inner.pack = pack;
    assert_ok(bp__workspace_align(&prepared, 0));
    assert_ptr_not_equal(prepared, &inner);
    assert_int_equal(bp__workspace_alignment(prepared, 0), 64);
    for (uint64_t offset = 0; offset < 1024; offset += 64) {
        const bp_exec exec = {
            .struct_size = sizeof exec, .workspace = {block, offset}, .workspace_size = prepared->workspace};
        assert_ok(prepared->enqueue(prepared, NULL, &exec));
        const uintptr_t at = (uintptr_t)of_host.workspace.base + of_host.workspace.offset;
        assert_int_equal(at % 1024, 0);
        assert_true(at >= (uintptr_t)block + offset);
        assert_true(at + of_host.size <= (uintptr_t)block + offset + prepared->workspace);
        assert_int_equal(of_host.size, SIZE);
    }
    assert_ok(prepared->pack(prepared, 1, NULL, NULL));
    assert_int_equal(of_host.packs, 1);
    prepared->destroy(prepared);
    assert_int_equal(of_host.destroyed, 1);
    inner.workspace_alignment = 96;
    prepared = &inner;
    assert_int_equal(bp__workspace_align(&prepared, 0), BP_E_BROKEN);
    assert_null(prepared);
    assert_int_equal(of_host.destroyed, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(addresses_are_checked_with_their_offset, begin_workspaces, end),
        cmocka_unit_test_setup_teardown(handles_are_checked_by_their_offset, begin_workspaces, end),
        cmocka_unit_test_setup_teardown(workspaces_of_the_library_are_aligned, begin_workspaces, end),
        cmocka_unit_test_setup_teardown(parts_of_a_contraction_get_aligned_workspaces, begin_workspaces, end),
        cmocka_unit_test_setup_teardown(wrong_alignments_are_refused, begin_workspaces, end),
        cmocka_unit_test_setup_teardown(a_plan_of_the_host_needs_64_bytes, begin_workspaces, end),
    };
    return cmocka_run_group_tests(tests, start_gauge, stop_devices);
}
