"""Types of the extension module, for type checkers."""

import sys
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Union, final

_Value = Union[bool, int, str]

version: str
table: Mapping[str, Setting]

class Error(RuntimeError):
    status: str
    reasons: Tuple[Tuple[str, str, str], ...]

class BadValueError(Error, ValueError): ...
class BadTypeError(Error, TypeError): ...
class UnknownNameError(Error, AttributeError): ...
class LinAlgError(Error): ...
class Warning(RuntimeWarning): ...

@final
class Setting:
    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def default(self) -> str: ...
    @property
    def allowed(self) -> str: ...
    @property
    def environment(self) -> str: ...
    @property
    def alias(self) -> str: ...
    @property
    def affects(self) -> str: ...
    @property
    def help(self) -> str: ...
    @property
    def read_only(self) -> bool: ...
    @property
    def startup(self) -> bool: ...
    @property
    def has_effect(self) -> bool: ...
    @property
    def why_not(self) -> str: ...
    def get(self) -> _Value: ...
    def set(self, value: _Value, /) -> None: ...
    def check(self, value: _Value, /) -> None: ...
    def unset(self) -> None: ...
    def origin(self) -> Tuple[str, str, str]: ...
    def stored(self, layer: str, /) -> Optional[str]: ...
    def __get__(self, instance: object, owner: Any = None, /) -> Any: ...
    def __set__(self, instance: object, value: _Value, /) -> None: ...
    def __delete__(self, instance: object, /) -> None: ...

@final
class Options:
    def __new__(cls, names: Dict[str, _Value], /) -> Options: ...

@final
class Scope:
    def __new__(cls, options: Options, /) -> Scope: ...
    def enter(self) -> None: ...
    def leave(self) -> None: ...
    @property
    def is_open(self) -> bool: ...

_OneIndex = Union[int, slice, None, "ellipsis", Tensor]
_Index = Union[_OneIndex, Tuple[_OneIndex, ...]]

