"""What a cache of plans looks like in torch: size, max_size, clear()."""

from __future__ import annotations

from typing import Any

from . import _core
from ._errors import failure
from ._settings import refuse_name, setting

_NAMES = ["clear", "max_size", "size"]


class PlanCache:
    """size, max_size and clear(); a kind of cache has a name, a setting of its size, and the two functions below."""

    _name = ""
    _setting = ""

    def _count(self) -> int:
        raise NotImplementedError

    @property
    def size(self) -> int:
        """The number of plans kept."""
        return self._count()

    @property
    def max_size(self) -> int:
        """The number of plans that may be kept; 0 keeps none."""
        return int(setting(self._setting).get())

    @max_size.setter
    def max_size(self, value: int) -> None:
        setting(self._setting).__set__(self, value)

    def clear(self) -> None:
        """Throws all plans away."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        refuse_name(self._name, name, _NAMES)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "max_size":
            super().__setattr__(name, value)
        elif name == "size":
            raise failure(_core.Error, "E_READ_ONLY", f"{self._name}.size is read-only; max_size limits it, clear() empties it")
        else:
            refuse_name(self._name, name, _NAMES)
