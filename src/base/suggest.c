/* suggest.c - writes "did you mean ...?" for a misspelt name. */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST = 63, MOST = 3 };

static int lower(char c) {
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static int smaller(int a, int b) {
    return a < b ? a : b;
}

/* Returns the edit distance with swaps of neighbours as one step (optimal string alignment), ignoring case. */
static int distance(const char *a, int a_length, const char *b, int b_length) {
    int rows[3][LONGEST + 1];
    int *before = rows[0], *above = rows[1], *row = rows[2];
    for (int j = 0; j <= b_length; j++) {
        above[j] = j;
        before[j] = 0;
    }
    for (int i = 1; i <= a_length; i++) {
        row[0] = i;
        for (int j = 1; j <= b_length; j++) {
            int differs = lower(a[i - 1]) != lower(b[j - 1]);
            row[j] = smaller(smaller(above[j], row[j - 1]) + 1, above[j - 1] + differs);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
                row[j] = smaller(row[j], before[j - 2] + 1);
            }
        }
        int *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[b_length];
}

static bool contains(const char *text, int text_length, const char *part, int part_length) {
    for (int start = 0; start + part_length <= text_length; start++) {
        int i = 0;
        while (i < part_length && lower(text[start + i]) == lower(part[i])) {
            i++;
        }
        if (i == part_length) {
            return true;
        }
    }
    return false;
}

/* Returns how far a name is from the given one; a result above the limit means no match. A part of a name ("threads"
 * for "num_threads") counts as near, whatever its length. */
static int distance_within(const char *wrong, int wrong_length, const char *name, int name_length, int limit) {
    int steps = distance(wrong, wrong_length, name, name_length);
    if (steps > limit && wrong_length >= 3 && contains(name, name_length, wrong, wrong_length)) {
        return limit;
    }
    return steps;
}

typedef struct nearest {
    const char *names[MOST];
    int steps[MOST];
    int count;
} nearest;

static void offer(nearest *best, const char *name, int steps) {
    int place = best->count < MOST ? best->count : MOST;
    while (place > 0 && steps < best->steps[place - 1]) {
        place--;
    }
    if (place == MOST) {
        return;
    }
    best->count = smaller(best->count + 1, MOST);
    for (int i = best->count - 1; i > place; i--) {
        best->names[i] = best->names[i - 1];
        best->steps[i] = best->steps[i - 1];
    }
    best->names[place] = name;
    best->steps[place] = steps;
}

static void write_question(const nearest *best, const char *mark, char *buffer, size_t size) {
    size_t used = 0;
    for (int i = 0; i < best->count && used < size; i++) {
        const char *lead = i == 0 ? "did you mean " : i + 1 < best->count ? ", " : " or ";
        const char *end = i + 1 < best->count ? "" : "?";
        int more = snprintf(buffer + used, size - used, "%s'%s%s'%s", lead, mark, best->names[i], end);
        used += more > 0 ? (size_t)more : 0;
    }
    if (used >= size) {
        buffer[0] = '\0'; /* a truncated question is useless */
    }
}

const char *bp__suggest_marked(const char *wrong, const char *mark, bp__name_at name_at, void *user, char *buffer,
                               size_t size) {
    if (size == 0) {
        return "";
    }
    buffer[0] = '\0';
    size_t wrong_length = strlen(wrong);
    if (wrong_length == 0 || wrong_length > LONGEST) {
        return buffer;
    }
    int limit = wrong_length < 4 ? 1 : (int)wrong_length / 3;
    nearest best = {.count = 0};
    const char *name;
    for (int i = 0; (name = name_at(user, i)) != NULL; i++) {
        size_t length = strlen(name);
        if (length > 0 && length <= LONGEST) {
            int steps = distance_within(wrong, (int)wrong_length, name, (int)length, limit);
            if (steps <= limit) {
                offer(&best, name, steps);
            }
        }
    }
    write_question(&best, mark, buffer, size);
    return buffer;
}

const char *bp__suggest(const char *wrong, bp__name_at name_at, void *user, char *buffer, size_t size) {
    return bp__suggest_marked(wrong, "", name_at, user, buffer, size);
}
