/* tune_neighbours.c - ranks the candidates of a product that was not measured by the record of a similar one.
 *
 * A neighbour has the same key in everything but the sizes, and each of its sizes is within a factor of 1.25. The ratio
 * of measured to expected times of each candidate is assumed to be the same at both sizes. Transforms and linear
 * algebra have no neighbours: the time of a transform depends on the factors of its length more than on its size. */
#include "dispatch/times/tune_session.h"
#include "base/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = 4 };    /* m, n, k and the number of products */
#define FACTOR 1.25    /* between sizes of neighbours */
#define MOST_SIZE 1e15 /* of a size in a file */
#define PRODUCTS "matmul "

/* A key of a record: a hash of all but the sizes, and the sizes. */
typedef struct place {
    uint64_t kind;
    double size[SIZES];
} place;

typedef struct entry {
    place at;
    const char *key, *value; /* of the records, valid until they change */
    int64_t written_s;
} entry;

/* The records of products, in the order of their kinds. Protected by bp__tune_mutex. */
static struct {
    entry *list;
    int count, capacity;
    uint64_t version; /* of the records */
    bool failed;
} all;

/* ---- Keys: "matmul f64 100 x alpha 5x6^T @ 6x7 -> 5x7 + beta C; 2 threads; ...; layout ...; class ..." ---- */

static bool take_word(const char **at, const char *word) {
    const size_t length = strlen(word);
    const bool found = strncmp(*at, word, length) == 0;
    *at += found ? length : 0;
    return found;
}

static bool take_size(const char **at, double *size) {
    if (**at < '1' || **at > '9') {
        return false;
    }
    char *end;
    *size = bp__read_real(*at, &end);
    const bool whole = strspn(*at, "0123456789") == (size_t)(end - *at);
    *at = end;
    return whole && *size <= MOST_SIZE;
}

/* Reads a key, which may come from a hostile file. Returns false if it is not a product's. */
static bool read_place(const char *key, place *found) {
    const char *at = key, *rest = strstr(key, "; "), *class = NULL;
    for (const char *next = rest; next && (next = strstr(next, "; class ")); next++) {
        class = next; /* the last one: texts of settings come before */
    }
    double *size = found->size, again;
    if (!class || !take_word(&at, PRODUCTS)) {
        return false;
    }
    at += strcspn(at, " ;"); /* the element type */
    size[3] = 1;
    const char *batch = at;
    if (take_word(&batch, " ") && take_size(&batch, &size[3]) && take_word(&batch, " x")) {
        at = batch;
    } else {
        size[3] = 1;
    }
    if (!take_word(&at, " ")) {
        return false;
    }
    take_word(&at, "alpha ");
    if (!take_size(&at, &size[0]) || !take_word(&at, "x") || !take_size(&at, &size[2]) || *at == 'x') {
        return false;
    }
    at = strstr(at, " @ ");
    if (!at || at > rest || !take_word(&at, " @ ") || !take_size(&at, &again) || !take_word(&at, "x") ||
        !take_size(&at, &size[1]) || *at == 'x') {
        return false;
    }
    found->kind = bp__hash(rest, (size_t)(class - rest));
    return again == size[2];
}

/* Returns the sum of the logarithms of the factors between the sizes; infinity if one is too large. */
static double distance(const place *x, const place *y) {
    double sum = 0;
    for (int i = 0; i < SIZES; i++) {
        const double low = fmin(x->size[i], y->size[i]), high = fmax(x->size[i], y->size[i]);
        sum = high <= FACTOR * low ? sum + log2(high / low) : INFINITY;
    }
    return sum;
}

/* ---- The index ---- */

static int by_kind(const void *left, const void *right) {
    const entry *x = left, *y = right;
    return (x->at.kind > y->at.kind) - (x->at.kind < y->at.kind);
}

static bool add(void *user, const bp__store_record *record) {
    (void)user;
    entry e = {.key = record->key, .value = record->value, .written_s = record->written_s};
    if (!read_place(record->key, &e.at) || *record->value == '!') {
        return true;
    }
    if (all.count == all.capacity) {
        const int capacity = 2 * all.capacity + 64;
        entry *grown = bp__realloc(all.list, (size_t)capacity * sizeof *grown);
        if (!grown) {
            all.failed = true;
            return false;
        }
        all.list = grown;
        all.capacity = capacity;
    }
    all.list[all.count++] = e;
    return true;
}

/* Makes the index again if the records have changed. The caller holds the mutex. */
static void update(void) {
    const uint64_t version = bp__tune_version();
    if (all.version == version) {
        return;
    }
    all.count = 0;
    all.failed = false;
    bp__tune_visit(add, NULL);
    all.count = all.failed ? 0 : all.count;
    all.version = version;
    if (all.count > 1) {
        qsort(all.list, (size_t)all.count, sizeof *all.list, by_kind);
    }
}

void bp__neighbours_forget(void) {
    bp__free(all.list);
    memset(&all, 0, sizeof all);
}

/* Returns the index of the first entry of a kind, or of a later one. */
static int first_of(uint64_t kind) {
    int low = 0, high = all.count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (all.list[middle].at.kind < kind) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static const entry *find_nearest(const place *asked) {
    const entry *nearest = NULL;
    double least = INFINITY;
    for (int i = first_of(asked->kind); i < all.count && all.list[i].at.kind == asked->kind; i++) {
        const double far = distance(asked, &all.list[i].at);
        if (far < least || (nearest && far == least && all.list[i].written_s > nearest->written_s)) {
            least = far;
            nearest = &all.list[i];
        }
    }
    return nearest;
}

/* Writes the sizes of a key: "5x6 @ 6x7 -> 5x7". */
static void copy_sizes(char *text, size_t size, const char *key) {
    const char *at = key + strlen(PRODUCTS);
    at += strcspn(at, " ");
    at += *at == ' ';
    const size_t length = strcspn(at, ";");
    snprintf(text, size, "%.*s", (int)(length < size ? length : size - 1), at);
}

bool bp__neighbour_apply(bp__choice *choice, const bp__eligible *eligible, const char *key) {
    const bp_policy *policy = &choice->asked.policy;
    place asked;
    bp__text record = {0};
    if (policy->deterministic != 0 || policy->tuning == BP__TUNING_OFF || !read_place(key, &asked)) {
        return false;
    }
    pthread_mutex_lock(&bp__tune_mutex);
    update();
    const entry *nearest = find_nearest(&asked);
    if (nearest) {
        bp__text_add(&record, nearest->value);
        copy_sizes(choice->neighbour, sizeof choice->neighbour, nearest->key);
        choice->neighbour_s = nearest->written_s;
    }
    pthread_mutex_unlock(&bp__tune_mutex);
    const bool applied = nearest && !record.failed && bp__tune_read_neighbour(choice, eligible, bp__text_get(&record));
    if (!applied) {
        choice->neighbour[0] = '\0';
    }
    bp__text_free(&record);
    return applied;
}
