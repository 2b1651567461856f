"""Context managers for the verbose modes of MKL and oneDNN."""

from __future__ import annotations

from types import TracebackType
from typing import Callable, Optional, Type

from . import _core
from ._config import backend_status
from ._errors import bad_type, bad_value, failure, whole

Handler = Callable[[str], None]

OFF = 0


class verbose:
    """Sets a library's verbose mode for the whole process inside a ``with`` block.

    Blocks nest. The last one to end restores the level of the library's own environment variable. With ``lines`` the
    library's lines do not go to standard output: that function is called with each of them when the block ends.
    """

    def __init__(self, backend: str, level: int, lines: Optional[Handler] = None, most: int = 1 << 30) -> None:
        number = whole(level)  # True is VERBOSE_ON
        if number is None:
            raise bad_type(f"level: expects a constant such as VERBOSE_OFF or VERBOSE_ON, but got {level!r}")
        if not 0 <= number <= most:
            raise bad_value(f"level: {level} is not accepted; it must be a constant such as VERBOSE_OFF or VERBOSE_ON")
        self._backend = backend
        self._level = number
        self.level = self.enable = number  # PyTorch's names of it, in mkldnn and mkl
        self._lines = lines
        self._scope: Optional[object] = None
        self._open = False

    def __enter__(self) -> verbose:
        # Entering twice would lose the first scope and the lines that it collects.
        if self._open:
            raise failure(_core.Error, "E_SCOPE", "this scope is open already; make another with the same settings")
        # VERBOSE_OFF is the default, so a missing library is no error.
        if self._level != OFF or backend_status(self._backend).present:
            self._scope = _core.verbose_enter(self._backend, self._level, self._lines is not None)
        self._open = True
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        scope, self._scope, self._open = self._scope, None, False
        for line in (_core.verbose_leave(scope) if scope else None) or ():
            if self._lines:
                self._lines(line)
