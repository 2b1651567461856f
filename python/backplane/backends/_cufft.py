"""The plan cache of cuFFT, as in torch.backends.cuda: one for the current device, and one per device by index."""

from __future__ import annotations

import operator
from typing import Any

from .. import _core, _plan_cache
from .._config import backend_status
from .._errors import bad_type, failure


def _device_count() -> int:
    from ..cuda import device_count  # which needs the modules of this package

    return device_count()


class PlanCache(_plan_cache.PlanCache):
    """size, max_size and clear() of a device's plan cache.

    This library runs no Fourier transforms on a GPU, so the cache is empty; max_size is the setting
    cuda.cufft_plan_cache.max_size, one for all devices.
    """

    _name = "cufft_plan_cache"
    _setting = "cuda.cufft_plan_cache.max_size"

    def _count(self) -> int:
        return 0

    def clear(self) -> None:
        """Removes all plans."""


class PlanCaches(PlanCache):
    """The plan cache of the current device; an index selects the cache of another device."""

    def __getitem__(self, device: Any) -> PlanCache:
        index = getattr(device, "index", device)
        if isinstance(index, bool) or not hasattr(index, "__index__"):
            raise bad_type(f"cufft_plan_cache: expects a device's index, but got {type(device).__name__}")
        index = operator.index(index)
        count = _device_count()
        if index not in range(count):
            valid = f"0 to {count - 1}" if count else f"empty: {backend_status('cuda').reason or 'no device'}"
            text = f"cufft_plan_cache: device {index} does not exist; the range of valid indices is {valid}"
            raise failure(_core.Error, "E_ARGUMENT", text)
        return PlanCache()
