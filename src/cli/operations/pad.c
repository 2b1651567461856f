/* pad.c - padding, flips and rolls, for the commands that take an operation. */
#include "described.h"

static const cli_special specials[] = {
    {.call = "pad", .arrays = "256xn", .usual = "before=1 after=1"},
    {.call = "roll", .usual = "dim=-1 shifts=1"},
    {.call = NULL},
};
static const cli_derived derived = {"pad", specials};
const cli_operation operations_pad[] = {{.derived = &derived}};
