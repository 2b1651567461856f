/* record.c - keeps the calls that the program asked for, see backplane/record.h. trace.c hands over every call. */
#include "backplane/record.h"
#include "dispatch/internal.h"
#include "base/uncancelled.h"
#include "settings/internal.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { USUAL_MOST = 100000, FIRST_CALLS = 256, FIRST_PLANS = 32, FIRST_PLACES = 128 };

typedef struct entry {
    int64_t plan, start_ns, duration_ns, thread;
    bool fresh;
    bp_status status;
} entry;

typedef struct place {
    uint64_t key; /* 0: empty */
    int64_t row;
} place;

/* A hash table of rows, at most half full. */
typedef struct table {
    place *places;
    size_t count, capacity;
} table;

struct bp_record {
    bp_record *next; /* of the records that run */
    bool runs;
    int64_t most, left_out;
    entry *calls;
    int64_t call_count, call_capacity;
    bp_recorded_plan *plans;
    int64_t plan_count, plan_capacity;
    table by_serial; /* twice the plan's serial, plus 1 for a part */
    table by_texts;  /* a hash of what same_row() compares; plans with equal texts share a row */
};

/* Protected by bp__trace_mutex, as everything in the records. */
static bp_record *running;
static int64_t held;
static _Atomic int running_count;

bool bp__records_run(void) {
    return atomic_load_explicit(&running_count, memory_order_relaxed) > 0;
}

int64_t bp__records_held(void) {
    pthread_mutex_lock(&bp__trace_mutex);
    const int64_t count = held;
    pthread_mutex_unlock(&bp__trace_mutex);
    return count;
}

/* ---- Rows ---- */

static place *find_place(const table *t, uint64_t key) {
    size_t at = (size_t)((key * 0x9e3779b97f4a7c15u) >> 32) & (t->capacity - 1);
    while (t->places[at].key != 0 && t->places[at].key != key) {
        at = (at + 1) & (t->capacity - 1);
    }
    return &t->places[at];
}

/* Makes space for another place. */
static bool grow_table(table *t) {
    if (t->count * 2 < t->capacity) {
        return true;
    }
    table grown = {.count = t->count, .capacity = t->capacity ? t->capacity * 2 : FIRST_PLACES};
    grown.places = bp__alloc_zero(grown.capacity, sizeof *grown.places);
    if (!grown.places) {
        return false;
    }
    for (size_t i = 0; i < t->capacity; i++) {
        if (t->places[i].key != 0) {
            *find_place(&grown, t->places[i].key) = t->places[i];
        }
    }
    bp__free(t->places);
    *t = grown;
    return true;
}

/* Forgets the serials if most of them are of plans that were replaced by equal ones. Otherwise a program without a plan
 * cache would fill the memory. The rows are found again by their texts. */
static void limit_serials(bp_record *r) {
    enum { PER_ROW = 4 };
    table *t = &r->by_serial;
    if (t->count > FIRST_PLACES + (size_t)r->plan_count * PER_ROW) {
        memset(t->places, 0, t->capacity * sizeof *t->places);
        t->count = 0;
    }
}

static bool grow_plans(bp_record *r) {
    if (r->plan_count < r->plan_capacity) {
        return true;
    }
    const int64_t capacity = r->plan_capacity ? r->plan_capacity * 2 : FIRST_PLANS;
    bp_recorded_plan *grown = bp__realloc(r->plans, (size_t)capacity * sizeof *grown);
    if (grown) {
        r->plans = grown;
        r->plan_capacity = capacity;
    }
    return grown != NULL;
}

static bool same_row(const bp_recorded_plan *a, const bp_recorded_plan *b) {
    return a->part == b->part && a->queued == b->queued && a->threads == b->threads && a->properties == b->properties &&
           strcmp(a->operation, b->operation) == 0 && strcmp(a->library, b->library) == 0 &&
           strcmp(a->algorithm, b->algorithm) == 0 && strcmp(a->problem, b->problem) == 0 &&
           strcmp(a->reason, b->reason) == 0;
}

enum { TEXTS = 6 };
typedef const char **row_texts[TEXTS];

static void find_texts(bp_recorded_plan *row, row_texts texts) {
    const char **const all[TEXTS] = {&row->operation, &row->provider, &row->library,
                                     &row->algorithm, &row->problem,  &row->reason};
    memcpy(texts, all, sizeof all);
}

