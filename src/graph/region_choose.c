/* region_choose.c - chooses the backend of a region: by graph.backend first, and then by the estimated time. */
#include "graph/region.h"

#include "base/number.h"

#include <string.h>

typedef struct choice {
    const bp__lowered *l;
    bp__region *region;
    bp_plan *const *plans;
    bp__region_description *description; /* NULL: the program has no backend */
    bp__region_call *blocks;             /* NULL: excluded, or in use */
} choice;

static const bp_policy *policy_of(const choice *c) {
    return &c->plans[c->region->first]->problem.policy;
}

/* Takes the backends, each with a reference. */
static bp_status begin(choice *c) {
    bp__backend *list[BP__BACKENDS_MOST];
    const int count = bp__backends_take(list);
    bp__region_offer *offers = bp__alloc_zero((size_t)count + 1, sizeof *offers);
    for (int i = 0; i < count; i++) {
        if (offers) {
            offers[i + 1].backend = list[i];
            bp__format(offers[i + 1].name, sizeof offers[i + 1].name, "%s", list[i]->given.name);
        } else {
            bp__backend_give(list[i]);
        }
    }
    if (!offers) {
        return bp__fail_memory((size_t)(count + 1) * sizeof *offers, "the plan of a graph");
    }
    bp__format(offers[0].name, sizeof offers[0].name, "%s", "blocks");
    c->region->offers = offers;
    c->region->offer_count = count + 1;
    return count > 0 ? bp__region_describe(&c->description, c->l, c->region, policy_of(c)) : BP_OK;
}

static bp_status ask(choice *c) {
    for (int i = 0; i < c->region->offer_count; i++) {
        bp__region_offer *o = &c->region->offers[i];
        o->rank = bp__backend_rank(o->name);
        if (o->rank == BP__BACKEND_EXCLUDED) {
            bp__format(o->reason, sizeof o->reason, "excluded by graph.backend");
        } else if (o->backend) {
            bp__region_ask(o, c->description);
        } else {
            BP__TRY(bp__region_blocks(&c->blocks, c->l, c->region, c->plans, &o->offer.cost_ns));
            o->accepted = true;
        }
    }
    return BP_OK;
}

static bp__region_offer *find_best(const choice *c) {
    bp__region_offer *best = NULL;
    for (int i = 0; i < c->region->offer_count; i++) {
        bp__region_offer *o = &c->region->offers[i];
        if (o->accepted &&
            (!best || o->rank < best->rank || (o->rank == best->rank && o->offer.cost_ns < best->offer.cost_ns))) {
            best = o;
        }
    }
    return best;
}

/* Plans with the backend of an offer. Refuses the offer where another backend may take its place. */
static bp_status try_offer(choice *c, bp__region_offer *o) {
    if (!o->backend) {
        bp__region_call *blocks = c->blocks;
        c->blocks = NULL;
        return bp__region_blocks_plan(&c->region->plan, blocks);
    }
    bp__held_error held;
    bp__error_hold(&held);
    bp_status status = bp__region_plan_own(&c->region->plan, o, c->description, c->plans[c->region->first]);
    const int fallback = policy_of(c)->fallback;
    if (status == BP_OK || status == BP_E_NO_MEMORY || status == BP_E_CANCELLED ||
        (status != BP_E_UNSUPPORTED && fallback == 0)) {
        return bp__error_finish(&held, status);
    }
    o->accepted = false;
    bp__format(o->reason, sizeof o->reason, "%s", bp_status_text(status));
    if (fallback == 1 && status != BP_E_UNSUPPORTED) {
        bp__warn("graph backend %s accepted a region but failed (%s); the region runs otherwise", o->name, o->reason);
    }
    return bp__error_finish(&held, BP_OK);
}

static bp_status choose(choice *c) {
    BP__TRY(begin(c));
    BP__TRY(ask(c));
    for (bp__region_offer *o; !c->region->plan && (o = find_best(c));) {
        o->chosen = true;
        BP__TRY(try_offer(c, o));
        o->chosen = c->region->plan != NULL;
    }
    return BP_OK;
}

bp_status bp__region_plan(const bp__lowered *l, bp__region *region, bp_plan *const *plans) {
    choice c = {.l = l, .region = region, .plans = plans};
    const bp_status status = choose(&c);
    bp__region_blocks_free(c.blocks);
    bp__free(c.description);
    for (int i = 0; i < region->offer_count; i++) {
        bp__backend_give(region->offers[i].backend);
        region->offers[i].backend = NULL;
    }
    if (!region->plan) {
        bp__free(region->offers);
        region->offers = NULL;
        region->offer_count = 0;
    }
    return status;
}
