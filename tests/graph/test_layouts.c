/* test_layouts.c - parts that are written into the result that joins them, and images whose channels are last: equal
 * bytes as with a copy, as node by node, and the values of other layouts. */
#include "backplane.h"

#include "base/base.h"
#include "dispatch/internal.h"
#include "graph/plan.h"
#include "graph/support_graph.h"
#include "support/conditions.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bp_graph *parse(const char *text) {
    bp_graph *graph;
    if (bp_graph_parse(&graph, strlen(text), text) != BP_OK) {
        fail_msg("%s\n%s", bp_last_error(), text);
    }
    return graph;
}

/* Returns how many nodes have their operands in their result. */
static int count_joined(const bp_graph *graph, const char *settings, const tensors *in, const tensors *out) {
    bp_options *options;
    bp_plan *plan;
    int count = 0;
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    assert_int_equal(
        bp_graph_plan(&plan, options, graph, (const DLTensor *const *)in->list, (const DLTensor *const *)out->list),
        BP_OK);
    const bp__lowered *l = &((const bp__graph_plan *)bp__program_of(plan)->owner)->lowered;
    for (int i = 0; i < graph->node_count; i++) {
        count += bp__layouts_is_joined(l, &graph->nodes[i]);
    }
    bp_plan_release(plan);
    bp_options_release(options);
    return count;
}

/* Runs a graph under settings on tensors that a seed gives. */
static void run_seeded(const char *text, const char *settings, uint64_t seed, bool strided, tensors *out, int *joined) {
    random_source random = {seed};
    bp_graph *graph = parse(text);
    tensors in;
    make_tensors(&in, graph, false, strided, &random);
    make_tensors(out, graph, true, strided, &random);
    fill_tensors(&in, &random);
    if (run_graph(graph, settings, &in, out) != BP_OK) {
        fail_msg("%s\n%s", bp_last_error(), text);
    }
    *joined = count_joined(graph, settings, &in, out);
    free_tensors(&in);
    bp_graph_release(graph);
}

/* ---- Joined results ---- */

#define HEAD "graph 1\ninput x f32 [3, 40]\ninput z f32 [3, 40]\n"

/* The same nodes, where `%s` names the operands of concat: as they are, or as views, which are copied. */
static const struct joined_case {
    const char *nodes;
    int joined;
} cases[] = {
    {"a = unary(x, kind=exp)\nb = unary(z, kind=tanh)\n@j = concat($a, $b, axis=0)\ny = unary(j, kind=abs)\noutput y = "
     "y\n",
     1},
    {"a = unary(x, kind=exp)\nb = unary(z, kind=tanh)\n@j = concat($a, $b, axis=-1)\noutput y = j\n", 1},
    {"a = unary(x, kind=exp)\n@j = concat($a, axis=1)\ny = unary(j, kind=abs)\noutput y = y\n", 1},
    {"a = unary(x, kind=exp)\nb = unary(a, kind=tanh)\nc = binary(a, b, kind=add)\n@j = concat($c, $a, $b, axis=1)\n"
     "d = binary(a, c, kind=multiply)\ny = unary(j, kind=abs)\noutput y = y\noutput d = d\n",
     1},
    {"a = unary(x, kind=exp)\nb = unary(z, kind=tanh)\nc = unary(x, kind=abs)\n@j = concat($a, $b, axis=1)\n"
     "@k = concat($c, $j, axis=1)\ny = unary(k, kind=exp)\nv = unary(j, kind=abs)\noutput y = y\noutput v = v\n",
     2},
    {"a = unary(x, kind=exp)\nb = unary(z, kind=tanh)\n@j = concat($a, $b, axis=1)\nc = unary(j, kind=abs)\n"
     "@k = concat($j, $c, axis=0)\nm = permute(k, [1, 0])\noutput y = k\noutput m = m\n",
     2},
    {"a = matmul(x, z_)\nb = matmul(z, z_)\n@j = concat($a, $b, axis=1)\ny = reduce(j, kind=sum, axes=[0])\noutput y = "
     "y\n",
     1},
    {"a = unary(x, kind=exp)\nb = unary(x, kind=exp)\nc = unary(z, kind=abs)\n@j = concat($a, $c, axis=0)\ny = "
     "unary(j, kind=abs)\nd = unary(b, kind=tanh)\noutput y = y\noutput d = d\n",
     0},
    /* Nothing reads the result's elements, and a part is computed with other functions. */
    {"b = matmul(z, z_)\na = unary(x, kind=exp)\nd = unary(a, kind=tanh)\n@j = concat($a, $b, axis=0)\ns = slice(j, "
     "[0, 0, 0, 1])\ne = unary(s, kind=abs)\noutput d = d\noutput e = e\n",
     1},
    /* The operands stay apart: outputs, the same value twice, equal values, inputs, constants, parts of another one. */
    {"a = unary(x, kind=exp)\nb = unary(z, kind=tanh)\n@j = concat($a, $b, axis=0)\noutput y = j\noutput b = b\n", 0},
    {"a = unary(x, kind=exp)\n@j = concat($a, $a, axis=0)\noutput y = j\n", 0},
    {"a = unary(x, kind=exp)\nb = unary(x, kind=exp)\n@j = concat($a, $b, axis=0)\ny = unary(j, kind=abs)\noutput y = "
     "y\n",
     0},
    {"a = unary(x, kind=exp)\n@j = concat($a, z, axis=0)\noutput y = j\n", 0},
    {"constant k f32 [3, 1] = [1, 2, 3]\na = unary(k, kind=exp)\nb = unary(x, kind=abs)\n@j = concat($a, $b, "
     "axis=1)\noutput y = j\n",
     0},
    {"a = unary(x, kind=exp)\nb = unary(z, kind=tanh)\n@j = concat($a, $b, axis=0)\n@k = concat($b, $a, axis=0)\n"
     "y = binary(j, k, kind=add)\noutput y = y\n",
     1},
    {"a = unary(x, kind=exp)\ns = slice(a, [1, 0, 0, 1])\nb = unary(s, kind=abs)\n@j = concat($a, $b, axis=1)\noutput "
     "y "
     "= j\n",
     0},
};

