/* intern.c - one copy of each text that must outlive its maker; equal texts have equal addresses. */
#include "base/base.h"
#include "base/locks.h"

#include <string.h>

typedef struct entry {
    struct entry *next;
    uint64_t hash;
    char text[];
} entry;

static entry **buckets;
static size_t bucket_count; /* a power of two, or 0 */
static size_t entry_count;

static bool grow(void) {
    size_t count = bucket_count ? bucket_count * 2 : 64;
    entry **fresh = bp__alloc_zero(count, sizeof(entry *));
    if (!fresh) {
        return bucket_count > 0; /* a fuller table still works */
    }
    for (size_t i = 0; i < bucket_count; i++) {
        for (entry *each = buckets[i], *next; each; each = next) {
            next = each->next;
            each->next = fresh[each->hash & (count - 1)];
            fresh[each->hash & (count - 1)] = each;
        }
    }
    bp__free(buckets);
    buckets = fresh;
    bucket_count = count;
    return true;
}

static const char *find_or_add(const char *text, size_t length, uint64_t hash) {
    for (entry *each = bucket_count ? buckets[hash & (bucket_count - 1)] : NULL; each; each = each->next) {
        if (each->hash == hash && bp__text_equal(each->text, text)) {
            return each->text;
        }
    }
    if (entry_count >= bucket_count && !grow()) {
        return NULL;
    }
    entry *fresh = bp__alloc(sizeof *fresh + length + 1);
    if (!fresh) {
        return NULL;
    }
    fresh->hash = hash;
    memcpy(fresh->text, text, length + 1);
    fresh->next = buckets[hash & (bucket_count - 1)];
    buckets[hash & (bucket_count - 1)] = fresh;
    entry_count++;
    return fresh->text;
}

const char *bp__intern(const char *text) {
    if (*text == '\0') {
        return ""; /* so that the commonest text never fails */
    }
    size_t length = strlen(text);
    uint64_t hash = bp__hash(text, length);
    pthread_mutex_lock(&bp__intern_mutex);
    const char *kept = find_or_add(text, length, hash);
    pthread_mutex_unlock(&bp__intern_mutex);
    return kept;
}

void bp__intern_reset(void) {
    pthread_mutex_lock(&bp__intern_mutex);
    for (size_t i = 0; i < bucket_count; i++) {
        for (entry *each = buckets[i], *next; each; each = next) {
            next = each->next;
            bp__free(each);
        }
    }
    bp__free(buckets);
    buckets = NULL;
    bucket_count = 0;
    entry_count = 0;
    pthread_mutex_unlock(&bp__intern_mutex);
}
