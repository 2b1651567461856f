/* bridge.c - completes user events when other events end.
 *
 * OpenCL lets a queue wait only for events of its own context, so an event of another one is represented by a user
 * event. A thread of the runtime asks for the states of the foreign events. Callbacks of events would need no thread,
 * but PoCL does not call them for commands that fail, and the commands behind the user event would never run. */
#include "providers/opencl/bridge.h"
#include "providers/opencl/runtime.h"

#include <signal.h>
#include <time.h>

typedef struct pair {
    struct pair *next;
    cl_event foreign, user;
    int64_t since;                  /* when it was added, in ns */
    cl_int (*judge)(void *context); /* NULL: the foreign event alone counts */
    void *context;
} pair;

struct bp__cl_bridge {
    const bp_host *host;
    const bp__cl_api *cl;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    pair *pairs;
    bool runs, stops;
    pthread_t thread;
};

/* ---- One pair ---- */

static void end_pair(bp__cl_bridge *bridge, pair *one, int64_t code) {
    const cl_int outcome = code < 0 ? (cl_int)code : one->judge ? one->judge(one->context) : BP__CL_COMPLETE;
    bridge->cl->SetUserEventStatus(one->user, outcome);
    bridge->cl->ReleaseEvent(one->user);
    bridge->cl->ReleaseEvent(one->foreign);
    bridge->host->release(one->context);
    bridge->host->release(one);
}

/* Removes a pair whose foreign event has ended from the list; NULL if there is none. Sets *code to its error or 0. */
static pair *take_ended(bp__cl_bridge *bridge, int64_t *code) {
    for (pair **link = &bridge->pairs; *link; link = &(*link)->next) {
        pair *one = *link;
        *code = 0;
        if (bp__cl_event_state(one->foreign, code) != BP_EVENT_PENDING) {
            *link = one->next;
            return one;
        }
    }
    return NULL;
}

/* ---- The thread ---- */

/* Returns how long to wait until the states are asked for again: a part of the time that the newest pair has waited. */
static int64_t pause_of(const bp__cl_bridge *bridge) {
    int64_t passed = INT64_MAX, now = bp__cl_now();
    for (const pair *one = bridge->pairs; one; one = one->next) {
        passed = now - one->since < passed ? now - one->since : passed;
    }
    return bp__cl_pause(passed);
}

/* Waits for a change, at most for the pause if there are pairs. The mutex is held. */
static void wait_for_change(bp__cl_bridge *bridge) {
    if (!bridge->pairs) {
        pthread_cond_wait(&bridge->changed, &bridge->mutex);
        return;
    }
    const int64_t second = 1000000000, until = bp__cl_now() + pause_of(bridge);
    const struct timespec time = {.tv_sec = until / second, .tv_nsec = until % second};
    pthread_cond_timedwait(&bridge->changed, &bridge->mutex, &time);
}

static void *run_bridge(void *opaque) {
    bp__cl_bridge *bridge = opaque;
    pthread_mutex_lock(&bridge->mutex);
    while (!bridge->stops) {
        int64_t code;
        pair *ended = take_ended(bridge, &code);
        if (ended) {
            pthread_mutex_unlock(&bridge->mutex); /* the driver may run a program's callback now */
            end_pair(bridge, ended, code);
            pthread_mutex_lock(&bridge->mutex);
        } else {
            wait_for_change(bridge);
        }
    }
    pthread_mutex_unlock(&bridge->mutex);
    return NULL;
}

/* Starts the thread, which gets no signals of the program. The mutex is held. */
static bp_status start(bp__cl_bridge *bridge) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = bridge->runs ? 0 : pthread_create(&bridge->thread, NULL, run_bridge, bridge);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    bridge->runs = error == 0;
    return error == 0
               ? BP_OK
               : bridge->host->fail(BP_E_SYSTEM, "opencl: a thread for events of several contexts cannot be started");
}

/* ---- All ---- */

bp_status bp__cl_bridge_new(const bp_host *host, const bp__cl_api *cl, bp__cl_bridge **bridge) {
    bp__cl_bridge *fresh = host->allocate(sizeof *fresh);
    if (!fresh) {
        return host->fail(BP_E_NO_MEMORY, "opencl: no memory for the links between events");
    }
    pthread_condattr_t attributes;
    *fresh = (bp__cl_bridge){.host = host, .cl = cl};
    pthread_mutex_init(&fresh->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&fresh->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    *bridge = fresh;
    return BP_OK;
}

bp_status bp__cl_bridge_add(bp__cl_bridge *bridge, cl_event foreign, cl_event user) {
    return bp__cl_bridge_judge(bridge, foreign, user, NULL, NULL);
}

bp_status bp__cl_bridge_judge(bp__cl_bridge *bridge, cl_event foreign, cl_event user, cl_int (*judge)(void *context),
                              void *context) {
    pair *one = bridge->host->allocate(sizeof *one);
    if (!one) {
        return bridge->host->fail(BP_E_NO_MEMORY, "opencl: no memory for the link between two events");
    }
    *one = (pair){.foreign = foreign, .user = user, .since = bp__cl_now(), .judge = judge, .context = context};
    pthread_mutex_lock(&bridge->mutex);
    bp_status status = start(bridge);
    if (status == BP_OK) {
        bridge->cl->RetainEvent(foreign);
        bridge->cl->RetainEvent(user);
        one->next = bridge->pairs;
        bridge->pairs = one;
        pthread_cond_signal(&bridge->changed);
    }
    pthread_mutex_unlock(&bridge->mutex);
    if (status != BP_OK) {
        bridge->host->release(one);
    }
    return status;
}

void bp__cl_bridge_free(bp__cl_bridge *bridge) {
    pthread_mutex_lock(&bridge->mutex);
    bridge->stops = true;
    pthread_cond_signal(&bridge->changed);
    pthread_mutex_unlock(&bridge->mutex);
    if (bridge->runs) {
        pthread_join(bridge->thread, NULL);
    }
    while (bridge->pairs) {
        pair *one = bridge->pairs;
        bridge->pairs = one->next;
        end_pair(bridge, one, BP__CL_DEVICE_NOT_AVAILABLE);
    }
    pthread_mutex_destroy(&bridge->mutex);
    pthread_cond_destroy(&bridge->changed);
    bridge->host->release(bridge);
}

void bp__cl_bridge_forget(bp__cl_bridge *bridge) {
    while (bridge->pairs) {
        pair *one = bridge->pairs;
        bridge->pairs = one->next;
        bridge->host->release(one->context);
        bridge->host->release(one);
    }
    bridge->host->release(bridge);
}
