/* test_graphs.cpp - builds, runs, plans and explains graphs in C++, from calls, text, an ONNX file and a file of
 * weights.
 */
#include "backplane.hpp"

#include "check.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace bp = backplane;

/* The text of the error with this status that the work throws; empty if it throws none. */
template <class Work> static std::string message_of(Work work, bp_status expected) {
    try {
        work();
    } catch (const bp::error &e) {
        return e.status() == expected ? e.what() : "";
    }
    return "";
}

static bool has(const std::string &text, const char *part) {
    return text.find(part) != std::string::npos;
}

/* relu(x w^T + b), and the sum of x and its rows in reverse. */
static bp::graph example(const bp::const_view &w, const bp::const_view &b) {
    bp::graph net = bp::graph_create();
    const bp_value x = bp::graph_input(net, "x", BP_F32, {2, 3});
    const bp_value weight = bp::graph_constant(net, "w", w), bias = bp::graph_constant(net, "b", b, BP_GRAPH_BORROW);
    const bp_value y = bp::graph_call(net, "linear", "activation=relu", {x, weight, bias});
    const bp_value back = bp::graph_slice(net, x, 0, -1, INT64_MIN, -1);
    bp::graph_output(net, "y", y);
    bp::graph_output(net, "sum", bp::graph_call(net, "binary", "kind=add", {x, back}));
    bp::graph_finish(net);
    return net;
}

static const float weight[2][3] = {{1, 0, 1}, {0, 2, 0}}, bias[2] = {10, -20};
static const float input[2][3] = {{1, 2, 3}, {4, 5, 16}};

static void runs() {
    const bp::graph net = example(weight, bias);
    float y[2][2] = {}, sum[2][3] = {};
    bp::graph_run(net, {input}, {y, sum});
    CHECK(y[0][0] == 14 && y[0][1] == 0 && y[1][0] == 30 && y[1][1] == 0);
    CHECK(sum[0][0] == 5 && sum[1][2] == 19);
    const bp::options one("num_threads=1");
    const std::vector<bp::const_view> inputs = {input};
    std::vector<bp::view> outputs = {y, sum};
    std::memset(y, 0, sizeof y);
    bp::graph_run(net, inputs, outputs, &one);
    CHECK(y[1][0] == 30);
    std::memset(y, 0, sizeof y);
    const bp::plan plan = bp::graph_plan(net, inputs, {y, sum}, &one);
    bp::execute(plan, {input, y, sum});
    CHECK(y[0][0] == 14 && y[1][0] == 30);
    CHECK(has(bp::graph_explain(net, inputs, outputs).text(), "linear"));
    CHECK(bp::nothrow::graph_run(net, {input}, {y, sum}) == BP_OK);
}

static void is_described() {
    const bp::graph net = example(weight, bias);
    const auto inputs = net.inputs(), outputs = net.outputs();
    CHECK(inputs.size() == 1 && std::strcmp(inputs[0].name, "x") == 0 && inputs[0].shape[1] == 3);
    CHECK(outputs.size() == 2 && std::strcmp(outputs[1].name, "sum") == 0 && outputs[0].dtype == BP_F32);
    const bp::value_shape shape = bp::graph_shape(net, outputs[0].value);
    CHECK(shape.dtype == BP_F32 && shape.shape.ndim() == 2 && shape.shape[0] == 2 && shape.shape[1] == 2);
    const std::string text = bp::graph_text(net);
    const bp::graph copy = bp::graph_parse(text);
    CHECK(bp::graph_text(copy) == text && bp::graph_hash(copy) == bp::graph_hash(net));
    CHECK(bp::graph_hash(bp::graph_parse("graph 1\ninput x f32 [2]\noutput y = x\n")) != bp::graph_hash(net));
    CHECK(bp::graph().inputs().empty() && !bp::graph());
}

static void has_views_and_several_outputs() {
    const bp::graph net = bp::graph_create();
    const bp_value x = bp::graph_input(net, "x", BP_F64, {2, 3});
    bp_value y = 0, mean = 0, reciprocal = 0;
    bp::graph_call(net, "layer_norm", "row_ndim=1, eps=0", {x}, {&y, &mean, &reciprocal});
    bp::graph_output(net, "mean", bp::graph_reshape(net, mean, {2}));
    bp::graph_output(net, "columns", bp::graph_permute(net, y, {1, 0}));
    bp::graph_output(net, "twice", bp::graph_expand(net, x, {2, 2, 3}));
    bp::graph_finish(net);
    const double rows[2][3] = {{1, 2, 3}, {0, 0, 3}};
    double means[2], columns[3][2], twice[2][2][3];
    bp::graph_run(net, {rows}, {means, columns, twice});
    CHECK(near(means[0], 2) && near(means[1], 1) && near(columns[2][0], 1.5 / std::sqrt(1.5)) && twice[1][1][2] == 3);
}

