/* ranks_refusals.c - checks that calls which cannot be right fail with the same status on all ranks, and end no
 * process.
 *
 * Usage: ranks_refusals [skip | kill | during | exit | alone | finalize | cut FOLDER]. With a word, the last rank skips
 * a call, is killed between calls or during one, exits with 0, MPI is not initialized, or the network between the ranks
 * is cut (two_hosts.py). */
#include "distributed/ranks.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 37 };

static bp_dist plain(void) {
    return (bp_dist){.struct_size = sizeof(bp_dist), .comm = ranks_comm, .block = {8, 8}};
}

static bool is_last(void) {
    return ranks_rank == ranks_size - 1;
}

/* Checks the status, and that the message has the words. */
static void expect(bp_status got, bp_status wanted, const char *words, const char *what) {
    CHECK(got == wanted && bp_last_status() == wanted, "%s: %s, not %s", what, bp_status_name(got),
          bp_status_name(wanted));
    CHECK(strstr(bp_last_error(), words) != NULL, "%s: no '%s' in the message", what, words);
}

static void named(char *buffer, size_t size, int rank) {
    if (ranks_size > 1) {
        snprintf(buffer, size, "rank %d", rank);
    } else {
        buffer[0] = 0;
    }
}

/* ---- The same on all ranks ---- */

static void check_operands(void) {
    ranks_matrix a, b, c, d;
    bp_dist like = plain(), other = plain(), wide = plain();
    other.block[0] = other.block[1] = 16, wide.block[1] = 4;
    double host[N * N] = {0};
    bp_view view;
    ranks_make(&a, &like, BP_F64, N, N, ranks_random);
    ranks_make(&b, &other, BP_F64, N, N, ranks_random);
    ranks_make(&c, &like, BP_F64, N, N, ranks_random);
    ranks_make(&d, &wide, BP_F64, N, N, ranks_random);
    bp_view_matrix(&view, host, BP_F64, N, N);
    expect(bp_matmul(&a.view.tensor, &b.view.tensor, &c.view.tensor), BP_E_DEVICE, "bp_redistribute", "two blocks");
    expect(bp_matmul(&a.view.tensor, &view.tensor, &c.view.tensor), BP_E_DEVICE, "not", "host and distributed");
    expect(bp_cholesky(&d.view.tensor, 0, &d.view.tensor), BP_E_OVERLAP, "", "in place");
    expect(bp_pinv(&a.view.tensor, NULL, NULL, 0, &c.view.tensor), BP_E_NO_CANDIDATE, "",
           "an operation that is not there");
    expect(bp_tensor_copy(&view.tensor, &a.view.tensor), BP_E_DEVICE, "", "copy to the host");
    ranks_free(&a), ranks_free(&b), ranks_free(&c), ranks_free(&d);
}

/* Functions that work on no distributed operand say so. */
static void check_other_functions(void) {
    ranks_matrix a, b;
    bp_dist like = plain();
    char text[256];
    size_t length;
    double host[N * N];
    bp_view view;
    bp_explanation *explanation = NULL;
    ranks_make(&a, &like, BP_F64, N, N, ranks_random);
    ranks_make(&b, &like, BP_F64, N, N, NULL);
    bp_view_matrix(&view, host, BP_F64, N, N);
    expect(bp_tensor_format(&a.view.tensor, NULL, text, sizeof text, &length), BP_E_DEVICE, "", "format");
    expect(bp_copy(&view.tensor, &a.view.tensor, NULL), BP_E_DEVICE, "", "copy to the host");
    expect(bp_copy(&b.view.tensor, &a.view.tensor, NULL), BP_E_DEVICE, "", "copy");
    expect(bp_tensor_copy(&b.view.tensor, &a.view.tensor), BP_E_DEVICE, "", "tensor_copy");
    expect(bp_unary_run(NULL, BP_UNARY_COPY, &a.view.tensor, &b.view.tensor), BP_E_NO_CANDIDATE, "", "unary");
    expect(bp_einsum("ij->ji", 1, (const DLTensor *const[]){&a.view.tensor}, &b.view.tensor), BP_E_DEVICE,
           "distributed", "einsum");
    expect(bp_matrix_power(&a.view.tensor, 3, &b.view.tensor), BP_E_DEVICE, "host memory only", "matrix_power");
    expect(bp_einsum("ij,jk->ik", 2, (const DLTensor *const[]){&a.view.tensor, &a.view.tensor}, &b.view.tensor),
           BP_E_DEVICE, "distributed", "a product by einsum");
    CHECK(bp_linalg_explain(&explanation, NULL,
                            &(bp_linalg_call){.struct_size = sizeof(bp_linalg_call),
                                              .op = BP_OP_PINV,
                                              .input = {&a.view.tensor},
                                              .output = {&b.view.tensor}}) == BP_OK,
          "explain");
    CHECK(strstr(bp_explanation_text(explanation), "the operands are distributed") != NULL, "no reason of the host's");
    bp_explanation_release(explanation);
    ranks_free(&a), ranks_free(&b);
}

