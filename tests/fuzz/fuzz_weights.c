/* fuzz_weights.c - reads any bytes as a file of weights. Each tensor of a file that is accepted can be viewed, unless
 * the library does not have its type. */
#include "backplane.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void view_all(bp_weights *weights) {
    bp_weight_info info = {.struct_size = sizeof info};
    for (int i = 0; bp_weights_at(weights, i, &info); i++) {
        bp_view view;
        const bp_status status = bp_weights_view(&view, weights, i);
        if (status != (info.dtype == BP_DTYPE_NONE ? BP_E_DTYPE : BP_OK) || bp_weights_index(weights, info.name) != i) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    bp_weights *weights;
    int file = memfd_create("weights", MFD_CLOEXEC);
    if (file < 0 || write(file, data, size) != (ssize_t)size) {
        abort();
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (bp_weights_open(&weights, path) == BP_OK) {
        view_all(weights);
        bp_weights_close(weights);
    } else if (weights) {
        abort();
    }
    close(file);
    return 0;
}
