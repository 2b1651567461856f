/* store.c - stores the values of each layer for the whole process, and publishes the ones in force.
 *
 * Layers change under the mutex. The values in force are published as one atomic for each setting, so that a reader
 * needs no lock. The generation is updated after the values: a reader that finds the new generation also finds the new
 * values.
 */
#include "settings/private.h"
#include "base/uncancelled.h"

#include <string.h>

pthread_mutex_t bp__settings_mutex = PTHREAD_MUTEX_INITIALIZER;

_Atomic bp__value bp__setting_values[BP_SETTING_COUNT] = {
#define X(id, number, name, type, default_text, allowed, alias, flags, affects, help) [BP_SET_##id] = BP__UNREAD,
    BP_SETTINGS_MAP(X)
#undef X
};
_Atomic bp__value bp__setting_outcomes[BP_SETTING_COUNT] = {
#define X(id, number, name, type, default_text, allowed, alias, flags, affects, help) [BP_SET_##id] = BP__UNREAD,
    BP_SETTINGS_MAP(X)
#undef X
};
_Atomic uint32_t bp__settings_generation = 1;

static bp__layers known;
static atomic_bool ready;

/* Skips 0, so that an epoch is never 0. */
void bp__settings_changed(void) {
    if (atomic_fetch_add_explicit(&bp__settings_generation, 1, memory_order_acq_rel) == UINT32_MAX) {
        atomic_fetch_add_explicit(&bp__settings_generation, 1, memory_order_acq_rel);
    }
}

static bp_layer highest_layer(bp_setting_id id) {
    int layer = BP_LAYER_PROCESS;
    while (layer > BP_LAYER_DEFAULT && !known.values[layer][id].set) {
        layer--;
    }
    return (bp_layer)layer;
}

/* Returns the value in force without scopes. */
static bp__stored of_process(bp_setting_id id, bp_layer *layer) {
    *layer = highest_layer(id);
    return *layer == BP_LAYER_DEFAULT ? (bp__stored){true, bp__table_at(id)->default_value, ""}
                                      : known.values[*layer][id];
}

static bool store_value(bp_setting_id id) {
    bp_layer layer;
    bp__value value = of_process(id, &layer).value;
    if (atomic_load_explicit(&bp__setting_values[id], memory_order_relaxed) == value) {
        return false;
    }
    atomic_store_explicit(&bp__setting_values[id], value, memory_order_release);
    return true;
}

/* Updates settings that derive from others, and then the generation, so that a reader of the new generation finds all
 * new values. Layers matter too: setting a value that equals the default changes only the fact that it is set. */
static void finish_publishing(bool changed) {
    for (int i = 0; i < BP_SETTING_COUNT; i++) {
        bp_setting_id id = (bp_setting_id)i, node;
        bp_layer layer;
        unsigned flags = bp__table_at(id)->info.flags;
        if (flags & (BP_SETTING_ALIAS | BP_SETTING_INHERITS)) {
            bp__stored outcome = flags & BP_SETTING_ALIAS ? bp__alias_in_force(id, of_process, &layer, &node)
                                                          : bp__resolve(id, of_process, &layer, &node);
            changed |= atomic_exchange_explicit(&bp__setting_outcomes[i], outcome.value, memory_order_acq_rel) !=
                       outcome.value;
        }
    }
    if (changed) {
        bp__settings_changed();
    }
}

/* Publishes a value. `set_changes`: the setting starts or stops being set, which matters for some settings even if the
 * value stays the same. Example: num_threads=0 means all cores, also if an unset num_threads would mean fewer. */
static void publish(bp_setting_id id, bool set_changes) {
    finish_publishing(store_value(id) || set_changes);
}

static bp_status read_layers(void) {
    bp__held_error held;
    bp__error_hold(&held);
    bp_status status = bp__layers_read(&known);
    if (status != BP_OK) {
        memset(&known, 0, sizeof known);
        bp__error_return(&held);
        return bp__fail(BP_E_NO_MEMORY, "out of memory while reading the layers of settings");
    }
    for (int i = 0; i < BP_SETTING_COUNT; i++) {
        store_value((bp_setting_id)i);
    }
    finish_publishing(true);
    bp__error_return(&held);
    return BP_OK;
}