/* Two views of one local part. */
static void check_shared_part(void) {
    ranks_matrix a, b;
    bp_dist_view again;
    bp_dist like = plain();
    ranks_make(&a, &like, BP_F64, N, N, ranks_random);
    ranks_make(&b, &like, BP_F64, N, N, ranks_random);
    CHECK(bp_dist_view_init(&again, b.memory, b.view.leading, BP_F64, &b.dist) == BP_OK, "view");
    expect(bp_matmul(&a.view.tensor, &b.view.tensor, &again.tensor), BP_E_OVERLAP, "overlaps", "a shared part");
    ranks_free(&a), ranks_free(&b);
}

static void check_blocks(void) {
    ranks_matrix a, b;
    bp_dist wide = plain();
    wide.block[1] = 4;
    ranks_shift = N + 1;
    ranks_make(&a, &wide, BP_F64, N, N, ranks_positive);
    ranks_make(&b, &wide, BP_F64, N, N, NULL);
    expect(bp_cholesky(&a.view.tensor, 0, &b.view.tensor), BP_E_NO_CANDIDATE, "square", "blocks that are not square");
    CHECK(bp_matmul(&a.view.tensor, &a.view.tensor, &b.view.tensor) == BP_OK, "products take such blocks");
    ranks_free(&a), ranks_free(&b);
}

static void check_distributions(void) {
    bp_dist d = plain(), wrong;
    bp_dist_view view;
    double one = 0;
    d.shape[0] = d.shape[1] = N;
    wrong = d, wrong.grid[0] = ranks_size + 1, wrong.grid[1] = 1;
    expect(bp_dist_complete(&wrong), BP_E_ARGUMENT, "grid", "a grid that is too large");
    wrong = d, wrong.source[1] = 99;
    expect(bp_dist_complete(&wrong), BP_E_ARGUMENT, "source", "a source outside");
    wrong = d, wrong.block[0] = -1;
    expect(bp_dist_complete(&wrong), BP_E_ARGUMENT, "block", "a block below 1");
    wrong = d, wrong.shape[0] = -1;
    expect(bp_dist_complete(&wrong), BP_E_SHAPE, "shape", "a negative size");
    wrong = d, wrong.comm = NULL;
    expect(bp_dist_complete(&wrong), BP_E_ARGUMENT, "comm", "no communicator");
    wrong = d, wrong.shape[0] = 1000;
    expect(bp_dist_view_init(&view, &one, 1, BP_F64, &wrong), BP_E_ARGUMENT, "leading", "a short leading dimension");
    expect(bp_dist_view_init(&view, (char *)&one + 1, 0, BP_F64, &d), BP_E_LAYOUT, "multiple", "not aligned");
    expect(bp_dist_view_init(&view, &one, 0, (bp_dtype)99, &d), BP_E_DTYPE, "", "no type");
    expect(bp_dist_view_replicated(&view, &one, BP_F64, 2, 1, &d), BP_E_ARGUMENT, "ndim", "a replicated matrix");
    wrong = d, wrong.struct_size = 3;
    expect(bp_dist_complete(&wrong), BP_E_ARGUMENT, "struct_size", "no struct_size");
}

