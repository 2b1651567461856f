/* candidates.c - lists the candidates of a job, for compare and bench. */
#include "candidates.h"

#include <stdlib.h>
#include <string.h>

void candidate_text(char **text, char *replacement) {
    free(*text);
    *text = replacement;
}

static char *copy_text(const char *text) {
    return cli_format("%s", text ? text : "");
}

static cli_candidate *add_candidate_of(cli_candidates *made, const char *library, const char *provider) {
    made->list = cli_grow(made->list, (size_t)(made->count + 1) * sizeof *made->list);
    cli_candidate *one = &made->list[made->count++];
    *one = (cli_candidate){.library = copy_text(library), .provider = copy_text(provider), .version = copy_text("")};
    one->algorithm = copy_text("");
    one->why = copy_text("");
    return one;
}

/* Returns the settings by which only the candidate runs. */
static char *pin_of(const cli_job *job, const char *name) {
    char *quoted = cli_quote(name);
    char *pin = cli_format("%s=%s, dispatch.fallback=strict", job_preference(job), quoted);
    free(quoted);
    return pin;
}

/* Makes the options that pin `name`; NULL pins nothing. */
static int make_options(cli_candidate *one, const cli_job *job, const char *name, const char *settings) {
    char *text = copy_text(settings);
    if (name) {
        char *pin = pin_of(job, name);
        text = cli_join(text, ", ", pin);
        free(pin);
    }
    bp_status status = bp_options_new(&one->options, text);
    free(text);
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

static int add_candidate(cli_candidates *made, const cli_job *job, const bp_candidate_info *info,
                         const char *settings) {
    char text[32];
    cli_candidate *one = add_candidate_of(made, info->library, info->provider);
    candidate_text(&one->version, copy_text(info->version));
    one->accepted = info->accepted;
    one->chosen = info->chosen;
    one->threads = info->threads;
    one->cost_ns = info->cost_ns;
    if (!info->accepted) {
        candidate_text(&one->why, cli_format("refused: %s", info->text));
        return CLI_OK;
    }
    candidate_text(&one->algorithm, copy_text(info->algorithm));
    candidate_text(&one->why, one->chosen ? copy_text(bp_explanation_decision(made->explanation))
                                          : cli_format("%s at %s", bp_time_source_name(info->time_source),
                                                       bp__duration(one->cost_ns, text, sizeof text)));
    char *name = cli_format("%s:%s:%s", one->library, one->provider, one->algorithm);
    int code = make_options(one, job, name, settings);
    free(name);
    return code;
}

static bool is_listed(const cli_candidates *made, const bp_candidate_info *info) {
    for (int i = 0; i < made->count; i++) {
        const cli_candidate *one = &made->list[i];
        if (strcmp(one->library, info->library) == 0 && strcmp(one->provider, info->provider) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether the part is a matrix product. The others are not subject to blas.preferred: copies and contractions run on
 * the native provider, and a negative power takes an inverse first. */
static bool is_product(const bp_explanation *part) {
    return strstr(bp_explanation_problem(part), " @ ") != NULL;
}

/* Adds each provider of a library that accepts the product. */
static int add_part(cli_candidates *made, const cli_job *job, const bp_explanation *part, const char *settings) {
    bp_candidate_info info = {.struct_size = sizeof info};
    int code = CLI_OK;
    for (int i = 0; code == CLI_OK && bp_explanation_at(part, i, &info); i++) {
        if (info.accepted && !is_listed(made, &info)) {
            cli_candidate *one = add_candidate_of(made, info.library, info.provider);
            char *name = cli_format("%s:%s", info.library, info.provider);
            candidate_text(&one->version, copy_text(info.version));
            candidate_text(&one->why, copy_text("preferred for all products"));
            one->accepted = true;
            one->threads = info.threads;
            code = make_options(one, job, name, settings);
            free(name);
        }
    }
    return code;
}

int candidates_make(cli_candidates *made, const cli_job *job, const char *settings) {
    bp_candidate_info info = {.struct_size = sizeof info};
    bp_options *options = NULL;
    *made = (cli_candidates){.count = 0};
    cli_job asked = *job;
    bp_status status = settings ? bp_options_new(&options, settings) : BP_OK;
    asked.options = settings ? options : job->options;
    status = status == BP_OK ? job->operation->explain(&asked, &made->explanation) : status;
    bp_options_release(options);
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    int code = CLI_OK;
    const bp_explanation *part = bp_explanation_part(made->explanation, 0);
    if (part) {
        cli_candidate *mixed = add_candidate_of(made, CANDIDATE_MIXED, "-");
        mixed->accepted = mixed->chosen = true;
        candidate_text(&mixed->why, copy_text(bp_explanation_decision(made->explanation)));
        code = make_options(mixed, job, NULL, settings);
    }
    for (int i = 0; code == CLI_OK && (part = bp_explanation_part(made->explanation, i)); i++) {
        code = is_product(part) ? add_part(made, job, part, settings) : CLI_OK;
    }
    for (int i = 0; code == CLI_OK && bp_explanation_at(made->explanation, i, &info); i++) {
        /* Most providers do not offer most operations. */
        code = info.reason == BP_REASON_OP ? CLI_OK : add_candidate(made, job, &info, settings);
    }
    return code;
}

void candidates_free(cli_candidates *made) {
    for (int i = 0; i < made->count; i++) {
        cli_candidate *one = &made->list[i];
        free(one->library);
        free(one->provider);
        free(one->version);
        free(one->algorithm);
        free(one->why);
        bp_options_release(one->options);
    }
    free(made->list);
    bp_explanation_release(made->explanation);
}
