/* einsum.c - the public functions that return paths, from the cache or by a search. */
#include "einsum/internal.h"

#include <string.h>

#define MOST_KEPT 1000  /* operands; longer paths are not cached, so that the cache stays small */
#define NEAR_BYTES 1024 /* bytes; keys up to this size are on the stack */

static atomic_int alive; /* number of references that callers hold */

int bp__einsum_paths_alive(void) {
    return atomic_load(&alive);
}

void bp_contraction_path_release(bp_contraction_path *path) {
    if (path) {
        bp__path_drop(path);
        atomic_fetch_sub(&alive, 1);
    }
}

/* ---- Keys ---- */

typedef struct key {
    unsigned char *bytes;
    size_t size;
    unsigned char near[NEAR_BYTES];
} key;

/* The arguments of a call, in either form. */
typedef struct request {
    const char *expression; /* NULL: the sublist form */
    int count;
    const bp_einsum_operand *operands;
    int output_count;
    const int *output;
} request;

static void add_bytes(key *k, const void *bytes, size_t size) {
    if (k->bytes && size > 0) {
        memcpy(k->bytes + k->size, bytes, size);
    }
    k->size += size;
}

static void put_int(key *k, int64_t value) {
    add_bytes(k, &value, sizeof value);
}

static void put_search(key *k, const bp_einsum_search *s) {
    const int64_t numbers[] = {(int64_t)s->strategy, (int64_t)s->objective, s->memory_limit, s->trials,
                               (int64_t)s->seed,     (int64_t)s->dtype,     s->work};
    add_bytes(k, numbers, sizeof numbers);
    add_bytes(k, &s->factor, sizeof s->factor);
    add_bytes(k, &s->seconds, sizeof s->seconds);
}

static void put_question(key *k, const request *q) {
    put_int(k, q->expression != NULL);
    put_int(k, q->count);
    for (int i = 0; i < q->count; i++) {
        const bp_einsum_operand *o = &q->operands[i];
        put_int(k, o->ndim);
        add_bytes(k, o->shape, (size_t)o->ndim * sizeof *o->shape);
        if (!q->expression) {
            put_int(k, o->label_count);
            add_bytes(k, o->labels, (size_t)o->label_count * sizeof *o->labels);
        }
    }
    if (q->expression) {
        add_bytes(k, q->expression, strlen(q->expression));
    } else {
        put_int(k, q->output_count);
        add_bytes(k, q->output, q->output_count > 0 ? (size_t)q->output_count * sizeof *q->output : 0);
    }
}

/* Returns whether the arguments are valid enough to read them for a key. */
static bool is_readable(const request *q) {
    bool fine = q->count >= 1 && q->count <= MOST_KEPT && q->operands && (q->output_count <= 0 || q->output);
    for (int i = 0; fine && i < q->count; i++) {
        const bp_einsum_operand *o = &q->operands[i];
        fine = o->ndim >= 0 && (o->ndim == 0 || o->shape) &&
               (q->expression || (o->label_count >= 0 && (o->label_count == 0 || o->labels)));
    }
    return fine;
}

/* Counts the bytes, then writes them. bytes is NULL afterwards if the path must not be cached. */
static void make_key(key *k, const bp_einsum_search *search, const request *q) {
    k->bytes = NULL;
    k->size = 0;
    if (search->strategy == BP_PATH_GIVEN || !is_readable(q)) {
        return;
    }
    put_search(k, search);
    put_question(k, q);
    k->bytes = k->size <= sizeof k->near ? k->near : bp__alloc(k->size);
    if (k->bytes) {
        k->size = 0;
        put_search(k, search);
        put_question(k, q);
    }
}

/* ---- Public functions ---- */

static bp_status parse(bp__einsum *einsum, const request *q) {
    return q->expression ? bp__einsum_parse(einsum, q->expression, q->count, q->operands)
                         : bp__einsum_sublists(einsum, q->count, q->operands, q->output_count, q->output);
}

static bp_status make(bp_contraction_path **path, const bp_einsum_search *search, const request *q) {
    bp__einsum einsum;
    BP__TRY(parse(&einsum, q));
    return bp__path_make(path, &einsum, search);
}

static bp_status answer(bp_contraction_path **path, const bp_einsum_search *given, const request *q) {
    bp_einsum_search search;
    key k;
    if (!path) {
        return bp__fail(BP_E_ARGUMENT, "einsum: path must not be NULL");
    }
    *path = NULL;
    BP__TRY(bp__search_resolve(&search, given));
    make_key(&k, &search, q);
    bp_status status = BP_OK;
    *path = k.bytes ? bp__path_cache_find(k.bytes, k.size) : NULL;
    if (!*path) {
        status = make(path, &search, q);
        if (status == BP_OK && k.bytes) {
            bp__path_cache_keep(k.bytes, k.size, *path);
        }
    }
    if (k.bytes != k.near) {
        bp__free(k.bytes);
    }
    if (status == BP_OK) {
        atomic_fetch_add(&alive, 1);
    }
    return status;
}

bp_status bp_einsum_path(bp_contraction_path **path, const bp_einsum_search *search, const char *expression, int count,
                         const bp_einsum_operand *operands) {
    if (!expression) {
        return bp__fail(BP_E_ARGUMENT, "einsum: expression is NULL; it must be text such as \"ij,jk->ik\"");
    }
    return answer(path, search, &(request){.expression = expression, .count = count, .operands = operands});
}

bp_status bp_einsum_path_sublists(bp_contraction_path **path, const bp_einsum_search *search, int count,
                                  const bp_einsum_operand *operands, int output_count, const int *output) {
    return answer(path, search,
                  &(request){.count = count, .operands = operands, .output_count = output_count, .output = output});
}
