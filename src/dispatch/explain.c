/* explain.c - writes every candidate's verdict as text and JSON, from the list that the choice itself uses. */
#include "dispatch/needs.h"

#include "base/number.h"
#include "device/internal.h"
#include "machine/internal.h"
#include "tensor/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct bp_explanation {
    bp__choice choice;
    char problem[256];
    int32_t place;
    char device[192];    /* "" on the host */
    char precision[160]; /* how far f32 inputs may be rounded on a device, and why; "": no setting tells */
    char *text;
    char *json;
    bp_explanation **parts; /* of a composed plan */
    int part_count;
};

const char *bp_time_source_name(bp_time_source source) {
    static const char *const names[] = {"estimated", "interpolated", "measured", "neighbour"};
    return source >= 0 && source < BP__COUNT(names) ? names[source] : "";
}

static const char *text_of(const bp_verdict *v) {
    return v->text[0] || v->reason == BP_REASON_ACCEPTED ? v->text : bp_reason_text(v->reason);
}

/* Sets the expected time, and where it is from. */
static void add_time(bp_candidate_info *info, const bp__choice *choice, const bp__offer *offer) {
    const bool near = offer->neighbour_ns > 0;
    info->cost_ns = near ? offer->neighbour_ns : choice->predicted ? offer->predicted_ns : offer->verdict.cost_ns;
    info->time_source = near                ? BP_TIME_NEIGHBOUR
                        : choice->predicted ? (bp_time_source)offer->accuracy
                                            : BP_TIME_ESTIMATED;
    info->measured_ns = offer->measured_ns;
}

int bp_explanation_at(const bp_explanation *explanation, int index, bp_candidate_info *info) {
    if (!explanation || !bp__struct_usable(info) || index < 0 || index >= explanation->choice.count) {
        return 0;
    }
    const bp__offer *offer = &explanation->choice.offers[index];
    const bp__candidate *candidate = offer->candidate;
    const bp_verdict *v = &offer->verdict;
    bp_candidate_info own;
    memset(&own, 0, sizeof own); /* padding too: the whole struct is copied to the caller */
    own.library = bp__candidate_id(candidate);
    own.provider = candidate->provider->name;
    own.version = bp__candidate_version(candidate);
    own.accepted = v->reason == BP_REASON_ACCEPTED;
    own.reason = v->reason;
    own.text = text_of(v);
    own.algorithm = v->algorithm;
    own.properties = v->properties;
    own.threads = v->threads;
    own.chosen = index == explanation->choice.chosen;
    add_time(&own, &explanation->choice, offer);
    bp__struct_write(info, &own, sizeof own);
    return 1;
}

const char *bp_explanation_problem(const bp_explanation *explanation) {
    return explanation ? explanation->problem : "";
}

const char *bp_explanation_decision(const bp_explanation *explanation) {
    return explanation ? bp__text_get(&explanation->choice.decision) : "";
}

const char *bp_explanation_text(const bp_explanation *explanation) {
    return explanation ? explanation->text : "";
}

const char *bp_explanation_json(const bp_explanation *explanation) {
    return explanation ? explanation->json : "";
}

const bp_explanation *bp_explanation_part(const bp_explanation *explanation, int index) {
    bool there = explanation && index >= 0 && index < explanation->part_count;
    return there ? explanation->parts[index] : NULL;
}

static atomic_int alive;

int bp__explanations_alive(void) {
    return atomic_load(&alive);
}

void bp_explanation_release(bp_explanation *explanation) {
    if (explanation) {
        atomic_fetch_sub(&alive, 1);
        for (int i = 0; i < explanation->part_count; i++) {
            bp_explanation_release(explanation->parts[i]);
        }
        bp__free(explanation->parts);
        bp__choice_free(&explanation->choice);
        bp__free(explanation->text);
        bp__free(explanation->json);
        bp__free(explanation);
    }
}

/* On a device, threads of the host do not compute. */
static void add_candidate_text(bp__text *out, const bp_candidate_info *c, bool on_device) {
    char properties[256], time[32];
    bp__text_addf(out, "  %s %-18s %-10s ", c->chosen ? "*" : (c->accepted ? "+" : "-"), c->library, c->provider);
    if (!c->accepted) {
        bp__text_addf(out, "refused: %s\n", c->text);
        return;
    }
    if (c->threads > 0) {
        bp__text_addf(out, "%s, %d thread%s, ", c->algorithm, c->threads, c->threads == 1 ? "" : "s");
    } else {
        bp__text_addf(out, on_device ? "%s, " : "%s, library's own threads, ", c->algorithm);
    }
    if (c->measured_ns > 0) {
        bp__text_addf(out, "measured for this problem %s, ", bp__duration(c->measured_ns, time, sizeof time));
    }
    bp__text_addf(out, "%s %s; %s%s%s\n", bp_time_source_name(c->time_source),
                  bp__duration(c->cost_ns, time, sizeof time),
                  bp_properties_text(c->properties, properties, sizeof properties), *c->text ? "; " : "", c->text);
}

