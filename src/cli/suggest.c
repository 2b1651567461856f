/* suggest.c - "did you mean": the known names that are closest to a wrong one. */
#include "cli.h"

#include <limits.h>
#include <string.h>

#define LONGEST 48 /* longer words get no suggestion */

/* Edits (insert, delete, replace, swap of neighbours) between two words; INT_MAX when one is too long. */
static int distance(const char *a, const char *b) {
    size_t rows = strlen(a), columns = strlen(b);
    if (rows >= LONGEST || columns >= LONGEST) {
        return INT_MAX;
    }
    int cost[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= rows; i++) {
        for (size_t j = 0; j <= columns; j++) {
            if (i == 0 || j == 0) {
                cost[i][j] = (int)(i + j);
                continue;
            }
            int best = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best = cost[i - 1][j] + 1 < best ? cost[i - 1][j] + 1 : best;
            best = cost[i][j - 1] + 1 < best ? cost[i][j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && cost[i - 2][j - 2] + 1 < best) {
                best = cost[i - 2][j - 2] + 1;
            }
            cost[i][j] = best;
        }
    }
    return cost[rows][columns];
}

const char *cli_suggest(const char *wrong, const char *mark, const char *(*name_at)(const void *list, int index),
                        const void *list) {
    static char text[160];
    const char *first = NULL, *second = NULL;
    int limit = (int)strlen(wrong) / 3 + 1, first_cost = limit + 1, second_cost = limit + 1;
    const char *name;
    for (int i = 0; (name = name_at(list, i)); i++) {
        /* A word that was merely cut short is as near as one edit. */
        int cost = wrong[0] && strncmp(name, wrong, strlen(wrong)) == 0 ? 1 : distance(wrong, name);
        if (cost < first_cost) {
            second = first;
            second_cost = first_cost;
            first = name;
            first_cost = cost;
        } else if (cost < second_cost) {
            second = name;
            second_cost = cost;
        }
    }
    text[0] = 0;
    if (first && second && second_cost == first_cost) {
        snprintf(text, sizeof text, " Did you mean '%s%s' or '%s%s'?", mark, first, mark, second);
    } else if (first) {
        snprintf(text, sizeof text, " Did you mean '%s%s'?", mark, first);
    }
    return text;
}
