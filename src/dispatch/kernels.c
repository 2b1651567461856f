/* kernels.c - applies the settings that enable and order the kernels of a family; only attention has some.
 *
 * bp_policy.preferred of such a family begins with a list of the enabled kernels, by their names in the setting of the
 * order. It is empty if all are enabled in the default order, which leaves the choice to the cost. If the order was
 * set, the list begins with ORDERED, and earlier kernels are chosen first. The preferred library follows
 * (BP__PREFERRED). */
#include "dispatch/internal.h"

#include <stdio.h>
#include <string.h>

#define ORDERED "="

/* Returns the entry of an algorithm. The last one has all algorithms that no other has. */
static const bp__kernel *kernel_of(const bp__kernels *kernels, const char *algorithm) {
    const size_t length = strcspn(algorithm, " ");
    int i = 0;
    while (i < kernels->count - 1 && !(strlen(kernels->list[i].algorithm) == length &&
                                       strncmp(kernels->list[i].algorithm, algorithm, length) == 0)) {
        i++;
    }
    return &kernels->list[i];
}

int bp__kernel_position(const char *list, const char *name) {
    const size_t length = strlen(name);
    for (int at = 0; *list && *list != *BP__PREFERRED; at++) {
        while (*list == ' ') {
            list++;
        }
        const size_t word = strcspn(list, ", " BP__PREFERRED);
        if (word == length && strncmp(list, name, length) == 0) {
            return at;
        }
        list += strcspn(list, "," BP__PREFERRED);
        list += *list == ',';
    }
    return -1;
}

void bp__kernels_add(const bp__kernels *kernels, bp__text *text) {
    const char *order = bp__setting_text(kernels->order);
    const bool ordered = !bp__text_equal(order, bp_setting_at((int)kernels->order)->default_text);
    bool all = true;
    for (int i = 0; i < kernels->count; i++) {
        all = all && bp__setting_int(kernels->list[i].enabled);
    }
    if (all && !ordered) {
        return;
    }
    /* By their positions in the order; those that it does not name are last. */
    bp__text_add(text, ordered ? ORDERED : "");
    for (int at = 0; at <= BP__KERNELS_MOST; at++) {
        for (int i = 0; i < kernels->count; i++) {
            const bp__kernel *kernel = &kernels->list[i];
            const int own = bp__kernel_position(order, kernel->name);
            if (i > 0 && strcmp(kernel->name, kernel[-1].name) == 0) {
                continue;
            }
            if ((own < 0 || own > BP__KERNELS_MOST ? BP__KERNELS_MOST : own) == at &&
                bp__setting_int(kernel->enabled)) {
                bp__text_addf(text, "%s,", kernel->name);
            }
        }
    }
    bp__text_add(text, "-"); /* not empty, also if no kernel is enabled */
}

/* Returns the list of the problem's policy; NULL if there is none. */
static const char *list_of(const bp_problem *problem) {
    const char *list = bp__family_of(problem)->kernels ? bp__policy_text(problem->policy.preferred) : "";
    return *list && *list != *BP__PREFERRED ? list : NULL;
}

bool bp__kernels_ordered(const bp_problem *problem) {
    const char *list = list_of(problem);
    return list && *list == *ORDERED;
}

const char *bp__kernels_order(const bp_problem *problem) {
    return bp_setting_at((int)bp__family_of(problem)->kernels->order)->name;
}

bool bp__kernel_off(const bp_problem *problem, const char *algorithm, char *text, size_t size) {
    const char *list = list_of(problem);
    if (!list) {
        return false;
    }
    const bp__kernel *kernel = kernel_of(bp__family_of(problem)->kernels, algorithm);
    if (bp__kernel_position(list + (*list == *ORDERED), kernel->name) >= 0) {
        return false;
    }
    snprintf(text, size, "%s is false", bp_setting_at((int)kernel->enabled)->name);
    return true;
}

int bp__kernel_rank(const bp_problem *problem, const char *algorithm) {
    return bp__kernels_ordered(problem)
               ? bp__kernel_position(list_of(problem) + 1, kernel_of(bp__family_of(problem)->kernels, algorithm)->name)
               : 0;
}