static void free_texts(bp_recorded_plan *row) {
    row_texts texts;
    find_texts(row, texts);
    for (int i = 0; i < TEXTS; i++) {
        bp__free((char *)(uintptr_t)*texts[i]);
    }
}

/* Replaces the texts of a plan by copies. Returns false if memory is short. */
static bool copy_texts(bp_recorded_plan *row) {
    row_texts texts;
    bool kept = true;
    find_texts(row, texts);
    for (int i = 0; i < TEXTS; i++) {
        *texts[i] = bp__strdup(*texts[i]);
        kept &= *texts[i] != NULL;
    }
    if (!kept) {
        free_texts(row);
    }
    return kept;
}

/* Returns a hash of the texts that same_row() compares. It is odd. */
static uint64_t hash_texts(const bp_recorded_plan *row) {
    const char *const texts[] = {row->operation, row->library, row->algorithm, row->problem, row->reason};
    uint64_t hash = 0;
    for (int i = 0; i < BP__COUNT(texts); i++) {
        hash = hash * 31 + bp__hash(texts[i], strlen(texts[i]));
    }
    return hash | 1;
}

/* Returns the place of the row with these facts, or the empty one that it would take. */
static place *find_texts_place(const bp_record *r, const bp_recorded_plan *facts, uint64_t *key) {
    place *at;
    *key = hash_texts(facts);
    for (;; *key += 2) { /* rows with the same hash follow each other */
        at = find_place(&r->by_texts, *key);
        if (at->key == 0 || same_row(&r->plans[at->row], facts)) {
            return at;
        }
    }
}

/* Returns the number of the row with these facts, -1 if memory is short. */
static int64_t find_row(bp_record *r, const bp_recorded_plan *facts) {
    uint64_t key;
    if (!grow_table(&r->by_texts)) {
        return -1;
    }
    place *at = find_texts_place(r, facts, &key);
    if (at->key != 0) {
        return at->row;
    }
    bp_recorded_plan own = *facts;
    if (!grow_plans(r) || !copy_texts(&own)) {
        return -1;
    }
    *at = (place){key, r->plan_count};
    r->by_texts.count++;
    r->plans[r->plan_count] = own;
    return r->plan_count++;
}

static int64_t row_of(bp_record *r, const bp_plan *plan, bool part) {
    const uint64_t key = plan->serial * 2 + part;
    limit_serials(r);
    if (!grow_table(&r->by_serial)) {
        return -1;
    }
    place *at = find_place(&r->by_serial, key);
    if (at->key == 0) {
        const bp_recorded_plan facts = {.operation = bp_op_name((bp_op)plan->problem.op),
                                        .provider = plan->candidate->provider->name,
                                        .library = bp__candidate_id(plan->candidate),
                                        .algorithm = plan->verdict.algorithm,
                                        .problem = plan->text,
                                        .reason = plan->reason,
                                        .properties = plan->verdict.properties,
                                        .threads = plan->verdict.threads,
                                        .cost_ns = bp__plan_expected_ns(plan),
                                        .part = part,
                                        .queued = plan->problem.place != 0};
        const int64_t row = find_row(r, &facts);
        if (row < 0) {
            return -1;
        }
        *at = (place){key, row};
        r->by_serial.count++;
    }
    return at->row;
}

static void count_run(bp_recorded_plan *row, int64_t ns, bp_status status) {
    row->least_ns = row->runs == 0 || ns < row->least_ns ? ns : row->least_ns;
    row->most_ns = ns > row->most_ns ? ns : row->most_ns;
    row->total_ns += ns;
    row->runs++;
    row->failed += status != BP_OK;
}

/* ---- Calls ---- */

static bool grow_calls(bp_record *r) {
    if (r->call_count < r->call_capacity) {
        return true;
    }
    const int64_t wanted = r->call_capacity ? r->call_capacity * 2 : FIRST_CALLS,
                  capacity = wanted < r->most ? wanted : r->most;
    entry *grown = r->call_count < capacity ? bp__realloc(r->calls, (size_t)capacity * sizeof *grown) : NULL;
    if (grown) {
        r->calls = grown;
        r->call_capacity = capacity;
    }
    return grown != NULL;
}

static void add(bp_record *r, const entry *call, int64_t row) {
    if (row < 0 || !grow_calls(r)) {
        r->left_out++;
        return;
    }
    r->calls[r->call_count] = *call;
    r->calls[r->call_count++].plan = row;
}

