/* aliases.c - implements alias settings: PyTorch's older switches for the precision settings, and its debug mode. An
 * alias stores nothing. Writing it writes its targets in the same layer; reading it derives the value from them. Old
 * and new names can therefore never disagree, and no mixture makes a reading fail. */
#include "settings/private.h"

enum { MOST_VALUES = 3 };

typedef struct alias {
    bp_setting_id id;
    bp_setting_id targets[BP__MOST_WRITES];
    int count;
    const char *writes[MOST_VALUES][BP__MOST_WRITES]; /* by the alias's value: false, true, or its words in order */
    bp__value (*read)(const char *const words[BP__MOST_WRITES]);
} alias;

static bool is_word(const char *word, const char *other) {
    return bp__text_equal(word, other);
}

static bp__value read_tf32(const char *const words[]) {
    return is_word(words[0], "tf32") && (!words[1] || is_word(words[1], "tf32"));
}

enum { HIGHEST, HIGH, MEDIUM };
static bp__value read_matmul_precision(const char *const words[]) {
    bool shorter = is_word(words[0], "tf32") || is_word(words[0], "bfx9") || is_word(words[1], "tf32");
    return is_word(words[1], "bf16") ? MEDIUM : shorter ? HIGH : HIGHEST;
}

enum { MODE_DEFAULT, MODE_WARN, MODE_ERROR };
static bp__value read_debug_mode(const char *const words[]) {
    return is_word(words[0], "false") ? MODE_DEFAULT : is_word(words[1], "true") ? MODE_WARN : MODE_ERROR;
}

static const alias aliases[] = {
    {BP_SET_float32_matmul_precision,
     {BP_SET_cuda_matmul_fp32_precision, BP_SET_mkldnn_matmul_fp32_precision},
     2,
     {{"ieee", "ieee"}, {"tf32", "tf32"}, {"tf32", "bf16"}},
     read_matmul_precision},
    {BP_SET_cuda_matmul_allow_tf32, {BP_SET_cuda_matmul_fp32_precision}, 1, {{"ieee"}, {"tf32"}}, read_tf32},
    {BP_SET_cudnn_allow_tf32,
     {BP_SET_cudnn_conv_fp32_precision, BP_SET_cudnn_rnn_fp32_precision},
     2,
     {{"ieee", "ieee"}, {"tf32", "tf32"}},
     read_tf32},
    {BP_SET_mkldnn_allow_tf32, {BP_SET_mkldnn_fp32_precision}, 1, {{"ieee"}, {"tf32"}}, read_tf32},
    {BP_SET_deterministic_debug_mode,
     {BP_SET_deterministic_algorithms, BP_SET_deterministic_algorithms_warn_only},
     2,
     {{"false", "false"}, {"true", "true"}, {"true", "false"}},
     read_debug_mode},
};

static const alias *alias_of(bp_setting_id id) {
    for (int i = 0; i < BP__COUNT(aliases); i++) {
        if (aliases[i].id == id) {
            return &aliases[i];
        }
    }
    return NULL;
}

/* Returns the value of a word of this table. The words are correct, because a test writes each of them. */
static bp__value value_of(bp_setting_id id, const char *word) {
    const bp__setting_entry *setting = bp__table_at(id);
    bp__value value = 0;
    if (setting->info.type == BP_SETTING_BOOL) {
        return is_word(word, "true");
    }
    while ((int)value < setting->word_count - 1 && !is_word(setting->words[value], word)) {
        value++;
    }
    return value;
}

int bp__writes_of(bp_setting_id id, bp__value value, bp__write writes[BP__MOST_WRITES]) {
    const alias *v = alias_of(id);
    writes[0] = (bp__write){id, value};
    for (int i = 0; v && i < v->count; i++) {
        writes[i] = (bp__write){v->targets[i], value_of(v->targets[i], v->writes[value][i])};
    }
    return v ? v->count : 1;
}

bp__stored bp__alias_in_force(bp_setting_id id, bp__lookup look_up, bp_layer *layer, bp_setting_id *node) {
    const alias *v = alias_of(id);
    const char *words[BP__MOST_WRITES] = {NULL};
    bp__stored result = {.set = true, .where = ""};
    *layer = BP_LAYER_DEFAULT;
    *node = v->targets[0];
    for (int i = 0; i < v->count; i++) {
        bp_layer source;
        bp_setting_id decided_by;
        bp__stored stored = bp__resolve(v->targets[i], look_up, &source, &decided_by);
        words[i] = bp__value_text(v->targets[i], stored.value);
        if (source > *layer) {
            *layer = source;
            *node = decided_by;
            result.where = stored.where;
        }
    }
    result.value = v->read(words);
    return result;
}

bp__stored bp__alias_in_layer(bp_setting_id id, bp_layer layer) {
    const alias *v = alias_of(id);
    const char *words[BP__MOST_WRITES] = {NULL};
    bp__stored stored = {0};
    for (int i = 0; i < v->count; i++) {
        stored = bp__in_layer(v->targets[i], layer);
        if (!stored.set) {
            return stored;
        }
        words[i] = bp__value_text(v->targets[i], stored.value);
    }
    stored.value = v->read(words);
    return stored;
}
