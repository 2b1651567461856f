/* fuzz_graph.c - reads any bytes as the text of a graph. A graph that is read is written, and read again: both have the
 * same text and hash. */
#include "backplane.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bp_graph *graph, *again;
    char *text, *second;
    unsigned char hash[2][32];
    char *exact = malloc(size ? size : 1); /* without bytes behind the end, so that a sanitizer sees a read there */
    memcpy(exact, data, size);
    const bp_status status = bp_graph_parse(&graph, size, exact);
    free(exact);
    if (status != BP_OK) {
        if (graph) {
            abort();
        }
        return 0;
    }
    if (bp_graph_text(graph, &text) != BP_OK || bp_graph_parse(&again, strlen(text), text) != BP_OK ||
        bp_graph_text(again, &second) != BP_OK || strcmp(text, second) != 0 || bp_graph_hash(graph, hash[0]) != BP_OK ||
        bp_graph_hash(again, hash[1]) != BP_OK || memcmp(hash[0], hash[1], sizeof hash[0]) != 0) {
        abort();
    }
    bp_graph_text_release(text);
    bp_graph_text_release(second);
    bp_graph_release(graph);
    bp_graph_release(again);
    return 0;
}
