/* library_texts.c - keeps texts of libraries between processes, such as the measurements of FFTW's planner. */
#include "dispatch/times/tune.h"

#include "store/store.h"

#include <inttypes.h>
#include <string.h>

#define FILE_NAME "plans.txt"

/* A text is for one file on one machine, as measured times are. Returns whether it is known which file that is. */
static bool make_key(bp__text *key, const bp_library_info *library, const char *name) {
    const char *build = library->build_id && *library->build_id ? library->build_id : library->version;
    bp__text_addf(key, "%s %s@%s/%s; machine %016" PRIx64, name, library->id, build ? build : "",
                  library->kernels ? library->kernels : "", bp__tune_machine());
    return !key->failed && build && *build;
}

char *bp__library_recall(const bp_library_info *library, const char *name) {
    enum { OFF };
    bp__store *file;
    bp__text key = {0};
    bp__held_error held;
    char *copy = NULL;
    bp__error_hold(&held);
    if (bp__setting_int(BP_SET_tuning_store) != OFF && make_key(&key, library, name) &&
        bp__store_open(&file, FILE_NAME) == BP_OK) {
        const char *text = bp__store_find(file, bp__text_get(&key), NULL);
        copy = text ? bp__alloc_aligned(strlen(text) + 1) : NULL;
        if (copy) {
            memcpy(copy, text, strlen(text) + 1);
        }
        bp__store_close(file);
    }
    bp__text_free(&key);
    bp__error_return(&held);
    return copy;
}

void bp__library_remember(const bp_library_info *library, const char *name, bp_op op, const char *text) {
    enum { READ_WRITE = 2 };
    const bp_problem sample = {.op = (uint32_t)op};
    bp__text key = {0};
    bp__held_error held;
    bool wanted = bp__setting_int(BP_SET_tuning_store) == READ_WRITE && !*bp__setting_text(BP_SET_tuning_store_path) &&
                  bp__policy_benchmark(bp__family_of(&sample)) != BP__BENCHMARK_OFF;
    bp__error_hold(&held);
    if (wanted && make_key(&key, library, name)) {
        const bp__store_record record = {.key = bp__text_get(&key), .value = text};
        bp_status status = bp__store_put(FILE_NAME, &record, 1);
        if (status != BP_OK && status != BP_E_BUSY) {
            bp__warn("measurements of '%s' are kept for this process only: %s", library->id, bp_last_error());
        }
    }
    bp__text_free(&key);
    bp__error_return(&held);
}
