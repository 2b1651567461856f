/* rnn.h - computes one recurrent layer (RNN, LSTM or GRU), in one direction or in both, and its gradients, with the
 * formulas of torch.nn.RNN, LSTM and GRU, and of Cho et al. (2014).
 *
 * Sizes: T steps, N items, I columns of the input, H hidden units, D directions, and P columns of the output for each
 * direction: H, or with a projection the rows of weight_hr. G is the number of gates: RNN 1, LSTM 4, GRU 3.
 *
 *     input                            T x N x I
 *     weight_ih, weight_hh             D x G*H x I, D x G*H x P
 *     bias_ih, bias_hh                 D x G*H, both optional
 *     weight_hr                        D x P x H: projection, only LSTM, optional
 *     initial_hidden, initial_cell     D x N x P, D x N x H (only LSTM); absent ones are 0
 *     output                           T x N x D*P: direction d has columns d*P to d*P + P - 1
 *     final_hidden, final_cell         D x N x P, D x N x H (only LSTM), optional
 *     lengths                          N numbers of type I64, from 0 to T, in any order; absent: all are T
 *     reserve                          what BACKWARD needs of TRAINING; bp_rnn_shape() reports its shape
 *
 * If D is 1, tensors that begin with D may lack this dimension. Gradients have the shapes of their tensors. For an
 * input whose first dimension is N pass a view with exchanged dimensions.
 *
 * With x the input of a step, h and c the states before it, and a matrix of weights cut into G blocks of H rows:
 *
 *     RNN_TANH, RNN_RELU    h' = f(W_ih x + b_ih + W_hh h + b_hh), with f the hyperbolic tangent, or max(., 0)
 *     LSTM                  blocks i, f, g, o; each is W_ih x + b_ih + W_hh h + b_hh, and s the logistic function
 *                           c' = s(f) c + s(i) tanh(g),  h' = s(o) tanh(c'), with a projection W_hr (s(o) tanh(c'))
 *     GRU                   blocks r, z, n
 *                           r = s(W_ir x + b_ir + W_hr h + b_hr), z likewise
 *                           n = tanh(W_in x + b_in + r (W_hn h + b_hn)),  h' = (1 - z) n + z h
 *     GRU, reset_before     the same with n = tanh(W_in x + b_in + W_hn (r h) + b_hn), as in Cho et al. (2014): the GRU
 *                           of Keras with reset_after=False, and of ONNX with linear_before_reset = 0. A step has two
 *                           products in sequence. Layers that were trained with one form do not run with the other
 *
 * Direction 0 takes the steps in ascending order, direction 1 in descending order. With `reverse` there is one
 * direction, which takes them in descending order. With `lengths`, item n has lengths[n] steps: later ones of its input
 * are not read (BACKWARD in F32 and F64), or do not reach any result, its output there is 0, the final states are
 * those after its last step, and the descending direction begins at its last step. A stack of layers is a sequence of
 * calls: the output of one is the input of the next. One step of a stream is a call with T = 1, whose initial states
 * are the final states of the step before, in other memory.
 *
 * INFERENCE computes output and final states, TRAINING also writes `reserve`. BACKWARD computes gradients of a loss
 * from output_gradient, final_hidden_gradient and final_cell_gradient, where absent ones count as 0, and from output
 * and reserve as TRAINING wrote them. Gradients that are NULL are not computed. RNN_TANH and RNN_RELU have no reserve:
 * it has no columns, and may be NULL. The content of `reserve` is private to the provider that wrote it.
 *
 * Element types: F16, BF16, F32 and F64, the same for all tensors but `lengths`, and `reserve`, which is F32 for F16
 * and BF16. A call in F16 or BF16 computes in F32, and rounds each element of its results once, to nearest even: the
 * states between its steps are not rounded. So an element has the error of F32 and half a unit in the last place of its
 * type. BACKWARD reads the rounded output. Tensors may have any strides, but `reserve` must be compact. The written
 * tensors must not overlap the others or themselves (BP_E_OVERLAP). The relative errors of tanh and of the logistic
 * function are below 6 roundings on `native` and below 8 on oneDNN, a rounding being half the distance of the numbers
 * next to 1, unless the result is denormal. On `native`, and on every provider that `deterministic=threads` permits,
 * results do not depend on the number of threads, and results of an item do not depend on other items. The plan of
 * INFERENCE and TRAINING can pack weight_ih, weight_hh and weight_hr (operands 1 to 3, bp_plan_pack()).
 *
 * All functions are thread-safe. Plans are kept in the plan cache.
 *
 * Errors of all functions: BP_E_ARGUMENT (NULL; directions other than 1 and 2, or 2 with reverse; reset_before of
 * another cell than GRU; a tensor that the pass or the mode does not have; a length outside 0 to T, found when the call
 * runs, before it writes), BP_E_SHAPE, BP_E_DTYPE, BP_E_DEVICE, BP_E_LAYOUT (an address that is not aligned for its
 * type; a reserve that is not compact), BP_E_OVERLAP, BP_E_OVERFLOW, BP_E_NO_CANDIDATE, BP_E_FALLBACK, BP_E_NO_MEMORY,
 * BP_E_CANCELLED (interrupt.h).
 */