/* Writes the nodes. "@" marks a line with concat, and "$" its operands, which become views if `views`. */
static void write_text(const struct joined_case *c, bool views, char *text) {
    int made = 0, used = 0;
    text += sprintf(text, "%s", strstr(c->nodes, "z_") ? HEAD "input z_ f32 [40, 40]\n" : HEAD);
    for (const char *at = c->nodes; *at; at++) {
        if (*at == '@') {
            for (const char *mark = strchr(at, '$'); views && mark && mark < strchr(at, '\n');
                 mark = strchr(mark + 1, '$')) {
                text += sprintf(text, "w%d%c = permute(%c, [0, 1])\n", made++, mark[1], mark[1]);
            }
        } else if (*at == '$') {
            text += views ? sprintf(text, "w%d", used++) : 0;
        } else {
            *text++ = *at;
        }
    }
    *text = '\0';
}

static void compare(const tensors *want, const tensors *got, const char *text, const char *settings) {
    assert_int_equal(want->count, got->count);
    for (int i = 0; i < want->count; i++) {
        if (memcmp(want->block[i], got->block[i], (size_t)want->size[i]) != 0) {
            fail_msg("output %d differs with \"%s\"\n%s", i, settings, text);
        }
    }
}

/* Runs a plan in a workspace of the size that it says; bytes behind it stay as they are. */
static void check_workspace(const char *text, const char *settings, uint64_t seed) {
    enum { BEHIND = 4096, MOST = 8 };
    random_source random = {seed};
    bp_graph *graph = parse(text);
    bp_options *options;
    bp_plan *plan;
    bp_plan_info info = {.struct_size = sizeof info};
    bp_operand operands[MOST];
    tensors in, out;
    make_tensors(&in, graph, false, false, &random);
    make_tensors(&out, graph, true, false, &random);
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    assert_int_equal(
        bp_graph_plan(&plan, options, graph, (const DLTensor *const *)in.list, (const DLTensor *const *)out.list),
        BP_OK);
    assert_int_equal(bp_plan_describe(plan, &info), BP_OK);
    assert_in_range(in.count + out.count, 1, MOST);
    for (int i = 0; i < in.count + out.count; i++) {
        const DLTensor *t = i < in.count ? in.list[i] : out.list[i - in.count];
        operands[i] = (bp_operand){t->data, t->byte_offset};
    }
    unsigned char *space = bp__alloc_aligned(info.workspace + BEHIND);
    memset(space, 0xff, info.workspace + BEHIND);
    const bp_exec exec = {.struct_size = sizeof exec, .workspace = {space, 0}, .workspace_size = info.workspace};
    assert_int_equal(bp_execute(plan, operands, info.workspace ? &exec : NULL), BP_OK);
    for (int i = 0; i < BEHIND; i++) {
        if (space[info.workspace + (size_t)i] != 0xff) {
            fail_msg("a byte behind the workspace was written\n%s", text);
        }
    }
    bp__free_aligned(space);
    bp_plan_release(plan);
    bp_options_release(options);
    free_tensors(&in);
    free_tensors(&out);
    bp_graph_release(graph);
}

