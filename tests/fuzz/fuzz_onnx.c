/* fuzz_onnx.c - reads any bytes as an ONNX model. A graph that is made is written as text, and read again. */
#include "backplane.h"
#include "onnx/read.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"batch"};
    static const int64_t sizes[] = {2};
    const bp_onnx_choices choices = {
        .struct_size = sizeof choices, .size_count = 1, .size_names = names, .sizes = sizes};
    const bp_onnx_choices none = {.struct_size = sizeof none};
    bp_graph *graph, *again;
    char *text;
    char *exact = malloc(size ? size : 1); /* without bytes behind the end, so that a sanitizer sees a read there */
    memcpy(exact, data, size);
    const int chooses = size > 0 && data[size - 1] % 2 == 0;
    const bp_status status = bp__onnx_read(&graph, size, exact, NULL, chooses ? &choices : &none);
    free(exact);
    if (status != BP_OK) {
        if (graph) {
            abort();
        }
        return 0;
    }
    if (bp_graph_text(graph, &text) == BP_OK) { /* fails for constants that take more memory than there is */
        if (bp_graph_parse(&again, strlen(text), text) != BP_OK) {
            abort();
        }
        bp_graph_release(again);
        bp_graph_text_release(text);
    }
    bp_graph_release(graph);
    return 0;
}