#ifndef BACKPLANE_RNN_H
#define BACKPLANE_RNN_H

#include "backplane/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a call computes, and the operands of its plan. */
typedef enum bp_rnn_pass {
    BP_RNN_INFERENCE, /* {input, weight_ih, weight_hh, weight_hr, bias_ih, bias_hh, initial_hidden, initial_cell,
                       * lengths, output, final_hidden, final_cell, reserve}, with reserve {NULL, 0} */
    BP_RNN_TRAINING,  /* the same */
    BP_RNN_BACKWARD   /* {output_gradient, final_hidden_gradient, final_cell_gradient, input, weight_ih, weight_hh,
                       * weight_hr, initial_hidden, initial_cell, lengths, output, reserve, input_gradient,
                       * initial_hidden_gradient, initial_cell_gradient, weight_ih_gradient, weight_hh_gradient,
                       * weight_hr_gradient, bias_ih_gradient, bias_hh_gradient} */
} bp_rnn_pass;

/* One call; its tensors are in the order of bp_rnn_tensor. Members that are 0 or NULL are absent. All passes need
 * input, weight_ih, weight_hh and output; TRAINING and BACKWARD of LSTM and GRU also need reserve. BACKWARD has neither
 * biases nor final states. */
typedef struct bp_rnn_call {
    size_t struct_size; /* sizeof(bp_rnn_call) */
    bp_rnn_pass pass;
    bp_rnn_mode mode; /* problems.h */
    int directions;   /* 1 or 2; 0: 1 */
    int reverse;      /* the one direction takes the steps in descending order */
    const DLTensor *input, *weight_ih, *weight_hh, *weight_hr, *bias_ih, *bias_hh;
    const DLTensor *initial_hidden, *initial_cell, *lengths;
    DLTensor *output, *final_hidden, *final_cell, *reserve; /* BACKWARD reads output and reserve */
    const DLTensor *output_gradient, *final_hidden_gradient, *final_cell_gradient;
    DLTensor *input_gradient, *initial_hidden_gradient, *initial_cell_gradient;
    DLTensor *weight_ih_gradient, *weight_hh_gradient, *weight_hr_gradient;
    DLTensor *bias_ih_gradient, *bias_hh_gradient;
    int reset_before; /* GRU: r is multiplied by h before the product with W_hn */
} bp_rnn_call;

/* Run, plan or explain a call, with settings for this call (NULL: none). For planning and explaining, data pointers may
 * be NULL. Release a plan with bp_plan_release(), an explanation with bp_explanation_release(). */
BP_API bp_status bp_rnn_run(const bp_options *options, const bp_rnn_call *call);
BP_API bp_status bp_rnn_plan(bp_plan **plan, const bp_options *options, const bp_rnn_call *call);
BP_API bp_status bp_rnn_explain(bp_explanation **explanation, const bp_options *options, const bp_rnn_call *call);

/* Returns the element type and shape of a tensor of the call, from pass, mode, directions, input, weight_ih, weight_hh
 * and weight_hr: BP_RNN_OUTPUT, BP_RNN_FINAL_HIDDEN, BP_RNN_FINAL_CELL, BP_RNN_RESERVE or any other (problems.h).
 * `shape` is an array of BP_MAX_NDIM elements. */
BP_API bp_status bp_rnn_shape(const bp_rnn_call *call, bp_rnn_tensor which, bp_dtype *dtype, int *ndim, int64_t *shape);

#ifdef __cplusplus
}
#endif

#endif
