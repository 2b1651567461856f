"""Matrix products, and descriptions of the library that ran them and of the choice."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

from . import _core
from ._errors import bad_type, bad_value
from ._html import table
from ._tensor import as_numpy

if TYPE_CHECKING:
    from ._types import Kind, Mixed, Next, Out, SettingsArgument

def _is_a(array: Any, module: str, name: str) -> bool:
    # Does not import the module: a module that is not imported has no instances. The type may be missing while another thread
    # imports the module, and in a module that a program put in its place.
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(array, kind)


def _is_numpy(array: Any) -> bool:
    return _is_a(array, "numpy", "ndarray")


def _is_torch(array: Any) -> bool:
    return _is_a(array, "torch", "Tensor")


# from_dlpack() of the library of each type of arrays so far, or None.
_IMPORTERS: Dict[type, Optional[Callable[[Any], Any]]] = {}


def _find_importer(array: Any) -> Optional[Callable[[Any], Any]]:
    """Returns from_dlpack() of the array API namespace of an array, or of the package that defines its type."""
    try:
        namespace = array.__array_namespace__()
    except Exception:  # not an array of that standard
        namespace = sys.modules.get(type(array).__module__.partition(".")[0])
    found = None if isinstance(array, _core.Tensor) else getattr(namespace, "from_dlpack", None)
    if len(_IMPORTERS) > 100:  # types that a program makes again and again
        _IMPORTERS.clear()
    _IMPORTERS[type(array)] = found
    return found


def _as_its_library(result: _core.Tensor, array: Any) -> Any:
    try:  # one access: another thread may clear the table at any time
        importer = _IMPORTERS[type(array)]
    except KeyError:
        importer = _find_importer(array)
    if importer is None:
        return result
    try:
        return importer(result)
    except Exception:  # it does not take host memory, or this element type
        return result


def _like(result: _core.Tensor, *arrays: Any) -> Any:
    """Converts a result to the type of the first array that is of a library: NumPy, torch, or one with from_dlpack(). The
    extension has done so already, except for bfloat16 of NumPy, and for libraries without DLPack's C exchange interface."""
    if type(result) is not _core.Tensor:
        return result
    for array in arrays:
        if _is_numpy(array):
            return as_numpy(result)
        if _is_torch(array):
            return sys.modules["torch"].from_dlpack(result)
        made = _as_its_library(result, array)
        if made is not result:
            return made
    return result


matmul = _core.matmul
gemm = _core.gemm


def _ranked(name: str, factors: Tuple[Any, ...], ranks: Tuple[int, int], out: Any, settings: SettingsArgument) -> Any:
    from ._convert import shape_of, with_numpy

    factors = with_numpy(name, factors)
    for place, (factor, rank) in enumerate(zip(factors, ranks)):
        shape = shape_of(factor)
        if len(shape) != rank:
            raise bad_value(f"{name}: argument {place} has shape {shape}; it must have {rank} dimensions", "E_SHAPE")
    if ranks == (3, 3) and shape_of(factors[0])[0] != shape_of(factors[1])[0]:
        raise bad_value(f"{name}: the batches have {shape_of(factors[0])[0]} and {shape_of(factors[1])[0]} items", "E_SHAPE")
    return matmul(*factors, out=out, settings=settings)


