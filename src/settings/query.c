/* query.c - reads and writes settings by name and as text, for the command line and other languages. */
#include "settings/private.h"

#include <string.h>

static bp_status find_setting(const char *name, bp_setting_id *id) {
    *id = BP_SETTING_COUNT; /* none, until it is found */
    if (!name) {
        return bp__fail(BP_E_ARGUMENT, "name: NULL given; it takes the name of a setting");
    }
    return bp__find_setting(name, strlen(name), id);
}

/* Stores the texts of a value and of its source through the caller's pointers. They live until a reset. */
static bp_status answer(bp_setting_id id, bp__value value, const char *place, const char **text, const char **where) {
    const char *value_text = bp__value_text(id, value);
    const char *kept = bp__intern(place);
    if (!value_text || !kept) {
        return bp__fail_memory(strlen(place) + 1, "the value of a setting as text");
    }
    *text = value_text;
    if (where) {
        *where = kept;
    }
    return BP_OK;
}

bp_status bp_get(const char *name, const char **value, bp_layer *layer, const char **where) {
    bp_setting_id id, node;
    bp_layer source;
    if (!value) {
        return bp__fail(BP_E_ARGUMENT, "value: NULL given; it takes the address of a pointer");
    }
    BP__TRY(find_setting(name, &id));
    BP__TRY(bp__settings_ready());
    bp__stored stored = bp__in_force(id, &source, &node);
    BP__TRY(answer(id, stored.value, stored.where, value, where));
    if (layer) {
        *layer = source;
    }
    return BP_OK;
}

bp_status bp_get_deciding_setting(const char *name, const char **node) {
    bp_setting_id id, decides;
    bp_layer layer;
    if (!node) {
        return bp__fail(BP_E_ARGUMENT, "node: NULL given; it takes the address of a pointer");
    }
    BP__TRY(find_setting(name, &id));
    BP__TRY(bp__settings_ready());
    bp__in_force(id, &layer, &decides);
    *node = bp__table_at(decides)->info.name;
    return BP_OK;
}

bp_status bp_get_layer(const char *name, bp_layer layer, const char **value, const char **where) {
    bp_setting_id id;
    if (!value) {
        return bp__fail(BP_E_ARGUMENT, "value: NULL given; it takes the address of a pointer");
    }
    if ((unsigned)layer >= BP_LAYER_COUNT) {
        return bp__fail(BP_E_ARGUMENT, "layer: %d is invalid; it must be 0 to %d", (int)layer, BP_LAYER_COUNT - 1);
    }
    BP__TRY(find_setting(name, &id));
    BP__TRY(bp__settings_ready());
    bp__stored stored = bp__in_layer(id, layer);
    if (stored.set) {
        return answer(id, stored.value, stored.where, value, where);
    }
    *value = NULL;
    if (where) {
        *where = "";
    }
    return BP_OK;
}

bp_status bp_set(const char *name, const char *value) {
    bp_setting_id id;
    BP__TRY(find_setting(name, &id));
    if (!value) {
        return bp__fail(BP_E_ARGUMENT, "value: NULL given; bp_unset() removes the value of %s", name);
    }
    return bp__process_write(id, value);
}

bp_status bp_unset(const char *name) {
    bp_setting_id id;
    BP__TRY(find_setting(name, &id));
    return bp__process_clear(id);
}