static void check_case(const struct joined_case *c, const char *settings, uint64_t seed) {
    char joined[2048], apart[2048];
    tensors want, got;
    int count;
    write_text(c, false, joined);
    write_text(c, true, apart);
    run_seeded(apart, settings, seed, seed % 2, &want, &count);
    assert_int_equal(count, 0);
    run_seeded(apart, settings, seed + 100, seed % 2, &got, &count); /* leaves other values in the workspace */
    free_tensors(&got);
    run_seeded(joined, settings, seed, seed % 2, &got, &count);
    if (count != c->joined) {
        fail_msg("%d nodes are joined, not %d\n%s", count, c->joined, joined);
    }
    compare(&want, &got, joined, settings);
    check_workspace(joined, settings, seed);
    free_tensors(&want);
    free_tensors(&got);
}

static void test_joined(void **state) {
    (void)state;
    static const char *const settings[] = {"num_threads=1", "num_threads=2", "graph.backend=eager",
                                           "graph.block_bytes=64, num_threads=1",
                                           "graph.block_bytes=600, num_threads=2"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (uint64_t seed = 1; seed <= 4; seed++) {
            for (size_t k = 0; k < sizeof settings / sizeof *settings; k++) {
                check_case(&cases[i], settings[k], seed);
            }
        }
    }
}

/* A joined result has no call that would check its operands in a run: they are checked when the node is added. */
static void test_types(void **state) {
    (void)state;
    static const char text[] = HEAD "b = unary(z, kind=copy, dtype=f64)\nj = concat(x, b, axis=0)\noutput y = j\n";
    bp_graph *graph;
    assert_int_equal(bp_graph_parse(&graph, strlen(text), text), BP_E_DTYPE);
    assert_non_null(strstr(bp_last_error(), "tensors[1] is f64; it must be f32, as tensors[0] is"));
}

/* ---- Images ---- */

typedef struct network {
    random_source *random;
    char *at;
    int value, n, c, h, w; /* the last value and its shape */
    int old, old_c;        /* one before it with the same height and width */
} network;

static void add_conv(network *n) {
    const int k = random_below(n->random, 2) ? 3 : 1, to = 1 + (int)random_below(n->random, 9);
    const int stride = n->h > 4 && random_below(n->random, 4) == 0 ? 2 : 1;
    static const char *const activations[] = {"", ", activation=relu", ", activation=sigmoid"};
    n->at += sprintf(n->at, "input w%d f32 [%d, %d, %d, %d]\n", n->value, to, n->c, k, k);
    n->at += sprintf(n->at, "v%d = conv(v%d, w%d, ndim=2, stride=[%d, %d], padding=[%d, %d]%s)\n", n->value + 1,
                     n->value, n->value, stride, stride, k / 2, k / 2, activations[random_below(n->random, 3)]);
    if (stride == 1) {
        n->old = n->value;
        n->old_c = n->c;
    } else {
        n->old = -1;
        n->h = (n->h - 1) / 2 + 1;
        n->w = (n->w - 1) / 2 + 1;
    }
    n->c = to;
}

static void add_norm(network *n) {
    n->at += sprintf(n->at, "input m%d f32 [%d]\ninput s%d f32 [%d]\nt%d = unary(s%d, kind=abs)\n", n->value, n->c,
                     n->value, n->c, n->value, n->value);
    n->at +=
        sprintf(n->at, "v%d = batch_norm(v%d, -, -, m%d, t%d, eps=1)\n", n->value + 1, n->value, n->value, n->value);
}

