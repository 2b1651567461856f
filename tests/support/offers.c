/* offers.c - implements offers.h. */
#include "support/offers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__)
#define EXACT 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EXACT 1
#endif
#endif
#ifndef EXACT
#define EXACT 0
#endif

enum { ALIGNMENT = 64, GUARD = EXACT ? 0 : 4096, GUARD_BYTE = 0x5a, GONE = 0xa5, MOST_OPERANDS = 9 };

static void *block_of(size_t size) {
    void *block = NULL;
    assert_int_equal(posix_memalign(&block, ALIGNMENT, size > 0 ? size : 1), 0);
    return block;
}

static void *copy_of(const void *bytes, size_t size) {
    void *block = block_of(size);
    memcpy(block, bytes, size);
    return block;
}

static void check_offer(const test_offers *offers, const bp_verdict *verdict, const void *found, size_t size) {
    assert_int_equal(verdict->struct_size, sizeof *verdict);
    assert_non_null(verdict->algorithm);
    assert_non_null(memchr(verdict->text, 0, sizeof verdict->text));
    assert_true(found || size == 0);
    if (verdict->reason != BP_REASON_ACCEPTED) {
        assert_true(verdict->text[0] != 0 || verdict->reason == BP_REASON_OP);
        return;
    }
    assert_true(verdict->algorithm[0] != 0 && isfinite(verdict->cost_ns) && verdict->cost_ns >= 0);
    for (int i = 0; i < offers->count; i++) {
        const bp_verdict *other = &offers->of[i].verdict;
        if (other->reason == BP_REASON_ACCEPTED && strcmp(other->algorithm, verdict->algorithm) == 0) {
            fail_msg("'%s' is offered twice", verdict->algorithm);
        }
    }
}

static void add(bp_offers *self, const bp_verdict *verdict, const void *found, size_t size) {
    test_offers *offers = (test_offers *)self;
    check_offer(offers, verdict, found, size);
    assert_true(offers->count < TEST_MOST_OFFERS);
    offers->of[offers->count++] = (test_offer){*verdict, size > 0 ? copy_of(found, size) : NULL, size};
}

void test_offers_ask(test_offers *offers, const bp_provider *provider, void *instance, const bp_problem *problem) {
    *offers = (test_offers){.base = {add}, .provider = provider, .instance = instance};
    provider->accept(instance, problem, &offers->base);
    if (offers->count == 0) {
        offers->of[offers->count++].verdict =
            (bp_verdict){.struct_size = sizeof(bp_verdict), .reason = BP_REASON_OP, .algorithm = ""};
    }
}

void test_offers_free(test_offers *offers) {
    for (int i = 0; i < offers->count; i++) {
        free(offers->of[i].found);
    }
    offers->count = 0;
}

int test_offers_next(const test_offers *offers, int index) {
    for (int i = index + 1; i < offers->count; i++) {
        if (offers->of[i].verdict.reason == BP_REASON_ACCEPTED) {
            return i;
        }
    }
    return -1;
}

int test_offers_find(const test_offers *offers, const char *algorithm) {
    int i = test_offers_next(offers, -1);
    while (i >= 0 && strncmp(offers->of[i].verdict.algorithm, algorithm, strlen(algorithm)) != 0) {
        i = test_offers_next(offers, i);
    }
    return i;
}

const bp_verdict *test_offers_verdict(const test_offers *offers) {
    int first = test_offers_next(offers, -1);
    return &offers->of[first < 0 ? 0 : first].verdict;
}

static void discard(void *block, size_t size) {
    if (block) {
        memset(block, GONE, size);
        free(block);
    }
}

bp_status test_offers_plan(const test_offers *offers, int index, const bp_problem *problem, bp_prepared **prepared) {
    const test_offer *offer = &offers->of[index];
    assert_true(index >= 0 && index < offers->count && offer->verdict.reason == BP_REASON_ACCEPTED);
    void *found = offer->size > 0 ? copy_of(offer->found, offer->size) : NULL;
    bp_problem *asked = copy_of(problem, sizeof *problem);
    bp_verdict *verdict = copy_of(&offer->verdict, sizeof offer->verdict);
    bp_status status = offers->provider->plan(offers->instance, asked, verdict, found, prepared);
    discard(found, offer->size);
    discard(asked, sizeof *asked);
    discard(verdict, sizeof *verdict);
    return status;
}

bp_verdict test_verdict(const bp_provider *provider, void *instance, const bp_problem *problem) {
    test_offers offers;
    test_offers_ask(&offers, provider, instance, problem);
    bp_verdict verdict = *test_offers_verdict(&offers);
    test_offers_free(&offers);
    return verdict;
}

bp_status test_plan_first(const bp_provider *provider, void *instance, const bp_problem *problem,
                          bp_prepared **prepared) {
    test_offers offers;
    test_offers_ask(&offers, provider, instance, problem);
    int first = test_offers_next(&offers, -1);
    if (first < 0) {
        fail_msg("refused: %s", offers.of[0].verdict.text);
    }
    bp_status status = test_offers_plan(&offers, first, problem, prepared);
    test_offers_free(&offers);
    return status;
}

_Thread_local bp_operand test_workspace;
_Thread_local size_t test_workspace_size;

/* Makes a complete bp_exec with its own workspace. */
static bp_exec make_exec(const bp_prepared *prepared, const bp_scalar *scalars, const bp_packed *const *packed) {
    static const bp_scalar plain[2] = {{1, 0}, {0, 0}};
    bp_exec exec = {.struct_size = sizeof exec,
                    .workspace_size = prepared->workspace,
                    .scalars = scalars ? scalars : plain,
                    .packed = packed};
    void *block = NULL;
    if (prepared->workspace > 0 && posix_memalign(&block, ALIGNMENT, prepared->workspace + GUARD) != 0) {
        fprintf(stderr, "no %zu bytes for a workspace\n", prepared->workspace);
        abort();
    }
    if (block) {
        memset(block, 0xff, prepared->workspace);
        memset((char *)block + prepared->workspace, GUARD_BYTE, GUARD);
    }
    exec.workspace.base = block;
    return exec;
}

static bool is_guard_whole(const bp_exec *exec) {
    const unsigned char *guard = (const unsigned char *)exec->workspace.base + exec->workspace_size;
    const size_t bytes = exec->workspace.base ? GUARD : 0;
    for (size_t i = 0; i < bytes; i++) {
        if (guard[i] != GUARD_BYTE) {
            fprintf(stderr, "a plan wrote %zu bytes past the end of its workspace of %zu\n", i, exec->workspace_size);
            return false;
        }
    }
    return true;
}

bp_status test_enqueue_packed(const bp_prepared *prepared, void *const *addresses, int count, const bp_scalar *scalars,
                              const bp_packed *const *packed) {
    bp_operand operands[MOST_OPERANDS] = {{0}};
    bp_exec exec = make_exec(prepared, scalars, packed);
    for (int i = 0; i < count && i < MOST_OPERANDS; i++) {
        operands[i].base = addresses[i];
    }
    test_workspace = exec.workspace;
    test_workspace_size = exec.workspace_size;
    bp_status status = prepared->enqueue(prepared, operands, &exec);
    bool whole = is_guard_whole(&exec);
    free(exec.workspace.base);
    return whole ? status : BP_E_BROKEN;
}

bp_status test_enqueue(const bp_prepared *prepared, void *const *addresses, int count, const bp_scalar *scalars) {
    return test_enqueue_packed(prepared, addresses, count, scalars, NULL);
}