void bp__records_add(const bp_plan *plan, bool part, bool fresh, int64_t start_ns, int64_t end_ns, bp_status status) {
    const entry call = {.start_ns = start_ns,
                        .duration_ns = end_ns - start_ns,
                        .thread = (int64_t)syscall(SYS_gettid),
                        .fresh = fresh,
                        .status = status};
    pthread_mutex_lock(&bp__trace_mutex);
    for (bp_record *r = running; r; r = r->next) {
        const int64_t row = row_of(r, plan, part);
        if (row >= 0) {
            count_run(&r->plans[row], call.duration_ns, status);
        }
        add(r, &call, row);
    }
    pthread_mutex_unlock(&bp__trace_mutex);
}

/* ---- The program's functions ---- */

bp_status bp_record_start(bp_record **record, int64_t most) {
    BP__UNCANCELLED;
    if (!record) {
        return bp__fail(BP_E_ARGUMENT, "bp_record_start: record must not be NULL");
    }
    *record = NULL;
    if (most < 0) {
        return bp__fail(BP_E_ARGUMENT, "bp_record_start: most must not be negative");
    }
    bp_record *r = *record = bp__alloc_zero(1, sizeof *r);
    if (!r) {
        return bp__fail_memory(sizeof *r, "a record");
    }
    r->most = most > 0 ? most : USUAL_MOST;
    r->runs = true;
    pthread_mutex_lock(&bp__trace_mutex);
    r->next = running;
    running = r;
    held++;
    atomic_fetch_add(&running_count, 1);
    pthread_mutex_unlock(&bp__trace_mutex);
    bp__settings_changed(); /* every thread asks whether its calls are observed */
    return BP_OK;
}

static void stop(bp_record *record) {
    bp_record **at = &running;
    while (*at != record) {
        at = &(*at)->next;
    }
    *at = record->next;
    record->runs = false;
    atomic_fetch_sub(&running_count, 1);
}

void bp_record_stop(bp_record *record) {
    BP__UNCANCELLED;
    if (!record) {
        return;
    }
    pthread_mutex_lock(&bp__trace_mutex);
    const bool ran = record->runs;
    if (ran) {
        stop(record);
    }
    pthread_mutex_unlock(&bp__trace_mutex);
    if (ran) {
        bp__settings_changed();
    }
}

void bp_record_release(bp_record *record) {
    BP__UNCANCELLED;
    if (!record) {
        return;
    }
    bp_record_stop(record);
    pthread_mutex_lock(&bp__trace_mutex);
    held--;
    pthread_mutex_unlock(&bp__trace_mutex);
    for (int64_t i = 0; i < record->plan_count; i++) {
        free_texts(&record->plans[i]);
    }
    bp__free(record->calls);
    bp__free(record->plans);
    bp__free(record->by_serial.places);
    bp__free(record->by_texts.places);
    bp__free(record);
}

int bp_record_plan_at(const bp_record *record, int64_t index, bp_recorded_plan *plan) {
    BP__UNCANCELLED;
    if (!record || !bp__struct_usable(plan)) {
        return 0;
    }
    bp_recorded_plan own = {0};
    pthread_mutex_lock(&bp__trace_mutex);
    const bool found = index >= 0 && index < record->plan_count;
    if (found) {
        own = record->plans[index];
    }
    pthread_mutex_unlock(&bp__trace_mutex);
    if (found) {
        bp__struct_write(plan, &own, sizeof own);
    }
    return found;
}

int bp_record_call_at(const bp_record *record, int64_t index, bp_recorded_call *call) {
    BP__UNCANCELLED;
    if (!record || !bp__struct_usable(call)) {
        return 0;
    }
    entry e = {0};
    pthread_mutex_lock(&bp__trace_mutex);
    const bool found = index >= 0 && index < record->call_count;
    if (found) {
        e = record->calls[index];
    }
    pthread_mutex_unlock(&bp__trace_mutex);
    const bp_recorded_call own = {.plan = e.plan,
                                  .start_ns = e.start_ns,
                                  .duration_ns = e.duration_ns,
                                  .thread = e.thread,
                                  .fresh = e.fresh,
                                  .status = e.status};
    if (found) {
        bp__struct_write(call, &own, sizeof own);
    }
    return found;
}

int64_t bp_record_left_out(const bp_record *record) {
    BP__UNCANCELLED;
    if (!record) {
        return 0;
    }
    pthread_mutex_lock(&bp__trace_mutex);
    const int64_t count = record->left_out;
    pthread_mutex_unlock(&bp__trace_mutex);
    return count;
}
