/* tune.c - ranks candidates by measured times, and measures them.
 *
 * A call never waits for this unless tuning.start=now. Candidates run on private operands and must agree on the result
 * before their times count; one that does not is put into quarantine. */
#include "dispatch/tune.h"

#include "machine/internal.h"
#include "tuning/tuning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_BYTES ((size_t)64 << 20)    /* of the operands; larger problems are not measured */
#define MOST_RESULTS ((size_t)256 << 20) /* bytes of the results that are compared */
#define LIKELY 4.0           /* a candidate is measured if its estimate is within this factor of the least */
#define LEAST_BUDGET_NS 20e6 /* the comparison takes at most this, or BUDGET_CALLS times the call */
#define BUDGET_CALLS 50
#define TURN_NS 40e3  /* the shortest turns of one candidate, for the expected cost */
#define FIXED_NS 1e6  /* operands, comparison and the file, likewise */
#define COST_CALLS 10 /* calls of one candidate, likewise */
#define MOST_MEASURED 64

static atomic_llong spent_ns, measured_count;
static pthread_mutex_t measuring = PTHREAD_MUTEX_INITIALIZER; /* one class at a time: two would slow each other */
static _Thread_local bool inside __attribute__((tls_model("initial-exec"))); /* this thread is measuring */

int64_t bp__tune_measured(void) {
    return atomic_load(&measured_count);
}

int64_t bp__tune_spent_ns(void) {
    return atomic_load(&spent_ns);
}

void bp__tune_forked(void) {
    pthread_mutex_init(&measuring, NULL); /* the thread that measured is not in the child */
}

/* ---- Eligible offers: the offers among which the time decides ---- */

typedef struct eligible {
    int offer[MOST_MEASURED]; /* indices, by rising estimate */
    int count;
    int usable; /* number before those that are too slow by their estimates were removed */
    bool many;  /* there are more than fit, so none is measured */
} eligible;

static bool usable(const bp__offer *offer) {
    return offer->verdict.reason == BP_REASON_ACCEPTED && !offer->failed;
}

/* Returns how well a usable offer matches the preference, at best; 0 if there is no preference. */
static int preference_quality(const bp__choice *choice, const char *preferred) {
    int best = 0;
    for (int i = 0; *preferred && i < choice->count; i++) {
        const bp__offer *o = &choice->offers[i];
        int match = usable(o) ? bp__name_matches(preferred, o->candidate, o->verdict.algorithm) : 0;
        best = match > best ? match : best;
    }
    return best;
}

static void insert(eligible *all, const bp__choice *choice, int offer) {
    if (all->count == MOST_MEASURED) {
        all->many = true;
        return;
    }
    int at = all->count++;
    for (; at > 0 && choice->offers[offer].order < choice->offers[all->offer[at - 1]].order; at--) {
        all->offer[at] = all->offer[at - 1];
    }
    all->offer[at] = offer;
}

static eligible find_eligible(const bp__choice *choice) {
    eligible all = {.count = 0};
    const char *preferred = bp__policy_text(choice->asked.policy.preferred);
    int quality = preference_quality(choice, preferred);
    for (int i = 0; i < choice->count; i++) {
        const bp__offer *o = &choice->offers[i];
        if (usable(o) && (quality == 0 || bp__name_matches(preferred, o->candidate, o->verdict.algorithm) >= quality)) {
            insert(&all, choice, i);
        }
    }
    all.count = all.many ? 0 : all.count;
    all.usable = all.count;
    return all;
}

/* Keeps those that may be the fastest, at most benchmark_limit. */
static void keep_likely(eligible *all, const bp__choice *choice) {
    int64_t limit = bp__setting_int(BP_SET_benchmark_limit);
    int keep = 0;
    while (keep < all->count && (limit == 0 || keep < limit) &&
           choice->offers[all->offer[keep]].order <= LIKELY * choice->offers[all->offer[0]].order) {
        keep++;
    }
    all->count = keep;
}

