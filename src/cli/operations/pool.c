/* pool.c - pooling and its gradients, for the commands that take an operation. */
#include "rows.h"

static int adjust_pool(cli_job *job) {
    const bp_pool_call *call = &job->words.described.of.pool;
    const bool adaptive = !job_takes(job, "kernel");
    if (cli_has(job->args, "divisor") && call->divisor == 0) {
        return cli_fail(CLI_USAGE, "--divisor takes one number, which must not be 0");
    }
    if (adaptive ? call->output_size || !job_takes(job, "output-size") : call->kernel != NULL) {
        return CLI_OK;
    }
    return cli_fail(CLI_USAGE, "--%s is missing; %s needs it", adaptive ? "output-size" : "kernel",
                    job->operation->name);
}

/* ---- The operations ---- */

static const char *const max_options[] = {"kernel", "stride", "padding", "dilation", "ceil", NULL};
static const char *const avg_options[] = {"kernel", "stride", "padding", "ceil", "exclude-padding", "divisor", NULL};
static const char *const adaptive_options[] = {"output-size", NULL};
static const char *const max_size_options[] = {"kernel", "stride", "padding", "dilation", "ceil", "size", NULL};
static const char *const avg_size_options[] = {"kernel",          "stride",  "padding", "ceil",
                                               "exclude-padding", "divisor", "size",    NULL};
static const char *const adaptive_size_options[] = {"output-size", "size", NULL};

#define POOL(fixed, inputs, results) DESCRIBED("pool", fixed, inputs, results, adjust_pool, NULL)
static const cli_described max_pool[] = POOL("kind=max,pass=forward", "input", "output,indices"),
                           avg_pool[] = POOL("kind=average,pass=forward", "input", "output"),
                           max_pool_backward[] =
                               POOL("kind=max,pass=backward", "output_gradient,indices", "input_gradient"),
                           avg_pool_backward[] =
                               POOL("kind=average,pass=backward", "output_gradient", "input_gradient");

#define WINDOWS "kernel=3 stride=1 padding=1"
#define POOLED(arrays, options, results) SIZED(arrays, options, work_elements, PER_ELEMENT, true, results)
static const cli_sizing window_sizing[] = POOLED(IMAGES, WINDOWS, 0),
                        adaptive_sizing[] = POOLED(IMAGES, "output-size=4", 0),
                        max_input_sizing[] = POOLED(IMAGES " " IMAGES ":below:n*", WINDOWS " size=" IMAGES, 0),
                        avg_input_sizing[] = POOLED(IMAGES, WINDOWS " size=" IMAGES, 0),
                        adaptive_max_input_sizing[] =
                            POOLED("8x32x4* 8x32x4*:below:n*", "output-size=4 size=" IMAGES, 0),
                        adaptive_avg_input_sizing[] = POOLED("8x32x4*", "output-size=4 size=" IMAGES, 0);

const cli_operation operations_pool[] = {
    EACH_DIMENSION("max_pool", "", "INPUT", 1, 1, 2, max_options, max_pool, window_sizing),
    EACH_DIMENSION("avg_pool", "", "INPUT", 1, 1, 1, avg_options, avg_pool, window_sizing),
    EACH_DIMENSION("adaptive_max_pool", "", "INPUT", 1, 1, 2, adaptive_options, max_pool, adaptive_sizing),
    EACH_DIMENSION("adaptive_avg_pool", "", "INPUT", 1, 1, 1, adaptive_options, avg_pool, adaptive_sizing),
    EACH_DIMENSION("max_pool", "_input", "OUTPUT_GRADIENT INDICES", 2, 2, 1, max_size_options, max_pool_backward,
                   max_input_sizing),
    EACH_DIMENSION("avg_pool", "_input", "OUTPUT_GRADIENT", 1, 1, 1, avg_size_options, avg_pool_backward,
                   avg_input_sizing),
    EACH_DIMENSION("adaptive_max_pool", "_input", "OUTPUT_GRADIENT INDICES", 2, 2, 1, adaptive_size_options,
                   max_pool_backward, adaptive_max_input_sizing),
    EACH_DIMENSION("adaptive_avg_pool", "_input", "OUTPUT_GRADIENT", 1, 1, 1, adaptive_size_options, avg_pool_backward,
                   adaptive_avg_input_sizing),
    {.name = NULL},
};
