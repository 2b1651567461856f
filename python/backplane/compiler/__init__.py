"""Compiles functions into graphs, with the names of torch.compiler.

``backplane.compile(function)`` records what a function computes with arrays, as one graph, and runs the graph from then on. This module has
its backends, its errors, and what changes how compiled functions are called.
"""

from __future__ import annotations

from ..backends._module import close as _close
from . import _namespace  # enters the operators and methods of traced values  # noqa: F401
from ._backends import get_default_backend, list_backends, register_backend, set_default_backend
from ._compiled import compile, explain, export, reset
from ._errors import BackendCompilerFailed, FailOnRecompileLimitHit, InvalidBackend, RecompileLimitHit, TraceError
from ._stance import disable, is_compiling, is_dynamo_compiling, set_stance

__all__ = [
    "BackendCompilerFailed",
    "FailOnRecompileLimitHit",
    "InvalidBackend",
    "RecompileLimitHit",
    "TraceError",
    "compile",
    "disable",
    "explain",
    "export",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "list_backends",
    "register_backend",
    "reset",
    "set_default_backend",
    "set_stance",
]

_close(__name__)
