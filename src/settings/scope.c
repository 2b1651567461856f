/* scope.c - keeps the scopes of each thread: a list with the innermost scope on top.
 *
 * The value in force is found by walking the list. Leaving a scope, in any order, therefore restores exactly the values
 * of the others. Only its own thread accesses a list. Each different list of a thread has a number, its state; see
 * bp__settings_epoch. The scopes of a thread are left when it ends.
 */
#include "settings/private.h"

#include <pthread.h>
#include <string.h>

struct bp_scope {
    bp__scope_node node;            /* must be first: a scope is found in the list by its address */
    struct bp_scope *older, *newer; /* of the same thread, without the scopes of calls */
    bp_options options;
};
_Static_assert(sizeof(bp__scope_node) <= sizeof(bp__call_scope), "the storage of the caller must hold a call's scope");

_Thread_local bp__settings_here bp__settings_thread __attribute__((tls_model("initial-exec")));
static _Thread_local bp_scope *newest; /* of this thread */
static _Thread_local int64_t mine;     /* heap scopes in this thread's list */
static _Atomic int64_t alive;          /* heap scopes in the lists of all threads */
static pthread_key_t ending;
static bool have_ending;
static _Atomic uint32_t last_state;

uint32_t bp__fresh_state(void) {
    uint32_t state = atomic_fetch_add_explicit(&last_state, 1, memory_order_relaxed) + 1;
    if (BP__UNLIKELY(state == 0)) {
        bp__settings_changed(); /* the state counter restarts; the generation keeps the epochs different */
        state = atomic_fetch_add_explicit(&last_state, 1, memory_order_relaxed) + 1;
    }
    return state;
}

/* Returns the state of a list. A list of one scope has the number of its options, so that the same options give the
 * same epoch each time. */
static uint32_t state_of(const bp__scope_node *node) {
    return node->below ? bp__fresh_state() : node->options->state;
}

static void push(bp__scope_node *node, const bp_options *options, bp_layer layer) {
    bp__settings_here *here = &bp__settings_thread;
    *node = (bp__scope_node){.below = here->top, .options = options, .layer = layer};
    node->state = state_of(node);
    if (here->top) {
        here->top->above = node;
    }
    here->top = node;
    here->state = node->state;
}

static void take_out(bp__scope_node *node) {
    bp__settings_here *here = &bp__settings_thread;
    if (node->below) {
        node->below->above = node->above;
    }
    if (node->above) {
        node->above->below = node->below;
    } else {
        here->top = node->below;
    }
    for (bp__scope_node *each = node->above; each; each = each->above) {
        each->state = state_of(each);
    }
    here->state = here->top ? here->top->state : 0;
}

const bp__scope_node *bp__scope_find(bp_setting_id id, bp_layer layer) {
    for (const bp__scope_node *node = bp__settings_thread.top; node; node = node->below) {
        if (bp__options_set(node->options, id) && (layer == BP_LAYER_COUNT || node->layer == layer)) {
            return node;
        }
    }
    return NULL;
}

static void give_back(bp_scope *scope) {
    if (scope->older) {
        scope->older->newer = scope->newer;
    }
    if (scope->newer) {
        scope->newer->older = scope->older;
    } else {
        newest = scope->older;
    }
    bp__free(scope);
    mine--;
    atomic_fetch_sub_explicit(&alive, 1, memory_order_relaxed);
}

/* Runs when a thread ends. It skips scopes of calls: after pthread_exit() in the middle of a call, the stack frames
 * that hold them are gone. */
static void leave_all(void *unused) {
    (void)unused;
    while (newest) {
        give_back(newest);
    }
    bp__settings_thread.top = NULL;
    bp__settings_thread.state = 0;
}

static void make_ending(void) {
    have_ending = pthread_key_create(&ending, leave_all) == 0;
}

/* Registers the function that leaves this thread's scopes when it ends. */
static bool arrange_ending(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_ending);
    return have_ending && pthread_setspecific(ending, &newest) == 0;
}

static bp_status enter(bp_scope **scope, const bp_options *options, const char *text, uint32_t state) {
    size_t size = strlen(text) + 1;
    bp_scope *made = newest || arrange_ending() ? bp__alloc(sizeof *made + size) : NULL;
    if (!made) {
        return bp__fail_memory(sizeof *made + size, "a scope");
    }
    made->options = *options;
    made->options.text = memcpy(made + 1, text, size);
    made->options.state = state;
    push(&made->node, &made->options, BP_LAYER_SCOPE);
    made->older = newest;
    made->newer = NULL;
    if (newest) {
        newest->newer = made;
    }
    newest = made;
    mine++;
    atomic_fetch_add_explicit(&alive, 1, memory_order_relaxed);
    *scope = made;
    return BP_OK;
}

bp_status bp_scope_enter(bp_scope **scope, const char *text) {
    bp_options options;
    if (!scope) {
        return bp__fail(BP_E_ARGUMENT, "scope: NULL given; it takes the address of a pointer");
    }
    *scope = NULL;
    if (!text) {
        return bp__fail(BP_E_ARGUMENT, "text: NULL given; it takes a list like \"num_threads=1\"");
    }
    BP__TRY(bp__options_parse(&options, text));
    return enter(scope, &options, text, bp__fresh_state());
}

bp_status bp_scope_enter_options(bp_scope **scope, const bp_options *options) {
    if (!scope) {
        return bp__fail(BP_E_ARGUMENT, "scope: NULL given; it takes the address of a pointer");
    }
    *scope = NULL;
    if (!options) {
        return bp__fail(BP_E_ARGUMENT, "options: NULL given; bp_options_new() makes some");
    }
    return enter(scope, options, options->text, options->state);
}

/* Compares the address, and dereferences it only if it is in the list. A scope of another thread, or one that a reset
 * has freed, is therefore an error and not a crash. */
bp_status bp_scope_leave(bp_scope **scope) {
    if (!scope) {
        return bp__fail(BP_E_ARGUMENT, "scope: NULL given; it takes the address of the pointer that was entered");
    }
    if (!*scope) {
        return BP_OK;
    }
    bp__scope_node *node = bp__settings_thread.top;
    while (node && node != (bp__scope_node *)*scope) {
        node = node->below;
    }
    if (!node) {
        return bp__fail(BP_E_SCOPE, "scope: is not open in this thread; the thread that entered it must leave it");
    }
    take_out(node);
    give_back(*scope);
    *scope = NULL;
    return BP_OK;
}

void bp__call_enter(bp__call_scope *call, const bp_options *options) {
    bp__scope_node *node = (bp__scope_node *)call;
    if (options) {
        push(node, options, BP_LAYER_CALL);
    } else {
        node->options = NULL;
    }
}

void bp__call_leave(bp__call_scope *call) {
    bp__scope_node *node = (bp__scope_node *)call;
    if (node->options) {
        take_out(node);
    }
}

int64_t bp__scopes_of_others(void) {
    return atomic_load_explicit(&alive, memory_order_relaxed) - mine;
}

void bp__scopes_forked(void) {
    atomic_store_explicit(&alive, mine, memory_order_relaxed);
}

void bp__scopes_drop(void) {
    while (bp__settings_thread.top) {
        bp__scope_node *node = bp__settings_thread.top;
        bp_scope *scope = (bp_scope *)node;
        if (node->layer == BP_LAYER_CALL) {
            take_out(node); /* its storage belongs to the caller */
        } else {
            bp_scope_leave(&scope);
        }
    }
}
