/* test_planned.c - tests communicators of ranks that are not here: explanations, and refusals of all else. */
#include "backplane.h"

#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Fails with the library's message. */
static void assert_ok(bp_status status) {
    if (status != BP_OK) {
        fail_msg("%s", bp_last_error());
    }
}

static bp_comm *comm_of(int ranks) {
    const bp_comm_machine machine = {sizeof machine, ranks, 2000, 25e9, 3e10};
    bp_comm *comm = NULL;
    assert_ok(bp_comm_from_machine(&comm, &machine));
    return comm;
}

static void view_of(bp_dist_view *view, bp_comm *comm, int64_t rows, int64_t columns) {
    bp_dist dist = {.struct_size = sizeof dist, .comm = comm, .shape = {rows, columns}};
    assert_ok(bp_dist_complete(&dist));
    assert_ok(bp_dist_view_init(view, NULL, 0, BP_F64, &dist));
}

static void wrong_machines(void **state) {
    static const bp_comm_machine wrong[] = {
        {sizeof wrong[0], 0, 1, 1, 1},        {sizeof wrong[0], -4, 1, 1, 1},          {sizeof wrong[0], 4, -1, 1, 1},
        {sizeof wrong[0], 4, 1, INFINITY, 1}, {sizeof wrong[0], 4, 1, 1, (double)NAN}, {3, 4, 1, 1, 1}};
    (void)state;
    bp_comm *comm = (bp_comm *)&comm;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(bp_comm_from_machine(&comm, &wrong[i]), BP_E_ARGUMENT);
        assert_null(comm);
    }
    assert_int_equal(bp_comm_from_machine(&comm, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_comm_from_machine(NULL, &wrong[0]), BP_E_ARGUMENT);
}

static void facts(void **state) {
    (void)state;
    bp_comm *comm = comm_of(6);
    bp_comm_info info = {.struct_size = sizeof info};
    assert_ok(bp_comm_describe(comm, &info));
    assert_int_equal(info.rank, 0);
    assert_int_equal(info.size, 6);
    assert_string_equal(info.mpi, "none");
    assert_string_equal(info.library, "");
    assert_true(info.latency_ns == 2000 && info.bytes_per_sec == 25e9 && !info.initialized_here);
    bp_dist dist = {.struct_size = sizeof dist, .comm = comm, .shape = {100, 100}};
    assert_ok(bp_dist_complete(&dist));
    assert_true(dist.grid[0] == 2 && dist.grid[1] == 3);
    int64_t whole = 0, local[2];
    for (int rank = 0; rank < 6; rank++) {
        assert_ok(bp_dist_local_shape(&dist, rank, local));
        whole += local[0] * local[1];
    }
    assert_int_equal(whole, 100 * 100);
    assert_ok(bp_comm_close(comm));
}

/* The largest number of ranks is a prime number. */
static void most_ranks(void **state) {
    (void)state;
    bp_comm *comm = comm_of(INT_MAX);
    bp_dist dist = {.struct_size = sizeof dist, .comm = comm, .shape = {100, 100}};
    assert_ok(bp_dist_complete(&dist));
    assert_true(dist.grid[0] == 1 && dist.grid[1] == INT_MAX);
    assert_ok(bp_comm_close(comm));
}

/* The chosen candidate's text. */
static const char *explained(bp_explanation **explanation, bp_dist_view *a, bp_dist_view *b, bp_dist_view *c) {
    static bp_candidate_info info;
    const bp_scalar one = {1, 0}, zero = {0, 0};
    assert_ok(bp_gemm_explain(explanation, NULL, BP_AS_IS, BP_AS_IS, &one, &a->tensor, &b->tensor, &zero, &c->tensor));
    info = (bp_candidate_info){.struct_size = sizeof info};
    for (int i = 0; bp_explanation_at(*explanation, i, &info); i++) {
        if (info.chosen) {
            return info.text;
        }
    }
    fail_msg("nothing is chosen: %s", bp_explanation_text(*explanation));
    return NULL;
}

