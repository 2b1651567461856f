"""Makes the functions of backplane.nn.functional and backplane.nn.grad: their names, help and explanations."""

from __future__ import annotations

import functools
import types
from typing import Any, Callable, Dict, Tuple, TypeVar, cast

from .._dimensions import bound
from .._products import _EXPLAINERS

Function = TypeVar("Function", bound=Callable[..., Any])
Run = Callable[[str, Dict[str, Any], bool], Any]


def finish(function: Any, module: str, name: str, text: str, run: Run) -> Any:
    """Gives a function its name, help, and the function that explains its calls."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = text

    def explain(*arguments: Any, **names: Any) -> Dict[str, Any]:
        page: Dict[str, Any] = run(name, dict(bound(function, arguments, names)), True)
        return page

    _EXPLAINERS[function] = explain
    return function


def _of_signature(signature: Any, module: str, name: str, text: str, run: Run) -> Any:
    """Makes a function of one that returns its arguments as a dict."""
    arguments = types.FunctionType(signature.__code__, signature.__globals__, name, signature.__defaults__)
    arguments.__kwdefaults__ = signature.__kwdefaults__
    arguments.__qualname__ = name  # in messages about wrong arguments
    arguments.__annotations__ = signature.__annotations__

    def call(*given: Any, **names: Any) -> Any:
        return run(name, arguments(*given, **names), False)

    call.__wrapped__ = arguments  # type: ignore[attr-defined]  # what inspect.signature() shows
    return finish(call, module, name, text, run)


def function(module: str, run: Run, **texts: str) -> Callable[[Function], Function]:
    """Makes a function of one whose body is `return locals()`. A call returns run(name, arguments, False), and an explanation
    run(name, arguments, True). The help has the names of ``texts`` in braces."""

    def make(signature: Function) -> Function:
        name, text = signature.__name__, (signature.__doc__ or "").format(**texts)  # there is none with -OO
        return cast(Function, _of_signature(signature, module, name, text, run))

    return make


def for_each_ndim(
    module: str, name: str, run: Callable[[int, str, Dict[str, Any], bool], Any], **texts: str
) -> Callable[[Function], Tuple[Function, Function, Function]]:
    """Makes three functions, for one to three dimensions, as function() makes one. ``name`` and the help have ``{ndim}`` where the
    number of dimensions is, which is the first argument of run()."""

    def make(signature: Function) -> Tuple[Function, Function, Function]:
        made = []
        for ndim in (1, 2, 3):
            text = (signature.__doc__ or "").format(ndim=ndim, **texts)
            own = name.format(ndim=ndim)
            made.append(_of_signature(signature, module, own, text, functools.partial(run, ndim)))
        return cast(Tuple[Function, Function, Function], tuple(made))

    return make
