/* plan.c - reuses a plan in a loop: arguments are checked and a library is chosen once, and each run is one call. The
 * example is the power method, which multiplies one matrix by many vectors. */
#include <backplane.h>

#include <math.h>
#include <stdio.h>

enum { SIZE = 64, ROUNDS = 200 };

static void scale_to_unit_length(double *vector) {
    double sum = 0;
    for (int i = 0; i < SIZE; i++) {
        sum += vector[i] * vector[i];
    }
    for (int i = 0; i < SIZE; i++) {
        vector[i] /= sqrt(sum);
    }
}

int main(void) {
    /* Second differences; the largest eigenvalue is 2 + 2 cos(pi / (SIZE + 1)). */
    static double matrix[SIZE][SIZE];
    double vector[SIZE], image[SIZE];
    for (int i = 0; i < SIZE; i++) {
        matrix[i][i] = 2;
        if (i > 0) {
            matrix[i][i - 1] = matrix[i - 1][i] = -1;
        }
        vector[i] = i % 2 ? -1 : 1 + i * 0.01;
    }

    bp_view view_matrix, view_vector, view_image;
    int64_t length = SIZE;
    bp_plan *plan = NULL;
    if (bp_view_matrix(&view_matrix, matrix, BP_F64, SIZE, SIZE) != BP_OK ||
        bp_view_init(&view_vector, vector, BP_F64, 1, &length, NULL) != BP_OK ||
        bp_view_init(&view_image, image, BP_F64, 1, &length, NULL) != BP_OK ||
        bp_matmul_plan(&plan, NULL, &view_matrix.tensor, &view_vector.tensor, &view_image.tensor) != BP_OK) {
        fprintf(stderr, "planning: %s\n", bp_last_error());
        return 1;
    }

    double largest = 0;
    for (int round = 0; round < ROUNDS; round++) {
        scale_to_unit_length(vector);
        if (bp_execute(plan, (bp_operand[]){{matrix, 0}, {vector, 0}, {image, 0}}, NULL) != BP_OK) {
            fprintf(stderr, "running: %s\n", bp_last_error());
            bp_plan_release(plan);
            return 1;
        }
        largest = 0;
        for (int i = 0; i < SIZE; i++) {
            largest += vector[i] * image[i];
        }
        for (int i = 0; i < SIZE; i++) {
            vector[i] = image[i];
        }
    }
    bp_plan_release(plan);

    double exact = 2 + 2 * cos(acos(-1.0) / (SIZE + 1));
    printf("largest eigenvalue %.6f, exact %.6f\n", largest, exact);
    return fabs(largest - exact) < 1e-2 ? 0 : 1;
}