/* A setting that affects the choice, with its current value. */
typedef struct policy_row {
    const char *name, *value, *where, *node;
    bp_layer layer;
    char number[16], reason[96]; /* texts of a limit of threads */
} policy_row;

/* Shows what limits the threads in place of the setting. */
static void limit_threads(policy_row *row, const bp_policy *policy) {
    if (bp__policy_in_region()) {
        row->value = "1";
        row->layer = BP_LAYER_SHARED_ENVIRONMENT;
        row->where = "inside a parallel region of OpenMP";
    } else if (policy->deterministic == 0 && bp__policy_load_limit() == policy->threads) {
        double others;
        bp_load_limit(&others);
        bp__format(row->number, sizeof row->number, "%d", policy->threads);
        bp__format(row->reason, sizeof row->reason, "other processes keep %.1f processors busy; threads.adapt", others);
        row->value = row->number;
        row->layer = BP_LAYER_SHARED_ENVIRONMENT;
        row->where = row->reason;
    }
}

static bool read_policy_row(int index, const bp_explanation *e, policy_row *row) {
    const bp_setting_info *info = bp_setting_listed_at(index);
    const unsigned wanted = BP_SETTING_POLICY | (bp__place_is_cuda(e->place) ? BP_SETTING_CUDA : 0);
    row->name = info->name;
    /* The settings behind an alias are shown. */
    bool shown = (info->flags & wanted) && !(info->flags & BP_SETTING_ALIAS);
    if (!shown || bp_get(info->name, &row->value, &row->layer, &row->where) != BP_OK ||
        bp_get_deciding_setting(info->name, &row->node) != BP_OK) {
        return false;
    }
    if (info->number == BP_SET_num_threads) {
        limit_threads(row, &e->choice.asked.policy);
    }
    return true;
}

static void add_policy_text(bp__text *out, const bp_explanation *e) {
    policy_row row;
    for (int i = 0; i < BP_SETTING_COUNT; i++) {
        if (!read_policy_row(i, e, &row) || row.layer == BP_LAYER_DEFAULT) {
            continue;
        }
        bool inherited = strcmp(row.node, row.name) != 0;
        bp__text_addf(out, "  %s = %s (%s%s%s", row.name, row.value, inherited ? "from " : "",
                      inherited ? row.node : "", inherited ? "; " : "");
        bp__text_addf(out, "%s%s%s)\n", bp_layer_name(row.layer), *row.where ? ": " : "", row.where);
    }
}

static void make_text(const bp_explanation *e, bp__text *out) {
    bool product = bp__family_of(&e->choice.asked)->products; /* the problem text of a product names the operation */
    bp__text_addf(out, "problem   %s%s%s\n", product ? "" : bp_op_name((bp_op)e->choice.asked.op), product ? "" : " ",
                  e->problem);
    if (e->device[0]) {
        bp__text_addf(out, "device    %s\n", e->device);
    }
    if (e->precision[0]) {
        bp__text_addf(out, "precision %s\n", e->precision);
    }
    if (e->choice.chosen >= 0) {
        bp__text_addf(out, "chosen    %s\n", bp__candidate_id(e->choice.offers[e->choice.chosen].candidate));
    } else {
        bp__text_addf(out, "chosen    none\n");
    }
    bp__text_addf(out, "because   %s\n", bp_explanation_decision(e));
    if (e->choice.warning.length > 0) {
        bp__text_addf(out, "warning   %s\n", bp__text_get(&e->choice.warning));
    }
    bp__text_add(out, "candidates (* chosen, + accepts, - refuses)\n");
    bp_candidate_info c = {.struct_size = sizeof c};
    int others = 0;
    for (int i = 0; bp_explanation_at(e, i, &c); i++) {
        if (c.reason == BP_REASON_OP) {
            others++;
        } else {
            add_candidate_text(out, &c, e->choice.asked.place != 0);
        }
    }
    if (others > 0) {
        bp__text_addf(out, "  (%d more do not offer this operation)\n", others);
    }
    size_t before = out->length;
    bp__text_add(out, "settings that differ from their defaults\n");
    size_t head = out->length;
    add_policy_text(out, e);
    if (out->length == head && !out->failed) {
        out->length = before;
        out->bytes[before] = '\0';
    }
}

