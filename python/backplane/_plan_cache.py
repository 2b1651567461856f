"""A plan cache with the attributes of torch's: size, max_size, clear()."""

from __future__ import annotations

from typing import Any

from . import _core
from ._errors import failure
from ._settings import refuse_name, setting

_NAMES = ["clear", "max_size", "size"]


class PlanCache:
    """Base class. A subclass defines the name, the setting for max_size, _count() and clear()."""

    _name = ""
    _setting = ""

    def _count(self) -> int:
        raise NotImplementedError

    @property
    def size(self) -> int:
        """Number of plans in the cache."""
        return self._count()

    @property
    def max_size(self) -> int:
        """Maximum number of plans in the cache; 0 disables it."""
        return int(setting(self._setting).get())

    @max_size.setter
    def max_size(self, value: int) -> None:
        setting(self._setting).__set__(self, value)

    def clear(self) -> None:
        """Removes all plans."""
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
