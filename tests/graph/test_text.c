/* test_text.c - graphs as text: exact round trips, errors with their lines, and the hash. */
#include "backplane.h"

#include "base/sha256.h"
#include "graph/support_graph.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static bp_graph *parse(const char *text) {
    bp_graph *graph;
    const bp_status status = bp_graph_parse(&graph, strlen(text), text);
    if (status != BP_OK) {
        fail_msg("%s", bp_last_error());
    }
    return graph;
}

static void refuse(const char *text, bp_status wanted, const char *words) {
    bp_graph *graph = (bp_graph *)(uintptr_t)1;
    const bp_status status = bp_graph_parse(&graph, strlen(text), text);
    if (status != wanted || !strstr(bp_last_error(), words)) {
        fail_msg("%s: %s", bp_status_text(status), bp_last_error());
    }
    assert_null(graph);
}

static void hash_of(const char *text, unsigned char hash[32]) {
    bp_graph *graph = parse(text);
    assert_int_equal(bp_graph_hash(graph, hash), BP_OK);
    bp_graph_release(graph);
}

#define HEAD "graph 1\n"
#define X "input x f32 [2, 3]\n"

static void test_exact(void **state) {
    (void)state;
    static const char text[] = HEAD X "constant v2 f32 [2] = [0x1.8p+0, -0x0p+0]\n"
                                      "constant n f64 [1] = bytes 010000000000f87f\n"
                                      "constant h f16 [2, 1] = bytes 003c0040\n"
                                      "constant i i64 [2] = [-9223372036854775808, 9223372036854775807]\n"
                                      "constant e f32 [0, 3] = []\n"
                                      "v_7, -, v_8 = layer_norm(input=x, row_ndim=1, eps=0x1.4f8b588e368f1p-17)\n"
                                      "v_9 = slice(v_7, [1, 2, 2, -2])\n"
                                      "v_10 = permute(v_9, [1, 0])\n"
                                      "v_11 = reshape(v_10, [4, 1])\n"
                                      "v_12 = expand(v_11, [2, 4, 1])\n"
                                      "v_13 = einsum(v_11, v_11, expression=\"ab,cb->a\\\"c\")\n"
                                      "output y = v_12\noutput z = v_8\n";
    bp_graph *graph;
    char *written;
    assert_int_equal(bp_graph_parse(&graph, strlen(text), text), BP_E_ARGUMENT); /* the quote in the expression */
    char *good = strdup(text), *quote = strstr(good, "\\\"");
    memmove(quote, quote + 2, strlen(quote + 2) + 1);
    graph = parse(good);
    assert_int_equal(bp_graph_text(graph, &written), BP_OK);
    /* The usual value of eps is left out. */
    char *eps = strstr(good, ", eps=0x1.4f8b588e368f1p-17");
    memmove(eps, eps + strlen(", eps=0x1.4f8b588e368f1p-17"), strlen(eps + strlen(", eps=0x1.4f8b588e368f1p-17")) + 1);
    assert_string_equal(written, good);
    bp_graph_text_release(written);
    bp_graph_text_release(NULL);
    bp_graph_release(graph);
    free(good);
}

