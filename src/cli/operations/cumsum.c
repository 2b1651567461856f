/* cumsum.c - cumulative sums, for the commands that take an operation. */
#include "described.h"
#include "sizing.h"

static const cli_measured measured = {0, described_plan, check_described};
static const cli_described described = {"cumsum", NULL, "input", "output", NULL, NULL};
static const char *const options[] = {"dim", "exclusive", "reverse", NULL};
static const cli_sizing sizing = {
    "256xn", "dim=-1", NULL, work_elements, "1 for each element", true, {64, 256, 1024, 4096}, 0, NULL};

const cli_operation operations_cumsum[] = {
    {"cumsum", "INPUT", 1, 1, 1, 0, options, described_prepare, described_run, described_explain, false, &measured,
     &described, &sizing},
    {.name = NULL},
};