@final
class Tensor:
    @property
    def shape(self) -> Tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def strides(self) -> Tuple[int, ...]: ...
    @property
    def row_major(self) -> bool: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def T(self) -> Tensor: ...
    @property
    def mT(self) -> Tensor: ...
    def tolist(self) -> Any: ...
    def item(self) -> Union[bool, int, float, complex]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __getitem__(self, key: _Index, /) -> Tensor: ...
    def __setitem__(self, key: _Index, value: Any, /) -> None: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __complex__(self) -> complex: ...
    def __bool__(self) -> bool: ...
    def __array__(self, dtype: Any = None, *, copy: Optional[bool] = None) -> Any: ...
    def _repr_html_(self) -> str: ...
    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: Optional[Tuple[int, int]] = None,
        dl_device: Optional[Tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> object: ...
    def __dlpack_device__(self) -> Tuple[int, int]: ...
    def bits(self) -> Tensor: ...
    @property
    def device(self) -> Any: ...
    def cpu(self) -> Tensor: ...
    def numpy(self) -> Any: ...
    def to(self, device: Any = None, dtype: Any = None, *, copy: bool = False) -> Tensor: ...
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...

_Settings = Union[None, Options, Mapping[str, _Value]]

def matmul(input: Any, other: Any, *, out: Any = None, settings: _Settings = None) -> Any: ...
def matmul_floats(a: Any, b: Any, /, *, out: Any = None, settings: _Settings = None) -> Any: ...
def gemm(
    a: Any,
    b: Any,
    /,
    c: Any = None,
    *,
    alpha: complex = 1.0,
    beta: complex = 0.0,
    transform_a: str = "as_is",
    transform_b: str = "as_is",
    settings: _Settings = None,
) -> Any: ...
def set_convert_factors(function: Any, /) -> None: ...
def set_convert(function: Callable[..., Any], /) -> None: ...
def explain_matmul(*arguments: Any, **names: Any) -> Dict[str, Any]: ...
def explain_matmul_floats(*arguments: Any, **names: Any) -> Dict[str, Any]: ...
def explain_gemm(*arguments: Any, **names: Any) -> Dict[str, Any]: ...
def fft(
    name: str,
    input: Any,
    /,
    s: Optional[Tuple[int, ...]],
    dim: Optional[Tuple[int, ...]],
    norm: Optional[str],
    out: Any,
    settings: _Settings,
    explains: bool = False,
) -> Any: ...
def fftshift(input: Any, dim: Optional[Tuple[int, ...]], back: bool, /) -> Tensor: ...
def fftfreq(n: int, d: float, half: bool, dtype: str, out: Any, /) -> Optional[Tensor]: ...
def conv(
    pass_: int,
    ndim: int,
    transposed: bool,
    arrays: Tuple[Any, ...],
    size: Optional[Tuple[int, ...]],
    /,
    stride: Optional[Tuple[int, ...]],
    padding: Union[None, str, Tuple[int, ...]],
    dilation: Optional[Tuple[int, ...]],
    output_padding: Optional[Tuple[int, ...]],
    groups: int,
    relu: bool,
    out: Any,
    settings: _Settings,
    explains: bool = False,
) -> Any: ...
def linear(
    pass_: int,
    input: Any,
    weight: Any,
    bias: Any,
    output: Any,
    with_bias: bool,
    activation: Optional[str],
    settings: _Settings,
    explains: bool,
    /,
) -> Any: ...
def pool(
    average: bool,
    backward: bool,
    ndim: int,
    array: Any,
    indices: Any,
    with_indices: bool,
    size: Optional[Tuple[int, ...]],
    /,
    output_size: Optional[Tuple[int, ...]],
    kernel_size: Optional[Tuple[int, ...]],
    stride: Optional[Tuple[int, ...]],
    padding: Optional[Tuple[int, ...]],
    dilation: Optional[Tuple[int, ...]],
    ceil_mode: bool,
    exclude_padding: bool,
    divisor: int,
    out: Any,
    settings: _Settings,
    explains: bool = False,
) -> Any: ...
def batch_norm(
    pass_: int,
    input: Any,
    weight: Any,
    bias: Any,
    grad_output: Any,
    running_mean: Any,
    running_var: Any,
    mean: Any,
    inverse_std: Any,
    /,
    eps: float,
    momentum: float,
    relu: bool,
    out: Any,
    settings: _Settings,
    explains: bool = False,
) -> Any: ...
def attention(
    pass_: int,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any,
    grad_output: Any,
    output: Any,
    logsumexp_: Any,
    pages: Any,
    lengths: Any,
    /,
    dropout_p: float,
    is_causal: bool,
    scale: Optional[float],
    enable_gqa: bool,
    seed: int,
    offset: int,
    logsumexp: bool,
    out: Any,
    settings: _Settings,
    explains: bool = False,
    mask_gradient: bool = False,
) -> Any: ...
def layer_norm(
    pass_: int,
    kind: int,
    input: Any,
    weight: Any,
    bias: Any,
    grad_output: Any,
    mean: Any,
    inverse_std: Any,
    /,
    dims: int,
    groups: int,
    eps: Optional[float],
    statistics: bool,
    out: Any,
    settings: _Settings,
    explains: bool = False,
) -> Any: ...
def reduce(
    kind: int,
    x: Any,
    /,
    axis: Optional[Tuple[int, ...]],
    keepdims: bool,
    out: Any,
    settings: _Settings,
    explains: bool = False,
) -> Any: ...
def softmax(
    kind: int,
    input: Any,
    grad_output: Any,
    /,
    dim: int,
    out: Any,
    settings: _Settings,
    explains: bool = False,
) -> Any: ...
def rnn(
    pass_: int,
    mode: int,
    directions: int,
    reverse: bool,
    arrays: Tuple[Any, ...],
    wanted: int,
    /,
    settings: _Settings,
    explains: bool = False,
) -> Any: ...
def cosine(
    input: Any,
    type: int,
    sine: bool,
    n: int,
    dim: int,
    norm: int,
    orthogonal: bool,
    out: Any,
    settings: _Settings,
    lines: int,
    /,
) -> Any: ...
def fft_plans() -> int: ...
def fft_plans_clear() -> None: ...
def linalg(
    op: str,
    inputs: Tuple[Any, ...],
    outputs: Tuple[Any, ...],
    settings: _Settings = None,
    explain: bool = False,
    /,
    **words: Any,
) -> Any: ...
def elementwise(
    op: str,
    kind: str,
    arrays: Tuple[Any, ...],
    axis: int,
    dtype: str,
    out: Any,
    settings: _Settings,
    explains: bool,
    /,
) -> Any: ...
def devices() -> List[Dict[str, Any]]: ...
def device_control(what: str, device: str, number: int, /) -> None: ...
def device_memory(device: str, /) -> Dict[str, int]: ...
def device_plans(device: str, /) -> int: ...
def empty(shape: Tuple[int, ...], dtype: str, device: str, /) -> Tensor: ...
def random(kind: int, shape: Tuple[int, ...], dtype: str, device: str, seed: int, offset: int, /) -> Tensor: ...
def transfer(array: Any, device: str, /) -> Tensor: ...
def from_dlpack(x: Any, /) -> Tensor: ...
def product_chain(
    name: str, operands: Tuple[Any, ...], number: int, out: Any, settings: _Settings, explains: bool, /
) -> Any: ...
def prefer(setting: str, library: str, /) -> None: ...
def last_plan() -> Optional[Dict[str, Any]]: ...

# Labels, output, strategy, minimize, memory limit, trials, seconds, seed, work, path.
_Lists = Optional[Tuple[Tuple[int, ...], ...]]
_Words = Tuple[_Lists, Optional[Tuple[int, ...]], Optional[str], str, int, int, float, int, int, _Lists]

def einsum(
    expression: Optional[str],
    operands: Tuple[Any, ...],
    out: Any,
    settings: _Settings,
    words: Optional[_Words],
    explains: bool,
    /,
) -> Any: ...
def einsum_plain(given: Tuple[Any, ...], type: Any, /) -> Optional[Tensor]: ...
def einsum_path(
    expression: Optional[str], shapes: Tuple[Tuple[int, ...], ...], dtype: Optional[str], words: _Words, /
) -> Tuple[List[Tuple[int, ...]], object]: ...
def path_text(path: object, /) -> str: ...
def path_json(path: object, /) -> str: ...
def libraries(refresh: bool, /) -> List[Dict[str, Any]]: ...
def providers() -> List[Dict[str, Any]]: ...
def machine() -> Dict[str, Any]: ...
def backend_status(name: str, /) -> Dict[str, Any]: ...
def backends() -> List[Dict[str, Any]]: ...
def verbose_enter(backend: str, level: int, collects: bool, /) -> object: ...
def verbose_leave(scope: object, /) -> Optional[List[str]]: ...
def freeze() -> None: ...
def is_frozen() -> bool: ...
def cpu_capability() -> str: ...