/* Settings are for distributions that name no grid or block. */
static void check_settings(void) {
    static const char *const bad[] = {"2", "2x", "x2", "2x2x2", "square", "1x1 ", ""};
    const bp_dist open = {.struct_size = sizeof open, .comm = ranks_comm};
    bp_dist d = open, own = open;
    char column[32];
    snprintf(column, sizeof column, "%dx1", ranks_size);
    CHECK(bp_set("dist.grid", column) == BP_OK && bp_set("dist.block", "17") == BP_OK, "set");
    CHECK(bp_dist_complete(&d) == BP_OK && d.grid[0] == ranks_size && d.grid[1] == 1, "dist.grid");
    CHECK(d.block[0] == 17 && d.block[1] == 17, "dist.block");
    own.grid[0] = own.grid[1] = 1, own.block[1] = 3;
    CHECK(bp_dist_complete(&own) == BP_OK && own.grid[0] == 1 && own.block[0] == 17 && own.block[1] == 3, "named");
    for (int i = 0; i < (int)(sizeof bad / sizeof *bad); i++) {
        d = open;
        CHECK(bp_set("dist.grid", bad[i]) == BP_OK, "set");
        expect(bp_dist_complete(&d), BP_E_ARGUMENT, "dist.grid", bad[i]);
    }
    CHECK(bp_set("dist.grid", "99x99") == BP_OK, "set");
    expect(bp_dist_complete(&d), BP_E_ARGUMENT, "99x99", "a grid of more ranks");
    CHECK(bp_set("dist.block", "0") != BP_OK, "no block of 0");
    CHECK(bp_set("dist.grid", "auto") == BP_OK && bp_set("dist.block", "64") == BP_OK, "set back");
    d = open;
    CHECK(bp_dist_complete(&d) == BP_OK && d.grid[0] <= d.grid[1] && d.grid[0] * d.grid[1] == ranks_size, "auto");
    CHECK(d.block[0] == 64 && d.block[1] == 64, "the default");
}

/* Routines count the elements of a rank in 32 bits. Explanations need no memory. */
static void check_limits(void) {
    const bp_dist large = {
        .struct_size = sizeof large, .comm = ranks_comm, .block = {64, 64}, .shape = {200000, 200000}};
    bp_dist_view view, other;
    bp_explanation *explanation = NULL;
    CHECK(bp_dist_view_init(&view, NULL, 0, BP_F64, &large) == BP_OK, "a view without memory");
    CHECK(bp_dist_view_init(&other, NULL, 0, BP_F64, &large) == BP_OK, "a view without memory");
    CHECK(bp_matmul_explain(&explanation, NULL, &view.tensor, &view.tensor, &other.tensor) == BP_OK, "explain");
    CHECK(strstr(bp_explanation_text(explanation), "more than 2^31 - 1 elements") != NULL, "no limit");
    bp_explanation_release(explanation);
}

/* ---- Numerics ---- */

static void check_numerics(void) {
    ranks_matrix a, l, b, x;
    bp_dist like = plain();
    char rank[32];
    ranks_shift = -100;
    ranks_make(&a, &like, BP_F64, N, N, ranks_positive);
    ranks_make(&l, &like, BP_F64, N, N, NULL);
    expect(bp_cholesky(&a.view.tensor, 0, &l.view.tensor), BP_E_NOT_POSITIVE_DEFINITE, "", "not positive definite");
    int32_t info = 99;
    bp_dist_view told;
    CHECK(bp_dist_view_replicated(&told, &info, BP_I32, 0, 1, &like) == BP_OK, "info");
    CHECK(bp_cholesky_ex(&a.view.tensor, 0, &l.view.tensor, &told.tensor) == BP_OK && info == 1, "info is %d",
          (int)info);
    ranks_make(&b, &like, BP_F64, N, 2, ranks_random);
    ranks_make(&x, &like, BP_F64, N, 2, NULL);
    memset(a.memory, 0, (size_t)a.view.leading * (size_t)a.view.columns * sizeof(double));
    expect(bp_solve(&a.view.tensor, &b.view.tensor, 0, &x.view.tensor), BP_E_SINGULAR, "", "singular");
    if (is_last() && b.view.rows > 0 && b.view.columns > 0) {
        *(double *)b.memory = NAN;
    }
    if (ranks_size == 1) {
        expect(bp_solve(&a.view.tensor, &b.view.tensor, 0, &x.view.tensor), BP_E_NON_FINITE, "rank 0", "NaN");
    }
    named(rank, sizeof rank, ranks_size - 1);
    if (is_last()) {
        *(double *)a.memory = INFINITY;
    }
    expect(bp_cholesky(&a.view.tensor, 1, &l.view.tensor), BP_E_NON_FINITE, ranks_size > 1 ? "rank" : "", "infinity");
    CHECK(bp_cholesky_ex(&a.view.tensor, 1, &l.view.tensor, &told.tensor) == BP_OK && info == BP_INFO_NON_FINITE,
          "info is %d", (int)info);
    CHECK(l.view.rows == 0 || l.view.columns == 0 || isnan(*(double *)l.memory), "the factor is not NaN");
    ranks_free(&a), ranks_free(&l), ranks_free(&b), ranks_free(&x);
}