static void add_function(network *n) {
    static const char *const kinds[] = {"relu", "tanh", "abs", "sigmoid"};
    const char *kind = kinds[random_below(n->random, 4)];
    n->at += sprintf(n->at, "u%d = unary(v%d, kind=%s)\nv%d = binary(u%d, v%d, kind=multiply)\n", n->value, n->value,
                     kind, n->value + 1, n->value, n->value);
}

static void add_join(network *n) {
    if (n->old < 0 || random_below(n->random, 2)) {
        n->at += sprintf(n->at, "u%d = unary(v%d, kind=tanh)\nv%d = concat(v%d, u%d, axis=1)\n", n->value, n->value,
                         n->value + 1, n->value, n->value);
        n->c *= 2;
    } else {
        n->at += sprintf(n->at, "v%d = concat(v%d, v%d, axis=1)\n", n->value + 1, n->old, n->value);
        n->c += n->old_c;
    }
}

static void add_other(network *n) {
    switch (random_below(n->random, 5)) {
    case 0:
        n->at += sprintf(n->at, "v%d = pool(v%d, ndim=2, kernel=[3, 3], stride=[1, 1], padding=[1, 1])\n", n->value + 1,
                         n->value);
        break;
    case 1:
        n->at += sprintf(n->at, "v%d = pad(v%d, ndim=4, before=[0, 0, 0, 1], after=[0, 0, 1, 0], value=0.5)\n",
                         n->value + 1, n->value);
        n->h++;
        n->w++;
        n->old = -1;
        break;
    case 2: /* an input is row-major */
        n->at += sprintf(n->at, "input q%d f32 [%d, %d, %d, %d]\nu%d = unary(q%d, kind=tanh)\n", n->value, n->n, n->c,
                         n->h, n->w, n->value, n->value);
        n->at += sprintf(n->at, "t%d = binary(u%d, v%d, kind=add)\nv%d = unary(t%d, kind=abs)\n", n->value, n->value,
                         n->value, n->value + 1, n->value);
        break;
    case 3:
        n->at += sprintf(n->at, "input b%d f32 [%d, 1, 1]\nv%d = binary(v%d, b%d, kind=add)\n", n->value, n->c,
                         n->value + 1, n->value, n->value);
        break;
    default:
        n->at += sprintf(n->at, "u%d = slice(v%d, [1, 0, 1, 1])\nv%d = binary(v%d, u%d, kind=subtract)\n", n->value,
                         n->value, n->value + 1, n->value, n->value);
    }
}

/* Other shapes of an image, which are images again: channels of groups are exchanged, as in ShuffleNet; channels become
 * rows and columns, and the reverse; the rows follow each other in one; elements change places that no strides
 * describe. */
static void add_shape(network *n) {
    const int kind = (int)random_below(n->random, 5), in = n->value, out = n->value + 1;
    if (kind == 0 && n->c % 2 == 0) {
        n->at += sprintf(n->at, "r%d = reshape(v%d, [%d, 2, %d, %d, %d])\np%d = permute(r%d, [0, 2, 1, 3, 4])\n", in,
                         in, n->n, n->c / 2, n->h, n->w, in, in);
    } else if (kind == 1 && n->c % 4 == 0) {
        n->at += sprintf(n->at, "r%d = reshape(v%d, [%d, %d, 2, 2, %d, %d])\np%d = permute(r%d, [0, 1, 4, 2, 5, 3])\n",
                         in, in, n->n, n->c / 4, n->h, n->w, in, in);
        n->c /= 4;
        n->h *= 2;
        n->w *= 2;
    } else if (kind == 2 && n->h % 2 == 0) {
        n->at += sprintf(n->at, "r%d = reshape(v%d, [%d, %d, %d, 2, %d])\np%d = permute(r%d, [0, 3, 1, 2, 4])\n", in,
                         in, n->n, n->c, n->h / 2, n->w, in, in);
        n->c *= 2;
        n->h /= 2;
    } else if (kind == 3 && n->c * n->h * n->w % 2 == 0) {
        n->at += sprintf(n->at, "r%d = reshape(v%d, [%d, %d, 2])\np%d = permute(r%d, [0, 2, 1])\n", in, in, n->n,
                         n->c * n->h * n->w / 2, in, in);
    } else {
        n->at += sprintf(n->at, "p%d = reshape(v%d, [%d, %d, 1, %d])\n", in, in, n->n, n->c, n->h * n->w);
        n->w *= n->h;
        n->h = 1;
    }
    n->at += sprintf(n->at, "v%d = reshape(p%d, [%d, %d, %d, %d])\n", out, in, n->n, n->c, n->h, n->w);
    n->old = -1;
}

