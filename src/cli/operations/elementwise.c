/* elementwise.c - functions of single elements, choosing, taking by indices and concatenation, for the commands that
 * take an operation. */
#include "described.h"
#include "sizing.h"

#include <string.h>

static int need_kind(cli_job *job) {
    const char *usual = strchr(job->operation->sizing->options, '=');
    return cli_has(job->args, "kind")
               ? CLI_OK
               : cli_fail(CLI_USAGE, "%s: --kind is missing, such as --kind %s", job->operation->name, usual + 1);
}

static const cli_special specials[] = {
    {.call = "unary", .more = "to", .adjust = need_kind, .usual = "kind=exp"},
    {.call = "binary", .adjust = need_kind, .usual = "kind=add"},
    {.call = "where", .arrays = "n:bool n n"},
    {.call = "take", .arrays = "n n:below:n"},
    {.call = "gather", .arrays = "n n:below:n"},
    {.call = NULL},
};
static const cli_derived derived = {"elementwise", specials};
const cli_operation operations_elementwise[] = {{.derived = &derived}};