/* ---- One rank differs ---- */

typedef enum difference { NOTHING, BLOCK, TYPE, SIZE, OPERATION, SETTING, SHAPE, MEMORY, FACTOR } difference;

static bp_status call_with(difference what, bool differs) {
    ranks_matrix a, b, c;
    bp_dist like = plain();
    const bp_dtype dtype = differs && what == TYPE ? BP_F32 : BP_F64;
    const int64_t n = differs && what == SIZE ? N + 8 : N, k = differs && what == SHAPE ? n + 1 : n;
    const bp_scalar alpha = {differs && what == FACTOR ? 3 : 2, 0}, beta = {0, 0};
    like.block[0] = like.block[1] = differs && what == BLOCK ? 16 : 8;
    ranks_make(&a, &like, dtype, n, k, ranks_random);
    ranks_make(&b, &like, dtype, n, n, ranks_random);
    ranks_make(&c, &like, dtype, n, n, NULL);
    bp_set("deterministic", differs && what == SETTING ? "run" : "off");
    if (differs && what == MEMORY) {
        c.view.local = NULL;
    }
    bp_status status = differs && what == OPERATION
                           ? bp_cholesky(&a.view.tensor, 0, &c.view.tensor)
                           : bp_gemm(BP_AS_IS, BP_AS_IS, &alpha, &a.view.tensor, &b.view.tensor, &beta, &c.view.tensor);
    bp_set("deterministic", "off");
    ranks_free(&a), ranks_free(&b), ranks_free(&c);
    return status;
}

static void check_differences(void) {
    const struct {
        difference what;
        bp_status status;
        const char *words, *name;
    } all[] = {{BLOCK, BP_E_ARGUMENT, "grid, block or source", "another block"},
               {TYPE, BP_E_ARGUMENT, "type", "another type"},
               {SIZE, BP_E_ARGUMENT, "size", "another size"},
               {OPERATION, BP_E_ARGUMENT, "operation", "another operation"},
               {SETTING, BP_E_ARGUMENT, "settings", "another setting"},
               {FACTOR, BP_E_ARGUMENT, "operation", "another factor"},
               {SHAPE, BP_E_SHAPE, "inner sizes", "a wrong shape"},
               {MEMORY, BP_E_ARGUMENT, "NULL", "no memory"}};
    char rank[32];
    named(rank, sizeof rank, ranks_size - 1);
    for (int i = 0; i < (int)(sizeof all / sizeof *all) && ranks_size > 1; i++) {
        expect(call_with(all[i].what, is_last()), all[i].status, all[i].words, all[i].name);
        CHECK(strstr(bp_last_error(), rank) != NULL, "%s: no %s in the message", all[i].name, rank);
        CHECK(call_with(NOTHING, false) == BP_OK, "the next call after %s", all[i].name);
    }
}

/* ---- Plans ---- */