static void write_network(char *text, random_source *random) {
    network n = {.random = random, .at = text, .n = 1 + (int)random_below(random, 2), .old = -1};
    n.c = 1 + (int)random_below(random, 5);
    n.h = 3 + (int)random_below(random, 8);
    n.w = 3 + (int)random_below(random, 8);
    n.at += sprintf(n.at, "graph 1\ninput v0 f32 [%d, %d, %d, %d]\n", n.n, n.c, n.h, n.w);
    for (int i = 0; i < 7; i++, n.value++) {
        void (*const kinds[])(network *) = {add_conv, add_conv, add_norm, add_function, add_join, add_other, add_shape};
        const int kind = i == 0 ? 0 : (int)random_below(random, 7);
        kinds[kind](&n);
        n.old = kind >= 2 && n.old < 0 ? -1 : n.old;
    }
    n.at += sprintf(n.at, "output y = v%d\n", n.value);
    if (random_below(random, 2)) { /* also in another shape, which is a copy if the channels are last */
        sprintf(n.at, "f = reshape(v%d, [-1])\ng = unary(f, kind=abs)\noutput z = g\n", n.value);
    }
}

static void fill_plain(const tensors *in, random_source *random) {
    for (int i = 0; i < in->count; i++) {
        float *x = (float *)(void *)in->block[i];
        for (int64_t k = 0; k < in->size[i] / (int64_t)sizeof *x; k++) {
            x[k] = (float)random_below(random, 2001) / 1000 - 1;
        }
    }
}

/* Whether the element is one that run_graph() wrote before the run. */
static bool is_poison(const float *x) {
    static const uint32_t poison = 0x5a5a5a5a;
    return memcmp(x, &poison, sizeof poison) == 0;
}

/* The largest difference by the largest number, of the elements that a run wrote. */
static double distance(const tensors *a, const tensors *b, int i) {
    const float *x = (const float *)(const void *)a->block[i], *y = (const float *)(const void *)b->block[i];
    double largest = 1e-30, gap = 0;
    for (int64_t k = 0; k < a->size[i] / (int64_t)sizeof *x; k++) {
        if (!is_poison(x + k) || !is_poison(y + k)) {
            largest = fmax(largest, fabs(x[k]));
            gap = fmax(gap, fabs((double)x[k] - y[k]));
        }
    }
    return gap / largest;
}

/* Runs a network in one layout node by node, and then planned, with equal bytes. */
static void check_layout(const bp_graph *graph, const char *text, const char *layout, const tensors *in,
                         const tensors *want, const tensors *got, int *joined) {
    static const char *const ways[] = {"num_threads=1", "num_threads=2", "graph.block_bytes=300, num_threads=1"};
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        char eager[160], planned[128]; /* another number of threads may choose another library */
        sprintf(planned, "%s, graph.layout=%s", ways[k], layout);
        sprintf(eager, "%s, graph.backend=eager", planned);
        assert_int_equal(run_graph(graph, eager, in, want), BP_OK);
        assert_int_equal(run_graph(graph, planned, in, got), BP_OK);
        compare(want, got, text, planned);
        *joined += count_joined(graph, planned, in, got);
    }
}

