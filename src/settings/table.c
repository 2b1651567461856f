/* table.c - holds the entries of settings_table.h as data, with values computed once from them: variable names, ranges,
 * words. */
#include "settings/private.h"

#include <stdio.h>
#include <string.h>

#define X(id, number, name, type, default_text, allowed, alias, flags, affects, help)                                  \
    static char variable_##id[] = "BACKPLANE_" name;                                                                   \
    static char allowed_##id[] = allowed;
BP_SETTINGS_MAP(X)
#undef X

/* Checks that no number is used twice (the enumerator would be defined twice), and that none is skipped, because each
 * is below their count. */
#define X(id, number, name, type, fallback, allowed, alias, flags, affects, help) number_##number##_is_used,
enum { BP_SETTINGS_MAP(X) };
#undef X
#define X(id, number, name, type, fallback, allowed, alias, flags, affects, help)                                      \
    _Static_assert((number) >= 0 && (number) < BP_SETTING_COUNT, "a number is skipped: " name " must use a lower "     \
                                                                 "one");
BP_SETTINGS_MAP(X)
#undef X

/* The numbers in the order of the table. */
static const bp_setting_id listed[] = {
#define X(id, number, name, type, default_text, allowed, alias, flags, affects, help) BP_SET_##id,
    BP_SETTINGS_MAP(X)
#undef X
};

/* The next arrays are indexed by number. Ranges and lists are split in place; `info.allowed` keeps the whole text. */
static char *const allowed_pieces[] = {
#define X(id, number, name, type, default_text, allowed, alias, flags, affects, help) [BP_SET_##id] = allowed_##id,
    BP_SETTINGS_MAP(X)
#undef X
};

/* Aliases are cut after the name. */
#define X(id, number, name, type, fallback, allowed, alias, flags, affects, help) static char alias_##id[] = alias;
BP_SETTINGS_MAP(X)
#undef X

static char *const aliases[] = {
#define X(id, number, name, type, default_text, allowed, alias, flags, affects, help) [BP_SET_##id] = alias_##id,
    BP_SETTINGS_MAP(X)
#undef X
};

static char *const variables[] = {
#define X(id, number, name, type, default_text, allowed, alias, flags, affects, help) [BP_SET_##id] = variable_##id,
    BP_SETTINGS_MAP(X)
#undef X
};

static bp__setting_entry settings[] = {
#define X(id, number, name, type, fallback, allowed, alias, flags, affects, help)                                      \
    [BP_SET_##id] = {.info = {name, BP_SETTING_##type, fallback, allowed, variable_##id, alias_##id, flags, affects,   \
                              help, number}},
    BP_SETTINGS_MAP(X)
#undef X
};

static atomic_bool filled;
pthread_mutex_t bp__table_mutex = PTHREAD_MUTEX_INITIALIZER;

static void name_variable(char *variable) {
    for (; *variable; variable++) {
        if (*variable == '.') {
            *variable = '_';
        } else if (*variable >= 'a' && *variable <= 'z') {
            *variable = (char)(*variable - 'a' + 'A');
        }
    }
}

static void read_alias(bp__setting_entry *setting, char *alias) {
    char *equals = strchr(alias, '=');
    if (equals) {
        *equals = '\0';
        setting->alias_words = equals + 1;
    }
}

static void read_range(bp__setting_entry *setting, char *allowed) {
    char *dots = strstr(allowed, "..");
    setting->least = INT64_MIN + 2; /* not BP__UNREAD */
    setting->most = INT64_MAX;
    if (dots) {
        *dots = '\0';
        bp__parse_int(allowed, &setting->least);
        bp__parse_int(dots + 2, &setting->most);
    }
}

static void read_words(bp__setting_entry *setting, char *allowed) {
    char *rest = allowed, *word;
    while (setting->word_count < BP__MOST_WORDS && (word = strsep(&rest, "|")) != NULL) {
        setting->words[setting->word_count++] = word;
    }
}

static bp__value parse_default(const bp__setting_entry *setting) {
    int64_t number = 0;
    switch (setting->info.type) {
    case BP_SETTING_BOOL:
        return bp__text_equal(setting->info.default_text, "true");
    case BP_SETTING_INT:
        bp__parse_int(setting->info.default_text, &number);
        return (bp__value)number;
    case BP_SETTING_ENUM:
        while (number < setting->word_count && !bp__text_equal(setting->words[number], setting->info.default_text)) {
            number++;
        }
        return (bp__value)number;
    case BP_SETTING_TEXT:
        break;
    }
    return (bp__value)(uintptr_t)setting->info.default_text;
}

static void fill(void) {
    for (int i = 0; i < BP_SETTING_COUNT; i++) {
        name_variable(variables[i]);
        read_alias(&settings[i], aliases[i]);
        if (settings[i].info.type == BP_SETTING_INT) {
            read_range(&settings[i], allowed_pieces[i]);
        } else if (settings[i].info.type == BP_SETTING_ENUM) {
            read_words(&settings[i], allowed_pieces[i]);
        }
        settings[i].default_value = parse_default(&settings[i]);
    }
}

