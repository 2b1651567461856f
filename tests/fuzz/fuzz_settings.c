/* fuzz_settings.c - parses any bytes as the text of options: accepted ones can be entered, read and left; refused ones
 * have a reason. */
#include "settings/private.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

/* Accepted values are in force inside the scope, and the previous ones again after it. */
static void use(const char *text, const bp_options *options) {
    int64_t threads = bp_get_num_threads();
    uint64_t epoch = bp__settings_epoch();
    bp_scope *scope;
    require(bp_scope_enter(&scope, text) == BP_OK);
    for (int i = 0; i < BP_SETTING_COUNT; i++) {
        const char *value, *where;
        bp_layer layer;
        require(bp_get(bp_setting_at(i)->name, &value, &layer, &where) == BP_OK);
        bool follows = (bp_setting_at(i)->flags & (BP_SETTING_ALIAS | BP_SETTING_INHERITS)) != 0;
        bool named = bp__options_set(options, (bp_setting_id)i);
        require(follows || (layer == BP_LAYER_SCOPE) == named);
        require(layer != BP_LAYER_SCOPE || strcmp(where, text) == 0);
    }
    require(bp_scope_leave(&scope) == BP_OK);
    require(bp_get_num_threads() == threads && bp__settings_epoch() == epoch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    bp_options *options;
    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    bp_status status = bp_options_new(&options, text);
    require((status == BP_OK) == (options != NULL));
    require(status == BP_OK || (bp_last_status() == status && *bp_last_error()));
    if (status == BP_OK) {
        use(text, options);
    }
    bp_options_release(options);
    free(text);
    bp__settings_reset();
    bp__intern_reset();
    return 0;
}
