"""Text of tensors, as NumPy formats arrays, their conversion to NumPy, and the names that torch has for their properties."""

from __future__ import annotations

import html as _html
import math
import sys
from typing import Any, Callable, Iterator, List, Optional, Tuple

from . import _core
from ._dtypes import dtype
from ._errors import bad_type, failure, whole

THRESHOLD = 1000
"""Tensors with more elements are shown in part."""
EDGE = 3
"""Number of elements that are shown at each end of a dimension."""
DIGITS = {"f16": 4, "bf16": 4}
"""Digits after the point; 8 for other types."""
WIDTH = 75
"""Longest line of elements."""


def _values(tensor: _core.Tensor, edge: int) -> Any:
    """Returns the elements to show as nested lists; Ellipsis marks elements that are left out."""
    if tensor.ndim == 0:
        return tensor.item()
    if not edge or len(tensor) <= 2 * edge:
        return [_values(part, edge) for part in tensor]
    first, last = ([_values(part, edge) for part in ends] for ends in (tensor[:edge], tensor[-edge:]))
    return [*first, ..., *last]


def _leaves(values: Any) -> Iterator[Any]:
    if isinstance(values, list):
        for value in values:
            yield from _leaves(value)
    elif values is not ...:
        yield values


def _float_format(numbers: List[float], digits: int) -> Callable[[float], str]:
    """Returns a function that formats with as many digits as the numbers need, at most ``digits``."""
    sizes = [abs(number) for number in numbers if math.isfinite(number) and number]
    scientific = bool(sizes) and (max(sizes) >= 1e8 or min(sizes) < 1e-4 or max(sizes) / min(sizes) > 1000 and digits < 8)
    kind = "e" if scientific else "f"

    def needed(number: float) -> int:
        text = f"{number:.{digits}{kind}}".partition("e")[0]
        return len(text.rstrip("0").partition(".")[2])

    fraction = max([needed(number) for number in numbers if math.isfinite(number)], default=0)

    def shown(number: float) -> str:
        if not math.isfinite(number):
            return str(number)
        text = f"{number:.{fraction}{kind}}"
        if kind == "e":
            return text
        text = text if "." in text else text + "."
        short = text.rstrip("0")
        return short + " " * (len(text) - len(short))

    return shown


def _formatter(dtype: str, values: Any) -> Callable[[Any], str]:
    leaves = list(_leaves(values))
    digits = DIGITS.get(dtype, 8)
    if dtype.startswith("c"):
        real = _float_format([value.real for value in leaves], digits)
        imaginary = _float_format([abs(value.imag) for value in leaves], digits)

        def format_complex(value: complex) -> str:
            sign = "-" if math.copysign(1, value.imag) < 0 else "+"
            text = imaginary(abs(value.imag))
            return f"{real(value.real)}{sign}{text.rstrip(' ')}j{' ' * (len(text) - len(text.rstrip(' ')))}"

        return format_complex
    if dtype.startswith(("f", "b")) and dtype != "bool":
        return _float_format(leaves, digits)
    return str


def _lines(values: Any, shown: Callable[[Any], str], indent: int, width: int) -> str:
    """Returns nested brackets. Long rows are broken into lines."""
    if not isinstance(values, list):
        return shown(values).strip()
    if values and not isinstance(next(value for value in values if value is not ...), list):
        rows, row = [], ""
        for i, value in enumerate(values):
            text = ("..." if value is ... else shown(value).rjust(width)) + (", " if i + 1 < len(values) else "")
            if row and indent + 1 + len(row) + len(text.rstrip()) > WIDTH:
                rows.append(row.rstrip())
                row = ""
            row += text
        return "[" + ("\n" + " " * (indent + 1)).join([*rows, row]) + "]"
    depth = 0
    inner = values[0] if values else 0
    while isinstance(inner, list):
        depth, inner = depth + 1, inner[0] if inner else 0
    between = "," + "\n" * max(depth, 1) + " " * (indent + 1)
    parts = ["..." if value is ... else _lines(value, shown, indent + 1, width) for value in values]
    return "[" + between.join(parts) + "]"


def _is_away(tensor: _core.Tensor) -> bool:
    """Returns whether the memory is on a device."""
    return tensor.__dlpack_device__()[0] != 1


def text(tensor: _core.Tensor) -> str:
    """Returns the values, summarised if there are more than 1000, the element type, and the device if it is not the CPU."""
    start = "backplane.Tensor("
    place = f", device='{tensor.device}'" if _is_away(tensor) else ""
    if not tensor.size:
        return f"{start}[], shape={tensor.shape}, dtype={tensor.dtype}{place})"
    shape = f", shape={tensor.shape}" if tensor.size > THRESHOLD else ""
    edge = EDGE if tensor.size > THRESHOLD else 0
    values = _values(tensor.cpu(), edge)
    shown = _formatter(tensor.dtype, values)
    width = max(len(shown(value)) for value in _leaves(values))
    return f"{start}{_lines(values, shown, len(start), width)}{shape}, dtype={tensor.dtype}{place})"


def html(tensor: _core.Tensor) -> str:
    """Returns a table of a tensor of one or two dimensions; the text of others."""
    caption = f"backplane.Tensor {tensor.dtype} {tensor.shape}"
    if tensor.ndim not in (1, 2) or not tensor.size:
        return f"<pre>{_html.escape(text(tensor))}</pre>"
    values = _values(tensor.cpu(), EDGE if tensor.size > THRESHOLD else 0)
    shown = _formatter(tensor.dtype, values)
    rows = [values] if tensor.ndim == 1 else values
    columns = next(len(row) for row in rows if row is not ...)
    body = ""
    for row in rows:
        cells = ["..."] * columns if row is ... else ["..." if value is ... else shown(value) for value in row]
        body += "<tr>" + "".join(f"<td>{_html.escape(cell.strip())}</td>" for cell in cells) + "</tr>"
    return f"<table><caption>{_html.escape(caption)}</caption>{body}</table>"


