/* value.c - converts text to values and back, in the same way for files, environment, options and the API. */
#include "settings/private.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static _Atomic(bp__setting_check) checks[BP_SETTING_COUNT];

static const char *const false_words[] = {"false", "off", "no", "0"};
static const char *const true_words[] = {"true", "on", "yes", "1"};

static bool parse_bool(const char *text, bp__value *value) {
    for (int i = 0; i < BP__COUNT(true_words); i++) {
        if (strcasecmp(text, true_words[i]) == 0 || strcasecmp(text, false_words[i]) == 0) {
            *value = strcasecmp(text, true_words[i]) == 0;
            return true;
        }
    }
    return false;
}

static bool parse_int(const bp__setting_entry *setting, const char *text, bp__value *value) {
    int64_t number;
    if (!bp__parse_int(text, &number) || number < setting->least || number > setting->most) {
        return false;
    }
    *value = (bp__value)number;
    return true;
}

/* Returns the number of bytes before the N of "random-greedy-N"; 0 for a word without a number. */
static size_t before_number(const char *word) {
    size_t length = strlen(word);
    return length > 2 && strcmp(word + length - 2, "-N") == 0 ? length - 1 : 0;
}

static bool parse_word(const bp__setting_entry *setting, const char *text, bp__value *value) {
    for (int i = 0; i < setting->word_count; i++) {
        size_t prefix = before_number(setting->words[i]);
        int64_t number = 0;
        bool fits = prefix == 0 ? strcasecmp(text, setting->words[i]) == 0
                                : strncasecmp(text, setting->words[i], prefix) == 0 && text[prefix] >= '0' &&
                                      text[prefix] <= '9' && bp__parse_int(text + prefix, &number) && number > 0 &&
                                      number <= BP__MOST_NUMBER;
        if (fits) {
            *value = (bp__value)i + (bp__value)number * BP__WORD_NUMBER;
            return true;
        }
    }
    return false;
}

/* Takes the words of a switch for a setting that has "on" or "off" besides other words: false and true, no and yes, 0
 * and 1. */
static bool parse_switch(const bp__setting_entry *setting, const char *text, bp__value *value) {
    bp__value on = 0;
    return parse_bool(text, &on) && parse_word(setting, on ? "on" : "off", value);
}

static const char *word_text(const bp__setting_entry *setting, bp__value value) {
    const char *word = setting->words[value % BP__WORD_NUMBER];
    char text[64];
    if (value < BP__WORD_NUMBER) {
        return word;
    }
    snprintf(text, sizeof text, "%.*s%lld", (int)before_number(word), word, (long long)(value / BP__WORD_NUMBER));
    return bp__intern(text);
}

static const char *word_at(void *user, int index) {
    const bp__setting_entry *setting = user;
    return index < setting->word_count ? setting->words[index] : NULL;
}

static bp_status refuse(const bp__setting_entry *setting, const char *text, size_t length) {
    bp__shown shown;
    char question[192] = "";
    const char *name = setting->info.name;
    bp__show(&shown, text, length);
    switch (setting->info.type) {
    case BP_SETTING_BOOL:
        return bp__fail(BP_E_BAD_VALUE, "%s: '%s' is not accepted; it takes true or false", name, shown.text);
    case BP_SETTING_INT:
        return bp__fail(BP_E_BAD_VALUE, "%s: '%s' is not accepted; it takes a whole number from %lld to %lld", name,
                        shown.text, (long long)setting->least, (long long)setting->most);
    case BP_SETTING_ENUM:
        bp__suggest(shown.text, word_at, (void *)(uintptr_t)setting, question, sizeof question);
        return bp__fail(BP_E_BAD_VALUE, "%s: '%s' is not accepted; it takes %s%s%s%s", name, shown.text,
                        setting->info.allowed, *question ? " (" : "", question, *question ? ")" : "");
    case BP_SETTING_TEXT:
        if (*setting->info.allowed) {
            return bp__fail(BP_E_BAD_VALUE, "%s: '%s' is not accepted; it takes a list of these, each once: %s", name,
                            shown.text, setting->info.allowed);
        }
        break;
    }
    return bp__fail(BP_E_BAD_VALUE,
                    "%s: '%s' is not accepted; it takes text of up to %d bytes without control characters", name,
                    shown.text, BP__LONGEST_VALUE);
}

