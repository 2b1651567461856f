/* test_pad.c - padding, flips and rolls on an OpenCL device: the same bytes as on the host, which has tests of its own.
 */
#include "device_array.h"

#include "backplane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NDIM = 3, MODES = BP_PAD_CIRCULAR + 1, FLIP = MODES, ROLL, KINDS };

static const bp_dtype dtypes[] = {BP_F32, BP_U8, BP_F16, BP_F64, BP_C128};
static const int64_t shapes[][NDIM] = {{3, 5, 70}, {1, 1, 1}, {40, 30, 3}, {2, 0, 4}, {1, 1, 20000}};
static const int64_t before[][NDIM] = {{1, 0, 3}, {0, 0, 0}, {0, 2, -1}, {1, 0, 2}, {0, 0, 5}},
                     after[][NDIM] = {{0, 2, 1}, {0, 0, 0}, {3, 2, 0}, {0, 0, 0}, {0, 0, -7}},
                     shifts[][NDIM] = {{1, -7, 100}, {1, 1, 1}, {-1, 5, 0}, {1, 1, 1}, {0, 0, 19999}};

static void move(int kind, int s, const DLTensor *x, DLTensor *y) {
    static const int axes[] = {0, 1, 2};
    const bp_status status = kind == FLIP   ? bp_flip_run(NULL, x, 1 + s % NDIM, axes, y)
                             : kind == ROLL ? bp_roll_run(NULL, x, NDIM, axes, shifts[s], y)
                                            : bp_pad_run(NULL, (bp_pad_mode)kind, x, NDIM, before[s], after[s],
                                                         kind == BP_PAD_CONSTANT ? 3 : 0, y);
    if (status != BP_OK) {
        fail_msg("%s", bp_last_error());
    }
}

/* Whether the mode has the amounts of a shape. */
static bool has(int kind, int s) {
    for (int d = 0; d < NDIM && kind < FLIP && kind != BP_PAD_CONSTANT; d++) {
        const int64_t n = shapes[s][d], low = before[s][d], high = after[s][d], most = low > high ? low : high;
        if (most > 0 && (most >= n || (kind == BP_PAD_CIRCULAR && (low < 0 || high < 0)))) {
            return false;
        }
    }
    return true;
}

static void check(int kind, bp_dtype dtype, int s, int number) {
    char text[100];
    int64_t shape[NDIM];
    device_array x, y;
    test_array want;
    snprintf(text, sizeof text, "kind %d of %s, shape number %d", kind, bp_dtype_name(dtype), s);
    for (int d = 0; d < NDIM; d++) {
        shape[d] = shapes[s][d] + (kind < FLIP ? before[s][d] + after[s][d] : 0);
    }
    device_array_make(&x, dtype, NDIM, shapes[s], (test_layout)(number % TEST_LAYOUTS), number % 7 == 6 ? 2 : 0);
    device_array_make(&y, dtype, NDIM, shape, (test_layout)(number / 4 % TEST_LAYOUTS), 0);
    for (int64_t i = 0; i < test_array_count(&x.host); i++) {
        if (dtype <= BP_C128) {
            test_array_set(&x.host, i, (double)test_array_between(-100, 100));
        } else {
            test_array_set_i64(&x.host, i, test_array_between(0, 200));
        }
    }
    device_array_send(&x);
    device_array_send(&y);
    test_array_copy(&want, &y.host);
    move(kind, s, &x.tensor, &y.tensor);
    if (test_array_count(&y.host) > 0) {
        assert_on_device(text);
    }
    device_array_fetch(&y, text);
    move(kind, s, &x.host.view.tensor, &want.view.tensor);
    assert_memory_equal(want.memory, y.host.memory, (size_t)want.all * bp_dtype_size(dtype));
    test_array_free(&want);
    device_array_free(&x);
    device_array_free(&y);
}

static void test_moves(void **state) {
    int number = 0;
    (void)state;
    test_device_need();
    for (int i = 0; i < 5; i++) {
        for (int kind = 0; kind < KINDS; kind++) {
            for (int s = 0; s < 5 && !test_device_leaves_out(i > 1 && (i + kind) % 3); s++) {
                if (has(kind, s)) {
                    check(kind, dtypes[i], s, number++);
                }
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves)};
    return cmocka_run_group_tests(tests, test_device_setup, NULL);
}
