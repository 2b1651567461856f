"""The state of the OpenCL runtime, and the functions of torch.cuda for its devices. The first call looks for devices."""

from __future__ import annotations

from typing import List

from . import _core
from ._devices import Device, DeviceArgument, devices
from ._devices import empty_cache as _empty_cache
from ._devices import synchronize as _synchronize
from ._torch_names import device
from .backends._module import close as _close

__all__ = [
    "device_count",
    "empty_cache",
    "get_device_name",
    "is_available",
    "is_built",
    "is_present",
    "reason",
    "synchronize",
]


def _rows() -> List[Device]:
    return [row for row in devices() if row.runtime == "opencl"]


def is_built() -> bool:
    """Returns whether this installation has the provider for OpenCL."""
    return any(row["name"] == "opencl" and not row["reason"] for row in _core.providers())


def is_present() -> bool:
    """Returns whether the library of OpenCL was found."""
    return any(row.state != "no-library" for row in _rows())


def is_available() -> bool:
    """Returns whether operations can run on an OpenCL device; reason() says why not."""
    return device_count() > 0


def device_count() -> int:
    """Returns the number of OpenCL devices that operations can run on."""
    return sum(row.is_ready for row in _rows())


def reason() -> str:
    """Returns why no operation can run on OpenCL; "" if one can."""
    found = _rows()
    if is_available():
        return ""
    return "; ".join(row.reason for row in found) if found else "the runtime module 'opencl' is not installed"


def _named(given: DeviceArgument) -> device:
    """Returns the device of an index, a name or a device; without one the first."""
    if given is None or isinstance(given, int):
        return device("opencl", given or 0)
    return device(given) if isinstance(given, str) else given


def get_device_name(device: DeviceArgument = None) -> str:
    """Returns the driver's name of a device."""
    name = str(_named(device))
    _core.device_control("wait", name, 0)  # raises an error if there is no such device
    return next(row.name for row in _rows() if row.id == name)


def synchronize(device: DeviceArgument = None) -> None:
    """Waits for all work on a device; without one, on the first."""
    _synchronize(_named(device))


def empty_cache() -> None:
    """Frees the unused memory of all OpenCL devices."""
    for row in _rows():
        if row.is_ready:
            _empty_cache(row.id)


_close(__name__)
