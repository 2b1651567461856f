/* graphs.hpp - graphs, ONNX files and files of weights in C++, which operations.hpp includes: graph.h and weights.h
 * tell what the functions do.
 *
 *     const bp::graph net = bp::graph_create();
 *     const bp_value x = bp::graph_input(net, "x", BP_F32, {4, 784});
 *     const bp_value w = bp::graph_constant(net, "w", weight);
 *     const bp_value y = bp::graph_call(net, "linear", "activation=gelu", {x, w});
 *     bp::graph_output(net, "y", y);
 *     bp::graph_finish(net);
 *     bp::graph_run(net, {images}, {scores});
 */
#include "backplane.hpp" /* it includes this file, after the macros which are used here */

#ifndef BACKPLANE_GRAPHS_HPP
#define BACKPLANE_GRAPHS_HPP

#include <array>

namespace backplane {

/* A graph, and the type and shape of a value, an input or an output. A graph that is default-constructed is none. */
class graph : public detail::handle<bp_graph, bp_graph_release> {
  public:
    using handle::handle;
    /* Valid as long as the graph. */
    std::vector<bp_graph_port> inputs() const {
        return ports(bp_graph_input_at);
    }
    std::vector<bp_graph_port> outputs() const {
        return ports(bp_graph_output_at);
    }