bp_status bp__settings_ready(void) {
    if (BP__LIKELY(atomic_load_explicit(&ready, memory_order_acquire))) {
        return BP_OK;
    }
    BP__UNCANCELLED;
    bp_status status = BP_OK;
    pthread_mutex_lock(&bp__settings_mutex);
    if (!atomic_load_explicit(&ready, memory_order_relaxed)) {
        status = read_layers();
        atomic_store_explicit(&ready, status == BP_OK, memory_order_release);
    }
    pthread_mutex_unlock(&bp__settings_mutex);
    return status;
}

bp__value bp__setting_slow(bp_setting_id id) {
    const bp__scope_node *node = bp__scope_find(id, BP_LAYER_COUNT);
    if (node) {
        return node->options->values[id];
    }
    bp__value value = atomic_load_explicit(&bp__setting_values[id], memory_order_acquire);
    if (value != BP__UNREAD) {
        return value;
    }
    bp__held_error held;
    bp__error_hold(&held);
    bp__settings_ready();
    bp__error_return(&held);
    value = atomic_load_explicit(&bp__setting_values[id], memory_order_acquire);
    return value != BP__UNREAD ? value : bp__table_at(id)->default_value;
}

bp__stored bp__in_layer(bp_setting_id id, bp_layer layer) {
    if (layer == BP_LAYER_DEFAULT) {
        return (bp__stored){true, bp__table_at(id)->default_value, ""};
    }
    if (bp__table_at(id)->info.flags & BP_SETTING_ALIAS) {
        return bp__alias_in_layer(id, layer);
    }
    if (layer > BP_LAYER_PROCESS) {
        const bp__scope_node *node = bp__scope_find(id, layer);
        return node ? (bp__stored){true, node->options->values[id], node->options->text} : (bp__stored){0};
    }
    pthread_mutex_lock(&bp__settings_mutex);
    bp__stored stored = known.values[layer][id];
    pthread_mutex_unlock(&bp__settings_mutex);
    return stored;
}

bp__stored bp__in_force_itself(bp_setting_id id, bp_layer *layer) {
    const bp__scope_node *node = bp__scope_find(id, BP_LAYER_COUNT);
    if (node) {
        *layer = node->layer;
        return (bp__stored){true, node->options->values[id], node->options->text};
    }
    pthread_mutex_lock(&bp__settings_mutex);
    *layer = highest_layer(id);
    bp__stored stored = known.values[*layer][id];
    pthread_mutex_unlock(&bp__settings_mutex);
    return *layer == BP_LAYER_DEFAULT ? bp__in_layer(id, BP_LAYER_DEFAULT) : stored;
}

bp__stored bp__in_force(bp_setting_id id, bp_layer *layer, bp_setting_id *node) {
    unsigned flags = bp__table_at(id)->info.flags;
    *node = id;
    return flags & BP_SETTING_ALIAS      ? bp__alias_in_force(id, bp__in_force_itself, layer, node)
           : flags & BP_SETTING_INHERITS ? bp__resolve(id, bp__in_force_itself, layer, node)
                                         : bp__in_force_itself(id, layer);
}

bp__value bp__setting_resolved_slow(bp_setting_id id) {
    bp_layer layer;
    bp_setting_id node;
    bp__setting(id); /* reads the layers */
    return bp__in_force(id, &layer, &node).value;
}

void bp__setting_origin(bp_setting_id id, bp_layer *layer, const char **where, bp_setting_id *node) {
    bp__setting(id); /* reads the layers */
    *where = bp__in_force(id, layer, node).where;
}

bool bp__may_write(bp_setting_id id, bp_status *status) {
    const bp_setting_info *info = &bp__table_at(id)->info;
    *status = BP_OK;
    if (info->flags & BP_SETTING_READ_ONLY) {
        *status = bp__fail(BP_E_READ_ONLY, "%s: is read-only and cannot be set", info->name);
    } else if (info->flags & BP_SETTING_STARTUP) {
        *status =
            bp__fail(BP_E_READ_ONLY, "%s: is read once, before the first use; set %s or add a line to a settings file",
                     info->name, *info->alias ? info->alias : info->environment);
    }
    return *status == BP_OK;
}