/* How much longer measuring took than expected, for the last classes of each operation, in thousandths: libraries are
 * loaded, and some plan by measurement. */
enum { OPERATIONS = 32, AS_EXPECTED = 1000, MOST_CORRECTION = 1000 * AS_EXPECTED };
static atomic_int corrections[OPERATIONS] = {[BP_OP_FFT] = 100 * AS_EXPECTED};

static double modelled_cost(const bp__choice *choice, const eligible *all) {
    return FIXED_NS + all->count * fmax(COST_CALLS * choice->offers[all->offer[0]].order, TURN_NS);
}

double bp__tune_cost(const bp__choice *choice) {
    eligible all = find_eligible(choice);
    keep_likely(&all, choice);
    if (all.count < 2 || choice->asked.op >= OPERATIONS) {
        return 0;
    }
    int correction = atomic_load_explicit(&corrections[choice->asked.op], memory_order_relaxed);
    return modelled_cost(choice, &all) * (correction > AS_EXPECTED ? (double)correction / AS_EXPECTED : 1);
}

/* Changes the correction by half, on a logarithmic scale, because the time of one class varies. */
static void correct_cost(const bp__choice *choice, double modelled_ns, double took_ns) {
    if (choice->asked.op < OPERATIONS) {
        atomic_int *correction = &corrections[choice->asked.op];
        double old = fmax(AS_EXPECTED, atomic_load_explicit(correction, memory_order_relaxed));
        double now = fmin(MOST_CORRECTION, sqrt(old * fmax(1, AS_EXPECTED * took_ns / modelled_ns)));
        atomic_store_explicit(correction, (int)now, memory_order_relaxed);
    }
}

/* ---- Records: "took 2.1 ms|1234.5 NAME|- NAME|failed NAME" ---- */

/* Returns the word of the record before the name: its length in *length; NULL if the name is not in the record. */
static const char *find_name(const char *record, const char *name, size_t *length) {
    const size_t size = strlen(name);
    for (const char *at = strchr(record, '|'); at; at = strchr(at, '|')) {
        at++;
        *length = strcspn(at, " |");
        const char *rest = at + *length + 1;
        if (at[*length] == ' ' && strncmp(rest, name, size) == 0 && (rest[size] == '\0' || rest[size] == '|')) {
            return at;
        }
    }
    return NULL;
}

static int entry_count(const char *record) {
    int count = 0;
    for (; *record; record++) {
        count += *record == '|';
    }
    return count;
}

/* Reads the times of all eligible. Returns false if the record is not for the same ones. */
static bool read_record(bp__choice *choice, const eligible *all, const char *record) {
    double times[MOST_MEASURED];
    for (int i = 0; i < all->count; i++) {
        bp__text name = {0};
        size_t length;
        bp__tune_name(&name, &choice->offers[all->offer[i]]);
        const char *word = find_name(record, bp__text_get(&name), &length);
        bp__text_free(&name);
        if (!word) {
            return false;
        }
        times[i] = strtod(word, NULL); /* 0 for "-" and "failed" */
    }
    if (entry_count(record) != all->count) {
        return false;
    }
    for (int i = 0; i < all->count; i++) {
        bp__offer *o = &choice->offers[all->offer[i]];
        bool measured = times[i] > 0 && isfinite(times[i]);
        o->measured_ns = measured ? times[i] : 0;
        o->order = measured ? times[i] : 1e30 + o->order; /* those without a time were slower, or failed */
    }
    return true;
}

static bool apply_record(bp__choice *choice, const eligible *all, const char *key) {
    const bp_policy *policy = &choice->asked.policy;
    bp__text record = {0};
    bool frozen = policy->tuning == BP__TUNING_FROZEN && policy->deterministic == 1;
    bool allowed = policy->deterministic == 0 || frozen, applied = false;
    if (bp__tune_find(key, frozen, &record, &choice->measured_s) && *bp__text_get(&record) != '!') {
        applied = allowed && read_record(choice, all, bp__text_get(&record));
        choice->unmeasured = applied   ? NULL
                             : allowed ? "measured times are not used, because other candidates accepted then"
                                       : "measured times are not used, because deterministic is set";
    }
    choice->measured = applied;
    bp__text_free(&record);
    return applied;
}

