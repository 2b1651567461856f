/* test_read.c - models become graphs: sizes and values that are chosen, names, branches, and models that are refused.
 */
#include "graph/graph.h"
#include "onnx/read.h"
#include "onnx/support_onnx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static message graph, node, model;

static bp_status read_bytes(bp_graph **made, size_t size, const unsigned char *bytes, const bp_onnx_choices *choices) {
    const bp_onnx_choices none = {.struct_size = sizeof none};
    unsigned char *exact = malloc(size ? size : 1); /* without bytes behind the end */
    memcpy(exact, bytes, size);
    const bp_status status = bp__onnx_read(made, size, exact, NULL, choices ? choices : &none);
    free(exact);
    return status;
}

static bp_graph *read_model(const bp_onnx_choices *choices) {
    bp_graph *made;
    if (read_bytes(&made, model.size, model.bytes, choices) != BP_OK) {
        fail_msg("%s", bp_last_error());
    }
    return made;
}

static void refuse_model(const bp_onnx_choices *choices, bp_status wanted, const char *words) {
    bp_graph *made = (bp_graph *)(uintptr_t)1;
    const bp_status status = read_bytes(&made, model.size, model.bytes, choices);
    if (status != wanted || !strstr(bp_last_error(), words)) {
        fail_msg("%s: %s", bp_status_text(status), bp_last_error());
    }
    assert_null(made);
}

/* Refuses the model of `graph`. */
static void refuse(int64_t opset, bp_status wanted, const char *words) {
    make_model(&model, opset, &graph);
    refuse_model(NULL, wanted, words);
}

static void begin_graph(void) {
    graph.size = 0;
    put_port(&graph, 11, "x", SHAPE(2, 3));
    put_port(&graph, 12, "y", SHAPE(2, 3));
}

static void check_text(const bp_graph *made, const char *wanted) {
    char *text;
    assert_int_equal(bp_graph_text(made, &text), BP_OK);
    assert_string_equal(text, wanted);
    bp_graph_text_release(text);
}

/* ---- The sample ---- */

static const char *const size_names[] = {"batch"};
static const int64_t two[] = {2};
static const bp_onnx_choices batch = {
    .struct_size = sizeof batch, .size_count = 1, .size_names = size_names, .sizes = two};

static void test_sample(void **state) {
    (void)state;
    make_sample(&model);
    bp_graph *made = read_model(&batch);
    /* Shapes and branches are not nodes. */
    check_text(made, "graph 1\ninput x f32 [2, 3]\nconstant c f32 [3, 2] = [0x1p+0, -0x1p+1, 0x1.8p+1, -0x1p+2, "
                     "0x1.4p+2, -0x1.8p+2]\nv3 = matmul(a=x, b=c)\nv4 = concat(v3, v3, axis=1)\nv5 = unary(input=v4, "
                     "kind=relu)\noutput y = v5\n");
    bp_view x, y;
    float in[6] = {1, 0, 0, 0, 1, 1}, out[8];
    const float wanted[8] = {1, 0, 1, 0, 8, 0, 8, 0};
    bp_view_init(&x, in, BP_F32, 2, (int64_t[]){2, 3}, NULL);
    bp_view_init(&y, out, BP_F32, 2, (int64_t[]){2, 4}, NULL);
    const DLTensor *inputs[] = {&x.tensor};
    DLTensor *outputs[] = {&y.tensor};
    assert_int_equal(bp_graph_run(NULL, made, inputs, outputs), BP_OK);
    assert_memory_equal(out, wanted, sizeof out);
    bp_graph_release(made);
}

/* Each prefix, and each byte with other values: an error or a graph, and no access outside. */
static void test_damaged(void **state) {
    static message damaged;
    static const unsigned char flips[] = {0x01, 0x80, 0xff, 0x7f};
    bp_graph *made;
    (void)state;
    make_sample(&model);
    for (size_t size = 0; size < model.size; size++) {
        if (read_bytes(&made, size, model.bytes, &batch) == BP_OK) {
            bp_graph_release(made);
        } else {
            assert_null(made);
        }
    }
    for (size_t at = 0; at < model.size; at++) {
        for (size_t i = 0; i < sizeof flips; i++) {
            damaged = model;
            damaged.bytes[at] ^= flips[i];
            if (read_bytes(&made, damaged.size, damaged.bytes, &batch) == BP_OK) {
                bp_graph_release(made);
            }
        }
    }
}

/* ---- Choices ---- */

