/* fork_state.c - finds out, in a child of fork, which libraries and OpenMP runtimes are unusable. See fork_state.h. */
#include "providers/driver/fork_state.h"

#include <pthread.h>
#include <time.h>

/* ---- States ---- */

#define MAX_STATES 64

static bp__fork_state states[MAX_STATES], nothing;

static unsigned hash(const char *name) {
    unsigned value = 2166136261u;
    for (; *name; name++) {
        value = (value ^ (unsigned char)*name) * 16777619u;
    }
    return value ? value : 1;
}

bp__fork_state *bp__fork_state_of(const char *name) {
    if (!name) {
        return &nothing;
    }
    unsigned wanted = hash(name);
    for (int i = 0; i < MAX_STATES; i++) {
        unsigned seen = 0;
        if (atomic_compare_exchange_strong(&states[i].name, &seen, wanted) || seen == wanted) {
            return &states[i];
        }
    }
    return &states[MAX_STATES - 1];
}

int bp__fork_state_number(const bp__fork_state *state) {
    return state == &nothing ? -1 : (int)(state - states);
}

/* ---- Call records ---- */

#define MAX_RECORDS 256

static bp__driver_call_record records[MAX_RECORDS];
_Thread_local bp__driver_call_record *bp__driver_call_record_mine __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static bool has_key;
static atomic_bool any_unusable;

static void release_record(void *opaque) {
    bp__driver_call_record *record = opaque;
    bp__driver_call_record_mine = NULL;
    atomic_store_explicit(&record->inside, NULL, memory_order_relaxed);
    atomic_store_explicit(&record->taken, false, memory_order_release);
}

static void make_key(void) {
    has_key = pthread_key_create(&key, release_record) == 0;
}

bp__driver_call_record *bp__driver_call_record_take(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
    for (int i = 0; has_key && !atomic_load(&any_unusable) && i < MAX_RECORDS; i++) {
        if (atomic_load_explicit(&records[i].taken, memory_order_relaxed) ||
            atomic_exchange_explicit(&records[i].taken, true, memory_order_acquire)) {
            continue;
        }
        if (pthread_setspecific(key, &records[i]) != 0) {
            atomic_store_explicit(&records[i].taken, false, memory_order_release);
            return NULL;
        }
        return bp__driver_call_record_mine = &records[i];
    }
    return NULL;
}

/* ---- Forks ---- */

atomic_uint bp__driver_forks_begun;
static atomic_uint under_way;            /* forks in progress */
static _Thread_local unsigned this_fork; /* number of the fork that this thread is in, from 1; 0: none */

void bp__driver_sleep(long nanoseconds) {
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    nanosleep(&(struct timespec){.tv_nsec = nanoseconds}, NULL);
    pthread_setcancelstate(before, NULL);
}

static void pause_briefly(void) {
    bp__driver_sleep(50000);
}

/* Limit of the wait for a fork. A fork may take long, and a handler of the program may wait for the very thread that
 * waits here. A library's own handler runs right after ours and ends soon. A thread that enters later makes the library
 * unusable in the child, nothing worse. */
#define MAX_PAUSES 1000

void bp__driver_enter_threads(bp__fork_state *state) {
    bool waits = atomic_load_explicit(&state->waits, memory_order_relaxed) && !this_fork;
    for (int i = 0;; i++) {
        atomic_fetch_add(&state->inside, 1);
        if (!waits || atomic_load(&under_way) == 0 || i == MAX_PAUSES) {
            return;
        }
        atomic_fetch_sub(&state->inside, 1);
        pause_briefly();
    }
}

/* Ends a call. A library may stop its threads before a fork. If a call starts them again before the fork, the library
 * is unusable in the child, even if the call has ended. */
void bp__driver_leave_threads(bp__fork_state *state) {
    if (atomic_load(&under_way) != 0) {
        unsigned now = atomic_load(&bp__driver_forks_begun);
        unsigned seen = atomic_load(&state->in_window);
        while (seen < now && !atomic_compare_exchange_weak(&state->in_window, &seen, now)) {
        }
    }
    atomic_fetch_sub(&state->inside, 1);
}

/* Handlers are registered more than once; only the first one that runs has an effect. */
static void before_fork(void) {
    if (this_fork) {
        return;
    }
    this_fork = atomic_fetch_add(&bp__driver_forks_begun, 1) + 1;
    atomic_fetch_add(&under_way, 1);
    for (int i = 0; i < MAX_STATES; i++) {
        while (atomic_load(&states[i].waits) && atomic_load(&states[i].inside) > 0) {
            pause_briefly();
        }
    }
}

static void after_in_parent(void) {
    if (this_fork) {
        this_fork = 0;
        atomic_fetch_sub(&under_way, 1);
    }
}

static void mark_unusable(bp__fork_state *state) {
    if (state != &nothing) {
        atomic_store(&state->unusable, true);
        atomic_store(&any_unusable, true);
    }
}

static void clear_records(void) {
    for (int i = 0; i < MAX_RECORDS; i++) {
        if (&records[i] == bp__driver_call_record_mine) {
            continue;
        }
        bp__fork_state *inside = atomic_load(&records[i].inside);
        if (inside) {
            mark_unusable(inside);
        }
        atomic_store(&records[i].inside, NULL);
        atomic_store(&records[i].taken, false);
    }
}

static void after_in_child(void) {
    if (!this_fork) {
        return;
    }
    clear_records();
    for (int i = 0; i < MAX_STATES; i++) {
        bp__fork_state *state = &states[i];
        bool entered = atomic_exchange(&state->inside, 0) > 0 || atomic_load(&state->in_window) >= this_fork;
        if (entered || atomic_load(&state->threaded)) {
            mark_unusable(state);
        }
    }
    atomic_store(&nothing.inside, 0);
    if (atomic_load(&any_unusable)) {
        bp__driver_call_record_mine = NULL;
    }
    atomic_store(&under_way, 0);
    this_fork = 0;
}

bool bp__driver_watch(bp__fork_state *state, bool waits) {
    if (atomic_exchange(&state->watched, true)) {
        return true;
    }
    bool done = pthread_atfork(before_fork, after_in_parent, after_in_child) == 0;
    atomic_store(&state->waits, done && waits);
    atomic_store(&state->watched, done);
    return done;
}