static void add_candidate_json(bp__json *json, const bp_candidate_info *c) {
    char properties[256];
    bp__json_open(json, NULL, '{');
    bp__json_text(json, "library", c->library);
    bp__json_text(json, "provider", c->provider);
    bp__json_text(json, "version", c->version);
    bp__json_bool(json, "accepted", c->accepted);
    bp__json_bool(json, "chosen", c->chosen);
    bp__json_text(json, "reason", bp_reason_name(c->reason));
    bp__json_text(json, "text", c->text);
    bp__json_text(json, "algorithm", c->algorithm);
    bp__json_int(json, "threads", c->threads);
    bp__json_number(json, "cost_ns", c->cost_ns);
    bp__json_text(json, "time_source", bp_time_source_name(c->time_source));
    bp__json_number(json, "measured_ns", c->measured_ns > 0 ? c->measured_ns : NAN);
    bp__json_text(json, "properties", bp_properties_text(c->properties, properties, sizeof properties));
    bp__json_close(json, '}');
}

static void make_json(const bp_explanation *e, bp__text *out) {
    bp__json json;
    bp__json_begin(&json, out);
    bp__json_open(&json, NULL, '{');
    bp__json_text(&json, "operation", bp_op_name((bp_op)e->choice.asked.op));
    bp__json_text(&json, "problem", e->problem);
    bp__json_text(&json, "device", e->device[0] ? e->device : NULL);
    bp__json_text(&json, "precision", e->precision[0] ? e->precision : NULL);
    bp__json_text(&json, "chosen",
                  e->choice.chosen >= 0 ? bp__candidate_id(e->choice.offers[e->choice.chosen].candidate) : NULL);
    bp__json_text(&json, "status", bp_status_name(e->choice.status));
    bp__json_text(&json, "decision", bp_explanation_decision(e));
    bp__json_text(&json, "warning", e->choice.warning.length > 0 ? bp__text_get(&e->choice.warning) : NULL);
    bp__json_open(&json, "candidates", '[');
    bp_candidate_info c = {.struct_size = sizeof c};
    for (int i = 0; bp_explanation_at(e, i, &c); i++) {
        add_candidate_json(&json, &c);
    }
    bp__json_close(&json, ']');
    bp__json_open(&json, "settings", '{');
    for (int i = 0; i < BP_SETTING_COUNT; i++) {
        policy_row row;
        if (read_policy_row(i, e, &row)) {
            bp__json_open(&json, row.name, '{');
            bp__json_text(&json, "value", row.value);
            bp__json_text(&json, "node", row.node);
            bp__json_text(&json, "layer", bp_layer_name(row.layer));
            bp__json_text(&json, "where", row.where);
            bp__json_close(&json, '}');
        }
    }
    bp__json_close(&json, '}');
    bp__json_close(&json, '}');
}

static bp_status finish(bp_explanation **explanation, bp_explanation *e, bp__text *text, bp__text *json) {
    e->text = text->bytes;
    e->json = json->bytes;
    if (text->failed || json->failed) {
        bp_explanation_release(e);
        return bp__fail_memory(4096, "an explanation");
    }
    *explanation = e;
    return BP_OK;
}

static void describe_device(bp_explanation *e, int32_t place) {
    const bp_device_info *device = place != 0 ? bp__device_facts(place) : NULL;
    if (device) {
        snprintf(e->device, sizeof e->device, "%s (%s)%s", device->id, device->name,
                 device->state == BP_DEVICE_RECORDED ? ", recorded: nothing can run" : "");
    }
}

/* Names the setting that limits the rounding of f32 inputs, because several may be set for other places. */
static void describe_precision(bp_explanation *e, const bp_problem *problem) {
    const bp_policy *policy = &problem->policy;
    const bool f32 = problem->dtype == BP_F32 || problem->dtype == BP_C64;
    const char *node = f32 && problem->place != 0 ? bp__precision_decider(problem) : NULL, *value, *where;
    bp_layer layer;
    if (node && bp_get(node, &value, &layer, &where) == BP_OK) {
        const char *bound = policy->products & BP_PRODUCTS_BFX9 ? "f32 by products of bf16"
                            : policy->precision == 2            ? "bf16"
                            : policy->precision == 1            ? "tf32"
                                                                : "f32";
        snprintf(e->precision, sizeof e->precision, "%s by %s=%s (%s%s%.48s)", bound, node, value, bp_layer_name(layer),
                 *where ? ": " : "", where);
    }
}

