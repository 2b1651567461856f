/* limits.c - reads the thread limits of OpenMP and of math libraries from the environment, as a layer of num_threads.
 *
 * The smallest limit is used. Backplane chooses a library for each call; a limit for one library alone would have no
 * effect after another one is chosen. num_threads itself overrides them in any other layer.
 */
#include "settings/private.h"

#include <stdlib.h>
#include <string.h>

static const char *const variables[] = {
    "OMP_NUM_THREADS",  "OMP_THREAD_LIMIT", "OPENBLAS_NUM_THREADS",
    "GOTO_NUM_THREADS", "MKL_NUM_THREADS",  "BLIS_NUM_THREADS",
};

static const char *skip_blanks(const char *text) {
    return text + strspn(text, " \t");
}

/* Returns the number that a value begins with: all of it, or the first of a list such as "4,2" (the other numbers are
 * for nested parallel regions). Returns less than 0 if it is no such number. Large numbers are limits too. */
static int64_t first_number(const char *value, int64_t most) {
    const char *text = skip_blanks(value);
    const char *digits = text + (*text == '+');
    size_t length = strspn(digits, "0123456789");
    const char *rest = skip_blanks(digits + length);
    if (length == 0 || (*rest != '\0' && *rest != ',')) {
        return -1;
    }
    int64_t number = strtoll(text, NULL, 10); /* INT64_MAX for larger ones */
    return number < most ? number : most;
}

bp_status bp__limits_read(bp__layers *layers) {
    bp__stored *stored = &layers->values[BP_LAYER_SHARED_ENVIRONMENT][BP_SET_num_threads];
    int64_t most = bp__table_at(BP_SET_num_threads)->most;
    for (int i = 0; i < BP__COUNT(variables); i++) {
        const char *value = bp__env(variables[i]);
        int64_t number = value ? first_number(value, most) : 0;
        if (number < 0) {
            bp__shown shown;
            BP__TRY(bp__layers_problem(layers, "%s: '%s' is not a number of threads and is ignored", variables[i],
                                       bp__show(&shown, value, strlen(value))));
        } else if (number > 0 && (!stored->set || number < (int64_t)stored->value)) { /* 0 means the default */
            *stored = (bp__stored){true, (bp__value)number, variables[i]};
        }
    }
    return BP_OK;
}
