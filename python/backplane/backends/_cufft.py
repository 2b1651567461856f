"""The plan cache of Fourier transforms on CUDA, as in torch.backends.cuda: one for the current device, and one per device by
index."""

from __future__ import annotations

import operator
import re
from typing import Any

from .. import _core, _plan_cache
from .._config import backend_status
from .._errors import bad_type, bad_value, failure, whole
from .._settings import setting

_MOST = 2**62  # of the setting


def _device_count() -> int:
    from .._runtime import ready_count  # which needs the modules of this package

    return ready_count("cuda")


class PlanCache(_plan_cache.PlanCache):
    """size, max_size and clear() of a device's plan cache. max_size is the setting cuda.cufft_plan_cache.max_size until it is
    set for the device."""

    _name = "cufft_plan_cache"
    _setting = "cuda.cufft_plan_cache.max_size"
    __slots__ = ("_device",)

    def __init__(self, index: int) -> None:
        object.__setattr__(self, "_device", f"cuda:{index}")

    def _count(self) -> int:
        return _core.device_fft_plans(self._device)[0]

    @property
    def max_size(self) -> int:
        """Maximum number of plans in the cache; 0 disables it."""
        return _core.device_fft_plans(self._device)[1]

    @max_size.setter
    def max_size(self, value: int) -> None:
        number = whole(value)
        if number is None or isinstance(value, bool):
            raise bad_type(f"{self._name}.max_size: expects an int, but got {type(value).__name__}")
        if not 0 <= number <= _MOST:
            raise bad_value(f"{self._name}.max_size: {number} is not accepted; it must be 0 to {_MOST}")
        _core.device_control("most_fft_plans", self._device, number)

    def clear(self) -> None:
        """Removes all plans."""
        _core.device_control("fft_plans", self._device, 0)


class PlanCaches(_plan_cache.PlanCache):
    """The plan cache of the current device; an index selects the cache of another device.

    max_size is the setting cuda.cufft_plan_cache.max_size, also for other devices, unless it was set with an index.
    """

    _name = PlanCache._name
    _setting = PlanCache._setting

    def _count(self) -> int:
        return PlanCache(0)._count() if _device_count() else 0

    @property
    def max_size(self) -> int:
        """Maximum number of plans in the cache; 0 disables it."""
        return PlanCache(0).max_size if _device_count() else int(setting(self._setting).get())

    @max_size.setter
    def max_size(self, value: int) -> None:
        setting(self._setting).__set__(self, value)
        if _device_count():
            _core.device_control("most_fft_plans", "cuda:0", -1)  # what the setting says

    def clear(self) -> None:
        """Removes all plans."""
        if _device_count():
            PlanCache(0).clear()

    def __getitem__(self, device: Any) -> PlanCache:
        index = getattr(device, "index", device) if not isinstance(device, str) else _index_of(device)
        if isinstance(index, bool) or not hasattr(index, "__index__"):
            raise bad_type(f"cufft_plan_cache: expects a device's index, but got {type(device).__name__}")
        index = operator.index(index)
        count = _device_count()
        if index not in range(count):
            valid = f"0 to {count - 1}" if count else f"empty: {backend_status('cuda').reason or 'no device'}"
            text = f"cufft_plan_cache: device {index} does not exist; the range of valid indices is {valid}"
            raise failure(_core.Error, "E_ARGUMENT", text)
        return PlanCache(index)


def _index_of(name: str) -> Any:
    """Returns the index in a name such as "cuda:1", or None."""
    found = re.fullmatch(r"cuda:(\d+)", name)
    return int(found[1]) if found else None
