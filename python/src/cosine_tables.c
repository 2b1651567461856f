/* cosine_tables.c - keeps the factors of cosine transforms of recent sizes, because computing them takes longer than a
 * transform. The list belongs to the module's state, so the interpreter's lock protects it. */
#include "core.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_BYTES = 1 << 25 }; /* of all tables that are kept */

static const double PI = 3.14159265358979323846;

static void put_table(core_table *to, int64_t at, double angle) {
    if (to->single) {
        ((float *)to->factors)[2 * at] = (float)cos(angle);
        ((float *)to->factors)[2 * at + 1] = (float)sin(angle);
    } else {
        ((double *)to->factors)[2 * at] = cos(angle);
        ((double *)to->factors)[2 * at + 1] = sin(angle);
    }
}

/* Fills in cos and sin of pi * (step * i + start) / divisor. */
static void fill_table(core_table *to, int64_t first, int64_t count, double step, double start, double divisor) {
    for (int64_t i = 0; i < count; i++) {
        put_table(to, first + i, PI * ((step * (double)i + start) / divisor));
    }
}

static core_table *make_table(int type, int64_t n, bool single) {
    const int64_t each = type < 4 ? n / 2 + 1 : n / 2, count = type < 4 ? each : 2 * each;
    const size_t bytes = (size_t)count * 2 * (single ? sizeof(float) : sizeof(double));
    const double size = (double)n;
    core_table *to = malloc(sizeof *to + bytes);
    if (!to) {
        return NULL;
    }
    *to = (core_table){.n = n, .type = type, .single = single, .bytes = bytes, .second = 2 * each};
    if (type < 4) {
        fill_table(to, 0, each, 1, 0, 2 * size);
    } else {
        fill_table(to, 0, each, 4, 1, 4 * size);
        fill_table(to, each, each, 1, 0, size);
    }
    return to;
}

void core_table_give(core_table *table) {
    if (table && --table->references == 0) {
        free(table);
    }
}

/* Returns the kept table with a new reference, as the first of the list, or NULL. */
static core_table *find_table(core_tables *tables, int type, int64_t n, bool single) {
    for (int i = 0; i < tables->count; i++) {
        core_table *found = tables->of[i];
        if (found->n == n && found->type == type && found->single == single) {
            for (; i > 0; i--) {
                tables->of[i] = tables->of[i - 1];
            }
            tables->of[0] = found;
            found->references++;
            return found;
        }
    }
    return NULL;
}

static void drop_last(core_tables *tables) {
    core_table *last = tables->of[--tables->count];
    tables->bytes -= last->bytes;
    core_table_give(last);
}

/* Adds a table as the first of the list, in place of the least recently used ones if the list is full. */
static void keep_table(core_tables *tables, core_table *table) {
    while (tables->count == CORE_TABLES || (tables->count > 0 && tables->bytes + table->bytes > MOST_BYTES)) {
        drop_last(tables);
    }
    for (int i = tables->count++; i > 0; i--) {
        tables->of[i] = tables->of[i - 1];
    }
    tables->of[0] = table;
    tables->bytes += table->bytes;
    table->references++;
}

core_table *core_table_take(core_state *state, int type, int64_t n, bool single) {
    core_tables *tables = &state->tables;
    type = type == 3 ? 2 : type; /* they have the same factors */
    core_table *table = find_table(tables, type, n, single);
    if (table) {
        return table;
    }
    PyThreadState *thread = PyEval_SaveThread();
    table = make_table(type, n, single);
    PyEval_RestoreThread(thread);
    if (!table) {
        PyErr_NoMemory();
        return NULL;
    }
    core_table *other = find_table(tables, type, n, single); /* made by another thread meanwhile */
    if (other) {
        free(table);
        return other;
    }
    table->references = 1;
    if (table->bytes <= MOST_BYTES) {
        keep_table(tables, table);
    }
    return table;
}

void core_tables_drop(core_tables *tables) {
    while (tables->count > 0) {
        drop_last(tables);
    }
}
