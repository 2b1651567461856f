/* layers.hpp - the operations of backplane.hpp that neural networks are made of, which operations.hpp includes: calls
 * that take a struct, layers in one line, functions of elements, reductions. */
#include "backplane.hpp" /* it includes this file, after the macros which are used here */

#ifndef BACKPLANE_LAYERS_HPP
#define BACKPLANE_LAYERS_HPP

namespace backplane {

/* Calls that take a struct: conv_run(), conv_plan(), conv_explain() of conv.h, and so on for each name of BP_CALL_MAP
 * (calls.h). The call names its tensors: call.input = input.get(). */
#define BACKPLANE_CALL(name)                                                                                           \
    BACKPLANE_FUNCTION(name##_run, (const bp_##name##_call &call, const options *o = nullptr),                         \
                       bp_##name##_run(detail::of(o), &call))                                                          \
    BACKPLANE_OBJECT(plan, name##_plan, (const bp_##name##_call &call, const options *o = nullptr), (made, call, o),   \
                     bp_##name##_plan(made.put(), detail::of(o), &call))                                               \
    BACKPLANE_OBJECT(explanation, name##_explain, (const bp_##name##_call &call, const options *o = nullptr),          \
                     (made, call, o), bp_##name##_explain(made.put(), detail::of(o), &call))
BP_CALL_MAP(BACKPLANE_CALL)
#undef BACKPLANE_CALL

/* ---- Layers in one line: the short forms of linear.h, conv.h, norm.h and attention.h ---- */

/* An input that may be absent: nullptr, or whatever is a const_view. It is for arguments only. */
class optional_view {
  public:
    optional_view(std::nullptr_t) noexcept {
    }
    optional_view(const const_view &given) noexcept : tensor_(given.get()) {
    }
    template <class T, class = std::enable_if_t<std::is_convertible_v<T &&, const_view> &&
                                                !std::is_base_of_v<const_view, std::decay_t<T>>>>
    optional_view(T &&given) : made_(std::in_place, std::forward<T>(given)), tensor_(made_->get()) {
    }
    optional_view(const optional_view &) = delete;
    optional_view &operator=(const optional_view &) = delete;

    const DLTensor *get() const noexcept {
        return tensor_;
    }

  private:
    std::optional<const_view> made_;
    const DLTensor *tensor_ = nullptr;
};

namespace detail {

/* The library is told how many numbers `stride` and `padding` have, and refuses another number than the weight has
 * dimensions. */
inline bp_status conv(const const_view &input, const const_view &weight, const optional_view &bias, const view &output,
                      const extents &stride, const extents &padding, const options *o) noexcept {
    auto call = init<bp_conv_call>();
    const int dimensions = weight.ndim() - 2, strides = stride.ndim(), paddings = padding.ndim();
    call.ndim = strides != 0 && strides != dimensions ? strides : paddings != 0 ? paddings : dimensions;
    call.stride = strides == 0 ? nullptr : stride.data();
    call.padding = paddings == 0 ? nullptr : padding.data();
    call.input = input.get();
    call.weight = weight.get();
    call.bias = bias.get();
    call.output = output.get();
    return bp_conv_run(of(o), &call);
}

} // namespace detail

BACKPLANE_SHORT_FORM(linear,
                     (const const_view &input, const const_view &weight, const optional_view &bias, const view &output),
                     bp_linear(input.get(), weight.get(), bias.get(), output.get()))
/* `stride` and `padding` have a number for each dimension of the weight but two; {}: 1, and 0. */
BACKPLANE_FUNCTION(conv,
                   (const const_view &input, const const_view &weight, const optional_view &bias, const view &output,
                    const extents &stride = {}, const extents &padding = {}, const options *o = nullptr),
                   detail::conv(input, weight, bias, output, stride, padding, o))
BACKPLANE_SHORT_FORM(layer_norm,
                     (const const_view &input, const optional_view &weight, const optional_view &bias, double eps,
                      const view &output),
                     bp_layer_norm(input.get(), weight.get(), bias.get(), eps, output.get()))
BACKPLANE_SHORT_FORM(rms_norm, (const const_view &input, const optional_view &weight, double eps, const view &output),
                     bp_rms_norm(input.get(), weight.get(), eps, output.get()))
BACKPLANE_SHORT_FORM(batch_norm,
                     (const const_view &input, const const_view &running_mean, const const_view &running_var,
                      const optional_view &weight, const optional_view &bias, double eps, const view &output),
                     bp_batch_norm(input.get(), running_mean.get(), running_var.get(), weight.get(), bias.get(), eps,
                                   output.get()))
BACKPLANE_SHORT_FORM(attention,
                     (const const_view &query, const const_view &key, const const_view &value,
                      const optional_view &mask, detail::flag is_causal, const view &output),
                     bp_attention(query.get(), key.get(), value.get(), mask.get(), is_causal, output.get()))

/* Defines name_run(), name_plan() and name_explain() of an operation whose function takes its tensors. */
#define BACKPLANE_OPERATION(name, parameters, tensors, names)                                                          \
    BACKPLANE_FUNCTION(name##_run, (BACKPLANE_LIST parameters, const options *o = nullptr),                            \
                       bp_##name##_run(detail::of(o), BACKPLANE_LIST tensors))                                         \
    BACKPLANE_OBJECT(plan, name##_plan, (BACKPLANE_LIST parameters, const options *o = nullptr),                       \
                     (made, BACKPLANE_LIST names, o),                                                                  \
                     bp_##name##_plan(made.put(), detail::of(o), BACKPLANE_LIST tensors))                              \
    BACKPLANE_OBJECT(explanation, name##_explain, (BACKPLANE_LIST parameters, const options *o = nullptr),             \
                     (made, BACKPLANE_LIST names, o),                                                                  \
                     bp_##name##_explain(made.put(), detail::of(o), BACKPLANE_LIST tensors))

/* Operations on single elements: see elementwise.h. */
BACKPLANE_OPERATION(unary, (bp_unary_kind kind, const const_view &input, const view &output),
                    (kind, input.get(), output.get()), (kind, input, output))
BACKPLANE_OPERATION(unary_with,
                    (bp_unary_kind kind, int number_count, const double *numbers, const const_view &input,
                     const view &output),
                    (kind, number_count, numbers, input.get(), output.get()),
                    (kind, number_count, numbers, input, output))
BACKPLANE_OPERATION(binary, (bp_binary_kind kind, const const_view &a, const const_view &b, const view &output),
                    (kind, a.get(), b.get(), output.get()), (kind, a, b, output))
BACKPLANE_OPERATION(where, (const const_view &condition, const const_view &a, const const_view &b, const view &output),
                    (condition.get(), a.get(), b.get(), output.get()), (condition, a, b, output))
BACKPLANE_OPERATION(take, (const const_view &input, const const_view &indices, int axis, const view &output),
                    (input.get(), indices.get(), axis, output.get()), (input, indices, axis, output))
BACKPLANE_OPERATION(gather, (const const_view &input, const const_view &indices, int axis, const view &output),
                    (input.get(), indices.get(), axis, output.get()), (input, indices, axis, output))
BACKPLANE_FUNCTION(concat_run,
                   (std::initializer_list<const_view> tensors, int axis, const view &output,
                    const options *o = nullptr),
                   detail::concat(detail::operand_list(tensors), axis, output, o))

/* Reductions and softmax: see reduce.h. With axis_count 0 and axes nullptr, all dimensions are reduced. */
BACKPLANE_OPERATION(reduce,
                    (bp_reduce_kind kind, const const_view &input, int axis_count, const int *axes, bool keep,
                     const view &output),
                    (kind, input.get(), axis_count, axes, keep, output.get()),
                    (kind, input, axis_count, axes, keep, output))
BACKPLANE_OPERATION(variance,
                    (bp_variance_kind kind, const const_view &input, int axis_count, const int *axes, double correction,
                     bool keep, const view &output),
                    (kind, input.get(), axis_count, axes, correction, keep, output.get()),
                    (kind, input, axis_count, axes, correction, keep, output))
BACKPLANE_OPERATION(softmax, (bp_softmax_kind kind, const const_view &input, int axis, const view &output),
                    (kind, input.get(), axis, output.get()), (kind, input, axis, output))
BACKPLANE_OPERATION(softmax_backward,
                    (bp_softmax_kind kind, const const_view &output, const const_view &output_gradient, int axis,
                     const view &input_gradient),
                    (kind, output.get(), output_gradient.get(), axis, input_gradient.get()),
                    (kind, output, output_gradient, axis, input_gradient))

/* Padding, flips and rolls: see pad.h. */
BACKPLANE_OPERATION(pad,
                    (bp_pad_mode mode, const const_view &input, int ndim, const std::int64_t *before,
                     const std::int64_t *after, double value, const view &output),
                    (mode, input.get(), ndim, before, after, value, output.get()),
                    (mode, input, ndim, before, after, value, output))
BACKPLANE_OPERATION(flip, (const const_view &input, int axis_count, const int *axes, const view &output),
                    (input.get(), axis_count, axes, output.get()), (input, axis_count, axes, output))
BACKPLANE_OPERATION(roll,
                    (const const_view &input, int axis_count, const int *axes, const std::int64_t *shifts,
                     const view &output),
                    (input.get(), axis_count, axes, shifts, output.get()), (input, axis_count, axes, shifts, output))

#undef BACKPLANE_OPERATION

} // namespace backplane

#endif