/* 8 n^2 ((rows of the grid - 1) + (columns - 1)) bytes: a panel goes to all other ranks of its row or column. */
static void bytes_of_products(void **state) {
    static const struct {
        int ranks;
        const char *sends;
    } cases[] = {{1, "sends 0 B in 0 messages"},
                 {4, "sends 16.0 MB in "},
                 {100, "sends 144 MB in "},
                 {1024, "sends 496 MB in "},
                 {10000, "sends 1.6 GB in "}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bp_comm *comm = comm_of(cases[i].ranks);
        bp_dist_view a, b, c;
        bp_explanation *explanation = NULL;
        view_of(&a, comm, 1000, 1000), view_of(&b, comm, 1000, 1000), view_of(&c, comm, 1000, 1000);
        const char *text = explained(&explanation, &a, &b, &c);
        if (!strstr(text, cases[i].sends)) {
            fail_msg("%d ranks: %s, not %s", cases[i].ranks, text, cases[i].sends);
        }
        bp_explanation_release(explanation);
        assert_ok(bp_comm_close(comm));
    }
}

/* 16 bytes of each element that changes its rank, twice; a message from each rank that has elements to each other one.
 */
static void bytes_of_transforms(void **state) {
    static const struct {
        int ranks;
        const char *sends;
        int columns;
    } cases[] = {
        {1, "sends 0 B in 0 messages, busiest rank 0 B in 0; memory of a rank 32.0 MB + 0 B", 1000},
        {4, "sends 24.0 MB in 24 messages, busiest rank 6.0 MB in 6; memory of a rank 8.0 MB + 1.0 MB", 1000},
        {16, "sends 30.0 MB in 480 messages, busiest rank 1.9 MB in 30; memory of a rank 2.0 MB + 63.5 kB", 1000},
        {1000, "sends 32.0 MB in 2.0 M messages, busiest rank 32.0 kB in 2.0 k; memory of a rank 32.0 kB + 16 B", 1000},
        {5000, "sends 32.0 MB in 2.0 M messages, busiest rank 32.0 kB in 2.0 k; memory of a rank 32.0 kB + 16 B", 1000},
        {4, "busiest rank 36.0 kB in 6; memory of a rank 64.0 kB + 28.0 kB", 5}};
    const bp_fft_call call = {sizeof call, BP_FFT, BP_FFT_BACKWARD, BP_FFT_ALL, NULL, NULL};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bp_dist dist = {.struct_size = sizeof dist, .comm = comm_of(cases[i].ranks), .shape = {1000, cases[i].columns}};
        bp_dist_view in, out;
        bp_explanation *explanation = NULL;
        bp_candidate_info info = {.struct_size = sizeof info};
        assert_ok(bp_dist_slabs(&dist));
        assert_ok(bp_dist_view_init(&in, NULL, 0, BP_C128, &dist));
        assert_ok(bp_dist_view_init(&out, NULL, 0, BP_C128, &dist));
        assert_ok(bp_fft_explain(&explanation, NULL, &call, &in.tensor, &out.tensor));
        for (int j = 0; bp_explanation_at(explanation, j, &info) && !info.chosen; j++) {
        }
        if (!info.chosen || !strstr(info.text, cases[i].sends)) {
            fail_msg("%d ranks: %s, not %s", cases[i].ranks, info.text, cases[i].sends);
        }
        bp_explanation_release(explanation);
        assert_ok(bp_comm_close(dist.comm));
    }
}

/* Panels that cross a grid with a million columns are counted at once. */
static void transposes_on_long_grids(void **state) {
    const bp_scalar one = {1, 0}, zero = {0, 0};
    const int64_t n = 20000000;
    (void)state;
    bp_comm *comm = comm_of(1048573);
    bp_dist_view a, c;
    bp_explanation *explanation = NULL;
    view_of(&a, comm, n, n), view_of(&c, comm, n, n);
    assert_ok(
        bp_gemm_explain(&explanation, NULL, BP_TRANSPOSE, BP_TRANSPOSE, &one, &a.tensor, &a.tensor, &zero, &c.tensor));
    bp_explanation_release(explanation);
    assert_ok(bp_comm_close(comm));
}

