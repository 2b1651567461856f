/* test_winograd_kernels.c - compares the kernels of Winograd's convolution, for each instruction set, with the matrices
 * of the algorithm in f64, for all numbers of lanes. */
#include "providers/native/conv/winograd.h"
#include "support/arrays.h"
#include "support/host.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern const bp__winograd_kernels bp__winograd_wide;

enum { LANES = 37, STEP = 48, ELEMENTS = 36, RESULTS = 16, TAPS = 9 };

/* Kernel sets that run on this processor, and the lanes of their vectors. */
static int kernel_sets(const bp__winograd_kernels *sets[4], int lanes[4]) {
    int count = 0;
    sets[count] = &bp__winograd_default;
    lanes[count++] = 4;
#if defined(__x86_64__)
    if (test_plain_host()->hardware >= BP_CAPABILITY_AVX2) {
        sets[count] = &bp__winograd_avx2;
        lanes[count++] = 8;
        sets[count] = &bp__winograd_wide;
        lanes[count++] = 16;
    }
    if (test_plain_host()->hardware >= BP_CAPABILITY_AVX512) {
        sets[count] = &bp__winograd_avx512;
        lanes[count++] = 16;
    }
#endif
    return count;
}

/* ---- The matrices for the points 0, a, -a, b, -b and infinity ---- */

static const double point[5] = {0, 0.625, -0.625, 1.5, -1.5};

/* Returns the coefficients of the product of (x - q) over the finite points q other than `without` (5: none). */
static void polynomial(int without, double out[6]) {
    memset(out, 0, 6 * sizeof *out);
    out[0] = 1;
    for (int p = 0; p < 5; p++) {
        for (int i = 5; p != without && i >= 0; i--) {
            out[i] = (i > 0 ? out[i - 1] : 0) - point[p] * out[i];
        }
    }
}

static double product_at(int p) {
    double product = 1;
    for (int q = 0; q < 5; q++) {
        product *= q == p ? 1 : point[p] - point[q];
    }
    return product;
}

static void make_b(double b[6][6]) {
    for (int p = 0; p < 6; p++) {
        polynomial(p, b[p]);
    }
}

static void make_g(double g[6][3]) {
    for (int p = 0; p < 6; p++) {
        for (int i = 0; i < 3; i++) {
            g[p][i] = p < 5 ? pow(point[p], i) / product_at(p) : i == 2;
        }
    }
}

static void make_a(double a[6][4]) {
    for (int p = 0; p < 6; p++) {
        for (int i = 0; i < 4; i++) {
            a[p][i] = p < 5 ? pow(point[p], i) : i == 3;
        }
    }
}

/* ---- Cases ---- */

static float from[ELEMENTS * STEP], to[ELEMENTS * STEP];

static void begin(void) {
    for (int i = 0; i < ELEMENTS * STEP; i++) {
        from[i] = (float)test_array_uniform();
        to[i] = 77;
    }
}

static void expect(float got, double wanted) {
    if (!(fabs((double)got - wanted) <= 1e-5 * (1 + fabs(wanted)))) {
        fail_msg("%g, not %g", (double)got, wanted);
    }
}

static void images(void **unused) {
    const bp__winograd_kernels *sets[4];
    int lanes[4];
    double b[6][6];
    (void)unused;
    make_b(b);
    for (int s = kernel_sets(sets, lanes) - 1; s >= 0; s--) {
        for (int n = 0; n <= LANES; n++) {
            const float *at[ELEMENTS];
            begin();
            for (int e = 0; e < ELEMENTS; e++) {
                at[e] = from + e * STEP;
            }
            sets[s]->image(n, at, to, STEP);
            for (int e = 0; e < ELEMENTS; e++) {
                for (int i = 0; i < STEP; i++) {
                    double wanted = 0;
                    for (int x = 0; x < ELEMENTS; x++) {
                        wanted += b[e / 6][x / 6] * b[e % 6][x % 6] * (double)from[x * STEP + i];
                    }
                    expect(to[e * STEP + i], i < n ? wanted : 77);
                }
            }
        }
    }
}

