/* reduce.c - reductions, variances, and softmax with its gradients, for the commands that take an operation. */
#include "described.h"

static const cli_special specials[] = {
    {.call = "reduce", .usual = "dim=-1"},
    {.call = "variance", .name = "var", .fixed = "kind=var", .usual = "dim=-1"},
    {.call = "variance", .name = "std", .fixed = "kind=std", .usual = "dim=-1"},
    {.call = "softmax", .name = "softmax", .fixed = "kind=softmax"},
    {.call = "softmax", .name = "log_softmax", .fixed = "kind=log_softmax"},
    {.call = "softmax_backward", .name = "softmax_input", .fixed = "kind=softmax"},
    {.call = "softmax_backward", .name = "log_softmax_input", .fixed = "kind=log_softmax"},
    {.call = NULL},
};
static const cli_derived derived = {"reduce", specials};
const cli_operation operations_reduce[] = {{.derived = &derived}};
