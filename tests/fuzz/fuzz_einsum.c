/* fuzz_einsum.c - tries hostile expressions, sublists and shapes: an accepted one must have a path that ends with one
 * result and can be printed.
 *
 * The first byte selects the form and the strategy, the next ones the shapes; the rest is the expression, or labels.
 */
#include "backplane.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 6, RANK = 5 };

static void look(bp_contraction_path *path, int count) {
    bp_contraction_path_info info = {.struct_size = sizeof info};
    bp_contraction_step step = {.struct_size = sizeof step};
    if (bp_contraction_path_describe(path, &info) != BP_OK || info.steps < count - 1) {
        abort();
    }
    int left = count;
    for (int i = 0; bp_contraction_path_at(path, i, &step); i++) {
        if (step.position[0] < 0 || step.position[step.count - 1] >= left) {
            abort();
        }
        left += 1 - step.count;
    }
    if (left != 1 || !*bp_contraction_path_text(path) || !*bp_contraction_path_json(path)) {
        abort();
    }
    bp_contraction_path_release(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bp_einsum_operand operands[MOST];
    int64_t shapes[MOST][RANK];
    int labels[MOST][RANK + 2];
    static const int64_t sizes[] = {1, 2, 3, 0, 2, 1000000007, INT64_MAX, -1};
    if (size < 2 + MOST) {
        return 0;
    }
    bool text = (data[0] & 1) != 0;
    bp_einsum_search search = {.struct_size = sizeof search,
                               .strategy = (bp_path_strategy)(data[0] >> 1 & 15),
                               .objective = (bp_path_objective)(data[1] >> 5),
                               .memory_limit = data[1] & 16 ? 100 : 0};
    int count = 1 + data[1] % MOST;
    const uint8_t *rest = data + 2 + MOST, *end = data + size;
    for (int i = 0; i < count; i++) {
        operands[i] = (bp_einsum_operand){data[2 + i] % (RANK + 1), shapes[i], labels[i], data[2 + i] >> 4 & 7};
        for (int d = 0; d < RANK; d++) {
            shapes[i][d] = sizes[data[2 + i] >> (d % 3) & 1 ? (data[2 + i] + d) % 8 : 1 + (d & 1)];
        }
        for (int d = 0; d < RANK + 2 && !text; d++) {
            labels[i][d] = rest < end ? (int)(int8_t)*rest++ : d;
            labels[i][d] *= labels[i][d] > 100 ? 1000003 : 1;
        }
    }
    bp_contraction_path *path;
    bp_status status;
    if (text) {
        size_t length = (size_t)(end - rest);
        char *expression = malloc(length + 1);
        memcpy(expression, rest, length);
        expression[length] = 0;
        status = bp_einsum_path(&path, &search, expression, count, operands);
        free(expression);
    } else {
        int outputs = rest < end ? *rest++ % 4 - 1 : 0;
        status = bp_einsum_path_sublists(&path, &search, count, operands, outputs, labels[0]);
    }
    if (status == BP_OK) {
        look(path, count);
    }
    return 0;
}
