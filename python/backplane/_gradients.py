"""The switches of automatic differentiation of torch, for programs that use them around calls.

There is no automatic differentiation here: nothing is recorded, and backplane.nn.grad computes gradients. The switches keep the state
that is_grad_enabled() and is_inference_mode_enabled() return, for each thread, and nothing else depends on it.
"""

from __future__ import annotations

import functools
import threading
from typing import Any, Callable, List, Optional, Tuple, TypeVar, cast

from ._errors import bad_type

Function = TypeVar("Function", bound=Callable[..., Any])


class _State(threading.local):
    grad = True
    inference = False


_state = _State()


def is_grad_enabled() -> bool:
    """Returns what the switches of the calling thread say: True outside of no_grad() and inference_mode().

    >>> with no_grad():
    ...     is_grad_enabled()
    False
    """
    return _state.grad


def is_inference_mode_enabled() -> bool:
    """Returns whether the calling thread is in a block of inference_mode()."""
    return _state.inference


def _flag(name: str, mode: Any) -> bool:
    if not isinstance(mode, bool):
        raise bad_type(f"{name}: expects a bool, but got {type(mode).__name__}")
    return mode


class _Switch:
    """A block, or the decorator of a function, with a state of its own: (grad, inference), None for what it leaves."""

    def __init__(self, state: Tuple[Optional[bool], Optional[bool]]) -> None:
        self._new = state
        self._before: List[Tuple[bool, bool]] = []

    def _apply(self) -> None:
        self._before.append((_state.grad, _state.inference))
        grad, inference = self._new
        _state.grad = _state.grad if grad is None else grad
        _state.inference = _state.inference if inference is None else inference

    def __enter__(self) -> None:
        self._apply()

    def __exit__(self, *error: Any) -> None:
        _state.grad, _state.inference = self._before.pop()

    def __call__(self, function: Function) -> Function:
        state = self._new

        @functools.wraps(function)
        def run(*arguments: Any, **names: Any) -> Any:
            with _Switch(state):
                return function(*arguments, **names)

        return cast(Function, run)


def _block(state: Tuple[bool, Optional[bool]], function: Optional[Function]) -> Any:
    """Returns a block, or the decorated function: the name alone is a decorator too."""
    return _Switch(state) if function is None else _Switch(state)(function)


def no_grad(function: Any = None) -> Any:
    """Switches is_grad_enabled() off in a ``with`` block or a decorated function. It has no other effect."""
    return _block((False, None), function)


def enable_grad(function: Any = None) -> Any:
    """Switches is_grad_enabled() on in a ``with`` block or a decorated function. It has no other effect."""
    return _block((True, None), function)


def inference_mode(mode: Any = True) -> Any:
    """As no_grad(), and is_inference_mode_enabled() is True; with False, both are as without it. It has no other effect."""
    if callable(mode):
        return _block((False, True), mode)
    return _Switch((False, True) if _flag("inference_mode", mode) else (None, False))


class set_grad_enabled(_Switch):
    """Sets is_grad_enabled() at once; as a ``with`` block until its end. It has no other effect."""

    def __init__(self, mode: bool) -> None:
        super().__init__((_flag("set_grad_enabled", mode), None))
        self._apply()

    def __enter__(self) -> None:
        pass

    def __call__(self, function: Function) -> Function:
        self.__exit__()  # a decorator changes the function alone
        return super().__call__(function)