static void test_choices(void **state) {
    (void)state;
    make_sample(&model);
    refuse_model(NULL, BP_E_ARGUMENT, "must be given: dimension 0 of input 'x', named batch");
    static const char *const places[] = {"x[0]"}, *const wrong[] = {"rows"};
    bp_onnx_choices choices = batch;
    choices.size_names = places;
    bp_graph_release(read_model(&choices));
    choices.size_names = wrong;
    refuse_model(&choices, BP_E_ARGUMENT, "the model leaves a size open");
    static const char *const both[] = {"batch", "rows"};
    choices = (bp_onnx_choices){
        .struct_size = sizeof choices, .size_count = 2, .size_names = both, .sizes = (const int64_t[]){2, 5}};
    refuse_model(&choices, BP_E_ARGUMENT, "the model has no open size 'rows'");
    static const char *const fixed[] = {"batch", "x[1]"};
    choices.size_names = fixed;
    refuse_model(&choices, BP_E_ARGUMENT, "dimension 1 of input 'x' has 3 elements in the model");
}

/* An input that becomes a constant decides what If does. */
static void test_value(void **state) {
    static const char *const names[] = {"x"};
    bp_view x;
    float in[6] = {1, 2, 3, 4, 5, 6};
    (void)state;
    bp_view_init(&x, in, BP_F32, 2, (int64_t[]){2, 3}, NULL);
    const DLTensor *const values[] = {&x.tensor};
    const bp_onnx_choices choices = {
        .struct_size = sizeof choices, .value_count = 1, .value_names = names, .values = values};
    make_sample(&model);
    bp_graph *made = read_model(&choices);
    bp_graph_port port = {.struct_size = sizeof port};
    assert_false(bp_graph_input_at(made, 0, &port));
    DLTensor *outputs[1];
    bp_view y;
    float out[8];
    bp_view_init(&y, out, BP_F32, 2, (int64_t[]){2, 4}, NULL);
    outputs[0] = &y.tensor;
    assert_int_equal(bp_graph_run(NULL, made, NULL, outputs), BP_OK);
    assert_true(out[0] == 1 - 0 + 2 * 3 + 3 * 5);
    bp_graph_release(made);
    bp_view_init(&x, in, BP_F32, 1, (int64_t[]){6}, NULL);
    refuse_model(&choices, BP_E_SHAPE, "another shape");
    bp_view_init(&x, in, BP_I32, 2, (int64_t[]){2, 3}, NULL);
    refuse_model(&choices, BP_E_DTYPE, "i32; the model has f32");
}

