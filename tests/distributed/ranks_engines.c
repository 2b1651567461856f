/* ranks_engines.c - checks which library runs a call on several ranks: dist.preferred, and libraries that are not
 * there.
 *
 * Both libraries are there, or with the argument "absent" the last rank has none. With "hosts" each rank has another
 * host, and the variables of the command. With "mixed" libraries prefer symbols that all see. With "crash", "hang" and
 * "wrong" the library is engine_double.c. */
#include "distributed/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 70 };

static ranks_matrix a, b, c;

static void make_operands(void) {
    const bp_dist like = {.struct_size = sizeof like, .comm = ranks_comm, .block = {8, 8}};
    ranks_make(&a, &like, BP_F64, N, N, ranks_random);
    ranks_make(&b, &like, BP_F64, N, N, ranks_random_b);
    ranks_make(&c, &like, BP_F64, N, N, NULL);
}

static void free_operands(void) {
    ranks_free(&a), ranks_free(&b), ranks_free(&c);
}

/* Checks which provider a plan and an explanation have, and that the explanation has the words. */
static void expect_provider(const char *options, const char *provider, const char *words) {
    bp_options *opened = NULL;
    bp_plan *plan = NULL;
    bp_explanation *explanation = NULL;
    bp_plan_info info = {.struct_size = sizeof info};
    CHECK(bp_options_new(&opened, options) == BP_OK, "%s", options);
    CHECK(bp_matmul_plan(&plan, opened, &a.view.tensor, &b.view.tensor, &c.view.tensor) == BP_OK &&
              bp_plan_describe(plan, &info) == BP_OK && strcmp(info.provider, provider) == 0,
          "%s: %s instead of %s", options, info.provider ? info.provider : "", provider);
    CHECK(bp_matmul_explain(&explanation, opened, &a.view.tensor, &b.view.tensor, &c.view.tensor) == BP_OK &&
              strstr(bp_explanation_text(explanation), words) != NULL,
          "%s: no '%s' in\n%s", options, words, explanation ? bp_explanation_text(explanation) : "");
    bp_explanation_release(explanation);
    bp_plan_release(plan);
    bp_options_release(opened);
}

static void check_preferred(void) {
    const char *why = "";
    expect_provider("", "scalapack", "the first of dist.preferred");
    expect_provider("", "scalapack", "as scalapack sends");
    expect_provider("dist.preferred=mkl", "mkl-scalapack", "preferred by dist.preferred=mkl");
    expect_provider("dist.preferred=scalapack", "scalapack", "preferred by dist.preferred=scalapack");
    expect_provider("blas.preferred=native, linalg.preferred=native", "scalapack", "the first of dist.preferred");
    expect_provider("dist.preferred=mkl, dispatch.exclude=mkl", "scalapack", "dist.preferred=mkl cannot run this");
    expect_provider("dispatch.exclude=scalapack", "mkl-scalapack", "the only candidate");
    expect_provider("dist.preferred=scalapack, mkl.enabled=false", "scalapack", "mkl.enabled");
    CHECK(bp_setting_has_effect("dist.preferred", &why), "dist.preferred has no effect: %s", why);
}

/* dist.preferred is for distributed operands alone. */
static void check_host(void) {
    double values[4] = {1, 2, 3, 4}, product[4] = {0};
    const int64_t shape[2] = {2, 2};
    bp_view x, z;
    bp_plan *plan = NULL;
    bp_options *options = NULL;
    bp_plan_info info = {.struct_size = sizeof info};
    CHECK(bp_view_init(&x, values, BP_F64, 2, shape, NULL) == BP_OK, "view");
    CHECK(bp_view_init(&z, product, BP_F64, 2, shape, NULL) == BP_OK, "view");
    CHECK(bp_options_new(&options, "dist.preferred=mkl, blas.preferred=native") == BP_OK, "options");
    CHECK(bp_matmul_plan(&plan, options, &x.tensor, &x.tensor, &z.tensor) == BP_OK &&
              bp_plan_describe(plan, &info) == BP_OK && strcmp(info.provider, "native") == 0,
          "a product of this process");
    bp_plan_release(plan);
    bp_options_release(options);
}

/* One rank prefers the other library: no rank computes. */
static void check_difference(void) {
    CHECK(bp_set("dist.preferred", ranks_rank == ranks_size - 1 ? "mkl" : "scalapack") == BP_OK, "set");
    const bp_status status = bp_matmul(&a.view.tensor, &b.view.tensor, &c.view.tensor);
    CHECK(ranks_size == 1 || (status == BP_E_ARGUMENT && strstr(bp_last_error(), "another library")), "%s",
          bp_status_name(status));
    CHECK(bp_set("dist.preferred", "auto") == BP_OK, "set");
    CHECK(bp_matmul(&a.view.tensor, &b.view.tensor, &c.view.tensor) == BP_OK, "matmul after that");
}