bp_status bp__process_write(bp_setting_id id, const char *text) {
    bp_status status;
    bp__value value;
    if (!bp__may_write(id, &status)) {
        return status;
    }
    BP__TRY(bp__settings_ready());
    BP__TRY(bp__value_parse(id, text, strlen(text), &value));
    bp__write writes[BP__MOST_WRITES];
    int count = bp__writes_of(id, value, writes);
    pthread_mutex_lock(&bp__settings_mutex);
    for (int i = 0; i < count; i++) {
        bp__stored *stored = &known.values[BP_LAYER_PROCESS][writes[i].id];
        bool set_changes = !stored->set;
        *stored = (bp__stored){true, writes[i].value, ""};
        publish(writes[i].id, set_changes);
    }
    pthread_mutex_unlock(&bp__settings_mutex);
    return BP_OK;
}

bp_status bp__process_clear(bp_setting_id id) {
    bp_status status;
    if (!bp__may_write(id, &status)) {
        return status;
    }
    BP__TRY(bp__settings_ready());
    bp__write writes[BP__MOST_WRITES];
    int count = bp__writes_of(id, bp__table_at(id)->default_value, writes); /* only the setting ids are used */
    pthread_mutex_lock(&bp__settings_mutex);
    for (int i = 0; i < count; i++) {
        bp__stored *stored = &known.values[BP_LAYER_PROCESS][writes[i].id];
        bool set_changes = stored->set;
        *stored = (bp__stored){0};
        publish(writes[i].id, set_changes);
    }
    pthread_mutex_unlock(&bp__settings_mutex);
    return BP_OK;
}

const char *bp_config_error_at(int index) {
    bp__held_error held;
    bp__error_hold(&held);
    bp__settings_ready();
    bp__error_return(&held);
    pthread_mutex_lock(&bp__settings_mutex);
    const char *problem = index >= 0 && index < known.problem_count ? known.problems[index] : NULL;
    pthread_mutex_unlock(&bp__settings_mutex);
    return problem;
}

/* Checks again the values that were accepted before the check was registered. */
static void check_again(bp_setting_id id) {
    for (int layer = BP_LAYER_DEFAULT + 1; layer <= BP_LAYER_PROCESS; layer++) {
        bp__stored *stored = &known.values[layer][id];
        const char *text = stored->set ? bp__value_text(id, stored->value) : NULL;
        if (text && bp__value_check(id, stored->value, text) != BP_OK) {
            bp__layers_problem(&known, "%s: %s", *stored->where ? stored->where : bp_layer_name((bp_layer)layer),
                               bp_last_error());
            *stored = (bp__stored){0};
        }
    }
}

void bp__setting_set_check(bp_setting_id id, bp__setting_check check) {
    bp__held_error held;
    bp__value_remember_check(id, check);
    if (!atomic_load_explicit(&ready, memory_order_acquire)) {
        return;
    }
    bp__error_hold(&held);
    pthread_mutex_lock(&bp__settings_mutex);
    check_again(id);
    publish(id, false);
    pthread_mutex_unlock(&bp__settings_mutex);
    bp__error_return(&held);
}

int64_t bp__settings_held(void) {
    return bp__options_alive() + bp__scopes_of_others();
}

void bp__settings_reset(void) {
    bp__scopes_drop();
    pthread_mutex_lock(&bp__settings_mutex);
    memset(&known, 0, sizeof known);
    for (int i = 0; i < BP_SETTING_COUNT; i++) {
        atomic_store_explicit(&bp__setting_values[i], BP__UNREAD, memory_order_relaxed);
        atomic_store_explicit(&bp__setting_outcomes[i], BP__UNREAD, memory_order_relaxed);
    }
    atomic_store_explicit(&ready, false, memory_order_release);
    bp__settings_changed();
    pthread_mutex_unlock(&bp__settings_mutex);
}

void bp__settings_fork_lock(void) {
    pthread_mutex_lock(&bp__settings_mutex);
    pthread_mutex_lock(&bp__table_mutex);
}

void bp__settings_fork_unlock(void) {
    pthread_mutex_unlock(&bp__table_mutex);
    pthread_mutex_unlock(&bp__settings_mutex);
}

void bp__settings_forked(void) {
    bp__scopes_forked();
}
