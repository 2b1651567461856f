/* fuzz_device.c - loads any bytes as the description of a device: one that is accepted gives the same facts when it was
 * recorded and loaded again. The first byte 'R' makes the rest the report of a child process instead. */
#include "device/private.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static void check_description(const char *text) {
    static char recorded[2][1 << 16];
    int32_t place, again;
    size_t length;
    if (bp_device_load(text, &place) != BP_OK) {
        return;
    }
    require(bp_device_record(place, recorded[0], sizeof recorded[0], &length) == BP_OK);
    if (length < sizeof recorded[0]) {
        require(bp_device_load(recorded[0], &again) == BP_OK);
        require(bp_device_record(again, recorded[1], sizeof recorded[1], &length) == BP_OK);
        char *facts[2] = {strstr(recorded[0], "\"runtime\""), strstr(recorded[1], "\"runtime\"")}; /* after the id */
        require(facts[0] && facts[1] && strcmp(facts[0], facts[1]) == 0);
    }
}

static void check_report(char *text) {
    static const bp_runtime runtime = {.name = "fuzz"};
    bp__runtime row = {.runtime = &runtime, .module = "", .reason = ""};
    bp_device_info *devices;
    int count;
    require(bp__contact_read(&row, text, &devices, &count) == BP_OK);
    require((count > 0) == (devices != NULL) && (count > 0) == (row.state == BP_DEVICE_READY));
    for (int i = 0; i < count; i++) {
        require(devices[i].name && devices[i].extensions && devices[i].uuid);
    }
    bp__free(devices);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = bp__alloc(size + 1);
    if (!text) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    if (*text == 'R') {
        check_report(text + 1);
    } else {
        check_description(text);
    }
    bp__free(text);
    bp_reset(); /* texts and devices live until then */
    return 0;
}