static void check_network(uint64_t seed, int *joined) {
    static char text[8192];
    random_source random = {seed};
    write_network(text, &random);
    bp_graph *graph = parse(text);
    tensors in, rows, last, got;
    random_source same = random, again = random, third = random;
    make_tensors(&in, graph, false, seed % 3 == 0, &third);
    make_tensors(&rows, graph, true, seed % 2, &random);
    make_tensors(&last, graph, true, seed % 2, &same);
    make_tensors(&got, graph, true, seed % 2, &again);
    fill_plain(&in, &third);
    check_layout(graph, text, "row_major", &in, &rows, &got, joined);
    check_layout(graph, text, "channels_last", &in, &last, &got, joined);
    for (int i = 0; i < rows.count; i++) {
        if (!(distance(&rows, &last, i) < 1e-4)) {
            fail_msg("seed %d: output %d differs by %g\n%s", (int)seed, i, distance(&rows, &last, i), text);
        }
    }
    free_tensors(&in);
    free_tensors(&rows);
    free_tensors(&last);
    free_tensors(&got);
    bp_graph_release(graph);
}

static void test_networks(void **state) {
    (void)state;
    int joined = 0;
    const int many = getenv("TESTED_ALL") ? 4000 : test_cases(400, 6);
    for (int seed = 1; seed <= many; seed++) {
        check_network((uint64_t)seed, &joined);
    }
    assert_true(joined > many / 4);
}

/* ---- The choice ---- */

static const char two_convs[] = "graph 1\ninput x f32 [1, 64, 28, 28]\ninput w f32 [64, 64, 3, 3]\n"
                                "a = conv(x, w, ndim=2, padding=[1, 1])\nb = unary(a, kind=relu)\n"
                                "c = conv(b, w, ndim=2, padding=[1, 1])\noutput y = c\n";

/* Returns a part of the explanation under a setting. */
static void check_explained(const char *text, const char *settings, const char *words, bool there) {
    random_source random = {1};
    bp_graph *graph = parse(text);
    bp_explanation *page;
    bp_options *options;
    tensors in, out;
    make_tensors(&in, graph, false, false, &random);
    make_tensors(&out, graph, true, false, &random);
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    assert_int_equal(
        bp_graph_explain(&page, options, graph, (const DLTensor *const *)in.list, (const DLTensor *const *)out.list),
        BP_OK);
    if ((strstr(bp_explanation_text(page), words) != NULL) != there) {
        fail_msg("\"%s\" is %sthere:\n%s", words, there ? "not " : "", bp_explanation_text(page));
    }
    bp_explanation_release(page);
    bp_options_release(options);
    free_tensors(&in);
    free_tensors(&out);
    bp_graph_release(graph);
}

static void test_explained(void **state) {
    (void)state;
    check_explained(two_convs, "graph.layout=channels_last", "images    channels last: graph.layout", true);
    check_explained(two_convs, "graph.layout=row_major", "\nimages ", false);
    check_explained(two_convs, "graph.layout=auto", "with the channels last", true);
    check_explained(HEAD "a = unary(x, kind=exp)\noutput y = a\n", "graph.layout=auto", "\nimages ", false);
    check_explained(HEAD "a = unary(x, kind=exp)\nb = unary(z, kind=exp)\nj = concat(a, b)\noutput y = j\n", "",
                    "joined    1 node, whose operands are written into the result", true);
}

/* ---- Reshaped images ---- */

/* Whether the value is in memory as its layout says. */
static bool lies_last(const bp__lowered *l, bp_value v) {
    const bp__graph_value *value = &l->graph->values[v];
    const int64_t *strides = l->at[v].strides;
    return strides[1] == 1 && strides[value->ndim - 1] == value->shape[1];
}

/* Returns whether the last reshaped value is said to have its channels last, and checks that it has. */
static bool reshaped_last(const char *nodes) {
    char text[1024];
    random_source random = {1};
    sprintf(text, "graph 1\ninput x f32 [2, 6, 5, 7]\ninput w f32 [6, 6, 1, 1]\na = conv(x, w, ndim=2)\n%s", nodes);
    bp_graph *graph = parse(text);
    bp_options *options;
    bp_plan *plan;
    tensors in, out;
    bool last = false;
    make_tensors(&in, graph, false, false, &random);
    make_tensors(&out, graph, true, false, &random);
    assert_int_equal(bp_options_new(&options, "graph.layout=channels_last"), BP_OK);
    assert_int_equal(
        bp_graph_plan(&plan, options, graph, (const DLTensor *const *)in.list, (const DLTensor *const *)out.list),
        BP_OK);
    const bp__lowered *l = &((const bp__graph_plan *)bp__program_of(plan)->owner)->lowered;
    for (bp_value v = 1; v <= graph->value_count; v++) {
        if (graph->values[v].kind == BP__VALUE_VIEW && graph->values[v].view == BP__RESHAPE) {
            last = l->layouts.last[v];
            assert_true(!l->live[v] || lies_last(l, v) == last);
        }
    }
    bp_plan_release(plan);
    bp_options_release(options);
    free_tensors(&in);
    free_tensors(&out);
    bp_graph_release(graph);
    return last;
}

