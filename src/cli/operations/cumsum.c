/* cumsum.c - cumulative sums, for the commands that take an operation. */
#include "described.h"
#include "reference/cumsum.h"
#include "sizing.h"

static const char real_text[] =
    "the largest |result - reference| / (|result| + additions 2^-53 sum of |input| / unit of "
    "rounding); the reference is computed in long double";
static const char whole_text[] = "the number of elements that differ from the reference";

static bp_status check_cumsum(cli_check *check, const cli_job *job) {
    double bound;
    *check = (cli_check){.bound = 0};
    bp_status status = reference_cumsum(&check->values, &job->words.described.of.cumsum, &bound);
    if (status == BP_OK) {
        status = check_with_reference(check, job, check->values.measure == REFERENCE_WHOLE ? whole_text : real_text);
        check->bound = bound;
    }
    return status;
}

static const cli_measured measured = {0, described_plan, check_cumsum};
static const cli_described described = {"cumsum", NULL, "input", "output", NULL, NULL};
static const char *const options[] = {"dim", "exclusive", "reverse", NULL};
static const cli_sizing sizing = {
    "256xn", "dim=-1", NULL, work_elements, "1 for each element", true, {64, 256, 1024, 4096}, 0, NULL};

const cli_operation operations_cumsum[] = {
    {"cumsum", "INPUT", 1, 1, 1, 0, options, described_prepare, described_run, described_explain, false, &measured,
     &described, &sizing},
    {.name = NULL},
};
