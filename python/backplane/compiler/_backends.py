"""The backends of backplane.compile: functions that make a callable of a graph."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from .._errors import bad_type, failure
from .._graph import Graph
from ._errors import BackendCompilerFailed, InvalidBackend

Backend = Callable[[Graph, List[Any]], Callable[..., Any]]


class _Row(NamedTuple):
    run: Backend
    tags: Tuple[str, ...]


def _auto(graph: Graph, example_inputs: List[Any]) -> Callable[..., Any]:
    run: Callable[..., Any] = graph._core
    return run


def _eager(graph: Graph, example_inputs: List[Any]) -> Callable[..., Any]:
    return lambda *arrays: graph(*arrays, settings={"graph.backend": "eager"})


_ROWS: Dict[str, _Row] = {
    "aot_eager": _Row(_eager, ("debug",)),
    "auto": _Row(_auto, ()),
    "eager": _Row(_eager, ("debug",)),
    "inductor": _Row(_auto, ()),
}
_default = "auto"


def list_backends(exclude_tags: Optional[Sequence[str]] = ("debug", "experimental")) -> List[str]:
    """Returns the names of the backends that have none of these tags.

    "auto" plans a whole graph; "inductor", the default that programs of torch spell out, is the same. "eager" and "aot_eager" run its
    calls one by one.

    >>> list_backends(), list_backends(None)
    (['auto', 'inductor'], ['aot_eager', 'auto', 'eager', 'inductor'])
    """
    excluded = set(exclude_tags or ())
    return sorted(name for name, row in _ROWS.items() if not excluded & set(row.tags))


def register_backend(compiler_fn: Optional[Backend] = None, name: Optional[str] = None, tags: Sequence[str] = ()) -> Any:
    """Adds a backend, a function of a backplane.Graph and example inputs that returns a callable of arrays; also as a decorator.

    The callable gets the inputs of the graph in their order, and returns the outputs: an array, or a tuple or list of them. The name is by
    default the function's.

    >>> @register_backend
    ... def shows(graph, example_inputs):
    ...     print(graph.text().splitlines()[2])
    ...     return graph
    >>> import backplane
    >>> backplane.compile(lambda x: x + 1.0, backend="shows")(np.zeros(2)).tolist()
    constant c0 f64 [] = [0x1p+0]
    [1.0, 1.0]
    """
    if compiler_fn is None:
        return lambda function: register_backend(function, name, tags)
    if not callable(compiler_fn):
        raise bad_type(f"register_backend: expects a function, but got {compiler_fn!r}")
    known = compiler_fn.__name__ if name is None else name
    if known in _ROWS:
        raise failure(InvalidBackend, "E_BAD_VALUE", f"register_backend: there is a backend {known!r} already")
    _ROWS[known] = _Row(compiler_fn, tuple(tags))
    return compiler_fn


def get_default_backend() -> str:
    """Returns the name of the backend of compile() without one."""
    return _default


def set_default_backend(name: str) -> None:
    """Sets the backend of compile() without one."""
    global _default
    lookup(name)
    _default = name


def lookup(backend: Union[str, Backend]) -> Backend:
    """Returns a backend by its name."""
    if callable(backend):
        return backend
    if backend not in _ROWS:
        known = ", ".join(list_backends(None))
        raise failure(InvalidBackend, "E_BAD_VALUE", f"there is no backend {backend!r}; there are {known}, and register_backend() adds others")
    return _ROWS[backend].run


def build(backend: Union[str, Backend], graph: Graph, examples: List[Any]) -> Callable[..., Any]:
    """Calls a backend."""
    name = backend if isinstance(backend, str) else getattr(backend, "__name__", repr(backend))
    try:
        made = lookup(backend)(graph, examples)
    except Exception as error:
        raise failure(BackendCompilerFailed, "E_UNSUPPORTED", f"backend {name!r} raised {type(error).__name__}: {error}") from error
    if not callable(made):
        raise failure(BackendCompilerFailed, "E_UNSUPPORTED", f"backend {name!r} returned {made!r}; it must return a callable")
    return made