const bp__setting_entry *bp__table_at(bp_setting_id id) {
    if (BP__UNLIKELY(!atomic_load_explicit(&filled, memory_order_acquire))) {
        pthread_mutex_lock(&bp__table_mutex);
        if (!atomic_load_explicit(&filled, memory_order_relaxed)) {
            fill();
            atomic_store_explicit(&filled, true, memory_order_release);
        }
        pthread_mutex_unlock(&bp__table_mutex);
    }
    return &settings[id];
}

const char *bp__show(bp__shown *shown, const char *bytes, size_t length) {
    const size_t space = sizeof shown->text - sizeof "\\x00...";
    size_t used = 0, i = 0;
    for (; i < length && used < space; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c < 0x20 || c >= 0x7F) {
            used += (size_t)snprintf(shown->text + used, sizeof "\\x00", "\\x%02x", c);
        } else {
            shown->text[used++] = (char)c;
        }
    }
    memcpy(shown->text + used, i < length ? "..." : "", i < length ? 4 : 1);
    return shown->text;
}

/* Reads a number at *at and advances *at past it. Returns false if there is none, or if it is not below 2^31. */
static bool take_number(const char **at, int64_t *number) {
    const char *start = *at;
    for (*number = 0; **at >= '0' && **at <= '9' && *number <= INT32_MAX; (*at)++) {
        *number = *number * 10 + (**at - '0');
    }
    return *at > start && *number <= INT32_MAX;
}

/* Sums the pairs of a text: ":4096:2:16:8" is 4096 KiB twice and 16 KiB eight times. */
static bool sum_pairs(const char *text, int64_t *sum) {
    int64_t size, count;
    for (*sum = 0; *text == ':';) {
        text++;
        if (!take_number(&text, &size) || *text++ != ':' || !take_number(&text, &count)) {
            return false;
        }
        *sum += size * count;
        if (*sum > INT32_MAX) {
            return false;
        }
    }
    return *text == '\0' && *sum > 0;
}

/* Converts KiB to bytes. A value that cannot be parsed stays, marked so that it is refused as a number. NULL: out of
 * memory. */
static const char *bytes_of(const char *value, bool pairs) {
    int64_t kib;
    char text[64];
    const char *at = value;
    if (pairs ? !sum_pairs(value, &kib) : !take_number(&at, &kib) || *at) {
        snprintf(text, sizeof text, "%s%.48s", *value == ':' ? "" : "?", value);
        return bp__intern(text);
    }
    snprintf(text, sizeof text, "%lld", (long long)kib * 1024);
    return bp__intern(text);
}

const char *bp__alias_word(bp_setting_id id, const char *value) {
    const bp__setting_entry *setting = bp__table_at(id);
    size_t length = strlen(value);
    bool pairs = setting->alias_words && bp__text_equal(setting->alias_words, "pairs");
    if (pairs || (setting->alias_words && bp__text_equal(setting->alias_words, "KiB"))) {
        return bytes_of(value, pairs);
    }
    for (const char *at = setting->alias_words; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        const char *word = at + length + 1;
        if (strncmp(at, value, length) != 0 || at[length] != ':') {
            continue;
        }
        static const char *const truths[] = {"false", "true"};
        bool truth = setting->info.type == BP_SETTING_BOOL;
        const char *const *words = truth ? truths : setting->words;
        for (int i = 0; i < (truth ? 2 : setting->word_count); i++) {
            size_t size = strlen(words[i]);
            if (strncmp(word, words[i], size) == 0 && (word[size] == ',' || word[size] == '\0')) {
                return words[i];
            }
        }
    }
    return setting->alias_words ? NULL : value;
}

static const char *name_at(void *user, int index) {
    (void)user;
    return index < BP_SETTING_COUNT ? settings[index].info.name : NULL;
}

bp_status bp__find_setting(const char *name, size_t length, bp_setting_id *id) {
    for (int i = 0; i < BP_SETTING_COUNT; i++) {
        if (strlen(settings[i].info.name) == length && memcmp(settings[i].info.name, name, length) == 0) {
            *id = (bp_setting_id)i;
            return BP_OK;
        }
    }
    bp__shown shown;
    char question[256];
    bp__show(&shown, name, length);
    bp__suggest(shown.text, name_at, NULL, question, sizeof question);
    return bp__fail(BP_E_UNKNOWN_NAME, "no setting is called '%s'; %s", shown.text,
                    *question ? question : "`backplane settings` lists them all");
}

const bp_setting_info *bp_setting_at(int number) {
    return number >= 0 && number < BP_SETTING_COUNT ? &bp__table_at((bp_setting_id)number)->info : NULL;
}

const bp_setting_info *bp_setting_listed_at(int index) {
    return index >= 0 && index < BP_SETTING_COUNT ? &bp__table_at(listed[index])->info : NULL;
}

int bp_setting_find(const char *name) {
    bp_setting_id id;
    if (!name) {
        bp__fail(BP_E_ARGUMENT, "name: NULL given; it takes the name of a setting");
        return -1;
    }
    return bp__find_setting(name, strlen(name), &id) == BP_OK ? (int)id : -1;
}

const char *bp_layer_name(bp_layer layer) {
    static const char *const names[] = {"default",   "shared environment", "system file",
                                        "user file", "named file",         "environment",
                                        "process",   "thread scope",       "call"};
    return (unsigned)layer < BP_LAYER_COUNT ? names[layer] : "unknown layer";
}