static void test_arguments(void **state) {
    bp_graph *made;
    (void)state;
    assert_int_equal(bp_graph_from_onnx(NULL, "x", NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_graph_from_onnx(&made, NULL, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_graph_from_onnx(&made, "/nowhere/x.onnx", NULL), BP_E_NOT_FOUND);
    assert_int_equal(bp_graph_from_onnx(&made, "/tmp", NULL), BP_E_IO);
    bp_onnx_choices choices = {.struct_size = sizeof choices, .size_count = 1};
    assert_int_equal(bp_graph_from_onnx(&made, "x", &choices), BP_E_ARGUMENT);
    choices = (bp_onnx_choices){.struct_size = sizeof choices, .value_count = -1};
    assert_int_equal(bp_graph_from_onnx(&made, "x", &choices), BP_E_ARGUMENT);
    choices = (bp_onnx_choices){0};
    assert_int_equal(bp_graph_from_onnx(&made, "x", &choices), BP_E_ARGUMENT);
}

/* ---- Models that are refused ---- */

static void test_versions(void **state) {
    (void)state;
    begin_graph();
    put_node(&graph, "Relu", NAMES("x"), NAMES("y"));
    refuse(6, BP_E_UNSUPPORTED, "operators of opset 6; opsets 7 to 28");
    refuse(29, BP_E_UNSUPPORTED, "operators of opset 29");
    refuse(-1, BP_E_UNSUPPORTED, "operators of opset -1");
    model.size = 0;
    put_number(&model, 1, 8);
    put_message(&model, 7, &graph);
    refuse_model(NULL, BP_E_FORMAT, "does not say which opset");
    put_number(&model, 1, 99); /* the last one counts */
    refuse_model(NULL, BP_E_UNSUPPORTED, "IR version 99");
    static message function;
    function.size = 0;
    put_text(&function, 1, "Relu");
    make_model(&model, 17, &graph);
    put_message(&model, 25, &function);
    refuse_model(NULL, BP_E_UNSUPPORTED, "a function 'Relu' of the standard domain");
    put_text(&function, 10, "com.example"); /* no node is of this domain */
    make_model(&model, 17, &graph);
    put_message(&model, 25, &function);
    bp_graph_release(read_model(NULL));
    model.size = 0;
    refuse_model(NULL, BP_E_FORMAT, "it has no graph");
    put_text(&model, 7, "no message");
    refuse_model(NULL, BP_E_FORMAT, "is broken");
}

static void test_names(void **state) {
    (void)state;
    begin_graph();
    put_node(&graph, "Relu", NAMES("z"), NAMES("y"));
    refuse(17, BP_E_FORMAT, "node 0 (Relu of opset 17): input 'z' is no input, initializer or output");
    begin_graph();
    put_node(&graph, "Relu", NAMES("a"), NAMES("b")); /* a cycle */
    put_node(&graph, "Relu", NAMES("b"), NAMES("a"));
    refuse(17, BP_E_FORMAT, "input 'a' is no input");
    begin_graph();
    put_node(&graph, "Relu", NAMES("x"), NAMES("x"));
    refuse(17, BP_E_FORMAT, "two values with the name 'x'");
    begin_graph();
    put_node(&graph, "Relu", NAMES("x"), NAMES("other"));
    refuse(17, BP_E_FORMAT, "output 'y' is computed by no node");
    begin_graph();
    put_node(&graph, "Relu", NAMES("x", "x"), NAMES("y"));
    refuse(17, BP_E_FORMAT, "it has 2 inputs; it must have 1");
    begin_graph();
    put_node(&graph, "Add", NAMES("x", "", "x"), NAMES("y"));
    refuse(17, BP_E_FORMAT, "it has 3 inputs; it must have 2");
    begin_graph();
    put_node(&graph, "Add", NAMES("", "x"), NAMES("y"));
    refuse(17, BP_E_FORMAT, "input 0 is absent");
    graph.size = 0;
    put_port(&graph, 11, "x", SHAPE(2, 3));
    refuse(17, BP_E_ARGUMENT, "the graph has no output");
}

static void test_operators(void **state) {
    (void)state;
    begin_graph();
    begin_node(&node, "Relu", NAMES("x"), NAMES("y"));
    put_int_attribute(&node, "alpha", 1);
    put_message(&graph, 1, &node);
    refuse(17, BP_E_UNSUPPORTED, "(Relu of opset 17): attribute 'alpha' is not supported");
    begin_graph();
    begin_node(&node, "Elu", NAMES("x"), NAMES("y"));
    put_int_attribute(&node, "alpha", 1);
    put_message(&graph, 1, &node);
    refuse(17, BP_E_FORMAT, "attribute 'alpha' is not a number");
    begin_graph();
    put_node(&graph, "Dream", NAMES("x"), NAMES("y"));
    refuse(17, BP_E_UNSUPPORTED, "(Dream of opset 17): this operator is not supported");
    begin_graph();
    put_node(&graph, "Gelu", NAMES("x"), NAMES("y"));
    refuse(17, BP_E_UNSUPPORTED, "is supported from opset 20 on");
    begin_graph();
    begin_node(&node, "Relu", NAMES("x"), NAMES("y"));
    put_text(&node, 7, "com.example");
    put_message(&graph, 1, &node);
    refuse(17, BP_E_UNSUPPORTED, "domain 'com.example'");
    begin_graph();
    begin_node(&node, "Relu", NAMES("x"), NAMES("y"));
    put_text(&node, 8, "other");
    put_message(&graph, 1, &node);
    refuse(17, BP_E_UNSUPPORTED, "an overload of a function");
    begin_graph();
    put_node(&graph, "Reshape", NAMES("x", "x"), NAMES("y"));
    refuse(17, BP_E_FORMAT, "input 'shape' has elements of type f32");
    begin_graph();
    put_node(&graph, "MatMul", NAMES("x", "x"), NAMES("y"));
    refuse(17, BP_E_SHAPE, "(MatMul of opset 17)");
}

static void test_branches(void **state) {
    static message then;
    static const unsigned char yes = 1;
    (void)state;
    begin_graph();
    then.size = 0;
    put_port(&then, 12, "x", SHAPE(2, 3));
    begin_node(&node, "If", NAMES("x"), NAMES("y"));
    put_graph_attribute(&node, "then_branch", &then);
    put_message(&graph, 1, &node);
    refuse(17, BP_E_UNSUPPORTED, "its condition depends on elements");
    begin_graph();
    put_tensor(&graph, 5, "yes", 9, SHAPE(1), 1, &yes);
    begin_node(&node, "If", NAMES("yes"), NAMES("y"));
    put_graph_attribute(&node, "else_branch", &then);
    put_message(&graph, 1, &node);
    refuse(17, BP_E_FORMAT, "a branch is absent");
    /* A branch that is nested too deep. */
    for (int depth = 0; depth < 20; depth++) {
        static message inner;
        inner = then;
        begin_node(&node, "If", NAMES("yes"), NAMES("z"));
        put_graph_attribute(&node, "then_branch", &inner);
        then.size = 0;
        put_message(&then, 1, &node);
        put_port(&then, 12, "z", SHAPE(2, 3));
    }
    begin_graph();
    begin_node(&node, "If", NAMES("yes"), NAMES("y"));
    put_graph_attribute(&node, "then_branch", &then);
    put_message(&graph, 1, &node);
    refuse(17, BP_E_UNSUPPORTED, "nested more than 16 deep");
}

/* Sizes that multiply to more than any memory are errors, not small numbers. */
static void test_huge(void **state) {
    const int64_t huge[2] = {INT64_C(1) << 40, INT64_C(1) << 40}, repeats[2] = {INT64_MAX, 2};
    const int64_t negative[2] = {-2, 3};
    (void)state;
    graph.size = 0;
    put_port(&graph, 11, "x", SHAPE(INT64_C(1) << 40, INT64_C(1) << 40));
    put_port(&graph, 12, "x", SHAPE(1));
    refuse(17, BP_E_OVERFLOW, "");
    graph.size = 0; /* also if there are no elements */
    put_port(&graph, 11, "x", SHAPE(0, INT64_C(1) << 40, INT64_C(1) << 40));
    put_node(&graph, "Flatten", NAMES("x"), NAMES("y"));
    put_port(&graph, 12, "y", SHAPE(1));
    refuse(17, BP_E_OVERFLOW, "");
    begin_graph();
    put_tensor(&graph, 5, "s", 7, SHAPE(2), sizeof huge, huge);
    put_node(&graph, "ConstantOfShape", NAMES("s"), NAMES("y"));
    refuse(17, BP_E_OVERFLOW, "");
    begin_graph();
    put_tensor(&graph, 5, "s", 7, SHAPE(2), sizeof repeats, repeats);
    put_node(&graph, "Tile", NAMES("x", "s"), NAMES("y"));
    refuse(17, BP_E_OVERFLOW, "more elements than memory");
    begin_graph();
    put_tensor(&graph, 5, "s", 7, SHAPE(2), sizeof negative, negative);
    put_node(&graph, "Reshape", NAMES("x", "s"), NAMES("y"));
    refuse(17, BP_E_SHAPE, "");
    begin_graph();
    put_tensor(&graph, 5, "s", 7, SHAPE(2), sizeof negative, negative);
    put_node(&graph, "ConstantOfShape", NAMES("s"), NAMES("y"));
    refuse(17, BP_E_SHAPE, "");
    begin_graph();
    put_tensor(&graph, 5, "s", 7, SHAPE(2), sizeof huge, huge);
    put_tensor(&graph, 5, "a", 7, SHAPE(0), 0, "");
    const int64_t one = 1, zero = 0;
    put_tensor(&graph, 5, "one", 7, SHAPE(1), sizeof one, &one);
    put_tensor(&graph, 5, "zero", 7, SHAPE(1), sizeof zero, &zero);
    put_tensor(&graph, 5, "limit", 7, SHAPE(1), sizeof huge[0], huge);
    put_node(&graph, "Range", NAMES("zero", "limit", "one"), NAMES("y"));
    refuse(17, BP_E_UNSUPPORTED, "numbers; the limit is");
}

/* ---- Nodes that are computed with the one before them ---- */

/* Makes a model of a product, a sum and a function, and of another node that reads one of them before. */
static void begin_layer(bool reads_product, bool reads_sum) {
    static const float w[6] = {1, 2, 3, 4, 5, 6}, b[2] = {1, 2};
    graph.size = 0;
    put_port(&graph, 11, "x", SHAPE(2, 3));
    put_port(&graph, 12, "y", SHAPE(2, 2));
    put_tensor(&graph, 5, "w", 1, SHAPE(3, 2), sizeof w, w);
    put_tensor(&graph, 5, "b", 1, SHAPE(2), sizeof b, b);
    put_node(&graph, "MatMul", NAMES("x", "w"), NAMES("p"));
    if (reads_product) {
        put_node(&graph, "Neg", NAMES("p"), NAMES("z"));
        put_port(&graph, 12, "z", SHAPE(2, 2));
    }
    put_node(&graph, "Add", NAMES("b", "p"), NAMES("s"));
    if (reads_sum) {
        put_node(&graph, "Neg", NAMES("s"), NAMES("z"));
        put_port(&graph, 12, "z", SHAPE(2, 2));
    }
    put_node(&graph, "Relu", NAMES("s"), NAMES("y"));
}

/* Checks which calls the model has. */
static void check_calls(const char *const *wanted, const char *const *absent) {
    char *text;
    make_model(&model, 17, &graph);
    bp_graph *made = read_model(NULL);
    assert_int_equal(bp_graph_text(made, &text), BP_OK);
    for (int i = 0; wanted[i]; i++) {
        if (!strstr(text, wanted[i])) {
            fail_msg("no %s in %s", wanted[i], text);
        }
    }
    for (int i = 0; absent[i]; i++) {
        if (strstr(text, absent[i])) {
            fail_msg("%s in %s", absent[i], text);
        }
    }
    bp_graph_text_release(text);
    bp_graph_release(made);
}

static void test_layers(void **state) {
    static message then;
    static const unsigned char yes = 1;
    (void)state;
    begin_layer(false, false);
    check_calls(NAMES("linear(input=x, weight=v", "bias=b, activation=relu"), NAMES("matmul", "binary", "unary"));
    begin_layer(false, false); /* the sum is an output too */
    put_port(&graph, 12, "s", SHAPE(2, 2));
    check_calls(NAMES("linear(", "unary("), NAMES("activation"));
    begin_layer(true, false);
    check_calls(NAMES("matmul(", "binary(", "kind=relu", "kind=negative"), NAMES("linear"));
    begin_layer(false, true);
    check_calls(NAMES("linear(", "kind=relu", "kind=negative"), NAMES("activation"));
    begin_layer(false, false); /* a branch reads the sum */
    put_tensor(&graph, 5, "yes", 9, SHAPE(1), 1, &yes);
    then.size = 0;
    put_node(&then, "Neg", NAMES("s"), NAMES("t"));
    put_port(&then, 12, "t", SHAPE(2, 2));
    begin_node(&node, "If", NAMES("yes"), NAMES("z"));
    put_graph_attribute(&node, "then_branch", &then);
    put_message(&graph, 1, &node);
    put_port(&graph, 12, "z", SHAPE(2, 2));
    check_calls(NAMES("linear(", "kind=relu", "kind=negative"), NAMES("activation"));
    begin_layer(false, false); /* what is added is the product itself, twice */
    put_node(&graph, "MatMul", NAMES("x", "w"), NAMES("q"));
    put_node(&graph, "Add", NAMES("q", "q"), NAMES("z"));
    put_port(&graph, 12, "z", SHAPE(2, 2));
    check_calls(NAMES("linear(", "matmul(", "binary("), NAMES("bias=v"));
}

/* Names of the file that are no names of a graph are changed, and stay different. */
static void test_graph_names(void **state) {
    (void)state;
    graph.size = 0;
    put_port(&graph, 11, "a/b", SHAPE(1));
    put_port(&graph, 11, "a b", SHAPE(1));
    put_port(&graph, 11, "1", SHAPE(1));
    put_port(&graph, 12, "a/b", SHAPE(1));
    put_port(&graph, 12, "a b", SHAPE(1));
    put_port(&graph, 12, "a/b", SHAPE(1));
    make_model(&model, 17, &graph);
    bp_graph *made = read_model(NULL);
    bp_graph_port port = {.struct_size = sizeof port};
    assert_true(bp_graph_input_at(made, 0, &port));
    assert_string_equal(port.name, "a_b");
    assert_true(bp_graph_input_at(made, 1, &port));
    assert_string_equal(port.name, "a_b_1");
    assert_true(bp_graph_input_at(made, 2, &port));
    assert_string_equal(port.name, "_1");
    assert_true(bp_graph_output_at(made, 0, &port));
    assert_string_equal(port.name, "a_b"); /* outputs have names of their own */
    assert_true(bp_graph_output_at(made, 1, &port));
    assert_string_equal(port.name, "a_b_2");
    assert_true(bp_graph_output_at(made, 2, &port));
    assert_int_equal(port.value, 1);
    bp_graph_release(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sample), cmocka_unit_test(test_damaged),     cmocka_unit_test(test_choices),
        cmocka_unit_test(test_value),  cmocka_unit_test(test_arguments),   cmocka_unit_test(test_versions),
        cmocka_unit_test(test_names),  cmocka_unit_test(test_operators),   cmocka_unit_test(test_branches),
        cmocka_unit_test(test_huge),   cmocka_unit_test(test_graph_names), cmocka_unit_test(test_layers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
