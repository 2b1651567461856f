/* explain.c - explains a plan of einsum as text and JSON: the path, its parts, and the choice for each part. */
#include "ops/einsum/einsum.h"

#include <inttypes.h>

static void add_text(bp__text *text, const void *context) {
    const bp__program *program = context;
    const bp__contraction *contraction = bp__contraction_of(program);
    const bp_contraction_path_info *info = &contraction->path->info;
    bp__text_addf(text, "path      %d step%s, %.4g operations (at once: %.4g), largest result %.4g elements\n",
                  info->steps, info->steps == 1 ? "" : "s", info->flops, info->naive_flops, info->largest);
    bp__text_addf(text, "workspace %zu bytes\n", program->base.workspace);
    bp__text_add(text, "parts\n");
    for (int i = 0; i < program->count; i++) {
        const bp__part *part = &program->parts[i];
        const bp__action *action = &contraction->actions[i];
        bp_contraction_step step = {.struct_size = sizeof step};
        bp_contraction_path_at(contraction->path, action->step, &step);
        bp__text_addf(text, "  %2d  step %-2d %-18s %-12s %-26s %-12s %-14s", i + 1, action->step + 1, step.expression,
                      step.kind ? step.kind : "", action->text, bp__candidate_id(part->plan->candidate),
                      part->plan->verdict.algorithm);
        double cost = bp__plan_expected_ns(part->plan) * (double)part->runs;
        char time[32];
        bp__text_addf(text, " about %s", bp__duration(cost, time, sizeof time));
        if (part->runs > 1) {
            bp__text_addf(text, ", in %" PRId64 " slices", part->runs);
        }
        bp__text_add(text, "\n");
    }
}

static void add_json(bp__json *json, const void *context) {
    const bp__program *program = context;
    const bp__contraction *contraction = bp__contraction_of(program);
    bp__json_raw(json, "path", bp_contraction_path_json(contraction->path));
    bp__json_int(json, "workspace", (int64_t)program->base.workspace);
    bp__json_open(json, "schedule", '[');
    for (int i = 0; i < program->count; i++) {
        const bp__part *part = &program->parts[i];
        const bp__action *action = &contraction->actions[i];
        bp__json_open(json, NULL, '{');
        bp_contraction_step step = {.struct_size = sizeof step};
        bool known = bp_contraction_path_at(contraction->path, action->step, &step);
        bp__json_int(json, "step", action->step);
        bp__json_text(json, "kind", known ? step.kind : NULL);
        bp__json_text(json, "action", action->text);
        bp__json_text(json, "library", bp__candidate_id(part->plan->candidate));
        bp__json_text(json, "algorithm", part->plan->verdict.algorithm);
        bp__json_int(json, "runs", part->runs);
        bp__json_number(json, "cost_ns", bp__plan_expected_ns(part->plan) * (double)part->runs);
        bp__json_close(json, '}');
    }
    bp__json_close(json, ']');
}

bp_status bp__program_explain(bp_explanation **explanation, const bp_plan *plan) {
    const bp__program *program = bp__einsum_program(plan);
    size_t size = (size_t)program->count * (sizeof(bp_plan *) + sizeof(char *));
    const bp_plan **plans = bp__alloc(size);
    if (!plans) {
        return bp__fail_memory(size, "an explanation");
    }
    const char **titles = (const char **)(plans + program->count);
    for (int i = 0; i < program->count; i++) {
        plans[i] = program->parts[i].plan;
        titles[i] = bp__contraction_of(program)->actions[i].text;
    }
    bp__whole whole = {.operation = bp_op_name(BP_OP_EINSUM),
                       .problem = plan->text,
                       .decision = plan->reason,
                       .parts = plans,
                       .part_titles = titles,
                       .part_count = program->count,
                       .add_text = add_text,
                       .add_json = add_json,
                       .context = program};
    bp_status status = bp__explain_whole(explanation, &whole);
    bp__free(plans);
    return status;
}
