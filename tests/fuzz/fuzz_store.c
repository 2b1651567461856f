/* fuzz_store.c - reads any bytes as a file of records: what is found has the value that a visit shows. */
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool check(void *user, const bp__store_record *record) {
    if (bp__store_find(user, record->key, NULL) != record->value) {
        abort();
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bp__store *store;
    int damaged;
    char *text = bp__alloc(size + 1);
    if (!text) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    if (bp__store_parse(&store, text, "input", &damaged) == BP_OK) {
        bp__store_visit(store, check, store);
        bp__store_close(store);
    }
    bp__error_reset();
    return 0;
}