def as_numpy(tensor: _core.Tensor) -> Any:
    """Returns a NumPy array of the memory. bfloat16 is the type of ml_dtypes, because NumPy has none of its own."""
    numpy = sys.modules["numpy"]
    if _is_away(tensor):
        raise failure(
            _core.BadTypeError, "E_DEVICE", f"a tensor on {tensor.device} cannot become a NumPy array; copy it to the host with .cpu()"
        )
    if tensor.dtype == "bf16":
        return numpy.asarray(tensor.bits()).view(numpy.dtype("bfloat16"))
    return numpy.asarray(tensor)


def numpy(tensor: _core.Tensor) -> Any:
    """Implements Tensor.numpy()."""
    import numpy  # noqa: F401, as_numpy() finds the module

    return as_numpy(tensor)


# Types of devices in DLPack.
_HOST = (1, 3, 11)
_CUDA, _OPENCL, _CUDA_MANAGED = 2, 4, 13
_NAMES = {2: "cuda", 7: "vulkan", 8: "mps", 10: "cuda", 14: "xpu"}  # torch's, where this machine has no runtime for the memory


def device_of(tensor: _core.Tensor) -> Any:
    """Implements Tensor.device."""
    from ._torch_names import device

    kind, index = tensor.__dlpack_device__()
    if kind in _HOST:
        return device("cpu")
    if kind == _OPENCL:  # without a look at the list
        return device("opencl", index)
    kind = _CUDA if kind == _CUDA_MANAGED else kind
    ids = (row["id"] for row in _core.devices() if row["type"] == kind and row["id"].endswith(f":{index}"))
    return device(next(ids, f"{_NAMES.get(kind, 'privateuseone')}:{index}"))


def to(tensor: _core.Tensor, device: Any = None, dtype: Any = None, *, copy: bool = False) -> _core.Tensor:
    """Implements Tensor.to()."""
    from ._devices import to as move

    return move(tensor, device, dtype, copy)


def array(tensor: _core.Tensor, dtype: Any = None, *, copy: Optional[bool] = None) -> Any:
    """Implements __array__()."""
    import numpy

    made = as_numpy(tensor)
    if dtype is not None and made.dtype != dtype:
        if copy is False:
            raise ValueError(f"__array__: a conversion from {made.dtype} to {numpy.dtype(dtype)} needs a copy")
        return made.astype(dtype)
    return made.copy() if copy else made


# ---- Names of torch ----


class Count(int):
    """The number of elements of a tensor, as Tensor.size is in NumPy. It can be called, as Tensor.size() of torch."""

    shape: Tuple[int, ...]

    @classmethod
    def of(cls, tensor: _core.Tensor) -> Count:
        made = cls(math.prod(tensor.shape))
        made.shape = tensor.shape
        return made

    def __call__(self, dim: Optional[int] = None) -> Any:
        """Returns the shape, or the size of one dimension."""
        return self.shape if dim is None else self.shape[place_of(dim, len(self.shape))]

    def __reduce__(self) -> Any:
        return int, (int(self),)


def place_of(dim: Any, ndim: int) -> int:
    """Returns a dimension from 0; an IndexError if there is no such dimension."""
    number = whole(dim)
    if number is None:
        raise bad_type(f"dim: expects a whole number, but got {dim!r}")
    if not -ndim <= number < ndim:
        raise IndexError(f"dim: is {number}; the tensor has {ndim} dimensions")
    return number


def dim(self: _core.Tensor) -> int:
    """Returns the number of dimensions."""
    return self.ndim


def numel(self: _core.Tensor) -> int:
    """Returns the number of elements."""
    return math.prod(self.shape)


def element_size(self: _core.Tensor) -> int:
    """Returns the bytes of one element."""
    return dtype(self.dtype).itemsize


def stride(self: _core.Tensor, dim: Optional[int] = None) -> Any:
    """Returns the strides in elements, or the stride of one dimension."""
    steps = tuple(step // element_size(self) for step in self.strides)
    return steps if dim is None else steps[place_of(dim, self.ndim)]


def is_floating_point(self: _core.Tensor) -> bool:
    """Returns whether the elements are f16, bf16, f32 or f64."""
    return dtype(self.dtype).is_floating_point


def is_complex(self: _core.Tensor) -> bool:
    """Returns whether the elements are c64 or c128."""
    return dtype(self.dtype).is_complex


def is_contiguous(self: _core.Tensor) -> bool:
    """Returns whether the elements are contiguous in row-major order."""
    return self.row_major


def contiguous(self: _core.Tensor) -> _core.Tensor:
    """Returns the tensor if it is contiguous in row-major order, otherwise a copy that is."""
    return self if self.row_major else self.to(copy=True)


def clone(self: _core.Tensor) -> _core.Tensor:
    """Returns a copy."""
    return self.to(copy=True)


def detach(self: _core.Tensor) -> _core.Tensor:
    """Returns a view of the tensor, which is part of no graph: there is no automatic differentiation here."""
    return self[...]


for _method in (dim, numel, element_size, stride, is_floating_point, is_complex, is_contiguous, contiguous, clone, detach):
    setattr(_core.Tensor, _method.__name__, _method)
setattr(_core.Tensor, "nelement", numel)
setattr(_core.Tensor, "ndimension", dim)
setattr(_core.Tensor, "size", property(Count.of, doc="The number of elements; called, the shape or the size of a dimension."))
setattr(_core.Tensor, "requires_grad", property(lambda self: False, doc="False: there is no automatic differentiation here."))
