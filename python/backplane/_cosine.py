"""Discrete cosine and sine transforms with the names and arguments of scipy.fft. The names are in backplane.fft."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

from . import _core
from ._convert import floating, shape_of
from ._dimensions import as_tuple, bound, chosen, finish, length
from ._einsum import einsum
from ._errors import bad_type, bad_value
from ._products import _like

if TYPE_CHECKING:
    from ._types import Dims, Kind, Norm, Out, SettingsArgument

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
_NONE, _FULL, _ROOT = range(3)  # the factor: 1, 1/N, 1/sqrt(N), N the period of the transform
_FACTORS = {None: (_NONE, _FULL), "backward": (_NONE, _FULL), "ortho": (_ROOT, _ROOT), "forward": (_FULL, _NONE)}


class _Transform:
    """The arguments that are the same for all dimensions of a call."""

    def __init__(
        self, sine: bool, inverse: bool, type: int, norm: Optional[str], orthogonalize: Optional[bool], settings: SettingsArgument
    ) -> None:
        if type not in _INVERSE:
            raise bad_value(f"type: expects 1, 2, 3 or 4, but got {type!r}", "E_ARGUMENT")
        if norm not in _FACTORS:
            raise bad_value(f"norm: expects None, 'backward', 'ortho' or 'forward', but got {norm!r}", "E_BAD_VALUE")
        self.sine, self.type = sine, _INVERSE[type] if inverse else type
        self.factor = _FACTORS[norm][inverse]
        self.orthogonal = norm == "ortho" if orthogonalize is None else bool(orthogonalize)
        self.settings = settings

    def call(self, input: Any, n: int, dim: int, out: Any, lines: int = 0) -> Any:
        """Runs the transform of one dimension, or explains the transform of so many lines."""
        if not hasattr(dim, "__index__"):
            raise bad_type(f"dim: expects a whole number, but got {dim!r}")
        return _core.cosine(input, self.type, self.sine, n, dim, self.factor, self.orthogonal, out, self.settings, lines)

    def run(self, input: Any, n: int, dim: int, out: Any) -> Any:
        result = self.call(input, n, dim, out)
        return out if result is None else _like(result, input)


def _all_dimensions(ndim: int, s: Optional[Tuple[int, ...]], dim: Optional[Tuple[int, ...]]) -> List[Tuple[int, int]]:
    """Returns the length and the number of each dimension to transform."""
    if dim is None:
        dim = tuple(range(-(ndim if s is None else len(s)), 0))
    if s is not None and len(s) != len(dim):
        raise bad_value(f"s: has {len(s)} sizes, but dim has {len(dim)} dimensions", "E_ARGUMENT")
    if len({number % max(ndim, 1) for number in dim}) < len(dim):
        raise bad_value("dim: dims must be unique", "E_ARGUMENT")
    return list(zip(s or (-1,) * len(dim), dim))


def _lines(sizes: List[int], dim: int) -> int:
    """Returns how many lines a dimension has, at least 1: lines of no elements are not transformed."""
    count = 1
    for place, size in enumerate(sizes):
        count *= 1 if place == dim % len(sizes) else size
    return max(count, 1)


def _explain(function: Callable[..., Any], /, *arguments: Any, **names: Any) -> Dict[str, Any]:
    of, name = bound(function, arguments, names), function.__name__
    each = _transform(name, of["type"], of["norm"], of["orthogonalize"], of["settings"])
    input = floating(name, of["input"])
    sizes = [*shape_of(input)]
    if "n" in of:
        lengths = length(of["n"])
        dim = chosen("axis", of["axis"], of["dim"], -1)
        lines = _lines(sizes, dim) if sizes and hasattr(dim, "__index__") else 1
        page: Dict[str, Any] = each.call(input, -1 if lengths is None else lengths[0], dim, of["out"], lines)
        return page
    shape, parts = shape_of(input), []
    for n, dim in _all_dimensions(len(sizes), as_tuple(of["s"]), as_tuple(chosen("axes", of["axes"], of["dim"], None))):
        parts.append((f"dimension {dim}", each.call(input, n, dim, None, _lines(sizes, dim) if sizes else 1)))
        sizes[dim] = sizes[dim] if n == -1 else n
    return _explain_whole(name, f"{name} of shape {shape}", parts)


def _explain_whole(name: str, problem: str, parts: List[Tuple[str, Dict[str, Any]]]) -> Dict[str, Any]:
    """Returns an explanation with these parts, in the form of those that the library makes."""
    decision = "each dimension is transformed by itself" if parts else "a copy of the input"
    document = {
        "operation": name,
        "problem": problem,
        "decision": decision,
        "parts": [{"title": title, "explanation": json.loads(page["json"])} for title, page in parts],
    }
    text = f"problem   {problem}\nbecause   {decision}\n"
    for number, (title, page) in enumerate(parts):
        text += f"\npart {number + 1}: {title}\n{page['text']}"
    found = {"problem": problem, "decision": decision, "text": text, "json": json.dumps(document)}
    return {**found, "candidates": [], "parts": [page for _, page in parts]}


def _transform(
    name: str, type: int, norm: Optional[str], orthogonalize: Optional[bool], settings: SettingsArgument
) -> _Transform:
    return _Transform("s" in name, name[0] == "i", type, norm, orthogonalize, settings)


def _one(name: str, text: str) -> Callable[..., Any]:
    def transform(
        input: Kind,
        type: int = 2,
        n: Optional[int] = None,
        dim: int = -1,
        norm: Optional[Norm] = None,
        *,
        axis: Optional[int] = None,
        orthogonalize: Optional[bool] = None,
        out: Optional[Out] = None,
        settings: SettingsArgument = None,
    ) -> Kind:
        lengths = length(n)
        one = _transform(name, type, norm, orthogonalize, settings)
        return one.run(floating(name, input), -1 if lengths is None else lengths[0], chosen("axis", axis, dim, -1), out)

    function: Callable[..., Any] = finish(transform, name, text, _explain, "cosine")
    return function


def _many(name: str) -> Callable[..., Any]:
    def transform(
        input: Kind,
        type: int = 2,
        s: Dims = None,
        dim: Dims = None,
        norm: Optional[Norm] = None,
        *,
        axes: Dims = None,
        orthogonalize: Optional[bool] = None,
        out: Optional[Out] = None,
        settings: SettingsArgument = None,
    ) -> Kind:
        each = _transform(name, type, norm, orthogonalize, settings)
        result = floating(name, input)
        dimensions = _all_dimensions(len(shape_of(result)), as_tuple(s), as_tuple(chosen("axes", axes, dim, None)))
        for n, number in dimensions[:-1]:
            result = each.run(result, n, number, None)
        if dimensions:
            return _like(each.run(result, *dimensions[-1], out), input)
        return _like(_core.fftshift(result, (), False) if out is None else einsum("...->...", result, out=out), input)

    text = f"Computes {name[:-1]}() over the dimensions of dim; default: all, or the last len(s)."
    text += f"\n\n>>> backplane.fft.{name}(np.ones((2, 3))).shape\n(2, 3)\n"
    function: Callable[..., Any] = finish(transform, name, text, _explain, "cosine")
    return function


dct = _one(
    "dct",
    """Computes a discrete cosine transform of real input.

    ====  ==================================================================================
    type  ``out[k]``, with n elements x
    ====  ==================================================================================
    1     ``x[0] + (-1)**k * x[n-1] + 2 * sum(x[j] * cos(pi * k * j / (n-1)), 0 < j < n-1)``
    2     ``2 * sum(x[j] * cos(pi * k * (2*j+1) / (2*n)))``
    3     ``x[0] + 2 * sum(x[j] * cos(pi * (2*k+1) * j / (2*n)), 0 < j)``
    4     ``2 * sum(x[j] * cos(pi * (2*k+1) * (2*j+1) / (4*n)))``
    ====  ==================================================================================

    ``norm`` scales as in fft(), with the period of the transform: 2 * n, for type 1 2 * (n-1). "ortho" also makes the
    transform's matrix orthogonal, unless ``orthogonalize`` is False: elements at the ends of types 1 to 3 are scaled by the
    square root of 2.

    >>> [round(value, 6) for value in dct(array("d", [1, 2, 3, 5])).tolist()]
    [22.0, -8.156403, 1.414214, -1.213708]
    """,
)
idct = _one(
    "idct",
    """Computes the inverse of dct() with the same type.

    >>> [round(value, 6) for value in idct(dct(array("d", [1, 2, 3, 4]))).tolist()]
    [1.0, 2.0, 3.0, 4.0]
    """,
)
dst = _one(
    "dst",
    """Computes a discrete sine transform of real input.

    ====  =================================================================================
    type  ``out[k]``, with n elements x
    ====  =================================================================================
    1     ``2 * sum(x[j] * sin(pi * (k+1) * (j+1) / (n+1)))``
    2     ``2 * sum(x[j] * sin(pi * (k+1) * (2*j+1) / (2*n)))``
    3     ``(-1)**k * x[n-1] + 2 * sum(x[j] * sin(pi * (2*k+1) * (j+1) / (2*n)), j < n-1)``
    4     ``2 * sum(x[j] * sin(pi * (2*k+1) * (2*j+1) / (4*n)))``
    ====  =================================================================================

    ``norm`` and ``orthogonalize`` are as in dct(); the period of type 1 is 2 * (n+1).

    >>> [round(value, 6) for value in dst(array("d", [1, 2, 3]), type=1).tolist()]
    [9.656854, -4.0, 1.656854]
    """,
)
idst = _one(
    "idst",
    """Computes the inverse of dst() with the same type.

    >>> [round(value, 6) for value in idst(dst(array("d", [1, 2, 3, 4]))).tolist()]
    [1.0, 2.0, 3.0, 4.0]
    """,
)
dctn, idctn, dstn, idstn = _many("dctn"), _many("idctn"), _many("dstn"), _many("idstn")
