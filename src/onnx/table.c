/* table.c - the operators of ONNX that are supported, one row for each form that an operator has had.
 *
 * An operator that is one call is a row alone: the call, and its fields, in which {name:number} is an attribute with
 * its usual value. Others have a function (convert_*.c), for which `call` and `fields` are words that choose what
 * it does. Versions of an operator that differ in types only, or in what is refused anyway, share a row. */
#include "onnx/read.h"

#include <string.h>

/* operator, opsets, inputs, function, call, fields */
#define ROW(operation, since, until, least, most, convert, call, fields)                                               \
    { #operation, since, until, least, most, bp__onnx_convert_##convert, call, fields }
#define UNARY(operation, since, kind) ROW(operation, since, 0, 1, 1, unary, kind, NULL)
#define FUNCTION(operation, since, fields) ROW(operation, since, 0, 1, 1, call, "unary", fields)
#define BINARY(operation, since, kind) ROW(operation, since, 0, 2, 2, binary, kind, NULL)
/* A reduction: of `before` each element, and then `after`. Since opset 18 (ReduceSum: 13) axes are an input. */
#define REDUCE(operation, inputs_since, before, kind, after)                                                           \
    ROW(operation, 1, (inputs_since)-1, 1, 1, reduce, kind, before "," after),                                         \
        ROW(operation, inputs_since, 0, 1, 2, reduce, kind, before "," after)

/* clang-format off */
static const bp__onnx_row rows[] = {
    /* Functions of one element */
    UNARY(Abs, 1, "abs"), UNARY(Acos, 7, "acos"), UNARY(Acosh, 9, "acosh"), UNARY(Asin, 7, "asin"),
    UNARY(Asinh, 9, "asinh"), UNARY(Atan, 7, "atan"), UNARY(Atanh, 9, "atanh"), UNARY(BitwiseNot, 18, "bitwise_invert"),
    UNARY(Ceil, 1, "ceil"), UNARY(Cos, 7, "cos"), UNARY(Cosh, 9, "cosh"), UNARY(Erf, 9, "erf"), UNARY(Exp, 1, "exp"),
    UNARY(Floor, 1, "floor"), UNARY(HardSwish, 14, "hardswish"), UNARY(IsNaN, 9, "isnan"), UNARY(Log, 1, "log"),
    UNARY(Mish, 18, "mish"), UNARY(Neg, 1, "negative"), UNARY(Not, 1, "logical_not"),
    UNARY(Reciprocal, 1, "reciprocal"), UNARY(Relu, 1, "relu"), UNARY(Round, 11, "round"),
    UNARY(Sigmoid, 1, "sigmoid"), UNARY(Sign, 9, "sign"), UNARY(Sin, 7, "sin"), UNARY(Sinh, 9, "sinh"),
    UNARY(Softsign, 1, "softsign"), UNARY(Sqrt, 1, "sqrt"), UNARY(Tan, 7, "tan"), UNARY(Tanh, 1, "tanh"),
    FUNCTION(Elu, 1, "kind=elu, first={alpha:1.0}"),
    FUNCTION(LeakyRelu, 1, "kind=leaky_relu, first={alpha:0.01}"),
    FUNCTION(Softplus, 1, "kind=softplus, first=1, second=40"), /* above, exp(-x) is below half a unit of f64 */
    FUNCTION(ThresholdedRelu, 10, "kind=threshold, first={alpha:1.0}, second=0"),
    ROW(Celu, 12, 0, 1, 1, celu, NULL, NULL),
    ROW(Clip, 6, 10, 1, 1, clip, NULL, NULL),
    ROW(Clip, 11, 0, 1, 3, clip, NULL, NULL),
    ROW(Gelu, 20, 0, 1, 1, gelu, NULL, NULL),
    ROW(HardSigmoid, 1, 0, 1, 1, hard_sigmoid, NULL, NULL),
    ROW(IsInf, 10, 0, 1, 1, isinf, NULL, NULL),
    ROW(PRelu, 7, 0, 2, 2, prelu, NULL, NULL),
    ROW(Selu, 6, 0, 1, 1, selu, NULL, NULL),
    ROW(Shrink, 9, 0, 1, 1, shrink, NULL, NULL),
    ROW(SwiGLU, 28, 0, 2, 2, swiglu, NULL, NULL),
    ROW(Swish, 24, 0, 1, 1, swish, NULL, NULL),
    ROW(Cast, 6, 0, 1, 1, cast, NULL, NULL),
    ROW(CastLike, 15, 0, 2, 2, cast_like, NULL, NULL),
    ROW(DequantizeLinear, 10, 0, 2, 3, dequantize, NULL, NULL),
    ROW(DynamicQuantizeLinear, 11, 0, 1, 1, dynamic_quantize, NULL, NULL),
    ROW(QuantizeLinear, 10, 0, 2, 3, quantize, NULL, NULL),

    /* Functions of two and more elements */
    BINARY(Add, 7, "add"), BINARY(Sub, 7, "subtract"), BINARY(Mul, 7, "multiply"), BINARY(And, 7, "logical_and"),
    BINARY(Or, 7, "logical_or"), BINARY(Xor, 7, "logical_xor"), BINARY(Equal, 7, "equal"), BINARY(Less, 7, "less"),
    BINARY(Greater, 7, "greater"), BINARY(LessOrEqual, 12, "less_equal"), BINARY(GreaterOrEqual, 12, "greater_equal"),
    BINARY(BitwiseAnd, 18, "bitwise_and"), BINARY(BitwiseOr, 18, "bitwise_or"), BINARY(BitwiseXor, 18, "bitwise_xor"),
    ROW(BitShift, 11, 0, 2, 2, bit_shift, NULL, NULL),
    ROW(Div, 7, 0, 2, 2, divide, NULL, NULL),
    ROW(Mod, 10, 0, 2, 2, mod, NULL, NULL),
    ROW(Pow, 7, 0, 2, 2, pow, NULL, NULL),
    ROW(Where, 9, 0, 3, 3, where, NULL, NULL),
    ROW(Max, 8, 0, 1, -1, variadic, "maximum", NULL),
    ROW(Min, 8, 0, 1, -1, variadic, "minimum", NULL),
    ROW(Sum, 8, 0, 1, -1, variadic, "add", NULL),
    ROW(Mean, 8, 0, 1, -1, variadic, "add", "mean"),

    /* Products */
    ROW(Einsum, 12, 0, 1, -1, einsum, NULL, NULL),
    ROW(Gemm, 7, 10, 3, 3, gemm, NULL, NULL),
    ROW(Gemm, 11, 0, 2, 3, gemm, NULL, NULL),
    ROW(MatMul, 1, 0, 2, 2, matmul, NULL, NULL),
    ROW(MatMulInteger, 10, 0, 2, 4, matmul_integer, NULL, NULL),
    ROW(QLinearMatMul, 10, 0, 8, 8, qlinear_matmul, NULL, NULL),
    ROW(Det, 11, 0, 1, 1, call, "det", " "),

    /* Convolutions and pooling */
    ROW(AveragePool, 7, 0, 1, 1, average_pool, NULL, NULL),
    ROW(Conv, 1, 0, 2, 3, conv, NULL, NULL),
    ROW(ConvInteger, 10, 0, 2, 4, conv_integer, NULL, NULL),
    ROW(ConvTranspose, 1, 0, 2, 3, conv_transpose, NULL, NULL),
    ROW(GlobalAveragePool, 1, 0, 1, 1, global_pool, "mean", NULL),
    ROW(GlobalMaxPool, 1, 0, 1, 1, global_pool, "max", NULL),
    ROW(MaxPool, 1, 0, 1, 1, max_pool, NULL, NULL),
    ROW(QLinearConv, 10, 0, 8, 9, qlinear_conv, NULL, NULL),

    /* Normalization and softmax */
    ROW(BatchNormalization, 7, 0, 5, 5, batch_norm, NULL, NULL),
    ROW(GroupNormalization, 18, 20, 3, 3, group_norm, NULL, "groups"),
    ROW(GroupNormalization, 21, 0, 3, 3, group_norm, NULL, NULL),
    ROW(InstanceNormalization, 6, 0, 3, 3, instance_norm, NULL, NULL),
    ROW(LayerNormalization, 17, 0, 2, 3, layer_norm, NULL, NULL),
    ROW(LpNormalization, 1, 0, 1, 1, lp_norm, NULL, NULL),
    ROW(LRN, 1, 0, 1, 1, lrn, NULL, NULL),
    ROW(MeanVarianceNormalization, 9, 0, 1, 1, mvn, NULL, NULL),
    ROW(RMSNormalization, 23, 0, 2, 2, rms_norm, NULL, NULL),
    ROW(LogSoftmax, 1, 12, 1, 1, softmax, "log_softmax", "rows"),
    ROW(LogSoftmax, 13, 0, 1, 1, softmax, "log_softmax", NULL),
    ROW(Softmax, 1, 12, 1, 1, softmax, "softmax", "rows"),
    ROW(Softmax, 13, 0, 1, 1, softmax, "softmax", NULL),

    /* Attention and recurrent layers */
    ROW(Attention, 23, 23, 3, 6, attention, NULL, NULL),
    ROW(Attention, 24, 0, 3, 7, attention, NULL, NULL),
    ROW(GRU, 7, 0, 3, 6, rnn, "gru", NULL),
    ROW(LSTM, 7, 0, 3, 8, rnn, "lstm", NULL),
    ROW(RNN, 7, 0, 3, 6, rnn, "rnn_tanh", NULL),
    ROW(RotaryEmbedding, 23, 0, 3, 4, rotary_embedding, NULL, NULL),

    /* Reductions */
    REDUCE(ReduceL1, 18, "abs", "sum", ""), REDUCE(ReduceL2, 18, "square", "sum", "sqrt"),
    REDUCE(ReduceLogSum, 18, "", "sum", "log"), REDUCE(ReduceLogSumExp, 18, "", "logsumexp", ""),
    REDUCE(ReduceMax, 18, "", "max", ""), REDUCE(ReduceMean, 18, "", "mean", ""), REDUCE(ReduceMin, 18, "", "min", ""),
    REDUCE(ReduceProd, 18, "", "prod", ""), REDUCE(ReduceSum, 13, "", "sum", ""),
    REDUCE(ReduceSumSquare, 18, "square", "sum", ""),
    ROW(ArgMax, 1, 0, 1, 1, argmax, "argmax", NULL),
    ROW(Hardmax, 13, 0, 1, 1, hardmax, NULL, NULL),
    ROW(ArgMin, 1, 0, 1, 1, argmax, "argmin", NULL),
    ROW(CumSum, 11, 0, 2, 2, cumsum, NULL, NULL),

    /* Shapes, parts and places of elements */
    ROW(CenterCropPad, 18, 0, 2, 2, center_crop_pad, NULL, NULL),
    ROW(Compress, 9, 0, 2, 2, compress, NULL, NULL),
    ROW(Concat, 4, 0, 1, -1, concat, NULL, NULL),
    ROW(DepthToSpace, 1, 0, 1, 1, depth_to_space, NULL, NULL),
    ROW(Expand, 8, 0, 2, 2, expand, NULL, NULL),
    ROW(Flatten, 1, 0, 1, 1, flatten, NULL, NULL),
    ROW(Gather, 1, 0, 2, 2, gather, NULL, NULL),
    ROW(GatherElements, 11, 0, 2, 2, gather_elements, NULL, NULL),
    ROW(GatherND, 11, 0, 2, 2, gather_nd, NULL, NULL),
    ROW(NonZero, 9, 0, 1, 1, non_zero, NULL, NULL),
    ROW(OneHot, 9, 0, 3, 3, one_hot, NULL, NULL),
    ROW(Pad, 2, 10, 1, 1, pad, NULL, NULL),
    ROW(Pad, 11, 0, 2, 4, pad, NULL, NULL),
    ROW(Reshape, 5, 0, 2, 2, reshape, NULL, NULL),
    ROW(Resize, 10, 10, 2, 2, resize, NULL, "scales"),
    ROW(Resize, 11, 0, 1, 4, resize, NULL, NULL),
    ROW(ReverseSequence, 10, 0, 2, 2, reverse_sequence, NULL, NULL),
    ROW(Scatter, 9, 10, 3, 3, scatter_elements, NULL, NULL),
    ROW(ScatterElements, 11, 0, 3, 3, scatter_elements, NULL, NULL),
    ROW(ScatterND, 11, 0, 3, 3, scatter_nd, NULL, NULL),
    ROW(Slice, 1, 9, 1, 1, slice, NULL, NULL),
    ROW(Slice, 10, 0, 3, 5, slice, NULL, NULL),
    ROW(SpaceToDepth, 1, 0, 1, 1, space_to_depth, NULL, NULL),
    ROW(Split, 2, 12, 1, 1, split, NULL, NULL),
    ROW(Split, 13, 0, 1, 2, split, NULL, NULL),
    ROW(Squeeze, 1, 12, 1, 1, squeeze, NULL, NULL),
    ROW(Squeeze, 13, 0, 1, 2, squeeze, NULL, NULL),
    ROW(TensorScatter, 24, 0, 2, 3, tensor_scatter, NULL, NULL),
    ROW(Tile, 6, 0, 2, 2, tile, NULL, NULL),
    ROW(Transpose, 1, 0, 1, 1, transpose, NULL, NULL),
    ROW(Trilu, 14, 0, 1, 2, trilu, NULL, NULL),
    ROW(Upsample, 9, 9, 2, 2, resize, NULL, "scales"),
    ROW(Unsqueeze, 1, 12, 1, 1, unsqueeze, NULL, NULL),
    ROW(Unsqueeze, 13, 0, 2, 2, unsqueeze, NULL, NULL),

    /* Constants, sizes and control flow */
    ROW(Constant, 1, 0, 0, 0, constant, NULL, NULL),
    ROW(ConstantOfShape, 9, 0, 1, 1, constant_of_shape, NULL, NULL),
    ROW(Dropout, 7, 11, 1, 1, dropout, NULL, NULL),
    ROW(Dropout, 12, 0, 1, 3, dropout, NULL, NULL),
    ROW(EyeLike, 9, 0, 1, 1, eye_like, NULL, NULL),
    ROW(Identity, 1, 0, 1, 1, identity, NULL, NULL),
    ROW(If, 1, 0, 1, 1, if, NULL, NULL),
    ROW(Range, 11, 0, 3, 3, range, NULL, NULL),
    ROW(Shape, 1, 0, 1, 1, shape, NULL, NULL),
    ROW(Size, 1, 0, 1, 1, size, NULL, NULL),
};
/* clang-format on */

const bp__onnx_row *bp__onnx_row_of(bp__bytes operation, int64_t opset, const bp__onnx_row **other) {
    *other = NULL;
    for (int i = 0; i < BP__COUNT(rows); i++) {
        if (!bp__bytes_are(operation, rows[i].operation)) {
            continue;
        }
        if (opset >= rows[i].since && (rows[i].until == 0 || opset <= rows[i].until)) {
            return &rows[i];
        }
        *other = *other ? *other : &rows[i];
    }
    return NULL;
}

const bp__onnx_row *bp__onnx_row_at(int index) {
    return index >= 0 && index < BP__COUNT(rows) ? &rows[index] : NULL;
}