  private:
    std::vector<bp_graph_port> ports(int (*at)(const bp_graph *, int, bp_graph_port *)) const {
        std::vector<bp_graph_port> all;
        auto port = init<bp_graph_port>();
        for (int i = 0; at(get(), i, &port); i++) {
            all.push_back(port);
        }
        return all;
    }
};

/* A file of weights (safetensors). */
class weights : public detail::handle<bp_weights, bp_weights_close> {
  public:
    using handle::handle;
    /* Valid as long as the object. */
    std::vector<bp_weight_info> list() const {
        std::vector<bp_weight_info> all;
        auto info = init<bp_weight_info>();
        for (int i = 0; bp_weights_at(get(), i, &info); i++) {
            all.push_back(info);
        }
        return all;
    }
};

struct value_shape {
    bp_dtype dtype = BP_DTYPE_NONE;
    extents shape;
};

/* All inputs, or all outputs, of a run: {x, y}, or a range of views. It is for arguments only. */
template <class View> class view_list {
  public:
    view_list(std::initializer_list<View> views) {
        add(views);
    }
    template <class Range, class V = decltype(*std::begin(std::declval<const Range &>())),
              class = std::enable_if_t<std::is_base_of_v<View, std::decay_t<V>> && std::is_reference_v<V>>>
    view_list(const Range &views) {
        add(views);
    }
    int count() const noexcept {
        return static_cast<int>(tensors_.size());
    }
    auto data() const noexcept {
        return tensors_.data();
    }

  private:
    template <class Range> void add(const Range &views) {
        for (const View &x : views) {
            tensors_.push_back(x.get());
        }
    }
    std::vector<decltype(std::declval<const View &>().get())> tensors_;
};
using input_list = view_list<const_view>;
using output_list = view_list<view>;

/* Sizes that an ONNX model leaves open, and inputs that become constants (bp_onnx_choices). */
using onnx_sizes = std::initializer_list<std::pair<const char *, std::int64_t>>;
using onnx_values = std::initializer_list<std::pair<const char *, const_view>>;

namespace detail {

/* Whether there are so many inputs or outputs; without allocating memory, because each run asks. */
inline bool has_count(const graph &g, int (*at)(const bp_graph *, int, bp_graph_port *), int count) noexcept {
    auto port = init<bp_graph_port>();
    return (count == 0 || at(g.get(), count - 1, &port)) && !at(g.get(), count, &port);
}
inline bool has_as_many(const graph &g, const input_list &inputs, const output_list &outputs) noexcept {
    return has_count(g, bp_graph_input_at, inputs.count()) && has_count(g, bp_graph_output_at, outputs.count());
}

#if !defined(BACKPLANE_NO_EXCEPTIONS)
inline void check_lists(const graph &g, const input_list &inputs, const output_list &outputs) {
    if (!has_as_many(g, inputs, outputs)) {
        throw error(BP_E_ARGUMENT, ("the graph has " + std::to_string(g.inputs().size()) + " inputs and " +
                                    std::to_string(g.outputs().size()) + " outputs; " + std::to_string(inputs.count()) +
                                    " and " + std::to_string(outputs.count()) + " are given")
                                       .c_str());
    }
}
#endif

inline bp_status graph_call(const graph &g, const char *call, const char *fields,
                            std::initializer_list<bp_value> operands,
                            std::initializer_list<bp_value *> outputs) noexcept {
    return bp_graph_call(g.get(), call, fields, static_cast<int>(operands.size()), operands.begin(),
                         static_cast<int>(outputs.size()), outputs.begin());
}

} // namespace detail

/* ---- Building ---- */

namespace nothrow {
[[nodiscard]] inline bp_status graph_create(graph &made) noexcept {
    return bp_graph_create(made.put());
}
} // namespace nothrow
BACKPLANE_MAKER(graph, graph_create, (), (made))
BACKPLANE_OBJECT(bp_value, graph_input, (const graph &g, const char *name, bp_dtype dtype, const extents &shape),
                 (made, g, name, dtype, shape), bp_graph_input(g.get(), name, dtype, shape.ndim(), shape.data(), &made))
/* The elements are copied, unless `flags` is BP_GRAPH_BORROW. */
BACKPLANE_OBJECT(bp_value, graph_constant,
                 (const graph &g, const char *name, const const_view &elements, unsigned flags = 0),
                 (made, g, name, elements, flags), bp_graph_constant(g.get(), name, elements.get(), flags, &made))
/* A node with one output that is wanted, the first. */
BACKPLANE_OBJECT(bp_value, graph_call,
                 (const graph &g, const char *call, const char *fields, std::initializer_list<bp_value> operands),
                 (made, g, call, fields, operands), detail::graph_call(g, call, fields, operands, {&made}))
/* A node with several outputs: nullptr for one that is not wanted. */
BACKPLANE_FUNCTION(graph_call,
                   (const graph &g, const char *call, const char *fields, std::initializer_list<bp_value> operands,
                    std::initializer_list<bp_value *> outputs),
                   detail::graph_call(g, call, fields, operands, outputs))
BACKPLANE_OBJECT(bp_value, graph_reshape, (const graph &g, bp_value value, const extents &shape),
                 (made, g, value, shape), bp_graph_reshape(g.get(), value, shape.ndim(), shape.data(), &made))
BACKPLANE_OBJECT(bp_value, graph_permute, (const graph &g, bp_value value, std::initializer_list<int> axes),
                 (made, g, value, axes),
                 bp_graph_permute(g.get(), value, static_cast<int>(axes.size()), axes.begin(), &made))
BACKPLANE_OBJECT(bp_value, graph_slice,
                 (const graph &g, bp_value value, int axis, std::int64_t from, std::int64_t to, std::int64_t step = 1),
                 (made, g, value, axis, from, to, step), bp_graph_slice(g.get(), value, axis, from, to, step, &made))
BACKPLANE_OBJECT(bp_value, graph_expand, (const graph &g, bp_value value, const extents &shape),
                 (made, g, value, shape), bp_graph_expand(g.get(), value, shape.ndim(), shape.data(), &made))
BACKPLANE_FUNCTION(graph_output, (const graph &g, const char *name, bp_value value),
                   bp_graph_output(g.get(), name, value))
BACKPLANE_FUNCTION(graph_finish, (const graph &g), bp_graph_finish(g.get()))

/* ---- Files and text ---- */

BACKPLANE_OBJECT(weights, weights_open, (const char *path), (made, path), bp_weights_open(made.put(), path))
/* A constant of a file of weights, with the tensor's name. */
BACKPLANE_OBJECT(bp_value, graph_weight, (const graph &g, const weights &file, const char *tensor),
                 (made, g, file, tensor), bp_graph_weight(g.get(), nullptr, file.get(), tensor, &made))
BACKPLANE_OBJECT(graph, graph_parse, (const std::string &text), (made, text),
                 bp_graph_parse(made.put(), text.size(), text.data()))

namespace nothrow {

/* Elements of a file of weights: valid until the object is released. */
[[nodiscard]] inline bp_status weights_view(const_view &made, const weights &file, const char *tensor) noexcept {
    bp_view found;
    const bp_status status = bp_weights_view(&found, file.get(), bp_weights_index(file.get(), tensor));
    if (status == BP_OK) {
        made = const_view(found.tensor);
    }
    return status;
}
[[nodiscard]] inline bp_status graph_text(std::string &made, const graph &g) {
    char *text = nullptr;
    const bp_status status = bp_graph_text(g.get(), &text);
    if (status == BP_OK) {
        const detail::handle<char, bp_graph_text_release> owned(text);
        made = text;
    }
    return status;
}
[[nodiscard]] inline bp_status graph_hash(std::array<unsigned char, 32> &made, const graph &g) noexcept {
    return bp_graph_hash(g.get(), made.data());
}
[[nodiscard]] inline bp_status graph_shape(value_shape &made, const graph &g, bp_value value) noexcept {
    int ndim = 0;
    std::int64_t shape[BP_MAX_NDIM];
    const bp_status status = bp_graph_shape(g.get(), value, &made.dtype, &ndim, shape);
    made.shape = extents(shape, status == BP_OK ? ndim : 0);
    return status;
}
[[nodiscard]] inline bp_status graph_from_onnx(graph &made, const char *path, onnx_sizes sizes = {},
                                               onnx_values values = {}) {
    std::vector<const char *> size_names, value_names;
    std::vector<std::int64_t> numbers;
    std::vector<const DLTensor *> tensors;
    for (const auto &[name, size] : sizes) {
        size_names.push_back(name);
        numbers.push_back(size);
    }
    for (const auto &[name, value] : values) {
        value_names.push_back(name);
        tensors.push_back(value.get());
    }
    auto choices = init<bp_onnx_choices>();
    choices.size_count = static_cast<int>(numbers.size());
    choices.size_names = size_names.data();
    choices.sizes = numbers.data();
    choices.value_count = static_cast<int>(tensors.size());
    choices.value_names = value_names.data();
    choices.values = tensors.data();
    return bp_graph_from_onnx(made.put(), path, &choices);
}

/* ---- Running: BP_E_ARGUMENT for another number of inputs or outputs than the graph has; bp_last_error() does not
 * change then ---- */

[[nodiscard]] inline bp_status graph_run(const graph &g, const input_list &inputs, const output_list &outputs,
                                         const options *o = nullptr) {
    return detail::has_as_many(g, inputs, outputs) ? bp_graph_run(detail::of(o), g.get(), inputs.data(), outputs.data())
                                                   : BP_E_ARGUMENT;
}
[[nodiscard]] inline bp_status graph_plan(plan &made, const graph &g, const input_list &inputs,
                                          const output_list &outputs, const options *o = nullptr) {
    bp_plan **const to = made.put();
    return detail::has_as_many(g, inputs, outputs)
               ? bp_graph_plan(to, detail::of(o), g.get(), inputs.data(), outputs.data())
               : BP_E_ARGUMENT;
}
[[nodiscard]] inline bp_status graph_explain(explanation &made, const graph &g, const input_list &inputs,
                                             const output_list &outputs, const options *o = nullptr) {
    bp_explanation **const to = made.put();
    return detail::has_as_many(g, inputs, outputs)
               ? bp_graph_explain(to, detail::of(o), g.get(), inputs.data(), outputs.data())
               : BP_E_ARGUMENT;
}

} // namespace nothrow

#if defined(BACKPLANE_NO_EXCEPTIONS)
[[nodiscard]] inline bp_status graph_run(const graph &g, const input_list &inputs, const output_list &outputs,
                                         const options *o = nullptr) {
    return nothrow::graph_run(g, inputs, outputs, o);
}
#else
inline void graph_run(const graph &g, const input_list &inputs, const output_list &outputs,
                      const options *o = nullptr) {
    detail::check_lists(g, inputs, outputs);
    check(nothrow::graph_run(g, inputs, outputs, o));
}
[[nodiscard]] inline plan graph_plan(const graph &g, const input_list &inputs, const output_list &outputs,
                                     const options *o = nullptr) {
    plan made;
    detail::check_lists(g, inputs, outputs);
    check(nothrow::graph_plan(made, g, inputs, outputs, o));
    return made;
}
[[nodiscard]] inline explanation graph_explain(const graph &g, const input_list &inputs, const output_list &outputs,
                                               const options *o = nullptr) {
    explanation made;
    detail::check_lists(g, inputs, outputs);
    check(nothrow::graph_explain(made, g, inputs, outputs, o));
    return made;
}
#endif
BACKPLANE_MAKER(const_view, weights_view, (const weights &file, const char *tensor), (made, file, tensor))
BACKPLANE_MAKER(std::string, graph_text, (const graph &g), (made, g))
BACKPLANE_MAKER(value_shape, graph_shape, (const graph &g, bp_value value), (made, g, value))
BACKPLANE_MAKER(graph, graph_from_onnx, (const char *path, onnx_sizes sizes = {}, onnx_values values = {}),
                (made, path, sizes, values))
#if !defined(BACKPLANE_NO_EXCEPTIONS)
[[nodiscard]] inline std::array<unsigned char, 32> graph_hash(const graph &g) {
    std::array<unsigned char, 32> made{};
    check(nothrow::graph_hash(made, g));
    return made;
}
#endif

} // namespace backplane

#endif