static void test_errors(void **state) {
    (void)state;
    refuse("", BP_E_FORMAT, "begins with");
    refuse("graph 2\n", BP_E_FORMAT, "begins with");
    refuse(HEAD, BP_E_FORMAT, "no output");
    refuse(HEAD "input x f33 [2]\n", BP_E_FORMAT, "line 2: an element type");
    refuse(HEAD "input x f32 [2\n", BP_E_FORMAT, "line 2");
    refuse(HEAD "input x f32 [-2]\n", BP_E_SHAPE, "line 2");
    refuse(HEAD "input x f32 [9223372036854775807, 2]\n", BP_E_OVERFLOW, "line 2");
    refuse(HEAD X "input x f32 [2]\n", BP_E_FORMAT, "line 3: the name \"x\" is used before");
    refuse(HEAD "constant c f32 [2] = [1, 2, 3]\n", BP_E_FORMAT, "\"]\" is missing");
    refuse(HEAD "constant c f32 [100000000] = [1]\n", BP_E_FORMAT, "too short");
    refuse(HEAD "constant c f16 [1] = [1]\n", BP_E_FORMAT, "as bytes");
    refuse(HEAD "constant c i32 [1] = [5000000000]\n", BP_E_FORMAT, "numbers");
    refuse(HEAD "constant c i64 [1] = [9223372036854775808]\n", BP_E_FORMAT, "numbers");
    refuse(HEAD "constant c i64 [1] = [-9223372036854775809]\n", BP_E_FORMAT, "numbers");
    refuse(HEAD X "y = reshape(x, [18446744073709551615])\n", BP_E_FORMAT, "whole numbers");
    refuse(HEAD "constant c u8 [2] = bytes 0\n", BP_E_FORMAT, "2 bytes");
    refuse(HEAD "y = unary(x)\n", BP_E_FORMAT, "no value \"x\"");
    refuse(HEAD X "y = unari(x)\n", BP_E_FORMAT, "no call \"unari\"");
    refuse(HEAD X "y = unary(x\n", BP_E_FORMAT, "\")\" is missing");
    refuse(HEAD X "y = unary(x) z\n", BP_E_FORMAT, "more behind");
    refuse(HEAD X "y = unary(x, kind=relu, kind)\n", BP_E_FORMAT, "no value \"kind\"");
    refuse(HEAD X "y = matmul(x, x)\n", BP_E_SHAPE, "line 3: node 0 (matmul)");
    refuse(HEAD X "y = reshape(x, [7])\n", BP_E_SHAPE, "line 3: reshape");
    refuse(HEAD X "y = slice(x, [0, 1, 2, 1])\n", BP_E_SHAPE, "no 2 elements");
    refuse(HEAD X "y = slice(x, [0, 1])\n", BP_E_ARGUMENT, "axis, first");
    refuse(HEAD X "y, z = reshape(x, [6])\n", BP_E_FORMAT, "one value");
    refuse(HEAD X "y = permute(x, [0, 5000000000])\n", BP_E_ARGUMENT, "permute");
    refuse(HEAD X "y = fft(x, axes=[0], axis_count=3)\n", BP_E_FORMAT, "axis_count is another number");
    refuse(HEAD X "y = fft(x, s=[2, 3], axis_count=-1)\n", BP_E_FORMAT, "axis_count is another number");
    refuse(HEAD X "y = fft(x, axis_count=2, axes=[0])\n", BP_E_FORMAT, "axes has another length");
    refuse(HEAD X "y = fft(x, axes=[0], axes=[1, 0])\n", BP_E_FORMAT, "axes is given twice");
    refuse(HEAD X "y = unary(x, kind=exp, kind=exp)\n", BP_E_FORMAT, "kind is given twice");
    refuse(HEAD X "y = unary(input=x, input=x)\n", BP_E_FORMAT, "input is given twice");
    refuse(HEAD X "output y = z\n", BP_E_FORMAT, "no value \"z\"");
    refuse(HEAD X "output y = x\noutput y = x\n", BP_E_ARGUMENT, "line 4");
}

/* A message has a part of a long name, and then the reason. */
static void test_long_name(void **state) {
    (void)state;
    char name[600], text[2048];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = 0;
    snprintf(text, sizeof text, HEAD "input %s f32 [2]\ninput %s f32 [2]\n", name, name);
    refuse(text, BP_E_FORMAT, "is used before");
    snprintf(text, sizeof text, HEAD X "y = unary(x, %s=1)\n", name);
    refuse(text, BP_E_FORMAT, "unary has no field");
}

/* A graph of many names is read in a time that grows with their number, not with its square. */
static void test_many_names(void **state) {
    (void)state;
    enum { MANY = 200000, LINE = 40 };
    char *text = malloc((size_t)MANY * 2 * LINE), *at = text;
    at += sprintf(at, HEAD);
    for (int i = 0; i < MANY; i++) {
        at += sprintf(at, "input i%d f32 [2]\noutput o%d = i%d\n", i, i, i);
    }
    const clock_t start = clock();
    bp_graph_release(parse(text));
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 20);
    free(text);
}

static void test_forms(void **state) {
    (void)state;
    unsigned char a[32], b[32];
    hash_of("# a comment\n\ngraph 1 \ninput input f32 [2, 3] # x\n\nconstant = unary(input, kind=exp)\n"
            "output output = constant\n",
            a);
    hash_of(HEAD X "y = unary(kind=exp, input=x)\noutput z = y", b);
    assert_memory_equal(a, b, 32);
}

