"""Text of tensors, as NumPy formats arrays, and their conversion to NumPy."""

from __future__ import annotations

import html as _html
import math
import sys
from typing import Any, Callable, Iterator, List, Optional

from . import _core
from ._errors import failure

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


def device_of(tensor: _core.Tensor) -> Any:
    """Implements Tensor.device."""
    from ._torch_names import device

    kind, index = tensor.__dlpack_device__()
    return device("opencl", index) if kind == 4 else device("cpu")


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
