"""Types of backplane.nn.functional. Written by tools/function_stubs.py from the signatures (make docs)."""

from typing import Any, Literal, Optional, overload, Sequence, Tuple, Union
from ._packed import PackedSequence
from .._types import (
    Activation, Array, Buffer, CausalBias, DType, NDArray, Nested, Numbers, Operand, Own, Packed, Padding, Parameters, Plain, Same,
    Seed, SettingsArgument, Shape, Sizes, State, States, Tensor, Written
)

__all__ = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm", "celu", "conv1d", "conv2d", "conv3d",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "elu", "embedding", "gelu", "group_norm", "gru", "hardshrink",
    "hardsigmoid", "hardswish", "hardtanh", "instance_norm", "layer_norm", "leaky_relu", "linear", "log_softmax", "logsigmoid", "lstm",
    "max_pool1d", "max_pool2d", "max_pool3d", "mish", "pad", "relu", "relu6", "rms_norm", "rnn_relu", "rnn_tanh",
    "scaled_dot_product_attention", "selu", "sigmoid", "silu", "softmax", "softplus", "softshrink", "softsign", "tanh", "tanhshrink",
    "threshold"]

@overload
def adaptive_avg_pool1d(input: NDArray[Any], output_size: Sizes, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_avg_pool1d(input: Same, output_size: Sizes, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def adaptive_avg_pool1d(input: Buffer, output_size: Sizes, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def adaptive_avg_pool1d(input: Nested, output_size: Sizes, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_avg_pool1d(input: Operand, output_size: Sizes, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def adaptive_avg_pool2d(input: NDArray[Any], output_size: Sizes, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_avg_pool2d(input: Same, output_size: Sizes, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def adaptive_avg_pool2d(input: Buffer, output_size: Sizes, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def adaptive_avg_pool2d(input: Nested, output_size: Sizes, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_avg_pool2d(input: Operand, output_size: Sizes, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def adaptive_avg_pool3d(input: NDArray[Any], output_size: Sizes, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_avg_pool3d(input: Same, output_size: Sizes, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def adaptive_avg_pool3d(input: Buffer, output_size: Sizes, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def adaptive_avg_pool3d(input: Nested, output_size: Sizes, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_avg_pool3d(input: Operand, output_size: Sizes, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def adaptive_max_pool1d(input: NDArray[Any], output_size: Sizes, return_indices: Literal[False] = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_max_pool1d(input: Same, output_size: Sizes, return_indices: Literal[False] = False, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def adaptive_max_pool1d(input: Buffer, output_size: Sizes, return_indices: Literal[False] = False, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def adaptive_max_pool1d(input: Nested, output_size: Sizes, return_indices: Literal[False] = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_max_pool1d(input: Operand, output_size: Sizes, return_indices: Literal[False] = False, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...
@overload
def adaptive_max_pool1d(input: NDArray[Any], output_size: Sizes, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def adaptive_max_pool1d(input: Same, output_size: Sizes, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[Same, Same]: ...
@overload
def adaptive_max_pool1d(input: Buffer, output_size: Sizes, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool1d(input: Nested, output_size: Sizes, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def adaptive_max_pool1d(input: Operand, output_size: Sizes, *, out: Written, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[Written, Array]: ...
@overload
def adaptive_max_pool1d(input: NDArray[Any], output_size: Sizes, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any]]]: ...
@overload
def adaptive_max_pool1d(input: Same, output_size: Sizes, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[Same, Tuple[Same, Same]]: ...
@overload
def adaptive_max_pool1d(input: Buffer, output_size: Sizes, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[Tensor, Tuple[Tensor, Tensor]]: ...
@overload
def adaptive_max_pool1d(input: Nested, output_size: Sizes, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any]]]: ...
@overload
def adaptive_max_pool1d(input: Operand, output_size: Sizes, return_indices: bool = False, *, out: Written,
    settings: SettingsArgument = None) -> Union[Written, Tuple[Written, Array]]: ...

@overload
def adaptive_max_pool2d(input: NDArray[Any], output_size: Sizes, return_indices: Literal[False] = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_max_pool2d(input: Same, output_size: Sizes, return_indices: Literal[False] = False, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def adaptive_max_pool2d(input: Buffer, output_size: Sizes, return_indices: Literal[False] = False, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def adaptive_max_pool2d(input: Nested, output_size: Sizes, return_indices: Literal[False] = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_max_pool2d(input: Operand, output_size: Sizes, return_indices: Literal[False] = False, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...
@overload
def adaptive_max_pool2d(input: NDArray[Any], output_size: Sizes, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def adaptive_max_pool2d(input: Same, output_size: Sizes, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[Same, Same]: ...
@overload
def adaptive_max_pool2d(input: Buffer, output_size: Sizes, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool2d(input: Nested, output_size: Sizes, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def adaptive_max_pool2d(input: Operand, output_size: Sizes, *, out: Written, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[Written, Array]: ...
@overload
def adaptive_max_pool2d(input: NDArray[Any], output_size: Sizes, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any]]]: ...
@overload
def adaptive_max_pool2d(input: Same, output_size: Sizes, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[Same, Tuple[Same, Same]]: ...
@overload
def adaptive_max_pool2d(input: Buffer, output_size: Sizes, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[Tensor, Tuple[Tensor, Tensor]]: ...
@overload
def adaptive_max_pool2d(input: Nested, output_size: Sizes, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any]]]: ...
@overload
def adaptive_max_pool2d(input: Operand, output_size: Sizes, return_indices: bool = False, *, out: Written,
    settings: SettingsArgument = None) -> Union[Written, Tuple[Written, Array]]: ...

@overload
def adaptive_max_pool3d(input: NDArray[Any], output_size: Sizes, return_indices: Literal[False] = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_max_pool3d(input: Same, output_size: Sizes, return_indices: Literal[False] = False, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def adaptive_max_pool3d(input: Buffer, output_size: Sizes, return_indices: Literal[False] = False, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def adaptive_max_pool3d(input: Nested, output_size: Sizes, return_indices: Literal[False] = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_max_pool3d(input: Operand, output_size: Sizes, return_indices: Literal[False] = False, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...
@overload
def adaptive_max_pool3d(input: NDArray[Any], output_size: Sizes, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def adaptive_max_pool3d(input: Same, output_size: Sizes, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[Same, Same]: ...
@overload
def adaptive_max_pool3d(input: Buffer, output_size: Sizes, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool3d(input: Nested, output_size: Sizes, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def adaptive_max_pool3d(input: Operand, output_size: Sizes, *, out: Written, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[Written, Array]: ...
@overload
def adaptive_max_pool3d(input: NDArray[Any], output_size: Sizes, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any]]]: ...
@overload
def adaptive_max_pool3d(input: Same, output_size: Sizes, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[Same, Tuple[Same, Same]]: ...
@overload
def adaptive_max_pool3d(input: Buffer, output_size: Sizes, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[Tensor, Tuple[Tensor, Tensor]]: ...
@overload
def adaptive_max_pool3d(input: Nested, output_size: Sizes, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any]]]: ...
@overload
def adaptive_max_pool3d(input: Operand, output_size: Sizes, return_indices: bool = False, *, out: Written,
    settings: SettingsArgument = None) -> Union[Written, Tuple[Written, Array]]: ...

@overload
def avg_pool1d(input: NDArray[Any], kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Optional[int] = None, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def avg_pool1d(input: Same, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Optional[int] = None, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def avg_pool1d(input: Buffer, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Optional[int] = None, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def avg_pool1d(input: Nested, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Optional[int] = None, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def avg_pool1d(input: Operand, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Optional[int] = None, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...

@overload
def avg_pool2d(input: NDArray[Any], kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Optional[int] = None, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def avg_pool2d(input: Same, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Optional[int] = None, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def avg_pool2d(input: Buffer, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Optional[int] = None, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def avg_pool2d(input: Nested, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Optional[int] = None, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def avg_pool2d(input: Operand, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Optional[int] = None, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...

@overload
def avg_pool3d(input: NDArray[Any], kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Optional[int] = None, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def avg_pool3d(input: Same, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Optional[int] = None, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def avg_pool3d(input: Buffer, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Optional[int] = None, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def avg_pool3d(input: Nested, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Optional[int] = None, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def avg_pool3d(input: Operand, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Optional[int] = None, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...

@overload
def batch_norm(input: NDArray[Any], running_mean: Optional[Operand], running_var: Optional[Operand], weight: Optional[Operand] = None,
    bias: Optional[Operand] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05, *, relu: bool = False,
    return_statistics: Literal[False] = False, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def batch_norm(input: Same, running_mean: Optional[Operand], running_var: Optional[Operand], weight: Optional[Operand] = None,
    bias: Optional[Operand] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05, *, relu: bool = False,
    return_statistics: Literal[False] = False, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def batch_norm(input: Buffer, running_mean: Optional[Operand], running_var: Optional[Operand], weight: Optional[Operand] = None,
    bias: Optional[Operand] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05, *, relu: bool = False,
    return_statistics: Literal[False] = False, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def batch_norm(input: Nested, running_mean: Optional[Operand], running_var: Optional[Operand], weight: Optional[Operand] = None,
    bias: Optional[Operand] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05, *, relu: bool = False,
    return_statistics: Literal[False] = False, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def batch_norm(input: Operand, running_mean: Optional[Operand], running_var: Optional[Operand], weight: Optional[Operand] = None,
    bias: Optional[Operand] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05, *, relu: bool = False,
    return_statistics: Literal[False] = False, out: Written, settings: SettingsArgument = None) -> Written: ...
@overload
def batch_norm(input: NDArray[Any], running_mean: Optional[Operand], running_var: Optional[Operand], weight: Optional[Operand] = None,
    bias: Optional[Operand] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05, *, relu: bool = False,
    out: None = None, settings: SettingsArgument = None,
    return_statistics: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def batch_norm(input: Same, running_mean: Optional[Operand], running_var: Optional[Operand], weight: Optional[Operand] = None,
    bias: Optional[Operand] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05, *, relu: bool = False,
    out: None = None, settings: SettingsArgument = None, return_statistics: Literal[True]) -> Tuple[Same, Same, Same]: ...
@overload
def batch_norm(input: Buffer, running_mean: Optional[Operand], running_var: Optional[Operand], weight: Optional[Operand] = None,
    bias: Optional[Operand] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05, *, relu: bool = False,
    out: None = None, settings: SettingsArgument = None, return_statistics: Literal[True]) -> Tuple[Tensor, Tensor, Tensor]: ...
@overload
def batch_norm(input: Nested, running_mean: Optional[Operand], running_var: Optional[Operand], weight: Optional[Operand] = None,
    bias: Optional[Operand] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05, *, relu: bool = False,
    out: None = None, settings: SettingsArgument = None,
    return_statistics: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def batch_norm(input: Operand, running_mean: Optional[Operand], running_var: Optional[Operand], weight: Optional[Operand] = None,
    bias: Optional[Operand] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05, *, relu: bool = False,
    out: Written, settings: SettingsArgument = None, return_statistics: Literal[True]) -> Tuple[Written, Array, Array]: ...
@overload
def batch_norm(input: NDArray[Any], running_mean: Optional[Operand], running_var: Optional[Operand], weight: Optional[Operand] = None,
    bias: Optional[Operand] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05, *, relu: bool = False,
    return_statistics: bool = False, out: None = None,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]: ...
@overload
def batch_norm(input: Same, running_mean: Optional[Operand], running_var: Optional[Operand], weight: Optional[Operand] = None,
    bias: Optional[Operand] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05, *, relu: bool = False,
    return_statistics: bool = False, out: None = None, settings: SettingsArgument = None) -> Union[Same, Tuple[Same, Same, Same]]: ...
@overload
def batch_norm(input: Buffer, running_mean: Optional[Operand], running_var: Optional[Operand], weight: Optional[Operand] = None,
    bias: Optional[Operand] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05, *, relu: bool = False,
    return_statistics: bool = False, out: None = None,
    settings: SettingsArgument = None) -> Union[Tensor, Tuple[Tensor, Tensor, Tensor]]: ...
@overload
def batch_norm(input: Nested, running_mean: Optional[Operand], running_var: Optional[Operand], weight: Optional[Operand] = None,
    bias: Optional[Operand] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05, *, relu: bool = False,
    return_statistics: bool = False, out: None = None,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]: ...
@overload
def batch_norm(input: Operand, running_mean: Optional[Operand], running_var: Optional[Operand], weight: Optional[Operand] = None,
    bias: Optional[Operand] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05, *, relu: bool = False,
    return_statistics: bool = False, out: Written, settings: SettingsArgument = None) -> Union[Written, Tuple[Written, Array, Array]]: ...

@overload
def celu(input: NDArray[Any], alpha: float = 1.0, inplace: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def celu(input: Same, alpha: float = 1.0, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def celu(input: Buffer, alpha: float = 1.0, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def celu(input: Nested, alpha: float = 1.0, inplace: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def celu(input: Operand, alpha: float = 1.0, inplace: bool = False, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def conv1d(input: NDArray[Any], weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv1d(input: Plain, weight: NDArray[Any], bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv1d(input: Plain, weight: Plain, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0, dilation: Numbers = 1,
    groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def conv1d(input: Plain, weight: Same, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0, dilation: Numbers = 1,
    groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def conv1d(input: Plain, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Array: ...
@overload
def conv1d(input: Same, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0, dilation: Numbers = 1,
    groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def conv1d(input: Nested, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv1d(input: Operand, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def conv2d(input: NDArray[Any], weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv2d(input: Plain, weight: NDArray[Any], bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv2d(input: Plain, weight: Plain, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0, dilation: Numbers = 1,
    groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def conv2d(input: Plain, weight: Same, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0, dilation: Numbers = 1,
    groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def conv2d(input: Plain, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Array: ...
@overload
def conv2d(input: Same, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0, dilation: Numbers = 1,
    groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def conv2d(input: Nested, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv2d(input: Operand, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def conv3d(input: NDArray[Any], weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv3d(input: Plain, weight: NDArray[Any], bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv3d(input: Plain, weight: Plain, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0, dilation: Numbers = 1,
    groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def conv3d(input: Plain, weight: Same, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0, dilation: Numbers = 1,
    groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def conv3d(input: Plain, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Array: ...
@overload
def conv3d(input: Same, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0, dilation: Numbers = 1,
    groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def conv3d(input: Nested, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv3d(input: Operand, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def conv_transpose1d(input: NDArray[Any], weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv_transpose1d(input: Plain, weight: NDArray[Any], bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv_transpose1d(input: Plain, weight: Plain, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def conv_transpose1d(input: Plain, weight: Same, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def conv_transpose1d(input: Plain, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: None = None,
    settings: SettingsArgument = None) -> Array: ...
@overload
def conv_transpose1d(input: Same, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def conv_transpose1d(input: Nested, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv_transpose1d(input: Operand, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...

@overload
def conv_transpose2d(input: NDArray[Any], weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv_transpose2d(input: Plain, weight: NDArray[Any], bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv_transpose2d(input: Plain, weight: Plain, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def conv_transpose2d(input: Plain, weight: Same, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def conv_transpose2d(input: Plain, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: None = None,
    settings: SettingsArgument = None) -> Array: ...
@overload
def conv_transpose2d(input: Same, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def conv_transpose2d(input: Nested, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv_transpose2d(input: Operand, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...

@overload
def conv_transpose3d(input: NDArray[Any], weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv_transpose3d(input: Plain, weight: NDArray[Any], bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv_transpose3d(input: Plain, weight: Plain, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def conv_transpose3d(input: Plain, weight: Same, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def conv_transpose3d(input: Plain, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: None = None,
    settings: SettingsArgument = None) -> Array: ...
@overload
def conv_transpose3d(input: Same, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def conv_transpose3d(input: Nested, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv_transpose3d(input: Operand, weight: Operand, bias: Optional[Operand] = None, stride: Numbers = 1, padding: Numbers = 0,
    output_padding: Numbers = 0, groups: int = 1, dilation: Numbers = 1, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...

@overload
def elu(input: NDArray[Any], alpha: float = 1.0, inplace: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def elu(input: Same, alpha: float = 1.0, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def elu(input: Buffer, alpha: float = 1.0, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def elu(input: Nested, alpha: float = 1.0, inplace: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def elu(input: Operand, alpha: float = 1.0, inplace: bool = False, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def embedding(input: Operand, weight: NDArray[Any], padding_idx: Optional[int] = None, max_norm: None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def embedding(input: Operand, weight: Same, padding_idx: Optional[int] = None, max_norm: None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def embedding(input: Operand, weight: Buffer, padding_idx: Optional[int] = None, max_norm: None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def embedding(input: Operand, weight: Nested, padding_idx: Optional[int] = None, max_norm: None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def embedding(input: Operand, weight: Operand, padding_idx: Optional[int] = None, max_norm: None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def gelu(input: NDArray[Any], approximate: Literal['none', 'tanh'] = 'none', *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def gelu(input: Same, approximate: Literal['none', 'tanh'] = 'none', *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def gelu(input: Buffer, approximate: Literal['none', 'tanh'] = 'none', *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def gelu(input: Nested, approximate: Literal['none', 'tanh'] = 'none', *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def gelu(input: Operand, approximate: Literal['none', 'tanh'] = 'none', *, out: Written,
    settings: SettingsArgument = None) -> Written: ...

@overload
def group_norm(input: NDArray[Any], num_groups: int, weight: Optional[Operand] = None, bias: Optional[Operand] = None, eps: float = 1e-05,
    *, return_statistics: Literal[False] = False, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def group_norm(input: Same, num_groups: int, weight: Optional[Operand] = None, bias: Optional[Operand] = None, eps: float = 1e-05, *,
    return_statistics: Literal[False] = False, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def group_norm(input: Buffer, num_groups: int, weight: Optional[Operand] = None, bias: Optional[Operand] = None, eps: float = 1e-05, *,
    return_statistics: Literal[False] = False, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def group_norm(input: Nested, num_groups: int, weight: Optional[Operand] = None, bias: Optional[Operand] = None, eps: float = 1e-05, *,
    return_statistics: Literal[False] = False, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def group_norm(input: Operand, num_groups: int, weight: Optional[Operand] = None, bias: Optional[Operand] = None, eps: float = 1e-05, *,
    return_statistics: Literal[False] = False, out: Written, settings: SettingsArgument = None) -> Written: ...
@overload
def group_norm(input: NDArray[Any], num_groups: int, weight: Optional[Operand] = None, bias: Optional[Operand] = None, eps: float = 1e-05,
    *, out: None = None, settings: SettingsArgument = None,
    return_statistics: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def group_norm(input: Same, num_groups: int, weight: Optional[Operand] = None, bias: Optional[Operand] = None, eps: float = 1e-05, *,
    out: None = None, settings: SettingsArgument = None, return_statistics: Literal[True]) -> Tuple[Same, Same, Same]: ...
@overload
def group_norm(input: Buffer, num_groups: int, weight: Optional[Operand] = None, bias: Optional[Operand] = None, eps: float = 1e-05, *,
    out: None = None, settings: SettingsArgument = None, return_statistics: Literal[True]) -> Tuple[Tensor, Tensor, Tensor]: ...
@overload
def group_norm(input: Nested, num_groups: int, weight: Optional[Operand] = None, bias: Optional[Operand] = None, eps: float = 1e-05, *,
    out: None = None, settings: SettingsArgument = None,
    return_statistics: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def group_norm(input: Operand, num_groups: int, weight: Optional[Operand] = None, bias: Optional[Operand] = None, eps: float = 1e-05, *,
    out: Written, settings: SettingsArgument = None, return_statistics: Literal[True]) -> Tuple[Written, Array, Array]: ...
@overload
def group_norm(input: NDArray[Any], num_groups: int, weight: Optional[Operand] = None, bias: Optional[Operand] = None, eps: float = 1e-05,
    *, return_statistics: bool = False, out: None = None,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]: ...
@overload
def group_norm(input: Same, num_groups: int, weight: Optional[Operand] = None, bias: Optional[Operand] = None, eps: float = 1e-05, *,
    return_statistics: bool = False, out: None = None, settings: SettingsArgument = None) -> Union[Same, Tuple[Same, Same, Same]]: ...
@overload
def group_norm(input: Buffer, num_groups: int, weight: Optional[Operand] = None, bias: Optional[Operand] = None, eps: float = 1e-05, *,
    return_statistics: bool = False, out: None = None,
    settings: SettingsArgument = None) -> Union[Tensor, Tuple[Tensor, Tensor, Tensor]]: ...
@overload
def group_norm(input: Nested, num_groups: int, weight: Optional[Operand] = None, bias: Optional[Operand] = None, eps: float = 1e-05, *,
    return_statistics: bool = False, out: None = None,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]: ...
@overload
def group_norm(input: Operand, num_groups: int, weight: Optional[Operand] = None, bias: Optional[Operand] = None, eps: float = 1e-05, *,
    return_statistics: bool = False, out: Written, settings: SettingsArgument = None) -> Union[Written, Tuple[Written, Array, Array]]: ...

@overload
def gru(input: Packed, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, reset_before: bool = False, generator: Any = None, return_reserve: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[PackedSequence, Array]: ...
@overload
def gru(input: NDArray[Any], hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, reset_before: bool = False, generator: Any = None, return_reserve: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def gru(input: Plain, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, reset_before: bool = False, generator: Any = None, return_reserve: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[Own, Own]: ...
@overload
def gru(input: Same, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, reset_before: bool = False, generator: Any = None, return_reserve: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[Same, Same]: ...
@overload
def gru(input: Nested, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, reset_before: bool = False, generator: Any = None, return_reserve: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def gru(input: Packed, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, reset_before: bool = False, generator: Any = None, settings: SettingsArgument = None,
    return_reserve: Literal[True]) -> Tuple[PackedSequence, Array, Array]: ...
@overload
def gru(input: NDArray[Any], hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, reset_before: bool = False, generator: Any = None, settings: SettingsArgument = None,
    return_reserve: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def gru(input: Plain, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, reset_before: bool = False, generator: Any = None, settings: SettingsArgument = None,
    return_reserve: Literal[True]) -> Tuple[Own, Own, Own]: ...
@overload
def gru(input: Same, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, reset_before: bool = False, generator: Any = None, settings: SettingsArgument = None,
    return_reserve: Literal[True]) -> Tuple[Same, Same, Same]: ...
@overload
def gru(input: Nested, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, reset_before: bool = False, generator: Any = None, settings: SettingsArgument = None,
    return_reserve: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def gru(input: Packed, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, reset_before: bool = False, generator: Any = None, return_reserve: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[PackedSequence, Array], Tuple[PackedSequence, Array, Array]]: ...
@overload
def gru(input: NDArray[Any], hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, reset_before: bool = False, generator: Any = None, return_reserve: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[NDArray[Any], NDArray[Any]], Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]: ...
@overload
def gru(input: Plain, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, reset_before: bool = False, generator: Any = None, return_reserve: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[Own, Own], Tuple[Own, Own, Own]]: ...
@overload
def gru(input: Same, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, reset_before: bool = False, generator: Any = None, return_reserve: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[Same, Same], Tuple[Same, Same, Same]]: ...
@overload
def gru(input: Nested, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, reset_before: bool = False, generator: Any = None, return_reserve: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[NDArray[Any], NDArray[Any]], Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]: ...

@overload
def hardshrink(input: NDArray[Any], lambd: float = 0.5, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def hardshrink(input: Same, lambd: float = 0.5, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def hardshrink(input: Buffer, lambd: float = 0.5, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def hardshrink(input: Nested, lambd: float = 0.5, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def hardshrink(input: Operand, lambd: float = 0.5, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def hardsigmoid(input: NDArray[Any], inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def hardsigmoid(input: Same, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def hardsigmoid(input: Buffer, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def hardsigmoid(input: Nested, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def hardsigmoid(input: Operand, inplace: bool = False, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def hardswish(input: NDArray[Any], inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def hardswish(input: Same, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def hardswish(input: Buffer, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def hardswish(input: Nested, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def hardswish(input: Operand, inplace: bool = False, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def hardtanh(input: NDArray[Any], min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def hardtanh(input: Same, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def hardtanh(input: Buffer, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def hardtanh(input: Nested, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def hardtanh(input: Operand, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...

@overload
def instance_norm(input: NDArray[Any], running_mean: None = None, running_var: None = None, weight: Optional[Operand] = None,
    bias: Optional[Operand] = None, use_input_stats: Literal[True] = True, momentum: float = 0.1, eps: float = 1e-05, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def instance_norm(input: Same, running_mean: None = None, running_var: None = None, weight: Optional[Operand] = None,
    bias: Optional[Operand] = None, use_input_stats: Literal[True] = True, momentum: float = 0.1, eps: float = 1e-05, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def instance_norm(input: Buffer, running_mean: None = None, running_var: None = None, weight: Optional[Operand] = None,
    bias: Optional[Operand] = None, use_input_stats: Literal[True] = True, momentum: float = 0.1, eps: float = 1e-05, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def instance_norm(input: Nested, running_mean: None = None, running_var: None = None, weight: Optional[Operand] = None,
    bias: Optional[Operand] = None, use_input_stats: Literal[True] = True, momentum: float = 0.1, eps: float = 1e-05, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def instance_norm(input: Operand, running_mean: None = None, running_var: None = None, weight: Optional[Operand] = None,
    bias: Optional[Operand] = None, use_input_stats: Literal[True] = True, momentum: float = 0.1, eps: float = 1e-05, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...

@overload
def layer_norm(input: NDArray[Any], normalized_shape: Shape, weight: Optional[Operand] = None, bias: Optional[Operand] = None,
    eps: float = 1e-05, *, return_statistics: Literal[False] = False, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def layer_norm(input: Same, normalized_shape: Shape, weight: Optional[Operand] = None, bias: Optional[Operand] = None, eps: float = 1e-05,
    *, return_statistics: Literal[False] = False, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def layer_norm(input: Buffer, normalized_shape: Shape, weight: Optional[Operand] = None, bias: Optional[Operand] = None,
    eps: float = 1e-05, *, return_statistics: Literal[False] = False, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def layer_norm(input: Nested, normalized_shape: Shape, weight: Optional[Operand] = None, bias: Optional[Operand] = None,
    eps: float = 1e-05, *, return_statistics: Literal[False] = False, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def layer_norm(input: Operand, normalized_shape: Shape, weight: Optional[Operand] = None, bias: Optional[Operand] = None,
    eps: float = 1e-05, *, return_statistics: Literal[False] = False, out: Written, settings: SettingsArgument = None) -> Written: ...
@overload
def layer_norm(input: NDArray[Any], normalized_shape: Shape, weight: Optional[Operand] = None, bias: Optional[Operand] = None,
    eps: float = 1e-05, *, out: None = None, settings: SettingsArgument = None,
    return_statistics: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def layer_norm(input: Same, normalized_shape: Shape, weight: Optional[Operand] = None, bias: Optional[Operand] = None, eps: float = 1e-05,
    *, out: None = None, settings: SettingsArgument = None, return_statistics: Literal[True]) -> Tuple[Same, Same, Same]: ...
@overload
def layer_norm(input: Buffer, normalized_shape: Shape, weight: Optional[Operand] = None, bias: Optional[Operand] = None,
    eps: float = 1e-05, *, out: None = None, settings: SettingsArgument = None,
    return_statistics: Literal[True]) -> Tuple[Tensor, Tensor, Tensor]: ...
@overload
def layer_norm(input: Nested, normalized_shape: Shape, weight: Optional[Operand] = None, bias: Optional[Operand] = None,
    eps: float = 1e-05, *, out: None = None, settings: SettingsArgument = None,
    return_statistics: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def layer_norm(input: Operand, normalized_shape: Shape, weight: Optional[Operand] = None, bias: Optional[Operand] = None,
    eps: float = 1e-05, *, out: Written, settings: SettingsArgument = None,
    return_statistics: Literal[True]) -> Tuple[Written, Array, Array]: ...
@overload
def layer_norm(input: NDArray[Any], normalized_shape: Shape, weight: Optional[Operand] = None, bias: Optional[Operand] = None,
    eps: float = 1e-05, *, return_statistics: bool = False, out: None = None,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]: ...
@overload
def layer_norm(input: Same, normalized_shape: Shape, weight: Optional[Operand] = None, bias: Optional[Operand] = None, eps: float = 1e-05,
    *, return_statistics: bool = False, out: None = None, settings: SettingsArgument = None) -> Union[Same, Tuple[Same, Same, Same]]: ...
@overload
def layer_norm(input: Buffer, normalized_shape: Shape, weight: Optional[Operand] = None, bias: Optional[Operand] = None,
    eps: float = 1e-05, *, return_statistics: bool = False, out: None = None,
    settings: SettingsArgument = None) -> Union[Tensor, Tuple[Tensor, Tensor, Tensor]]: ...
@overload
def layer_norm(input: Nested, normalized_shape: Shape, weight: Optional[Operand] = None, bias: Optional[Operand] = None,
    eps: float = 1e-05, *, return_statistics: bool = False, out: None = None,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]: ...
@overload
def layer_norm(input: Operand, normalized_shape: Shape, weight: Optional[Operand] = None, bias: Optional[Operand] = None,
    eps: float = 1e-05, *, return_statistics: bool = False, out: Written,
    settings: SettingsArgument = None) -> Union[Written, Tuple[Written, Array, Array]]: ...

@overload
def leaky_relu(input: NDArray[Any], negative_slope: float = 0.01, inplace: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def leaky_relu(input: Same, negative_slope: float = 0.01, inplace: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def leaky_relu(input: Buffer, negative_slope: float = 0.01, inplace: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def leaky_relu(input: Nested, negative_slope: float = 0.01, inplace: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def leaky_relu(input: Operand, negative_slope: float = 0.01, inplace: bool = False, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...

@overload
def linear(input: NDArray[Any], weight: Operand, bias: Optional[Operand] = None, *, activation: Optional[Activation] = None,
    out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def linear(input: Plain, weight: NDArray[Any], bias: Optional[Operand] = None, *, activation: Optional[Activation] = None,
    out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def linear(input: Plain, weight: Plain, bias: Optional[Operand] = None, *, activation: Optional[Activation] = None, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def linear(input: Plain, weight: Same, bias: Optional[Operand] = None, *, activation: Optional[Activation] = None, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def linear(input: Plain, weight: Operand, bias: Optional[Operand] = None, *, activation: Optional[Activation] = None, out: None = None,
    settings: SettingsArgument = None) -> Array: ...
@overload
def linear(input: Same, weight: Operand, bias: Optional[Operand] = None, *, activation: Optional[Activation] = None, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def linear(input: Nested, weight: Operand, bias: Optional[Operand] = None, *, activation: Optional[Activation] = None, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def linear(input: Operand, weight: Operand, bias: Optional[Operand] = None, *, activation: Optional[Activation] = None, out: Written,
    settings: SettingsArgument = None) -> Written: ...

@overload
def log_softmax(input: NDArray[Any], dim: int, *, dtype: Optional[DType] = None, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def log_softmax(input: Same, dim: int, *, dtype: Optional[DType] = None, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def log_softmax(input: Buffer, dim: int, *, dtype: Optional[DType] = None, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def log_softmax(input: Nested, dim: int, *, dtype: Optional[DType] = None, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def log_softmax(input: Operand, dim: int, *, dtype: Optional[DType] = None, out: Written,
    settings: SettingsArgument = None) -> Written: ...

@overload
def logsigmoid(input: NDArray[Any], *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def logsigmoid(input: Same, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def logsigmoid(input: Buffer, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def logsigmoid(input: Nested, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def logsigmoid(input: Operand, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def lstm(input: Packed, hx: States, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, proj_size: int = 0, generator: Any = None, return_reserve: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[PackedSequence, Array, Array]: ...
@overload
def lstm(input: NDArray[Any], hx: States, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, proj_size: int = 0, generator: Any = None, return_reserve: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def lstm(input: Plain, hx: States, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, proj_size: int = 0, generator: Any = None, return_reserve: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[Own, Own, Own]: ...
@overload
def lstm(input: Same, hx: States, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, proj_size: int = 0, generator: Any = None, return_reserve: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[Same, Same, Same]: ...
@overload
def lstm(input: Nested, hx: States, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, proj_size: int = 0, generator: Any = None, return_reserve: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def lstm(input: Packed, hx: States, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, proj_size: int = 0, generator: Any = None, settings: SettingsArgument = None,
    return_reserve: Literal[True]) -> Tuple[PackedSequence, Array, Array, Array]: ...
@overload
def lstm(input: NDArray[Any], hx: States, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, proj_size: int = 0, generator: Any = None, settings: SettingsArgument = None,
    return_reserve: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def lstm(input: Plain, hx: States, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, proj_size: int = 0, generator: Any = None, settings: SettingsArgument = None,
    return_reserve: Literal[True]) -> Tuple[Own, Own, Own, Own]: ...
@overload
def lstm(input: Same, hx: States, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, proj_size: int = 0, generator: Any = None, settings: SettingsArgument = None,
    return_reserve: Literal[True]) -> Tuple[Same, Same, Same, Same]: ...
@overload
def lstm(input: Nested, hx: States, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, proj_size: int = 0, generator: Any = None, settings: SettingsArgument = None,
    return_reserve: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def lstm(input: Packed, hx: States, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, proj_size: int = 0, generator: Any = None, return_reserve: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[PackedSequence, Array, Array], Tuple[PackedSequence, Array, Array, Array]]: ...
@overload
def lstm(input: NDArray[Any], hx: States, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, proj_size: int = 0, generator: Any = None, return_reserve: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[NDArray[Any], NDArray[Any], NDArray[Any]], Tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]]: ...
@overload
def lstm(input: Plain, hx: States, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, proj_size: int = 0, generator: Any = None, return_reserve: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[Own, Own, Own], Tuple[Own, Own, Own, Own]]: ...
@overload
def lstm(input: Same, hx: States, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, proj_size: int = 0, generator: Any = None, return_reserve: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[Same, Same, Same], Tuple[Same, Same, Same, Same]]: ...
@overload
def lstm(input: Nested, hx: States, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, proj_size: int = 0, generator: Any = None, return_reserve: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[NDArray[Any], NDArray[Any], NDArray[Any]], Tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]]: ...

@overload
def max_pool1d(input: NDArray[Any], kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: Literal[False] = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def max_pool1d(input: Same, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: Literal[False] = False, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def max_pool1d(input: Buffer, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: Literal[False] = False, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def max_pool1d(input: Nested, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: Literal[False] = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def max_pool1d(input: Operand, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: Literal[False] = False, *, out: Written, settings: SettingsArgument = None) -> Written: ...
@overload
def max_pool1d(input: NDArray[Any], kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def max_pool1d(input: Same, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[Same, Same]: ...
@overload
def max_pool1d(input: Buffer, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[Tensor, Tensor]: ...
@overload
def max_pool1d(input: Nested, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def max_pool1d(input: Operand, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, *, out: Written, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[Written, Array]: ...
@overload
def max_pool1d(input: NDArray[Any], kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any]]]: ...
@overload
def max_pool1d(input: Same, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[Same, Tuple[Same, Same]]: ...
@overload
def max_pool1d(input: Buffer, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[Tensor, Tuple[Tensor, Tensor]]: ...
@overload
def max_pool1d(input: Nested, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any]]]: ...
@overload
def max_pool1d(input: Operand, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: bool = False, *, out: Written,
    settings: SettingsArgument = None) -> Union[Written, Tuple[Written, Array]]: ...

@overload
def max_pool2d(input: NDArray[Any], kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: Literal[False] = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def max_pool2d(input: Same, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: Literal[False] = False, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def max_pool2d(input: Buffer, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: Literal[False] = False, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def max_pool2d(input: Nested, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: Literal[False] = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def max_pool2d(input: Operand, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: Literal[False] = False, *, out: Written, settings: SettingsArgument = None) -> Written: ...
@overload
def max_pool2d(input: NDArray[Any], kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def max_pool2d(input: Same, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[Same, Same]: ...
@overload
def max_pool2d(input: Buffer, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[Tensor, Tensor]: ...
@overload
def max_pool2d(input: Nested, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def max_pool2d(input: Operand, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, *, out: Written, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[Written, Array]: ...
@overload
def max_pool2d(input: NDArray[Any], kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any]]]: ...
@overload
def max_pool2d(input: Same, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[Same, Tuple[Same, Same]]: ...
@overload
def max_pool2d(input: Buffer, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[Tensor, Tuple[Tensor, Tensor]]: ...
@overload
def max_pool2d(input: Nested, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any]]]: ...
@overload
def max_pool2d(input: Operand, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: bool = False, *, out: Written,
    settings: SettingsArgument = None) -> Union[Written, Tuple[Written, Array]]: ...

@overload
def max_pool3d(input: NDArray[Any], kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: Literal[False] = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def max_pool3d(input: Same, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: Literal[False] = False, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def max_pool3d(input: Buffer, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: Literal[False] = False, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def max_pool3d(input: Nested, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: Literal[False] = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def max_pool3d(input: Operand, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: Literal[False] = False, *, out: Written, settings: SettingsArgument = None) -> Written: ...
@overload
def max_pool3d(input: NDArray[Any], kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def max_pool3d(input: Same, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[Same, Same]: ...
@overload
def max_pool3d(input: Buffer, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[Tensor, Tensor]: ...
@overload
def max_pool3d(input: Nested, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, *, out: None = None, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def max_pool3d(input: Operand, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, *, out: Written, settings: SettingsArgument = None,
    return_indices: Literal[True]) -> Tuple[Written, Array]: ...
@overload
def max_pool3d(input: NDArray[Any], kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any]]]: ...
@overload
def max_pool3d(input: Same, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[Same, Tuple[Same, Same]]: ...
@overload
def max_pool3d(input: Buffer, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[Tensor, Tuple[Tensor, Tensor]]: ...
@overload
def max_pool3d(input: Nested, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any]]]: ...
@overload
def max_pool3d(input: Operand, kernel_size: Numbers, stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1,
    ceil_mode: bool = False, return_indices: bool = False, *, out: Written,
    settings: SettingsArgument = None) -> Union[Written, Tuple[Written, Array]]: ...

@overload
def mish(input: NDArray[Any], inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def mish(input: Same, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def mish(input: Buffer, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def mish(input: Nested, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def mish(input: Operand, inplace: bool = False, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def pad(input: NDArray[Any], pad: Sequence[int], mode: Literal['constant', 'reflect', 'replicate', 'circular'] = 'constant',
    value: Optional[float] = None, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def pad(input: Same, pad: Sequence[int], mode: Literal['constant', 'reflect', 'replicate', 'circular'] = 'constant',
    value: Optional[float] = None, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def pad(input: Buffer, pad: Sequence[int], mode: Literal['constant', 'reflect', 'replicate', 'circular'] = 'constant',
    value: Optional[float] = None, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def pad(input: Nested, pad: Sequence[int], mode: Literal['constant', 'reflect', 'replicate', 'circular'] = 'constant',
    value: Optional[float] = None, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def pad(input: Operand, pad: Sequence[int], mode: Literal['constant', 'reflect', 'replicate', 'circular'] = 'constant',
    value: Optional[float] = None, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def relu(input: NDArray[Any], inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def relu(input: Same, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def relu(input: Buffer, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def relu(input: Nested, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def relu(input: Operand, inplace: bool = False, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def relu6(input: NDArray[Any], inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def relu6(input: Same, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def relu6(input: Buffer, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def relu6(input: Nested, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def relu6(input: Operand, inplace: bool = False, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def rms_norm(input: NDArray[Any], normalized_shape: Shape, weight: Optional[Operand] = None, eps: Optional[float] = None, *,
    return_statistics: Literal[False] = False, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def rms_norm(input: Same, normalized_shape: Shape, weight: Optional[Operand] = None, eps: Optional[float] = None, *,
    return_statistics: Literal[False] = False, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def rms_norm(input: Buffer, normalized_shape: Shape, weight: Optional[Operand] = None, eps: Optional[float] = None, *,
    return_statistics: Literal[False] = False, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def rms_norm(input: Nested, normalized_shape: Shape, weight: Optional[Operand] = None, eps: Optional[float] = None, *,
    return_statistics: Literal[False] = False, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def rms_norm(input: Operand, normalized_shape: Shape, weight: Optional[Operand] = None, eps: Optional[float] = None, *,
    return_statistics: Literal[False] = False, out: Written, settings: SettingsArgument = None) -> Written: ...
@overload
def rms_norm(input: NDArray[Any], normalized_shape: Shape, weight: Optional[Operand] = None, eps: Optional[float] = None, *,
    out: None = None, settings: SettingsArgument = None, return_statistics: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def rms_norm(input: Same, normalized_shape: Shape, weight: Optional[Operand] = None, eps: Optional[float] = None, *, out: None = None,
    settings: SettingsArgument = None, return_statistics: Literal[True]) -> Tuple[Same, Same]: ...
@overload
def rms_norm(input: Buffer, normalized_shape: Shape, weight: Optional[Operand] = None, eps: Optional[float] = None, *, out: None = None,
    settings: SettingsArgument = None, return_statistics: Literal[True]) -> Tuple[Tensor, Tensor]: ...
@overload
def rms_norm(input: Nested, normalized_shape: Shape, weight: Optional[Operand] = None, eps: Optional[float] = None, *, out: None = None,
    settings: SettingsArgument = None, return_statistics: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def rms_norm(input: Operand, normalized_shape: Shape, weight: Optional[Operand] = None, eps: Optional[float] = None, *, out: Written,
    settings: SettingsArgument = None, return_statistics: Literal[True]) -> Tuple[Written, Array]: ...
@overload
def rms_norm(input: NDArray[Any], normalized_shape: Shape, weight: Optional[Operand] = None, eps: Optional[float] = None, *,
    return_statistics: bool = False, out: None = None,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any]]]: ...
@overload
def rms_norm(input: Same, normalized_shape: Shape, weight: Optional[Operand] = None, eps: Optional[float] = None, *,
    return_statistics: bool = False, out: None = None, settings: SettingsArgument = None) -> Union[Same, Tuple[Same, Same]]: ...
@overload
def rms_norm(input: Buffer, normalized_shape: Shape, weight: Optional[Operand] = None, eps: Optional[float] = None, *,
    return_statistics: bool = False, out: None = None, settings: SettingsArgument = None) -> Union[Tensor, Tuple[Tensor, Tensor]]: ...
@overload
def rms_norm(input: Nested, normalized_shape: Shape, weight: Optional[Operand] = None, eps: Optional[float] = None, *,
    return_statistics: bool = False, out: None = None,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any]]]: ...
@overload
def rms_norm(input: Operand, normalized_shape: Shape, weight: Optional[Operand] = None, eps: Optional[float] = None, *,
    return_statistics: bool = False, out: Written, settings: SettingsArgument = None) -> Union[Written, Tuple[Written, Array]]: ...

@overload
def rnn_relu(input: Packed, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, return_reserve: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[PackedSequence, Array]: ...
@overload
def rnn_relu(input: NDArray[Any], hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, return_reserve: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def rnn_relu(input: Plain, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, return_reserve: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[Own, Own]: ...
@overload
def rnn_relu(input: Same, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, return_reserve: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[Same, Same]: ...
@overload
def rnn_relu(input: Nested, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, return_reserve: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def rnn_relu(input: Packed, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, settings: SettingsArgument = None,
    return_reserve: Literal[True]) -> Tuple[PackedSequence, Array, Array]: ...
@overload
def rnn_relu(input: NDArray[Any], hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, settings: SettingsArgument = None,
    return_reserve: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def rnn_relu(input: Plain, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, settings: SettingsArgument = None,
    return_reserve: Literal[True]) -> Tuple[Own, Own, Own]: ...
@overload
def rnn_relu(input: Same, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, settings: SettingsArgument = None,
    return_reserve: Literal[True]) -> Tuple[Same, Same, Same]: ...
@overload
def rnn_relu(input: Nested, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, settings: SettingsArgument = None,
    return_reserve: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def rnn_relu(input: Packed, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, return_reserve: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[PackedSequence, Array], Tuple[PackedSequence, Array, Array]]: ...
@overload
def rnn_relu(input: NDArray[Any], hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, return_reserve: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[NDArray[Any], NDArray[Any]], Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]: ...
@overload
def rnn_relu(input: Plain, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, return_reserve: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[Own, Own], Tuple[Own, Own, Own]]: ...
@overload
def rnn_relu(input: Same, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, return_reserve: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[Same, Same], Tuple[Same, Same, Same]]: ...
@overload
def rnn_relu(input: Nested, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, return_reserve: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[NDArray[Any], NDArray[Any]], Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]: ...

@overload
def rnn_tanh(input: Packed, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, return_reserve: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[PackedSequence, Array]: ...
@overload
def rnn_tanh(input: NDArray[Any], hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, return_reserve: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def rnn_tanh(input: Plain, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, return_reserve: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[Own, Own]: ...
@overload
def rnn_tanh(input: Same, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, return_reserve: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[Same, Same]: ...
@overload
def rnn_tanh(input: Nested, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, return_reserve: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def rnn_tanh(input: Packed, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, settings: SettingsArgument = None,
    return_reserve: Literal[True]) -> Tuple[PackedSequence, Array, Array]: ...
@overload
def rnn_tanh(input: NDArray[Any], hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, settings: SettingsArgument = None,
    return_reserve: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def rnn_tanh(input: Plain, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, settings: SettingsArgument = None,
    return_reserve: Literal[True]) -> Tuple[Own, Own, Own]: ...
@overload
def rnn_tanh(input: Same, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, settings: SettingsArgument = None,
    return_reserve: Literal[True]) -> Tuple[Same, Same, Same]: ...
@overload
def rnn_tanh(input: Nested, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, settings: SettingsArgument = None,
    return_reserve: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def rnn_tanh(input: Packed, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, return_reserve: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[PackedSequence, Array], Tuple[PackedSequence, Array, Array]]: ...
@overload
def rnn_tanh(input: NDArray[Any], hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, return_reserve: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[NDArray[Any], NDArray[Any]], Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]: ...
@overload
def rnn_tanh(input: Plain, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, return_reserve: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[Own, Own], Tuple[Own, Own, Own]]: ...
@overload
def rnn_tanh(input: Same, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, return_reserve: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[Same, Same], Tuple[Same, Same, Same]]: ...
@overload
def rnn_tanh(input: Nested, hx: State, params: Parameters, has_biases: Union[bool, Sequence[Operand]] = True, num_layers: int = 1,
    dropout: float = 0.0, train: float = False, bidirectional: bool = False, batch_first: bool = False, *,
    lengths: Optional[Operand] = None, generator: Any = None, return_reserve: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[NDArray[Any], NDArray[Any]], Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]: ...

@overload
def scaled_dot_product_attention(query: NDArray[Any], key: Operand, value: Operand,
    attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, pages: Optional[Operand] = None, lengths: Optional[Operand] = None, seed: Seed = None,
    return_logsumexp: Literal[False] = False, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def scaled_dot_product_attention(query: Plain, key: NDArray[Any], value: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None, lower_right: bool = False, pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None, seed: Seed = None, return_logsumexp: Literal[False] = False, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def scaled_dot_product_attention(query: Plain, key: Plain, value: NDArray[Any], attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None, lower_right: bool = False, pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None, seed: Seed = None, return_logsumexp: Literal[False] = False, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def scaled_dot_product_attention(query: Plain, key: Plain, value: Plain, attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None, lower_right: bool = False, pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None, seed: Seed = None, return_logsumexp: Literal[False] = False, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def scaled_dot_product_attention(query: Plain, key: Same, value: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None, lower_right: bool = False, pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None, seed: Seed = None, return_logsumexp: Literal[False] = False, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def scaled_dot_product_attention(query: Plain, key: Plain, value: Same, attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None, lower_right: bool = False, pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None, seed: Seed = None, return_logsumexp: Literal[False] = False, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def scaled_dot_product_attention(query: Plain, key: Operand, value: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None, lower_right: bool = False, pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None, seed: Seed = None, return_logsumexp: Literal[False] = False, out: None = None,
    settings: SettingsArgument = None) -> Array: ...
@overload
def scaled_dot_product_attention(query: Same, key: Operand, value: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None, lower_right: bool = False, pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None, seed: Seed = None, return_logsumexp: Literal[False] = False, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def scaled_dot_product_attention(query: Nested, key: Operand, value: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None, lower_right: bool = False, pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None, seed: Seed = None, return_logsumexp: Literal[False] = False, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def scaled_dot_product_attention(query: Operand, key: Operand, value: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None, lower_right: bool = False, pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None, seed: Seed = None, return_logsumexp: Literal[False] = False, out: Written,
    settings: SettingsArgument = None) -> Written: ...
@overload
def scaled_dot_product_attention(query: NDArray[Any], key: Operand, value: Operand,
    attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, pages: Optional[Operand] = None, lengths: Optional[Operand] = None, seed: Seed = None, out: None = None,
    settings: SettingsArgument = None, return_logsumexp: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def scaled_dot_product_attention(query: Plain, key: NDArray[Any], value: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None, lower_right: bool = False, pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None, seed: Seed = None, out: None = None, settings: SettingsArgument = None,
    return_logsumexp: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def scaled_dot_product_attention(query: Plain, key: Plain, value: NDArray[Any], attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None, lower_right: bool = False, pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None, seed: Seed = None, out: None = None, settings: SettingsArgument = None,
    return_logsumexp: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def scaled_dot_product_attention(query: Plain, key: Plain, value: Plain, attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None, lower_right: bool = False, pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None, seed: Seed = None, out: None = None, settings: SettingsArgument = None,
    return_logsumexp: Literal[True]) -> Tuple[Tensor, Tensor]: ...
@overload
def scaled_dot_product_attention(query: Plain, key: Same, value: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None, lower_right: bool = False, pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None, seed: Seed = None, out: None = None, settings: SettingsArgument = None,
    return_logsumexp: Literal[True]) -> Tuple[Same, Same]: ...
@overload
def scaled_dot_product_attention(query: Plain, key: Plain, value: Same, attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None, lower_right: bool = False, pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None, seed: Seed = None, out: None = None, settings: SettingsArgument = None,
    return_logsumexp: Literal[True]) -> Tuple[Same, Same]: ...
@overload
def scaled_dot_product_attention(query: Plain, key: Operand, value: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None, lower_right: bool = False, pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None, seed: Seed = None, out: None = None, settings: SettingsArgument = None,
    return_logsumexp: Literal[True]) -> Tuple[Array, Array]: ...
@overload
def scaled_dot_product_attention(query: Same, key: Operand, value: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None, lower_right: bool = False, pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None, seed: Seed = None, out: None = None, settings: SettingsArgument = None,
    return_logsumexp: Literal[True]) -> Tuple[Same, Same]: ...
@overload
def scaled_dot_product_attention(query: Nested, key: Operand, value: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None, lower_right: bool = False, pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None, seed: Seed = None, out: None = None, settings: SettingsArgument = None,
    return_logsumexp: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def scaled_dot_product_attention(query: Operand, key: Operand, value: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None, lower_right: bool = False, pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None, seed: Seed = None, out: Written, settings: SettingsArgument = None,
    return_logsumexp: Literal[True]) -> Tuple[Written, Array]: ...
@overload
def scaled_dot_product_attention(query: NDArray[Any], key: Operand, value: Operand,
    attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, pages: Optional[Operand] = None, lengths: Optional[Operand] = None, seed: Seed = None,
    return_logsumexp: bool = False, out: None = None,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any]]]: ...
@overload
def scaled_dot_product_attention(query: Plain, key: Operand, value: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None, lower_right: bool = False, pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None, seed: Seed = None, return_logsumexp: bool = False, out: None = None,
    settings: SettingsArgument = None) -> Union[Array, Tuple[Array, Array]]: ...
@overload
def scaled_dot_product_attention(query: Same, key: Operand, value: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None, lower_right: bool = False, pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None, seed: Seed = None, return_logsumexp: bool = False, out: None = None,
    settings: SettingsArgument = None) -> Union[Same, Tuple[Same, Same]]: ...
@overload
def scaled_dot_product_attention(query: Nested, key: Operand, value: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None, lower_right: bool = False, pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None, seed: Seed = None, return_logsumexp: bool = False, out: None = None,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any]]]: ...
@overload
def scaled_dot_product_attention(query: Operand, key: Operand, value: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0,
    window: Optional[Tuple[int, int]] = None, lower_right: bool = False, pages: Optional[Operand] = None,
    lengths: Optional[Operand] = None, seed: Seed = None, return_logsumexp: bool = False, out: Written,
    settings: SettingsArgument = None) -> Union[Written, Tuple[Written, Array]]: ...

@overload
def selu(input: NDArray[Any], inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def selu(input: Same, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def selu(input: Buffer, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def selu(input: Nested, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def selu(input: Operand, inplace: bool = False, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def sigmoid(input: NDArray[Any], *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def sigmoid(input: Same, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def sigmoid(input: Buffer, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def sigmoid(input: Nested, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def sigmoid(input: Operand, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def silu(input: NDArray[Any], inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def silu(input: Same, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def silu(input: Buffer, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def silu(input: Nested, inplace: bool = False, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def silu(input: Operand, inplace: bool = False, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def softmax(input: NDArray[Any], dim: int, *, dtype: Optional[DType] = None, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def softmax(input: Same, dim: int, *, dtype: Optional[DType] = None, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def softmax(input: Buffer, dim: int, *, dtype: Optional[DType] = None, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def softmax(input: Nested, dim: int, *, dtype: Optional[DType] = None, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def softmax(input: Operand, dim: int, *, dtype: Optional[DType] = None, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def softplus(input: NDArray[Any], beta: float = 1.0, threshold: float = 20.0, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def softplus(input: Same, beta: float = 1.0, threshold: float = 20.0, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def softplus(input: Buffer, beta: float = 1.0, threshold: float = 20.0, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def softplus(input: Nested, beta: float = 1.0, threshold: float = 20.0, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def softplus(input: Operand, beta: float = 1.0, threshold: float = 20.0, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...

@overload
def softshrink(input: NDArray[Any], lambd: float = 0.5, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def softshrink(input: Same, lambd: float = 0.5, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def softshrink(input: Buffer, lambd: float = 0.5, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def softshrink(input: Nested, lambd: float = 0.5, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def softshrink(input: Operand, lambd: float = 0.5, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def softsign(input: NDArray[Any], *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def softsign(input: Same, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def softsign(input: Buffer, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def softsign(input: Nested, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def softsign(input: Operand, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def tanh(input: NDArray[Any], *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def tanh(input: Same, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def tanh(input: Buffer, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def tanh(input: Nested, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def tanh(input: Operand, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def tanhshrink(input: NDArray[Any], *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def tanhshrink(input: Same, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def tanhshrink(input: Buffer, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def tanhshrink(input: Nested, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def tanhshrink(input: Operand, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def threshold(input: NDArray[Any], threshold: float, value: float, inplace: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def threshold(input: Same, threshold: float, value: float, inplace: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def threshold(input: Buffer, threshold: float, value: float, inplace: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def threshold(input: Nested, threshold: float, value: float, inplace: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def threshold(input: Operand, threshold: float, value: float, inplace: bool = False, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...
