/* random.c - random numbers, for the commands that take an operation. */
#include "rows.h"

static int adjust_bits(cli_job *job) {
    job->words.described.usual_type = BP_I64;
    return CLI_OK;
}

static const char *const random_options[] = {"seed", "offset", "size", "to", NULL};
static const cli_described uniform = {"random", "kind=uniform", "", "output", NULL, "to"},
                           normal = {"random", "kind=normal", "", "output", NULL, "to"},
                           bits = {"random", "kind=bits", "", "output", adjust_bits, "to"};

#define NUMBERS(options)                                                                                               \
    { "n", options, NULL, work_elements, PER_ELEMENT, true, {64, 4096, 262144, 4194304}, 0, NULL }
static const cli_sizing random_sizing = NUMBERS(NULL), bits_sizing = NUMBERS("to=i64");

const cli_operation operations_random[] = {
    ROW("random_uniform", "[LIKE]", 0, 1, 1, random_options, &uniform, &random_sizing),
    ROW("random_normal", "[LIKE]", 0, 1, 1, random_options, &normal, &random_sizing),
    ROW("random_bits", "[LIKE]", 0, 1, 1, random_options, &bits, &bits_sizing),
    {.name = NULL},
};
