/* fuzz_calls.c - reads any bytes as the rows in which the processes of `backplane launch` count their calls, and writes
 * the reports that need no library. */
#include "cli/launch/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const size_t one = sizeof(bp__record_row);
    const int rows = (int)(size / one);
    /* The file ends behind these rows, so that a sanitizer detects a read past them. */
    launch_calls calls = {.file = malloc(offsetof(bp__record_file, row) + size)};
    static FILE *quiet;
    quiet = quiet ? quiet : freopen("/dev/null", "w", stdout);
    if (!calls.file || !quiet) {
        abort();
    }
    memset(calls.file, 0, offsetof(bp__record_file, row));
    memcpy((char *)calls.file + offsetof(bp__record_file, row), data, size);
    launch_calls_sort(&calls, rows);
    for (int i = 0; i < calls.count; i++) {
        launch_product product;
        launch_product_of(calls.rows[i], &product);
    }
    launch_explain(&calls);
    launch_trace(&calls, "/dev/null");
    launch_tune(&calls, "/dev/null");
    free(calls.file);
    free(calls.rows);
    return 0;
}
