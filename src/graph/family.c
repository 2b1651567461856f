/* family.c - describes graphs to dispatch. Plans of graphs are composed: they have their own keys and texts. */
#include "graph/graph.h"

#include <stdio.h>

static void describe_graph(const bp_problem *problem, char *buffer, size_t size) {
    (void)problem;
    snprintf(buffer, size, "a graph");
}

const bp__family bp__family_graph = {
    .preference = BP__NO_SETTING, /* its parts have theirs */
    .enabled = BP__NO_SETTING,
    .precision = BP__NO_SETTING,
    .benchmark = BP__NO_SETTING,
    .describe = describe_graph,
};