static void check_plans(void) {
    ranks_matrix a, b, c, d;
    bp_dist like = plain();
    bp_plan *plan = NULL;
    ranks_make(&a, &like, BP_F64, N, N, ranks_random);
    ranks_make(&b, &like, BP_F64, N, N, ranks_random_b);
    ranks_make(&c, &like, BP_F64, N, N, NULL);
    ranks_make(&d, &like, BP_F64, N, N, NULL);
    CHECK(bp_matmul(&a.view.tensor, &b.view.tensor, &c.view.tensor) == BP_OK, "matmul");
    CHECK(bp_matmul_plan(&plan, NULL, &a.view.tensor, &b.view.tensor, &d.view.tensor) == BP_OK, "plan");
    const bp_operand operands[] = {{&a.view, 0}, {&b.view, 0}, {&d.view, 0}},
                     wrong[] = {{&a.view, 8}, {&b.view, 0}, {&d.view, 0}};
    CHECK(bp_execute(plan, operands, NULL) == BP_OK, "execute");
    const size_t bytes = (size_t)(c.view.leading * c.view.columns) * sizeof(double);
    CHECK(memcmp(c.memory, d.memory, bytes) == 0, "a plan has other bits than a call");
    CHECK(bp_execute(plan, wrong, NULL) == BP_E_ARGUMENT, "an offset");
    bp_plan_info info = {.struct_size = sizeof info};
    CHECK(bp_plan_describe(plan, &info) == BP_OK && strstr(info.provider, "scalapack") != NULL, "describe");
    bp_plan_release(plan);
    if (ranks_size > 1) { /* a rank with a wrong shape */
        c.view.shape[1] += is_last();
        expect(bp_matmul_plan(&plan, NULL, &a.view.tensor, &b.view.tensor, &c.view.tensor), BP_E_SHAPE, "rank", "plan");
        CHECK(plan == NULL, "a plan was made");
    }
    ranks_free(&a), ranks_free(&b), ranks_free(&c), ranks_free(&d);
}

/* ---- Communicators ---- */

static void check_communicators(void) {
    bp_comm_info info = {.struct_size = sizeof info};
    bp_comm *comm = NULL;
    CHECK(bp_comm_describe(ranks_comm, &info) == BP_OK, "describe");
    void *mpi = dlopen(info.library, RTLD_NOW | RTLD_NOLOAD);
    void *open_mpi = mpi ? dlsym(mpi, "ompi_mpi_comm_world") : NULL;
    void *open_mpi_null = mpi ? dlsym(mpi, "ompi_mpi_comm_null") : NULL;
    const int mpich = 0x44000000, mpich_null = 0x04000000;
    const void *handle = open_mpi ? (void *)&open_mpi : (void *)&mpich;
    const size_t size = open_mpi ? sizeof open_mpi : sizeof mpich;
    CHECK(bp_comm_from_mpi(&comm, handle, size, NULL) == BP_OK, "from_mpi");
    CHECK(bp_comm_describe(comm, &info) == BP_OK && info.size == ranks_size && info.rank == ranks_rank, "describe");
    bp_comm *named_one = NULL;
    CHECK(bp_comm_from_mpi(&named_one, handle, size, info.library) == BP_OK, "from_mpi with its library");
    CHECK(bp_comm_close(named_one) == BP_OK, "close");
    const void *null = open_mpi ? (void *)&open_mpi_null : (void *)&mpich_null;
    expect(bp_comm_from_mpi(&named_one, null, size, NULL), BP_E_ARGUMENT, "MPI_COMM_NULL", "MPI_COMM_NULL");
    expect(bp_comm_from_mpi(&named_one, handle, size == 4 ? 8 : 4, NULL), BP_E_ARGUMENT, "handle_size", "another size");
    expect(bp_comm_from_mpi(&named_one, handle, size, "/no/such/libmpi.so"), BP_E_ARGUMENT, "/no/such",
           "another library");
    expect(bp_comm_from_mpi(&named_one, NULL, size, NULL), BP_E_ARGUMENT, "handle", "no handle");
    expect(bp_comm_open(&named_one, 64), BP_E_ARGUMENT, "flags", "unknown flags");
    expect(bp_reset(), BP_E_BUSY, "communicator", "reset with communicators");
    ranks_matrix a, result;
    bp_plan *plan = NULL;
    bp_dist like = plain();
    like.comm = comm;
    ranks_make(&a, &like, BP_F64, N, N, NULL);
    ranks_make(&result, &like, BP_F64, N, N, NULL);
    CHECK(bp_matmul_plan(&plan, NULL, &a.view.tensor, &a.view.tensor, &result.view.tensor) == BP_OK, "plan");
    CHECK(bp_comm_close(comm) == BP_OK, "close");
    const bp_operand operands[] = {{&a.view, 0}, {&a.view, 0}, {&result.view, 0}};
    expect(bp_execute(plan, operands, NULL), BP_E_DEVICE, "closed", "a plan of a closed communicator");
    bp_plan_release(plan);
    expect(bp_matmul(&a.view.tensor, &a.view.tensor, &a.view.tensor), BP_E_OVERLAP, "", "overlap is found first");
    ranks_matrix b;
    ranks_make(&b, &(bp_dist){.struct_size = sizeof(bp_dist), .comm = ranks_comm}, BP_F64, N, N, NULL);
    expect(bp_redistribute(&a.view.tensor, &b.view.tensor), BP_E_DEVICE, "closed", "a closed communicator");
    ranks_free(&a), ranks_free(&b), ranks_free(&result);
}

