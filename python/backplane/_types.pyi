"""Types of arrays and of arguments, for type checkers. There is no module of this name: no annotation is read at run time.

A signature says with Kind, Next, Pair, Mixed, Steps, Flag and Out how the results follow from the arguments. tools/function_stubs.py writes the
overloads that this means, which have Same and Written in their place. Other words are types as they stand.
"""

from typing import Any, Callable, Literal, Protocol, Sequence, SupportsIndex, Tuple, TypeVar, Union

from numpy import bool_, dtype, generic, number
from numpy.typing import NDArray as NDArray
from typing_extensions import Buffer as Buffer

from ._core import Options as Options
from ._core import Tensor as Tensor
from ._dtypes import dtype as own_dtype
from ._settings_tree import Named as Named
from .nn.attention.bias import CausalBias as CausalBias

class Array(Protocol):
    """An array of any library that exports DLPack: of NumPy, torch, this package and others."""

    @property
    def shape(self) -> Tuple[int, ...]: ...
    @property
    def dtype(self) -> object: ...
    @property
    def __dlpack__(self) -> Callable[..., object]: ...

class Packed(Protocol):
    """A packed sequence, of this package or of torch."""

    @property
    def data(self) -> Any: ...
    @property
    def batch_sizes(self) -> Any: ...
    @property
    def sorted_indices(self) -> Any: ...
    @property
    def unsorted_indices(self) -> Any: ...

_Element = TypeVar("_Element", covariant=True)

class _List(Protocol[_Element]):
    """A list or tuple, but no text."""

    def __len__(self) -> int: ...
    def __contains__(self, value: object, /) -> bool: ...
    def __getitem__(self, place: SupportsIndex, /) -> _Element: ...
    def __mul__(self, count: SupportsIndex, /) -> _List[_Element]: ...

Number = Union[complex, number[Any], bool_]
Lists = Union[_List["Nested"], _List[Array], _List[Buffer]]
Nested = Union[complex, generic, Lists]
"""What becomes an array of NumPy."""
Operand = Union[Array, Buffer, Nested]
"""Whatever is taken as an array."""

Kind = Any
"""The array that decides the kind of the results, and these."""
Next = Any
"""The array that decides if the one before is only a buffer."""
Pair = Any
"""One of two arrays; the first one decides. A number takes the type of the other."""
Mixed = Any
"""As Kind, but NumPy computes integers, so that the result of a Tensor or a buffer may be one of NumPy."""
Steps = Any
"""As Mixed; a packed sequence gives a packed sequence."""
Flag = bool
"""Chooses the second type of the results, which are a union of two."""
Out = Any
"""The array that is written and returned."""

Plain = Union[Tensor, Buffer]
"""An array that has no library of its own, so that another one decides."""
Own = Union[Tensor, NDArray[Any]]
"""The kind of a result of plain arrays if NumPy computes integers."""
Same = TypeVar("Same", bound=Array)
Made = TypeVar("Made", bound=Array, covariant=True)
Written = TypeVar("Written", bound=Union[Array, Buffer])

SettingsArgument = Union[None, Options, Named]
Numbers = Union[int, Sequence[int]]
Dims = Union[None, int, Sequence[int]]
Sizes = Union[None, int, Sequence[Union[None, int]]]
Shape = Union[int, Sequence[int]]
Padding = Union[Literal["same", "valid"], int, Sequence[int]]
Axes = Union[int, Sequence[Union[int, Sequence[int]]]]
Labels = Sequence[object]
"""Labels of dimensions for einsum(): whole numbers or Ellipsis."""
Optimize = Union[None, bool, str, Sequence[object]]
Norm = Literal["backward", "ortho", "forward"]
UpLo = Literal["L", "U", "l", "u"]
Tolerance = Union[None, float, Operand]
Seed = Union[None, int, Tuple[int, int]]
State = Union[None, Operand]
States = Union[None, Sequence[Union[None, Operand]]]
Parameters = Union[Sequence[Operand], State]
"""The parameters of layers; in torch's form with batch_sizes the states are in this place."""
Activation = Literal[
    "abs", "negative", "exp", "log", "sqrt", "tanh", "sigmoid", "relu", "gelu", "gelu_tanh", "silu", "hardswish", "copy",
    "floor", "ceil", "round", "trunc", "sign", "reciprocal", "rsqrt", "sin", "cos", "tan", "erf", "expm1", "log1p", "log2",
    "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "log10", "exp2", "erfc",
    "hardsigmoid", "mish", "softsign", "logsigmoid", "selu", "tanhshrink"
]
Transform = Literal["as_is", "transpose", "conjugate_transpose", "conjugate"]
NumPyType = Union["type[Any]", dtype[Any]]
DType = Union[str, own_dtype, NumPyType, _TorchType]

class _TorchType(Protocol):
    """An element type of torch."""

    @property
    def is_floating_point(self) -> bool: ...
    @property
    def is_complex(self) -> bool: ...
    @property
    def itemsize(self) -> int: ...
