"""What backplane.cuda and backplane.opencl share: the devices of one runtime, by their numbers and names."""

from __future__ import annotations

from typing import List

from . import _core
from ._devices import Device, DeviceArgument, devices
from ._devices import empty_cache as _empty_cache
from ._torch_names import device


def rows(runtime: str) -> List[Device]:
    """Returns the runtime's rows of the list of devices: its devices, or one row with the reason why there is none."""
    return [row for row in devices() if row.runtime == runtime]


def ready_count(runtime: str) -> int:
    """Returns the number of the runtime's devices that can be used."""
    return sum(row.is_ready for row in rows(runtime))


def named(runtime: str, given: DeviceArgument) -> device:
    """Returns the device of an index, a name or a device; without one the first."""
    if given is None or isinstance(given, int):
        return device(runtime, given or 0)
    return device(given) if isinstance(given, str) else given


def row_of(runtime: str, given: DeviceArgument) -> Device:
    """Returns the row of a device, which is opened. Raises an error if it cannot be used."""
    name = str(named(runtime, given))
    _core.device_control("wait", name, 0)
    return next(row for row in rows(runtime) if row.id == name)


def empty_caches(runtime: str) -> None:
    """Frees the unused memory of all devices of the runtime."""
    for row in rows(runtime):
        if row.is_ready:
            _empty_cache(row.id)
