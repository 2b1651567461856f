/* tour.c - lists the libraries of this machine, computes a product, and prints which library ran. Read this example
 * first. */
#include <backplane.h>

#include <stdio.h>

static int failed(const char *what) {
    fprintf(stderr, "%s: %s\n", what, bp_last_error());
    return 1;
}

static int list_libraries(void) {
    int count;
    if (bp_library_count(&count) != BP_OK) {
        return failed("searching libraries");
    }
    for (int i = 0; i < count; i++) {
        bp_library_info library = {.struct_size = sizeof library};
        if (!bp_library_at(i, &library)) {
            return failed("reading the list");
        }
        printf("%-24s %-10s %s\n", library.id, library.version, bp_library_state_name(library.state));
    }
    return 0;
}

int main(void) {
    if (list_libraries() != 0) {
        return 1;
    }

    /* DLPack views of caller-owned memory */
    double a[2][3] = {{1, 2, 3}, {4, 5, 6}};
    double b[3][2] = {{1, 0}, {0, 1}, {1, 1}};
    double out[2][2];
    bp_view view_a, view_b, view_out;
    if (bp_view_matrix(&view_a, a, BP_F64, 2, 3) != BP_OK || bp_view_matrix(&view_b, b, BP_F64, 3, 2) != BP_OK ||
        bp_view_matrix(&view_out, out, BP_F64, 2, 2) != BP_OK) {
        return failed("describing the matrices");
    }
    if (bp_matmul(&view_a.tensor, &view_b.tensor, &view_out.tensor) != BP_OK) {
        return failed("multiplying");
    }

    bp_plan_info plan = {.struct_size = sizeof plan};
    if (bp_last_plan(&plan) != BP_OK) {
        return failed("reading the last plan");
    }
    printf("\n%g %g\n%g %g\n", out[0][0], out[0][1], out[1][0], out[1][1]);
    printf("computed by %s (%s): %s\n", plan.library, plan.algorithm, plan.reason);
    return out[0][0] == 4 && out[0][1] == 5 && out[1][0] == 10 && out[1][1] == 11 ? 0 : 1;
}