/* Both libraries in one process, one after the other, give the product. */
static void check_both(void) {
    static const char *const names[] = {"mkl", "scalapack", "mkl"};
    const size_t bytes = (size_t)(c.view.leading * c.view.columns) * sizeof(double);
    double *first = malloc(bytes + 1);
    CHECK(first && bp_matmul(&a.view.tensor, &b.view.tensor, &c.view.tensor) == BP_OK, "matmul");
    memcpy(first, c.memory, bytes);
    for (int i = 0; i < 3; i++) {
        double largest = 0;
        CHECK(bp_set("dist.preferred", names[i]) == BP_OK, "set");
        memset(c.memory, 0, bytes);
        CHECK(bp_matmul(&a.view.tensor, &b.view.tensor, &c.view.tensor) == BP_OK, "matmul on %s", names[i]);
        for (int64_t j = 0; j < c.view.columns; j++) {
            for (int64_t r = 0; r < c.view.rows; r++) {
                const double off = ((double *)c.memory)[r + j * c.view.leading] - first[r + j * c.view.leading];
                largest = off > largest ? off : -off > largest ? -off : largest;
            }
        }
        CHECK(largest <= N * 1e-15 * N, "%s differs by %g", names[i], largest);
    }
    CHECK(bp_set("dist.preferred", "auto") == BP_OK, "set");
    free(first);
}

/* ---- A rank without a library ---- */

static void check_absent(void) {
    const bp_status status = bp_matmul(&a.view.tensor, &b.view.tensor, &c.view.tensor);
    CHECK(status == BP_E_NO_CANDIDATE && strstr(bp_last_error(), "rank 1 has none") != NULL, "%s",
          bp_status_name(status));
    CHECK(!strstr(bp_last_error(), "opencl") && !strstr(bp_last_error(), "cublas"), "reasons of devices");
    bp_explanation *explanation = NULL;
    const char *words = ranks_rank == 1 ? "was not found" : "rank 1 has none";
    CHECK(bp_matmul_explain(&explanation, NULL, &a.view.tensor, &b.view.tensor, &c.view.tensor) == BP_OK &&
              strstr(bp_explanation_text(explanation), words) != NULL,
          "no '%s' in\n%s", words, explanation ? bp_explanation_text(explanation) : "");
    bp_explanation_release(explanation);
}

/* MKL's BLACS is visible to all then: the other library would call it. */
static void check_mixed(void) {
    CHECK(bp_set("dist.preferred", "mkl") == BP_OK, "set");
    CHECK(bp_matmul(&a.view.tensor, &b.view.tensor, &c.view.tensor) == BP_OK, "matmul on mkl");
    CHECK(bp_set("dist.preferred", "auto") == BP_OK && bp_set("dispatch.exclude", "mkl") == BP_OK, "set");
    const bp_status status = bp_matmul(&a.view.tensor, &b.view.tensor, &c.view.tensor);
    CHECK(status == BP_E_NO_CANDIDATE && strstr(bp_last_error(), "another BLACS") != NULL, "%s",
          bp_status_name(status));
    CHECK(bp_set("dispatch.exclude", "") == BP_OK, "set");
    CHECK(bp_matmul(&a.view.tensor, &b.view.tensor, &c.view.tensor) == BP_OK, "matmul on mkl again");
}

/* ---- A library that does not work ---- */

static void check_broken(const char *words) {
    const bp_status status = bp_matmul(&a.view.tensor, &b.view.tensor, &c.view.tensor);
    CHECK(status == BP_E_NO_CANDIDATE && strstr(bp_last_error(), words) != NULL, "%s, no '%s'", bp_status_name(status),
          words);
}

/* ---- Ranks on two hosts ---- */

static void check_hosts(void) {
    char own[64] = "";
    CHECK(gethostname(own, sizeof own - 1) == 0, "gethostname");
    const bp_dist like = {.struct_size = sizeof like, .comm = ranks_comm, .grid = {1, ranks_size}, .block = {64, 1}};
    ranks_matrix names;
    ranks_make(&names, &like, BP_F64, 64, ranks_size, NULL);
    for (int i = 0; i < 64; i++) {
        ((double *)names.memory)[i] = own[i];
    }
    double *all = ranks_gather(&names, NULL);
    for (int i = 1; i < ranks_size && all; i++) {
        CHECK(memcmp(all, all + 64 * i, 64 * sizeof *all) != 0, "rank %d is on the host of rank 0", i);
    }
    const char *threads = getenv("BACKPLANE_NUM_THREADS"), *limit = getenv("OMP_NUM_THREADS");
    CHECK(threads && limit && strcmp(threads, limit) == 0, "the threads are not told");
    free(all);
    ranks_free(&names);
}

int main(int count, char **arguments) {
    const char *kind = count > 1 ? arguments[1] : "";
    const bool absent = strcmp(kind, "absent") == 0;
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (absent && rank && strcmp(rank, "1") == 0) {
        setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1); /* MPI is loaded already */
    }
    ranks_open();
    make_operands();
    if (strcmp(kind, "hosts") == 0) {
        check_hosts();
    } else if (absent) {
        check_absent();
    } else if (strcmp(kind, "mixed") == 0) {
        check_mixed();
    } else if (strcmp(kind, "wrong") == 0) {
        check_broken("wrong results in probe: potrf f64");
    } else if (*kind) {
        check_broken("in the child process that tests it, while it was loaded");
    } else {
        check_preferred();
        check_host();
        check_difference();
        check_both();
    }
    free_operands();
    return ranks_end();
}