/* Returns whether a word is among the first `size` bytes of a comma-separated list. */
static bool listed(const char *list, size_t size, const char *word, size_t length) {
    for (size_t at = 0; at < size;) {
        size_t next = strcspn(list + at, ",");
        if (next == length && memcmp(list + at, word, length) == 0) {
            return true;
        }
        at += next + 1;
    }
    return false;
}

/* Returns whether a TEXT value is a list of allowed words, each at most once. */
static bool is_list(const char *allowed, const char *text) {
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        if (!listed(allowed, strlen(allowed), at, length) || listed(text, (size_t)(at - text), at, length)) {
            return false;
        }
        at += length;
        if (*at == '\0') {
            return true;
        }
    }
}

static bool has_control(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F) {
            return true;
        }
    }
    return false;
}

static void trim(const char **text, size_t *length) {
    while (*length > 0 && ((*text)[0] == ' ' || (*text)[0] == '\t')) {
        (*text)++;
        (*length)--;
    }
    while (*length > 0 && ((*text)[*length - 1] == ' ' || (*text)[*length - 1] == '\t')) {
        (*length)--;
    }
}

bp_status bp__value_check(bp_setting_id id, bp__value value, const char *text) {
    bp__setting_check check = atomic_load_explicit(&checks[id], memory_order_acquire);
    return check ? check(id, value, text) : BP_OK;
}

static bp_status parse_copy(bp_setting_id id, const char *copy, bp__value *value) {
    const bp__setting_entry *setting = bp__table_at(id);
    bp__value parsed = 0;
    bool fits = setting->info.type == BP_SETTING_BOOL  ? parse_bool(copy, &parsed)
                : setting->info.type == BP_SETTING_INT ? parse_int(setting, copy, &parsed)
                : setting->info.type == BP_SETTING_ENUM
                    ? parse_word(setting, copy, &parsed) || parse_switch(setting, copy, &parsed)
                    : !*setting->info.allowed || is_list(setting->info.allowed, copy);
    if (!fits) {
        return refuse(setting, copy, strlen(copy));
    }
    if (setting->info.type == BP_SETTING_TEXT) {
        const char *kept = bp__intern(copy);
        if (!kept) {
            return bp__fail_memory(strlen(copy) + 1, setting->info.name);
        }
        parsed = (bp__value)(uintptr_t)kept;
    }
    bool spelled_freely = setting->info.type == BP_SETTING_ENUM || setting->info.type == BP_SETTING_BOOL;
    BP__TRY(bp__value_check(id, parsed, spelled_freely ? bp__value_text(id, parsed) : copy));
    *value = parsed;
    return BP_OK;
}

bp_status bp__value_parse(bp_setting_id id, const char *text, size_t length, bp__value *value) {
    const bp__setting_entry *setting = bp__table_at(id);
    if (setting->info.type != BP_SETTING_TEXT) {
        trim(&text, &length);
    }
    if (length > BP__LONGEST_VALUE || has_control(text, length)) {
        return refuse(setting, text, length);
    }
    char *copy = bp__alloc(length + 1);
    if (!copy) {
        return bp__fail_memory(length + 1, setting->info.name);
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    bp_status status = parse_copy(id, copy, value);
    bp__free(copy);
    return status;
}

const char *bp__value_text(bp_setting_id id, bp__value value) {
    const bp__setting_entry *setting = bp__table_at(id);
    char number[32];
    switch (setting->info.type) {
    case BP_SETTING_BOOL:
        return value ? "true" : "false";
    case BP_SETTING_ENUM:
        return word_text(setting, value);
    case BP_SETTING_TEXT:
        return (const char *)(uintptr_t)value;
    case BP_SETTING_INT:
        break;
    }
    snprintf(number, sizeof number, "%lld", (long long)value);
    return bp__intern(number);
}

void bp__value_remember_check(bp_setting_id id, bp__setting_check check) {
    atomic_store_explicit(&checks[id], check, memory_order_release);
}