/* After ScaLAPACK has been loaded for this communicator, too. */
static void check_planned(void) {
    const bp_comm_machine machine = {.struct_size = sizeof machine, .ranks = 1};
    bp_dist dist = {.struct_size = sizeof dist, .shape = {3, 3}};
    double numbers[2][9] = {{1, 0, 0, 0, 1, 0, 0, 0, 1}};
    bp_dist_view a, b;
    CHECK(bp_comm_from_machine(&dist.comm, &machine) == BP_OK, "a machine");
    CHECK(bp_dist_view_init(&a, numbers[0], 0, BP_F64, &dist) == BP_OK &&
              bp_dist_view_init(&b, numbers[1], 0, BP_F64, &dist) == BP_OK,
          "views");
    expect(bp_matmul(&a.tensor, &a.tensor, &b.tensor), BP_E_UNSUPPORTED, "not here", "a machine");
    expect(bp_cholesky(&a.tensor, 0, &b.tensor), BP_E_UNSUPPORTED, "not here", "a machine");
    CHECK(bp_comm_close(dist.comm) == BP_OK, "close");
}

static void check_fork(void) {
    ranks_matrix a, b;
    bp_dist like = plain();
    ranks_make(&a, &like, BP_F64, N, N, NULL);
    ranks_make(&b, &like, BP_F64, N, N, NULL);
    const pid_t child = fork();
    if (child == 0) {
        _exit(bp_matmul(&a.view.tensor, &a.view.tensor, &b.view.tensor) != BP_E_FORKED);
    }
    int state = 1;
    waitpid(child, &state, 0);
    CHECK(state == 0, "a child of fork: state %d", state);
    ranks_free(&a), ranks_free(&b);
}

/* ---- Ranks that are lost ---- */

static void *kill_soon(void *unused) {
    usleep(200000);
    raise(SIGKILL);
    return unused;
}

/* The last rank is killed while the routine runs: the launcher ends the others. */
static int lose_during(void) {
    enum { LARGE = 400, RUNS = 100000 };
    ranks_matrix a, b;
    bp_dist like = plain();
    pthread_t killer;
    ranks_make(&a, &like, BP_F64, LARGE, LARGE, ranks_random);
    ranks_make(&b, &like, BP_F64, LARGE, LARGE, NULL);
    bp_set("dist.timeout", "20");
    if (is_last()) {
        CHECK(pthread_create(&killer, NULL, kill_soon, NULL) == 0, "a thread");
    }
    bp_status status = BP_OK;
    for (int i = 0; i < RUNS && status == BP_OK; i++) {
        status = bp_matmul(&a.view.tensor, &a.view.tensor, &b.view.tensor);
    }
    return 3;
}

