"""Makes the functions of backplane.nn.functional and backplane.nn.grad: their names, help and explanations."""

from __future__ import annotations

import functools
import types
from typing import Any, Callable, Dict, Optional, Tuple, TypeVar, cast

from .._dimensions import bound
from .._help import complete
from .._products import _EXPLAINERS
from .._quick import quick

Function = TypeVar("Function", bound=Callable[..., Any])
Run = Callable[[str, Dict[str, Any], bool], Any]
Form = Tuple[Any, ...]


def _explainer(function: Any, name: str, run: Run) -> Callable[..., Dict[str, Any]]:
    def explain(*arguments: Any, **names: Any) -> Dict[str, Any]:
        page: Dict[str, Any] = run(name, dict(bound(function, arguments, names)), True)
        return page

    return explain


def _make(signature: Any, module: str, name: str, text: str, run: Run, form: Optional[Form]) -> Any:
    """Makes a function of one that returns its arguments as a dict."""
    arguments = types.FunctionType(signature.__code__, signature.__globals__, name, signature.__defaults__)
    arguments.__kwdefaults__ = signature.__kwdefaults__
    arguments.__qualname__ = name  # in messages about wrong arguments
    arguments.__annotations__ = signature.__annotations__

    def call(*given: Any, **names: Any) -> Any:
        return run(name, arguments(*given, **names), False)

    call.__name__ = call.__qualname__ = name
    call.__module__ = module
    call.__doc__ = complete(signature, "nn", text)
    call.__wrapped__ = arguments  # type: ignore[attr-defined]  # what inspect.signature() shows
    made = call if form is None else quick(call, form)
    _EXPLAINERS[made] = _explainer(call, name, run)
    return made


def function(
    module: str, run: Run, name: Optional[str] = None, form: Optional[Form] = None, **texts: object
) -> Callable[[Function], Function]:
    """Makes a function of one whose body is `return locals()`: its own, or one with a name. ``form`` is its frequent form (_quick.py).

    A call returns run(name, arguments, False), and an explanation run(name, arguments, True). The help has the names of
    ``texts`` in braces.
    """

    def make(signature: Function) -> Function:
        text = (signature.__doc__ or "").format(**texts)  # there is none with -OO
        return cast(Function, _make(signature, module, name or signature.__name__, text, run, form))

    return make


def for_each_ndim(
    module: str, name: str, run: Callable[[int, str, Dict[str, Any], bool], Any], **texts: str
) -> Callable[[Function], Tuple[Function, Function, Function]]:
    """Makes three functions, for one to three dimensions, as function() makes one. ``name`` and the help have ``{ndim}`` where the
    number of dimensions is, which is the first argument of run()."""

    def make(signature: Function) -> Tuple[Function, Function, Function]:
        one, two, three = (
            function(module, functools.partial(run, ndim), name.format(ndim=ndim), None, ndim=ndim, **texts)(signature)
            for ndim in (1, 2, 3)
        )
        return one, two, three

    return make