/* ---- Measuring ---- */

typedef struct measured {
    const bp__offer *offer;
    bp__timed timed;
    bp_prepared *prepared;
    bp__trial_result result;
    bool has_result;
    char wrong[160];   /* why the result is wrong; "" if it is right */
    char differs[160]; /* how it differs from the one that all were compared with last; "" if it agrees */
} measured;

typedef struct session {
    bp__choice *choice;
    bp__trial trial;
    measured list[MOST_MEASURED];
    int count;
} session;

/* Makes the offer's plan, and runs it once on fresh operands. */
static void prepare_plan(session *s, measured *m, const bp__offer *offer, const void *found) {
    const bp__candidate *candidate = offer->candidate;
    bp_status status =
        candidate->provider->plan(candidate->instance, &s->choice->asked, &offer->verdict, found, &m->prepared);
    m->timed.status = status;
    if (status != BP_OK) {
        m->prepared = NULL;
        return;
    }
    m->timed.prepared = m->prepared;
    m->timed.threaded = offer->verdict.threads != 1;
    if (m->prepared->workspace > 0 && !(m->timed.workspace = bp__alloc_aligned(m->prepared->workspace))) {
        m->timed.status = BP_E_NO_MEMORY;
        return;
    }
    bp__trial_restore(&s->trial);
    m->timed.status = bp__timed_run(&s->trial, &m->timed);
    if (m->timed.status == BP_OK) {
        m->timed.status = bp__trial_keep(&s->trial, &m->result);
        m->has_result = m->timed.status == BP_OK;
    }
}

static void release_one(measured *m) {
    bp__trial_result_free(&m->result);
    bp__free_aligned(m->timed.workspace);
    if (m->prepared) {
        m->prepared->destroy(m->prepared);
    }
}

static bool is_native(const bp__offer *offer) {
    return bp__text_equal(offer->candidate->provider->name, "native");
}

/* Relative error of one operation, as the candidates may round. */
static double rounding(const session *s) {
    const uint32_t dtype = s->choice->asked.dtype;
    double error = dtype == BP_F64 || dtype == BP_C128 ? 0x1p-53 : 0x1p-24;
    for (int i = 0; i < s->count; i++) {
        const uint32_t properties = s->list[i].offer->verdict.properties;
        error = properties & BP_PROPERTY_ROUNDS_BELOW_TF32 ? fmax(error, 0x1p-9)
                : properties & BP_PROPERTY_INPUTS_TF32     ? fmax(error, 0x1p-11)
                                                           : error;
    }
    return error;
}

/* Compares all results with that of `right`; notes in `differs` how each differs. Returns how many others agree, -1 if
 * `right` itself is not a whole result. */
static int compare_all(session *s, measured *right, double error) {
    int count = 0;
    if (!bp__trial_written(&s->trial, &right->result, right->wrong, sizeof right->wrong)) {
        return -1;
    }
    bp__trial_measure(&s->trial, &right->result);
    for (int i = 0; i < s->count; i++) {
        measured *m = &s->list[i];
        m->differs[0] = '\0';
        if (m != right && m->has_result) {
            count += bp__trial_agrees(&s->trial, &right->result, &m->result, error, m->differs, sizeof m->differs);
        }
    }
    return count;
}

static int result_count(const session *s) {
    int count = 0;
    for (int i = 0; i < s->count; i++) {
        count += s->list[i].has_result;
    }
    return count;
}

/* Compares the results with that of native, or of another candidate if most disagree with native. Returns the number
 * that agree with the best one; *right is NULL if there is no whole result. */
