/* options.c - parses a list of settings once, so that it can be applied many times. */
#include "settings/private.h"

#include <string.h>

static _Atomic int64_t alive;

/* Settings found so far in the list. A setting's own name overrides an alias, in any order. */
typedef struct listed {
    uint64_t named[(BP_SETTING_COUNT + 63) / 64]; /* one bit for each setting */
    bp_setting_id writer[BP_SETTING_COUNT]; /* the setting that wrote a value: itself or an alias; valid only for those
                                               that are set */
} listed;

static bool is_named(const listed *before, bp_setting_id id) {
    return (before->named[id / 64] >> (id % 64) & 1) != 0;
}

static bp_status add(bp_options *options, listed *before, bp_setting_id id, bp__value value) {
    bp__write writes[BP__MOST_WRITES];
    int count = bp__writes_of(id, value, writes);
    if (is_named(before, id)) {
        return bp__fail(BP_E_BAD_VALUE, "options: %s is given twice", bp__table_at(id)->info.name);
    }
    before->named[id / 64] |= (uint64_t)1 << (id % 64);
    for (int i = 0; i < count; i++) {
        bp_setting_id target = writes[i].id;
        bool by_alias = target != id;
        if (by_alias && is_named(before, target)) {
            continue;
        }
        if (by_alias && bp__options_set(options, target)) {
            return bp__fail(BP_E_BAD_VALUE, "options: %s is given twice, as %s and as %s",
                            bp__table_at(target)->info.name, bp__table_at(before->writer[target])->info.name,
                            bp__table_at(id)->info.name);
        }
        before->writer[target] = id;
        options->values[target] = writes[i].value;
        options->mask[target / 64] |= (uint64_t)1 << (target % 64);
    }
    return BP_OK;
}

static bp_status parse_entry(bp_options *options, listed *before, const bp__entry *entry) {
    bp_setting_id id;
    bp_status status;
    if (entry->fault) {
        bp__shown shown;
        return bp__fail(BP_E_BAD_VALUE, "options, line %d, '%s': %s", entry->line,
                        bp__show(&shown, entry->name, entry->name_length), entry->fault);
    }
    BP__TRY(bp__find_setting(entry->name, entry->name_length, &id));
    if (!bp__may_write(id, &status)) {
        return status;
    }
    bp__value value;
    BP__TRY(bp__value_parse(id, entry->value, entry->value_length, &value));
    return add(options, before, id, value);
}

bp_status bp__options_parse(bp_options *options, const char *text) {
    bp__reader reader;
    bp__entry entry;
    listed before;
    memset(before.named, 0, sizeof before.named);
    *options = (bp_options){0};
    BP__TRY(bp__settings_ready());
    bp__reader_start(&reader, text, strlen(text), true);
    while (bp__reader_next(&reader, &entry)) {
        BP__TRY(parse_entry(options, &before, &entry));
    }
    return BP_OK;
}

bp_status bp_options_new(bp_options **options, const char *text) {
    bp_options parsed;
    if (!options) {
        return bp__fail(BP_E_ARGUMENT, "options: NULL given; it takes the address of a pointer");
    }
    *options = NULL;
    if (!text) {
        return bp__fail(BP_E_ARGUMENT, "text: NULL given; it takes a list like \"num_threads=1\"");
    }
    BP__TRY(bp__options_parse(&parsed, text));
    size_t size = strlen(text) + 1;
    bp_options *made = bp__alloc(sizeof *made + size);
    if (!made) {
        return bp__fail_memory(sizeof *made + size, "options");
    }
    parsed.state = bp__fresh_state();
    parsed.text = memcpy(made + 1, text, size);
    *made = parsed;
    atomic_fetch_add_explicit(&alive, 1, memory_order_relaxed);
    *options = made;
    return BP_OK;
}

void bp_options_release(bp_options *options) {
    if (options) {
        atomic_fetch_sub_explicit(&alive, 1, memory_order_relaxed);
        bp__free(options);
    }
}

int64_t bp__options_alive(void) {
    return atomic_load_explicit(&alive, memory_order_relaxed);
}