static void refuses() {
    const bp::graph net = example(weight, bias);
    float y[2][2], sum[2][3];
    const std::string counts = message_of([&] { bp::graph_run(net, {input}, {y}); }, BP_E_ARGUMENT);
    CHECK(counts == "the graph has 1 inputs and 2 outputs; 1 and 1 are given");
    CHECK(has(message_of([&] { static_cast<void>(bp::graph_plan(net, {}, {y, sum})); }, BP_E_ARGUMENT), "0 and 2"));
    CHECK(has(message_of(
                  [&] {
                      static_cast<void>(bp::graph_explain(net, {input, input}, {y, sum}));
                  },
                  BP_E_ARGUMENT),
              "2 and 2"));
    CHECK(bp::nothrow::graph_run(net, {input, input}, {y, sum}) == BP_E_ARGUMENT);
    bp::plan plan = bp::graph_plan(net, {input}, {y, sum});
    bp::explanation why = bp::graph_explain(net, {input}, {y, sum});
    CHECK(bp::nothrow::graph_plan(plan, net, {input}, {y}) == BP_E_ARGUMENT && !plan);
    CHECK(bp::nothrow::graph_explain(why, net, {}, {y, sum}) == BP_E_ARGUMENT && !why);
    CHECK(has(message_of([&] { bp::graph_run(net, {y}, {y, sum}); }, BP_E_SHAPE), "x"));
    CHECK(message_of([&] { bp::graph_finish(net); }, BP_E_ARGUMENT) != "");
    float both[2][2] = {{10, -20}, {0, 0}}; /* a borrowed constant and an output */
    const bp::graph borrows = example(weight, both[0]);
    CHECK(message_of([&] { bp::graph_run(borrows, {input}, {both, sum}); }, BP_E_OVERLAP) != "");
    const bp::graph open = bp::graph_create();
    const bp_value x = bp::graph_input(open, "x", BP_F32, {2, 3});
    CHECK(has(message_of([&] { static_cast<void>(bp::graph_call(open, "liner", "", {x})); }, BP_E_ARGUMENT), "liner"));
    CHECK(has(message_of([&] { static_cast<void>(bp::graph_parse("graph 1\nquit\n")); }, BP_E_FORMAT), "line 2"));
    bp_value wide = 0;
    CHECK(bp::nothrow::graph_input(wide, open, "wide", BP_F32, bp::extents(std::vector<int>(100, 1))) != BP_OK);
    CHECK(bp::nothrow::graph_run(bp::graph(), {}, {}) == BP_E_ARGUMENT);
}

static std::string file(const char *name, const std::string &bytes) {
    const char *folder = std::getenv("TMPDIR");
    const std::string path = std::string(folder ? folder : "/tmp") + "/" + name;
    std::FILE *to = std::fopen(path.c_str(), "wb");
    CHECK(to && std::fwrite(bytes.data(), 1, bytes.size(), to) == bytes.size());
    if (to) {
        std::fclose(to);
    }
    return path;
}

static void reads_weights() {
    const std::string header = "{\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}}";
    std::string bytes(8, '\0');
    bytes[0] = static_cast<char>(header.size());
    bytes += header;
    bytes.append(reinterpret_cast<const char *>(weight), sizeof weight);
    const std::string path = file("backplane_graphs.safetensors", bytes);
    const bp::graph net = bp::graph_create();
    {
        const bp::weights read = bp::weights_open(path.c_str());
        CHECK(read.list().size() == 1 && read.list()[0].shape[0] == 2);
        CHECK(static_cast<const float *>(bp::weights_view(read, "w").get()->data)[4] == 2);
        CHECK(message_of([&] { static_cast<void>(bp::weights_view(read, "v")); }, BP_E_ARGUMENT) != "");
        CHECK(has(message_of([&] { static_cast<void>(bp::graph_weight(net, read, "v")); }, BP_E_NOT_FOUND), "v"));
        const bp_value x = bp::graph_input(net, "x", BP_F32, {2, 3});
        bp::graph_output(net, "y", bp::graph_call(net, "linear", "", {x, bp::graph_weight(net, read, "w")}));
        bp::graph_finish(net);
    } /* the graph holds the weights */
    std::remove(path.c_str());
    float y[2][2];
    bp::graph_run(net, {input}, {y});
    CHECK(y[0][0] == 4 && y[1][1] == 10);
    CHECK(message_of([&] { static_cast<void>(bp::weights_open(path.c_str())); }, BP_E_NOT_FOUND) != "");
}

/* A field of a protocol buffer. */
static std::string field(int number, const std::string &bytes) {
    return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(bytes.size()) + bytes;
}
static std::string field(int number, char value) {
    return std::string(1, static_cast<char>(number << 3)) + value;
}
static std::string port(const char *name, const std::string &shape) {
    return field(1, name) + field(2, field(1, field(1, char{1}) + field(2, shape)));
}

static void reads_onnx() {
    const std::string size = field(1, field(2, "batch"));
    const std::string node = field(1, "x") + field(1, "k") + field(2, "y") + field(4, "Mul");
    const std::string body = field(1, node) + field(2, "g") + field(11, port("x", size)) + field(11, port("k", size)) +
                             field(12, port("y", size));
    const std::string model = field(1, char{8}) + field(7, body) + field(8, field(1, "") + field(2, char{14}));
    const std::string path = file("backplane_graphs.onnx", model);
    const float k[3] = {2, 3, 4}, x[3] = {1, 10, 100};
    float y[3] = {};
    bp::graph_run(bp::graph_from_onnx(path.c_str(), {{"batch", 3}}), {x, k}, {y});
    CHECK(y[0] == 2 && y[1] == 30 && y[2] == 400);
    y[2] = 0;
    bp::graph_run(bp::graph_from_onnx(path.c_str(), {{"batch", 3}}, {{"k", k}}), {x}, {y});
    CHECK(y[2] == 400);
    CHECK(has(message_of([&] { static_cast<void>(bp::graph_from_onnx(path.c_str())); }, BP_E_ARGUMENT), "batch"));
    std::remove(path.c_str());
}

int main() {
    runs();
    is_described();
    has_views_and_several_outputs();
    refuses();
    reads_weights();
    reads_onnx();
    bp_reset();
    return failed_checks() != 0;
}