static int find_right(session *s, double error, measured **right) {
    const int others = result_count(s) - 1;
    int most = -1;
    *right = NULL;
    for (int natives = 1; natives >= 0 && 2 * most < others; natives--) {
        for (int i = 0; i < s->count && 2 * most < others; i++) {
            measured *m = &s->list[i];
            int count = m->has_result && is_native(m->offer) == natives ? compare_all(s, m, error) : -1;
            if (count > most) {
                most = count;
                *right = m;
            }
        }
    }
    if (*right) {
        most = compare_all(s, *right, error);
    }
    return most;
}

/* Receives the first offer of native, with the data for its plan. */
typedef struct native_offer {
    bp_offers base;
    bp_verdict verdict;
    bool found;
    size_t size;
    _Alignas(16) char data[1024];
} native_offer;

static void take_native(bp_offers *self, const bp_verdict *verdict, const void *found, size_t size) {
    native_offer *o = (native_offer *)self;
    if (!o->found && verdict->reason == BP_REASON_ACCEPTED && size <= sizeof o->data) {
        o->found = true;
        o->verdict = *verdict;
        o->size = size;
        if (size > 0) {
            memcpy(o->data, found, size);
        }
    }
}

/* Computes the result of native, which settings may have excluded from the comparison. */
static void run_native(session *s, measured *m) {
    bp__candidate **list;
    int count;
    native_offer o = {.base = {take_native}};
    if (bp__candidates(false, &list, &count) != BP_OK) {
        return;
    }
    for (int i = 0; i < count && !o.found; i++) {
        if (list[i]->instance && bp__text_equal(list[i]->provider->name, "native")) {
            bp__offer offer = {.candidate = list[i]};
            list[i]->provider->accept(list[i]->instance, &s->choice->asked, &o.base);
            offer.verdict = o.verdict;
            if (o.found) {
                *m = (measured){0};
                prepare_plan(s, m, &offer, o.size > 0 ? o.data : NULL);
            }
        }
    }
}

/* Finds wrong results. Returns false if the candidates disagree and it is unknown which one is right. */
static bool verify(session *s) {
    const double error = rounding(s);
    measured native = {0}, *right;
    const int agree = find_right(s, error, &right), results = result_count(s);
    bool known = right && (is_native(right->offer) || agree > 0);
    if (right && !known) { /* each has another result, or there is only one */
        run_native(s, &native);
        known = native.has_result && compare_all(s, &native, error) >= 0;
    }
    for (int i = 0; known && i < s->count; i++) {
        measured *m = &s->list[i];
        if (m->has_result && m != right && *m->differs) {
            bp__copy_text(m->wrong, sizeof m->wrong, m->differs);
        }
    }
    if (native.has_result && right && *right->differs) {
        bp__copy_text(right->wrong, sizeof right->wrong, right->differs);
    }
    release_one(&native);
    return known || results < 2;
}

/* Puts wrong candidates into quarantine and refuses them. native is never refused: it must remain. */
static void punish(session *s) {
    for (int i = 0; i < s->count; i++) {
        measured *m = &s->list[i];
        bp__offer *offer = (bp__offer *)m->offer;
        char problem[256], why[512];
        if (!*m->wrong) {
            continue;
        }
        m->timed.status = BP_E_BROKEN;
        bp__problem_text(&s->choice->asked, problem, sizeof problem);
        snprintf(why, sizeof why, "%s (%s)", m->wrong, problem);
        bp__warn("'%s' computes %s wrongly and is not used for it any more: %s", bp__candidate_id(offer->candidate),
                 bp_op_name((bp_op)s->choice->asked.op), why);
        if (!is_native(offer)) {
            bp__quarantine_add(offer, (bp_op)s->choice->asked.op, why);
            offer->verdict.reason = BP_REASON_BROKEN;
            snprintf(offer->verdict.text, sizeof offer->verdict.text, "in quarantine: %.150s", why);
        }
    }
}

