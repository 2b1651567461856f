"""The state of the OpenCL runtime, and the functions of torch.cuda for its devices. The first call looks for devices."""

from __future__ import annotations

from . import _core, _runtime
from ._devices import DeviceArgument
from ._devices import synchronize as _synchronize
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


def is_built() -> bool:
    """Returns whether this installation has the provider for OpenCL."""
    return any(row["name"] == "opencl" and not row["reason"] for row in _core.providers())


def is_present() -> bool:
    """Returns whether the library of OpenCL was found."""
    return any(row.state != "no-library" for row in _runtime.rows("opencl"))


def is_available() -> bool:
    """Returns whether operations can run on an OpenCL device; reason() says why not."""
    return device_count() > 0


def device_count() -> int:
    """Returns the number of OpenCL devices that operations can run on."""
    return _runtime.ready_count("opencl")


def reason() -> str:
    """Returns why no operation can run on OpenCL; "" if one can."""
    found = _runtime.rows("opencl")
    if is_available():
        return ""
    return "; ".join(row.reason for row in found) if found else "the runtime module 'opencl' is not installed"


def get_device_name(device: DeviceArgument = None) -> str:
    """Returns the driver's name of a device."""
    return _runtime.row_of("opencl", device).name


def synchronize(device: DeviceArgument = None) -> None:
    """Waits for all work on a device; without one, on the first."""
    _synchronize(_runtime.named("opencl", device))


def empty_cache() -> None:
    """Frees the unused memory of all OpenCL devices."""
    _runtime.empty_caches("opencl")


_close(__name__)