#define EXCHANGE(b, c, d)                                                                                              \
    b " = reshape(a, [2, 2, 3, 5, 7])\n" c " = permute(" b ", [0, 2, 1, 3, 4])\n" d " = reshape(" c ", [2, 6, 5, "     \
      "7])\n"
#define EXCHANGED EXCHANGE("b", "c", "d")

static void test_reshaped(void **state) {
    (void)state;
    assert_true(reshaped_last(EXCHANGED "e = conv(d, w, ndim=2)\noutput y = e\n"));
    assert_true(reshaped_last(EXCHANGED "e = unary(d, kind=tanh)\nf = conv(e, w, ndim=2)\noutput y = f\n"));
    assert_true(reshaped_last(EXCHANGED "e = slice(d, [2, 1, 3, 1])\nf = conv(e, w, ndim=2)\noutput y = f\n"));
    assert_true(reshaped_last(EXCHANGED "e = concat(d, d, axis=2)\nf = conv(e, w, ndim=2)\noutput y = f\n"));
    assert_true(
        reshaped_last(EXCHANGED "e = conv(d, w, ndim=2)\nf = unary(d, kind=exp)\noutput y = e\noutput f = f\n"));
    /* Both of two equal values. Only the second one is read as an image. */
    assert_true(reshaped_last(EXCHANGED EXCHANGE("q", "r", "s") "f = unary(d, kind=tanh)\ng = conv(s, w, ndim=2)\n"
                                                                "output y = f\noutput z = g\n"));
    /* Nothing reads it as an image, or it does not come from one, or its dimension 1 is no channel. */
    assert_false(reshaped_last(EXCHANGED "e = unary(d, kind=tanh)\noutput y = e\n"));
    assert_false(reshaped_last("b = permute(x, [0, 1, 3, 2])\nd = reshape(b, [2, 6, 5, 7])\ne = conv(d, w, ndim=2)\n"
                               "output y = a\noutput z = e\n"));
    assert_false(
        reshaped_last("b = permute(a, [1, 0, 3, 2])\nd = reshape(b, [6, 10, 7])\ne = expand(d, [1, 6, 10, 7])\n"
                      "f = conv(e, w, ndim=2)\noutput y = f\n"));
}

/* The setting is a part of the keys of kept plans. */
static void test_kept(void **state) {
    (void)state;
    random_source random = {1};
    bp_graph *graph = parse(two_convs);
    bp_plan *plans[3];
    tensors in, out;
    make_tensors(&in, graph, false, false, &random);
    make_tensors(&out, graph, true, false, &random);
    static const char *const settings[] = {"graph.layout=row_major", "graph.layout=channels_last",
                                           "graph.layout=row_major"};
    for (int i = 0; i < 3; i++) {
        bp_options *options;
        assert_int_equal(bp_options_new(&options, settings[i]), BP_OK);
        assert_int_equal(bp_graph_plan(&plans[i], options, graph, (const DLTensor *const *)in.list,
                                       (const DLTensor *const *)out.list),
                         BP_OK);
        bp_options_release(options);
    }
    assert_ptr_not_equal(plans[0], plans[1]);
    assert_ptr_equal(plans[0], plans[2]);
    for (int i = 0; i < 3; i++) {
        bp_plan_release(plans[i]);
    }
    free_tensors(&in);
    free_tensors(&out);
    bp_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joined),    cmocka_unit_test(test_types),    cmocka_unit_test(test_networks),
        cmocka_unit_test(test_explained), cmocka_unit_test(test_reshaped), cmocka_unit_test(test_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