static void write_record(const session *s, const eligible *all, double ns, double pace, bp__text *record) {
    bp__text_addf(record, "took %.3g ms, machine %.2f", ns / 1e6, pace);
    for (int i = 0; i < all->usable; i++) {
        const bp__offer *offer = &s->choice->offers[all->offer[i]];
        const measured *m = i < s->count ? &s->list[i] : NULL;
        if (offer->verdict.reason != BP_REASON_ACCEPTED) {
            continue; /* in quarantine now */
        }
        if (m && m->timed.status == BP_OK && m->timed.least_ns > 0) {
            bp__text_addf(record, "|%.5g ", m->timed.least_ns);
        } else {
            bp__text_add(record, m ? "|failed " : "|- ");
        }
        bp__tune_name(record, offer);
    }
}

static void release(session *s) {
    for (int i = 0; i < s->count; i++) {
        release_one(&s->list[i]);
    }
    bp__trial_close(&s->trial);
}

/* Runs the comparison among the likely ones. */
static void run(session *s, const eligible *all, const bp_operand *addresses, bp__text *record) {
    int64_t start = bp__now_ns();
    if (bp__trial_open(&s->trial, &s->choice->asked, addresses, MOST_BYTES) != BP_OK) {
        bp__text_addf(record, "!%s", bp_last_error());
        return;
    }
    if (bp__trial_result_size(&s->trial) * (size_t)all->count > MOST_RESULTS) {
        bp__text_addf(record, "!the results of %d candidates are larger than %zu MiB", all->count, MOST_RESULTS >> 20);
        release(s);
        return;
    }
    for (int i = 0; i < all->count; i++) {
        measured *m = &s->list[s->count++];
        *m = (measured){.offer = &s->choice->offers[all->offer[i]]};
        prepare_plan(s, m, m->offer, m->offer->size > 0 ? s->choice->found.bytes + m->offer->found_at : NULL);
    }
    if (!verify(s)) {
        bp__text_add(record, "!the candidates disagree about the result");
        release(s);
        return;
    }
    punish(s);
    bp__timed comparison[MOST_MEASURED];
    for (int i = 0; i < s->count; i++) {
        comparison[i] = s->list[i].timed;
    }
    double budget = fmax(LEAST_BUDGET_NS, BUDGET_CALLS * s->choice->offers[all->offer[0]].order);
    double pace = bp__compare_times(&s->trial, comparison, s->count, bp__now_ns() + (int64_t)budget);
    for (int i = 0; i < s->count; i++) {
        s->list[i].timed = comparison[i];
    }
    write_record(s, all, (double)(bp__now_ns() - start), pace, record);
    release(s);
}

/* Measures the eligible and keeps the record. Messages and interrupts of the private runs do not reach the caller. */
static void measure(bp__choice *choice, const char *key, const bp_operand *addresses) {
    eligible all = find_eligible(choice);
    keep_likely(&all, choice);
    session *s = all.count > 1 ? bp__alloc_zero(1, sizeof *s) : NULL;
    if (!s) {
        return;
    }
    bp__held_error held;
    bp__text record = {0};
    const double modelled_ns = modelled_cost(choice, &all); /* before measured times replace estimates */
    int64_t start = bp__now_ns();
    bp__error_hold(&held);
    bool silent = bp__interrupt_silence(true);
    inside = true;
    s->choice = choice;
    run(s, &all, addresses, &record);
    inside = false;
    bp__interrupt_silence(silent);
    if (!record.failed) {
        atomic_fetch_add(&measured_count, *bp__text_get(&record) != '!');
        bp__tune_keep(key, bp__text_get(&record));
    }
    bp__error_return(&held);
    bp__text_free(&record);
    bp__free(s);
    atomic_fetch_add(&spent_ns, bp__now_ns() - start);
    correct_cost(choice, modelled_ns, (double)(bp__now_ns() - start));
}

/* ---- The choice ---- */

