"""Types of backplane.nn.grad. Written by tools/function_stubs.py from the signatures (make docs)."""

from typing import Any, List, Literal, Optional, overload, Sequence, Tuple, Union
from ._packed import PackedSequence
from .._types import (
    Array, Buffer, CausalBias, NDArray, Nested, Numbers, Operand, Own, Packed, Padding, Plain, Same, Seed, SettingsArgument, Shape,
    States, Tensor, Written
)

__all__ = ["adaptive_avg_pool1d_input", "adaptive_avg_pool2d_input", "adaptive_avg_pool3d_input", "adaptive_max_pool1d_input",
    "adaptive_max_pool2d_input", "adaptive_max_pool3d_input", "avg_pool1d_input", "avg_pool2d_input", "avg_pool3d_input",
    "batch_norm_gradients", "conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight",
    "group_norm_gradients", "gru_gradients", "layer_norm_gradients", "linear_input", "linear_weight", "log_softmax_input",
    "lstm_gradients", "max_pool1d_input", "max_pool2d_input", "max_pool3d_input", "rms_norm_gradients", "rnn_relu_gradients",
    "rnn_tanh_gradients", "scaled_dot_product_attention_gradients", "softmax_input"]

@overload
def adaptive_avg_pool1d_input(input_size: Sequence[int], grad_output: NDArray[Any], *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_avg_pool1d_input(input_size: Sequence[int], grad_output: Same, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def adaptive_avg_pool1d_input(input_size: Sequence[int], grad_output: Buffer, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def adaptive_avg_pool1d_input(input_size: Sequence[int], grad_output: Nested, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_avg_pool1d_input(input_size: Sequence[int], grad_output: Operand, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...

@overload
def adaptive_avg_pool2d_input(input_size: Sequence[int], grad_output: NDArray[Any], *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_avg_pool2d_input(input_size: Sequence[int], grad_output: Same, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def adaptive_avg_pool2d_input(input_size: Sequence[int], grad_output: Buffer, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def adaptive_avg_pool2d_input(input_size: Sequence[int], grad_output: Nested, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_avg_pool2d_input(input_size: Sequence[int], grad_output: Operand, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...

@overload
def adaptive_avg_pool3d_input(input_size: Sequence[int], grad_output: NDArray[Any], *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_avg_pool3d_input(input_size: Sequence[int], grad_output: Same, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def adaptive_avg_pool3d_input(input_size: Sequence[int], grad_output: Buffer, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def adaptive_avg_pool3d_input(input_size: Sequence[int], grad_output: Nested, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_avg_pool3d_input(input_size: Sequence[int], grad_output: Operand, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...

@overload
def adaptive_max_pool1d_input(input_size: Sequence[int], indices: Operand, grad_output: NDArray[Any], *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_max_pool1d_input(input_size: Sequence[int], indices: Operand, grad_output: Same, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def adaptive_max_pool1d_input(input_size: Sequence[int], indices: Operand, grad_output: Buffer, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def adaptive_max_pool1d_input(input_size: Sequence[int], indices: Operand, grad_output: Nested, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_max_pool1d_input(input_size: Sequence[int], indices: Operand, grad_output: Operand, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...

@overload
def adaptive_max_pool2d_input(input_size: Sequence[int], indices: Operand, grad_output: NDArray[Any], *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_max_pool2d_input(input_size: Sequence[int], indices: Operand, grad_output: Same, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def adaptive_max_pool2d_input(input_size: Sequence[int], indices: Operand, grad_output: Buffer, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def adaptive_max_pool2d_input(input_size: Sequence[int], indices: Operand, grad_output: Nested, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_max_pool2d_input(input_size: Sequence[int], indices: Operand, grad_output: Operand, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...

@overload
def adaptive_max_pool3d_input(input_size: Sequence[int], indices: Operand, grad_output: NDArray[Any], *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_max_pool3d_input(input_size: Sequence[int], indices: Operand, grad_output: Same, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def adaptive_max_pool3d_input(input_size: Sequence[int], indices: Operand, grad_output: Buffer, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def adaptive_max_pool3d_input(input_size: Sequence[int], indices: Operand, grad_output: Nested, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def adaptive_max_pool3d_input(input_size: Sequence[int], indices: Operand, grad_output: Operand, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...

@overload
def avg_pool1d_input(input_size: Sequence[int], grad_output: NDArray[Any], kernel_size: Numbers, stride: Optional[Numbers] = None,
    padding: Numbers = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Optional[int] = None, *,
    out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def avg_pool1d_input(input_size: Sequence[int], grad_output: Same, kernel_size: Numbers, stride: Optional[Numbers] = None,
    padding: Numbers = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Optional[int] = None, *,
    out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def avg_pool1d_input(input_size: Sequence[int], grad_output: Buffer, kernel_size: Numbers, stride: Optional[Numbers] = None,
    padding: Numbers = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Optional[int] = None, *,
    out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def avg_pool1d_input(input_size: Sequence[int], grad_output: Nested, kernel_size: Numbers, stride: Optional[Numbers] = None,
    padding: Numbers = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Optional[int] = None, *,
    out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def avg_pool1d_input(input_size: Sequence[int], grad_output: Operand, kernel_size: Numbers, stride: Optional[Numbers] = None,
    padding: Numbers = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Optional[int] = None, *,
    out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def avg_pool2d_input(input_size: Sequence[int], grad_output: NDArray[Any], kernel_size: Numbers, stride: Optional[Numbers] = None,
    padding: Numbers = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Optional[int] = None, *,
    out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def avg_pool2d_input(input_size: Sequence[int], grad_output: Same, kernel_size: Numbers, stride: Optional[Numbers] = None,
    padding: Numbers = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Optional[int] = None, *,
    out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def avg_pool2d_input(input_size: Sequence[int], grad_output: Buffer, kernel_size: Numbers, stride: Optional[Numbers] = None,
    padding: Numbers = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Optional[int] = None, *,
    out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def avg_pool2d_input(input_size: Sequence[int], grad_output: Nested, kernel_size: Numbers, stride: Optional[Numbers] = None,
    padding: Numbers = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Optional[int] = None, *,
    out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def avg_pool2d_input(input_size: Sequence[int], grad_output: Operand, kernel_size: Numbers, stride: Optional[Numbers] = None,
    padding: Numbers = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Optional[int] = None, *,
    out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def avg_pool3d_input(input_size: Sequence[int], grad_output: NDArray[Any], kernel_size: Numbers, stride: Optional[Numbers] = None,
    padding: Numbers = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Optional[int] = None, *,
    out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def avg_pool3d_input(input_size: Sequence[int], grad_output: Same, kernel_size: Numbers, stride: Optional[Numbers] = None,
    padding: Numbers = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Optional[int] = None, *,
    out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def avg_pool3d_input(input_size: Sequence[int], grad_output: Buffer, kernel_size: Numbers, stride: Optional[Numbers] = None,
    padding: Numbers = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Optional[int] = None, *,
    out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def avg_pool3d_input(input_size: Sequence[int], grad_output: Nested, kernel_size: Numbers, stride: Optional[Numbers] = None,
    padding: Numbers = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Optional[int] = None, *,
    out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def avg_pool3d_input(input_size: Sequence[int], grad_output: Operand, kernel_size: Numbers, stride: Optional[Numbers] = None,
    padding: Numbers = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Optional[int] = None, *,
    out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def batch_norm_gradients(input: NDArray[Any], grad_output: Operand, weight: Optional[Operand], mean: Operand, spread: Operand,
    training: bool = True, eps: float = 1e-05, *,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def batch_norm_gradients(input: Same, grad_output: Operand, weight: Optional[Operand], mean: Operand, spread: Operand,
    training: bool = True, eps: float = 1e-05, *, settings: SettingsArgument = None) -> Tuple[Same, Same, Same]: ...
@overload
def batch_norm_gradients(input: Buffer, grad_output: Operand, weight: Optional[Operand], mean: Operand, spread: Operand,
    training: bool = True, eps: float = 1e-05, *, settings: SettingsArgument = None) -> Tuple[Tensor, Tensor, Tensor]: ...
@overload
def batch_norm_gradients(input: Nested, grad_output: Operand, weight: Optional[Operand], mean: Operand, spread: Operand,
    training: bool = True, eps: float = 1e-05, *,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...

@overload
def conv1d_input(input_size: Sequence[int], weight: Operand, grad_output: NDArray[Any], stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv1d_input(input_size: Sequence[int], weight: NDArray[Any], grad_output: Plain, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv1d_input(input_size: Sequence[int], weight: Plain, grad_output: Plain, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def conv1d_input(input_size: Sequence[int], weight: Same, grad_output: Plain, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def conv1d_input(input_size: Sequence[int], weight: Operand, grad_output: Plain, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Array: ...
@overload
def conv1d_input(input_size: Sequence[int], weight: Operand, grad_output: Same, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def conv1d_input(input_size: Sequence[int], weight: Operand, grad_output: Nested, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv1d_input(input_size: Sequence[int], weight: Operand, grad_output: Operand, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def conv1d_weight(input: NDArray[Any], weight_size: Sequence[int], grad_output: Operand, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv1d_weight(input: Plain, weight_size: Sequence[int], grad_output: NDArray[Any], stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv1d_weight(input: Plain, weight_size: Sequence[int], grad_output: Plain, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def conv1d_weight(input: Plain, weight_size: Sequence[int], grad_output: Same, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def conv1d_weight(input: Plain, weight_size: Sequence[int], grad_output: Operand, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Array: ...
@overload
def conv1d_weight(input: Same, weight_size: Sequence[int], grad_output: Operand, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def conv1d_weight(input: Nested, weight_size: Sequence[int], grad_output: Operand, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv1d_weight(input: Operand, weight_size: Sequence[int], grad_output: Operand, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def conv2d_input(input_size: Sequence[int], weight: Operand, grad_output: NDArray[Any], stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv2d_input(input_size: Sequence[int], weight: NDArray[Any], grad_output: Plain, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv2d_input(input_size: Sequence[int], weight: Plain, grad_output: Plain, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def conv2d_input(input_size: Sequence[int], weight: Same, grad_output: Plain, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def conv2d_input(input_size: Sequence[int], weight: Operand, grad_output: Plain, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Array: ...
@overload
def conv2d_input(input_size: Sequence[int], weight: Operand, grad_output: Same, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def conv2d_input(input_size: Sequence[int], weight: Operand, grad_output: Nested, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv2d_input(input_size: Sequence[int], weight: Operand, grad_output: Operand, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def conv2d_weight(input: NDArray[Any], weight_size: Sequence[int], grad_output: Operand, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv2d_weight(input: Plain, weight_size: Sequence[int], grad_output: NDArray[Any], stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv2d_weight(input: Plain, weight_size: Sequence[int], grad_output: Plain, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def conv2d_weight(input: Plain, weight_size: Sequence[int], grad_output: Same, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def conv2d_weight(input: Plain, weight_size: Sequence[int], grad_output: Operand, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Array: ...
@overload
def conv2d_weight(input: Same, weight_size: Sequence[int], grad_output: Operand, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def conv2d_weight(input: Nested, weight_size: Sequence[int], grad_output: Operand, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv2d_weight(input: Operand, weight_size: Sequence[int], grad_output: Operand, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def conv3d_input(input_size: Sequence[int], weight: Operand, grad_output: NDArray[Any], stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv3d_input(input_size: Sequence[int], weight: NDArray[Any], grad_output: Plain, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv3d_input(input_size: Sequence[int], weight: Plain, grad_output: Plain, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def conv3d_input(input_size: Sequence[int], weight: Same, grad_output: Plain, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def conv3d_input(input_size: Sequence[int], weight: Operand, grad_output: Plain, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Array: ...
@overload
def conv3d_input(input_size: Sequence[int], weight: Operand, grad_output: Same, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def conv3d_input(input_size: Sequence[int], weight: Operand, grad_output: Nested, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv3d_input(input_size: Sequence[int], weight: Operand, grad_output: Operand, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def conv3d_weight(input: NDArray[Any], weight_size: Sequence[int], grad_output: Operand, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv3d_weight(input: Plain, weight_size: Sequence[int], grad_output: NDArray[Any], stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv3d_weight(input: Plain, weight_size: Sequence[int], grad_output: Plain, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def conv3d_weight(input: Plain, weight_size: Sequence[int], grad_output: Same, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def conv3d_weight(input: Plain, weight_size: Sequence[int], grad_output: Operand, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Array: ...
@overload
def conv3d_weight(input: Same, weight_size: Sequence[int], grad_output: Operand, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def conv3d_weight(input: Nested, weight_size: Sequence[int], grad_output: Operand, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: None = None, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def conv3d_weight(input: Operand, weight_size: Sequence[int], grad_output: Operand, stride: Numbers = 1, padding: Padding = 0,
    dilation: Numbers = 1, groups: int = 1, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def group_norm_gradients(input: NDArray[Any], grad_output: Operand, num_groups: int, weight: Optional[Operand] = None, eps: float = 1e-05,
    *, mean: Optional[Operand] = None, inverse_std: Optional[Operand] = None,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def group_norm_gradients(input: Same, grad_output: Operand, num_groups: int, weight: Optional[Operand] = None, eps: float = 1e-05, *,
    mean: Optional[Operand] = None, inverse_std: Optional[Operand] = None,
    settings: SettingsArgument = None) -> Tuple[Same, Same, Same]: ...
@overload
def group_norm_gradients(input: Buffer, grad_output: Operand, num_groups: int, weight: Optional[Operand] = None, eps: float = 1e-05, *,
    mean: Optional[Operand] = None, inverse_std: Optional[Operand] = None,
    settings: SettingsArgument = None) -> Tuple[Tensor, Tensor, Tensor]: ...
@overload
def group_norm_gradients(input: Nested, grad_output: Operand, num_groups: int, weight: Optional[Operand] = None, eps: float = 1e-05, *,
    mean: Optional[Operand] = None, inverse_std: Optional[Operand] = None,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...

@overload
def gru_gradients(grad_output: Operand, input: Packed, hx: States, params: Sequence[Operand], output: Operand, reserve: Operand,
    has_biases: bool = True, bidirectional: bool = False, batch_first: bool = False, *, grad_h_n: Optional[Operand] = None,
    lengths: Optional[Operand] = None, reset_before: bool = False,
    settings: SettingsArgument = None) -> Tuple[PackedSequence, Array, List[Array]]: ...
@overload
def gru_gradients(grad_output: Operand, input: NDArray[Any], hx: States, params: Sequence[Operand], output: Operand, reserve: Operand,
    has_biases: bool = True, bidirectional: bool = False, batch_first: bool = False, *, grad_h_n: Optional[Operand] = None,
    lengths: Optional[Operand] = None, reset_before: bool = False,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any], List[NDArray[Any]]]: ...
@overload
def gru_gradients(grad_output: Operand, input: Plain, hx: States, params: Sequence[Operand], output: Operand, reserve: Operand,
    has_biases: bool = True, bidirectional: bool = False, batch_first: bool = False, *, grad_h_n: Optional[Operand] = None,
    lengths: Optional[Operand] = None, reset_before: bool = False, settings: SettingsArgument = None) -> Tuple[Own, Own, List[Own]]: ...
@overload
def gru_gradients(grad_output: Operand, input: Same, hx: States, params: Sequence[Operand], output: Operand, reserve: Operand,
    has_biases: bool = True, bidirectional: bool = False, batch_first: bool = False, *, grad_h_n: Optional[Operand] = None,
    lengths: Optional[Operand] = None, reset_before: bool = False,
    settings: SettingsArgument = None) -> Tuple[Same, Same, List[Same]]: ...
@overload
def gru_gradients(grad_output: Operand, input: Nested, hx: States, params: Sequence[Operand], output: Operand, reserve: Operand,
    has_biases: bool = True, bidirectional: bool = False, batch_first: bool = False, *, grad_h_n: Optional[Operand] = None,
    lengths: Optional[Operand] = None, reset_before: bool = False,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any], List[NDArray[Any]]]: ...

@overload
def layer_norm_gradients(input: NDArray[Any], grad_output: Operand, normalized_shape: Shape, weight: Optional[Operand] = None,
    eps: float = 1e-05, *, mean: Optional[Operand] = None, inverse_std: Optional[Operand] = None,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def layer_norm_gradients(input: Same, grad_output: Operand, normalized_shape: Shape, weight: Optional[Operand] = None, eps: float = 1e-05,
    *, mean: Optional[Operand] = None, inverse_std: Optional[Operand] = None,
    settings: SettingsArgument = None) -> Tuple[Same, Same, Same]: ...
@overload
def layer_norm_gradients(input: Buffer, grad_output: Operand, normalized_shape: Shape, weight: Optional[Operand] = None,
    eps: float = 1e-05, *, mean: Optional[Operand] = None, inverse_std: Optional[Operand] = None,
    settings: SettingsArgument = None) -> Tuple[Tensor, Tensor, Tensor]: ...
@overload
def layer_norm_gradients(input: Nested, grad_output: Operand, normalized_shape: Shape, weight: Optional[Operand] = None,
    eps: float = 1e-05, *, mean: Optional[Operand] = None, inverse_std: Optional[Operand] = None,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...

@overload
def linear_input(weight: Operand, grad_output: NDArray[Any], *, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def linear_input(weight: NDArray[Any], grad_output: Plain, *, settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def linear_input(weight: Plain, grad_output: Plain, *, settings: SettingsArgument = None) -> Tensor: ...
@overload
def linear_input(weight: Same, grad_output: Plain, *, settings: SettingsArgument = None) -> Same: ...
@overload
def linear_input(weight: Operand, grad_output: Plain, *, settings: SettingsArgument = None) -> Array: ...
@overload
def linear_input(weight: Operand, grad_output: Same, *, settings: SettingsArgument = None) -> Same: ...
@overload
def linear_input(weight: Operand, grad_output: Nested, *, settings: SettingsArgument = None) -> NDArray[Any]: ...

@overload
def linear_weight(input: NDArray[Any], grad_output: Operand, bias: Literal[False] = False, *,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def linear_weight(input: Plain, grad_output: NDArray[Any], bias: Literal[False] = False, *,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def linear_weight(input: Plain, grad_output: Plain, bias: Literal[False] = False, *, settings: SettingsArgument = None) -> Tensor: ...
@overload
def linear_weight(input: Plain, grad_output: Same, bias: Literal[False] = False, *, settings: SettingsArgument = None) -> Same: ...
@overload
def linear_weight(input: Plain, grad_output: Operand, bias: Literal[False] = False, *, settings: SettingsArgument = None) -> Array: ...
@overload
def linear_weight(input: Same, grad_output: Operand, bias: Literal[False] = False, *, settings: SettingsArgument = None) -> Same: ...
@overload
def linear_weight(input: Nested, grad_output: Operand, bias: Literal[False] = False, *,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def linear_weight(input: NDArray[Any], grad_output: Operand, *, settings: SettingsArgument = None,
    bias: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def linear_weight(input: Plain, grad_output: NDArray[Any], *, settings: SettingsArgument = None,
    bias: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def linear_weight(input: Plain, grad_output: Plain, *, settings: SettingsArgument = None,
    bias: Literal[True]) -> Tuple[Tensor, Tensor]: ...
@overload
def linear_weight(input: Plain, grad_output: Same, *, settings: SettingsArgument = None, bias: Literal[True]) -> Tuple[Same, Same]: ...
@overload
def linear_weight(input: Plain, grad_output: Operand, *, settings: SettingsArgument = None,
    bias: Literal[True]) -> Tuple[Array, Array]: ...
@overload
def linear_weight(input: Same, grad_output: Operand, *, settings: SettingsArgument = None, bias: Literal[True]) -> Tuple[Same, Same]: ...
@overload
def linear_weight(input: Nested, grad_output: Operand, *, settings: SettingsArgument = None,
    bias: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def linear_weight(input: NDArray[Any], grad_output: Operand, bias: bool = False, *,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any]]]: ...
@overload
def linear_weight(input: Plain, grad_output: Operand, bias: bool = False, *,
    settings: SettingsArgument = None) -> Union[Array, Tuple[Array, Array]]: ...
@overload
def linear_weight(input: Same, grad_output: Operand, bias: bool = False, *,
    settings: SettingsArgument = None) -> Union[Same, Tuple[Same, Same]]: ...
@overload
def linear_weight(input: Nested, grad_output: Operand, bias: bool = False, *,
    settings: SettingsArgument = None) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any]]]: ...

@overload
def log_softmax_input(output: NDArray[Any], grad_output: Operand, dim: int, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def log_softmax_input(output: Same, grad_output: Operand, dim: int, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def log_softmax_input(output: Buffer, grad_output: Operand, dim: int, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def log_softmax_input(output: Nested, grad_output: Operand, dim: int, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def log_softmax_input(output: Operand, grad_output: Operand, dim: int, *, out: Written, settings: SettingsArgument = None) -> Written: ...

@overload
def lstm_gradients(grad_output: Operand, input: Packed, hx: States, params: Sequence[Operand], output: Operand, reserve: Operand,
    has_biases: bool = True, bidirectional: bool = False, batch_first: bool = False, *, grad_h_n: Optional[Operand] = None,
    grad_c_n: Optional[Operand] = None, lengths: Optional[Operand] = None, proj_size: int = 0,
    settings: SettingsArgument = None) -> Tuple[PackedSequence, Tuple[Array, Array], List[Array]]: ...
@overload
def lstm_gradients(grad_output: Operand, input: NDArray[Any], hx: States, params: Sequence[Operand], output: Operand, reserve: Operand,
    has_biases: bool = True, bidirectional: bool = False, batch_first: bool = False, *, grad_h_n: Optional[Operand] = None,
    grad_c_n: Optional[Operand] = None, lengths: Optional[Operand] = None, proj_size: int = 0,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], Tuple[NDArray[Any], NDArray[Any]], List[NDArray[Any]]]: ...
@overload
def lstm_gradients(grad_output: Operand, input: Plain, hx: States, params: Sequence[Operand], output: Operand, reserve: Operand,
    has_biases: bool = True, bidirectional: bool = False, batch_first: bool = False, *, grad_h_n: Optional[Operand] = None,
    grad_c_n: Optional[Operand] = None, lengths: Optional[Operand] = None, proj_size: int = 0,
    settings: SettingsArgument = None) -> Tuple[Own, Tuple[Own, Own], List[Own]]: ...
@overload
def lstm_gradients(grad_output: Operand, input: Same, hx: States, params: Sequence[Operand], output: Operand, reserve: Operand,
    has_biases: bool = True, bidirectional: bool = False, batch_first: bool = False, *, grad_h_n: Optional[Operand] = None,
    grad_c_n: Optional[Operand] = None, lengths: Optional[Operand] = None, proj_size: int = 0,
    settings: SettingsArgument = None) -> Tuple[Same, Tuple[Same, Same], List[Same]]: ...
@overload
def lstm_gradients(grad_output: Operand, input: Nested, hx: States, params: Sequence[Operand], output: Operand, reserve: Operand,
    has_biases: bool = True, bidirectional: bool = False, batch_first: bool = False, *, grad_h_n: Optional[Operand] = None,
    grad_c_n: Optional[Operand] = None, lengths: Optional[Operand] = None, proj_size: int = 0,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], Tuple[NDArray[Any], NDArray[Any]], List[NDArray[Any]]]: ...

@overload
def max_pool1d_input(input_size: Sequence[int], indices: Operand, grad_output: NDArray[Any], kernel_size: Numbers,
    stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1, ceil_mode: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def max_pool1d_input(input_size: Sequence[int], indices: Operand, grad_output: Same, kernel_size: Numbers,
    stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1, ceil_mode: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def max_pool1d_input(input_size: Sequence[int], indices: Operand, grad_output: Buffer, kernel_size: Numbers,
    stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1, ceil_mode: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def max_pool1d_input(input_size: Sequence[int], indices: Operand, grad_output: Nested, kernel_size: Numbers,
    stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1, ceil_mode: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def max_pool1d_input(input_size: Sequence[int], indices: Operand, grad_output: Operand, kernel_size: Numbers,
    stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1, ceil_mode: bool = False, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...

@overload
def max_pool2d_input(input_size: Sequence[int], indices: Operand, grad_output: NDArray[Any], kernel_size: Numbers,
    stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1, ceil_mode: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def max_pool2d_input(input_size: Sequence[int], indices: Operand, grad_output: Same, kernel_size: Numbers,
    stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1, ceil_mode: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def max_pool2d_input(input_size: Sequence[int], indices: Operand, grad_output: Buffer, kernel_size: Numbers,
    stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1, ceil_mode: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def max_pool2d_input(input_size: Sequence[int], indices: Operand, grad_output: Nested, kernel_size: Numbers,
    stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1, ceil_mode: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def max_pool2d_input(input_size: Sequence[int], indices: Operand, grad_output: Operand, kernel_size: Numbers,
    stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1, ceil_mode: bool = False, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...

@overload
def max_pool3d_input(input_size: Sequence[int], indices: Operand, grad_output: NDArray[Any], kernel_size: Numbers,
    stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1, ceil_mode: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def max_pool3d_input(input_size: Sequence[int], indices: Operand, grad_output: Same, kernel_size: Numbers,
    stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1, ceil_mode: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Same: ...
@overload
def max_pool3d_input(input_size: Sequence[int], indices: Operand, grad_output: Buffer, kernel_size: Numbers,
    stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1, ceil_mode: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> Tensor: ...
@overload
def max_pool3d_input(input_size: Sequence[int], indices: Operand, grad_output: Nested, kernel_size: Numbers,
    stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1, ceil_mode: bool = False, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def max_pool3d_input(input_size: Sequence[int], indices: Operand, grad_output: Operand, kernel_size: Numbers,
    stride: Optional[Numbers] = None, padding: Numbers = 0, dilation: Numbers = 1, ceil_mode: bool = False, *, out: Written,
    settings: SettingsArgument = None) -> Written: ...

@overload
def rms_norm_gradients(input: NDArray[Any], grad_output: Operand, normalized_shape: Shape, weight: Optional[Operand] = None,
    eps: Optional[float] = None, *, inverse_std: Optional[Operand] = None,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def rms_norm_gradients(input: Same, grad_output: Operand, normalized_shape: Shape, weight: Optional[Operand] = None,
    eps: Optional[float] = None, *, inverse_std: Optional[Operand] = None, settings: SettingsArgument = None) -> Tuple[Same, Same]: ...
@overload
def rms_norm_gradients(input: Buffer, grad_output: Operand, normalized_shape: Shape, weight: Optional[Operand] = None,
    eps: Optional[float] = None, *, inverse_std: Optional[Operand] = None,
    settings: SettingsArgument = None) -> Tuple[Tensor, Tensor]: ...
@overload
def rms_norm_gradients(input: Nested, grad_output: Operand, normalized_shape: Shape, weight: Optional[Operand] = None,
    eps: Optional[float] = None, *, inverse_std: Optional[Operand] = None,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any]]: ...

@overload
def rnn_relu_gradients(grad_output: Operand, input: Packed, hx: States, params: Sequence[Operand], output: Operand, reserve: Operand,
    has_biases: bool = True, bidirectional: bool = False, batch_first: bool = False, *, grad_h_n: Optional[Operand] = None,
    lengths: Optional[Operand] = None, settings: SettingsArgument = None) -> Tuple[PackedSequence, Array, List[Array]]: ...
@overload
def rnn_relu_gradients(grad_output: Operand, input: NDArray[Any], hx: States, params: Sequence[Operand], output: Operand,
    reserve: Operand, has_biases: bool = True, bidirectional: bool = False, batch_first: bool = False, *,
    grad_h_n: Optional[Operand] = None, lengths: Optional[Operand] = None,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any], List[NDArray[Any]]]: ...
@overload
def rnn_relu_gradients(grad_output: Operand, input: Plain, hx: States, params: Sequence[Operand], output: Operand, reserve: Operand,
    has_biases: bool = True, bidirectional: bool = False, batch_first: bool = False, *, grad_h_n: Optional[Operand] = None,
    lengths: Optional[Operand] = None, settings: SettingsArgument = None) -> Tuple[Own, Own, List[Own]]: ...
@overload
def rnn_relu_gradients(grad_output: Operand, input: Same, hx: States, params: Sequence[Operand], output: Operand, reserve: Operand,
    has_biases: bool = True, bidirectional: bool = False, batch_first: bool = False, *, grad_h_n: Optional[Operand] = None,
    lengths: Optional[Operand] = None, settings: SettingsArgument = None) -> Tuple[Same, Same, List[Same]]: ...
@overload
def rnn_relu_gradients(grad_output: Operand, input: Nested, hx: States, params: Sequence[Operand], output: Operand, reserve: Operand,
    has_biases: bool = True, bidirectional: bool = False, batch_first: bool = False, *, grad_h_n: Optional[Operand] = None,
    lengths: Optional[Operand] = None, settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any], List[NDArray[Any]]]: ...

@overload
def rnn_tanh_gradients(grad_output: Operand, input: Packed, hx: States, params: Sequence[Operand], output: Operand, reserve: Operand,
    has_biases: bool = True, bidirectional: bool = False, batch_first: bool = False, *, grad_h_n: Optional[Operand] = None,
    lengths: Optional[Operand] = None, settings: SettingsArgument = None) -> Tuple[PackedSequence, Array, List[Array]]: ...
@overload
def rnn_tanh_gradients(grad_output: Operand, input: NDArray[Any], hx: States, params: Sequence[Operand], output: Operand,
    reserve: Operand, has_biases: bool = True, bidirectional: bool = False, batch_first: bool = False, *,
    grad_h_n: Optional[Operand] = None, lengths: Optional[Operand] = None,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any], List[NDArray[Any]]]: ...
@overload
def rnn_tanh_gradients(grad_output: Operand, input: Plain, hx: States, params: Sequence[Operand], output: Operand, reserve: Operand,
    has_biases: bool = True, bidirectional: bool = False, batch_first: bool = False, *, grad_h_n: Optional[Operand] = None,
    lengths: Optional[Operand] = None, settings: SettingsArgument = None) -> Tuple[Own, Own, List[Own]]: ...
@overload
def rnn_tanh_gradients(grad_output: Operand, input: Same, hx: States, params: Sequence[Operand], output: Operand, reserve: Operand,
    has_biases: bool = True, bidirectional: bool = False, batch_first: bool = False, *, grad_h_n: Optional[Operand] = None,
    lengths: Optional[Operand] = None, settings: SettingsArgument = None) -> Tuple[Same, Same, List[Same]]: ...
@overload
def rnn_tanh_gradients(grad_output: Operand, input: Nested, hx: States, params: Sequence[Operand], output: Operand, reserve: Operand,
    has_biases: bool = True, bidirectional: bool = False, batch_first: bool = False, *, grad_h_n: Optional[Operand] = None,
    lengths: Optional[Operand] = None, settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any], List[NDArray[Any]]]: ...

@overload
def scaled_dot_product_attention_gradients(grad_output: Operand, query: NDArray[Any], key: Operand, value: Operand, output: Operand,
    logsumexp: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, lengths: Optional[Operand] = None, seed: Seed = None, mask_gradient: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def scaled_dot_product_attention_gradients(grad_output: Operand, query: Plain, key: NDArray[Any], value: Operand, output: Operand,
    logsumexp: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, lengths: Optional[Operand] = None, seed: Seed = None, mask_gradient: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def scaled_dot_product_attention_gradients(grad_output: Operand, query: Plain, key: Plain, value: NDArray[Any], output: Operand,
    logsumexp: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, lengths: Optional[Operand] = None, seed: Seed = None, mask_gradient: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def scaled_dot_product_attention_gradients(grad_output: Operand, query: Plain, key: Plain, value: Plain, output: Operand,
    logsumexp: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, lengths: Optional[Operand] = None, seed: Seed = None, mask_gradient: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[Tensor, Tensor, Tensor]: ...
@overload
def scaled_dot_product_attention_gradients(grad_output: Operand, query: Plain, key: Same, value: Operand, output: Operand,
    logsumexp: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, lengths: Optional[Operand] = None, seed: Seed = None, mask_gradient: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[Same, Same, Same]: ...
@overload
def scaled_dot_product_attention_gradients(grad_output: Operand, query: Plain, key: Plain, value: Same, output: Operand,
    logsumexp: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, lengths: Optional[Operand] = None, seed: Seed = None, mask_gradient: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[Same, Same, Same]: ...
@overload
def scaled_dot_product_attention_gradients(grad_output: Operand, query: Plain, key: Operand, value: Operand, output: Operand,
    logsumexp: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, lengths: Optional[Operand] = None, seed: Seed = None, mask_gradient: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[Array, Array, Array]: ...
@overload
def scaled_dot_product_attention_gradients(grad_output: Operand, query: Same, key: Operand, value: Operand, output: Operand,
    logsumexp: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, lengths: Optional[Operand] = None, seed: Seed = None, mask_gradient: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[Same, Same, Same]: ...
@overload
def scaled_dot_product_attention_gradients(grad_output: Operand, query: Nested, key: Operand, value: Operand, output: Operand,
    logsumexp: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, lengths: Optional[Operand] = None, seed: Seed = None, mask_gradient: Literal[False] = False,
    settings: SettingsArgument = None) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def scaled_dot_product_attention_gradients(grad_output: Operand, query: NDArray[Any], key: Operand, value: Operand, output: Operand,
    logsumexp: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, lengths: Optional[Operand] = None, seed: Seed = None, settings: SettingsArgument = None,
    mask_gradient: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def scaled_dot_product_attention_gradients(grad_output: Operand, query: Plain, key: NDArray[Any], value: Operand, output: Operand,
    logsumexp: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, lengths: Optional[Operand] = None, seed: Seed = None, settings: SettingsArgument = None,
    mask_gradient: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def scaled_dot_product_attention_gradients(grad_output: Operand, query: Plain, key: Plain, value: NDArray[Any], output: Operand,
    logsumexp: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, lengths: Optional[Operand] = None, seed: Seed = None, settings: SettingsArgument = None,
    mask_gradient: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def scaled_dot_product_attention_gradients(grad_output: Operand, query: Plain, key: Plain, value: Plain, output: Operand,
    logsumexp: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, lengths: Optional[Operand] = None, seed: Seed = None, settings: SettingsArgument = None,
    mask_gradient: Literal[True]) -> Tuple[Tensor, Tensor, Tensor, Tensor]: ...
@overload
def scaled_dot_product_attention_gradients(grad_output: Operand, query: Plain, key: Same, value: Operand, output: Operand,
    logsumexp: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, lengths: Optional[Operand] = None, seed: Seed = None, settings: SettingsArgument = None,
    mask_gradient: Literal[True]) -> Tuple[Same, Same, Same, Same]: ...
@overload
def scaled_dot_product_attention_gradients(grad_output: Operand, query: Plain, key: Plain, value: Same, output: Operand,
    logsumexp: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, lengths: Optional[Operand] = None, seed: Seed = None, settings: SettingsArgument = None,
    mask_gradient: Literal[True]) -> Tuple[Same, Same, Same, Same]: ...
@overload
def scaled_dot_product_attention_gradients(grad_output: Operand, query: Plain, key: Operand, value: Operand, output: Operand,
    logsumexp: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, lengths: Optional[Operand] = None, seed: Seed = None, settings: SettingsArgument = None,
    mask_gradient: Literal[True]) -> Tuple[Array, Array, Array, Array]: ...
@overload
def scaled_dot_product_attention_gradients(grad_output: Operand, query: Same, key: Operand, value: Operand, output: Operand,
    logsumexp: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, lengths: Optional[Operand] = None, seed: Seed = None, settings: SettingsArgument = None,
    mask_gradient: Literal[True]) -> Tuple[Same, Same, Same, Same]: ...
@overload
def scaled_dot_product_attention_gradients(grad_output: Operand, query: Nested, key: Operand, value: Operand, output: Operand,
    logsumexp: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, lengths: Optional[Operand] = None, seed: Seed = None, settings: SettingsArgument = None,
    mask_gradient: Literal[True]) -> Tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def scaled_dot_product_attention_gradients(grad_output: Operand, query: NDArray[Any], key: Operand, value: Operand, output: Operand,
    logsumexp: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, lengths: Optional[Operand] = None, seed: Seed = None, mask_gradient: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[NDArray[Any], NDArray[Any], NDArray[Any]], Tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]]: ...
@overload
def scaled_dot_product_attention_gradients(grad_output: Operand, query: Plain, key: Operand, value: Operand, output: Operand,
    logsumexp: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, lengths: Optional[Operand] = None, seed: Seed = None, mask_gradient: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[Array, Array, Array], Tuple[Array, Array, Array, Array]]: ...
@overload
def scaled_dot_product_attention_gradients(grad_output: Operand, query: Same, key: Operand, value: Operand, output: Operand,
    logsumexp: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, lengths: Optional[Operand] = None, seed: Seed = None, mask_gradient: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[Same, Same, Same], Tuple[Same, Same, Same, Same]]: ...
@overload
def scaled_dot_product_attention_gradients(grad_output: Operand, query: Nested, key: Operand, value: Operand, output: Operand,
    logsumexp: Operand, attn_mask: Optional[Union[Operand, CausalBias]] = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: Optional[float] = None, enable_gqa: bool = False, *, softcap: float = 0.0, window: Optional[Tuple[int, int]] = None,
    lower_right: bool = False, lengths: Optional[Operand] = None, seed: Seed = None, mask_gradient: bool = False,
    settings: SettingsArgument = None) -> Union[Tuple[NDArray[Any], NDArray[Any], NDArray[Any]], Tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]]: ...

@overload
def softmax_input(output: NDArray[Any], grad_output: Operand, dim: int, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def softmax_input(output: Same, grad_output: Operand, dim: int, *, out: None = None, settings: SettingsArgument = None) -> Same: ...
@overload
def softmax_input(output: Buffer, grad_output: Operand, dim: int, *, out: None = None, settings: SettingsArgument = None) -> Tensor: ...
@overload
def softmax_input(output: Nested, grad_output: Operand, dim: int, *, out: None = None,
    settings: SettingsArgument = None) -> NDArray[Any]: ...
@overload
def softmax_input(output: Operand, grad_output: Operand, dim: int, *, out: Written, settings: SettingsArgument = None) -> Written: ...