/* Chooses as a run does: a candidate that is refused when its plan is made gives way to the next one. */
static bp_status choose(bp__choice *choice, const bp_problem *problem) {
    bp__failures failures = {0};
    bool refused = false;
    bp_status status;
    do {
        status = bp__choose(choice, problem, &failures, true);
        if (status == BP_OK) {
            status = bp__plan_try(choice, problem, &failures, &refused);
            if (status != BP_OK || refused) {
                bp__choice_free(choice);
            }
        }
    } while (status == BP_OK && refused);
    bp__failures_free(&failures);
    return status;
}

static bp_status explain(bp_explanation **explanation, const bp_problem *problem) {
    bp_explanation *e = bp__alloc_zero(1, sizeof *e);
    if (!e) {
        return bp__fail_memory(sizeof *e, "an explanation");
    }
    bp_status status = choose(&e->choice, problem);
    if (status != BP_OK) {
        bp__free(e);
        return status;
    }
    bp__needs_tell_threads(&e->choice);
    atomic_fetch_add(&alive, 1);
    bp__problem_text(problem, e->problem, sizeof e->problem);
    e->place = problem->place;
    describe_device(e, problem->place);
    describe_precision(e, problem);
    bp__text text = {0};
    bp__text json = {0};
    make_text(e, &text);
    make_json(e, &json);
    return finish(explanation, e, &text, &json);
}

bp_status bp__explain(bp_explanation **explanation, const bp_problem *problem) {
    bp__held_error held;
    bp__error_hold(&held);
    return bp__error_finish(&held, explain(explanation, problem));
}

/* ---- Composed plans ---- */

static bp_status explain_parts(bp_explanation *e, const bp__whole *whole) {
    e->parts = bp__alloc_zero((size_t)whole->part_count + 1, sizeof(bp_explanation *));
    if (!e->parts) {
        return bp__fail_memory((size_t)whole->part_count * sizeof(bp_explanation *), "an explanation");
    }
    for (int i = 0; i < whole->part_count; i++) {
        BP__TRY(bp__explain(&e->parts[i], &whole->parts[i]->problem));
        e->part_count++;
    }
    return BP_OK;
}

static void make_whole_text(const bp_explanation *e, const bp__whole *whole, bp__text *out) {
    bp__text_addf(out, "problem   %s %s\n", whole->operation, e->problem);
    bp__text_addf(out, "because   %s\n", bp_explanation_decision(e));
    whole->add_text(out, whole->context);
    for (int i = 0; i < e->part_count; i++) {
        bp__text_addf(out, "\npart %d: %s\n%s", i + 1, whole->part_titles[i], e->parts[i]->text);
    }
}

static void make_whole_json(const bp_explanation *e, const bp__whole *whole, bp__text *out) {
    bp__json json;
    bp__json_begin(&json, out);
    bp__json_open(&json, NULL, '{');
    bp__json_text(&json, "operation", whole->operation);
    bp__json_text(&json, "problem", e->problem);
    bp__json_text(&json, "decision", bp_explanation_decision(e));
    whole->add_json(&json, whole->context);
    bp__json_open(&json, "parts", '[');
    for (int i = 0; i < e->part_count; i++) {
        bp__json_open(&json, NULL, '{');
        bp__json_text(&json, "title", whole->part_titles[i]);
        bp__json_raw(&json, "explanation", e->parts[i]->json);
        bp__json_close(&json, '}');
    }
    bp__json_close(&json, ']');
    bp__json_close(&json, '}');
}

bp_status bp__explain_whole(bp_explanation **explanation, const bp__whole *whole) {
    bp_explanation *e = bp__alloc_zero(1, sizeof *e);
    if (!e) {
        return bp__fail_memory(sizeof *e, "an explanation");
    }
    atomic_fetch_add(&alive, 1);
    e->choice.chosen = -1;
    bp__copy_text(e->problem, sizeof e->problem, whole->problem);
    bp__text_add(&e->choice.decision, whole->decision);
    bp_status status = explain_parts(e, whole);
    if (status != BP_OK) {
        bp_explanation_release(e);
        return status;
    }
    bp__text text = {0};
    bp__text json = {0};
    make_whole_text(e, whole, &text);
    make_whole_json(e, whole, &json);
    return finish(explanation, e, &text, &json);
}
