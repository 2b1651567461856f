/* cumsum.c - cumulative sums, for the commands that take an operation. */
#include "described.h"

static const cli_special specials[] = {{.call = "cumsum", .usual = "dim=-1"}, {.call = NULL}};
static const cli_derived derived = {"cumsum", specials};
const cli_operation operations_cumsum[] = {{.derived = &derived}};
