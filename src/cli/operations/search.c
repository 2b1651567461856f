/* search.c - reads the options for the search of einsum's contraction path. */
#include "search.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int read_limit(const cli_args *args, int64_t *limit) {
    const char *text = cli_value(args, "memory-limit");
    if (text && strcmp(text, "max_input") == 0) {
        *limit = BP_PATH_LARGEST_OPERAND;
        return CLI_OK;
    }
    return cli_number(args, "memory-limit", 1, INT64_MAX, 0, limit);
}

static int read_seconds(const cli_args *args, double *seconds) {
    const char *text = cli_value(args, "seconds");
    char *end = NULL;
    *seconds = text ? strtod(text, &end) : 0;
    if (text && (end == text || *end || !isfinite(*seconds) || *seconds <= 0)) {
        return cli_fail(CLI_USAGE, "--seconds is '%s'; it must be a number above 0", text);
    }
    return CLI_OK;
}

/* Reads one number of a path. Returns whether it is valid and followed by a separator or the end. */
static bool read_position(const char *text, char **end, int *position) {
    errno = 0;
    long value = *text >= '0' && *text <= '9' ? strtol(text, end, 10) : -1;
    *position = (int)value;
    return value >= 0 && !errno && value <= INT_MAX && (!**end || **end == '-' || **end == ',');
}

/* Reads steps separated by commas; a step is positions separated by dashes. */
static int read_path(const char *text, cli_search *search) {
    size_t most = strlen(text) / 2 + 1;
    int at = 0, steps = 0, count = 0;
    char *end = NULL;
    search->positions = cli_allocate(most * sizeof *search->positions);
    search->counts = cli_allocate(most * sizeof *search->counts);
    for (const char *next = text; next; next = *end ? end + 1 : NULL) {
        if (!read_position(next, &end, &search->positions[at++])) {
            return cli_fail(CLI_USAGE, "--contraction-path is '%s'; it must be such as 1-2,0-1", text);
        }
        count++;
        if (*end != '-') {
            search->counts[steps++] = count;
            count = 0;
        }
    }
    search->fields.strategy = BP_PATH_GIVEN;
    search->fields.path = search->positions;
    search->fields.path_counts = search->counts;
    search->fields.path_steps = steps;
    return CLI_OK;
}

static int read_strategy(const cli_args *args, cli_search *search) {
    bp_einsum_search *fields = &search->fields;
    const char *strategy = cli_value(args, "strategy"), *path = cli_value(args, "contraction-path");
    if (strategy && path) {
        return cli_fail(CLI_USAGE, "--strategy and --contraction-path are given; they exclude each other");
    }
    bp_status status = strategy ? bp_path_strategy_from_name(strategy, &fields->strategy, &fields->trials) : BP_OK;
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    if (fields->strategy == BP_PATH_GIVEN) {
        return cli_fail(CLI_USAGE, "--strategy is given; use --contraction-path 1-2,0-1 alone");
    }
    return path ? read_path(path, search) : CLI_OK;
}

int search_read(const cli_args *args, cli_search *search) {
    bp_einsum_search *fields = &search->fields;
    const char *minimize = cli_value(args, "minimize");
    int64_t seed = 0;
    fields->struct_size = sizeof *fields;
    int code = read_strategy(args, search);
    if (code == CLI_OK && minimize) {
        bp_status status = bp_path_objective_from_name(minimize, &fields->objective, &fields->factor);
        code = status == BP_OK ? CLI_OK : cli_fail_status(status);
    }
    code = code == CLI_OK ? read_limit(args, &fields->memory_limit) : code;
    code = code == CLI_OK ? cli_number(args, "trials", 1, 1000000000, fields->trials, &fields->trials) : code;
    code = code == CLI_OK ? cli_number(args, "seed", 0, INT64_MAX, 0, &seed) : code;
    code = code == CLI_OK ? cli_number(args, "work", 1, INT64_MAX, 0, &fields->work) : code;
    fields->seed = (uint64_t)seed;
    return code == CLI_OK ? read_seconds(args, &fields->seconds) : code;
}

void search_free(cli_search *search) {
    free(search->positions);
    free(search->counts);
}