def mm(input: Mixed, mat2: Next, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    """Computes the product of two matrices, as matmul() of arrays of two dimensions.

    >>> mm([[1.0, 2.0]], [[3.0], [4.0]])
    array([[11.]])
    """
    return _ranked("mm", (input, mat2), (2, 2), out, settings)


def bmm(input: Mixed, mat2: Next, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    """Computes the products of two batches of matrices of the same length.

    >>> bmm(np.ones((5, 2, 3)), np.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    return _ranked("bmm", (input, mat2), (3, 3), out, settings)


def mv(input: Mixed, vec: Next, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    """Computes the product of a matrix and a vector.

    >>> mv([[1.0, 2.0]], [3.0, 4.0])
    array([11.])
    """
    return _ranked("mv", (input, vec), (2, 1), out, settings)


def dot(input: Mixed, tensor: Next, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    """Computes the sum of the products of two vectors, without conjugation.

    >>> float(dot([1.0, 2.0], [3.0, 4.0]))
    11.0
    """
    return _ranked("dot", (input, tensor), (1, 1), out, settings)


_core.set_convert(_like)


class Candidate(NamedTuple):
    """A candidate for a call: a library and algorithm, with its verdict."""

    library: str
    provider: str
    version: str
    accepted: bool
    reason: str
    """Name of the reason for refusal: DTYPE, EXCLUDED, DETERMINISM, ..."""
    text: str
    """Refused: why. Accepted: a remark, or empty."""
    algorithm: str
    properties: str
    """Its numerical guarantees: accumulates in f32, ..."""
    threads: int
    cost_ns: float
    chosen: bool


class Explanation:
    """All candidates for one call with their verdicts, from the same code that chooses for the call itself.

    einsum runs several sub-plans in turn. Its candidates are in ``parts``, which has an explanation for each sub-plan.
    """

    def __init__(self, found: Mapping[str, Any]) -> None:
        self.problem: str = found["problem"]
        self.decision: str = found["decision"]
        self.json: str = found["json"]
        self.candidates: Tuple[Candidate, ...] = tuple(Candidate(**row) for row in found["candidates"])
        self.parts: Tuple[Explanation, ...] = tuple(Explanation(part) for part in found["parts"])
        self._text: str = found["text"]

    @property
    def chosen(self) -> Optional[Candidate]:
        """The candidate that the call would run; None if no library accepts the call, and for einsum (see ``parts``)."""
        return next((row for row in self.candidates if row.chosen), None)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        chosen = [one.chosen.library for one in (self, *self.parts) if one.chosen]
        return f"<backplane.Explanation {self.problem}: {', '.join(chosen) or 'none'}>"

    def _repr_html_(self) -> str:
        heads = ("expected", "library", "algorithm", "threads", "")
        rows = [
            (f"{row.cost_ns / 1000:.4g} us", row.library, row.algorithm, str(row.threads), "chosen" if row.chosen else row.text)
            if row.accepted
            else ("", row.library, "", "", f"refused: {row.text}")
            for row in sorted(self.candidates, key=lambda row: (not row.chosen, not row.accepted, row.cost_ns))
            if row.reason != "OP"
        ]
        own = table(heads, rows, f"{self.problem}: {self.decision}", numbers=1)
        return own + "".join(part._repr_html_() for part in self.parts)


class Plan(NamedTuple):
    """Description of a call that ran: library, algorithm, and the reason for the choice."""

    operation: str
    provider: str
    library: str
    library_path: str
    library_version: str
    algorithm: str
    reason: str
    properties: str
    threads: int
    cost_ns: float
    problem: str
    workspace: int
    """Bytes that a run needs in addition to its operands: copies, panels, intermediate results."""

    def _repr_html_(self) -> str:
        return table((), [(name, str(value)) for name, value in zip(self._fields, self)])


# For each function that can be explained, one that takes the same arguments; _einsum.py, fft.py and linalg.py add their own.
_EXPLAINERS: Dict[Callable[..., Any], Callable[..., Dict[str, Any]]] = {
    matmul: _core.explain_matmul,
    gemm: _core.explain_gemm,
}


for _function in (mm, bmm, mv, dot):
    _EXPLAINERS[_function] = lambda *arguments, out=None, settings=None, **names: _EXPLAINERS[matmul](
        *arguments, *names.values(), out=out, settings=settings
    )


def explain(function: Callable[..., Any], /, *arguments: Any, **names: Any) -> Explanation:
    """Explains the choice of a library for ``function(*arguments, **names)`` without computing anything. The function is
    matmul, gemm, einsum, or one of backplane.fft or backplane.linalg.

    >>> why = explain(matmul, np.ones((2, 3)), np.ones((3, 4)))
    >>> why.problem
    'f64 2x3 @ 3x4 -> 2x4'
    >>> why.chosen.accepted, [row.library for row in why.candidates if row.chosen] == [why.chosen.library]
    (True, True)
    """
    try:
        explainer = _EXPLAINERS.get(function)
    except TypeError:  # it has no hash
        explainer = None
    of_compiled = getattr(function, "explain", None) if explainer is None else None
    if of_compiled is not None:
        found: List[Explanation] = of_compiled(*arguments, **names)
        if not found:
            raise bad_value("explain: the call has no graph, as none of its arguments is an array")
        return found[0]
    if explainer is None:
        raise bad_type(
            "explain: expects backplane.einsum, backplane.matmul or backplane.gemm, or a function of backplane.fft or "
            f"backplane.linalg, but got {function!r}"
        )
    return Explanation(explainer(*arguments, **names))


def last_plan() -> Optional[Plan]:
    """Returns the plan that the calling thread ran last; None before the first, and after a call with an empty result.

    >>> c = matmul(np.ones((2, 3)), np.ones((3, 4)), settings={"blas.preferred": "native"})
    >>> last_plan().library, last_plan().problem
    ('native', 'f64 2x3 @ 3x4 -> 2x4')
    """
    found = _core.last_plan()
    return None if found is None else Plan(**found)