static void refuse_quarantined(bp__choice *choice) {
    char why[sizeof choice->offers->verdict.text];
    for (int i = 0; i < choice->count; i++) {
        bp_verdict *verdict = &choice->offers[i].verdict;
        if (verdict->reason == BP_REASON_ACCEPTED &&
            bp__quarantined(&choice->offers[i], (bp_op)choice->asked.op, why, sizeof why)) {
            verdict->reason = BP_REASON_BROKEN;
            bp__copy_text(verdict->text, sizeof verdict->text, why);
        }
    }
}

/* Whether measuring is possible here: not within a call that waits, and not where no record is ever used. */
static bool may_measure(const bp_problem *asked) {
    return asked->policy.deterministic < 2 && asked->place == 0 && !inside && !bp__executor_awaited() &&
           !bp__interrupt_check_runs();
}

/* Returns whether there is a record that need not be replaced: it says why the class is not measured, or it may not be
 * used now. */
static bool is_settled(const bp__choice *choice, const char *key) {
    bp__text record = {0};
    int64_t written_s;
    bool settled = bp__tune_find(key, false, &record, &written_s) &&
                   (*bp__text_get(&record) == '!' || choice->asked.policy.deterministic > 0);
    bp__text_free(&record);
    return settled;
}

/* Applies the record of the class, measuring it first if `now`. */
static bool rank(bp__choice *choice, bool now, const bp_operand *addresses) {
    bp__text key = {0};
    eligible all = find_eligible(choice);
    if (all.count < 2) {
        return false;
    }
    bp__tune_key(&key, &choice->asked);
    bool ranked = !key.failed && apply_record(choice, &all, bp__text_get(&key));
    if (!ranked && now && !key.failed && may_measure(&choice->asked)) {
        pthread_mutex_lock(&measuring);
        bp__tune_refresh(); /* another thread or process may have measured it meanwhile */
        bp__quarantine_refresh();
        refuse_quarantined(choice);
        all = find_eligible(choice);
        ranked = apply_record(choice, &all, bp__text_get(&key));
        if (!ranked && !is_settled(choice, bp__text_get(&key))) {
            measure(choice, bp__text_get(&key), addresses);
            all = find_eligible(choice);
            ranked = apply_record(choice, &all, bp__text_get(&key));
        }
        pthread_mutex_unlock(&measuring);
    }
    bp__text_free(&key);
    return ranked;
}

void bp__tune_choice(bp__choice *choice) {
    const bp_policy *policy = &choice->asked.policy;
    if (policy->tuning != BP__TUNING_OFF || policy->benchmark != BP__BENCHMARK_OFF) {
        refuse_quarantined(choice);
    }
    bool now = policy->benchmark == BP__BENCHMARK_NOW;
    if (now || ((policy->tuning != BP__TUNING_OFF || policy->benchmark != BP__BENCHMARK_OFF) && bp__tune_any())) {
        rank(choice, now, NULL);
    }
}

bool bp__tune_problem(const bp_problem *problem, const bp_operand *addresses) {
    bp__choice choice;
    if (bp__choose(&choice, problem, NULL, true) != BP_OK) {
        return false;
    }
    bool ranked = choice.measured;
    if (!ranked) {
        ranked = rank(&choice, true, bp__adapted(problem) ? NULL : addresses); /* an adapter has operands of its own */
    }
    bp__choice_free(&choice);
    return ranked;
}

const char *bp__tune_age(int64_t written_s, char *buffer, size_t size) {
    static const struct {
        int64_t seconds;
        const char *name;
    } units[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}};
    const int64_t age = (int64_t)time(NULL) - written_s;
    snprintf(buffer, size, "just now"); /* also if the clock has been set back since */
    for (int i = 0; i < BP__COUNT(units); i++) {
        const int64_t count = age / units[i].seconds;
        if (count > 0) {
            snprintf(buffer, size, "%lld %s%s ago", (long long)count, units[i].name, count == 1 ? "" : "s");
            break;
        }
    }
    return buffer;
}

void bp__tune_reset(void) {
    bp__tune_forget();
    bp__quarantine_reset();
    atomic_store(&spent_ns, 0);
    atomic_store(&measured_count, 0);
}