/* n^3 / P / sqrt(8 M) - M elements, with the memory M of the three matrices and of two panels of 32 columns. */
static void least_bytes(void **state) {
    (void)state;
    bp_comm *comm = comm_of(1 << 14);
    bp_dist_view a, b, c;
    bp_explanation *explanation = NULL;
    view_of(&a, comm, 131072, 131072), view_of(&b, comm, 131072, 131072), view_of(&c, comm, 131072, 131072);
    const double n = 131072, ranks = 1 << 14, memory = 3 * n * n / ranks + 64 * n / 128;
    const double bytes = 8 * (n * n * n / ranks / sqrt(8 * memory) - memory);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "(at least %.0f MB)", bytes / 1e6);
    const char *text = explained(&explanation, &a, &b, &c);
    if (!strstr(text, wanted)) {
        fail_msg("%s, not %s", text, wanted);
    }
    bp_explanation_release(explanation);
    assert_ok(bp_comm_close(comm));
}

static void check_empty(bp_comm *comm) {
    bp_dist_view empty;
    view_of(&empty, comm, 0, 0);
    assert_int_equal(bp_matmul(&empty.tensor, &empty.tensor, &empty.tensor), BP_E_UNSUPPORTED);
}

/* Contractions take no distributed operands, and so are not explained either. */
static void check_contraction(const bp_dist_view *a, const bp_dist_view *b) {
    const DLTensor *operands[] = {&a->tensor, &a->tensor};
    const bp_einsum_call call = {
        .struct_size = sizeof call, .expression = "ij,jk->ik", .count = 2, .operands = operands};
    bp_explanation *explanation = NULL;
    assert_int_equal(bp_einsum_explain(&explanation, NULL, &call, &b->tensor), BP_E_DEVICE);
    assert_null(explanation);
}

/* Nothing runs, and nothing crashes. */
static void refusals(void **state) {
    (void)state;
    bp_comm *comm = comm_of(1);
    bp_dist dist = {.struct_size = sizeof dist, .comm = comm, .shape = {3, 3}};
    double numbers[2][9] = {{0}};
    bp_dist_view a, b;
    assert_ok(bp_dist_complete(&dist));
    assert_ok(bp_dist_view_init(&a, numbers[0], 0, BP_F64, &dist));
    assert_ok(bp_dist_view_init(&b, numbers[1], 0, BP_F64, &dist));
    assert_int_equal(bp_redistribute(&a.tensor, &b.tensor), BP_E_UNSUPPORTED);
    assert_int_equal(bp_dist_write("/nowhere/x.npy", &a.tensor), BP_E_UNSUPPORTED);
    assert_int_equal(bp_dist_read("/nowhere/x.npy", &a.tensor), BP_E_UNSUPPORTED);
    assert_int_equal(bp_cholesky(&a.tensor, 0, &b.tensor), BP_E_UNSUPPORTED);
    assert_int_equal(bp_matmul(&a.tensor, &a.tensor, &b.tensor), BP_E_UNSUPPORTED);
    bp_plan *plan = NULL;
    const bp_linalg_call call = {
        .struct_size = sizeof call, .op = BP_OP_CHOLESKY, .input = {&a.tensor}, .output = {&b.tensor}};
    assert_int_equal(bp_linalg_plan(&plan, NULL, &call), BP_E_UNSUPPORTED);
    assert_null(plan);
    check_empty(comm);
    check_contraction(&a, &b);
    assert_ok(bp_comm_close(comm));
    assert_int_equal(bp_redistribute(&a.tensor, &b.tensor), BP_E_DEVICE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_machines),
        cmocka_unit_test(facts),
        cmocka_unit_test(most_ranks),
        cmocka_unit_test(bytes_of_products),
        cmocka_unit_test(least_bytes),
        cmocka_unit_test(refusals),
        cmocka_unit_test(transposes_on_long_grids),
        cmocka_unit_test(bytes_of_transforms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