static void weights(void **unused) {
    const bp__winograd_kernels *sets[4];
    int lanes[4];
    double g[6][3];
    (void)unused;
    make_g(g);
    for (int s = kernel_sets(sets, lanes) - 1; s >= 0; s--) {
        const int widths[] = {4, lanes[s], 8};
        for (int w = 0; w < 3; w++) {
            const int width = widths[w];
            for (int n = width; n + width <= STEP; n += width) {
                /* Panels are one element further apart than their width. */
                static float panels[ELEMENTS * 2 * STEP];
                begin();
                for (int i = 0; i < ELEMENTS * 2 * STEP; i++) {
                    panels[i] = 77;
                }
                sets[s]->weight(n, from, STEP, panels, (int64_t)2 * STEP, width, width + 1);
                for (int e = 0; e < ELEMENTS; e++) {
                    for (int i = 0; i < n; i++) {
                        double wanted = 0;
                        for (int t = 0; t < TAPS; t++) {
                            wanted += g[e / 6][t / 3] * g[e % 6][t % 3] * (double)from[t * STEP + i];
                        }
                        expect(panels[e * 2 * STEP + i / width * (width + 1) + i % width], wanted);
                    }
                    for (int i = 0; i * (width + 1) + width < 2 * STEP; i++) {
                        expect(panels[e * 2 * STEP + i * (width + 1) + width], 77);
                    }
                }
            }
        }
    }
}

static void check_results(const bp__winograd_kernels *set, int n, const float *bias, int bias_step, bool relu) {
    double a[6][4];
    float *at[RESULTS];
    make_a(a);
    begin();
    for (int r = 0; r < RESULTS; r++) {
        at[r] = r % 5 == n % 5 ? NULL : to + r * STEP;
    }
    set->result(n, from, STEP, at, bias, bias_step, relu);
    for (int r = 0; r < RESULTS; r++) {
        for (int i = 0; i < STEP; i++) {
            double wanted = bias ? (double)bias[i * bias_step] : 0;
            for (int x = 0; x < ELEMENTS; x++) {
                wanted += a[x / 6][r / 4] * a[x % 6][r % 4] * (double)from[x * STEP + i];
            }
            expect(to[r * STEP + i], i >= n || !at[r] ? 77 : relu && wanted < 0 ? 0 : wanted);
        }
    }
}

static void results(void **unused) {
    const bp__winograd_kernels *sets[4];
    int lanes[4];
    float bias[STEP];
    (void)unused;
    for (int i = 0; i < STEP; i++) {
        bias[i] = 10 * (float)test_array_uniform();
    }
    for (int s = kernel_sets(sets, lanes) - 1; s >= 0; s--) {
        for (int n = 0; n <= LANES; n++) {
            check_results(sets[s], n, NULL, 0, n % 2);
            check_results(sets[s], n, bias, 0, n % 2 == 0);
            check_results(sets[s], n, bias, 1, n % 2);
        }
    }
}

static void tiles(void **unused) {
    enum { ROW = 19, TILES = 12 };
    const bp__winograd_kernels *sets[4];
    int lanes[4];
    static float plane[TILES * 6 * ROW];
    const float *at[TILES];
    float *written[TILES];
    int64_t row[TILES];
    (void)unused;
    for (int s = kernel_sets(sets, lanes) - 1; s >= 0; s--) {
        begin();
        for (int i = 0; i < TILES; i++) {
            at[i] = from + 100 * i;
            row[i] = i % 3 + 6;
        }
        sets[s]->split(TILES, at, row, to, STEP);
        for (int i = 0; i < TILES * ELEMENTS; i++) {
            const int tile = i / ELEMENTS, e = i % ELEMENTS;
            assert_true(to[e * STEP + tile] == at[tile][e / 6 * row[tile] + e % 6]);
            assert_true(to[e * STEP + TILES] == 77);
        }
        for (int i = 0; i < TILES * 6 * ROW; i++) {
            plane[i] = 77;
        }
        for (int i = 0; i < TILES; i++) {
            written[i] = i == 5 ? NULL : plane + i % 4 * 4 + i / 4 * 6 * ROW;
        }
        sets[s]->join(TILES, from, STEP, written, ROW);
        int changed = 0;
        for (int i = 0; i < TILES * RESULTS; i++) {
            const int tile = i / RESULTS, r = i % RESULTS;
            assert_true(tile == 5 || written[tile][r / 4 * ROW + r % 4] == from[r * STEP + tile]);
        }
        for (int i = 0; i < TILES * 6 * ROW; i++) {
            changed += plane[i] != 77;
        }
        assert_int_equal(changed, (TILES - 1) * RESULTS);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images),
        cmocka_unit_test(weights),
        cmocka_unit_test(results),
        cmocka_unit_test(tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