static int lose(const char *how) {
    ranks_matrix a, b;
    bp_dist like = plain();
    ranks_make(&a, &like, BP_F64, N, N, ranks_random);
    ranks_make(&b, &like, BP_F64, N, N, NULL);
    CHECK(bp_matmul(&a.view.tensor, &a.view.tensor, &b.view.tensor) == BP_OK, "before");
    if (is_last() && strcmp(how, "kill") == 0) {
        raise(SIGKILL);
    }
    if (is_last() && strcmp(how, "exit") == 0) {
        _exit(0);
    }
    if (is_last() && strcmp(how, "skip") == 0) {
        sleep(4);
        return 3;
    }
    bp_set("dist.timeout", "2");
    expect(bp_matmul(&a.view.tensor, &a.view.tensor, &b.view.tensor), BP_E_TIMEOUT, "dist.timeout", "a lost rank");
    expect(bp_matmul(&a.view.tensor, &a.view.tensor, &b.view.tensor), BP_E_TIMEOUT, "any more", "the call after it");
    printf("rank %d has told the loss\n", ranks_rank);
    ranks_end();
    return 3; /* the launcher may take a while to see it */
}

static void write_file(const char *folder, const char *stem) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s.%d", folder, stem, ranks_rank);
    FILE *file = fopen(path, "w");
    CHECK(file && fclose(file) == 0, "%s", path);
}

/* Both ranks run, and cannot reach each other any more. */
static int lose_network(const char *folder) {
    ranks_matrix a, b;
    bp_dist like = plain();
    char cut[512];
    snprintf(cut, sizeof cut, "%s/CUT", folder);
    ranks_make(&a, &like, BP_F64, N, N, ranks_random);
    ranks_make(&b, &like, BP_F64, N, N, NULL);
    CHECK(bp_matmul(&a.view.tensor, &a.view.tensor, &b.view.tensor) == BP_OK, "before");
    bp_set("dist.timeout", "2");
    write_file(folder, "READY");
    while (access(cut, F_OK) != 0) {
        usleep(10000);
    }
    expect(bp_matmul(&a.view.tensor, &a.view.tensor, &b.view.tensor), BP_E_TIMEOUT, "dist.timeout", "a lost network");
    expect(bp_matmul(&a.view.tensor, &a.view.tensor, &b.view.tensor), BP_E_TIMEOUT, "any more", "the call after it");
    const int failed = ranks_end();
    if (!failed) {
        write_file(folder, "TOLD");
    }
    return failed;
}

/* A program that finalizes MPI itself. */
static int after_finalize(void) {
    bp_comm_info info = {.struct_size = sizeof info};
    ranks_matrix a, b;
    bp_dist like = plain();
    ranks_make(&a, &like, BP_F64, N, N, ranks_random);
    ranks_make(&b, &like, BP_F64, N, N, NULL);
    CHECK(bp_comm_describe(ranks_comm, &info) == BP_OK, "describe");
    void *mpi = dlopen(info.library, RTLD_NOW | RTLD_NOLOAD), *symbol = mpi ? dlsym(mpi, "MPI_Finalize") : NULL;
    int (*finalize)(void);
    memcpy(&finalize, &symbol, sizeof finalize);
    finalize();
    expect(bp_matmul(&a.view.tensor, &a.view.tensor, &b.view.tensor), BP_E_UNSUPPORTED, "finalized",
           "after MPI_Finalize");
    ranks_free(&a), ranks_free(&b);
    return ranks_end();
}

static int without_mpi(void) {
    bp_comm *comm = NULL;
    const bp_status status = bp_comm_open(&comm, 0);
    printf("%s: %s\n", bp_status_name(status), bp_last_error());
    return status == BP_E_NOT_FOUND || status == BP_E_UNSUPPORTED ? 0 : 1;
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "alone") == 0) {
        return without_mpi();
    }
    ranks_open();
    if (count > 1 && strcmp(arguments[1], "finalize") == 0) {
        return after_finalize();
    }
    if (count > 1 && strcmp(arguments[1], "during") == 0) {
        return lose_during();
    }
    if (count > 2 && strcmp(arguments[1], "cut") == 0) {
        return lose_network(arguments[2]);
    }
    if (count > 1) {
        return lose(arguments[1]);
    }
    check_operands();
    check_other_functions();
    check_shared_part();
    check_blocks();
    check_distributions();
    check_settings();
    check_limits();
    check_numerics();
    check_differences();
    check_plans();
    check_communicators();
    check_planned();
    check_fork();
    return ranks_end();
}