/* Names, dead values and positions do not change the hash; everything else does. */
static void test_hash(void **state) {
    (void)state;
    static const char *const different[] = {
        HEAD X "constant c f32 [3] = [1, 2, 3]\ny = binary(x, c, kind=add)\noutput y = y\n",
        HEAD X "constant c f32 [3] = [1, 2, 4]\ny = binary(x, c, kind=add)\noutput y = y\n",
        HEAD X "constant c f32 [1, 3] = [1, 2, 3]\ny = binary(x, c, kind=add)\noutput y = y\n",
        HEAD X "constant c f32 [3] = [1, 2, 3]\ny = binary(x, c, kind=multiply)\noutput y = y\n",
        HEAD X "constant c f32 [3] = [1, 2, 3]\ny = binary(c, x, kind=add)\noutput y = y\n",
        HEAD X "constant c f32 [3] = [1, 2, 3]\ny = binary(x, c, kind=add)\noutput y = y\noutput z = y\n",
        HEAD "input x f32 [4, 3]\nconstant c f32 [3] = [1, 2, 3]\ny = binary(x, c, kind=add)\noutput y = y\n",
        HEAD X "input z f32 []\nconstant c f32 [3] = [1, 2, 3]\ny = binary(x, c, kind=add)\noutput y = y\n",
        HEAD X "y = layer_norm(x, row_ndim=1)\noutput y = y\n",
        HEAD X "y = layer_norm(x, row_ndim=1, eps=1)\noutput y = y\n",
        HEAD X "-, y = layer_norm(x, row_ndim=1)\noutput y = y\n",
        HEAD X "y = reshape(x, [6])\noutput y = y\n",
        HEAD X "y = reshape(x, [6, 1])\noutput y = y\n",
        HEAD X "y = permute(x, [0, 1])\noutput y = y\n",
    };
    enum { COUNT = sizeof different / sizeof *different };
    unsigned char hash[COUNT][32], same[32];
    for (int i = 0; i < COUNT; i++) {
        hash_of(different[i], hash[i]);
        for (int k = 0; k < i; k++) {
            assert_memory_not_equal(hash[i], hash[k], 32);
        }
    }
    hash_of(HEAD X "dead = unary(x, kind=exp)\nconstant unused f32 [] = [7]\nconstant k f32 [3] = [1, 2, 3]\n"
                   "sum = binary(a=x, b=k, kind=add)\noutput other = sum\n",
            same);
    assert_memory_equal(hash[0], same, 32);
    hash_of(HEAD X "y, -, s = layer_norm(x, row_ndim=1)\noutput y = y\n", hash[0]); /* nothing needs s */
    hash_of(HEAD X "y = layer_norm(x, row_ndim=1)\noutput y = y\n", same);
    assert_memory_equal(hash[0], same, 32);
}

static void test_sha256(void **state) {
    (void)state;
    static const unsigned char abc[32] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40,
                                          0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17,
                                          0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};
    static const unsigned char million[32] = {0xcd, 0xc7, 0x6e, 0x5c, 0x99, 0x14, 0xfb, 0x92, 0x81, 0xa1, 0xc7,
                                              0xe2, 0x84, 0xd7, 0x3e, 0x67, 0xf1, 0x80, 0x9a, 0x48, 0xa4, 0x97,
                                              0x20, 0x0e, 0x04, 0x6d, 0x39, 0xcc, 0xc7, 0x11, 0x2c, 0xd0};
    bp__sha256 hash;
    unsigned char digest[32];
    bp__sha256_begin(&hash);
    bp__sha256_add(&hash, "abc", 3);
    bp__sha256_end(&hash, digest);
    assert_memory_equal(digest, abc, 32);
    bp__sha256_begin(&hash);
    char letters[1000];
    memset(letters, 'a', sizeof letters);
    for (size_t left = 1000000, many = 1; left > 0; left -= many, many = many % 997 + 1) {
        many = many < left ? many : left;
        bp__sha256_add(&hash, letters, many);
    }
    bp__sha256_end(&hash, digest);
    assert_memory_equal(digest, million, 32);
}

/* A graph that is read from its own text has the same text and hash. Counts the calls of the table that are nodes. */
static void test_random(void **state) {
    (void)state;
    int accepted[256] = {0}, kinds = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        random_source random = {seed};
        bp_graph *graph = random_graph(&random, 12, accepted), *again;
        char *text, *second;
        unsigned char hash[2][32];
        assert_int_equal(bp_graph_text(graph, &text), BP_OK);
        if (bp_graph_parse(&again, strlen(text), text) != BP_OK) {
            fail_msg("seed %d: %s\n%s", (int)seed, bp_last_error(), text);
        }
        assert_int_equal(bp_graph_text(again, &second), BP_OK);
        assert_string_equal(text, second);
        assert_int_equal(bp_graph_hash(graph, hash[0]), BP_OK);
        assert_int_equal(bp_graph_hash(again, hash[1]), BP_OK);
        assert_memory_equal(hash[0], hash[1], 32);
        bp_graph_text_release(text);
        bp_graph_text_release(second);
        bp_graph_release(graph);
        bp_graph_release(again);
    }
    for (int i = 0; bp_call_at(i); i++) {
        kinds += accepted[i] > 0;
        if (accepted[i] == 0) {
            print_message("%s is no node of a random graph\n", bp_call_get_info(bp_call_at(i))->name);
        }
    }
    assert_in_range(kinds, 45, 256);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),     cmocka_unit_test(test_errors),     cmocka_unit_test(test_forms),
        cmocka_unit_test(test_long_name), cmocka_unit_test(test_many_names), cmocka_unit_test(test_hash),
        cmocka_unit_test(test_sha256),    cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
